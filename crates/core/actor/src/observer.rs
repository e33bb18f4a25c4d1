//! Who is told that a system starts and ends: a page of what happened, for instance.

use crate::ending::OnEnd;
use crate::system_handle::SystemHandle;
use actinium_scheduler::guard::{self, Panicked};
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Is told of systems that start and end. It looks at them by their handles meanwhile, on a thread
/// of its own: workers do not call it.
///
/// ```
/// use actinium_actor::{Observer, OnEnd, Shutdown, System, SystemHandle};
/// use std::error::Error;
///
/// struct Announces;
///
/// impl Observer for Announces {
///     fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
///         println!("{} workers", system.workers());
///         Ok(OnEnd::new(|report| println!("{} messages", report.handled)))
///     }
/// }
///
/// let system = System::builder().observer(Announces).build()?;
/// system.shutdown(Shutdown::Drain);
/// # Ok::<(), actinium_actor::BuildError>(())
/// ```
pub trait Observer: Send + Sync + 'static {
    /// The workers of a system run. What is returned is called once, when they have ended and
    /// before [`System::shutdown`](crate::System::shutdown) returns. (A system that is dropped on
    /// one of its own workers does not wait for its end: then it is called before that.) A panic of
    /// it is logged.
    ///
    /// # Errors
    /// If it can not observe: the system is not built, and the error says why.
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>>;
}

impl Observer for Box<dyn Observer> {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        (**self).started(system)
    }
}

/// The observers of each system of this process.
static OF_ALL: Mutex<Vec<Arc<dyn Observer>>> = Mutex::new(Vec::new());

/// Adds an observer of each system that this process builds from now on, besides those that a
/// builder names.
///
/// ```
/// # use actinium_actor::{Observer, OnEnd, System, SystemHandle, observe_all};
/// # struct Announces;
/// # impl Observer for Announces {
/// #     fn started(
/// #         &self,
/// #         _: &SystemHandle,
/// #     ) -> Result<OnEnd, Box<dyn std::error::Error + Send + Sync>> {
/// #         Ok(OnEnd::new(|_| ()))
/// #     }
/// # }
/// observe_all(Announces);
/// # let _system = System::builder().build()?;
/// # Ok::<(), actinium_actor::BuildError>(())
/// ```
pub fn observe_all(observer: impl Observer) {
    of_all().push(Arc::new(observer));
}

fn of_all() -> MutexGuard<'static, Vec<Arc<dyn Observer>>> {
    OF_ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The observers that a builder names.
#[derive(Clone, Default)]
pub(crate) struct Observers(Vec<Arc<dyn Observer>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: impl Observer) {
        self.0.push(Arc::new(observer));
    }

    /// Tells all of them that a system runs.
    pub(crate) fn started(
        &self,
        system: &SystemHandle,
    ) -> Result<Vec<OnEnd>, Box<dyn Error + Send + Sync>> {
        // Copied: it is their code that is called.
        let of_all = of_all().clone();
        let told =
            of_all.iter().chain(&self.0).map(|it| match guard::catch(|| it.started(system)) {
                Ok(told) => told,
                Err(panicked) => Err(Box::new(Broken(panicked)).into()),
            });
        told.collect()
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

#[derive(Debug)]
struct Broken(Panicked);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it panicked: {}", self.0.message())
    }
}

impl Error for Broken {}
