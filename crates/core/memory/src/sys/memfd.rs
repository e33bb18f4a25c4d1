//! Files that live in memory.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::{check, errno};

/// Nobody can make the file shorter under whoever has mapped it, nor take this promise back.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A file in memory, of a size that does not change.
#[derive(Debug)]
pub(crate) struct MemoryFile(OwnedFd);

impl MemoryFile {
    pub(crate) fn create(
        name: &str,
        len: usize,
        huge_page_bytes: Option<usize>,
    ) -> Result<Self, i32> {
        let name = CString::new(name).map_err(|_| libc::EINVAL)?;
        let huge = huge_page_bytes
            .map_or(0, |bytes| libc::MFD_HUGETLB | bytes.ilog2() << libc::MAP_HUGE_SHIFT);
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | huge;
        // SAFETY: the name ends in a zero and is alive.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
        if fd < 0 {
            return Err(errno());
        }
        // SAFETY: the kernel has just made it, for us alone.
        let file = MemoryFile(unsafe { OwnedFd::from_raw_fd(fd) });
        let len = libc::off_t::try_from(len).map_err(|_| libc::EFBIG)?;
        // SAFETY: the file is open.
        check(unsafe { libc::ftruncate(fd, len) })?;
        // SAFETY: the file is open, and F_ADD_SEALS takes an int.
        check(unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, SEALS) })?;
        Ok(file)
    }

    pub(crate) fn of(fd: OwnedFd) -> Self {
        MemoryFile(fd)
    }
}

impl AsFd for MemoryFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether the file keeps its size for ever.
pub(crate) fn is_sealed(file: BorrowedFd<'_>) -> bool {
    // SAFETY: the file is open, and F_GET_SEALS takes no argument. A file that knows no seals
    // answers -1.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals >= 0 && seals & SEALS == SEALS
}

/// The bytes of the pages that the file is made of, at least.
pub(crate) fn file_page_bytes(file: BorrowedFd<'_>) -> Result<usize, i32> {
    // SAFETY: all zeros is a valid `statfs`: it holds nothing but numbers.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the file is open, and the kernel fills in the structure, which is alive.
    check(unsafe { libc::fstatfs(file.as_raw_fd(), &mut stat) })?;
    usize::try_from(stat.f_bsize).map_err(|_| libc::EINVAL)
}
