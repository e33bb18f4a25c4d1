//! A process that is a node, from outside.

use crate::setting::Setting;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Ended with its test, however that ends.
pub(crate) struct Process {
    /// None: somebody else's.
    child: Option<Child>,
    stdin: Box<dyn Write>,
    lines: Receiver<String>,
    seen: Vec<String>,
    name: String,
}

/// Against hanging only.
const LIMIT: Duration = Duration::from_secs(600);

/// The variable that tells a process what it is.
pub(crate) const VARIABLE: &str = "ACTINIUM_ZENOH_TEST";

impl Process {
    /// Starts it, and waits until it has joined.
    pub(crate) fn start(setting: &Setting) -> Self {
        let mut process = Self::try_start(setting);
        process.expect("ready");
        process
    }

    /// Starts it, whatever comes of that.
    pub(crate) fn try_start(setting: &Setting) -> Self {
        Self::run(Command::new(std::env::current_exe().unwrap()), setting)
    }

    /// Starts it by a command that, in the end, runs this program.
    pub(crate) fn run(mut command: Command, setting: &Setting) -> Self {
        command.env(VARIABLE, setting.write()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let stdin = Box::new(child.stdin.take().unwrap());
        let name = format!("node {} ({})", setting.zenoh.node.0, child.id());
        let mut process = Self::attach(name, stdin, || stdout);
        process.child = Some(child);
        process
    }

    /// One that somebody else starts, told and heard by these.
    pub(crate) fn attach<R: Read>(
        name: String,
        stdin: Box<dyn Write>,
        stdout: impl FnOnce() -> R + Send + 'static,
    ) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout()).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Process { child: None, stdin, lines, seen: Vec::new(), name }
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").and_then(|()| self.stdin.flush()).unwrap();
    }

    /// Waits for a line with this in it; lines before it are kept.
    #[track_caller]
    pub(crate) fn expect(&mut self, part: &str) -> String {
        while let Ok(line) = self.lines.recv_timeout(LIMIT) {
            assert!(!line.starts_with("bad"), "{}: {line}", self.name);
            self.seen.push(line.clone());
            if line.contains(part) {
                return line;
            }
        }
        panic!("{} never said '{part}': {:#?}", self.name, self.seen);
    }

    /// Tells it, and waits for the answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str, part: &str) -> String {
        self.tell(line);
        self.expect(part)
    }

    /// What it has said so far, but for what it says at this moment.
    pub(crate) fn seen(&mut self) -> &[String] {
        self.seen.extend(self.lines.try_iter());
        &self.seen
    }

    /// What it has counted, of itself and the link to another node.
    #[track_caller]
    pub(crate) fn figures(&mut self, peer: u32) -> impl Fn(&str) -> u64 + use<> {
        let line = self.ask(&format!("figures {peer}"), "figures ");
        move |name| {
            let mut words = line.split(' ').filter_map(|word| word.split_once('='));
            let value = words.find(|(key, _)| *key == name);
            value.unwrap_or_else(|| panic!("no {name} in {line}")).1.parse().unwrap()
        }
    }

    #[track_caller]
    pub(crate) fn leave(mut self) {
        self.tell("leave");
        self.left();
    }

    /// Waits until it has left, as it was told.
    #[track_caller]
    pub(crate) fn left(mut self) {
        self.expect("left");
        assert!(self.child.as_mut().unwrap().wait().unwrap().success());
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Dies at once.
    pub(crate) fn kill(mut self) {
        let child = self.child.as_mut().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Stops, and is stopped when this returns.
    pub(crate) fn stop(&self) {
        self.signal("-STOP");
        let path = format!("/proc/{}/stat", self.id());
        let is_stopped = || {
            let stat = std::fs::read_to_string(&path).unwrap();
            stat.rsplit(')').next().unwrap().trim_start().starts_with(['T', 't'])
        };
        while !is_stopped() {
            std::thread::yield_now();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ports of this host that nobody listens on: held together, so that they differ.
pub(crate) fn free_ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}
