//! Letters with an address for the answer: a node writes one, a second hands it on, and a third
//! answers the first. For every fabric that has tests with several processes.

use actinium_actor::{Actor, Context, Recipient, Reply, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::{Node, RemoteActor, RemoteAddress};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::sync::mpsc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(240);

#[derive(Serialize, Deserialize, Message)]
pub(crate) struct Letter {
    number: u64,
    answer_to: Recipient<u64>,
}

/// Hands letters on, or answers them.
struct Clerk(Option<RemoteAddress<Clerk>>);

impl Actor for Clerk {
    type Msg = Letter;
    fn handle(&mut self, letter: Letter, _ctx: &mut Context<'_, Self>) {
        match &self.0 {
            Some(next) => next.send(letter).unwrap(),
            None => letter.answer_to.tell(letter.number + 1),
        }
    }
}

impl RemoteActor for Clerk {
    const KIND: &'static str = "test.letters-clerk";
    type Message = Letter;
    type Request = ();
    type Answer = ();
    fn message(letter: Letter) -> Letter {
        letter
    }
    fn request((): (), _: Reply<()>) -> Letter {
        unreachable!("nobody asks it")
    }
}

/// Passes on what it is told.
struct Writer(mpsc::Sender<u64>);

impl Actor for Writer {
    type Msg = u64;
    fn handle(&mut self, n: u64, _ctx: &mut Context<'_, Self>) {
        self.0.send(n).unwrap();
    }
}

fn clerk_of(node: &Node, of: NodeId) -> RemoteAddress<Clerk> {
    node.find::<Clerk>(of, "clerk", LIMIT).wait().unwrap()
}

/// Starts a clerk that hands letters on to the clerk of another node, or answers them.
pub(crate) fn open(system: &System, node: &Node, next: Option<NodeId>) {
    let next = next.map(|next| clerk_of(node, next));
    node.export("clerk", &system.spawn(Clerk(next))).unwrap();
}

/// Writes a letter to the clerk of another node; the answer.
pub(crate) fn write(system: &System, node: &Node, to: NodeId, number: u64) -> u64 {
    let (sender, answers) = mpsc::channel();
    let writer = system.spawn(Writer(sender));
    let letter = Letter { number, answer_to: (&writer).into() };
    clerk_of(node, to).send(letter).unwrap();
    answers.recv_timeout(LIMIT).unwrap()
}
