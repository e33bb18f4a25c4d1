//! The runs of the benchmarks, their order, and the processes of their own in which they run.

use crate::benchmark::Benchmark;
use crate::callgrind::{self, Counted};
use crate::child::{Order, What};
use crate::run::{Limit, output};
use crate::runtime::Setup;
use actinium_observe::Repeat;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Measured runs of one process; before them comes one that does not count.
const RUNS_PER_PROCESS: usize = 2;
/// Idle memory hardly varies, and takes seconds to measure.
const MEMORY_RUNS_MAX: usize = 3;
/// Pairs of runs from whose differences costs are taken.
const COST_PAIRS: usize = 3;
/// The part of a problem's size, one in so many, that is enough for counts: unlike times, they show
/// as well in a smaller problem.
const COUNTED_SHARE: u64 = 10;
/// A run under valgrind takes about fifty times as long.
const VALGRIND_SHARE: u64 = 10;

/// The results, or why there are none.
pub(crate) type Outcome = Result<Repeat, String>;

/// The cost of a message (or an actor) once everything is warm.
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

/// Counts the allocations of problems of one and of two sizes after a warm-up: the difference has
/// no part in starting up.
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

/// Counts the instructions of problems of two sizes under valgrind, per item: the difference has no
/// part in starting up.
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
}
