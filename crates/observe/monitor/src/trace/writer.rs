//! Writes what a system does to a file, while it does so.

use super::clock::ClockOffset;
use super::counters::Counters;
use super::json::Json;
use super::model::{Format, Head};
use super::perfetto::Perfetto;
use crate::feed::{Consumer, Subscription, subscribe};
use crate::flows::Flows;
use actinium_actor::recording::WorkerRecords;
use actinium_actor::{Observer, OnEnd, SystemHandle};
use actinium_observe::file::{NewFile, WriteError};
use actinium_observe::process::proc;
use actinium_scheduler::log;
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The ending of names of files in Perfetto's own format. All others are JSON.
const PERFETTO: [&str; 3] = ["pftrace", "perfetto-trace", "pb"];

pub(super) fn is_perfetto(path: &Path) -> bool {
    path.extension().is_some_and(|it| PERFETTO.iter().any(|known| it == *known))
}

/// How a trace shows its system, if it is one of several in a file.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The number of the part, and what its process is called.
    part: Option<(u32, String)>,
    clock: Option<ClockOffset>,
}

impl TraceOptions {
    /// As the only system of its file.
    #[must_use]
    pub fn new() -> Self {
        TraceOptions::default()
    }

    /// The system is this node of a cluster.
    #[must_use]
    pub fn node(self, node: u32) -> Self {
        self.part(node.saturating_add(1), format!("node {node}"))
    }

    /// The system is this one of several, and called so. Numbers tell the systems of a file apart.
    #[must_use]
    pub fn part(self, number: u32, name: impl Into<String>) -> Self {
        TraceOptions { part: Some((number, name.into())), ..self }
    }

    /// The times of the trace are those of another node's clock.
    #[must_use]
    pub fn clock(self, clock: ClockOffset) -> Self {
        TraceOptions { clock: Some(clock), ..self }
    }

    fn head(&self, system: &SystemHandle, begin_unix_ns: u64) -> Head {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = program.to_string_lossy();
        let program = program.rsplit('/').next().unwrap_or_default();
        let pus = system.pus().iter().copied().chain(std::iter::repeat(None));
        let threads = system.worker_threads();
        let number = |worker: usize| match &self.part {
            // Not the true ones: two hosts may have given the same.
            Some((part, _)) => part.saturating_mul(10_000).saturating_add(worker as u32 + 1),
            None => threads[worker].unwrap_or(worker as u32 + 1),
        };
        let workers = pus.enumerate().take(system.workers()).map(|(worker, pu)| {
            let pu = pu.map_or_else(String::new, |pu| format!(" on PU {}", pu.0));
            (number(worker), format!("worker {worker}{pu}"))
        });
        let own = ClockOffset { how: "the host's CLOCK_REALTIME".to_owned(), ..same_host() };
        let clock = self.clock.clone().unwrap_or(own);
        Head {
            pid: self.part.as_ref().map_or(std::process::id(), |(part, _)| *part),
            process: match &self.part {
                Some((_, name)) => format!("{name} ({program})"),
                None => program.to_owned(),
            },
            workers: workers.collect(),
            begin_unix_ns,
            about: vec![
                ("host", proc::host()),
                ("machine", proc::machine()),
                ("policy", system.policy().to_string()),
                ("Actinium", env!("CARGO_PKG_VERSION").to_owned()),
                ("clock", clock.how.clone()),
                ("clock's offset in ns", clock.offset_ns.to_string()),
                ("clock's uncertainty in ns", clock.uncertainty_ns.to_string()),
            ],
        }
    }
}

fn same_host() -> ClockOffset {
    ClockOffset::same_host()
}

/// What became of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceSummary {
    /// Records that are in the file.
    pub records: u64,
    /// Records that are missing: the file says where.
    pub lost: u64,
}

/// A trace of a running system, from [`start`](Trace::start) to [`finish`](Trace::finish).
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::Trace;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("part.pftrace");
/// let system = System::builder().workers(2).build()?;
/// let trace = Trace::start(&system, &path)?;
/// // .. the part of the run that is to be seen ..
/// let summary = trace.finish()?;
/// assert!(path.exists() && summary.lost == 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A trace that is dropped leaves no file.
#[must_use = "the file is there when it is finished"]
pub struct Trace {
    subscription: Option<Subscription<Writer>>,
    system: SystemHandle,
}

impl Trace {
    /// Begins a trace of the system. The file appears when it is finished: in Perfetto's own format
    /// if its name ends in `.pftrace`, `.perfetto-trace` or `.pb`, else in JSON.
    ///
    /// # Errors
    /// If the file can not be created, or there can be no more threads.
    pub fn start(system: &SystemHandle, path: impl AsRef<Path>) -> Result<Self, WriteError> {
        Self::start_with(system, path, &TraceOptions::new())
    }

