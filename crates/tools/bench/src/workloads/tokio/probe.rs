//! Everybody asks somebody at random, one request at a time.

use crate::benchmark::PROBES;
use crate::workloads::parts::{Rng, rate};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::mpsc;

enum Msg {
    Start,
    Ping(usize),
    Reply,
}

pub(super) async fn run(requests: u64) -> f64 {
    let (to_end, mut end) = mpsc::unbounded_channel::<()>();
    let (probes, mailboxes): (Vec<_>, Vec<_>) =
        (0..PROBES).map(|_| mpsc::unbounded_channel::<Msg>()).unzip();
    let probes = Arc::new(probes);
    let mut tasks = Vec::with_capacity(PROBES);
    for (me, mut mailbox) in mailboxes.into_iter().enumerate() {
        let (probes, to_end) = (probes.clone(), to_end.clone());
        let (mut rng, mut left) = (Rng::new(me as u64 + 1), requests);
        tasks.push(tokio::spawn(async move {
            while let Some(msg) = mailbox.recv().await {
                match msg {
                    Msg::Ping(from) => {
                        probes[from].send(Msg::Reply).expect("who asks waits");
                        continue;
                    }
                    Msg::Start => {}
                    Msg::Reply => {
                        left -= 1;
                        if left == 0 {
                            to_end.send(()).expect("the end is awaited");
                            continue;
                        }
                    }
                }
                probes[rng.other(PROBES, me)].send(Msg::Ping(me)).expect("everybody answers");
            }
        }));
    }
    let start = Instant::now();
    for probe in probes.iter() {
        probe.send(Msg::Start).expect("everybody waits");
    }
    for _ in 0..PROBES {
        end.recv().await;
    }
    let rate = rate(2 * PROBES as u64 * requests, start);
    tasks.iter().for_each(|task| task.abort());
    rate
}
