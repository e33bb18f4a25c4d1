//! 1 MiB payloads between two ranks of an MPI job, through actors and by MPI's own calls, in turn: what share of the engine's bandwidth is left.
//!
//! `mpiexec -n 2 target/release/examples/bulk [payloads in a round] [rounds]`; built with `--features mpi`.
//!
//! Both parts keep eight payloads under way, of memory that is used again and again. MPI's own: `MPI_Isend` and `MPI_Irecv` by the thread that calls MPI, which it does between the
//! node's frames. Actors: rank 0 sends, an actor of rank 1 takes the payload and drops it; that all are there, rank 0 knows by a question behind them.

use actinium_actor::{Actor, Context, Mailbox, Reply, SpawnOptions, System};
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::fabric::{Bell, Fabric, NodeId, RemoteMemory, SendRefused};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{Node, NodeConfig, PayloadConfig, RemoteActor, RemoteSendError};
use actinium_memory::heap::{Heap, Payload};
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const BYTES: usize = 1 << 20;
const UNDER_WAY: usize = 8;
const LIMIT: Duration = Duration::from_secs(240);

struct Sink {
    bytes: u64,
    start: Sender<usize>,
}

enum Msg {
    Take(Payload),
    Bytes(Reply<u64>),
    /// A round of the engine's own.
    Own(usize),
}

impl Actor for Sink {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Take(payload) => self.bytes += payload.len() as u64,
            Msg::Bytes(reply) => drop(reply.send(self.bytes)),
            Msg::Own(count) => drop(self.start.send(count)),
        }
    }
}

impl RemoteActor for Sink {
    const KIND: &'static str = "example.bulk";
    type Message = u64;
    type Question = ();
    type Answer = u64;
    fn message(count: u64) -> Msg {
        Msg::Own(count as usize)
    }
    fn question((): (), reply: Reply<u64>) -> Msg {
        Msg::Bytes(reply)
    }
    fn with_payload(_: u64, payload: Payload) -> Result<Msg, (u64, Payload)> {
        Ok(Msg::Take(payload))
    }
}

/// The fabric, whose thread runs a round of the engine's own when it is told to.
struct Bulk {
    fabric: Mpi,
    start: Receiver<usize>,
    took: Sender<f64>,
}

