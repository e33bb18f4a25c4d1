//! A client that says anything, to a whole gateway but its sockets: bytes for HTTP, a body for a
//! POST, frames for a WebSocket, bytes behind its handshake. The actor goes along with the
//! protocol: it must never hear what its state does not allow. Whatever was sent, the connection
//! ends.
#![no_main]

use actinium_actor::{Actor, Address, Context, System};
use actinium_gateway::fuzzing::Front;
use actinium_gateway::{Call, Gateway, Limits, PeerId, Served};
use actinium_wire::protocol::{Monitor, Spoken};
use actinium_wire::{Blob, Message, Numbers, protocol};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::runtime::Runtime;

#[derive(Clone, Debug, Serialize, Deserialize, Message)]
enum Node {
    Leaf,
    Number(f64),
    Pair(i8, Option<String>),
    Tree { name: String, children: Vec<Node>, map: BTreeMap<u32, ()>, blob: Blob, numbers: Numbers<u32> },
}

protocol! {
    /// A desk that answers, does not answer, and talks by itself.
    protocol Desk, version 1, between client and server;
    state Idle {
        client request Ask(Node) -> server Answer(Node) -> Idle;
        client request Silence -> server Nothing -> Idle;
        client signal Watch(u8) -> Watching;
        client signal Bye -> end;
    }
    state Watching {
        server stream Tick(f64);
        client signal Stop -> Idle;
    }
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// Messages that the gateway has let through, and those that the actor has handled.
static HEARD: AtomicU64 = AtomicU64::new(0);
static HANDLED: AtomicU64 = AtomicU64::new(0);

enum Told {
    Call(Call<desk::Message>),
    Left(PeerId),
    /// An input has ended: nobody of it comes again.
    Forget,
}

#[derive(Default)]
struct Clerk {
    known: HashMap<PeerId, Monitor>,
}

impl Clerk {
    fn hear(&mut self, call: Call<desk::Message>) {
        let Call { message, peer, .. } = call;
        let monitor = self.known.entry(peer.id()).or_insert_with(|| Monitor::new(desk::Message::MODEL));
        if let Err(violation) = monitor.step(message.number(), CLIENT) {
            // A panic would be the runtime's to catch.
            eprintln!("the actor was told what is not allowed: {violation}");
            std::process::abort();
        }
        let mut say = |message: desk::Message| {
            let number = message.number();
            if peer.send(message).is_ok() && monitor.step(number, SERVER).is_err() {
                eprintln!("the actor has said what is not allowed");
                std::process::abort();
            }
        };
        match message {
            desk::Message::Ask(node) => say(desk::Message::Answer(node)),
            desk::Message::Watch(count) => (0..count).for_each(|tick| say(desk::Message::Tick(tick.into()))),
            _ => {}
        }
    }
}

impl Actor for Clerk {
    type Msg = Told;

    fn handle(&mut self, told: Told, _ctx: &mut Context<'_, Self>) {
        match told {
            Told::Call(call) => self.hear(call),
            Told::Left(peer) => drop(self.known.remove(&peer)),
            Told::Forget => self.known.clear(),
        }
        // Release: with the load in `wait_until_handled`, which goes on to the next input.
        HANDLED.fetch_add(1, Ordering::Release);
    }
}

impl Served for Clerk {
    type Talk = desk::Message;

    fn heard(call: Call<desk::Message>) -> Told {
        // Relaxed: read by the same thread.
        HEARD.fetch_add(1, Ordering::Relaxed);
        Told::Call(call)
    }

    fn left(peer: PeerId) -> Option<Told> {
        // Relaxed: read by the same thread.
        HEARD.fetch_add(1, Ordering::Relaxed);
        Some(Told::Left(peer))
    }
}

struct Bench {
    _system: System,
    clerk: Address<Clerk>,
    front: Front,
    runtime: Runtime,
}

fn bench() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        let system = System::builder().workers(1).build().expect("a system");
        let clerk = system.spawn(Clerk::default());
        let limits = Limits { message_bytes: 1 << 12, in_flight: 3, queued: 8, ..Limits::default() };
        let builder = Gateway::builder().serve("desk", &clerk).expect("a name").limits(limits);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        Bench { _system: system, clerk, front: Front::new(builder), runtime: runtime.expect("a runtime") }
    })
}

/// Builds the bytes that the client sends.
fn sent(data: &[u8]) -> Vec<u8> {
    let [kind, names, rest @ ..] = data else { return data.to_vec() };
    let names = usize::from(*names);
    match kind % 4 {
        0 => rest.to_vec(),
        1 => {
            let types = ["application/json", "application/msgpack", "application/xml", "text/plain"];
            let (asked, accepted) = (types[names % 4], types[names / 4 % 4]);
            let length = rest.len();
            let head = format!(
                "POST /desk HTTP/1.1\r\nhost: x\r\ncontent-type: {asked}\r\naccept: {accepted}\r\ncontent-length: {length}\r\n\r\n"
            );
            [head.as_bytes(), rest].concat()
        }
        kind => {
            let protocol = ["json", "msgpack", "xml", "yaml"][names % 4];
            let mut out = format!(
                "GET /desk HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                 sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: Desk.1.{protocol}\r\n\r\n"
            )
            .into_bytes();
            if kind == 2 { frames(rest, &mut out) } else { out.extend(rest) }
            out
        }
    }
}

/// Frames of a WebSocket: a byte for the kind, one for the length, the payload.
fn frames(mut data: &[u8], out: &mut Vec<u8>) {
    while let [kind, length, rest @ ..] = data {
        let payload = &rest[..rest.len().min(usize::from(*length))];
        data = &rest[payload.len()..];
        // Text, binary, the rest of a message, ping, close; the first two are most.
        let opcode = [1, 2, 1, 2, 1, 0, 9, 8][usize::from(kind % 8)];
        let is_last = if kind & 0x80 == 0 { 0x80 } else { 0 };
        let length = payload.len() as u8;
        out.push(is_last | opcode);
        match length {
            0..=125 => out.push(0x80 | length),
            _ => out.extend([0x80 | 126, 0, length]),
        }
        // The mask: it changes nothing.
        out.extend([0; 4]);
        out.extend(payload);
    }
}

/// Waits until the actor has handled all that it was sent.
fn wait_until_handled(bench: &Bench) {
    // Relaxed: this thread alone writes it.
    HEARD.fetch_add(1, Ordering::Relaxed);
    bench.clerk.send(Told::Forget).unwrap_or_else(|_| panic!("the actor has ended"));
    // Acquire: with the actor's release. Relaxed: as above.
    while HANDLED.load(Ordering::Acquire) != HEARD.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
}

fuzz_target!(|data: &[u8]| {
    let bench = bench();
    let bytes = sent(data);
    bench.runtime.block_on(async {
        let (near, far) = duplex(1 << 12);
        let (mut reader, mut writer) = split(near);
        let sending = async move {
            // It may hang up in the midst of it.
            let _ = writer.write_all(&bytes).await;
            let _ = writer.shutdown().await;
        };
        let reading = async move {
            let mut answer = Vec::new();
            let _ = reader.read_to_end(&mut answer).await;
            answer
        };
        let talk = async { tokio::join!(bench.front.serve(far), sending, reading) };
        let ended = tokio::time::timeout(Duration::from_secs(20), talk).await;
        assert!(ended.is_ok(), "the connection does not end");
    });
    wait_until_handled(bench);
});
