//! The folder in which programs of a user have their sockets.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::{env, fmt};

/// The end of a socket's name.
const ENDING: &str = ".sock";
/// Systems of one process that can have sockets.
const SYSTEMS: u32 = 100;

/// The folder with the sockets of a user's programs. Only this user may enter it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// Why there can be no socket in a folder, or none can be found.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// It can not be made or read.
    Io {
        /// The folder, or what is in it.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// Others could put something into it, or look into it.
    NotPrivate {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FolderError::Io { path, cause } => write!(f, "{}: {cause}", path.display()),
            FolderError::NotPrivate { path, why } => write!(
                f,
                "{} is no folder that this user alone may enter: {why}; remove it, or set \
                 XDG_RUNTIME_DIR to a folder of this user's",
                path.display()
            ),
        }
    }
}

impl std::error::Error for FolderError {}

/// A program that can be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The process's number.
    pub pid: u32,
    /// Which of the process's systems it is, from 1.
    pub system: u32,
    /// The socket.
    pub socket: PathBuf,
    /// The program and its arguments, if the operating system tells them.
    pub command: Vec<String>,
}

impl Folder {
    /// The present user's: `$XDG_RUNTIME_DIR/actinium`, or else `/tmp/actinium-UID`.
    #[must_use]
    pub fn of_user() -> Self {
        let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        match runtime.filter(|path| path.is_absolute() && path.is_dir()) {
            Some(runtime) => Folder(runtime.join("actinium")),
            None => Folder(PathBuf::from(format!("/tmp/actinium-{}", own_uid()))),
        }
    }

    /// Another one.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Folder(path.into())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The living programs with sockets here, by number. Sockets of dead ones are removed.
    ///
    /// ```
    /// use actinium_monitor::socket::Folder;
    ///
    /// for program in Folder::of_user().programs()? {
    ///     println!("{} {}", program.pid, program.command.join(" "));
    /// }
    /// # Ok::<(), actinium_monitor::socket::FolderError>(())
    /// ```
    ///
    /// # Errors
    /// If the folder can not be read, or is open to others. If there is none, there are no
    /// programs.
    pub fn programs(&self) -> Result<Vec<Program>, FolderError> {
        match self.check() {
            Err(FolderError::Io { cause, .. }) if cause.kind() == ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            checked => checked?,
        }
        let mut programs = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(self.io())? {
            let socket = entry.map_err(self.io())?.path();
            let name = socket.file_name().and_then(|name| name.to_str());
            let Some((pid, system)) = name.and_then(parse) else { continue };
            if is_alive(&socket, pid) {
                programs.push(Program { pid, system, command: command(pid), socket });
            }
        }
        programs.sort_by_key(|it| (it.pid, it.system));
        Ok(programs)
    }

    /// Opens a socket for a system of this process, and makes the folder if there is none.
    pub(crate) fn listen(&self) -> Result<(UnixListener, PathBuf), FolderError> {
        let mut builder = DirBuilder::new();
        match builder.mode(0o700).create(&self.0) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(self.io()(error));
            }
            _ => self.check()?,
        }
        // Nobody else removes what dead programs have left.
        self.programs()?;
        let mut in_use = io::Error::from(ErrorKind::AddrInUse);
        for system in 1..=SYSTEMS {
            let path = self.0.join(name(std::process::id(), system));
            match UnixListener::bind(&path) {
                Ok(listener) => return Ok((listener, path)),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    // It was a process of this number's, which is dead: no system of this one
                    // answers there.
                    if is_refused(&path) && fs::remove_file(&path).is_ok() {
                        let bound = UnixListener::bind(&path);
                        return bound.map(|it| (it, path.clone())).map_err(self.io());
                    }
                    in_use = error;
                }
                Err(cause) => return Err(FolderError::Io { path, cause }),
            }
        }
        Err(self.io()(in_use))
    }

    fn io(&self) -> impl Fn(io::Error) -> FolderError + '_ {
        |cause| FolderError::Io { path: self.0.clone(), cause }
    }

    /// Whether only this user may enter it.
    fn check(&self) -> Result<(), FolderError> {
        // Not what a link points to: somebody else may have made the link.
        let found = fs::symlink_metadata(&self.0).map_err(self.io())?;
        let why = if !found.is_dir() {
            "it is none".to_owned()
        } else if found.uid() != own_uid() {
            format!("user {} owns it", found.uid())
        } else if found.mode() & 0o077 != 0 {
            format!("its mode is {:o} and not 700", found.mode() & 0o777)
        } else {
            return Ok(());
        };
        Err(FolderError::NotPrivate { path: self.0.clone(), why })
    }
}

