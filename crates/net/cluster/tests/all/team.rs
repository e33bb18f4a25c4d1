//! Nodes of one process that do things together.

use actinium_actor::{Actor, Context, Reply, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{Node, NodeConfig, RemoteActor, RemoteAddress, Team, TeamError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(240);

/// Plays `part` on each of so many nodes, and leaves; what each made.
fn play<R: Send>(nodes: u32, part: impl Fn(&Node, &System, Team) -> R + Sync) -> Vec<R> {
    let network = Network::new();
    let fabrics: Vec<_> = (0..nodes).map(|n| network.node(NodeId(n))).collect();
    let members: Vec<NodeId> = (0..nodes).map(NodeId).collect();
    let (part, members) = (&part, &members);
    thread::scope(|scope| {
        let start = |fabric| {
            scope.spawn(move || {
                // On a busy machine a thread may not run for seconds: that is no death here.
                let link = LinkConfig { down_after_ns: 240_000_000_000, ..LinkConfig::default() };
                let config = NodeConfig { link, linger: LIMIT, ..NodeConfig::default() };
                let system = System::builder().workers(1).build().unwrap();
                let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
                let team = Team::form(&node, &system.handle(), "test", members, LIMIT).unwrap();
                let made = part(&node, &system, team);
                node.leave();
                made
            })
        };
        let threads: Vec<_> = fabrics.into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn values_are_folded_in_order_and_all_hear_the_result() {
    for nodes in [1, 2, 3, 6] {
        let made = play(nodes, |_, _, team| {
            let me = team.rank() as u64;
            let text = team.all_reduce(me.to_string(), |a, b| a + "," + &b).wait().unwrap();
            let all = team.all_gather(me * me).wait().unwrap();
            let told = team.broadcast(Some(me + 100)).wait().unwrap();
            (text, all, told)
        });
        let names: Vec<String> = (0..nodes).map(|n| n.to_string()).collect();
        let squares: Vec<u64> = (0..u64::from(nodes)).map(|n| n * n).collect();
        for one in made {
            assert_eq!(one, (names.join(","), squares.clone(), Some(100)));
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    let come = AtomicU64::new(0);
    play(5, |_, _, team| {
        for round in 1..=20 {
            come.fetch_add(1, Ordering::SeqCst);
            team.barrier().wait().unwrap();
            assert!(come.load(Ordering::SeqCst) >= 5 * round);
            team.barrier().wait().unwrap();
            assert_eq!(come.load(Ordering::SeqCst), 5 * round);
            team.barrier().wait().unwrap();
        }
    });
}

/// Sends a number on, to the next node, until it is 0.
struct Relay {
    next: Option<RemoteAddress<Relay>>,
    handled: Arc<AtomicU64>,
}

enum Msg {
    Next(RemoteAddress<Relay>),
    Number(u64),
}

impl Actor for Relay {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Next(next) => self.next = Some(next),
            Msg::Number(n) => {
                self.handled.fetch_add(1, Ordering::SeqCst);
                if n > 0 {
                    self.next.as_ref().unwrap().send(n - 1).unwrap();
                }
            }
        }
    }
}

impl RemoteActor for Relay {
    const KIND: &'static str = "test.team-relay";
    type Message = u64;
    type Request = ();
    type Answer = ();
    fn message(n: u64) -> Msg {
        Msg::Number(n)
    }
    fn request((): (), reply: Reply<()>) -> Msg {
        drop(reply);
        Msg::Number(0)
    }
}

/// One message goes round: at nearly any time nobody has anything to do but one, or it is under
/// way. The end is seen when it has come, not before.
#[test]
fn the_end_of_all_work_is_seen_and_not_too_early() {
    const HOPS: u64 = 300;
    let handled = Arc::new(AtomicU64::new(0));
    play(3, |node, system, team| {
        let relay = system.spawn(Relay { next: None, handled: handled.clone() });
        node.export("relay", &relay).unwrap();
        let next = NodeId((node.id().0 + 1) % 3);
        let next = node.find::<Relay>(next, "relay", LIMIT).wait().unwrap();
        relay.send(Msg::Next(next)).unwrap();
        team.barrier().wait().unwrap();
        for round in 1..=3 {
            if team.rank() == 0 {
                relay.send(Msg::Number(HOPS)).unwrap();
            }
            team.quiesce(node, || system.wait_idle(Duration::MAX)).unwrap();
            assert_eq!(handled.load(Ordering::SeqCst), round * (HOPS + 1));
            team.barrier().wait().unwrap();
        }
    });
}

#[test]
fn who_is_missing_is_named_to_all_and_who_has_left_is_not_missed_too_early() {
    let made = play(4, |_, _, team| {
        team.barrier().wait().unwrap();
        // Node 3 leaves at once; what it took part in was finished by all.
        if team.rank() == 3 { Ok(()) } else { team.barrier().wait() }
    });
    for one in &made[..3] {
        let Err(TeamError::Failed(why)) = one else { panic!("{one:?}") };
        assert!(why.contains("node 3 is down: it left") || why.contains("is down"), "{why}");
    }
    assert!(made.iter().any(|one| format!("{one:?}").contains("node 3 is down: it left")));
}

#[test]
fn a_value_that_is_too_long_is_an_error_for_all() {
    let made = play(3, |_, _, team| {
        let long = vec![0_u8; if team.rank() == 1 { 2_000_000 } else { 1 }];
        let error = team.all_gather(long).wait().unwrap_err().to_string();
        // The team is as good as before.
        team.barrier().wait().unwrap();
        error
    });
    assert!(made.iter().all(|error| error.contains("2000")), "{made:?}");
}

#[test]
fn whoever_is_no_member_and_a_name_that_is_taken_are_refused() {
    let network = Network::new();
    let fabric = network.node(NodeId(0));
    let system = System::builder().workers(1).build().unwrap();
    let node = Node::start(system.handle(), NodeConfig::default(), move || Ok(fabric)).unwrap();
    let form = |name, members: &[u32]| {
        let members: Vec<_> = members.iter().copied().map(NodeId).collect();
        Team::form(&node, &system.handle(), name, &members, LIMIT)
    };
    assert_eq!(form("a", &[1, 2]).unwrap_err(), TeamError::NotAMember(NodeId(0)));
    let _team = form("a", &[0]).unwrap();
    assert_eq!(form("a", &[0]).unwrap_err(), TeamError::NameTaken("a".to_owned()));
}
