//! The actors that are measured: one on each node.

use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{
    Node, NodeConfig, PayloadConfig, RemoteActor, RemoteAddress, RemoteAskError, RemoteSendError,
};
use actinium_memory::heap::{Heap, Payload};
use std::time::{Duration, Instant};

pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Far longer than anything takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);
/// While an engine is measured by itself, nodes do not hear of each other.
const DOWN_AFTER_NS: u64 = 300_000_000_000;
/// Of 64 KiB, in each half: room for the payloads of each side, several times over.
const HEAP_PAGES: usize = 1024;

/// 64 bytes of the user's. The first number is how often it is to be sent back.
type Small = [f64; 8];

const SMALL: Small = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
const BOUNCE: Small = [1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// Of a payload, and how many are under way.
pub(crate) const PAYLOAD_BYTES: usize = 1 << 20;
pub(crate) const PAYLOADS_UNDER_WAY: usize = 8;

/// Counts what comes; sends a stream of messages or of payloads; sends one message to and fro.
#[derive(Default)]
struct Player {
    there: Option<RemoteAddress<Player>>,
    received: u64,
    to_send: u64,
    /// Payloads that are sent again and again, and how many are to be sent.
    payloads: Vec<Payload>,
    payloads_to_send: usize,
    waiting: Option<(u64, Reply<u64>)>,
    bounces: Vec<u64>,
    rounds: usize,
    sent_at: Option<Instant>,
    bounced: Option<Reply<Vec<u64>>>,
}

enum Msg {
    There(Box<RemoteAddress<Player>>),
    Stream(u64),
    Payloads(usize),
    Small(Small),
    Payload(Payload),
    When(u64, Reply<u64>),
    Bounce(usize, Reply<Vec<u64>>),
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
            Msg::Payloads(more) => {
                self.payloads_to_send += more;
                self.payloads(ctx);
            }
            Msg::Payload(payload) => {
                assert_eq!(payload.len(), PAYLOAD_BYTES, "it is whole");
                self.received += 1;
            }
            Msg::When(count, reply) => self.waiting = Some((count, reply)),
            Msg::Bounce(rounds, reply) => {
                self.bounces.clear();
                (self.rounds, self.bounced) = (rounds, Some(reply));
                self.bounce();
            }
            Msg::Small(mut small) => {
                self.received += 1;
                if small[0] > 0.0 {
                    small[0] -= 1.0;
                    self.say(small);
                } else if let Some(sent_at) = self.sent_at.take() {
                    self.bounces.push(sent_at.elapsed().as_nanos() as u64);
                    self.bounce();
                }
            }
        }
        // One that does not know the other yet could not send anything back.
        let is_ready = |count| self.there.is_some() && self.received >= count;
        if let Some((_, reply)) = self.waiting.take_if(|(count, _)| is_ready(*count)) {
            let _ = reply.send(self.received);
        }
    }
}

impl Player {
    fn say(&self, small: Small) {
        let there = self.there.as_ref().expect("it was told whom to send to");
        there.send(small).expect("one message has room");
    }

    fn bounce(&mut self) {
        if self.bounces.len() < self.rounds {
            self.sent_at = Some(Instant::now());
            self.say(BOUNCE);
        } else if let Some(reply) = self.bounced.take() {
            let _ = reply.send(std::mem::take(&mut self.bounces));
        }
    }

    /// Some at a time, as an actor should that has others beside it.
    fn stream(&mut self, ctx: &Context<'_, Self>) {
        let there = self.there.as_ref().expect("it was told whom to send to");
        for _ in 0..self.to_send.min(1_000) {
            match there.send(SMALL) {
                Ok(()) => self.to_send -= 1,
                Err(RemoteSendError::Full(_)) => {
                    return ctx.pipe(there.ready(), |()| Msg::Stream(0));
                }
                Err(error) => panic!("{error}"),
            }
        }
        if self.to_send > 0 {
            ctx.address().tell(Msg::Stream(0));
        }
    }

