//! Several nodes in one process: for tests, and for trying things out.
//!
//! A [`Network`] can be made as bad as any: frames are lost, doubled, damaged, late, or overtake
//! each other; pairs of nodes are cut and healed; nodes are killed and start again. What happens is
//! drawn from a seed, and time is what the test says it is, so one seed gives one run. A network
//! without faults delivers at once and rings the bell of whoever receives; threads may use it as
//! they like.
//!
//! ```
//! use actinium_cluster::fabric::{Fabric, NodeId, in_process::{Faults, Network}};
//!
//! let network = Network::seeded(1, Faults { delay_ns: 1_000..=2_000, ..Faults::default() });
//! let (mut a, mut b) = (network.node(NodeId(0)), network.node(NodeId(1)));
//! a.send(NodeId(1), b"hello")?;
//! assert_eq!(b.poll(), None);
//! network.advance(2_000);
//! assert_eq!(b.poll(), Some((NodeId(0), b"hello".to_vec())));
//! # Ok::<(), actinium_cluster::fabric::SendRefused>(())
//! ```

use super::{
    Bell, Ended, Fabric, MemoryError, Moved, NodeId, RegionId, RemoteMemory, SendRefused,
    TransferId, zeros,
};
use actinium_memory::heap::{Payload, Unwritten};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};

/// Faults between nodes, as the chance of each frame. The default is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// How long a frame is under way, evenly distributed.
    pub delay_ns: RangeInclusive<u64>,
    /// Chance that a frame never arrives.
    pub loss: f64,
    /// Chance that a frame arrives twice.
    pub duplication: f64,
    /// Chance that one bit of a frame is flipped.
    pub corruption: f64,
    /// Chance that a frame does not keep its place behind those sent before it (which needs delays
    /// of several lengths).
    pub reordering: f64,
}

impl Default for Faults {
    fn default() -> Self {
        Faults { delay_ns: 0..=0, loss: 0.0, duplication: 0.0, corruption: 0.0, reordering: 0.0 }
    }
}

/// The network between the nodes of one process.
#[derive(Clone)]
pub struct Network(Arc<Mutex<World>>);

/// One node's end of a [`Network`].
pub struct InProcess {
    node: NodeId,
    /// Which incarnation of the node this is: a killed one hears and says nothing any more.
    incarnation: u64,
    network: Network,
    transfers: u64,
    ended: VecDeque<Ended>,
}

/// Longest frame.
const FRAME_BYTES_MAX: usize = 1 << 20;

struct World {
    random: fastrand::Rng,
    faults: Faults,
    now_ns: u64,
    serial: u64,
    nodes: BTreeMap<NodeId, Peer>,
    /// Ordered pairs between which nothing moves.
    cut: BTreeSet<(NodeId, NodeId)>,
    /// The time at which the last frame of each ordered pair arrives. Frames that keep their order
    /// arrive after it.
    last_ns: BTreeMap<(NodeId, NodeId), u64>,
    regions: BTreeMap<RegionId, Memory>,
    regions_made: u64,
    has_remote_memory: bool,
}

enum Memory {
    Own(Vec<u8>),
    Shared(Payload),
}

impl Memory {
    fn bytes(&self) -> &[u8] {
        match self {
            Memory::Own(bytes) => bytes,
            Memory::Shared(payload) => payload,
        }
    }
}

/// A frame under way: its time of arrival, its serial number, its sender, its bytes.
type UnderWay = (u64, u64, NodeId, Vec<u8>);

#[derive(Default)]
struct Peer {
    incarnation: u64,
    is_alive: bool,
    /// Frames for it: the one that arrives first on top; of several that arrive at once, the one
    /// that was sent first.
    inbox: BinaryHeap<Reverse<UnderWay>>,
    bell: Option<Bell>,
}

