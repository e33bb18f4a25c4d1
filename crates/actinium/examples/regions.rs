//! A board on one node that others write to and read, without an actor that serves it: each sensor
//! puts its readings in its own part, by a handle that it got in a message, and a display gets the
//! whole.
//!
//! `cargo run --release -p actinium --features cluster --example regions`
//!
//! The nodes share a process here, on the in-process fabric. Where each node is a process,
//! `Node::join` makes the node, as in the example `job`.

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::{
    Node, NodeConfig, NodeHandle, RegionAccess, RegionError, RemoteActor, RemoteRegion,
};
use actinium::prelude::*;
use actinium::wire::Message;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);
const SENSORS: u64 = 2;
const READINGS: u64 = 1_000;
/// A reading has eight bytes.
const PART_BYTES: u64 = READINGS * 8;

/// The board, and which part of it is whose.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, Message)]
struct Assignment {
    board: RemoteRegion,
    part: u64,
}

struct Sensor {
    node: NodeHandle,
    asked: Option<Reply<bool>>,
}

enum SensorMsg {
    Measure(Assignment, Reply<bool>),
    Put(Result<(), RegionError>),
}

impl Actor for Sensor {
    type Msg = SensorMsg;

    fn handle(&mut self, msg: SensorMsg, ctx: &mut Context<'_, Self>) {
        match msg {
            SensorMsg::Measure(Assignment { board, part }, reply) => {
                self.asked = Some(reply);
                let readings = (0..READINGS).map(|n| part * 1_000_000 + n);
                let bytes = readings.flat_map(u64::to_le_bytes).collect();
                // The actor handles other messages meanwhile.
                let put = self.node.put(&board, part * PART_BYTES, bytes, TIMEOUT);
                ctx.pipe(put, SensorMsg::Put);
            }
            SensorMsg::Put(outcome) => {
                if let Err(error) = &outcome {
                    eprintln!("{error}");
                }
                if let Some(reply) = self.asked.take() {
                    // Whoever asked may have stopped waiting.
                    let _ = reply.send(outcome.is_ok());
                }
            }
        }
    }
}

impl RemoteActor for Sensor {
    const KIND: &'static str = "example.sensor";
    type Message = ();
    type Request = Assignment;
    type Answer = bool;

    fn message((): ()) -> SensorMsg {
        SensorMsg::Put(Ok(()))
    }

    fn request(assignment: Assignment, reply: Reply<bool>) -> SensorMsg {
        SensorMsg::Measure(assignment, reply)
    }
}

/// The sum of all readings, as the display has got them.
fn run() -> Result<u64, Box<dyn Error>> {
    let network = Network::new();
    let mut systems = Vec::new();
    let mut nodes = Vec::new();
    // Node 0 has the board, nodes 1 and 2 a sensor each, and node 3 the display.
    for number in 0..4 {
        let system = System::builder().workers(1).build()?;
        let fabric = network.node(NodeId(number));
        nodes.push(Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric))?);
        systems.push(system);
    }
    for number in 1..=SENSORS as usize {
        let node = (*nodes[number]).clone();
        let sensor = systems[number].spawn(Sensor { node, asked: None });
        nodes[number].export("sensor", &sensor)?;
    }

    let board = nodes[0].register_region(vec![0_u8; (SENSORS * PART_BYTES) as usize])?;
    for part in 0..SENSORS {
        let sensor = NodeId(part as u32 + 1);
        let sensor = nodes[0].find::<Sensor>(sensor, "sensor", TIMEOUT).wait()?;
        let assignment = Assignment { board: board.remote(RegionAccess::WRITE), part };
        assert!(sensor.ask(assignment, TIMEOUT).wait()?, "the sensor has said why not");
    }

    let for_display = board.remote(RegionAccess::READ);
    let bytes = nodes[3].get(&for_display, 0, for_display.len(), TIMEOUT).wait()?;
    let reading = |bytes: &[u8]| u64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
    let sum = bytes.chunks_exact(8).map(reading).sum();

    // It may read, and no more.
    match nodes[3].put(&for_display, 0, vec![0; 8], TIMEOUT).wait() {
        Err(error) => println!("the display: {error}"),
        Ok(()) => return Err("the display has written".into()),
    }
    // Afterwards nobody reaches the memory any more.
    let memory = board.unregister();
    assert_eq!(memory, bytes);
    assert!(nodes[3].get(&for_display, 0, 8, TIMEOUT).wait().is_err());

    // The same in a window: the fabric alone reads and writes it, where the fabric can.
    let window = nodes[0].register_window(memory.len())?.wait()?;
    println!("one-sided: {}", window.is_one_sided());
    let handle = window.remote(RegionAccess::READ | RegionAccess::WRITE);
    nodes[1].put(&handle, 0, memory, TIMEOUT).wait()?;
    assert_eq!(nodes[3].get(&handle, 0, handle.len(), TIMEOUT).wait()?, bytes);
    assert_eq!(window.unregister(TIMEOUT).wait()?, bytes);
    assert!(nodes[3].get(&handle, 0, 8, TIMEOUT).wait().is_err());
    for node in nodes {
        node.leave();
    }
    Ok(sum)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("the readings' sum: {}", run()?);
    Ok(())
}

#[test]
fn the_display_sees_what_the_sensors_have_put() {
    let of = |part: u64| (0..READINGS).map(|n| part * 1_000_000 + n).sum::<u64>();
    assert_eq!(run().expect("it runs"), (0..SENSORS).map(of).sum::<u64>());
}
