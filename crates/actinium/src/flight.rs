//! What a flight recorder is told by other parts of Actinium, which do not know it.

use actinium_monitor::FlightRecorder;

/// Adds figures of an event graph that runs to a flight recorder's documents, once a second until
/// the run is over: so a diagnosis can say what holds the graph back.
///
/// ```
/// use actinium::events::{Builder, Cause, Next, Processor, Settings, Source};
/// use actinium::monitor::{FlightRecorder, record_graph};
/// use actinium::prelude::*;
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
/// let system = System::builder().workers(1).build()?;
/// let recorder = FlightRecorder::of_or_in_memory(&system)?;
/// let graph = Builder::new("numbers", Numbers).build()?;
/// let running = Processor::new(graph, Settings::default()).start(&system)?;
/// record_graph(&recorder, &running);
/// running.wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "events")]
pub fn record_graph(recorder: &FlightRecorder, running: &actinium_events::Running) {
    use actinium_monitor::{GraphFigures, GraphModule, GraphResource};

    let monitor = running.monitor();
    recorder.graph(move || {
        // In this order: if there are modules still, the run has lasted until now.
        let progress = monitor.progress();
        let modules = monitor.modules()?.into_iter().map(|it| GraphModule {
            label: it.label,
            calls: it.calls,
            busy_ns: it.busy_ns,
            at_home: it.at_home,
        });
        let resources = progress.queues.into_iter();
        let resources =
            resources.map(|it| GraphResource { name: it.name, waited_ns: it.waited_ns });
        Some(GraphFigures {
            name: progress.name,
            elapsed_s: progress.elapsed_ns as f64 * 1e-9,
            workers: progress.workers,
            events: progress.ended,
            in_flight: progress.in_flight,
            modules: modules.collect(),
            resources: resources.collect(),
        })
    });
}

/// Adds figures of a node of a cluster to a flight recorder's documents, and has one written when
/// another node dies: when it falls silent or begins anew, and not when it leaves in good order.
///
/// ```
/// use actinium::cluster::fabric::{NodeId, in_process::Network};
/// use actinium::cluster::{Node, NodeConfig};
/// use actinium::monitor::{FlightRecorder, record_node};
/// use actinium::prelude::*;
///
/// let system = System::builder().workers(1).build()?;
/// let recorder = FlightRecorder::of_or_in_memory(&system)?;
/// let fabric = Network::new().node(NodeId(0));
/// let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric))?;
/// record_node(&recorder, &node);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "cluster")]
pub fn record_node(recorder: &FlightRecorder, node: &actinium_cluster::NodeHandle) {
    use actinium_cluster::NodeEvent;
    use actinium_cluster::link::DownReason;
    use actinium_monitor::{Cause, NodeFigures, PeerFigures};

    let (own, handle) = (node.id(), node.clone());
    recorder.node(move || {
        let peers = handle.stats().peers.into_iter().map(|it| PeerFigures {
            node: it.node.0,
            is_up: it.is_up,
            sent: it.link.sent,
            resent: it.link.resent,
            duplicates: it.link.duplicates,
            garbage: it.link.garbage,
            bytes_waiting: it.bytes_waiting as u64,
        });
        Some(NodeFigures { node: own.0, peers: peers.collect() })
    });
    let recorder = recorder.clone();
    node.on_event(move |event| {
        if let NodeEvent::Down { node, reason, .. } = event
            && !matches!(reason, DownReason::Left | DownReason::Leaving)
        {
            let text = format!("{node} is down, says {own}: {reason:?}");
            recorder.write_soon(Cause::NodeDown, text);
        }
    });
}