    fn payloads(&mut self, ctx: &Context<'_, Self>) {
        let there = self.there.as_ref().expect("it was told whom to send to");
        while self.payloads_to_send > 0 {
            let payload = self.payloads[self.payloads_to_send % PAYLOADS_UNDER_WAY].clone();
            match there.send_with_payload(SMALL, payload) {
                Ok(()) => self.payloads_to_send -= 1,
                Err(RemoteSendError::Full(_)) => {
                    return ctx.pipe(there.ready_for_payload(), |()| Msg::Payloads(0));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl RemoteActor for Player {
    const KIND: &'static str = "example.player";
    type Message = Small;
    type Request = u64;
    type Answer = u64;
    fn message(small: Small) -> Msg {
        Msg::Small(small)
    }
    fn request(count: u64, reply: Reply<u64>) -> Msg {
        Msg::When(count, reply)
    }
    fn with_payload(_: Small, payload: Payload) -> Result<Msg, (Small, Payload)> {
        Ok(Msg::Payload(payload))
    }
}

/// A node with one worker and a player.
pub(crate) struct Side {
    _system: System,
    pub(crate) node: Node,
    player: Address<Player>,
    there: RemoteAddress<Player>,
}

impl Side {
    /// `reliable`: what the engine may lose is sent again.
    pub(crate) fn start<F: Fabric + 'static>(
        reliable: bool,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Self, Error> {
        let system = System::builder().workers(1).build()?;
        let link = LinkConfig { reliable, down_after_ns: DOWN_AFTER_NS, ..LinkConfig::default() };
        let waiting_bytes_max = PAYLOADS_UNDER_WAY * PAYLOAD_BYTES;
        let payload = PayloadConfig { waiting_bytes_max, ..PayloadConfig::default() };
        let config = NodeConfig { link, payload, ..NodeConfig::default() };
        let node = Node::start(system.handle(), config, fabric)?;
        let heap = Heap::leak_plain(2, HEAP_PAGES)?;
        let [mut own, theirs] = [0, 1].map(|arena| heap.arena(arena).expect("nobody has it"));
        node.take_payloads_in(theirs);
        let payloads =
            (0..PAYLOADS_UNDER_WAY).map(|_| own.payload_with(PAYLOAD_BYTES, |it| it.fill(7)));
        let payloads = payloads.collect::<Result<_, _>>()?;
        let player = system.spawn(Player { payloads, ..Player::default() });
        node.export("player", &player)?;
        let other = NodeId(1 - node.id().0);
        let there = node.find::<Player>(other, "player", LIMIT).wait()?;
        player.send(Msg::There(Box::new(there.clone())))?;
        Ok(Side { _system: system, node, player, there })
    }

    /// Messages a second, of so many.
    pub(crate) fn stream(&self, messages: u64) -> Result<f64, Error> {
        let before = self.received_there(0)?;
        let start = Instant::now();
        self.player.send(Msg::Stream(messages))?;
        self.received_there(before + messages)?;
        Ok(messages as f64 / start.elapsed().as_secs_f64())
    }

    /// Bytes a second, of so many payloads.
    pub(crate) fn bulk(&self, payloads: usize) -> Result<f64, Error> {
        let before = self.received_there(0)?;
        let start = Instant::now();
        self.player.send(Msg::Payloads(payloads))?;
        self.received_there(before + payloads as u64)?;
        Ok((payloads * PAYLOAD_BYTES) as f64 / start.elapsed().as_secs_f64())
    }

    /// How much the other player has received, when that is so much.
    fn received_there(&self, messages: u64) -> Result<u64, Error> {
        loop {
            match self.there.ask(messages, LIMIT).wait() {
                // Behind a stream there is room for a request now and then.
                Err(RemoteAskError::Full(_)) => futures_lite::future::block_on(self.there.ready()),
                answer => return Ok(answer?),
            }
        }
    }

    /// Nanoseconds of one round trip.
    pub(crate) fn trip_ns(&self) -> Result<f64, Error> {
        let trips_ns = self.player.ask(|reply| Msg::Bounce(1, reply)).wait()?;
        Ok(median(trips_ns.into_iter().map(|ns| ns as f64).collect()))
    }

    /// Nanoseconds from one node to the other: half of so many round trips.
    pub(crate) fn one_way_ns(&self, rounds: usize) -> Result<f64, Error> {
        self.received_there(0)?;
        let trips_ns = self.player.ask(|reply| Msg::Bounce(rounds, reply)).wait()?;
        Ok(median(trips_ns.into_iter().map(|ns| ns as f64 / 2.0).collect()))
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
