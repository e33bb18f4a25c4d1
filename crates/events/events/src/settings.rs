//! How a graph is run, and why a run does not start.

use crate::record::Figures;
use actinium_scheduler::guard::Panicked;
use actinium_scheduler::{Policy, STACK_BYTES};
use actinium_topology::{Bind, WrongBind};
use std::time::Duration;

/// The effect of one event's failure on the other events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// No more events are begun; those in flight go on. The default.
    #[default]
    Stop,
    /// The event is counted, and the others go on.
    Skip,
    /// The event is run again up to so many times, then skipped.
    Retry(u32),
}

/// The order in which outputs see events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Outputs see events as they come, in no fixed order. The default.
    #[default]
    Completed,
    /// Outputs see events in the source's order. The window bounds how far events may run ahead: no
    /// event begins that is `window` or more ahead of the oldest that has not ended.
    Input {
        /// The size of the window: at least 1; more than there are slots makes no difference.
        window: usize,
    },
}

/// How a graph is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Workers; `None`: as many as the process may use.
    pub workers: Option<usize>,
    /// Events in flight; `None`: as many as workers.
    pub slots: Option<usize>,
    /// Where work runs.
    pub policy: Policy,
    /// The effect of a failure on the other events.
    pub on_error: OnError,
    /// The order in which outputs see events.
    pub order: Order,
    /// Take no more events than this.
    pub events_max: Option<u64>,
    /// How much is noted.
    pub figures: Figures,
    /// Most spans kept per worker.
    pub spans_max: usize,
    /// How often it is noted how things stand; `None`: never.
    pub sample_every: Option<Duration>,
    /// To which PUs workers are bound, of those that no other system has claimed; `None`: as
    /// `ACTINIUM_BIND` says, or else [`Bind::Auto`].
    pub bind: Option<Bind>,
    /// Bytes of each worker's stack, on which modules run: 64 KiB to 1 GiB. Default: 8 MiB.
    pub stack_size: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            workers: None,
            slots: None,
            policy: Policy::affine(),
            on_error: OnError::Stop,
            order: Order::Completed,
            events_max: None,
            figures: Figures::Times,
            spans_max: 1 << 16,
            sample_every: None,
            bind: None,
            stack_size: STACK_BYTES,
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty => $value:expr;)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $value;
            self
        }
    )+};
}

impl Settings {
    setters! {
        /// Sets the number of workers.
        workers: usize => Some(workers);
        /// Sets the number of events in flight.
        slots: usize => Some(slots);
        /// Sets where work runs.
        policy: Policy => policy;
        /// Sets the effect of a failure on the other events.
        on_error: OnError => on_error;
        /// Sets in which order outputs see events.
        order: Order => order;
        /// Sets the largest number of events that are taken.
        events_max: u64 => Some(events_max);
        /// Sets how much is noted.
        figures: Figures => figures;
        /// Sets how often the state of the run is sampled.
        sample_every: Duration => Some(sample_every);
        /// Sets to which PUs workers are bound.
        bind: Bind => Some(bind);
        /// Sets the size of each worker's stack, in bytes.
        stack_size: usize => stack_size;
    }

    pub(crate) fn slots_or(&self, workers: usize) -> usize {
        self.slots.unwrap_or(workers)
    }
}

/// Why a run did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// A setting has a value that is not allowed: which, its value, and what is allowed.
    Setting(&'static str, usize, &'static str),
    /// Workers can not be bound as they should be.
    Bind(WrongBind),
    /// The machine could not be looked at.
    Topology(actinium_topology::TopologyError),
    /// A module could not be made: its factory panicked.
    Module {
        /// The module's label.
        label: String,
        /// For which slot, if each has one of its own.
        slot: Option<usize>,
        /// The message of the panic.
        panicked: Panicked,
    },
    /// A worker's thread could not be started.
    Thread(std::io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Setting(name, value, allowed) => {
                write!(f, "{name}: {value} is not allowed: {allowed}")
            }
            StartError::Bind(error) => write!(f, "{}: {error}", error.of),
            StartError::Topology(error) => {
                write!(f, "can not find out what this machine looks like: {error}")
            }
            StartError::Module { label, slot, panicked } => {
                write!(f, "module '{label}'")?;
                if let Some(slot) = slot {
                    write!(f, " of slot {slot}")?;
                }
                write!(f, " could not be made: {panicked}")
            }
            StartError::Thread(error) => write!(f, "can not start a worker's thread: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<WrongBind> for StartError {
    fn from(error: WrongBind) -> Self {
        StartError::Bind(error)
    }
}
