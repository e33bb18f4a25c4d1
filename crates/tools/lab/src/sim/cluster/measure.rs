//! Measures the costs of the links between two nodes that do nothing else: bursts of frames, short
//! and long, and frames that go there and back one at a time.
//!
//! The nodes first greet each other, because a fabric may lose what it is given before it has found
//! the other node. From then on each frame is waited for, and one that does not come ends it.

use super::links::MeasuredLinks;
use crate::Failure;
use actinium_cluster::fabric::{Fabric, NodeId, SendRefused};
use actinium_cluster::job::Program;
use actinium_cluster::sim::Links;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Trips there and back, and frames of all bursts, that are timed.
const FRAMES: usize = 6_400;
/// Frames sent and not answered at a time: they fit into any fabric's buffers.
const BURST: usize = 32;
const SMALL_BYTES: usize = 64;
const LARGE_BYTES: usize = 16 << 10;
/// The longest that a node waits for a frame, or for room for one.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two greetings of who has no answer.
const GREET_EVERY: Duration = Duration::from_millis(10);

/// The first bytes of frames: what they are.
const HELLO: u8 = 0;
const HEARD: u8 = 1;
const TIMED: u8 = 2;
const BYE: u8 = 3;

/// The measurement, on each of the two nodes.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// The name of the fabric, as users type it.
    pub fabric: &'static str,
}

impl Program for Measurement {
    type Report = MeasuredLinks;
    type Error = Failure;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<MeasuredLinks>, Failure> {
        let mut fabric = fabric().map_err(Failure::Failed)?;
        let links = measure(&mut fabric)?;
        Ok(links.map(|links| MeasuredLinks::new(self.fabric, links)))
    }
}

/// Measures between the nodes 0 and 1; the first has the costs. Those of nodes are not measured.
fn measure(fabric: &mut dyn Fabric) -> Result<Option<Links>, Failure> {
    let nodes = fabric.nodes();
    if nodes.iter().any(|node| node.0 > 1) || fabric.node().0 > 1 {
        let line = "actinium sim links: links are measured between 2 nodes, and there are more";
        return Err(Failure::Asked(line.to_owned()));
    }
    let large_bytes = LARGE_BYTES.min(fabric.frame_bytes_max());
    let other = NodeId(1 - fabric.node().0);
    let mut pair = Pair { is_first: other == NodeId(1), fabric, other, early: VecDeque::new() };
    pair.greet()?;
    let small = pair.bursts(SMALL_BYTES)?;
    let large = pair.bursts(large_bytes)?;
    let trip_ns = pair.trips()?;
    pair.part()?;
    if !pair.is_first {
        return Ok(None);
    }
    let bytes = large_bytes.saturating_sub(SMALL_BYTES).max(1) as u64;
    Ok(Some(Links {
        // Half of what a frame takes there and back is L and twice o.
        latency_ns: (trip_ns / 2).saturating_sub(2 * small.overhead_ns),
        overhead_ns: small.overhead_ns,
        gap_ns: small.gap_ns,
        gap_per_kib_ns: large.gap_ns.saturating_sub(small.gap_ns) * 1_024 / bytes,
        ..Links::default()
    }))
}

struct Costs {
    /// o: of the sender's call.
    overhead_ns: u64,
    /// g, and for long frames what their bytes take beside: from one frame to the next.
    gap_ns: u64,
}

/// One of the two nodes.
struct Pair<'a> {
    fabric: &'a mut dyn Fabric,
    is_first: bool,
    other: NodeId,
    /// Frames of the measurement that came before this node had heard that it was heard.
    early: VecDeque<u8>,
}

