//! Everybody's value at the first node, however long: an operation of all nodes of a team whose
//! values need not fit in frames.

use super::error::JobError;
use super::node::{FIRST, JobNode, MEETING};
use super::pieces::{Piece, pieces};
use crate::actor::RemoteActor;
use crate::team::Team;
use actinium_actor::{Actor, Context, Reply};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The name under which the first node's actor is exported.
const COLLECTOR: &str = "actinium.nodes.collector";

/// Brings everybody's value to the first node, which gets all in the order of nodes; the others get
/// none. Each node calls this, once.
///
/// # Errors
/// If a node is down, or its value has no JSON.
pub fn gather<T: Serialize + DeserializeOwned>(
    job_node: &JobNode,
    team: &Team,
    own: T,
) -> Result<Option<Vec<T>>, JobError> {
    let JobNode { system, node } = job_node;
    let met = || team.barrier().wait().map_err(JobError::failed);
    if node.id() == FIRST {
        let got = Arc::default();
        let collector = system.spawn(Collector { got: Arc::clone(&got) });
        node.export(COLLECTOR, &collector).map_err(JobError::failed)?;
        // Nobody comes there before its last piece has been answered.
        met()?;
        let got = std::mem::take(&mut *got.lock().unwrap_or_else(PoisonError::into_inner));
        let value = |(node, bytes): (u32, Vec<u8>)| {
            serde_json::from_slice(&bytes)
                .map_err(|error| JobError::failed(format!("node {node}: {error}")))
        };
        let all = std::iter::once(Ok(own)).chain(got.into_iter().map(value));
        return all.collect::<Result<_, _>>().map(Some);
    }
    let lost = |error: &dyn std::fmt::Display| JobError::failed(format!("{FIRST}: {error}"));
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
    type Request = Piece;
    type Answer = ();

    fn message((): ()) -> Msg {
        Msg::Nothing
    }

    fn request(piece: Piece, reply: Reply<()>) -> Msg {
        Msg::Piece(piece, reply)
    }
}
