//! The costs of a fabric's links in the terms of LogGP, as `actinium sim cluster` takes them.

use actinium_cluster::fabric::{Fabric, NodeId};
use std::time::Instant;

const FRAMES: u64 = 6_400;
/// Frames sent and not answered at a time: they fit into any fabric's buffers.
const BURST: u64 = 32;
const SMALL_BYTES: usize = 64;
const LARGE_BYTES: usize = 16 << 10;

/// Measures between two nodes that do nothing else, one frame being one way; the first prints it.
pub(crate) fn measure(fabric: &mut dyn Fabric) {
    let small = bursts(fabric, SMALL_BYTES);
    let large = bursts(fabric, LARGE_BYTES);
    let trip_ns = trips(fabric, SMALL_BYTES);
    if fabric.node() != NodeId(0) {
        return;
    }
    let kib = (LARGE_BYTES - SMALL_BYTES) as f64 / 1_024.0;
    // Half of what a frame takes there and back is L and twice o.
    let latency_ns = (trip_ns / 2.0 - 2.0 * small.overhead_ns).max(0.0);
    let gap_per_kib_ns = ((large.gap_ns - small.gap_ns) / kib).max(0.0);
    println!(
        "links of the fabric '{}': actinium sim cluster --latency {:.0} --overhead {:.0} --gap {:.0} --gap-per-kib {:.0}",
        fabric.name(),
        latency_ns,
        small.overhead_ns,
        small.gap_ns,
        gap_per_kib_ns
    );
}

struct Costs {
    /// o: of the sender's call.
    overhead_ns: f64,
    /// g, and for long frames what their bytes take beside: from one frame to the next.
    gap_ns: f64,
}

fn receive(fabric: &mut dyn Fabric) {
    while fabric.poll().is_none() {}
}

fn send(fabric: &mut dyn Fabric, frame: &[u8]) {
    let other = NodeId(1 - fabric.node().0);
    fabric.send(other, frame).expect("few frames have room");
}

/// The first sends bursts, each answered by one small frame.
fn bursts(fabric: &mut dyn Fabric, bytes: usize) -> Costs {
    let (frame, answer) = (vec![1; bytes], [1; SMALL_BYTES]);
    let (mut calls_ns, mut burst_ns) = (0, 0);
    for _ in 0..FRAMES / BURST {
        let start = Instant::now();
        if fabric.node() == NodeId(0) {
            (0..BURST).for_each(|_| send(fabric, &frame));
            calls_ns += start.elapsed().as_nanos();
            receive(fabric);
            burst_ns += start.elapsed().as_nanos();
        } else {
            (0..BURST).for_each(|_| receive(fabric));
            send(fabric, &answer);
        }
    }
    Costs { overhead_ns: calls_ns as f64 / FRAMES as f64, gap_ns: burst_ns as f64 / FRAMES as f64 }
}

/// There and back, one at a time.
fn trips(fabric: &mut dyn Fabric, bytes: usize) -> f64 {
    let frame = vec![1; bytes];
    let start = Instant::now();
    for _ in 0..FRAMES {
        if fabric.node() == NodeId(0) {
            send(fabric, &frame);
            receive(fabric);
        } else {
            receive(fabric);
            send(fabric, &frame);
        }
    }
    start.elapsed().as_nanos() as f64 / FRAMES as f64
}
