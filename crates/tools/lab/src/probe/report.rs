//! The report of the probe: a table, or JSON.

use super::beside::BesideReport;
use super::figures::{Repeats, Values};
use super::rounds::Outcome;
use super::run::Run;
use super::settings::{Settings, crossing_name};
use crate::Failure;
use actinium::topology::PuId;
use actinium::{Audit, CounterValues};
use actinium_observe::number::{bytes, count, decimal, percent};
use actinium_observe::{Repeat, Shape};
use actinium_report::{Column, Table};
use serde::{Serialize, Serializer};
use std::fmt::Write;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 2;

/// The definition of a message, for the JSON.
const COUNTED: &str = "pings and replies: both are delivered messages";
/// The definition of a latency, and of the sample that it is known from.
const LATENCY: &str = "true times from send to handling, of a sample of the sends, each weighted by how many it stands for";

/// All figures of a probe. It serialises as the JSON that the command prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    settings: Settings,
    node_count: u64,
    worker_count_per_node: u64,
    actor_count_per_worker: u64,
    worker_count: u64,
    /// Workers that were given work at the end: all, unless they are elastic.
    workers_working: usize,
    /// The PU that each worker was bound to, if to any.
    worker_pus: Vec<Option<PuId>>,
    actor_count: u64,
    /// Actors that belonged to each worker at the end: none, under policies that keep none.
    actors_at_workers: Vec<u64>,
    /// Messages that came from other workers through lanes, per message handled.
    crossings_per_message: f64,
    /// What such a message cost more than one that stayed, for both workers together, as far as
    /// that was measured: nanoseconds.
    crossing_ns: Option<f64>,
    /// Pings that each actor sends.
    message_count_per_actor: u64,
    message_count: u64,
    message_count_is: &'static str,
    /// Medians, if there are several runs.
    #[serde(flatten)]
    figures: Values,
    delivery_latency_is: &'static str,
    delivery_latency_samples: u64,
    spread: Repeats,
    runs: Vec<RunReport>,
    /// The costs of a segment that was faulted in during a second measurement, with `--segment`.
    segment: Option<BesideReport>,
    payload: PayloadReport,
    /// Most requests of any actor that were in fact outstanding.
    in_flight_max: u64,
    /// The counters of all runs together.
    counters: Counters,
    /// Figures of the system's whole life, start-up and warm-up included.
    life: Life,
    /// The ledger of the system's whole life.
    ledger: Ledger,
}

