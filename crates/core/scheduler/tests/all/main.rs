//! What programs without `unsafe` can do to a scheduler: everything here is safe code, and so are
//! the mistakes in it.
#![cfg(not(any(loom, shuttle)))]
#![forbid(unsafe_code)]

mod misuse;
mod turn_time;
