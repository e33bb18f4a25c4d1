//! Names that the whole cluster knows, with nodes that come, go, and lose each other.

use crate::common::{Cluster, LIMIT, bad_network, reliable};
use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{Faults, Network};
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{
    AnyAddress, Names, NamesConfig, Node, NodeConfig, NodeEvent, RemoteActor, RemoteAskError,
};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

/// Knows who it is.
struct Owner(u64);

impl Actor for Owner {
    type Msg = Option<Reply<u64>>;
    fn handle(&mut self, reply: Option<Reply<u64>>, _ctx: &mut Context<'_, Self>) {
        let _ = reply.map(|reply| reply.send(self.0));
    }
}

impl RemoteActor for Owner {
    const KIND: &'static str = "test.owner";
    type Message = ();
    type Request = ();
    type Answer = u64;
    fn message((): ()) -> Option<Reply<u64>> {
        None
    }
    fn request((): (), reply: Reply<u64>) -> Option<Reply<u64>> {
        Some(reply)
    }
}

/// Of another type.
struct Other;

impl Actor for Other {
    type Msg = ();
    fn handle(&mut self, (): (), _ctx: &mut Context<'_, Self>) {}
}

impl RemoteActor for Other {
    const KIND: &'static str = "test.other";
    type Message = ();
    type Request = ();
    type Answer = ();
    fn message((): ()) {}
    fn request((): (), _: Reply<()>) {}
}

struct Named {
    cluster: Cluster,
    names: Vec<Names>,
}

impl Named {
    fn new(seed: u64, nodes: u32, quorum: usize, faults: Faults) -> Self {
        Self::with(seed, nodes, quorum, faults, reliable())
    }

    fn with(seed: u64, nodes: u32, quorum: usize, faults: Faults, config: NodeConfig) -> Self {
        let mut cluster = Cluster::new(seed, nodes, faults, config);
        let names = cluster
            .hosts
            .iter()
            .map(|host| host.node.names(NamesConfig { quorum }).unwrap())
            .collect();
        cluster.steps(400);
        Named { cluster, names }
    }

    fn owner(&self, at: usize, me: u64) -> Address<Owner> {
        self.cluster.hosts[at].system.spawn(Owner(me))
    }

    fn claim(&mut self, at: usize, owner: &Address<Owner>) -> Result<(), RemoteAskError> {
        let answer = self.names[at].claim("one", owner, LIMIT);
        self.cluster.wait(answer)
    }

    /// What the owner says that this node finds.
    fn found(&mut self, from: usize) -> Result<u64, RemoteAskError> {
        let answer = self.names[from].find::<Owner>("one", LIMIT);
        let owner = self.cluster.wait(answer)?;
        let answer = owner.ask((), LIMIT);
        self.cluster.wait(answer)
    }

    fn lost(&self, at: usize) -> Vec<RemoteAskError> {
        let lost = |event| match event {
            NodeEvent::NameLost { name, why } => {
                assert_eq!(name, "one");
                Some(why)
            }
            _ => None,
        };
        self.cluster.events(at).into_iter().filter_map(lost).collect()
    }

