//! One producer, one counter.

use crate::workloads::parts::rate;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

pub(super) async fn run(messages: u64) -> f64 {
    let (to_counter, mut counter) = mpsc::unbounded_channel::<u64>();
    let (to_end, end) = oneshot::channel();
    let start = Instant::now();
    tokio::spawn(async move {
        let mut counted = 0;
        while counter.recv().await.is_some() {
            counted += 1;
        }
        to_end.send(counted).expect("the end is awaited");
    });
    tokio::spawn(async move {
        for message in 0..messages {
            to_counter.send(message).expect("the counter waits");
        }
    });
    let counted: u64 = end.await.expect("the counter does not panic");
    assert_eq!(counted, messages);
    rate(messages, start)
}
