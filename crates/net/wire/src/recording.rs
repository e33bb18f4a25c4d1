//! Recorded streams: a hello, and the messages after it.
//!
//! In `binary` and `self-describing` a recording is frames, as on a link. In `text` and `xml` it is
//! lines, the hello first, so that any program that reads lines can read it.

use crate::encoding::Encoding;
use crate::error::DecodeError;
use crate::frame::{self, FrameError, Kind, Unframer};
use crate::hello::Hello;
use crate::limits::Limits;
use crate::link::{LinkFault, hello_frame, hello_of};
use bytes::Bytes;
use std::fmt::{self, Display};

/// One message of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// How it is encoded.
    pub encoding: Encoding,
    /// Where it begins in the recording.
    pub offset: usize,
    /// The message.
    pub payload: Bytes,
}

/// A recording, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The hello: the messages' name and schema.
    pub hello: Hello,
    /// In the order in which they were said.
    pub messages: Vec<Recorded>,
}

/// An error in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordingError {
    /// The recording does not begin with a hello.
    Hello(String),
    /// A frame is damaged.
    Frame(FrameError),
    /// The hello is damaged.
    Decode(DecodeError),
}

impl Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingError::Hello(found) => {
                write!(
                    f,
                    "offset 0: expected a recording, which begins with a hello; found {found}"
                )
            }
            RecordingError::Frame(error) => write!(f, "{error}"),
            RecordingError::Decode(error) => write!(f, "the hello: {error}"),
        }
    }
}

impl std::error::Error for RecordingError {}

impl Recording {
    /// Takes a recording apart.
    ///
    /// # Errors
    /// If it is none, or a frame is damaged.
    pub fn read(bytes: Bytes, limits: &Limits) -> Result<Self, RecordingError> {
        match bytes.first() {
            Some(&frame::MAGIC) => Self::read_frames(&bytes, limits),
            Some(b'{') => Self::read_lines(&bytes, Encoding::Text),
            Some(b'<') => Self::read_lines(&bytes, Encoding::Xml),
            Some(other) => Err(RecordingError::Hello(format!("the byte {other:#04x}"))),
            None => Err(RecordingError::Hello("nothing".to_owned())),
        }
    }

    fn read_frames(bytes: &Bytes, limits: &Limits) -> Result<Self, RecordingError> {
        let mut unframer = Unframer::new(limits.frame_bytes.max(Limits::HELLO.frame_bytes));
        unframer.feed(bytes);
        let mut hello = None;
        let mut messages = Vec::new();
        while let Some(frame) = unframer.next().map_err(RecordingError::Frame)? {
            match frame.kind {
                Kind::Hello => {
                    hello = Some(hello_of(&frame).map_err(RecordingError::Decode)?);
                }
                Kind::Message => messages.push(Recorded {
                    encoding: frame.encoding,
                    offset: usize::try_from(frame.offset).unwrap_or(usize::MAX),
                    payload: frame.payload,
                }),
                Kind::Refusal => {}
            }
            if hello.is_none() {
                return Err(RecordingError::Hello(format!("a {:?}", frame.kind)));
            }
        }
        unframer.end().map_err(RecordingError::Frame)?;
        let hello = hello.ok_or_else(|| RecordingError::Hello("no frame".to_owned()))?;
        Ok(Recording { hello, messages })
    }

    fn read_lines(bytes: &Bytes, encoding: Encoding) -> Result<Self, RecordingError> {
        let mut lines = Vec::new();
        let mut offset = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !line.trim_ascii().is_empty() {
                lines.push(Recorded { encoding, offset, payload: bytes.slice_ref(line) });
            }
            offset += line.len();
        }
        let mut lines = lines.into_iter();
        let hello = lines.next().ok_or_else(|| RecordingError::Hello("nothing".to_owned()))?;
        let hello = Hello::decode(encoding, &hello.payload);
        Ok(Recording { hello: hello.map_err(RecordingError::Decode)?, messages: lines.collect() })
    }
}

/// Appends the head of a recording in this encoding.
///
/// # Errors
/// If the hello can not be encoded.
pub fn append_hello(encoding: Encoding, hello: &Hello, out: &mut Vec<u8>) -> Result<(), String> {
    match encoding.is_text() {
        true => encoding.encode(hello, out).map_err(|error| error.to_string()),
        false => hello_frame(hello, out).map_err(|fault| match fault {
            LinkFault::TooLong { limit, found } => {
                format!("expected a hello of at most {limit} bytes, found one of {found}")
            }
            LinkFault::Encode(error) => error.to_string(),
            other => format!("{other:?}"),
        }),
    }
}

/// Appends an encoded message; frames have checksums.
///
/// # Errors
/// If it is longer than a frame can be.
pub fn append_message(encoding: Encoding, message: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let write = |out: &mut Vec<u8>| {
        out.extend_from_slice(message);
        Ok::<(), String>(())
    };
    match encoding.is_text() {
        true => write(out),
        false => {
            let limit = u32::MAX as usize;
            match frame::append(out, Kind::Message, encoding, true, limit, write)? {
                Ok(()) => Ok(()),
                Err(found) => Err(format!("expected at most {limit} bytes, found {found}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Message;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, crate::Message)]
    struct Note {
        text: String,
    }

    #[test]
    fn every_encoding_can_be_recorded() {
        let hello = Hello::of::<Note>(&[Encoding::Binary], true);
        assert_eq!(hello.schema, Note::schema());
        for encoding in Encoding::available() {
            let mut out = Vec::new();
            append_hello(encoding, &hello, &mut out).expect("it is encoded");
            for text in ["a\nb", ""] {
                let mut message = Vec::new();
                encoding.encode(&Note { text: text.to_owned() }, &mut message).expect("it fits");
                append_message(encoding, &message, &mut out).expect("it is short");
            }
            let read = Recording::read(out.into(), &Limits::default()).expect("it is read");
            assert_eq!((&read.hello, read.messages.len()), (&hello, 2));
            let first = &read.messages[0];
            assert_eq!(first.encoding, encoding);
            let note: Note = encoding.decode(&first.payload, &Limits::default()).expect("a note");
            assert_eq!(note.text, "a\nb");
        }
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let said = |bytes: &'static [u8]| {
            Recording::read(bytes.into(), &Limits::default()).expect_err("none").to_string()
        };
        assert!(said(b"").ends_with("found nothing"));
        assert!(said(b"\x00").ends_with("found the byte 0x00"));
        assert!(said(b"{}\n").starts_with("the hello: text message, offset 1: missing field"));
        assert!(said(&[0xac, 2, 1, 0, 0, 0, 0, 0]).ends_with("found a Message"));
        assert!(said(&[0xac, 2, 1, 0, 1]).contains("expected 8 bytes, found the end after 5"));
    }
}
