//! Memory of a node that others read and write, over networks that seeds make bad, in grids, and
//! with nodes that die.

use crate::common::{Cluster, LIMIT, bad_network, reliable};
use actinium_actor::{Actor, Address, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::route::Route;
use actinium_cluster::{
    NodeConfig, Region, RegionAccess, RegionAnswer, RegionError, RegionMemory, RegionProblem,
    RemoteActor, RemoteRegion,
};
use actinium_memory::{Segment, Size};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

const BOTH: [RegionAccess; 3] = [RegionAccess::READ, RegionAccess::WRITE, RegionAccess::READ];

pub(crate) fn both() -> RegionAccess {
    RegionAccess::READ | RegionAccess::WRITE
}

/// Bytes that tell their place and who made them.
fn pattern(len: usize, salt: u64) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(31) >> 3).wrapping_add(salt) as u8).collect()
}

/// Whether an answer is there.
fn poll<T>(answer: &mut RegionAnswer<T>) -> Option<Result<T, RegionError>> {
    let mut cx = TaskContext::from_waker(Waker::noop());
    match std::pin::Pin::new(answer).poll(&mut cx) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

pub(crate) fn wait<T>(
    cluster: &mut Cluster,
    mut answer: RegionAnswer<T>,
) -> Result<T, RegionError> {
    for _ in 0..60_000 {
        if let Some(outcome) = poll(&mut answer) {
            return outcome;
        }
        cluster.step();
    }
    panic!("neither an outcome nor its deadline");
}

fn register<M: RegionMemory>(cluster: &Cluster, host: usize, memory: M) -> Region<M> {
    cluster.hosts[host].node.register_region(memory).unwrap()
}

pub(crate) fn get(
    cluster: &mut Cluster,
    from: usize,
    remote: &RemoteRegion,
    offset: u64,
    bytes: u64,
) -> Result<Vec<u8>, RegionError> {
    let answer = cluster.hosts[from].node.get(remote, offset, bytes, LIMIT);
    wait(cluster, answer)
}

pub(crate) fn put(
    cluster: &mut Cluster,
    from: usize,
    remote: &RemoteRegion,
    offset: u64,
    bytes: Vec<u8>,
) -> Result<(), RegionError> {
    let answer = cluster.hosts[from].node.put(remote, offset, bytes, LIMIT);
    wait(cluster, answer)
}

#[test]
fn what_one_node_puts_the_other_gets_and_the_owner_sees() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let part = cluster.hosts[0].node.region_part_bytes() as usize;
    let len = 40 * part + 17;
    let region = register(&cluster, 0, vec![0_u8; len]);
    let remote = region.remote(both());
    assert_eq!((remote.node(), remote.len(), remote.access()), (NodeId(0), len as u64, both()));
    let mut expected = vec![0; len];
    // More than one window; parts and their edges; nothing at all.
    let ranges = [(3, 33 * part), (0, part), (part - 1, 2), (len - 1, 1), (7, 0), (len, 0)];
    for (salt, (offset, bytes)) in ranges.into_iter().enumerate() {
        for from in [1, 0] {
            let new = pattern(bytes, (salt + 10 * from) as u64);
            expected[offset..offset + bytes].copy_from_slice(&new);
            assert_eq!(put(&mut cluster, from, &remote, offset as u64, new), Ok(()));
            region.with(|memory| assert!(*memory == expected, "{offset} {bytes}"));
            let read = get(&mut cluster, from, &remote, offset as u64, bytes as u64).unwrap();
            assert!(read == expected[offset..offset + bytes], "{offset} {bytes}");
        }
    }
    assert!(get(&mut cluster, 1, &remote, 0, len as u64).unwrap() == expected);
    assert!(region.unregister() == expected);
    cluster.steps(100);
    for host in 0..2 {
        assert!(cluster.events(host).iter().all(|event| format!("{event:?}").starts_with("Up")));
    }
}

