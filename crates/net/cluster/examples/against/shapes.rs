//! Several workers a node, by counts: how many messages a frame holds, and how often a worker or
//! the node's thread waits for an aggregator that another thread has.
//!
//! The nodes are in this process, each with its workers and its thread. So this needs no engine,
//! and the counts do not depend on how fast the machine is; on few cores, its threads take turns.

use crate::player::Error;
use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{Node, NodeConfig, RemoteActor, RemoteAddress, RemoteSendError};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Far longer than anything takes.
const LIMIT: Duration = Duration::from_secs(300);
/// On few cores a thread may wait long for its turn.
const DOWN_AFTER_NS: u64 = 300_000_000_000;
/// Messages that all actors of a run send together, about.
const MESSAGES: u64 = 400_000;
/// Messages that an actor of a stream sends before others have their turns.
const AT_ONCE: u64 = 100;

/// What the actors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Two actors a worker, each of which sends to one actor of the next node without a pause.
    Stream,
    /// A hundred actors a worker. Each sends a message to an actor of any node by chance, and the
    /// next one when the answer is there, as Thorium's latency probe does.
    Mail,
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Load::Stream => "stream",
            Load::Mail => "mail",
        }
    }

    fn actors_per_worker(self) -> usize {
        match self {
            Load::Stream => 2,
            Load::Mail => 100,
        }
    }
}

/// From which actor of which node, and whether it is an answer; filled up to 64 bytes.
type Letter = (u32, u32, bool, [u64; 7]);

struct Correspondent {
    own: (u32, u32),
    load: Load,
    /// Of each node; those of this one, too, where it sends to itself through its mailbox.
    others: Vec<Vec<RemoteAddress<Correspondent>>>,
    neighbours: Vec<Address<Correspondent>>,
    random: fastrand::Rng,
    to_send: u64,
    received: u64,
    /// What there was no room for.
    waiting: Option<(usize, usize, Letter)>,
    done: Sender<()>,
}

enum Msg {
    /// Whom there is to send to: the first that it hears.
    Know(Vec<Vec<RemoteAddress<Correspondent>>>, Vec<Address<Correspondent>>),
    /// So many messages are to be sent.
    Begin(u64),
    GoOn,
    Letter(Letter),
}

impl Actor for Correspondent {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Know(others, neighbours) => {
                (self.others, self.neighbours) = (others, neighbours);
            }
            Msg::Begin(messages) => {
                self.to_send = messages;
                self.go_on(ctx);
            }
            Msg::GoOn => {
                if let Some((node, index, letter)) = self.waiting.take() {
                    self.post(node, index, letter, ctx);
                }
                if self.load == Load::Stream {
                    self.go_on(ctx);
                }
            }
            Msg::Letter((node, index, is_answer, text)) => {
                self.received += 1;
                match self.load {
                    Load::Stream if self.received == self.expected() => drop(self.done.send(())),
                    Load::Stream => {}
                    Load::Mail if is_answer => self.go_on(ctx),
                    Load::Mail => {
                        let answer = (self.own.0, self.own.1, true, text);
                        self.post(node as usize, index as usize, answer, ctx);
                    }
                }
            }
        }
    }
}

impl Correspondent {
    /// In a stream each actor has one that sends to it, as much as it sends itself.
    fn expected(&self) -> u64 {
        MESSAGES / (self.others.len() * self.neighbours.len()) as u64
    }

    fn go_on(&mut self, ctx: &Context<'_, Self>) {
        let (node, index) = self.own;
        let letter = (node, index, false, [7; 7]);
        match self.load {
            Load::Mail if self.to_send == 0 => drop(self.done.send(())),
            Load::Mail => {
                self.to_send -= 1;
                let to = self.random.usize(..self.others.len());
                let index = self.random.usize(..self.neighbours.len());
                self.post(to, index, letter, ctx);
            }
            Load::Stream => {
                let next = (node as usize + 1) % self.others.len();
                for _ in 0..AT_ONCE.min(self.to_send) {
                    if self.waiting.is_some() {
                        return;
                    }
                    self.to_send -= 1;
                    self.post(next, index as usize, letter, ctx);
                }
                if self.to_send > 0 && self.waiting.is_none() {
                    ctx.address().tell(Msg::GoOn);
                }
            }
        }
    }