    /// Cuts these nodes off from all others, or heals that; until all have noticed.
    fn part(&mut self, side: &[u32], cut: bool) {
        self.cluster.part(side, cut);
        self.cluster.steps(1_600);
    }
}

#[test]
fn a_name_has_one_owner_that_all_find() {
    for seed in 0..2 {
        let mut named = Named::new(seed, 4, 1, bad_network());
        let (first, second) = (named.owner(1, 11), named.owner(2, 22));
        assert_eq!(named.found(0), Err(RemoteAskError::NoSuchName("one".to_owned())));
        assert_eq!(named.claim(1, &first), Ok(()));
        let taken = RemoteAskError::NameTaken { name: "one".to_owned(), node: NodeId(1) };
        assert_eq!(named.claim(2, &second), Err(taken.clone()));
        assert_eq!(named.claim(1, &first), Err(taken));
        for from in 0..4 {
            assert_eq!(named.found(from), Ok(11), "from {from}");
            let answer = named.names[from].find::<Other>("one", LIMIT);
            let error = named.cluster.wait(answer).unwrap_err();
            assert!(matches!(error, RemoteAskError::OtherKind { .. }), "{error:?}");
        }
        // Given back, and taken by another; which ends.
        named.names[1].release("one");
        while let Err(error) = named.claim(2, &second) {
            assert!(matches!(error, RemoteAskError::NameTaken { .. }), "{error}");
        }
        assert_eq!((named.found(0), named.found(2)), (Ok(22), Ok(22)));
        second.stop();
        while named.claim(3, &first).is_err() {}
        assert!(!first.is_closed() && named.lost(1).is_empty() && named.lost(2).is_empty());
        assert!(named.cluster.hosts[0].node.names(NamesConfig::default()).is_err(), "twice");
    }
}

/// Whoever looks at the answer late, because the process was stopped, say, does not wait twice as
/// long for it.
#[test]
fn the_limit_of_a_search_is_one_for_all_that_is_asked_for_it() {
    let mut named = Named::new(5, 2, 1, Faults::default());
    let owner = named.owner(1, 11);
    assert_eq!(named.claim(1, &owner), Ok(()));
    let limit = Duration::from_millis(100);
    for (late, is_in_time) in [(50, true), (110, false)] {
        // The directory answers meanwhile; who has the name is asked for its address when somebody
        // looks.
        let mut answer = named.names[0].find::<Owner>("one", limit);
        named.cluster.steps(late);
        let mut cx = TaskContext::from_waker(Waker::noop());
        match Pin::new(&mut answer).poll(&mut cx) {
            Poll::Ready(found) => {
                assert_eq!(found.unwrap_err(), RemoteAskError::Timeout(limit));
                assert!(!is_in_time);
            }
            Poll::Pending => {
                assert!(is_in_time, "it begins again after {late} ms");
                assert!(named.cluster.wait(answer).is_ok());
            }
        }
    }
}

/// The owner and one node do not hear each other, which may be the directory for the rest while it
/// lives.
#[test]
fn who_comes_and_goes_out_of_the_owners_sight_takes_no_name_with_it() {
    let mut named = Named::new(3, 3, 1, Faults::default());
    named.part(&[2], true);
    let owners: Vec<_> = (0..16).map(|n| (format!("name {n}"), named.owner(0, n))).collect();
    for (name, owner) in &owners {
        let answer = named.names[0].claim(name, owner, LIMIT);
        assert_eq!(named.cluster.wait(answer), Ok(()));
    }
    named.cluster.network.heal(NodeId(1), NodeId(2));
    named.cluster.steps(1_600);
    named.part(&[2], true);
    for (name, owner) in owners {
        let answer = named.names[1].find::<Owner>(&name, LIMIT);
        assert!(named.cluster.wait(answer).is_ok(), "{name}");
        assert!(!owner.is_closed());
    }
}

/// On a plain link the farewell to a name may be lost.
#[test]
fn a_name_that_was_given_back_is_free_whatever_was_lost() {
    let mut named = Named::with(5, 2, 1, Faults::default(), NodeConfig::default());
    let nodes = [NodeId(0), NodeId(1)];
    for n in 0..8 {
        let name = format!("name {n}");
        let (first, second) = (named.owner(0, 1), named.owner(1, 2));
        let answer = named.names[0].claim(&name, &first, LIMIT);
        assert_eq!(named.cluster.wait(answer), Ok(()));
        named.cluster.network.cut(nodes[0], nodes[1]);
        named.names[0].release(&name);
        // For less than it takes to give each other up.
        named.cluster.steps(200);
        named.cluster.network.heal(nodes[0], nodes[1]);
        named.cluster.steps(400);
        let answer = named.names[1].claim(&name, &second, LIMIT);
        assert_eq!(named.cluster.wait(answer), Ok(()), "{name}");
        assert!(!first.is_closed());
    }
}

#[test]
fn whoever_keeps_the_list_may_die() {
    for dead in 1..4 {
        let mut named = Named::new(7, 4, 1, Faults::default());
        let owner = named.owner(0, 5);
        named.claim(0, &owner).unwrap();
        named.cluster.network.kill(NodeId(dead));
        named.cluster.steps(1_200);
        for from in (0..4).filter(|&from| from != dead as usize) {
            assert_eq!(named.found(from), Ok(5), "{dead} is dead, from {from}");
        }
        let other = named.owner(if dead == 1 { 2 } else { 1 }, 6);
        assert!(named.claim(if dead == 1 { 2 } else { 1 }, &other).is_err());
    }
}

/// Without a quorum: each side has an owner, until they hear each other again. The older stays,
/// whichever side keeps the list.
#[test]
fn split_brain_ends_with_the_older_owner() {
    for older in 0..4 {
        let mut named = Named::new(3, 4, 1, Faults::default());
        let younger = (older + 2) % 4;
        let first = named.owner(older, 1);
        named.claim(older, &first).unwrap();
        let side = [older as u32, (older as u32 + 1) % 4];
        named.part(&side, true);
        let second = named.owner(younger, 2);
        assert_eq!(named.claim(younger, &second), Ok(()));
        for from in 0..4 {
            let expected = if side.contains(&(from as u32)) { 1 } else { 2 };
            assert_eq!(named.found(from), Ok(expected), "from {from}, older {older}");
        }
        assert!(!first.is_closed() && !second.is_closed());
        named.part(&side, false);
        assert!(!first.is_closed() && second.is_closed());
        for from in 0..4 {
            assert_eq!(named.found(from), Ok(1), "from {from}, older {older}");
        }
        let why = RemoteAskError::NameTaken { name: "one".to_owned(), node: NodeId(older as u32) };
        assert_eq!(named.lost(younger), [why]);
        assert_eq!(named.lost(older), []);
    }
}

/// With one: the smaller side gives its owner up as soon as it notices, and gets none.
#[test]
fn with_a_quorum_the_smaller_side_has_no_owner() {
    let mut named = Named::new(4, 5, 3, Faults::default());
    let first = named.owner(0, 1);
    named.claim(0, &first).unwrap();
    named.part(&[0, 1], true);
    assert!(first.is_closed());
    let why = RemoteAskError::NoQuorum { up: 2, quorum: 3 };
    assert_eq!(named.lost(0), std::slice::from_ref(&why));
    let (small, large) = (named.owner(1, 2), named.owner(3, 3));
    assert_eq!(named.claim(1, &small), Err(why.clone()));
    assert_eq!(named.found(1), Err(why));
    assert_eq!(named.claim(3, &large), Ok(()));
    named.part(&[0, 1], false);
    for from in 0..5 {
        assert_eq!(named.found(from), Ok(3), "from {from}");
    }
    assert!(!large.is_closed());
}

/// Claims, releases, cuts and heals as a seed says, over a bad network: when all hear each other
/// again, one owner is left, and all find it.
#[test]
fn in_the_end_there_is_one_owner_whatever_happened() {
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut named = Named::new(seed, 5, 1, bad_network());
        let mut owners: Vec<(usize, Address<Owner>)> = Vec::new();
        let mut asked = Vec::new();
        for me in 0..12 {
            match random.u32(..4) {
                0 => {
                    let (a, b) = (random.u32(..5), random.u32(..5));
                    named.cluster.network.cut(NodeId(a), NodeId(b));
                }
                1 => named.names[random.usize(..5)].release("one"),
                _ => {
                    let at = random.usize(..5);
                    let owner = named.owner(at, me);
                    asked.push(named.names[at].claim("one", &owner, LIMIT));
                    owners.push((at, owner));
                }
            }
            named.cluster.steps(random.u32(..1_500));
        }
        for a in 0..5 {
            (0..a).for_each(|b| named.cluster.network.heal(NodeId(a), NodeId(b)));
        }
        named.cluster.steps(3_000);
        for answer in asked {
            // Each was told something.
            let _ = named.cluster.wait(answer);
        }
        // Whoever was refused, or gave it back, lives on; of those that have it, there is one.
        let found: Vec<_> = (0..5).map(|from| named.found(from)).collect();
        assert!(found.iter().all(|one| *one == found[0]), "{found:?}, seed {seed}");
        let last = named.owner(0, 99);
        let claimed = named.claim(0, &last);
        assert_eq!(claimed.is_ok(), found[0].is_err(), "{claimed:?} {found:?}, seed {seed}");
    }
}

