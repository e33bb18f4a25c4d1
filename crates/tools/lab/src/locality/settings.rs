//! Settings of the experiment, and the cells that they make.

use crate::{Failure, seats};
use actinium::topology::Seats;
use actinium::{Bind, Policy, Workers};
use actinium_observe::number::{bytes, count};
use actinium_report::setting::{self, Row, Setting};
use actinium_sim::Skew;
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::str::FromStr;

/// The approximate size of an entry of a hash map in bytes: key, pointer, a quarter of the table
/// free, and 32 bytes with the allocator's overhead.
const ENTRY_BYTES: u64 = 70;

/// The kind of state that an actor works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Words in a row.
    Array,
    /// A hash map whose values are small allocations; each message makes one anew.
    Map,
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "array" => Ok(Variant::Array),
            "map" => Ok(Variant::Map),
            _ => Err(format!("'{text}' is not allowed: array, map")),
        }
    }
}

impl Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Variant::Array => "array",
            Variant::Map => "map",
        })
    }
}

/// The receivers of the next messages: by default the actor itself, else others that are chosen so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Receivers(pub Option<Skew>);

/// Greatest exponent of Zipf's law: with it, one actor gets all.
const EXPONENT_MAX: f64 = 16.0;

impl FromStr for Receivers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let skew = match parts[..] {
            ["itself"] => Some(None),
            ["zipf"] => Some(Some(Skew::Zipf { exponent: 1.0 })),
            ["zipf", exponent] => {
                let exponent = exponent.parse().ok().filter(|it| (0.0..=EXPONENT_MAX).contains(it));
                exponent.map(|exponent| Some(Skew::Zipf { exponent }))
            }
            ["hot", actors, share] => {
                let actors = actors.parse().ok().filter(|&actors| actors > 0);
                let share = share.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                actors.zip(share).map(|(actors, share)| Some(Skew::Hot { actors, share }))
            }
            _ => None,
        };
        skew.map(Receivers).ok_or_else(|| {
            format!(
                "'{text}' is not allowed: itself, zipf, zipf:EXPONENT (0 to {EXPONENT_MAX}), or hot:ACTORS:SHARE (at least 1, 0 to 1)"
            )
        })
    }
}

impl Display for Receivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("itself"),
            Some(Skew::Zipf { exponent }) => write!(f, "zipf:{exponent}"),
            Some(Skew::Hot { actors, share }) => write!(f, "hot:{actors}:{share}"),
            Some(other) => write!(f, "{other:?}"),
        }
    }
}

/// The experiment's settings, each with its source; all are within their bounds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Worker threads.
    pub workers: Setting<usize>,
    /// To which PUs workers are bound, as it was asked for.
    pub bind: Setting<Bind>,
    /// Policies to compare.
    pub policies: Setting<Vec<Policy>>,
    /// The kind of state that an actor works on.
    pub variant: Setting<Variant>,
    /// Numbers of actors.
    pub actors: Setting<Vec<u64>>,
    /// Places that a message touches.
    pub accesses: Setting<Vec<u64>>,
    /// Sizes of a state: bytes of an array, or entries of a map.
    pub sizes: Setting<Vec<u64>>,
    /// Who gets the next message of an actor.
    pub receivers: Setting<Receivers>,
    /// Messages that travel at a time, if they do.
    pub in_flight: Setting<u64>,
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
    /// The PUs to which the workers of all systems are bound.
    pub seats: Seats,
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
    /// The defaults, for so many workers.
    ///
    /// # Errors
    /// If this machine can not be looked at, or the process may not use the PUs that are listed.
    pub fn new(workers: Setting<Workers>, bind: Setting<Bind>) -> Result<Self, Failure> {
        let count = actinium_app::count_workers(workers.value, &bind.value)?;
        let policies = [Policy::pinned(), Policy::pool(), Policy::stealing(), Policy::affine()];
        Ok(Settings {
            workers: Setting { value: count, source: workers.source },
            seats: seats::seats(&bind.value, count)?,
            bind,
            policies: policies.to_vec().into(),
            variant: Variant::Array.into(),
            actors: vec![24].into(),
            accesses: vec![20].into(),
            sizes: vec![64, 256, 2_000, 4_000, 32_000, 320_000, 3_200_000].into(),
            receivers: Receivers(None).into(),
            in_flight: (16 * count as u64).into(),
            messages: 1_000_000.into(),
            warm_up: 1_000_000.into(),
            batch: 64.into(),
            repeat: 5.into(),
            seed: 42.into(),
            memory: (4 << 30).into(),
            packed: false.into(),
        })
    }

    /// Whether the settings fit together.
    ///
    /// # Errors
    /// If a value of a list is there twice, there are fewer messages than actors, or no cell fits
    /// into memory.
    pub fn check(&self) -> Result<(), Failure> {
        distinct(&self.policies.value, "--policy")?;
        let sizes = match self.variant.value {
            Variant::Array => "--state",
            Variant::Map => "--entries",
        };
        distinct(&self.sizes.value, sizes)?;
        distinct(&self.actors.value, "--actors")?;
        distinct(&self.accesses.value, "--accesses")?;
        let most = self.all_cells().map(|cell| self.shares(&cell)).max().unwrap_or(0);
        if self.messages.value < most {
            let what = if self.receivers.value.0.is_some() { "--in-flight" } else { "actors" };
            return asked(format!(
                "--messages: '{}' are less than one for each of {} {what}",
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

    /// Into how many equal shares the messages of a cell are divided: the actors, or the messages
    /// that travel.
    pub fn shares(&self, cell: &Cell) -> u64 {
        self.receivers.value.0.map_or(cell.actors, |_| self.in_flight.value)
    }

    /// Returns the approximate size of all states of a cell, in bytes.
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

    /// Returns the unit of a state's size.
    pub fn state_unit(&self) -> &'static str {
        match self.variant.value {
            Variant::Array => "bytes",
            Variant::Map => "entries",
        }
    }

    /// Name, value and source of each.
    pub fn rows(&self) -> [Row; 16] {
        let sizes = match self.variant.value {
            Variant::Array => "state",
            Variant::Map => "entries",
        };
        [
            self.workers.row("workers"),
            self.bind.row("bind"),
            self.policies.list("policy"),
            self.variant.row("variant"),
            self.actors.list("actors"),
            self.accesses.list("accesses"),
            self.sizes.list(sizes),
            self.receivers.row("receivers"),
            self.in_flight.row("in-flight"),
            self.messages.row("messages"),
            self.warm_up.row("warm-up"),
            self.batch.row("batch"),
            self.repeat.row("repeat"),
            self.seed.row("seed"),
            self.memory.row("memory"),
            self.packed.row("packed"),
        ]
    }
}

/// Serializes the settings as a map from a setting's name to its value, as text, and source.
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
