//! Streams and iterators whose items an actor handles as messages, no faster than it can.

use crate::actor::{Actor, Context};
use crate::actor_core::CoreRef;
use crate::cell::waits::{Source, StreamId};
use crate::feed::{Detached, Output, feed};
use crate::offload::offload;
use crate::state::offloads::Work;
use actinium_scheduler::guard::{self, Guarded};
use futures_util::{Stream, StreamExt};

impl<A: Actor> Context<'_, A> {
    /// Lets this actor handle each item of a stream as the message that `msg` makes of it, until
    /// the stream ends.
    ///
    /// The actor polls the stream itself, in its turns: for at most 64 items while its mailbox is
    /// empty, and else for one, every other turn. So a stream is at most those ahead of its actor.
    /// Items join the messages of the mailbox. To learn of the end, let the stream say so:
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Shutdown, System};
    /// use futures_lite::{StreamExt, stream};
    ///
    /// struct Sum(u64);
    ///
    /// impl Actor for Sum {
    ///     type Msg = Option<u64>;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         let numbers = stream::iter(1..=100).map(Some);
    ///         ctx.attach_stream(numbers.chain(stream::once(None)), |number| number);
    ///     }
    ///     fn handle(&mut self, number: Option<u64>, _ctx: &mut Context<'_, Self>) {
    ///         match number {
    ///             Some(number) => self.0 += number,
    ///             None => assert_eq!(self.0, 5050),
    ///         }
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// system.spawn(Sum(0));
    /// system.wait_idle(std::time::Duration::from_secs(60))?;
    /// assert_eq!(system.shutdown(Shutdown::Drain).handled, 101);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A stream keeps its actor alive. It is dropped when the actor ends, restarts or is asked to
    /// stop, and, as timers are, when the system drains: a stream that never ends does not hold up
    /// a shutdown. A panic in it, or in `msg`, is the actor's failure; the items
    /// before it are messages like others: if the actor is restarted, its next instance handles
    /// those that wait. While the actor holds for a
    /// future ([`Context::hold`]), its streams wait. With the feature `tokio` and
    /// `SystemBuilder::tokio` they are polled inside that runtime.
    pub fn attach_stream<S>(
        &self,
        stream: S,
        msg: impl FnMut(S::Item) -> A::Msg + Send + 'static,
    ) -> StreamId
    where
        S: Stream + Send + 'static,
    {
        self.attach_source(stream, msg, false)
    }

    /// Attaches what an iterator gives, as [`Context::attach_stream`] does, for iterators that may
    /// block (lines of a file, say): the iterator runs on a thread of the pool of
    /// [`Context::offload`], at most 128 items ahead of the actor: 64 there, and
    /// 64 in its mailbox.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, System};
    /// use std::io::{BufRead, Cursor};
    ///
    /// struct Words(usize);
    ///
    /// impl Actor for Words {
    ///     type Msg = std::io::Result<String>;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         let file = Cursor::new("a line\nand another one\n"); // or a file
    ///         ctx.attach_iter(file.lines(), |line| line);
    ///     }
    ///     fn handle(&mut self, line: Self::Msg, _ctx: &mut Context<'_, Self>) {
    ///         match line {
    ///             Ok(line) => self.0 += line.split(' ').count(),
    ///             Err(error) => eprintln!("{error}"),
    ///         }
    ///     }
    ///     fn stopped(&mut self, _: &mut Context<'_, Self>, _: &actinium_actor::StopReason) {
    ///         assert_eq!(self.0, 5);
    ///     }
    /// }
    ///
    /// let mut system = actinium_actor::testing::TestSystem::seeded(1);
    /// system.spawn(Words(0));
    /// system.run_until_idle();
    /// assert_eq!(system.stats().actors, 0);
    /// ```
    ///
    /// The drain of a system ends the stream, and does not wait for an iterator that blocks. What
    /// has to be read to its end belongs into [`Context::offload_stream`], which a drain waits for.
    /// A [`TestSystem`](crate::testing::TestSystem) waits for both.
    pub fn attach_iter<I>(
        &self,
        iterator: I,
        msg: impl FnMut(I::Item) -> A::Msg + Send + 'static,
    ) -> StreamId
    where
        I: IntoIterator + Send + 'static,
        I::Item: Send + 'static,
    {
        let each = move |output: &mut Output<I::Item>| {
            iterator.into_iter().try_for_each(|item| output.send(item))
        };
        self.attach_closure(Work::Reading, each, msg)
    }

    /// Runs a closure that may block, as [`Context::offload`] does, but lets it send any number of
    /// results: each is handled as the message that `msg` makes of it. The closure waits while 64
    /// results wait for the actor.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Shutdown, System};
    ///
    /// struct Primes(Vec<u32>);
    ///
    /// impl Actor for Primes {
    ///     type Msg = u32;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         let search = |output: &mut actinium_actor::Output<u32>| {
    ///             for n in (2..100).filter(|n| (2..*n).all(|d| n % d != 0)) {
    ///                 output.send(n)?;
    ///             }
    ///             Ok(())
    ///         };
    ///         ctx.offload_stream(search, |prime| prime);
    ///     }
    ///     fn handle(&mut self, prime: u32, _ctx: &mut Context<'_, Self>) {
    ///         self.0.push(prime);
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// system.spawn(Primes(Vec::new()));
    /// assert_eq!(system.shutdown(Shutdown::Drain).handled, 25);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A drain waits for the closure, and for what it sends. When the actor ends or restarts, the
    /// closure learns so from its next [`Output::send`]. A panic in it is the actor's failure.
    pub fn offload_stream<T: Send + 'static>(
        &self,
        closure: impl FnOnce(&mut Output<T>) -> Result<(), Detached<T>> + Send + 'static,
        msg: impl FnMut(T) -> A::Msg + Send + 'static,
    ) -> StreamId {
        self.attach_closure(Work::Closure, closure, msg)
    }

    /// Drops a stream of this actor, or what is left of it; false if it has ended. Its items that
    /// were not handled yet are dropped with it.
    pub fn detach(&self, stream: StreamId) -> bool {
        let source = self.with_waits(|waits| waits.detach(stream));
        source.is_some()
    }

    fn attach_closure<T: Send + 'static>(
        &self,
        work: Work,
        closure: impl FnOnce(&mut Output<T>) -> Result<(), Detached<T>> + Send + 'static,
        msg: impl FnMut(T) -> A::Msg + Send + 'static,
    ) -> StreamId {
        let (me, closure) = (CoreRef::new(self.core()), Guarded::new(closure));
        let system = &self.core().system;
        let (mut output, items) = feed(system.clone(), work);
        offload(system, work, move || {
            let called = guard::catch(move || {
                // The actor takes no more: that is nobody's fault.
                let _ = closure.into_inner()(&mut output);
            });
            if let Err(panicked) = called {
                me.fail(panicked);
            }
        });
        self.attach_source(items, msg, work == Work::Closure)
    }

    fn attach_source<S>(
        &self,
        stream: S,
        msg: impl FnMut(S::Item) -> A::Msg + Send + 'static,
        outlives_drain: bool,
    ) -> StreamId
    where
        S: Stream + Send + 'static,
    {
        let mut msg = Guarded::new(msg);
        let stream = Guarded::new(Box::pin(stream.map(move |item| (*msg)(item))) as _);
        self.with_waits(|waits| {
            waits.attach(|id| Source { id, stream: Some(stream), outlives_drain })
        })
    }
}
