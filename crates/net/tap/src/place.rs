//! Where a program serves taps: a socket of the same user's, or a port of this host's.

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where a program serves taps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TapPlace {
    /// A Unix socket: for programs of the same user.
    Socket(PathBuf),
    /// A port of this host, for all its users.
    Port(SocketAddr),
}

/// A place that can not be.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlaceError {
    /// It is neither a path nor an address.
    Unknown(String),
    /// The address is not this host's own: others could listen to all that the program says.
    NotLoopback(SocketAddr),
    /// The folder of sockets can not be used.
    Folder(PathBuf, io::Error),
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlaceError::Unknown(text) => write!(
                f,
                "'{text}' is not allowed: 1, the path of a socket (with a '/'), or an address like \
                 127.0.0.1:7071"
            ),
            PlaceError::NotLoopback(address) => write!(
                f,
                "'{address}' is not allowed: an address of this host alone, like 127.0.0.1 or [::1]"
            ),
            PlaceError::Folder(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for PlaceError {}

impl TapPlace {
    /// Where to serve, as `ACTINIUM_TAP` says: `1` (a socket in the user's own folder, named after
    /// the process), the path of a socket, or an address of this host.
    ///
    /// # Errors
    /// If it is none of these, an address of others, or there is no such folder.
    pub fn to_serve(text: &str) -> Result<Self, PlaceError> {
        if matches!(text, "1" | "on" | "yes" | "true") {
            let folder = own_folder()?;
            return Ok(TapPlace::Socket(folder.join(name(std::process::id()))));
        }
        let place = Self::of(text)?;
        match &place {
            TapPlace::Port(address) if !address.ip().is_loopback() => {
                Err(PlaceError::NotLoopback(*address))
            }
            _ => Ok(place),
        }
    }

    /// Where a program serves: the number of its process, the path of a socket, or an address.
    ///
    /// # Errors
    /// If it is none of these, or there is no folder of sockets.
    pub fn of(text: &str) -> Result<Self, PlaceError> {
        if let Ok(process) = text.parse::<u32>() {
            return Ok(TapPlace::Socket(own_folder()?.join(name(process))));
        }
        if text.contains('/') {
            return Ok(TapPlace::Socket(text.into()));
        }
        let address = text.to_socket_addrs().ok().and_then(|mut all| all.next());
        address.map(TapPlace::Port).ok_or_else(|| PlaceError::Unknown(text.to_owned()))
    }
}

impl fmt::Display for TapPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TapPlace::Socket(path) => path.display().fmt(f),
            TapPlace::Port(address) => address.fmt(f),
        }
    }
}

fn name(process: u32) -> String {
    format!("tap-{process}.sock")
}

/// The folder for sockets of the user's programs, which nobody else may look into.
fn own_folder() -> Result<PathBuf, PlaceError> {
    let user = rustix::process::geteuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|it| !it.is_empty());
    let folder = match runtime {
        Some(runtime) => Path::new(&runtime).join("actinium"),
        None => std::env::temp_dir().join(format!("actinium-{user}")),
    };
    private(&folder, user).map_err(|error| PlaceError::Folder(folder.clone(), error))?;
    Ok(folder)
}

/// Makes the folder, or sees that it is the user's own.
fn private(folder: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let about = folder.symlink_metadata()?;
    let is_private = about.is_dir() && about.uid() == user && about.mode() & 0o077 == 0;
    let refused = || {
        let problem = "others may use this folder: expected one of this user's with mode 700";
        io::Error::new(io::ErrorKind::PermissionDenied, problem)
    };
    if is_private { Ok(()) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_place_is_a_socket_or_a_port_of_this_host() {
        let served = |text| TapPlace::to_serve(text);
        assert_eq!(served("/a/b").expect("a path"), TapPlace::Socket("/a/b".into()));
        assert!(matches!(served("127.0.0.1:7"), Ok(TapPlace::Port(_))));
        assert!(matches!(served("[::1]:7"), Ok(TapPlace::Port(_))));
        assert!(matches!(served("0.0.0.0:7"), Err(PlaceError::NotLoopback(_))));
        assert!(matches!(served("8.8.8.8:7"), Err(PlaceError::NotLoopback(_))));
        let error = served("what").unwrap_err().to_string();
        assert!(error.contains("'what' is not allowed"), "{error}");
    }

    #[test]
    fn a_folder_that_others_may_use_is_refused() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (user, path) = (rustix::process::geteuid().as_raw(), folder.path().join("own"));
        private(&path, user)?;
        private(&path, user)?;
        assert!(private(&path, user + 1).is_err());
        set_permissions(&path, Permissions::from_mode(0o755))?;
        assert!(private(&path, user).is_err());
        Ok(())
    }
}
