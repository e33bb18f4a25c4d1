//! Collective operations of nodes: barriers, reductions, and detection of the end of all work.
//!
//! A [`Team`] is a fixed set of nodes. Each calls the same operations in the same order, as in MPI;
//! values go up a binomial tree, are folded on the way, and the result comes down: 2 log2(n)
//! messages one behind the other, and none is looked for by a timer.

mod member;
pub(crate) mod rounds;
pub(crate) mod tree;

use crate::codec::{NODES, decode, encode};
use crate::error::RemoteAskError;
use crate::fabric::NodeId;
use crate::node::{Grants, NodeEvent, NodeHandle};
use actinium_actor::{Address, Answer, SystemHandle, WaitError};
use member::{Fold, Member, Msg, Said};
use rounds::Rounds;
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// The error of a collective operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TeamError {
    /// A member was not found.
    Member(NodeId, RemoteAskError),
    /// This node is no member.
    NotAMember(NodeId),
    /// This node has a team of this name already.
    NameTaken(String),
    /// A node is down, a value has no bytes or too many, or the programs of two members differ: all
    /// members hear of it.
    Failed(String),
    /// A worker must not block.
    WouldBlock,
    /// This node's system did not come to rest.
    Busy(WaitError),
}

impl fmt::Display for TeamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TeamError::Member(node, error) => write!(f, "{node} takes no part: {error}"),
            TeamError::NotAMember(node) => write!(f, "{node} is no member of the team"),
            TeamError::NameTaken(name) => write!(f, "there is a team '{name}' already"),
            TeamError::Failed(why) => f.write_str(why),
            TeamError::Busy(error) => write!(f, "this node has not finished: {error}"),
            TeamError::WouldBlock => f.write_str("waiting for others would block a worker"),
        }
    }
}

impl std::error::Error for TeamError {}

/// This node's part in a team; see the module.
pub struct Team {
    member: Address<Member>,
    rank: usize,
    ranks: usize,
}

/// The result of an operation, once all members take part. The node takes part in the operation at
/// once, whether the result is waited for or not.
#[must_use]
pub struct TeamAnswer<T> {
    answer: Answer<Said>,
    of: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> TeamAnswer<T> {
    /// Waits, blocking the thread.
    ///
    /// # Errors
    /// If there is no result; [`TeamError::WouldBlock`] at once on a worker.
    pub fn wait(self) -> Result<T, TeamError> {
        if actinium_scheduler::current(|worker| worker.is_some()) {
            return Err(TeamError::WouldBlock);
        }
        let said = self.answer.wait().map_err(|error| TeamError::Failed(error.to_string()))?;
        let bytes = said.map_err(TeamError::Failed)?;
        decode(NODES, &bytes).map_err(|error| TeamError::Failed(error.to_string()))
    }
}

impl Team {
    /// Forms a team of these nodes; each calls this with the same name and nodes, and waits here
    /// for those that it will talk with.
    ///
    /// # Errors
    /// If this node is none of them, another is not found within the timeout, or the name is taken.
    pub fn form(
        node: &NodeHandle,
        system: &SystemHandle,
        name: &str,
        members: &[NodeId],
        timeout: Duration,
    ) -> Result<Team, TeamError> {
        if actinium_scheduler::current(|worker| worker.is_some()) {
            return Err(TeamError::WouldBlock);
        }
        let mut members = members.to_vec();
        members.sort_unstable();
        members.dedup();
        let ranks = members.len();
        let rank =
            members.binary_search(&node.id()).map_err(|_| TeamError::NotAMember(node.id()))?;
        let member = system.spawn(Member::new(node.inner(), rank, members.clone()));
        let exported = format!("actinium.team.{name}");
        node.export_with(&exported, &member, Grants::SEND)
            .map_err(|_| TeamError::NameTaken(name.to_owned()))?;
        let team = Team { member, rank, ranks };
        let (listener, all) = (team.member.downgrade(), members.clone());
        node.on_event(move |event| {
            if let NodeEvent::Down { node, reason, .. } = event
                && let Ok(rank) = all.binary_search(node)
                && let Some(member) = listener.upgrade()
            {
                member.tell(Msg::Down(rank, format!("{node} is down: {reason}")));
            }
        });
        let others: Vec<usize> = tree::children(rank, ranks).chain(tree::parent(rank)).collect();
        let found: Vec<_> = others
            .iter()
            .map(|&other| node.find::<Member>(members[other], &exported, timeout))
            .collect();
        let mut met = BTreeMap::new();
        for (other, found) in others.into_iter().zip(found) {
            let found = found.wait().map_err(|error| TeamError::Member(members[other], error))?;
            met.insert(other, found);
        }
        team.member.tell(Msg::Meet(met));
        Ok(team)
    }

    /// This node's place among the members, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of members.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Folds everybody's value, in the order of ranks, and tells everybody the result. `fold` is
    /// associative. A value's encoded bytes fit in a frame.
    pub fn all_reduce<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        own: T,
        fold: impl Fn(T, T) -> T + Send + 'static,
    ) -> TeamAnswer<T> {
        let fold: Fold = Box::new(move |children| {
            let mut folded = own;
            for child in children {
                let child = decode(NODES, &child).map_err(|error| error.to_string())?;
                folded = fold(folded, child);
            }
            let mut bytes = Vec::new();
            encode(NODES, &folded, &mut bytes).map_err(|error| error.to_string())?;
            Ok(bytes)
        });
        let answer = self.member.ask(|reply| Msg::Own(fold, reply));
        TeamAnswer { answer, of: PhantomData }
    }

    /// Waits until all are here.
    pub fn barrier(&self) -> TeamAnswer<()> {
        self.all_reduce((), |(), ()| ())
    }

    /// Tells everybody everybody's value, in the order of ranks.
    pub fn all_gather<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        own: T,
    ) -> TeamAnswer<Vec<T>> {
        self.all_reduce(vec![own], |mut all, more| {
            all.extend(more);
            all
        })
    }

    /// Tells everybody the value of rank 0; what the others give does not matter.
    pub fn broadcast<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        value: Option<T>,
    ) -> TeamAnswer<Option<T>> {
        let value = if self.rank == 0 { value } else { None };
        self.all_reduce(value, |root, _| root)
    }

    /// Waits until no node of the team has anything to do and nothing is under way between them.
    /// Work that waits for a timer, or for something outside of the systems, is not seen.
    ///
    /// The four-counter method: when this system is idle, what all have sent and received is
    /// summed, twice. If what had been received by the first time is what had been sent by the
    /// second, then nothing was under way in between.
    ///
    /// `wait_idle` is [`actinium_actor::System::wait_idle`] of this node's system, with a time for
    /// that. Where it fails, the other nodes wait for this one until it takes part again, or goes
    /// down.
    ///
    /// # Errors
    /// If a node goes down, or this node's system does not come to rest.
    pub fn quiesce(
        &self,
        node: &NodeHandle,
        wait_idle: impl Fn() -> Result<(), WaitError>,
    ) -> Result<(), TeamError> {
        let count = || {
            wait_idle().map_err(TeamError::Busy)?;
            let sum =
                |(a, b): (u64, u64), (c, d): (u64, u64)| (a.wrapping_add(c), b.wrapping_add(d));
            self.all_reduce(node.inner().sent_and_received(), sum).wait()
        };
        let mut rounds = Rounds::default();
        while !rounds.sum(count()?) {}
        Ok(())
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Team(rank {} of {})", self.rank, self.ranks)
    }
}
