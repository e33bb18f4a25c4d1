//! Which runs, in which order, each in a process of its own.

use crate::benchmark::Benchmark;
use crate::callgrind::{self, Counted};
use crate::child::{Order, Setup, What};
use actinium_observe::Repeat;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Measured runs of one process; before them comes one that does not count.
const RUNS_PER_PROCESS: usize = 2;
/// Idle memory hardly varies, and takes seconds to measure.
const MEMORY_RUNS_MAX: usize = 3;
/// Pairs of runs from whose differences costs are taken.
const COST_PAIRS: usize = 3;
/// What is counted, not timed, shows as well in a smaller problem.
const COUNTED_SHARE: u64 = 10;
/// A run under valgrind takes about fifty times as long.
const VALGRIND_SHARE: u64 = 10;

/// After this time a process is given up.
pub(crate) type Limit = Duration;

/// The results, or why there are none.
pub(crate) type Outcome = Result<Repeat, String>;

/// What a message (or an actor) costs once everything is warm.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub(crate) calls: Repeat,
    pub(crate) bytes: Repeat,
}

/// Runs one benchmark on each of several setups, in turns, and calls `ran` after each process.
pub(crate) fn rates(
    benchmark: Benchmark,
    setups: &[Setup],
    size: u64,
    reps: usize,
    limit: Limit,
    ran: impl Fn(&Setup),
) -> Vec<Outcome> {
    let program = &program();
    let mut values: Vec<Result<Vec<f64>, String>> = vec![Ok(Vec::new()); setups.len()];
    for (round, runs) in rounds(benchmark, reps).into_iter().enumerate() {
        for turn in 0..setups.len() {
            // Each round begins with another setup, so that none always follows the same one.
            let index = (round + turn) % setups.len();
            let Ok(so_far) = &mut values[index] else { continue };
            let order = Order {
                benchmark,
                setup: setups[index].clone(),
                what: What::Value,
                warm_up: if benchmark == Benchmark::Memory { 0 } else { size },
                sizes: vec![size; runs],
            };
            match lines(program, &order, limit) {
                Ok(lines) => so_far.extend(lines.iter().map(|numbers| numbers[0])),
                Err(error) => values[index] = Err(error),
            }
            ran(&setups[index]);
        }
    }
    let repeat = |values| Repeat::new(values).ok_or_else(|| "it is no number".to_owned());
    values.into_iter().map(|values| values.and_then(repeat)).collect()
}

/// How many processes [`rates`] starts for each setup.
pub(crate) fn rounds_of(benchmark: Benchmark, reps: usize) -> usize {
    rounds(benchmark, reps).len()
}

/// How many runs count in each round.
fn rounds(benchmark: Benchmark, reps: usize) -> Vec<usize> {
    if benchmark == Benchmark::Memory {
        return vec![1; reps.min(MEMORY_RUNS_MAX)];
    }
    let whole = vec![RUNS_PER_PROCESS; reps / RUNS_PER_PROCESS];
    let rest = reps % RUNS_PER_PROCESS;
    whole.into_iter().chain((rest > 0).then_some(rest)).collect()
}

/// Counts the allocations of problems of one and of two sizes after a warm-up: the difference has no part in starting up.
pub(crate) fn allocations(
    program: &Path,
    benchmark: Benchmark,
    setup: &Setup,
    size: u64,
    limit: Limit,
) -> Result<Cost, String> {
    let size = (size / COUNTED_SHARE).max(1);
    let order = Order {
        benchmark,
        setup: setup.clone(),
        what: What::Allocations,
        warm_up: size,
        sizes: [size, 2 * size].repeat(COST_PAIRS),
    };
    let lines = lines(program, &order, limit)?;
    let parts = benchmark.parts(size) as f64;
    let column = |column: usize| {
        let differences =
            lines.chunks_exact(2).map(|pair| (pair[1][column] - pair[0][column]) / parts);
        Repeat::new(differences).ok_or_else(|| "it is no number".to_owned())
    };
    Ok(Cost { calls: column(0)?, bytes: column(1)? })
}

