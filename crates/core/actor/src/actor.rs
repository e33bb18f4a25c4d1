//! The trait that users implement, and the context that its methods get.

use crate::actor_core::Core;
use crate::stop_reason::StopReason;
use actinium_scheduler::Worker;
use std::fmt;
use std::marker::PhantomData;

/// Writes a message as a text: see [`Actor::SHOW_MESSAGE`].
pub type ShowMessage<M> = fn(&M, &mut fmt::Formatter<'_>) -> fmt::Result;

/// State that is touched by one message at a time.
///
/// An actor has one message type, so that a message lies in its mailbox by value. It runs on one
/// worker at a time, and its methods are plain calls: they must not block (see [`Context::offload`]
/// and [`Context::pipe`] for what takes time elsewhere).
///
/// ```
/// use actinium_actor::{Actor, Context, Shutdown, System};
///
/// struct Greeter { greeted: u64 }
///
/// impl Actor for Greeter {
///     type Msg = String;
///
///     fn handle(&mut self, name: String, _ctx: &mut Context<'_, Self>) {
///         self.greeted += 1;
///         println!("hello, {name}: you are number {}", self.greeted);
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let greeter = system.spawn(Greeter { greeted: 0 });
/// greeter.send("world".to_owned())?;
/// assert_eq!(system.shutdown(Shutdown::Drain).handled, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Actor: Send + Sized + 'static {
    /// The type of its messages.
    ///
    /// A message is moved by value. One of more than 2 KiB moves through mailboxes in a box that
    /// the runtime makes. It still lies on the stacks of sender and handler, some times over in a
    /// debug build; see [`crate::SystemBuilder::stack_size`]. A type of more than 1 MiB is refused
    /// when the program is compiled:
    ///
    /// ```compile_fail
    /// # use actinium_actor::{Actor, Context, System};
    /// struct Camera;
    ///
    /// impl Actor for Camera {
    ///     type Msg = [u8; 2 << 20]; // a `Box<[u8; 2 << 20]>` is 8 bytes
    ///
    ///     fn handle(&mut self, frame: [u8; 2 << 20], _ctx: &mut Context<'_, Self>) {}
    /// }
    /// # let system = System::builder().workers(1).build()?;
    /// system.spawn(Camera);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    type Msg: Send + 'static;

    /// The names of the variants of its messages, in the order in which their enum declares them;
    /// the enum gives them no numbers of its own. [`SystemHandle::measured`] counts messages by
    /// them. `#[actor]` names them by the methods.
    ///
    /// [`SystemHandle::measured`]: crate::SystemHandle::measured
    const MESSAGE_NAMES: &'static [&'static str] = &[];

    /// Writes what a message contains, for whoever looks at the actor's last messages on the live
    /// page. `None`, the default: nobody sees it. `#[actor(debug)]` writes the parameters of the
    /// methods by their `Debug`.
    ///
    /// It is called for a sample of the messages, while somebody looks ([`Measure::contents`]), on
    /// the worker before the message is handled. The text is cut after 200 bytes. A message that
    /// comes seldom may be none of the sample.
    ///
    /// ```
    /// use actinium_actor::{Actor, Context, ShowMessage};
    ///
    /// enum Login {
    ///     Start { user: String, password: String },
    /// }
    ///
    /// struct Door;
    ///
    /// impl Actor for Door {
    ///     type Msg = Login;
    ///     const SHOW_MESSAGE: Option<ShowMessage<Login>> = Some(|Login::Start { user, .. }, f| {
    ///         write!(f, "{user} comes, with a password")
    ///     });
    ///
    ///     fn handle(&mut self, _: Login, _: &mut Context<'_, Self>) {}
    /// }
    /// ```
    ///
    /// [`Measure::contents`]: crate::Measure::contents
    const SHOW_MESSAGE: Option<ShowMessage<Self::Msg>> = None;

    /// Prepares the actor: called before the first message, and again after each restart.
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let _ = ctx;
    }

    /// Handles one message.
    ///
    /// A panic ends this instance, not the worker and not the process: the actor's
    /// [`crate::Supervision`] decides what follows.
    fn handle(&mut self, msg: Self::Msg, ctx: &mut Context<'_, Self>);

    /// The number of bytes that it works on: what an idle worker's cache would have to fetch if it
    /// took the actor over. [`crate::Affine`] leaves it where it is unless it would wait longer
    /// than that takes. Asked when the actor is made and when [`Actor::started`] is done; less than
    /// 1 KiB does not count.
    ///
    /// The default knows nothing of what the actor points to.
    fn footprint_bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// Cleans up: called when the actor has ended, but not on an instance that has panicked.
    fn stopped(&mut self, ctx: &mut Context<'_, Self>, reason: &StopReason) {
        let _ = (ctx, reason);
    }
}

/// The actor's side of the runtime, lent to its methods.
pub struct Context<'a, A: Actor> {
    core: &'a Core,
    worker: &'a Worker,
    actor: PhantomData<fn(A)>,
}

impl<'a, A: Actor> Context<'a, A> {
    /// The context of a turn.
    ///
    /// # Safety
    /// The core is that of an `A`, which this worker owns, and whose turn this is for as long as
    /// the context is used.
    #[inline(always)]
    pub(crate) unsafe fn new(core: &'a Core, worker: &'a Worker) -> Self {
        Context { core, worker, actor: PhantomData }
    }

    /// The actor's core.
    #[inline(always)]
    pub(crate) fn core(&self) -> &'a Core {
        self.core
    }

    /// The worker that runs the turn.
    #[inline(always)]
    pub(crate) fn on(&self) -> &'a Worker {
        self.worker
    }
}
