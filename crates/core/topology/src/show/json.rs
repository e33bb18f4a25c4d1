//! The machine for programs: [`serde::Serialize`].

use serde::{Serialize, Serializer};

use super::MATRIX_PUS_MAX;
use crate::{
    Cache, Core, CpuSet, Distance, NumaNode, Package, Pu, Quota, Source, Topology, UsableWorkers,
};

/// The version of what [`Topology`] serializes to. It rises when a field goes or changes its
/// meaning; new fields leave it.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct View<'a> {
    schema_version: u32,
    source: &'a Source,
    packages: &'a [Package],
    numa_nodes: &'a [NumaNode],
    caches: &'a [Cache],
    cores: &'a [Core],
    pus: &'a [Pu],
    offline: &'a CpuSet,
    numa_distances: Option<&'a [Vec<u32>]>,
    allowed: &'a CpuSet,
    quota: Option<&'a Quota>,
    usable_workers: UsableWorkers,
    pu_distances: PuDistances,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct PuDistances {
    /// Two PUs are as far apart as the first of these in which one group holds both.
    classes: Vec<Class>,
    /// One row and one column per PU, in the order of `pus`, for small machines only.
    matrix: Option<Vec<Vec<Distance>>>,
}

#[derive(Serialize)]
struct Class {
    distance: Distance,
    rank: u32,
    groups: Vec<CpuSet>,
}

impl Topology {
    fn pu_distances(&self) -> PuDistances {
        let classes = self.distance_classes().into_iter();
        let row = |a: &Pu| self.pus.iter().map(|b| self.distance(a.id, b.id)).collect();
        let is_small = self.pus.len() <= MATRIX_PUS_MAX;
        PuDistances {
            classes: classes
                .map(|(distance, groups)| Class { distance, rank: distance.rank(), groups })
                .collect(),
            matrix: is_small.then(|| self.pus.iter().map(row).collect()),
        }
    }
}

/// An object with a `schema_version` ([`SCHEMA_VERSION`]). Sets of PUs are strings in the kernel's
/// list format; positions (`core: 3`) count in the lists of the same object.
///
/// ```
/// # use actinium_topology::Topology;
/// let machine = Topology::synthetic("core:2 pu:1")?;
/// let json: serde_json::Value = serde_json::to_value(&machine).unwrap();
/// assert_eq!(json["schema_version"], 1);
/// assert_eq!(json["pus"][1]["core"], 1);
/// assert_eq!(json["allowed"], "0-1");
/// assert_eq!(json["usable_workers"]["limit"], "pus");
/// # Ok::<(), actinium_topology::TopologyError>(())
/// ```
impl Serialize for Topology {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let view = View {
            schema_version: SCHEMA_VERSION,
            source: &self.source,
            packages: &self.packages,
            numa_nodes: &self.numa_nodes,
            caches: &self.caches,
            cores: &self.cores,
            pus: &self.pus,
            offline: &self.offline,
            numa_distances: self.numa_distances(),
            allowed: &self.allowed,
            quota: self.quota.as_ref(),
            usable_workers: self.usable_workers(),
            pu_distances: self.pu_distances(),
            warnings: &self.warnings,
        };
        view.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn value(text: &str) -> Value {
        let machine = Topology::synthetic(text).unwrap();
        let machine = machine.with_quota(Quota::new(150_000, 100_000));
        serde_json::to_value(machine).unwrap()
    }

    #[test]
    fn everything_is_in_it() {
        let value = value("package:1 numa:1(memory=1KiB) l3:1(size=1KiB) core:2 pu:1");
        let expected = json!({
            "schema_version": 1,
            "source": {
                "kind": "synthetic",
                "detail": "package:1 numa:1(memory=1KiB) l3:1(size=1KiB) core:2 pu:1",
            },
            "packages": [{"os_index": 0, "pus": "0-1"}],
            "numa_nodes": [{"os_index": 0, "memory_bytes": 1024, "pus": "0-1"}],
            "caches": [
                {"level": 3, "kind": "unified", "size_bytes": 1024, "line_bytes": 64, "pus": "0-1"},
            ],
            "cores": [{"os_index": 0, "pus": "0"}, {"os_index": 1, "pus": "1"}],
            "pus": [
                {"os_index": 0, "package": 0, "numa_node": 0, "l3": 0, "l2": null, "core": 0},
                {"os_index": 1, "package": 0, "numa_node": 0, "l3": 0, "l2": null, "core": 1},
            ],
            "offline": "",
            "numa_distances": null,
            "allowed": "0-1",
            "quota": {"quota_us": 150_000, "period_us": 100_000, "cpus": 1.5, "file": null},
            "usable_workers": {"workers": 2, "limit": "pus", "reason": "one for each PU"},
            "pu_distances": {
                "classes": [{"distance": "l3", "rank": 3, "groups": ["0-1"]}],
                "matrix": [["same_pu", "l3"], ["l3", "same_pu"]],
            },
            "warnings": [],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn large_machines_have_no_matrix() {
        let value = value("package:2 core:8 pu:2");
        assert_eq!(value["pu_distances"]["matrix"], Value::Null);
        assert_eq!(value["pu_distances"]["classes"][0]["groups"][15], "30-31");
    }
}
