//! BENCHMARKS.md by one command: `cargo bench -p actinium-bench -- --page`.
//!
//! | file | concern |
//! |---|---|
//! | `figures.rs` | the figures, the commands that print them, and where |
//! | `runs.rs` | building the commands, running each a few times, medians and intervals |
//! | `disturbed.rs` | the probe beside busy loops of another process |
//! | `head.md`, `notes.md` | what people have written: how to read the page; missed targets, and why |

mod disturbed;
mod figures;
mod runs;

use crate::grid::Grid;
use crate::machine::Circumstances;
use crate::measured::{Measured, Unit};
use crate::options::Options;
use crate::report::Report;
use crate::{encodings, events, flows, patterns, replays};
use std::fs;
use std::path::Path;

/// A longer page is not read.
const LINES_MAX: usize = 150;

/// A pattern is run under five settings in each.
const PATTERN_PAIRS: usize = 6;

/// Measures everything, and writes the page.
pub(crate) fn write(options: &Options, args: &[String]) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let path = root.join("BENCHMARKS.md");
    let page = page(&root, options, args)?;
    let lines = page.lines().count();
    // What took so long to measure is kept in any case.
    fs::write(&path, page).map_err(|error| format!("can not write {}: {error}", path.display()))?;
    let path = path.display();
    if lines > LINES_MAX {
        return Err(format!(
            "{path} is written, but has {lines} lines; at most {LINES_MAX} are read"
        ));
    }
    Ok(format!("{path} is written: {lines} lines\n"))
}

/// A row of what this program has measured itself.
fn own(measured: &Measured, command: &str) -> Vec<String> {
    let [median, interval] = measured.cells();
    vec![measured.what.clone(), command.to_owned(), median, interval, measured.wanted.to_owned()]
}

fn page(root: &Path, options: &Options, args: &[String]) -> Result<String, String> {
    let circumstances = Circumstances::now(args);
    let runs = runs::Commands::build(root)?;
    let mut text = include_str!("head.md").replace("CIRCUMSTANCES", &circumstances.to_string());

    let peers = Options { times: true, instructions: true, ..options.clone() };
    let report = Report::make(&peers, args);
    text += "\n## Comparison with tokio\n";
    text += &report.grids().iter().map(Grid::markdown).collect::<String>();

    text += "\n## Other figures\n";
    let mut figures = runs.sections(options.reps)?;
    figures.rows.push(runs::title("Beside another process, and modules of event graphs"));
    figures.rows.push(own(&disturbed::measure(&runs, options.pairs)?, disturbed::COMMAND));
    let workload = replays::read(None)?;
    for section in ["overhead", "memory", "busy", "wait"] {
        let command = format!("`cargo bench -p actinium-bench -- --events --section {section}`");
        let measured = events::section(&workload, section)?;
        // What waiting modules reach of the ideal, and bytes with products, are in the section's
        // own output.
        let is_shown = |it: &&Measured| match section {
            "wait" => it.unit == Unit::Nanoseconds,
            "memory" => !it.wanted.is_empty(),
            _ => true,
        };
        let shown = measured.iter().filter(is_shown);
        figures.rows.extend(shown.map(|it| own(it, &command)));
    }
    text += &figures.markdown();

    text += "\n## What a second worker adds\n";
    text += &patterns::compare(options.workers, PATTERN_PAIRS, false)?.markdown();

    text += "\n## Event graphs beside oneTBB and Taskflow\n";
    text += &flows::compare(&workload, options.pairs)?.markdown();

    text += "\n`cargo bench -p actinium-bench -- --encodings`: binary against the fastest other library, and the one with fewest bytes:\n";
    let compared = encodings::compare(false)?;
    // Its last paragraph is what follows from the table.
    let verdicts = compared.trim_end().rsplit("\n\n").next().unwrap_or_default();
    text += &verdicts.lines().map(|line| format!("- {line}\n")).collect::<String>();
    text += "\n";
    text += include_str!("notes.md");
    Ok(text)
}
