//! All of this crate's tests, as one program: to link one takes a fraction of the time that many
//! take.

mod admission;
mod attribute;
mod desk;
mod panics;
mod shop_example;
mod strangers;
mod talking;
mod taps;
mod traces;
mod wrong;
