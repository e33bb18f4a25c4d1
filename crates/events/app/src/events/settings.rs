//! The settings of a run of a workload.

use super::loaded::Loaded;
use super::places::{self, Nodes, NodesArgs};
use crate::setting::{Parsed, Row, Setting};
use crate::{Failure, FileSettings, RunArgs, RunSettings, parse, slots};
use actinium_workload::job::Unknown;
use actinium_workload::own::KINDS;
use actinium_workload::registry::Registry;
use actinium_workload::{self as workload, Checked, Companions, Faults, Workload};
use clap::{ArgMatches, ValueEnum};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::num::NonZero;
use std::path::PathBuf;

/// Number of events that are run if neither the flag nor the file says how many.
const EVENTS_DEFAULT: u64 = 1_000;
const SLOTS_HELP: &str =
    "Events in flight [env: ACTINIUM_SLOTS] [default: the file's, else one per worker]";
const EVENTS_HELP: &str = "Events to run [default: the file's, else 1000; of a job all]";
const WORKERS_HELP: &str = "Worker threads; 'all': as many as the cpuset and the CPU quota allow \
                            [env: ACTINIUM_WORKERS] [default: the file's, else all]";
/// A factor above this was not meant.
const SCALE_MAX: f64 = 1_000.0;
/// Most points of a sweep.
const SWEEP_MAX: usize = 64;
/// Most workers of a point.
const WORKERS_MAX: u64 = 4_096;
/// Most processes side by side: more were not meant.
const JOBS_MAX: u64 = 1_024;
/// Most runs of a point.
const REPEAT_MAX: u64 = 1_000;

/// The flags that say what is run and how.
#[derive(Clone, Debug, clap::Args)]
#[command(
    mut_arg("slots", |slots| slots.help(SLOTS_HELP)),
    mut_arg("events", |events| events.help(EVENTS_HELP)),
    mut_arg("workers", |workers| workers.help(WORKERS_HELP))
)]
pub struct EventsArgs {
    /// The workload: our TOML or JSON, a configuration of the CMS multi-threaded demo framework, or
    /// a GaudiHive data flow (GraphML)
    #[arg(value_name = "CONFIG")]
    pub config: PathBuf,

    #[command(flatten)]
    run: RunArgs,

    /// Have modules of the program's own types only spend the times that the file says, and need no
    /// such types
    #[arg(long)]
    pub replay: bool,

    /// Work of modules: all compute, all wait, or each as the file says
    #[arg(long, value_name = "MODE", default_value = "as-configured")]
    mode: Mode,

    /// Multiply all times by this: 0.01 runs a hundred times as fast, 0 shows what the runtime
    /// itself costs
    #[arg(long, value_name = "F", default_value = "1", value_parser = scale)]
    time_scale: f64,

    /// Change how many events may be in a module at a time: concurrent, serial,
    /// exclusive(RESOURCE), stream, limited(N); 'all=' changes every module. May be given more than
    /// once: later ones win
    #[arg(long, value_name = "LABEL=KIND", value_parser = thread_type)]
    thread_type: Vec<ThreadType>,

    #[command(flatten)]
    nodes: NodesArgs,

    /// The mean times of a GaudiHive data flow [default: averageTiming.NAME.json beside it]
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,

    /// The control flow of a GaudiHive data flow [default: cf.NAME.graphml beside it, if there]
    #[arg(long, value_name = "FILE")]
    control_flow: Option<PathBuf>,
}

impl EventsArgs {
    /// Reads the workload, and what belongs to it.
    ///
    /// # Errors
    /// With all that is wrong with the files.
    pub fn workload(&self, registry: &Registry, unknown: Unknown) -> Result<Checked, Faults> {
        let companions =
            Companions { times: self.times.as_deref(), control: self.control_flow.as_deref() };
        workload::read_job(&self.config, companions, registry, unknown)
    }
}

/// Kinds of work that modules do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// All of them compute.
    Busy,
    /// All of them wait.
    Wait,
    /// Each module does what the file says.
    AsConfigured,
}

impl Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Busy => "busy",
            Mode::Wait => "wait",
            Mode::AsConfigured => "as-configured",
        })
    }
}

/// A change of one module's thread kind, or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadType {
    /// The module's label; `None`: all modules.
    pub label: Option<String>,
    /// The kind, as it was typed: it is one.
    pub kind: String,
}

impl Display for ThreadType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.label.as_deref().unwrap_or("all"), self.kind)
    }
}

