//! Products of one slot: one column of cells per type, so that a product's storage is of its own type, and used again by whichever
//! product comes next.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

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
pub struct Read<'a, T>(RwLockReadGuard<'a, Option<T>>);

impl<T> Deref for Read<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("checked when it was lent")
    }
}

/// Cells that are made at a time.
const CHUNK: usize = 16;

type Chunk<T> = [RwLock<Option<T>>; CHUNK];

/// Cells for products of one type in one slot. There are as many as were ever needed at a time, not as many as there are producers; which
/// cell holds whose product is known to the slot.
pub(crate) struct Column<T> {
    /// These lie in the column itself: the cells that were used last are used next, so most events need no others.
    first: Chunk<T>,
    rest: Box<[OnceLock<Box<Chunk<T>>>]>,
}

fn make_chunk<T>() -> Chunk<T> {
    std::array::from_fn(|_| RwLock::new(None))
}

/// A column of whatever type.
pub(crate) trait AnyColumn: Any + Send + Sync {
    fn clear(&self, cell: u16);
    /// Makes the cell if it is not there.
    fn make(&self, cell: u16);
}

pub(crate) fn make_column<T: Product>(len: usize) -> Box<dyn AnyColumn> {
    let rest = (1..len.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect();
    Box::new(Column::<T> { first: make_chunk(), rest })
}

impl<T: Product> AnyColumn for Column<T> {
    fn clear(&self, cell: u16) {
        // Nothing to give back: it may lie there until the next one comes.
        if !std::mem::needs_drop::<T>() {
            return;
        }
        if let Some(cell) = self.cell(cell) {
            *cell.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    fn make(&self, cell: u16) {
        let chunk = (usize::from(cell) / CHUNK).checked_sub(1).and_then(|k| self.rest.get(k));
        if let Some(chunk) = chunk {
            chunk.get_or_init(|| Box::new(make_chunk()));
        }
    }
}

impl<T: Product> Column<T> {
    #[inline]
    fn cell(&self, cell: u16) -> Option<&RwLock<Option<T>>> {
        let (chunk, cell) = (usize::from(cell) / CHUNK, usize::from(cell) % CHUNK);
        match chunk {
            0 => Some(&self.first[cell]),
            _ => Some(&self.rest.get(chunk - 1)?.get()?[cell]),
        }
    }

    #[inline]
    pub(crate) fn put(&self, cell: u16, product: T) {
        if let Some(cell) = self.cell(cell) {
            *cell.write().unwrap_or_else(PoisonError::into_inner) = Some(product);
        }
    }

    /// `None`: it is not there.
    #[inline]
    pub(crate) fn read(&self, cell: u16) -> Option<Read<'_, T>> {
        let cell = self.cell(cell)?.read().unwrap_or_else(PoisonError::into_inner);
        cell.is_some().then_some(Read(cell))
    }
}
