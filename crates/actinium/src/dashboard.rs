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
/// long messages waited for theirs.
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
        "links": stats.peers.iter().map(peer).collect::<Vec<_>>(),
    })
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_others_has_no_links() {
        let figures = node_figures(3, &actinium_cluster::NodeStats::default());
        assert_eq!((&figures["this node"], &figures["links"]), (&3.into(), &serde_json::json!([])));
    }
}