/// Counts the instructions of problems of two sizes under valgrind, per item: the difference has no part in starting up.
pub(crate) fn instructions(
    program: &Path,
    benchmark: Benchmark,
    setup: &Setup,
    size: u64,
    limit: Limit,
) -> Result<Counted, String> {
    let small = (size / VALGRIND_SHARE).max(1);
    let [less, more] = [small, 3 * small].map(|size| {
        let (setup, sizes) = (setup.clone(), vec![size]);
        let order = Order { benchmark, setup, what: What::Ticking, warm_up: 0, sizes };
        callgrind::count(program, &order, limit)
    });
    let (less, more, parts) = (less?, more?, benchmark.parts(2 * small) as f64);
    Ok(Counted {
        instructions: (more.instructions - less.instructions) / parts,
        atomics: (more.atomics - less.atomics) / parts,
    })
}

/// Runs a child and takes the numbers that it writes, line by line.
pub(crate) fn lines(program: &Path, order: &Order, limit: Limit) -> Result<Vec<Vec<f64>>, String> {
    let mut command = Command::new(program);
    command.args(order.args()).stdin(Stdio::null()).stdout(Stdio::piped());
    let text = output(command, limit)?;
    let parse = |line: &str| line.split(' ').map(|number| number.parse().ok()).collect();
    let lines: Option<Vec<Vec<f64>>> = text.lines().map(parse).collect();
    lines
        .filter(|lines| lines.len() == order.sizes.len())
        .ok_or_else(|| format!("the process wrote '{}'", text.trim()))
}

/// Runs a command whose stdout is piped, and takes what it writes there.
pub(crate) fn output(mut command: Command, limit: Limit) -> Result<String, String> {
    let mut child = command.spawn().map_err(|error| {
        format!("can not start {}: {error}", command.get_program().to_string_lossy())
    })?;
    let pipe = child.stdout.take().ok_or("the process has no stdout")?;
    read(pipe, &mut child, limit)
}

/// All that a child writes until it ends. It is given up when its time is over.
fn read(
    mut pipe: impl Read + Send + 'static,
    child: &mut Child,
    limit: Limit,
) -> Result<String, String> {
    let (sender, receiver) = mpsc::channel();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        let result = pipe.read_to_string(&mut text).map(|_| text);
        // Nobody listens any more if the time is over.
        let _ = sender.send(result);
    });
    let Ok(text) = receiver.recv_timeout(limit) else {
        // It may have ended at just this moment.
        let _ = child.kill();
        let _ = child.wait();
        let _ = reader.join();
        return Err(format!("given up after {} s", limit.as_secs()));
    };
    let status = child.wait().map_err(|error| format!("lost the process: {error}"))?;
    if !status.success() {
        return Err(format!("the process failed: {status}"));
    }
    text.map_err(|error| format!("can not read what the process writes: {error}"))
}

/// This program, which is its own child.
pub(crate) fn program() -> PathBuf {
    std::env::current_exe().expect("this program has a path")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up() {
        assert_eq!(rounds(Benchmark::Ring, 6), [2, 2, 2]);
        assert_eq!(rounds(Benchmark::Ring, 5), [2, 2, 1]);
        assert_eq!(rounds(Benchmark::Ring, 1), [1]);
        assert_eq!(rounds(Benchmark::Memory, 6), [1, 1, 1]);
        assert_eq!(rounds_of(Benchmark::Memory, 1), 1);
    }

    fn shell(script: &str, limit: Limit) -> Result<String, String> {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let pipe = child.stdout.take().expect("it is piped");
        read(pipe, &mut child, limit)
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts processes")]
    fn a_process_is_read_to_its_end() {
        let limit = Duration::from_secs(60);
        assert_eq!(shell("echo 1; echo 2", limit), Ok("1\n2\n".to_owned()));
        let error = shell("echo 1; exit 3", limit).expect_err("it fails");
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts processes")]
    fn a_process_that_hangs_is_given_up() {
        let error = shell("exec sleep 600", Duration::from_millis(1)).expect_err("it hangs");
        assert!(error.contains("given up"), "{error}");
    }
}
