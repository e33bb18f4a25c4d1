//! Tokens that run round a ring.

use crate::benchmark::RING;
use crate::workloads::parts::rate;
use std::time::Instant;
use tokio::sync::mpsc;

pub(super) async fn run(tokens: u64, hops: u64) -> f64 {
    let (to_end, mut end) = mpsc::unbounded_channel::<()>();
    let (nodes, mailboxes): (Vec<_>, Vec<_>) =
        (0..RING).map(|_| mpsc::unbounded_channel::<u64>()).unzip();
    let mut tasks = Vec::with_capacity(RING);
    for (index, mut mailbox) in mailboxes.into_iter().enumerate() {
        let next = nodes[(index + 1) % RING].clone();
        let to_end = to_end.clone();
        tasks.push(tokio::spawn(async move {
            while let Some(hops_left) = mailbox.recv().await {
                if hops_left == 0 {
                    to_end.send(()).expect("the end is awaited");
                } else {
                    next.send(hops_left - 1).expect("the ring is closed");
                }
            }
        }));
    }
    let start = Instant::now();
    for token in 0..tokens as usize {
        nodes[token * RING / tokens as usize].send(hops).expect("the node waits");
    }
    for _ in 0..tokens {
        end.recv().await;
    }
    let rate = rate(tokens * hops, start);
    tasks.iter().for_each(|task| task.abort());
    rate
}
