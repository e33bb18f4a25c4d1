//! What a coordinator knows of a source whose events are shared out: the events that no node has
//! run yet, and the run and block that are on.

use crate::protocol::Down;
use crate::queue::Queue;
use crate::reader::{self, Read, Reader};
use actinium_actor::Address;
use actinium_events::Transition;
use actinium_wire::Blob;
use std::collections::BTreeMap;

/// See the module.
pub(crate) struct Feeding {
    reader: Address<Reader>,
    /// Events that were asked for and have not come.
    asked: u64,
    /// The number of the next event.
    next: u64,
    /// The events that no node has run, by number.
    kept: BTreeMap<u64, Blob>,
    has_ended: bool,
    /// The source has nothing now.
    is_later: bool,
    /// A barrier before which all events have to be over.
    barrier: Option<(Transition, Down)>,
    /// What a node that comes later has to be told first: the run and the block that are on.
    on: Vec<(Transition, Down)>,
}

impl Feeding {
    /// Of a reader that was asked for nothing yet.
    pub(crate) fn new(reader: Address<Reader>) -> Self {
        Feeding {
            reader,
            asked: 0,
            next: 0,
            kept: BTreeMap::new(),
            has_ended: false,
            is_later: false,
            barrier: None,
            on: Vec::new(),
        }
    }

    /// The source has given something. An error ends the run after the events before it.
    pub(crate) fn read(&mut self, read: Read, queue: &mut dyn Queue) -> Result<(), String> {
        match read {
            Read::Event(bytes) => {
                self.asked = self.asked.saturating_sub(1);
                self.kept.insert(self.next, bytes.into());
                self.next += 1;
                queue.feed(1);
            }
            Read::Transition(transition, conditions) => {
                let down = Down::transition(transition, conditions.into());
                self.barrier = Some((transition, down));
            }
            Read::Later => self.is_later = true,
            Read::End(ended) => {
                self.has_ended = true;
                queue.end();
                return ended;
            }
        }
        Ok(())
    }

    /// The event, for a node.
    pub(crate) fn event(&self, number: u64) -> Option<Down> {
        let bytes = self.kept.get(&number)?.clone();
        Some(Down::Event { number, bytes })
    }

    /// No node has to run the event any more.
    pub(crate) fn forget(&mut self, number: u64) {
        self.kept.remove(&number);
    }

    /// What a node that comes now has to be told first.
    pub(crate) fn on(&self) -> impl Iterator<Item = Down> + '_ {
        self.on.iter().map(|(_, down)| down.clone())
    }

    /// Asks for as many events as the queue has room for. Returns the barrier that all nodes have
    /// come to, and pass now.
    pub(crate) fn go_on(&mut self, queue: &dyn Queue) -> Option<Down> {
        if self.has_ended || queue.is_stopped() {
            return None;
        }
        let passed = self.barrier.take_if(|_| queue.is_empty()).map(|(transition, down)| {
            self.pass(transition, &down);
            self.reader.tell(reader::Msg::Pass);
            down
        });
        let more = queue.room().saturating_sub(self.asked);
        if more > 0 {
            self.asked += more;
            self.reader.tell(reader::Msg::Want(more));
        }
        passed
    }

    fn pass(&mut self, transition: Transition, down: &Down) {
        match transition {
            begin @ Transition::BeginRun(_) => self.on = vec![(begin, down.clone())],
            Transition::EndRun(_) => self.on.clear(),
            begin @ Transition::BeginBlock(_) => {
                self.on.retain(|(on, _)| !matches!(on, Transition::BeginBlock(_)));
                self.on.push((begin, down.clone()));
            }
            Transition::EndBlock(_) => {
                self.on.retain(|(on, _)| !matches!(on, Transition::BeginBlock(_)));
            }
        }
    }

    /// An event is over: a source that had nothing may have something now.
    pub(crate) fn wake(&mut self) {
        if std::mem::take(&mut self.is_later) {
            self.reader.tell(reader::Msg::Wake);
        }
    }

    /// Nothing more is wanted.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
        self.kept.clear();
        self.reader.tell(reader::Msg::End);
    }
}
