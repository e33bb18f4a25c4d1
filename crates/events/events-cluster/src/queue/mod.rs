//! Which node runs which event, and when its outputs may run. Plain state, without messages and
//! clock.
//!
//! [`numbers`] shares out events one by one, [`pieces`] pieces of the source, of which a node reads
//! the events itself. [`outlet`] is what both do with events that have ended.

pub(crate) mod numbers;
pub(crate) mod outlet;
pub(crate) mod pieces;

use outlet::{Ended, Outlet};

/// What a node gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// These events.
    Events(Vec<u64>),
    /// A piece of the source.
    Piece {
        /// The piece.
        piece: u32,
        /// Ranges of the indexes of those of its events that are over, without their ends.
        done: Vec<(u64, u64)>,
    },
}

/// A queue that several nodes share.
pub(crate) trait Queue: Send {
    /// A node with so many slots takes part. If it did before, that was another incarnation of it,
    /// and others get what it had.
    fn join(&mut self, node: u32, slots: u64);

    /// A node takes part no more. How many events others get (or whole pieces), or nobody if the
    /// queue is stopped.
    fn leave(&mut self, node: u32) -> u64;

    /// Whether a node takes part.
    fn has(&self, node: u32) -> bool;

    /// An event has ended at its node. False: it is not that node's (any more), and nothing was
    /// done.
    fn ended(&mut self, node: u32, number: u64, ended: Ended) -> bool;

    /// A node has read a piece to its end, which has so many events. False: it has not that piece.
    fn read(&mut self, node: u32, piece: u32, events: u64) -> bool {
        let _ = (node, piece, events);
        false
    }

    /// No more events are begun; those that wait for a node are given up.
    fn stop(&mut self);

    /// Whether it was stopped.
    fn is_stopped(&self) -> bool;

    /// Which nodes get what now.
    fn hand_out(&mut self) -> Vec<(u32, Share)>;

    /// Whether nothing is to be done any more.
    fn is_over(&self) -> bool;

    /// The events that have ended at their nodes.
    fn outlet(&self) -> &Outlet;

    /// The events that have ended at their nodes.
    fn outlet_mut(&mut self) -> &mut Outlet;

    /// The source has given so many events more.
    fn feed(&mut self, _events: u64) {}

    /// The source has no more events than those that it has given.
    fn end(&mut self) {}

    /// How many events the source may give beyond those that it has.
    fn room(&self) -> u64 {
        0
    }

    /// Whether all events that the source has given are over.
    fn is_empty(&self) -> bool {
        false
    }
}
