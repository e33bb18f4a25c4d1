//! Files that are whole or not there: written beside their place and renamed into it, and known to
//! be writable before a long run.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

/// Why a file cannot be written; the text names the file and the cause.
#[derive(Debug)]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// The operating system's error.
    pub cause: io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.cause)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// Whether a file could be written there now; for a command to ask before a run of hours. It leaves
/// the file as it is.
///
/// ```
/// use actinium_observe::file::writable;
///
/// let error = writable("no/such/folder/report.html".as_ref()).unwrap_err();
/// assert!(error.to_string().starts_with("cannot write no/such/folder/report.html: "));
/// ```
pub fn writable(path: &Path) -> Result<(), WriteError> {
    try_writable(path).map_err(|cause| WriteError { path: path.to_owned(), cause })
}

/// A file that appears under its name when it is finished, and leaves no trace if it is dropped
/// before.
///
/// A pipe or a device is written to directly.
#[derive(Debug)]
pub struct NewFile {
    /// The path as the caller gave it.
    asked: PathBuf,
    file: File,
    /// Where it is, and where it is to be; none for a device.
    rename: Option<(TempPath, PathBuf)>,
}

impl NewFile {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<NewFile, WriteError> {
        let asked = path.to_owned();
        let made = match Target::of(path) {
            Ok(Target::Device) => {
                OpenOptions::new().write(true).open(path).map(|file| (file, None))
            }
            Ok(Target::File { path, .. }) => create_beside(&path)
                .map(NamedTempFile::into_parts)
                .map(|(file, temporary)| (file, Some((temporary, path)))),
            Err(error) => Err(error),
        };
        match made {
            Ok((file, rename)) => Ok(NewFile { asked, file, rename }),
            Err(cause) => Err(WriteError { path: asked, cause }),
        }
    }

    /// Puts the file in its place, in which it then is even if the machine fails.
    pub fn finish(mut self) -> Result<(), WriteError> {
        let Some((temporary, path)) = self.rename.take() else {
            return Ok(());
        };
        let renamed = |()| temporary.persist(path).map_err(|error| error.error);
        self.file.sync_all().and_then(renamed).map_err(|cause| self.error(cause))
    }

    /// Says which file it was that could not be written.
    #[must_use]
    pub fn error(&self, cause: io::Error) -> WriteError {
        WriteError { path: self.asked.clone(), cause }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn try_writable(path: &Path) -> io::Result<()> {
    match Target::of(path)? {
        Target::Device => OpenOptions::new().write(true).open(path).map(drop),
        Target::File { path, exists } => {
            if exists {
                // A file that may not be written is not to be replaced either, although its folder
                // would allow it.
                OpenOptions::new().write(true).open(&path)?;
            }
            create_beside(&path)?.close()
        }
    }
}

/// The kind of file that a path leads to.
enum Target {
    /// A pipe or a device such as `/dev/null`: written as it is, since replacing it would be wrong.
    Device,
    /// A file, behind all symbolic links.
    File { path: PathBuf, exists: bool },
}

impl Target {
    fn of(path: &Path) -> io::Result<Target> {
        let invalid = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => Err(invalid("it is a folder; name a file in it")),
            Ok(meta) if meta.is_file() => {
                Ok(Target::File { path: fs::canonicalize(path)?, exists: true })
            }
            Ok(_) => Ok(Target::Device),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A path that ends in "/" has a file name for Rust, but means a folder for
                // everybody else.
                let ends_in_slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
                if path.file_name().is_none() || ends_in_slash {
                    return Err(invalid("it does not name a file"));
                }
                if fs::symlink_metadata(path).is_ok() {
                    return Err(invalid("it is a symbolic link to nothing"));
                }
                match folder_of(path).metadata() {
                    Ok(meta) if meta.is_dir() => {
                        Ok(Target::File { path: path.to_owned(), exists: false })
                    }
                    Ok(_) => Err(invalid("what should be its folder is a file")),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        Err(io::Error::new(error.kind(), "its folder does not exist"))
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A new file in the same folder, so that renaming it is one step.
fn create_beside(path: &Path) -> io::Result<NamedTempFile> {
    // A name of our own, whatever the length of the other: it may have the longest that there is.
    let mut name = tempfile::Builder::new();
    name.prefix(".actinium-").suffix(".tmp").make_in(folder_of(path), |path| File::create_new(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::{TempDir, tempdir};

    fn names(folder: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("readable");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("readable").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn write(path: &Path, text: &str) -> Result<(), WriteError> {
        let mut file = NewFile::create(path)?;
        file.write_all(text.as_bytes()).map_err(|cause| file.error(cause))?;
        file.finish()
    }

    #[test]
    fn what_is_not_finished_was_never_there() {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("report.html");
        write(&path, "old").expect("written");
        let mut file = NewFile::create(&path).expect("created");
        file.write_all(b"half").expect("written");
        assert_eq!(names(&folder).len(), 2);
        drop(file);
        assert_eq!(names(&folder), ["report.html"]);
        assert_eq!(fs::read_to_string(&path).expect("readable"), "old");
    }

    #[test]
    fn a_file_is_written_and_replaced_and_leaves_nothing_beside() {
        let folder = tempdir().expect("a folder");
        let path = folder.path().join("report.html");
        writable(&path).expect("writable");
        assert_eq!(names(&folder), [""; 0]);
        write(&path, "one").expect("written");
        write(&path, "two").expect("written");
        writable(&path).expect("writable");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "two");
        assert_eq!(names(&folder), ["report.html"]);
    }

    #[test]
    fn what_cannot_be_written_is_named_with_its_cause() {
        let folder = tempdir().expect("a folder");
        fs::write(folder.path().join("file"), "").expect("written");
        let inside = |name: &str| folder.path().join(name);
        for (path, cause) in [
            (folder.path().to_owned(), "it is a folder"),
            (inside("none/report.html"), "its folder does not exist"),
            (inside("none/"), "it does not name a file"),
            (PathBuf::new(), "it does not name a file"),
        ] {
            for error in [writable(&path).expect_err("no"), write(&path, "x").expect_err("no")] {
                let text = error.to_string();
                assert!(text.contains(cause) && text.contains(&*path.to_string_lossy()), "{text}");
            }
        }
        // The system words these.
        assert!(writable(&inside("file/report.html")).is_err());
        assert!(writable(&inside(&"x".repeat(300))).is_err());
        assert_eq!(names(&folder), ["file"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_written_to() {
        let folder = tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        write(&link, "new").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("readable"), "new");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());

        fs::remove_file(&file).expect("removed");
        assert!(
            writable(&link).expect_err("no").to_string().contains("a symbolic link to nothing")
        );

        let null = Path::new("/dev/null");
        writable(null).expect("writable");
        write(null, "gone").expect("written");
        assert!(!null.is_file());
    }
}
