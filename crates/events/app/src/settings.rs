//! The settings with which a graph is run: flag > environment > file > default.

use crate::bind::{BindArgs, count_workers};
use crate::setting::{Parsed, Row, Setting};
use crate::{Failure, parse};
use actinium_actor::{Bind, Policy, Workers};
use clap::{ArgMatches, ValueEnum};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::time::Duration;

/// Most events in flight: each takes some KiB.
pub const SLOTS_MAX: u64 = 10_000_000;
/// Most events of a run: more would take years.
pub const EVENTS_MAX: u64 = 1_000_000_000_000;
/// Most attempts at an event beyond the first.
const RETRIES_MAX: u32 = 1_000;
/// Spans that a page shows, of all workers together.
const SPANS: usize = 20_000;

/// The flags that say how a graph is run.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    /// Events in flight [env: ACTINIUM_SLOTS] [default: one per worker]
    #[arg(long, value_name = "N", value_parser = slots)]
    slots: Option<u64>,

    /// Events to run [default: all that the source has]
    #[arg(long, value_name = "N", value_parser = events)]
    events: Option<u64>,

    /// Worker threads; 'all': as many as the cpuset and the CPU quota allow [env: ACTINIUM_WORKERS]
    /// [default: all]
    #[arg(long, value_name = "N|all", value_parser = parse::workers)]
    workers: Option<Workers>,

    #[command(flatten)]
    bind: BindArgs,

    /// Scheduling policy: pinned, pool, stealing or affine, or affine with parameters, as
    /// affine,colocate_after=8 [env: ACTINIUM_POLICY]
    #[arg(long, value_name = "POLICY", default_value = "affine", value_parser = parse::policy)]
    policy: Policy,

    /// Give work only to as many workers as it needs, from one to all; the others sleep. Needs the
    /// policy affine
    #[arg(long)]
    elastic: bool,

    /// Order in which events leave: as they are done, or as they came
    #[arg(long, value_name = "ORDER", default_value = "completed")]
    order: Order,

    /// Effect of a failed event: stop (no more are begun), skip (it is counted), or retry:N (it is
    /// run again so often, then skipped)
    #[arg(long, value_name = "WHAT", default_value = "stop", value_parser = on_error)]
    on_error: OnError,
}

/// Orders in which events leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// The order in which they are done.
    Completed,
    /// The order in which they came.
    Input,
}

impl Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Completed => "completed",
            Order::Input => "input",
        })
    }
}

/// The consequence of a failed event for the other events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// No more events are begun.
    Stop,
    /// The failed event is counted, and the others go on.
    Skip,
    /// The failed event is run again so often, and then skipped.
    Retry(u32),
}

impl Display for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OnError::Stop => f.write_str("stop"),
            OnError::Skip => f.write_str("skip"),
            OnError::Retry(times) => write!(f, "retry:{times}"),
        }
    }
}

/// Numbers that a program's file gives: they count where neither flag nor environment says
/// anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSettings {
    /// Events in flight.
    pub slots: Option<u64>,
    /// Events to run.
    pub events: Option<u64>,
    /// Worker threads.
    pub workers: Option<usize>,
}

/// The resolved settings, each with its source; all are within their bounds.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Events in flight.
    pub slots: Setting<u64>,
    /// Events to run; `None`: all that the source has.
    pub events: Setting<Option<u64>>,
    /// Worker threads.
    pub workers: Setting<usize>,
    /// PUs to which workers are bound.
    pub bind: Setting<Bind>,
    /// Scheduling policy.
    pub policy: Setting<Policy>,
    /// Whether only as many workers are given work as it needs.
    pub elastic: Setting<bool>,
    /// Order in which events leave.
    pub order: Setting<Order>,
    /// The consequence of a failed event.
    pub on_error: Setting<OnError>,
}

