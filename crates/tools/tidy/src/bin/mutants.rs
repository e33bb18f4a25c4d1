//! Weakens each atomic ordering in turn, in a copy of the tree, and runs the models that
//! `mutants.toml` names for its file.
//!
//! `mutants [PART-OF-A-PATH...]`: only files whose path has one of these in it. What was found
//! stays in `FOLDER/results.tsv`, and is not asked for again until its line changes or the file is
//! deleted. FOLDER is `target/mutants`, or `mutants` in `CARGO_TARGET_DIR`. Exit code: 1 if there
//! is a mutant that no model notices and whose comment gives no reason.

use actinium_tidy::mutants::{self, Mutant};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

/// How long a build with its tests may take before it counts as one that hangs, in seconds.
const LIMIT_S: &str = "900";

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A file, and the models that look at it.
struct Row {
    path: String,
    /// The arguments of each `cargo test`: package, program, names.
    tests: Vec<Vec<String>>,
}

fn rows(root: &Path) -> Fallible<Vec<Row>> {
    let text = fs::read_to_string(root.join("crates/tools/tidy/mutants.toml"))?;
    let table: toml::Table = text.parse()?;
    let mut rows = Vec::new();
    for (path, tests) in &table {
        let tests = tests.as_array().ok_or_else(|| format!("{path}: not a list of tests"))?;
        let words = |test: &toml::Value| -> Fallible<Vec<String>> {
            let test = test.as_str().ok_or_else(|| format!("{path}: a test is a text"))?;
            Ok(test.split_whitespace().map(str::to_owned).collect())
        };
        let tests = tests.iter().map(words).collect::<Fallible<_>>()?;
        rows.push(Row { path: path.clone(), tests });
    }
    Ok(rows)
}

/// Copies what git knows of; what is the same there already stays, so that it is not built again.
fn copy_tree(root: &Path, to: &Path) -> Fallible<()> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output()?;
    for path in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let (from, to) = (root.join(path), to.join(path));
        if !from.is_file() {
            continue;
        }
        let content = fs::read(&from)?;
        if fs::read(&to).is_ok_and(|there| there == content) {
            continue;
        }
        fs::create_dir_all(to.parent().unwrap_or(&to))?;
        fs::write(to, content)?;
    }
    Ok(())
}

/// Whether all tests pass in the copy. What they print goes to `log`.
fn passes(tree: &Path, build: &Path, row: &Row, log: &Path) -> Fallible<bool> {
    for test in &row.tests {
        let [package, program, names @ ..] = &test[..] else {
            return Err(format!("{}: a test is a package, a program and names", row.path).into());
        };
        let log = fs::File::create(log)?;
        let status = Command::new("timeout")
            .args(["--kill-after=10", LIMIT_S, "cargo", "test", "--release", "-p", package])
            .args(["--test", program, "--"])
            .args(names)
            .current_dir(tree)
            .env("CARGO_TARGET_DIR", build)
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
            .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .status()?;
        if !status.success() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A mutant that does not compile was not noticed by a model.
fn was_built(log: &Path) -> Fallible<bool> {
    Ok(fs::read_to_string(log)?.contains("Running tests/"))
}

fn read_results(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(outcome, key)| (key.to_owned(), outcome.to_owned())).collect()
}

fn main() -> Fallible<ExitCode> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize()?;
    let base = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = base.join("mutants");
    // A build directory of its own: cargo gives the copy's programs the names of the tree's, so the
    // step `loom` would run a mutant.
    let (tree, build) = (folder.join("tree"), folder.join("build"));
    let (log, results) = (folder.join("log"), folder.join("results.tsv"));
    fs::create_dir_all(&folder)?;
    let wanted: Vec<String> = env::args().skip(1).collect();
    let is_wanted =
        |row: &Row| wanted.is_empty() || wanted.iter().any(|part| row.path.contains(part));
    let mut known = read_results(&results);
    let mut unnoticed = Vec::new();
    for row in rows(&root)?.into_iter().filter(is_wanted) {
        let text = fs::read_to_string(root.join(&row.path))?;
        let all: Vec<Mutant> = mutants::of(&text);
        let key = |mutant: &Mutant| format!("{}: {}", row.path, mutant.key());
        if all.iter().any(|mutant| !known.contains_key(&key(mutant))) {
            copy_tree(&root, &tree)?;
            if !passes(&tree, &build, &row, &log)? {
                let log = log.display();
                return Err(format!("{}: its models fail as it is: {log}", row.path).into());
            }
        }
        for mutant in &all {
            let key = key(mutant);
            if !known.contains_key(&key) {
                fs::write(tree.join(&row.path), mutant.apply(&text))?;
                let outcome = match passes(&tree, &build, &row, &log)? {
                    true => "unnoticed",
                    false if was_built(&log)? => "noticed",
                    false => return Err(format!("{}: {mutant}: does not build", row.path).into()),
                };
                fs::write(tree.join(&row.path), &text)?;
                println!("{outcome:9} {}:{mutant}", row.path);
                known.insert(key.clone(), outcome.to_owned());
                let lines = known.iter().map(|(key, outcome)| format!("{outcome}\t{key}\n"));
                fs::write(&results, lines.collect::<String>())?;
            }
            if known[&key] == "unnoticed" && !mutant.is_excused {
                unnoticed.push(format!("{}:{mutant}", row.path));
            }
        }
    }
    println!("\n{} that no model notices, without a reason beside them", unnoticed.len());
    unnoticed.iter().for_each(|mutant| println!("  {mutant}"));
    Ok(ExitCode::from(u8::from(!unnoticed.is_empty())))
}
