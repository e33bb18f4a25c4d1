//! What is measured, and what may be asked of it.

use crate::Failure;
use crate::parse::{count_workers, from_to, workers};
use crate::setting::{self, Setting, Source};
use actinium::Workers;
use clap::ArgMatches;
use serde::{Serialize, Serializer};

/// Most actors that share the series, and most that do nothing: each takes some hundred bytes.
const ACTORS_MAX: u64 = 1 << 24;
/// Most terms of the series, and most hops.
const COUNT_MAX: u64 = 1_000_000_000_000;
/// More runs than anybody waits for.
const REPEAT_MAX: u64 = 1_000;
/// Longest idle time, in milliseconds.
const IDLE_MAX: u64 = 60_000;

/// The flags.
#[derive(Clone, Debug, clap::Args)]
pub struct ElasticArgs {
    /// Most worker threads: Pi is computed with 1 to N; 'all': as many as the cpuset and the CPU quota allow [env: ACTINIUM_WORKERS]
    #[arg(long, value_name = "N|all", default_value = "all", value_parser = workers)]
    workers: Workers,

    /// Terms of the series that sums up to Pi
    #[arg(long, value_name = "N", default_value = "200000000", value_parser = from_to::<1, COUNT_MAX>)]
    terms: u64,

    /// Actors that share the terms
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_to::<1, 1_048_576>)]
    actors: u64,

    /// Messages by which each actor gets its share: the next is sent when the previous one is done
    #[arg(long, value_name = "N", default_value = "10", value_parser = from_to::<1, 1_048_576>)]
    slices: u64,

    /// Bursts of work, each on a system that has come to rest; 0: no burst and no idle test
    #[arg(long, value_name = "N", default_value = "20", value_parser = from_to::<0, REPEAT_MAX>)]
    bursts: u64,

    /// Milliseconds for which the system is left alone to see what CPU time it uses
    #[arg(long, value_name = "MS", default_value = "1000", value_parser = from_to::<1, IDLE_MAX>)]
    idle: u64,

    /// Numbers of actors that do nothing while two others exchange messages, separated by commas
    #[arg(long, value_name = "N,...", default_value = "0,8000,1000000", value_delimiter = ',', value_parser = from_to::<0, ACTORS_MAX>)]
    bystanders: Vec<u64>,

    /// Messages that those two exchange; 0: no such test
    #[arg(long, value_name = "N", default_value = "2000000", value_parser = from_to::<0, COUNT_MAX>)]
    hops: u64,

    /// Runs of each measurement, taking turns; figures are medians
    #[arg(long, value_name = "N", default_value = "5", value_parser = from_to::<1, REPEAT_MAX>)]
    repeat: u64,
}

/// The settings, each with its source; all are within their bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Most worker threads.
    pub workers: Setting<usize>,
    /// Terms of the series.
    pub terms: Setting<u64>,
    /// Actors that share them.
    pub actors: Setting<u64>,
    /// Messages of each.
    pub slices: Setting<u64>,
    /// Bursts of work.
    pub bursts: Setting<u64>,
    /// Milliseconds of rest.
    pub idle_ms: Setting<u64>,
    /// Numbers of actors that do nothing.
    pub bystanders: Setting<Vec<u64>>,
    /// Messages that two others exchange.
    pub hops: Setting<u64>,
    /// Runs of each measurement.
    pub repeat: Setting<u64>,
}

impl Settings {
    /// The settings of this call: flag > environment > default.
    ///
    /// # Errors
    /// If a value is not allowed.
    pub fn settle(args: &ElasticArgs, matches: &ArgMatches) -> Result<Self, Failure> {
        let number = |value: u64, id| Setting::parsed(value, matches, id);
        let asked = Setting::parsed(args.workers, matches, "workers")
            .or_env("ACTINIUM_WORKERS", workers)?;
        let pieces = args.actors * args.slices;
        if args.terms < pieces {
            let terms = args.terms;
            return Err(Failure::Asked(format!(
                "--terms: '{terms}' are less than one for each of {pieces} messages (--actors times --slices)"
            )));
        }
        Ok(Settings {
            workers: Setting { value: count_workers(asked.value)?, source: asked.source },
            terms: number(args.terms, "terms"),
            actors: number(args.actors, "actors"),
            slices: number(args.slices, "slices"),
            bursts: number(args.bursts, "bursts"),
            idle_ms: number(args.idle, "idle"),
            bystanders: Setting::parsed(args.bystanders.clone(), matches, "bystanders"),
            hops: number(args.hops, "hops"),
            repeat: number(args.repeat, "repeat"),
        })
    }

    /// Name, value and source of each.
    pub fn rows(&self) -> [(&'static str, String, Source); 9] {
        let row = |name, setting: &Setting<u64>| (name, setting.value.to_string(), setting.source);
        let bystanders: Vec<String> =
            self.bystanders.value.iter().map(ToString::to_string).collect();
        [
            ("workers", self.workers.value.to_string(), self.workers.source),
            row("terms", &self.terms),
            row("actors", &self.actors),
            row("slices", &self.slices),
            row("bursts", &self.bursts),
            row("idle", &self.idle_ms),
            ("bystanders", bystanders.join(","), self.bystanders.source),
            row("hops", &self.hops),
            row("repeat", &self.repeat),
        ]
    }
}

/// As a map from a setting's name to its value, as text, and source.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        setting::serialize(self.rows(), serializer)
    }
}
