//! What one node runs: a graph without its outputs, the outputs, and what joins the two.
//!
//! A replay of a workload is one such thing, a program's own graph the other.

use crate::inbox::Inbox;
use crate::queue::outlet::Ready;
use actinium_events::nodes::Given;
use actinium_events::{Cause, Graph, Next};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

/// Takes what became of a piece: the number of its events, or why it could not be read.
type OnRead = Box<dyn Fn(u32, Result<u64, Cause>) + Send + Sync>;

/// What feeds the graphs of a node.
#[derive(Clone, Default)]
pub(crate) struct Inboxes {
    /// What the graph without outputs is given.
    pub(crate) given: Arc<Inbox<Given>>,
    /// The events of all nodes, for the outputs.
    pub(crate) carried: Arc<Inbox<Ready>>,
    /// Set before the graphs run.
    pub(crate) on_read: Arc<OnceLock<OnRead>>,
}

impl fmt::Debug for Inboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inboxes")
    }
}

/// What joins the graph without outputs and the outputs.
pub(crate) trait Part: Send + Sync + 'static {
    /// Takes what the outputs need of the event that has just ended in a slot.
    fn take(&self, slot: usize, number: u64) -> Vec<u8>;

    /// The event that has just ended in a slot has failed.
    fn forget(&self, _slot: usize) {}

    /// The outputs of an event have run in a slot, or one has failed. Returns a checksum of what
    /// they saw.
    fn written(&self, _number: u64, _slot: usize) -> u64 {
        0
    }

    /// An event without outputs is over. Returns a checksum of what the ends of its paths saw.
    fn ended(&self, _bytes: &[u8]) -> u64 {
        0
    }

    /// Takes the conditions of a run that begins, which the first node has loaded.
    fn set_conditions(&self, _run: u64, _bytes: &[u8]) -> Result<(), Cause> {
        Ok(())
    }
}

/// A source at the first node, whose events are shared out.
pub(crate) trait Shared: Send + 'static {
    /// The next event, as bytes.
    fn next(&mut self, number: u64) -> Result<Next<Vec<u8>>, Cause>;

    /// The waker has the source asked again.
    fn attach(&mut self, waker: &Waker) -> Result<(), Cause>;

    /// Loads the conditions of a run, here and as bytes for the other nodes.
    fn conditions(&mut self, run: u64) -> Result<Vec<u8>, Cause>;
}

/// Where the events come from.
pub(crate) enum Feed {
    /// Each node makes the events, of numbers below this one.
    #[cfg(feature = "replay")]
    Numbers(u64),
    /// The first node reads them.
    Source(Box<dyn Shared>),
    /// Each node reads pieces, of these sizes.
    Pieces(Vec<u64>),
}

/// See the module.
pub(crate) struct Parts {
    /// A digest of all that must be the same on all nodes.
    pub(crate) digest: u64,
    /// The same as text, for people.
    pub(crate) says: String,
    /// Where the events come from.
    pub(crate) feed: Feed,
    /// All but the outputs.
    pub(crate) inner: Graph,
    /// The outputs, if they run on the first node alone.
    pub(crate) outputs: Option<Graph>,
    /// The labels of modules that only stand in for others: of `inner`.
    pub(crate) stand_ins: BTreeSet<String>,
    /// The labels of modules of `outputs` that have figures; `None`: all.
    pub(crate) shown: Option<BTreeSet<String>>,
    /// What joins the two.
    pub(crate) part: Arc<dyn Part>,
}
