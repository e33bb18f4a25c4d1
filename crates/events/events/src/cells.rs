//! The memory of products: cells of one type each, in chunks that slots take while they need them.
//!
//! All products of one type have one *store*, an array of chunks of [`CHUNK`] cells that grows and
//! never moves. A slot takes a chunk from those of its home when it has no cell free, and gives it
//! back when nothing is left in it: so there are as many as all events in flight need together, not
//! as many as each needs at its worst moment, and those that were used last are used next. A slot's
//! first chunk of a type stays its own.
//!
//! A module's word says in which cell of its slot's column its product is: the chunk's place in the
//! slot's table times [`CHUNK`], and the place in the chunk. Tables are written under the slot's
//! lock; who reads a product was made ready under it.

use crate::product::{Product, Read};
use actinium_scheduler::guard;
use std::any::Any;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// Cells in a chunk, unless fewer are ever needed.
pub(crate) const CHUNK: usize = 16;
/// Most chunks that are made at a time; a power of two.
const BLOCK: usize = 64;
/// In a slot's table: no chunk.
const NO_CHUNK: u32 = u32::MAX;

type Block<T> = OnceLock<Box<[RwLock<Option<T>>]>>;

/// Cells for all products of one type.
pub(crate) struct Store<T: Product> {
    /// Cells per chunk.
    cells: usize,
    /// Chunks per block: the power of two.
    shift: u32,
    blocks: Box<[Block<T>]>,
}

/// A store of whatever type.
pub(crate) trait AnyStore: Any + Send + Sync {
    /// Whether what lies there has a destructor.
    fn has_destructor(&self) -> bool;
    /// Takes out what lies there.
    fn clear(&self, chunk: u32, cell: usize) -> Option<Dead>;
    /// Makes the chunk if it is not there.
    fn make(&self, chunk: u32);
}

/// For chunks of so many cells, and for so many of them at most.
pub(crate) fn make_store<T: Product>(cells: usize, chunks_max: usize) -> Box<dyn AnyStore> {
    let shift = BLOCK.min(chunks_max.next_power_of_two()).ilog2();
    let blocks = (0..chunks_max.div_ceil(1 << shift)).map(|_| OnceLock::new()).collect();
    Box::new(Store::<T> { cells, shift, blocks })
}

impl<T: Product> AnyStore for Store<T> {
    fn has_destructor(&self) -> bool {
        std::mem::needs_drop::<T>()
    }

    fn clear(&self, chunk: u32, cell: usize) -> Option<Dead> {
        let product =
            self.cell(chunk, cell)?.write().unwrap_or_else(PoisonError::into_inner).take();
        product.map(|product| Box::new(product) as Dead)
    }

    fn make(&self, chunk: u32) {
        if let Some(block) = self.blocks.get(chunk as usize >> self.shift) {
            let cells = self.cells << self.shift;
            block.get_or_init(|| (0..cells).map(|_| RwLock::new(None)).collect());
        }
    }
}

