//! A contiguous range of memory, reserved at once, placed on purpose and faulted in by many
//! threads.

mod asked;
mod builder;
mod fault_in;
mod stats;
mod throttle;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::fabric::{Lease, RegistrationFigures, Table};
use crate::meminfo::resident_bytes;
use crate::sys::MemoryFile;
use crate::{MemoryError, Warning};

pub use asked::{Arena, Mode, Size};
pub use builder::SegmentBuilder;
pub use fault_in::{FaultFigures, Progress, ThreadFigures};
pub use stats::{NodeFigures, SegmentStats};

use asked::Asked;
use fault_in::FaultIn;

/// Below this, giving pages back takes less time than starting threads.
const PARALLEL_TEARDOWN_BYTES: usize = 256 << 20;

/// A range of memory of its own. Its pages go back when it is dropped, by several threads if it is
/// large.
///
/// ```
/// use actinium_memory::{Mode, Placement, Segment, Size};
///
/// let mut segment = Segment::builder()
///     .size(Size::Bytes(16 << 20))
///     .placement(Placement::Interleave)
///     .mode(Mode::Background)
///     .build()?;
/// // Reserved and placed; pages come in while we work, and those that we are first at at once.
/// segment.bytes().expect("private memory")[0] = 1;
/// segment.wait()?;
/// let stats = segment.stats();
/// assert_eq!(stats.absent_bytes, Some(0));
/// for warning in segment.warnings() {
///     eprintln!("{warning}"); // whatever could not be had as it was asked for
/// }
/// # Ok::<(), actinium_memory::MemoryError>(())
/// ```
#[derive(Debug)]
pub struct Segment {
    inner: Arc<FaultIn>,
    /// The thread that looks after the others that fault in in the background.
    background: Option<JoinHandle<()>>,
    file: Option<MemoryFile>,
    asked: Asked,
    arenas: Vec<Arena>,
    /// The number of threads that was asked for.
    threads: Option<usize>,
    /// The process that made it: the child of a fork has neither its threads nor, if so asked, its
    /// memory.
    owner: u32,
}