#[derive(Clone, Debug, Serialize)]
struct RunReport {
    message_count: u64,
    /// Messages besides those: they begin the round.
    control_message_count: u64,
    #[serde(flatten)]
    figures: Values,
    delivery_latency_samples: u64,
    /// A fingerprint of who started at which target, which the seed decides.
    starts: String,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct PayloadReport {
    bytes: usize,
    carrier: &'static str,
    message_bytes: usize,
    corrupted: u64,
}

#[derive(Clone, Debug, Serialize)]
struct Life {
    workers: Vec<Counters>,
    external: Counters,
}

impl Life {
    fn sum(&self, name: &str) -> u64 {
        self.workers.iter().map(|worker| worker.get(name)).sum()
    }
}

/// Counters by name.
#[derive(Clone, Debug)]
struct Counters(Vec<(&'static str, u64)>);

impl Counters {
    /// The sum of all runs'.
    fn of(runs: &[Run]) -> Self {
        let mut sum = CounterValues::default().pairs();
        for run in runs {
            for ((_, sum), (_, value)) in sum.iter_mut().zip(&run.counters) {
                *sum = sum.wrapping_add(*value);
            }
        }
        Counters(sum)
    }

    fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|(other, _)| *other == name).map_or(0, |&(_, value)| value)
    }
}

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// The fate of every message: the numbers of those that were sent, handled, and so on.
#[derive(Clone, Copy, Debug, Serialize)]
struct Ledger {
    sent: u64,
    handled: u64,
    queued: u64,
    returned: u64,
    dead: u64,
    balanced: bool,
}

impl From<Audit> for Ledger {
    fn from(audit: Audit) -> Self {
        let balanced = audit.is_balanced();
        let Audit { sent, handled, queued, returned, dead, .. } = audit;
        Ledger { sent, handled, queued, returned, dead, balanced }
    }
}

fn samples(run: &Run) -> u64 {
    run.latency.map_or(0, |_| run.counter("sampled"))
}

impl Report {
    /// Creates the report of this outcome of a run with these settings.
    pub fn new(settings: Settings, outcome: &Outcome) -> Self {
        let shape = Shape {
            nodes: 1,
            workers_per_node: settings.workers.value as u64,
            actors_per_worker: u64::from(settings.actors.value),
        };
        let values: Vec<Values> = outcome.runs.iter().map(|run| Values::of(run, shape)).collect();
        let run_report = |(run, &figures): (&Run, &Values)| RunReport {
            message_count: run.messages(),
            control_message_count: run.control_messages,
            figures,
            delivery_latency_samples: samples(run),
            starts: format!("{:016x}", run.starts),
            counters: Counters(run.counters.clone()),
        };
        let spread = Repeats::of(&values);
        let counters = Counters::of(&outcome.runs);
        let handled = counters.get("handled").max(1) as f64;
        Report {
            schema_version: SCHEMA_VERSION,
            actinium_version: env!("CARGO_PKG_VERSION"),
            node_count: shape.nodes,
            worker_count_per_node: shape.workers_per_node,
            actor_count_per_worker: shape.actors_per_worker,
            worker_count: shape.workers(),
            workers_working: outcome.life.working,
            worker_pus: outcome.pus.clone(),
            actor_count: shape.actors(),
            actors_at_workers: outcome.probers_at.clone(),
            crossings_per_message: counters.get("crossed") as f64 / handled,
            crossing_ns: crossing_ns(&counters),
            message_count_per_actor: u64::from(settings.messages.value),
            message_count: settings.message_count(),
            message_count_is: COUNTED,
            figures: spread.medians(),
            delivery_latency_is: LATENCY,
            delivery_latency_samples: outcome.runs.iter().map(samples).sum(),
            spread,
            runs: outcome.runs.iter().zip(&values).map(run_report).collect(),
            segment: BesideReport::new(&outcome.runs, &outcome.beside),
            payload: PayloadReport {
                bytes: settings.payload.value,
                carrier: outcome.carrier,
                message_bytes: outcome.message_bytes,
                corrupted: outcome.corrupted,
            },
            in_flight_max: outcome.outstanding_max,
            counters,
            life: Life {
                workers: outcome.life.workers.iter().map(|one| Counters(one.pairs())).collect(),
                external: Counters(outcome.life.external.pairs()),
            },
            ledger: outcome.ledger.into(),
            settings,
        }
    }

    /// Returns the report as text: the table, and remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let table = if self.runs.len() == 1 { self.table() } else { self.table_of_repeats() };
        let remarks = if quiet { String::new() } else { self.remarks() };
        format!("{table}{remarks}")
    }

    /// Name, value and unit of each figure that is the same for all runs.
    fn counts(&self) -> [(&'static str, u64, &'static str); 7] {
        [
            ("node-count", self.node_count, ""),
            ("worker-count-per-node", self.worker_count_per_node, ""),
            ("actor-count-per-worker", self.actor_count_per_worker, ""),
            ("worker-count", self.worker_count, ""),
            ("actor-count", self.actor_count, ""),
            ("message-count-per-actor", self.message_count_per_actor, "pings"),
            ("message-count", self.message_count, "pings and replies"),
        ]
    }

    /// Name, values, digits and unit of the figures with a segment, if there was one.
    fn with_segment(&self) -> impl Iterator<Item = (&'static str, &Repeat, usize, &'static str)> {
        let rows = self.segment.as_ref().map(|it| {
            [
                ("throughput with segment", &it.throughput_per_s, 2, "messages/s"),
                ("of that without", &it.of_without, 3, ""),
            ]
        });
        rows.into_iter().flatten()
    }

    fn table(&self) -> Table {
        let columns = [Column::left("figure"), Column::right("value"), Column::left("unit")];
        let mut table = Table::new(columns);
        for (name, number, unit) in self.counts() {
            table.row([name.into(), number.into(), unit.into()]);
        }
        for (figure, repeat) in self.spread.iter() {
            let value = figure.show(repeat.map(Repeat::median));
            table.row([figure.name.into(), value.into(), figure.unit.into()]);
        }
        for (name, repeat, digits, unit) in self.with_segment() {
            table.row([name.into(), decimal(repeat.median(), digits).into(), unit.into()]);
        }
        table
    }

