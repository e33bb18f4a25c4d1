//! Everybody asks somebody at random, one request at a time.

use crate::benchmark::PROBES;
use crate::workloads::parts::{Rng, rate};
use actinium::{Actor, Address, Context};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

pub(super) fn conductor(requests: u64, result: Sender<f64>) -> Conductor {
    Conductor { requests, start: Instant::now(), left: 0, probes: Arc::default(), result }
}

pub(super) struct Conductor {
    requests: u64,
    start: Instant,
    left: usize,
    probes: Arc<Vec<Address<Probe>>>,
    result: Sender<f64>,
}

pub(super) enum Progress {
    /// A probe knows all others.
    Ready,
    /// A probe has all its replies.
    Done,
}

impl Actor for Conductor {
    type Msg = Progress;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let probe = |me| {
            let (probes, rng) = (Arc::default(), Rng::new(me as u64 + 1));
            ctx.spawn_detached(Probe { me, probes, rng, left: self.requests, end: ctx.address() })
        };
        self.probes = Arc::new((0..PROBES).map(probe).collect());
        for probe in self.probes.iter() {
            probe.send(Msg::Meet(self.probes.clone())).expect("everybody waits");
        }
        self.left = PROBES;
    }

    fn handle(&mut self, progress: Progress, ctx: &mut Context<'_, Self>) {
        self.left -= 1;
        match progress {
            Progress::Ready if self.left == 0 => {
                self.left = PROBES;
                self.start = Instant::now();
                for probe in self.probes.iter() {
                    probe.send(Msg::Start).expect("everybody waits");
                }
            }
            Progress::Done if self.left == 0 => {
                let messages = 2 * PROBES as u64 * self.requests;
                // Whoever asked for it may have gone.
                let _ = self.result.send(rate(messages, self.start));
                // Each has the addresses of all: they would keep each other alive.
                self.probes.iter().for_each(Address::stop);
                ctx.stop();
            }
            Progress::Ready | Progress::Done => {}
        }
    }
}

pub(super) struct Probe {
    me: usize,
    probes: Arc<Vec<Address<Probe>>>,
    rng: Rng,
    left: u64,
    end: Address<Conductor>,
}

pub(super) enum Msg {
    Meet(Arc<Vec<Address<Probe>>>),
    Start,
    Ping(usize),
    Reply,
}

impl Actor for Probe {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Ping(from) => {
                return self.probes[from].send(Msg::Reply).expect("who asks waits");
            }
            Msg::Start => {}
            Msg::Reply => {
                self.left -= 1;
                if self.left == 0 {
                    return self.end.send(Progress::Done).expect("the end is awaited");
                }
            }
            Msg::Meet(probes) => {
                self.probes = probes;
                return self.end.send(Progress::Ready).expect("the end is awaited");
            }
        }
        let other = self.rng.other(PROBES, self.me);
        self.probes[other].send(Msg::Ping(self.me)).expect("everybody answers");
    }
}