#[test]
fn a_segment_is_a_region_and_comes_back() {
    let mut cluster = Cluster::new(2, 2, Faults::default(), reliable());
    for file in [None, Some("actinium-regions")] {
        let mut builder = Segment::builder().size(Size::Bytes(1 << 20)).threads(1);
        if let Some(name) = file {
            builder = builder.file(name);
        }
        let region = register(&cluster, 1, builder.build().unwrap());
        let remote = region.remote(both());
        assert_eq!(put(&mut cluster, 0, &remote, 4_095, pattern(70_000, 5)), Ok(()));
        assert_eq!(get(&mut cluster, 0, &remote, 4_095, 70_000), Ok(pattern(70_000, 5)));
        let segment = region.unregister();
        let mut read = vec![0; 70_000];
        segment.read(4_095, &mut read);
        assert_eq!(read, pattern(70_000, 5), "{file:?}");
    }
}

#[test]
fn errors_name_what_and_where_and_change_nothing() {
    let mut cluster = Cluster::new(3, 2, Faults::default(), reliable());
    let region = register(&cluster, 0, vec![9_u8; 100]);
    for (offset, bytes) in [(0, 101), (100, 1), (u64::MAX, 1), (99, u64::MAX)] {
        for from in 0..2 {
            let error = get(&mut cluster, from, &region.remote(both()), offset, bytes).unwrap_err();
            assert_eq!(error.why, RegionProblem::OutOfRange { region_bytes: 100 });
            assert_eq!((error.node, error.offset, error.bytes), (NodeId(0), offset, bytes));
        }
    }
    for from in 0..2 {
        let (read, write) = (region.remote(BOTH[0]), region.remote(BOTH[1]));
        let error = put(&mut cluster, from, &read, 0, vec![1]).unwrap_err();
        assert_eq!((&error.why, error.may_have_written()), (&RegionProblem::NotAllowed, false));
        let number = read.region();
        let text = format!(
            "cannot write 1 bytes at 0 of region {number} of node 0: the handle does not allow it: \
             ask the region's node for one with that access"
        );
        assert_eq!(error.to_string(), text);
        let error = get(&mut cluster, from, &write, 0, 1).unwrap_err();
        assert_eq!(error.why, RegionProblem::NotAllowed);
    }
    // The owner has fewer bytes than the handle says.
    let remote = region.remote(both());
    region.with(|memory| memory.truncate(50));
    let error = put(&mut cluster, 1, &remote, 40, vec![1; 20]).unwrap_err();
    assert_eq!(error.why, RegionProblem::OutOfRange { region_bytes: 50 });
    assert_eq!(error.written, 0);
    assert_eq!(region.unregister(), vec![9; 50]);
    for from in 0..2 {
        let error = get(&mut cluster, from, &remote, 0, 1).unwrap_err();
        assert_eq!(error.why, RegionProblem::Gone);
    }
    // Dropped is unregistered, too; and a node that never had a region has none.
    let dropped = register(&cluster, 0, vec![1_u8]).remote(both());
    assert_eq!(get(&mut cluster, 1, &dropped, 0, 1).unwrap_err().why, RegionProblem::Gone);
    let mut other = Cluster::new(3, 2, Faults::default(), reliable());
    assert_eq!(get(&mut other, 1, &dropped, 0, 1).unwrap_err().why, RegionProblem::Gone);
}

/// One node puts and gets over a bad network, others meanwhile elsewhere in the same region.
#[test]
fn transfers_survive_bad_networks() {
    for seed in 0..20 {
        let mut cluster = Cluster::new(seed, 3, bad_network(), reliable());
        let part = cluster.hosts[0].node.region_part_bytes();
        let len = 6 * part;
        let region = register(&cluster, 0, vec![0_u8; 2 * len as usize]);
        let remote = region.remote(both());
        let offset = seed * 1_001 % part;
        let puts: Vec<_> = (1..3_u64)
            .map(|from| {
                let new = pattern((len - offset) as usize, seed + from);
                let limit = Duration::from_secs(50);
                cluster.hosts[from as usize].node.put(
                    &remote,
                    (from - 1) * len + offset,
                    new,
                    limit,
                )
            })
            .collect();
        let mut puts: Vec<_> = puts.into_iter().map(Some).collect();
        for _ in 0..50_000 {
            for put in &mut puts {
                if let Some(answer) = put
                    && let Some(outcome) = poll(answer)
                {
                    assert_eq!(outcome, Ok(()), "seed {seed}");
                    *put = None;
                }
            }
            if puts.iter().all(Option::is_none) {
                break;
            }
            cluster.step();
        }
        for from in 1..3_u64 {
            let limit = Duration::from_secs(50);
            let answer = cluster.hosts[3 - from as usize].node.get(
                &remote,
                (from - 1) * len + offset,
                len - offset,
                limit,
            );
            let read = wait(&mut cluster, answer).unwrap();
            assert!(read == pattern((len - offset) as usize, seed + from), "seed {seed}");
        }
        region.with(|memory| assert!(memory[..offset as usize].iter().all(|&byte| byte == 0)));
    }
}

