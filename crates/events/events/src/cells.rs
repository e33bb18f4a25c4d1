//! The memory of products: cells of one type each, in chunks that slots take while they need them.
//!
//! All products of one type have one [store](crate::store), an array of chunks of [`CHUNK`] cells.
//! A slot takes a chunk from those of its home when it has no cell free, and gives it back when
//! nothing is left in it: so there are as many as all events in flight need together, not as many
//! as each needs at its worst moment, and those that were used last are used next. A slot's first
//! chunk of a type stays its own.
//!
//! A module's word says in which cell of its slot's column its product is: the chunk's place in the
//! slot's table times [`CHUNK`], and the place in the chunk. Tables are written under the slot's
//! lock; who reads a product was made ready under it.

use crate::store::{AnyStore, Dead, Make};
use actinium_scheduler::sync::lock;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Cells in a chunk, unless fewer are ever needed.
pub(crate) const CHUNK: usize = 16;
/// In a slot's table: no chunk.
const NO_CHUNK: u32 = u32::MAX;
/// Places before and behind those of a slot's table and marks that nothing uses: at least 128
/// bytes, so that what slots of other workers write is on other cache lines.
pub(crate) const APART: usize = 64;

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
    pub(crate) store: AnyStore,
    /// Where its part of a slot's table of chunks begins, and how long it is.
    first: u32,
    chunks: u32,
    /// Where its part of a slot's marks begins.
    marks: u32,
    /// A chunk's mask when all its cells are taken.
    full: u16,
    /// Whether something is to be done with products that are not needed any more.
    looks_at_ends: bool,
    rest: Box<Rest>,
}

/// What is seldom looked at.
struct Rest {
    /// Those of all modules, if they are counted.
    alive: Option<Arc<[Alive]>>,
    /// Chunks that no slot has, for each worker.
    free: Box<[Mutex<Free>]>,
    /// Blocks of the store that workers have taken.
    blocks: AtomicU32,
}

/// One worker's chunks: those that its slots have given back, and those that nobody had yet, all of
/// blocks of its own. For in a block, chunks share cache lines.
#[derive(Default)]
struct Free {
    chunks: Vec<u32>,
    fresh: Range<u32>,
}

impl Column {
    /// For so many slots and workers, whose products of this type come from so many producers;
    /// `first` is its place in tables, and `number` is that of the column.
    pub(crate) fn new(
        make: Make,
        producers: usize,
        (number, first): (usize, usize),
        slots: usize,
        workers: usize,
    ) -> Self {
        let (cells, chunks) = (producers.min(CHUNK), producers.div_ceil(CHUNK));
        let store = make(cells, chunks * slots, workers);
        Column {
            looks_at_ends: store.has_destructor(),
            store,
            first: first as u32,
            chunks: chunks as u32,
            marks: (first + number) as u32,
            full: u16::MAX >> (CHUNK - cells),
            rest: Box::new(Rest {
                alive: None,
                free: (0..workers).map(|_| Mutex::default()).collect(),
                blocks: AtomicU32::new(0),
            }),
        }
    }

    /// Counts the ends of products with these, by the numbers of their modules.
    pub(crate) fn counts(mut self, alive: Arc<[Alive]>) -> Self {
        (self.rest.alive, self.looks_at_ends) = (Some(alive), true);
        self
    }

    pub(crate) fn chunks(&self) -> usize {
        self.chunks as usize
    }

    /// A chunk for a slot that is at home there.
    #[cold]
    fn take(&self, home: usize) -> u32 {
        let mut free = self.free(home);
        if let Some(chunk) = free.chunks.pop() {
            return chunk;
        }
        if free.fresh.is_empty() {
            // Relaxed: it only shares out numbers; the slot's lock publishes the chunk.
            free.fresh = self.store.make(self.rest.blocks.fetch_add(1, Ordering::Relaxed));
        }
        free.fresh.next().expect("there are blocks for all chunks of all slots")
    }

    #[cold]
    fn give_back(&self, home: usize, chunk: u32) {
        self.free(home).chunks.push(chunk);
    }

    fn free(&self, home: usize) -> MutexGuard<'_, Free> {
        lock(&self.rest.free[home])
    }

    /// Something is to be done with a product that is not needed any more.
    fn end(&self, module: u16, chunk: u32, place: usize, retired: &mut Retired) {
        if self.store.has_destructor()
            && let Some(product) = self.store.clear(chunk, place)
        {
            retired.0.push((module, product));
        }
        if let Some(alive) = &self.rest.alive {
            alive[usize::from(module)].ends();
        }
    }
}

/// A slot's chunks of all columns.
pub(crate) struct Table(Box<[AtomicU32]>);

impl Table {
    pub(crate) fn new(len: usize) -> Self {
        Table((0..len).map(|_| AtomicU32::new(NO_CHUNK)).collect())
    }

    /// Chunk and place of a cell.
    #[inline(always)]
    pub(crate) fn find(&self, column: &Column, cell: u16) -> Option<(u32, usize)> {
        let (nth, place) = (usize::from(cell) / CHUNK, usize::from(cell) % CHUNK);
        // Relaxed: ordered by the slot's lock (see above).
        Some((self.0.get(column.first as usize + nth)?.load(Ordering::Relaxed), place))
    }
}

/// A cell that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// What its slot calls it.
    pub(crate) cell: u16,
    /// Where it is.
    pub(crate) chunk: u32,
}

