//! Getting a text out of a file, or saying why there is none.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::fault::Faults;
use super::position::LineIndex;

/// Largest file that is read. The largest known workload has 20 MB; each byte costs up to forty
/// once it is taken apart.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// The text of a file.
///
/// # Errors
/// If it is not there, is not a regular file, is too large (found out before it is read) or not
/// UTF-8.
pub(super) fn text(path: &Path) -> Result<String, Faults> {
    let name = path.to_string_lossy();
    let fault = |message: String| Faults::one(&name, None, message);
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => fault("there is no such file".to_owned()),
        _ => fault(format!("it can not be read: {error}")),
    };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(fault("it is a directory: name the file in it".to_owned()));
    }
    // A pipe or a device may never end.
    if !metadata.is_file() {
        return Err(fault("it is not a regular file".to_owned()));
    }
    let too_large = |bytes: u64| {
        fault(format!("it has {bytes} bytes: at most {FILE_BYTES_MAX} are read (64 MiB)"))
    };
    if metadata.len() > FILE_BYTES_MAX {
        return Err(too_large(metadata.len()));
    }
    // It may grow while it is read.
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(too_large(bytes.len() as u64));
    }
    utf8(&name, bytes)
}

/// Bytes as text, without the mark that some editors put at the start.
pub(super) fn utf8(name: &str, bytes: Vec<u8>) -> Result<String, Faults> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[valid];
        let before = str::from_utf8(&error.as_bytes()[..valid]).unwrap_or_default();
        let at = LineIndex::new(before).position(valid);
        let message =
            format!("the byte 0x{byte:02X} is not UTF-8: the file has to be text in UTF-8");
        Faults::one(name, Some(at), message)
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(path: &Path) -> String {
        text(path).expect_err("it can not be read").to_string()
    }

    #[test]
    fn what_is_no_file_is_said_so() {
        assert!(fault(Path::new("/nowhere/at/all")).contains("there is no such file"));
        assert!(fault(Path::new("/")).contains("it is a directory"));
        assert!(fault(Path::new("/dev/zero")).contains("it is not a regular file"));
    }

    #[test]
    fn a_file_of_3_gb_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        // Nothing is written: the file is all hole.
        file.as_file().set_len(3_000_000_000).expect("a sparse file");
        let fault = fault(file.path());
        assert!(fault.contains("it has 3000000000 bytes: at most"), "{fault}");
    }

    #[test]
    fn what_is_not_utf8_has_a_place() {
        let fault = utf8("a", b"ab\nc\xff".to_vec()).expect_err("not UTF-8").to_string();
        assert!(fault.starts_with("a:2:2: error: the byte 0xFF is not UTF-8"), "{fault}");
        assert_eq!(utf8("a", b"\xef\xbb\xbfx".to_vec()).expect("UTF-8"), "x");
    }
}
