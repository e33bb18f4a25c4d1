//! An actor that fails is restarted with its mailbox and its address, until it fails too often;
//! whoever watches it is told.
//!
//! `cargo run --release -p actinium --example supervision` (the panics that it prints on stderr are
//! the point)

use actinium::prelude::*;
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

/// Divides; a zero makes it panic.
struct Divider {
    divided: u64,
}

enum Task {
    Divide(u64, u64, mpsc::Sender<String>),
}

impl Actor for Divider {
    type Msg = Task;

    fn handle(&mut self, Task::Divide(a, b, out): Task, _ctx: &mut Context<'_, Self>) {
        let quotient = a / b;
        self.divided += 1;
        // The program has ended if nobody listens.
        let _ =
            out.send(format!("{a} / {b} = {quotient} (number {} since its start)", self.divided));
    }
}

/// Parent of the divider: spawns it, and hears of its end.
struct Boss {
    out: mpsc::Sender<String>,
}

enum Order {
    Divide(u64, u64),
    Down(Down),
}

impl Actor for Boss {
    type Msg = Order;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        let supervision = Supervision::restart().limit(2, Duration::from_secs(60));
        let options = SpawnOptions::new().name("divider").supervise(supervision);
        let divider = ctx.spawn_with(options, || Divider { divided: 0 });
        let divider = divider.expect("the name is free, and the factory does not panic");
        ctx.watch(&divider, Order::Down);
    }

    fn handle(&mut self, order: Order, ctx: &mut Context<'_, Self>) {
        match order {
            Order::Divide(a, b) => match ctx.system().lookup::<Divider>("divider") {
                Ok(divider) => divider.tell(Task::Divide(a, b, self.out.clone())),
                Err(error) => drop(self.out.send(format!("{a} / {b}: {error}"))),
            },
            Order::Down(down) => {
                drop(self.out.send(format!("the divider has ended: {}", down.reason)))
            }
        }
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let (out, lines) = mpsc::channel();
    let boss = system.spawn(Boss { out });
    for (a, b) in [(6, 2), (8, 2), (1, 0), (9, 3), (1, 0), (1, 0)] {
        boss.send(Order::Divide(a, b))?;
        system.wait_idle(Duration::MAX)?;
    }
    boss.send(Order::Divide(5, 1))?;
    system.wait_idle(Duration::MAX)?;
    let text = lines.try_iter().map(|line| line + "\n").collect();
    drop(boss);
    system.shutdown(Shutdown::Drain);
    Ok(text)
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