impl RunArgs {
    /// The settings of this call: flag > environment > file > default.
    ///
    /// # Errors
    /// If an environment variable's value is not allowed.
    pub fn resolve(
        &self,
        matches: &ArgMatches,
        file: FileSettings,
    ) -> Result<RunSettings, Failure> {
        let given = |id| Setting::parsed((), matches, id).source;
        let workers =
            Setting { value: self.workers.unwrap_or(Workers::All), source: given("workers") };
        let workers = workers
            .or_env("ACTINIUM_WORKERS", parse::workers)?
            .or_file(file.workers.map(Workers::Count));
        let bind = self.bind.resolve(matches)?;
        let count = count_workers(workers.value, &bind.value)?;
        let workers = Setting { value: count, source: workers.source };
        let slots =
            Setting { value: self.slots.unwrap_or(workers.value as u64), source: given("slots") };
        let slots = slots
            .or_env("ACTINIUM_SLOTS", self::slots)?
            .or_file(file.slots.map(|slots| slots.min(SLOTS_MAX)));
        let events = Setting { value: self.events, source: given("events") };
        let policy = Setting::parsed(self.policy, matches, "policy");
        Ok(RunSettings {
            slots,
            events: events.or_file(file.events.map(|events| Some(events.min(EVENTS_MAX)))),
            workers,
            bind,
            policy: policy.or_env("ACTINIUM_POLICY", parse::policy)?,
            elastic: Setting::parsed(self.elastic, matches, "elastic"),
            order: Setting::parsed(self.order, matches, "order"),
            on_error: Setting::parsed(self.on_error, matches, "on_error"),
        })
    }
}

impl RunSettings {
    /// Name, value and source of each.
    pub fn rows(&self) -> Vec<Row> {
        let events = self.events.value.map_or("all".to_owned(), |events| events.to_string());
        vec![
            self.slots.row("slots"),
            ("events", events, self.events.source),
            self.workers.row("workers"),
            self.bind.row("bind"),
            self.policy.row("policy"),
            self.elastic.row("elastic"),
            self.order.row("order"),
            self.on_error.row("on-error"),
        ]
    }

    /// Returns the settings for the event processor, but for the number of events. For a page it
    /// samples the run so often and keeps spans.
    pub fn processor(&self, sample_every: Option<Duration>) -> actinium_events::Settings {
        let (workers, slots) = (self.workers.value, self.slots.value);
        let slots = usize::try_from(slots).unwrap_or(usize::MAX);
        let mut to = actinium_events::Settings::default()
            .workers(workers)
            .bind(self.bind.value.clone())
            .slots(slots)
            .policy(self.policy.value)
            .elastic(self.elastic.value)
            .on_error(match self.on_error.value {
                OnError::Stop => actinium_events::OnError::Stop,
                OnError::Skip => actinium_events::OnError::Skip,
                OnError::Retry(times) => actinium_events::OnError::Retry(times),
            })
            .order(match self.order.value {
                Order::Completed => actinium_events::Order::Completed,
                Order::Input => actinium_events::Order::Input { window: slots },
            });
        if let Some(every) = sample_every {
            to = to.figures(actinium_events::Figures::Spans).sample_every(every);
            to.spans_max = (SPANS / workers).max(100);
        }
        to
    }
}

/// Serialises as a map from each setting's name to its value and source.
impl Serialize for RunSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        crate::setting::serialize(self.rows(), serializer)
    }
}

/// Parses a number of events in flight.
///
/// # Errors
/// If it is none, or out of bounds.
pub fn slots(text: &str) -> Result<u64, String> {
    parse::within(text, 1, SLOTS_MAX)
}

fn events(text: &str) -> Result<u64, String> {
    parse::within(text, 1, EVENTS_MAX)
}

fn on_error(text: &str) -> Result<OnError, String> {
    let times = text.strip_prefix("retry:").map(str::parse);
    match (text, times) {
        ("stop", _) => Ok(OnError::Stop),
        ("skip", _) => Ok(OnError::Skip),
        (_, Some(Ok(times))) if (1..=RETRIES_MAX).contains(&times) => Ok(OnError::Retry(times)),
        _ => Err(format!(
            "'{text}' is not allowed: stop, skip, or retry:N with N from 1 to {RETRIES_MAX}"
        )),
    }
}
