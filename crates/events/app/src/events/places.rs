//! On which nodes a workload runs: with the feature `nodes`, on any number; else on one.

use crate::setting::Row;
use serde::ser::SerializeMap;

#[cfg(feature = "nodes")]
pub(super) use crate::nodes::{Nodes, NodesArgs};
#[cfg(not(feature = "nodes"))]
pub(super) use one::{Nodes, NodesArgs};

/// Without the feature, there are no flags.
#[cfg(not(feature = "nodes"))]
mod one {
    use crate::Failure;
    use crate::setting::Row;
    use clap::ArgMatches;

    /// No flags.
    #[derive(Clone, Debug, Default, clap::Args)]
    pub struct NodesArgs {}

    /// One node.
    #[derive(Clone, Debug, Default)]
    pub struct Nodes;

    impl Nodes {
        /// One node.
        ///
        /// # Errors
        /// None.
        pub fn resolve(_: &NodesArgs, _: &ArgMatches) -> Result<Self, Failure> {
            Ok(Nodes)
        }

        /// No settings.
        #[must_use]
        pub fn join_rows(&self) -> Vec<Row> {
            Vec::new()
        }
    }
}

/// Name, value and source of what all nodes agree on. Who runs on one node need not hear of others.
#[cfg(feature = "nodes")]
pub(super) fn rows(nodes: &Nodes) -> impl Iterator<Item = Row> {
    let rows = nodes.fabric.value.is_some().then(|| nodes.rows());
    rows.into_iter().flatten()
}

#[cfg(not(feature = "nodes"))]
pub(super) fn rows(_: &Nodes) -> impl Iterator<Item = Row> {
    std::iter::empty()
}

/// Adds the settings to others.
#[cfg(feature = "nodes")]
pub(super) fn serialize<M: SerializeMap>(nodes: &Nodes, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("fabric", &nodes.fabric)?;
    map.serialize_entry("nodes", &nodes.count)?;
    for (name, value, source) in nodes.join_rows() {
        let value = crate::setting::Setting { value, source };
        map.serialize_entry(&name.replace('-', "_"), &value)?;
    }
    Ok(())
}

#[cfg(not(feature = "nodes"))]
pub(super) fn serialize<M: SerializeMap>(_: &Nodes, _: &mut M) -> Result<(), M::Error> {
    Ok(())
}
