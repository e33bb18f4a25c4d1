//! MPI by itself: what a program would write that sends each message by `MPI_Send`.
//!
//! MPI is started once in a process and has one caller at a time, which the node is. So the fabric
//! is wrapped, and whoever drives it does the measuring, too: the ranks agree on it by frames of
//! their own, and move no others meanwhile.

use crate::player::{Error, PAYLOAD_BYTES, PAYLOADS_UNDER_WAY, Side, median};
use crate::{Engine, answer, compare, rest, stages};
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::fabric::{Arming, Bell, Doorbell, Fabric, NodeId, RemoteMemory, SendRefused};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

const DATA: i32 = 100_000;
/// How a frame begins by which the first rank says what it wants, and the second that it begins.
/// (Those of links begin otherwise.)
const WANT: &[u8] = b"alone";
const MESSAGES: u64 = 200_000;
const TRIPS: usize = 5_000;
const PAYLOADS: usize = 2_000;

#[derive(Clone, Copy)]
enum Job {
    Stream,
    Trips,
    Bulk,
    /// The stages of one message: see `stages`.
    Fabric,
    Link,
    Encoding,
}

impl Job {
    const ALL: [Job; 6] =
        [Job::Stream, Job::Trips, Job::Bulk, Job::Fabric, Job::Link, Job::Encoding];
}

/// What is wanted of whoever drives the fabric.
enum Wish {
    /// A job of both ranks.
    Both(Job),
    /// To sleep so often, and ask MPI for messages each time: the share of a core that takes.
    Rest(u64),
}

/// See the module.
struct Wrapped {
    mpi: Mpi,
    wishes: Receiver<Wish>,
    /// Whether there is one: to ask the channel takes longer than to look for a message.
    wants: Arc<AtomicBool>,
    results: Sender<f64>,
    /// Of the payloads under way.
    memory: Vec<u8>,
    /// Whether ranks may wake each other.
    rings: bool,
}

impl Wrapped {
    /// The first rank wants something done, if it does.
    fn ask(&mut self) {
        // Relaxed: the channel orders what it brings, and the wish is asked for until it is there.
        if !self.wants.load(Ordering::Relaxed) {
            return;
        }
        let wish = self.wishes.try_recv();
        // Relaxed: as above.
        self.wants.store(wish.is_err(), Ordering::Relaxed);
        match wish {
            Ok(Wish::Both(job)) => {
                let frame = [WANT, &[job as u8]].concat();
                self.mpi.send(NodeId(1), &frame).expect("one frame has room");
            }
            Ok(Wish::Rest(sleeps)) => {
                let world = SimpleCommunicator::world();
                let share =
                    rest::share_of_sleeps(sleeps, || _ = world.any_process().immediate_probe());
                // Whoever wanted it waits for it.
                let _ = self.results.send(share);
            }
            Err(_) => {}
        }
    }

    /// Both are to do this job now. The second rank says so first, and so it waits in MPI before
    /// the first one sends.
    fn work(&mut self, frame: &[u8]) {
        let world = SimpleCommunicator::world();
        if world.rank() == 1 {
            self.mpi.send(NodeId(0), frame).expect("one frame has room");
        }
        let job = Job::ALL.into_iter().find(|&job| frame.last() == Some(&(job as u8)));
        let result = match job.expect("the other rank runs the same program") {
            Job::Stream => stream(&world),
            Job::Trips => trips(&world),
            Job::Bulk => bulk(&world, &mut self.memory),
            Job::Fabric => stages::fabric(&mut self.mpi),
            Job::Link => stages::link(&mut self.mpi),
            Job::Encoding => stages::encoding(&mut self.mpi),
        };
        // The second rank's is of no use to anybody.
        let _ = self.results.send(result);
    }
}

fn stream(world: &SimpleCommunicator) -> f64 {
    let other = world.process_at_rank(1 - world.rank());
    let mut small = [1_u8; 64];
    let start = Instant::now();
    if world.rank() == 0 {
        (0..MESSAGES).for_each(|_| other.send_with_tag(&small[..], DATA));
        other.receive_into_with_tag(&mut small[..], DATA);
    } else {
        for _ in 0..MESSAGES {
            other.receive_into_with_tag(&mut small[..], DATA);
        }
        other.send_with_tag(&small[..], DATA);
    }
    MESSAGES as f64 / start.elapsed().as_secs_f64()
}

#[inline(never)]
fn trips(world: &SimpleCommunicator) -> f64 {
    let other = world.process_at_rank(1 - world.rank());
    let mut small = [1_u8; 64];
    let mut one_way_ns = Vec::with_capacity(TRIPS);
    for _ in 0..TRIPS {
        let start = Instant::now();
        if world.rank() == 0 {
            other.send_with_tag(&small[..], DATA);
            other.receive_into_with_tag(&mut small[..], DATA);
        } else {
            other.receive_into_with_tag(&mut small[..], DATA);
            other.send_with_tag(&small[..], DATA);
        }
        one_way_ns.push(start.elapsed().as_nanos() as f64 / 2.0);
    }
    median(one_way_ns)
}

