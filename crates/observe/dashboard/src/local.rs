//! A system of this process.

use crate::source::{Look, Refusal, Source};
use actinium_actor::SystemHandle;
use actinium_monitor::live::{ActorsQuery, Live, Snapshot};
use serde::Serialize;
use serde_json::Value;

/// Members of a family that are shown.
const FAMILY: usize = 200;

/// A system of this process.
pub(crate) struct Local {
    live: Live,
}

impl Local {
    pub(crate) fn new(system: &SystemHandle) -> Self {
        Local { live: Live::new(system) }
    }
}

fn value(of: impl Serialize) -> Value {
    serde_json::to_value(of).unwrap_or_default()
}

impl Source for Local {
    fn look(&self) -> Look {
        Look::of("", &self.live.snapshot())
    }

    fn snapshot(&self) -> Result<Snapshot, Refusal> {
        Ok(self.live.snapshot())
    }

    fn actors(&self, query: &ActorsQuery) -> Result<Value, Refusal> {
        self.live.actors(query).map(value).map_err(|error| Refusal::Wrong(error.to_string()))
    }

    fn actor(&self, number: u64) -> Result<Value, Refusal> {
        let missing = || Refusal::Missing(format!("no living actor has the number {number}"));
        self.live.actor(number, FAMILY).map(value).ok_or_else(missing)
    }

    fn family(&self, of: Option<u64>) -> Result<Value, Refusal> {
        Ok(value(self.live.family(of, FAMILY)))
    }
}
