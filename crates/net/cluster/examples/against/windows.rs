//! What a get and a put of a region cost, by a window of MPI's and by messages: the same program,
//! from the thread that calls to the thread that called.

use crate::player::{Error, LIMIT, median};
use actinium_actor::System;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::{Node, NodeConfig, RegionAccess, RemoteRegion, Team};
use std::time::Instant;

/// Bytes of a transfer, and how many there are.
const SIZES: [(usize, usize); 2] = [(4 << 10, 2_000), (1 << 20, 200)];
const REGION_BYTES: usize = 1 << 20;

/// The medians of a get and of a put, in microseconds.
fn transfers(
    node: &Node,
    remote: &RemoteRegion,
    (bytes, times): (usize, usize),
) -> Result<[f64; 2], Error> {
    let from = vec![7_u8; bytes];
    let mut us = [Vec::with_capacity(times), Vec::with_capacity(times)];
    for _ in 0..times {
        let start = Instant::now();
        node.get(remote, 0, bytes as u64, LIMIT).wait()?;
        us[0].push(start.elapsed().as_secs_f64() * 1e6);
        let from = from.clone();
        let start = Instant::now();
        node.put(remote, 0, from, LIMIT).wait()?;
        us[1].push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(us.map(median))
}

pub(crate) fn run() -> Result<(), Error> {
    let system = System::builder().workers(1).build()?;
    let node = Node::start(system.handle(), NodeConfig::default(), Mpi::start)?;
    if node.nodes().len() != 2 {
        return Err("this wants two ranks: mpiexec -n 2".into());
    }
    let team = Team::form(&node, &system.handle(), "windows", &node.nodes(), LIMIT)?;
    let window = node.register_window(REGION_BYTES)?.wait()?;
    let held = node.register_region(vec![0_u8; REGION_BYTES])?;
    let both = RegionAccess::READ | RegionAccess::WRITE;
    let handles = team.all_gather((window.remote(both), held.remote(both))).wait()?;
    if node.id() == NodeId(0) {
        let (by_window, by_messages) = handles[1];
        if !by_window.is_in_window() {
            println!("this MPI has no windows here (OMPI_MCA_osc=pt2pt makes some of messages)");
        }
        // Once to warm up.
        for remote in [&by_window, &by_messages] {
            transfers(&node, remote, (4_096, 100))?;
        }
        println!(
            "{:>10} {:>16} {:>16} {:>16} {:>16}",
            "bytes", "get, window, us", "get, messages", "put, window, us", "put, messages"
        );
        for size in SIZES {
            let [get, put] = transfers(&node, &by_window, size)?;
            let [get_by_messages, put_by_messages] = transfers(&node, &by_messages, size)?;
            println!(
                "{:>10} {get:>16.1} {get_by_messages:>16.1} {put:>16.1} {put_by_messages:>16.1}",
                size.0
            );
        }
    }
    team.barrier().wait()?;
    node.leave();
    Ok(())
}
