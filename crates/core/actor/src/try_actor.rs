//! Actors whose methods return errors.

use crate::actor::{Actor, Context};
use crate::failure::BoxError;
use crate::stop_reason::StopReason;

/// An [`Actor`] whose methods may return an error, which is then the actor's failure: as if they
/// had called [`Context::fail`]. So `?` works in them.
///
/// What implements this is an [`Actor`] by that. Errors are ends of the actor, for its
/// [`Supervision`](crate::Supervision) to decide about. One that is an answer (no such account, not
/// enough money) goes back in a [`Reply`](crate::Reply).
///
/// ```
/// use actinium_actor::testing::TestSystem;
/// use actinium_actor::{Context, SpawnOptions, StopReason, Supervision, TryActor};
/// use std::num::ParseIntError;
///
/// struct Sum(u64);
///
/// impl TryActor for Sum {
///     type Msg = &'static str;
///     type Error = ParseIntError;
///
///     fn try_handle(
///         &mut self,
///         number: &'static str,
///         _ctx: &mut Context<'_, Self>,
///     ) -> Result<(), ParseIntError> {
///         self.0 += number.parse::<u64>()?;
///         Ok(())
///     }
/// }
///
/// let mut sys = TestSystem::seeded(1);
/// let sum = sys.spawn(Sum(0));
/// sum.tell("1");
/// sum.tell("one");
/// sum.tell("2");
/// sys.run_until_idle();
/// let StopReason::Failed(failure) = &sys.dead_letters()[0].reason else { panic!() };
/// assert!(failure.to_string().ends_with("failed: invalid digit found in string"));
/// assert!(failure.downcast_ref::<ParseIntError>().is_some());
/// ```
pub trait TryActor: Send + Sized + 'static {
    /// The type of its messages: see [`Actor::Msg`].
    type Msg: Send + 'static;

    /// The type of its errors: one of your own, or `Box<dyn Error + Send + Sync>` for any.
    type Error: Into<BoxError>;

    /// Prepares the actor: see [`Actor::started`].
    ///
    /// # Errors
    /// The actor has failed before its first message.
    fn try_started(&mut self, ctx: &mut Context<'_, Self>) -> Result<(), Self::Error> {
        let _ = ctx;
        Ok(())
    }

    /// Handles one message: see [`Actor::handle`].
    ///
    /// # Errors
    /// The actor has failed.
    fn try_handle(
        &mut self,
        msg: Self::Msg,
        ctx: &mut Context<'_, Self>,
    ) -> Result<(), Self::Error>;

    /// The number of bytes that it works on: see [`Actor::footprint_bytes`].
    fn footprint_bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// Cleans up: see [`Actor::stopped`].
    fn stopped(&mut self, ctx: &mut Context<'_, Self>, reason: &StopReason) {
        let _ = (ctx, reason);
    }
}

impl<T: TryActor> Actor for T {
    type Msg = T::Msg;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        if let Err(error) = self.try_started(ctx) {
            ctx.fail(error);
        }
    }

    #[inline(always)]
    fn handle(&mut self, msg: T::Msg, ctx: &mut Context<'_, Self>) {
        if let Err(error) = self.try_handle(msg, ctx) {
            ctx.fail(error);
        }
    }

    fn footprint_bytes(&self) -> usize {
        TryActor::footprint_bytes(self)
    }

    fn stopped(&mut self, ctx: &mut Context<'_, Self>, reason: &StopReason) {
        TryActor::stopped(self, ctx, reason);
    }
}
