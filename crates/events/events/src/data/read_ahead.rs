//! A source that is read on a thread of its own, ahead of the events.
//!
//! The thread asks the source and puts its answers into a queue of bounded length; it waits while
//! the queue is full. Workers take from the queue. One that finds it empty says so in `is_asked`,
//! looks again, and leaves: the thread, which looks at `is_asked` after each answer that it has put
//! there, has the run ask again. So an answer that came between is found by one of the two.

use crate::{Cause, Next, Piece, Source};
use actinium_scheduler::guard::{self, Guarded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

type Answer<T> = Result<Next<T>, Cause>;

/// A source that is read ahead. See [`SourceExt::read_ahead`].
///
/// [`SourceExt::read_ahead`]: super::SourceExt::read_ahead
pub struct ReadAhead<S: Source> {
    state: State<S>,
    events: usize,
    flags: Arc<Flags>,
}

#[derive(Default)]
struct Flags {
    /// A worker has found the queue empty.
    is_asked: AtomicBool,
    /// Nobody takes from the queue any more.
    is_over: AtomicBool,
}

enum State<S: Source> {
    /// The run has not begun.
    Idle(Guarded<S>),
    Reads(Receiver<Answer<S::Product>>, Thread),
    Failed(Option<Cause>),
}

impl<S: Source> std::fmt::Debug for ReadAhead<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadAhead").field("events", &self.events).finish_non_exhaustive()
    }
}

impl<S: Source> ReadAhead<S> {
    pub(super) fn new(source: S, events: usize) -> Self {
        let state = State::Idle(Guarded::new(source));
        ReadAhead { state, events: events.max(1), flags: Arc::default() }
    }
}

impl<S: Source> Source for ReadAhead<S> {
    type Product = S::Product;

    fn next(&mut self, _number: u64) -> Answer<S::Product> {
        let answers = match &mut self.state {
            State::Reads(answers, _) => answers,
            State::Idle(_) => return Err("a source that is read ahead was not attached".into()),
            State::Failed(cause) => {
                return Err(cause.take().unwrap_or_else(|| "its thread did not start".into()));
            }
        };
        match answers.try_recv() {
            Ok(answer) => return answer,
            Err(TryRecvError::Disconnected) => return Ok(Next::End),
            Err(TryRecvError::Empty) => {}
        }
        // SeqCst: before the second look; the thread puts an answer and then looks at this.
        self.flags.is_asked.store(true, Ordering::SeqCst);
        match answers.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Disconnected) => Ok(Next::End),
            Err(TryRecvError::Empty) => Ok(Next::Later),
        }
    }

    fn attach(&mut self, waker: &Waker) {
        let before = std::mem::replace(&mut self.state, State::Failed(None));
        let State::Idle(source) = before else { return };
        let (put, answers) = sync_channel(self.events);
        let reader = Reader { source, put, flags: self.flags.clone(), waker: waker.clone() };
        let thread = thread::Builder::new().name("actinium-read".to_owned());
        self.state = match thread.spawn(move || reader.run()) {
            Ok(thread) => State::Reads(answers, thread.thread().clone()),
            Err(error) => State::Failed(Some(error.into())),
        };
    }

    fn pieces(&self) -> Vec<Piece> {
        match &self.state {
            State::Idle(source) => source.pieces(),
            State::Reads(..) | State::Failed(_) => Vec::new(),
        }
    }

    fn open(&mut self, _: u32) -> Result<(), Cause> {
        Err("a source that is read ahead as a whole has no pieces for nodes: read each piece ahead, in the closure of ByFile".into())
    }
}

impl<S: Source> Drop for ReadAhead<S> {
    /// Has the thread end: one that waits for its source looks at the flag, and one that waits for
    /// room in the queue finds it gone.
    fn drop(&mut self) {
        // SeqCst: before the thread is woken, which looks at this then.
        self.flags.is_over.store(true, Ordering::SeqCst);
        if let State::Reads(_, thread) = &self.state {
            thread.unpark();
        }
    }
}

/// What the thread has.
struct Reader<S: Source> {
    source: Guarded<S>,
    put: SyncSender<Answer<S::Product>>,
    flags: Arc<Flags>,
    waker: Waker,
}

impl<S: Source> Reader<S> {
    fn run(mut self) {
        let own = Waker::from(Arc::new(Unparks(thread::current())));
        if let Err(panicked) = guard::catch(|| self.source.attach(&own)) {
            self.put(Err(panicked.into()));
        } else {
            self.read();
        }
        let Reader { put, waker, .. } = self;
        // Whoever asks once more finds the end.
        drop(put);
        guard::wake(waker);
    }

    fn read(&mut self) {
        let mut number = 0;
        // SeqCst: see `drop`.
        while !self.flags.is_over.load(Ordering::SeqCst) {
            let answer = guard::catch(|| self.source.next(number));
            let answer = answer.unwrap_or_else(|panicked| Err(panicked.into()));
            if matches!(answer, Ok(Next::Later)) {
                // A wake-up that came before this is remembered.
                thread::park();
                continue;
            }
            let is_last = matches!(answer, Ok(Next::End) | Err(_));
            number += u64::from(matches!(answer, Ok(Next::Event(_) | Next::Numbered(..))));
            if !self.put(answer) || is_last {
                return;
            }
        }
    }

    /// Puts an answer into the queue; waits while it is full. False: nobody reads any more.
    fn put(&self, answer: Answer<S::Product>) -> bool {
        let is_read = self.put.send(answer).is_ok();
        // SeqCst: after the answer is there; see `next`.
        if self.flags.is_asked.swap(false, Ordering::SeqCst) {
            self.waker.wake_by_ref();
        }
        is_read
    }
}

/// Wakes the thread whose source had nothing.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
