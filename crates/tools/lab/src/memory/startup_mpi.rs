//! What registering a segment with MPI costs and is worth: a no-op job's time from start to exit,
//! and reads of another rank's segment, with a static window and with a dynamic one.
//!
//! The jobs are started by `mpiexec`, one after the other and in turns, so that what the machine
//! does meanwhile hits all of them. Each is this program as so many ranks, which do what
//! `startup_mpi_rank.rs` says.

use crate::Failure;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Instant;

/// The least and the greatest transfer that is measured, in bytes; each is four times the one
/// before.
pub const TRANSFER_BYTES: (u64, u64) = (4 << 10, 16 << 20);

/// How the segment of a job is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// Not at all.
    None,
    /// As a whole, by a static window.
    Static,
    /// When it is leased, by a dynamic window.
    Dynamic,
}

impl Registration {
    /// All that are compared.
    pub const ALL: [Registration; 3] =
        [Registration::None, Registration::Static, Registration::Dynamic];
}

impl fmt::Display for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Registration::None => "none",
            Registration::Static => "static",
            Registration::Dynamic => "dynamic",
        })
    }
}

/// What the ranks of a job do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// How they register.
    pub registration: Registration,
    /// Whether the first rank reads from the second one; else they end at once.
    pub transfers: bool,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.transfers { "transfers" } else { "no-op" };
        write!(f, "{what}:{}", self.registration)
    }
}

impl FromStr for Task {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let tasks = Registration::ALL.into_iter().flat_map(|registration| {
            [false, true].map(|transfers| Task { registration, transfers })
        });
        let named = tasks.into_iter().find(|task| task.to_string() == text);
        named.ok_or_else(|| format!("'{text}' is no task of a rank"))
    }
}

/// What the first rank of a job reports, as a line of JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobSaid {
    /// How many ranks the job has.
    pub ranks: u32,
    /// Bytes of this rank that were registered when it could have begun its work.
    pub registered_bytes: u64,
    /// Time that registering took, all threads together.
    pub register_s: f64,
    /// Bytes of a read, and the median of its times.
    pub reads: Vec<(u64, f64)>,
}

/// The settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The segment of each rank, in bytes.
    pub size_bytes: u64,
    /// How many ranks a job has.
    pub ranks: u32,
    /// How often each job is started.
    pub repeat: usize,
    /// The command that starts a job: `mpiexec` and its arguments.
    pub launcher: Vec<OsString>,
    /// The program that is started, and its first arguments, without the task.
    pub program: Vec<OsString>,
}

/// The jobs of one registration.
#[derive(Clone, Debug)]
pub struct Jobs {
    /// Which one.
    pub registration: Registration,
    /// The times of no-op jobs from before `mpiexec` was started until it had ended, and what they
    /// said.
    pub no_ops: Vec<(f64, JobSaid)>,
    /// What the jobs said that read.
    pub transfers: Vec<JobSaid>,
}

/// Measures.
///
/// # Errors
/// If a job can not be started, or fails.
pub fn measure(settings: &Settings, mut note: impl FnMut(&str)) -> Result<Vec<Jobs>, Failure> {
    let mut jobs: Vec<Jobs> = Registration::ALL
        .into_iter()
        .map(|registration| Jobs { registration, no_ops: Vec::new(), transfers: Vec::new() })
        .collect();
    note("warming up");
    run(settings, Task { registration: Registration::Static, transfers: false })?;
    for round in 1..=settings.repeat {
        note(&format!("round {round} of {}", settings.repeat));
        for of in &mut jobs {
            let registration = of.registration;
            of.no_ops.push(run(settings, Task { registration, transfers: false })?);
            if registration != Registration::None {
                of.transfers.push(run(settings, Task { registration, transfers: true })?.1);
            }
        }
    }
    Ok(jobs)
}

fn run(settings: &Settings, task: Task) -> Result<(f64, JobSaid), Failure> {
    let failed = |what: String| Failure::Failed(format!("the job '{task}': {what}"));
    let (launcher, first) = settings
        .launcher
        .split_first()
        .ok_or_else(|| Failure::Asked("--mpiexec: the command has no name".to_owned()))?;
    let mut command = Command::new(launcher);
    command.args(first).args(["-n", &settings.ranks.to_string()]);
    command.args(&settings.program).args(["--rank", &task.to_string()]);
    command.args(["--size", &settings.size_bytes.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let before = Instant::now();
    let output = command.output().map_err(|error| {
        let name = launcher.to_string_lossy();
        Failure::Asked(format!("--mpiexec: '{name}' can not be started: {error}"))
    })?;
    let seconds = before.elapsed().as_secs_f64();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", output.status, stderr.trim())));
    }
    let said: JobSaid = serde_json::from_slice(&output.stdout).map_err(|error| {
        failed(format!("its first rank does not say what is expected: {error}"))
    })?;
    if said.ranks != settings.ranks {
        return Err(failed(format!(
            "{} ranks were started as jobs of {}: does '--mpiexec' belong to the MPI of this build?",
            settings.ranks, said.ranks
        )));
    }
    Ok((seconds, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_what_is_typed() {
        for registration in Registration::ALL {
            for transfers in [false, true] {
                let task = Task { registration, transfers };
                assert_eq!(task.to_string().parse(), Ok(task));
            }
        }
        assert!("transfers".parse::<Task>().is_err());
    }
}
