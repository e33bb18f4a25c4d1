//! Two actors and one ball: each sends it back, 100,000 times.
//!
//! `cargo run --release -p actinium --example ping_pong`

use actinium::prelude::*;
use std::error::Error;
use std::sync::mpsc;

const ROUND_TRIPS: u64 = 100_000;

struct Pong;

/// The ball knows the way back, so that Pong need not know Ping beforehand.
struct Ball {
    number: u64,
    back: Address<Ping>,
}

impl Actor for Pong {
    type Msg = Ball;

    fn handle(&mut self, ball: Ball, _ctx: &mut Context<'_, Self>) {
        ball.back.tell(ball.number);
    }
}

struct Ping {
    pong: Address<Pong>,
    done: mpsc::Sender<u64>,
}

impl Actor for Ping {
    type Msg = u64;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        self.pong.tell(Ball { number: 1, back: ctx.address() });
    }

    fn handle(&mut self, number: u64, ctx: &mut Context<'_, Self>) {
        if number < ROUND_TRIPS {
            self.pong.tell(Ball { number: number + 1, back: ctx.address() });
        } else {
            // The program has ended if nobody listens.
            let _ = self.done.send(number);
            ctx.stop();
        }
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let (done, finished) = mpsc::channel();
    let pong = system.spawn(Pong);
    system.spawn(Ping { pong, done });
    let round_trips = finished.recv()?;
    let report = system.shutdown(Shutdown::Drain);
    if report.handled != 2 * ROUND_TRIPS {
        return Err(format!("{} messages handled, not {}", report.handled, 2 * ROUND_TRIPS).into());
    }
    Ok(format!("{round_trips} round trips, {} messages.\n", report.handled))
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