impl Segment {
    /// The segment's size, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.mapping.len()
    }

    /// Never: a segment has at least one page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where it begins: a multiple of the size of its pages.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.inner.mapping.start()
    }

    /// The bytes. None if it lives in a file, which others may write to at any time.
    pub fn bytes(&mut self) -> Option<&mut [u8]> {
        if self.file.is_some() {
            return None;
        }
        let (start, len) = (self.start().as_ptr(), self.len());
        // SAFETY: private readable and writable memory, zeroed by the kernel, that lives as long as
        // `self`, which is borrowed for as long as the slice. The threads that fault in change
        // nothing: the kernel makes pages present, or their first bytes are exchanged for
        // themselves.
        Some(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }

    /// Copies bytes out, byte by byte as they are when they are read: others may write to a shared
    /// segment meanwhile.
    ///
    /// # Panics
    /// If they lie outside.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        self.check(offset, into.len());
        for (at, byte) in (offset..).zip(into) {
            // SAFETY: checked to lie within the mapping. Volatile, because the memory may be
            // another process's as well.
            *byte = unsafe { self.start().add(at).read_volatile() };
        }
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// If they would lie outside.
    pub fn write(&mut self, offset: usize, from: &[u8]) {
        self.check(offset, from.len());
        for (at, byte) in (offset..).zip(from) {
            // SAFETY: as in `read`; `&mut self` says that nobody of this process reads it.
            unsafe { self.start().add(at).write_volatile(*byte) };
        }
    }

    fn check(&self, offset: usize, len: usize) {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.len()),
            "{len} bytes at {offset} lie outside of the segment's {}",
            self.len()
        );
    }

    /// The file that it lives in, to be handed to other processes; see [`SegmentBuilder::file`].
    #[must_use]
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// The parts: one for each worker with [`Placement::Local`](crate::Placement::Local) and
    /// [`Placement::FirstTouch`](crate::Placement::FirstTouch), else one.
    #[must_use]
    pub fn arenas(&self) -> &[Arena] {
        &self.arenas
    }

    /// Warnings so far: each names something that it does without.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        self.inner.warnings.list()
    }

    /// How far the fault-in is. Pages that the program was first at count when the fault-in comes
    /// by.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.inner.progress()
    }

    /// Whether the fault-in has ended, well or not; false for one that was never asked for.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.inner.has_ended()
    }

    /// The figures of its fault-in, when that has ended.
    #[must_use]
    pub fn fault_figures(&self) -> Option<FaultFigures> {
        self.inner.figures()
    }

    /// Waits until all is faulted in, and helps. Returns at once if it is or was never to be.
    ///
    /// # Errors
    /// If memory has run out all the same. What is in stays.
    pub fn wait(&self) -> Result<(), MemoryError> {
        if self.asked.mode == Mode::Lazy {
            return Ok(());
        }
        if self.is_forked() {
            return self.inner.alone();
        }
        self.inner.wait()
    }

    /// The keys by which its fabric knows a part, which stays registered while the lease is held.
    /// What is not registered yet, be it because the fault-in has not come by, is registered now.
    /// To use a key after the lease is gone is a bug like using memory after it was given back, and
    /// what the fabric makes of it.
    ///
    /// # Errors
    /// If it was not built with [`SegmentBuilder::register`], the fabric refuses, or what is in use
    /// leaves no room; and in the child of a fork, whose memory is not what was registered.
    ///
    /// # Panics
    /// If the part lies outside.
    pub fn lease(&self, part: Range<usize>) -> Result<Lease<'_>, MemoryError> {
        self.check(part.start, part.len());
        let wrong = |value: &str, allowed: &str| MemoryError::Setting {
            setting: "register",
            value: value.to_owned(),
            allowed: allowed.to_owned(),
        };
        let Some(table) = &self.inner.registration else {
            return Err(wrong("none", "lease parts of a segment that is built with a fabric"));
        };
        if self.is_forked() {
            return Err(wrong("a fork's child", "the process that has registered it"));
        }
        table.lease(&self.inner.mapping, part)
    }

    /// The work of registration so far; None without a fabric.
    #[must_use]
    pub fn registration(&self) -> Option<RegistrationFigures> {
        self.inner.registration.as_ref().map(Table::figures)
    }

    /// Where its pages are and what they are like, asked of the kernel now.
    #[must_use]
    pub fn stats(&self) -> SegmentStats {
        stats::look(&self.inner, &self.asked)
    }

    /// How many bytes of a part are on which node, asked of the kernel now; pages that are not
    /// there are left out. None if it can not be asked.
    ///
    /// # Panics
    /// If the part lies outside.
    #[must_use]
    pub fn places(&self, part: Range<usize>) -> Option<BTreeMap<u32, u64>> {
        self.check(part.start, part.len());
        let used_pages = self.asked.used_pages;
        stats::places(&self.inner, used_pages, part).ok().map(|(on, _)| on)
    }

    /// Notes that the segment is never dropped: nobody will join its thread, which therefore gives
    /// its own resources back.
    pub(crate) fn stays(&mut self) {
        drop(self.background.take());
    }

    fn is_forked(&self) -> bool {
        std::process::id() != self.owner
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Eager => "eager",
            Mode::Background => "background",
            Mode::Lazy => "lazy",
        })
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let background = self.background.take();
        if self.is_forked() {
            // The thread is the parent's; its share of `inner` keeps the mapping, which the child's
            // end gives back.
            std::mem::forget(background);
            return;
        }
        // A thread that still looks at the machine will find that out, end, and give the memory
        // back: nobody waits for it.
        if self.inner.stop()
            && let Some(thread) = background
        {
            // Its panics are caught where they happen; there is nothing to learn from its end.
            let _ = thread.join();
        }
        if let Some(table) = &self.inner.registration {
            table.deregister_all();
        }
        let is_private = self.file.is_none();
        let threads = || {
            self.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
        };
        // What the program has used of it counts too; it is not known better than this.
        let resident = || resident_bytes().unwrap_or(u64::MAX);
        if let Some(inner) = Arc::get_mut(&mut self.inner)
            && is_private
            && inner.mapping.len() >= PARALLEL_TEARDOWN_BYTES
            && inner.progress().done_bytes.max(resident()) >= PARALLEL_TEARDOWN_BYTES as u64
            && let threads @ 2.. = threads()
        {
            let chunk_bytes = inner.chunk_bytes();
            inner.mapping.release(threads, chunk_bytes);
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
