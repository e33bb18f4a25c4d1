//! What a user writes: the [`Actor`] trait, and the words for how actors end.

use crate::context::Context;
use std::fmt;

/// State that is touched by one message at a time.
///
/// An actor has one message type, so that a message lies in its mailbox by value. It runs on one worker at a time, and its
/// methods are plain calls: they must not block (see [`Context::offload`] and [`Context::pipe`] for what takes time elsewhere).
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
    /// What it understands.
    type Msg: Send + 'static;

    /// Called before the first message, and again after each restart.
    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let _ = ctx;
    }

    /// Handles one message.
    ///
    /// A panic ends this instance, not the worker and not the process: the actor's [`crate::Supervision`] decides what follows.
    fn handle(&mut self, msg: Self::Msg, ctx: &mut Context<'_, Self>);

    /// How many bytes it works on: what an idle worker's cache would have to fetch if it took the actor over. [`crate::Affine`]
    /// leaves it where it is unless it would wait longer than that takes. Asked when the actor is made and when [`Actor::started`] is done; less than 1 KiB
    /// does not count.
    ///
    /// The default knows nothing of what the actor points to.
    fn footprint_bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// Called when the actor has ended, but not on an instance that has panicked.
    fn stopped(&mut self, ctx: &mut Context<'_, Self>, reason: &StopReason) {
        let _ = (ctx, reason);
    }
}

/// An actor's identity: unique in its system, and never used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorId(pub(crate) u64);

impl ActorId {
    /// As a number.
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "actor {}", self.0)
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a panic said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanicInfo {
    /// The panic's message, or a remark that it had none.
    pub message: String,
    /// The actor that panicked.
    pub actor: ActorId,
    /// The actor's type.
    pub kind: &'static str,
}

impl fmt::Display for PanicInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) panicked: {}", self.actor, self.kind, self.message)
    }
}

/// Why an actor ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It, or somebody with its address, asked for it.
    Requested,
    /// No address of it was left, no name, and nothing in its mailbox: nobody could ever reach it again.
    Orphaned,
    /// It panicked, and its supervision says stop (or its restarts were used up).
    Panicked(PanicInfo),
    /// An actor that it was linked to ended abnormally.
    Linked(ActorId),
    /// Its supervisor ended or was restarted, or failed to restart it together with its siblings.
    Supervisor,
    /// The system shut down.
    Shutdown,
    /// It had ended before it was asked about.
    AlreadyStopped,
}

impl StopReason {
    /// Whether linked actors end with it.
    pub fn is_abnormal(&self) -> bool {
        matches!(self, StopReason::Panicked(_) | StopReason::Linked(_))
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Requested => f.write_str("stopped on request"),
            StopReason::Orphaned => f.write_str("no address of it was left"),
            StopReason::Panicked(info) => write!(f, "{info}"),
            StopReason::Linked(other) => write!(f, "linked to {other}, which ended abnormally"),
            StopReason::Supervisor => f.write_str("stopped by its supervisor"),
            StopReason::Shutdown => f.write_str("the system shut down"),
            StopReason::AlreadyStopped => f.write_str("it had already ended"),
        }
    }
}

/// What a watcher is told: see [`Context::watch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// Who ended.
    pub actor: ActorId,
    /// Why.
    pub reason: StopReason,
}
