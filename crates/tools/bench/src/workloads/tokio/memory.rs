//! Tasks that wait for a message that never comes.

use crate::workloads::parts::resident_bytes;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use tokio::sync::mpsc;

/// How many tasks have been polled, of all runs. Not in the tasks, whose size is what is measured.
static POLLED: AtomicU64 = AtomicU64::new(0);

pub(super) async fn run(tasks: u64) -> f64 {
    let before = resident_bytes();
    let all_are_polled = POLLED.load(SeqCst) + tasks;
    let mut idle = Vec::with_capacity(tasks as usize);
    for _ in 0..tasks {
        let (to_task, mut task) = mpsc::unbounded_channel::<u64>();
        tokio::spawn(async move {
            POLLED.fetch_add(1, SeqCst);
            while task.recv().await.is_some() {}
        });
        idle.push(to_task);
    }
    // Until each waits.
    while POLLED.load(SeqCst) < all_are_polled {
        tokio::task::yield_now().await;
    }
    (resident_bytes() - before) / tasks as f64
}
