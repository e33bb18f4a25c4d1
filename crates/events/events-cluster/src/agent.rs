//! The agent: a node's own actor, which takes events for the node's graph, and passes on what that
//! makes of them.

use crate::ending::Ending;
use crate::figures::NodeFigures;
use crate::outcome::why_down;
use crate::parts::{Inboxes, Part};
use crate::protocol::{Barrier, Down, EVENT_BYTES_MAX, HasBytes, Joined, NUMBERS_MAX, Up};
use crate::reader::called;
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::job::{FIRST, JobError};
use actinium_cluster::{RemoteActor, RemoteAddress, RemoteAnswer, RemoteDown, RemoteSendError};
use actinium_events::nodes::Given;
use actinium_events::{Feeder, Next, Stopper, Transition};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

/// The address of the coordinator.
pub(crate) enum Target<C: RemoteActor> {
    /// The coordinator on this node.
    Here(Address<C>),
    /// The coordinator on another node.
    There(RemoteAddress<C>),
}

/// What is known when a node's graph has ended: why it could not go on, if so, and its figures.
pub(crate) type Ran = (Option<String>, Box<NodeFigures>);

/// The messages of an agent.
pub(crate) enum Msg<C: RemoteActor> {
    /// The coordinator is on this node.
    Coordinator(Address<C>),
    /// The coordinator is looked for on the first node.
    Meet(RemoteAnswer<RemoteAddress<C>>),
    /// It was found, or not.
    Met(Result<RemoteAddress<C>, String>),
    /// A message from the node with the queue.
    Down(NodeId, Down),
    /// A message for the node with the queue.
    Up(Up),
    /// There is credit again, so a message that was refused is worth another try.
    Writable,
    /// The queue is gone: why.
    Lost(String),
    /// The graph runs on this node's system: its end.
    Runs(Pin<Box<dyn Future<Output = Ran> + Send>>),
    /// The graph has ended. If it could not go on: why.
    Ended(Option<String>),
    /// The figures of this node.
    Figures(Box<NodeFigures>),
    /// The graph did not start: nobody waits for this node's part.
    GiveUp,
}

/// The agent of a node, for a coordinator of type `C`.
pub(crate) struct Agent<C: RemoteActor> {
    is_first: bool,
    inboxes: Inboxes,
    part: Arc<dyn Part>,
    feeder: Feeder,
    stopper: Stopper,
    ending: Ending,
    coordinator: Option<Target<C>>,
    backlog: VecDeque<Up>,
    waits_for_credit: bool,
    joined: Joined,
    reads_pieces: bool,
    /// The queue has no more events.
    was_told_end: bool,
    /// The graph has ended.
    has_ended: bool,
    /// What ends this node's part before the whole is over.
    exit: Option<JobError>,
    /// The figures have come where they belong.
    is_done: bool,
}

