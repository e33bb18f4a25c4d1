//! Messages put aside, to be handled when the actor is ready for them.

use crate::actor::{Actor, Context};
use crate::cell::waits::Aside;
use actinium_scheduler::guard::Guarded;
use std::collections::VecDeque;
use std::fmt;

/// The stash is full; the message comes back: see [`Context::stash`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StashFull<M>(pub M);

impl<M> fmt::Debug for StashFull<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StashFull(..)")
    }
}

impl<M> fmt::Display for StashFull<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the stash is full: unstash first, raise Context::stash_limit, or refuse this {}",
            std::any::type_name::<M>()
        )
    }
}

impl<M> std::error::Error for StashFull<M> {}

impl<A: Actor> Context<'_, A> {
    /// Puts a message aside that this actor can not handle yet, behind those that it has put aside
    /// before. [`Context::unstash_all`] and [`Context::unstash`] bring them back.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, Shutdown, System};
    ///
    /// /// Writes lines, once it knows where.
    /// #[derive(Default)]
    /// struct Writer { file: Option<&'static str>, written: Vec<String> }
    ///
    /// enum Msg { Open(&'static str), Line(u32) }
    ///
    /// impl Actor for Writer {
    ///     type Msg = Msg;
    ///     fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
    ///         match (msg, self.file) {
    ///             (Msg::Line(line), Some(file)) => self.written.push(format!("{file}:{line}")),
    ///             (line @ Msg::Line(_), None) => ctx.stash(line).expect("few lines"),
    ///             (Msg::Open(file), _) => {
    ///                 self.file = Some(file);
    ///                 ctx.unstash_all();
    ///             }
    ///         }
    ///     }
    ///     fn stopped(&mut self, _: &mut Context<'_, Self>, _: &actinium_actor::StopReason) {
    ///         assert_eq!(self.written, ["log:1", "log:2", "log:3"]);
    ///     }
    /// }
    ///
    /// let system = System::builder().workers(1).build()?;
    /// let writer = system.spawn(Writer::default());
    /// for msg in [Msg::Line(1), Msg::Line(2), Msg::Open("log"), Msg::Line(3)] {
    ///     writer.send(msg)?;
    /// }
    /// assert_eq!(system.shutdown(Shutdown::Drain).dead, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// In the ledger ([`System::audit`](crate::System::audit)) a message counts as handled when it
    /// is put aside, and as sent and handled once more when it comes back. When the actor ends,
    /// what is left becomes dead letters. When it restarts, the new instance gets all of it first.
    ///
    /// # Errors
    /// If as many are put aside as may be ([`Context::stash_limit`]); the message comes back.
    pub fn stash(&self, msg: A::Msg) -> Result<(), StashFull<A::Msg>> {
        let stamp_ns = self.on().trace_stamp();
        let msg = Aside { stamp_ns, msg: Guarded::new(msg) };
        let refused = self.with_stash(|waits| {
            if waits.stash.len() >= waits.stash_limit {
                return Some(msg);
            }
            waits.stash.push_back(msg);
            None
        });
        refused.map_or(Ok(()), |Aside { stamp_ns, msg }| {
            self.core().trace_lost::<A::Msg>(stamp_ns, "the stash is full");
            Err(StashFull(msg.into_inner()))
        })
    }

    /// Sets how many messages may be put aside. Default: 1,000. What is put aside already stays.
    pub fn stash_limit(&self, messages: usize) {
        self.with_stash(|waits| waits.stash_limit = messages);
    }

    /// The number of messages that are put aside.
    pub fn stashed(&self) -> usize {
        self.with_stash(|waits| waits.stash.len())
    }

    /// Brings back all messages that were put aside. They are handled right after the present one,
    /// before the rest of the mailbox, in the order in which they were put aside.
    pub fn unstash_all(&self) {
        self.unstash(|_| true);
    }

    /// Brings back those messages for which `wanted` holds, as [`Context::unstash_all`] does; the
    /// others stay.
    pub fn unstash(&self, wanted: impl FnMut(&A::Msg) -> bool) {
        let left = self.with_stash(|waits| std::mem::take(&mut waits.stash));
        let (ready, kept) = (VecDeque::new(), VecDeque::new());
        Sorting { ctx: self, left, ready, kept }.sort(wanted);
        self.look_again();
    }
}

type Messages<A> = VecDeque<Aside<A>>;

/// The stash while the actor's code chooses from it. If that panics, nothing is lost.
struct Sorting<'c, 'a, A: Actor> {
    ctx: &'c Context<'a, A>,
    left: Messages<A>,
    ready: Messages<A>,
    kept: Messages<A>,
}

impl<A: Actor> Sorting<'_, '_, A> {
    fn sort(mut self, mut wanted: impl FnMut(&A::Msg) -> bool) {
        while let Some(msg) = self.left.front() {
            let to = if wanted(&msg.msg) { &mut self.ready } else { &mut self.kept };
            to.extend(self.left.pop_front());
        }
    }
}

impl<A: Actor> Drop for Sorting<'_, '_, A> {
    fn drop(&mut self) {
        self.ctx.with_waits(|waits| {
            waits.ready.append(&mut self.ready);
            waits.stash.append(&mut self.kept);
            waits.stash.append(&mut self.left);
        });
    }
}
