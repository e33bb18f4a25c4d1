//! Actors that wait for a message that never comes.

use crate::workloads::parts::resident_bytes;
use actinium::{Actor, Address, Context};
use std::sync::mpsc::Sender;

pub(super) fn conductor(actors: u64, result: Sender<Idle>) -> Conductor {
    Conductor { actors, result }
}

pub(super) struct Conductor {
    actors: u64,
    result: Sender<Idle>,
}

/// Keeps idle actors alive.
pub(super) struct Idle {
    resident_bytes_before: f64,
    actors: Vec<Address<Waits>>,
}

impl Idle {
    pub(super) fn bytes_per_actor(&self) -> f64 {
        (resident_bytes() - self.resident_bytes_before) / self.actors.len() as f64
    }
}

impl Actor for Conductor {
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let resident_bytes_before = resident_bytes();
        let mut actors = Vec::with_capacity(self.actors as usize);
        (0..self.actors).for_each(|_| actors.push(ctx.spawn_detached(Waits)));
        // Whoever asked for it may have gone.
        let _ = self.result.send(Idle { resident_bytes_before, actors });
    }

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

struct Waits;

impl Actor for Waits {
    type Msg = u64;

    fn handle(&mut self, _message: u64, _ctx: &mut Context<'_, Self>) {}
}
