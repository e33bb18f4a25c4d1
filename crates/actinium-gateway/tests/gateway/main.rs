//! A real client over loopback: what it can say, and what it is told when it should not have said it.

mod admission;
mod desk;
mod talking;
mod wrong;
