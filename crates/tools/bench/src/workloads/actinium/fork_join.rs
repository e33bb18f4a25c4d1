//! Many short-lived actors: create them, send each a message; each handles it and ends.

use crate::workloads::parts::rate;
use actinium::{Actor, Address, Context};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

/// Which part is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Timed {
    All,
    Creation,
}

pub(super) fn conductor(actors: u64, timed: Timed, result: Sender<f64>) -> Conductor {
    Conductor { actors, timed, start: Instant::now(), creation: 0.0, leaves: Vec::new(), result }
}

pub(super) struct Conductor {
    actors: u64,
    timed: Timed,
    start: Instant,
    creation: f64,
    leaves: Vec<Address<Leaf>>,
    result: Sender<f64>,
}

impl Actor for Conductor {
    /// The last leaf has its message.
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let left = Arc::new(AtomicU64::new(self.actors));
        let end = ctx.address();
        self.leaves = Vec::with_capacity(self.actors as usize);
        self.start = Instant::now();
        for _ in 0..self.actors {
            self.leaves.push(ctx.spawn_detached(Leaf { left: left.clone(), end: end.clone() }));
        }
        self.creation = rate(self.actors, self.start);
        for leaf in &self.leaves {
            leaf.send(1).expect("the leaf waits");
        }
    }

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        let result = match self.timed {
            Timed::All => rate(self.actors, self.start),
            Timed::Creation => self.creation,
        };
        // Whoever asked for it may have gone.
        let _ = self.result.send(result);
    }
}

struct Leaf {
    left: Arc<AtomicU64>,
    end: Address<Conductor>,
}

impl Actor for Leaf {
    type Msg = u64;

    fn handle(&mut self, _message: u64, ctx: &mut Context<'_, Self>) {
        // AcqRel: the last sees what all others have done before.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end.send(()).expect("the end is awaited");
        }
        ctx.stop();
    }
}
