//! The ways to give an actor that is to be started: as a value, or by a factory.

use crate::actor::Actor;
use crate::failure::BoxError;

/// The start of an actor: its state, or a factory of its state that is called now and at each
/// restart. What `spawn_with` takes ([`crate::SystemHandle::spawn_with`],
/// [`crate::Context::spawn_with`]).
///
/// | given | started | restarted |
/// |---|---|---|
/// | `actor` | with this state | never: supervision that restarts is refused |
/// | `\|\| actor` | with what the factory makes | with what the factory makes |
/// | `\|\| Ok(actor)` | or the error is why the actor was not started | or the error is the actor's next failure |
///
/// ```
/// use actinium_actor::{Actor, Context, SpawnOptions, Supervision, System};
///
/// struct Numbers(Vec<u64>);
///
/// impl Actor for Numbers {
///     type Msg = usize;
///     fn handle(&mut self, index: usize, _: &mut Context<'_, Self>) {
///         println!("{}", self.0[index]);
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let options = || SpawnOptions::new().name("numbers");
/// let missing = system.spawn_with(options(), || {
///     let text = std::fs::read_to_string("no/such/file")?;
///     let numbers = text.lines().map(str::parse).collect::<Result<Vec<u64>, _>>();
///     numbers.map(Numbers).map_err(std::io::Error::other)
/// });
/// assert!(missing.unwrap_err().to_string().contains("No such file"));
///
/// let restart = options().supervise(Supervision::restart());
/// let refused = system.spawn_with(restart, Numbers(vec![1, 2]));
/// assert!(refused.unwrap_err().to_string().contains("give a factory"));
///
/// let numbers = system.spawn_with(options(), Numbers(vec![1, 2]))?;
/// numbers.send(1)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not start an actor",
    note = "give an actor, or a closure that returns one, or one that returns a `Result` of one"
)]
pub trait Source<A: Actor, By>: Sized {
    /// Splits it: into a state that is there already, or a factory.
    #[doc(hidden)]
    fn split(self) -> Split<A>;
}

/// A state, or a factory.
#[doc(hidden)]
#[allow(missing_debug_implementations)]
pub enum Split<A> {
    Value(A),
    // tidy: guard: whoever takes it apart guards it (`Inner::spawn_full`).
    Factory(Box<dyn FnMut() -> Result<A, BoxError> + Send>),
}

/// By its value.
#[doc(hidden)]
#[derive(Debug)]
pub enum ByValue {}

/// By a factory.
#[doc(hidden)]
#[derive(Debug)]
pub enum ByFactory {}

/// By a factory that may fail.
#[doc(hidden)]
#[derive(Debug)]
pub struct ByFallible<E>(E);

impl<A: Actor> Source<A, ByValue> for A {
    fn split(self) -> Split<A> {
        Split::Value(self)
    }
}

impl<A: Actor, F: FnMut() -> A + Send + 'static> Source<A, ByFactory> for F {
    fn split(mut self) -> Split<A> {
        Split::Factory(Box::new(move || Ok(self())))
    }
}

impl<A, E, F> Source<A, ByFallible<E>> for F
where
    A: Actor,
    E: Into<BoxError>,
    F: FnMut() -> Result<A, E> + Send + 'static,
{
    fn split(mut self) -> Split<A> {
        Split::Factory(Box::new(move || self().map_err(E::into)))
    }
}
