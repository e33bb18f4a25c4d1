//! The table of a segment's registered chunks: their keys, and who uses them.
//!
//! A chunk is absent, busy (somebody is registering it, without the lock), or here. Here, it counts
//! its users; without any it waits in the order in which its last user left, and is what makes room
//! when the bound is reached. What is in use is never taken away: who asks for more than fits then
//! gets an error, so nobody waits for anybody but for a registration under way.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::{Fabric, Key, Region, Register, pinned_bytes};
use crate::MemoryError;
use crate::clock::Stopwatch;
use crate::error::last_words;
use crate::sys::Mapping;

/// Bytes registered at a time behind the fault-in: large enough to cost little, small enough that
/// it goes on meanwhile.
const STATIC_CHUNK_BYTES: usize = 16 << 20;

/// The work of registration so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RegistrationFigures {
    /// The fabric's name.
    pub fabric: String,
    /// `static` or `dynamic`.
    pub how: String,
    /// Bytes registered at a time.
    pub chunk_bytes: u64,
    /// The bound on what is registered; None for the whole segment.
    pub bytes_max: Option<u64>,
    /// Bytes that are registered now.
    pub bytes: u64,
    /// The number of chunks that hold them.
    pub chunks: u64,
    /// How often a chunk was registered.
    pub registered: u64,
    /// How often a chunk had to go to make room.
    pub evicted: u64,
    /// How often a chunk was there when it was leased.
    pub hits: u64,
    /// Time spent on registering, by all threads together.
    pub elapsed_s: f64,
    /// Pinned by the whole process, whatever for; None if the kernel does not say.
    pub pinned_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Absent,
    Busy,
    Here { key: Key, uses: usize, left_at: u64 },
}

#[derive(Debug)]
struct State {
    slots: Vec<Slot>,
    /// Chunks that are here and not in use, by when they were left.
    idle: BTreeMap<u64, usize>,
    /// Counts departures.
    departures: u64,
    /// Bytes of the chunks that are here or busy, and of those among them that are not idle.
    bytes: u64,
    used_bytes: u64,
    registered: u64,
    evicted: u64,
    hits: u64,
    elapsed_s: f64,
}

