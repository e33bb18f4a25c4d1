//! What the experiment measures, and what may be asked of it.

use crate::Failure;
use crate::parse::{count_workers, from_to, policy, workers};
use crate::setting::{self, Setting, Source};
use actinium::{Policy, Workers};
use actinium_observe::number::{bytes, count};
use clap::{ArgMatches, ValueEnum};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};

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
/// What an entry of a hash map takes, about: key, pointer, a quarter of the table free, and 32 bytes with what the allocator adds.
const ENTRY_BYTES: u64 = 70;

/// The experiment's flags.
#[derive(Clone, Debug, clap::Args)]
pub struct LocalityArgs {
    /// Worker threads; 'all': as many as the cpuset and the CPU quota allow [env: ACTINIUM_WORKERS]
    #[arg(long, value_name = "N|all", default_value = "all", value_parser = workers)]
    workers: Workers,

    /// Policies to compare, separated by commas
    #[arg(long, value_name = "POLICY,...", default_value = "pinned,pool,stealing,affine", value_delimiter = ',', value_parser = policy)]
    policy: Vec<Policy>,

    /// What an actor works on: an array of words, or a hash map of small allocations
    #[arg(long, value_name = "KIND", default_value = "array")]
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

    /// Messages of a run, of all actors together
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = from_to::<1, MESSAGES_MAX>)]
    messages: u64,

    /// Messages before each run, of all actors together, which are not measured [default: --messages]
    #[arg(long, value_name = "N", value_parser = from_to::<0, MESSAGES_MAX>)]
    warm_up: Option<u64>,

    /// Most messages that an actor handles in one turn: the same for all policies [env: ACTINIUM_BATCH]
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

    /// Arrays lie where the allocator puts them, and small ones share cache lines (else each has its own, 128 bytes apart)
    #[arg(long)]
    packed: bool,
}

/// What an actor works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Variant {
    /// Words in a row.
    Array,
    /// A hash map whose values are small allocations; each message makes one anew.
    Map,
}

impl Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Variant::Array => "array",
            Variant::Map => "map",
        })
    }
}

/// The experiment's settings, each with its source; all are within their bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Worker threads.
    pub workers: Setting<usize>,
    /// Policies to compare.
    pub policies: Setting<Vec<Policy>>,
    /// What an actor works on.
    pub variant: Setting<Variant>,
    /// Numbers of actors.
    pub actors: Setting<Vec<u64>>,
    /// Places that a message touches.
    pub accesses: Setting<Vec<u64>>,
    /// Sizes of a state: bytes of an array, or entries of a map.
    pub sizes: Setting<Vec<u64>>,
    /// Messages of a run.
    pub messages: Setting<u64>,
    /// Messages before each run.
    pub warm_up: Setting<u64>,
    /// Most messages in a turn.
    pub batch: Setting<u32>,
    /// Runs of each policy in each cell.
    pub repeat: Setting<u64>,
    /// Decides which places are touched.
    pub seed: Setting<u64>,
    /// Most bytes that the states of a cell may take.
    pub memory: Setting<u64>,
    /// Whether small arrays share cache lines.
    pub packed: Setting<bool>,
    /// Whether each worker has a PU of its own, to which it is bound.
    pub bound: bool,
}

/// One row of the table: what all policies are compared on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Actors.
    pub actors: u64,
    /// Places that a message touches.
    pub accesses: u64,
    /// Size of an actor's state: bytes of an array, or entries of a map.
    pub state: u64,
}

