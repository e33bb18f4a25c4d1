//! A peer that says whatever a test wants: a link that keeps to its rules, and messages made by
//! hand.

use crate::common::Cluster;
use actinium_cluster::fabric::in_process::InProcess;
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::{HEADER_BYTES, Link, LinkEvent, VERSION};
use actinium_cluster::route::Grid;
use actinium_cluster::{Denial, NodeConfig, NodeEvent, RemoteActor};
use actinium_wire::Encoding;
use actinium_wire::hello::Hello;
use actinium_wire::schema::Schema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// As in the crate's `message`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) index: u32,
    pub(crate) life: u32,
}

/// As in the crate's `message`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Handle {
    pub(crate) serial: u64,
    pub(crate) secret: u64,
}

/// As in the crate's `message`: variants are told by their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Control {
    Lookup { request: u64, name: String, hello: Vec<u8>, wait: bool },
    Watch { watch: u64, key: Key },
    Ended { watch: u64, reason: String, is_abnormal: bool },
    Spawn { request: u64, hello: Vec<u8>, args: Vec<u8> },
    Stop { key: Key, now: bool },
    Adopt { key: Key },
    Reach { nodes: Vec<u8> },
    Leaving { level: u32 },
    PayloadLost { bytes: u64, why: String },
    Misaddressed { messages: u64 },
    Denied { what: Denial, index: Option<u32>, times: u64 },
    NotWatched { watch: u64 },
    WatchHandle { watch: u64, handle: Handle },
    UnwatchHandle { watch: u64, handle: Handle },
    HandleEnded { handle: Handle },
}

/// As in the crate's `message`: what a lookup or a spawn finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Found {
    Actor { key: Key, count: u32, encoding: Encoding, remarks: Vec<String> },
    NoSuchName,
    OtherKind(String),
    Incompatible(String),
    NotRegistered,
    NotStarted(String),
    AtCapacity(u64),
}

/// What the other node says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Tell(Key, Vec<u8>),
    Ask(Key, u64, Vec<u8>),
    /// With its status.
    Answer(u64, u8, Vec<u8>),
    Control(Control),
    /// A message of another kind, whose body this is.
    Other(u8, Vec<u8>),
}

pub(crate) fn bytes<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    Encoding::Binary.encode(value, &mut bytes).unwrap();
    bytes
}

pub(crate) fn read<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> T {
    Encoding::Binary.decode_slice(bytes, &actinium_wire::Limits::default()).unwrap()
}

/// A message of this kind, in the binary encoding.
pub(crate) fn item(kind: u8, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    let mut item = vec![kind | Encoding::Binary.id() << 4];
    item.extend_from_slice(&(body.len() as u32).to_le_bytes());
    item.extend_from_slice(&body);
    item
}

fn key_bytes(key: Key) -> Vec<u8> {
    [key.index.to_le_bytes(), key.life.to_le_bytes()].concat()
}

pub(crate) fn tell(key: Key, message: &impl Serialize) -> Vec<u8> {
    item(0, &[&key_bytes(key), &bytes(message)])
}

pub(crate) fn ask(key: Key, request: u64, message: &impl Serialize) -> Vec<u8> {
    item(1, &[&key_bytes(key), &request.to_le_bytes(), &bytes(message)])
}

pub(crate) fn answer(request: u64, answer: &impl Serialize) -> Vec<u8> {
    item(2, &[&request.to_le_bytes(), &[0], &bytes(answer)])
}

pub(crate) fn control(control: &Control) -> Vec<u8> {
    item(3, &[&bytes(control)])
}

/// For the actor of a handle.
pub(crate) fn tell_to(handle: Handle, message: &impl Serialize) -> Vec<u8> {
    let key = [handle.serial.to_le_bytes(), handle.secret.to_le_bytes()].concat();
    item(6, &[&key, &bytes(message)])
}

pub(crate) fn ask_to(handle: Handle, request: u64, message: &impl Serialize) -> Vec<u8> {
    let key = [handle.serial, handle.secret, request].map(u64::to_le_bytes).concat();
    item(7, &[&key, &bytes(message)])
}

