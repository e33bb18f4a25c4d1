//! Handlers that wait: the future's result comes back into the actor, with its state at hand.

use crate::actor::{Actor, Context};
use crate::cell::waits::{Each, held};
use crate::offload::offload;
use crate::state::offloads::Work;
use actinium_scheduler::guard::{self, Guarded, Panicked};
use futures_channel::oneshot;
use std::future::Future;

impl<A: Actor> Context<'_, A> {
    /// Lets this actor wait for a future when this call of it returns, and then calls `then` with
    /// the actor, the future's output and a context. The mailbox waits meanwhile, and the worker
    /// does not: it runs other actors.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Reply, Shutdown, System};
    ///
    /// struct Users { greeted: u32 }
    ///
    /// async fn name_of(id: u32) -> String {
    ///     format!("user {id}") // from a database, say
    /// }
    ///
    /// impl Actor for Users {
    ///     type Msg = (u32, Reply<String>);
    ///     fn handle(&mut self, (id, reply): Self::Msg, ctx: &mut Context<'_, Self>) {
    ///         ctx.hold(name_of(id), |this, name, _ctx| {
    ///             this.greeted += 1;
    ///             let _ = reply.send(format!("hello {name}, you are number {}", this.greeted));
    ///         });
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let users = system.spawn(Users { greeted: 0 });
    /// let hello = users.ask(|reply| (7, reply)).wait()?;
    /// assert_eq!(hello, "hello user 7, you are number 1");
    /// # system.shutdown(Shutdown::Drain);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// **Order.** No message is handled between this call and `then`; those that come meanwhile
    /// wait in the mailbox, in their order, and a bounded mailbox holds its senders back as ever.
    /// Only requests to end, and what supervision, watching and links do, are obeyed meanwhile. If
    /// one call holds several times, the futures are run in that order, one after the other. `then`
    /// may hold again: that future comes last of those.
    ///
    /// **The end.** When the actor ends or restarts, the future is dropped, and `then` with it.
    /// After [`Address::stop`](crate::Address::stop) the actor first waits for the future, then
    /// handles what is in its mailbox, and then ends; [`Address::kill`](crate::Address::kill) ends
    /// it at once. [`Shutdown::Drain`](crate::Shutdown::Drain) waits for the future, and so does
    /// [`System::wait_idle`](crate::System::wait_idle); give a future that may take for ever a
    /// deadline, or shut down with [`Shutdown::DrainWithin`](crate::Shutdown::DrainWithin). A panic
    /// of the future, or of `then`, is the actor's failure. In [`Actor::stopped`] there is nothing
    /// left to wait with: the future is dropped.
    ///
    /// **Where.** The actor itself polls the future, on its workers: it must not block (see
    /// [`Context::hold_blocking`]). With the feature `tokio` and `SystemBuilder::tokio` it is
    /// polled inside that runtime. The future and `then` take one allocation together.
    ///
    /// Two actors that hold for each other's answers wait for ever, unless one of them asks with a
    /// deadline. An actor that serves many at a time uses [`Context::concurrent`].
    pub fn hold<F, T>(&self, future: F, then: T)
    where
        F: Future + Send + 'static,
        T: FnOnce(&mut A, F::Output, &mut Context<'_, A>) + Send + 'static,
    {
        let held = held(future, then, self.core().beside("hold"));
        self.with_waits(|waits| {
            waits.held.push_back(held);
            waits.held_due = true;
        });
        self.core().begin_hold();
        // No message comes before it is looked at.
        self.look_again();
    }

    /// Holds, as [`Context::hold`] does, for a closure that may block: it runs on a thread of the
    /// pool of [`Context::offload`].
    ///
    /// Where it runs when the actor ends, it runs on, and its result is dropped; where it has not
    /// begun by then, it is not run. `Shutdown::Drain` waits for it.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Shutdown, System};
    /// struct Log { lines: usize }
    ///
    /// impl Actor for Log {
    ///     type Msg = &'static str;
    ///     fn handle(&mut self, path: &'static str, ctx: &mut Context<'_, Self>) {
    ///         let read = move || std::fs::read_to_string(path);
    ///         ctx.hold_blocking(read, |this, text, _ctx| match text {
    ///             Ok(text) => this.lines += text.lines().count(),
    ///             Err(error) => eprintln!("{error}"),
    ///         });
    ///     }
    /// }
    /// # let system = System::builder().workers(1).build()?;
    /// # system.spawn(Log { lines: 0 }).send("/proc/self/comm")?;
    /// # assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hold_blocking<R: Send + 'static>(
        &self,
        closure: impl FnOnce() -> R + Send + 'static,
        then: impl FnOnce(&mut A, R, &mut Context<'_, A>) + Send + 'static,
    ) {
        let (sender, result) = oneshot::channel();
        let closure = Guarded::new(closure);
        let beside = self.core().beside("hold_blocking");
        offload(&self.core().system, Work::Closure, move || {
            if sender.is_canceled() {
                return;
            }
            let result = guard::catch(|| beside.scope(closure.into_inner()));
            beside.end(result.is_err().then_some("the closure panicked"));
            if let Err(unwanted) = sender.send(result) {
                guard::drop_guarded(unwanted);
            }
        });
        self.hold_for_answer(result, then);
    }

    /// Holds for the result of a closure that runs elsewhere. Its panic is this actor's failure.
    pub(crate) fn hold_for_answer<R: Send + 'static>(
        &self,
        answer: oneshot::Receiver<Result<R, Panicked>>,
        then: impl FnOnce(&mut A, R, &mut Context<'_, A>) + Send + 'static,
    ) {
        self.hold(answer, |actor, result, ctx| match result {
            Ok(Ok(result)) => then(actor, result, ctx),
            Ok(Err(panicked)) => {
                ctx.core().system.count_panic();
                ctx.fail(panicked);
            }
            Err(oneshot::Canceled) => ctx.fail("the thread for its closure has ended"),
        });
    }

    /// Runs a future beside this actor, which goes on with its messages, and calls `then` with the
    /// actor, the output and a context when it is ready. Of such futures at most `limit` are under
    /// way: with the last that may be, the mailbox waits until one of them is done. (0 counts as 1;
    /// the latest limit counts.)
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Shutdown, System};
    ///
    /// struct Crawler { bytes: usize }
    ///
    /// async fn fetch(page: u32) -> String {
    ///     format!("page {page}") // from the net, say
    /// }
    ///
    /// impl Actor for Crawler {
    ///     type Msg = u32;
    ///     fn handle(&mut self, page: u32, ctx: &mut Context<'_, Self>) {
    ///         ctx.concurrent(10, fetch(page), |this, text, _ctx| this.bytes += text.len());
    ///     }
    ///     fn stopped(&mut self, _: &mut Context<'_, Self>, _: &actinium_actor::StopReason) {
    ///         assert_eq!(self.bytes, 10 * 6 + 90 * 7);
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let crawler = system.spawn(Crawler { bytes: 0 });
    /// (0..100).for_each(|page| crawler.tell(page));
    /// system.shutdown(Shutdown::Drain);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The results come in the order in which they are ready, each between two messages. All else
    /// is as for [`Context::hold`]: a drain waits for the futures, and they are dropped when the
    /// actor ends or restarts; after [`Address::stop`](crate::Address::stop) it waits for them.
    /// While the actor holds, they wait, too.
    pub fn concurrent<F, T>(&self, limit: usize, future: F, then: T)
    where
        F: Future + Send + 'static,
        T: FnOnce(&mut A, F::Output, &mut Context<'_, A>) + Send + 'static,
    {
        let each = Each::new(future, then, self.core().beside("concurrent"));
        let is_full = self.with_waits(|waits| {
            waits.fresh.push(each);
            waits.set_due = true;
            waits.under_way += 1;
            waits.limit = limit.max(1);
            waits.under_way >= waits.limit
        });
        self.core().begin_hold();
        if is_full {
            self.look_again();
        }
    }
}
