//! One program, on one node or on many: the first node asks a greeter on each.
//!
//! `cargo run --release -p actinium --features cluster --example job`
//!
//! With the feature `zenoh`, the same binary is several nodes:
//! `actinium launch -n 3 -- target/release/examples/job`. With `mpi`: `mpiexec -n 3`.

use actinium::Runtime;
use actinium::cluster::fabric::NodeId;
use actinium::cluster::{Node, RemoteActor, Team};
use actinium::prelude::*;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

/// How long nodes wait for each other.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Lives on each node, and says on which.
struct Greeter(NodeId);

enum Msg {
    Greet(String, Reply<String>),
    Nothing,
}

impl Actor for Greeter {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        if let Msg::Greet(name, reply) = msg {
            // Whoever asked may be gone.
            let _ = reply.send(format!("Hello, {name}, from {}!", self.0));
        }
    }
}

/// What other nodes may say.
impl RemoteActor for Greeter {
    const KIND: &'static str = "example.greeter";
    type Message = ();
    type Request = String;
    type Answer = String;

    fn message((): ()) -> Msg {
        Msg::Nothing
    }

    fn request(name: String, reply: Reply<String>) -> Msg {
        Msg::Greet(name, reply)
    }
}

/// Runs the part of this node; the text is what the first one has to say.
fn run() -> Result<String, Box<dyn Error>> {
    let system = System::builder().from_env()?.build()?;
    let node = Node::join(&system)?;
    let own = system.spawn(Greeter(node.id()));
    node.export("greeter", &own)?;
    let everybody = Team::form(&node, &system.handle(), "everybody", &node.nodes(), TIMEOUT)?;
    let mut text = String::new();
    if node.id() == NodeId(0) {
        text += &own.ask(|reply| Msg::Greet("Ada".to_owned(), reply)).wait()?;
        for other in node.nodes().into_iter().filter(|&other| other != node.id()) {
            let greeter = node.find::<Greeter>(other, "greeter", TIMEOUT).wait()?;
            text += "\n";
            text += &greeter.ask("Ada".to_owned(), TIMEOUT).wait()?;
        }
        text += "\n";
    }
    // Nobody leaves while somebody still asks.
    everybody.barrier().wait()?;
    Runtime::new(system).node(node).shutdown(Shutdown::Drain);
    Ok(text)
}

pub(crate) fn main() -> ExitCode {
    match run() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("job: {error}");
            ExitCode::FAILURE
        }
    }
}
