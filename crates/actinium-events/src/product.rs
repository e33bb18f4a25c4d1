//! Products of one slot: one column per type, so that a slot has as many heap objects as there are types, and a product's
//! storage is of its own type and used again for each event.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// What a module may make: anything that may be read by several threads and owns what it holds.
pub trait Product: Send + Sync + 'static {}
impl<T: Send + Sync + 'static> Product for T {}

/// Names one input of one module; see [`Inputs::get`].
pub struct Input<T> {
    pub(crate) position: u16,
    product: PhantomData<fn() -> T>,
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

/// What a module asks for while it is registered.
#[derive(Debug, Default)]
pub struct Inputs {
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) slot: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) label: String,
    pub(crate) type_id: TypeId,
    pub(crate) type_name: &'static str,
}

impl Inputs {
    /// The product of type `T` that the module (or the source) of this label makes. Whether there is one is checked when the
    /// graph is built.
    pub fn get<T: Product>(&mut self, label: &str) -> Input<T> {
        let position =
            u16::try_from(self.wanted.len()).expect("a module has at most 65,535 inputs");
        self.wanted.push(Wanted {
            label: label.to_owned(),
            type_id: TypeId::of::<T>(),
            type_name: std::any::type_name::<T>(),
        });
        Input { position, product: PhantomData }
    }

    /// The slot for which an instance of a `stream` module is made; `None` for all other modules.
    pub fn slot(&self) -> Option<usize> {
        self.slot
    }
}

/// A product while it is read.
pub struct Read<'a, T>(RwLockReadGuard<'a, Stored<T>>);

impl<T> Deref for Read<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.product.as_ref().expect("checked when it was lent")
    }
}

/// A product, and of which pass over which event it is.
pub(crate) struct Stored<T> {
    stamp: u32,
    product: Option<T>,
}

/// All products of one type in one slot.
pub(crate) struct Column<T>(Box<[RwLock<Stored<T>>]>);

/// A column of whatever type.
pub(crate) trait AnyColumn: Any + Send + Sync {
    fn clear(&self, index: usize);
    fn as_any(&self) -> &dyn Any;
}

pub(crate) fn make_column<T: Product>(len: usize) -> Box<dyn AnyColumn> {
    let cell = |_| RwLock::new(Stored::<T> { stamp: 0, product: None });
    Box::new(Column((0..len).map(cell).collect()))
}

impl<T: Product> AnyColumn for Column<T> {
    fn clear(&self, index: usize) {
        let mut cell = self.0[index].write().unwrap_or_else(PoisonError::into_inner);
        cell.stamp = 0;
        cell.product = None;
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<T: Product> Column<T> {
    pub(crate) fn put(&self, index: usize, stamp: u32, product: T) {
        let mut cell = self.0[index].write().unwrap_or_else(PoisonError::into_inner);
        cell.stamp = stamp;
        cell.product = Some(product);
    }

    /// `None`: it is not there, or another event's.
    pub(crate) fn read(&self, index: usize, stamp: u32) -> Option<Read<'_, T>> {
        let cell = self.0[index].read().unwrap_or_else(PoisonError::into_inner);
        (cell.stamp == stamp && cell.product.is_some()).then_some(Read(cell))
    }
}
