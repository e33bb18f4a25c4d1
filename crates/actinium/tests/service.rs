//! The examples `service` and `bank` as processes: asked over HTTP, and ended by a signal.
//!
//! A program of its own: it starts itself as the example, and needs a `main`.

#[path = "../examples/bank.rs"]
mod bank;
#[path = "../examples/service.rs"]
mod service;

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

/// The example that this process is.
const EXAMPLE: &str = "SERVICE_EXAMPLE";

fn main() {
    match std::env::var(EXAMPLE).as_deref() {
        Ok("bank") => bank::main().expect("it serves"),
        Ok(_) => service::main().expect("it serves"),
        Err(_) => {
            service_answers_and_ends();
            bank_answers_and_ends();
        }
    }
}

/// Starts an example; returns its output, and where it listens.
fn start(example: &str) -> (Child, Lines<BufReader<ChildStdout>>, String) {
    let mut example = Command::new(std::env::current_exe().expect("this program"))
        .arg("127.0.0.1:0")
        .env(EXAMPLE, example)
        .env("ACTINIUM_WORKERS", "2")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(example.stdout.take().expect("piped")).lines();
    let first = lines.next().expect("a line").expect("UTF-8");
    let address = first.strip_prefix("listening at http://").expect("an address").to_owned();
    (example, lines, address)
}

fn service_answers_and_ends() {
    let (mut example, mut lines, address) = start("service");
    let mut line = || lines.next().expect("a line").expect("UTF-8");
    assert_eq!(post(&address, "[1, 3]"), (200, r#"{"mean":2.0,"spread":1.0,"rank":0}"#.into()));
    assert_eq!(post(&address, "[5, 5]"), (200, r#"{"mean":5.0,"spread":0.0,"rank":0}"#.into()));
    assert_eq!(post(&address, "[0, 9]"), (200, r#"{"mean":4.5,"spread":4.5,"rank":2}"#.into()));
    assert_eq!(post(&address, "[]"), (400, "an empty array has no mean".into()));
    assert_eq!(post(&address, "[1, ").0, 400);
    // An event that fails is answered, too, and ends nothing.
    let too_large = post(&address, "[1e308, 1e308]");
    assert_eq!(too_large, (422, "the numbers are too large".into()));
    many_at_once(&address);

    end(&example, "-INT");
    let graph = line();
    assert!(graph.starts_with("graph requests: ") && graph.contains("1 events failed"), "{graph}");
    let actors = line();
    assert!(actors.starts_with("actors: ") && actors.ends_with(", 0 dropped"), "{actors}");
    assert!(example.wait().expect("it ends").success());
}

fn bank_answers_and_ends() {
    let (mut example, mut lines, address) = start("bank");
    let add = |cents: &str| request("POST", &address, &format!("/ada/{cents}"), "");
    let balance = || request("GET", &address, "/ada", "");
    assert_eq!(balance(), (200, "0".into()));
    assert_eq!(add("500"), (200, "500".into()));
    assert_eq!(add("-501"), (409, "the account has not so much".into()));
    assert_eq!(add("much").0, 400);
    // The account fails, and is restarted from the books.
    for _ in 0..3 {
        assert_eq!(add(&i64::MAX.to_string()).0, 503);
    }
    assert_eq!(add("-100"), (200, "400".into()));
    assert_eq!(request("GET", &address, "/grace", ""), (200, "0".into()));

    end(&example, "-TERM");
    let report = lines.next().expect("a line").expect("UTF-8");
    assert!(report.ends_with(" messages handled, 0 dropped"), "{report}");
    assert!(example.wait().expect("it ends").success());
}

/// Each gets its own answer.
fn many_at_once(address: &str) {
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                for k in 0..20 {
                    let mean = f64::from(n * 100 + k);
                    let (code, body) = post(address, &format!("[{mean}, {mean}]"));
                    let is_own = body.starts_with(&format!("{{\"mean\":{mean:.1},\"spread\":0.0"));
                    assert!(code == 200 && is_own, "{code} {body}");
                }
            });
        }
    });
}

fn post(address: &str, body: &str) -> (u16, String) {
    request("POST", address, "/", body)
}

fn request(method: &str, address: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    (code, body.to_owned())
}

fn end(example: &Child, signal: &str) {
    let pid = example.id().to_string();
    let killed = Command::new("kill").args([signal, &pid]).status().expect("kill");
    assert!(killed.success());
}
