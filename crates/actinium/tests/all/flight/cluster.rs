//! Links that lose frames, links that do not, and a node that dies.

use super::{is_accused_of, is_well};
use actinium::cluster::fabric::{
    NodeId,
    in_process::{Faults, Network},
};
use actinium::cluster::link::DownReason;
use actinium::cluster::{Node, NodeConfig, NodeEvent, RemoteAddress};
use actinium::monitor::{Cause, Diagnosis, Flight, FlightRecorder, Monitored, record_node};
use actinium::prelude::*;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// Frames are lost, and the machine may be busy: that is no end of a node.
const PATIENT_S: u64 = 30;

struct Counter {
    total: u64,
}

#[actor(remote = "flight.counter")]
impl Counter {
    pub(crate) fn add(&mut self, n: u64) -> u64 {
        self.total += n;
        self.total
    }
}

/// Two nodes of one process, and the first one's recorder.
struct Pair {
    network: Network,
    counter: RemoteAddress<Counter>,
    recorder: FlightRecorder,
    // In this order: nodes leave before their systems end.
    _nodes: [Node; 2],
    _systems: [System; 2],
}

impl Pair {
    /// The other node counts as down after so many seconds of silence.
    fn new(builder: actinium::SystemBuilder, down_after_s: u64) -> Self {
        let network = Network::new();
        let systems = [builder, System::builder()];
        let systems = systems.map(|it| it.workers(1).build().expect("a system"));
        let nodes = [0, 1].map(|number| {
            let fabric = network.node(NodeId(number));
            let mut config = NodeConfig::default();
            config.link.reliable = true;
            config.link.down_after_ns = down_after_s * 1_000_000_000;
            let handle = systems[number as usize].handle();
            Node::start(handle, config, move || Ok(fabric)).expect("a node")
        });
        let counter = systems[1].spawn(Counter { total: 0 });
        nodes[1].export("counter", &counter).expect("a name of its own");
        let counter = nodes[0].lookup::<Counter>(NodeId(1), "counter", MINUTE);
        let counter = counter.wait().expect("it is there");
        let recorder = FlightRecorder::of_or_in_memory(&systems[0]).expect("a recorder");
        record_node(&recorder, &nodes[0]);
        Pair { network, counter, recorder, _nodes: nodes, _systems: systems }
    }

    fn talk(&self) {
        for _ in 0..20 {
            self.counter.add(1, MINUTE).wait().expect("an answer");
        }
    }
}

#[test]
fn a_link_that_loses_frames_is_named() {
    let pair = Pair::new(System::builder(), PATIENT_S);
    pair.network.set_faults(Faults { loss: 0.3, ..Faults::default() });
    let found = is_accused_of(&pair.recorder, Diagnosis::ResendingLink, || pair.talk());
    assert!(found.seen.contains("from node 0 to node 1"), "{found}");
    assert!(found.figures["resent"] >= 10.0, "{found:?}");
}

#[test]
fn a_link_that_loses_nothing_is_not_accused() {
    let pair = Pair::new(System::builder(), PATIENT_S);
    is_well(&pair.recorder, || {
        pair.talk();
        pair.recorder.flight("a look").expect("it records").seconds() >= 3.0
    });
}

/// A folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let folder = format!("actinium-flight-{name}-{}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn the_last_seconds_are_written_when_a_node_dies() {
    let folder = folder("dies");
    let path = folder.join("flight.json");
    let pair = Pair::new(System::builder().flight_recorder(&path), 1);
    pair.network.kill(NodeId(1));
    while !path.exists() {
        std::thread::yield_now();
    }
    let flight = Flight::read(&path).expect("a document");
    assert_eq!(flight.reason.cause, Cause::NodeDown);
    assert!(flight.reason.text.contains("node 1 is down"), "{:?}", flight.reason);
    drop(pair);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn nothing_is_written_when_a_node_leaves() {
    let folder = folder("leaves");
    let path = folder.join("flight.json");
    let Pair { recorder, _nodes: [here, there], _systems, .. } =
        Pair::new(System::builder().flight_recorder(&path), PATIENT_S);
    let (heard, downs) = channel();
    here.on_event(move |event| {
        if let NodeEvent::Down { reason, .. } = event {
            let _ = heard.send(*reason);
        }
    });
    drop(there);
    let reason = downs.recv_timeout(MINUTE).expect("it is told");
    assert!(matches!(reason, DownReason::Left), "{reason:?}");
    // What was asked for before this is done by now.
    recorder.flight("a look").expect("it records");
    assert!(!path.exists());
    drop(here);
    let _ = std::fs::remove_dir_all(&folder);
}
