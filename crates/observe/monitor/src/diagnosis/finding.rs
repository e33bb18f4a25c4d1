//! What a diagnosis says.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What can be wrong with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Diagnosis {
    /// A worker does not come to the end of a turn.
    StuckWorker,
    /// Actors that wait for futures, and nothing else moves: they wait for each other.
    MutualWait,
    /// Nothing moves, and nothing else is known.
    Standstill,
    /// An actor's messages wait while others run for long.
    Starvation,
    /// A mailbox gets more messages than its actor handles.
    GrowingMailbox,
    /// Full mailboxes hold actors back, one behind the other; at the end stands a slow one.
    MutedChain,
    /// One actor of many gets most of the work of its type.
    HotActor,
    /// Two workers that only send each other one message at a time.
    ChattyWorkers,
    /// Actors run on other NUMA nodes than where their memory is.
    FarMemory,
    /// More threads want to run than there are CPUs for.
    OversubscribedCores,
    /// Something that only so many events may use at a time holds back a graph of events.
    SerialResource,
    /// A link between two nodes sends much twice.
    ResendingLink,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something does not go on.
    Critical,
    /// It goes on, and gets worse or is much slower than it could be.
    Warning,
    /// Worth knowing.
    Note,
}

/// One thing that is wrong, with figures, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub diagnosis: Diagnosis,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen, with figures: whole sentences.
    pub seen: String,
    /// What to do.
    pub advice: String,
    /// The figures by name, with units in their names.
    pub figures: BTreeMap<String, f64>,
}

impl Diagnosis {
    /// The name, such as `stuck-worker`: the same as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Diagnosis::StuckWorker => "stuck-worker",
            Diagnosis::MutualWait => "mutual-wait",
            Diagnosis::Standstill => "standstill",
            Diagnosis::Starvation => "starvation",
            Diagnosis::GrowingMailbox => "growing-mailbox",
            Diagnosis::MutedChain => "muted-chain",
            Diagnosis::HotActor => "hot-actor",
            Diagnosis::ChattyWorkers => "chatty-workers",
            Diagnosis::FarMemory => "far-memory",
            Diagnosis::OversubscribedCores => "oversubscribed-cores",
            Diagnosis::SerialResource => "serial-resource",
            Diagnosis::ResendingLink => "resending-link",
        }
    }
}

impl Severity {
    /// The name: the same as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl Finding {
    pub(super) fn new(diagnosis: Diagnosis, severity: Severity, seen: String) -> Self {
        let (advice, figures) = (String::new(), BTreeMap::new());
        Finding { diagnosis, severity, seen, advice, figures }
    }

    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    pub(super) fn figure(mut self, name: &str, value: f64) -> Self {
        self.figures.insert(name.to_owned(), value);
        self
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { diagnosis, severity, seen, advice, .. } = self;
        write!(f, "{severity}: {diagnosis}\n  {seen}\n  What to do: {advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_in_json() {
        for it in [Diagnosis::StuckWorker, Diagnosis::GrowingMailbox, Diagnosis::ResendingLink] {
            assert_eq!(serde_json::to_value(it).expect("data"), it.name());
        }
        for it in [Severity::Critical, Severity::Warning, Severity::Note] {
            assert_eq!(serde_json::to_value(it).expect("data"), it.name());
        }
    }
}
