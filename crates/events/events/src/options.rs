//! How a module is registered: how many events may be in it, and what else is said of it.

use crate::handles::PathName;

/// How many events may be in a module at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Any number of events.
    Concurrent,
    /// One event.
    Serial,
    /// One event among all modules that name this resource.
    Exclusive(String),
    /// One instance per slot.
    Stream,
    /// The largest number of events at a time; at least 1.
    Limited(u32),
}

/// How a module that changes a state of its own has one event at a time. A module with `&mut self`
/// that were [`Threads::Concurrent`] does not compile:
///
/// ```compile_fail,E0277
/// # use actinium_events::{AnalyzerMut, Builder, Cause, Event, Next, Source, Threads};
/// # struct Numbers;
/// # impl Source for Numbers {
/// #     type Product = u64;
/// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> { Ok(Next::End) }
/// # }
/// struct Count(u64);
/// impl AnalyzerMut for Count {
///     fn analyze(&mut self, _: &Event<'_>) -> Result<(), Cause> {
///         self.0 += 1;
///         Ok(())
///     }
/// }
/// let mut builder = Builder::new("numbers", Numbers);
/// builder.analyzer_mut("count", Threads::Concurrent, |_| Count(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThreadsMut {
    /// One instance, and one event in it.
    Serial,
    /// One instance, and one event among all modules that name this resource.
    Exclusive(String),
    /// One instance per slot.
    Stream,
}

impl From<ThreadsMut> for Threads {
    fn from(threads: ThreadsMut) -> Self {
        match threads {
            ThreadsMut::Serial => Threads::Serial,
            ThreadsMut::Exclusive(resource) => Threads::Exclusive(resource),
            ThreadsMut::Stream => Threads::Stream,
        }
    }
}

/// What is said of a module when it is registered. Made of [`Threads`] or [`ThreadsMut`]:
/// `Threads::Serial.version(3)`.
#[derive(Clone, Debug)]
pub struct ModuleOptions<K = Threads> {
    pub(crate) threads: K,
    pub(crate) version: u32,
    pub(crate) one_by_one: bool,
    pub(crate) select: Option<PathName>,
}

impl<K> ModuleOptions<K> {
    fn of(threads: K) -> Self {
        ModuleOptions { threads, version: 0, one_by_one: false, select: None }
    }

    /// The module has this version; 0 if nobody says. A version is whatever changes when its
    /// results do: see [`Stamp`](crate::Stamp).
    #[must_use]
    pub fn version(self, version: u32) -> Self {
        ModuleOptions { version, ..self }
    }

    /// The module gets its inputs made one after the other, in the order in which it asked for
    /// them, rather than all at once.
    #[must_use]
    pub fn one_by_one(self) -> Self {
        ModuleOptions { one_by_one: true, ..self }
    }

    /// The output writes only events for which this path went on to its end. The path is what
    /// [`Builder::path`](crate::Builder::path) returned, or a name. Of outputs only.
    #[must_use]
    pub fn select(self, path: impl Into<PathName>) -> Self {
        ModuleOptions { select: Some(path.into()), ..self }
    }
}

macro_rules! kinds {
    ($($kind:ident)+) => {$(
        impl From<$kind> for ModuleOptions<$kind> {
            fn from(threads: $kind) -> Self {
                ModuleOptions::of(threads)
            }
        }

        impl $kind {
            /// See [`ModuleOptions::version`].
            #[must_use]
            pub fn version(self, version: u32) -> ModuleOptions<Self> {
                ModuleOptions::of(self).version(version)
            }

            /// See [`ModuleOptions::one_by_one`].
            #[must_use]
            pub fn one_by_one(self) -> ModuleOptions<Self> {
                ModuleOptions::of(self).one_by_one()
            }

            /// See [`ModuleOptions::select`].
            #[must_use]
            pub fn select(self, path: impl Into<PathName>) -> ModuleOptions<Self> {
                ModuleOptions::of(self).select(path)
            }
        }
    )+};
}

kinds! { Threads ThreadsMut }
