//! Reachability in a grid: the work of the node's thread for nodes that are no neighbours.
//!
//! **Who is there.** Each node tells its neighbours which nodes it reaches: those neighbours that
//! it has a link with, and those that the next node on the way says it reaches. Ways are fixed and
//! have no circles, so this converges after as many rounds as a way has hops, and what a node
//! concludes for itself is what its messages will find. It is told again when a node comes up, and
//! when something was lost. That is one bit per node, and nothing else about others is passed on:
//! the two exchange their incarnations themselves (see `session`).
//!
//! **When a node in between dies**, its neighbours notice by its silence, and sessions that went
//! through it end: `Down` with [`DownReason::NoWay`]. If one of this node's neighbours still
//! reaches the other node, it lives, and after
//! [`LinkConfig::down_after_ns`](crate::link::LinkConfig) the two begin a link of their own, which
//! lasts until it ends. That is a few more links per dead node, and no other order of hops, which
//! could make hops wait for each other in a circle.
//!
//! **Leaving.** A node that hands on for others stays until no one who leaves at the same time
//! needs it: it says when nothing of its own is under way, and goes when all neighbours have said
//! so for all nodes as far away as any way is long; or after
//! [`NodeConfig::linger`](super::NodeConfig::linger).

use super::end::{End, REVIEW_NS};
use super::frame_receiver::News;
use super::neighbours::Heard;
use super::peer::{Multihop, Peer};
use super::state::Inner;
use crate::fabric::NodeId;
use crate::link::{DownReason, LinkEvent};
use crate::locks::lock;
use crate::message::Control;
use crate::route::Grid;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Ends = BTreeMap<NodeId, End>;

/// The reachability of a grid's nodes: see the module.
pub(super) struct Reachability {
    grid: Grid,
    peers: BTreeMap<NodeId, Arc<Peer>>,
    /// The nodes that this node reaches, one bit per node, as its neighbours were told.
    told: Vec<u8>,
    /// The neighbours that may not know it.
    untold: BTreeSet<NodeId>,
    /// The nodes that are no neighbours and to which there was a way at the last look.
    ways: BTreeSet<NodeId>,
    /// Whether a link has come up or gone down since the last look.
    is_stale: bool,
    hello_at_ns: u64,
    count_at_ns: u64,
    /// The time since when a neighbour reaches a node to which this node has no way.
    missed_since_ns: BTreeMap<NodeId, u64>,
    level: u32,
}

impl Reachability {
    /// Makes the state for a grid. None without a grid: there is nothing to do.
    pub(super) fn new(grid: Grid) -> Option<Self> {
        (grid != Grid::DIRECT).then(|| Reachability {
            grid,
            peers: BTreeMap::new(),
            told: Vec::new(),
            untold: BTreeSet::new(),
            ways: BTreeSet::new(),
            is_stale: true,
            hello_at_ns: 0,
            count_at_ns: 0,
            missed_since_ns: BTreeMap::new(),
            level: 0,
        })
    }

    /// Adds a node that is no neighbour.
    pub(super) fn add(&mut self, peer: Arc<Peer>) {
        self.peers.entry(peer.node).or_insert(peer);
    }

    pub(super) fn is_neighbour(&self, inner: &Inner, node: NodeId) -> bool {
        self.grid.are_neighbours(inner.node.0, node.0)
    }

    /// Takes an event of the link with a node.
    pub(super) fn heard(&mut self, node: NodeId, event: &LinkEvent) {
        match event {
            LinkEvent::Up | LinkEvent::Down(_) => {
                self.is_stale = true;
                self.untold.insert(node);
            }
            // It may have been told something just then.
            LinkEvent::LostThere(_) => drop(self.untold.insert(node)),
            _ => {}
        }
    }