/// What a sweep changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepOf {
    /// Events in flight.
    Slots,
    /// Worker threads, with a slot for each.
    Workers,
    /// Threads: as so many jobs of one thread, and as one job of so many.
    Jobs,
}

impl SweepOf {
    /// Its name in the flag.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SweepOf::Slots => "slots",
            SweepOf::Workers => "workers",
            SweepOf::Jobs => "jobs",
        }
    }
}

/// The values that a sweep goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// What it changes.
    pub of: SweepOf,
    /// The numbers, in order, none twice.
    pub values: Vec<u64>,
    /// How often each point is run.
    pub repeat: u64,
}

impl Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(u64::to_string).collect();
        write!(f, "{}={}", self.of.name(), values.join(","))
    }
}

/// All settings, each with its source; all are within their bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program's name, and the subcommand if it has one.
    pub program: String,
    /// The workload's file.
    pub config: String,
    /// Whether modules of the program's own types only spend their times.
    pub replay: bool,
    /// Events to run; `None`: all that the source has.
    pub events: Setting<Option<u64>>,
    /// How it is run.
    pub run: RunSettings,
    /// Kind of work that modules do.
    pub mode: Setting<Mode>,
    /// The factor by which all times are multiplied.
    pub time_scale: Setting<f64>,
    /// Changed thread kinds.
    pub thread_types: Setting<Vec<ThreadType>>,
    /// Further files of the workload that flags name: the flag, and the file.
    pub companions: Vec<(&'static str, PathBuf)>,
    /// On which nodes it runs.
    pub nodes: Nodes,
}

impl Settings {
    /// The settings of this call: flag > environment > file > default.
    ///
    /// # Errors
    /// If an environment variable's value is not allowed.
    pub fn resolve(
        args: &EventsArgs,
        matches: &ArgMatches,
        loaded: &Loaded,
        program: &str,
    ) -> Result<Self, Failure> {
        let Workload { options, source, .. } = &loaded.workload;
        let given = |id| Setting::parsed((), matches, id).source;
        let file = FileSettings {
            slots: options.slots.map(|slots| slots.get() as u64),
            events: source.events.map(NonZero::get),
            workers: options.workers.map(NonZero::get),
        };
        let run = args.run.resolve(matches, file)?;
        let events = run.events;
        Ok(Settings {
            program: program.to_owned(),
            config: args.config.to_string_lossy().into_owned(),
            replay: args.replay,
            events: Setting {
                value: events.value.or(loaded.job.is_none().then_some(EVENTS_DEFAULT)),
                source: events.source,
            },
            run,
            mode: Setting::parsed(args.mode, matches, "mode"),
            time_scale: Setting::parsed(args.time_scale, matches, "time_scale"),
            thread_types: Setting { value: args.thread_type.clone(), source: given("thread_type") },
            companions: [("times", &args.times), ("control-flow", &args.control_flow)]
                .into_iter()
                .filter_map(|(flag, path)| Some((flag, path.clone()?)))
                .collect(),
            nodes: Nodes::resolve(&args.nodes, matches)?,
        })
    }

    /// Name, value and source of each, those of how this process joins others included.
    pub fn all_rows(&self) -> Vec<Row> {
        self.rows().into_iter().chain(self.nodes.join_rows()).collect()
    }

    /// How it is run, but with so many events in flight and workers.
    pub fn with(&self, slots: u64, workers: usize) -> RunSettings {
        let slots = Setting { value: slots, source: self.run.slots.source };
        let workers = Setting { value: workers, source: self.run.workers.source };
        RunSettings { slots, workers, ..self.run.clone() }
    }

    /// Name, value and source of each that decides what comes of a run, however it is run: all
    /// nodes must agree on these.
    pub fn common_rows(&self) -> impl Iterator<Item = Row> {
        let common = ["events", "mode", "time-scale", "thread-type", "order", "on-error"];
        self.rows().into_iter().filter(move |(name, ..)| common.contains(name))
    }

    /// Name, value and source of each.
    pub fn rows(&self) -> Vec<Row> {
        let types = self.thread_types.value.iter().map(ToString::to_string);
        let types = types.collect::<Vec<_>>().join(" ");
        let types = if types.is_empty() { "as configured".to_owned() } else { types };
        let mode = self.mode.row("mode");
        let scale = self.time_scale.row("time-scale");
        let types = ("thread-type", types, self.thread_types.source);
        let mut own = self.run.rows();
        if let Some(events) = self.events.value {
            own[1].1 = events.to_string();
        }
        own.splice(6..6, [mode, scale, types]);
        own.into_iter().chain(places::rows(&self.nodes)).collect()
    }
}

