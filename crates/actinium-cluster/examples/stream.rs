//! How fast small messages cross between two nodes through actors, and how long one takes; and the same frame by frame, without actors.
//!
//! ```sh
//! mpiexec -n 2 cargo run --release -p actinium-cluster --features mpi --example stream
//! ```
//!
//! Without `mpiexec` (or the feature) the two nodes are in this process.

use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::{Node, NodeConfig, RemoteActor, RemoteAddress, RemoteSendError};
use std::time::{Duration, Instant};

const MESSAGES: u64 = 10_000_000;
const ROUNDS: u64 = 100_000;
const RAW: u64 = 1_000_000;
const LIMIT: Duration = Duration::from_secs(120);

/// 64 bytes in a frame, its head of 13 bytes included: what lies in front of the numbers is one byte each.
type Small = (u64, [u8; 32], [u8; 10]);

const SMALL: Small = (0, [1; 32], [1; 10]);

/// Counts what comes; sends a stream; bounces a message.
#[derive(Default)]
struct Player {
    there: Option<RemoteAddress<Player>>,
    received: u64,
    to_send: u64,
    waiting: Option<(u64, Reply<u64>)>,
}

enum Msg {
    There(Box<RemoteAddress<Player>>),
    Stream(u64),
    Small(Small),
    When(u64, Reply<u64>),
}

impl Actor for Player {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::There(there) => self.there = Some(*there),
            Msg::Stream(more) => {
                self.to_send += more;
                self.stream(ctx);
            }
            Msg::When(count, reply) => self.waiting = Some((count, reply)),
            Msg::Small((bounces, a, b)) => {
                self.received += 1;
                if bounces > 0 {
                    let there = self.there.as_ref().expect("it was told whom to send to");
                    there.send((bounces - 1, a, b)).expect("one message has room");
                }
            }
        }
        if let Some((_, reply)) = self.waiting.take_if(|(count, _)| self.received >= *count) {
            let _ = reply.send(self.received);
        }
    }
}

impl Player {
    /// Some at a time, as an actor should that has others beside it.
    fn stream(&mut self, ctx: &Context<'_, Self>) {
        let there = self.there.as_ref().expect("it was told whom to send to");
        for _ in 0..self.to_send.min(1_000) {
            match there.send(SMALL) {
                Ok(()) => self.to_send -= 1,
                Err(RemoteSendError::Full(_)) => {
                    return ctx.pipe(there.room(), |()| Msg::Stream(0));
                }
                Err(error) => panic!("{error}"),
            }
        }
        if self.to_send > 0 {
            ctx.address().tell(Msg::Stream(0));
        }
    }
}

impl RemoteActor for Player {
    const KIND: &'static str = "example.player";
    type Message = Small;
    type Question = u64;
    type Answer = u64;
    fn message(small: Small) -> Msg {
        Msg::Small(small)
    }
    fn question(count: u64, reply: Reply<u64>) -> Msg {
        Msg::When(count, reply)
    }
}

type Error = Box<dyn std::error::Error>;

fn start<F: Fabric + 'static>(
    fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
) -> Result<(System, Node, Address<Player>), Error> {
    let system = System::builder().workers(1).build()?;
    let node = Node::start(system.handle(), NodeConfig::default(), fabric)?;
    let player = system.spawn(Player::default());
    node.export("player", &player)?;
    Ok((system, node, player))
}

fn meet(node: &Node, player: &Address<Player>) -> Result<RemoteAddress<Player>, Error> {
    let peer = NodeId(1 - node.id().0);
    let there = node.lookup::<Player>(peer, "player", LIMIT).wait()?;
    player.send(Msg::There(Box::new(there.clone())))?;
    Ok(there)
}

fn measure(node: &Node, player: &Address<Player>) -> Result<(), Error> {
    let there = meet(node, player)?;
    // The stream comes first: when it is through, the other one has long met us, too.
    for _ in 0..3 {
        let before = there.ask(0, LIMIT).wait()?;
        let start = Instant::now();
        player.send(Msg::Stream(MESSAGES))?;
        there.ask(before + MESSAGES, LIMIT).wait()?;
        let rate = MESSAGES as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("stream: {rate:.2} million messages of 64 bytes a second");
    }
    for _ in 0..3 {
        let before = player.ask(|reply| Msg::When(0, reply)).wait()?;
        let start = Instant::now();
        there.send((2 * ROUNDS - 1, SMALL.1, SMALL.2))?;
        player.ask(|reply| Msg::When(before + ROUNDS, reply)).wait()?;
        let one_way_us = start.elapsed().as_secs_f64() * 1e6 / (2 * ROUNDS) as f64;
        println!("bounce: {one_way_us:.2} us one way, on average");
    }
    let stats = node.stats();
    println!("gathered: {:?}", stats.peers[0].gather);
    println!("link: {:?}", stats.peers[0].link);
    Ok(())
}

/// The same frames without anything above the fabric, one message each.
fn raw(fabric: &mut dyn Fabric) {
    let small = [1; 64];
    let peer = NodeId(1 - fabric.node().0);
    let is_first = fabric.node() == NodeId(0);
    let receive = |fabric: &mut dyn Fabric| while fabric.poll().is_none() {};
    let start = Instant::now();
    if is_first {
        for _ in 0..RAW {
            while fabric.send(peer, &small).is_err() {
                fabric.poll();
            }
        }
        receive(fabric);
        let rate = RAW as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("raw stream: {rate:.2} million messages of 64 bytes a second");
    } else {
        (0..RAW).for_each(|_| receive(fabric));
        fabric.send(peer, &small).expect("one frame has room");
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        if is_first {
            fabric.send(peer, &small).expect("one frame has room");
        }
        receive(fabric);
        if !is_first {
            fabric.send(peer, &small).expect("one frame has room");
        }
    }
    if is_first {
        let one_way_us = start.elapsed().as_secs_f64() * 1e6 / (2 * ROUNDS) as f64;
        println!("raw bounce: {one_way_us:.2} us one way, on average");
    }
}

#[cfg(feature = "mpi")]
fn ranks() -> Result<bool, Error> {
    use actinium_cluster::fabric::mpi::Mpi;
    if std::env::var_os("OMPI_COMM_WORLD_SIZE").or(std::env::var_os("PMI_SIZE")).is_none() {
        return Ok(false);
    }
    let started = || {
        let mut fabric = Mpi::start()?;
        raw(&mut fabric);
        Ok(fabric)
    };
    let (_system, node, player) = start(started)?;
    if node.id() == NodeId(0) {
        measure(&node, &player)?;
    } else {
        let (sender, left) = std::sync::mpsc::channel();
        node.on_event(move |event| {
            if let actinium_cluster::NodeEvent::Down { .. } = event {
                let _ = sender.send(());
            }
        });
        meet(&node, &player)?;
        left.recv()?;
    }
    node.leave();
    Ok(true)
}

fn main() -> Result<(), Error> {
    #[cfg(feature = "mpi")]
    if ranks()? {
        return Ok(());
    }
    let network = actinium_cluster::fabric::in_process::Network::new();
    let (mut here, mut there) = (network.node(NodeId(0)), network.node(NodeId(1)));
    std::thread::scope(|scope| {
        scope.spawn(|| raw(&mut there));
        raw(&mut here);
    });
    let a = start(move || Ok(here))?;
    let b = start(move || Ok(there))?;
    meet(&b.1, &b.2)?;
    measure(&a.1, &a.2)
}
