//! What a node does for handles in its messages.

use crate::actor_id::ActorId;
use crate::ask::AskError;
use crate::handle::at::{Elsewhere, Room, Ticket};
use crate::stop_reason::Down;
use actinium_wire::Encoding;
use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

/// What a handle is made of: the same actor and the same type of handle, the same ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// The actor's system, by the place of its state in memory.
    pub system: usize,
    /// The actor.
    pub actor: u64,
    /// The handle's type.
    pub of: TypeId,
}

/// What a message of another node to a handle of this process has come to.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// It was sent to the actor.
    Sent,
    /// The actor has ended.
    Ended,
    /// The bytes are no message that the handle takes.
    NotUnderstood,
}

// tidy: guard: an answer that comes, and code of this crate.
/// An answer's bytes that are under way.
type AnswerBytes = Pin<Box<dyn Future<Output = Result<Vec<u8>, AskError>> + Send>>;

/// What a request of another node to a handle of this process has come to.
pub enum Answering {
    /// The answer, encoded as the request was, or why there is none.
    Asked(AnswerBytes),
    /// The actor has ended.
    Ended,
    /// The bytes are no request that the handle takes.
    NotUnderstood,
}

/// A handle of this process that was given away. It does not keep its actor alive.
pub trait Given: Send + Sync {
    /// Sends the actor a message.
    fn tell(&self, encoding: Encoding, message: &[u8]) -> Told;
    /// Asks the actor.
    fn ask(&self, encoding: Encoding, request: &[u8]) -> Answering;
    // tidy: guard: what it holds of the user's is guarded (`Context::watch`).
    /// Tells when the actor has ended, at once if it has. `by` is the actor that wants to know, if
    /// one does.
    fn watch(&self, by: Option<ActorId>, notify: Box<dyn FnOnce(Down) + Send>);
    /// The handle's own type, which knows the type of messages.
    fn as_any(&self) -> &dyn Any;
    /// What the handle takes, for people to read.
    fn takes(&self) -> &'static str;
}

/// A reply handle of this process that was given away. If it is dropped before there was an answer,
/// the asker is told that there is none.
pub trait GivenReply: Send + Sync {
    /// Answers. False if the bytes are no answer that the asker takes: then it gets none.
    fn answer(&self, encoding: Encoding, answer: &[u8]) -> bool;
    /// Whether the asker may still wait.
    fn is_awaited(&self) -> bool;
}

// tidy: guard: an answer that comes, and code of this crate.
/// The bytes of an answer to another node that are under way; None: there is no answer.
pub type AnswerLater = Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send>>;

/// Appends the bytes of a message.
pub type Write<'a> = &'a mut dyn FnMut(&mut Vec<u8>) -> Result<(), String>;

// tidy: guard: it holds the way to the asker, and code of this crate.
/// Reads the bytes of an answer.
pub type Read = Box<dyn FnOnce(&[u8]) -> Result<(), String> + Send>;

// tidy: guard: it holds nothing of the user's.
/// A request to another node that is under way.
pub type Ask = Pin<Box<dyn Future<Output = Result<(), AskError>> + Send>>;

/// Why a message to another node was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSent {
    /// The actor has ended.
    Closed,
    /// Too much waits for its node.
    Full,
    /// Its node is down.
    NodeDown,
    /// It can not be encoded, or is too long.
    Unsendable,
}

/// The way to an actor of another node.
pub trait Line: Elsewhere {
    /// The encoding of messages. `is_same`: the other node knows them by the very same types.
    fn encoding(&self, is_same: bool) -> Option<Encoding>;
    /// Sends a message of this type.
    ///
    /// # Errors
    /// If it can not be sent.
    fn tell(&self, encoding: Encoding, of: &'static str, write: Write<'_>) -> Result<(), NotSent>;
    /// Lets what was sent so far leave at once.
    fn hurry(&self);
    /// Asks. Done when `read` has read the answer.
    fn ask(
        &self,
        encoding: Encoding,
        timeout: Option<Duration>,
        write: Write<'_>,
        read: Read,
    ) -> Ask;
    /// Waits so long.
    fn after(&self, delay: Duration) -> Room;
}

