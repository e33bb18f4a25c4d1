//! A token runs around a ring of 100 actors, 1,000 times; each actor counts how often it saw it.
//!
//! `cargo run --release -p actinium --example ring`

use actinium::prelude::*;
use std::error::Error;
use std::sync::mpsc;

const ACTORS: u64 = 100;
const ROUNDS: u64 = 1_000;

struct Member {
    next: Option<Address<Member>>,
    seen: u64,
    done: mpsc::Sender<u64>,
}

enum Msg {
    Next(Address<Member>),
    /// Hops that it still has to make.
    Token(u64),
    Seen(Reply<u64>),
    /// Lets go of the neighbour, so that the ring can end.
    Leave,
}

impl Actor for Member {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Next(next) => self.next = Some(next),
            Msg::Leave => self.next = None,
            Msg::Seen(reply) => drop(reply.send(self.seen)),
            Msg::Token(left) => {
                self.seen += 1;
                match &self.next {
                    Some(next) if left > 0 => next.tell(Msg::Token(left - 1)),
                    // The program has ended if nobody listens.
                    _ => drop(self.done.send(left)),
                }
            }
        }
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let (done, finished) = mpsc::channel();
    let member = |_| system.spawn(Member { next: None, seen: 0, done: done.clone() });
    let ring: Vec<_> = (0..ACTORS).map(member).collect();
    for (member, next) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        member.send(Msg::Next(next.clone()))?;
    }
    ring[0].send(Msg::Token(ACTORS * ROUNDS - 1))?;
    let left = finished.recv()?;
    for member in &ring {
        let seen = member.ask(Msg::Seen).wait()?;
        if seen != ROUNDS || left != 0 {
            return Err(format!("{member:?} saw the token {seen} times, not {ROUNDS}").into());
        }
        member.send(Msg::Leave)?;
    }
    system.shutdown(Shutdown::Drain);
    Ok(format!(
        "the token made {} hops; each of {ACTORS} actors saw it {ROUNDS} times.\n",
        ACTORS * ROUNDS
    ))
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
