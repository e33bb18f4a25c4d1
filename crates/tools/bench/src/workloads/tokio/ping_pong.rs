//! Two tasks, one ball.

use crate::workloads::parts::rate;
use std::time::Instant;
use tokio::sync::mpsc;

pub(super) async fn run(round_trips: u64) -> f64 {
    let (to_ping, mut ping) = mpsc::unbounded_channel::<u64>();
    let (to_pong, mut pong) = mpsc::unbounded_channel::<u64>();
    let start = Instant::now();
    tokio::spawn(async move {
        while let Some(ball) = pong.recv().await {
            to_ping.send(ball).expect("ping plays until the end");
        }
    });
    let end = tokio::spawn(async move {
        to_pong.send(1).expect("pong waits");
        while let Some(ball) = ping.recv().await {
            if ball == round_trips {
                break;
            }
            to_pong.send(ball + 1).expect("pong waits");
        }
    });
    end.await.expect("ping does not panic");
    rate(round_trips, start)
}
