//! One sender or many, one receiver.

use crate::workloads::parts::rate;
use std::time::Instant;
use tokio::sync::mpsc;

pub(super) async fn run(senders: u64, messages: u64) -> f64 {
    let (to_receiver, mut receiver) = mpsc::unbounded_channel::<u64>();
    let start = Instant::now();
    let end = tokio::spawn(async move {
        let mut counted = 0;
        while receiver.recv().await.is_some() {
            counted += 1;
        }
        counted
    });
    for _ in 0..senders {
        let to_receiver = to_receiver.clone();
        tokio::spawn(async move {
            for message in 0..messages {
                to_receiver.send(message).expect("the receiver waits");
            }
        });
    }
    drop(to_receiver);
    let counted: u64 = end.await.expect("the receiver does not panic");
    assert_eq!(counted, senders * messages);
    rate(senders * messages, start)
}