impl Settings {
    /// The settings of this call: flag > environment > default.
    ///
    /// # Errors
    /// If a value is not allowed, two flags contradict each other, or no cell is left.
    pub fn settle(args: &LocalityArgs, matches: &ArgMatches) -> Result<Self, Failure> {
        let number = |value: u64, id| Setting::parsed(value, matches, id);
        let list = |values: &[u64], id, flag| -> Result<Setting<Vec<u64>>, Failure> {
            distinct(values, flag)?;
            Ok(Setting::parsed(values.to_vec(), matches, id))
        };
        let workers = Setting::parsed(args.workers, matches, "workers")
            .or_env("ACTINIUM_WORKERS", workers)?;
        distinct(&args.policy, "--policy")?;
        let state = list(&args.state, "state", "--state")?;
        let entries = list(&args.entries, "entries", "--entries")?;
        let packed = Setting::parsed(args.packed, matches, "packed");
        let sizes = match args.variant {
            Variant::Array if entries.source == Source::Flag => {
                return asked("--entries: only with --variant map");
            }
            Variant::Array => state,
            Variant::Map if state.source == Source::Flag => {
                return asked("--state: only with --variant array");
            }
            Variant::Map if args.packed => return asked("--packed: only with --variant array"),
            Variant::Map => entries,
        };
        let batch = number(args.batch, "batch").or_env("ACTINIUM_BATCH", batch)?;
        let settings = Settings {
            workers: Setting { value: count_workers(workers.value)?, source: workers.source },
            policies: Setting::parsed(args.policy.clone(), matches, "policy"),
            variant: Setting::parsed(args.variant, matches, "variant"),
            actors: list(&args.actors, "actors", "--actors")?,
            accesses: list(&args.accesses, "accesses", "--accesses")?,
            sizes,
            messages: number(args.messages, "messages"),
            warm_up: number(args.warm_up.unwrap_or(args.messages), "warm_up"),
            batch: Setting { value: batch.value as u32, source: batch.source },
            repeat: number(args.repeat, "repeat"),
            seed: number(args.seed, "seed"),
            memory: number(args.memory, "memory"),
            packed,
            bound: can_bind(count_workers(workers.value)?)?,
        };
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), Failure> {
        let most = self.actors.value.iter().copied().max().unwrap_or(0);
        if self.messages.value < most {
            return asked(format!(
                "--messages: '{}' are less than one for each of {} actors",
                self.messages.value,
                count(most)
            ));
        }
        if self.cells().0.is_empty() {
            let least = self.all_cells().map(|cell| self.bytes_of(&cell)).min().unwrap_or(0);
            return asked(format!(
                "--memory: '{}' leaves no cell: the smallest takes {}",
                self.memory.value,
                bytes(least)
            ));
        }
        Ok(())
    }

    /// The cells to measure, and those that would take too much memory.
    pub fn cells(&self) -> (Vec<Cell>, Vec<Cell>) {
        self.all_cells().partition(|cell| self.bytes_of(cell) <= self.memory.value)
    }

    fn all_cells(&self) -> impl Iterator<Item = Cell> {
        let rows = self.actors.value.iter().flat_map(|&actors| {
            self.accesses.value.iter().map(move |&accesses| (actors, accesses))
        });
        rows.flat_map(|(actors, accesses)| {
            self.sizes.value.iter().map(move |&state| Cell { actors, accesses, state })
        })
    }

    /// What the states of a cell take, about.
    pub fn bytes_of(&self, cell: &Cell) -> u64 {
        let each = match self.variant.value {
            Variant::Array => cell.state,
            Variant::Map => cell.state * ENTRY_BYTES,
        };
        // No overflow: 2^20 actors times at most 2^33.
        cell.actors * each
    }

    /// How a size of a state is shown.
    pub fn show_state(&self, state: u64) -> String {
        count(state)
    }

    /// What a size of a state is.
    pub fn state_unit(&self) -> &'static str {
        match self.variant.value {
            Variant::Array => "bytes",
            Variant::Map => "entries",
        }
    }

    /// Name, value and source of each.
    pub fn rows(&self) -> [(&'static str, String, Source); 13] {
        fn row<T: Display>(
            name: &'static str,
            setting: &Setting<T>,
        ) -> (&'static str, String, Source) {
            (name, setting.value.to_string(), setting.source)
        }
        fn rows<T: Display>(
            name: &'static str,
            setting: &Setting<Vec<T>>,
        ) -> (&'static str, String, Source) {
            let values: Vec<String> = setting.value.iter().map(ToString::to_string).collect();
            (name, values.join(","), setting.source)
        }
        let sizes = match self.variant.value {
            Variant::Array => "state",
            Variant::Map => "entries",
        };
        [
            row("workers", &self.workers),
            rows("policy", &self.policies),
            row("variant", &self.variant),
            rows("actors", &self.actors),
            rows("accesses", &self.accesses),
            rows(sizes, &self.sizes),
            row("messages", &self.messages),
            row("warm-up", &self.warm_up),
            row("batch", &self.batch),
            row("repeat", &self.repeat),
            row("seed", &self.seed),
            row("memory", &self.memory),
            row("packed", &self.packed),
        ]
    }
}

/// As a map from a setting's name to its value, as text, and source.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        setting::serialize(self.rows(), serializer)
    }
}

fn asked<T>(line: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Asked(line.into()))
}

/// The same thing twice would be measured twice and shown as two.
fn distinct<T: PartialEq + Display>(values: &[T], flag: &str) -> Result<(), Failure> {
    let twice = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value));
    match twice {
        Some((_, value)) => asked(format!("{flag}: '{value}' is there twice")),
        None => Ok(()),
    }
}

/// Whether there is a PU for each of so many workers. (The runtime would look at it for each run, and remark on it each time.)
pub(crate) fn can_bind(workers: usize) -> Result<bool, Failure> {
    let topology = actinium::topology::Topology::detect()
        .map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(topology.choose_pus(workers).is_some())
}

fn batch(text: &str) -> Result<u64, String> {
    from_to::<1, BATCH_MAX>(text)
}
