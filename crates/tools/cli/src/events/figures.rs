//! The figures that the reports of all runs of events have in common, on one node or on several.

use crate::Failure;
use actinium_observe::number::count;
use actinium_report::{Cell, Column, Table};

/// The table of figures.
pub(super) struct Figures(Table);

impl Figures {
    /// Begins with how many events were run, how many were due if it was interrupted, and those of
    /// these counts that are not 0.
    pub(super) fn new(
        events: u64,
        due: u64,
        interrupted: bool,
        counts: &[(&'static str, u64)],
    ) -> Self {
        let columns = [Column::left("figure"), Column::right("value"), Column::left("remark")];
        let mut figures = Figures(Table::new(columns));
        let remark = format!("interrupted: {} were due", count(due));
        figures.row("events", events, if interrupted { &remark } else { "" });
        for &(name, number) in counts.iter().filter(|&&(_, number)| number > 0) {
            figures.row(name, number, "");
        }
        figures
    }

    /// Adds a row.
    pub(super) fn row(&mut self, name: &str, value: impl Into<Cell>, remark: &str) {
        self.0.row([name.into(), value.into(), remark.into()]);
    }

    /// Returns a table of all figures.
    pub(super) fn table(self) -> Table {
        self.0
    }
}

/// Whether a run did what it was asked to do.
pub(super) fn verdict(
    events: u64,
    due: u64,
    interrupted: bool,
    failed: u64,
    first: Option<String>,
) -> Result<(), Failure> {
    if interrupted {
        let (done, due) = (count(events), count(due));
        return Err(Failure::Failed(format!("interrupted after {done} of {due} events")));
    }
    match (failed, first) {
        (0, None) => Ok(()),
        (failed, first) => {
            let (failed, first) = (count(failed), first.unwrap_or_default());
            Err(Failure::Failed(format!("{failed} events failed; the first: {first}")))
        }
    }
}
