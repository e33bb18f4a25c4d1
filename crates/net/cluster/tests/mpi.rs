//! Ranks of an MPI job as nodes. Started without `mpiexec`, each of its tests starts itself under
//! it; a job's ranks then play the parts.
//!
//! A program of its own: it starts itself under `mpiexec`, and needs a `main`.

#[path = "mpi_parts/bell.rs"]
mod bell;
#[path = "mpi_parts/letters.rs"]
mod letters;
#[path = "mpi_parts/payloads.rs"]
mod payloads;
#[path = "mpi_parts/regions.rs"]
mod regions;
#[path = "mpi_parts/segments.rs"]
mod segments;

use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::{DownReason, LinkConfig};
use actinium_cluster::{
    Node, NodeConfig, NodeEvent, RemoteActor, RemoteAddress, RemoteAskError, RemoteSendError,
};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(240);
/// What is sent each way.
const MESSAGES: u64 = 1_000_000;

/// Checks that numbers come in order, and counts them.
#[derive(Default)]
struct Counter {
    next: u64,
    bytes: u64,
    waiting: Vec<(u64, Reply<u64>)>,
}

enum Msg {
    Number(u64, Vec<u8>),
    /// Answers with the bytes when so many numbers have come.
    When(u64, Reply<u64>),
    /// Answers with the process it runs in.
    Process(Reply<u64>),
}

/// As a request: [`Msg::Process`].
const PROCESS: u64 = u64::MAX - 1;

impl Actor for Counter {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Number(number, bytes) => {
                assert_eq!(number, self.next);
                assert!(bytes.iter().all(|&byte| byte == 0 || byte == number as u8));
                self.next += 1;
                self.bytes += bytes.len() as u64;
            }
            Msg::When(count, reply) => self.waiting.push((count, reply)),
            Msg::Process(reply) => drop(reply.send(std::process::id().into())),
        }
        // All of them: the one that was asked first may be waited for longest.
        for (_, reply) in self.waiting.extract_if(.., |&mut (count, _)| self.next >= count) {
            let _ = reply.send(self.bytes);
        }
    }
}

impl RemoteActor for Counter {
    const KIND: &'static str = "test.counter";
    type Message = (u64, Vec<u8>);
    type Request = u64;
    type Answer = u64;
    fn message((number, bytes): (u64, Vec<u8>)) -> Msg {
        Msg::Number(number, bytes)
    }
    fn request(count: u64, reply: Reply<u64>) -> Msg {
        if count == PROCESS { Msg::Process(reply) } else { Msg::When(count, reply) }
    }
}

struct Rank {
    system: System,
    node: Node,
    counter: Address<Counter>,
    peer: NodeId,
    events: mpsc::Receiver<NodeEvent>,
}

/// On a busy machine a rank may not run for seconds: that is no death here.
fn patient() -> NodeConfig {
    let link = LinkConfig { down_after_ns: 60_000_000_000, ..LinkConfig::default() };
    NodeConfig { link, linger: LIMIT, ..NodeConfig::default() }
}

fn rank(config: NodeConfig) -> Rank {
    let system = System::builder().workers(1).build().unwrap();
    let node = Node::start(system.handle(), config, Mpi::start).unwrap();
    let (sender, events) = mpsc::channel();
    node.on_event(move |event| drop(sender.send(event.clone())));
    let counter = system.spawn(Counter::default());
    node.export("counter", &counter).unwrap();
    let peer = NodeId(1 - node.id().0.min(1));
    Rank { system, node, counter, peer, events }
}

/// Says that this rank has got all that it waits for, and waits for the other one to say so: then
/// both may leave.
fn part(rank: &Rank, there: &RemoteAddress<Counter>, number: u64) {
    while let Err(error) = there.send((number, Vec::new())) {
        assert!(matches!(error, RemoteSendError::Full(_)), "{error}");
        std::thread::yield_now();
    }
    rank.counter.ask(|reply| Msg::When(number + 1, reply)).wait().unwrap();
}

