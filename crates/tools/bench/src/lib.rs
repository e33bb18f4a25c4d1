//! Small actor benchmarks, the same on Actinium and on tokio (tasks, each with an unbounded channel
//! as its mailbox); some also on the least that could be called a runtime of actors.
//!
//! `cargo bench -p actinium-bench` runs them; `cargo bench -p actinium-bench -- --help` says what
//! else there is.
//!
//! | file | concern |
//! |---|---|
//! | `benchmark.rs` | what is measured: names, sizes, units, targets |
//! | `workloads/` | the benchmarks themselves, one folder per runtime, one file per benchmark |
//! | `options.rs` | the command line |
//! | `harness.rs` | which runs, in which order, each in a process of its own |
//! | `child.rs` | what such a process does |
//! | `events.rs` | the event processor against what is ideal: `-- --events` |
//! | `replays.rs` | workloads for both, read and run |
//! | `flows/` | the event processor beside oneTBB and Taskflow, on one graph: `-- --events --section flows` |
//! | `patterns/` | what a second worker adds to one, in five patterns of communication: `-- --patterns` |
//! | `encodings/` | the binary encoding against other libraries: `-- --encodings` |
//! | `baseline/` | this tree against another commit: two programs in turns, and a verdict for each row |
//! | `counters.rs` | what CI holds constant: instructions, atomics and allocations per item, written down in `counters.toml` |
//! | `callgrind.rs` | how those instructions and atomics are counted |
//! | `page/` | BENCHMARKS.md, all of it, by one command |
//! | `measured.rs` | a figure of some runs: its median, its interval, its unit |
//! | `allocations.rs` | the allocator that counts when it is asked to |
//! | `report/` | the results as tables, Markdown and JSON |
//!
//! How a comparison is made fair: one process per benchmark, runtime and round, so that heaps do
//! not disturb each other; the runtimes take turns, so that what else the machine does hits all of
//! them; tokio runs with one worker and with as many as Actinium has, and the better result counts.
//! Ratios hold within one run of this program; absolute figures change from hour to hour on a
//! shared machine.

#![expect(clippy::disallowed_methods, reason = "benchmarks measure real time")]

mod allocations;
mod baseline;
mod benchmark;
mod callgrind;
mod child;
mod counters;
mod encodings;
mod events;
mod flows;
mod grid;
mod harness;
mod host;
mod machine;
mod measured;
mod options;
mod page;
mod patterns;
mod replays;
mod report;
mod run;
mod runtime;
mod workloads;

use benchmark::Benchmark;
use options::{Options, Output, Request};
use report::Report;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// The program: exit code 0, 1 if a benchmark failed, 2 if the command line is wrong.
pub fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match options::parse(&args) {
        Ok(Request::Help) => print(options::HELP),
        Ok(Request::List) => print(&list()),
        Ok(Request::Child(order)) => child::run(&order),
        Ok(Request::Measure(options)) => measure(&options, &args),
        Ok(Request::Baseline(commit, options)) => ended(baseline::run(&commit, &options, &args)),
        Ok(Request::Counters(why, options)) => ended(counters::run(why.as_deref(), &options)),
        Ok(Request::Patterns(options)) => {
            let grid = patterns::compare(options.workers, options.pairs, options.quick);
            ended(grid.map(|grid| grid.text()))
        }
        Ok(Request::Encodings(options)) => ended(encodings::compare(options.quick)),
        Ok(Request::Events { file, section, pairs }) => {
            ended(events::measure(file.as_deref(), section.as_deref(), pairs))
        }
        Ok(Request::Page(options)) => ended(page::write(&options, &args)),
        Err(error) => {
            eprintln!("peers: {error}\nTry `cargo bench -p actinium-bench -- --help`.");
            ExitCode::from(2)
        }
    }
}

fn list() -> String {
    let line = |benchmark: &Benchmark| format!("{:<12}{}\n", benchmark.name(), benchmark.what());
    Benchmark::ALL.iter().map(line).collect()
}

fn measure(options: &Options, args: &[String]) -> ExitCode {
    let report = Report::make(options, args);
    let text = match options.output {
        Output::Text => report.text(),
        Output::Markdown => report.markdown(),
        Output::Json => report.json(),
    };
    let printed = print(&text);
    match report.failures() {
        0 => printed,
        failures => {
            eprintln!("peers: {failures} measurements failed");
            ExitCode::FAILURE
        }
    }
}

/// Prints what was found out, or says why it could not be, and fails.
fn ended(result: Result<String, String>) -> ExitCode {
    match result {
        Ok(text) => print(&text),
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes to stdout, whose reader may go when it has seen enough.
fn print(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("peers: can not write to stdout: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