/// What a ticket leads to.
pub enum TakenIn {
    /// To an actor of this process.
    Here(Arc<dyn Given>),
    /// To one of another node, or to one of this that has ended.
    There(Arc<dyn Line>),
}

/// What a node does for handles in its messages.
pub trait Border: Send + Sync {
    /// Notes a handle of this process that leaves in a message, if it was not noted yet. The note
    /// lives until the actor ends.
    ///
    /// # Errors
    /// If the node has left, or its table of handles is full.
    fn give(
        self: Arc<Self>,
        origin: Origin,
        fingerprint: u64,
        given: &dyn Fn() -> Arc<dyn Given>,
    ) -> Result<Ticket, String>;

    /// Finds what a ticket leads to that has come in a message.
    ///
    /// # Errors
    /// If the ticket makes no sense.
    fn take(self: Arc<Self>, ticket: &Ticket) -> Result<TakenIn, String>;

    /// A way to an actor that has ended.
    fn ended(self: Arc<Self>, ticket: &Ticket) -> Arc<dyn Line>;

    /// Notes a reply handle that leaves in a message to node `to`. The note lives until the answer
    /// comes, that node is down, or the message turns out not to have been sent.
    ///
    /// # Errors
    /// If the node has left.
    fn give_reply(
        self: Arc<Self>,
        to: u32,
        fingerprint: u64,
        given: Arc<dyn GivenReply>,
    ) -> Result<Ticket, String>;

    /// The encoding of an answer. `is_same`: the other node knows it by the very same types.
    fn answers_in(&self, ticket: &Ticket, is_same: bool) -> Option<Encoding>;

    /// Takes a reply handle that has come in a message of node `from`: sends the answer there.
    ///
    /// # Errors
    /// If the handle is not of that node, or too many of its requests are open.
    fn take_reply(
        self: Arc<Self>,
        from: u32,
        ticket: &Ticket,
        encoding: Encoding,
        answer: AnswerLater,
    ) -> Result<(), String>;
}

// ---- which border
// ----------------------------------------------------------------------------------------------------

/// All borders of the process, by number. Threads note a number, which costs a message nothing that
/// has no handle in it.
static BORDERS: RwLock<BTreeMap<u64, Weak<dyn Border>>> = RwLock::new(BTreeMap::new());

/// The number of the last border.
static LAST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The border that the message on this thread crosses (0: none), and the node at the other
    /// side.
    static CROSSED: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
}

/// The number of a border, under which it is found as long as this lives.
#[derive(Debug)]
pub struct BorderId(u64);

impl BorderId {
    /// A number under which nothing is found yet.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        // Relaxed: only uniqueness matters.
        BorderId(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The number.
    #[inline(always)]
    pub fn number(&self) -> u64 {
        self.0
    }

    /// Lets a border be found.
    pub fn open(&self, border: Weak<dyn Border>) {
        BORDERS.write().unwrap_or_else(PoisonError::into_inner).insert(self.0, border);
    }
}

impl Drop for BorderId {
    fn drop(&mut self) {
        let gone = BORDERS.write().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        // Behind the lock: it may be the last reference.
        drop(gone);
    }
}

/// Calls `f`, which encodes or decodes messages of a node, whose border has this number, to or from
/// node `other`.
#[inline(always)]
pub fn crossing<R>(border: u64, other: u32, f: impl FnOnce() -> R) -> R {
    /// Puts the former ones back, even if `f` panics: encoding may send other messages.
    struct Before((u64, u32));

    impl Drop for Before {
        #[inline(always)]
        fn drop(&mut self) {
            CROSSED.set(self.0);
        }
    }

    let _before = Before(CROSSED.replace((border, other)));
    f()
}

/// A border that is crossed.
pub(super) struct Crossed {
    pub(super) number: u64,
    /// The node at the other side.
    pub(super) other: u32,
    pub(super) border: Arc<dyn Border>,
}

/// The border that is crossed now.
pub(super) fn crossed() -> Result<Crossed, String> {
    let (number, other) = CROSSED.get();
    let borders = BORDERS.read().unwrap_or_else(PoisonError::into_inner);
    let border = borders.get(&number).and_then(Weak::upgrade);
    let crossed = border.map(|border| Crossed { number, other, border });
    crossed.ok_or_else(|| {
        "handles of actors are data only in messages that go through a node of a cluster".to_owned()
    })
}
