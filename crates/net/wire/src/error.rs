//! Errors of messages and links. Each error names the link, the offset, the expected and the found.

use crate::encoding::Encoding;
use std::cell::Cell;
use std::fmt::{self, Display};

thread_local! {
    static EXPLAINED: Cell<Option<String>> = const { Cell::new(None) };
}

/// Keeps the words of an error that a type's own code is about to return. For `binary`, whose
/// library keeps no words of such errors; the next error on this thread takes them.
#[doc(hidden)]
pub fn explain(problem: &str) {
    EXPLAINED.set(Some(problem.to_owned()));
}

/// Takes the words of the last error of a type's own code, if it has said any.
pub(crate) fn explained() -> Option<String> {
    EXPLAINED.take()
}

/// A message that an encoding has no way to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    encoding: Encoding,
    problem: String,
}

impl EncodeError {
    #[cold]
    pub(crate) fn new(encoding: Encoding, problem: impl ToString) -> Self {
        explained();
        EncodeError { encoding, problem: problem.to_string() }
    }
}

impl Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} can not say this message: {}", self.encoding, self.problem)
    }
}

impl std::error::Error for EncodeError {}

/// Bytes that are not the expected message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The encoding in which the bytes were read.
    pub encoding: Encoding,
    /// Where in the message, in bytes.
    pub offset: usize,
    /// The problem: the expected content, and the content that was found.
    pub problem: String,
}

impl DecodeError {
    #[cold]
    pub(crate) fn new(encoding: Encoding, offset: usize, problem: impl ToString) -> Self {
        explained();
        DecodeError { encoding, offset, problem: problem.to_string() }
    }

    #[cold]
    pub(crate) fn trailing(encoding: Encoding, length: usize, left: usize) -> Self {
        let problem = format!("expected the end of the message, found {left} bytes more");
        DecodeError::new(encoding, length - left, problem)
    }

    #[cold]
    pub(crate) fn too_long(encoding: Encoding, length: usize, limit: usize) -> Self {
        let problem = format!("expected at most {limit} bytes, found {length}");
        DecodeError::new(encoding, 0, problem)
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} message, offset {}: {}", self.encoding, self.offset, self.problem)
    }
}

impl std::error::Error for DecodeError {}
