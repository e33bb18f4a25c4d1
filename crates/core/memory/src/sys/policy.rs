//! The places where the kernel shall put pages, and those where it has put them.

use std::ops::Range;
use std::ptr;

use libc::c_ulong;

use super::{Mapping, check};

/// The kernel's memory policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// On one of these, or the process is killed.
    Bind,
    /// In turn, page by page of the range; elsewhere if one is full.
    Interleave,
    /// The same by the kernel's weights (Linux 6.9).
    WeightedInterleave,
    /// There if there is room.
    Preferred,
}

impl Mode {
    fn number(self) -> libc::c_long {
        let number = match self {
            Mode::Preferred => 1,
            Mode::Bind => 2,
            Mode::Interleave => 3,
            Mode::WeightedInterleave => 6,
        };
        number as libc::c_long
    }
}

/// Sets the policy of a range that has not been touched yet.
pub(crate) fn set_policy(
    mapping: &Mapping,
    range: Range<usize>,
    mode: Mode,
    nodes: impl IntoIterator<Item = u32>,
) -> Result<(), i32> {
    assert!(range.start <= range.end && range.end <= mapping.len());
    const BITS: usize = c_ulong::BITS as usize;
    let mut mask: Vec<c_ulong> = Vec::new();
    for node in nodes {
        let word = node as usize / BITS;
        mask.resize(mask.len().max(word + 1), 0);
        mask[word] |= 1 << (node as usize % BITS);
    }
    let at = mapping.start().as_ptr() as usize + range.start;
    // The kernel takes one bit less than it is told.
    let bits = mask.len() * BITS + 1;
    // SAFETY: the range is ours; a policy decides where pages will come from and changes none that
    // are there (flags 0). The mask is alive and has the bits that are announced.
    check(unsafe {
        libc::syscall(libc::SYS_mbind, at, range.len(), mode.number(), mask.as_ptr(), bits, 0)
    })
}

/// For each page of a range, in steps of `page_bytes`: the node that it is on, or None if it is not
/// there yet.
pub(crate) fn query_nodes(
    mapping: &Mapping,
    range: Range<usize>,
    page_bytes: usize,
    mut each: impl FnMut(Option<u32>),
) -> Result<(), i32> {
    assert!(range.start <= range.end && range.end <= mapping.len());
    const BATCH: usize = 1 << 14;
    let first = mapping.start().as_ptr() as usize;
    let mut addresses: Vec<usize> = Vec::with_capacity(BATCH);
    let mut answers = vec![0_i32; BATCH];
    let mut offsets = range.step_by(page_bytes).peekable();
    while offsets.peek().is_some() {
        addresses.clear();
        addresses.extend(offsets.by_ref().take(BATCH).map(|offset| first + offset));
        // SAFETY: 0 is this process; without target nodes (null) pages are only asked about. Both
        // arrays are alive and have as many entries as are announced.
        check(unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                addresses.len(),
                addresses.as_ptr(),
                ptr::null::<i32>(),
                answers.as_mut_ptr(),
                0,
            )
        })?;
        answers[..addresses.len()].iter().for_each(|&answer| each(u32::try_from(answer).ok()));
    }
    Ok(())
}
