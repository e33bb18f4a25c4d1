//! Tasks that wait for a message that never comes.

use crate::workloads::resident_bytes;
use std::time::Duration;
use tokio::sync::mpsc;

pub(super) async fn run(tasks: u64) -> f64 {
    let before = resident_bytes();
    let mut idle = Vec::with_capacity(tasks as usize);
    for _ in 0..tasks {
        let (to_task, mut task) = mpsc::unbounded_channel::<u64>();
        tokio::spawn(async move { while task.recv().await.is_some() {} });
        idle.push(to_task);
    }
    // Until each has been polled, and waits.
    tokio::time::sleep(Duration::from_secs(1)).await;
    (resident_bytes() - before) / tasks as f64
}
