//! The report of a run: tables, or JSON.

use super::outcome::{Ideal, Outcome};
use super::typed::command;
use super::{SCHEMA_VERSION, Settings};
use crate::{Failure, RunFigures, tables};
use actinium_observe::number::{decimal, nanoseconds, percent};
use actinium_observe::process::proc;
use actinium_report::Table;
use actinium_workload::plan::Plan;
use serde::Serialize;

/// How many CPUs so many workers of this process can use at a time.
pub(super) fn cpus_for(workers: usize) -> usize {
    match proc::cpus_allowed().len() {
        0 => workers,
        cpus => workers.min(cpus),
    }
}

/// All figures of a run. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    schema_version: u32,
    actinium_version: &'static str,
    command: String,
    settings: &'a Settings,
    workload: &'a str,
    #[serde(flatten)]
    figures: RunFigures<'a>,
    plan: &'a Plan,
    ideal: Option<Ideal>,
    /// Elapsed time by the ideal's: 1 is perfect.
    wall_by_ideal: Option<f64>,
    /// Of a replay: mixes all events' products.
    checksum: Option<String>,
}

impl<'a> Report<'a> {
    /// Creates the report of a run.
    pub fn new(
        settings: &'a Settings,
        plan: &'a Plan,
        outcome: &'a Outcome,
        ideal: Option<Ideal>,
    ) -> Self {
        let figures = RunFigures::new(&outcome.run);
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            command: command(settings, None),
            settings,
            workload: &plan.name,
            plan,
            ideal,
            wall_by_ideal: ideal.map(|ideal| ideal.wall_by_ideal(figures.elapsed_s)),
            figures,
            checksum: outcome.checksum.map(|sum| format!("{sum:016x}")),
        }
    }

    /// Returns the report as text: tables, and remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let remarks = if quiet { String::new() } else { tables::remarks(self.settings.rows()) };
        format!("{}{}{remarks}", self.table(), self.figures.details())
    }

    fn table(&self) -> Table {
        let mut table = self.figures.times();
        match self.ideal {
            Some(ideal) => {
                let of = format!(
                    "{} events/s in {}, by {}",
                    decimal(ideal.events_per_s, 2),
                    nanoseconds(ideal.elapsed_s * 1e9),
                    ideal.by
                );
                let share = percent(ideal.share(self.figures.events_per_s));
                table.row("ideal", share, &of);
                let ratio = self.wall_by_ideal.unwrap_or(f64::NAN);
                table.row("wall / ideal", decimal(ratio, 3), "elapsed time by the ideal's");
            }
            None if self.checksum.is_some() => table.row("ideal", "-", "modules take no time"),
            // Who knows how long modules take asks for the ideal.
            None => {}
        }
        self.figures.uses(&mut table);
        if let Some(checksum) = &self.checksum {
            table.row("checksum", checksum.as_str(), "of all products");
        }
        table.table()
    }

    /// Whether the run did what it was asked to do.
    ///
    /// # Errors
    /// If events failed, it was interrupted, or it was faster than its CPUs can compute.
    pub fn verdict(&self) -> Result<(), Failure> {
        self.figures.verdict()?;
        let RunFigures { events, elapsed_s, abandoned, .. } = self.figures;
        if self.checksum.is_none() || abandoned > 0 {
            // A job, of whose modules nobody knows how long they take.
            return Ok(());
        }
        let cpus = cpus_for(self.figures.workers);
        self.plan.computing_ns.check(events, cpus, elapsed_s).map_err(Failure::Failed)
    }
}
