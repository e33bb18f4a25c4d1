//! Frames: where one message ends and the next begins, whatever their encoding.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | `0xAC`: a frame begins |
//! | 1 | kind: 1 hello, 2 message, 3 refusal |
//! | 1 | encoding: 1 binary, 2 self-describing, 3 text, 4 xml |
//! | 1 | flags: bit 0, a checksum follows; no other |
//! | 4 | length of the payload, little-endian |
//! | 0 or 4 | checksum: CRC-32C of the eight bytes above and the payload, little-endian |
//! | length | payload |

use crate::encoding::Encoding;
use bytes::{Buf, Bytes, BytesMut};
use std::fmt::{self, Display};
use std::io::{self, Read};

/// The first byte of every frame. In UTF-8 no text begins with it.
pub const MAGIC: u8 = 0xAC;
/// Bytes before the checksum, or before the payload if there is none.
pub const HEADER_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
const CHECKSUM_FLAG: u8 = 1;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The hello, a side's offer: the first frame in each direction.
    Hello = 1,
    /// A message of the program.
    Message = 2,
    /// Why the sender leaves: a line of text.
    Refusal = 3,
}

impl Kind {
    fn of_id(id: u8) -> Option<Self> {
        [Kind::Hello, Kind::Message, Kind::Refusal].into_iter().find(|kind| *kind as u8 == id)
    }
}

/// A frame that came in whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The kind of its content.
    pub kind: Kind,
    /// The encoding of its content.
    pub encoding: Encoding,
    /// Whether it had a checksum (which was right).
    pub checksum: bool,
    /// Where in the stream its header begins.
    pub offset: u64,
    /// The encoded content.
    pub payload: Bytes,
}

/// An error in a frame, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameError {
    /// Where in the stream its header begins.
    pub offset: u64,
    /// The fault: the expected content, and the content that was found.
    pub fault: FrameFault,
}

/// A fault of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFault {
    /// The bytes do not begin as a frame does.
    Magic {
        /// The first byte.
        found: u8,
    },
    /// The frame is longer than the limit.
    TooLong {
        /// The limit.
        limit: usize,
        /// The length that it claims.
        found: usize,
    },
    /// The checksum does not fit the bytes.
    Checksum {
        /// The checksum that the frame carries.
        expected: u32,
        /// The checksum of the frame's bytes.
        found: u32,
    },
    /// No frame has this kind, encoding or flag.
    Header {
        /// The part of the header: kind, encoding or flag.
        part: &'static str,
        /// The value that stands there.
        found: u8,
    },
    /// The stream ends within it.
    Truncated {
        /// How many bytes it has, as far as is known.
        expected: usize,
        /// How many came.
        found: usize,
    },
}

impl FrameError {
    /// Whether nobody knows where the next frame begins.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        use FrameFault::{Magic, TooLong, Truncated};
        matches!(self.fault, Magic { .. } | TooLong { .. } | Truncated { .. })
    }
}

