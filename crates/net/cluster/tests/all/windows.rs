//! Regions in windows, which the fabric alone reads and writes, by seed: what they cost their node,
//! and what happens when they are taken back.

use crate::common::{Cluster, LIMIT, bad_network, reliable};
use crate::regions::{both, get, put, wait};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::route::Route;
use actinium_cluster::{NodeConfig, RegionAccess, RegionProblem, RemoteRegion, WindowRegion};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(50);

fn register(cluster: &mut Cluster, host: usize, bytes: usize) -> WindowRegion {
    let answer = cluster.hosts[host].node.register_window(bytes).unwrap();
    wait(cluster, answer).unwrap()
}

/// The messages that a node has sent to all others.
fn sent(cluster: &Cluster, host: usize) -> u64 {
    cluster.hosts[host].node.stats().peers.iter().map(|peer| peer.aggregator.messages).sum()
}

#[test]
fn the_owner_is_asked_once_and_then_sends_and_gets_nothing() {
    let mut cluster = Cluster::new(1, 2, Faults::default(), reliable());
    let len = 1 << 20;
    let region = register(&mut cluster, 0, len);
    assert!(region.is_one_sided());
    let remote = region.remote(both());
    assert!(remote.is_in_window());
    assert_eq!((remote.node(), remote.len(), remote.access()), (NodeId(0), len as u64, both()));
    assert_eq!(get(&mut cluster, 1, &remote, 0, 3), Ok(vec![0; 3]));
    let before = [sent(&cluster, 0), sent(&cluster, 1)];
    let mut expected = vec![0; len];
    for (salt, (offset, bytes)) in
        [(0, len), (1, 4_096), (4_095, 2), (len - 1, 1), (7, 0), (len, 0)].into_iter().enumerate()
    {
        for from in [1, 0] {
            let new: Vec<u8> = (0..bytes).map(|at| (at * 31 + 7 * salt + from) as u8).collect();
            expected[offset..offset + bytes].copy_from_slice(&new);
            assert_eq!(put(&mut cluster, from, &remote, offset as u64, new), Ok(()));
            let read = get(&mut cluster, 1 - from, &remote, offset as u64, bytes as u64).unwrap();
            assert!(read == expected[offset..offset + bytes], "{offset} {bytes}");
        }
    }
    assert_eq!([sent(&cluster, 0), sent(&cluster, 1)], before, "by the fabric alone");
    let answer = region.unregister(LIMIT);
    assert!(wait(&mut cluster, answer).unwrap() == expected);
}

#[test]
fn errors_name_what_and_where_and_change_nothing() {
    let mut cluster = Cluster::new(2, 2, Faults::default(), reliable());
    let region = register(&mut cluster, 0, 100);
    // Beside it.
    let other = register(&mut cluster, 0, 100);
    for from in 0..2 {
        for (offset, bytes) in [(0, 101), (100, 1), (u64::MAX, 1), (99, u64::MAX)] {
            let error = get(&mut cluster, from, &region.remote(both()), offset, bytes).unwrap_err();
            assert_eq!(error.why, RegionProblem::OutOfRange { region_bytes: 100 });
            assert_eq!((error.node, error.offset, error.bytes), (NodeId(0), offset, bytes));
        }
        let (read, write) = (region.remote(RegionAccess::READ), region.remote(RegionAccess::WRITE));
        let error = put(&mut cluster, from, &read, 0, vec![1]).unwrap_err();
        assert_eq!((&error.why, error.may_have_written()), (&RegionProblem::NotAllowed, false));
        let error = get(&mut cluster, from, &write, 0, 1).unwrap_err();
        assert_eq!(error.why, RegionProblem::NotAllowed);
    }
    let remote = region.remote(both());
    let answer = region.unregister(LIMIT);
    assert_eq!(wait(&mut cluster, answer), Ok(vec![0; 100]));
    for from in 0..2 {
        let error = get(&mut cluster, from, &remote, 7, 1).unwrap_err();
        assert_eq!(error.why, RegionProblem::Gone);
        let number = remote.region();
        let text = format!(
            "cannot read 1 bytes at 7 of region {number} of node 0: that node has no such region \
             (any more): ask it for a new handle"
        );
        assert_eq!(error.to_string(), text);
    }
    // Dropped is unregistered, too.
    let dropped = other.remote(both());
    drop(other);
    cluster.steps(100);
    assert_eq!(put(&mut cluster, 1, &dropped, 0, vec![1]).unwrap_err().why, RegionProblem::Gone);
}

