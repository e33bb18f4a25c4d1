//! The header that a link writes before each payload.
//!
//! | bytes | |
//! |---|---|
//! | 0..2 | `Ac` |
//! | 2 | version of the protocol |
//! | 3 | kind |
//! | 4..8 | CRC-32C of all else |
//! | 8..16 | incarnation of the sender |
//! | 16..24 | incarnation of the receiver as far as the sender knows it, else 0 |
//! | 24..32 | data: the frame's number; else: the number that the sender's next data frame will have |
//! | 32..40 | messages in all data frames before that number |
//! | 40..48 | data: messages in this frame; else 0 |
//! | 48..56 | all of the receiver's data frames below this number have arrived (or are given up) |
//! | 56..64 | and all below this one have been handled |
//!
//! The first eight bytes mean the same in every version, so that another version is told from
//! garbage.

use std::fmt;

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 64;
/// The version of this protocol.
pub const VERSION: u8 = 7;

/// The largest incarnation, and the largest count of messages. Nanoseconds since 1970 reach it in
/// the year 2262. A sum of this and a small number is still in range of a `u64`.
pub(crate) const COUNT_MAX: u64 = i64::MAX as u64;

const MAGIC: [u8; 2] = *b"Ac";

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// "I am here, in this incarnation."
    Hello = 1,
    /// Messages.
    Data = 2,
    /// "I am still here, and this is what I have of yours."
    Heartbeat = 3,
    /// "I leave."
    Bye = 4,
    /// "I will not talk to you", and the incarnation that is the reason.
    Refuse = 5,
    /// "You have broken the protocol: this session is over."
    Cut = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        [Kind::Hello, Kind::Data, Kind::Heartbeat, Kind::Bye, Kind::Refuse, Kind::Cut]
            .into_iter()
            .find(|&kind| kind as u8 == byte)
    }
}

/// The fields of a frame's header, but for those that all frames have alike (magic, version,
/// checksum).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) from_incarnation: u64,
    pub(crate) to_incarnation: u64,
    pub(crate) number: u64,
    pub(crate) messages_before: u64,
    pub(crate) messages: u64,
    pub(crate) arrived: u64,
    pub(crate) handled: u64,
}

/// An error in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadFrame {
    /// The frame is damaged, cut short, or not one of ours.
    Garbage,
    /// The frame is one of ours, of another version of the protocol.
    Version(u8),
}

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadFrame::Garbage => f.write_str("no frame, or a damaged one"),
            BadFrame::Version(version) => {
                write!(f, "a frame of protocol version {version}: this node speaks {VERSION}")
            }
        }
    }
}

fn check_sum(frame: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..])
}

impl Header {
    /// Writes the header into the first [`HEADER_BYTES`] of a frame whose payload is there already.
    pub(crate) fn write(&self, frame: &mut [u8]) {
        self.write_as(VERSION, frame);
    }

    fn write_as(&self, version: u8, frame: &mut [u8]) {
        frame[..2].copy_from_slice(&MAGIC);
        frame[2] = version;
        frame[3] = self.kind as u8;
        let words = [
            self.from_incarnation,
            self.to_incarnation,
            self.number,
            self.messages_before,
            self.messages,
            self.arrived,
            self.handled,
        ];
        // Of constant length: a word is stored at once, not by a call that copies bytes.
        let (places, _) = frame[8..HEADER_BYTES].as_chunks_mut();
        places.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        let sum = check_sum(frame);
        frame[4..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// Reads the header of a frame.
    pub(crate) fn read(frame: &[u8]) -> Result<Self, BadFrame> {
        if frame.len() < 8 || frame[..2] != MAGIC || frame[4..8] != check_sum(frame).to_le_bytes() {
            return Err(BadFrame::Garbage);
        }
        if frame[2] != VERSION {
            return Err(BadFrame::Version(frame[2]));
        }
        let (Some(kind), Some(header)) = (Kind::of(frame[3]), frame.first_chunk::<HEADER_BYTES>())
        else {
            return Err(BadFrame::Garbage);
        };
        let (words, _) = header[8..].as_chunks();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        Ok(Header {
            kind,
            from_incarnation: word(0),
            to_incarnation: word(1),
            number: word(2),
            messages_before: word(3),
            messages: word(4),
            arrived: word(5),
            handled: word(6),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header() -> Header {
        Header {
            kind: Kind::Data,
            from_incarnation: 1,
            to_incarnation: 2,
            number: 3,
            messages_before: 4,
            messages: 7,
            arrived: 5,
            handled: u64::MAX,
        }
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; HEADER_BYTES];
        frame.extend_from_slice(payload);
        header().write(&mut frame);
        frame
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Header::read(&frame(b"payload")), Ok(header()));
        assert_eq!(Header::read(&frame(b"")), Ok(header()));
    }

    #[test]
    fn another_version_is_not_garbage() {
        let mut frame = frame(b"payload");
        header().write_as(9, &mut frame);
        assert_eq!(Header::read(&frame), Err(BadFrame::Version(9)));
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(at in 0..HEADER_BYTES + 7, bit in 0..8) {
            let mut frame = frame(b"payload");
            frame[at] ^= 1_u8 << bit;
            prop_assert_eq!(Header::read(&frame), Err(BadFrame::Garbage));
        }

        #[test]
        fn any_garbage_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Header::read(&bytes), Err(BadFrame::Garbage));
        }

        #[test]
        fn a_frame_cut_short_is_refused(len in 0..HEADER_BYTES + 7) {
            prop_assert_eq!(Header::read(&frame(b"payload")[..len]), Err(BadFrame::Garbage));
        }
    }
}
