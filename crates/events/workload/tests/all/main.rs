//! All of this crate's tests, as one program: to link one takes a fraction of the time that many
//! take.

mod chromium;
mod common;
mod documentation;
mod examples;
mod faults;
mod gaudi_jobs;
mod given;
mod jobs;
mod plans;
mod properties;
mod real_plans;
mod real_workloads;
mod replay;
mod shipped_workloads;
