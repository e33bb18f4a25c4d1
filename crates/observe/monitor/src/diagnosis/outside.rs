//! Event graphs and links between nodes, as far as the document has figures of them.

use super::finding::{Diagnosis, Finding, Severity};
use super::thresholds::{
    FAR_CALLS, FAR_CALLS_AT_HOME, RESENT_FRAMES, RESENT_SHARE, SERIAL_BUSY, SERIAL_S,
    SERIAL_WAITING,
};
use super::view::{grouped, percent};
use crate::flight::{At, Flight, GraphFigures, GraphModule, NodeFigures, PeerFigures};
use std::collections::BTreeSet;

/// Resources that hold back a graph, and modules whose state has no home.
pub(super) fn graphs(flight: &Flight) -> Vec<Finding> {
    let Some(At { figures: last, .. }) = flight.graphs.last() else { return Vec::new() };
    let nodes: BTreeSet<u32> = flight.workers.iter().filter_map(|it| it.node).collect();
    let mut found = Vec::new();
    for graph in last {
        let first = first_of(flight, graph);
        found.extend(serial(&first, graph));
        if nodes.len() > 1 {
            found.extend(graph.modules.iter().filter_map(|module| homeless(graph, module)));
        }
    }
    found
}

/// The same graph at the first look at which it was seen; one that has not begun if there was only
/// one look.
fn first_of(flight: &Flight, graph: &GraphFigures) -> GraphFigures {
    let mut all = flight.graphs.iter().flat_map(|at| &at.figures);
    let first = all.find(|it| it.name == graph.name);
    // A graph of the same name may have begun anew.
    let first = first.filter(|it| it.events <= graph.events && it.elapsed_s < graph.elapsed_s);
    first.cloned().unwrap_or_default()
}

/// The resource that most events wait for, if the graph can not go faster for it.
fn serial(first: &GraphFigures, last: &GraphFigures) -> Option<Finding> {
    let seconds = last.elapsed_s - first.elapsed_s;
    let ended = last.events.saturating_sub(first.events);
    if seconds < SERIAL_S || last.workers < 2 || ended == 0 {
        return None;
    }
    let waited_s = |name: &str| {
        let of = |graph: &GraphFigures| {
            graph.resources.iter().find(|it| it.name == name).map_or(0, |it| it.waited_ns)
        };
        of(last).saturating_sub(of(first)) as f64 * 1e-9
    };
    let worst = last.resources.iter().map(|it| (it.name.as_str(), waited_s(&it.name)));
    let (name, waited_s) = worst.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let waiting = waited_s / seconds;
    // A module that has the resource to itself; several may share one that has a name of its own.
    let module = last.modules.iter().find(|it| it.label == name);
    let busy = module.map(|module| {
        let before = first.modules.iter().find(|it| it.label == name).map_or(0, |it| it.busy_ns);
        module.busy_ns.saturating_sub(before) as f64 * 1e-9 / seconds
    });
    if waiting < SERIAL_WAITING || busy.is_some_and(|busy| busy < SERIAL_BUSY) {
        return None;
    }
    let per_s = ended as f64 / seconds;
    let busy_text = busy.map_or_else(String::new, |busy| {
        format!(
            " '{name}' itself ran {} of the time, on one worker at a time.",
            percent(busy.min(1.0))
        )
    });
    let text = format!(
        "On average {waiting:.1} events of the graph '{}' stood in line for '{name}': they waited \
         {waited_s:.1} s in {seconds:.1} s, and {} events a second ended on {} workers.{busy_text}",
        last.name,
        grouped(per_s as u64),
        last.workers,
    );
    let finding = Finding::new(Diagnosis::SerialResource, Severity::Warning, text).advise(format!(
        "More workers do not help: '{name}' takes one event after the other. Let more events use \
         it at a time (Threads::Limited, Threads::Stream, Threads::Concurrent), make it quicker, or \
         split it in two so that only the part that must be serial is.",
    ));
    let finding = finding.figure("waiting", waiting).figure("events_per_s", per_s);
    Some(match busy {
        Some(busy) => finding.figure("busy", busy),
        None => finding,
    })
}

fn homeless(graph: &GraphFigures, module: &GraphModule) -> Option<Finding> {
    let at_home = module.at_home?;
    let share = at_home as f64 / module.calls.max(1) as f64;
    if module.calls < FAR_CALLS || share >= FAR_CALLS_AT_HOME {
        return None;
    }
    let text = format!(
        "Only {} of the {} calls of '{}' in the graph '{}' ran where its state is at home.",
        percent(share),
        grouped(module.calls),
        module.label,
        graph.name,
    );
    let finding = Finding::new(Diagnosis::FarMemory, Severity::Warning, text).advise(
        "Give the module less state, or an instance for each slot (Threads::Stream); or run one \
         graph on each NUMA node.",
    );
    Some(finding.figure("at_home_share", share).figure("calls", module.calls as f64))
}

/// Links that send much twice.
pub(super) fn links(flight: &Flight) -> Vec<Finding> {
    let Some(At { figures: last, .. }) = flight.nodes.last() else { return Vec::new() };
    let peers = last.iter().flat_map(|node| node.peers.iter().map(move |peer| (node, peer)));
    peers.filter_map(|(node, peer)| resending(flight, node, peer)).collect()
}

fn resending(flight: &Flight, node: &NodeFigures, peer: &PeerFigures) -> Option<Finding> {
    let all = flight.nodes.iter().map(|at| &at.figures);
    let mut all = all.filter_map(|nodes| nodes.iter().find(|it| it.node == node.node));
    // With one look only, all since the start.
    let first = all.next().filter(|_| flight.nodes.len() > 1);
    let first = first.and_then(|it| it.peers.iter().find(|it| it.node == peer.node));
    // Counters begin anew with the link.
    let first = first.filter(|it| it.sent <= peer.sent && it.resent <= peer.resent);
    let first = first.cloned().unwrap_or_default();
    let (sent, resent) = (peer.sent - first.sent, peer.resent - first.resent);
    let share = resent as f64 / sent.max(1) as f64;
    if resent < RESENT_FRAMES || share < RESENT_SHARE {
        return None;
    }
    let garbage = peer.garbage.saturating_sub(first.garbage);
    let text = format!(
        "The link from node {} to node {} sent {} of its {} frames again ({}), and got {} that were \
         damaged; {} bytes wait to leave.",
        node.node,
        peer.node,
        grouped(resent),
        grouped(sent),
        percent(share),
        grouped(garbage),
        grouped(peer.bytes_waiting),
    );
    let finding = Finding::new(Diagnosis::ResendingLink, Severity::Warning, text).advise(
        "Look at the network between the two: losses (ip -s link, ethtool -S), a full switch, a \
         wrong MTU. If none are lost, the other node answers too late: see whether its workers or \
         its node's thread have a CPU, and raise the link's time limits.",
    );
    let finding = finding.figure("resent", resent as f64).figure("sent", sent as f64);
    Some(finding.figure("resent_share", share).figure("damaged", garbage as f64))
}