impl Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame at offset {}: ", self.offset)?;
        match self.fault {
            FrameFault::Magic { found } => {
                write!(f, "expected it to begin with {MAGIC:#04x}, found {found:#04x}")
            }
            FrameFault::TooLong { limit, found } => {
                write!(f, "expected at most {limit} bytes, found a length of {found}")
            }
            FrameFault::Checksum { expected, found } => {
                write!(f, "expected the checksum {expected:#010x}, found {found:#010x}")
            }
            FrameFault::Header { part, found } => {
                write!(f, "expected a known {part}, found {found}")
            }
            FrameFault::Truncated { expected, found } => {
                write!(f, "expected {expected} bytes, found the end after {found}")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// Appends a frame whose payload `write` appends. If that fails, nothing is appended.
///
/// # Errors
/// What `write` fails with, or that the payload is longer than the limit (as an `Err` of its
/// length).
pub fn append<E>(
    out: &mut Vec<u8>,
    kind: Kind,
    encoding: Encoding,
    checksum: bool,
    limit: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<Result<(), usize>, E> {
    let begin = out.len();
    out.extend([MAGIC, kind as u8, encoding.id(), u8::from(checksum) * CHECKSUM_FLAG]);
    out.extend([0; CHECKSUM_BYTES]);
    let header_end = out.len();
    if checksum {
        out.extend([0; CHECKSUM_BYTES]);
    }
    let payload = out.len();
    if let Err(error) = write(out) {
        out.truncate(begin);
        return Err(error);
    }
    let length = out.len() - payload;
    let narrow = u32::try_from(length).ok().filter(|_| length <= limit);
    let Some(narrow) = narrow else {
        out.truncate(begin);
        return Ok(Err(length));
    };
    out[header_end - 4..header_end].copy_from_slice(&narrow.to_le_bytes());
    if checksum {
        let sum = crc32c::crc32c(&out[begin..header_end]);
        let sum = crc32c::crc32c_append(sum, &out[payload..]);
        out[header_end..payload].copy_from_slice(&sum.to_le_bytes());
    }
    Ok(Ok(()))
}

/// Takes a stream of bytes apart into frames. Bytes come in by [`feed`](Self::feed) or
/// [`fill`](Self::fill), frames out by [`next`](Self::next); a frame's payload is not copied.
#[derive(Debug)]
pub struct Unframer {
    buffer: BytesMut,
    /// Where in the stream the buffer begins.
    offset: u64,
    limit: usize,
}

impl Unframer {
    /// For frames whose payload has at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Unframer { buffer: BytesMut::new(), offset: 0, limit }
    }

    /// Sets how many bytes frames may have from now on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Adds what one read gives; returns how much that was. Memory grows with what has come, not
    /// with what was claimed.
    ///
    /// # Errors
    /// If reading fails.
    pub fn fill(&mut self, source: &mut impl Read) -> io::Result<usize> {
        const LEAST: usize = 16 << 10;
        const MOST: usize = 256 << 10;
        let have = self.buffer.len();
        let want = self.missing().unwrap_or(0).clamp(LEAST, MOST);
        self.buffer.resize(have + want, 0);
        let read = source.read(&mut self.buffer[have..]);
        self.buffer.truncate(have + read.as_ref().copied().unwrap_or(0));
        read
    }

    /// How many bytes the frame that has begun still lacks, as far as is known.
    fn missing(&self) -> Option<usize> {
        let length = self.buffer.get(4..8)?.try_into().ok()?;
        Some((u32::from_le_bytes(length) as usize).min(self.limit) + HEADER_BYTES + CHECKSUM_BYTES)
            .map(|all| all.saturating_sub(self.buffer.len()))
    }

    /// Where in the stream the next frame begins.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The stream has ended: an error if that was within a frame.
    ///
    /// # Errors
    /// If it was.
    pub fn end(&self) -> Result<(), FrameError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let found = self.buffer.len();
        let expected = match self.missing() {
            None => HEADER_BYTES,
            Some(_) if self.buffer[3] & CHECKSUM_FLAG == 0 => {
                found + self.missing().unwrap_or(0)
                    - CHECKSUM_BYTES.min(self.missing().unwrap_or(0))
            }
            Some(missing) => found + missing,
        };
        Err(self.error(FrameFault::Truncated { expected, found }))
    }

    /// The next frame, if all of it has come.
    ///
    /// # Errors
    /// If it is damaged. If the error is not fatal, the frame has been passed over, and the next
    /// call gives the one behind it.
    #[expect(clippy::should_implement_trait, reason = "an iterator would end at the first gap")]
    pub fn next(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(&found) = self.buffer.first() else { return Ok(None) };
        if found != MAGIC {
            return Err(self.error(FrameFault::Magic { found }));
        }
        let Some(&[_, kind, encoding, flags, a, b, c, d]) = self.buffer.first_chunk() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > self.limit {
            return Err(self.error(FrameFault::TooLong { limit: self.limit, found: length }));
        }
        let checksum = flags & CHECKSUM_FLAG != 0;
        let begin = HEADER_BYTES + if checksum { CHECKSUM_BYTES } else { 0 };
        if self.buffer.len() < begin + length {
            return Ok(None);
        }
        let fault = self.fault(kind, encoding, flags, begin, length);
        let (offset, error) = (self.offset, fault.map(|fault| self.error(fault)));
        let mut frame = self.buffer.split_to(begin + length);
        self.offset += (begin + length) as u64;
        if let Some(error) = error {
            return Err(error);
        }
        frame.advance(begin);
        match (Kind::of_id(kind), Encoding::of_id(encoding)) {
            (Some(kind), Some(encoding)) => {
                Ok(Some(Frame { kind, encoding, checksum, offset, payload: frame.freeze() }))
            }
            _ => unreachable!("`fault` has looked at both"),
        }
    }

    fn fault(
        &self,
        kind: u8,
        encoding: u8,
        flags: u8,
        begin: usize,
        length: usize,
    ) -> Option<FrameFault> {
        if flags & CHECKSUM_FLAG != 0 {
            let sum = crc32c::crc32c(&self.buffer[..HEADER_BYTES]);
            let found = crc32c::crc32c_append(sum, &self.buffer[begin..begin + length]);
            let expected = (&self.buffer[HEADER_BYTES..]).get_u32_le();
            if expected != found {
                return Some(FrameFault::Checksum { expected, found });
            }
        }
        match () {
            () if flags & !CHECKSUM_FLAG != 0 => {
                Some(FrameFault::Header { part: "flag", found: flags })
            }
            () if Kind::of_id(kind).is_none() => {
                Some(FrameFault::Header { part: "kind", found: kind })
            }
            () if Encoding::of_id(encoding).is_none() => {
                Some(FrameFault::Header { part: "encoding", found: encoding })
            }
            () => None,
        }
    }

    #[cold]
    fn error(&self, fault: FrameFault) -> FrameError {
        FrameError { offset: self.offset, fault }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(payload: &[u8], checksum: bool) -> Vec<u8> {
        let mut out = Vec::new();
        let write = |out: &mut Vec<u8>| {
            out.extend(payload);
            Ok::<(), ()>(())
        };
        let appended =
            append(&mut out, Kind::Message, Encoding::Text, checksum, payload.len(), write);
        assert_eq!(appended, Ok(Ok(())));
        out
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_the_stream_is_cut() {
        for checksum in [false, true] {
            let stream = [frame(b"one", checksum), frame(b"", checksum), frame(b"three", checksum)];
            let stream = stream.concat();
            for step in 1..stream.len() {
                let mut unframer = Unframer::new(5);
                let mut payloads = Vec::new();
                for part in stream.chunks(step) {
                    unframer.feed(part);
                    while let Some(frame) = unframer.next().expect("no frame is damaged") {
                        assert_eq!(frame.checksum, checksum);
                        payloads.push(frame.payload);
                    }
                }
                assert_eq!(payloads, ["one", "", "three"]);
                assert_eq!(unframer.end(), Ok(()));
                assert_eq!(unframer.offset(), stream.len() as u64);
            }
        }
    }

    #[test]
    fn any_flipped_bit_is_noticed_and_the_next_frame_is_found_where_that_is_possible() {
        let (first, second) = (frame(b"first", true), frame(b"second", true));
        for bit in 0..first.len() * 8 {
            let mut stream = [first.clone(), second.clone()].concat();
            stream[bit / 8] ^= 1 << (bit % 8);
            let mut unframer = Unframer::new(100);
            unframer.feed(&stream);
            let mut outcome = Vec::new();
            loop {
                match unframer.next() {
                    Ok(Some(frame)) => outcome.push(Ok(frame.payload)),
                    Ok(None) => break,
                    Err(error) => {
                        let fatal = error.is_fatal();
                        outcome.push(Err(error));
                        if fatal {
                            break;
                        }
                    }
                }
            }
            let damaged = outcome.iter().any(Result::is_err) || unframer.end().is_err();
            assert!(damaged, "bit {bit}");
            assert!(!outcome.contains(&Ok(Bytes::from("first"))), "bit {bit}");
            // The payload's damage does not reach beyond the frame.
            if bit / 8 >= HEADER_BYTES {
                assert_eq!(outcome.last(), Some(&Ok(Bytes::from("second"))), "bit {bit}");
            }
        }
    }

    #[test]
    fn errors_say_where_and_what() {
        let said = |stream: &[u8]| {
            let mut unframer = Unframer::new(100);
            unframer.feed(stream);
            let error = unframer.next().and_then(|_| unframer.end());
            error.map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
        };
        assert_eq!(
            said(b"GET / HTTP/1.1"),
            "frame at offset 0: expected it to begin with 0xac, found 0x47"
        );
        assert_eq!(
            said(&[MAGIC, 2, 1, 0, 255, 255, 255, 255]),
            "frame at offset 0: expected at most 100 bytes, found a length of 4294967295"
        );
        assert_eq!(
            said(&[MAGIC, 9, 1, 0, 0, 0, 0, 0]),
            "frame at offset 0: expected a known kind, found 9"
        );
        assert_eq!(
            said(&[MAGIC, 2, 1, 0, 7, 0, 0, 0, 1, 2]),
            "frame at offset 0: expected 15 bytes, found the end after 10"
        );
        assert_eq!(said(&[MAGIC, 2]), "frame at offset 0: expected 8 bytes, found the end after 2");
        let mut damaged = frame(b"payload", true);
        damaged[15] ^= 1;
        assert!(said(&damaged).starts_with("frame at offset 0: expected the checksum 0x"));
    }
}
