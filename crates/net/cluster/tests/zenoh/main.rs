//! Several processes on this machine as nodes, over Zenoh. Started without [`process::VARIABLE`],
//! this program runs its tests; each starts this program again, as nodes.
//!
//! A program of its own: it starts itself as other nodes, and needs a `main`.

mod certificates;
mod faults;
#[path = "../mpi_parts/letters.rs"]
mod letters;
mod node;
mod parcels;
mod payloads;
mod process;
mod secure;
mod setting;
mod streams;

use std::panic::catch_unwind;
use std::process::ExitCode;

type Test = (&'static str, fn());

fn main() -> ExitCode {
    if let Ok(text) = std::env::var(process::VARIABLE) {
        node::play(&setting::Setting::read(&text));
        return ExitCode::SUCCESS;
    }
    // Names of tests, or parts of them; flags are for the usual harness.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|it| name.contains(it));
    let all = [streams::TESTS, payloads::TESTS, secure::TESTS, faults::TESTS].concat();
    let all: Vec<Test> = all.into_iter().filter(|(name, _)| is_wanted(name)).collect();
    println!("running {} tests", all.len());
    let mut code = ExitCode::SUCCESS;
    for (name, test) in all {
        let passed = catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            code = ExitCode::FAILURE;
        }
    }
    code
}
