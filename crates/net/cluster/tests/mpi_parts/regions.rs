//! Regions in windows of real MPI, which all ranks read and write at once; and the same program
//! where there are none.

use super::payloads::{By, With};
use super::{LIMIT, patient};
use actinium_actor::System;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::mpi::Mpi;
use actinium_cluster::{Node, RegionAccess, RegionProblem, Team};

/// What each rank writes to each other one: a piece of its own in the middle of the region.
const PIECE: usize = 300_000;

pub(crate) fn by_window() {
    reach(By::Window);
}

pub(crate) fn by_messages() {
    reach(By::Frames);
}

/// Messages that this node has sent to all others.
fn sent(node: &Node) -> u64 {
    node.stats().peers.iter().map(|peer| peer.aggregator.messages).sum()
}

// tidy: functions: one story that the ranks tell in step
fn reach(by: By) {
    let system = System::builder().workers(1).build().unwrap();
    let node =
        Node::start(system.handle(), patient(), move || Ok(With(Mpi::start()?, by))).unwrap();
    let (me, ranks) = (node.id().0 as usize, node.nodes().len());
    let team = Team::form(&node, &system.handle(), "regions", &node.nodes(), LIMIT).unwrap();
    let len = ranks * PIECE + 2;
    let region = node.register_window(len).unwrap().wait().unwrap();
    assert_eq!(region.is_one_sided(), by == By::Window);
    let both = RegionAccess::READ | RegionAccess::WRITE;
    let handles = team.all_gather(region.remote(both)).wait().unwrap();
    let others = || (0..ranks).filter(|&rank| rank != me);
    // The first asks for the way.
    for there in others() {
        assert_eq!(node.get(&handles[there], 0, 2, LIMIT).wait(), Ok(vec![0, 0]));
    }
    team.barrier().wait().unwrap();
    let before = sent(&node);
    let at = (1 + me * PIECE) as u64;
    for round in 1..=20_u8 {
        for there in others() {
            let bytes = vec![round.wrapping_mul(me as u8 + 1); PIECE];
            node.put(&handles[there], at, bytes.clone(), LIMIT).wait().unwrap();
            let read = node.get(&handles[there], at, PIECE as u64, LIMIT).wait().unwrap();
            assert!(read == bytes, "round {round} of {me} at {there}");
        }
    }
    let messages = sent(&node) - before;
    // Those of the team may be among them; two transfers for each round are not.
    assert_eq!(messages < 20, by == By::Window, "{messages}");
    for (offset, bytes) in [(len as u64, 1), (len as u64 - 1, 2), (u64::MAX, 1)] {
        for handle in &handles {
            let error = node.get(handle, offset, bytes, LIMIT).wait().unwrap_err();
            assert_eq!(error.why, RegionProblem::OutOfRange { region_bytes: len as u64 });
            assert_eq!((error.node, error.offset), (handle.node(), offset));
        }
    }
    team.barrier().wait().unwrap();
    let expected: Vec<u8> = (0..len)
        .map(|at| match at.checked_sub(1).map(|at| at / PIECE) {
            Some(rank) if rank < ranks && rank != me => 20 * (rank as u8 + 1),
            _ => 0,
        })
        .collect();
    assert!(node.get(&handles[me], 0, len as u64, LIMIT).wait().unwrap() == expected, "by itself");
    team.barrier().wait().unwrap();
    // One after the other is taken back, while the others try to write: all of it is there, or is
    // an error.
    let mut region = Some(region);
    for (rank, handle) in handles.iter().enumerate() {
        if rank == me {
            let bytes = region.take().unwrap().unregister(LIMIT).wait().unwrap();
            let mut written = others().filter(|&other| bytes[1 + other * PIECE] == 255);
            let whole = |other: usize| {
                let start = 1 + other * PIECE;
                bytes[start..start + PIECE].iter().all(|&byte| byte == 255)
            };
            assert!(by == By::Frames || written.all(whole), "{rank}");
            assert!(bytes[0] == 0 && bytes[len - 1] == 0);
        } else {
            match node.put(handle, at, vec![255; PIECE], LIMIT).wait() {
                Ok(()) => {}
                Err(error) => assert_eq!(error.why, RegionProblem::Gone, "{rank}"),
            }
        }
        team.barrier().wait().unwrap();
        // Memory that was taken back may be a region again, which those with the old handle do not
        // reach.
        if rank == me {
            let again = node.register_window(len).unwrap().wait().unwrap();
            team.barrier().wait().unwrap();
            let new = again.remote(RegionAccess::READ);
            assert!(node.get(&new, 0, len as u64, LIMIT).wait().unwrap() == vec![0; len]);
        } else {
            let error = node.put(handle, at, vec![254; PIECE], LIMIT).wait().unwrap_err();
            let expected = (RegionProblem::Gone, NodeId(rank as u32), at, handle.region());
            assert_eq!((error.why, error.node, error.offset, error.region), expected);
            team.barrier().wait().unwrap();
        }
        team.barrier().wait().unwrap();
    }
    node.leave();
    println!("regions: by {by:?}");
}
