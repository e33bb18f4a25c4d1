//! Start-up, measured from outside: how long a no-op program takes from its start until it could
//! begin, and to its end.

use super::child::{Said, now_ns};
use super::failure::failure;
use super::settings::{ChildTask, Fabric, StartupMode};
use crate::Failure;
use actinium_memory::{Baseline, Mode, PageSize, Placement, Segment, Size};
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// The settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How large segments are, in bytes.
    pub sizes: Vec<u64>,
    /// The modes in which programs use the segments.
    pub modes: Vec<StartupMode>,
    /// Their pages.
    pub pages: PageSize,
    /// Where those lie.
    pub placement: Placement,
    /// The interface with which segments are registered.
    pub register: Fabric,
    /// How many threads fault in, where it is not one.
    pub threads: usize,
    /// How often each is measured.
    pub repeat: usize,
    /// Whether what the machine can do is measured too.
    pub limit: bool,
    /// The program that is started, and its first arguments: it passes the others to
    /// [`child::run`](super::child::run), and prints what that answers as a line of JSON.
    pub program: Vec<OsString>,
}

/// One start.
#[derive(Clone, Debug)]
pub struct Start {
    /// The time from before the program was started until it said that it was ready.
    pub ready_s: f64,
    /// Until it had ended.
    pub end_s: f64,
    /// The child's report.
    pub said: Said,
}

/// All starts of a size.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The size.
    pub size_bytes: u64,
    /// Starts by mode.
    pub modes: Vec<(StartupMode, Vec<Start>)>,
    /// The starts that show the machine's limits, by loop and number of threads.
    pub limits: Vec<(Baseline, usize, Vec<Start>)>,
}

/// In bytes, as a segment of this size has them. Also finds out whether it fits, so that no child
/// has to.
///
/// # Errors
/// If it does not, or a setting makes no sense.
pub fn bytes_of(size: Size, pages: PageSize, placement: &Placement) -> Result<u64, Failure> {
    let builder = Segment::builder().size(size).pages(pages).placement(placement.clone());
    let segment = builder.mode(Mode::Lazy).build().map_err(failure)?;
    Ok(segment.len() as u64)
}

/// Measures. All modes take turns, so that what the machine does meanwhile hits all of them.
///
/// # Errors
/// If a program can not be started, or fails.
pub fn measure(settings: &Settings, mut note: impl FnMut(&str)) -> Result<Vec<Measured>, Failure> {
    // Memory that a virtual machine's host has not backed yet is slow at first, whoever touches it.
    let is_needed = settings.limit || settings.modes.iter().any(|mode| mode.touches());
    if is_needed && let Some(&largest) = settings.sizes.iter().max() {
        note("warming up");
        start(settings, largest, ChildTask::Mode(StartupMode::Eager), settings.threads)?;
    }
    settings.sizes.iter().map(|&size_bytes| one_size(settings, size_bytes, &mut note)).collect()
}

fn one_size(
    settings: &Settings,
    size_bytes: u64,
    note: &mut impl FnMut(&str),
) -> Result<Measured, Failure> {
    let modes = settings.modes.iter().map(|&mode| (mode, Vec::new())).collect();
    let mut measured = Measured { size_bytes, modes, limits: Vec::new() };
    if settings.limit {
        let mut threads = vec![1, settings.threads];
        threads.dedup();
        for baseline in Baseline::ALL {
            // One call is one thread's.
            let threads = if baseline == Baseline::MapPopulate { &threads[..1] } else { &threads };
            measured.limits.extend(threads.iter().map(|&threads| (baseline, threads, Vec::new())));
        }
    }
    for round in 1..=settings.repeat {
        note(&format!("{size_bytes} bytes, round {round} of {}", settings.repeat));
        for (mode, starts) in &mut measured.modes {
            starts.push(start(settings, size_bytes, ChildTask::Mode(*mode), settings.threads)?);
        }
        for (baseline, threads, starts) in &mut measured.limits {
            starts.push(start(settings, size_bytes, ChildTask::Baseline(*baseline), *threads)?);
        }
    }
    Ok(measured)
}

fn start(
    settings: &Settings,
    size_bytes: u64,
    task: ChildTask,
    threads: usize,
) -> Result<Start, Failure> {
    let failed = |what: String| Failure::Failed(format!("the program '{task}': {what}"));
    let (program, arguments) =
        settings.program.split_first().ok_or_else(|| failed("it has no name".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments).args(["--child", &task.to_string()]);
    command.args(["--size", &size_bytes.to_string(), "--pages", &settings.pages.to_string()]);
    command.args(["--placement", &settings.placement.to_string()]);
    command.args(["--register", &settings.register.to_string()]);
    command.args(["--threads", &threads.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let before = now_ns();
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    let after = now_ns();
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let line = stderr.trim();
        // More was asked for than there is now: what the program says, it says to us.
        return Err(match output.status.code() {
            Some(2) => Failure::Asked(line.trim_start_matches("actinium: ").to_owned()),
            _ => failed(format!("{}: {line}", output.status)),
        });
    }
    let said: Said =
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let since = |ns: u64| ns.saturating_sub(before) as f64 / 1e9;
    Ok(Start { ready_s: since(said.ready_ns), end_s: since(after), said })
}
