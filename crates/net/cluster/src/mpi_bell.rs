//! Doorbells between the ranks of one host: MPI itself has no way to wait without looking all the
//! time.
//!
//! They are words ([`crate::doorbell`]) in memory that all ranks share: a file without a name
//! (`memfd`), which the first rank makes and the others open by its number in `/proc`. A window of
//! MPI's would do as well, but Open MPI has shared ones in one of its kinds of windows only, and
//! not in the one that payloads may want (`osc=pt2pt`); and memory of its own can stay for as long
//! as the process lives, so that a worker that rings late does no harm. The file's size is sealed:
//! nobody can take the memory away below others.
//!
//! This file holds `unsafe` for one mapping.

#![allow(unsafe_code)]

use crate::doorbell::{Doorbell, Woken, Word};
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use rustix::fs::{
    MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create,
};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::thread::futex;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Two cache lines, for they are fetched in pairs.
#[repr(C, align(128))]
struct Line {
    word: Word,
    /// The key, in the first line: it says that this is the file that was meant.
    key: AtomicU64,
}

/// The doorbells of all ranks.
#[derive(Clone, Copy)]
pub(crate) struct Bells(&'static [Line]);

/// One's own.
struct Own(&'static Word);

impl Bells {
    /// Makes them; all ranks call this at the same point. None, on all: not all of them are on one
    /// host, or some cannot share memory.
    pub(crate) fn open(world: &SimpleCommunicator) -> Option<Self> {
        let host = world.split_shared(world.rank());
        // All see the same: where one host has all, all are on one.
        if host.size() != world.size() {
            return None;
        }
        let ranks = host.size() as usize;
        let made = if host.rank() == 0 { make(ranks).ok() } else { None };
        let mut at = match &made {
            Some((file, lines)) => {
                // Relaxed: what MPI tells the others of it comes after it.
                let key = lines[0].key.load(Ordering::Relaxed);
                [std::process::id().into(), file.as_raw_fd() as u64, key]
            }
            None => [0; 3],
        };
        host.process_at_rank(0).broadcast_into(&mut at);
        let lines = match made {
            // Kept open until all have it.
            Some((_, lines)) => Some(lines),
            None if host.rank() == 0 => None,
            None => open(at, ranks),
        };
        let mut everywhere = 0_u32;
        let here = u32::from(lines.is_some());
        host.all_reduce_into(&here, &mut everywhere, SystemOperation::min());
        lines.filter(|_| everywhere == 1).map(Bells)
    }

    /// Whatever was sent to a rank before, it will look: it is awake, or is woken. (It may be dead,
    /// or stopped: nobody waits for it.)
    pub(crate) fn ring(&self, rank: usize) {
        self.0[rank].word.ring_if_armed(wake);
    }

    /// This rank is about to sleep: see [`Word::arm`].
    pub(crate) fn arm(&self, rank: usize) -> bool {
        self.0[rank].word.arm()
    }

    /// Disarms the bell of this rank: it does not sleep after all.
    pub(crate) fn disarm(&self, rank: usize) {
        self.0[rank].word.disarm();
    }

    /// Where a rank sleeps.
    pub(crate) fn doorbell(&self, rank: usize) -> impl Doorbell + 'static {
        Own(&self.0[rank].word)
    }
}

impl Doorbell for Own {
    fn sleep(&self, longest: Duration) -> Woken {
        self.0.sleep(|word, expected| {
            let longest = futex::Timespec::try_from(longest).ok();
            // What it says is of no use: the word says why the sleep has ended.
            let _ = futex::wait(word, futex::Flags::empty(), expected, longest.as_ref());
        })
    }

    fn ring(&self) {
        self.0.ring(wake);
    }
}

fn wake(word: &std::sync::atomic::AtomicU32) {
    // Who wants to sleep here is one. (Without `PRIVATE`, the kernel finds sleepers of all
    // processes.)
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

fn make(ranks: usize) -> Result<(File, &'static [Line]), std::io::Error> {
    let file = memfd_create("actinium-bells", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, bytes(ranks) as u64)?;
    fcntl_add_seals(&file, SEALS)?;
    let lines = map(&file, ranks)?;
    // Relaxed: see `Bells::open`.
    lines[0].key.store(fastrand::u64(1..), Ordering::Relaxed);
    Ok((file.into(), lines))
}

/// The file that another rank has made, if it is really that one: with process numbers of its own,
/// say, a rank finds another one or none.
fn open([process, number, key]: [u64; 3], ranks: usize) -> Option<&'static [Line]> {
    let path = format!("/proc/{process}/fd/{number}");
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    let is_sealed = fcntl_get_seals(&file).is_ok_and(|seals| seals.contains(SEALS));
    if !is_sealed || file.metadata().ok()?.len() != bytes(ranks) as u64 {
        return None;
    }
    let lines = map(&file, ranks).ok()?;
    // Relaxed: it came before what MPI has told.
    (lines[0].key.load(Ordering::Relaxed) == key).then_some(lines)
}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

fn bytes(ranks: usize) -> usize {
    ranks * size_of::<Line>()
}

/// The memory of a sealed file of so many lines.
fn map(file: impl AsFd, ranks: usize) -> Result<&'static [Line], std::io::Error> {
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: where it lies is the kernel's choice, so nothing else is there. It is never unmapped,
    // and its size is sealed, so it stays; a page is aligned for any line. A line is made of
    // atomics, for which any bytes will do, whoever writes them.
    unsafe {
        let start = mmap(std::ptr::null_mut(), bytes(ranks), access, flags, file, 0)?;
        Ok(std::slice::from_raw_parts(start.cast::<Line>(), ranks))
    }
}