impl World {
    fn deliver(&mut self, from: NodeId, to: NodeId, frame: Vec<u8>) -> Option<Bell> {
        let delay_ns = self.random.u64(self.faults.delay_ns.clone());
        let mut arrival_ns = self.now_ns + delay_ns;
        let last_ns = self.last_ns.entry((from, to)).or_default();
        if self.random.f64() >= self.faults.reordering {
            arrival_ns = arrival_ns.max(*last_ns);
        }
        *last_ns = arrival_ns.max(*last_ns);
        self.serial += 1;
        let peer = self.nodes.get_mut(&to).filter(|peer| peer.is_alive)?;
        peer.inbox.push(Reverse((arrival_ns, self.serial, from, frame)));
        peer.bell.clone()
    }
}

impl Network {
    /// A network without faults.
    pub fn new() -> Self {
        Self::seeded(0, Faults::default())
    }

    /// A network with faults that are drawn from a seed.
    pub fn seeded(seed: u64, faults: Faults) -> Self {
        Network(Arc::new(Mutex::new(World {
            random: fastrand::Rng::with_seed(seed),
            faults,
            now_ns: 0,
            serial: 0,
            nodes: BTreeMap::new(),
            cut: BTreeSet::new(),
            last_ns: BTreeMap::new(),
            regions: BTreeMap::new(),
            regions_made: 0,
            has_remote_memory: true,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A node joins; if it was there before, this is its next incarnation, and what was under way
    /// to it is gone.
    pub fn node(&self, node: NodeId) -> InProcess {
        let mut world = self.lock();
        let incarnation = world.nodes.get(&node).map_or(0, |peer| peer.incarnation) + 1;
        world.nodes.insert(node, Peer { incarnation, is_alive: true, ..Peer::default() });
        let (transfers, ended) = (0, VecDeque::new());
        InProcess { node, incarnation, network: self.clone(), transfers, ended }
    }

    /// A node dies without a word: what it says from now on is not heard, and what is under way to
    /// it is gone.
    pub fn kill(&self, node: NodeId) {
        let mut world = self.lock();
        if let Some(peer) = world.nodes.get_mut(&node) {
            peer.is_alive = false;
            peer.inbox.clear();
        }
        world.regions.retain(|region, _| region.node != node);
    }

    /// Cuts the way between the two: nothing moves any more, in either direction.
    pub fn cut(&self, a: NodeId, b: NodeId) {
        self.lock().cut.extend([(a, b), (b, a)]);
    }

    /// Takes [`Network::cut`] back.
    pub fn heal(&self, a: NodeId, b: NodeId) {
        self.lock().cut.retain(|&pair| pair != (a, b) && pair != (b, a));
    }

    /// Takes remote memory from its nodes.
    pub fn without_remote_memory(self) -> Self {
        self.lock().has_remote_memory = false;
        self
    }

    /// Sets the faults from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Moves time forward.
    pub fn advance(&self, ns: u64) {
        self.lock().now_ns += ns;
    }

    /// The time.
    pub fn now_ns(&self) -> u64 {
        self.lock().now_ns
    }

    /// Frames that are under way.
    pub fn under_way(&self) -> usize {
        self.lock().nodes.values().map(|peer| peer.inbox.len()).sum()
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::new()
    }
}

impl InProcess {
    fn is_alive(&self, world: &World) -> bool {
        world
            .nodes
            .get(&self.node)
            .is_some_and(|peer| peer.is_alive && peer.incarnation == self.incarnation)
    }
}

impl Fabric for InProcess {
    fn name(&self) -> &'static str {
        "in-process"
    }

    fn node(&self) -> NodeId {
        self.node
    }

    fn nodes(&self) -> Vec<NodeId> {
        self.network.lock().nodes.keys().copied().collect()
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }

    fn send(&mut self, to: NodeId, frame: &[u8]) -> Result<(), SendRefused> {
        if frame.len() > FRAME_BYTES_MAX {
            return Err(SendRefused::TooLong { bytes: frame.len(), allowed: FRAME_BYTES_MAX });
        }
        let mut world = self.network.lock();
        if !world.nodes.contains_key(&to) {
            return Err(SendRefused::NoSuchNode(to));
        }
        if !self.is_alive(&world)
            || world.cut.contains(&(self.node, to))
            || world.random.f64() < world.faults.loss
        {
            return Ok(());
        }
        let mut bytes = frame.to_vec();
        if !bytes.is_empty() && world.random.f64() < world.faults.corruption {
            let at = world.random.usize(..bytes.len());
            bytes[at] ^= 1 << world.random.u32(..8);
        }
        if world.random.f64() < world.faults.duplication {
            world.deliver(self.node, to, bytes.clone());
        }
        let bell = world.deliver(self.node, to, bytes);
        drop(world);
        if let Some(bell) = bell {
            bell();
        }
        Ok(())
    }

    fn poll(&mut self) -> Option<(NodeId, Vec<u8>)> {
        let mut world = self.network.lock();
        if !self.is_alive(&world) {
            return None;
        }
        let now_ns = world.now_ns;
        let peer = world.nodes.get_mut(&self.node)?;
        if peer.inbox.peek()?.0.0 > now_ns {
            return None;
        }
        peer.inbox.pop().map(|Reverse((_, _, from, frame))| (from, frame))
    }

    fn set_bell(&mut self, bell: Bell) -> bool {
        let mut world = self.network.lock();
        if self.is_alive(&world)
            && let Some(peer) = world.nodes.get_mut(&self.node)
        {
            peer.bell = Some(bell);
        }
        true
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        let has = self.network.lock().has_remote_memory;
        if has { Some(self) } else { None }
    }
}

impl InProcess {
    fn add_region(&self, memory: Memory, bytes: usize) -> RegionId {
        let mut world = self.network.lock();
        world.regions_made += 1;
        let index = world.regions_made;
        let region = RegionId { node: self.node, index, bytes: bytes as u64 };
        world.regions.insert(region, memory);
        region
    }

    fn with_region<R>(
        &self,
        region: RegionId,
        offset: usize,
        bytes: usize,
        f: impl FnOnce(&mut Memory) -> Result<R, MemoryError>,
    ) -> Result<R, MemoryError> {
        let mut world = self.network.lock();
        if world.cut.contains(&(self.node, region.node)) || !self.is_alive(&world) {
            return Err(MemoryError::Unreachable(region.node));
        }
        // Found by its length, too: so what is in bounds by the id is in bounds.
        let memory = world.regions.get_mut(&region).ok_or(MemoryError::NoSuchRegion(region))?;
        region.check(offset, bytes)?;
        f(memory)
    }

    fn ended(&mut self, moved: Moved) -> TransferId {
        self.transfers += 1;
        let transfer = TransferId(self.transfers);
        self.ended.push_back((transfer, Ok(moved)));
        transfer
    }

    fn write(&self, from: &[u8], region: RegionId, offset: usize) -> Result<(), MemoryError> {
        self.with_region(region, offset, from.len(), |memory| match memory {
            Memory::Own(bytes) => {
                bytes[offset..offset + from.len()].copy_from_slice(from);
                Ok(())
            }
            Memory::Shared(_) => Err(MemoryError::Engine("a payload is only read".to_owned())),
        })
    }
}

impl RemoteMemory for InProcess {
    fn register(&mut self, bytes: usize) -> Result<RegionId, MemoryError> {
        Ok(self.add_region(Memory::Own(zeros(bytes)?), bytes))
    }

    fn share(&mut self, payload: Payload) -> Result<RegionId, MemoryError> {
        let bytes = payload.len();
        Ok(self.add_region(Memory::Shared(payload), bytes))
    }

    fn unregister(&mut self, region: RegionId) -> Result<(), MemoryError> {
        let mut world = self.network.lock();
        let own = region.node == self.node && world.regions.remove(&region).is_some();
        if own { Ok(()) } else { Err(MemoryError::NoSuchRegion(region)) }
    }

    fn get(
        &mut self,
        region: RegionId,
        offset: usize,
        mut into: Unwritten,
    ) -> Result<TransferId, (MemoryError, Unwritten)> {
        let bytes = into.len() - into.written();
        let copied = self.with_region(region, offset, bytes, |memory| {
            let all = into.append(&memory.bytes()[offset..offset + bytes]);
            debug_assert!(all, "as many as are missing");
            Ok(())
        });
        match copied {
            Err(error) => Err((error, into)),
            Ok(()) => match into.finish() {
                Ok(payload) => Ok(self.ended(Moved::Payload(payload))),
                Err(into) => Err((MemoryError::NoSuchRegion(region), into)),
            },
        }
    }

    fn put(
        &mut self,
        from: Payload,
        region: RegionId,
        offset: usize,
    ) -> Result<TransferId, MemoryError> {
        self.write(&from, region, offset)?;
        Ok(self.ended(Moved::Payload(from)))
    }

    fn get_bytes(
        &mut self,
        region: RegionId,
        offset: usize,
        bytes: usize,
    ) -> Result<TransferId, MemoryError> {
        let read = self.with_region(region, offset, bytes, |memory| {
            Ok(memory.bytes()[offset..offset + bytes].to_vec())
        })?;
        Ok(self.ended(Moved::Bytes(read)))
    }

    fn put_bytes(
        &mut self,
        from: Vec<u8>,
        region: RegionId,
        offset: usize,
    ) -> Result<TransferId, MemoryError> {
        self.write(&from, region, offset)?;
        Ok(self.ended(Moved::Bytes(from)))
    }

    fn poll_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_memory::heap::Heap;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(1);

    fn received(node: &mut InProcess) -> Vec<u8> {
        std::iter::from_fn(|| node.poll()).map(|(_, frame)| frame[0]).collect()
    }

    fn run(seed: u64, faults: Faults) -> Vec<u8> {
        let network = Network::seeded(seed, faults);
        let (mut a, mut b) = (network.node(A), network.node(B));
        for n in 0..200 {
            a.send(B, &[n]).unwrap();
        }
        network.advance(1_000_000);
        received(&mut b)
    }

    #[test]
    fn without_faults_all_arrives_once_and_in_order() {
        let all: Vec<u8> = (0..200).collect();
        assert_eq!(run(1, Faults::default()), all);
        assert_eq!(run(1, Faults { delay_ns: 1..=1_000_000, ..Faults::default() }), all);
    }

    #[test]
    fn each_fault_does_what_it_says_and_a_seed_says_when() {
        let lossy = run(1, Faults { loss: 0.3, ..Faults::default() });
        assert!(lossy.len() < 180 && lossy.len() > 100 && lossy.is_sorted(), "{lossy:?}");
        let doubled = run(1, Faults { duplication: 0.3, ..Faults::default() });
        assert!(doubled.len() > 220 && doubled.is_sorted(), "{doubled:?}");
        let mixed = run(1, Faults { delay_ns: 1..=1_000, reordering: 0.3, ..Faults::default() });
        assert!(mixed.len() == 200 && !mixed.is_sorted(), "{mixed:?}");
        let damaged = run(1, Faults { corruption: 0.3, ..Faults::default() });
        assert!(damaged.len() == 200 && damaged.iter().zip(0..).any(|(&a, b)| a != b));
        let faults = Faults { loss: 0.3, duplication: 0.3, ..Faults::default() };
        assert_eq!(run(7, faults.clone()), run(7, faults.clone()));
        assert_ne!(run(7, faults.clone()), run(8, faults));
    }

    #[test]
    fn a_cut_pair_hears_nothing_until_it_is_healed() {
        let network = Network::new();
        let (mut a, mut b) = (network.node(A), network.node(B));
        network.cut(A, B);
        a.send(B, &[1]).unwrap();
        b.send(A, &[2]).unwrap();
        network.heal(B, A);
        a.send(B, &[3]).unwrap();
        assert_eq!((received(&mut a), received(&mut b)), (vec![], vec![3]));
    }

    #[test]
    fn the_dead_are_silent_and_a_next_life_starts_empty() {
        let network = Network::new();
        let (mut a, mut b) = (network.node(A), network.node(B));
        b.send(A, &[1]).unwrap();
        network.kill(A);
        a.send(B, &[2]).unwrap();
        b.send(A, &[3]).unwrap();
        assert_eq!((received(&mut a), received(&mut b)), (vec![], vec![]));
        let mut next = network.node(A);
        b.send(A, &[4]).unwrap();
        assert_eq!((received(&mut a), received(&mut next)), (vec![], vec![4]));
        a.send(B, &[5]).unwrap();
        assert_eq!(received(&mut b), Vec::<u8>::new());
    }

    #[test]
    fn bad_frames_are_refused() {
        let network = Network::new();
        let mut a = network.node(A);
        assert_eq!(a.send(B, &[1]), Err(SendRefused::NoSuchNode(B)));
        let long = vec![0; FRAME_BYTES_MAX + 1];
        assert!(matches!(a.send(A, &long), Err(SendRefused::TooLong { .. })));
    }

    fn payload(moved: Result<Moved, MemoryError>) -> Vec<u8> {
        moved.unwrap().into_payload().unwrap().to_vec()
    }

    fn read((transfer, moved): Ended) -> (TransferId, Vec<u8>) {
        (transfer, moved.unwrap().into_bytes().unwrap())
    }

    #[test]
    fn remote_memory_is_read_and_written_within_its_bounds() {
        let heap = Heap::leak_plain(1, 4).unwrap();
        let mut arena = heap.arena(0).unwrap();
        let network = Network::new();
        let (mut a, mut b) = (network.node(A), network.node(B));
        let region = a.register(8).unwrap();
        let numbers = arena.payload(&[1, 2, 3, 4]).unwrap();
        let put = b.put(numbers.clone(), region, 4).unwrap();
        assert!(matches!(b.poll_ended(), Some((id, Ok(_))) if id == put));
        let get = a.get(region, 3, arena.unwritten(4).unwrap()).unwrap();
        let (id, bytes) = a.poll_ended().unwrap();
        assert_eq!((id, payload(bytes)), (get, vec![0, 1, 2, 3]));
        for offset in [5, usize::MAX] {
            let error = b.put(numbers.clone(), region, offset).unwrap_err();
            assert_eq!(error, MemoryError::OutOfRange { region, offset, bytes: 4 });
        }
        let longer = RegionId { bytes: 9, ..region };
        let error = b.put(numbers.clone(), longer, 5).unwrap_err();
        assert_eq!(error, MemoryError::NoSuchRegion(longer));
        let shared = a.share(numbers.clone()).unwrap();
        assert!(matches!(b.put(numbers, shared, 0), Err(MemoryError::Engine(_))));
        b.get(shared, 1, arena.unwritten(3).unwrap()).unwrap();
        assert_eq!(payload(b.poll_ended().unwrap().1), [2, 3, 4]);
        let put = b.put_bytes(vec![8, 9], region, 6).unwrap();
        assert_eq!(b.poll_ended().map(read), Some((put, vec![8, 9])));
        let get = b.get_bytes(region, 5, 3).unwrap();
        assert_eq!(b.poll_ended().map(read), Some((get, vec![2, 8, 9])));
        let outside = MemoryError::OutOfRange { region, offset: 7, bytes: 2 };
        assert_eq!(b.get_bytes(region, 7, 2), Err(outside.clone()));
        assert_eq!(b.put_bytes(vec![0; 2], region, 7), Err(outside));
        let mut fails = |b: &mut InProcess, expected| {
            let (error, room) = b.get(region, 0, arena.unwritten(4).unwrap()).unwrap_err();
            assert_eq!((error, room.written()), (expected, 0));
        };
        network.cut(A, B);
        fails(&mut b, MemoryError::Unreachable(A));
        network.heal(A, B);
        assert_eq!(b.unregister(region), Err(MemoryError::NoSuchRegion(region)));
        a.unregister(region).unwrap();
        fails(&mut b, MemoryError::NoSuchRegion(region));
        assert!(network.without_remote_memory().node(B).remote_memory().is_none());
    }
}
