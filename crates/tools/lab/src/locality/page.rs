//! The experiment as a page.

use super::grid::{Measured, Row};
use super::report::{Report, first_done};
use actinium_observe::number::{count, decimal};
use actinium_report::html::{Figure, Grid, GridRow, Page, Section, Unit};

/// The page of a report.
pub fn of(report: &Report) -> Page {
    let settings = report.settings();
    let mut page = Page::new("Locality: policy by state").summary(format!(
        "{} workers; each actor works on a state of its own and sends itself the next message. Colours say how many times the \
         time of the best policy of the row it took.",
        settings.workers.value
    ));
    for (policy, seconds, ratio) in report.means() {
        let value = format!("{} × best", decimal(ratio, 2));
        let note = format!("geometric mean of all rows; {} ms", decimal(seconds * 1e3, 2));
        page = page.figure(Figure::new(policy, value).note(note));
    }
    for (name, value, _) in settings.rows() {
        page = page.setting(name, value);
    }
    let time = grid(
        report,
        "Time, in multiples of the best of the row",
        Unit::Other(String::new()),
        |row, column| {
            (column.ratio_to(row.best()), format!("{} ms", decimal(column.seconds() * 1e3, 2)))
        },
    );
    let fair = grid(
        report,
        "When the first actor was done, as share of the run",
        Unit::Share,
        |_, column| {
            let share = column.median(first_done);
            (share, String::new())
        },
    );
    let switches = grid(report, "Context switches of the workers", Unit::Count, |_, column| {
        (column.median_known(|run| run.switches).unwrap_or(f64::NAN), String::new())
    });
    let mut costs = Section::new("Where it comes from").chart(switches);
    costs = match report.cache_misses_missing() {
        Some(reason) => costs.text(format!("Cache misses were not counted: {reason}.")),
        None => costs.chart(grid(report, "Cache misses per message", Unit::Count, |_, column| {
            let messages = column.runs.first().map_or(0, |run| run.handled);
            let misses = column.median_known(|run| run.misses).unwrap_or(f64::NAN);
            (misses / messages as f64, String::new())
        })),
    };
    page.section(Section::new("Time").chart(time.pale(1.0).full(3.0)))
        .section(
            Section::new("Fairness")
                .text("A policy that runs one actor for long before the next is fast, and starves the others: its first actor is done early. \
                    No colour: all were done at the end; full colour: the first was done when half of the run was over, or before.")
                .chart(fair.pale(1.0).full(0.5)),
        )
        .section(costs)
}

/// One row per cell, one column per policy; of each the value, and a word that goes with it.
fn grid(
    report: &Report,
    title: &str,
    unit: Unit,
    of: impl Fn(&Row, &Measured) -> (f64, String),
) -> Grid {
    let settings = report.settings();
    let columns = settings.policies.value.iter().map(ToString::to_string).collect();
    let label = |row: &Row| {
        format!(
            "{} actors, {} accesses, {} {}",
            count(row.cell.actors),
            count(row.cell.accesses),
            settings.show_state(row.cell.state),
            settings.state_unit()
        )
    };
    let mut grid = Grid::new(title, unit, columns);
    for row in report.measured() {
        grid = grid.row(GridRow::new(
            label(row),
            row.columns.iter().map(|column| of(row, column)).collect(),
        ));
    }
    grid
}
