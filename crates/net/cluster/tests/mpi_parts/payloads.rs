//! Windows of ranks, and payloads that go by them, or by frames where there are none.

use super::{LIMIT, patient};
use actinium_actor::{Actor, AskError, Context, Mailbox, Reply, SpawnOptions, System};
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::fabric::{
    Fabric, MemoryError, NodeId, RegionId, RemoteMemory, SendRefused, TransferId,
};
use actinium_cluster::route::Route;
use actinium_cluster::{
    Node, NodeConfig, NodeEvent, RemoteActor, RemoteAddress, RemoteAskError, RemoteSendError, Team,
};
use actinium_memory::heap::{Arena, Heap, Payload};
use std::collections::VecDeque;
use std::sync::mpsc;
use std::time::Duration;

/// What moves them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum By {
    Window,
    Frames,
}

/// MPI, with its windows if they are to be used: some have always any, others only if asked.
pub(crate) struct With(pub(crate) Mpi, pub(crate) By);

impl Fabric for With {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn node(&self) -> NodeId {
        self.0.node()
    }
    fn nodes(&self) -> Vec<NodeId> {
        self.0.nodes()
    }
    fn frame_bytes_max(&self) -> usize {
        self.0.frame_bytes_max()
    }
    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        self.0.send(to, frame)
    }
    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.0.poll()
    }
    fn recycle(&mut self, frame: Vec<u8>) {
        self.0.recycle(frame);
    }
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.0.remote_memory().filter(|_| self.1 == By::Window)
    }
}

/// `came`: frames that the other rank, which may be ahead, has sent meanwhile.
fn ended(fabric: &mut Mpi, came: &mut VecDeque<Vec<u8>>, wanted: TransferId) -> Payload {
    loop {
        if let Some((id, outcome)) = fabric.remote_memory().unwrap().poll_ended() {
            assert_eq!(id, wanted);
            return outcome.unwrap().into_payload().expect("it was one of a payload");
        }
        // The other rank's transfers may need this one's help.
        came.extend(fabric.poll().map(|(_, frame)| frame));
        std::thread::yield_now();
    }
}

fn receive(fabric: &mut Mpi, came: &mut VecDeque<Vec<u8>>) -> Vec<u8> {
    loop {
        came.extend(fabric.poll().map(|(_, frame)| frame));
        if let Some(frame) = came.pop_front() {
            return frame;
        }
        std::thread::yield_now();
    }
}

