//! Checks what a new user would try: each example of the facade, and each Rust listing of README.md
//! and docs/ that is a whole program, in a crate that depends on `actinium` and on no other crate
//! of ours. Cargo takes the versions of the workspace's lock file, and nothing from the network.
//!
//! The crate is made in `target/fresh`, or `fresh` in `CARGO_TARGET_DIR`.

use actinium_tidy::fresh;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// The files of a folder with this ending, in order.
fn files(folder: &Path, ending: &str) -> Fallible<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let is_such = |path: &PathBuf| path.extension().is_some_and(|it| it == ending);
    let mut paths: Vec<PathBuf> = entries.iter().map(|it| it.path()).filter(is_such).collect();
    paths.sort_unstable();
    Ok(paths)
}

/// The names and paths of the programs: examples as they are, and listings as files in `folder`.
/// What names another crate of ours is added to `faults`.
fn programs(
    root: &Path,
    folder: &Path,
    faults: &mut Vec<String>,
) -> Fallible<Vec<(String, String)>> {
    let mut programs = Vec::new();
    let mut add = |name: String, path: &Path| programs.push((name, path.display().to_string()));
    let mut look = |place: String, text: &str| {
        let found = fresh::strangers(text);
        faults.extend(found.iter().map(|it| format!("{place} names {it}: use the facade")));
    };
    for path in files(&root.join("crates/actinium/examples"), "rs")? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        look(path.display().to_string(), &fs::read_to_string(&path)?);
        add(name, &path);
    }
    let mut documents = files(&root.join("docs"), "md")?;
    documents.push(root.join("README.md"));
    for document in documents {
        let text = fs::read_to_string(&document)?;
        for listing in fresh::listings(&text) {
            look(format!("{}:{}", document.display(), listing.line), listing.text);
            if listing.is_whole() {
                let stem = document.file_stem().unwrap_or_default().to_string_lossy();
                let name = format!("listing-{stem}-line-{}", listing.line);
                let path = folder.join(format!("{name}.rs"));
                fs::write(&path, listing.text)?;
                add(name, &path);
            }
        }
    }
    Ok(programs)
}

fn main() -> Fallible<ExitCode> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize()?;
    let base = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = base.join("fresh");
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    let mut faults = Vec::new();
    let programs = programs(&root, &folder, &mut faults)?;
    let read = |path: &str| fs::read_to_string(root.join(path));
    let facade = root.join("crates/actinium").display().to_string();
    let manifest = fresh::manifest(
        &read("Cargo.toml")?,
        &read("crates/actinium/Cargo.toml")?,
        &facade,
        &programs,
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    println!("{} programs in {}", programs.len(), folder.display());
    faults.iter().for_each(|fault| println!("{fault}"));
    let checked = Command::new("cargo")
        .args(["check", "--offline", "--bins"])
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", base.canonicalize()?)
        .status()?;
    Ok(ExitCode::from(u8::from(!checked.success() || !faults.is_empty())))
}
