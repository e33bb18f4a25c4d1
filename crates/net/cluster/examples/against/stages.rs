//! One message, stage by stage: the same ping-pong over MPI, each time with one part more of what
//! carries a message from actor to actor. What a part adds is what it costs.
//!
//! Each stage is a function that is not inlined, so that callgrind says how many instructions of
//! each it took:
//!
//! ```sh
//! mpiexec -n 1 valgrind --tool=callgrind target/release/examples/against --stages \
//!     : -n 1 target/release/examples/against --stages
//! ```

use crate::player::{Error, Side, median};
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::{Delivery, HEADER_BYTES, Link, LinkConfig, LinkEvent};
use actinium_wire::{Binary, Codec, Limits};
use std::hint::black_box;
use std::marker::PhantomData;
use std::time::Instant;

const TRIPS: usize = 5_000;
/// Times that nothing came, after which a link looks whether it has to say something.
const MISSES: u32 = 1_000;
/// What an aggregator puts before a message: kind, length, place and generation of the receiver.
const HEAD: [u8; 13] = [7; 13];
const SMALL: [f64; 8] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// How a message gets from one rank to the other.
trait Stage {
    fn send(&mut self, mpi: &mut Mpi);
    fn receive(&mut self, mpi: &mut Mpi);
}

/// The median of half a round trip, in ns.
fn trips(mpi: &mut Mpi, stage: &mut impl Stage) -> f64 {
    let mut one_way_ns = Vec::with_capacity(TRIPS);
    for _ in 0..TRIPS {
        let start = Instant::now();
        if mpi.node() == NodeId(0) {
            stage.send(mpi);
            stage.receive(mpi);
        } else {
            stage.receive(mpi);
            stage.send(mpi);
        }
        one_way_ns.push(start.elapsed().as_nanos() as f64 / 2.0);
    }
    median(one_way_ns)
}

fn other(mpi: &Mpi) -> NodeId {
    NodeId(1 - mpi.node().0)
}

/// Frames of the fabric: copied, counted, sent by `MPI_Isend`, given to a receive that waits.
struct Frames;

impl Stage for Frames {
    fn send(&mut self, mpi: &mut Mpi) {
        mpi.send(other(mpi), &[1; 64]).expect("one frame has room");
    }
    fn receive(&mut self, mpi: &mut Mpi) {
        loop {
            if let Some((_, frame)) = mpi.poll() {
                return mpi.recycle(frame);
            }
        }
    }
}

/// Frames of a link: numbered, with a checksum, kept in order and acknowledged.
struct Linked {
    link: Link,
    start: Instant,
}

impl Linked {
    /// Both ends meet first.
    fn new(mpi: &mut Mpi) -> Self {
        let link = Link::new(LinkConfig::default(), 1, 0).expect("the default makes sense");
        let mut linked = Linked { link, start: Instant::now() };
        while !linked.link.is_up() {
            linked.look(mpi);
            linked.say(mpi);
        }
        linked
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn say(&mut self, mpi: &mut Mpi) {
        let (now_ns, to) = (self.now_ns(), other(mpi));
        self.link.tick(now_ns);
        self.link.transmit(now_ns, |frame| mpi.send(to, frame).is_ok());
    }

    fn look(&mut self, mpi: &mut Mpi) -> Option<Delivery> {
        let (_, frame) = mpi.poll()?;
        let now_ns = self.now_ns();
        self.link.receive(frame, now_ns);
        while let Some(event) = self.link.poll_event() {
            if let LinkEvent::Frame(delivery) = event {
                self.link.handled(delivery.session, 1, now_ns);
                return Some(delivery);
            }
        }
        None
    }

    fn post(&mut self, mpi: &mut Mpi, write: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::with_capacity(256);
        frame.resize(HEADER_BYTES, 0);
        write(&mut frame);
        self.link.send(1, frame).expect("one frame has credit");
        self.say(mpi);
    }

    fn wait(&mut self, mpi: &mut Mpi) -> Delivery {
        loop {
            for _ in 0..MISSES {
                if let Some(delivery) = self.look(mpi) {
                    return delivery;
                }
            }
            self.say(mpi);
        }
    }
}

impl Stage for Linked {
    fn send(&mut self, mpi: &mut Mpi) {
        self.post(mpi, |frame| frame.extend_from_slice(&[1; 77]));
    }
    fn receive(&mut self, mpi: &mut Mpi) {
        let delivery = self.wait(mpi);
        mpi.recycle(delivery.into_frame());
    }
}

/// The message is written, and read again.
struct Encoded(Linked);

impl Stage for Encoded {
    fn send(&mut self, mpi: &mut Mpi) {
        self.0.post(mpi, |frame| {
            frame.extend_from_slice(&HEAD);
            Binary::write(black_box(&SMALL), frame).expect("it can be written");
        });
    }
    fn receive(&mut self, mpi: &mut Mpi) {
        let delivery = self.0.wait(mpi);
        let message = &delivery.payload()[HEAD.len()..];
        let small = Binary::read(message, &Limits::default(), PhantomData::<[f64; 8]>);
        black_box(small).expect("it was written as that");
        mpi.recycle(delivery.into_frame());
    }
}

#[inline(never)]
pub(crate) fn fabric(mpi: &mut Mpi) -> f64 {
    trips(mpi, &mut Frames)
}

#[inline(never)]
pub(crate) fn link(mpi: &mut Mpi) -> f64 {
    let mut linked = Linked::new(mpi);
    trips(mpi, &mut linked)
}

#[inline(never)]
pub(crate) fn encoding(mpi: &mut Mpi) -> f64 {
    let mut encoded = Encoded(Linked::new(mpi));
    trips(mpi, &mut encoded)
}

/// Prints each stage. `measured`: of MPI alone and then of the stages above, in ns, one way.
pub(crate) fn print(measured: [f64; 4], side: &Side) -> Result<(), Error> {
    let parts = [
        ("MPI alone: MPI_Send and MPI_Recv", measured[0]),
        ("the fabric: copies, counts, MPI_Isend, a posted receive", measured[1]),
        ("the link: header, checksum, order, acknowledgement, two looks at the clock", measured[2]),
        ("the encoding: head, written, read", measured[3]),
        ("actors: two turns, aggregator, driver, frame receiver", side.one_way_ns(TRIPS)?),
    ];
    println!(
        "{:>12} {:>12} {:>8}  stage of one message, one way",
        "with it, ns", "adds, ns", "of MPI"
    );
    let mut before = 0.0;
    for (name, ns) in parts {
        println!("{ns:>12.0} {:>12.0} {:>8.2}  {name}", ns - before, ns / measured[0]);
        before = ns;
    }
    Ok(())
}
