//! A node's own actor: it takes events for the node's processor, and passes on what that makes of them.

use super::host::Host;
use super::words::{Down, Up};
use actinium::prelude::*;
use actinium_cluster::{RemoteActor, RemoteAddress, RemoteSendError};
use actinium_events::{Feeder, Next, Stopper};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers that one message holds at most, so that it fits in a frame.
const NUMBERS_MAX: usize = 1_000;

/// Events that the processor has not begun.
#[derive(Debug)]
pub struct Inbox<T>(Mutex<(VecDeque<T>, bool)>);

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox(Mutex::new((VecDeque::new(), false)))
    }
}

impl<T> Inbox<T> {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<T>, bool)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More of them.
    pub fn push(&self, more: impl IntoIterator<Item = T>) {
        self.lock().0.extend(more);
    }

    /// There will be no more.
    pub fn end(&self) {
        self.lock().1 = true;
    }

    /// Takes all back.
    pub fn clear(&self) -> Vec<T> {
        self.lock().0.drain(..).collect()
    }

    /// What a source has next.
    pub fn next(&self) -> Next<T> {
        let mut inbox = self.lock();
        match inbox.0.pop_front() {
            Some(next) => Next::Event(next),
            None if inbox.1 => Next::End,
            None => Next::Later,
        }
    }
}

/// Where the queue is.
#[derive(Debug)]
pub enum Target {
    /// On this node.
    Here(Address<Host>),
    /// On another.
    There(RemoteAddress<Host>),
}

/// What a guest understands.
#[derive(Debug)]
pub enum Msg {
    /// The queue is there.
    Host(Target),
    /// From the queue.
    Down(Down),
    /// For the queue.
    Up(Up),
    /// What was refused is worth trying again.
    Room,
    /// The queue's node is gone: why.
    Lost(String),
}

/// Why a node takes no part, once it does not.
#[derive(Clone, Debug, Default)]
pub struct Fate(Arc<Mutex<Option<Lot>>>);

/// See [`Fate`].
#[derive(Clone, Debug)]
pub enum Lot {
    /// It was refused.
    Refused(String),
    /// The node with the queue is gone.
    Lost(String),
}

impl Fate {
    /// What it is now.
    pub fn get(&self) -> Option<Lot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, lot: Lot) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(lot);
    }
}

/// See the module.
#[derive(Debug)]
pub struct Guest {
    node: u32,
    inbox: Arc<Inbox<u64>>,
    feeder: Feeder,
    stopper: Stopper,
    fate: Fate,
    host: Option<Target>,
    backlog: VecDeque<Up>,
    waits_for_room: bool,
}

impl Guest {
    /// Of this node, whose processor takes from this inbox.
    pub fn new(
        node: u32,
        inbox: Arc<Inbox<u64>>,
        feeder: Feeder,
        stopper: Stopper,
        fate: Fate,
    ) -> Self {
        let backlog = VecDeque::new();
        Guest { node, inbox, feeder, stopper, fate, host: None, backlog, waits_for_room: false }
    }

    fn send(&mut self, ctx: &Context<'_, Self>) {
        if self.waits_for_room {
            return;
        }
        let Some(host) = &self.host else { return };
        while let Some(up) = self.backlog.pop_front() {
            match host {
                // A message that is refused is in the ledger.
                Target::Here(address) => drop(address.send(super::host::Msg::Up(up))),
                Target::There(address) => match address.send(up) {
                    Err(RemoteSendError::Full(up)) => {
                        self.backlog.push_front(up);
                        self.waits_for_room = true;
                        return ctx.pipe(address.room(), |()| Msg::Room);
                    }
                    // That the node is down is told by itself.
                    Ok(()) | Err(RemoteSendError::NodeDown(_)) => {}
                    Err(error) => {
                        self.fate.set(Lot::Lost(error.to_string()));
                        return self.give_up();
                    }
                },
            }
        }
    }

    /// Whatever the processor is at is of no use any more.
    fn give_up(&self) {
        self.inbox.clear();
        self.inbox.end();
        self.stopper.stop();
        self.stopper.stop();
    }

    fn down(&mut self, down: Down) {
        match down {
            Down::Work(numbers) => self.inbox.push(numbers),
            Down::Refused(why) => {
                self.fate.set(Lot::Refused(why));
                self.give_up();
            }
            Down::Stop => {
                let back = self.inbox.clear();
                let node = self.node;
                let words = back.chunks(NUMBERS_MAX);
                self.backlog.extend(words.map(|all| Up::Back { node, numbers: all.to_vec() }));
            }
            Down::End => self.inbox.end(),
        }
        self.feeder.wake();
    }
}

/// In pieces that fit in frames.
pub(super) fn work(numbers: &[u64]) -> impl Iterator<Item = Down> + '_ {
    numbers.chunks(NUMBERS_MAX).map(|some| Down::Work(some.to_vec()))
}

impl Actor for Guest {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Host(target) => self.host = Some(target),
            Msg::Down(down) => self.down(down),
            Msg::Up(up) => self.backlog.push_back(up),
            Msg::Room => self.waits_for_room = false,
            Msg::Lost(why) => {
                self.fate.set(Lot::Lost(why));
                self.give_up();
            }
        }
        self.send(ctx);
    }
}

impl RemoteActor for Guest {
    const KIND: &'static str = "actinium.events.guest";
    type Message = Down;
    type Question = ();
    type Answer = ();

    fn message(down: Down) -> Msg {
        Msg::Down(down)
    }

    fn question((): (), _: Reply<()>) -> Msg {
        Msg::Room
    }
}
