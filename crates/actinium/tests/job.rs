//! The example `job` as a process: alone, and where the environment says that it is not.
//!
//! A program of its own: it starts itself as the example, and needs a `main`. The tests of
//! `actinium-cli` start it with `actinium launch`.

#[path = "../examples/job.rs"]
mod job;

use std::process::{Command, ExitCode};

/// Set in the processes that are the example.
const IS_EXAMPLE: &str = "JOB_IS_EXAMPLE";

fn main() -> ExitCode {
    if std::env::var_os(IS_EXAMPLE).is_some() {
        return job::main();
    }
    it_runs_alone();
    what_says_otherwise_is_named();
    ExitCode::SUCCESS
}

/// Exit code, stdout and stderr of the example, with these variables only.
fn run(variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env_clear().env(IS_EXAMPLE, "1").envs(variables.iter().copied());
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn it_runs_alone() {
    for variables in [&[][..], &[("ACTINIUM_FABRIC", "in-process"), ("ACTINIUM_NODE", "3")]] {
        let (code, stdout, stderr) = run(variables);
        assert_eq!((code, &*stderr), (Some(0), ""));
        assert_eq!(stdout, "Hello, Ada, from node 0!\n");
    }
}

fn what_says_otherwise_is_named() {
    let mpi = "OMPI_COMM_WORLD_SIZE=2: this process belongs to a job of several, and 'mpi' is not";
    let zenoh = "ACTINIUM_NODES=2: this process belongs to a job of several, and 'zenoh' is not";
    let missing = "ACTINIUM_NODES: needed: how many nodes there are";
    let fabric = "ACTINIUM_FABRIC: 'pigeons' is not allowed: in-process, mpi, zenoh";
    let encoding = "ACTINIUM_ENCODING: ";
    let needs_feature = |feature| match feature {
        "mpi" => !cfg!(feature = "mpi"),
        _ => !cfg!(feature = "zenoh"),
    };
    for (is_tested, variables, line) in [
        (needs_feature("mpi"), &[("OMPI_COMM_WORLD_SIZE", "2")][..], mpi),
        (needs_feature("zenoh"), &[("ACTINIUM_NODE", "0"), ("ACTINIUM_NODES", "2")], zenoh),
        (true, &[("ACTINIUM_NODE", "0")], missing),
        (true, &[("ACTINIUM_FABRIC", "pigeons")], fabric),
        (true, &[("ACTINIUM_ENCODING", "morse")], encoding),
    ] {
        if !is_tested {
            println!("skipped: this build has the feature that {variables:?} needs");
            continue;
        }
        let (code, stdout, stderr) = run(variables);
        assert_eq!((code, &*stdout), (Some(1), ""), "{stderr}");
        assert!(stderr.starts_with(&format!("job: {line}")), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}