#[test]
fn of_threads_that_ask_at_once_one_gets_it() {
    const WAIT: Duration = Duration::from_secs(240);
    let network = Network::new();
    let fabrics: Vec<_> = (0..3).map(|n| network.node(NodeId(n))).collect();
    let start = |fabric| {
        let link = LinkConfig { down_after_ns: 240_000_000_000, ..LinkConfig::default() };
        let config = NodeConfig { link, ..NodeConfig::default() };
        let system = System::builder().workers(1).build().unwrap();
        let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
        // With all: before they know each other, nobody gets anything.
        let names = node.names(NamesConfig { quorum: 3 }).unwrap();
        (system, node, names)
    };
    let hosts: Vec<_> = fabrics.into_iter().map(start).collect();
    let owners: Vec<_> =
        hosts.iter().map(|(system, node, _)| system.spawn(Owner(node.id().0.into()))).collect();
    let won: Vec<bool> = std::thread::scope(|scope| {
        let claims: Vec<_> = hosts
            .iter()
            .zip(&owners)
            .map(|((_, _, names), owner)| {
                scope.spawn(move || {
                    loop {
                        match names.claim("one", owner, WAIT).wait() {
                            Ok(()) => return true,
                            Err(RemoteAskError::NameTaken { .. }) => return false,
                            Err(RemoteAskError::NoQuorum { .. }) => std::thread::yield_now(),
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).collect()
    });
    assert_eq!(won.iter().filter(|&&won| won).count(), 1, "{won:?}");
    let winner = won.iter().position(|&won| won).unwrap() as u64;
    for (_, node, names) in &hosts {
        let owner: AnyAddress<Owner> = names.find("one", WAIT).wait().unwrap();
        assert_eq!(owner.ask((), WAIT).wait(), Ok(winner), "from {}", node.id());
    }
    hosts.iter().for_each(|(_, node, _)| node.leave());
}