    /// Begins a trace of a system that is one of several: see [`merge_traces`].
    ///
    /// [`merge_traces`]: crate::merge_traces
    ///
    /// # Errors
    /// As for [`start`](Trace::start).
    pub fn start_with(
        system: &SystemHandle,
        path: impl AsRef<Path>,
        options: &TraceOptions,
    ) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let format: Box<dyn Format> =
            if is_perfetto(path) { Box::new(Perfetto::new()) } else { Box::<Json>::default() };
        let writer = Writer {
            out: Some(BufWriter::new(NewFile::create(path)?)),
            format,
            options: options.clone(),
            has_begun: false,
            was_busy: false,
            counters: Counters::default(),
            flows: Some(Flows::of(system)),
            summary: TraceSummary { records: 0, lost: 0 },
            failed: None,
        };
        let subscription = subscribe(system, writer)
            .map_err(|cause| WriteError { path: path.to_owned(), cause })?;
        Ok(Trace { subscription: Some(subscription), system: system.clone() })
    }

    /// Ends it, and writes the file.
    ///
    /// # Errors
    /// If the file could not be written, as the disk is full: then it is as it was before.
    pub fn finish(mut self) -> Result<TraceSummary, WriteError> {
        let subscription = self.subscription.take().expect("it is there until it is finished");
        let writer = subscription.end();
        lock(&writer).finish(&self.system)
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("system", &self.system).finish_non_exhaustive()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.subscription.take().map(Subscription::end);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An [`Observer`] that writes a trace of a system: see [`Monitored::trace`].
///
/// [`Monitored::trace`]: crate::Monitored::trace
#[derive(Debug)]
pub struct TraceToFile {
    path: PathBuf,
}

impl TraceToFile {
    /// The observer that writes this file. If it observes several systems, the last one's file is
    /// what remains.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        TraceToFile { path: path.into() }
    }
}

impl Observer for TraceToFile {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let trace = Trace::start(system, &self.path)?;
        Ok(OnEnd::new(move |_| tell(trace.finish())))
    }
}

/// Says what is not as it should be.
pub(super) fn tell(outcome: Result<TraceSummary, WriteError>) {
    match outcome {
        Ok(TraceSummary { lost: 0, .. }) => {}
        Ok(TraceSummary { lost, .. }) => log!(
            Warn,
            { lost: lost },
            "{lost} records are missing in the trace: the workers did more than was written"
        ),
        Err(error) => log!(Error, {}, "the trace of the system is lost: {error}"),
    }
}

/// A trace that is being written.
struct Writer {
    /// None: it was finished.
    out: Option<BufWriter<NewFile>>,
    format: Box<dyn Format>,
    options: TraceOptions,
    has_begun: bool,
    /// Whether something was recorded before the last look.
    was_busy: bool,
    counters: Counters,
    /// Sampled messages; `None`: it was finished.
    flows: Option<Flows>,
    summary: TraceSummary,
    /// Why nothing more is written.
    failed: Option<io::Error>,
}

impl Consumer for Writer {
    fn take(&mut self, system: &SystemHandle, records: &[WorkerRecords]) {
        // What comes after an error would have a hole before it.
        if self.failed.is_none() {
            self.failed = self.try_take(system, records).err();
        }
    }
}

impl Writer {
    fn try_take(&mut self, system: &SystemHandle, records: &[WorkerRecords]) -> io::Result<()> {
        self.begin(system)?;
        let Some(out) = &mut self.out else { return Ok(()) };
        for (worker, WorkerRecords { records, lost }) in records.iter().enumerate() {
            if *lost > 0 {
                self.summary.lost += lost;
                let first_ns = records.iter().map(|it| it.begin_ns).min();
                let at_ns = first_ns.unwrap_or_else(|| system.elapsed().as_nanos() as u64);
                self.format.lost(worker, at_ns, *lost, out)?;
            }
            self.summary.records += records.len() as u64;
            self.format.records(worker, records, &|name| system.recorded_name(name), out)?;
        }
        if let Some(flows) = &self.flows {
            let (spans, lost) = flows.take();
            self.summary.lost += lost;
            if lost > 0 {
                let at_ns = system.elapsed().as_nanos() as u64;
                self.format.lost(0, at_ns, lost, out)?;
            }
            spans.iter().try_for_each(|span| self.format.span(span, out))?;
        }
        // A machine at rest is looked at once more, and then not.
        let is_busy = records.iter().any(|it| !it.records.is_empty());
        if std::mem::replace(&mut self.was_busy, is_busy) || is_busy {
            for (counter, at, value) in self.counters.changed(system, system.elapsed()) {
                self.format.counter(counter, at.as_nanos() as u64, value, out)?;
            }
        }
        Ok(())
    }

    /// Writes what is known beforehand, when the workers' threads have come to run.
    fn begin(&mut self, system: &SystemHandle) -> io::Result<()> {
        let Some(out) = self.out.as_mut().filter(|_| !self.has_begun) else { return Ok(()) };
        self.has_begun = true;
        #[expect(clippy::disallowed_methods, reason = "traces of several nodes share this time")]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begin = now.saturating_sub(system.elapsed()).as_nanos() as u64;
        let offset_ns = self.options.clock.as_ref().map_or(0, |clock| clock.offset_ns);
        let head = self.options.head(system, begin.saturating_add_signed(offset_ns));
        self.format.begin(&head, out)
    }

    fn finish(&mut self, system: &SystemHandle) -> Result<TraceSummary, WriteError> {
        let mut written = self.failed.take().map_or(Ok(()), Err);
        if written.is_ok() {
            written = self.begin(system);
        }
        self.flows = None;
        let mut out = self.out.take().expect("it is finished once");
        if written.is_ok() {
            let at_ns = system.elapsed().as_nanos() as u64;
            written =
                self.format.end(at_ns, self.summary.lost, &mut out).and_then(|()| out.flush());
        }
        // What is left in the buffer of a file that failed is of no use.
        let (file, _) = out.into_parts();
        match written {
            Ok(()) => file.finish().map(|()| self.summary),
            Err(cause) => Err(file.error(cause)),
        }
    }
}
