//! Reports, traces and flame graphs of real systems.

mod perfetto_schema;
mod reports;
mod traces;