/// With an offer of so many bytes.
pub(crate) fn tell_with(
    key: Key,
    life: u64,
    id: u64,
    len: u64,
    message: &impl Serialize,
) -> Vec<u8> {
    let offer = [life, id, len].map(u64::to_le_bytes).concat();
    item(5, &[&key_bytes(key), &offer, &bytes(message)])
}

/// About a payload: its life and number, where, and what this kind of datagram says.
pub(crate) fn datagram(kind: u8, words: [u64; 3], body: &[u8]) -> Vec<u8> {
    with_sum([b'A', b'p', VERSION, kind], &[&words.map(u64::to_le_bytes).concat(), body].concat())
}

/// A frame of a link: with both incarnations, numbers, counts and acknowledgements.
pub(crate) fn frame(kind: u8, words: [u64; 7], payload: &[u8]) -> Vec<u8> {
    with_sum(
        [b'A', b'c', VERSION, kind],
        &[&words.map(u64::to_le_bytes).concat(), payload].concat(),
    )
}

/// This frame with a check sum that is right: it was changed.
pub(crate) fn signed(frame: &[u8]) -> Vec<u8> {
    match frame {
        [a, b, c, d, _, _, _, _, rest @ ..] => with_sum([*a, *b, *c, *d], rest),
        short => short.to_vec(),
    }
}

fn with_sum(head: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&head), rest);
    [&head, &sum.to_le_bytes()[..], rest].concat()
}

/// `messages` messages in an envelope.
pub(crate) fn envelope(
    to: u32,
    from: u32,
    to_incarnation: u64,
    number: u64,
    messages: u32,
    inside: &[u8],
) -> Vec<u8> {
    let (to_incarnation, number) = (to_incarnation.to_le_bytes(), number.to_le_bytes());
    let head = [&to.to_le_bytes()[..], &from.to_le_bytes(), &[0], &to_incarnation, &number];
    item(4, &[&head.concat(), &messages.to_le_bytes(), inside])
}

/// What a liar has sent last, and may send again.
const SENT_MAX: usize = 16;

pub(crate) struct Liar {
    pub(crate) fabric: InProcess,
    pub(crate) link: Link,
    to: NodeId,
    pub(crate) said: Vec<Said>,
    pub(crate) datagrams: Vec<Vec<u8>>,
    pub(crate) events: Vec<LinkEvent>,
    /// The latest frames that have left, oldest first.
    pub(crate) sent: VecDeque<Vec<u8>>,
    /// It takes what it is sent, and never says that it has handled it.
    pub(crate) is_deaf: bool,
}

impl Liar {
    /// One that begins to call node 0.
    pub(crate) fn new(cluster: &Cluster, node: u32, incarnation: u64) -> Self {
        let fabric = cluster.network.node(NodeId(node));
        let NodeConfig { link, route, grid_nodes, .. } = cluster.config.clone();
        let grid = Grid::new(route, grid_nodes);
        let link = Link::in_grid(link, grid, incarnation, cluster.network.now_ns()).unwrap();
        let (said, datagrams, events) = (Vec::new(), Vec::new(), Vec::new());
        let (to, sent, is_deaf) = (NodeId(0), VecDeque::new(), false);
        Liar { fabric, link, to, said, datagrams, events, sent, is_deaf }
    }

    /// One that is up for node 0.
    pub(crate) fn meet(cluster: &mut Cluster, node: u32, incarnation: u64) -> Self {
        let mut liar = Self::new(cluster, node, incarnation);
        for _ in 0..1_000 {
            if liar.link.is_up() {
                liar.steps(cluster, 10);
                cluster.events(0);
                return liar;
            }
            liar.steps(cluster, 1);
        }
        panic!("the two do not meet");
    }