/// A handle is data: it can be changed. Its node's word holds for what was changed.
#[test]
fn a_handle_that_claims_more_than_it_was_made_for_gets_nothing() {
    let mut cluster = Cluster::new(3, 2, Faults::default(), reliable());
    let region = register(&mut cluster, 0, 100);
    type Words = (u32, u64, u64, u8, u64);
    let (node, number, bytes, access, secret): Words =
        crate::liar::read(&crate::liar::bytes(&region.remote(RegionAccess::READ)));
    let forged = |words: Words| crate::liar::read::<RemoteRegion>(&crate::liar::bytes(&words));
    let honest = forged((node, number, bytes, access, secret));
    assert_eq!(get(&mut cluster, 1, &honest, 0, 100), Ok(vec![0; 100]));
    // With the lease of the honest one at hand.
    let writes = forged((node, number, bytes, access | 2, secret));
    let error = put(&mut cluster, 1, &writes, 0, vec![9]).unwrap_err();
    assert_eq!(error.why, RegionProblem::NotAllowed);
    let longer = forged((node, number, 1_000, access, secret));
    let error = get(&mut cluster, 1, &longer, 99, 2).unwrap_err();
    assert_eq!(error.why, RegionProblem::OutOfRange { region_bytes: 100 });
    let guessed = forged((node, number, bytes, access, secret ^ 1));
    let error = get(&mut cluster, 1, &guessed, 0, 1).unwrap_err();
    assert_eq!(error.why, RegionProblem::NotAllowed);
    // By messages.
    let by_messages = forged((node, number, bytes, access & 3, secret));
    let error = get(&mut cluster, 1, &by_messages, 0, 1).unwrap_err();
    assert!(matches!(error.why, RegionProblem::Refused(_)), "{error}");
    // And one whose memory lies in no window says where it does not.
    let plain = cluster.hosts[0].node.register_region(vec![5_u8; 10]).unwrap();
    let (node, number, bytes, access, secret): Words =
        crate::liar::read(&crate::liar::bytes(&plain.remote(RegionAccess::READ)));
    let claims = forged((node, number, bytes, access | 1 << 7, secret));
    assert_eq!(get(&mut cluster, 1, &claims, 3, 2), Ok(vec![5; 2]));
    assert_eq!(get(&mut cluster, 1, &honest, 0, 100), Ok(vec![0; 100]));
}

#[test]
fn leases_survive_bad_networks_and_are_revoked_over_them() {
    for seed in 0..20 {
        let mut cluster = Cluster::new(seed, 4, bad_network(), reliable());
        let region = register(&mut cluster, 0, 40_000);
        let remote = region.remote(both());
        for from in 1..4 {
            let new = vec![from as u8; 10_000];
            assert_eq!(put(&mut cluster, from, &remote, 10_000 * from as u64, new), Ok(()));
        }
        let read = get(&mut cluster, 2, &remote, 10_000, 30_000).unwrap();
        let expected: Vec<u8> = (0..40_000).map(|at| (at / 10_000) as u8).collect();
        assert!(read == expected[10_000..], "seed {seed}");
        let answer = region.unregister(LONG);
        assert!(wait(&mut cluster, answer).unwrap() == expected, "seed {seed}");
        for from in 1..4 {
            let error = put(&mut cluster, from, &remote, 0, vec![1]).unwrap_err();
            assert_eq!(error.why, RegionProblem::Gone, "seed {seed}");
        }
    }
}

/// It is waited for no longer than it is said to be, and what it does then is an error there.
#[test]
fn a_holder_that_cannot_be_asked_keeps_nobody_waiting() {
    let mut cluster = Cluster::new(5, 3, Faults::default(), reliable());
    let region = register(&mut cluster, 0, 100);
    let remote = region.remote(both());
    for from in 1..3 {
        assert_eq!(put(&mut cluster, from, &remote, from as u64, vec![from as u8]), Ok(()));
    }
    cluster.network.cut(NodeId(0), NodeId(1));
    let answer = region.unregister(Duration::from_millis(100));
    let read = wait(&mut cluster, answer).unwrap();
    assert_eq!(read[..4], [0, 1, 2, 0]);
    // The cut one does not know, the other one does.
    assert_eq!(get(&mut cluster, 1, &remote, 0, 1).unwrap_err().why, RegionProblem::NodeDown);
    assert_eq!(get(&mut cluster, 2, &remote, 0, 1).unwrap_err().why, RegionProblem::Gone);
    // When they have met again, it does.
    cluster.steps(2_000);
    cluster.network.heal(NodeId(0), NodeId(1));
    cluster.steps(2_000);
    assert_eq!(get(&mut cluster, 1, &remote, 0, 1).unwrap_err().why, RegionProblem::Gone);
}

