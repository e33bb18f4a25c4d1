//! Pieces of a source, such as files: each is read by one node at a time, and another node takes it
//! over where the first has gone, without the events that have ended.
//!
//! The largest piece comes first, so that all nodes end together. If outputs run in order, the
//! first piece comes first. At most twice as many pieces as there are nodes are begun and have
//! outputs to run: this bounds what waits for outputs, for their turn or because they are slow.

use super::outlet::{Ended, Outlet};
use super::{Queue, Share};
use std::collections::{BTreeMap, BTreeSet};

/// The bits of an event's number that are its index in its piece.
const INDEX_BITS: u32 = 40;

/// The number of an event.
fn number(piece: u32, index: u64) -> u64 {
    u64::from(piece) << INDEX_BITS | index
}

/// Indexes of events that are over: all before `all`, and some more.
#[derive(Clone, Debug, Default)]
struct Indexes {
    all: u64,
    more: BTreeSet<u64>,
}

impl Indexes {
    /// False: it was there before.
    fn insert(&mut self, index: u64) -> bool {
        let is_new = index >= self.all && self.more.insert(index);
        while self.more.remove(&self.all) {
            self.all += 1;
        }
        is_new
    }

    fn len(&self) -> u64 {
        self.all + self.more.len() as u64
    }

    /// As ranges without their ends.
    fn ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges = vec![(0, self.all)];
        for &index in &self.more {
            match ranges.last_mut() {
                Some((_, end)) if *end == index => *end += 1,
                _ => ranges.push((index, index + 1)),
            }
        }
        ranges.retain(|(begin, end)| begin < end);
        ranges
    }
}

#[derive(Clone, Debug)]
struct Piece {
    bytes: u64,
    /// Who reads it, or has read it and runs its events.
    at: Option<u32>,
    /// How many events it has, once it was read to its end.
    total: Option<u64>,
    ended: Indexes,
}

impl Piece {
    fn is_over(&self) -> bool {
        self.total.is_some_and(|total| self.ended.len() >= total)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pieces: Vec<Piece>,
    in_order: bool,
    /// The nodes that take part, each with the piece that it reads.
    members: BTreeMap<u32, Option<u32>>,
    outlet: Outlet,
    is_stopped: bool,
}

impl Pieces {
    /// Makes a queue of pieces of these sizes, in their order.
    pub(crate) fn new(sizes: impl IntoIterator<Item = u64>, in_order: bool) -> Self {
        let piece = |bytes| Piece { bytes, at: None, total: None, ended: Indexes::default() };
        Pieces {
            pieces: sizes.into_iter().map(piece).collect(),
            in_order,
            members: BTreeMap::new(),
            outlet: Outlet::new(in_order),
            is_stopped: false,
        }
    }

    /// The piece that is read next, if there is one that may be.
    fn next(&self) -> Option<usize> {
        let free = |&at: &usize| self.pieces[at].at.is_none() && !self.pieces[at].is_over();
        let mut all = (0..self.pieces.len()).filter(free);
        if !self.in_order {
            let is_writing = |at: u32| self.outlet.is_writing(number(at, 0)..number(at + 1, 0));
            let is_begun = |(at, piece): (u32, &Piece)| piece.at.is_some() || is_writing(at);
            let begun = (0..).zip(&self.pieces).filter(|&it| is_begun(it)).count();
            if begun >= 2 * self.members.len() {
                return None;
            }
            // Of several of one size the first.
            return all.max_by_key(|&at| (self.pieces[at].bytes, usize::MAX - at));
        }
        let turn = (self.outlet.turn() >> INDEX_BITS) as usize;
        all.next().filter(|&at| at < turn + 2 * self.members.len())
    }
}

impl Queue for Pieces {
    fn join(&mut self, node: u32, _slots: u64) {
        self.leave(node);
        self.members.insert(node, None);
    }

