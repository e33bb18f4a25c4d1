//! Measurements on this machine: single costs, and the closed loop under a real system.

use crate::Failure;
use actinium::prelude::*;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Instant;

/// Repetitions of each measurement of a single cost; the least counts: whatever disturbs makes it
/// longer.
const REPEATS: usize = 5;

/// Returns the nanoseconds per repetition of `f`.
fn per_call_ns(times: u32, mut f: impl FnMut()) -> f64 {
    let runs = (0..REPEATS).map(|_| {
        let start = Instant::now();
        (0..times).for_each(|_| f());
        start.elapsed().as_nanos() as f64 / f64::from(times)
    });
    runs.fold(f64::INFINITY, f64::min)
}

/// The middle of some values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// State that is read and written at random places: a word of a line at a time.
#[derive(Debug)]
struct State {
    words: Vec<u64>,
    random: u64,
}

impl State {
    fn new(bytes: u64, seed: u64) -> Self {
        // Written, so that its memory is there.
        State { words: (0..bytes.div_ceil(8).max(1)).collect(), random: seed | 1 }
    }

    #[inline]
    fn access(&mut self, times: u32) {
        for _ in 0..times {
            // Xorshift: a few cycles, and no memory.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let at = (u128::from(self.random) * self.words.len() as u128) >> 64;
            let word = &mut self.words[at as usize];
            *word = word.wrapping_add(self.random);
        }
    }
}

/// An access to so much memory at random.
pub fn access_ns(bytes: u64) -> f64 {
    let mut state = State::new(bytes, 42);
    state.access(100_000);
    let ns = per_call_ns(2_000, || state.access(1_000)) / 1_000.0;
    black_box(state.words.first());
    ns
}

/// Likewise, while so many threads do the same, each in memory of its own; the mean of all.
pub fn access_beside_ns(bytes: u64, threads: usize) -> f64 {
    let begin = Barrier::new(threads);
    let sum: f64 = thread::scope(|scope| {
        let one = || {
            begin.wait();
            access_ns(bytes)
        };
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().unwrap_or(f64::NAN)).sum()
    });
    sum / threads as f64
}

/// A line of a state that another core has written last, where the accesses are those of a message:
/// several such lines are under way at a time.
pub fn fetch_ns() -> f64 {
    const BYTES: u64 = 32_000;
    const TIMES: u32 = 100;
    let lines = BYTES as f64 / 64.0;
    let different = lines * (1.0 - (1.0 - 1.0 / lines).powi(TIMES as i32));
    let mut state = State::new(BYTES, 42);
    let (mut far_ns, mut near_ns) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let is_written = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                state.words.iter_mut().for_each(|word| *word = word.wrapping_add(1));
                // Release: pairs with the acquire below.
                is_written.store(1, Ordering::Release);
            });
            // This core is kept, so that the other thread runs on another one.
            while is_written.load(Ordering::Acquire) == 0 {
                std::hint::spin_loop();
            }
        });
        for times in [&mut far_ns, &mut near_ns] {
            let start = Instant::now();
            state.access(TIMES);
            times.push(start.elapsed().as_nanos() as f64);
            state.access(100 * TIMES);
        }
    }
    ((median(&mut far_ns) - median(&mut near_ns)) / different).max(0.0)
}

/// A reading of the clock.
pub fn clock_ns() -> f64 {
    per_call_ns(100_000, || {
        black_box(Instant::now());
    })
}

/// To take and release a lock that nobody else wants.
pub fn lock_ns() -> f64 {
    let lock = Mutex::new(0u64);
    per_call_ns(100_000, || {
        *lock.lock().unwrap_or_else(|error| error.into_inner()) += 1;
    })
}

