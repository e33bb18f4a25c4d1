//! Names of several files of one sort.

use std::path::{Path, PathBuf};

/// The path with this at the end of the file's name, before its extension.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_stays_at_the_end() {
        for (path, suffix, expected) in [
            ("run.html", "-2", "run-2.html"),
            ("a.b/run.json", ".12", "a.b/run.12.json"),
            ("a.b/run", "-3", "a.b/run-3"),
            (".run", ".1", ".run.1"),
        ] {
            assert_eq!(with_suffix(path.as_ref(), suffix), Path::new(expected));
        }
    }
}
