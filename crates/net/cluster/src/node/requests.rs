//! The table of requests to other nodes that have no answer yet.

use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::message::Unanswered;
use actinium_scheduler::nanoseconds;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(super) type Outcome<'a> = Result<&'a [u8], RemoteAskError>;
pub(super) type Complete = Box<dyn FnOnce(Outcome<'_>) + Send>;

struct Request {
    node: NodeId,
    deadline_ns: u64,
    timeout: Duration,
    complete: Complete,
}

/// The error of an answer from a node that was not asked.
#[derive(Debug)]
pub(super) struct NotAsked;

/// The open requests, by number and by deadline. Nothing is completed in here: that may run user
/// code, and comes after the lock.
#[derive(Default)]
pub(super) struct Requests {
    /// Whether the node has left: nobody will be answered.
    is_closed: bool,
    last: u64,
    open: BTreeMap<u64, Request>,
    deadlines: BTreeSet<(u64, u64)>,
}

impl Requests {
    /// Keeps a request, and returns its number.
    ///
    /// # Errors
    /// If the node has left: gives back `complete`, to be told so.
    pub(super) fn add(
        &mut self,
        node: NodeId,
        now_ns: u64,
        timeout: Duration,
        complete: Complete,
    ) -> Result<u64, Complete> {
        if self.is_closed {
            return Err(complete);
        }
        self.last += 1;
        let deadline_ns = now_ns.saturating_add(nanoseconds(timeout));
        self.deadlines.insert((deadline_ns, self.last));
        self.open.insert(self.last, Request { node, deadline_ns, timeout, complete });
        Ok(self.last)
    }

    /// Takes all requests, because the node leaves. No more are kept.
    pub(super) fn close(&mut self) -> Vec<Complete> {
        self.is_closed = true;
        self.deadlines.clear();
        std::mem::take(&mut self.open).into_values().map(|request| request.complete).collect()
    }

    /// Takes a request like `take`, for a node that answers. None: nobody waits for it any more.
    ///
    /// # Errors
    /// If that node was not asked.
    pub(super) fn take_from(
        &mut self,
        node: NodeId,
        id: u64,
    ) -> Result<Option<Complete>, NotAsked> {
        match self.open.get(&id) {
            Some(request) if request.node == node => Ok(self.take(id)),
            None if (1..=self.last).contains(&id) => Ok(None),
            _ => Err(NotAsked),
        }
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Complete> {
        let request = self.open.remove(&id)?;
        self.deadlines.remove(&(request.deadline_ns, id));
        Some(request.complete)
    }

    pub(super) fn next_deadline_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|&(deadline_ns, _)| deadline_ns)
    }

    /// Takes the next request whose deadline has passed.
    pub(super) fn take_late(&mut self, now_ns: u64) -> Option<(Complete, Duration)> {
        let &(deadline_ns, id) = self.deadlines.first()?;
        if deadline_ns > now_ns {
            return None;
        }
        self.deadlines.pop_first();
        let request = self.open.remove(&id)?;
        Some((request.complete, request.timeout))
    }

    /// The number of requests that wait for this node.
    pub(super) fn count_of(&self, node: NodeId) -> usize {
        self.open.values().filter(|request| request.node == node).count()
    }

    /// Takes all requests to this node.
    pub(super) fn take_of(&mut self, node: NodeId) -> Vec<Complete> {
        let ids: Vec<u64> =
            self.open.iter().filter(|(_, it)| it.node == node).map(|(&id, _)| id).collect();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }
}

pub(super) fn outcome(answer: Result<&[u8], Unanswered>) -> Outcome<'_> {
    answer.map_err(RemoteAskError::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_numbers_name_requests_as_the_first_do() {
        let mut requests = Requests { last: u64::MAX - 2, ..Requests::default() };
        let mut ask = |now_ns| {
            let added = requests.add(NodeId(1), now_ns, Duration::MAX, Box::new(|_| ()));
            added.unwrap_or_else(|_| panic!("it has not left"))
        };
        let (a, b) = (ask(u64::MAX), ask(0));
        assert_ne!(a, b);
        assert!(requests.take_late(u64::MAX - 1).is_none(), "no deadline wraps");
        assert!(requests.take(a).is_some() && requests.take(a).is_none());
        assert!(requests.take_late(u64::MAX).is_some() && requests.next_deadline_ns().is_none());
    }
}