/// A line that another thread has written last. The least of some short spells counts: in others,
/// the system ran something else.
pub fn transfer_ns() -> f64 {
    const SPELLS: u64 = 200;
    const ROUNDS: u64 = 100;
    let line = AtomicU64::new(0);
    let turn = |round: u64, own: u64| {
        let mut looks = 0u32;
        // Relaxed, both: nothing else is handed over. With one processor for both, the other must
        // be let run.
        while line.load(Ordering::Relaxed) != 2 * round + own {
            looks += 1;
            if looks.is_multiple_of(10_000) {
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
        // Relaxed: as above.
        line.store(2 * round + own + 1, Ordering::Relaxed);
    };
    let mut least_ns = f64::INFINITY;
    thread::scope(|scope| {
        scope.spawn(|| (0..SPELLS * ROUNDS).for_each(|round| turn(round, 1)));
        for spell in 0..SPELLS {
            let start = Instant::now();
            (0..ROUNDS).for_each(|round| turn(spell * ROUNDS + round, 0));
            least_ns = least_ns.min(start.elapsed().as_nanos() as f64 / (2 * ROUNDS) as f64);
        }
    });
    least_ns
}

/// To wake a sleeping thread: the waker's share, and how long until the sleeper runs.
pub fn wake_ns() -> (f64, f64) {
    const ROUNDS: usize = 200;
    let start = Instant::now();
    let now_ns = move || start.elapsed().as_nanos() as u64;
    let asked = AtomicUsize::new(0);
    let (mut calls, mut latencies) = (Vec::new(), Vec::new());
    let (answer, answers) = mpsc::channel();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            for round in 1..=ROUNDS {
                // Acquire: pairs with the release below. It is parked again if that was a left-over
                // token.
                while asked.load(Ordering::Acquire) < round {
                    thread::park();
                }
                // The other side has not gone: it waits for this.
                let _ = answer.send(now_ns());
            }
        });
        for round in 1..=ROUNDS {
            // Long enough for the sleeper to sleep: some system calls' time.
            pause();
            // Release: pairs with the acquire above.
            asked.store(round, Ordering::Release);
            let before_ns = now_ns();
            sleeper.thread().unpark();
            calls.push((now_ns() - before_ns) as f64);
            if let Ok(woke_ns) = answers.recv() {
                latencies.push(woke_ns.saturating_sub(before_ns) as f64);
            }
        }
    });
    (median(&mut calls), median(&mut latencies))
}

/// Uses up about 50 microseconds.
fn pause() {
    let start = Instant::now();
    while start.elapsed().as_micros() < 50 {
        thread::yield_now();
    }
}

/// A closed loop to be run for real.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// Where work runs.
    pub policy: Policy,
    /// Worker threads.
    pub workers: usize,
    /// Actors that each send themselves the next message.
    pub actors: u32,
    /// Random accesses per message.
    pub accesses: u32,
    /// Each actor's state.
    pub state_bytes: u64,
    /// Messages of each actor, after as many to warm up.
    pub messages: u32,
    /// Most messages in a turn.
    pub batch: u32,
}

#[derive(Debug)]
enum Msg {
    Begin(u32),
    Next,
}

struct Looper {
    state: State,
    accesses: u32,
    left: u32,
    own: Option<Address<Looper>>,
    done: mpsc::Sender<()>,
}

impl Actor for Looper {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        if let Msg::Begin(messages) = msg {
            self.left = messages;
            self.own = Some(ctx.address());
        }
        self.state.access(self.accesses);
        self.left -= 1;
        if self.left > 0 {
            // It is alive: it is running.
            self.own.iter().for_each(|own| drop(own.send(Msg::Next)));
        } else {
            self.own = None;
            // Nobody listens any more if the run was given up.
            let _ = self.done.send(());
        }
    }
}

/// Runs a closed loop; nanoseconds of the measured round.
///
/// # Errors
/// If the system can not be started.
pub fn run(how: &Loop) -> Result<f64, Failure> {
    let system =
        System::builder().workers(how.workers).policy(how.policy).batch(how.batch).build()?;
    let (done, finished) = mpsc::channel();
    let actors: Vec<Address<Looper>> = (0..how.actors)
        .map(|index| {
            let state = State::new(how.state_bytes, index.into());
            let (accesses, done) = (how.accesses, done.clone());
            system.spawn(Looper { state, accesses, left: 0, own: None, done })
        })
        .collect();
    let round = || {
        let start = Instant::now();
        for actor in &actors {
            // It is alive: its address is here.
            let _ = actor.send(Msg::Begin(how.messages));
        }
        finished.iter().take(actors.len()).for_each(drop);
        start.elapsed().as_nanos() as f64
    };
    round();
    let elapsed_ns = round();
    drop(actors);
    system.shutdown(Shutdown::Drop);
    Ok(elapsed_ns)
}
