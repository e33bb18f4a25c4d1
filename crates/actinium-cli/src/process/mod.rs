//! What this process uses while a command measures: what the commands that run for long share.
//!
//! [`told`] is what Linux tells of it. A [`sampler`] looks at that again and again; a [`Load`] is what came of it over time, [`ProcessFigures`] are all of it, as a
//! node tells them to another one. [`charts`] draw them.

pub mod charts;
mod figures;
mod load;
pub mod sampler;
pub mod told;

pub use figures::{ProcessFigures, Watch};
pub use load::Load;
