//! Large payloads to an actor that moves from node to node, through this crate alone.

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::link::LinkConfig;
use actinium::cluster::{
    Migrate, Movable, Node, NodeConfig, PayloadHandler, RemoteAskError, RemoteSendError,
};
use actinium::memory::heap::Heap;
use actinium::prelude::*;
use actinium::wire::Message;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);
const BYTES: u64 = 100 << 10;

/// Adds up the bytes of pictures.
#[derive(Clone, Default, Serialize, Deserialize, Message)]
struct Brightness {
    pictures: Vec<u32>,
    sum: u64,
}

impl Migrate for Brightness {
    const KIND: &'static str = "test.brightness";
    type Message = u32;
    type Request = ();
    type Answer = (Vec<u32>, u64);
    fn message(&mut self, number: u32, _ctx: &Context<'_, Movable<Self>>) {
        self.pictures.push(number);
    }
    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) -> (Vec<u32>, u64) {
        (self.pictures.clone(), self.sum)
    }
    fn with_payload() -> Option<PayloadHandler<Self>> {
        Some(|state, number, pixels, _ctx| {
            state.pictures.push(number);
            state.sum += pixels.iter().map(|&pixel| u64::from(pixel)).sum::<u64>();
        })
    }
}

#[test]
fn payloads_follow_an_actor_from_node_to_node() -> Result<(), Box<dyn Error>> {
    let network = Network::new();
    let heap = Heap::leak_plain(4, 64)?;
    let mut arena = heap.arena(3).expect("nobody has it");
    let start = |number| -> Result<_, Box<dyn Error>> {
        let fabric = network.node(NodeId(number));
        let system = System::builder().workers(1).build()?;
        // However long this process is stopped.
        let link =
            LinkConfig { reliable: true, down_after_ns: 240_000_000_000, ..LinkConfig::default() };
        let config = NodeConfig { link, ..NodeConfig::default() };
        let node = Node::start(system.handle(), config, move || Ok(fabric))?;
        node.take_payloads_in(heap.arena(number as usize).expect("nobody has it"));
        let movables = node.movables::<Brightness>()?;
        Ok((system, node, movables))
    };
    let hosts = [start(0)?, start(1)?, start(2)?];
    let first = hosts[0].2.spawn(Brightness::default());
    let sender = hosts[2].2.find(first.id(), TIMEOUT).wait()?;
    let mut next = 0;
    for to in [1, 2, 0, 1] {
        // Some come before it moves, some while it does, and some after it.
        let moved = first.move_to(NodeId(to), TIMEOUT);
        for number in next..next + 5 {
            let mut message = (number, arena.payload_with(BYTES as usize, |it| it.fill(2))?);
            while let Err(error) = sender.send_with_payload(message.0, message.1) {
                assert!(matches!(error, RemoteSendError::Full(_)), "{error}");
                message = error.into_inner();
                std::thread::yield_now();
            }
        }
        next += 5;
        moved.wait()?;
    }
    // A request is a message like any: it is refused where too much waits.
    let answer = loop {
        match sender.ask((), TIMEOUT).wait() {
            Err(RemoteAskError::Full(_)) => std::thread::yield_now(),
            answer => break answer?,
        }
    };
    assert_eq!(answer, ((0..next).collect(), u64::from(next) * BYTES * 2));
    hosts.iter().for_each(|(_, node, _)| node.leave());
    Ok(())
}