    pub(crate) fn steps(&mut self, cluster: &mut Cluster, steps: u32) {
        for _ in 0..steps {
            cluster.step();
            let now_ns = cluster.network.now_ns();
            while let Some((from, frame)) = self.fabric.poll() {
                if from != self.to {
                    // Others call, too.
                } else if frame.starts_with(b"Ap") {
                    self.datagrams.push(frame);
                } else {
                    self.link.receive(frame, now_ns);
                }
            }
            self.link.tick(now_ns);
            while let Some(event) = self.link.poll_event() {
                if let LinkEvent::Frame(frame) = &event {
                    read_items(frame.payload(), &mut self.said);
                    if !self.is_deaf {
                        self.link.handled(frame.session, 1, now_ns);
                    }
                }
                self.events.push(event);
            }
            let Liar { link, fabric, to, sent, .. } = self;
            link.transmit(now_ns, |frame| {
                if sent.len() == SENT_MAX {
                    sent.pop_front();
                }
                sent.push_back(frame.to_vec());
                fabric.send(*to, frame).is_ok()
            });
        }
    }

    /// Says it all in one frame, and lets that be dealt with.
    pub(crate) fn say(&mut self, cluster: &mut Cluster, items: &[Vec<u8>]) {
        let mut frame = vec![0; HEADER_BYTES];
        items.iter().for_each(|item| frame.extend_from_slice(item));
        self.link.send(items.len() as u32, frame).unwrap();
        self.steps(cluster, 10);
    }

    /// Says this as it is, and lets that be dealt with.
    pub(crate) fn say_raw(&mut self, cluster: &mut Cluster, frame: &[u8]) {
        self.fabric.send(self.to, frame).unwrap();
        self.steps(cluster, 10);
    }

    /// Asks for an exported name; what the node answers.
    pub(crate) fn look_up<A: RemoteActor>(&mut self, cluster: &mut Cluster, name: &str) -> Found {
        let schema = Schema::of::<(A::Message, A::Request, A::Answer)>(A::KIND, A::VERSION);
        let mut hello = Vec::new();
        let said = Hello::with_schema(schema, &Encoding::ALL, false);
        Encoding::SelfDescribing.encode(&said, &mut hello).unwrap();
        let (request, name) = (u64::from(u32::MAX), name.to_owned());
        self.say(cluster, &[control(&Control::Lookup { request, name, hello, wait: false })]);
        let found = self.said.iter().find_map(|said| match said {
            Said::Answer(it, 0, found) if *it == request => Some(read(found)),
            _ => None,
        });
        self.said.clear();
        found.unwrap()
    }

    pub(crate) fn key<A: RemoteActor>(&mut self, cluster: &mut Cluster, name: &str) -> Key {
        match self.look_up::<A>(cluster, name) {
            Found::Actor { key, .. } => key,
            other => panic!("{name}: {other:?}"),
        }
    }
}

fn read_items(mut payload: &[u8], said: &mut Vec<Said>) {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let key = |bytes: &[u8]| Key {
        index: u32::from_le_bytes(bytes[..4].try_into().unwrap()),
        life: u32::from_le_bytes(bytes[4..8].try_into().unwrap()),
    };
    while let [kind, a, b, c, d, rest @ ..] = payload {
        let (body, rest) = rest.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        said.push(match kind & 15 {
            0 => Said::Tell(key(body), body[8..].to_vec()),
            1 => Said::Ask(key(body), word(&body[8..]), body[16..].to_vec()),
            2 => Said::Answer(word(body), body[8], body[9..].to_vec()),
            3 => Said::Control(read(body)),
            kind => Said::Other(kind, body.to_vec()),
        });
        payload = rest;
    }
}

/// What node 0 has told of refusals since this was asked last: what, how often, and the actor.
pub(crate) fn denials(cluster: &Cluster) -> Vec<(Denial, u64, Option<String>)> {
    let of = |event| match event {
        NodeEvent::Denied { node: _, actor, what, times } => Some((what, times, actor)),
        _ => None,
    };
    cluster.events(0).into_iter().filter_map(of).collect()
}

/// That node 0 has refused this once, of no actor of its own, and the liar is still up.
pub(crate) fn assert_denied(cluster: &Cluster, liar: &Liar, what: Denial) {
    let denied = denials(cluster);
    assert!(matches!(&denied[..], [(it, 1, _)] if *it == what), "{what:?}: {denied:?}");
    assert!(liar.link.is_up());
}