/// Both send a stream of small messages and then some that are longer than a frame, all in order,
/// and end together.
fn stream() {
    let rank = rank(patient());
    let there = rank.node.find::<Counter>(rank.peer, "counter", LIMIT).wait().unwrap();
    let mut bytes = 0;
    for number in 0..MESSAGES + 100 {
        let len = if number < MESSAGES { number % 50 } else { 20_000 };
        bytes += len;
        let mut message = (number, vec![0; len as usize]);
        while let Err(error) = there.send(message) {
            if !matches!(error, RemoteSendError::Full(_)) {
                panic!("{error}: {:?}", rank.events.try_iter().collect::<Vec<_>>());
            }
            message = error.into_inner();
            std::thread::yield_now();
        }
    }
    // A request is a message like any: it is refused where too much waits.
    let answer = loop {
        match there.ask(MESSAGES + 100, LIMIT).wait() {
            Err(RemoteAskError::Full(_)) => std::thread::yield_now(),
            answer => break answer,
        }
    };
    assert_eq!(answer, Ok(bytes));
    // The other direction, too.
    part(&rank, &there, MESSAGES + 100);
    let here = rank.counter.ask(|reply| Msg::When(MESSAGES + 100, reply)).wait().unwrap();
    assert_eq!(here, bytes);
    rank.node.leave();
    let stats = rank.node.stats();
    let (aggregator, link) = (stats.peers[0].aggregator, stats.peers[0].link);
    assert_eq!((link.resent, link.duplicates, link.garbage), (0, 0, 0), "{link:?}");
    assert!(aggregator.frames < aggregator.messages / 8, "{aggregator:?}");
    assert!(rank.system.audit(Duration::MAX).unwrap().is_balanced());
    println!("streamed: {} messages in {} frames", aggregator.messages, aggregator.frames);
}

/// Rank 1 is stopped while rank 0 sends, is given up, goes on, and is met again.
fn stopped() {
    let link = LinkConfig {
        reliable: true,
        heartbeat_ns: 20_000_000,
        // Long, for a busy machine: one end must not give the other up before it is stopped, or
        // after it goes on.
        down_after_ns: 4_000_000_000,
        ..LinkConfig::default()
    };
    let rank = rank(NodeConfig { link, ..NodeConfig::default() });
    let there = rank.node.find::<Counter>(rank.peer, "counter", LIMIT).wait().unwrap();
    if rank.node.id() == NodeId(1) {
        // Waits until it has been stopped, given up, and called again.
        expect(&rank, |event| matches!(event, NodeEvent::Down { .. }));
        expect(&rank, |event| matches!(event, NodeEvent::Up(_)));
        // Rank 0 is done. Its farewell may come late or never; that it is gone is seen all the
        // same.
        expect(&rank, |event| matches!(event, NodeEvent::Down { .. }));
        return;
    }
    // With a deadline, and an error if the session ends: a number that was sent might be lost with
    // it, and be waited for in vain.
    let pid = there.ask(PROCESS, LIMIT).wait().unwrap();
    let signal = |name: &str| {
        let status = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
        assert!(status.success());
    };
    signal("-STOP");
    // It takes no more after a while: memory is bounded. A send never blocks.
    let mut sent = 0;
    while there.send((sent, vec![0; 100])).is_ok() {
        sent += 1;
    }
    assert!(sent < 100_000, "{sent}");
    let down = expect(&rank, |event| matches!(event, NodeEvent::Down { .. }));
    signal("-CONT");
    let NodeEvent::Down { reason: DownReason::Silent { .. }, undelivered, .. } = down else {
        panic!("{down:?}")
    };
    // All that was sent in vain is told; besides, the request may be, if it was answered and the
    // rest of its frame's handling was stopped.
    assert!((sent..=sent + 1).contains(&undelivered), "{undelivered} of {sent}");
    expect(&rank, |event| matches!(event, NodeEvent::Up(_)));
    let there = rank.node.find::<Counter>(rank.peer, "counter", LIMIT).wait().unwrap();
    assert_eq!(there.ask(0, LIMIT).wait().map(drop), Ok(()));
    rank.node.leave();
    println!("stopped: {sent} messages came back");
}

fn expect(rank: &Rank, wanted: fn(&NodeEvent) -> bool) -> NodeEvent {
    rank.events.iter().find(wanted).unwrap()
}

