//! Items that go to one of several actors each, many in a message.

use super::choice::key_hash;
use super::member::{Member, Tells};
use crate::actor_id::ActorId;
use crate::send_error::SendError;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::mixing::rendezvous;
use std::fmt;
use std::hash::Hash;

/// Collects items into messages, by the member that each belongs to: a message for a million items
/// costs what one for one item does. Made by [`Batched::by_key`] or
/// [`Router::batched`](crate::Router::batched); it belongs to whoever pushes the items.
///
/// Items of one key arrive in the order in which they were pushed, as long as their member lives.
/// When a member ends, the items that wait here for it go where their keys belong then. Dropping
/// this tells the members what still waits.
///
/// ```
/// use actinium_actor::{Actor, Batched, Context, Mailbox, Shutdown, SpawnOptions, System};
/// use std::collections::HashMap;
///
/// struct Shard(HashMap<String, u64>);
///
/// impl Actor for Shard {
///     type Msg = Vec<String>;
///     fn handle(&mut self, words: Vec<String>, _ctx: &mut Context<'_, Self>) {
///         words.into_iter().for_each(|word| *self.0.entry(word).or_default() += 1);
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let bounded = SpawnOptions::new().mailbox(Mailbox::bounded(16));
/// let shards = system.spawn_many(4, &bounded, |_| Shard(HashMap::new()))?;
///
/// let mut words = Batched::by_key(shards, 1_000, |word: &String| word.clone(), |words| words);
/// for word in "one fish two fish red fish blue fish".split(' ') {
///     words.push_blocking(word.to_owned())?;
/// }
/// words.flush_blocking()?;
/// let report = system.shutdown(Shutdown::Drain);
/// assert!(report.handled <= 4, "a message for each shard at most");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Batched<T: Tells, I: 'static> {
    members: Vec<T>,
    most: usize,
    hash: Hashes<I>,
    msg: Makes<T, I>,
    /// What waits for each member, by place.
    batches: Vec<Batch<T::Msg, I>>,
    /// The places of those that lived when last looked.
    open: Vec<u32>,
}

type Hashes<I> = Guarded<Box<dyn Fn(&I) -> u64 + Send>>;
type Makes<T, I> = Guarded<Box<dyn Fn(Vec<I>) -> <T as Member>::Msg + Send>>;

struct Batch<M, I> {
    items: Vec<I>,
    /// A message that was refused, and how many items it is.
    refused: Option<(M, usize)>,
}

impl<M, I> Batch<M, I> {
    fn waiting(&self) -> usize {
        self.items.len() + self.refused.as_ref().map_or(0, |(_, items)| *items)
    }
}

