//! The number of workers that make sense, and the reason why not more do.

use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{CpuSet, Quota, Topology};

/// The limit of the number of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkerLimit {
    /// The machine: one worker for each PU.
    Pus,
    /// The process may not run on every PU.
    Cpuset,
    /// The cgroup grants less CPU time than the allowed PUs have.
    Quota,
}

/// How many workers make sense, and why not more. Its `Display` is a phrase for users.
///
/// ```
/// # use actinium_topology::{Quota, Topology, WorkerLimit};
/// let machine = Topology::synthetic("core:8 pu:1")?.with_quota(Quota::new(250_000, 100_000));
/// let usable = machine.usable_workers();
/// assert_eq!((usable.workers, usable.limit), (3, WorkerLimit::Quota));
/// assert_eq!(usable.to_string(), "3 workers: the CPU quota is 2.5 CPUs, on 8 allowed PUs");
/// # Ok::<(), actinium_topology::TopologyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsableWorkers {
    /// How many; at least 1.
    pub workers: usize,
    /// Why not more.
    pub limit: WorkerLimit,
    pus: usize,
    allowed: CpuSet,
    quota: Option<Quota>,
}

impl Topology {
    /// How many workers keep busy what this process may use: one for each allowed PU, but no more
    /// than the CPU quota, rounded up, feeds; at least 1. More would take CPU time from each other.
    #[must_use]
    pub fn usable_workers(&self) -> UsableWorkers {
        let allowed = self.allowed.len().max(1);
        let granted = self.quota.as_ref().map_or(usize::MAX, Quota::whole_cpus);
        let limit = if granted < allowed {
            WorkerLimit::Quota
        } else if allowed < self.pus.len() {
            WorkerLimit::Cpuset
        } else {
            WorkerLimit::Pus
        };
        UsableWorkers {
            workers: allowed.min(granted),
            limit,
            pus: self.pus.len(),
            allowed: self.allowed.clone(),
            quota: self.quota.clone(),
        }
    }
}

impl UsableWorkers {
    /// Why not more, as a phrase.
    #[must_use]
    pub fn reason(&self) -> String {
        let quota = self.quota.as_ref();
        match (self.limit, quota) {
            (WorkerLimit::Quota, Some(quota)) => {
                format!("the CPU quota is {quota}, on {} allowed PUs", self.allowed.len())
            }
            (WorkerLimit::Cpuset, _) => format!(
                "the process may run on {} of {} PUs ({})",
                self.allowed.len(),
                self.pus,
                self.allowed
            ),
            _ => "one for each PU".to_owned(),
        }
    }
}

impl fmt::Display for UsableWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.workers == 1 { "" } else { "s" };
        write!(f, "{} worker{plural}: {}", self.workers, self.reason())
    }
}

impl Serialize for UsableWorkers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("UsableWorkers", 3)?;
        fields.serialize_field("workers", &self.workers)?;
        fields.serialize_field("limit", &self.limit)?;
        fields.serialize_field("reason", &self.reason())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usable(allowed: &str, quota: Option<Quota>) -> UsableWorkers {
        let machine = Topology::synthetic("package:2 core:4 pu:1").unwrap();
        machine.with_allowed(&allowed.parse().unwrap()).with_quota(quota).usable_workers()
    }

    #[test]
    fn the_smallest_limit_wins_and_is_named() {
        use WorkerLimit::*;
        for (allowed, quota, workers, limit) in [
            ("0-7", None, 8, Pus),
            ("2-5", None, 4, Cpuset),
            ("0-7", Some((800_000, 100_000)), 8, Pus),
            ("0-7", Some((400_001, 100_000)), 5, Quota),
            ("2-5", Some((400_001, 100_000)), 4, Cpuset),
            ("2-5", Some((1_000, 100_000)), 1, Quota),
        ] {
            let quota = quota.map(|(quota, period)| crate::Quota::new(quota, period));
            let usable = usable(allowed, quota);
            assert_eq!((usable.workers, usable.limit), (workers, limit));
        }
    }

    #[test]
    fn the_reason_is_for_users() {
        assert_eq!(usable("0-7", None).to_string(), "8 workers: one for each PU");
        assert_eq!(
            usable("3", None).to_string(),
            "1 worker: the process may run on 1 of 8 PUs (3)"
        );
    }
}