/// On links that are not reliable, reading is repeated, and writing is an error that says what may
/// be there.
#[test]
fn what_is_lost_is_read_again_and_not_written_twice() {
    let faults = Faults { loss: 0.1, ..Faults::default() };
    let (mut failed, mut succeeded) = (0, 0);
    for seed in 0..10 {
        let mut cluster = Cluster::new(seed, 2, faults.clone(), NodeConfig::default());
        let part = cluster.hosts[0].node.region_part_bytes();
        let len = 8 * part;
        let region = register(&cluster, 0, pattern(len as usize, seed));
        let remote = region.remote(both());
        let limit = Duration::from_secs(30);
        let answer = cluster.hosts[1].node.get(&remote, 0, len, limit);
        let read = wait(&mut cluster, answer);
        assert!(read.unwrap() == pattern(len as usize, seed), "seed {seed}");
        let new = pattern(len as usize, seed + 1);
        match put(&mut cluster, 1, &remote, 0, new.clone()) {
            Ok(()) => {
                succeeded += 1;
                region.with(|memory| assert!(*memory == new));
            }
            Err(error) => {
                failed += 1;
                assert_eq!(error.why, RegionProblem::Timeout(LIMIT), "seed {seed}");
                assert!(error.may_have_written());
                assert_eq!(error.written % part, 0);
                let written = error.written as usize;
                region.with(|memory| assert!(memory[..written] == new[..written]));
            }
        }
    }
    assert!(failed > 0, "{succeeded} puts of 8 parts lost nothing");
}

#[test]
fn a_node_that_dies_meanwhile_is_an_error_that_says_what_was_written() {
    for steps in [0, 1, 2, 3, 5, 8, 13] {
        let mut cluster = Cluster::new(4, 2, Faults::default(), reliable());
        let part = cluster.hosts[0].node.region_part_bytes();
        // Some windows.
        let len = 100 * part;
        let region = register(&cluster, 0, vec![0_u8; len as usize]);
        let remote = region.remote(both());
        // It knows the other one.
        assert_eq!(get(&mut cluster, 1, &remote, 0, 1), Ok(vec![0]));
        let new = vec![1; len as usize];
        let mut putting = cluster.hosts[1].node.put(&remote, 0, new, Duration::from_secs(60));
        let mut getting = cluster.hosts[1].node.get(&remote, 0, len, Duration::from_secs(60));
        for _ in 0..steps {
            assert!(poll(&mut putting).is_none() && poll(&mut getting).is_none());
            cluster.step();
        }
        let host = cluster.hosts.remove(0);
        cluster.network.kill(NodeId(0));
        let wait_there =
            |cluster: &mut Cluster, answer: &mut dyn FnMut() -> Option<RegionError>| {
                for _ in 0..10_000 {
                    if let Some(error) = answer() {
                        return error;
                    }
                    cluster.step();
                }
                panic!("it hangs");
            };
        let error = wait_there(&mut cluster, &mut || poll(&mut putting).map(Result::unwrap_err));
        assert_eq!(error.why, RegionProblem::NodeDown);
        assert!(error.may_have_written() && error.written < len);
        let written = error.written as usize;
        region.with(|memory| assert!(memory[..written].iter().all(|&byte| byte == 1)));
        let error = wait_there(&mut cluster, &mut || poll(&mut getting).map(Result::unwrap_err));
        assert_eq!(error.why, RegionProblem::NodeDown);
        drop(host);
        // Its next run has no such region, also if it has one.
        let next = cluster.host(0, 2);
        let own = next.node.register_region(vec![0_u8; len as usize]).unwrap();
        cluster.hosts.insert(0, next);
        // The two meet again.
        cluster.steps(500);
        assert_eq!(get(&mut cluster, 1, &own.remote(both()), 0, 1), Ok(vec![0]));
        let error = get(&mut cluster, 1, &remote, 0, 1).unwrap_err();
        let gone = [RegionProblem::Gone, RegionProblem::NotAllowed];
        assert!(gone.contains(&error.why), "{error}");
    }
}

