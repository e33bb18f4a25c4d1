//! `actinium top` looks at another program of this command's.

use crate::common::{Scratch, command, run};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A program that can be looked at, until this is dropped.
struct Observed(Child);

impl Drop for Observed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `actinium top` with these arguments, in this user's folder of sockets.
fn top(scratch: &Scratch, arguments: &[&str]) -> crate::common::Ran {
    let mut top = command(&[&["top"], arguments].concat());
    top.env("XDG_RUNTIME_DIR", scratch.path("."));
    top.output().expect("it runs").into()
}

/// Starts a program, and waits until it can be looked at.
fn observed(scratch: &Scratch) -> Observed {
    let mut probe: Command = command(&["probe", "--messages", "1000000000", "--repeat", "1"]);
    probe.env("ACTINIUM_TOP", "1").env("ACTINIUM_BIND", "none");
    probe.env("XDG_RUNTIME_DIR", scratch.path("."));
    let child = probe.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut observed = Observed(child);
    let pid = observed.0.id().to_string();
    while top(scratch, &[&pid, "--json"]).code != Some(0) {
        let ended = observed.0.try_wait().expect("it can be asked");
        assert_eq!(ended, None, "it ended before it could be looked at");
    }
    observed
}

#[test]
fn a_program_of_the_same_user_is_found_and_shown() {
    let scratch = Scratch::new("top");
    let none = top(&scratch, &["--once"]);
    none.refused(&["no program", "ACTINIUM_TOP=1", ".observable()"]);

    let first = observed(&scratch);
    let pid = first.0.id();
    let seen = top(&scratch, &["--json"]).json();
    assert_eq!((&seen["schema_version"], &seen["about"]["pid"]), (&1.into(), &pid.into()));
    let text = top(&scratch, &[&pid.to_string(), "--once", "--interval", "0.1"]).ok();
    for part in [&format!("process {pid}")[..], "Workers", "Types of actors", "Latency", "Threads"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    top(&scratch, &["1", "--once"]).refused(&["process 1 can not be", &pid.to_string()]);
    top(&scratch, &[]).refused(&["needs a terminal", "--once"]);

    let second = observed(&scratch);
    let both = [pid, second.0.id()].map(|pid| pid.to_string());
    top(&scratch, &["--once"]).refused(&["several programs", &both[0], &both[1], "probe"]);
    drop((first, second));
    top(&scratch, &["--once"]).refused(&["no program"]);
}

#[test]
fn what_can_not_be_looked_at_is_named() {
    run(&["top", "nonsense"]).refused(&["nonsense", "HOST:PORT"]);
    run(&["top", "--interval", "0"]).refused(&["--interval", "0.1 to 3600"]);
    run(&["top", "--once", "--json"]).refused(&["--once", "--json"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).expect("a request");
        std::io::Write::write_all(&mut stream, b"SSH-2.0-OpenSSH\r\n").expect("an answer");
    });
    let ran = run(&["top", &address, "--json"]);
    stranger.join().expect("it answered");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("no live page of Actinium"), "{}", ran.stderr);
    let ran = run(&["top", &address, "--json"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("refused"), "{}", ran.stderr);
}
