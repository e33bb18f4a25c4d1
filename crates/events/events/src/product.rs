//! Products, as those see them who make and read them.

use crate::handles::{Name, ProductName};
use actinium_scheduler::ref_cells::Ref;
use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A type that modules may make: any type that several threads may read and that owns its contents.
pub trait Product: Send + Sync + 'static {}
impl<T: Send + Sync + 'static> Product for T {}

/// Names one input of one module; see [`Inputs::get`].
pub struct Input<T> {
    pub(crate) position: u16,
    product: PhantomData<fn() -> T>,
}

impl<T> Input<T> {
    /// The input that was asked for at this place.
    pub(crate) fn at(position: u16) -> Self {
        Input { position, product: PhantomData }
    }
}

impl<T> Clone for Input<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Input<T> {}
impl<T> std::fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Input<{}>({})", std::any::type_name::<T>(), self.position)
    }
}

/// The inputs that a module asks for while it is registered.
#[derive(Debug, Default)]
pub struct Inputs {
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) slot: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: Name,
    pub(crate) type_id: TypeId,
    pub(crate) type_name: &'static str,
}

impl Inputs {
    /// A product, by the [`Handle`](crate::Handle) that its producer (or the source) was registered
    /// with, or by a label. Whether there is such a label is checked when the graph is built.
    pub fn get<T: Product>(&mut self, of: impl Into<ProductName<T>>) -> Input<T> {
        let position =
            u16::try_from(self.wanted.len()).expect("a module has at most 65,535 inputs");
        self.wanted.push(Wanted {
            name: of.into().name,
            type_id: TypeId::of::<T>(),
            type_name: std::any::type_name::<T>(),
        });
        Input::at(position)
    }

    /// The slot for which an instance of a `stream` module is made; `None` for all other modules.
    pub fn slot(&self) -> Option<usize> {
        self.slot
    }
}

/// A product while it is read.
pub struct Read<'a, T>(Ref<'a, T>);

impl<'a, T> Read<'a, T> {
    pub(crate) fn new(product: Ref<'a, T>) -> Self {
        Read(product)
    }
}

impl<T: fmt::Display> fmt::Display for Read<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: fmt::Debug> fmt::Debug for Read<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T> Deref for Read<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}
