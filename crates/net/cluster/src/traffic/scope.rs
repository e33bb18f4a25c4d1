//! Whose turn it is: what an actor that moves sends is noted for it.

use super::{Key, Traffic};
use crate::fabric::NodeId;
use actinium_placement::End;
use actinium_scheduler::mixing;
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// An address through which an actor that moves has sent. Before it moves, it waits until all that
/// has arrived.
pub(crate) type Used = Weak<dyn Any + Send + Sync>;

/// The part of an actor that moves that notes what it sends. It is with the worker during a turn.
pub(crate) struct Sender {
    key: Key,
    /// The node's state.
    node: Weak<dyn Any + Send + Sync>,
    traffic: Option<Arc<Traffic>>,
    /// The number of messages up to the next one that is looked at, and what decides about it.
    left: u32,
    random: u64,
    /// Whether one was looked at since this was asked.
    has_sampled: bool,
    /// The addresses by which something may be on its way.
    used: BTreeMap<Key, (Used, Flush)>,
}

/// Asks through an address whether all is there that was sent through it.
pub(crate) type Flush = fn(&Arc<dyn Any + Send + Sync>) -> Flushed;
/// Whether it is: if not, it may be asked again.
pub(crate) type Flushed = std::pin::Pin<Box<dyn Future<Output = bool> + Send>>;

thread_local! {
    static CURRENT: RefCell<Option<Box<Sender>>> = const { RefCell::new(None) };
}

impl Sender {
    pub(crate) fn new(
        key: Key,
        node: Weak<dyn Any + Send + Sync>,
        traffic: Option<Arc<Traffic>>,
    ) -> Self {
        let random = mixing::mix(mixing::mix(key.kind, u64::from(key.node)), key.serial);
        let mut sender = Sender {
            key,
            node,
            traffic,
            left: 0,
            random,
            has_sampled: false,
            used: BTreeMap::new(),
        };
        sender.draw();
        sender
    }

    /// Draws the number of messages up to the next sample: 1 to 2n - 1, so that no pattern of
    /// sending hides some receivers. On average it is n.
    fn draw(&mut self) {
        let every = self.traffic.as_ref().map_or(1, |traffic| traffic.config.sample_every);
        self.random = self.random.wrapping_add(mixing::STEP);
        let gap = mixing::scramble(self.random) % u64::from(2 * every - 1);
        self.left = gap as u32 + 1;
    }

    fn sent(&mut self, to: End<Key>, node: NodeId, messages: u32) {
        let Some(traffic) = &self.traffic else { return };
        if messages < self.left {
            self.left -= messages;
            return;
        }
        let weight = traffic.config.sample_every.max(messages);
        traffic.sent(self.key, to, node, u64::from(weight));
        self.has_sampled = true;
        self.draw();
    }

    /// Whether a message was looked at since this was asked last.
    pub(crate) fn take_sampled(&mut self) -> bool {
        std::mem::take(&mut self.has_sampled)
    }

    /// The addresses by which something may be on its way, which are forgotten.
    pub(crate) fn take_used(&mut self) -> Vec<(Key, Used, Flush)> {
        let used = std::mem::take(&mut self.used).into_iter();
        used.map(|(key, (used, flush))| (key, used, flush)).collect()
    }

    pub(crate) fn uses_any(&self) -> bool {
        !self.used.is_empty()
    }

    pub(crate) fn use_again(&mut self, key: Key, used: Used, flush: Flush) {
        self.used.entry(key).or_insert((used, flush));
    }
}

/// Runs the code of an actor that moves. If it panics, its sender is lost with it.
pub(crate) fn run<R>(sender: &mut Option<Box<Sender>>, f: impl FnOnce() -> R) -> R {
    /// Takes the sender from the worker, also when the code panics.
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            drop(CURRENT.take());
        }
    }
    CURRENT.set(sender.take());
    let leave = Leave;
    let result = f();
    *sender = CURRENT.take();
    drop(leave);
    result
}

fn with_current(f: impl FnOnce(&mut Sender)) {
    CURRENT.with_borrow_mut(|current| {
        if let Some(sender) = current {
            f(sender);
        }
    });
}

/// Whoever's turn it is has sent messages to an actor that moves, which is at that node.
pub(crate) fn sent_to_movable(
    to: Key,
    node: NodeId,
    messages: u32,
    flush: Flush,
    address: impl FnOnce() -> Used,
) {
    with_current(|sender| {
        // What it sends to itself waits in it, wherever it is.
        if to != sender.key {
            sender.sent(End::Actor(to), node, messages);
            sender.used.entry(to).or_insert_with(|| (address(), flush));
        }
    });
}

/// Whoever's turn it is has sent messages to an actor of that node that does not move.
pub(crate) fn sent_to_fixed(node: NodeId, messages: u32) {
    with_current(|sender| sender.sent(End::Fixed(node.0), node, messages));
}

/// The node of whoever's turn it is.
pub(crate) fn node() -> Option<Arc<dyn Any + Send + Sync>> {
    CURRENT.with_borrow(|current| current.as_ref().and_then(|sender| sender.node.upgrade()))
}
