//! The facade's example `job` as several nodes: its binary, unchanged, under `actinium launch`.
//!
//! A program of its own: it is the example that `launch` starts, and needs a `main`.

#[path = "../../../actinium/examples/job.rs"]
mod job;

use std::process::{Command, ExitCode, Stdio};

/// Set in the processes that are the example.
const IS_EXAMPLE: &str = "JOB_IS_EXAMPLE";

fn main() -> ExitCode {
    if std::env::var_os(IS_EXAMPLE).is_some() {
        return job::main();
    }
    it_is_each_node_of_a_job();
    ExitCode::SUCCESS
}

fn it_is_each_node_of_a_job() {
    for nodes in [1, 3] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_actinium"));
        let program = std::env::current_exe().expect("this program");
        command.args(["launch", "-n", &nodes.to_string(), "--"]).arg(program);
        let output = command.env(IS_EXAMPLE, "1").stdin(Stdio::null()).output().expect("it starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
        let hello = |node| format!("[0] Hello, Ada, from node {node}!\n");
        assert_eq!(stdout, (0..nodes).map(hello).collect::<String>());
    }
}