/// Long messages both ways at once, up to the longest that a frame holds, each with its own bytes;
/// all in order.
fn long() {
    const LONG: u64 = 300;
    let rank = rank(patient());
    let there = rank.node.find::<Counter>(rank.peer, "counter", LIMIT).wait().unwrap();
    let mut bytes = 0;
    for number in 0..LONG {
        // From nothing to 1,000,000 bytes and back, in steps of no round number.
        let len = (number * 333_337) % 1_000_001;
        bytes += len;
        let mut message = (number, vec![number as u8; len as usize]);
        while let Err(error) = there.send(message) {
            assert!(matches!(error, RemoteSendError::Full(_)), "{error}");
            message = error.into_inner();
            std::thread::yield_now();
        }
    }
    part(&rank, &there, LONG);
    let here = rank.counter.ask(|reply| Msg::When(LONG, reply)).wait().unwrap();
    assert_eq!(here, bytes);
    rank.node.leave();
    let link = rank.node.stats().peers[0].link;
    assert_eq!((link.resent, link.duplicates, link.garbage), (0, 0, 0), "{link:?}");
    println!("long: {bytes} bytes");
}

fn is_stopped(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().trim_start().starts_with(['T', 't'])
}

/// Rank 1 stops itself with long frames half-way to rank 0, which meanwhile goes on talking with
/// rank 2.
fn half() {
    const FRAMES: u8 = 3;
    let mut fabric = Mpi::start().unwrap();
    let [zero, one, two] = [0, 1, 2].map(NodeId);
    let receive = |fabric: &mut Mpi| loop {
        if let Some(frame) = fabric.poll() {
            return frame;
        }
        std::thread::yield_now();
    };
    if fabric.node() == one {
        for n in 0..FRAMES {
            fabric.send(zero, &vec![n; 1 << 20]).unwrap();
        }
        fabric.send(two, &std::process::id().to_le_bytes()).unwrap();
        let me = std::process::id().to_string();
        assert!(Command::new("kill").args(["-STOP", &me]).status().unwrap().success());
        // Rank 0 has let it go on: it helps until rank 0 has all.
        assert_eq!(receive(&mut fabric), (zero, vec![1]));
    } else if fabric.node() == two {
        let (from, pid) = receive(&mut fabric);
        assert_eq!(from, one);
        fabric.send(zero, &pid).unwrap();
        loop {
            let (_, ping) = receive(&mut fabric);
            fabric.send(zero, &ping).unwrap();
            if ping == [0] {
                break;
            }
        }
    } else {
        // Where MPI goes through sockets, what lies in these arrives while its sender is stopped.
        let mut arrived = 0;
        let mut from_two = |fabric: &mut Mpi| loop {
            let (from, frame) = receive(fabric);
            if from == two {
                return frame;
            }
            assert!(frame == vec![arrived; 1 << 20], "frame {arrived}");
            arrived += 1;
        };
        let pid = from_two(&mut fabric);
        let pid = u32::from_le_bytes(pid.try_into().unwrap()).to_string();
        while !is_stopped(&pid) {
            std::thread::yield_now();
        }
        for n in (0..1_000_u64).rev() {
            let ping = if n == 0 { vec![0] } else { n.to_le_bytes().to_vec() };
            fabric.send(two, &ping).unwrap();
            assert_eq!(from_two(&mut fabric), ping);
        }
        assert_eq!(arrived, 0, "what rank 1 sends cannot arrive while it is stopped");
        assert!(Command::new("kill").args(["-CONT", &pid]).status().unwrap().success());
        for n in arrived..FRAMES {
            let (from, frame) = receive(&mut fabric);
            assert!(from == one && frame == vec![n; 1 << 20], "frame {n}");
        }
        fabric.send(one, &[1]).unwrap();
        println!("half: went on");
    }
}

/// Rank 0 writes to rank 1, which hands the letter on to rank 2, and that answers rank 0.
fn letter() {
    let rank = rank(patient());
    let [zero, one, two] = [0, 1, 2].map(NodeId);
    if rank.node.id() == zero {
        let answer = letters::write(&rank.system, &rank.node, one, 41);
        println!("letter: {answer}");
    } else {
        let next = (rank.node.id() == one).then_some(two);
        letters::open(&rank.system, &rank.node, next);
        expect(&rank, |event| matches!(event, NodeEvent::Down { node: NodeId(0), .. }));
    }
    rank.node.leave();
}

/// Rank 1 dies; MPI ends the job.
fn killed() {
    let rank = rank(patient());
    let there = rank.node.find::<Counter>(rank.peer, "counter", LIMIT).wait().unwrap();
    if rank.node.id() == NodeId(1) {
        std::process::abort();
    }
    // Never answered: either the job ends, or the node's death is noticed.
    println!("killed: {:?}", there.ask(u64::MAX, LIMIT).wait());
    std::process::exit(3);
}

