//! `actinium dashboard`, and `--dashboard` of other commands.

use crate::common::{Ran, run, small};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A command that runs until this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a command, and waits for the line on stderr in which it says where its page is.
fn start(args: &[&str]) -> (Running, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_actinium"))
        .args(args)
        .env_remove("ACTINIUM_DASHBOARD")
        .env_remove("ACTINIUM_DASHBOARD_TOKEN")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
    let running = Running(child);
    let mut seen = Vec::new();
    for line in lines.map_while(Result::ok) {
        if let Some((_, rest)) = line.split_once("http://") {
            let address = rest.split('/').next().expect("an address").to_owned();
            return (running, address);
        }
        seen.push(line);
    }
    panic!("no page: {seen:?}");
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {address}\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_command_is_seen_by_its_own_page_and_by_that_of_several_nodes() {
    let long = ["probe", "--dashboard", "127.0.0.1:0", "--messages", "100000000", "--workers", "1"];
    let (_probe, probe) = start(&long);
    assert!(get(&probe, "/api/snapshot").contains("\"schema_version\":1"));
    let (_all, all) = start(&["dashboard", "--listen", "127.0.0.1:0", &probe]);
    let snapshot = get(&all, "/api/snapshot");
    assert!(snapshot.starts_with("HTTP/1.0 200") && snapshot.contains("probe"), "{snapshot}");
    assert!(get(&all, "/").contains("<title>"));
}

#[test]
fn what_can_not_be_served_is_said() {
    let refused = |args: &[&str], why: &str| {
        let Ran { code, stderr, .. } = run(args);
        assert!(code == Some(1) && stderr.contains(why), "{code:?} {stderr}");
    };
    refused(&["dashboard", "--listen", "0.0.0.0:0", "127.0.0.1:1"], "no token is asked for");
    refused(&small(&["--dashboard", "0.0.0.0:0"]), "no token is asked for");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    refused(&["dashboard", "--listen", &address, "127.0.0.1:1"], "in use");
    refused(&small(&["--dashboard", &address]), "in use");
    run(&["topology", "--dashboard", "127.0.0.1:0"]).refused(&["--dashboard", "runs no system"]);
    run(&["dashboard"]).refused(&["ADDR"]);
}
