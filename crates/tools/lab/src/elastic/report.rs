//! The report of the measurements: tables or JSON.

use super::settings::Settings;
use super::{burst, hop, pi};
use crate::Failure;
use actinium::ScaleEvent;
use actinium_observe::Repeat;
use actinium_observe::number::{count, decimal, nanoseconds, percent};
use actinium_report::{Column, Table};
use serde::{Serialize, Serializer};
use std::fmt::Write;
use std::time::Duration;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;
/// An error of Pi of more than this, times the number of terms, is none of the series but of the
/// program.
const ERROR_MAX: f64 = 2.0;

/// All figures. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    settings: Settings,
    pi: Vec<PiReport>,
    burst: Option<BurstReport>,
    hops: Vec<HopReport>,
}

#[derive(Clone, Debug, Serialize)]
struct PiReport {
    workers: usize,
    fixed_s: Option<Repeat>,
    elastic_s: Option<Repeat>,
    /// Median of the ratios of runs that were made one after the other.
    ratio: f64,
    error: f64,
    /// The changes in the number of workers in the last elastic run.
    scale_events: Vec<Event>,
}

#[derive(Clone, Debug, Serialize)]
struct BurstReport {
    /// Bursts that reached all workers.
    reached: usize,
    bursts: usize,
    spread_p50_ns: Option<f64>,
    wake_p50_ns: f64,
    wake_p90_ns: f64,
    rest_s: f64,
    rest_cpu_s: Option<f64>,
    rest_parked: u64,
}

#[derive(Clone, Debug, Serialize)]
struct HopReport {
    bystanders: u64,
    hop_ns: Option<Repeat>,
    ratio_to_first: f64,
}

/// A change of the number of working workers.
#[derive(Clone, Debug)]
struct Event(ScaleEvent);

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ScaleEvent { at_ns, from, to, reason, view, .. } = self.0;
        serde_json::json!({
            "at_ns": at_ns, "from": from, "to": to, "reason": reason.name(),
            "wait_ns": view.wait_ns, "movable": view.movable, "busy_percent": view.busy_percent,
        })
        .serialize(serializer)
    }
}

fn seconds(runs: &[Duration]) -> Option<Repeat> {
    Repeat::new(runs.iter().map(Duration::as_secs_f64))
}

fn ratio(of: &[Duration], to: &[Duration]) -> f64 {
    let ratios = of.iter().zip(to).map(|(of, to)| of.as_secs_f64() / to.as_secs_f64());
    Repeat::new(ratios).as_ref().map_or(f64::NAN, Repeat::median)
}

/// The smallest value that so large a share of all does not exceed, in nanoseconds.
fn quantile_ns(values: &[Duration], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map_or(f64::NAN, |value| value.as_nanos() as f64)
}

impl BurstReport {
    fn new(outcome: &burst::Outcome) -> Self {
        let never = Duration::from_nanos(u64::MAX);
        let spread_ns = quantile_ns(&outcome.spread, 0.5);
        BurstReport {
            reached: outcome.spread.iter().filter(|&&spread| spread != never).count(),
            bursts: outcome.spread.len(),
            spread_p50_ns: (spread_ns < never.as_nanos() as f64).then_some(spread_ns),
            wake_p50_ns: quantile_ns(&outcome.wake, 0.5),
            wake_p90_ns: quantile_ns(&outcome.wake, 0.9),
            rest_s: outcome.rest.as_secs_f64(),
            rest_cpu_s: outcome.cpu.map(|cpu| cpu.as_secs_f64()),
            rest_parked: outcome.parked,
        }
    }
}

