//! Several actors of one type behind one handle.

use crate::actor::Actor;
use crate::address::Address;
use crate::send_error::SendError;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::mixing::{KeyHasher, rendezvous};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sends each message to one of several actors. Those that have ended are passed over.
///
/// ```
/// # use actinium_actor::{Actor, Context, Router, Shutdown, System};
/// # struct Worker;
/// # impl Actor for Worker {
/// #     type Msg = u64;
/// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
/// # }
/// # let system = System::builder().workers(1).build()?;
/// let router = Router::by_key((0..4).map(|_| system.spawn(Worker)), |msg: &u64| *msg % 10);
/// for msg in 0..100 {
///     router.send(msg)?;
/// }
/// assert_eq!(system.shutdown(Shutdown::Drain).handled, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Router<A: Actor> {
    members: Vec<Address<A>>,
    choice: Choice<A::Msg>,
}

type Key<M> = Guarded<Box<dyn Fn(&M) -> u64 + Send + Sync>>;

enum Choice<M: 'static> {
    RoundRobin(AtomicUsize),
    ByKey(Key<M>),
    LeastLoaded,
}

impl<A: Actor> Router<A> {
    /// Each in turn.
    pub fn round_robin(members: impl IntoIterator<Item = Address<A>>) -> Self {
        Self::new(members, Choice::RoundRobin(AtomicUsize::new(0)))
    }

    /// The same key, the same actor, as long as that lives. The keys of one that has ended go to
    /// all others alike, and no other key moves. O(members) per message.
    ///
    /// The choice is the same in every process, on every machine and with every release: of the
    /// members that live, the one with the greatest weight for the key's hash (FNV-1a with 64 bits,
    /// of what the key's [`Hash`] writes; rendezvous hashing over the members' places in the list).
    pub fn by_key<K: Hash>(
        members: impl IntoIterator<Item = Address<A>>,
        key: impl Fn(&A::Msg) -> K + Send + Sync + 'static,
    ) -> Self {
        let hash = move |msg: &A::Msg| {
            let mut hasher = KeyHasher::default();
            key(msg).hash(&mut hasher);
            hasher.finish()
        };
        Self::new(members, Choice::ByKey(Guarded::new(Box::new(hash))))
    }

    /// The one with the fewest messages waiting; among equals the first. O(members) per message.
    pub fn least_loaded(members: impl IntoIterator<Item = Address<A>>) -> Self {
        Self::new(members, Choice::LeastLoaded)
    }

    fn new(members: impl IntoIterator<Item = Address<A>>, choice: Choice<A::Msg>) -> Self {
        Router { members: members.into_iter().collect(), choice }
    }

    /// The router's members, ended ones included.
    pub fn members(&self) -> &[Address<A>] {
        &self.members
    }

    /// Sends a message to one member.
    ///
    /// # Errors
    /// [`SendError::Closed`] if all have ended (or there are none), [`SendError::Full`] outside
    /// actors if the chosen one's mailbox is full.
    pub fn send(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        let n = self.members.len();
        let first = match &self.choice {
            // Relaxed: only a count.
            Choice::RoundRobin(next) => next.fetch_add(1, Ordering::Relaxed) % n.max(1),
            Choice::ByKey(hash) => return self.send_by(hash(&msg), msg),
            Choice::LeastLoaded => {
                let open =
                    self.members.iter().enumerate().filter(|(_, member)| !member.is_closed());
                open.min_by_key(|(_, member)| member.len()).map_or(0, |(index, _)| index)
            }
        };
        let mut msg = msg;
        for step in 0..n {
            match self.members[(first + step) % n].send(msg) {
                Err(SendError::Closed(back)) => msg = back,
                result => return result,
            }
        }
        Err(SendError::Closed(msg))
    }
}

impl<A: Actor> Router<A> {
    /// Sends a message to the member that a key belongs to.
    fn send_by(&self, key: u64, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        let mut msg = msg;
        for _ in 0..=self.members.len() {
            let open = (0..).zip(&self.members).filter(|(_, member)| !member.is_closed());
            let Some(chosen) = rendezvous(key, open.map(|(place, _)| place)) else { break };
            match self.members[chosen as usize].send(msg) {
                // It has ended just now.
                Err(SendError::Closed(back)) => msg = back,
                result => return result,
            }
        }
        Err(SendError::Closed(msg))
    }
}

impl<A: Actor> fmt::Debug for Router<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("members", &self.members).finish_non_exhaustive()
    }
}

/// Sends each message to all of several actors.
///
/// ```
/// # use actinium_actor::{Actor, Broadcast, Context, Shutdown, System};
/// # struct Listener;
/// # impl Actor for Listener {
/// #     type Msg = u64;
/// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
/// # }
/// # let system = System::builder().workers(1).build()?;
/// let all = Broadcast::new((0..4).map(|_| system.spawn(Listener)));
/// assert_eq!(all.send(7), 4);
/// assert_eq!(system.shutdown(Shutdown::Drain).handled, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Broadcast<A: Actor> {
    members: Vec<Address<A>>,
}

impl<A: Actor> Broadcast<A> {
    /// A broadcast to these members.
    pub fn new(members: impl IntoIterator<Item = Address<A>>) -> Self {
        Broadcast { members: members.into_iter().collect() }
    }

    /// The broadcast's members, ended ones included.
    pub fn members(&self) -> &[Address<A>] {
        &self.members
    }

    /// Sends a clone to each. Returns how many took it; for the others it comes back, and is
    /// counted as returned.
    pub fn send(&self, msg: A::Msg) -> usize
    where
        A::Msg: Clone,
    {
        self.members.iter().filter(|member| member.send(msg.clone()).is_ok()).count()
    }
}
