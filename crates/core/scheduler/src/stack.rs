//! The stacks of workers' threads.

use std::ops::RangeInclusive;

/// Bytes of a worker's stack unless somebody says otherwise: as much as a program's first thread
/// has on Linux, so that what runs there runs on a worker, too. Of it only what was used is in
/// memory.
///
/// The runtime itself moves a message of up to 1 MiB through it by value, some times over, as
/// compilers do.
pub const STACK_BYTES: usize = 8 << 20;

/// Bytes of a worker's stack that make sense: handlers with small messages need 64 KiB, and more
/// than 1 GiB is a slip.
pub const STACK_BYTES_ALLOWED: RangeInclusive<usize> = 64 << 10..=1 << 30;

/// Reads a stack's size: a number of bytes, or one with the unit `KiB` or `MiB`.
///
/// ```
/// use actinium_scheduler::stack_bytes;
///
/// assert_eq!(stack_bytes("16 MiB"), Ok(16 << 20));
/// assert_eq!(stack_bytes("512KiB"), Ok(512 << 10));
/// assert!(stack_bytes("100").is_err(), "no handler runs in 100 bytes");
/// ```
///
/// # Errors
/// The allowed values, if it is no such number or not within [`STACK_BYTES_ALLOWED`].
pub fn stack_bytes(text: &str) -> Result<usize, String> {
    let unit = |unit: &str, bytes: usize| Some((text.strip_suffix(unit)?.trim_end(), bytes));
    let (number, unit) = unit("KiB", 1 << 10).or_else(|| unit("MiB", 1 << 20)).unwrap_or((text, 1));
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(unit));
    bytes.filter(|bytes| STACK_BYTES_ALLOWED.contains(bytes)).ok_or_else(stack_allowed)
}

/// The allowed values, in words.
#[must_use]
pub fn stack_allowed() -> String {
    "64 KiB to 1 GiB, as a number of bytes or with the unit KiB or MiB".to_owned()
}