/// What only the node's thread has: handles of MPI's do not change threads, and where there are several workers, no worker moves frames.
struct Own {
    own: SimpleCommunicator,
    /// A round that begins when both ranks are there, and until then keeps no frame from moving.
    begins: Option<(usize, Request<'static, (), StaticScope>)>,
}

thread_local! {
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

impl Bulk {
    fn step(&mut self) {
        OWN.with_borrow_mut(|own| {
            let own = own.as_mut().expect("the thread that has started it");
            if let Ok(count) = self.start.try_recv() {
                own.begins = Some((count, own.own.immediate_barrier()));
            }
            let Some((count, both)) = own.begins.take() else { return };
            match both.test() {
                // Whoever listens may have gone.
                Ok(_) => drop(self.took.send(own.round(count))),
                Err(both) => own.begins = Some((count, both)),
            }
        });
    }
}

impl Own {
    /// Bytes per second of so many payloads from rank 0 to rank 1 by MPI alone.
    fn round(&self, count: usize) -> f64 {
        let mut memory = vec![self.own.rank() as u8; BYTES * UNDER_WAY];
        self.own.barrier();
        let start = Instant::now();
        for _ in 0..count / UNDER_WAY {
            let other = self.own.process_at_rank(1 - self.own.rank());
            mpi::request::multiple_scope(UNDER_WAY, |scope, requests| {
                for part in memory.chunks_mut(BYTES) {
                    if self.own.rank() == 0 {
                        requests.add(other.immediate_send(scope, &*part));
                    } else {
                        requests.add(other.immediate_receive_into(scope, part));
                    }
                }
                requests.wait_all(&mut Vec::new());
            });
        }
        self.own.barrier();
        (count / UNDER_WAY * UNDER_WAY * BYTES) as f64 / start.elapsed().as_secs_f64()
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        // Before MPI ends.
        OWN.with_borrow_mut(|own| own.take());
    }
}

impl Fabric for Bulk {
    fn name(&self) -> &'static str {
        self.fabric.name()
    }
    fn node(&self) -> NodeId {
        self.fabric.node()
    }
    fn nodes(&self) -> Vec<NodeId> {
        self.fabric.nodes()
    }
    fn frame_bytes_max(&self) -> usize {
        self.fabric.frame_bytes_max()
    }
    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        self.fabric.send(to, frame)
    }
    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.step();
        self.fabric.poll()
    }
    fn set_bell(&mut self, bell: Bell) -> bool {
        self.fabric.set_bell(bell)
    }
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.fabric.remote_memory()
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|it| it.parse::<usize>());
    let mut argument = |default| arguments.next().map_or(default, |it| it.expect("a number"));
    let (count, rounds) = (argument(2_000), argument(5));
    let system = System::builder().workers(2).build().unwrap();
    let (start, starts) = channel();
    let (took, times) = channel();
    // On a busy machine a rank may not run for seconds.
    let link = LinkConfig { down_after_ns: 60_000_000_000, ..LinkConfig::default() };
    let payload =
        PayloadConfig { waiting_bytes_max: UNDER_WAY * BYTES, ..PayloadConfig::default() };
    let config = NodeConfig { link, payload, linger: LIMIT, ..NodeConfig::default() };
    let fabric = move || {
        let mut fabric = Mpi::start()?;
        println!("{}: remote memory {}", fabric.node(), fabric.remote_memory().is_some());
        // All ranks do this at the same point.
        let own = SimpleCommunicator::world().duplicate();
        OWN.set(Some(Own { own, begins: None }));
        Ok(Bulk { fabric, start: starts, took })
    };
    let node = Node::start(system.handle(), config, fabric).unwrap();
    let heap = Heap::leak_plain(2, 1024).unwrap();
    node.take_payloads_in(heap.arena(1).unwrap());
    let begin = start.clone();
    let options = SpawnOptions::new().mailbox(Mailbox::Bounded(16));
    let sink = move || Sink { bytes: 0, start: begin.clone() };
    let sink = system.handle().spawn_with(options, sink).unwrap();
    node.export("sink", &sink).unwrap();
    if node.id() == NodeId(1) {
        // Until rank 0 leaves.
        let (sender, down) = channel();
        node.on_event(move |event| {
            if let actinium_cluster::NodeEvent::Down { .. } = event {
                let _ = sender.send(());
            }
        });
        let _ = down.recv();
        return;
    }
    let mut arena = heap.arena(0).unwrap();
    let memory: Vec<Payload> =
        (0..UNDER_WAY).map(|_| arena.payload_with(BYTES, |it| it.fill(7)).unwrap()).collect();
    let there = node.find::<Sink>(NodeId(1), "sink", LIMIT).wait().unwrap();
    let mut ratios = Vec::new();
    let mut bytes = 0;
    for _ in 0..rounds {
        there.send(count as u64).unwrap();
        start.send(count).unwrap();
        let own = times.recv().unwrap();
        let begin = Instant::now();
        for payload in memory.iter().cycle().take(count) {
            let mut payload = payload.clone();
            while let Err(error) = there.send_with_payload(0, payload) {
                assert!(matches!(error, RemoteSendError::Full(_)), "{error}");
                payload = error.into_inner().1;
                futures_lite::future::block_on(there.room_for_payload());
            }
            bytes += BYTES as u64;
        }
        assert_eq!(there.ask((), LIMIT).wait(), Ok(bytes), "all are there");
        let actors = (count * BYTES) as f64 / begin.elapsed().as_secs_f64();
        println!("MPI {:.2} GB/s, actors {:.2} GB/s", own / 1e9, actors / 1e9);
        ratios.push(actors / own);
    }
    ratios.sort_by(f64::total_cmp);
    println!("actors / MPI: {:.2} (median of {rounds}: {ratios:.2?})", ratios[rounds / 2]);
}
