//! `actinium locality`.

use super::tracing::TraceArgs;
use actinium::{Policy, Workers};
use actinium_app::BindArgs;
use actinium_app::Failure;
use actinium_app::output::{OutputArgs, ReportArgs, ShowArgs};
use actinium_app::parse::{from_to, one_of, policies, workers};
use actinium_app::setting::{Parsed, Setting, Source};
use actinium_lab::locality::settings::{Receivers, Settings, Variant};
use actinium_lab::locality::{self, page, report};
use clap::ArgMatches;

/// Longest turn: a longer one would let a policy be fast by being unfair.
const BATCH_MAX: u64 = 64;
/// Most actors of a cell.
const ACTORS_MAX: u64 = 1 << 20;
/// Most places that a message touches.
const ACCESSES_MAX: u64 = 1_000_000;
/// Largest state of an actor: bytes of an array.
const STATE_MAX: u64 = 1 << 32;
/// Most entries of an actor's hash map.
const ENTRIES_MAX: u64 = 1 << 26;
/// Most messages of a run.
const MESSAGES_MAX: u64 = 1_000_000_000;
/// More runs than anybody waits for.
const REPEAT_MAX: u64 = 1_000;
/// Most memory that may be allowed to the states of a cell.
const MEMORY_MAX: u64 = 1 << 46;
/// States that an actor may work on.
const VARIANTS: &[(&str, &str)] = &[
    ("array", "Words in a row"),
    ("map", "A hash map whose values are small allocations; each message makes one anew"),
];

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Compare the scheduling policies on actors that each work on a state of their own, by the size of that state.

Each actor sends itself the next message when the previous one is done (or another actor, with --receivers); a message reads and writes --accesses random places of its state. \
Fixed assignment keeps states in their caches, stealing keeps workers busy: this shows what each costs, with the same longest turn \
(--batch) for all policies, and how fair each was. The policies take turns, cell by cell; figures are medians of --repeat runs.";

/// Arguments of `actinium locality`.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  actinium locality
  actinium locality --actors 6,18,24,240,8000 --accesses 20,100 --report locality.html
  actinium locality --variant map --policy pinned,affine
  actinium locality --state 64 --packed
  actinium locality --actors 8000 --state 4000 --receivers zipf"
)]
pub struct Args {
    /// Worker threads; 'all': as many as the cpuset and the CPU quota allow [env: ACTINIUM_WORKERS]
    #[arg(long, value_name = "N|all", default_value = "all", value_parser = workers)]
    workers: Workers,

    #[command(flatten)]
    bind: BindArgs,

    /// Policies to compare, separated by commas; behind affine its parameters, as
    /// affine,affine,colocate_after=8
    #[arg(long, value_name = "POLICY,...", default_value = "pinned,pool,stealing,affine", value_parser = policies)]
    // Written in full, it is one value to clap, which would else split it at commas.
    policy: std::vec::Vec<Policy>,

    /// State that an actor works on: an array of words, or a hash map of small allocations
    #[arg(long, value_name = "KIND", default_value = "array", value_parser = one_of::<Variant>(VARIANTS))]
    variant: Variant,

    /// Numbers of actors, separated by commas
    #[arg(long, value_name = "N,...", default_value = "24", value_delimiter = ',', value_parser = from_to::<1, ACTORS_MAX>)]
    actors: Vec<u64>,

    /// Places that a message reads and writes, separated by commas
    #[arg(long, value_name = "N,...", default_value = "20", value_delimiter = ',', value_parser = from_to::<1, ACCESSES_MAX>)]
    accesses: Vec<u64>,

