//! Blocking work, on threads that may block.

use crate::actor::{Actor, Context};
use crate::actor_core::Inner;
use crate::state::offloads::Work;
use actinium_scheduler::guard::{self, Guarded, Panicked};
use std::cell::Cell;
use std::convert::identity;
use std::ptr;
use std::sync::Arc;

thread_local! {
    /// For which system the calling thread runs a closure.
    static OFFLOADED_BY: Cell<*const Inner> = const { Cell::new(ptr::null()) };
}

/// Whether the calling thread runs a closure that was offloaded in this system: a drain waits for
/// that.
pub(crate) fn is_offloaded_by(system: &Arc<Inner>) -> bool {
    OFFLOADED_BY.get() == Arc::as_ptr(system)
}

/// Whether panics of the calling thread are caught, and handed to supervision: it is a worker of a
/// system, or runs a closure that an actor has offloaded.
#[doc(hidden)]
pub fn is_supervised_here() -> bool {
    !OFFLOADED_BY.get().is_null() || actinium_scheduler::current(|worker| worker.is_some())
}

/// One closure, until it has ended.
pub(crate) struct Running(Arc<Inner>, Work);

impl Running {
    /// Counts a closure that will run.
    pub(crate) fn begin(system: Arc<Inner>, work: Work) -> Self {
        system.offloads.begin(work);
        Running(system, work)
    }

    /// Runs it; it catches its panics. Its count ends last, for others wait for it.
    pub(crate) fn run(self, closure: impl FnOnce()) {
        OFFLOADED_BY.set(Arc::as_ptr(&self.0));
        closure();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        OFFLOADED_BY.set(ptr::null());
        self.0.offloads.end(self.1);
    }
}

/// Runs a closure that catches its panics on a thread that may block.
pub(crate) fn offload(system: &Arc<Inner>, work: Work, closure: impl FnOnce() + Send + 'static) {
    let running = Running::begin(system.clone(), work);
    blocking::unblock(move || running.run(closure)).detach();
}

impl<A: Actor> Context<'_, A> {
    /// Runs a closure that may block on a thread of a pool that grows and shrinks with need; its
    /// result comes as the message that `msg` makes of it.
    ///
    /// It keeps this actor alive, and [`crate::Shutdown::Drain`] waits for it. A panic in it is
    /// this actor's own failure: its supervision decides, and [`crate::Failure`] says what the
    /// panic said. ([`Context::offload_catch_unwind`] makes a message of it.)
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Shutdown, System};
    /// struct Reader;
    /// impl Actor for Reader {
    ///     type Msg = std::io::Result<String>;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         ctx.offload(|| std::fs::read_to_string("/proc/self/comm"), |text| text);
    ///     }
    ///     fn handle(&mut self, text: Self::Msg, _ctx: &mut Context<'_, Self>) {
    ///         println!("{text:?}");
    ///     }
    /// }
    /// let system = System::builder().workers(1).build()?;
    /// system.spawn(Reader);
    /// assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn offload<T: Send + 'static>(
        &self,
        closure: impl FnOnce() -> T + Send + 'static,
        msg: impl FnOnce(T) -> A::Msg + Send + 'static,
    ) {
        let msg = Guarded::new(msg);
        self.offload_and(closure, move |result| result.map(|result| msg.into_inner()(result)));
    }

    /// Offloads as [`Context::offload`] does, but a panic in the closure comes as a message, too:
    /// as [`Panicked`], and the actor goes on.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Panicked, Shutdown, System};
    /// struct Careful;
    /// impl Actor for Careful {
    ///     type Msg = Result<u32, Panicked>;
    ///     fn started(&mut self, ctx: &mut Context<'_, Self>) {
    ///         ctx.offload_catch_unwind(|| panic!("no"), |result| result);
    ///     }
    ///     fn handle(&mut self, result: Self::Msg, _ctx: &mut Context<'_, Self>) {
    ///         assert_eq!(result.unwrap_err().message(), "no");
    ///     }
    /// }
    /// let system = System::builder().workers(1).build()?;
    /// system.spawn(Careful);
    /// assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn offload_catch_unwind<T: Send + 'static>(
        &self,
        closure: impl FnOnce() -> T + Send + 'static,
        msg: impl FnOnce(Result<T, Panicked>) -> A::Msg + Send + 'static,
    ) {
        let msg = Guarded::new(msg);
        self.offload_and(closure, move |result| Ok(msg.into_inner()(result)));
    }

    /// `msg` makes the message of the result, or leaves it at the panic.
    fn offload_and<T: Send + 'static>(
        &self,
        closure: impl FnOnce() -> T + Send + 'static,
        msg: impl FnOnce(Result<T, Panicked>) -> Result<A::Msg, Panicked> + Send + 'static,
    ) {
        let me = self.address();
        let closure = Guarded::new(closure);
        let beside = self.core().beside("offload");
        offload(&self.core().system, Work::Closure, move || {
            let me = me;
            let result = guard::catch(|| beside.scope(closure.into_inner()));
            let mut error = result.is_err().then_some("the closure panicked");
            match guard::catch(|| beside.scope(|| msg(result))).and_then(identity) {
                Ok(msg) => beside.scope(|| me.tell_at_any_time(msg)),
                Err(panicked) => {
                    error = error.or(Some("making the message panicked"));
                    me.0.core.fail(panicked);
                }
            }
            beside.end(error);
        });
    }
}