pub(crate) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn name(pid: u32, system: u32) -> String {
    if system == 1 { format!("{pid}{ENDING}") } else { format!("{pid}-{system}{ENDING}") }
}

/// The process and the system whose socket has this name.
fn parse(found: &str) -> Option<(u32, u32)> {
    let numbers = found.strip_suffix(ENDING)?;
    let (pid, system) = numbers.split_once('-').unwrap_or((numbers, "1"));
    let (pid, system) = (pid.parse().ok()?, system.parse().ok()?);
    // Only names that a program gives.
    (name(pid, system) == found).then_some((pid, system))
}

/// Whether somebody answers at a socket. If not, and the process is dead, it is removed.
fn is_alive(socket: &Path, pid: u32) -> bool {
    if !is_refused(socket) {
        return true;
    }
    // Both are asked: a program may not listen yet, or be one of another container's, whose
    // processes this one can not see.
    if is_dead(pid) {
        let _ = fs::remove_file(socket);
    }
    false
}

/// Whether nobody listens at a socket. Does not wait for somebody who is slow.
fn is_refused(socket: &Path) -> bool {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let connect = || {
        let ours = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&ours, &SocketAddrUnix::new(socket)?)
    };
    connect() == Err(Errno::CONNREFUSED)
}

fn is_dead(pid: u32) -> bool {
    let found = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    found.is_none_or(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn command(pid: u32) -> Vec<String> {
    let found = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = found.split(|&byte| byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_socket_s_name_says_whose_it_is() {
        assert_eq!(parse("17.sock"), Some((17, 1)));
        assert_eq!(parse("17-3.sock"), Some((17, 3)));
        for other in ["017.sock", "17-1.sock", "17", "x.sock", "17-x.sock", "-1.sock", ".sock"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_folder_that_others_may_enter_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let temporary = tempfile::tempdir()?;
        let path = temporary.path().join("open");
        fs::create_dir(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        let folder = Folder::at(&path);
        for error in [folder.programs().err(), folder.listen().err()] {
            let text = error.ok_or("it was accepted")?.to_string();
            assert!(text.contains("755") && text.contains("remove it"), "{text}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        let link = temporary.path().join("link");
        std::os::unix::fs::symlink(&path, &link)?;
        assert!(matches!(Folder::at(&link).listen(), Err(FolderError::NotPrivate { .. })));
        assert!(Folder::at(temporary.path().join("none")).programs()?.is_empty());
        Ok(())
    }

    #[test]
    fn sockets_of_the_dead_are_removed_and_others_kept() -> Result<(), Box<dyn std::error::Error>> {
        let temporary = tempfile::tempdir()?;
        let folder = Folder::at(temporary.path().join("a"));
        let (living, path) = folder.listen()?;
        assert_eq!(fs::metadata(folder.path())?.mode() & 0o777, 0o700);
        let mut dead = std::process::Command::new("true").spawn()?;
        dead.wait()?;
        let stale = folder.path().join(name(dead.id(), 1));
        drop(UnixListener::bind(&stale)?);
        // Of a process that lives, and does not listen yet.
        let early = folder.path().join(name(std::process::id(), 7));
        drop(UnixListener::bind(&early)?);
        fs::write(folder.path().join("notes.txt"), "mine")?;

        let programs = folder.programs()?;
        assert_eq!(programs.len(), 1, "{programs:?}");
        assert_eq!((programs[0].pid, &programs[0].socket), (std::process::id(), &path));
        assert!(!programs[0].command.is_empty());
        assert!(!stale.exists() && early.exists() && folder.path().join("notes.txt").exists());

        // A second system of the process has a socket of its own.
        let (second, other) = folder.listen()?;
        assert!(other.ends_with(name(std::process::id(), 2)));
        drop((living, second));
        // What an earlier process of this number has left is replaced.
        assert_eq!(folder.listen()?.1, path);
        Ok(())
    }
}