#[test]
fn the_next_run_of_a_node_has_other_regions() {
    let mut cluster = Cluster::new(6, 2, Faults::default(), reliable());
    let region = register(&mut cluster, 0, 100);
    let remote = region.remote(both());
    assert_eq!(put(&mut cluster, 1, &remote, 0, vec![7]), Ok(()));
    let host = cluster.hosts.remove(0);
    cluster.network.kill(NodeId(0));
    cluster.steps(3_000);
    let error = get(&mut cluster, 0, &remote, 0, 1).unwrap_err();
    assert_eq!(error.why, RegionProblem::NodeDown);
    drop((region, host));
    let next = cluster.host(0, 2);
    cluster.hosts.insert(0, next);
    cluster.steps(500);
    let own = register(&mut cluster, 0, 100);
    assert_eq!(get(&mut cluster, 1, &own.remote(both()), 0, 1), Ok(vec![0]));
    let error = put(&mut cluster, 1, &remote, 0, vec![7]).unwrap_err();
    let gone = [RegionProblem::Gone, RegionProblem::NotAllowed];
    assert!(gone.contains(&error.why), "{error}");
    assert_eq!(get(&mut cluster, 1, &own.remote(both()), 0, 1), Ok(vec![0]));
}

#[test]
fn windows_are_reached_past_other_nodes() {
    for (route, nodes) in [(Route::Square, 9), (Route::Cube, 8)] {
        let config = NodeConfig { route, grid_nodes: nodes, ..reliable() };
        let mut cluster = Cluster::new(7, nodes, Faults::default(), config);
        let last = nodes as usize - 1;
        let region = register(&mut cluster, 0, 300_000);
        let remote = region.remote(both());
        assert_eq!(put(&mut cluster, last, &remote, 1, vec![3; 200_000]), Ok(()));
        assert_eq!(get(&mut cluster, last / 2, &remote, 0, 3), Ok(vec![0, 3, 3]));
        let answer = region.unregister(LONG);
        assert_eq!(wait(&mut cluster, answer).unwrap()[200_000..200_002], [3, 0]);
        let error = get(&mut cluster, last, &remote, 0, 1).unwrap_err();
        assert_eq!(error.why, RegionProblem::Gone, "{route:?}");
    }
}

#[test]
fn without_windows_the_same_program_goes_by_messages() {
    let mut cluster = Cluster::new(8, 0, Faults::default(), reliable());
    cluster.network = Network::seeded(8, Faults::default()).without_remote_memory();
    cluster.hosts = (0..2).map(|n| cluster.host(n, 1)).collect();
    let region = register(&mut cluster, 0, 200_000);
    assert!(!region.is_one_sided());
    let remote = region.remote(both());
    assert!(!remote.is_in_window());
    assert_eq!(put(&mut cluster, 1, &remote, 5, vec![1; 100_000]), Ok(()));
    assert_eq!(get(&mut cluster, 0, &remote, 4, 3), Ok(vec![0, 1, 1]));
    let answer = region.unregister(LIMIT);
    let bytes = wait(&mut cluster, answer).unwrap();
    assert_eq!(bytes.iter().map(|&byte| usize::from(byte)).sum::<usize>(), 100_000);
    assert_eq!(get(&mut cluster, 1, &remote, 0, 1).unwrap_err().why, RegionProblem::Gone);
}

#[test]
fn what_there_is_no_memory_for_is_an_error() {
    let mut cluster = Cluster::new(10, 2, Faults::default(), reliable());
    let answer = cluster.hosts[0].node.register_window(usize::MAX).unwrap();
    let error = wait(&mut cluster, answer).unwrap_err();
    assert!(matches!(error.why, RegionProblem::Refused(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("cannot register 18446744073709551615 bytes of node 0: "), "{text}");
    // The node goes on.
    let region = register(&mut cluster, 0, 1);
    assert_eq!(get(&mut cluster, 1, &region.remote(both()), 0, 1), Ok(vec![0]));
}

#[test]
fn a_node_that_leaves_answers_all_who_wait() {
    let mut cluster = Cluster::new(9, 2, Faults::default(), reliable());
    let region = register(&mut cluster, 0, 100);
    let registering = cluster.hosts[0].node.register_window(5).unwrap();
    let unregistering = region.unregister(LIMIT);
    cluster.hosts.remove(0).node.leave();
    assert_eq!(wait(&mut cluster, registering).unwrap_err().why, RegionProblem::Left);
    assert_eq!(wait(&mut cluster, unregistering).unwrap_err().why, RegionProblem::Left);
}
