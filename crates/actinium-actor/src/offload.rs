//! Blocking work, on threads that may block.

use crate::actor::Actor;
use crate::context::Context;
use crate::life::message_of;
use crate::system::Inner;
use actinium_scheduler::sync::{Condvar, Mutex, lock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Closures that run elsewhere.
#[derive(Default)]
pub(crate) struct Offloads {
    running: Mutex<u64>,
    changed: Condvar,
}

impl Offloads {
    fn begin(&self) {
        *lock(&self.running) += 1;
    }

    fn end(&self) {
        *lock(&self.running) -= 1;
        self.changed.notify_all();
    }

    /// Those who wait look again whether they still want to.
    pub(crate) fn look_again(&self) {
        let _running = lock(&self.running);
        self.changed.notify_all();
    }

    /// Waits until none runs, or the wait is cut short; false if none did.
    pub(crate) fn wait(&self, is_cut_short: impl Fn() -> bool) -> bool {
        let mut running = lock(&self.running);
        let waited = *running > 0 && !is_cut_short();
        while *running > 0 && !is_cut_short() {
            running = self.changed.wait(running).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        waited
    }
}

/// One closure, until it has ended.
struct Running(Arc<Inner>);

impl Running {
    fn begin(system: Arc<Inner>) -> Self {
        system.offloads.begin();
        Running(system)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.offloads.end();
    }
}

impl<A: Actor> Context<'_, A> {
    /// Runs a closure that may block on a thread of a pool that grows and shrinks with need; its result comes as the message that
    /// `msg` makes of it.
    ///
    /// It keeps this actor alive, and [`crate::Shutdown::Drain`] waits for it. If it panics, that is shown and counted like
    /// an actor's panic (`panicked`), and no message comes.
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
        let me = self.address();
        let running = Running::begin(me.0.core.system.clone());
        let work = move || {
            // It ends last, and whatever happens: a drain waits for it.
            let running = running;
            let me = me;
            // The delivery too: a message that comes back is dropped, and may panic then.
            let deliver = || me.tell_at_any_time(msg(closure()));
            if let Err(payload) = catch_unwind(AssertUnwindSafe(deliver)) {
                running.0.outside.panicked();
                let (id, kind) = (me.id(), me.0.core.kind());
                eprintln!(
                    "actinium: what {id} ({kind}) offloaded panicked: {}",
                    message_of(payload)
                );
            }
        };
        blocking::unblock(work).detach();
    }
}
