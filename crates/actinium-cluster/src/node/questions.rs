//! What this node has asked others and has no answer to yet.

use crate::fabric::NodeId;
use crate::message::Unanswered;
use crate::remote::RemoteAskError;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(super) type Outcome<'a> = Result<&'a [u8], RemoteAskError>;
pub(super) type Complete = Box<dyn FnOnce(Outcome<'_>) + Send>;

struct Question {
    node: NodeId,
    deadline_ns: u64,
    limit: Duration,
    complete: Complete,
}

/// The questions, by number and by deadline. Nothing is completed in here: that may run user code, and comes after the lock.
#[derive(Default)]
pub(super) struct Questions {
    last: u64,
    open: BTreeMap<u64, Question>,
    deadlines: BTreeSet<(u64, u64)>,
}

impl Questions {
    pub(super) fn add(
        &mut self,
        node: NodeId,
        now_ns: u64,
        limit: Duration,
        complete: Complete,
    ) -> u64 {
        self.last += 1;
        let ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = now_ns.saturating_add(ns);
        self.deadlines.insert((deadline_ns, self.last));
        self.open.insert(self.last, Question { node, deadline_ns, limit, complete });
        self.last
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Complete> {
        let question = self.open.remove(&id)?;
        self.deadlines.remove(&(question.deadline_ns, id));
        Some(question.complete)
    }

    pub(super) fn next_deadline_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|&(deadline_ns, _)| deadline_ns)
    }

    /// The next question whose time is over.
    pub(super) fn take_late(&mut self, now_ns: u64) -> Option<(Complete, Duration)> {
        let &(deadline_ns, id) = self.deadlines.first()?;
        if deadline_ns > now_ns {
            return None;
        }
        self.deadlines.pop_first();
        let question = self.open.remove(&id)?;
        Some((question.complete, question.limit))
    }

    /// All questions to this node, or all.
    pub(super) fn take_of(&mut self, node: Option<NodeId>) -> Vec<Complete> {
        let is_of = |question: &Question| node.is_none_or(|node| question.node == node);
        let ids: Vec<u64> =
            self.open.iter().filter(|(_, it)| is_of(it)).map(|(&id, _)| id).collect();
        ids.into_iter().filter_map(|id| self.take(id)).collect()
    }
}

pub(super) fn outcome(answer: Result<&[u8], Unanswered>) -> Outcome<'_> {
    answer.map_err(RemoteAskError::from)
}
