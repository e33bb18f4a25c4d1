//! The commands of the page: built, run a few times, and what they print as medians with intervals.

use super::figures::{self, Figure, SECTIONS, Section};
use crate::grid::{Grid, NONE};
use crate::measured::Measured;
use crate::run::Limit;
use actinium_report::Progress;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Most time for one of them.
const LIMIT: Limit = Limit::from_secs(900);

/// The command, and the example that compares nodes with MPI, by the profile `dist`.
pub(super) struct Commands {
    /// Where their paths start.
    root: PathBuf,
    program: PathBuf,
    against: PathBuf,
    /// Why there are no figures over MPI.
    no_mpi: Option<String>,
}

const HEADINGS: [&str; 5] =
    ["measurement", "command, with `--json`", "figure", "95 % interval", "wanted"];

/// All values of each figure, or why there are none.
type Values = Result<Vec<Value>, String>;

impl Commands {
    pub(super) fn build(root: &Path) -> Result<Self, String> {
        let missing = ["mpicc", "mpiexec"].into_iter().find(|tool| !exists(tool));
        let no_mpi = missing.map(|tool| format!("skipped: there is no {tool}"));
        let features: &[&str] = if no_mpi.is_none() { &["--features=mpi"] } else { &[] };
        let command = [&["--package=actinium-cli"], features].concat();
        let target = build(root, "actinium", &command)?;
        if no_mpi.is_none() {
            let example = ["--package=actinium-cluster", "--features=mpi", "--example=against"];
            build(root, "the example against", &example)?;
        }
        let [program, against] = ["actinium", "examples/against"].map(|it| target.join(it));
        Ok(Commands { root: root.to_owned(), program, against, no_mpi })
    }

    /// All sections, as one table.
    pub(super) fn sections(&self, runs: usize) -> Result<Grid, String> {
        let runs_of = |section: &Section| if section.once { 1 } else { runs };
        let all: usize =
            SECTIONS.iter().map(|section| distinct(section).len() * runs_of(section)).sum();
        let progress = Progress::new(all as u64, "figures");
        let mut rows = Vec::new();
        for section in SECTIONS {
            progress.message(section.title);
            let mut values: HashMap<&str, Values> = HashMap::new();
            for args in distinct(section) {
                values.insert(args, self.values(section, args, runs_of(section), &progress));
            }
            rows.push(title(section.title));
            let mut last = None;
            for figure in section.figures {
                let values = values[figure.args].as_deref();
                let command = match last == Some(figure.args) {
                    true => "the same".to_owned(),
                    false => format!("`{}`", format!("{} {}", section.command, figure.args).trim()),
                };
                last = Some(figure.args);
                rows.push(row(figure, command, values));
            }
        }
        Ok(Grid {
            title: format!(
                "Medians of {runs} runs of a `dist` build, with 95 % intervals (of fewer than 6 runs: least to greatest)."
            ),
            headings: HEADINGS.map(str::to_owned).to_vec(),
            rows,
            notes: Vec::new(),
        })
    }

    fn values(&self, section: &Section, args: &str, runs: usize, progress: &Progress) -> Values {
        let words = [section.command, args, "--json"].map(str::split_whitespace);
        let command = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        if command.starts_with("mpiexec")
            && let Some(why) = &self.no_mpi
        {
            progress.add(runs as u64);
            return Err(why.clone());
        }
        let run = |_| {
            let document = match command.strip_prefix("actinium ") {
                Some(args) => self.actinium(args),
                None => {
                    let words: Vec<&str> = command.split_whitespace().collect();
                    let [actinium, against] =
                        [&self.program, &self.against].map(|it| it.to_string_lossy());
                    let args = words[1..].iter().map(|word| match *word {
                        "actinium" => &actinium,
                        "against" => &against,
                        other => other,
                    });
                    self.run(Path::new(words[0]), &args.collect::<Vec<_>>().join(" "), LIMIT)
                }
            };
            progress.add(1);
            document
        };
        (0..runs).map(run).collect()
    }

    /// Runs `actinium` with these arguments and returns the JSON that it prints.
    pub(super) fn actinium(&self, args: &str) -> Result<Value, String> {
        self.run(&self.program, args, LIMIT)
    }

    /// Runs a command and returns what it prints. Its arguments have no spaces in them.
    fn run(&self, program: &Path, args: &str, limit: Limit) -> Result<Value, String> {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .args(args.split_whitespace())
            // Open MPI starts nothing for the superuser unless it is told twice.
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let text =
            crate::run::output(command, limit).map_err(|error| format!("{args}: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{args}: it prints no JSON: {error}"))
    }
}

/// A row that is a title.
pub(super) fn title(text: &str) -> Vec<String> {
    let mut row = vec![String::new(); HEADINGS.len()];
    row[0] = format!("**{text}**");
    row
}

/// The arguments of a section's commands, each once.
fn distinct(section: &Section) -> Vec<&'static str> {
    let mut all = Vec::new();
    for figure in section.figures {
        if !all.contains(&figure.args) {
            all.push(figure.args);
        }
    }
    all
}

fn row(figure: &Figure, command: String, documents: Result<&[Value], &String>) -> Vec<String> {
    let value = |document| figures::at(document, figure.at).map(|value| figure.unit.of(value));
    let [median, interval] = match documents {
        Err(why) => [NONE.to_owned(), why.clone()],
        Ok(documents) => match documents.iter().map(value).collect() {
            None => [NONE.to_owned(), format!("it prints no {}", figure.at)],
            Some(values) => {
                let (what, unit, wanted) = (figure.what.to_owned(), figure.unit, figure.wanted);
                Measured { what, unit, values, wanted }.cells()
            }
        },
    };
    vec![figure.what.to_owned(), command, median, interval, figure.wanted.to_owned()]
}

fn exists(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// Builds what `args` say, in a target folder of its own; returns where it then stands.
fn build(root: &Path, what: &str, args: &[&str]) -> Result<PathBuf, String> {
    let target = crate::baseline::target(root).join("page");
    eprintln!("# building {what} by the profile dist");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(root)
        .env("CARGO_TARGET_DIR", &target)
        .args(["build", "--locked", "--profile=dist"])
        .args(args)
        .status()
        .map_err(|error| format!("can not run cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo can not build {what} by the profile dist: {status}"));
    }
    Ok(target.join("dist"))
}
