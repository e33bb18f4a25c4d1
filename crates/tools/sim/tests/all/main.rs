//! All of this crate's tests, as one program: to link one takes a fraction of the time that many
//! take.

mod placement;
mod properties;
