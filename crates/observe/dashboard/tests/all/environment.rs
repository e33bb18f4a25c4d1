//! What the environment asks for. A program's environment is that of all its threads, so each of
//! these is a process: this test program again, which runs one test.

use crate::client::get;
use actinium_actor::System;
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};

const ME: &str = "environment::systems_as_the_environment_says";

fn run(address: &str, token: &str) -> Output {
    run_as(address, token, "")
}

/// As this node of a job.
fn run_as(address: &str, token: &str, node: &str) -> Output {
    let me = std::env::current_exe().expect("a program");
    let mut command = Command::new(me);
    command.args([ME, "--exact", "--nocapture"]).env("ACTINIUM_DASHBOARD", address);
    command
        .env("ACTINIUM_DASHBOARD_TOKEN", token)
        .env("ACTINIUM_NODE", node)
        .output()
        .expect("it runs")
}

/// What the process that [`run`] starts does; in this one, nothing.
#[test]
fn systems_as_the_environment_says() {
    let Ok(address) = std::env::var("ACTINIUM_DASHBOARD") else { return };
    let first = match System::builder().workers(1).build() {
        Ok(first) => first,
        Err(error) => return println!("refused: {error}"),
    };
    let mut address: SocketAddr = address.parse().expect("an address");
    let node = std::env::var("ACTINIUM_NODE").ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    address.set_port(address.port() + node);
    let status = |address| get(address, "/api/nodes").status;
    println!("first: {}", status(address));
    let second = System::builder().workers(1).build().expect("the next port");
    let next = (address.ip(), address.port() + 1).into();
    println!("second: {}", status(next));
    drop((first, second));
    let _third = System::builder().workers(1).build().expect("the first port again");
    println!("third: {}", status(address));
}

/// An address with a free port, and a free one behind it.
fn free() -> SocketAddr {
    let tried = (0..100).find_map(|_| {
        let first = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?;
        TcpListener::bind((first.ip(), first.port().checked_add(1)?)).ok()?;
        Some(first)
    });
    tried.expect("two free ports")
}

#[test]
fn each_system_has_its_page_without_a_change_of_the_program() {
    let run = run(&free().to_string(), "");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    for line in ["first: 200", "second: 200", "third: 200"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(String::from_utf8_lossy(&run.stderr).contains("the live page is at http://127.0.0.1:"));
}

#[test]
fn a_node_of_a_job_has_a_port_of_its_own() {
    let run = run_as(&free().to_string(), "", "1");
    assert!(String::from_utf8_lossy(&run.stdout).contains("first: 200"));
}

#[test]
fn the_token_of_the_environment_is_asked_for() {
    let run = run(&free().to_string(), "secret");
    assert!(String::from_utf8_lossy(&run.stdout).contains("first: 401"));
}

#[test]
fn an_address_that_can_not_be_is_an_error_of_build() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    for (address, why) in [(&*address, "in use"), ("0.0.0.0:0", "no token"), ("x", "no address")] {
        let run = run(address, "");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(said.contains("refused: ") && said.contains("ACTINIUM_DASHBOARD: "), "{said}");
        assert!(said.contains(why), "{said}");
    }
}