    fn post(&mut self, node: usize, index: usize, letter: Letter, ctx: &Context<'_, Self>) {
        if node == self.own.0 as usize {
            return self.neighbours[index].tell(Msg::Letter(letter));
        }
        let there = &self.others[node][index];
        match there.send(letter) {
            Ok(()) => {}
            // Answers to others: as many as there are actors may wait here. They ask again.
            Err(RemoteSendError::Full(letter)) if self.waiting.is_some() => {
                ctx.pipe(there.ready(), move |()| Msg::Letter(unanswered(letter, node, index)));
            }
            Err(RemoteSendError::Full(letter)) => {
                self.waiting = Some((node, index, letter));
                ctx.pipe(there.ready(), |()| Msg::GoOn);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// An answer that found no room, as the letter that it answers: it is answered once more.
fn unanswered((_, _, _, text): Letter, node: usize, index: usize) -> Letter {
    (node as u32, index as u32, false, text)
}

impl RemoteActor for Correspondent {
    const KIND: &'static str = "example.correspondent";
    type Message = Letter;
    type Request = ();
    type Answer = ();
    fn message(letter: Letter) -> Msg {
        Msg::Letter(letter)
    }
    fn request((): (), _reply: Reply<()>) -> Msg {
        Msg::GoOn
    }
}

/// The counts of a run.
struct Counts {
    messages: u64,
    frames: u64,
    additions: u64,
    lock_waits: u64,
    full: u64,
}

struct Host {
    system: System,
    node: Node,
    actors: Vec<Address<Correspondent>>,
}

fn run(nodes: u32, workers: usize, load: Load) -> Result<Counts, Error> {
    let network = Network::new();
    let fabrics: Vec<_> = (0..nodes).map(|node| network.node(NodeId(node))).collect();
    let (done, all_done) = channel();
    let actors = workers * load.actors_per_worker();
    let mut hosts = Vec::new();
    for (node, fabric) in (0..).zip(fabrics) {
        let system = System::builder().workers(workers).build()?;
        let link = LinkConfig { down_after_ns: DOWN_AFTER_NS, ..LinkConfig::default() };
        let config = NodeConfig { link, ..NodeConfig::default() };
        let running = Node::start(system.handle(), config, move || Ok(fabric))?;
        let actor = |index| Correspondent {
            own: (node, index as u32),
            load,
            others: Vec::new(),
            neighbours: Vec::new(),
            random: fastrand::Rng::with_seed(u64::from(node) << 32 | index as u64),
            to_send: 0,
            received: 0,
            waiting: None,
            done: done.clone(),
        };
        let actors: Vec<_> = (0..actors).map(|index| system.spawn(actor(index))).collect();
        running.export_all("mail", &actors)?;
        hosts.push(Host { system, node: running, actors });
    }
    for host in &hosts {
        let mut others = Vec::new();
        for other in (0..nodes).map(NodeId) {
            others.push(match other == host.node.id() {
                true => Vec::new(),
                false => host.node.find_all::<Correspondent>(other, "mail", LIMIT).wait()?,
            });
        }
        for actor in &host.actors {
            actor.send(Msg::Know(others.clone(), host.actors.clone()))?;
        }
    }
    let each = MESSAGES / (u64::from(nodes) * actors as u64);
    for actor in hosts.iter().flat_map(|host| &host.actors) {
        actor.send(Msg::Begin(each))?;
    }
    for _ in 0..nodes as usize * actors {
        all_done.recv_timeout(LIMIT)?;
    }
    let mut counts = Counts { messages: 0, frames: 0, additions: 0, lock_waits: 0, full: 0 };
    for peer in hosts.iter().flat_map(|host| host.node.stats().peers) {
        counts.messages += peer.aggregator.messages;
        counts.frames += peer.aggregator.frames;
        counts.additions += peer.aggregator.additions;
        counts.lock_waits += peer.aggregator.lock_waits;
        counts.full += peer.aggregator.full;
    }
    for Host { system, node, actors } in hosts {
        drop(actors);
        node.leave();
        system.shutdown(actinium_actor::Shutdown::Drain);
    }
    Ok(counts)
}

/// Runs each of these, and prints a line of counts for it.
pub(crate) fn table(shapes: &[(u32, usize)], loads: &[Load]) -> Result<(), Error> {
    println!(
        "{:>6} {:>8} {:>8} {:>10} {:>10} {:>14} {:>12} {:>12}",
        "nodes",
        "workers",
        "load",
        "messages",
        "per frame",
        "per addition",
        "lock waits",
        "of 1,000"
    );
    for &(nodes, workers) in shapes {
        for &load in loads.iter().filter(|_| nodes > 1) {
            let counts = run(nodes, workers, load)?;
            let per = |count: u64| counts.messages as f64 / count.max(1) as f64;
            println!(
                "{nodes:>6} {workers:>8} {:>8} {:>10} {:>10.1} {:>14.2} {:>12} {:>12.3}",
                load.name(),
                counts.messages,
                per(counts.frames),
                per(counts.additions),
                counts.lock_waits,
                1_000.0 * counts.lock_waits as f64 / counts.additions.max(1) as f64
            );
        }
        if nodes == 1 {
            println!(
                "{nodes:>6} {workers:>8}   one node: nothing crosses, and there are no frames"
            );
        }
    }
    println!("lock waits: how often a thread found an aggregator taken; of 1,000 additions to one");
    Ok(())
}
