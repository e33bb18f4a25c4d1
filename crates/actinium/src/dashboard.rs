//! A live page of a program: what its actors and workers do at this moment (feature `dashboard`).
//!
//! ```
//! use actinium::prelude::*;
//!
//! let system = System::builder().workers(1).dashboard("127.0.0.1:0").build()?;
//! # Ok::<(), actinium::BuildError>(())
//! ```
//!
//! `ACTINIUM_DASHBOARD=127.0.0.1:7070` does the same without a change of the code. What a program
//! wants to show beside its actors is a [`section`]; an event graph and a node of a cluster have
//! theirs by `graph` and `node`.

pub use actinium_dashboard::*;
pub use actinium_monitor::live::{Section, section};

/// Shows a run of an event graph: its slots, and what waits for its resources. A program of
/// [`app`](crate::app) does so by itself.
///
/// ```
/// use actinium::dashboard;
/// use actinium::events::{Builder, Cause, Next, Processor, Settings, Source};
///
/// struct Numbers;
///
/// impl Source for Numbers {
///     type Product = u64;
///     fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
///         Ok(if number < 10 { Next::Event(number) } else { Next::End })
///     }
/// }
///
/// let graph = Builder::new("numbers", Numbers).build()?;
/// let processor = Processor::new(graph, Settings::default().workers(1));
/// let _shown = dashboard::graph(processor.monitor());
/// processor.run()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "events")]
pub fn graph(monitor: actinium_events::Monitor) -> Section {
    section("Events", move || serde_json::json!(monitor.progress()))
}

/// Shows a node of a cluster: the other nodes, what was sent to each, in how many frames, and how
/// long messages waited for theirs. If it exchanges actors with others, also what came of that.
#[cfg(feature = "cluster")]
pub fn node(node: &actinium_cluster::NodeHandle) -> Section {
    let node = node.clone();
    section("Cluster", move || node_figures(node.id().0.into(), &node.stats()))
}

#[cfg(feature = "cluster")]
fn node_figures(id: u64, stats: &actinium_cluster::NodeStats) -> serde_json::Value {
    let peer = |it: &actinium_cluster::PeerStats| {
        let per_frame =
            |of: u64| (it.aggregator.frames > 0).then(|| of as f64 / it.aggregator.frames as f64);
        serde_json::json!({
            "node": it.node.0,
            "is up": it.is_up,
            "through": it.through.map(|it| it.0),
            "messages": it.aggregator.messages,
            "frames": it.aggregator.frames,
            "messages per frame": per_frame(it.aggregator.messages),
            "wait for a frame, us": per_frame(it.aggregator.waited_ns).map(|ns| ns * 1e-3),
            "bytes waiting": it.bytes_waiting,
            "payload bytes waiting": it.payload_bytes_waiting,
            "refused": it.aggregator.refused,
            "frames sent again": it.link.resent,
            "frames received": it.link.delivered,
            "frames damaged": it.link.garbage,
            "requests open": it.requests,
        })
    };
    serde_json::json!({
        "this node": id,
        "handed on": stats.handed_on,
        "unroutable": stats.unroutable,
        "misaddressed": stats.misaddressed,
        "not understood": stats.not_understood,
        "placement": stats.repartition.as_ref().map(placement_figures),
        "links": stats.peers.iter().map(peer).collect::<Vec<_>>(),
    })
}

/// Of the exchanges of actors with other nodes: see `docs/placement.md`.
#[cfg(feature = "cluster")]
fn placement_figures(it: &actinium_cluster::RepartitionStats) -> serde_json::Value {
    let percent = |ppm: u32| f64::from(ppm) * 1e-4;
    let last = it.remote_share_ppm();
    serde_json::json!({
        "rounds": it.rounds,
        "actors": it.actors,
        "messages sampled": it.samples,
        "edges": it.edges,
        "edges replaced": it.edges_replaced,
        "offers": it.offers,
        "offers refused": it.refused_there,
        "busy refusals": it.refused_here,
        "malformed": it.malformed,
        "exchanges": it.exchanges,
        "moves": it.moved,
        "moves failed": it.not_moved,
        "remote at first, %": last.map(|_| percent(it.remote_share_first_ppm)),
        "remote, %": last.map(percent),
    })
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_others_has_no_links() {
        let figures = node_figures(3, &actinium_cluster::NodeStats::default());
        assert_eq!((&figures["this node"], &figures["links"]), (&3.into(), &serde_json::json!([])));
        assert!(figures["placement"].is_null(), "it exchanges no actors: {figures}");
    }

    #[test]
    fn a_node_that_exchanges_actors_shows_each_figure_of_it() {
        let mut it = actinium_cluster::RepartitionStats::default();
        (it.rounds, it.actors, it.samples, it.edges, it.edges_replaced) = (1, 2, 3, 4, 5);
        (it.offers, it.refused_there, it.refused_here, it.malformed) = (6, 7, 8, 9);
        (it.exchanges, it.moved, it.not_moved) = (10, 11, 12);
        (it.weight_remote, it.weight_local, it.remote_share_first_ppm) = (1, 3, 500_000);
        let mut stats = actinium_cluster::NodeStats::default();
        stats.repartition = Some(it);
        let expected = serde_json::json!({
            "rounds": 1, "actors": 2, "messages sampled": 3, "edges": 4, "edges replaced": 5,
            "offers": 6, "offers refused": 7, "busy refusals": 8, "malformed": 9,
            "exchanges": 10, "moves": 11, "moves failed": 12,
            "remote at first, %": 50.0, "remote, %": 25.0,
        });
        assert_eq!(node_figures(3, &stats)["placement"], expected);
    }
}
