//! What nodes say to each other to move payloads.
//!
//! | bytes | |
//! |---|---|
//! | 0..2 | `Ap` |
//! | 2 | version of the protocol, the link's |
//! | 3 | kind |
//! | 4..8 | CRC-32C of all else |
//! | 8..16 | which life of the node that offers |
//! | 16..24 | number of the offer |
//! | 24..32 | where the range begins that this is about |
//! | 32.. | ask: length of the range, and whether a place would do; part: the bytes; place: node, index and length of a region; gone: nothing |

use crate::fabric::{NodeId, RegionId};
use crate::link::VERSION;

const MAGIC: [u8; 2] = *b"Ap";
/// Bytes before those of a part.
pub(super) const HEAD_BYTES: usize = 32;

const ASK: u8 = 1;
const PART: u8 = 2;
const PLACE: u8 = 3;
const GONE: u8 = 4;

/// One of them. The offer is another's in an ask, and one's own in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Datagram<'a> {
    pub(super) life: u64,
    pub(super) id: u64,
    pub(super) offset: u64,
    pub(super) says: Says<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says<'a> {
    /// "Give me so many bytes", or tell me where they all are.
    Ask { bytes: u64, or_place: bool },
    /// "Here are some." None at the end: "I still have it."
    Part(&'a [u8]),
    /// "Get them yourself."
    Place(RegionId),
    /// "I have no such offer (any more)."
    Gone,
}

/// Whether this is one of ours, and no frame of a link.
pub(crate) fn is_datagram(frame: &[u8]) -> bool {
    frame.starts_with(&MAGIC)
}

fn check_sum(frame: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..])
}

impl<'a> Datagram<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let kind = match self.says {
            Says::Ask { .. } => ASK,
            Says::Part(_) => PART,
            Says::Place(_) => PLACE,
            Says::Gone => GONE,
        };
        let more = if let Says::Part(bytes) = self.says { bytes.len() } else { 20 };
        let mut frame = Vec::with_capacity(HEAD_BYTES + more);
        frame.extend_from_slice(&MAGIC);
        frame.extend_from_slice(&[VERSION, kind, 0, 0, 0, 0]);
        for word in [self.life, self.id, self.offset] {
            frame.extend_from_slice(&word.to_le_bytes());
        }
        match self.says {
            Says::Ask { bytes, or_place } => {
                frame.extend_from_slice(&bytes.to_le_bytes());
                frame.push(or_place.into());
            }
            Says::Part(bytes) => frame.extend_from_slice(bytes),
            Says::Place(region) => {
                frame.extend_from_slice(&region.node.0.to_le_bytes());
                frame.extend_from_slice(&region.index.to_le_bytes());
                frame.extend_from_slice(&region.bytes.to_le_bytes());
            }
            Says::Gone => {}
        }
        let sum = check_sum(&frame);
        frame[4..8].copy_from_slice(&sum.to_le_bytes());
        frame
    }

    /// None: damaged, of another version, or never one of ours.
    pub(super) fn read(frame: &'a [u8]) -> Option<Self> {
        let (head, body) = frame.split_first_chunk::<HEAD_BYTES>()?;
        if head[..2] != MAGIC || head[2] != VERSION || head[4..8] != check_sum(frame).to_le_bytes()
        {
            return None;
        }
        let says = match head[3] {
            ASK => {
                let (bytes, rest) = body.split_first_chunk::<8>()?;
                let &[or_place @ (0 | 1)] = rest else { return None };
                Says::Ask { bytes: u64::from_le_bytes(*bytes), or_place: or_place == 1 }
            }
            PART => Says::Part(body),
            PLACE => {
                let (node, rest) = body.split_first_chunk::<4>()?;
                let (index, rest) = rest.split_first_chunk::<8>()?;
                let bytes: [u8; 8] = rest.try_into().ok()?;
                Says::Place(RegionId {
                    node: NodeId(u32::from_le_bytes(*node)),
                    index: u64::from_le_bytes(*index),
                    bytes: u64::from_le_bytes(bytes),
                })
            }
            GONE if body.is_empty() => Says::Gone,
            _ => return None,
        };
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        Some(Datagram { life: word(8), id: word(16), offset: word(24), says })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> [Datagram<'static>; 4] {
        let region = RegionId { node: NodeId(3), index: u64::MAX - 4, bytes: 5 };
        let says = [
            Says::Ask { bytes: 9, or_place: true },
            Says::Part(b"some bytes"),
            Says::Place(region),
            Says::Gone,
        ];
        says.map(|says| Datagram { life: 1, id: u64::MAX, offset: 3, says })
    }

    #[test]
    fn what_is_written_is_read_and_is_no_frame_of_a_link() {
        for datagram in all() {
            let bytes = datagram.write();
            assert_eq!(Datagram::read(&bytes), Some(datagram));
            assert!(is_datagram(&bytes));
            let mut other = bytes.clone();
            other[2] += 1;
            let sum = check_sum(&other).to_le_bytes();
            other[4..8].copy_from_slice(&sum);
            assert_eq!(Datagram::read(&other), None, "another version");
        }
    }

    proptest! {
        #[test]
        fn damage_is_found(which in 0..4_usize, at in 0..1_000_usize, bit in 0..8) {
            let mut bytes = all()[which].write();
            let at = at % bytes.len();
            bytes[at] ^= 1_u8 << bit;
            prop_assert_eq!(Datagram::read(&bytes), None);
            bytes.truncate(at);
            prop_assert_eq!(Datagram::read(&bytes), None);
        }

        #[test]
        fn garbage_is_none(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let garbage = [b"Ap".as_slice(), &bytes].concat();
            prop_assert_eq!(Datagram::read(&garbage), None);
        }
    }
}
