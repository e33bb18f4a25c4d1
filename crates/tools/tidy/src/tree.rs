//! The workspace's text files.

use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::Path;

use crate::Finding;
use crate::source::Source;

/// One text file.
#[derive(Clone)]
pub struct File {
    /// The path from the workspace's root, with `/` between folders.
    pub path: String,
    /// The whole text of the file.
    pub text: String,
    source: OnceCell<Source>,
    parsed: OnceCell<Option<syn::File>>,
}

impl File {
    /// A file with this path from the workspace's root, and this text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> File {
        let (source, parsed) = (OnceCell::new(), OnceCell::new());
        File { path: path.into(), text: text.into(), source, parsed }
    }

    /// The code and the comments of a Rust file.
    pub fn source(&self) -> &Source {
        self.source.get_or_init(|| Source::of(&self.text))
    }

    /// The items of a Rust file; none if it does not parse.
    pub fn parsed(&self) -> Option<&syn::File> {
        self.parsed.get_or_init(|| syn::parse_file(&self.text).ok()).as_ref()
    }

    /// The folder of the crate that the file is in, without its wing: `actor` of
    /// `crates/core/actor`, the package `actinium-actor`. The facade alone is in no wing:
    /// `actinium`.
    #[must_use]
    pub fn crate_name(&self) -> Option<&str> {
        self.split().map(|(name, _)| name)
    }

    /// The path inside its crate.
    #[must_use]
    pub fn in_crate(&self) -> &str {
        self.split().map_or(&self.path, |(_, path)| path)
    }

    fn split(&self) -> Option<(&str, &str)> {
        let (wing, below) = self.path.strip_prefix("crates/")?.split_once('/')?;
        if wing == "actinium" { Some((wing, below)) } else { below.split_once('/') }
    }

    /// The name without folders and extension.
    #[must_use]
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }

    /// Whether one of the folders above it has this name.
    #[must_use]
    pub fn is_below(&self, folder: &str) -> bool {
        self.path.split('/').rev().skip(1).any(|name| name == folder)
    }

    /// A finding in this file.
    #[must_use]
    pub fn finding(&self, line: usize, rule: &'static str, message: impl Into<String>) -> Finding {
        Finding { path: self.path.clone(), line, rule, message: message.into() }
    }
}

/// All text files of a workspace.
#[derive(Clone, Default)]
pub struct Tree {
    /// Sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    /// Reads every text file below `root`, build output and version control aside.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let mut tree = Tree::default();
        tree.read_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let (path, kind) = (format!("{prefix}{name}"), entry.file_type()?);
            // A work tree of git's has a file of this name.
            if name == ".git" {
                continue;
            }
            if kind.is_dir() {
                // Cargo marks a target directory, whatever its name, as a cache, but only one that
                // it has made itself. What npm has fetched is others' too.
                let is_fetched = entry.file_name() == "node_modules";
                let is_built = path == "target" || entry.path().join("CACHEDIR.TAG").exists();
                if !is_fetched && !is_built {
                    self.read_folder(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file() {
                // What is not UTF-8 is a picture or data.
                if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                    self.files.push(File::new(path, text));
                }
            }
        }
        Ok(())
    }

    /// A workspace made up of these paths and texts.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|&(path, text)| File::new(path, text)).collect() }
    }

    /// The Rust files, each with its code and comments told apart.
    pub fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        let files = self.files.iter().filter(|file| file.path.ends_with(".rs"));
        files.map(|file| (file, file.source()))
    }

    /// The manifests of the workspace's crates.
    pub fn manifests(&self) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(|file| file.crate_name().is_some() && file.in_crate() == "Cargo.toml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_knows_where_it_is() {
        let file = File::new("crates/core/actor/src/cell/slot.rs", "");
        assert_eq!(file.crate_name(), Some("actor"));
        assert_eq!(file.in_crate(), "src/cell/slot.rs");
        assert_eq!(file.stem(), "slot");
        assert!(file.is_below("cell") && !file.is_below("slot.rs"));

        let file = File::new("README.md", "");
        assert_eq!(
            (file.crate_name(), file.in_crate(), file.stem()),
            (None, "README.md", "README")
        );
    }

    #[test]
    fn reading_the_own_crate_finds_its_files_and_no_build_output() {
        let tree = Tree::read(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("readable");
        let paths: Vec<&str> = tree.files.iter().map(|file| file.path.as_str()).collect();
        assert!(paths.contains(&"src/tree.rs") && paths.contains(&"Cargo.toml"), "{paths:?}");
        assert!(paths.is_sorted());
        assert!(tree.files.iter().all(|file| !file.is_below("target")));
    }
}
