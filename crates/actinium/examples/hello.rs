//! The smallest program: one actor, some messages, a clean end.
//!
//! `cargo run --release -p actinium --example hello`

use actinium::prelude::*;
use std::error::Error;

struct Greeter {
    greeted: u64,
}

enum Msg {
    Greet(&'static str, Reply<String>),
}

impl Actor for Greeter {
    type Msg = Msg;

    fn handle(&mut self, Msg::Greet(name, reply): Msg, _ctx: &mut Context<'_, Self>) {
        self.greeted += 1;
        // Nobody waiting for the answer any more would be no error of ours.
        let _ = reply.send(format!("Hello, {name}! You are number {}.", self.greeted));
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let greeter = system.spawn(Greeter { greeted: 0 });
    let mut text = String::new();
    for name in ["Ada", "Carl", "Grace"] {
        text += &greeter.ask(|reply| Msg::Greet(name, reply)).wait()?;
        text += "\n";
    }
    let report = system.shutdown(Shutdown::Drain);
    Ok(text + &format!("{} messages handled, {} dropped.\n", report.handled, report.dropped))
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}
