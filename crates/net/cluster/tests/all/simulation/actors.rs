//! The actors of a simulated cluster: what they are sent and told, they write into the books.

use super::books::{Books, Who};
use actinium_actor::{Actor, Context, Reply};
use actinium_cluster::{Migrate, Movable, PayloadHandler, RemoteActor, RemoteAskError, RemoteDown};
use actinium_memory::heap::Payload;
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Sent by actors in their turns.
pub(super) const IN_TURNS: u8 = 0;
/// Sent from outside of all actors, with payloads and without: one sender.
pub(super) const FROM_OUTSIDE: u8 = 1;

/// What nodes send each other: numbered by its sender, and sealed, so that a liar's is told from a
/// true one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Message)]
pub(super) struct Letter {
    pub(super) node: u32,
    pub(super) life: u32,
    pub(super) to: u32,
    /// Which sender of that node.
    pub(super) stream: u8,
    /// Which session of the two nodes it is sent in, as the sender counts them.
    pub(super) session: u32,
    pub(super) number: u64,
    /// Bytes of the payload that comes with it.
    pub(super) bytes: u32,
    pub(super) filler: Vec<u8>,
    pub(super) seal: u64,
}

impl Letter {
    pub(super) fn sealed(mut self) -> Self {
        self.seal = self.true_seal();
        self
    }

    fn true_seal(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Letter { seal: 0x0005_ea1e, ..self.clone() }.hash(&mut hasher);
        hasher.finish()
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.seal == self.true_seal()
    }

    pub(super) fn from(&self) -> Who {
        Who { node: self.node, life: self.life }
    }

    /// What its payload holds at a place.
    pub(super) fn byte(&self, at: usize) -> u8 {
        (self.number as usize).wrapping_mul(31).wrapping_add(at ^ (at >> 8)) as u8
    }

    fn is_payload(&self, payload: &[u8]) -> bool {
        payload.len() == self.bytes as usize
            && (0..).zip(payload).all(|(at, &byte)| byte == self.byte(at))
    }
}

/// In a mailbox until it is handled.
pub(super) struct InMailbox {
    letter: Option<Letter>,
    payload: Option<Payload>,
}

/// What a node has for all others: it is sent letters and sends them, it asks and is asked, it
/// watches and is watched.
pub(super) struct Talker {
    pub(super) me: Who,
    pub(super) books: Books,
    /// Requests that it answers later.
    pub(super) kept: Vec<(u64, Reply<Answer>)>,
}

/// What was asked, and who answers.
pub(super) type Answer = (u64, u32, u32);
/// What to ask for, and how to answer.
pub(super) type Request = (u64, u8);

/// A request that is answered at once, never, or when the talker is told to.
pub(super) const AT_ONCE: u8 = 0;
pub(super) const NEVER: u8 = 1;
pub(super) const LATER: u8 = 2;

pub(super) type Deed = Box<dyn FnOnce(&mut Talker, &Context<'_, Talker>) + Send>;

pub(super) enum TalkerMsg {
    Letter(InMailbox),
    Asked(Request, Reply<Answer>),
    /// To do something in a turn.
    Do(Deed),
    /// Somebody has answered a request of this one.
    Answered(Who, u64, Result<Answer, RemoteAskError>),
    /// Somebody whom it watches has ended.
    Told(usize, RemoteDown),
}

impl Talker {
    pub(super) fn answer_what_is_kept(&mut self) {
        for (n, reply) in std::mem::take(&mut self.kept) {
            let _ = reply.send((n, self.me.node, self.me.life));
        }
    }
}

impl Actor for Talker {
    type Msg = TalkerMsg;

    fn handle(&mut self, msg: TalkerMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            TalkerMsg::Letter(mut it) => {
                let (Some(letter), payload) = (it.letter.take(), it.payload.take()) else { return };
                self.books.received(self.me, &letter);
                let is_right = letter.is_payload(payload.as_deref().unwrap_or_default());
                let is_honest = self.books.is_honest(letter.node, self.me.node);
                self.books.check(is_right || !is_honest || !letter.is_sealed(), || {
                    format!("{:?} has another payload with {letter:?}", self.me)
                });
            }
            TalkerMsg::Asked((n, how), reply) => match how {
                AT_ONCE => drop(reply.send((n, self.me.node, self.me.life))),
                LATER => self.kept.push((n, reply)),
                _ => drop(reply),
            },
            TalkerMsg::Do(deed) => deed(self, ctx),
            TalkerMsg::Answered(to, n, answer) => self.books.answered(self.me, to, n, &answer),
            TalkerMsg::Told(watch, down) => self.books.told(self.me, watch, &down.reason),
        }
    }
}

