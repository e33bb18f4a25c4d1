//! The system calls, and all `unsafe` that they need. Everything here is safe to call: ranges are
//! checked against the mapping that they lie in, and no call changes what a page holds.

mod map;
mod memfd;
mod policy;
mod thread;

pub(crate) use map::{Advice, Mapping, lock_limit_bytes, unused_bytes};
pub(crate) use memfd::{MemoryFile, file_page_bytes, is_sealed};
pub(crate) use policy::{Mode, query_nodes, set_policy};
pub(crate) use thread::{only_when_idle, process_time, thread_time};

use std::io;

/// The bytes of a base page.
pub(crate) fn base_page_bytes() -> usize {
    // SAFETY: it only asks for a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
}

/// The last call's error number.
fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The result of a system call that answers 0 or -1.
fn check(code: impl Into<i64>) -> Result<(), i32> {
    if code.into() == 0 { Ok(()) } else { Err(errno()) }
}