#[test]
fn regions_are_reached_through_other_nodes() {
    for (route, nodes) in [(Route::Square, 9), (Route::Cube, 8)] {
        for seed in 0..3 {
            let config = NodeConfig { route, grid_nodes: nodes, ..reliable() };
            let faults = if seed == 0 { Faults::default() } else { bad_network() };
            let mut cluster = Cluster::new(seed, nodes, faults, config);
            let last = nodes as usize - 1;
            let part = cluster.hosts[0].node.region_part_bytes();
            let len = 5 * part + 3;
            let region = register(&cluster, 0, vec![0_u8; len as usize]);
            let remote = region.remote(both());
            for from in [1, last / 2, last] {
                let new = pattern(len as usize - 1, from as u64);
                let limit = Duration::from_secs(50);
                let putting = cluster.hosts[from].node.put(&remote, 1, new.clone(), limit);
                assert_eq!(wait(&mut cluster, putting), Ok(()), "{route:?}, {from}");
                let getting = cluster.hosts[last - from].node.get(&remote, 1, len - 1, limit);
                assert!(wait(&mut cluster, getting).unwrap() == new, "{route:?}, {from}");
            }
        }
    }
}

/// Gets a region's handle in a message, reads its sum by itself, and answers.
#[derive(Default)]
struct Summer {
    waiting: Option<Reply<u64>>,
    node: Option<actinium_cluster::NodeHandle>,
}

enum Msg {
    Sum(RemoteRegion, Reply<u64>),
    Read(Result<Vec<u8>, RegionError>),
}

impl Actor for Summer {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Sum(remote, reply) => {
                self.waiting = Some(reply);
                let node = self.node.as_ref().unwrap();
                ctx.pipe(node.get(&remote, 0, remote.len(), LIMIT), Msg::Read);
            }
            Msg::Read(bytes) => {
                let sum = bytes.unwrap().iter().map(|&byte| u64::from(byte)).sum();
                self.waiting.take().unwrap().send(sum).unwrap();
            }
        }
    }
}

impl RemoteActor for Summer {
    const KIND: &'static str = "test.summer";
    type Message = ();
    type Request = RemoteRegion;
    type Answer = u64;
    fn message((): ()) -> Msg {
        unreachable!("nothing is sent")
    }
    fn request(remote: RemoteRegion, reply: Reply<u64>) -> Msg {
        Msg::Sum(remote, reply)
    }
}

#[test]
fn handles_travel_in_messages_and_actors_read() {
    let mut cluster = Cluster::new(5, 3, Faults::default(), reliable());
    let node = Some((*cluster.hosts[1].node).clone());
    let summer: Address<Summer> =
        cluster.hosts[1].system.spawn(Summer { node, ..Summer::default() });
    cluster.hosts[1].node.export("summer", &summer).unwrap();
    let found = cluster.hosts[2].node.lookup::<Summer>(NodeId(1), "summer", LIMIT);
    let there = cluster.wait(found).unwrap();
    let bytes = pattern(200_000, 1);
    let sum = bytes.iter().map(|&byte| u64::from(byte)).sum();
    // The region of node 0, whose handle node 2 gives to node 1.
    let region = register(&cluster, 0, bytes);
    let asked = there.ask(region.remote(RegionAccess::READ), LIMIT);
    assert_eq!(cluster.wait(asked), Ok(sum));
}