/// A job of one rank, started without `mpiexec`.
fn alone() {
    let fabric = Mpi::start().unwrap();
    assert_eq!((fabric.name(), fabric.node(), fabric.nodes()), ("mpi", NodeId(0), vec![NodeId(0)]));
    assert!(Mpi::start().is_err(), "twice in a process");
    println!("alone: one node");
}

/// Name, number of ranks, what each does.
const PARTS: &[(&str, &str, fn())] = &[
    ("stream", "2", stream),
    ("long", "2", long),
    ("half", "3", half),
    ("stopped", "2", stopped),
    ("letter", "3", letter),
    ("killed", "2", killed),
    ("alone", "1", alone),
    ("doorbells", "2", bell::rings),
    ("a stopped doorbell", "2", bell::stopped),
    ("nodes at rest", "2", bell::rest),
    ("windows", "2", payloads::windows),
    ("payloads by windows", "2", payloads::by_window),
    ("payloads by frames", "2", payloads::by_frames),
    ("payloads by windows in a grid", "4", payloads::by_window_in_a_grid),
    ("payloads by frames in a grid", "4", payloads::by_frames_in_a_grid),
    ("regions by windows", "2", regions::by_window),
    ("regions by windows of four ranks", "4", regions::by_window),
    ("regions by messages", "2", regions::by_messages),
    ("segments of static windows", "2", segments::fixed),
    ("segments of dynamic windows", "2", segments::dynamic),
    ("segments beside a node", "2", segments::beside_a_node),
];

/// Whether the ranks of a part have said what they say when all is well.
fn has_passed(part: &str, succeeded: bool, text: &str) -> bool {
    let said = text.contains(&format!("{part}: "));
    match part {
        "killed" => !succeeded && (!said || text.contains("NodeDown")),
        "windows" => succeeded && text.matches("windows: ").count() == 2,
        part if part.starts_with("payloads") => {
            let ranks = if part.ends_with("grid") { 4 } else { 2 };
            succeeded && text.matches("payloads: ").count() == ranks
        }
        part if part.starts_with("regions") => {
            let ranks = if part.ends_with("four ranks") { 4 } else { 2 };
            succeeded && text.matches("regions: ").count() == ranks
        }
        part if part.starts_with("segments") => {
            succeeded && text.matches("segments: ").count() == 2
        }
        "doorbells" | "nodes at rest" => {
            succeeded && text.matches(&format!("{part}: ")).count() == 2
        }
        "stream" => succeeded && text.matches("streamed: ").count() == 2,
        "long" => succeeded && text.matches("long: ").count() == 2,
        "letter" => succeeded && text.contains("letter: 42"),
        _ => succeeded && said,
    }
}

fn main() -> ExitCode {
    if let Ok(part) = std::env::var("ACTINIUM_MPI_PART") {
        // A rank that fails ends the job: else it would wait, while it unwinds, for the others to
        // leave MPI with it, and they for what it no longer says.
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            print(info);
            std::process::abort();
        }));
        let (.., play) = PARTS.iter().find(|(name, ..)| *name == part).unwrap();
        play();
        return ExitCode::SUCCESS;
    }
    // Open MPI's, or MPICH's: this program was built for one.
    let mpiexec = std::env::var("MPIEXEC").unwrap_or("mpiexec".to_owned());
    println!("running {} tests", PARTS.len());
    let mut all_passed = true;
    for (part, ranks, _) in PARTS {
        let me = std::env::current_exe().unwrap();
        let mut command = if *part == "alone" {
            Command::new(&me)
        } else {
            let mut command = Command::new(&mpiexec);
            command.args(["-n", ranks]).arg(&me);
            command
        };
        // Open MPI has no windows of its own accord where it must not read other processes' memory,
        // as below.
        let windows =
            *part == "windows" || part.contains("by windows") || part.starts_with("segments");
        if windows {
            command.env("OMPI_MCA_osc", "pt2pt");
        }
        // A test machine may have one core, and its user may be root.
        let output = command
            .env("ACTINIUM_MPI_PART", part)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            // Long frames then need both ends, as they do between hosts: else the receiver reads
            // the sender's memory, stopped or not.
            .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
            // The same for MPICH. Over TCP its `MPI_Finalize` may hang: see docs/fabrics.md.
            .env("UCX_TLS", "^cma,tcp")
            .env("MPIEXEC_TIMEOUT", "900")
            .output()
            .unwrap_or_else(|error| panic!("{mpiexec}: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = has_passed(part, output.status.success(), &text);
        println!("test {part} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            all_passed = false;
            println!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