/// A segment's registration.
#[derive(Debug)]
pub(crate) struct Table {
    fabric: Arc<dyn Fabric>,
    how: Register,
    len: usize,
    chunk_bytes: usize,
    /// The part of each chunk that is not faulted in yet; for `Register::Static`.
    absent_bytes: Box<[AtomicUsize]>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Table {
    /// For a segment of `len` bytes that is faulted in by chunks of `step` bytes. Refuses what can
    /// be known not to work.
    pub(crate) fn new(
        fabric: Arc<dyn Fabric>,
        how: Register,
        len: usize,
        step: usize,
    ) -> Result<Self, MemoryError> {
        let limits = fabric.limits();
        let refused = |problem| MemoryError::Fabric { fabric: fabric.name(), problem };
        let (mut chunk_bytes, most) = match how {
            Register::Static => (step.max(STATIC_CHUNK_BYTES).next_multiple_of(step), len),
            Register::Dynamic { bytes_max } => {
                let most = usize::try_from(bytes_max).unwrap_or(usize::MAX).min(len);
                (step, most)
            }
        };
        while most.div_ceil(chunk_bytes) > limits.ranges_max && chunk_bytes < len {
            chunk_bytes = chunk_bytes.saturating_mul(2);
        }
        let largest = chunk_bytes.min(len);
        if largest > limits.range_bytes_max {
            return Err(refused(format!(
                "it takes {} ranges of {} bytes: not enough for {most} bytes in chunks of {step}",
                limits.ranges_max, limits.range_bytes_max
            )));
        }
        if let Register::Dynamic { bytes_max } = how
            && bytes_max < largest as u64
        {
            return Err(MemoryError::Setting {
                setting: "register",
                value: format!("at most {bytes_max} bytes"),
                allowed: format!("at least one chunk of {largest} bytes"),
            });
        }
        if let Some((bytes_max, limit)) = limits.bytes_max
            && bytes_max < most as u64
        {
            let problem =
                format!("can not register {most} bytes: {bytes_max} bytes are allowed ({limit})");
            return Err(refused(problem));
        }
        let chunks = len.div_ceil(chunk_bytes);
        let absent_bytes = match how {
            Register::Static => (0..chunks).map(|_| AtomicUsize::new(0)).collect(),
            Register::Dynamic { .. } => Box::default(),
        };
        let state = State {
            slots: vec![Slot::Absent; chunks],
            idle: BTreeMap::new(),
            departures: 0,
            bytes: 0,
            used_bytes: 0,
            registered: 0,
            evicted: 0,
            hits: 0,
            elapsed_s: 0.0,
        };
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let table = Table { fabric, how, len, chunk_bytes, absent_bytes, state, changed };
        for (chunk, absent) in table.absent_bytes.iter().enumerate() {
            // Relaxed: nobody else has it yet.
            absent.store(table.range(chunk).len(), Ordering::Relaxed);
        }
        Ok(table)
    }

    fn range(&self, chunk: usize) -> Range<usize> {
        let from = chunk * self.chunk_bytes;
        from..self.len.min(from + self.chunk_bytes)
    }

    /// The parts of a range, by the chunk that they lie in.
    fn parts(&self, range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = range.start / self.chunk_bytes;
        let end = if range.is_empty() { first } else { range.end.div_ceil(self.chunk_bytes) };
        (first..end).map(move |chunk| {
            let whole = self.range(chunk);
            (chunk, whole.start.max(range.start)..whole.end.min(range.end))
        })
    }

    /// A range has been faulted in. Whoever completes a chunk registers it.
    pub(crate) fn faulted(
        &self,
        mapping: &Mapping,
        range: Range<usize>,
    ) -> Result<(), MemoryError> {
        if self.how != Register::Static {
            return Ok(());
        }
        for (chunk, part) in self.parts(range) {
            // Relaxed: the count is all that is shared; that pages are there the kernel knows.
            let before = self.absent_bytes[chunk].fetch_sub(part.len(), Ordering::Relaxed);
            if before == part.len() {
                self.acquire(mapping, chunk, false)?;
                self.release(chunk);
            }
        }
        Ok(())
    }

    /// The keys of a range, registering what is not.
    pub(crate) fn lease<'a>(
        &'a self,
        mapping: &'a Mapping,
        range: Range<usize>,
    ) -> Result<Lease<'a>, MemoryError> {
        let mut lease = Lease { table: self, parts: Vec::new() };
        for (chunk, range) in self.parts(range) {
            let key = self.acquire(mapping, chunk, true)?;
            lease.parts.push(LeasedPart { range, key });
        }
        Ok(lease)
    }

    fn acquire(&self, mapping: &Mapping, chunk: usize, counts: bool) -> Result<Key, MemoryError> {
        let size = self.range(chunk).len() as u64;
        let mut state = self.lock();
        loop {
            match state.slots[chunk] {
                Slot::Here { key, uses, left_at } => {
                    if uses == 0 {
                        state.idle.remove(&left_at);
                        state.used_bytes += size;
                    }
                    state.slots[chunk] = Slot::Here { key, uses: uses + 1, left_at };
                    state.hits += u64::from(counts);
                    return Ok(key);
                }
                Slot::Busy => {
                    let woken = self.changed.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                }
                Slot::Absent => break,
            }
        }
        self.make_room(&mut state, size)?;
        state.slots[chunk] = Slot::Busy;
        state.bytes += size;
        state.used_bytes += size;
        drop(state);

        let clock = Stopwatch::start();
        let region = Region::new(mapping, self.range(chunk));
        // Others may wait for this chunk: a fabric that panics must not leave them there.
        let registered = catch_unwind(AssertUnwindSafe(|| self.fabric.register(region)))
            .unwrap_or_else(|panic| Err(format!("it panicked: {}", last_words(&*panic))));
        let elapsed_s = clock.seconds();

        let mut state = self.lock();
        state.elapsed_s += elapsed_s;
        let done = match registered {
            Ok(key) => {
                state.registered += 1;
                state.slots[chunk] = Slot::Here { key, uses: 1, left_at: 0 };
                Ok(key)
            }
            Err(problem) => {
                state.slots[chunk] = Slot::Absent;
                state.bytes -= size;
                state.used_bytes -= size;
                Err(MemoryError::Fabric { fabric: self.fabric.name(), problem })
            }
        };
        self.changed.notify_all();
        done
    }

    /// Lets go what was not used for longest until there is room, unless what is in use leaves
    /// none.
    fn make_room(&self, state: &mut State, size: u64) -> Result<(), MemoryError> {
        let Register::Dynamic { bytes_max } = self.how else { return Ok(()) };
        if state.used_bytes + size > bytes_max {
            let in_use = state.used_bytes;
            return Err(MemoryError::Fabric {
                fabric: self.fabric.name(),
                problem: format!(
                    "can not register {size} bytes more: {in_use} of at most {bytes_max} bytes are in use"
                ),
            });
        }
        while state.bytes + size > bytes_max
            && let Some((_, chunk)) = state.idle.pop_first()
        {
            if let Slot::Here { key, .. } = state.slots[chunk] {
                self.fabric.deregister(key);
            }
            state.slots[chunk] = Slot::Absent;
            state.bytes -= self.range(chunk).len() as u64;
            state.evicted += 1;
        }
        Ok(())
    }

    fn release(&self, chunk: usize) {
        let mut state = self.lock();
        state.departures += 1;
        let now = state.departures;
        if let Slot::Here { uses, left_at, .. } = &mut state.slots[chunk] {
            *uses -= 1;
            if *uses == 0 {
                *left_at = now;
                state.idle.insert(now, chunk);
                state.used_bytes -= self.range(chunk).len() as u64;
            }
        }
    }

    /// Deregisters all chunks at the segment's end: nobody has a lease, because leases borrow it.
    pub(crate) fn deregister_all(&self) {
        let mut state = self.lock();
        for slot in &mut state.slots {
            if let Slot::Here { key, .. } = *slot {
                self.fabric.deregister(key);
            }
            *slot = Slot::Absent;
        }
        state.idle.clear();
        state.bytes = 0;
    }

    pub(crate) fn figures(&self) -> RegistrationFigures {
        let state = self.lock();
        let is_here = |slot: &&Slot| matches!(slot, Slot::Here { .. });
        RegistrationFigures {
            fabric: self.fabric.name().to_owned(),
            how: self.how.to_string(),
            chunk_bytes: self.chunk_bytes as u64,
            bytes_max: match self.how {
                Register::Static => None,
                Register::Dynamic { bytes_max } => Some(bytes_max),
            },
            bytes: state.bytes,
            chunks: state.slots.iter().filter(is_here).count() as u64,
            registered: state.registered,
            evicted: state.evicted,
            hits: state.hits,
            elapsed_s: state.elapsed_s,
            pinned_bytes: pinned_bytes(),
        }
    }

    /// Nothing panics under the lock but a fabric's `deregister`, before which the slot still says
    /// the truth.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a leased range, and the key that it is registered with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeasedPart {
    /// The part's bytes, as offsets in the segment.
    pub range: Range<usize>,
    /// The key of the chunk that it lies in.
    pub key: Key,
}

/// A range that stays registered while this is held.
#[derive(Debug)]
#[must_use = "what is not leased may be deregistered"]
pub struct Lease<'a> {
    table: &'a Table,
    parts: Vec<LeasedPart>,
}

impl Lease<'_> {
    /// One for each chunk that the range lies in, in order.
    #[must_use]
    pub fn parts(&self) -> &[LeasedPart] {
        &self.parts
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        for part in &self.parts {
            self.table.release(part.range.start / self.table.chunk_bytes);
        }
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