fn bulk(world: &SimpleCommunicator, memory: &mut [u8]) -> f64 {
    let other = world.process_at_rank(1 - world.rank());
    let mut small = [1_u8];
    let start = Instant::now();
    for _ in 0..PAYLOADS / PAYLOADS_UNDER_WAY {
        mpi::request::multiple_scope(PAYLOADS_UNDER_WAY, |scope, requests| {
            for part in memory.chunks_mut(PAYLOAD_BYTES) {
                requests.add(match world.rank() {
                    0 => other.immediate_send_with_tag(scope, &*part, DATA),
                    _ => other.immediate_receive_into_with_tag(scope, part, DATA),
                });
            }
            requests.wait_all(&mut Vec::new());
        });
    }
    if world.rank() == 0 {
        other.receive_into_with_tag(&mut small[..], DATA);
    } else {
        other.send_with_tag(&small[..], DATA);
    }
    (PAYLOADS * PAYLOAD_BYTES) as f64 / start.elapsed().as_secs_f64()
}

impl Fabric for Wrapped {
    fn name(&self) -> &'static str {
        self.mpi.name()
    }
    fn node(&self) -> NodeId {
        self.mpi.node()
    }
    fn nodes(&self) -> Vec<NodeId> {
        self.mpi.nodes()
    }
    fn frame_bytes_max(&self) -> usize {
        self.mpi.frame_bytes_max()
    }
    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        self.mpi.send(to, frame)
    }
    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.ask();
        loop {
            let (from, frame) = self.mpi.poll()?;
            if !frame.starts_with(WANT) {
                return Some((from, frame));
            }
            self.work(&frame);
        }
    }
    fn recycle(&mut self, frame: Vec<u8>) {
        self.mpi.recycle(frame);
    }
    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.mpi.remote_memory()
    }
    fn set_bell(&mut self, bell: Bell) -> bool {
        self.mpi.set_bell(bell)
    }
    fn doorbell(&mut self) -> Option<Arc<dyn Doorbell>> {
        self.mpi.doorbell().filter(|_| self.rings)
    }
    fn arm(&mut self) -> Arming {
        if self.rings { self.mpi.arm() } else { Arming::Poll }
    }
}

struct Alone {
    wishes: Sender<Wish>,
    wants: Arc<AtomicBool>,
    results: Receiver<f64>,
}

impl Alone {
    fn ask(&self, job: Job) -> Result<f64, Error> {
        self.wish(Wish::Both(job))
    }

    fn wish(&self, wish: Wish) -> Result<f64, Error> {
        self.wishes.send(wish)?;
        // Relaxed: see `Wrapped::ask`.
        self.wants.store(true, Ordering::Relaxed);
        Ok(self.results.recv()?)
    }
}

impl Engine for Alone {
    const NAME: &'static str = "MPI alone";
    const MESSAGES: (u64, u64) = (2_000_000, MESSAGES);
    const TRIPS: usize = TRIPS;
    const PAYLOADS: usize = PAYLOADS;
    fn stream(&mut self) -> Result<f64, Error> {
        self.ask(Job::Stream)
    }
    fn one_way_ns(&mut self) -> Result<f64, Error> {
        self.ask(Job::Trips)
    }
    fn bulk(&mut self) -> Result<f64, Error> {
        self.ask(Job::Bulk)
    }
}

/// What is to be printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Comparison,
    /// Of one message: see `stages`.
    Stages,
    /// Of a node at rest: see `rest`.
    Rest {
        rings: bool,
    },
}

pub(crate) fn run(what: What, json: bool) -> Result<(), Error> {
    let (wishes, to_do) = channel();
    let (done, results) = channel();
    let wants = Arc::new(AtomicBool::new(false));
    let wanted = wants.clone();
    let start = move || {
        let mpi = Mpi::start()?;
        if mpi.nodes().len() != 2 {
            return Err("this wants two ranks: mpiexec -n 2".to_owned());
        }
        let memory = vec![7; PAYLOAD_BYTES * PAYLOADS_UNDER_WAY];
        let rings = what != What::Rest { rings: false };
        Ok(Wrapped { mpi, wishes: to_do, wants: wanted, results: done, memory, rings })
    };
    let side = Side::start(false, start)?;
    let alone = Alone { wishes, wants, results };
    match what {
        _ if side.node.id() != NodeId(0) => answer(&side),
        What::Comparison => compare(&side, alone, json)?,
        What::Stages => measure_stages(&side, &alone)?,
        What::Rest { .. } => rest::print(&side, |sleeps| alone.wish(Wish::Rest(sleeps)), json)?,
    }
    side.node.leave();
    Ok(())
}

fn measure_stages(side: &Side, alone: &Alone) -> Result<(), Error> {
    // Once to warm up.
    side.one_way_ns(TRIPS)?;
    let mut measured = [0.0; 4];
    let jobs = [Job::Trips, Job::Fabric, Job::Link, Job::Encoding];
    for (measured, job) in measured.iter_mut().zip(jobs) {
        *measured = alone.ask(job)?;
    }
    stages::print(measured, side)
}
