//! Who is reached through whom, in a grid: what the node's thread does for nodes that are no neighbours.
//!
//! **Who is there.** Each node tells its neighbours which nodes it reaches: those neighbours that it has a link with, and those that the next
//! node on the way says it reaches. Ways are fixed and have no circles, so this settles after as many rounds as a way has hops, and what
//! a node concludes for itself is what its messages will find. It is told again when a node comes up, and when something was lost. That is one bit per
//! node, and nothing else about others is passed on: lives and epochs the two settle themselves (see `session`).
//!
//! **When a node in between dies**, its neighbours notice by its silence, and sessions that went through it end: `Down` with [`DownReason::NoWay`]. If one of
//! this node's neighbours still reaches the other node, it lives, and after [`LinkConfig::down_after_ns`](crate::link::LinkConfig) the two begin a link of their own, which
//! lasts until it ends. That is a few more links per dead node, and no other order of hops, which could make hops wait for each other in a circle.
//!
//! **Leaving.** A node that hands on for others stays until no one who leaves at the same time needs it: it says when nothing of its own is under way, and
//! goes when all neighbours have said so for all nodes as far away as any way is long; or after [`NodeConfig::linger`](super::NodeConfig::linger).

use super::driver::{End, REVIEW_NS};
use super::unpack::UnpackMsg;
use super::{Inner, Peer, lock};
use crate::fabric::NodeId;
use crate::link::{DownReason, LinkEvent};
use crate::message::Control;
use crate::route::Grid;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What neighbours have said.
#[derive(Default)]
pub(super) struct Heard {
    /// Whom they reach.
    reach: BTreeMap<NodeId, Vec<u8>>,
    levels: BTreeMap<NodeId, u32>,
    is_new: bool,
}

impl Heard {
    pub(super) fn reach(&mut self, from: NodeId, nodes: Vec<u8>) {
        self.reach.insert(from, nodes);
        self.is_new = true;
    }

    pub(super) fn leaving(&mut self, from: NodeId, level: u32) {
        self.levels.insert(from, level);
    }

    pub(super) fn forget(&mut self, node: NodeId) {
        self.reach.remove(&node);
        self.levels.remove(&node);
        self.is_new = true;
    }

    fn reaches(&self, neighbour: NodeId, node: NodeId) -> bool {
        let byte = self.reach.get(&neighbour).and_then(|bits| bits.get(node.0 as usize / 8));
        byte.is_some_and(|byte| byte >> (node.0 % 8) & 1 == 1)
    }
}

type Ends = BTreeMap<NodeId, End>;

/// See the module.
pub(super) struct Around {
    grid: Grid,
    fars: BTreeMap<NodeId, Arc<Peer>>,
    /// What neighbours were told that this node reaches.
    told: Vec<u8>,
    /// Neighbours that may not know it.
    untold: BTreeSet<NodeId>,
    /// A link has come up or gone down.
    is_stale: bool,
    hello_at_ns: u64,
    count_at_ns: u64,
    /// Since when a neighbour reaches nodes to which there is no way.
    missed_since_ns: BTreeMap<NodeId, u64>,
    level: u32,
}

impl Around {
    /// Nothing to do without a grid.
    pub(super) fn new(grid: Grid) -> Option<Self> {
        (grid != Grid::DIRECT).then(|| Around {
            grid,
            fars: BTreeMap::new(),
            told: Vec::new(),
            untold: BTreeSet::new(),
            is_stale: true,
            hello_at_ns: 0,
            count_at_ns: 0,
            missed_since_ns: BTreeMap::new(),
            level: 0,
        })
    }

    /// There is a node that is no neighbour.
    pub(super) fn add(&mut self, peer: Arc<Peer>) {
        self.fars.entry(peer.node).or_insert(peer);
    }

    pub(super) fn is_neighbour(&self, inner: &Inner, node: NodeId) -> bool {
        self.grid.are_neighbours(inner.node.0, node.0)
    }

    /// Something has happened on the link with a node.
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

    /// Does what there is to do; false if that was nothing.
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

    /// Whom this node reaches now; who is reached no longer is down.
    fn look(&mut self, inner: &Arc<Inner>, ends: &mut Ends) {
        let mut reach = vec![0_u8; (self.grid.nodes() as usize).div_ceil(8)];
        let mut ended = Vec::new();
        let heard = lock(&inner.heard);
        let nodes = ends.keys().chain(self.fars.keys()).copied();
        for node in nodes.filter(|node| node.0 < self.grid.nodes()) {
            let has_way = self.has_way(&heard, ends, inner.node, node);
            if has_way || is_up(ends, node) {
                reach[node.0 as usize / 8] |= 1 << (node.0 % 8);
            }
            if !has_way && let Some(peer) = self.fars.get(&node) {
                ended.push(peer.clone());
            }
        }
        drop(heard);
        for peer in ended {
            let Some(far) = peer.far.as_ref().filter(|far| far.is_up()) else { continue };
            let is_straight = far.is_straight();
            inner.end_far(&peer, DownReason::NoWay { through: far.via.node }, is_straight);
            self.tell_behind(inner, ends, far.back, &peer);
        }
        if reach != self.told {
            self.told = reach;
            self.untold.extend(ends.keys());
        }
    }