    fn table_of_repeats(&self) -> Table {
        let mut table = Table::new([
            Column::left("figure"),
            Column::right("median"),
            Column::left("unit"),
            Column::right("least"),
            Column::right("greatest"),
            Column::right("spread"),
        ]);
        for (name, number, unit) in self.counts() {
            let cell = || "".into();
            table.row([name.into(), number.into(), unit.into(), cell(), cell(), cell()]);
        }
        for (figure, repeat) in self.spread.iter() {
            let show = |of: fn(&Repeat) -> f64| figure.show(repeat.map(of)).into();
            let spread = repeat.map_or(f64::NAN, Repeat::spread);
            table.row([
                figure.name.into(),
                show(Repeat::median),
                figure.unit.into(),
                show(Repeat::min),
                show(Repeat::max),
                percent(spread).into(),
            ]);
        }
        for (name, repeat, digits, unit) in self.with_segment() {
            let [median, least, greatest] = [repeat.median(), repeat.min(), repeat.max()]
                .map(|number| decimal(number, digits).into());
            table.row([
                name.into(),
                median,
                unit.into(),
                least,
                greatest,
                percent(repeat.spread()).into(),
            ]);
        }
        table
    }

    /// Returns the remarks that a reader needs to understand the table, and whether all messages
    /// are accounted for.
    fn remarks(&self) -> String {
        let mut text = String::from("\n");
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all");
        let settings = &self.settings;
        let PayloadReport { bytes: payload_bytes, carrier, message_bytes, .. } = self.payload;
        line(format!(
            "settings   policy {}, batch {}, in-flight {}, placement {}, crossing {}, seed {}, warm-up {} pings per actor",
            settings.policy.value,
            count(settings.batch.value.into()),
            count(settings.in_flight.value.into()),
            settings.placement.value,
            crossing_name(settings.crossing.value),
            settings.seed.value,
            count(settings.warm_up.value.into()),
        ));
        line(format!("messages   {COUNTED}"));
        if payload_bytes > 0 {
            line(format!(
                "payload    {} bytes in each, {carrier}; a message takes {} bytes of the mailbox",
                count(payload_bytes as u64),
                count(message_bytes as u64)
            ));
        }
        if let Some(segment) = &self.segment {
            line(format!(
                "segment    {}, faulted in in the background while each run was made once more; at most {} of it was in when that ended",
                bytes(segment.size_bytes),
                percent(segment.faulted_share())
            ));
            segment.warnings.iter().for_each(|warning| line(format!("           {warning}")));
        }
        line(match settings.counters.value {
            true => format!("latencies  {LATENCY}: {}", self.sampled()),
            false => "latencies  not sampled: --no-counters".to_owned(),
        });
        line(
            "periods    1 / throughput: the time from one message to the next, no latency"
                .to_owned(),
        );
        if self.runs.len() > 1 {
            line(format!(
                "spread     greatest less least of {} runs, of the median",
                self.runs.len()
            ));
        }
        let names =
            ["sent", "handled", "crossed", "published", "stolen", "rehomed", "parked", "woken"];
        let counters = self.counters.0.iter().filter(|(name, _)| names.contains(name));
        let counters: Vec<String> = counters
            .map(|&(name, value)| {
                format!("{} {}", name.replace("rehomed", "re-homed"), count(value))
            })
            .collect();
        line(format!("counters   {}", counters.join(", ")));
        line(format!("workers    {}", balance(&self.shares())));
        if settings.elastic.value {
            line(self.elastic());
        }
        line(format!("actors     {}", self.homes_and_crossings()));
        line(format!("PUs        {}", crate::seats::text(&self.worker_pus)));
        let Ledger { sent, handled, queued, returned, dead, balanced } = self.ledger;
        line(format!(
            "ledger     sent {} {} handled {} + queued {queued} + returned {returned} + dead {dead}: {}",
            count(sent),
            if balanced { "=" } else { "≠" },
            count(handled),
            if balanced { "balanced, warm-up included" } else { "NOT BALANCED" },
        ));
        text
    }

    /// What became of the number of workers.
    fn elastic(&self) -> String {
        format!(
            "elastic    {} of {} workers were given work at the end; called {}, sent to sleep {}, warm-up included",
            self.workers_working,
            self.worker_count,
            self.life.sum("grown"),
            self.life.sum("shrunk"),
        )
    }

    /// Where the actors were in the end, and what that meant for messages.
    fn homes_and_crossings(&self) -> String {
        let homes = homes(&self.actors_at_workers, self.actor_count);
        match self.actors_at_workers.iter().sum() {
            0_u64 => homes,
            _ => {
                let crossings = decimal(self.crossings_per_message, 3);
                let price = self.crossing_ns.map(|ns| format!(", {} ns more each", decimal(ns, 0)));
                let price = price.unwrap_or_default();
                format!("{homes}; {crossings} crossings from worker to worker per message{price}")
            }
        }
    }