impl Pair<'_> {
    fn send(&mut self, frame: &[u8]) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            match self.fabric.send(self.other, frame) {
                Ok(()) => return Ok(()),
                // That the other node has room again may be told by what comes.
                Err(SendRefused::Busy) if start.elapsed() < PATIENCE => {
                    let early = self.poll()?;
                    self.early.extend(early);
                }
                Err(refused) => return Err(Failure::Failed(refused.to_string())),
            }
        }
    }

    /// Takes the next frame: what it is. Greetings are answered at once.
    fn poll(&mut self) -> Result<Option<u8>, Failure> {
        let Some((from, frame)) = self.fabric.poll() else {
            std::thread::yield_now();
            return Ok(None);
        };
        let kind = frame.first().copied();
        self.fabric.recycle(frame);
        if from != self.other {
            return Ok(None);
        }
        if kind == Some(HELLO) {
            self.send(&[HEARD])?;
            return Ok(None);
        }
        Ok(kind)
    }

    /// Waits until the other node has heard this one.
    fn greet(&mut self) -> Result<(), Failure> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            // A node that is not there yet may be refused, as may one that nobody knows.
            let _ = self.fabric.send(self.other, &[HELLO]);
            let greeted = Instant::now();
            while greeted.elapsed() < GREET_EVERY {
                match self.poll()? {
                    Some(HEARD) => return Ok(()),
                    Some(kind) => self.early.push_back(kind),
                    None => {}
                }
            }
        }
        Err(self.silent())
    }

    fn silent(&self) -> Failure {
        let seconds = PATIENCE.as_secs();
        Failure::Failed(format!("{} has sent nothing for {seconds} s", self.other))
    }

    /// Waits for a frame of this kind.
    fn receive(&mut self, kind: u8) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            let next = match self.early.pop_front() {
                Some(early) => Some(early),
                None => self.poll()?,
            };
            if next == Some(kind) {
                return Ok(());
            }
            if next.is_none() && start.elapsed() > PATIENCE {
                return Err(self.silent());
            }
        }
    }

    /// The first sends bursts, each answered by one small frame.
    fn bursts(&mut self, bytes: usize) -> Result<Costs, Failure> {
        let (frame, answer) = (vec![TIMED; bytes], [TIMED; SMALL_BYTES]);
        let (mut calls_ns, mut bursts_ns) = (Vec::new(), Vec::new());
        for _ in 0..FRAMES / BURST {
            let start = Instant::now();
            if self.is_first {
                (0..BURST).try_for_each(|_| self.send(&frame))?;
                calls_ns.push(start.elapsed().as_nanos() as u64);
                self.receive(TIMED)?;
                bursts_ns.push(start.elapsed().as_nanos() as u64);
            } else {
                (0..BURST).try_for_each(|_| self.receive(TIMED))?;
                self.send(&answer)?;
            }
        }
        let per_frame = |times_ns| median(times_ns) / BURST as u64;
        Ok(Costs { overhead_ns: per_frame(calls_ns), gap_ns: per_frame(bursts_ns) })
    }

    /// There and back, one at a time: the median.
    fn trips(&mut self) -> Result<u64, Failure> {
        let frame = [TIMED; SMALL_BYTES];
        let mut trips_ns = Vec::new();
        for _ in 0..FRAMES {
            let start = Instant::now();
            if self.is_first {
                self.send(&frame)?;
                self.receive(TIMED)?;
                trips_ns.push(start.elapsed().as_nanos() as u64);
            } else {
                self.receive(TIMED)?;
                self.send(&frame)?;
            }
        }
        Ok(median(trips_ns))
    }

    /// Keeps the second node until the first has all, so that nothing is lost with its end.
    fn part(&mut self) -> Result<(), Failure> {
        if self.is_first { self.send(&[BYE]) } else { self.receive(BYE) }
    }
}

/// The median; 0 of none.
fn median(mut all: Vec<u64>) -> u64 {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_cluster::fabric::in_process::{InProcess, Network};

    /// Takes a frame or two, and then none until it is polled: as an engine that hears of room by
    /// what comes.
    struct Stingy {
        fabric: InProcess,
        room: u8,
    }

    impl Fabric for Stingy {
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
            self.room = self.room.checked_sub(1).ok_or(SendRefused::Busy)?;
            self.fabric.send(to, frame)
        }

        fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
            self.room = 2;
            self.fabric.poll()
        }
    }

    #[test]
    fn a_fabric_that_hears_of_room_only_when_polled_is_measured() {
        let network = Network::new();
        let mut nodes = [0, 1].map(|node| Stingy { fabric: network.node(NodeId(node)), room: 0 });
        let [first, second] = &mut nodes;
        let links = std::thread::scope(|threads| {
            let other = threads.spawn(|| measure(second).map(|links| links.is_some()));
            let links = measure(first).expect("it ends");
            assert!(!other.join().expect("no panic").expect("it ends"), "the first has them");
            links
        });
        assert!(links.expect("the first has them").gap_ns > 0);
    }
}
