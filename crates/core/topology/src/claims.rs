//! Claims on PUs, by which the programs of one user keep out of each other's way: a locked file for
//! each PU.
//!
//! `flock` belongs to what has opened the file, so two systems of one process exclude each other as
//! two processes do, and the kernel frees the lock when the process ends, however it ends. Files
//! stay where they are: to remove one while another process opens it would give two of them the
//! same PU.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::PuId;

/// Names another folder.
const VARIABLE: &str = "ACTINIUM_CLAIMS";

/// The folder in which claims lie.
#[derive(Debug)]
pub(crate) struct Claims {
    folder: OwnedFd,
}

/// A PU that nobody else has while this lives.
#[derive(Debug)]
pub(crate) struct Claim(OwnedFd);

/// Where claims lie, if nothing else is said: the same for all processes of a user, whatever their
/// environment. (A login session's `XDG_RUNTIME_DIR` would be another folder than that of a job
/// without one.)
pub(crate) fn folder() -> PathBuf {
    let usual = || format!("/tmp/actinium-{}", geteuid().as_raw()).into();
    std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map_or_else(usual, PathBuf::from)
}

/// The folder in which programs claim PUs, which is made if it is not there: see
/// [`crate::Topology::seats`].
///
/// # Errors
/// If it can not be used: which, why, and what to do. Workers then run unbound.
pub fn claims_folder() -> Result<PathBuf, String> {
    let path = folder();
    Claims::open(&path).map_err(|error| unusable(&path, &error)).map(|_| path)
}

pub(crate) fn unusable(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    format!(
        "the folder {path}, where programs claim PUs, can not be used: {error}: workers run unbound; mend that, or name another \
         folder in {VARIABLE}"
    )
}

impl Claims {
    /// Opens the folder, and makes it if it is not there.
    ///
    /// # Errors
    /// If it can not be had, or others could write to it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // Somebody else may have put a link there.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = fs::open(path, flags | OFlags::RDONLY, Mode::empty())?;
        let found = fs::fstat(&folder)?;
        let owner = geteuid().as_raw();
        if found.st_uid != owner {
            let whose = format!("it belongs to user {}, not to {owner}", found.st_uid);
            return Err(io::Error::other(whose));
        }
        if Mode::from_raw_mode(found.st_mode).intersects(Mode::RWXG | Mode::RWXO) {
            return Err(io::Error::other("others may use it: it needs the mode 0700"));
        }
        Ok(Claims { folder })
    }

    /// Claims a PU; `None` if it is another's.
    ///
    /// # Errors
    /// If the file can not be had.
    pub(crate) fn take(&self, pu: PuId) -> io::Result<Option<Claim>> {
        let flags = OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // Sticky: who clears up temporary folders leaves it there.
        let mode = Mode::RUSR | Mode::WUSR | Mode::SVTX;
        let file = fs::openat(&self.folder, format!("pu-{pu}"), flags | OFlags::RDONLY, mode)?;
        if FileType::from_raw_mode(fs::fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("pu-{pu} is no file")));
        }
        match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Claim(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // To close it is not enough while another thread has forked and not yet begun its program:
        // that child has it open, too. If it fails, the lock goes with the last of them.
        let _ = fs::flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_pu_is_claimed_once_at_a_time() {
        let outer = Folder::new();
        let open = || Claims::open(&outer.path().join("claims")).unwrap();
        // As two systems have them, of one process or of two.
        let (mine, yours) = (open(), open());
        let claim = mine.take(PuId(3)).unwrap().expect("nobody has it");
        assert!(yours.take(PuId(3)).unwrap().is_none() && mine.take(PuId(3)).unwrap().is_none());
        assert!(yours.take(PuId(4)).unwrap().is_some());
        drop(claim);
        assert!(yours.take(PuId(3)).unwrap().is_some());
    }

    #[test]
    fn a_folder_that_others_could_use_is_refused() {
        let outer = Folder::new();
        let refused = |path: &Path| Claims::open(path).unwrap_err().to_string();
        let path = outer.path().join("wide");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o770)).unwrap();
        assert!(refused(&path).contains("0700"), "{}", refused(&path));
        let own = outer.path().join("own");
        drop(Claims::open(&own).unwrap());
        assert_eq!(std::fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
        let link = outer.path().join("link");
        symlink(&own, &link).unwrap();
        refused(&link);
        outer.write("file", "");
        refused(&outer.path().join("file"));
        refused(&outer.path().join("no/such/folder"));
    }

    #[test]
    fn a_claim_that_is_no_file_is_refused() {
        let outer = Folder::new();
        let path = outer.path().join("claims");
        let claims = Claims::open(&path).unwrap();
        std::fs::create_dir(path.join("pu-0")).unwrap();
        symlink("elsewhere", path.join("pu-1")).unwrap();
        assert!(claims.take(PuId(0)).is_err() && claims.take(PuId(1)).is_err());
    }
}
