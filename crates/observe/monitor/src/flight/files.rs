//! The files of a flight recorder: the newest has the name that was given, those before it have
//! numbers, and there are only so many.

use super::document::Flight;
use crate::suffix::with_suffix;
use actinium_observe::file::{NewFile, WriteError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a document. The file is there in full or, after an error, all files are as they were.
pub(super) fn write(path: &Path, most: usize, flight: &Flight) -> Result<(), WriteError> {
    let mut out = BufWriter::new(NewFile::create(path)?);
    let written = serde_json::to_writer(&mut out, flight).map_err(Into::into);
    let written = written.and_then(|()| out.flush());
    let file = match out.into_inner() {
        Ok(file) => file,
        Err(error) => {
            let (cause, out) = error.into_parts();
            return Err(out.into_parts().0.error(cause));
        }
    };
    written.map_err(|cause| file.error(cause))?;
    // Only now, when the new one is known to fit on the disk.
    make_room(path, most);
    file.finish()
}

/// Gives the files before the new one the next number each; the oldest goes. A file that can not be
/// renamed stays, and the new one replaces it.
fn make_room(path: &Path, most: usize) {
    if !path.is_file() {
        return;
    }
    for number in (1..most).rev() {
        // One that is not there is none that could be renamed.
        let _ = std::fs::rename(numbered(path, number - 1), numbered(path, number));
    }
}

/// The file that was the newest so many files ago.
pub(super) fn numbered(path: &Path, number: usize) -> PathBuf {
    match number {
        0 => path.to_owned(),
        _ => with_suffix(path, &format!(".{number}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_files_stay_and_the_newest_has_the_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("flight.json");
        for process in 1..=5 {
            let flight = Flight { process, ..Flight::default() };
            write(&path, 3, &flight).expect("it is written");
        }
        let process_of = |name: &str| {
            let text = std::fs::read(folder.path().join(name)).expect("a file");
            serde_json::from_slice::<Flight>(&text).expect("a document").process
        };
        assert_eq!(["flight.json", "flight.1.json", "flight.2.json"].map(process_of), [5, 4, 3]);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 3);
    }

    #[test]
    fn what_can_not_be_written_leaves_all_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("no/flight.json");
        let error = write(&path, 3, &Flight::default()).expect_err("there is no such folder");
        assert!(error.to_string().contains("no/flight.json"), "{error}");
        let full = Path::new("/dev/full");
        if full.exists() {
            let error = write(full, 3, &Flight::default()).expect_err("it is full");
            assert!(error.to_string().contains("/dev/full"), "{error}");
            assert!(full.exists() && !Path::new("/dev/full.1").exists());
        }
    }
}
