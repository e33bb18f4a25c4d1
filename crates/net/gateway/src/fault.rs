//! Errors that a client is told.

use crate::encodings::content_type;
use actinium_wire::Encoding;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};

/// The kind of a fault, as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Code {
    /// The bytes are no message of the protocol.
    Decode,
    /// The protocol's state does not allow the message.
    State,
    /// The message is too long.
    TooLong,
    /// Too many messages a second.
    Rate,
    /// No such encoding or version.
    Encoding,
    /// The token is missing or wrong.
    Token,
    /// The web page may not.
    Origin,
    /// The client has said nothing for too long.
    Late,
    /// The actor has not answered in time.
    AnswerLate,
    /// The actor has dropped the request without an answer.
    NoAnswer,
    /// The actor has ended.
    Gone,
    /// The encoding has no way to say the actor's message.
    Encode,
    /// Code of the program has panicked: where it decodes, encodes, or makes its own message of
    /// what was said.
    Panicked,
    /// The gateway stops.
    Stopping,
}

/// An error that the client is told: its kind, its place, and what is allowed. It travels as
/// `{"error": {"code": .., "text": .., "message": ..}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The kind of error.
    pub code: Code,
    /// The explanation, for people.
    pub text: String,
    /// Which message of the client: the first is 1. None, if no message is to blame.
    pub message: Option<u64>,
}

#[derive(Serialize)]
struct Told<'a> {
    error: &'a Fault,
}

impl Fault {
    pub(crate) fn new(code: Code, text: impl Display) -> Self {
        Fault { code, text: text.to_string(), message: None }
    }

    /// The panic itself is the program's matter: its hook has told it.
    pub(crate) fn panicked() -> Self {
        Fault::new(Code::Panicked, "the program has panicked over a message of this conversation")
    }

    pub(crate) fn of_message(self, number: u64) -> Self {
        Fault { message: Some(number), ..self }
    }

    /// Encodes the fault in this encoding.
    pub(crate) fn encode(&self, encoding: Encoding) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A struct of words and numbers can be said in each of them.
        let _ = encoding.encode(&Told { error: self }, &mut bytes);
        bytes
    }

    /// Makes the response to a request of the fault.
    pub(crate) fn response(&self, encoding: Encoding) -> Response {
        let status = match self.code {
            Code::Decode | Code::Encoding => StatusCode::BAD_REQUEST,
            Code::State => StatusCode::CONFLICT,
            Code::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Code::Rate => StatusCode::TOO_MANY_REQUESTS,
            Code::Token => StatusCode::UNAUTHORIZED,
            Code::Origin => StatusCode::FORBIDDEN,
            Code::Late => StatusCode::REQUEST_TIMEOUT,
            Code::AnswerLate => StatusCode::GATEWAY_TIMEOUT,
            Code::NoAnswer | Code::Encode | Code::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
            Code::Gone | Code::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        };
        let kind = content_type(encoding).unwrap_or("application/json");
        let mut response =
            (status, [(header::CONTENT_TYPE, kind)], self.encode(encoding)).into_response();
        if self.code == Code::Token {
            let how = header::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
        }
        response
    }

    /// The code that a WebSocket closes with.
    pub(crate) fn close_code(&self) -> u16 {
        match self.code {
            Code::Stopping => 1001,
            Code::TooLong => 1009,
            Code::Gone | Code::NoAnswer | Code::Encode | Code::AnswerLate | Code::Panicked => 1011,
            _ => 1008,
        }
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            Some(number) => write!(f, "message {number}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for Fault {}
