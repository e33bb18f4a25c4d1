//! What stands between a node and the network: it notes all that is said, and a liar's wire changes
//! it on the way.
//!
//! The liar is a real node, so its sessions get as far as anybody's; what its wire makes of its
//! frames has a true check sum, so that it is not taken for damage. It puts absurd numbers into
//! headers, flips and cuts what lies in frames, says again what was said long ago, says one node's
//! words to another, and speaks out of turn.

use actinium_cluster::fabric::in_process::{InProcess, Network};
use actinium_cluster::fabric::{Bell, Fabric, NodeId, RemoteMemory, SendRefused};
use actinium_cluster::link::{HEADER_BYTES, VERSION};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// All that has happened in a run, as one number: two runs are the same if theirs are.
#[derive(Clone)]
pub(super) struct Trace {
    hasher: Arc<Mutex<DefaultHasher>>,
    now_ns: Arc<AtomicU64>,
    /// Whether it is told, too.
    pub(super) is_loud: bool,
}

impl Trace {
    pub(super) fn new(is_loud: bool) -> Self {
        Trace { hasher: Arc::default(), now_ns: Arc::default(), is_loud }
    }

    pub(super) fn note(&self, what: impl Hash) {
        what.hash(&mut *self.hasher.lock().unwrap());
    }

    pub(super) fn hash(&self) -> u64 {
        self.hasher.lock().unwrap().finish()
    }

    pub(super) fn set_now(&self, now_ns: u64) {
        // Relaxed: of one thread.
        self.now_ns.store(now_ns, Ordering::Relaxed);
    }

    pub(super) fn now_ns(&self) -> u64 {
        // Relaxed: of one thread.
        self.now_ns.load(Ordering::Relaxed)
    }
}

/// How a liar lies.
#[derive(Clone, Debug)]
pub(super) struct Lies {
    /// So many of its frames are not what its node has said.
    pub(super) of_a_thousand: u32,
    pub(super) seed: u64,
}

struct Liar {
    random: fastrand::Rng,
    of_a_thousand: u32,
    /// What it has said and may say again, to whom.
    said: Vec<Vec<u8>>,
    others: Vec<NodeId>,
}

/// See the module.
pub(super) struct Wire {
    end: InProcess,
    network: Network,
    trace: Trace,
    liar: Option<Liar>,
}

impl Wire {
    pub(super) fn new(network: &Network, node: u32, trace: Trace, lies: Option<&Lies>) -> Self {
        let liar = lies.map(|lies| Liar {
            random: fastrand::Rng::with_seed(lies.seed),
            of_a_thousand: lies.of_a_thousand,
            said: Vec::new(),
            others: (0..node).map(NodeId).collect(),
        });
        Wire { end: network.node(NodeId(node)), network: network.clone(), trace, liar }
    }
}

impl Fabric for Wire {
    fn name(&self) -> &'static str {
        "simulation"
    }

    fn node(&self) -> NodeId {
        self.end.node()
    }

    fn nodes(&self) -> Vec<NodeId> {
        self.end.nodes()
    }

    fn frame_bytes_max(&self) -> usize {
        self.end.frame_bytes_max()
    }

    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        let Some(liar) = &mut self.liar else {
            self.trace.note((self.network.now_ns(), self.end.node().0, to.0, frame));
            return self.end.send(to, frame);
        };
        for (to, frame) in liar.says(to, frame) {
            self.trace.note((self.network.now_ns(), self.end.node().0, to.0, &frame));
            // It does not mind.
            let _ = self.end.send(to, &frame);
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        self.end.poll()
    }

    fn set_bell(&mut self, bell: Bell) -> bool {
        self.end.set_bell(bell)
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        self.end.remote_memory()
    }
}

/// Frames that it may say again.
const SAID_MAX: usize = 64;

impl Liar {
    /// What leaves instead of this frame.
    fn says(&mut self, to: NodeId, frame: &[u8]) -> Vec<(NodeId, Vec<u8>)> {
        let random = &mut self.random;
        if self.said.len() < SAID_MAX {
            self.said.push(frame.to_vec());
        } else {
            self.said[random.usize(..SAID_MAX)] = frame.to_vec();
        }
        let truth = (to, frame.to_vec());
        if random.u32(..1_000) >= self.of_a_thousand {
            return vec![truth];
        }
        let anybody = self.others[random.usize(..self.others.len())];
        let again = self.said[random.usize(..self.said.len())].clone();
        match random.u32(..10) {
            0 => vec![],
            1 => vec![truth.clone(), truth],
            2 => vec![truth, (to, again)],
            3 => vec![truth, (anybody, again)],
            4 => vec![truth, (anybody, signed(number(random, frame.to_vec())))],
            5 => vec![truth, (anybody, noise(random))],
            6 => vec![(to, signed(bytes(random, frame.to_vec())))],
            7 => vec![(to, signed(length(random, frame.to_vec())))],
            _ => vec![(to, signed(number(random, frame.to_vec())))],
        }
    }
}

/// With a check sum that is right: at the place where frames and datagrams have theirs.
fn signed(mut frame: Vec<u8>) -> Vec<u8> {
    if frame.len() >= 8 {
        let sum = crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..]);
        frame[4..8].copy_from_slice(&sum.to_le_bytes());
    }
    frame
}

/// With another number in the header. Its incarnations, the first two, seldom: who lies about these
/// is not heard any more.
fn number(random: &mut fastrand::Rng, mut frame: Vec<u8>) -> Vec<u8> {
    let words = (frame.len().min(HEADER_BYTES) / 8).saturating_sub(1);
    if words == 0 {
        return frame;
    }
    let word = if random.u32(..8) == 0 {
        random.usize(..words)
    } else {
        words.min(2).max(random.usize(..words))
    };
    let word = word.min(words - 1);
    let place = &mut frame[8 + 8 * word..16 + 8 * word];
    let is = u64::from_le_bytes(std::array::from_fn(|byte| place[byte]));
    let lie = match random.u32(..9) {
        0 => 0,
        1 => u64::MAX,
        2 => u64::MAX - 1,
        3 => u64::MAX / 2,
        4 => is.wrapping_add(1),
        5 => is.wrapping_sub(1),
        6 => is.wrapping_add(random.u64(..100)),
        7 => u64::from(u32::MAX),
        _ => random.u64(..),
    };
    place.copy_from_slice(&lie.to_le_bytes());
    frame
}

/// With other bytes in it.
fn bytes(random: &mut fastrand::Rng, mut frame: Vec<u8>) -> Vec<u8> {
    let from = if random.u32(..8) == 0 { 2 } else { HEADER_BYTES.min(frame.len()) };
    for _ in 0..random.u32(1..=4) {
        if from < frame.len() {
            let at = random.usize(from..frame.len());
            frame[at] = if random.bool() { random.u8(..) } else { frame[at].wrapping_add(1) };
        }
    }
    frame
}

/// Cut short, or with more behind it.
fn length(random: &mut fastrand::Rng, mut frame: Vec<u8>) -> Vec<u8> {
    if random.bool() {
        frame.truncate(random.usize(..=frame.len()));
    } else {
        frame.extend((0..random.u32(1..40)).map(|_| random.u8(..)));
    }
    frame
}

/// Nothing that its node has ever said.
fn noise(random: &mut fastrand::Rng) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
    if frame.len() > 3 && random.u32(..4) > 0 {
        let magic = if random.bool() { *b"Ac" } else { *b"Ap" };
        frame[..2].copy_from_slice(&magic);
        frame[2] = if random.u32(..8) == 0 { random.u8(..) } else { VERSION };
        frame[3] = random.u8(..7);
    }
    signed(frame)
}