    /// Sizes of an actor's array in bytes, rounded up to words, separated by commas
    #[arg(long, value_name = "BYTES,...", default_value = "64,256,2000,4000,32000,320000,3200000",
        value_delimiter = ',', value_parser = from_to::<8, STATE_MAX>)]
    state: Vec<u64>,

    /// Sizes of an actor's hash map in entries, separated by commas (with --variant map)
    #[arg(long, value_name = "N,...", default_value = "64,256,2000,4000,32000,320000", value_delimiter = ',', value_parser = from_to::<1, ENTRIES_MAX>)]
    entries: Vec<u64>,

    /// Receiver of an actor's next message: itself; or an actor that is chosen at random by Zipf's
    /// law with this exponent (zipf, zipf:1.5), or so that some actors at random places get a share
    /// of all messages (hot:4:0.8)
    #[arg(long, value_name = "WHO", default_value = "itself", value_parser = str::parse::<Receivers>)]
    receivers: Receivers,

    /// Messages that travel at a time, where they do not go to the actor itself [default: 16 per
    /// worker]
    #[arg(long, value_name = "N", value_parser = from_to::<1, MESSAGES_MAX>)]
    in_flight: Option<u64>,

    /// Messages of a run, of all actors together
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = from_to::<1, MESSAGES_MAX>)]
    messages: u64,

    /// Messages before each run, of all actors together, which are not measured [default:
    /// --messages]
    #[arg(long, value_name = "N", value_parser = from_to::<0, MESSAGES_MAX>)]
    warm_up: Option<u64>,

    /// Most messages that an actor handles in one turn: the same for all policies [env:
    /// ACTINIUM_BATCH]
    #[arg(long, value_name = "N", default_value = "64", value_parser = batch)]
    batch: u64,

    /// Runs of each policy in each cell, taking turns; figures are medians
    #[arg(long, value_name = "N", default_value = "5", value_parser = from_to::<1, REPEAT_MAX>)]
    repeat: u64,

    /// Decides which places are touched
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,

    /// Cells whose states take more bytes than this are left out
    #[arg(long, value_name = "BYTES", default_value = "4294967296", value_parser = from_to::<1, MEMORY_MAX>)]
    memory: u64,

    /// Arrays lie where the allocator puts them, and small ones share cache lines (else each has
    /// its own, 128 bytes apart)
    #[arg(long)]
    packed: bool,

    #[command(flatten)]
    report: ReportArgs,

    #[command(flatten)]
    trace: TraceArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    show: ShowArgs,
}

fn batch(text: &str) -> Result<u64, String> {
    from_to::<1, BATCH_MAX>(text)
}

impl Args {
    /// The settings of this call: flag > environment > default.
    fn resolve(&self, matches: &ArgMatches) -> Result<Settings, Failure> {
        let number = |value: u64, id| Setting::parsed(value, matches, id);
        let list = |values: &[u64], id| Setting::parsed(values.to_vec(), matches, id);
        let workers = Setting::parsed(self.workers, matches, "workers")
            .or_env("ACTINIUM_WORKERS", workers)?;
        let defaults = Settings::new(workers, self.bind.resolve(matches)?)?;
        let in_flight = self.in_flight.unwrap_or(defaults.in_flight.value);
        let batch = number(self.batch, "batch").or_env("ACTINIUM_BATCH", batch)?;
        let settings = Settings {
            policies: Setting::parsed(self.policy.clone(), matches, "policy"),
            variant: Setting::parsed(self.variant, matches, "variant"),
            actors: list(&self.actors, "actors"),
            accesses: list(&self.accesses, "accesses"),
            sizes: self.sizes(matches)?,
            receivers: Setting::parsed(self.receivers, matches, "receivers"),
            in_flight: number(in_flight, "in_flight"),
            messages: number(self.messages, "messages"),
            warm_up: number(self.warm_up.unwrap_or(self.messages), "warm_up"),
            batch: Setting { value: batch.value as u32, source: batch.source },
            repeat: number(self.repeat, "repeat"),
            seed: number(self.seed, "seed"),
            memory: number(self.memory, "memory"),
            packed: Setting::parsed(self.packed, matches, "packed"),
            ..defaults
        };
        if self.in_flight.is_some() && settings.receivers.value.0.is_none() {
            let line = "--in-flight: only with --receivers zipf or hot";
            return Err(Failure::Asked(line.to_owned()));
        }
        settings.check()?;
        Ok(settings)
    }

    /// The sizes of states, by the flag that is for the variant.
    fn sizes(&self, matches: &ArgMatches) -> Result<Setting<Vec<u64>>, Failure> {
        let asked = |line: &str| Err(Failure::Asked(line.to_owned()));
        let state = Setting::parsed(self.state.clone(), matches, "state");
        let entries = Setting::parsed(self.entries.clone(), matches, "entries");
        match self.variant {
            Variant::Array if entries.source == Source::Flag => {
                asked("--entries: only with --variant map")
            }
            Variant::Array => Ok(state),
            Variant::Map if state.source == Source::Flag => {
                asked("--state: only with --variant array")
            }
            Variant::Map if self.packed => asked("--packed: only with --variant array"),
            Variant::Map => Ok(entries),
        }
    }
}

/// Runs the experiment and prints its figures.
///
/// # Errors
/// If a setting is not allowed, a run fails or the output can not be written.
pub fn run(args: &Args, matches: &ArgMatches) -> Result<(), Failure> {
    let settings = args.resolve(matches)?;
    if args.show.show_settings {
        return args.output.settings(report::SCHEMA_VERSION, &settings, settings.rows());
    }
    args.report.check()?;
    let report = args.trace.during(|| locality::run(settings, args.output.quiet))?;
    args.report.write(|| page::of(&report))?;
    args.output.report(&report, report::Report::text)?;
    report.verdict()
}
