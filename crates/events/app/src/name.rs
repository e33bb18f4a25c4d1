//! The name by which this process was called, which begins each line on stderr.

use std::path::Path;

/// Returns the name of this program: the file that was started, without its folder.
pub(crate) fn program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    match Path::new(&called).file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "actinium".to_owned(),
    }
}
