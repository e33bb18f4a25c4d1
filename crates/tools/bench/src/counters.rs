//! The counters that CI holds constant: `counters.toml`, the instructions, atomics and allocations
//! per item of each benchmark on one worker.
//!
//! They depend on the compiler, so the file names it. To cost more than [`BAND`] more is a failure,
//! until somebody accepts it and says why.

use crate::baseline;
use crate::benchmark::Benchmark;
use crate::callgrind;
use crate::harness;
use crate::options::Options;
use actinium_report::Progress;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The share by which a counter may rise.
const BAND: f64 = 0.02;
/// A cost of less than this per item is noise of the start and the end.
const NOISE: f64 = 0.005;
/// Digits that are written down.
const DIGITS: f64 = 1_000.0;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The compiler, as `rustc --version` names it: `1.95.0`.
    rustc: String,
    rows: BTreeMap<String, Row>,
}

/// The costs of a benchmark per item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    instructions: f64,
    atomics: f64,
    allocations: f64,
    /// Why it cost more than before when it last did.
    why: String,
}

impl Row {
    fn costs(&self) -> [(&'static str, f64); 3] {
        [
            ("instructions", self.instructions),
            ("atomics", self.atomics),
            ("allocations", self.allocations),
        ]
    }

    /// Each cost that rose above the band, or fell below it.
    fn changes(&self, since: &Row) -> Vec<Change> {
        let pairs = since.costs().into_iter().zip(self.costs());
        let changed = pairs
            .filter(|((_, before), (_, now))| (now - before).abs() > (before * BAND).max(NOISE));
        changed.map(|((what, before), (_, now))| Change { what, before, now }).collect()
    }
}

struct Change {
    what: &'static str,
    before: f64,
    now: f64,
}

impl Change {
    fn is_rise(&self) -> bool {
        self.now > self.before
    }

