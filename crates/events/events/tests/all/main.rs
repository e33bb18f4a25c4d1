//! All of this crate's tests, as one program: to link one takes a fraction of the time that many
//! take.

mod data;
#[cfg(feature = "csv")]
mod data_modules;
mod destructors;
mod matrix;
mod modules;
mod nodes;
mod on_system;
mod processing;
mod provenance;
mod sources;
mod splitting;
mod traces;
