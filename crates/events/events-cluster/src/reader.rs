//! The reader: the first node's actor that reads a source whose events are shared out.
//!
//! It reads one event per message, so that others on its worker run in between, and only as many
//! as the coordinator asks for.

use crate::parts::Shared;
use crate::protocol::EVENT_BYTES_MAX;
use actinium_actor::{Actor, Context, Recipient, WeakAddress};
use actinium_events::{Cause, Next, Transition};
use actinium_scheduler::guard;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// What the source has given.
pub(crate) enum Read {
    /// An event.
    Event(Vec<u8>),
    /// A barrier, with the conditions of a run that begins.
    Transition(Transition, Vec<u8>),
    /// Nothing now.
    Later,
    /// Nothing any more; or it has failed.
    End(Result<(), String>),
}

/// The messages of a reader.
pub(crate) enum Msg {
    /// So many events more are wanted.
    Want(u64),
    /// The barrier has passed.
    Pass,
    /// The source may have something again.
    Wake,
    /// Read on.
    Next,
    /// Nothing more is wanted.
    End,
}

/// See the module.
pub(crate) struct Reader {
    source: Box<dyn Shared>,
    number: u64,
    events_max: u64,
    wanted: u64,
    /// Its source has nothing now.
    waits: bool,
    /// A barrier has not passed yet.
    is_at_barrier: bool,
    /// A message [`Msg::Next`] is under way.
    goes_on: bool,
    has_ended: bool,
    tell: Recipient<Read>,
}

impl Reader {
    /// A reader of a source, of which it takes no more events than this.
    pub(crate) fn new(source: Box<dyn Shared>, events_max: u64, tell: Recipient<Read>) -> Self {
        Reader {
            source,
            number: 0,
            events_max,
            wanted: 0,
            waits: false,
            is_at_barrier: false,
            goes_on: false,
            has_ended: false,
            tell,
        }
    }

    fn next(&mut self) -> Result<Read, String> {
        if self.number == self.events_max {
            return Ok(Read::End(Ok(())));
        }
        let number = self.number;
        let next = called(|| self.source.next(number))?;
        Ok(match next {
            Next::Event(bytes) | Next::Numbered(_, bytes) => {
                check(bytes.len(), || format!("event {number} of the source"))?;
                self.number += 1;
                self.wanted -= 1;
                Read::Event(bytes)
            }
            Next::Transition(transition) => {
                let conditions = match transition {
                    Transition::BeginRun(run) => called(|| self.source.conditions(run))
                        .map_err(|cause| format!("the conditions of run {run}: {cause}"))?,
                    _ => Vec::new(),
                };
                let about = || format!("the conditions that come with {transition:?}");
                check(conditions.len(), about)?;
                self.is_at_barrier = true;
                Read::Transition(transition, conditions)
            }
            Next::Later => {
                self.waits = true;
                Read::Later
            }
            Next::End => Read::End(Ok(())),
        })
    }

    fn is_due(&self) -> bool {
        self.wanted > 0 && !self.waits && !self.is_at_barrier && !self.has_ended
    }

    fn go_on(&mut self, ctx: &Context<'_, Self>) {
        if self.is_due() && !self.goes_on {
            self.goes_on = true;
            ctx.address().tell(Msg::Next);
        }
    }
}

/// Refuses what is too long to go to another node.
fn check(bytes: usize, about: impl FnOnce() -> String) -> Result<(), String> {
    match bytes > EVENT_BYTES_MAX {
        true => {
            Err(format!("{}: {bytes} bytes; at most {EVENT_BYTES_MAX} go to another node", about()))
        }
        false => Ok(()),
    }
}

/// Calls code of the program's own; a panic is an error, too.
pub(crate) fn called<T>(f: impl FnOnce() -> Result<T, Cause>) -> Result<T, String> {
    match guard::catch(f) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(cause)) => Err(cause.to_string()),
        Err(panicked) => Err(panicked.to_string()),
    }
}

struct Wakes(WeakAddress<Reader>);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(reader) = self.0.upgrade() {
            reader.tell(Msg::Wake);
        }
    }
}

impl Actor for Reader {
    type Msg = Msg;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let waker = Waker::from(Arc::new(Wakes(ctx.address().downgrade())));
        if let Err(cause) = called(|| self.source.attach(&waker)) {
            self.has_ended = true;
            let _ = self.tell.send(Read::End(Err(cause)));
        }
    }

    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Want(more) => self.wanted += more,
            Msg::Pass => self.is_at_barrier = false,
            Msg::Wake => self.waits = false,
            Msg::Next => {
                self.goes_on = false;
                if !self.is_due() {
                    return;
                }
                let read = self.next().unwrap_or_else(|cause| Read::End(Err(cause)));
                self.has_ended = matches!(read, Read::End(_));
                // Whoever wants it is there as long as the run is.
                let _ = self.tell.send(read);
            }
            Msg::End => return ctx.stop(),
        }
        self.go_on(ctx);
    }
}
