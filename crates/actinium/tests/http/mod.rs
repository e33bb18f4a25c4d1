//! An example that is a web service, as a process: its lines, requests to it, its end.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Set in the process that is the example.
const IS_EXAMPLE: &str = "SERVICE_IS_EXAMPLE";

/// Whether this process is to be the example.
pub(crate) fn is_example() -> bool {
    std::env::var_os(IS_EXAMPLE).is_some()
}

/// The example, as another process of this program.
pub(crate) struct Service {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) address: String,
}

impl Service {
    pub(crate) fn start(arguments: &[&str]) -> Service {
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .args(arguments)
            .env(IS_EXAMPLE, "1")
            .env("ACTINIUM_WORKERS", "2")
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
        let first = lines.next().expect("a line").expect("UTF-8");
        let address = first.strip_prefix("listening at http://").expect("an address").to_owned();
        Service { process, lines, address }
    }

    /// Its next line.
    pub(crate) fn line(&mut self) -> String {
        self.lines.next().expect("a line").expect("UTF-8")
    }

    /// Sends it a signal: `INT` asks it to end, `KILL` ends it at once.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.process.id().to_string();
        let killed = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(killed.expect("kill").success());
    }

    /// Waits for its end; true if that was a good one.
    pub(crate) fn wait(&mut self) -> bool {
        self.process.wait().expect("it ends").success()
    }
}

/// A test that fails leaves nothing behind.
impl Drop for Service {
    fn drop(&mut self) {
        // One that has ended already can not be killed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Asks it; `None` if it went away before it had answered.
pub(crate) fn ask(address: &str, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let code = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((code, body.to_owned()))
}