impl<T: Product> Drop for Store<T> {
    /// Drops the products that events left behind when they were given up.
    fn drop(&mut self) {
        if !std::mem::needs_drop::<T>() {
            return;
        }
        let cells = self.blocks.iter_mut().filter_map(OnceLock::get_mut).flatten();
        for cell in cells {
            guard::drop_guarded(cell.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

impl<T: Product> Store<T> {
    #[inline(always)]
    fn cell(&self, chunk: u32, cell: usize) -> Option<&RwLock<Option<T>>> {
        let block = self.blocks.get(chunk as usize >> self.shift)?.get()?;
        block.get((chunk as usize & ((1 << self.shift) - 1)) * self.cells + cell)
    }

    #[inline]
    pub(crate) fn put(&self, chunk: u32, cell: usize, product: T) {
        if let Some(cell) = self.cell(chunk, cell) {
            *cell.write().unwrap_or_else(PoisonError::into_inner) = Some(product);
        }
    }

    /// `None`: it is not there.
    #[inline(always)]
    pub(crate) fn read(&self, chunk: u32, cell: usize) -> Option<Read<'_, T>> {
        Read::new(self.cell(chunk, cell)?.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How many products of one module there are, and how many there were at most.
#[derive(Debug, Default)]
pub(crate) struct Alive {
    now: AtomicU64,
    max: AtomicU64,
}

impl Alive {
    pub(crate) fn begins(&self) {
        // Relaxed: statistics.
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.max.fetch_max(now, Ordering::Relaxed);
    }

    fn ends(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed); // Relaxed: a statistic.
    }

    pub(crate) fn max(&self) -> u64 {
        self.max.load(Ordering::Relaxed) // Relaxed: a statistic.
    }
}

const _: () = assert!(!cfg!(target_pointer_width = "64") || size_of::<Column>() == 64);

/// The store of one product type, with its place in each slot's table of chunks.
pub(crate) struct Column {
    pub(crate) store: Box<dyn AnyStore>,
    /// Whether something is to be done with products that are not needed any more.
    looks_at_ends: bool,
    /// Whether products have to be taken out when they are not needed any more; others may lie
    /// there until the next one comes.
    has_destructor: bool,
    /// Those of all modules, if they are counted.
    alive: Option<Box<Arc<[Alive]>>>,
    // In 32 bits, as `chunks`, so that a column has a power of two of bytes and is quickly found.
    number: u32,
    /// Where its part of a slot's table of chunks begins, and how long it is.
    first: usize,
    chunks: u32,
    /// A chunk's mask when all its cells are taken.
    full: u16,
    /// Chunks that no slot has, for each worker.
    free: Box<[Mutex<Vec<u32>>]>,
    made: AtomicU32,
}

impl Column {
    /// For so many slots and workers, whose products of this type come from so many producers;
    /// `first` is its place in tables, and `number` is that of the column.
    pub(crate) fn new(
        make: fn(usize, usize) -> Box<dyn AnyStore>,
        producers: usize,
        (number, first): (usize, usize),
        slots: usize,
        workers: usize,
    ) -> Self {
        let (cells, chunks) = (producers.min(CHUNK), producers.div_ceil(CHUNK));
        let store = make(cells, chunks * slots);
        Column {
            looks_at_ends: store.has_destructor(),
            has_destructor: store.has_destructor(),
            alive: None,
            store,
            number: number as u32,
            first,
            chunks: chunks as u32,
            full: u16::MAX >> (CHUNK - cells),
            free: (0..workers).map(|_| Mutex::default()).collect(),
            made: AtomicU32::new(0),
        }
    }

    /// Counts the ends of products with these, by the numbers of their modules.
    pub(crate) fn counts(mut self, alive: Arc<[Alive]>) -> Self {
        (self.alive, self.looks_at_ends) = (Some(Box::new(alive)), true);
        self
    }

    pub(crate) fn chunks(&self) -> usize {
        self.chunks as usize
    }

    /// A chunk for a slot that is at home there.
    fn take(&self, home: usize) -> u32 {
        let free = self.free[home].lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| {
            // Relaxed: it only shares out numbers; the slot's lock publishes the chunk.
            let chunk = self.made.fetch_add(1, Ordering::Relaxed);
            self.store.make(chunk);
            chunk
        })
    }

    fn give_back(&self, home: usize, chunk: u32) {
        self.free[home].lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
    }
}

/// A slot's chunks of all columns.
pub(crate) struct Table(Box<[AtomicU32]>);

impl Table {
    pub(crate) fn new(len: usize) -> Self {
        Table((0..len).map(|_| AtomicU32::new(NO_CHUNK)).collect())
    }

    /// Chunk and place of a cell.
    #[inline]
    pub(crate) fn find(&self, column: &Column, cell: u16) -> (u32, usize) {
        let (nth, cell) = (usize::from(cell) / CHUNK, usize::from(cell) % CHUNK);
        // Relaxed: ordered by the slot's lock (see above).
        (self.0[column.first + nth].load(Ordering::Relaxed), cell)
    }
}

/// Which of a slot's cells hold products.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// For each chunk of the table, a bit for each of its cells.
    taken: Box<[u16]>,
    /// For each column, up to where its chunks are full.
    full: Box<[u16]>,
    count: usize,
    /// Products that nobody needs any more, and who made them.
    pub(crate) retired: Retired,
}

/// A product on its way to its destructor.
pub(crate) type Dead = Box<dyn Any + Send + Sync>;

/// Products to be dropped as soon as the slot's lock is released: destructors are user code, which
/// must not run under the lock.
#[derive(Default)]
pub(crate) struct Retired(pub(crate) Vec<(u16, Dead)>);

impl Clone for Retired {
    fn clone(&self) -> Self {
        Retired::default()
    }
}

impl std::fmt::Debug for Retired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} products", self.0.len())
    }
}

