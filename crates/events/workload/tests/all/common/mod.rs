//! What the tests share: where the real inputs are.

use std::path::{Path, PathBuf};

/// A file of the real inputs, or `None` and a word about it where they are not.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let folder = std::env::var_os("ACTINIUM_DATA").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    eprintln!("skipped: {name} is not there; ACTINIUM_DATA names the folder");
    None
}
