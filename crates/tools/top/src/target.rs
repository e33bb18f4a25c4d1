//! Which program is looked at.

use actinium_monitor::socket::{Folder, FolderError, Program};
use std::fmt;
use std::path::PathBuf;

/// Where a program answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// At a socket of this user's.
    Socket(PathBuf),
    /// At an address, `HOST:PORT`: where it serves a live page.
    Address(String),
}

/// Why no program was chosen.
#[derive(Debug)]
#[non_exhaustive]
pub enum TargetError {
    /// No program of this user's can be looked at.
    None(Folder),
    /// There are several.
    Several(Vec<Program>),
    /// The process of this number is none of those that can be looked at.
    NoSuch(u32, Vec<Program>),
    /// This is neither an address nor a number.
    Malformed(String),
    /// The folder of sockets can not be used.
    Folder(FolderError),
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::None(folder) => write!(
                f,
                "no program of this user's can be looked at (there is none in {}): start it with \
                 ACTINIUM_TOP=1, or build its system with .observable(); or name the address of \
                 its live page",
                folder.path().display()
            ),
            TargetError::Several(programs) => {
                write!(f, "several programs run: name one by its number{}", List(programs))
            }
            TargetError::NoSuch(pid, programs) if programs.is_empty() => write!(
                f,
                "process {pid} can not be looked at: start it with ACTINIUM_TOP=1, or build its \
                 system with .observable()"
            ),
            TargetError::NoSuch(pid, programs) => {
                write!(f, "process {pid} can not be looked at; these can{}", List(programs))
            }
            TargetError::Malformed(text) => write!(
                f,
                "'{text}' is neither the number of a process nor an address: expected a number, \
                 NUMBER-SYSTEM or HOST:PORT"
            ),
            TargetError::Folder(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TargetError {}

/// Programs, one a line.
struct List<'a>(&'a [Program]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|it| {
            let number = number(it);
            write!(f, "\n  {number:>10}  {}", crate::grid::clean(&it.command.join(" ")))
        })
    }
}

/// What names a program's system.
fn number(program: &Program) -> String {
    match program.system {
        1 => program.pid.to_string(),
        system => format!("{}-{system}", program.pid),
    }
}

impl Target {
    /// The program that is meant by this: its number (`PID`, or `PID-2` for the second system of a
    /// process), an address, or nothing if there is only one.
    ///
    /// # Errors
    /// If there is none, or it is not clear which one is meant.
    pub fn choose(wanted: Option<&str>, folder: &Folder) -> Result<Self, TargetError> {
        let Some(wanted) = wanted else { return only(folder) };
        let text = wanted.strip_prefix("http://").unwrap_or(wanted).trim_end_matches('/');
        let has_port = text.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok() && !text.contains(char::is_whitespace)
        });
        if has_port {
            return Ok(Target::Address(text.to_owned()));
        }
        let (pid, _) = text.split_once('-').unwrap_or((text, ""));
        let Ok(pid) = pid.parse() else { return Err(TargetError::Malformed(wanted.to_owned())) };
        let programs = folder.programs().map_err(TargetError::Folder)?;
        match programs.iter().find(|it| number(it) == text) {
            Some(program) => Ok(Target::Socket(program.socket.clone())),
            None => Err(TargetError::NoSuch(pid, programs)),
        }
    }
}

fn only(folder: &Folder) -> Result<Target, TargetError> {
    let programs = folder.programs().map_err(TargetError::Folder)?;
    match &programs[..] {
        [] => Err(TargetError::None(folder.clone())),
        [program] => Ok(Target::Socket(program.socket.clone())),
        _ => Err(TargetError::Several(programs)),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Socket(path) => path.display().fmt(f),
            Target::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_a_number_is_a_process() -> Result<(), Box<dyn std::error::Error>> {
        let temporary = tempfile::tempdir()?;
        let folder = Folder::at(temporary.path().join("none"));
        let choose = |text| Target::choose(Some(text), &folder);
        for text in ["127.0.0.1:7070", "http://127.0.0.1:7070/", "http://127.0.0.1:7070"] {
            assert_eq!(choose(text).ok(), Some(Target::Address("127.0.0.1:7070".to_owned())));
        }
        assert_eq!(choose("[::1]:80").ok(), Some(Target::Address("[::1]:80".to_owned())));
        assert!(matches!(choose("17"), Err(TargetError::NoSuch(17, _))));
        assert!(matches!(choose("17-2"), Err(TargetError::NoSuch(17, _))));
        for text in ["localhost", ":80", "a:99999", "x-2", ""] {
            assert!(matches!(choose(text), Err(TargetError::Malformed(_))), "{text}");
        }
        let none = Target::choose(None, &folder).expect_err("there is none").to_string();
        assert!(none.contains("ACTINIUM_TOP=1") && none.contains(".observable()"), "{none}");
        Ok(())
    }

    #[test]
    fn several_programs_are_listed() {
        let program = |pid, system| Program {
            pid,
            system,
            socket: PathBuf::new(),
            command: vec!["./shop".to_owned(), "\u{1b}[2J".to_owned()],
        };
        let error = TargetError::Several(vec![program(7, 1), program(7, 2), program(123, 1)]);
        let text = error.to_string();
        assert!(text.contains("\n           7  ./shop") && text.contains(" 7-2  "), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
