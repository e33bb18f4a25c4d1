//! Several processes of one program on this machine, as nodes of a cluster.
//!
//! Each is told by `ACTINIUM_NODE`, `ACTINIUM_NODES`, `ACTINIUM_LISTEN`, `ACTINIUM_CONNECT` and
//! `ACTINIUM_BIND` which node it is: with [`NodesArgs`](crate::nodes::NodesArgs) and `--fabric
//! zenoh` it joins the others. `output` passes on what they print; here they are started and ended.

mod output;

use crate::Failure;
use crate::bind::machine;
use actinium_actor::{Bind, Interrupts};
use actinium_topology::Topology;
use output::Lines;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long those that are asked to end may take; then they are killed.
const GRACE: Duration = Duration::from_secs(5);

/// The processes to start: a program with its arguments, and each node's port and PUs.
#[derive(Debug)]
pub struct Job {
    program: OsString,
    arguments: Vec<OsString>,
    ports: Vec<u16>,
    /// The PUs of each.
    binds: Vec<Bind>,
}

impl Job {
    /// Creates a job with so many nodes of a program. They share the PUs that this binds to.
    ///
    /// # Errors
    /// If this machine has not so many free ports.
    pub fn new(
        program: OsString,
        arguments: Vec<OsString>,
        nodes: u32,
        bind: &Bind,
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::Failed(format!("launch: {error}"));
        let ports = free_ports(nodes).map_err(failed)?;
        let binds = shares(bind, machine()?, ports.len());
        Ok(Job { program, arguments, ports, binds })
    }

    fn start(&self, node: usize) -> io::Result<Child> {
        let address = |port: &u16| format!("tcp/127.0.0.1:{port}");
        let connect: Vec<String> = self.ports[..node].iter().map(address).collect();
        Command::new(&self.program)
            .args(&self.arguments)
            .env("ACTINIUM_NODE", node.to_string())
            .env("ACTINIUM_NODES", self.ports.len().to_string())
            .env("ACTINIUM_LISTEN", address(&self.ports[node]))
            .env("ACTINIUM_BIND", self.binds[node].to_string())
            .env("ACTINIUM_CONNECT", connect.join(","))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for us to pass on, and what they have started ends with them.
            .process_group(0)
            .spawn()
    }
}

/// Divides the PUs evenly among the nodes. If there are fewer PUs than nodes, no node is bound.
fn shares(bind: &Bind, machine: Topology, nodes: usize) -> Vec<Bind> {
    let machine = match bind {
        Bind::None => return vec![Bind::None; nodes],
        Bind::Auto => machine,
        Bind::To(list) => machine.with_allowed(list),
    };
    let shares = machine.divide_pus(nodes);
    shares.map_or(vec![Bind::None; nodes], |shares| shares.into_iter().map(Bind::To).collect())
}

/// Ports that nobody listens on. They are held together, so that they differ, and given up before
/// the nodes take them.
fn free_ports(count: u32) -> io::Result<Vec<u16>> {
    let bind = |_| TcpListener::bind("127.0.0.1:0");
    let held = (0..count).map(bind).collect::<io::Result<Vec<_>>>()?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// An event in the life of a job.
enum Event {
    Ended(usize, io::Result<ExitStatus>),
    /// Somebody wants it to end: the signal's number of times.
    Interrupted,
}

/// The nodes that run.
struct Running {
    groups: Vec<Option<Pid>>,
    events: Receiver<Event>,
    is_ending: bool,
}

/// Runs a job to its end.
///
/// # Errors
/// If a node could not be started or failed, or somebody interrupted it.
pub fn run(job: &Job) -> Result<(), Failure> {
    let (sender, events) = channel();
    let interrupted = sender.clone();
    let _interrupts = Interrupts::listen(move |_| drop(interrupted.send(Event::Interrupted)))
        .map_err(|error| Failure::Failed(format!("launch: no signals: {error}")))?;
    let mut running = Running { groups: Vec::new(), events, is_ending: false };
    let mut failure = None;
    let unwritten = Mutex::new(None);
    thread::scope(|scope| {
        for node in 0..job.ports.len() {
            match job.start(node) {
                Ok(child) => {
                    running.groups.push(Pid::from_raw(child.id() as i32));
                    let sender = sender.clone();
                    let unwritten = &unwritten;
                    scope.spawn(move || watch(node, child, &sender, unwritten));
                }
                Err(error) => {
                    let program = job.program.to_string_lossy();
                    failure = Some(not_started(&program, &error));
                    running.end(Signal::TERM);
                    break;
                }
            }
        }
        running.wait(&mut failure);
    });
    let unwritten = unwritten.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.or(unwritten.map(not_written)).map_or(Ok(()), Err)
}

/// A full disk, say, and nobody who reads is no failure.
fn not_written(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Failed(format!("launch: can not write what the nodes print: {error}")),
    }
}

