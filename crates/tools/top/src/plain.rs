//! One look as plain text.

use crate::grid::{self, Grid, TypeOrder};
use crate::rates::Rates;
use actinium_monitor::live::Snapshot;
use actinium_report::{Column, Table};
use std::fmt::Write;

/// What is seen at a moment, with the rates since the look before if there was one: text for
/// scripts and reports, whose layout may change. Programs read the snapshot.
#[must_use]
pub fn plain(before: Option<&Snapshot>, seen: &Snapshot) -> String {
    let rates = Rates::of(before, seen);
    let about = &seen.about;
    let mut text = format!(
        "{}\nprocess {} on {}, {} workers, policy {}, Actinium {}\n\n",
        grid::clean(&about.command.join(" ")),
        about.pid,
        grid::clean(&about.host),
        seen.now.workers.len(),
        grid::clean(&about.policy),
        grid::clean(&about.actinium_version),
    );
    for (name, value) in grid::figures(&rates, seen) {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{name:>12}  {value}");
    }
    let tables = [
        grid::workers(&rates, seen),
        grid::types(&rates, TypeOrder::default(), ""),
        grid::fullest(seen),
        grid::dead_letters(&rates, seen),
        grid::latencies(seen),
        grid::threads(&rates, seen),
    ];
    for grid in tables.iter().chain(&grid::sections(seen)).filter(|it| !it.rows.is_empty()) {
        let _ = write!(text, "\n{}\n{}", grid.title, table(grid));
    }
    text
}

fn table(grid: &Grid) -> String {
    let column = |(name, is_right): &(String, bool)| match is_right {
        true => Column::right(name.clone()),
        false => Column::left(name.clone()),
    };
    let mut table = Table::new(grid.columns.iter().map(column));
    grid.rows.iter().for_each(|row| {
        table.row(row.iter().map(|cell| cell.as_str().into()));
    });
    format!("{table}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::tests::seen;

    #[test]
    fn a_look_is_plain_text() {
        let mut now = seen(3.0, 5_000);
        now.about.command.push("\u{1b}[31m".to_owned());
        let text = plain(Some(&seen(1.0, 1_000)), &now);
        for part in
            ["./shop", "process 17", "2.20 k/s", "shop::Till", "CPUs busy  1.50", "worker 0"]
        {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
        assert!(plain(None, &Snapshot::default()).contains("handled  0"));
    }
}