impl Report {
    /// Creates the report of these measurements.
    pub fn new(
        settings: Settings,
        pi: Vec<pi::Point>,
        burst: Option<&burst::Outcome>,
        hops: &[hop::Point],
    ) -> Self {
        let of_pi = |point: pi::Point| PiReport {
            workers: point.workers,
            fixed_s: seconds(&point.fixed),
            elastic_s: seconds(&point.elastic),
            ratio: ratio(&point.elastic, &point.fixed),
            error: point.error,
            scale_events: point.events.into_iter().map(Event).collect(),
        };
        let per_hop = 1e9 / settings.hops.value.max(1) as f64;
        let of_hop = |point: &hop::Point| HopReport {
            bystanders: point.bystanders,
            hop_ns: Repeat::new(point.runs.iter().map(|run| run.as_secs_f64() * per_hop)),
            ratio_to_first: ratio(&point.runs, &hops[0].runs),
        };
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            pi: pi.into_iter().map(of_pi).collect(),
            burst: burst.map(BurstReport::new),
            hops: hops.iter().map(of_hop).collect(),
            settings,
        }
    }

    /// Returns the report as text: the tables, and unless `quiet` why workers were called.
    pub fn text(&self, quiet: bool) -> String {
        let mut text = self.pi_table().to_string();
        if let Some(burst) = &self.burst {
            let _ = write!(text, "\n{}", burst.table());
        }
        if !self.hops.is_empty() {
            let _ = write!(text, "\n{}", self.hop_table());
        }
        if !quiet {
            text.push_str(&self.reasons());
            for remark in &self.settings.seats.remarks {
                let _ = writeln!(text, "workers  {remark}");
            }
        }
        text
    }

    fn pi_table(&self) -> Table {
        let mut table = Table::new([
            Column::right("Pi, workers"),
            Column::right("all from the start").unit("ms"),
            Column::right("elastic from one").unit("ms"),
            Column::right("ratio"),
        ]);
        let millis = |of: &Option<Repeat>| {
            decimal(of.as_ref().map_or(f64::NAN, Repeat::median) * 1e3, 2).into()
        };
        for point in &self.pi {
            table.row([
                point.workers.into(),
                millis(&point.fixed_s),
                millis(&point.elastic_s),
                decimal(point.ratio, 2).into(),
            ]);
        }
        table
    }

    fn hop_table(&self) -> Table {
        let mut table = Table::new([
            Column::right("hop, bystanders"),
            Column::right("time"),
            Column::right("ratio"),
        ]);
        for point in &self.hops {
            let median = point.hop_ns.as_ref().map_or(f64::NAN, Repeat::median);
            table.row([
                point.bystanders.into(),
                nanoseconds(median).into(),
                decimal(point.ratio_to_first, 2).into(),
            ]);
        }
        table
    }

    /// Why workers were called and sent home, in the last elastic run with most workers.
    fn reasons(&self) -> String {
        let mut text = String::from("\n");
        let Some(point) = self.pi.last() else { return text };
        for Event(event) in &point.scale_events {
            let ScaleEvent { at_ns, from, to, reason, view, .. } = event;
            let busy = view.busy_percent.map_or(String::new(), |busy| {
                format!(", {} of one worker's time busy", percent(busy as f64 / 100.0))
            });
            // Behind a turn of which nobody knows how long it takes.
            let wait = match view.wait_ns {
                u64::MAX => "nobody knows how long".to_owned(),
                wait_ns => nanoseconds(wait_ns as f64),
            };
            let _ = writeln!(
                text,
                "{:>9}  {from} to {to} workers: {}: {} could move, the last waits {wait}{busy}",
                nanoseconds(*at_ns as f64),
                reason.name(),
                count(view.movable as u64),
            );
        }
        text
    }

    /// Whether the figures may be believed.
    ///
    /// # Errors
    /// If Pi is wrong.
    pub fn verdict(&self) -> Result<(), Failure> {
        let allowed = ERROR_MAX / self.settings.terms.value as f64 + 1e-9;
        match self.pi.iter().find(|point| point.error > allowed) {
            Some(point) => Err(Failure::Failed(format!(
                "with {} workers Pi was wrong by {:e}",
                point.workers, point.error
            ))),
            None => Ok(()),
        }
    }
}

impl BurstReport {
    fn table(&self) -> Table {
        let mut table = Table::new([Column::left("burst and rest"), Column::right("value")]);
        let spread = self.spread_p50_ns.map_or("never".to_owned(), nanoseconds);
        table.row(["from a burst until all workers run, median".into(), spread.into()]);
        let reached = format!("{} of {}", self.reached, self.bursts);
        table.row(["bursts that reached all workers".into(), reached.into()]);
        for (name, value) in [("median", self.wake_p50_ns), ("90 %", self.wake_p90_ns)] {
            let name = format!("from a message to a system at rest until it is handled, {name}");
            table.row([name.into(), nanoseconds(value).into()]);
        }
        let rest = decimal(self.rest_s, 2);
        let cpu = self.rest_cpu_s.map_or("-".to_owned(), |cpu| nanoseconds(cpu * 1e9));
        table.row([format!("CPU time used in {rest} s of rest").into(), cpu.into()]);
        table.row(["times that workers went to sleep meanwhile".into(), self.rest_parked.into()]);
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let values: Vec<Duration> = (1..=10).rev().map(Duration::from_nanos).collect();
        assert_eq!((quantile_ns(&values, 0.5), quantile_ns(&values, 0.9)), (5.0, 9.0));
        assert!(quantile_ns(&[], 0.5).is_nan());
    }

    #[test]
    fn a_burst_that_never_reached_all_has_no_time() {
        let never = Duration::from_nanos(u64::MAX);
        let outcome =
            burst::Outcome { spread: vec![never, never, Duration::ZERO], ..Default::default() };
        let report = BurstReport::new(&outcome);
        assert_eq!((report.reached, report.spread_p50_ns), (1, None));
    }
}