    /// Does the work there is; false if there was none.
    pub(super) fn turn(&mut self, inner: &Arc<Inner>, ends: &mut Ends, now_ns: u64) -> bool {
        let is_new = std::mem::take(&mut lock(&inner.heard).is_new) | self.is_stale;
        if is_new {
            self.is_stale = false;
            self.look(inner, ends);
        }
        if is_new || !self.untold.is_empty() {
            self.tell(inner, ends);
        }
        if is_new {
            // Soon, and not for each of many pieces of news.
            self.hello_at_ns = self.hello_at_ns.min(now_ns.saturating_add(REVIEW_NS));
        }
        if now_ns >= self.hello_at_ns {
            self.hello_at_ns = now_ns.saturating_add(inner.config.link.heartbeat_ns);
            self.hello(inner, ends, now_ns);
        }
        if now_ns >= self.count_at_ns {
            self.count_at_ns = now_ns.saturating_add(REVIEW_NS);
            self.count(inner, now_ns);
        }
        is_new
    }

    /// Whether the usual way to a node is whole.
    fn has_way(&self, heard: &Heard, ends: &Ends, me: NodeId, to: NodeId) -> bool {
        let next = NodeId(self.grid.next(me.0, to.0));
        is_up(ends, next) && (next == to || heard.reaches(next, to))
    }

    /// Finds the nodes that this node reaches now. Sessions with nodes that are reached no longer
    /// end. One that began without a way to the other node is not ended here: `hello` gives it time
    /// to find one.
    fn look(&mut self, inner: &Arc<Inner>, ends: &mut Ends) {
        let mut reach = vec![0_u8; (self.grid.nodes() as usize).div_ceil(8)];
        let mut ended = Vec::new();
        let heard = lock(&inner.heard);
        let nodes = ends.keys().chain(self.peers.keys()).copied();
        for node in nodes.filter(|node| node.0 < self.grid.nodes()) {
            let has_way = self.has_way(&heard, ends, inner.node, node);
            if has_way || is_up(ends, node) {
                reach[node.0 as usize / 8] |= 1 << (node.0 % 8);
            }
            let Some(peer) = self.peers.get(&node) else { continue };
            let had_way = match has_way {
                true => !self.ways.insert(node),
                false => self.ways.remove(&node),
            };
            if had_way && !has_way {
                ended.push(peer.clone());
            }
        }
        drop(heard);
        for peer in ended {
            self.end_without_way(inner, ends, &peer);
        }
        if reach != self.told {
            self.told = reach;
            self.untold.extend(ends.keys());
        }
    }

    fn end_without_way(&self, inner: &Inner, ends: &Ends, peer: &Arc<Peer>) {
        let Some(multihop) = peer.multihop.as_ref().filter(|multihop| multihop.is_up()) else {
            return;
        };
        let is_straight = multihop.is_straight();
        inner.end_multihop(peer, DownReason::NoWay { through: multihop.via.node }, is_straight);
        // Behind all messages that have come from it so far.
        let back = ends.get(&multihop.back).map(|end| &end.receiver);
        inner.tell_behind(back, News::of(peer, None));
    }

    fn tell(&mut self, inner: &Arc<Inner>, ends: &Ends) {
        let control = Control::Reach { nodes: self.told.clone() };
        let level = self.level;
        // One whose link is up and whose aggregator is not open yet is told in a later turn; one
        // that is down, when it is up.
        self.untold.retain(|node| match ends.get(node) {
            Some(end) if end.link.is_up() => {
                let leaving = Control::Leaving { level };
                end.peer.aggregator.is_closed()
                    || !inner.say(&end.peer, &control)
                    || level > 0 && !inner.say(&end.peer, &leaving)
            }
            _ => false,
        });
    }

