//! Jobs side by side: this program started several times, each a process of its own.
//!
//! A job gets ready, says so by a line on stdout, and waits for a line on stdin. So all jobs begin
//! at the same time, however long each took to start.

use super::settings::Settings;
use super::sweep::Measured;
use crate::Failure;
use crate::setting::Source;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// What a job says when it is ready.
const READY: &str = "ready";
/// Most of a job's stderr that an error repeats.
const SAID_MAX: usize = 2_000;

/// In a job: says that it is ready, and waits until all are.
///
/// # Errors
/// If whoever has started it is gone.
pub(super) fn wait_for_others() -> Result<(), Failure> {
    crate::output::print(format!("{READY}\n"))?;
    let gone = || Failure::Failed("whoever has started this job is gone".to_owned());
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(1..) => Ok(()),
        _ => Err(gone()),
    }
}

/// The figures of a job that the others need, of all that it prints.
#[derive(Deserialize)]
struct Figures {
    events: u64,
    failed: u64,
    interrupted: bool,
    elapsed_s: f64,
    cpu_s: f64,
    threads_max: u64,
    memory_max_bytes: u64,
    checksum: Option<String>,
}

/// A job that was started.
struct Job {
    nth: usize,
    of: usize,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
}

impl Drop for Job {
    /// Of a job that failed the others are of no use.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs so many jobs of so many threads side by side, each with so many events.
///
/// # Errors
/// If one can not be started, or does not run: the error names it, and has its stderr.
pub(super) fn run(
    settings: &Settings,
    jobs: usize,
    workers: usize,
    events: u64,
) -> Result<Measured, Failure> {
    let mut all = Vec::with_capacity(jobs);
    for nth in 0..jobs {
        all.push(Job::start(settings, (nth, jobs), workers, events)?);
    }
    all.iter_mut().try_for_each(Job::wait_until_ready)?;
    all.iter_mut().try_for_each(Job::begin)?;
    let mut sum = Measured::default();
    for job in &mut all {
        let (figures, failure) = job.finish()?;
        sum.events += figures.events;
        sum.failed += figures.failed;
        sum.interrupted |= figures.interrupted;
        sum.elapsed_s = sum.elapsed_s.max(figures.elapsed_s);
        sum.cpu_s += figures.cpu_s;
        sum.threads_max += figures.threads_max;
        sum.memory_max_bytes += figures.memory_max_bytes;
        sum.checksum = figures.checksum;
        sum.failure = sum.failure.or(failure);
    }
    sum.events_per_s = (sum.events + sum.failed) as f64 / sum.elapsed_s;
    Ok(sum)
}

impl Job {
    fn start(
        settings: &Settings,
        (nth, of): (usize, usize),
        workers: usize,
        events: u64,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::Failed(format!("can not start job {} of {of}: {error}", nth + 1))
        };
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command
            .args(arguments(settings, workers, events))
            // Pages and traces are of one process.
            .env_remove(actinium_monitor::ENV_REPORT)
            .env_remove(actinium_monitor::ENV_TRACE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let stderr = stderr.map(|stderr| {
            std::thread::Builder::new().name("job-stderr".into()).spawn(move || all_of(stderr))
        });
        let stderr = stderr.transpose().map_err(failed)?;
        let missing = || Failure::Failed(format!("job {} of {of} has no stdout", nth + 1));
        let stdout = BufReader::new(stdout.ok_or_else(missing)?);
        Ok(Job { nth, of, child, stdin, stdout, stderr })
    }

    fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line) {
            Ok(_) if line.trim() == READY => Ok(()),
            _ => Err(self.failure("was not ready")),
        }
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let begun = self.stdin.take().map(|mut stdin| stdin.write_all(b"begin\n"));
        match begun {
            Some(Ok(())) => Ok(()),
            _ => Err(self.failure("could not begin")),
        }
    }

    /// Waits for its figures. A run that failed has some, too.
    fn finish(&mut self) -> Result<(Figures, Option<Failure>), Failure> {
        let mut text = String::new();
        let read = self.stdout.read_to_string(&mut text);
        let figures = serde_json::from_str(&text);
        let (Ok(_), Ok(figures)) = (read, figures) else {
            return Err(self.failure("printed no figures"));
        };
        let is_done = self.child.wait().is_ok_and(|status| status.success());
        let failure = (!is_done).then(|| self.failure("failed"));
        Ok((figures, failure))
    }

    /// Names the job, and repeats the end of what it said.
    fn failure(&mut self, what: &str) -> Failure {
        // It ends by itself, for its stdin is closed.
        drop(self.stdin.take());
        let status = self.child.wait().map_or_else(|error| error.to_string(), |it| it.to_string());
        let said = self.stderr.take().and_then(|it| it.join().ok()).unwrap_or_default();
        let said = said.trim();
        let from = said.ceil_char_boundary_from_end(SAID_MAX);
        let said = if said.is_empty() { "it said nothing" } else { &said[from..] };
        Failure::Failed(format!("job {} of {} {what} ({status}): {said}", self.nth + 1, self.of))
    }
}

/// Where the last so many bytes begin, or a little behind, so that no letter is cut.
trait EndOf {
    fn ceil_char_boundary_from_end(&self, bytes: usize) -> usize;
}

impl EndOf for str {
    fn ceil_char_boundary_from_end(&self, bytes: usize) -> usize {
        let from = self.len().saturating_sub(bytes);
        (from..=self.len()).find(|&at| self.is_char_boundary(at)).unwrap_or(0)
    }
}

fn all_of(mut stderr: ChildStderr) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is better than nothing.
    let _ = stderr.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The arguments of a job: those of this process, but for what a sweep decides.
fn arguments(settings: &Settings, workers: usize, events: u64) -> Vec<String> {
    // "actinium events" is a program and its subcommand.
    let mut all: Vec<String> = settings.program.split(' ').skip(1).map(str::to_owned).collect();
    all.extend(["--begin-together", "--json", "--quiet"].map(str::to_owned));
    let mut flag = |name: &str, value: String| all.push(format!("--{name}={value}"));
    flag("workers", workers.to_string());
    flag("slots", workers.to_string());
    flag("events", events.to_string());
    let decided = ["workers", "slots", "events", "thread-type", "elastic"];
    for (name, value, source) in settings.rows() {
        if source == Source::Flag && !decided.contains(&name) {
            flag(name, value);
        }
    }
    for change in &settings.thread_types.value {
        flag("thread-type", change.to_string());
    }
    for (name, path) in &settings.companions {
        flag(name, path.to_string_lossy().into_owned());
    }
    if settings.run.elastic.value {
        all.push("--elastic".to_owned());
    }
    if settings.replay {
        all.push("--replay".to_owned());
    }
    // A name that looks like a flag is none.
    all.extend(["--".to_owned(), settings.config.clone()]);
    all
}