    /// Which share of all messages each worker has handled: figures per worker are averages over
    /// these.
    fn shares(&self) -> Vec<f64> {
        let handled = self.life.workers.iter().map(|worker| worker.get("handled") as f64);
        handled.map(|one| one / self.ledger.handled as f64).collect()
    }

    /// How many of the sends have a latency: the runtime decides, and pays attention to its own
    /// cost.
    fn sampled(&self) -> String {
        let (samples, sent) = (self.delivery_latency_samples, self.counters.get("sent"));
        match sent.checked_div(samples) {
            Some(each) => format!("{} of {}, 1 in {}", count(samples), count(sent), count(each)),
            None => format!("none of {}: too few", count(sent)),
        }
    }

    /// Whether the figures may be believed.
    ///
    /// # Errors
    /// If a message was lost or counted twice, or a payload did not arrive as it was sent.
    pub fn verdict(&self) -> Result<(), Failure> {
        let Ledger { sent, handled, queued, returned, dead, balanced } = self.ledger;
        if !balanced {
            return Err(Failure::Failed(format!(
                "the ledger is not balanced: sent {sent}, but handled {handled} + queued {queued} + returned {returned} + dead {dead}"
            )));
        }
        if self.payload.corrupted > 0 {
            let corrupted = self.payload.corrupted;
            return Err(Failure::Failed(format!(
                "{corrupted} payloads did not arrive as they were sent"
            )));
        }
        let (due, runs) = (self.message_count, self.runs.iter().map(|run| run.message_count));
        match runs.into_iter().find(|&handled| handled != due) {
            Some(handled) => Err(Failure::Failed(format!(
                "{handled} pings and replies were handled, and {due} were due"
            ))),
            None => Ok(()),
        }
    }
}

/// How evenly the workers took part, given each one's share of the messages.
fn balance(shares: &[f64]) -> String {
    let [least, greatest] = [f64::min, f64::max].map(|of| shares.iter().copied().reduce(of));
    let [least, greatest] = [least, greatest].map(|share| percent(share.unwrap_or(f64::NAN)));
    let idle = shares.iter().filter(|&&share| share < IDLE).count();
    let remark = match idle {
        0 => String::new(),
        _ => format!(
            "; {idle} of {} did next to nothing, and the figures per worker count them too",
            shares.len()
        ),
    };
    format!("each handled {least} to {greatest} of the messages{remark}")
}

/// The measured cost of a message that crosses workers beyond that of one that stays, for both
/// together: nanoseconds.
fn crossing_ns(counters: &Counters) -> Option<f64> {
    let timed = counters.get("crossings_timed");
    (timed > 0).then(|| counters.get("crossings_ns") as f64 / timed as f64)
}

/// How many of the actors belonged to each worker at the end; workers in a row that have as many
/// are named together.
fn homes(at_workers: &[u64], actors: u64) -> String {
    let mut first = 0;
    let rows = at_workers.chunk_by(|a, b| a == b).map(|row| {
        let (from, to) = (first, first + row.len() - 1);
        first += row.len();
        let name = if from == to { from.to_string() } else { format!("each of {from} to {to}") };
        format!("{} at {name}", count(row[0]))
    });
    let rows: Vec<String> = rows.collect();
    match actors - at_workers.iter().sum::<u64>() {
        0 => format!("at home at workers: {}", rows.join(", ")),
        _ if rows.len() == 1 => "at home at no worker: the policy keeps none there".to_owned(),
        others => format!("at home at workers: {}, and {others} at none", rows.join(", ")),
    }
}

/// A worker with a smaller share of the messages than this did next to nothing.
const IDLE: f64 = 0.001;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_named_once_for_workers_that_have_as_many() {
        assert_eq!(homes(&[7], 7), "at home at workers: 7 at 0");
        let rows = homes(&[5, 2, 2, 2, 1_000], 1_011);
        assert_eq!(rows, "at home at workers: 5 at 0, 2 at each of 1 to 3, 1,000 at 4");
        assert_eq!(homes(&[0, 0], 9), "at home at no worker: the policy keeps none there");
        assert_eq!(homes(&[0, 8], 9), "at home at workers: 0 at 0, 8 at 1, and 1 at none");
    }

    #[test]
    fn an_idle_worker_is_named() {
        assert_eq!(balance(&[0.75, 0.25]), "each handled 25.0 % to 75.0 % of the messages");
        assert_eq!(
            balance(&[1.0, 0.0]),
            "each handled 0.0 % to 100.0 % of the messages; 1 of 2 did next to nothing, and the figures per worker count them too"
        );
    }
}
