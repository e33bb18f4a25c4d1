//! Processes on hosts of their own: network namespaces on this machine, with cables that are
//! pulled. It needs root and `ip` (iproute2); where namespaces are not permitted, it says so and
//! has run nothing. Nodes are those of the tests over Zenoh on one host.
//!
//! A program of its own: it starts itself on hosts that it makes, and needs a `main`.

mod hosts;
#[path = "../mpi_parts/letters.rs"]
mod letters;
mod mpi;
#[path = "../zenoh/node.rs"]
mod node;
// Nobody sends payloads here.
#[allow(dead_code)]
#[path = "../zenoh/parcels.rs"]
mod parcels;
// The ports of one host are another file's concern.
#[allow(dead_code)]
#[path = "../zenoh/process.rs"]
mod process;
#[path = "../zenoh/setting.rs"]
mod setting;
mod zenoh;

use std::panic::catch_unwind;
use std::process::ExitCode;

type Test = (&'static str, fn());

fn main() -> ExitCode {
    if let Ok(text) = std::env::var(process::VARIABLE) {
        let setting = setting::Setting::read(&text);
        if setting.mpi {
            let lines = std::io::stdin().lines().map(Result::unwrap);
            node::drive(&setting, lines, actinium_cluster::fabric::mpi::Mpi::start);
        } else {
            node::play(&setting);
        }
        return ExitCode::SUCCESS;
    }
    if let Err(why) = hosts::Network::new(1) {
        println!("skipped: no network namespaces: {why}");
        return ExitCode::SUCCESS;
    }
    // Names of tests, or parts of them; flags are for the usual harness.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|it| name.contains(it));
    let all = [zenoh::TESTS, mpi::TESTS].concat();
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