fn not_started(program: &str, error: &io::Error) -> Failure {
    let line = format!("launch: can not start '{program}': {error}");
    match error.kind() {
        io::ErrorKind::NotFound => Failure::Asked(line),
        _ => Failure::Failed(line),
    }
}

/// Passes on what a node prints, until it and all that it has started have ended.
fn watch(
    node: usize,
    mut child: Child,
    sender: &Sender<Event>,
    unwritten: &Mutex<Option<io::Error>>,
) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let keep = |written: io::Result<()>| {
        if let Err(error) = written {
            unwritten.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    };
    thread::scope(|scope| {
        let keep = &keep;
        scope.spawn(|| stderr.map(|from| keep(Lines::new(node, io::stderr()).pass_on(from))));
        scope.spawn(|| stdout.map(|from| keep(Lines::new(node, io::stdout()).pass_on(from))));
        // Said at once: what it has started may hold its output open until it is ended, too.
        drop(sender.send(Event::Ended(node, child.wait())));
    });
}

impl Running {
    /// Until all have ended. The first that fails, or who interrupts it, ends the others, and is
    /// told.
    fn wait(&mut self, failure: &mut Option<Failure>) {
        while self.groups.iter().any(Option::is_some) {
            let event = match self.is_ending {
                false => self.events.recv().ok(),
                true => self.events.recv_timeout(GRACE).ok(),
            };
            match event {
                Some(Event::Ended(node, status)) => {
                    let failed = ended(node, status);
                    if failed.is_some() && failure.is_none() {
                        *failure = failed;
                        self.end(Signal::TERM);
                    }
                    // What it has left behind would hold its output open.
                    self.signal(node, Signal::KILL);
                    self.groups[node] = None;
                }
                Some(Event::Interrupted) => {
                    let what = "launch: interrupted".to_owned();
                    let again = self.is_ending;
                    failure.get_or_insert(Failure::Ended { code: 130, what });
                    self.end(if again { Signal::KILL } else { Signal::INT });
                }
                None => self.end(Signal::KILL),
            }
        }
    }

    fn end(&mut self, signal: Signal) {
        self.is_ending = true;
        (0..self.groups.len()).for_each(|node| self.signal(node, signal));
    }

    fn signal(&self, node: usize, signal: Signal) {
        if let Some(group) = self.groups[node] {
            // It may have ended by itself.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// Returns the failure to report for a node that did not end well.
fn ended(node: usize, status: io::Result<ExitStatus>) -> Option<Failure> {
    let status = match status {
        Ok(status) => status,
        Err(error) => return Some(Failure::Failed(format!("launch: node {node}: {error}"))),
    };
    if status.success() {
        return None;
    }
    let signal = status.signal().unwrap_or_default();
    // Linux has no exit codes and signals beyond that.
    let code = u8::try_from(status.code().unwrap_or(128 + signal)).unwrap_or(1);
    Some(Failure::Ended {
        code,
        what: format!("launch: node {node} failed ({status}); the others were ended"),
    })
}