/// The items that could not be sent, and wait where they were: see [`Batched::flush`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// For whom, how many, and why not.
    pub waiting: Vec<(ActorId, usize, SendError<()>)>,
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: usize = self.waiting.iter().map(|(_, items, _)| items).sum();
        write!(f, "{items} items were not sent:")?;
        for (at, (actor, items, why)) in self.waiting.iter().enumerate() {
            let why = match why {
                SendError::Closed(()) => "has ended, as all have",
                SendError::Full(()) => "has no room: flush again later, or with flush_blocking",
                SendError::NodeDown(()) => "is on a node that is down",
                SendError::Unsendable(()) => "is on another node, and they can not be sent there",
            };
            write!(f, "{} {items} for {actor}, which {why}", if at == 0 { "" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Unsent {}

impl<T: Tells, I: Send + 'static> Batched<T, I> {
    /// Collects items into messages of up to `most` items, which `msg` makes. A key's items go
    /// where [`Router::by_key`](crate::Router::by_key) over the same members sends its messages.
    pub fn by_key<K: Hash>(
        members: impl IntoIterator<Item = T>,
        most: usize,
        key: impl Fn(&I) -> K + Send + 'static,
        msg: impl Fn(Vec<I>) -> T::Msg + Send + 'static,
    ) -> Self {
        let members: Vec<T> = members.into_iter().collect();
        let batches = members.iter().map(|_| Batch { items: Vec::new(), refused: None }).collect();
        let open = (0..).zip(&members).filter(|(_, it)| !it.is_closed()).map(|(at, _)| at);
        Batched {
            open: open.collect(),
            members,
            most: most.max(1),
            hash: Guarded::new(Box::new(move |item| key_hash(key(item)))),
            msg: Guarded::new(Box::new(msg)),
            batches,
        }
    }

    /// The members, ended ones included.
    pub fn members(&self) -> &[T] {
        &self.members
    }

    /// How many items wait here.
    pub fn waiting(&self) -> usize {
        self.batches.iter().map(Batch::waiting).sum()
    }

    /// Adds an item; sends its member's message if that is full, as
    /// [`Address::send`](crate::Address::send) does.
    ///
    /// # Errors
    /// With the item: [`SendError::Full`] if its member has refused the last message for want of
    /// room, and the next one is full, too; [`SendError::Closed`] if all members have ended.
    pub fn push(&mut self, item: I) -> Result<(), SendError<I>> {
        self.push_by(item, T::send)
    }

    /// Adds an item as [`Batched::push`] does, blocking the thread while there is no room.
    ///
    /// # Errors
    /// As [`Batched::push`]; [`SendError::Full`] on a worker only, which is never blocked.
    pub fn push_blocking(&mut self, item: I) -> Result<(), SendError<I>> {
        self.push_by(item, T::send_blocking)
    }

    /// Sends all that wait.
    ///
    /// # Errors
    /// If a member takes no message: the items stay here.
    pub fn flush(&mut self) -> Result<(), Unsent> {
        self.flush_by(T::send)
    }

    /// Sends all that wait, blocking the thread while there is no room.
    ///
    /// # Errors
    /// As [`Batched::flush`], but for want of room on a worker only.
    pub fn flush_blocking(&mut self) -> Result<(), Unsent> {
        self.flush_by(T::send_blocking)
    }

    fn push_by(&mut self, item: I, send: Sends<T>) -> Result<(), SendError<I>> {
        let hash = (self.hash)(&item);
        let place = loop {
            let Some(place) = rendezvous(hash, self.open.iter().copied()) else {
                return Err(SendError::Closed(item));
            };
            let place = place as usize;
            if self.batches[place].items.len() < self.most {
                break place;
            }
            // A message before was refused. If its member has ended, the item goes elsewhere.
            match self.deliver(place, self.most, send) {
                Ok(()) | Err(SendError::Closed(())) => {}
                Err(error) => return Err(with(error, item)),
            }
        };
        let items = &mut self.batches[place].items;
        if items.is_empty() {
            // Not more at first: there may be many members, and few items.
            items.reserve(self.most.min(64));
        }
        items.push(item);
        if items.len() >= self.most {
            // What is refused now is tried again when the next message is full.
            let _ = self.deliver(place, self.most, send);
        }
        Ok(())
    }

    fn flush_by(&mut self, send: Sends<T>) -> Result<(), Unsent> {
        loop {
            let (open, mut waiting) = (self.open.len(), Vec::new());
            for place in 0..self.members.len() {
                let result = self.deliver(place, 1, send);
                let left = self.batches[place].waiting();
                if let (Err(why), true) = (result, left > 0) {
                    waiting.push((self.members[place].id(), left, why));
                }
            }
            // One that has ended has passed its items on, to others that had their turn, perhaps.
            if self.open.len() == open {
                return if waiting.is_empty() { Ok(()) } else { Err(Unsent { waiting }) };
            }
        }
    }

    /// Sends a member what waits for it, in messages of at least so many items.
    fn deliver(&mut self, place: usize, least: usize, send: Sends<T>) -> Result<(), SendError<()>> {
        loop {
            let (member, batch) = (&self.members[place], &mut self.batches[place]);
            if member.is_closed() {
                return self.ended(place);
            }
            let (msg, items) = match batch.refused.take() {
                Some(refused) => refused,
                None if batch.items.len() < least => return Ok(()),
                None => {
                    let rest = batch.items.split_off(batch.items.len().min(self.most));
                    let items = std::mem::replace(&mut batch.items, rest);
                    let count = items.len();
                    ((self.msg)(items), count)
                }
            };
            match send(member, msg) {
                Ok(()) => {}
                Err(SendError::Closed(msg)) => {
                    // It has ended just now, as if with this message in its mailbox.
                    member.tell(msg);
                    return self.ended(place);
                }
                Err(error) => {
                    let why = error.map(|msg| batch.refused = Some((msg, items)));
                    return Err(why);
                }
            }
        }
    }

    /// Passes on what waits for a member that has ended.
    fn ended(&mut self, place: usize) -> Result<(), SendError<()>> {
        self.open.retain(|&open| open as usize != place);
        if let Some((msg, _)) = self.batches[place].refused.take() {
            // It is a message of that member's by now: a dead letter, as in its mailbox.
            self.members[place].tell(msg);
        }
        if self.open.is_empty() {
            let left = !self.batches[place].items.is_empty();
            return if left { Err(SendError::Closed(())) } else { Ok(()) };
        }
        for item in std::mem::take(&mut self.batches[place].items) {
            let heir = rendezvous((self.hash)(&item), self.open.iter().copied());
            let heir = heir.map_or(place, |heir| heir as usize);
            self.batches[heir].items.push(item);
        }
        Ok(())
    }
}

/// How a message is sent.
type Sends<T> = fn(&T, <T as Member>::Msg) -> Result<(), Refused<T>>;
type Refused<T> = SendError<<T as Member>::Msg>;

/// The same error with an item.
fn with<I>(error: SendError<()>, item: I) -> SendError<I> {
    error.map(|()| item)
}

impl<T: Tells, I: 'static> Drop for Batched<T, I> {
    fn drop(&mut self) {
        for (member, batch) in self.members.iter().zip(std::mem::take(&mut self.batches)) {
            if let Some((msg, _)) = batch.refused {
                member.tell(msg);
            }
            let mut items = batch.items;
            while !items.is_empty() {
                let rest = items.split_off(items.len().min(self.most));
                let items = std::mem::replace(&mut items, rest);
                // This may happen while a panic unwinds.
                match guard::catch(|| (self.msg)(items)) {
                    Ok(msg) => member.tell(msg),
                    Err(_) => guard::count_here(),
                }
            }
        }
    }
}

impl<T: Tells + fmt::Debug, I> fmt::Debug for Batched<T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batched").field("members", &self.members).finish_non_exhaustive()
    }
}
