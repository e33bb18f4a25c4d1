//! Events that the program sends into a graph: a bounded queue with a source at its end.

use crate::cause::Cause;
use crate::module::{Next, Source};
use crate::product::Product;
use actinium_actor::SendError;
use actinium_scheduler::trace::{self, TraceContext};
use async_channel::{Receiver, Sender, TrySendError};
use futures_lite::Stream;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

/// A queue of at most `capacity` events (at least 1): what is sent becomes the events of the graph
/// that has the source. Senders are actors, threads, or async code; a graph that does not keep up
/// makes them wait, or tells them.
///
/// ```
/// use actinium_actor::{Actor, Context, SendError, System};
/// use actinium_events::{Builder, EventSender, Processor, Settings, channel};
///
/// /// Passes numbers on to a graph. One that the graph does not take now waits with it.
/// struct Reader(EventSender<u64>);
///
/// enum Msg { Read(u64), Taken(Result<(), SendError<u64>>), End }
///
/// impl Actor for Reader {
///     type Msg = Msg;
///     fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
///         match msg {
///             Msg::Read(number) => ctx.pipe(self.0.send(number), Msg::Taken),
///             Msg::Taken(sent) => assert!(sent.is_ok(), "the graph has ended"),
///             Msg::End => self.0.end(),
///         }
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let (sender, source) = channel(4);
/// let graph = Builder::new("numbers", source).build()?;
/// let running = Processor::new(graph, Settings::default()).start(&system)?;
/// let reader = system.spawn(Reader(sender));
/// (0..3).for_each(|number| reader.tell(Msg::Read(number)));
/// reader.tell(Msg::End);
/// assert_eq!(running.wait()?.events, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn channel<T: Product>(capacity: usize) -> (EventSender<T>, ChannelSource<T>) {
    let (sender, receiver) = async_channel::bounded(capacity.max(1));
    let shared = Arc::new(Shared::default());
    let source = ChannelSource {
        receiver: Box::pin(receiver),
        shared: shared.clone(),
        context: None,
        waker: Waker::noop().clone(),
    };
    (EventSender { sender, shared }, source)
}

/// An event in the queue, with the step of a trace that it was sent in, if it was.
struct Sent<T> {
    event: T,
    context: Option<Box<TraceContext>>,
}

impl<T> Sent<T> {
    fn here(event: T) -> Self {
        Sent { event, context: trace::current().map(Box::new) }
    }
}

#[derive(Debug, Default)]
struct Shared {
    /// A sender has said that no more events come.
    is_ended: AtomicBool,
    lost: AtomicU64,
}

/// Sends events into a graph. See [`channel`].
///
/// One of the senders has to say that no more events come ([`EventSender::end`]). If all are
/// dropped without that, because the actor that had the last one has failed, say, the run ends with
/// an error: after the events that were sent.
pub struct EventSender<T> {
    sender: Sender<Sent<T>>,
    shared: Arc<Shared>,
}

impl<T: Product> EventSender<T> {
    /// Sends an event, if the queue has capacity for it.
    ///
    /// # Errors
    /// [`SendError::Full`] if it has not, [`SendError::Closed`] if the run has ended, or somebody
    /// has said that no more events come.
    pub fn try_send(&self, event: T) -> Result<(), SendError<T>> {
        self.sender.try_send(Sent::here(event)).map_err(|error| match error {
            TrySendError::Full(sent) => SendError::Full(sent.event),
            TrySendError::Closed(sent) => SendError::Closed(sent.event),
        })
    }

    /// Sends an event, at once if the queue has capacity for it; else the future waits for that.
    /// For an actor: `ctx.pipe(sender.send(..), Msg::Sent)`. Events that wait at the same time may
    /// overtake each other: to keep an order, wait for one before you send the next.
    ///
    /// # Errors
    /// [`SendError::Closed`] as for [`EventSender::try_send`].
    pub fn send(&self, event: T) -> impl Future<Output = Result<(), SendError<T>>> + Send + use<T> {
        let (sent, sender) = (self.try_send(event), self.sender.clone());
        let context = sent.is_err().then(trace::current).flatten().map(Box::new);
        async move {
            let Err(SendError::Full(event)) = sent else { return sent };
            let sent = sender.send(Sent { event, context }).await;
            sent.map_err(|error| SendError::Closed(error.0.event))
        }
    }

    /// Sends an event; blocks the thread while the queue is full. On a worker of the graph's system
    /// it would wait for itself: use [`EventSender::send`] or [`EventSender::try_send`] there.
    ///
    /// # Errors
    /// [`SendError::Closed`] as for [`EventSender::try_send`]; on a worker, of whatever system,
    /// [`SendError::Full`] instead of a wait.
    pub fn send_blocking(&self, event: T) -> Result<(), SendError<T>> {
        if actinium_scheduler::current(|worker| worker.is_some()) {
            return self.try_send(event);
        }
        let sent = self.sender.send_blocking(Sent::here(event));
        sent.map_err(|error| SendError::Closed(error.0.event))
    }

    /// No more events come. Those that were sent still run; what is sent from now on comes back.
    pub fn end(&self) {
        // Release: pairs with the acquire in `next`, which looks when it has found the queue
        // closed.
        self.shared.is_ended.store(true, Ordering::Release);
        self.sender.close();
    }

    /// Events that were sent and that the run, which has ended, never began.
    pub fn lost(&self) -> u64 {
        // Relaxed: a count.
        self.shared.lost.load(Ordering::Relaxed)
    }
}

impl<T> Clone for EventSender<T> {
    fn clone(&self) -> Self {
        EventSender { sender: self.sender.clone(), shared: self.shared.clone() }
    }
}

impl<T> fmt::Debug for EventSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventSender({} wait)", self.sender.len())
    }
}

/// The source of the events that are sent into a [`channel`].
pub struct ChannelSource<T> {
    receiver: Pin<Box<Receiver<Sent<T>>>>,
    /// The step that the last event is part of.
    context: Option<Box<TraceContext>>,
    shared: Arc<Shared>,
    waker: Waker,
}

impl<T: Product> Source for ChannelSource<T> {
    type Product = T;

    fn next(&mut self, _number: u64) -> Result<Next<T>, Cause> {
        match self.receiver.as_mut().poll_next(&mut Context::from_waker(&self.waker)) {
            Poll::Ready(Some(Sent { event, context })) => {
                self.context = context;
                Ok(Next::Event(event))
            }
            Poll::Pending => Ok(Next::Later),
            // Acquire: pairs with the release in `end`.
            Poll::Ready(None) if self.shared.is_ended.load(Ordering::Acquire) => Ok(Next::End),
            Poll::Ready(None) => Err(
                "all its senders were dropped, and none had called EventSender::end: has the actor that sent events ended?".into(),
            ),
        }
    }

    fn context(&mut self) -> Option<TraceContext> {
        self.context.take().map(|context| *context)
    }

    fn attach(&mut self, waker: &Waker) {
        self.waker = waker.clone();
    }
}

impl<T> Drop for ChannelSource<T> {
    fn drop(&mut self) {
        self.receiver.close();
        while let Ok(event) = self.receiver.try_recv() {
            // Relaxed: a count.
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            drop(event);
        }
    }
}

impl<T> fmt::Debug for ChannelSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChannelSource({} wait)", self.receiver.len())
    }
}
