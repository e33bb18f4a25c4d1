//! The costs of the links between two nodes, as a file has them: measured once, simulated often.

use crate::Failure;
use actinium_cluster::sim::Links;
use actinium_report::Document;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

/// The longest time that a file or a flag may give, in nanoseconds.
pub const NS_MAX: u64 = 1_000_000_000;

/// The costs of a fabric's links in the terms of LogGP. They serialise as the file's JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeasuredLinks {
    schema_version: u32,
    /// The fabric that was measured.
    pub fabric: String,
    /// L: how long a frame is under way, in nanoseconds.
    pub latency_ns: u64,
    /// o: what the fabric takes of a node's worker for a frame, in nanoseconds.
    pub overhead_ns: u64,
    /// g: the least time between two frames, in nanoseconds.
    pub gap_ns: u64,
    /// G: the time for each 1,024 bytes of a frame, in nanoseconds.
    pub gap_per_kib_ns: u64,
}

impl MeasuredLinks {
    /// Creates the figures of a fabric; what a frame and a message cost the nodes is none of them.
    pub fn new(fabric: &str, links: Links) -> Self {
        MeasuredLinks {
            schema_version: SCHEMA_VERSION,
            fabric: fabric.to_owned(),
            latency_ns: links.latency_ns,
            overhead_ns: links.overhead_ns,
            gap_ns: links.gap_ns,
            gap_per_kib_ns: links.gap_per_kib_ns,
        }
    }

    /// Reads a file that `actinium sim links --json` has printed.
    ///
    /// # Errors
    /// If the file can not be read, has other data, was cut off or is of a later release; if a time
    /// is longer than a second.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let asked = |error: &dyn std::fmt::Display| Failure::Asked(format!("--links: {error}"));
        let read = || {
            let document = Document::read(path, "file of links")?;
            document.up_to(SCHEMA_VERSION)?.data::<Self>()
        };
        let links = read().map_err(|error| asked(&error))?;
        let too_long = links.times().into_iter().find(|(_, ns)| *ns > NS_MAX);
        too_long.map_or(Ok(links), |(name, ns)| {
            let problem =
                format!("{name} of {} is {ns}: at most {NS_MAX} is allowed", path.display());
            Err(asked(&problem))
        })
    }

    fn times(&self) -> [(&'static str, u64); 4] {
        [
            ("latency_ns", self.latency_ns),
            ("overhead_ns", self.overhead_ns),
            ("gap_ns", self.gap_ns),
            ("gap_per_kib_ns", self.gap_per_kib_ns),
        ]
    }

    /// Returns the figures as text; how to use them unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = format!(
            "links of the fabric '{}': --latency {} --overhead {} --gap {} --gap-per-kib {}\n",
            self.fabric, self.latency_ns, self.overhead_ns, self.gap_ns, self.gap_per_kib_ns
        );
        if !quiet {
            let how = "with --json, this is the file that 'actinium sim cluster --links' reads";
            writeln!(text, "{how}").expect("a String takes all");
        }
        text
    }
}
