//! Many short-lived tasks: create them, send each a message; each handles it and ends.

use crate::workloads::parts::rate;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Which part is timed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Timed {
    All,
    Creation,
}

pub(super) async fn run(tasks: u64, timed: Timed) -> f64 {
    let left = Arc::new(AtomicU64::new(tasks));
    let (to_end, end) = oneshot::channel::<()>();
    let to_end = Arc::new(Mutex::new(Some(to_end)));
    let mut leaves = Vec::with_capacity(tasks as usize);
    let start = Instant::now();
    for _ in 0..tasks {
        let (to_leaf, mut leaf) = mpsc::unbounded_channel::<u64>();
        let (left, to_end) = (left.clone(), to_end.clone());
        tokio::spawn(async move {
            // AcqRel: the last sees what all others have done before.
            if leaf.recv().await.is_some() && left.fetch_sub(1, Ordering::AcqRel) == 1 {
                let to_end = to_end.lock().expect("nobody panics").take();
                to_end.expect("one is the last").send(()).expect("the end is awaited");
            }
        });
        leaves.push(to_leaf);
    }
    let creation = rate(tasks, start);
    for leaf in &leaves {
        leaf.send(1).expect("the leaf waits");
    }
    end.await.expect("no leaf panics");
    match timed {
        Timed::All => rate(tasks, start),
        Timed::Creation => creation,
    }
}
