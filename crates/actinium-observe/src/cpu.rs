//! How busy each CPU is, as the system counts it, with everything that runs on the machine; and the CPU time of this process and thread.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// CPU time of all threads of this process since it began, those that have ended included.
///
/// ```
/// use actinium_observe::cpu::{process_time, thread_time};
///
/// let before = (process_time(), thread_time());
/// assert!(process_time() >= before.0 && thread_time() >= before.1);
/// ```
#[must_use]
pub fn process_time() -> Duration {
    time_of(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread: what else runs on the machine counts less than by the clock.
#[must_use]
pub fn thread_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    // Neither is negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// How busy each CPU was, at even intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuLoad {
    /// The length of an interval; the first begins with the watch.
    pub step_s: f64,
    /// For each CPU its name, and the share of each interval that it was busy; NaN where the system did not say.
    pub cpus: Vec<(String, Vec<f64>)>,
}

/// Time that each CPU has spent since the machine started, in the system's ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Times(Vec<Time>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Time {
    cpu: String,
    busy: u64,
    total: u64,
}

impl Times {
    fn read() -> io::Result<Times> {
        let text = std::fs::read_to_string("/proc/stat")?;
        let times = Times::parse(&text);
        match times.0.is_empty() {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, "/proc/stat has no CPUs")),
            false => Ok(times),
        }
    }

    /// Lines `cpuN user nice system idle iowait irq softirq steal ...`; what is after that is counted in `user` and `nice` already.
    fn parse(text: &str) -> Times {
        let time = |line: &str| {
            let mut words = line.split_ascii_whitespace();
            let number = words.next()?.strip_prefix("cpu")?.parse::<u32>().ok()?;
            let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
            let total = ticks.iter().fold(0, |sum: u64, &ticks| sum.saturating_add(ticks));
            ticks.get(3)?;
            let idle =
                ticks[3..].iter().take(2).fold(0, |sum: u64, &idle| sum.saturating_add(idle));
            Some(Time { cpu: format!("CPU {number}"), busy: total - idle, total })
        };
        Times(text.lines().filter_map(time).collect())
    }

    /// The share of the time since then that a CPU was busy.
    fn share_since(&self, cpu: &str, before: &Times) -> f64 {
        let of = |times: &Times| times.0.iter().find(|time| time.cpu == cpu).cloned();
        let (Some(now), Some(then)) = (of(self), of(before)) else {
            return f64::NAN;
        };
        // The system's counts may step back by a tick.
        let (busy, total) =
            (now.busy.saturating_sub(then.busy), now.total.saturating_sub(then.total));
        if total == 0 { f64::NAN } else { busy.min(total) as f64 / total as f64 }
    }
}

/// Looks at the CPUs again and again, from a thread of its own, until it is asked what it saw.
///
/// The system counts in ticks of 10 ms: intervals below 100 ms show little.
///
/// ```
/// use std::time::Duration;
/// use actinium_observe::cpu::CpuWatch;
///
/// // Only Linux counts so.
/// if let Ok(watch) = CpuWatch::start(Duration::from_millis(100)) {
///     let load = watch.stop();
///     assert!(!load.cpus.is_empty());
/// }
/// ```
#[derive(Debug)]
pub struct CpuWatch {
    stop: Sender<()>,
    thread: JoinHandle<CpuLoad>,
}

impl CpuWatch {
    /// Begins to look.
    ///
    /// # Errors
    /// If the system does not say how busy its CPUs are, or has no thread to spare.
    pub fn start(every: Duration) -> io::Result<CpuWatch> {
        let first = Times::read()?;
        let (stop, stopped) = mpsc::channel();
        let looks = move || {
            // tidy: clock: what is watched is the machine, in its time.
            let begin = Instant::now();
            let mut seen = vec![first];
            loop {
                let ended = stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout);
                seen.extend(Times::read().ok());
                if ended {
                    return load(&seen, begin.elapsed());
                }
            }
        };
        let thread = std::thread::Builder::new().name("cpu-watch".into()).spawn(looks)?;
        Ok(CpuWatch { stop, thread })
    }

    /// Ends looking; answers with what was seen.
    #[must_use]
    pub fn stop(self) -> CpuLoad {
        // If it is gone, it panicked, and there is nothing to show.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}

fn load(seen: &[Times], elapsed: Duration) -> CpuLoad {
    let Some((first, later)) = seen.split_first() else {
        return CpuLoad::default();
    };
    let of = |cpu: &str| seen.windows(2).map(|two| two[1].share_since(cpu, &two[0])).collect();
    let cpus = first.0.iter().map(|time| (time.cpu.clone(), of(&time.cpu))).collect();
    CpuLoad { step_s: elapsed.as_secs_f64() / later.len().max(1) as f64, cpus }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  300 0 100 600 0 0 0 0 0 0\ncpu0 100 0 50 300 10 0 0 0 0 0\ncpu7 200 0 50 300 0 0 0 5 3 0\nintr 5 6\nctxt 9\n";
    const AFTER: &str = "cpu  390 0 110 600 0 0 0 0 0 0\ncpu0 150 0 60 330 20 0 0 0 0 0\ncpu7 200 0 50 300 0 0 0 5 3 0\n";

    #[test]
    fn shares_are_of_the_time_between_two_looks() {
        let (before, after) = (Times::parse(BEFORE), Times::parse(AFTER));
        assert_eq!(before.0.len(), 2);
        assert_eq!(before.0[1], Time { cpu: "CPU 7".into(), busy: 255, total: 555 });
        assert_eq!(after.share_since("CPU 0", &before), 0.6);
        assert!(after.share_since("CPU 7", &before).is_nan(), "no time has passed");
        assert!(after.share_since("CPU 3", &before).is_nan());
        assert!(before.share_since("CPU 0", &after).is_nan(), "counts do not go back");

        let load = load(&[before, after.clone(), after], Duration::from_secs(4));
        assert_eq!((load.step_s, load.cpus.len()), (2.0, 2));
        assert_eq!(load.cpus[0].0, "CPU 0");
        assert!(load.cpus[0].1[0] == 0.6 && load.cpus[0].1[1].is_nan());
    }

    #[test]
    fn any_text_is_read_without_harm() {
        for text in [
            "",
            "cpu0",
            "cpu0 1 2 3",
            "cpu0 x",
            "cpux 1 2 3 4",
            "cpu0 1 2 3 4",
            "cpu1 18446744073709551615 0 0 0",
        ] {
            let times = Times::parse(text);
            assert_eq!(
                times.0.len(),
                usize::from(text == "cpu0 1 2 3 4") + usize::from(text.starts_with("cpu1 "))
            );
        }
    }

    #[test]
    fn this_machine_is_watched() {
        if !std::path::Path::new("/proc/stat").exists() {
            println!("skipped: no /proc/stat");
            return;
        }
        let watch = CpuWatch::start(Duration::from_millis(1)).expect("it starts");
        let load = watch.stop();
        assert!(!load.cpus.is_empty() && load.step_s > 0.0);
        let shares = load.cpus.iter().flat_map(|(_, shares)| shares);
        assert!(shares.into_iter().all(|share| share.is_nan() || (0.0..=1.0).contains(share)));
    }
}
