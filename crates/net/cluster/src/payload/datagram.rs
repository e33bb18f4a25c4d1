//! The datagrams that nodes exchange to move payloads.
//!
//! | bytes | |
//! |---|---|
//! | 0..2 | `Ap` |
//! | 2 | version of the protocol, the link's |
//! | 3 | kind |
//! | 4..8 | CRC-32C of all else |
//! | 8..16 | which incarnation of the node that offers |
//! | 16..24 | number of the offer |
//! | 24..32 | where the range begins that this is about |
//! | 32.. | ask: length of the range, and whether a place would do; part: the bytes; place: node, index and length of a region; gone: nothing |

use crate::fabric::{NodeId, RegionId};
use crate::link::VERSION;
use std::borrow::Cow;

const MAGIC: [u8; 2] = *b"Ap";
/// Bytes before those of a part.
pub(crate) const HEAD_BYTES: usize = 32;

const ASK: u8 = 1;
const PART: u8 = 2;
const PLACE: u8 = 3;
const GONE: u8 = 4;

/// One of them. The offer is another's in an ask, and one's own in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram<'a> {
    pub(crate) incarnation: u64,
    pub(crate) id: u64,
    pub(crate) offset: u64,
    pub(crate) says: Says<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says<'a> {
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

fn check_sum(head: &[u8], body: &[u8]) -> u32 {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&head[..4]), &head[8..]);
    crc32c::crc32c_append(sum, body)
}

impl<'a> Datagram<'a> {
    /// The head, and what follows it: that of a part is where it was.
    pub(crate) fn write(&self) -> ([u8; HEAD_BYTES], Cow<'a, [u8]>) {
        let (kind, body) = match self.says {
            Says::Ask { bytes, or_place } => {
                (ASK, Cow::Owned([&bytes.to_le_bytes()[..], &[or_place.into()]].concat()))
            }
            Says::Part(bytes) => (PART, Cow::Borrowed(bytes)),
            Says::Place(RegionId { node, index, bytes }) => {
                let [index, bytes] = [index, bytes].map(u64::to_le_bytes);
                (PLACE, Cow::Owned([&node.0.to_le_bytes()[..], &index, &bytes].concat()))
            }
            Says::Gone => (GONE, Cow::Borrowed(&[][..])),
        };
        let mut head = [0; HEAD_BYTES];
        head[..2].copy_from_slice(&MAGIC);
        (head[2], head[3]) = (VERSION, kind);
        for (place, word) in
            head[8..].chunks_exact_mut(8).zip([self.incarnation, self.id, self.offset])
        {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let sum = check_sum(&head, &body);
        head[4..8].copy_from_slice(&sum.to_le_bytes());
        (head, body)
    }

    /// None: damaged, of another version, or never one of ours.
    pub(crate) fn read(frame: &'a [u8]) -> Option<Self> {
        let (head, body) = frame.split_first_chunk::<HEAD_BYTES>()?;
        if head[..2] != MAGIC
            || head[2] != VERSION
            || head[4..8] != check_sum(head, body).to_le_bytes()
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
        let (words, _) = head.as_chunks();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        Some(Datagram { incarnation: word(1), id: word(2), offset: word(3), says })
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
        says.map(|says| Datagram { incarnation: 1, id: u64::MAX, offset: 3, says })
    }

    fn written(datagram: &Datagram<'_>) -> Vec<u8> {
        let (head, body) = datagram.write();
        [&head[..], &body].concat()
    }

    #[test]
    fn what_is_written_is_read_and_is_no_frame_of_a_link() {
        for datagram in all() {
            let bytes = written(&datagram);
            assert_eq!(Datagram::read(&bytes), Some(datagram));
            assert!(is_datagram(&bytes));
            let mut other = bytes.clone();
            other[2] += 1;
            let sum = check_sum(&other, &[]).to_le_bytes();
            other[4..8].copy_from_slice(&sum);
            assert_eq!(Datagram::read(&other), None, "another version");
        }
    }

    proptest! {
        #[test]
        fn damage_is_found(which in 0..4_usize, at in 0..1_000_usize, bit in 0..8) {
            let mut bytes = written(&all()[which]);
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