impl Taken {
    /// The place in its chunk.
    #[inline]
    pub(crate) fn place(self) -> usize {
        usize::from(self.cell) % CHUNK
    }
}

/// Which of a slot's cells hold products.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// For each column: up to where its chunks are full; then for each of its chunks a bit for each
    /// cell that is taken.
    marks: Box<[u16]>,
    count: u32,
    /// Products that nobody needs any more, and who made them.
    pub(crate) retired: Retired,
}

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
        Cells { marks: vec![0; columns + table_len].into(), ..Cells::default() }
    }

    /// The first that is free. There is one: a column has as many as producers, and each has at
    /// most one.
    #[inline(always)]
    pub(crate) fn take(&mut self, table: &Table, column: &Column, home: usize) -> Taken {
        let [full, masks @ ..] = &mut self.marks[column.marks as usize..] else {
            unreachable!("each column has marks")
        };
        let mut nth = usize::from(*full);
        while masks[nth] == column.full {
            nth += 1;
        }
        *full = nth as u16;
        let mask = &mut masks[nth];
        let entry = &table.0[column.first as usize + nth];
        // Relaxed: under the slot's lock.
        let mut chunk = entry.load(Ordering::Relaxed);
        if chunk == NO_CHUNK {
            chunk = column.take(home);
            entry.store(chunk, Ordering::Relaxed); // Relaxed: as above.
        }
        let cell = mask.trailing_ones();
        *mask |= 1 << cell;
        self.count += 1;
        Taken { cell: (nth * CHUNK) as u16 + cell as u16, chunk }
    }

    /// Takes out what lies there, made by this module, and gives the cell back.
    #[inline(always)]
    pub(crate) fn give_back(
        &mut self,
        table: &Table,
        column: &Column,
        home: usize,
        (module, cell): (u16, u16),
    ) {
        let (nth, place) = (usize::from(cell) / CHUNK, usize::from(cell) % CHUNK);
        let entry = &table.0[column.first as usize + nth];
        if column.looks_at_ends {
            // Relaxed: under the slot's lock.
            column.end(module, entry.load(Ordering::Relaxed), place, &mut self.retired);
        }
        let [full, masks @ ..] = &mut self.marks[column.marks as usize..] else { return };
        let mask = &mut masks[nth];
        *mask &= !(1 << place);
        *full = (*full).min(nth as u16);
        self.count -= 1;
        if *mask == 0 && nth > 0 {
            // Relaxed: under the slot's lock.
            column.give_back(home, entry.swap(NO_CHUNK, Ordering::Relaxed));
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_share_chunks_and_keep_only_those_that_hold_something() {
        let column = Column::new(AnyStore::new::<String>, 40, (0, 1), 2, 1);
        let (tables, mut cells) =
            ([Table::new(4), Table::new(4)], [Cells::new(1, 4), Cells::new(1, 4)]);
        let store = |column: &Column, chunk, place, text: &str| {
            let store = column.store.of::<String>().expect("made of it");
            assert!(store.put(chunk, place, text.to_owned()).is_ok());
            let product = column.store.clear(chunk, place);
            product.is_some_and(|it| it.downcast_ref::<String>().is_some_and(|it| it == text))
        };
        for round in 0..3 {
            for slot in 0..2 {
                let taken: Vec<u16> =
                    (0..40).map(|_| cells[slot].take(&tables[slot], &column, 0).cell).collect();
                assert_eq!(taken, (0..40).collect::<Vec<_>>());
                for &cell in &taken {
                    let (chunk, place) = tables[slot].find(&column, cell).expect("taken");
                    assert!(store(&column, chunk, place, &format!("{round} {slot} {cell}")));
                }
                assert_eq!(cells[slot].count(), 40);
                taken.iter().for_each(|&cell| {
                    cells[slot].give_back(&tables[slot], &column, 0, (0, cell));
                });
                assert_eq!(cells[slot].count(), 0);
            }
        }
        // Each has a first one, and both in turn had the two others; the block has room for eight.
        assert_eq!(column.rest.blocks.load(Ordering::Relaxed), 1);
        assert_eq!(column.free(0).fresh, 4..8);
    }

    #[test]
    fn each_worker_has_chunks_of_its_own_blocks() {
        let column = Column::new(AnyStore::new::<u64>, 40, (0, 0), 2, 2);
        let (tables, mut cells) = ([(); 2].map(|()| Table::new(3)), Cells::new(1, 3));
        let [first, second] = [0, 1].map(|home| {
            cells = Cells::new(1, 3);
            let taken = (0..40).map(|_| cells.take(&tables[home], &column, home).chunk);
            taken.collect::<std::collections::BTreeSet<_>>()
        });
        assert_eq!((first, second), ([0, 1, 2].into(), [8, 9, 10].into()));
    }

    #[test]
    fn a_type_that_few_make_has_small_chunks() {
        let column = Column::new(AnyStore::new::<[u8; 1000]>, 3, (0, 0), 1, 1);
        let (table, mut cells) = (Table::new(1), Cells::new(1, 1));
        let taken = [(); 3].map(|()| cells.take(&table, &column, 0).cell);
        assert_eq!((taken, column.full), ([0, 1, 2], 0b111));
        cells.give_back(&table, &column, 0, (0, 1));
        assert_eq!(cells.take(&table, &column, 0).cell, 1);
    }
}
