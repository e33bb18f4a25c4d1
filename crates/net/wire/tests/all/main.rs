//! All of this crate's tests, as one program: to link one takes a fraction of the time that many
//! take.

mod bad_input;
mod common;
mod conversation;
mod encodings;
mod evolution;
mod hostile;
mod links;
mod protocol;
mod schema;
mod xml;
