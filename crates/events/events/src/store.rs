//! The memory of all products of one type: an array of chunks of cells that grows and never moves.

use crate::product::Product;
use actinium_scheduler::any_box::AnyBox;
use actinium_scheduler::guard;
use actinium_scheduler::ref_cells::AtomicRefCells;
use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

/// Most chunks that are made at a time; a power of two.
const BLOCK: usize = 64;

/// A product on its way to its destructor.
pub(crate) type Dead = Box<dyn Any + Send + Sync>;

type Block<T> = OnceLock<AtomicRefCells<T>>;

/// Makes the store of a type: for chunks of so many cells, so many of them at most, and so many
/// workers, each of whom has blocks of its own.
pub(crate) type Make = fn(usize, usize, usize) -> AnyStore;

/// Why a product can not be stored: somebody still reads what lies in its place. That can only be
/// if a [`Read`](crate::Read) was forgotten (`std::mem::forget`).
#[derive(Debug)]
pub(crate) struct Lent;

impl fmt::Display for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "its product has no place: somebody has forgotten what was read there of an earlier event (std::mem::forget)",
        )
    }
}

impl std::error::Error for Lent {}

/// Cells for all products of one type.
pub(crate) struct Store<T: Product> {
    /// Cells per chunk.
    cells: usize,
    /// Chunks per block: the power of two.
    shift: u32,
    blocks: Box<[Block<T>]>,
}

/// A store of whatever type.
#[derive(Debug)]
pub(crate) struct AnyStore {
    store: AnyBox,
    of_type: &'static OfType,
}

/// What differs from type to type.
#[derive(Debug)]
struct OfType {
    has_destructor: bool,
    clear: fn(&AnyBox, u32, usize) -> Option<Dead>,
    make: fn(&AnyBox, u32) -> Range<u32>,
}

impl AnyStore {
    /// See [`Make`].
    pub(crate) fn new<T: Product>(cells: usize, chunks_max: usize, workers: usize) -> Self {
        let shift = BLOCK.min(chunks_max.next_power_of_two()).ilog2();
        // Of each worker, one may not be full.
        let blocks = chunks_max.div_ceil(1 << shift) + workers;
        let blocks = (0..blocks).map(|_| OnceLock::new()).collect();
        let of_type = const {
            &OfType {
                has_destructor: std::mem::needs_drop::<T>(),
                clear: |store, chunk, cell| store.get::<Store<T>>()?.clear(chunk, cell),
                make: |store, block| {
                    store.get::<Store<T>>().map_or(0..0, |store| store.make(block))
                },
            }
        };
        AnyStore { store: AnyBox::new(Store::<T> { cells, shift, blocks }), of_type }
    }

    /// The store, if it is of products of this type.
    #[inline(always)]
    pub(crate) fn of<T: Product>(&self) -> Option<&Store<T>> {
        self.store.get()
    }

    /// Whether what lies there has a destructor: such products have to be taken out when they are
    /// not needed any more, others may lie there until the next one comes.
    #[inline]
    pub(crate) fn has_destructor(&self) -> bool {
        self.of_type.has_destructor
    }

    /// Takes out what lies there.
    pub(crate) fn clear(&self, chunk: u32, cell: usize) -> Option<Dead> {
        (self.of_type.clear)(&self.store, chunk, cell)
    }

    /// Makes a block; returns its chunks.
    pub(crate) fn make(&self, block: u32) -> Range<u32> {
        (self.of_type.make)(&self.store, block)
    }
}

impl<T: Product> Store<T> {
    /// The block in which a cell is, and its number there.
    #[inline(always)]
    pub(crate) fn find(&self, chunk: u32, cell: usize) -> Option<(&AtomicRefCells<T>, usize)> {
        let block = self.blocks.get(chunk as usize >> self.shift)?.get()?;
        Some((block, (chunk as usize & ((1 << self.shift) - 1)) * self.cells + cell))
    }

    /// Puts a product into a cell.
    #[inline]
    pub(crate) fn put(&self, chunk: u32, cell: usize, product: T) -> Result<(), Lent> {
        let (block, cell) = self.find(chunk, cell).ok_or(Lent)?;
        match block.put(cell, product) {
            Ok(old) => {
                guard::drop_guarded(old);
                Ok(())
            }
            Err(product) => {
                guard::drop_guarded(product);
                Err(Lent)
            }
        }
    }

    fn clear(&self, chunk: u32, cell: usize) -> Option<Dead> {
        let (block, cell) = self.find(chunk, cell)?;
        block.take(cell).map(|product| Box::new(product) as Dead)
    }

    fn make(&self, block: u32) -> Range<u32> {
        let Some(place) = self.blocks.get(block as usize) else { return 0..0 };
        place.get_or_init(|| AtomicRefCells::new(self.cells << self.shift));
        block << self.shift..(block + 1) << self.shift
    }
}

impl<T: Product> Drop for Store<T> {
    /// Drops the products that events left behind when they were given up.
    fn drop(&mut self) {
        if std::mem::needs_drop::<T>() {
            for block in self.blocks.iter().filter_map(OnceLock::get) {
                (0..block.count()).for_each(|cell| guard::drop_guarded(block.take(cell)));
            }
        }
    }
}
