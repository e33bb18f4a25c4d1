//! Segments that are registered with windows, and read by the other rank.

use super::{LIMIT, patient};
use actinium_actor::System;
use actinium_cluster::fabric::mpi::{Mpi, MpiSegments, MpiWindowKind};
use actinium_cluster::fabric::{Fabric, MemoryError, NodeId, RegionId};
use actinium_cluster::{Node, RegionAccess, Team};
use actinium_memory::fabric::Register;
use actinium_memory::{PageSize, Segment, Size};
use std::sync::Arc;

const BYTES: usize = 8 << 20;
/// What a dynamic registration allows at a time: half of it.
const BYTES_MAX: u64 = 4 << 20;

fn byte(rank: u32, at: usize) -> u8 {
    ((at * 7) >> (rank + 3)) as u8
}

fn built(windows: &Arc<MpiSegments>, rank: u32) -> Segment {
    let how = match windows.kind() {
        MpiWindowKind::Static => Register::Static,
        MpiWindowKind::Dynamic => Register::Dynamic { bytes_max: BYTES_MAX },
    };
    let builder = Segment::builder().size(Size::Bytes(BYTES as u64)).pages(PageSize::Base);
    let mut segment = builder.threads(2).register(windows.clone(), how).build().unwrap();
    if windows.kind() == MpiWindowKind::Static {
        let figures = segment.registration().unwrap();
        assert_eq!((figures.bytes, figures.chunks), (BYTES as u64, 1), "as a whole");
    }
    let bytes = segment.bytes().unwrap();
    (0..).zip(bytes).for_each(|(at, place)| *place = byte(rank, at));
    segment
}

/// Sends the names of regions to the other rank, and gets its.
fn exchange(fabric: &mut Mpi, own: &[RegionId]) -> Vec<RegionId> {
    let there = NodeId(1 - fabric.node().0);
    let words = own.iter().flat_map(|region| [region.index, region.bytes]);
    // Never empty: such a frame is none.
    let bytes: Vec<u8> = [7].into_iter().chain(words.flat_map(u64::to_le_bytes)).collect();
    fabric.send(there, &bytes).unwrap();
    let frame = loop {
        match fabric.poll() {
            Some((_, frame)) => break frame,
            None => std::thread::yield_now(),
        }
    };
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let region =
        |bytes: &[u8]| RegionId { node: there, index: word(&bytes[..8]), bytes: word(&bytes[8..]) };
    frame[1..].chunks_exact(16).map(region).collect()
}

/// Each rank reads parts of the other's segment.
fn read_there(windows: &MpiSegments, parts: &[RegionId], start: usize) {
    let rank = parts[0].node.0;
    let all: u64 = parts.iter().map(|part| part.bytes).sum();
    for (offset, bytes) in [(0, 1), (1, 4_096), (4_095, 70_001), (0, all as usize), (77, 0)] {
        let mut read = vec![0; bytes];
        windows.read(parts, offset, &mut read).unwrap();
        let expected = (offset..).map(|at| byte(rank, start + at));
        assert!(read.iter().copied().eq(expected.take(bytes)), "{bytes} at {offset}");
    }
    let error = windows.read(parts, all as usize, &mut [0]).unwrap_err();
    assert!(matches!(error, MemoryError::OutOfRange { .. }), "{error}");
    let error = windows.read(parts, usize::MAX, &mut [0]).unwrap_err();
    assert!(matches!(error, MemoryError::OutOfRange { .. }), "{error}");
    let nobody = RegionId { node: NodeId(2), ..parts[0] };
    let error = windows.read(&[nobody], 0, &mut [0]).unwrap_err();
    assert_eq!(error, MemoryError::NoSuchRegion(nobody));
}

