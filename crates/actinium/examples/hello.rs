//! The smallest program: one actor, some messages, a clean end.
//!
//! `cargo run --release -p actinium --example hello`

use actinium::prelude::*;
use std::error::Error;

struct Greeter {
    greeted: u64,
}

#[actor]
impl Greeter {
    fn greet(&mut self, name: &'static str) -> String {
        self.greeted += 1;
        format!("Hello, {name}! You are number {}.", self.greeted)
    }
}

/// Runs the example; the text is what it has to say.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let greeter = system.spawn(Greeter { greeted: 0 });
    let mut text = String::new();
    for name in ["Ada", "Carl", "Grace"] {
        text += &greeter.greet(name).wait()?;
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
