//! STREAM on several nodes at the same time: all begin each round together.

use super::stream::{self, Achieved, KERNELS, Settings};
use super::stream_report::pages_by_node;
use crate::Failure;
use crate::nodes::trace::{self, NodeTrace};
use crate::nodes::{Remarks, failed};
use actinium::Bind;
use actinium::System;
use actinium::topology::Topology;
use actinium_cluster::Team;
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::job::{self, DOWN_AFTER, FIRST, JobNode, Program};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Rounds whose rates travel in one message.
const ROUNDS: usize = 100;
/// The number of a node's warnings that travel, and of the characters of each.
const WARNINGS: (usize, usize) = (8, 200);

/// The measurement, and the node that it runs on.
pub struct Job<'a> {
    /// The settings on each node.
    pub settings: &'a Settings,
    /// The machine of this node.
    pub machine: &'a Topology,
    /// Says what it is at.
    pub note: &'a (dyn Fn(&str) + Sync),
    /// Remarks of the nodes themselves.
    pub remarks: Remarks,
    /// The file for a trace of all nodes.
    pub trace: Option<&'a Path>,
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("settings", self.settings).finish_non_exhaustive()
    }
}

/// The result of one node with one store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfNode {
    /// The number of the node.
    pub node: u32,
    /// The number of the node's threads.
    pub threads: usize,
    /// In GB per second, of its own best rounds: copy, scale, add, triad.
    pub gb_per_s: [f64; 4],
    /// The time from before the arrays were there to after they were checked.
    pub total_s: f64,
    /// The largest relative error of the three arrays.
    pub error: f64,
    /// Whether that is small enough.
    pub is_valid: bool,
    /// Where the first array's pages are.
    pub pages: String,
    /// Warnings that name the features that segments did without.
    pub warnings: Vec<String>,
}

/// The result of all nodes with one store.
#[derive(Clone, Debug, Serialize)]
pub struct OfAll {
    /// The store.
    pub store: String,
    /// In GB per second, summed over nodes in the round in which that is most: copy, scale, add,
    /// triad.
    pub gb_per_s: [f64; 4],
    /// The result of each node.
    pub nodes: Vec<OfNode>,
}

impl Program for Job<'_> {
    type Report = Vec<OfAll>;
    type Error = Failure;

    fn run<F: Fabric + 'static>(
        &self,
        fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
    ) -> Result<Option<Vec<OfAll>>, Failure> {
        let system = System::builder().workers(1).bind(Bind::None).build()?;
        let started = JobNode::join(system, job::config(DOWN_AFTER)?, fabric, self.remarks.note)?;
        let team = started.team("stream")?;
        let Settings { numbers, stores, pages, times, .. } = self.settings;
        let names: Vec<String> = stores.iter().map(ToString::to_string).collect();
        let names = names.join(" ");
        let bytes = numbers * 8;
        let asked = format!("size {bytes}, placement {names}, pages {pages}, times {times}");
        started.agree(&team, asked)?;
        let trace = NodeTrace::start(self.trace, &started, &team)?;
        let lost: Mutex<Option<Failure>> = Mutex::new(None);
        let meet = || {
            let met = team.barrier().wait();
            let mut lost = lost.lock().unwrap_or_else(PoisonError::into_inner);
            *lost = lost.take().or(met.err().map(failed));
        };
        let id = started.node.id();
        let is_first = id == FIRST;
        let note = |line: &str| {
            if is_first {
                (self.note)(line)
            }
        };
        let achieved = stream::measure(self.settings, self.machine, &meet, note)?;
        if let Some(failure) = lost.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(failure);
        }
        let all = achieved.iter().map(|achieved| of_all(&team, id, achieved, *numbers));
        let all = all.collect::<Result<Vec<_>, Failure>>()?;
        if let (Some(trace), Some(path)) = (trace, self.trace)
            && let Some(parts) = job::gather(&started, &team, trace.finish()?)?
        {
            trace::merge(parts, path, self.remarks.note)?;
        }
        Ok(is_first.then_some(all))
    }
}

/// Puts together what all nodes have achieved with a store.
fn of_all(team: &Team, id: NodeId, own: &Achieved, numbers: usize) -> Result<OfAll, Failure> {
    let rate =
        |kernel: usize, seconds: f64| (KERNELS[kernel].1 * numbers as u64) as f64 / seconds / 1e9;
    let rates: Vec<[f64; 4]> = own.times[1..]
        .iter()
        .map(|round| std::array::from_fn(|kernel| rate(kernel, round[kernel])))
        .collect();
    let mut gb_per_s = [0.0_f64; 4];
    for some in rates.chunks(ROUNDS) {
        let add = |a: Vec<[f64; 4]>, b: Vec<[f64; 4]>| {
            let pairs = a.into_iter().zip(b);
            pairs.map(|(a, b)| std::array::from_fn(|kernel| a[kernel] + b[kernel])).collect()
        };
        let sums = team.all_reduce(some.to_vec(), add).wait().map_err(failed)?;
        for sum in sums {
            gb_per_s = std::array::from_fn(|kernel| gb_per_s[kernel].max(sum[kernel]));
        }
    }
    let own_figures = of_node(id.0, own);
    // One after the other: those of all together may fit in no frame.
    let one = |rank: usize| {
        let own = (rank == team.rank()).then(|| own_figures.clone());
        let one = team.all_reduce(own, |a, b| a.or(b)).wait().map_err(failed)?;
        one.ok_or_else(|| failed("a node has no figures"))
    };
    let nodes = (0..team.ranks()).map(one).collect::<Result<Vec<OfNode>, Failure>>()?;
    Ok(OfAll { store: own.store.to_string(), gb_per_s, nodes })
}

fn of_node(node: u32, own: &Achieved) -> OfNode {
    let (most, chars) = WARNINGS;
    let warnings = own.warnings.iter().take(most);
    OfNode {
        node,
        threads: own.threads,
        gb_per_s: std::array::from_fn(|kernel| own.rates[kernel].gb_per_s),
        total_s: own.total_s,
        // As JSON and the like have no infinity.
        error: own.error.min(f64::MAX),
        is_valid: own.is_valid(),
        pages: pages_by_node(own),
        warnings: warnings
            .map(|warning| warning.to_string().chars().take(chars).collect())
            .collect(),
    }
}
