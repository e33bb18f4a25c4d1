//! Each message to one of several actors.

use super::batched::Batched;
use super::choice::{by_key, key_hash, least_loaded};
use super::member::{Loaded, Member, Tells};
use crate::actor::Actor;
use crate::actor_id::ActorId;
use crate::address::Address;
use crate::ask::{Answer, AskError, Reply, TryAnswer};
use crate::handle::ask_recipient::AskRecipient;
use crate::send_error::SendError;
use actinium_scheduler::guard::Guarded;
use std::fmt;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sends each message to one of several actors. Those that have ended are passed over.
///
/// Its members are addresses or, for actors that may live on other nodes, recipients: see
/// [`Member`].
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
pub struct Router<T: Member> {
    members: Vec<T>,
    choice: Choice<T>,
}

type Key<M> = Guarded<Box<dyn Fn(&M) -> u64 + Send + Sync>>;

enum Choice<T: Member> {
    RoundRobin(AtomicUsize),
    ByKey(Key<T::Msg>),
    /// Chooses the place.
    LeastLoaded(fn(&[T]) -> usize),
}

impl<T: Member> Router<T> {
    /// Each in turn.
    pub fn round_robin(members: impl IntoIterator<Item = T>) -> Self {
        Self::new(members, Choice::RoundRobin(AtomicUsize::new(0)))
    }

    /// The same key, the same actor, as long as that lives. The keys of one that has ended go to
    /// all others alike, and no other key moves. O(members) per message.
    ///
    /// The choice is the same in every process, on every machine and with every release: of the
    /// members that live, the one with the greatest weight for the key's hash (FNV-1a with 64 bits,
    /// of what the key's [`Hash`] writes; rendezvous hashing over the members' places in the list).
    pub fn by_key<K: Hash>(
        members: impl IntoIterator<Item = T>,
        key: impl Fn(&T::Msg) -> K + Send + Sync + 'static,
    ) -> Self {
        let hash = move |msg: &T::Msg| key_hash(key(msg));
        Self::new(members, Choice::ByKey(Guarded::new(Box::new(hash))))
    }

    /// The one that has least to do: the fewest messages waiting, counting the one that it handles
    /// now; among equals the first. An estimate while they run. O(members) per message.
    pub fn least_loaded(members: impl IntoIterator<Item = T>) -> Self
    where
        T: Loaded,
    {
        Self::new(members, Choice::LeastLoaded(least_loaded))
    }

    fn new(members: impl IntoIterator<Item = T>, choice: Choice<T>) -> Self {
        Router { members: members.into_iter().collect(), choice }
    }

    /// The router's members, ended ones included.
    pub fn members(&self) -> &[T] {
        &self.members
    }

    /// Offers a message to members until one does not refuse it as ended.
    fn route<R>(
        &self,
        msg: T::Msg,
        mut offer: impl FnMut(&T, T::Msg) -> Result<R, SendError<T::Msg>>,
    ) -> Result<R, SendError<T::Msg>> {
        let n = self.members.len();
        let key = if let Choice::ByKey(hash) = &self.choice { Some(hash(&msg)) } else { None };
        let first = match &self.choice {
            // Relaxed: only a count.
            Choice::RoundRobin(next) => next.fetch_add(1, Ordering::Relaxed) % n.max(1),
            Choice::LeastLoaded(choose) => choose(&self.members),
            Choice::ByKey(_) => 0,
        };
        let mut msg = msg;
        for step in 0..n {
            let place = match key {
                None => (first + step) % n,
                Some(key) => match by_key(&self.members, key) {
                    Some(place) => place,
                    None => break,
                },
            };
            match offer(&self.members[place], msg) {
                // It has ended just now.
                Err(SendError::Closed(back)) => msg = back,
                result => return result,
            }
        }
        Err(SendError::Closed(msg))
    }
}

impl<T: Tells> Router<T> {
    /// Sends a message to one member.
    ///
    /// # Errors
    /// [`SendError::Closed`] if all have ended (or there are none), [`SendError::Full`] outside
    /// actors if the chosen one's mailbox is full.
    pub fn send(&self, msg: T::Msg) -> Result<(), SendError<T::Msg>> {
        self.route(msg, T::send)
    }

    /// Sends a message to one member, blocking the thread while that has no room: see
    /// [`Address::send_blocking`].
    ///
    /// # Errors
    /// As [`Router::send`]; [`SendError::Full`] on a worker only.
    pub fn send_blocking(&self, msg: T::Msg) -> Result<(), SendError<T::Msg>> {
        self.route(msg, T::send_blocking)
    }

    /// Collects items into messages of up to `most` of them, by member: see [`Batched`]. They go
    /// where [`Router::by_key`] over the same members sends a message of this key.
    pub fn batched<I: Send + 'static, K: Hash>(
        &self,
        most: usize,
        key: impl Fn(&I) -> K + Send + 'static,
        msg: impl Fn(Vec<I>) -> T::Msg + Send + 'static,
    ) -> Batched<T, I> {
        Batched::by_key(self.members.iter().cloned(), most, key, msg)
    }
}

impl<A: Actor> Router<Address<A>> {
    /// Asks one member: see [`Address::ask`].
    pub fn ask<R: Send + 'static>(&self, msg: impl FnOnce(Reply<R>) -> A::Msg) -> Answer<R> {
        let (way, answer) = Answer::channel();
        let chosen = self.route(msg(Reply::new(way)), |member, msg| {
            member.send(msg).map_err(|error| match error {
                SendError::Closed(msg) => SendError::Closed(msg),
                other => SendError::Full(other.into_inner()),
            })?;
            Ok(member.clone())
        });
        match chosen {
            Ok(member) => answer.of(&member),
            Err(SendError::Closed(_)) => Answer::refused(AskError::Closed(self.any())),
            Err(_) => Answer::refused(AskError::Full(self.any())),
        }
    }

    /// Asks one member for an answer that may be an error itself: see [`Address::try_ask`].
    pub fn try_ask<R: Send + 'static, E: Send + 'static>(
        &self,
        msg: impl FnOnce(Reply<Result<R, E>>) -> A::Msg,
    ) -> TryAnswer<R, E> {
        self.ask(msg).flat()
    }
}

impl<Q: Send + 'static, R: Send + 'static> Router<AskRecipient<Q, R>> {
    /// Asks one member: see [`AskRecipient::ask`].
    pub fn ask(&self, request: Q) -> Answer<R> {
        let asked = self.route(request, |member, request| {
            if member.is_closed() {
                return Err(SendError::Closed(request));
            }
            Ok(member.ask(request))
        });
        asked.unwrap_or_else(|_| Answer::refused(AskError::Closed(self.any())))
    }
}

impl<T: Member> Router<T> {
    /// A member to name in an error.
    fn any(&self) -> ActorId {
        self.members.first().map_or(ActorId(0), Member::id)
    }
}

impl<T: Member + fmt::Debug> fmt::Debug for Router<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("members", &self.members).finish_non_exhaustive()
    }
}
