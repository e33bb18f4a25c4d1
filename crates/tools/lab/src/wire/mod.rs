//! Encodings and links: measured, converted, explained, listened to.
//!
//! | module | job |
//! |---|---|
//! | [`mod@bench`] | the measurement: settings and order |
//! | [`messages`] | the three messages that are measured |
//! | [`measure`] | the cost of a message by itself |
//! | [`loopback`] | its cost on a link |
//! | [`monitor`] | the cost of a protocol's monitor |
//! | [`energy`] | joules, where the machine counts them |
//! | [`row`], [`report`] | the figures, their text, JSON and page |
//! | [`convert`] | a recorded stream in another encoding |
//! | [`decode`] | bytes, explained |
//! | [`look`] | the live messages of another program |
//! | [`tap`] | a link in between that passes on every byte and prints every message |
//! | [`file`](mod@file) | files that are read as a whole |

pub mod bench;
pub mod convert;
pub mod decode;
pub mod energy;
pub mod file;
pub mod look;
pub mod loopback;
pub mod measure;
pub mod messages;
pub mod monitor;
pub mod report;
pub mod row;
pub mod tap;