    fn line(&self, benchmark: &str) -> String {
        format!("{benchmark}: {} {} now, {} written down", self.what, self.now, self.before)
    }
}

/// Counts, and compares with the file; with a reason, writes the file.
pub(crate) fn run(why: Option<&str>, options: &Options) -> Result<String, String> {
    if let Some(missing) = callgrind::missing() {
        return Err(missing);
    }
    let (path, compiler) = (path(), compiler()?);
    let written = match fs::read_to_string(&path) {
        Ok(text) => Some(Table::parse(&text, &path)?),
        Err(_) if why.is_some() => None,
        Err(error) => return Err(format!("can not read {}: {error}", path.display())),
    };
    if let Some(table) = written.as_ref().filter(|table| why.is_none() && table.rustc != compiler) {
        return Err(format!(
            "{} was counted with rustc {}, and this is {compiler}: run it with `cargo +{}`, or accept what this one makes of it",
            path.display(),
            table.rustc,
            table.rustc
        ));
    }
    let rows = count(options)?;
    match (why, written) {
        (None, Some(table)) => {
            unexplained(&table, &path)?;
            compare(&table, &rows)
        }
        (why, written) => {
            let table = accepted(written, rows, why.unwrap_or_default(), compiler);
            let text = toml::to_string(&table).map_err(|error| error.to_string())?;
            fs::write(&path, text)
                .map_err(|error| format!("can not write {}: {error}", path.display()))?;
            Ok(format!("{} is written\n", path.display()))
        }
    }
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("counters.toml")
}

/// The version of the compiler that cargo runs.
fn compiler() -> Result<String, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let output = output.map_err(|error| format!("can not ask rustc for its version: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.split(' ').nth(1).map(str::to_owned).ok_or_else(|| format!("rustc calls itself '{said}'"))
}

fn count(options: &Options) -> Result<BTreeMap<String, Row>, String> {
    let benchmarks: Vec<Benchmark> =
        options.benchmarks.iter().copied().filter(|benchmark| benchmark.is_rate()).collect();
    let (program, progress) =
        (harness::program(), Progress::new(benchmarks.len() as u64, "counters"));
    let mut rows = BTreeMap::new();
    for benchmark in benchmarks {
        progress.message(benchmark.name());
        let failed = |error| format!("{} can not be counted: {error}", benchmark.name());
        let counted = baseline::instructions(&program, benchmark, options.limit).map_err(failed)?;
        let allocations =
            baseline::allocations(&program, benchmark, options.limit).map_err(failed)?;
        let round = |value: f64| (value.max(0.0) * DIGITS).round() / DIGITS;
        let row = Row {
            instructions: round(counted.instructions),
            atomics: round(counted.atomics),
            allocations: round(allocations),
            why: String::new(),
        };
        rows.insert(benchmark.name().to_owned(), row);
        progress.add(1);
    }
    Ok(rows)
}

impl Table {
    fn parse(text: &str, path: &Path) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Compares the counters with the table. A rise is an error; a fall is said in the text returned.
fn compare(table: &Table, rows: &BTreeMap<String, Row>) -> Result<String, String> {
    let (mut risen, mut said) = (Vec::new(), String::new());
    for (name, row) in rows {
        let Some(written) = table.rows.get(name) else {
            risen.push(format!("{name}: is not written down"));
            continue;
        };
        let costs: Vec<String> =
            row.costs().iter().map(|(what, cost)| format!("{cost} {what}")).collect();
        said += &format!("{name}: {}\n", costs.join(", "));
        for change in row.changes(written) {
            if change.is_rise() {
                risen.push(change.line(name));
            } else {
                said += &format!("{}: less than before; --accept it\n", change.line(name));
            }
        }
    }
    if risen.is_empty() {
        return Ok(said);
    }
    Err(format!(
        "{}\nWhere this is worth it, accept it with a reason and commit the file:\n\
         cargo bench -p actinium-bench -- --accept 'WHY IT COSTS MORE'",
        risen.join("\n")
    ))
}

/// The file with what was counted: whatever rose gets the reason, all else keeps its own.
fn accepted(
    written: Option<Table>,
    counted: BTreeMap<String, Row>,
    why: &str,
    rustc: String,
) -> Table {
    let mut rows = written.map(|table| table.rows).unwrap_or_default();
    for (name, mut row) in counted {
        row.why = match rows.get(&name) {
            Some(old) if !row.changes(old).iter().any(Change::is_rise) => old.why.clone(),
            _ => why.to_owned(),
        };
        rows.insert(name, row);
    }
    Table { rustc, rows }
}

/// Fails if the last change of the file let something rise without a new reason. Where there is no
/// history there is none to judge.
fn unexplained(table: &Table, path: &Path) -> Result<(), String> {
    let Some(before) = previous(path, table) else { return Ok(()) };
    let risen = table.rows.iter().filter(|(name, row)| {
        let old = before.rows.get(*name);
        old.is_some_and(|old| row.why == old.why && row.changes(old).iter().any(Change::is_rise))
    });
    let risen: Vec<&str> = risen.map(|(name, _)| name.as_str()).collect();
    match risen.as_slice() {
        [] => Ok(()),
        names => Err(format!(
            "{}: {} cost more than before, for the same reason as then: say why",
            path.display(),
            names.join(", ")
        )),
    }
}

/// The last version of the file that differs from this one.
fn previous(path: &Path, table: &Table) -> Option<Table> {
    let git = |args: &[&str]| {
        let output = Command::new("git").current_dir(path.parent()?).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let commits = git(&["log", "-3", "--format=%H", "--", "counters.toml"])?;
    let versions =
        commits.lines().filter_map(|commit| git(&["show", &format!("{commit}:./counters.toml")]));
    let mut versions = versions.filter_map(|text| Table::parse(&text, path).ok());
    versions.find(|version| version != table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(instructions: f64, allocations: f64, why: &str) -> Row {
        Row { instructions, atomics: 0.0, allocations, why: why.to_owned() }
    }

    fn rows(row: Row) -> BTreeMap<String, Row> {
        BTreeMap::from([("ring".to_owned(), row)])
    }

    fn table(row: Row) -> Table {
        Table { rustc: "1.95.0".to_owned(), rows: rows(row) }
    }

    #[test]
    fn what_rises_is_a_failure() {
        let written = table(row(185.0, 0.0, "first"));
        assert!(compare(&written, &rows(row(188.0, 0.0, ""))).is_ok());
        let error = compare(&written, &rows(row(189.0, 0.0, ""))).expect_err("2 % more");
        assert!(error.contains("ring: instructions 189 now, 185 written down"), "{error}");
        let error = compare(&written, &rows(row(185.0, 0.01, ""))).expect_err("it allocates");
        assert!(error.contains("ring: allocations 0.01 now"), "{error}");
        let said = compare(&written, &rows(row(150.0, 0.0, ""))).expect("it is less");
        assert!(said.contains("less than before"), "{said}");
    }

    #[test]
    fn what_is_not_written_down_is_a_failure() {
        let empty = Table { rustc: "1.95.0".to_owned(), rows: BTreeMap::new() };
        let error = compare(&empty, &rows(row(1.0, 0.0, ""))).expect_err("there is no row");
        assert!(error.contains("ring: is not written down"), "{error}");
    }

    #[test]
    fn only_what_rose_gets_the_reason() {
        let accept = |now| {
            accepted(
                Some(table(row(185.0, 0.0, "first"))),
                rows(now),
                "second",
                "1.96.0".to_owned(),
            )
        };
        let risen = accept(row(200.0, 0.0, ""));
        assert_eq!((risen.rows["ring"].why.as_str(), risen.rustc.as_str()), ("second", "1.96.0"));
        assert_eq!(accept(row(150.0, 0.0, "")).rows["ring"], row(150.0, 0.0, "first"));
        let new = accepted(None, rows(row(1.0, 0.0, "")), "new", String::new());
        assert_eq!(new.rows["ring"].why, "new");
    }

    #[test]
    fn the_file_of_this_tree_is_whole() {
        let path = path();
        let text = fs::read_to_string(&path).expect("counters.toml is there");
        let table = Table::parse(&text, &path).expect("it is a table");
        for benchmark in Benchmark::ALL.into_iter().filter(|benchmark| benchmark.is_rate()) {
            let row = &table.rows[benchmark.name()];
            assert!(row.instructions > 0.0 && !row.why.is_empty(), "{}", benchmark.name());
        }
        assert_eq!(table.rows.len(), Benchmark::ALL.len() - 1);
    }
}