/// Letters that are dropped in a mailbox are lost with their node: who they were for says which.
impl Drop for InMailbox {
    fn drop(&mut self) {
        if let Some(letter) = self.letter.take() {
            lost(letter);
        }
    }
}

thread_local! {
    /// What was dropped undelivered: a message does not know the books.
    static LOST: std::cell::RefCell<Vec<Letter>> = const { std::cell::RefCell::new(Vec::new()) };
}

fn lost(letter: Letter) {
    LOST.with_borrow_mut(|lost| lost.push(letter));
}

/// The letters that were dropped since this was asked last.
pub(super) fn take_lost() -> Vec<Letter> {
    LOST.take()
}

impl RemoteActor for Talker {
    const KIND: &'static str = "simulation.talker";
    type Message = Letter;
    type Request = Request;
    type Answer = Answer;

    fn message(letter: Letter) -> TalkerMsg {
        TalkerMsg::Letter(InMailbox { letter: Some(letter), payload: None })
    }

    fn request(request: Request, reply: Reply<Answer>) -> TalkerMsg {
        TalkerMsg::Asked(request, reply)
    }

    fn with_payload(letter: Letter, payload: Payload) -> Result<TalkerMsg, (Letter, Payload)> {
        Ok(TalkerMsg::Letter(InMailbox { letter: Some(letter), payload: Some(payload) }))
    }
}

/// What one node has another start.
pub(super) struct Child {
    pub(super) id: u64,
    pub(super) books: Books,
}

/// What it may be sent.
pub(super) const END: u8 = 0;
pub(super) const PANIC: u8 = 1;

impl Actor for Child {
    type Msg = u8;

    fn handle(&mut self, msg: u8, ctx: &mut Context<'_, Self>) {
        match msg {
            END => ctx.stop(),
            // As a panic, but for the report on stderr.
            PANIC => std::panic::resume_unwind(Box::new("on purpose")),
            _ => {}
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.books.child_ended(self.id);
    }
}

impl RemoteActor for Child {
    const KIND: &'static str = "simulation.child";
    type Message = u8;
    type Request = ();
    type Answer = ();

    fn message(message: u8) -> u8 {
        message
    }

    fn request((): (), reply: Reply<()>) -> u8 {
        let _ = reply.send(());
        u8::MAX
    }
}

/// Has a name, or wants it.
pub(super) struct Owner {
    pub(super) id: u64,
    pub(super) books: Books,
}

impl Actor for Owner {
    type Msg = Option<Reply<u64>>;

    fn handle(&mut self, asked: Option<Reply<u64>>, _ctx: &mut Context<'_, Self>) {
        let _ = asked.map(|reply| reply.send(self.id));
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.books.unnamed(self.id);
    }
}

impl RemoteActor for Owner {
    const KIND: &'static str = "simulation.owner";
    type Message = ();
    type Request = ();
    type Answer = u64;

    fn message((): ()) -> Option<Reply<u64>> {
        None
    }

    fn request((): (), reply: Reply<u64>) -> Option<Reply<u64>> {
        Some(reply)
    }
}

/// State that moves: counts what came when it was not its turn.
#[derive(Clone, Default, Serialize, Deserialize, Message)]
pub(super) struct Ledger {
    last: BTreeMap<u64, u64>,
    disorder: u64,
}

impl Migrate for Ledger {
    const KIND: &'static str = "simulation.ledger";
    /// Which sender, and which message of it, from 1.
    type Message = (u64, u64);
    type Request = ();
    /// How many senders, and what was in disorder.
    type Answer = (u64, u64);

    fn message(&mut self, (from, number): (u64, u64), _ctx: &Context<'_, Movable<Self>>) {
        let last = self.last.entry(from).or_default();
        self.disorder += u64::from(number <= *last);
        *last = number;
    }

    fn with_payload() -> Option<PayloadHandler<Self>> {
        Some(|ledger, message, payload, ctx| {
            // Bytes of another message, or of none, are out of order, too.
            let is_whole = payload.iter().all(|&byte| byte == message.1 as u8);
            ledger.disorder += u64::from(!is_whole);
            ledger.message(message, ctx);
        })
    }

    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> (u64, u64) {
        (self.last.len() as u64, self.disorder)
    }
}
