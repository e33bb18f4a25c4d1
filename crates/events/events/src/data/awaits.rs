//! Sources that wait for the next event, and hold no thread meanwhile.

use crate::{Cause, Next, Product, Source};
use actinium_scheduler::guard::Guarded;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A source whose next event is a future: from a socket, a channel, or another program's stream.
///
/// ```
/// use actinium_events::data::{AsyncSource, Awaits};
/// use actinium_events::{Builder, Cause, Next, Processor, Settings};
///
/// struct Socket(u64);
/// impl AsyncSource for Socket {
///     type Product = u64;
///     async fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
///         // Here it would await what comes.
///         Ok(if number < self.0 { Next::Event(number) } else { Next::End })
///     }
/// }
/// let builder = Builder::new("numbers", Awaits::new(Socket(10)));
/// let summary = Processor::new(builder.build()?, Settings::default()).run()?.into_result()?;
/// assert_eq!(summary.events, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AsyncSource: Send + 'static {
    /// The type of the product that the source makes for each event.
    type Product: Product;
    /// The next event, like [`Source::next`]. One that has nothing yet waits;
    /// [`Next::Later`] has it asked again at the next event's end only.
    fn next(
        &mut self,
        number: u64,
    ) -> impl Future<Output = Result<Next<Self::Product>, Cause>> + Send;
}

type Answer<S> = (S, Result<Next<<S as AsyncSource>::Product>, Cause>);
// tidy: guard: it is held in a `Guarded`.
type Waiting<S> = Pin<Box<dyn Future<Output = Answer<S>> + Send>>;

/// An [`AsyncSource`] as a [`Source`]. Its futures are polled by workers; one that needs a runtime
/// of its own, for sockets say, is to be spawned there.
pub struct Awaits<S: AsyncSource> {
    /// None while its future is waited for, which has it.
    source: Option<Guarded<S>>,
    waiting: Option<Guarded<Waiting<S>>>,
    waker: Waker,
}

impl<S: AsyncSource> std::fmt::Debug for Awaits<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Awaits").field("waits", &self.waiting.is_some()).finish_non_exhaustive()
    }
}

impl<S: AsyncSource> Awaits<S> {
    /// Makes it a source.
    pub fn new(source: S) -> Self {
        let source = Some(Guarded::new(source));
        Awaits { source, waiting: None, waker: Waker::noop().clone() }
    }
}

impl<S: AsyncSource> Source for Awaits<S> {
    type Product = S::Product;

    fn next(&mut self, number: u64) -> Result<Next<S::Product>, Cause> {
        if let Some(source) = self.source.take() {
            let mut source = source.into_inner();
            let waiting: Waiting<S> = Box::pin(async move {
                let answer = source.next(number).await;
                (source, answer)
            });
            self.waiting = Some(Guarded::new(waiting));
        }
        let Some(waiting) = &mut self.waiting else {
            return Err("the source has panicked".into());
        };
        let mut context = Context::from_waker(&self.waker);
        match waiting.as_mut().poll(&mut context) {
            Poll::Pending => Ok(Next::Later),
            Poll::Ready((source, answer)) => {
                self.waiting = None;
                self.source = Some(Guarded::new(source));
                answer
            }
        }
    }

    fn attach(&mut self, waker: &Waker) {
        self.waker = waker.clone();
    }
}
