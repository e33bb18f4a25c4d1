//! Failures of actors: panics, and errors that their code returned.

use crate::actor_id::ActorId;
use actinium_scheduler::guard::{self, Guarded, Panicked};
use std::error::Error;
use std::fmt::{self, Write};
use std::iter::successors;
use std::sync::Arc;

/// An error as user code returns it: anything that becomes a boxed error.
pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Most causes of causes that a failure's message names.
const CHAIN: usize = 32;

/// The failure of an actor: which one failed, and the error or the panic that it failed with.
///
/// [`Supervision::unless`](crate::Supervision::unless) gets it, and so do those who watch the actor
/// ([`StopReason::Failed`](crate::StopReason::Failed), [`Restarted`](crate::Restarted)).
///
/// ```
/// use actinium_actor::testing::TestSystem;
/// use actinium_actor::{Context, StopReason, TryActor};
/// use std::io::{Error, ErrorKind};
///
/// struct Disk;
///
/// impl TryActor for Disk {
///     type Msg = u64;
///     type Error = Error;
///
///     fn try_handle(&mut self, _block: u64, _ctx: &mut Context<'_, Self>) -> Result<(), Error> {
///         Err(Error::new(ErrorKind::StorageFull, "no block is free"))
///     }
/// }
///
/// let mut sys = TestSystem::seeded(1);
/// sys.spawn(Disk).tell(7);
/// let disk = sys.spawn(Disk);
/// disk.tell(7);
/// disk.tell(8);
/// sys.run_until_idle();
/// let StopReason::Failed(failure) = &sys.dead_letters()[0].reason else { panic!() };
/// assert_eq!(failure.message(), "no block is free");
/// assert_eq!(failure.downcast_ref::<Error>().unwrap().kind(), ErrorKind::StorageFull);
/// ```
#[derive(Clone)]
pub struct Failure {
    actor: ActorId,
    kind: &'static str,
    /// Made when it failed: later, nobody calls the error's code any more.
    message: Arc<str>,
    /// A [`Panicked`] if it panicked.
    cause: Arc<Guarded<BoxError>>,
}

impl Failure {
    pub(crate) fn new(actor: ActorId, kind: &'static str, cause: BoxError) -> Self {
        let message = match cause.downcast_ref::<Panicked>() {
            Some(panicked) => panicked.message().into(),
            None => guard::catch(|| chain(&*cause)).unwrap_or_else(|panicked| {
                format!("(an error that can not be shown: {panicked})").into()
            }),
        };
        Failure { actor, kind, message, cause: Arc::new(Guarded::new(cause)) }
    }

    /// The actor that failed.
    pub fn actor(&self) -> ActorId {
        self.actor
    }

    /// The name of that actor's type.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The error with the causes that it names ([`Error::source`]), or the panic's message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether it panicked.
    pub fn is_panic(&self) -> bool {
        self.cause.is::<Panicked>()
    }

    /// The error that the actor failed with; of a panic, a [`Panicked`].
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &***self.cause
    }

    /// The first error of this type among the cause and the causes of that.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        causes(self.cause()).find_map(|error| error.downcast_ref())
    }
}

/// An error, its source, the source of that, and so on.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source()).take(CHAIN)
}

fn chain(error: &(dyn Error + 'static)) -> Arc<str> {
    let mut text = String::new();
    for error in causes(error) {
        let colon = if text.is_empty() { "" } else { ": " };
        // Writing to a string fails only if the error's own code says so.
        let _ = write!(text, "{colon}{error}");
    }
    text.into()
}

impl PartialEq for Failure {
    fn eq(&self, other: &Self) -> bool {
        (self.actor, &self.message) == (other.actor, &other.message)
            && self.is_panic() == other.is_panic()
    }
}

impl Eq for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_panic() { "panicked" } else { "failed" };
        write!(f, "{} ({}) {verb}: {}", self.actor, self.kind, self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Failure({self})")
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl fmt::Debug for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Ok(())
        }
    }

    impl fmt::Display for Broken {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no words")
        }
    }

    impl Error for Broken {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            // It is its own cause.
            Some(self)
        }
    }

    #[test]
    fn an_error_that_can_not_be_shown_is_still_a_failure() {
        let failure = Failure::new(ActorId(7), "Kind", Box::new(Broken));
        assert!(failure.message().contains("no words"), "{failure}");
        assert!(!failure.is_panic() && failure.downcast_ref::<Broken>().is_some());
        assert!(failure.downcast_ref::<std::io::Error>().is_none());
    }

    #[test]
    fn the_message_names_all_causes() {
        #[derive(Debug)]
        struct Save(std::io::Error);
        impl fmt::Display for Save {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("can not save")
            }
        }
        impl Error for Save {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let save = Save(std::io::Error::other("disk full"));
        let failure = Failure::new(ActorId(7), "Account", Box::new(save));
        assert_eq!(failure.to_string(), "actor 7 (Account) failed: can not save: disk full");
        assert!(failure.downcast_ref::<std::io::Error>().is_some());
        let panicked = guard::catch(|| panic!("why")).unwrap_err();
        let failure = Failure::new(ActorId(7), "Account", Box::new(panicked));
        assert_eq!(failure.to_string(), "actor 7 (Account) panicked: why");
    }
}
