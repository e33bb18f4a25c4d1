//! Handles: what a program gets when it registers something, and names it by from then on. A label
//! or a name in a string does as well.

use actinium_scheduler::sync::lock;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Something of a graph, by what it is called or by its handle.
#[derive(Clone, Debug)]
pub(crate) enum Name {
    Label(String),
    Of(Key),
}

/// A place in one of the lists of one builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) builder: u64,
    pub(crate) index: usize,
}

/// A number that no other builder of this process has.
pub(crate) fn next_builder() -> u64 {
    static BUILDERS: AtomicU64 = AtomicU64::new(0);
    // Relaxed: it only shares out numbers.
    BUILDERS.fetch_add(1, Ordering::Relaxed)
}

/// Names the product of a source or producer: see [`Inputs::get`](crate::Inputs::get).
pub struct Handle<T> {
    pub(crate) key: Key,
    product: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    pub(crate) fn new(builder: u64, index: usize) -> Self {
        Handle { key: Key { builder, index }, product: PhantomData }
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}
impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle<{}>({})", std::any::type_name::<T>(), self.key.index)
    }
}

/// A product by its handle, or by the label of the module or source that makes it.
#[derive(Debug)]
pub struct ProductName<T> {
    pub(crate) name: Name,
    product: PhantomData<fn() -> T>,
}

impl<T> From<Handle<T>> for ProductName<T> {
    fn from(handle: Handle<T>) -> Self {
        ProductName { name: Name::Of(handle.key), product: PhantomData }
    }
}

impl<T, S: AsRef<str> + ?Sized> From<&S> for ProductName<T> {
    fn from(label: &S) -> Self {
        ProductName { name: Name::Label(label.as_ref().to_owned()), product: PhantomData }
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $handle:ident, $(#[$name_doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $handle(pub(crate) Key);

        $(#[$name_doc])*
        #[derive(Clone, Debug)]
        pub struct $name(pub(crate) Name);

        impl From<$handle> for $name {
            fn from(handle: $handle) -> Self {
                $name(Name::Of(handle.0))
            }
        }

        impl<S: AsRef<str> + ?Sized> From<&S> for $name {
            fn from(name: &S) -> Self {
                $name(Name::Label(name.as_ref().to_owned()))
            }
        }
    )+};
}

names! {
    /// A filter or analyzer, as a step of a [path](crate::Builder::path).
    Step,
    /// A step by its handle, or by the label of the module.
    StepName;
    /// A path that was added.
    PathHandle,
    /// A path by its handle, or by its name.
    PathName;
}

/// The steps of a path: a list, or a tuple of up to eight.
pub trait Steps {
    /// The steps, in their order.
    fn names(self) -> Vec<StepName>;
}

impl<S: Into<StepName>, const N: usize> Steps for [S; N] {
    fn names(self) -> Vec<StepName> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<S: Into<StepName> + Clone, const N: usize> Steps for &[S; N] {
    fn names(self) -> Vec<StepName> {
        self.as_slice().names()
    }
}

impl<S: Into<StepName> + Clone> Steps for &[S] {
    fn names(self) -> Vec<StepName> {
        self.iter().cloned().map(Into::into).collect()
    }
}

impl<S: Into<StepName> + Clone> Steps for &Vec<S> {
    fn names(self) -> Vec<StepName> {
        self.as_slice().names()
    }
}

macro_rules! steps {
    ($($($step:ident)+;)+) => {$(
        impl<$($step: Into<StepName>),+> Steps for ($($step,)+) {
            #[allow(non_snake_case)] // The types' names are the values', too.
            fn names(self) -> Vec<StepName> {
                let ($($step,)+) = self;
                vec![$($step.into()),+]
            }
        }
    )+};
}

steps! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }

/// The instances of a module with a state, for the program that wants what they have gathered when
/// the run is over: one, or one per slot. Clones name the same instances. As a reference it is a
/// step of a path.
///
/// ```
/// use actinium_events::{AnalyzerMut, Builder, Cause, Event, Next, Processor, Settings, Source, ThreadsMut};
/// # struct Numbers;
/// # impl Source for Numbers {
/// #     type Product = u64;
/// #     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
/// #         Ok(if number < 10 { Next::Event(number) } else { Next::End })
/// #     }
/// # }
///
/// struct Count(u64);
/// impl AnalyzerMut for Count {
///     fn analyze(&mut self, _: &Event<'_>) -> Result<(), Cause> {
///         self.0 += 1;
///         Ok(())
///     }
/// }
/// let mut builder = Builder::new("numbers", Numbers);
/// let count = builder.analyzer_mut("count", ThreadsMut::Stream, |_| Count(0));
/// Processor::new(builder.build()?, Settings::default().slots(4)).run()?.into_result()?;
/// let count = count.merge(|all, one| all.0 += one.0).expect("the run came to its end");
/// assert_eq!(count.0, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Kept<M> {
    step: Step,
    modules: Arc<Mutex<Vec<M>>>,
}

impl<M> Clone for Kept<M> {
    fn clone(&self) -> Self {
        Kept { step: self.step, modules: self.modules.clone() }
    }
}

impl<M> fmt::Debug for Kept<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept<{}>({})", std::any::type_name::<M>(), self.step.0.index)
    }
}

impl<M> Kept<M> {
    pub(crate) fn new(key: Key, modules: Arc<Mutex<Vec<M>>>) -> Self {
        Kept { step: Step(key), modules }
    }

    /// Takes the instances, in the order of their slots. There is none before the end of the job,
    /// after a run that was given up in the middle of events, or if they were taken before.
    pub fn take(&self) -> Vec<M> {
        std::mem::take(&mut *lock(&self.modules))
    }

    /// Takes the instances, and merges all others into the first; `None` if there is none.
    pub fn merge(&self, into: impl FnMut(&mut M, M)) -> Option<M> {
        let mut into = into;
        self.take().into_iter().reduce(|mut all, one| {
            into(&mut all, one);
            all
        })
    }
}

impl<M> From<&Kept<M>> for StepName {
    fn from(kept: &Kept<M>) -> Self {
        kept.step.into()
    }
}

/// The engine's end of [`Kept`].
pub(crate) type KeptAt<M> = Weak<Mutex<Vec<M>>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_lists_of_any_sort() {
        let list = ["a", "b"];
        let all = [list.names(), (&list).names(), list[..].names(), (&list.to_vec()).names()];
        assert!(all.iter().chain([&("a", "b").names()]).all(|names| names.len() == 2));
    }
}