    /// Has told what has happened with a node, behind all that has come of it so far.
    fn tell_behind(&self, inner: &Inner, ends: &Ends, back: NodeId, peer: &Arc<Peer>) {
        let sent = ends.get(&back).map(|end| end.unpacker.send(UnpackMsg::Far(peer.clone())));
        // A system that drains takes nothing from outside.
        if !matches!(sent, Some(Ok(()))) {
            inner.tell_far(peer);
        }
    }

    fn tell(&mut self, inner: &Arc<Inner>, ends: &Ends) {
        let control = Control::Reach { nodes: self.told.clone() };
        let level = self.level;
        // One whose link is up and whose gathering place is not open yet is told in a later turn; one that is down, when it is up.
        self.untold.retain(|node| match ends.get(node) {
            Some(end) if end.link.is_up() => {
                let leaving = Control::Leaving { level };
                end.peer.gather.is_closed()
                    || !inner.say(&end.peer, &control)
                    || level > 0 && !inner.say(&end.peer, &leaving)
            }
            _ => false,
        });
    }

    /// Calls those to which there is a way and that are not up, and looks for those to which there is none and should be.
    fn hello(&mut self, inner: &Arc<Inner>, ends: &mut Ends, now_ns: u64) {
        let mut missed = Vec::new();
        for peer in self.fars.values() {
            let Some(far) = &peer.far else { continue };
            if far.is_up() || far.is_straight() {
                self.missed_since_ns.remove(&peer.node);
                continue;
            }
            let heard = lock(&inner.heard);
            let has_way = self.has_way(&heard, ends, inner.node, peer.node);
            let is_there = |&node: &NodeId| is_up(ends, node) && heard.reaches(node, peer.node);
            if !has_way && heard.reach.keys().any(is_there) {
                let since_ns = *self.missed_since_ns.entry(peer.node).or_insert(now_ns);
                if now_ns.saturating_sub(since_ns) >= inner.config.link.down_after_ns {
                    missed.push(peer.clone());
                }
            } else {
                self.missed_since_ns.remove(&peer.node);
                if let Some(end) = ends.get_mut(&peer.node) {
                    end.rests = !end.link.is_up();
                }
            }
            drop(heard);
            let say = has_way.then(|| lock(&far.session).hello()).flatten();
            if let Some(say) = say {
                inner.say_far(peer, far, 0, say);
            }
        }
        for peer in missed {
            if let Some(end) = ends.get_mut(&peer.node) {
                end.rests = false;
            } else if let Some(end) = End::new(inner, &peer, now_ns) {
                ends.insert(peer.node, end);
            }
        }
    }

    /// Tells those who send how far this node is, and asks those who do not say it.
    fn count(&mut self, inner: &Inner, now_ns: u64) {
        let busy = std::mem::take(&mut *lock(&inner.busy));
        for node in busy {
            let Some((peer, far)) =
                self.fars.get(&node).and_then(|peer| Some((peer, peer.far.as_ref()?)))
            else {
                continue;
            };
            let mut session = lock(&far.session);
            let say = session.count(now_ns, inner.config.link.resend_ns);
            let (to_epoch, is_busy) = (session.to_epoch(), session.is_busy());
            drop(session);
            if let Some(say) = say {
                inner.say_far(peer, far, to_epoch, say);
            }
            if is_busy {
                lock(&inner.busy).insert(node);
            }
        }
    }

    /// Whether all that was sent to nodes further away has arrived there.
    pub(super) fn is_settled(&self) -> bool {
        self.fars.values().all(|peer| {
            let is_settled = |far: &super::far::Far| lock(&far.session).is_settled();
            // Acquire: as for links.
            peer.staged.load(std::sync::atomic::Ordering::Acquire) == 0
                && peer.far.as_ref().is_none_or(is_settled)
        })
    }

    /// This node wants to leave and has nothing under way: whether nobody needs it. See the module.
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
        self.fars.values().for_each(|peer| inner.leave_far(peer));
    }
}

fn is_up(ends: &Ends, node: NodeId) -> bool {
    ends.get(&node).is_some_and(|end| end.link.is_up())
}
