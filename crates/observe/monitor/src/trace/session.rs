//! One trace of all systems that a process builds, for a command that builds several.

use super::merge::merge_traces;
use super::writer::{Trace, TraceOptions, TraceSummary, tell};
use actinium_actor::{Observer, OnEnd, SystemHandle, observe_all};
use actinium_observe::file::{WriteError, writable};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Traces each system that this process builds from [`start`](TraceSession::start) on, in one file.
///
/// ```
/// use actinium_actor::{Shutdown, System};
/// use actinium_monitor::TraceSession;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.json");
/// let session = TraceSession::start(&path)?;
/// for _ in 0..2 {
///     let system = System::builder().workers(1).build()?;
///     // .. actors work ..
///     system.shutdown(Shutdown::Drain);
/// }
/// session.finish()?;
/// assert!(std::fs::read_to_string(path)?.contains("system 2"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TraceSession {
    path: PathBuf,
    parts: Arc<Parts>,
}

/// The traces so far, each of a system, in files beside the one that is asked for.
#[derive(Debug, Default)]
struct Parts {
    begun: Mutex<u32>,
    done: Mutex<Vec<(u32, PathBuf, TraceSummary)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TraceSession {
    /// Begins. The file appears when it is [finished](TraceSession::finish); its parts lie beside
    /// it meanwhile.
    ///
    /// # Errors
    /// If the file can not be written.
    pub fn start(path: impl Into<PathBuf>) -> Result<Self, WriteError> {
        let path = path.into();
        writable(&path)?;
        let parts = Arc::new(Parts::default());
        observe_all(OfSession { path: path.clone(), parts: Arc::downgrade(&parts) });
        Ok(TraceSession { path, parts })
    }

    /// Ends it, and writes the file: of the systems that have ended by now.
    ///
    /// # Errors
    /// If the file can not be written.
    pub fn finish(self) -> Result<TraceSummary, WriteError> {
        let mut done = std::mem::take(&mut *lock(&self.parts.done));
        done.sort_by_key(|(number, ..)| *number);
        let paths: Vec<PathBuf> = done.iter().map(|(_, path, _)| path.clone()).collect();
        let merged = merge_traces(&paths, &self.path);
        for path in paths {
            // It may be gone.
            let _ = std::fs::remove_file(path);
        }
        let sum =
            |of: fn(&TraceSummary) -> u64| done.iter().map(|(_, _, summary)| of(summary)).sum();
        merged.map(|()| TraceSummary { records: sum(|it| it.records), lost: sum(|it| it.lost) })
    }
}

/// The observer of a session, which it may outlive: then it does nothing.
struct OfSession {
    path: PathBuf,
    parts: Weak<Parts>,
}

impl Observer for OfSession {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        let Some(parts) = self.parts.upgrade() else { return Ok(OnEnd::new(|_| ())) };
        let number = {
            let mut begun = lock(&parts.begun);
            *begun += 1;
            *begun
        };
        let path = part(&self.path, number);
        let options = TraceOptions::new().part(number, format!("system {number}"));
        let trace = Trace::start_with(system, &path, &options)?;
        let parts = Arc::downgrade(&parts);
        Ok(OnEnd::new(move |_| {
            let outcome = trace.finish();
            match (&outcome, parts.upgrade()) {
                (Ok(summary), Some(parts)) => lock(&parts.done).push((number, path, *summary)),
                // Nobody puts it together with others.
                _ => drop(std::fs::remove_file(path)),
            }
            tell(outcome);
        }))
    }
}

/// Where a part lies until all are there: beside the whole, unless that is a device; with its
/// ending, which names the format.
fn part(path: &Path, number: u32) -> PathBuf {
    let mut name = std::ffi::OsString::from(format!("part-{number}-of-"));
    name.push(path.file_name().unwrap_or_default());
    if path.exists() && !path.is_file() {
        return std::env::temp_dir().join(format!("{}-{}", std::process::id(), name.display()));
    }
    path.with_file_name(name)
}