pub(crate) fn fixed() {
    let mut fabric = Mpi::start().unwrap();
    let windows = fabric.segments(MpiWindowKind::Static).unwrap();
    let segment = built(&windows, fabric.node().0);
    let own = windows.regions(&segment, &segment.lease(1_000..BYTES).unwrap());
    assert_eq!(own.len(), 1);
    let parts = exchange(&mut fabric, &own);
    read_there(&windows, &parts, 1_000);
    // Beyond what the other rank has, whatever somebody says.
    let longer = RegionId { bytes: parts[0].bytes + 1, ..parts[0] };
    let error = windows.read(&[longer], 0, &mut [0]).unwrap_err();
    assert_eq!(error, MemoryError::NoSuchRegion(longer));
    let builder = Segment::builder().size(Size::Bytes(1 << 20)).threads(1);
    let second = builder.register(windows.clone(), Register::Static).build();
    assert!(second.unwrap_err().to_string().contains("another window"));
    // Both have read.
    exchange(&mut fabric, &[]);
    drop(segment);
    assert!(windows.read(&parts, 0, &mut [0]).is_err());
    // And again: the window is free.
    let segment = built(&windows, fabric.node().0);
    exchange(&mut fabric, &[]);
    drop(segment);
    println!("segments: static");
}

pub(crate) fn dynamic() {
    let mut fabric = Mpi::start().unwrap();
    let windows = fabric.segments(MpiWindowKind::Dynamic).unwrap();
    let segment = built(&windows, fabric.node().0);
    assert_eq!(segment.registration().unwrap().bytes, 0, "before anything is leased");
    for start in [0, 3 << 20, BYTES - (2 << 20)] {
        let lease = segment.lease(start..start + (2 << 20)).unwrap();
        let own = windows.regions(&segment, &lease);
        let parts = exchange(&mut fabric, &own);
        read_there(&windows, &parts, start);
        // Both have read.
        exchange(&mut fabric, &[]);
        drop(lease);
    }
    let figures = segment.registration().unwrap();
    assert!(figures.bytes <= BYTES_MAX && figures.evicted > 0, "{figures:?}");
    let error = segment.lease(0..BYTES).unwrap_err();
    assert!(error.to_string().contains("at most 4194304 bytes are in use"), "{error}");
    drop(segment);
    exchange(&mut fabric, &[]);
    println!("segments: dynamic");
}

/// A node moves frames while other threads lease and read; and what it moves is right.
pub(crate) fn beside_a_node() {
    let system = System::builder().workers(1).build().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let start = move || {
        let mut fabric = Mpi::start()?;
        let windows = fabric.segments(MpiWindowKind::Dynamic).map_err(|it| it.to_string())?;
        let segment = built(&windows, fabric.node().0);
        let _ = tell.send((windows, segment));
        Ok(fabric)
    };
    let node = Node::start(system.handle(), patient(), start).unwrap();
    let (windows, segment) = told.recv().unwrap();
    let (me, peer) = (node.id().0, NodeId(1 - node.id().0));
    let team = Team::form(&node, &system.handle(), "segments", &node.nodes(), LIMIT).unwrap();
    let lease = segment.lease(0..1 << 20).unwrap();
    let parts = team.all_gather(windows.regions(&segment, &lease)).wait().unwrap();
    let parts = &parts[peer.0 as usize];
    let region = node.register_region(vec![me as u8; 3 << 20]).unwrap();
    let both = RegionAccess::READ | RegionAccess::WRITE;
    let handles = team.all_gather(region.remote(both)).wait().unwrap();
    let there = handles[peer.0 as usize];
    for round in 0..20_u8 {
        let offset = usize::from(round) * 4_096;
        let mut read = vec![0; 4_096];
        windows.read(parts, offset, &mut read).unwrap();
        let expected = (offset..).map(|at| byte(peer.0, at));
        assert!(read.iter().copied().eq(expected.take(4_096)));
        // Of its own, which is not what the other one reads: that stays.
        drop(segment.lease((2 << 20)..(3 << 20)).unwrap());
        let bytes = vec![round; 300_000];
        node.put(&there, 5, bytes.clone(), LIMIT).wait().unwrap();
        assert!(node.get(&there, 5, 300_000, LIMIT).wait().unwrap() == bytes);
    }
    team.barrier().wait().unwrap();
    region.with(|memory| {
        assert!(memory[5..300_005].iter().all(|&byte| byte == 19) && memory[4] == me as u8);
    });
    // All ranks close the window together, while their nodes go on.
    drop(lease);
    drop(segment);
    drop(windows);
    team.barrier().wait().unwrap();
    node.leave();
    println!("segments: beside a node");
}
