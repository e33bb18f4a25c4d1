//! Counts that the operating system keeps of a run: context switches of the workers, cache misses.

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};
use std::fs;
use std::io;
use std::path::Path;

/// How the workers' threads are called.
const WORKERS: &str = "actinium-";

/// Context switches of this process's workers so far, from `/proc`; `None` where the system does
/// not tell.
pub fn switches() -> Option<u64> {
    of_workers(Path::new("/proc/self/task"))
}

/// Context switches of those workers whose folders lie in this one.
fn of_workers(tasks: &Path) -> Option<u64> {
    let mut sum = 0;
    for task in fs::read_dir(tasks).ok()? {
        let folder = task.ok()?.path();
        // A thread may end while it is looked at: it is no worker then.
        let Ok(name) = fs::read_to_string(folder.join("comm")) else { continue };
        if !name.starts_with(WORKERS) {
            continue;
        }
        let status = fs::read_to_string(folder.join("status")).ok()?;
        sum += of_status(&status)?;
    }
    Some(sum)
}

/// Voluntary and other context switches, as a thread's `status` has them.
fn of_status(status: &str) -> Option<u64> {
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some(of("voluntary_ctxt_switches:")? + of("nonvoluntary_ctxt_switches:")?)
}

/// Cache misses of this thread and of all threads that it starts from now on.
#[derive(Debug)]
pub struct Misses(Counter);

impl Misses {
    /// Starts to count.
    ///
    /// # Errors
    /// If the machine (often a virtual one) or its settings do not allow it: one line that says
    /// why.
    pub fn new() -> Result<Self, String> {
        let open = || -> io::Result<Misses> {
            let mut counter = Builder::new(Hardware::CACHE_MISSES).inherit(true).build()?;
            counter.enable()?;
            Ok(Misses(counter))
        };
        open().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                "this machine offers no hardware counters (perf_event_open: ENOENT), as most virtual machines".to_owned()
            }
            io::ErrorKind::PermissionDenied => {
                format!("not permitted (perf_event_open: {error}): see /proc/sys/kernel/perf_event_paranoid")
            }
            _ => format!("perf_event_open: {error}"),
        })
    }

    /// Cache misses so far; `None` if the counter can not be read.
    pub fn count(&mut self) -> Option<u64> {
        self.0.read().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_context_switches_count() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(of_status(status), Some(42));
        assert_eq!(of_status("Name:\tx\n"), None);
    }

    #[test]
    fn only_workers_count() {
        let tasks = tempfile::tempdir().expect("a folder");
        for (id, name) in ["actinium-0\n", "actinium-17\n", "probe\n"].into_iter().enumerate() {
            let folder = tasks.path().join(id.to_string());
            fs::create_dir(&folder).expect("a folder in it");
            fs::write(folder.join("comm"), name).expect("a file");
            let status = "voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
            fs::write(folder.join("status"), status).expect("a file");
        }
        assert_eq!(of_workers(tasks.path()), Some(2 * 42));
        assert_eq!(of_workers(&tasks.path().join("none")), None);
    }
}
