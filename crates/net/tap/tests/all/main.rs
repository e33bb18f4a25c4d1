//! Taps of this process and of others, by their sockets.

mod serving;
mod tapping;
