//! The agent: a node's own actor, which takes events for the node's processor, and passes on what
//! that makes of them.

use crate::protocol::{Down, Up};
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::{RemoteActor, RemoteAddress, RemoteSendError};
use actinium_events::{Feeder, Next, Stopper};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers that one message holds at most, so that it fits in a frame.
const NUMBERS_MAX: usize = 1_000;

/// The events that the processor has not begun.
#[derive(Debug)]
pub(crate) struct Inbox<T>(Mutex<(VecDeque<T>, bool)>);

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox(Mutex::new((VecDeque::new(), false)))
    }
}

impl<T> Inbox<T> {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<T>, bool)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds events.
    pub(crate) fn push(&self, more: impl IntoIterator<Item = T>) {
        self.lock().0.extend(more);
    }

    /// Says that there will be no more.
    pub(crate) fn end(&self) {
        self.lock().1 = true;
    }

    /// Takes all back.
    pub(crate) fn clear(&self) -> Vec<T> {
        self.lock().0.drain(..).collect()
    }

    /// The next one, for a source.
    pub(crate) fn next(&self) -> Next<T> {
        let mut inbox = self.lock();
        match inbox.0.pop_front() {
            Some(next) => Next::Event(next),
            None if inbox.1 => Next::End,
            None => Next::Later,
        }
    }
}

/// The address of the coordinator.
pub(crate) enum Target<C: RemoteActor> {
    /// The coordinator on this node.
    Here(Address<C>),
    /// The coordinator on another node.
    There(RemoteAddress<C>),
}

/// The messages of an agent.
pub(crate) enum Msg<C: RemoteActor> {
    /// The queue is there.
    Coordinator(Target<C>),
    /// A message from the node with the queue.
    Down(Down),
    /// A message for the node with the queue.
    Up(Up),
    /// There is credit again, so a message that was refused is worth another try.
    Writable,
    /// The queue's node is gone: why.
    Lost(String),
}

/// The reason why a node takes no part, once there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exit(Arc<Mutex<Option<ExitReason>>>);

/// Why a node takes no part.
#[derive(Clone, Debug)]
pub(crate) enum ExitReason {
    /// The node with the queue refused this node.
    Refused(String),
    /// The node with the queue is gone.
    Lost(String),
}

impl Exit {
    /// The reason, if there is one by now.
    pub(crate) fn get(&self) -> Option<ExitReason> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, reason: ExitReason) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
    }
}

/// The agent of a node, for a coordinator of type `C`.
pub(crate) struct Agent<C: RemoteActor> {
    node: u32,
    inbox: Arc<Inbox<u64>>,
    feeder: Feeder,
    stopper: Stopper,
    exit: Exit,
    coordinator: Option<Target<C>>,
    backlog: VecDeque<Up>,
    waits_for_credit: bool,
}

impl<C: RemoteActor<Message = Up>> Agent<C> {
    /// The agent of this node, whose processor takes from this inbox.
    pub(crate) fn new(
        node: u32,
        inbox: Arc<Inbox<u64>>,
        feeder: Feeder,
        stopper: Stopper,
        exit: Exit,
    ) -> Self {
        let backlog = VecDeque::new();
        Agent {
            node,
            inbox,
            feeder,
            stopper,
            exit,
            coordinator: None,
            backlog,
            waits_for_credit: false,
        }
    }

    fn send(&mut self, ctx: &Context<'_, Self>) {
        if self.waits_for_credit {
            return;
        }
        let Some(coordinator) = &self.coordinator else { return };
        while let Some(up) = self.backlog.pop_front() {
            match coordinator {
                // A message that is refused is in the ledger.
                Target::Here(address) => drop(address.send(C::message(up))),
                Target::There(address) => match address.send(up) {
                    Err(RemoteSendError::Full(up)) => {
                        self.backlog.push_front(up);
                        self.waits_for_credit = true;
                        return ctx.pipe(address.ready(), |()| Msg::Writable);
                    }
                    // That the node is down is told by itself.
                    Ok(()) | Err(RemoteSendError::NodeDown(_)) => {}
                    Err(error) => {
                        self.exit.set(ExitReason::Lost(error.to_string()));
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
                self.exit.set(ExitReason::Refused(why));
                self.give_up();
            }
            Down::Stop => {
                let back = self.inbox.clear();
                let node = self.node;
                let pieces = back.chunks(NUMBERS_MAX);
                self.backlog.extend(pieces.map(|all| Up::Back { node, numbers: all.to_vec() }));
            }
            Down::End => self.inbox.end(),
        }
        self.feeder.wake();
    }
}

/// In pieces that fit in frames.
pub(crate) fn work(numbers: &[u64]) -> impl Iterator<Item = Down> + '_ {
    numbers.chunks(NUMBERS_MAX).map(|some| Down::Work(some.to_vec()))
}

impl<C: RemoteActor<Message = Up>> Actor for Agent<C> {
    type Msg = Msg<C>;

    fn handle(&mut self, msg: Msg<C>, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Coordinator(target) => self.coordinator = Some(target),
            Msg::Down(down) => self.down(down),
            Msg::Up(up) => self.backlog.push_back(up),
            Msg::Writable => self.waits_for_credit = false,
            Msg::Lost(why) => {
                self.exit.set(ExitReason::Lost(why));
                self.give_up();
            }
        }
        self.send(ctx);
    }
}

impl<C: RemoteActor<Message = Up>> RemoteActor for Agent<C> {
    const KIND: &'static str = "actinium.events.guest";
    type Message = Down;
    type Request = ();
    type Answer = ();

    fn message(down: Down) -> Msg<C> {
        Msg::Down(down)
    }

    fn request((): (), _: Reply<()>) -> Msg<C> {
        Msg::Writable
    }
}