    fn leave(&mut self, node: u32) -> u64 {
        self.members.remove(&node);
        let mut count = 0;
        for piece in self.pieces.iter_mut().filter(|piece| piece.at == Some(node)) {
            piece.at = None;
            count += u64::from(!piece.is_over());
        }
        if self.is_stopped && self.members.is_empty() {
            self.outlet.flush();
        }
        count
    }

    fn has(&self, node: u32) -> bool {
        self.members.contains_key(&node)
    }

    fn ended(&mut self, node: u32, number: u64, ended: Ended) -> bool {
        let index = number & ((1 << INDEX_BITS) - 1);
        let piece = self.pieces.get_mut((number >> INDEX_BITS) as usize);
        let is_its = piece.is_some_and(|piece| {
            let is_its = piece.at == Some(node) && piece.ended.insert(index);
            if is_its && piece.is_over() {
                piece.at = None;
            }
            is_its
        });
        if is_its {
            self.outlet.finish(number, ended);
        }
        is_its
    }

    fn read(&mut self, node: u32, at: u32, events: u64) -> bool {
        let Some(reads) = self.members.get_mut(&node).filter(|reads| **reads == Some(at)) else {
            return false;
        };
        *reads = None;
        let piece = &mut self.pieces[at as usize];
        piece.total = Some(events);
        if piece.is_over() {
            piece.at = None;
        }
        self.outlet.jump(number(at, events), number(at + 1, 0));
        true
    }

