//! Samples of this process while it runs: CPU time on each CPU, and threads.

use super::cpu_time::{self, thread_time};
use super::proc;
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it looks: seldom enough not to be noticed in the figures, and each look costs some
/// system calls per thread.
const EVERY: Duration = Duration::from_millis(50);
/// Looks take at most one part in so many of a CPU's time: where there are many threads it looks
/// less often.
const REST: u32 = 50;
/// After so many looks every second one is dropped and looks become half as frequent, so that
/// memory is bounded.
const LOOKS_MAX: usize = 4_096;

/// The samples of a process from the start of a measurement to its end.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The steps, from the start.
    pub steps: Vec<Step>,
    /// The most threads at any look.
    pub threads_max: u64,
    /// How long its threads were ready to run, and no CPU was free for them, in seconds.
    pub ready_s: f64,
}

/// One step: the use of CPUs and threads between two samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The time at which the step ended, in seconds from the start.
    pub end_s: f64,
    /// CPU time of this process's threads on each CPU, in seconds.
    pub cpus: BTreeMap<u32, f64>,
    /// Threads of this process at its end.
    pub threads: u64,
}

/// A thread that looks.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Samples>,
}

impl Sampler {
    /// Begins to look; `look` is called at each step's end.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(look: impl FnMut() + Send + 'static) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new().name("sampler".to_owned());
        // Here, so that it begins now, whenever the thread comes to run.
        let mut taken = Taken::new(look);
        let thread = thread.spawn(move || {
            let (mut every, mut rest) = (EVERY, EVERY);
            loop {
                let end = stopped.recv_timeout(every.max(rest));
                let used = thread_time();
                taken.step();
                rest = (thread_time() - used) * REST;
                if taken.samples.steps.len() == LOOKS_MAX {
                    taken.halve();
                    every *= 2;
                }
                if !matches!(end, Err(RecvTimeoutError::Timeout)) {
                    return taken.samples;
                }
            }
        })?;
        Ok(Self { stop, thread })
    }

    /// Ends looking.
    #[must_use]
    pub fn finish(self) -> Samples {
        drop(self.stop);
        // It panics only if what it looks at does, which was said then.
        self.thread.join().unwrap_or_default()
    }
}

struct Taken<L> {
    look: L,
    begin: Instant,
    threads: BTreeMap<u32, cpu_time::Thread>,
    samples: Samples,
}

impl<L: FnMut()> Taken<L> {
    fn new(look: L) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the process is sampled in real time")]
        let begin = Instant::now();
        let samples = Samples { threads_max: proc::threads(), ..Samples::default() };
        Self { look, begin, threads: cpu_time::thread_times(), samples }
    }

    fn step(&mut self) {
        self.note(cpu_time::thread_times());
        (self.look)();
    }

    /// Notes what each thread has done since the step before.
    fn note(&mut self, now: BTreeMap<u32, cpu_time::Thread>) {
        let mut cpus = BTreeMap::new();
        for (number, thread) in &now {
            let before = self.threads.get(number).copied().unwrap_or_default();
            let used = thread.cpu_ns.saturating_sub(before.cpu_ns);
            let ready = thread.ready_ns.saturating_sub(before.ready_ns);
            self.samples.ready_s += ready as f64 * 1e-9;
            *cpus.entry(thread.cpu).or_insert(0.0) += used as f64 * 1e-9;
        }
        let threads = now.len() as u64;
        self.samples.threads_max = self.samples.threads_max.max(threads);
        self.threads = now;
        let end_s = self.begin.elapsed().as_secs_f64();
        self.samples.steps.push(Step { end_s, cpus, threads });
    }

    /// Puts each two steps together.
    fn halve(&mut self) {
        let mut halved = Vec::with_capacity(LOOKS_MAX);
        let mut steps = std::mem::take(&mut self.samples.steps).into_iter();
        while let Some(first) = steps.next() {
            halved.push(match steps.next() {
                None => first,
                Some(mut second) => {
                    for (cpu, used) in first.cpus {
                        *second.cpus.entry(cpu).or_insert(0.0) += used;
                    }
                    second
                }
            });
        }
        self.samples.steps = halved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_thread_did_since_the_step_before_counts() {
        let mut taken = Taken::new(|| {});
        taken.threads.clear();
        let thread = |cpu_ns, ready_ns| cpu_time::Thread { cpu_ns, ready_ns, cpu: 3 };
        taken.note([(1, thread(5, 7))].into());
        taken.note([(1, thread(6, 17)), (2, thread(4, 1))].into());
        // Of the second, which has begun anew, nothing is known.
        taken.note([(2, thread(3, 0))].into());
        let ns = |seconds: f64| (seconds * 1e9).round();
        assert_eq!(ns(taken.samples.ready_s), 7.0 + 10.0 + 1.0);
        let used: Vec<f64> = taken.samples.steps.iter().map(|step| ns(step.cpus[&3])).collect();
        assert_eq!(used, [5.0, 5.0, 0.0]);
    }

    #[test]
    fn steps_are_put_together_without_loss() {
        let mut taken = Taken::new(|| {});
        (0..5).for_each(|_| taken.step());
        let used = |taken: &Samples| -> f64 {
            taken.steps.iter().flat_map(|step| step.cpus.values()).sum()
        };
        let before = used(&taken.samples);
        taken.halve();
        assert!((used(&taken.samples) - before).abs() < 1e-12);
        assert_eq!(taken.samples.steps.len(), 3);
    }

    #[test]
    fn it_looks_once_more_when_it_ends() {
        let (sender, receiver) = mpsc::channel();
        let sampler =
            Sampler::start(move || sender.send(()).expect("it is received")).expect("a thread");
        let samples = sampler.finish();
        assert_eq!(samples.steps.len(), receiver.iter().count());
        assert!(!samples.steps.is_empty());
        assert!(samples.threads_max >= 2);
    }
}