impl Cells {
    pub(crate) fn new(columns: usize, table_len: usize) -> Self {
        let (taken, full) = (vec![0; table_len].into(), vec![0; columns].into());
        Cells { taken, full, count: 0, retired: Retired::default() }
    }

    /// The first that is free. There is one: a column has as many as producers, and each has at
    /// most one.
    #[inline]
    pub(crate) fn take(&mut self, table: &Table, column: &Column, home: usize) -> u16 {
        let full = &mut self.full[column.number as usize];
        let first = column.first;
        let masks = &mut self.taken[first..first + column.chunks as usize];
        while masks[usize::from(*full)] == column.full {
            *full += 1;
        }
        let nth = usize::from(*full);
        let entry = &table.0[first + nth];
        // Relaxed: under the slot's lock.
        if masks[nth] == 0 && entry.load(Ordering::Relaxed) == NO_CHUNK {
            entry.store(column.take(home), Ordering::Relaxed);
        }
        let cell = masks[nth].trailing_ones();
        masks[nth] |= 1 << cell;
        self.count += 1;
        (nth * CHUNK) as u16 + cell as u16
    }

    /// Takes out what lies there, made by this module, and gives the cell back.
    #[inline]
    pub(crate) fn give_back(
        &mut self,
        table: &Table,
        column: &Column,
        home: usize,
        (module, cell): (u16, u16),
    ) {
        let (chunk, place) = table.find(column, cell);
        if column.looks_at_ends {
            if column.has_destructor
                && let Some(product) = column.store.clear(chunk, place)
            {
                self.retired.0.push((module, product));
            }
            if let Some(alive) = &column.alive {
                alive[usize::from(module)].ends();
            }
        }
        let first = column.first;
        let at = first + usize::from(cell) / CHUNK;
        self.taken[at] &= !(1 << place);
        let full = &mut self.full[column.number as usize];
        *full = (*full).min((at - first) as u16);
        self.count -= 1;
        if self.taken[at] == 0 && at > first {
            // Relaxed: under the slot's lock.
            table.0[at].store(NO_CHUNK, Ordering::Relaxed);
            column.give_back(home, chunk);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_share_chunks_and_keep_only_those_that_hold_something() {
        let column = Column::new(make_store::<String>, 40, (0, 1), 2, 1);
        let (tables, mut cells) =
            ([Table::new(4), Table::new(4)], [Cells::new(1, 4), Cells::new(1, 4)]);
        let store = |column: &Column, chunk, place, text: &str| {
            let any: &dyn Any = &*column.store;
            let store: &Store<String> = any.downcast_ref().expect("made of it");
            store.put(chunk, place, text.to_owned());
            store.read(chunk, place).is_some_and(|read| *read == text)
        };
        for round in 0..3 {
            for slot in 0..2 {
                let taken: Vec<u16> =
                    (0..40).map(|_| cells[slot].take(&tables[slot], &column, 0)).collect();
                assert_eq!(taken, (0..40).collect::<Vec<_>>());
                for &cell in &taken {
                    let (chunk, place) = tables[slot].find(&column, cell);
                    assert!(store(&column, chunk, place, &format!("{round} {slot} {cell}")));
                }
                assert_eq!(cells[slot].count(), 40);
                taken.iter().for_each(|&cell| {
                    cells[slot].give_back(&tables[slot], &column, 0, (0, cell));
                });
                assert_eq!(cells[slot].count(), 0);
            }
        }
        // Each has a first one, and both in turn had the two others.
        assert_eq!(column.made.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn a_type_that_few_make_has_small_chunks() {
        let column = Column::new(make_store::<[u8; 1000]>, 3, (0, 0), 1, 1);
        let (table, mut cells) = (Table::new(1), Cells::new(1, 1));
        let taken = [(); 3].map(|()| cells.take(&table, &column, 0));
        assert_eq!((taken, column.full), ([0, 1, 2], 0b111));
        cells.give_back(&table, &column, 0, (0, 1));
        assert_eq!(cells.take(&table, &column, 0), 1);
    }
}
