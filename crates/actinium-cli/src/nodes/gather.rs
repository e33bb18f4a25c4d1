//! Everybody's value at the first node, however long: an operation of all nodes of a team whose values need not fit in frames.

use super::pieces::{Piece, pieces};
use super::{FIRST, MEETING, Started, failed};
use crate::Failure;
use actinium::prelude::*;
use actinium_cluster::{RemoteActor, Team};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the first node's actor is called.
const COLLECTOR: &str = "actinium.nodes.collector";

/// Brings everybody's value to the first node, which gets all in the order of nodes; the others get none. Each node calls this, once.
///
/// # Errors
/// If a node is down, or its value has no JSON.
pub fn gather<T: Serialize + DeserializeOwned>(
    started: &Started,
    team: &Team,
    own: T,
) -> Result<Option<Vec<T>>, Failure> {
    let Started { system, node } = started;
    let met = || team.barrier().wait().map_err(failed);
    if node.id() == FIRST {
        let got = Arc::default();
        let collector = system.spawn(Collector { got: Arc::clone(&got) });
        node.export(COLLECTOR, &collector).map_err(failed)?;
        // Nobody comes there before its last piece has been answered.
        met()?;
        let got = std::mem::take(&mut *got.lock().unwrap_or_else(PoisonError::into_inner));
        let value = |(node, bytes): (u32, Vec<u8>)| {
            serde_json::from_slice(&bytes).map_err(|error| failed(format!("node {node}: {error}")))
        };
        let all = std::iter::once(Ok(own)).chain(got.into_iter().map(value));
        return all.collect::<Result<_, _>>().map(Some);
    }
    let lost = |error: &dyn std::fmt::Display| failed(format!("{FIRST}: {error}"));
    let first = node.find::<Collector>(FIRST, COLLECTOR, MEETING).wait();
    let first = first.map_err(|error| lost(&error))?;
    for piece in pieces(node.id().0, &own)? {
        first.ask(piece, MEETING).wait().map_err(|error| lost(&error))?;
    }
    met()?;
    Ok(None)
}

/// Puts pieces together, by node.
struct Collector {
    got: Arc<Mutex<BTreeMap<u32, Vec<u8>>>>,
}

enum Msg {
    Piece(Piece, Reply<()>),
    /// There is nothing to say but pieces.
    Nothing,
}

impl Actor for Collector {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        if let Msg::Piece(piece, reply) = msg {
            let mut got = self.got.lock().unwrap_or_else(PoisonError::into_inner);
            got.entry(piece.node).or_default().extend_from_slice(&piece.bytes);
            // Who asked may be gone.
            let _ = reply.send(());
        }
    }
}

impl RemoteActor for Collector {
    const KIND: &'static str = "actinium.nodes.collector";
    type Message = ();
    type Question = Piece;
    type Answer = ();

    fn message((): ()) -> Msg {
        Msg::Nothing
    }

    fn question(piece: Piece, reply: Reply<()>) -> Msg {
        Msg::Piece(piece, reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::{self, DOWN_AFTER, FabricKind, Nodes, Program};
    use actinium::System;
    use actinium_cluster::fabric::Fabric;

    /// Each node has a text of its own, which is far longer than a frame; the first of all has none.
    struct Texts;

    fn text(node: u32) -> String {
        (0..node * 20_000).map(|at| char::from(b'a' + (at + node) as u8 % 26)).collect()
    }

    impl Program for Texts {
        type Report = Vec<String>;

        fn run<F: Fabric + 'static>(
            &self,
            fabric: impl FnOnce() -> Result<F, String> + Send + 'static,
        ) -> Result<Option<Vec<String>>, Failure> {
            let system = System::builder().workers(1).build()?;
            let started = Started::new(system, nodes::config(DOWN_AFTER)?, fabric)?;
            let team = started.team("texts")?;
            gather(&started, &team, text(started.node.id().0))
        }
    }

    #[test]
    fn values_that_fit_in_no_frame_come_whole_and_in_order() {
        // Two nodes, if nothing is said.
        for nodes in [None, Some(1), Some(4)] {
            let mut settings = Nodes::default();
            settings.count.value = nodes;
            let all = nodes::run(FabricKind::InProcess, &settings, &Texts).expect("it runs");
            let expected: Vec<String> = (0..nodes.unwrap_or(2)).map(text).collect();
            assert!(all == Some(expected), "{nodes:?}");
        }
    }
}
