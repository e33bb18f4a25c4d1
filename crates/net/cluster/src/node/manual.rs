//! A node that its owner drives by hand.

use super::config::NodeConfig;
use super::driver::Driver;
use super::handle::NodeHandle;
use super::send;
use crate::fabric::Fabric;
use crate::link::BadConfig;
use actinium_actor::SystemHandle;
use actinium_scheduler::Clock;
use std::ops::Deref;

/// A node that the caller drives, turn by turn, with the caller's time. It is for tests, with a
/// [`TestSystem`](actinium_actor::testing::TestSystem) and an in-process network. Dropping it ends
/// it without a farewell, as a panic of a node's thread would.
pub struct ManualNode {
    handle: NodeHandle,
    driver: Driver,
}

impl ManualNode {
    /// Joins a system to a fabric. The incarnation is larger than any that this node had before.
    ///
    /// # Errors
    /// If the configuration makes no sense.
    pub fn join(
        system: SystemHandle,
        fabric: impl Fabric + 'static,
        config: NodeConfig,
        incarnation: u64,
    ) -> Result<Self, BadConfig> {
        let driver =
            Driver::new(system, Box::new(fabric), config, incarnation, Clock::virtual_time())?;
        Ok(ManualNode { handle: NodeHandle::new(driver.inner.clone()), driver })
    }

    /// Sets the time, and does the work that is due then. True if there was some.
    pub fn turn(&mut self, now_ns: u64) -> bool {
        let clock = &self.driver.inner.clock;
        clock.advance(now_ns.saturating_sub(clock.now_ns()));
        self.driver.turn()
    }

    /// Leaves the cluster as [`super::Node::leave`] does, but waits for nothing.
    pub fn leave(mut self) {
        send::flush_turn();
        self.driver.leave();
    }
}

impl Deref for ManualNode {
    type Target = NodeHandle;

    fn deref(&self) -> &NodeHandle {
        &self.handle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregator::NotAdded;
    use crate::answer::RemoteAnswer;
    use crate::error::RemoteAskError;
    use crate::fabric::NodeId;
    use crate::fabric::in_process::Network;
    use crate::locks::lock;
    use crate::message::{self, Envelope, SessionSay};
    use crate::node::NodeEvent;
    use crate::route::Route;
    use actinium_actor::testing::TestSystem;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};
    use std::time::Duration;

    #[test]
    fn a_node_that_has_left_keeps_no_request_and_hears_nobody() {
        let system = TestSystem::seeded(0);
        let config = NodeConfig { route: Route::Square, grid_nodes: 4, ..NodeConfig::default() };
        let fabric = Network::new().node(NodeId(0));
        let node = ManualNode::join(system.handle(), fabric, config, 1).unwrap();
        let inner = node.driver.inner.clone();
        let events = Arc::new(std::sync::Mutex::new(Vec::new()));
        let told = events.clone();
        node.on_event(move |event| lock(&told).push(event.clone()));
        let limit = Duration::from_secs(1);
        let write = |_: u64, frame: &mut Vec<u8>| {
            message::control(&message::Control::NotWatched { watch: 1 }, frame)
        };
        let ask = |node: u32| {
            let peer = inner.peer(NodeId(node));
            inner.request(&peer, limit, true, write, |_| Ok(())).0
        };
        let outcome = |answer: RemoteAnswer<()>| match pin!(answer)
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(outcome) => outcome.unwrap_err(),
            Poll::Pending => panic!("a request is kept"),
        };
        // A neighbour and one that is further away, neither of which was ever met.
        let before = [ask(1), ask(3)];
        node.leave();
        for answer in before {
            assert_eq!(outcome(answer), RemoteAskError::Left);
        }
        // What was on its way: that one is up, and a word of another.
        inner.went_up(&inner.peer(NodeId(1)));
        let multihop = inner.peer(NodeId(3));
        let hello = SessionSay::Hello { from_incarnation: 5, to_incarnation: 1, is_up: true };
        let mut payload = Vec::new();
        crate::codec::encode(crate::codec::NODES, &hello, &mut payload).unwrap();
        let (to, from, hops, to_incarnation, number, messages) = (0, 3, 0, 1, 0, 0);
        let payload = &payload[..];
        let has_offers = false;
        let word =
            Envelope { to, from, hops, to_incarnation, number, messages, has_offers, payload };
        // Nothing waits for a payload.
        let frame = || -> Arc<dyn std::any::Any + Send + Sync> { Arc::new(()) };
        inner.arrived(&word, frame).unwrap();
        inner.arrived(&Envelope { messages: 1, ..word }, frame).unwrap();
        assert!(!multihop.multihop.as_ref().unwrap().is_up());
        for node in [1, 3] {
            assert_eq!(outcome(ask(node)), RemoteAskError::Left);
            let sent = inner.add(&inner.peer(NodeId(node)), true, |frame| write(0, frame));
            assert_eq!(sent, Err(NotAdded::Closed), "nobody would send it");
        }
        let undelivered = [1, 3].map(|n| NodeEvent::Undelivered { node: NodeId(n), messages: 1 });
        let events = std::mem::take(&mut *lock(&events));
        assert_eq!(events, undelivered);
    }
}