/// Each rank registers a region that the other one writes to and reads, and shares a payload that
/// the other one reads.
// tidy: functions: one story that two ranks tell in step
pub(crate) fn windows() {
    const BYTES: usize = 3 << 20;
    let (mut fabric, mut came) = (Mpi::start().unwrap(), VecDeque::new());
    let (me, there) = (fabric.node().0, NodeId(1 - fabric.node().0));
    let heap = Heap::leak_plain(1, 256).unwrap();
    let mut arena = heap.arena(0).unwrap();
    let memory = fabric.remote_memory().expect("this test is run where there are windows");
    let own = memory.register(BYTES).unwrap();
    let bytes = |rank: u32| {
        move |into: &mut [u8]| {
            (0..)
                .zip(into)
                .for_each(|(at, byte): (usize, _)| *byte = ((at * 7) >> (rank + 3)) as u8);
        }
    };
    let mine = arena.payload_with(BYTES, bytes(me)).unwrap();
    let shared = memory.share(mine.clone()).unwrap();
    let mut places = Vec::new();
    for region in [own, shared] {
        places.extend_from_slice(&region.index.to_le_bytes());
    }
    fabric.send(there, &places).unwrap();
    let places = receive(&mut fabric, &mut came);
    let region = |at: usize, bytes| {
        let index = u64::from_le_bytes(places[8 * at..8 * at + 8].try_into().unwrap());
        RegionId { node: there, index, bytes }
    };
    let (theirs, payload) = (region(0, BYTES as u64), region(1, BYTES as u64));

    let memory = fabric.remote_memory().unwrap();
    let get = memory.get(payload, 0, arena.unwritten(BYTES).unwrap()).unwrap();
    let all = ended(&mut fabric, &mut came, get);
    let expected = arena.payload_with(BYTES, bytes(there.0)).unwrap();
    assert!(*all == *expected, "the other rank's payload");
    // Written to the other's region at an odd place, and read back from there.
    let memory = fabric.remote_memory().unwrap();
    let put = memory.put(arena.payload(&[me as u8 + 1; 1001]).unwrap(), theirs, 77).unwrap();
    ended(&mut fabric, &mut came, put);
    let memory = fabric.remote_memory().unwrap();
    let get = memory.get(theirs, 76, arena.unwritten(1003).unwrap()).unwrap();
    let read = ended(&mut fabric, &mut came, get);
    assert!(read[0] == 0 && read[1002] == 0 && read[1..1002].iter().all(|&it| it == me as u8 + 1));

    let memory = fabric.remote_memory().unwrap();
    for offset in [BYTES - 3, usize::MAX] {
        let (error, room) = memory.get(theirs, offset, arena.unwritten(4).unwrap()).unwrap_err();
        assert_eq!(error, MemoryError::OutOfRange { region: theirs, offset, bytes: 4 });
        assert_eq!(room.written(), 0);
    }
    let nobody = RegionId { node: NodeId(2), ..theirs };
    let error = memory.put(read, nobody, 0).unwrap_err();
    assert_eq!(error, MemoryError::NoSuchRegion(nobody));
    assert_eq!(memory.unregister(theirs), Err(MemoryError::NoSuchRegion(theirs)));
    // When both have read all.
    fabric.send(there, b"done").unwrap();
    assert_eq!(receive(&mut fabric, &mut came), b"done");
    let memory = fabric.remote_memory().unwrap();
    // What the other rank has written is in this one's memory.
    let get = memory.get(own, 77, arena.unwritten(1).unwrap()).unwrap();
    assert_eq!(ended(&mut fabric, &mut came, get)[0], there.0 as u8 + 1);
    let memory = fabric.remote_memory().unwrap();
    for region in [own, shared] {
        memory.unregister(region).unwrap();
        assert_eq!(memory.unregister(region), Err(MemoryError::NoSuchRegion(region)));
    }
    // Nothing keeps the payload any more, and what was a region is one again, as new.
    assert_eq!(mine.shares(), 1);
    let again = memory.register(BYTES).unwrap();
    assert_eq!(again, own);
    let get = memory.get(again, 77, arena.unwritten(1).unwrap()).unwrap();
    assert_eq!(ended(&mut fabric, &mut came, get)[0], 0);
    println!("windows: written and read");
}

struct Sink {
    next: u64,
    bytes: u64,
    waiting: Vec<(u64, Reply<u64>)>,
}

pub(crate) enum Msg {
    Number(u64, Option<Payload>),
    When(u64, Reply<u64>),
}

/// A number's payload, if it has one.
fn len_of(number: u64) -> Option<usize> {
    (number % 4 != 3).then_some((number as usize * 333_337) % (2 << 20))
}

impl Actor for Sink {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Number(number, payload) => {
                assert_eq!(number, self.next);
                self.next += 1;
                if let Some(payload) = payload {
                    assert_eq!(Some(payload.len()), len_of(number));
                    assert!(payload.chunks(256).all(|chunk| {
                        (0..=255).zip(chunk).all(|(at, &byte)| byte == (number as u8) ^ at)
                    }));
                    self.bytes += payload.len() as u64;
                }
            }
            Msg::When(count, reply) => self.waiting.push((count, reply)),
        }
        for (_, reply) in self.waiting.extract_if(.., |&mut (count, _)| self.next >= count) {
            let _ = reply.send(self.bytes);
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "test.payloads";
    type Message = u64;
    type Request = u64;
    type Answer = u64;
    fn message(number: u64) -> Msg {
        Msg::Number(number, None)
    }
    fn request(count: u64, reply: Reply<u64>) -> Msg {
        Msg::When(count, reply)
    }
    fn with_payload(number: u64, payload: Payload) -> Result<Msg, (u64, Payload)> {
        Ok(Msg::Number(number, Some(payload)))
    }
}

pub(crate) fn by_window() {
    stream(By::Window, Route::Direct);
}

pub(crate) fn by_frames() {
    stream(By::Frames, Route::Direct);
}

pub(crate) fn by_window_in_a_grid() {
    stream(By::Window, Route::Square);
}

pub(crate) fn by_frames_in_a_grid() {
    stream(By::Frames, Route::Square);
}

/// How many numbers each rank sends.
const SENT: u64 = 60;

