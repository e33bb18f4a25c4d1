//! Buffers of an io_uring: reads and writes into them need not find and pin their pages each time.

use std::io;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use io_uring::IoUring;

use super::{Fabric, FabricLimits, Key, Region};
use crate::MemoryError;

/// The kernel's: how many buffers a ring can have, and how large each may be.
const BUFFERS: u32 = 1 << 14;
const BUFFER_BYTES_MAX: usize = 1 << 30;

/// A ring whose buffers are parts of segments (Linux 5.13; 5.19 to start with none).
pub struct UringBuffers {
    ring: IoUring,
    /// Indexes that no buffer has.
    free: Mutex<Vec<u16>>,
}

impl std::fmt::Debug for UringBuffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UringBuffers").finish_non_exhaustive()
    }
}

impl UringBuffers {
    /// A ring with room for so many requests.
    ///
    /// # Errors
    /// If the kernel has none, or a container's security policy forbids it.
    pub fn new(entries: u32) -> Result<Self, MemoryError> {
        let failed = |doing: &str, error: io::Error| {
            let advice = match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => {
                    ": kernel.io_uring_disabled, or a container's seccomp profile, forbids it"
                }
                Some(libc::ENOSYS) => ": this kernel has none, or a seccomp profile hides it",
                Some(libc::EINVAL) => ": it needs Linux 5.19, and 1 to 32768 requests",
                _ => "",
            };
            let problem = format!("can not {doing}: {error}{advice}");
            MemoryError::Fabric { fabric: NAME, problem }
        };
        let ring = IoUring::new(entries).map_err(|error| failed("set up a ring", error))?;
        let submitter = ring.submitter();
        submitter
            .register_buffers_sparse(BUFFERS)
            .map_err(|error| failed("set up a ring's buffers", error))?;
        // The lowest is taken first.
        let free = (0..BUFFERS as u16).rev().collect();
        Ok(UringBuffers { ring, free: Mutex::new(free) })
    }

    /// The ring, to submit to.
    #[must_use]
    pub fn ring(&self) -> &IoUring {
        &self.ring
    }

    /// The number by which `ReadFixed` and `WriteFixed` know the buffer of this key; addresses are
    /// the segment's own.
    #[must_use]
    pub fn index(key: Key) -> u16 {
        key.0 as u16
    }

    fn update(&self, index: u16, start: *mut u8, len: usize) -> io::Result<()> {
        let buffer = libc::iovec { iov_base: start.cast(), iov_len: len };
        // SAFETY: a region stays mapped until its buffer is taken away, by null and 0.
        unsafe { self.ring.submitter().register_buffers_update(index.into(), &[buffer], None) }
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<u16>> {
        // A push or a pop is whole or has not been.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NAME: &str = "io-uring";

impl Fabric for UringBuffers {
    fn name(&self) -> &'static str {
        NAME
    }

    fn limits(&self) -> FabricLimits {
        FabricLimits::new(BUFFERS as usize, BUFFER_BYTES_MAX).within_lock_limit()
    }

    fn register(&self, region: Region<'_>) -> Result<Key, String> {
        let free = self.free().pop();
        let index = free.ok_or_else(|| format!("the ring's {BUFFERS} buffers are all in use"))?;
        match self.update(index, region.start().as_ptr(), region.len()) {
            Ok(()) => Ok(Key(index.into())),
            Err(error) => {
                self.free().push(index);
                let mut problem = format!("can not register {} bytes: {error}", region.len());
                if error.raw_os_error() == Some(libc::ENOMEM)
                    && let Some((bytes, limit)) = self.limits().bytes_max
                {
                    problem +=
                        &format!(": all of this user's rings may lock {bytes} bytes ({limit})");
                }
                Err(problem)
            }
        }
    }

    fn deregister(&self, key: Key) {
        let index = Self::index(key);
        // If it could not be taken away, the kernel keeps the pages, and the index must not be used
        // again.
        if self.update(index, ptr::null_mut(), 0).is_ok() {
            self.free().push(index);
        }
    }
}
