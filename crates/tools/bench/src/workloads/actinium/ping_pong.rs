//! Two actors, one ball.

use crate::workloads::parts::rate;
use actinium::{Actor, Address, Context};
use std::sync::mpsc::Sender;
use std::time::Instant;

pub(super) fn conductor(round_trips: u64, result: Sender<f64>) -> Conductor {
    Conductor { round_trips, start: Instant::now(), result }
}

pub(super) struct Conductor {
    round_trips: u64,
    start: Instant,
    result: Sender<f64>,
}

impl Actor for Conductor {
    /// The game is over.
    type Msg = ();

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.start = Instant::now();
        let end = ctx.address();
        let ping = ctx.spawn_detached(Ping { round_trips: self.round_trips, pong: None, end });
        let pong = ctx.spawn_detached(Pong { ping: ping.clone() });
        ping.send(Ball::Serve(pong)).expect("ping waits");
    }

    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {
        // Whoever asked for it may have gone.
        let _ = self.result.send(rate(self.round_trips, self.start));
    }
}

struct Ping {
    round_trips: u64,
    pong: Option<Address<Pong>>,
    end: Address<Conductor>,
}

enum Ball {
    Serve(Address<Pong>),
    Back(u64),
}

impl Actor for Ping {
    type Msg = Ball;

    fn handle(&mut self, ball: Ball, ctx: &mut Context<'_, Self>) {
        match ball {
            Ball::Serve(pong) => self.pong.insert(pong).send(1).expect("pong waits"),
            Ball::Back(ball) if ball == self.round_trips => {
                self.end.send(()).expect("the end is awaited");
                ctx.stop();
            }
            Ball::Back(ball) => {
                let pong = self.pong.as_ref().expect("pong has answered");
                pong.send(ball + 1).expect("pong waits");
            }
        }
    }
}

struct Pong {
    ping: Address<Ping>,
}

impl Actor for Pong {
    type Msg = u64;

    fn handle(&mut self, ball: u64, _ctx: &mut Context<'_, Self>) {
        self.ping.send(Ball::Back(ball)).expect("ping plays until the end");
    }
}
