//! What can go wrong with a message and with a link. Every error names where: link, offset, what was expected, what was found.

use crate::codec::Encoding;
use std::fmt::{self, Display};

/// A message that an encoding has no way to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    encoding: Encoding,
    problem: String,
}

impl EncodeError {
    #[cold]
    pub(crate) fn new(encoding: Encoding, problem: impl ToString) -> Self {
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
    /// What the bytes were taken for.
    pub encoding: Encoding,
    /// Where in the message, in bytes.
    pub offset: usize,
    /// What was expected, and what was found.
    pub problem: String,
}

impl DecodeError {
    #[cold]
    pub(crate) fn new(encoding: Encoding, offset: usize, problem: impl ToString) -> Self {
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