/// Serializes the settings as a map from a setting's name to its value and source.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let types = self.thread_types.value.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("slots", &self.run.slots)?;
        map.serialize_entry("events", &self.events)?;
        map.serialize_entry("workers", &self.run.workers)?;
        map.serialize_entry("bind", &self.run.bind.text())?;
        map.serialize_entry("policy", &self.run.policy.text())?;
        map.serialize_entry("elastic", &self.run.elastic)?;
        map.serialize_entry("mode", &self.mode.text())?;
        map.serialize_entry("time_scale", &self.time_scale)?;
        let types = Setting { value: types, source: self.thread_types.source };
        map.serialize_entry("thread_type", &types)?;
        map.serialize_entry("order", &self.run.order.text())?;
        map.serialize_entry("on_error", &self.run.on_error.text())?;
        places::serialize(&self.nodes, &mut map)?;
        map.end()
    }
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (0.0..=SCALE_MAX).contains(&factor) => Ok(factor),
        _ => Err(format!("'{text}' is not allowed: 0 to {SCALE_MAX}")),
    }
}

/// A label may have an equals sign in it, a kind has none.
fn thread_type(text: &str) -> Result<ThreadType, String> {
    let Some((label, kind)) = text.rsplit_once('=') else {
        return Err(format!(
            "'{text}' lacks its '=': write LABEL=KIND or all=KIND; kinds are {KINDS}"
        ));
    };
    actinium_workload::own::parse_threads(kind, |_| 0)?;
    let label = (label != "all").then(|| label.to_owned());
    Ok(ThreadType { label, kind: kind.to_owned() })
}

/// Parses the values of `--sweep`: `slots=1,2,4`, `workers=1,2,4` or `jobs=1,2,4`.
///
/// # Errors
/// If the text is anything else; the error names what is allowed.
pub fn sweep(text: &str) -> Result<Sweep, String> {
    let right =
        "write slots=1,2,4,8, workers=1,2,4 or jobs=1,2,4: each number greater than the one before";
    let wrong = || format!("'{text}' is not allowed: {right}");
    let (name, list) = text.split_once('=').ok_or_else(wrong)?;
    let all = [SweepOf::Slots, SweepOf::Workers, SweepOf::Jobs];
    let of = all.into_iter().find(|of| of.name() == name).ok_or_else(wrong)?;
    let number = |text: &str| match of {
        SweepOf::Slots => slots(text),
        SweepOf::Workers => parse::within(text, 1, WORKERS_MAX),
        SweepOf::Jobs => parse::within(text, 1, JOBS_MAX),
    };
    let values = list.split(',').map(number).collect::<Result<Vec<u64>, String>>()?;
    if values.len() > SWEEP_MAX {
        return Err(format!("{} numbers are too many: at most {SWEEP_MAX}", values.len()));
    }
    match values.is_sorted_by(|a, b| a < b) {
        true => Ok(Sweep { of, values, repeat: 1 }),
        false => Err(wrong()),
    }
}

/// Parses the number of runs of each point.
///
/// # Errors
/// If it is none, or out of bounds.
pub fn repeat(text: &str) -> Result<u64, String> {
    parse::within(text, 1, REPEAT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_may_have_an_equals_sign() {
        let parsed = thread_type("a=b=serial").expect("it is one");
        assert_eq!((parsed.label.as_deref(), parsed.kind.as_str()), (Some("a=b"), "serial"));
        assert_eq!(thread_type("all=stream").expect("it is one").label, None);
        assert!(thread_type("serial").expect_err("it lacks '='").contains("LABEL=KIND"));
        assert!(thread_type("a=seriel").expect_err("no kind").contains("did you mean 'serial'"));
    }

    #[test]
    fn a_sweep_rises() {
        let slots = sweep("slots=1,2,8").expect("it is one");
        assert_eq!((slots.of, &slots.values[..]), (SweepOf::Slots, &[1, 2, 8][..]));
        assert_eq!(slots.to_string(), "slots=1,2,8");
        assert_eq!(sweep("jobs=1").expect("it is one").of, SweepOf::Jobs);
        assert_eq!(sweep("workers=3").expect("it is one").of, SweepOf::Workers);
        for wrong in [
            "slots=2,1",
            "slots=1,1",
            "slots=",
            "slots=0",
            "1,2",
            "threads=1",
            "jobs=0",
            "jobs=1025",
        ] {
            assert!(sweep(wrong).is_err(), "{wrong}");
        }
    }
}
