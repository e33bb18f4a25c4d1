//! A range of address space: reserved, faulted in, given back.

use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering};

use super::{base_page_bytes, check, errno};

/// Advice to the kernel about a range. None of it changes what a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    HugePages,
    NoHugePages,
    NoDump,
    NoFork,
}

/// Reserved address space; `munmap` when dropped. Guard pages that cannot be touched lie before and
/// behind, so that the kernel never merges it with a neighbour, and statistics of the one are not
/// those of the other.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Guards included. (Under Miri there are none: the alignment.)
    whole: (NonNull<u8>, usize),
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping is a range of addresses, the same for all threads; it hands out no reference
// into it.
unsafe impl Send for Mapping {}
// SAFETY: likewise; what is called through `&self` are system calls and atomic accesses.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves private memory whose start is a multiple of `align`; with `huge_page_bytes`, of the
    /// kernel's pool of such pages.
    pub(crate) fn anonymous(
        len: usize,
        align: usize,
        huge_page_bytes: Option<usize>,
    ) -> Result<Self, i32> {
        Self::place(len, align, Self::private(huge_page_bytes), -1)
    }

    /// The same, faulted in by the call that reserves it: one thread, before any policy can be set.
    pub(crate) fn populated(
        len: usize,
        align: usize,
        huge_page_bytes: Option<usize>,
    ) -> Result<Self, i32> {
        Self::place(len, align, Self::private(huge_page_bytes) | libc::MAP_POPULATE, -1)
    }

    fn private(huge_page_bytes: Option<usize>) -> i32 {
        let huge = huge_page_bytes
            .map_or(0, |bytes| libc::MAP_HUGETLB | (bytes.ilog2() as i32) << libc::MAP_HUGE_SHIFT);
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | huge
    }

    /// Writes to every byte, by several threads at once.
    pub(crate) fn fill(&mut self, threads: usize) {
        let share = self.len.div_ceil(threads).max(1);
        // SAFETY: readable and writable memory, zeroed by the kernel, that `&mut self` lends to
        // nobody else.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) };
        std::thread::scope(|scope| {
            for part in bytes.chunks_mut(share) {
                scope.spawn(|| part.fill(1));
            }
        });
        std::hint::black_box(self);
    }

    /// Maps a file's first `len` bytes, shared with whoever else maps it.
    pub(crate) fn of_file(file: BorrowedFd<'_>, len: usize, align: usize) -> Result<Self, i32> {
        Self::place(len, align, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Miri has no address space to reserve, but what is built on mappings can be run: in ordinary
    /// memory, without guards.
    #[cfg(miri)]
    fn place(len: usize, align: usize, _flags: i32, _fd: i32) -> Result<Self, i32> {
        let layout = std::alloc::Layout::from_size_align(len, align).map_err(|_| libc::ENOMEM)?;
        // SAFETY: no mapping is empty.
        let start =
            NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).ok_or(libc::ENOMEM)?;
        Ok(Mapping { whole: (start, align), start, len })
    }

    /// Reserves addresses with a guard at both ends, and puts the mapping into its middle.
    #[cfg(not(miri))]
    fn place(len: usize, align: usize, flags: i32, fd: i32) -> Result<Self, i32> {
        let align = align.max(base_page_bytes());
        assert!(align.is_power_of_two() && len.is_multiple_of(base_page_bytes()));
        let reserved = align.checked_mul(2).and_then(|more| len.checked_add(more));
        let reserved =
            reserved.filter(|&reserved| reserved <= isize::MAX as usize).ok_or(libc::ENOMEM)?;
        let none = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new private mapping at an address that the kernel chooses touches no existing
        // memory.
        let whole = unsafe { libc::mmap(ptr::null_mut(), reserved, libc::PROT_NONE, none, -1, 0) };
        if whole == libc::MAP_FAILED {
            return Err(errno());
        }
        let whole = NonNull::new(whole.cast::<u8>()).ok_or(libc::ENOMEM)?;
        // The first multiple behind at least one page of guard; as much is left behind it.
        let gap = (whole.as_ptr() as usize + 1).next_multiple_of(align) - whole.as_ptr() as usize;
        // SAFETY: gap <= align, so gap + len stays within the `reserved` bytes above.
        let start = unsafe { whole.add(gap) };
        let mapping = Mapping { whole: (whole, reserved), start, len };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let at = start.as_ptr().cast();
        // SAFETY: MAP_FIXED replaces only pages of the reservation made above, which nobody else
        // knows yet.
        let mapped = unsafe { libc::mmap(at, len, access, flags | libc::MAP_FIXED, fd, 0) };
        // On failure the reservation goes with `mapping`.
        if mapped == libc::MAP_FAILED { Err(errno()) } else { Ok(mapping) }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The address where a range begins, which must lie within.
    fn at(&self, range: &Range<usize>) -> *mut libc::c_void {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {}", self.len);
        // SAFETY: asserted to lie within the mapping.
        unsafe { self.start.as_ptr().add(range.start).cast() }
    }

    pub(crate) fn advise(&self, advice: Advice) -> Result<(), i32> {
        let advice = match advice {
            Advice::HugePages => libc::MADV_HUGEPAGE,
            Advice::NoHugePages => libc::MADV_NOHUGEPAGE,
            Advice::NoDump => libc::MADV_DONTDUMP,
            Advice::NoFork => libc::MADV_DONTFORK,
        };
        // SAFETY: the range is ours, and none of these pieces of advice changes what it holds.
        check(unsafe { libc::madvise(self.at(&(0..self.len)), self.len, advice) })
    }

    /// Locks pages as they are faulted in. Locking them all at once would fault them in here, by
    /// one thread, on its node.
    pub(crate) fn lock_on_fault(&self) -> Result<(), i32> {
        // SAFETY: the range is ours, and locking does not change what it holds.
        check(unsafe { libc::mlock2(self.at(&(0..self.len)), self.len, libc::MLOCK_ONFAULT) })
    }

    /// Faults a range in for writing, without changing what it holds (Linux 5.14).
    pub(crate) fn populate(&self, range: Range<usize>) -> Result<(), i32> {
        let at = self.at(&range);
        loop {
            // SAFETY: the range is ours; populating makes pages present and does not change what
            // they hold.
            match check(unsafe { libc::madvise(at, range.len(), libc::MADV_POPULATE_WRITE) }) {
                Err(libc::EINTR | libc::EAGAIN) => (),
                done => return done,
            }
        }
    }

    /// The same for older kernels, a page at a time. Whoever uses the page meanwhile notices
    /// nothing: the store happens only if the byte still is what was read, and stores just that.
    pub(crate) fn touch(&self, range: Range<usize>, page_bytes: usize) {
        let at = self.at(&range).cast::<u8>();
        for offset in (0..range.len()).step_by(page_bytes) {
            // SAFETY: within the mapping, which outlives the call; an `AtomicU8` has the size and
            // alignment of a byte.
            let byte = unsafe { AtomicU8::from_ptr(at.add(offset)) };
            // Relaxed: nothing is published; the access is for its fault. (An idempotent
            // read-modify-write may be compiled to a load, which would map the page of zeros; an
            // exchange is not.)
            let held = byte.load(Ordering::Relaxed);
            // Relaxed: as above. If it fails, somebody else has just written there: the page is in.
            let _ = byte.compare_exchange(held, held, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Gives the pages of a range back before the mapping goes: this takes the process's lock of
    /// its address space only for reading, so that several threads can. The pages lose what they
    /// held, so `self` must be at its end.
    pub(crate) fn release(&mut self, threads: usize, chunk_bytes: usize) {
        let this = &*self;
        let share = this.len.div_ceil(threads).next_multiple_of(chunk_bytes);
        let part = |thread: usize| {
            let end = this.len.min((thread + 1) * share);
            for from in (thread * share..end).step_by(chunk_bytes) {
                let range = from..end.min(from + chunk_bytes);
                // SAFETY: the range is ours, and `&mut self` says that nobody uses it any more.
                // What fails here (a locked page) is given back by `munmap`.
                let _ = unsafe { libc::madvise(this.at(&range), range.len(), libc::MADV_DONTNEED) };
            }
        };
        std::thread::scope(|scope| {
            for thread in 1..threads {
                let part = &part;
                // A thread that cannot be had leaves its part to `munmap`.
                let _ = std::thread::Builder::new().spawn_scoped(scope, move || part(thread));
            }
            part(0);
        });
    }
}

#[cfg(miri)]
impl Drop for Mapping {
    fn drop(&mut self) {
        let layout = std::alloc::Layout::from_size_align(self.len, self.whole.1);
        // SAFETY: `place` has allocated it with this layout, and references into it borrow from the
        // owner of this.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), layout.expect("it was one")) };
    }
}

#[cfg(not(miri))]
impl Drop for Mapping {
    fn drop(&mut self) {
        let (start, len) = self.whole;
        // SAFETY: the range was mapped by `place` and is given back once; references into it borrow
        // from the owner of this.
        unsafe { libc::munmap(start.as_ptr().cast(), len) };
    }
}

/// How much the process may lock; None for any amount.
pub(crate) fn lock_limit_bytes() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills in the structure, which is alive.
    let code = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    (code == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Bytes of the machine's memory that nobody uses at all, asked by the one call that reads no file.
pub(crate) fn unused_bytes() -> u64 {
    // SAFETY: all zeros is a valid `sysinfo`: it holds nothing but numbers.
    let mut info: libc::sysinfo = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills in the structure, which is alive.
    let code = unsafe { libc::sysinfo(&mut info) };
    if code == 0 { info.freeram.saturating_mul(u64::from(info.mem_unit)) } else { 0 }
}