    /// Calls the nodes to which there is a way and that are not up. Looks for another way to the
    /// nodes that a neighbour reaches and this node does not.
    ///
    /// A session may begin without a way to the other node, if there is one back: that node calls,
    /// and knows this one's incarnation. If no way there is found in time, the session ends.
    /// Otherwise the two would never look for another way: this one because they are up, the other
    /// one because it has a way.
    fn hello(&mut self, inner: &Arc<Inner>, ends: &mut Ends, now_ns: u64) {
        let (mut missed, mut ended) = (Vec::new(), Vec::new());
        for peer in self.peers.values() {
            let Some(multihop) = &peer.multihop else { continue };
            if multihop.is_straight() {
                self.missed_since_ns.remove(&peer.node);
                continue;
            }
            let heard = lock(&inner.heard);
            let has_way = self.has_way(&heard, ends, inner.node, peer.node);
            let is_there = |&node: &NodeId| is_up(ends, node) && heard.reaches(node, peer.node);
            if !has_way && (multihop.is_up() || heard.reach.keys().any(is_there)) {
                let since_ns = *self.missed_since_ns.entry(peer.node).or_insert(now_ns);
                if now_ns.saturating_sub(since_ns) >= inner.config.link.down_after_ns {
                    let which = if multihop.is_up() { &mut ended } else { &mut missed };
                    which.push(peer.clone());
                }
            } else {
                self.missed_since_ns.remove(&peer.node);
                if let Some(end) = ends.get_mut(&peer.node).filter(|_| !multihop.is_up()) {
                    end.rests = !end.link.is_up();
                }
            }
            drop(heard);
            if multihop.is_up() && lock(&multihop.session).is_stranded {
                ended.push(peer.clone());
                continue;
            }
            let calls = has_way && !multihop.is_up();
            let say = calls.then(|| lock(&multihop.session).hello()).flatten();
            if let Some(say) = say {
                inner.say_multihop(peer, multihop, 0, say);
            }
        }
        for peer in ended {
            self.end_without_way(inner, ends, &peer);
        }
        for peer in missed {
            if let Some(end) = ends.get_mut(&peer.node) {
                end.rests = false;
                // By an earlier link it may have said farewell. It is back, and has a way to this
                // node: so it does not call on a link.
                end.link.call();
            } else if let Some(end) = End::new(inner, &peer, now_ns) {
                ends.insert(peer.node, end);
            }
        }
    }

    /// Tells senders at the next turn how far this node is: somebody waits for that.
    pub(super) fn count_now(&mut self) {
        self.count_at_ns = 0;
    }

    /// Tells senders how far this node is, and asks receivers that do not say how far they are.
    fn count(&mut self, inner: &Inner, now_ns: u64) {
        let busy = std::mem::take(&mut *lock(&inner.busy));
        for node in busy {
            let Some((peer, multihop)) =
                self.peers.get(&node).and_then(|peer| Some((peer, peer.multihop.as_ref()?)))
            else {
                continue;
            };
            let mut session = lock(&multihop.session);
            let say = session.count(now_ns, inner.config.link.resend_ns);
            let (to_incarnation, is_busy) = (session.to_incarnation(), session.is_busy());
            drop(session);
            if let Some(say) = say {
                inner.say_multihop(peer, multihop, to_incarnation, say);
            }
            if is_busy {
                lock(&inner.busy).insert(node);
            }
        }
    }

    /// Whether all messages that were sent to nodes further away have arrived there.
    pub(super) fn is_drained(&self) -> bool {
        self.peers.values().all(|peer| {
            let is_drained = |multihop: &Multihop| lock(&multihop.session).is_drained();
            // Acquire: as for links.
            peer.buffered.load(std::sync::atomic::Ordering::Acquire) == 0
                && peer.multihop.as_ref().is_none_or(is_drained)
        })
    }

    /// Whether nobody needs this node any more, which wants to leave and has nothing under way. See
    /// the module.
    pub(super) fn may_leave(&mut self, inner: &Arc<Inner>, ends: &Ends) -> bool {
        let heard = lock(&inner.heard);
        let neighbours = || ends.values().filter(|end| end.link.is_up());
        let said = |end: &End| heard.levels.get(&end.peer.node).copied().unwrap_or(0);
        // What is sent to this node comes from as far away as what it hands on.
        let needed = self.grid.route().dimensions() + 1;
        let level = neighbours().map(said).min().map_or(needed, |least| (least + 1).min(needed));
        drop(heard);
        if level > self.level {
            self.level = level;
            for end in neighbours() {
                inner.say(&end.peer, &Control::Leaving { level });
            }
            // When that has arrived.
            return false;
        }
        level == needed
    }

    /// Says farewell to all that are no neighbours.
    pub(super) fn leave(&mut self, inner: &Inner) {
        self.peers.values().for_each(|peer| inner.leave_multihop(peer));
    }
}

fn is_up(ends: &Ends, node: NodeId) -> bool {
    ends.get(&node).is_some_and(|end| end.link.is_up())
}