    fn stop(&mut self) {
        self.is_stopped = true;
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    fn hand_out(&mut self) -> Vec<(u32, Share)> {
        let mut given = Vec::new();
        let idle = |(&node, reads): (&u32, &Option<u32>)| reads.is_none().then_some(node);
        for node in self.members.iter().filter_map(idle).collect::<Vec<_>>() {
            let Some(at) = self.next().filter(|_| !self.is_stopped) else { break };
            let (piece, number) = (&mut self.pieces[at], at as u32);
            piece.at = Some(node);
            self.members.insert(node, Some(number));
            given.push((node, Share::Piece { piece: number, done: piece.ended.ranges() }));
        }
        given
    }

    fn is_over(&self) -> bool {
        let is_all = match self.is_stopped {
            true => self.members.is_empty(),
            false => self.pieces.iter().all(Piece::is_over),
        };
        is_all && self.outlet.is_empty()
    }

    fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    fn outlet_mut(&mut self) -> &mut Outlet {
        &mut self.outlet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(queue: &mut Pieces, node: u32) -> Option<(u32, Vec<(u64, u64)>)> {
        let shares = queue.hand_out();
        let own = shares.into_iter().find(|(of, _)| *of == node);
        own.map(|(_, share)| match share {
            Share::Piece { piece, done } => (piece, done),
            Share::Events(_) => panic!("there are only pieces"),
        })
    }

    fn ran() -> Ended {
        Ended::Ran(Vec::new())
    }

    #[test]
    fn the_largest_piece_comes_first_or_in_order_the_first() {
        let mut queue = Pieces::new([5, 9, 9, 7], false);
        queue.join(0, 1);
        assert_eq!(piece(&mut queue, 0), Some((1, vec![])));
        assert_eq!(piece(&mut queue, 0), None, "it reads one");
        assert!(queue.read(0, 1, 0) && !queue.read(0, 1, 0));
        assert_eq!(piece(&mut queue, 0), Some((2, vec![])));
        let mut queue = Pieces::new([5, 9, 9, 7], true);
        queue.join(0, 1);
        assert_eq!(piece(&mut queue, 0), Some((0, vec![])));
    }

    #[test]
    fn who_takes_a_piece_over_is_told_what_is_done() {
        let mut queue = Pieces::new([1], false);
        queue.join(0, 1);
        queue.join(1, 1);
        assert_eq!(piece(&mut queue, 0), Some((0, vec![])));
        for index in [1, 0, 4, 5, 9] {
            assert!(queue.ended(0, index, ran()));
            assert!(!queue.ended(0, index, ran()), "once");
        }
        assert!(!queue.ended(1, 2, ran()), "it is not its own");
        assert_eq!(queue.leave(0), 1);
        assert!(!queue.ended(0, 2, ran()), "it has left");
        assert_eq!(piece(&mut queue, 1), Some((0, vec![(0, 2), (4, 6), (9, 10)])));
        assert!(queue.read(1, 0, 10));
        for index in [2, 3, 6, 7, 8] {
            assert!(queue.ended(1, index, ran()));
        }
        assert!(!queue.is_over(), "outputs are to run");
        for ready in queue.outlet.take_ready() {
            assert!(queue.outlet.written(ready.number, false));
        }
        assert!(queue.is_over());
        assert_eq!(queue.outlet.done, 10);
    }

    #[test]
    fn nobody_is_too_far_ahead_of_the_piece_whose_outputs_run() {
        let mut queue = Pieces::new([1; 20], true);
        queue.join(0, 1);
        queue.join(1, 1);
        assert_eq!(queue.hand_out().len(), 2);
        for at in 1..4 {
            assert!(queue.read(1, at, 1));
            assert!(queue.ended(1, number(at, 0), ran()));
            assert_eq!(queue.hand_out().len(), usize::from(at < 3), "piece 0 is not over");
        }
        assert!(queue.outlet.take_ready().is_empty());
        assert!(queue.read(0, 0, 0));
        let ready = queue.outlet.take_ready().into_iter().map(|ready| ready.number);
        assert!(ready.eq((1..4).map(|at| number(at, 0))));
        assert_eq!(queue.hand_out().len(), 2);
    }

    #[test]
    fn nobody_reads_on_while_outputs_are_slow() {
        let mut queue = Pieces::new([1; 20], false);
        queue.join(0, 1);
        for (at, more) in [(0, 1), (1, 0)] {
            let given = if at == 0 { queue.hand_out().len() } else { 1 };
            assert!(given == 1 && queue.ended(0, number(at, 0), ran()) && queue.read(0, at, 1));
            assert_eq!(queue.hand_out().len(), more);
        }
        let ready = queue.outlet.take_ready();
        assert!(queue.hand_out().is_empty(), "outputs of two pieces have not run");
        assert!(queue.outlet.written(ready[1].number, false));
        assert_eq!(queue.hand_out().len(), 1);
    }

    #[test]
    fn each_event_is_ready_once_and_in_order_whoever_comes_and_goes() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (in_order, sizes) = (random.bool(), [3, 0, 5, 1, 4, 2]);
            let mut queue = Pieces::new(sizes, in_order);
            queue.join(0, 1);
            // What each node has still to run: the piece, and the indexes that are left.
            let mut reads: BTreeMap<u32, (u32, Vec<u64>)> = BTreeMap::new();
            let mut written = Vec::new();
            while !queue.is_over() {
                for (node, share) in queue.hand_out() {
                    let Share::Piece { piece, done } = share else { panic!("{share:?}") };
                    let is_done = |at: &u64| done.iter().any(|(from, to)| (from..to).contains(&at));
                    let left = (0..sizes[piece as usize]).filter(|at| !is_done(at)).collect();
                    reads.insert(node, (piece, left));
                }
                let node = random.u32(0..4);
                match random.u32(0..12) {
                    0 if node > 0 => queue.join(node, 1),
                    1 if node > 0 => _ = queue.leave(node),
                    _ => {
                        if let Some((piece, left)) = reads.get_mut(&node) {
                            let event = (!left.is_empty()).then(|| random.usize(..left.len()));
                            match event {
                                Some(at) => {
                                    let index = left.swap_remove(at);
                                    queue.ended(node, number(*piece, index), ran());
                                }
                                None => _ = queue.read(node, *piece, sizes[*piece as usize]),
                            }
                        }
                    }
                }
                for ready in queue.outlet.take_ready() {
                    assert!(queue.outlet.written(ready.number, false));
                    written.push(ready.number);
                }
            }
            let all = (0..6).flat_map(|at| (0..sizes[at as usize]).map(move |i| number(at, i)));
            if !in_order {
                written.sort_unstable();
            }
            assert!(written.iter().copied().eq(all), "seed {seed}: {written:?}");
        }
    }
}