impl<C: RemoteActor<Message = Up>> Agent<C> {
    /// The agent of a node, whose graph takes from these inboxes.
    pub(crate) fn new(
        node: NodeId,
        inboxes: Inboxes,
        part: Arc<dyn Part>,
        (feeder, stopper): (Feeder, Stopper),
        ending: Ending,
    ) -> Self {
        Agent {
            is_first: node == FIRST,
            inboxes,
            part,
            feeder,
            stopper,
            ending,
            coordinator: None,
            backlog: VecDeque::new(),
            waits_for_credit: false,
            joined: Joined::default(),
            reads_pieces: false,
            was_told_end: false,
            has_ended: false,
            exit: None,
            is_done: false,
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
                Target::Here(address) => drop(address.send(C::message_from(FIRST, up))),
                Target::There(address) => match address.send(up) {
                    Err(RemoteSendError::Full(up)) => {
                        self.backlog.push_front(up);
                        self.waits_for_credit = true;
                        return ctx.pipe(address.ready(), |()| Msg::Writable);
                    }
                    // That the node is down is told by itself.
                    Ok(()) | Err(RemoteSendError::NodeDown(_)) => {}
                    Err(error) => {
                        return self.give_up(JobError::failed(format!("{FIRST}: {error}")));
                    }
                },
            }
        }
    }

    fn up(&mut self, up: Up) {
        match self.is_first {
            true => self.backlog.push_back(up),
            false => self.backlog.extend(up.parts()),
        }
    }

    /// Whatever the graph is at is of no use any more.
    fn give_up(&mut self, why: JobError) {
        self.exit.get_or_insert(why);
        self.inboxes.given.clear();
        self.inboxes.given.end();
        self.stopper.stop();
        self.stopper.stop();
    }

    fn met(&mut self, found: Result<RemoteAddress<C>, String>, ctx: &Context<'_, Self>) {
        match found {
            Ok(address) => {
                address.watch(ctx, |RemoteDown { node, reason }| {
                    Msg::Lost(format!("{node} is down: {}", why_down(node, &reason)))
                });
                self.coordinator = Some(Target::There(address));
            }
            Err(why) => self.give_up(JobError::Failed(why)),
        }
    }

    fn down(&mut self, mut down: Down) {
        if let Down::Part(bytes) = &down {
            if !self.joined.part(bytes) {
                let why = format!("{FIRST} sends more than {EVENT_BYTES_MAX} bytes for an event");
                self.give_up(JobError::Failed(why));
            }
            return;
        }
        self.joined.complete(&mut down);
        match down {
            Down::Work(numbers) => {
                let given = |number| Next::Event(Given::Event { number, bytes: Vec::new() });
                self.inboxes.given.push(numbers.into_iter().map(given));
            }
            Down::Event { number, bytes } => {
                let bytes = Vec::from(bytes.into_bytes());
                self.inboxes.given.push([Next::Event(Given::Event { number, bytes })]);
            }
            Down::Piece { piece, done } => self.piece(piece, &done),
            Down::Transition { kind, number, conditions } => {
                self.transition(kind, number, &conditions);
            }
            Down::Refused(why) => self.give_up(JobError::Setting(why)),
            Down::Stop => self.stop(),
            Down::End => {
                self.was_told_end = true;
                self.inboxes.given.end();
            }
            Down::Bye => {
                self.is_done = true;
                self.up(Up::Gone);
            }
            Down::Part(_) => {}
        }
        self.feeder.wake();
    }

    fn piece(&mut self, piece: u32, done: &[u8]) {
        self.reads_pieces = true;
        match serde_json::from_slice::<Vec<(u64, u64)>>(done) {
            Ok(ranges) => {
                let done = ranges.into_iter().flat_map(|(from, to)| from..to).collect();
                self.inboxes.given.push([Next::Event(Given::Piece { piece, done })]);
            }
            Err(error) => {
                self.give_up(JobError::failed(format!("{FIRST}: a piece of the source: {error}")));
            }
        }
    }

    fn transition(&mut self, kind: Barrier, number: u64, conditions: &[u8]) {
        let transition = kind.of(number);
        // The first node has loaded them itself.
        if let (Transition::BeginRun(run), false) = (transition, self.is_first)
            && let Err(cause) = called(|| self.part.set_conditions(run, conditions))
        {
            let cause = format!("the conditions of run {run} can not be used: {cause}");
            return self.up(Up::Broken { cause: short(&cause) });
        }
        self.inboxes.given.push([Next::Transition(transition)]);
    }

    fn stop(&mut self) {
        let back = self.inboxes.given.clear();
        if self.reads_pieces {
            self.stopper.stop();
        }
        let numbers = back.into_iter().filter_map(|given| match given {
            Given::Event { number, .. } => Some(number),
            Given::Piece { .. } => None,
        });
        let numbers: Vec<u64> = numbers.collect();
        for some in numbers.chunks(NUMBERS_MAX) {
            self.up(Up::Back { numbers: some.to_vec() });
        }
    }

    fn ended(&mut self, failure: Option<String>) {
        self.has_ended = true;
        if self.exit.is_none() && !self.was_told_end {
            self.up(match failure {
                Some(cause) => Up::Broken { cause: short(&cause) },
                None => Up::Leaves,
            });
        }
    }

    fn figures(&mut self, figures: &NodeFigures) {
        match serde_json::to_vec(figures) {
            Ok(bytes) => self.up(Up::Figures(bytes.into())),
            Err(error) => self.exit = Some(JobError::failed(error)),
        }
    }

    /// Ends if all is said, or nothing is to be said any more.
    fn leave(&mut self, ctx: &Context<'_, Self>) {
        let has_left = self.is_done && self.backlog.is_empty();
        if !self.has_ended || !(has_left || self.exit.is_some()) {
            return;
        }
        // On the first node the coordinator knows what came of all.
        if !self.is_first {
            self.ending.set(self.exit.take().map_or(Ok(None), Err));
        }
        ctx.stop();
    }
}

impl<C: RemoteActor<Message = Up>> Actor for Agent<C> {
    type Msg = Msg<C>;

    fn handle(&mut self, msg: Msg<C>, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Coordinator(address) => self.coordinator = Some(Target::Here(address)),
            Msg::Meet(found) => ctx.pipe(found, |found| {
                let none = |error| format!("{FIRST}, which keeps the queue: {error}");
                Msg::Met(found.map_err(none))
            }),
            Msg::Met(found) => self.met(found, ctx),
            // Nobody else has anything to say.
            Msg::Down(FIRST, down) => self.down(down),
            Msg::Down(..) => {}
            Msg::Up(up) => self.up(up),
            Msg::Writable => self.waits_for_credit = false,
            Msg::Lost(_) if self.is_done => self.backlog.clear(),
            Msg::Lost(why) => self.give_up(JobError::Failed(why)),
            Msg::Runs(end) => {
                let me = ctx.address();
                ctx.pipe(end, move |(failure, figures)| {
                    me.tell(Msg::Ended(failure));
                    Msg::Figures(figures)
                });
            }
            Msg::Ended(failure) => self.ended(failure),
            Msg::Figures(figures) => self.figures(&figures),
            Msg::GiveUp => return ctx.stop(),
        }
        self.send(ctx);
        self.leave(ctx);
    }
}

impl<C: RemoteActor> Drop for Agent<C> {
    /// Nobody waits for an actor that is gone.
    fn drop(&mut self) {
        if !self.is_first {
            self.ending.set(Err(JobError::failed("the system ended before the run")));
        }
    }
}

impl<C: RemoteActor<Message = Up>> RemoteActor for Agent<C> {
    const KIND: &'static str = "actinium.events.agent";
    type Message = Down;
    type Request = ();
    type Answer = ();

    /// Only the first node's messages count: see [`RemoteActor::message_from`].
    fn message(down: Down) -> Msg<C> {
        Msg::Down(FIRST, down)
    }

    fn message_from(node: NodeId, down: Down) -> Msg<C> {
        Msg::Down(node, down)
    }

    fn request((): (), _: Reply<()>) -> Msg<C> {
        Msg::Writable
    }
}

/// Shortens a module's message so that it fits in a frame with all the rest.
pub(crate) fn short(cause: &str) -> String {
    const CHARS_MAX: usize = 1_000;
    match cause.char_indices().nth(CHARS_MAX) {
        None => cause.to_owned(),
        Some((end, _)) => format!("{}...", &cause[..end]),
    }
}