/// Bytes that say whose they are, and where they lie.
fn fill(into: &mut [u8], with: u8) {
    for chunk in into.chunks_mut(256) {
        (0..=255).zip(chunk).for_each(|(at, byte)| *byte = with ^ at);
    }
}

/// Sends all numbers, and answers how many bytes of payloads went with them.
fn send_all(there: &RemoteAddress<Sink>, arena: &mut Arena) -> u64 {
    let mut bytes = 0;
    for number in 0..SENT {
        let Some(len) = len_of(number) else {
            while let Err(error) = there.send(number) {
                assert!(matches!(error, RemoteSendError::Full(_)), "{error}");
                std::thread::yield_now();
            }
            continue;
        };
        bytes += len as u64;
        let mut message = loop {
            match arena.payload_with(len, |into| fill(into, number as u8)) {
                Ok(payload) => break (number, payload),
                // Some are still on their way.
                Err(_) => std::thread::yield_now(),
            }
        };
        while let Err(error) = there.send_with_payload(message.0, message.1) {
            assert!(matches!(error, RemoteSendError::Full(_)), "{error}");
            message = error.into_inner();
            std::thread::yield_now();
        }
    }
    bytes
}

/// Ranks send each other payloads of up to 2 MiB with small messages between them, all in order,
/// and end together: the two of a job, or each with the opposite one in a square of four, which is
/// no neighbour. Memory is bounded: by the arenas.
fn stream(by: By, route: Route) {
    let system = System::builder().workers(1).build().unwrap();
    let (tell, told) = mpsc::channel();
    let start = move || {
        let mut fabric = With(Mpi::start()?, by);
        let _ = tell.send(fabric.remote_memory().map_or(By::Frames, |_| By::Window));
        Ok(fabric)
    };
    let config = NodeConfig { route, ..patient() };
    let node = Node::start(system.handle(), config, start).unwrap();
    assert_eq!(told.recv(), Ok(by));
    let (sender, events) = mpsc::channel();
    node.on_event(move |event| drop(sender.send(event.clone())));
    // 32 MiB for what is sent, and as much for what comes: some 45 MB go through each.
    let heap = Heap::leak_plain(2, 512).unwrap();
    let mut arena = heap.arena(0).unwrap();
    node.take_payloads_in(heap.arena(1).unwrap());
    // Bounded: else more would come than there is room for while it looks at each byte.
    let options = SpawnOptions::new().mailbox(Mailbox::Bounded(4));
    let sink = || Sink { next: 0, bytes: 0, waiting: Vec::new() };
    let sink = system.handle().spawn_with(options, sink).unwrap();
    node.export("sink", &sink).unwrap();
    let peer = NodeId(node.nodes().len() as u32 - 1 - node.id().0);
    let there = node.find::<Sink>(peer, "sink", LIMIT).wait().unwrap();
    let bytes = send_all(&there, &mut arena);
    // A request is a message like any: it is refused where too much waits.
    let all_there = loop {
        match there.ask(SENT, LIMIT).wait() {
            Err(RemoteAskError::Full(_)) => std::thread::yield_now(),
            answer => break answer,
        }
    };
    assert_eq!(all_there, Ok(bytes));
    let all_here = loop {
        match sink.ask(|reply| Msg::When(SENT, reply)).wait() {
            Err(AskError::Full(_)) => std::thread::yield_now(),
            answer => break answer,
        }
    };
    assert_eq!(all_here, Ok(bytes));
    // Who has all may have been asked for nothing yet.
    let team = Team::form(&node, &system.handle(), "end", &node.nodes(), LIMIT).unwrap();
    team.barrier().wait().unwrap();
    node.leave();
    let stats = node.stats();
    let figures = stats.peers.iter().find(|figures| figures.node == peer).unwrap();
    assert_eq!((figures.payload_bytes_waiting, figures.payload_bytes_ahead), (0, 0));
    // Each rank of the square is on the way of one pair.
    assert_eq!(stats.handed_on > 0, route == Route::Square, "{}", stats.handed_on);
    let bad = |event: &NodeEvent| !matches!(event, NodeEvent::Up(_) | NodeEvent::Down { .. });
    assert!(!events.try_iter().any(|event| bad(&event)));
    assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    // All of it is free again.
    drop(node);
    assert!(arena.payload_with(31 << 20, |_| {}).is_ok());
    println!("payloads: {bytes} bytes by {by:?}");
}
