//! The runs, one after the other: a large one takes much memory.

use super::Settings;
use crate::Failure;
use actinium_cluster::route::Route;
use actinium_cluster::sim::{Detection, Figures, all_reduce_ns, all_to_all, detection};
use actinium_report::Progress;

/// The results for one number of nodes.
#[derive(Debug)]
pub struct Size {
    /// The number of nodes.
    pub nodes: u32,
    /// The figures of each route.
    pub routes: Vec<(Route, Figures)>,
    /// The time of one round of folding a value and telling all nodes.
    pub all_reduce_ns: u64,
    /// The detection of a node that dies.
    pub detection: Detection,
}

/// Simulates all numbers of nodes.
///
/// # Errors
/// If the configuration of links makes no sense, which is a defect.
pub fn run(settings: &Settings, quiet: bool) -> Result<Vec<Size>, Failure> {
    let jobs = (settings.nodes.len() * (settings.routes.len() + 1)) as u64;
    let progress = if quiet { Progress::hidden(jobs) } else { Progress::new(jobs, "simulations") };
    let links = settings.links();
    let config = settings.link();
    let mut sizes = Vec::new();
    for &nodes in &settings.nodes {
        let mut routes = Vec::new();
        for &route in &settings.routes {
            routes.push((route, all_to_all(&settings.all_to_all(nodes, route))));
            progress.add(1);
        }
        let detection = detection(nodes, &links, &config)
            .map_err(|error| Failure::Failed(error.to_string()))?;
        progress.add(1);
        let all_reduce_ns = all_reduce_ns(nodes, &links);
        sizes.push(Size { nodes, routes, all_reduce_ns, detection });
    }
    progress.finish();
    Ok(sizes)
}
