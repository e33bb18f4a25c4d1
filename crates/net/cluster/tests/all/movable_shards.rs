//! Shards that move: each key has one shard, each shard one life, wherever it is.

use crate::common::{Cluster, bad_network, reliable};
use actinium_actor::{Context, Recipient};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{
    Migrate, Movable, MovableId, MovableShards, Movables, NamesConfig, NodeConfig, NodeEvent,
    RemoteAskError, RemoteSendError, RepartitionConfig,
};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

const NAME: &str = "tallies";
const SHARDS: u32 = 16;
/// The first that wants to be answered: the one that began on node 0.
const CALLER: u32 = 77;
const MS: Duration = Duration::from_millis(1);
const LIMIT: Duration = Duration::from_secs(60);

thread_local! {
    /// Which life of which shard has handled something, in this order. All nodes are on one thread.
    static HANDLED: RefCell<Vec<(u32, u64)>> = const { RefCell::new(Vec::new()) };
}

/// Counts what comes from each sender, and what came when it was not its turn.
#[derive(Clone, Default, Serialize, Deserialize, Message)]
struct Tally {
    shard: u32,
    /// Tells the lives of a shard apart.
    life: u64,
    next: BTreeMap<u32, u64>,
    disorder: u64,
}

/// Where it is, what came from each sender, and what came in disorder.
type Seen = (u32, Vec<u64>, u64);

impl Migrate for Tally {
    const KIND: &'static str = "test.tally";
    /// Who, and which.
    type Message = (u32, u64);
    type Request = ();
    type Answer = Seen;

    fn message(&mut self, (from, number): (u32, u64), ctx: &Context<'_, Movable<Self>>) {
        assert_ne!(number, u64::MAX, "as the test wants");
        assert_eq!(MovableShards::<Tally>::here(ctx, NAME).unwrap().count(), SHARDS);
        HANDLED.with_borrow_mut(|handled| handled.push((self.shard, self.life)));
        let next = self.next.entry(from).or_default();
        self.disorder += u64::from(*next != number);
        *next = number + 1;
        if let (Some(node), Some(callers)) =
            (from.checked_sub(CALLER), Movables::<Caller>::here(ctx))
        {
            callers.at(MovableId { node, serial: 0 }).send(0).unwrap();
        }
    }

    fn request(&mut self, (): (), ctx: &Context<'_, Movable<Self>>) -> Seen {
        let node = Movables::<Tally>::here(ctx).unwrap().node();
        (node.0, self.next.values().copied().collect(), self.disorder)
    }
}

struct Sharded {
    cluster: Cluster,
    shards: Vec<MovableShards<Tally>>,
    quorum: usize,
    /// The node that tells, and the shard.
    started: Vec<(usize, u32)>,
    lost: Vec<(usize, u32, String)>,
    undelivered: u64,
}

impl Sharded {
    fn new(seed: u64, nodes: u32, quorum: usize, faults: Faults, config: NodeConfig) -> Self {
        let cluster = Cluster::new(seed, nodes, faults, config);
        let (shards, started, lost) = (Vec::new(), Vec::new(), Vec::new());
        let mut sharded = Sharded { cluster, shards, quorum, started, lost, undelivered: 0 };
        sharded.shards = (0..nodes as usize).map(|host| sharded.begin(host, SHARDS)).collect();
        sharded.steps(600);
        HANDLED.take();
        sharded
    }

    fn begin(&self, host: usize, count: u32) -> MovableShards<Tally> {
        static LIVES: AtomicU64 = AtomicU64::new(0);
        let node = &self.cluster.hosts[host].node;
        let names = node.names(NamesConfig { quorum: self.quorum }).unwrap();
        let movables = node.movables::<Tally>().unwrap();
        let make = |shard| {
            // Relaxed: only uniqueness matters.
            let life = LIVES.fetch_add(1, Ordering::Relaxed);
            Tally { shard, life, ..Tally::default() }
        };
        MovableShards::start(&movables, &names, NAME, count, make).unwrap()
    }

    fn plain(nodes: u32) -> Self {
        Self::new(1, nodes, 1, Faults::default(), reliable())
    }

    fn join(&mut self, node: u32) {
        let host = self.cluster.host(node, 1);
        self.cluster.hosts.push(host);
        self.shards.push(self.begin(node as usize, SHARDS));
    }

    /// Moves the time of actors, too: keepers wait before they try again.
    fn step(&mut self) {
        self.cluster.step();
        for host in &mut self.cluster.hosts {
            host.system.advance(MS);
        }
    }

    fn steps(&mut self, steps: u32) {
        (0..steps).for_each(|_| self.step());
    }

    fn wait<R>(
        &mut self,
        answer: impl Future<Output = Result<R, RemoteAskError>>,
    ) -> Result<R, RemoteAskError> {
        let mut answer = std::pin::pin!(answer);
        for _ in 0..70_000 {
            let mut cx = TaskContext::from_waker(Waker::noop());
            if let Poll::Ready(answer) = answer.as_mut().poll(&mut cx) {
                return answer;
            }
            self.step();
        }
        panic!("neither an answer nor its deadline");
    }

    fn send(&self, from: usize, shard: u32, number: u64) {
        self.shards[from].shard(shard).send((from as u32, number)).unwrap();
    }

    fn ask(&mut self, from: usize, shard: u32) -> Seen {
        let answer = self.shards[from].shard(shard).ask((), LIMIT);
        self.wait(answer).unwrap()
    }

    fn move_to(&mut self, from: usize, shard: u32, node: u32) {
        let found = self.shards[from].shard(shard).find(LIMIT);
        let moved = self.wait(found).unwrap().move_to(NodeId(node), LIMIT);
        self.wait(moved).unwrap();
    }

    /// Starts all, and says where each is.
    fn start_all(&mut self) -> Vec<u32> {
        (0..SHARDS).map(|shard| self.ask(0, shard).0).collect()
    }

    /// What the nodes have told so far.
    fn hear(&mut self) {
        for host in 0..self.cluster.hosts.len() {
            for event in self.cluster.events(host) {
                match event {
                    NodeEvent::ShardStarted { set, shard } => {
                        assert_eq!(set, NAME);
                        self.started.push((host, shard));
                    }
                    NodeEvent::ShardLost { set, shard, why } => {
                        assert_eq!(set, NAME);
                        self.lost.push((host, shard, why));
                    }
                    NodeEvent::Undelivered { messages, .. } => self.undelivered += messages,
                    NodeEvent::NameLost { name, .. } => panic!("of no actor of the user's: {name}"),
                    _ => {}
                }
            }
        }
    }

    /// How often each shard was started since this was asked last.
    fn starts(&mut self) -> Vec<usize> {
        self.hear();
        let started = std::mem::take(&mut self.started);
        let starts = |shard| started.iter().filter(|(_, it)| *it == shard).count();
        (0..SHARDS).map(starts).collect()
    }

    fn kill(&mut self, node: u32) {
        self.cluster.network.kill(NodeId(node));
        self.steps(1_200);
    }

    /// Cuts these nodes off from all others, or heals that; until all have noticed.
    fn part(&mut self, side: &[u32], cut: bool) {
        self.cluster.part(side, cut);
        self.steps(1_600);
    }
}

/// No life of a shard handles anything after a later one has.
fn never_two_at_once() {
    let mut lives: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (shard, life) in HANDLED.take() {
        let lives = lives.entry(shard).or_default();
        if lives.last() != Some(&life) {
            assert!(!lives.contains(&life), "shard {shard}: {life} again after {lives:?}");
            lives.push(life);
        }
    }
}

#[test]
fn a_key_has_the_same_shard_on_every_node_and_each_is_started_once() {
    for seed in 0..3 {
        let mut sharded = Sharded::new(seed, 4, 1, bad_network(), reliable());
        let mut sent = [0_u64; SHARDS as usize];
        for key in (0..60).map(|n| format!("key {n}")) {
            let shard = sharded.shards[0].shard_of(&key);
            assert!((0..4).all(|host| sharded.shards[host].shard_of(&key) == shard));
            // At once from everywhere.
            for from in 0..4 {
                let number = sent[shard as usize];
                sharded.shards[from].at(&key).send((from as u32, number)).unwrap();
            }
            sent[shard as usize] += 1;
        }
        assert!(sent.iter().all(|sent| (1..14).contains(sent)), "keys are spread: {sent:?}");
        let mut at = [0; 4];
        for shard in 0..SHARDS {
            // Behind all that the same node has sent.
            (0..4).for_each(|from| drop(sharded.ask(from, shard)));
            let (node, counts, disorder) = sharded.ask(0, shard);
            assert_eq!((counts, disorder), (vec![sent[shard as usize]; 4], 0), "seed {seed}");
            at[node as usize] += 1;
        }
        assert!(at.iter().all(|&shards| shards > 0), "on every node: {at:?}");
        assert_eq!(sharded.starts(), [1; SHARDS as usize], "seed {seed}");
        never_two_at_once();
    }
    // The same in every release.
    let sharded = Sharded::plain(1);
    assert_eq!(["", "a", "key 1"].map(|key| sharded.shards[0].shard_of(key)), PINNED);
}

const PINNED: [u32; 3] = [11, 8, 9];

/// Whatever moves when: all senders' messages arrive, each once, in order.
#[test]
fn what_is_sent_while_shards_move_arrives_once_and_in_order() {
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut sharded = Sharded::new(seed, 3, 1, bad_network(), reliable());
        let (mut sent, mut open) = ([[0_u64; 3]; 4], Vec::new());
        for _ in 0..80 {
            let (from, shard) = (random.usize(..3), random.u32(..4));
            for _ in 0..random.u32(..20) {
                sharded.send(from, shard, sent[shard as usize][from]);
                sent[shard as usize][from] += 1;
            }
            if random.u32(..3) == 0 {
                let found = sharded.shards[random.usize(..3)].shard(random.u32(..4)).find(LIMIT);
                let to = NodeId(random.u32(..3));
                open.push(sharded.wait(found).unwrap().move_to(to, LIMIT));
            }
            sharded.steps(random.u32(..25));
        }
        let moved = open.len();
        for answer in open {
            // One that is about to move refuses another move.
            let _ = sharded.wait(answer);
        }
        assert!(moved > 10, "{moved}");
        for shard in 0..4 {
            (0..3).for_each(|from| drop(sharded.ask(from, shard)));
            let (_, counts, disorder) = sharded.ask(0, shard);
            let of_shard = sent[shard as usize].iter().copied();
            let expected: Vec<u64> = of_shard.filter(|&sent| sent > 0).collect();
            assert_eq!((counts, disorder), (expected, 0), "shard {shard}, seed {seed}");
        }
        assert_eq!(sharded.starts()[..4], [1; 4], "seed {seed}");
        assert_eq!(sharded.lost, [], "seed {seed}");
        never_two_at_once();
    }
}

#[test]
fn shards_that_have_moved_live_on_when_the_node_that_started_them_goes_down() {
    for seed in 0..3 {
        let mut sharded = Sharded::new(seed, 4, 1, bad_network(), reliable());
        let at = sharded.start_all();
        assert_eq!(sharded.starts(), [1; SHARDS as usize]);
        let moved: Vec<u32> = (0..SHARDS).filter(|&shard| at[shard as usize] == 3).collect();
        assert!(!moved.is_empty());
        for &shard in &moved {
            sharded.send(0, shard, 0);
            sharded.move_to(0, shard, 1);
        }
        sharded.steps(100);
        sharded.kill(3);
        for &shard in &moved {
            // From who has sent to it, from where it is, and from who knows nothing of it.
            for from in 0..3 {
                assert_eq!(sharded.ask(from, shard), (1, vec![1], 0), "seed {seed}");
            }
        }
        assert_eq!(sharded.starts(), [0; SHARDS as usize]);
        assert_eq!(sharded.lost.iter().filter(|(at, ..)| *at < 3).count(), 0);
    }
}

#[test]
fn shards_of_a_node_that_goes_down_start_anew_once_and_that_is_told() {
    for seed in 0..4 {
        let mut sharded = Sharded::new(seed, 4, 3, Faults::default(), reliable());
        let at = sharded.start_all();
        for shard in 0..SHARDS {
            sharded.send(1, shard, 0);
            // Some are elsewhere than where they began.
            if shard % 3 == 0 {
                sharded.move_to(2, shard, (at[shard as usize] + 1) % 4);
            }
        }
        let before: Vec<Seen> = (0..SHARDS).map(|shard| sharded.ask(1, shard)).collect();
        sharded.starts();
        sharded.kill(3);
        sharded.hear();
        let was_there = |shard: u32| before[shard as usize].0 == 3;
        let mut told: Vec<u32> =
            sharded.lost.iter().filter(|lost| lost.0 == 1).map(|lost| lost.1).collect();
        told.sort_unstable();
        assert_eq!(told, (0..SHARDS).filter(|&it| was_there(it)).collect::<Vec<_>>());
        // All at once.
        for shard in 0..SHARDS {
            for from in 0..3 {
                sharded.shards[from].shard(shard).send((10 + from as u32, 0)).unwrap();
            }
        }
        sharded.steps(900);
        let starts = sharded.starts();
        for shard in 0..SHARDS {
            let (is, counts, disorder) = sharded.ask(shard as usize % 3, shard);
            let kept = usize::from(!was_there(shard));
            assert_eq!((counts.len(), disorder), (3 + kept, 0), "shard {shard}, seed {seed}");
            assert!(is == before[shard as usize].0 || was_there(shard));
            assert_eq!(starts[shard as usize], 1 - kept, "shard {shard}, seed {seed}");
        }
        never_two_at_once();
    }
}

/// Nodes die in the middle of moves, at any step of them.
#[test]
fn whenever_a_node_dies_each_shard_has_one_life() {
    for seed in 0..24 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut sharded = Sharded::new(seed, 5, 3, bad_network(), reliable());
        sharded.start_all();
        let mut open = Vec::new();
        for _ in 0..2 {
            for shard in 0..SHARDS {
                let found = sharded.shards[0].shard(shard).find(LIMIT);
                let address = sharded.wait(found).unwrap();
                open.push(address.move_to(NodeId(random.u32(..5)), Duration::from_secs(5)));
            }
            sharded.steps(random.u32(..12));
        }
        for dead in [4, 3] {
            sharded.steps(random.u32(..6));
            sharded.cluster.network.kill(NodeId(dead));
            // It does nothing more, not even for itself.
            drop((sharded.shards.pop(), sharded.cluster.hosts.pop()));
        }
        for number in 0..40 {
            for shard in 0..SHARDS {
                sharded.send(number as usize % 3, shard, number / 3);
            }
            sharded.steps(50);
        }
        sharded.steps(500);
        drop(open);
        for shard in 0..SHARDS {
            let seen: Vec<Seen> = (0..3).map(|from| sharded.ask(from, shard)).collect();
            assert!(seen[0].0 < 3 && seen[0] == seen[1], "shard {shard}, seed {seed}: {seen:?}");
            assert_eq!(seen[1], seen[2], "shard {shard}, seed {seed}");
        }
        never_two_at_once();
    }
}

#[test]
fn a_node_that_joins_finds_all_and_starts_none() {
    for seed in 0..3 {
        let mut sharded = Sharded::new(seed, 2, 2, bad_network(), reliable());
        let at = sharded.start_all();
        (0..SHARDS).for_each(|shard| sharded.send(0, shard, 0));
        sharded.starts();
        for next in 2..4 {
            // What is sent before it has met the others waits: it alone is no quorum.
            sharded.join(next);
            (0..SHARDS).for_each(|shard| sharded.send(next as usize, shard, 0));
            sharded.steps(600);
        }
        for shard in 0..SHARDS {
            (0..4).for_each(|from| drop(sharded.ask(from, shard)));
            let expected = (at[shard as usize], vec![1; 3], 0);
            assert_eq!(sharded.ask(2, shard), expected, "shard {shard}, seed {seed}");
        }
        assert_eq!(sharded.starts(), [0; SHARDS as usize], "seed {seed}");
        assert_eq!(sharded.lost, []);
    }
}

#[test]
fn with_a_quorum_nothing_starts_before_and_the_smaller_side_ends() {
    let mut sharded = Sharded::new(1, 1, 2, Faults::default(), reliable());
    sharded.send(0, 5, 0);
    sharded.steps(500);
    assert_eq!(sharded.starts()[5], 0, "it waits");
    sharded.join(1);
    sharded.join(2);
    sharded.steps(800);
    let at = sharded.start_all();
    assert_eq!(sharded.starts(), [1; SHARDS as usize]);
    assert_eq!(sharded.ask(2, 5).1, [1]);
    sharded.part(&[0], true);
    sharded.hear();
    // Node 0 is told of all: its own have ended, and others are out of reach.
    let mut lost: Vec<u32> =
        sharded.lost.iter().filter(|lost| lost.0 == 0).map(|lost| lost.1).collect();
    lost.sort_unstable();
    assert_eq!(lost, (0..SHARDS).collect::<Vec<_>>());
    for shard in 0..SHARDS {
        let (is, ..) = sharded.ask(1, shard);
        let was = at[shard as usize];
        assert!(is != 0 && (was == 0 || is == was));
    }
    sharded.starts();
    // What does not find its shard in time is lost, and told; a request says why.
    sharded.send(0, 7, 0);
    let asked = sharded.shards[0].shard(7).ask((), LIMIT);
    let no_quorum = RemoteAskError::NoQuorum { up: 1, quorum: 2 };
    assert_eq!(sharded.wait(asked), Err(no_quorum));
    sharded.hear();
    assert_eq!(sharded.undelivered, 1);
    // The rest waits until the sides meet again, and starts nothing.
    (0..SHARDS).for_each(|shard| sharded.send(0, shard, 7));
    sharded.part(&[0], false);
    sharded.steps(500);
    assert_eq!(sharded.starts(), [0; SHARDS as usize]);
    for shard in 0..SHARDS {
        let seen = sharded.ask(0, shard);
        assert_eq!(seen.1, [8]);
        assert_eq!(seen, sharded.ask(2, shard));
    }
}

#[test]
fn of_two_lives_the_younger_ends_when_the_sides_meet_again() {
    let mut sharded = Sharded::plain(4);
    let mut at = sharded.start_all();
    for shard in 0..SHARDS {
        sharded.send(0, shard, 0);
        if shard % 2 == 0 {
            // It is no younger by that.
            at[shard as usize] = (at[shard as usize] + 1) % 4;
            sharded.move_to(0, shard, at[shard as usize]);
        }
    }
    sharded.steps(100);
    sharded.starts();
    sharded.part(&[2, 3], true);
    for shard in 0..SHARDS {
        let (left, right) = (sharded.ask(0, shard), sharded.ask(3, shard));
        assert!(left.0 < 2 && right.0 >= 2);
    }
    assert_eq!(sharded.starts(), [1; SHARDS as usize], "one more of each");
    sharded.lost.clear();
    sharded.part(&[2, 3], false);
    for shard in 0..SHARDS {
        for from in 0..4 {
            let (is, counts, _) = sharded.ask(from, shard);
            assert_eq!((is, &counts[..]), (at[shard as usize], &[1][..]), "the older one");
        }
    }
    assert_eq!(sharded.starts(), [0; SHARDS as usize]);
    let mut lost: Vec<u32> = sharded.lost.iter().map(|(_, shard, _)| *shard).collect();
    lost.sort_unstable();
    lost.dedup();
    assert_eq!(lost, (0..SHARDS).collect::<Vec<_>>());
}

#[test]
fn a_shard_that_fails_starts_anew_when_it_is_needed() {
    let mut sharded = Sharded::plain(2);
    sharded.send(0, 3, 0);
    assert_eq!(sharded.ask(1, 3).1, [1]);
    sharded.starts();
    sharded.send(0, 3, u64::MAX);
    sharded.steps(100);
    assert_eq!(sharded.starts()[3], 0, "nobody needs it");
    // Both have sent to it.
    assert_eq!(sharded.lost.iter().map(|lost| lost.1).collect::<Vec<_>>(), [3, 3]);
    sharded.send(1, 3, 0);
    sharded.steps(100);
    assert_eq!(sharded.ask(0, 3).1, [1], "of the new one");
    assert_eq!(sharded.starts()[3], 1);
}

#[test]
fn a_shard_goes_only_where_its_set_is() {
    let mut sharded = Sharded::plain(2);
    let host = sharded.cluster.host(2, 1);
    let stranger = host.node.movables::<Tally>().unwrap();
    sharded.cluster.hosts.push(host);
    sharded.steps(600);
    sharded.send(0, 3, 0);
    let found = sharded.shards[0].shard(3).find(LIMIT);
    let address = sharded.wait(found).unwrap();
    let moved = address.move_to(NodeId(2), LIMIT);
    assert!(matches!(sharded.wait(moved), Err(RemoteAskError::NotStarted { .. })));
    // It goes on, and may move elsewhere.
    let to = 1 - sharded.ask(1, 3).0;
    sharded.move_to(0, 3, to);
    assert_eq!(sharded.ask(1, 3), (to, vec![1], 0));
    // Not even by the stranger.
    let other = stranger.find(address.id(), LIMIT);
    let moved = sharded.wait(other).unwrap().move_to(NodeId(2), LIMIT);
    assert!(sharded.wait(moved).is_err());
    assert_eq!(sharded.ask(0, 3), (to, vec![1], 0));
    assert_eq!(sharded.starts().iter().sum::<usize>(), 1);
}

#[test]
fn shards_move_to_who_talks_with_them() {
    const ROUND: Duration = Duration::from_secs(10);
    let repartition = RepartitionConfig { sample_every: 1, round: ROUND, ..Default::default() };
    let config = NodeConfig { repartition: Some(repartition), ..reliable() };
    let mut sharded = Sharded::new(1, 2, 1, Faults::default(), config);
    let callers: Vec<Movables<Caller>> =
        sharded.cluster.hosts.iter().map(|host| host.node.movables().unwrap()).collect();
    let at = sharded.start_all();
    // One talks with a shard of the node with more of them; it stays.
    let there = at.iter().filter(|&&node| node == 1).count();
    let to = u32::from(there < at.len() / 2);
    let shard = (0..).find(|&it| at[it as usize] != to).unwrap();
    let caller = callers[to as usize].spawn(Caller { home: to, shard, sent: 0 });
    for _ in 0..6 {
        caller.send(200).unwrap();
        sharded.steps(20);
        for host in &mut sharded.cluster.hosts {
            host.system.advance(ROUND);
        }
        sharded.steps(60);
    }
    assert_eq!(sharded.ask(1, shard), (to, vec![1_200], 0), "it has come, with its state");
    assert_eq!(sharded.starts(), [1; SHARDS as usize]);
}

/// Talks with a shard.
#[derive(Clone, Serialize, Deserialize, Message)]
struct Caller {
    home: u32,
    shard: u32,
    sent: u64,
}

impl Migrate for Caller {
    const KIND: &'static str = "test.caller-of-shards";
    type Message = u64;
    type Request = ();
    type Answer = ();

    fn message(&mut self, messages: u64, ctx: &Context<'_, Movable<Self>>) {
        let tallies = MovableShards::<Tally>::here(ctx, NAME).unwrap();
        assert!(MovableShards::<Tally>::here(ctx, "others").is_none());
        for _ in 0..messages {
            tallies.shard(self.shard).send((CALLER + self.home, self.sent)).unwrap();
            self.sent += 1;
        }
    }

    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) {}

    fn is_pinned(&self) -> bool {
        true
    }
}

#[test]
fn so_much_waits_for_a_shard_and_no_more() {
    let mut sharded = Sharded::new(1, 1, 2, Faults::default(), reliable());
    (0..4096).for_each(|number| sharded.send(0, 5, number));
    let error = sharded.shards[0].shard(5).send((0, 4096)).unwrap_err();
    assert!(matches!(error, RemoteSendError::Full((0, 4096))), "{error}");
    let asked = sharded.shards[0].shard(5).ask((), LIMIT);
    assert_eq!(sharded.wait(asked), Err(RemoteAskError::Full(NodeId(0))));
    let shard = sharded.shards[0].shard(5);
    let ready = async move {
        shard.ready().await;
        Ok(())
    };
    sharded.join(1);
    sharded.wait(ready).unwrap();
    sharded.send(0, 5, 4096);
    assert_eq!(sharded.ask(0, 5).1, [4097]);
}

#[test]
fn a_shard_may_be_a_recipient() {
    let mut sharded = Sharded::plain(2);
    let found = sharded.shards[0].shard(9).find(LIMIT);
    let recipient = Recipient::from(&sharded.wait(found).unwrap());
    recipient.send((0, 0)).unwrap();
    assert_eq!(sharded.ask(0, 9).1, [1]);
}

#[test]
fn what_differs_and_what_fails_is_told() {
    let mut sharded = Sharded::plain(1);
    let node = &sharded.cluster.hosts[0].node;
    assert!(node.names(NamesConfig::default()).is_err());
    sharded.start_all();
    let host = sharded.cluster.host(1, 1);
    sharded.cluster.hosts.push(host);
    let other = sharded.begin(1, 7);
    sharded.steps(600);
    let answers: Vec<_> = (0..7).map(|shard| other.shard(shard).find(LIMIT)).collect();
    for answer in answers {
        let error = sharded.wait(answer).unwrap_err().to_string();
        assert!(error.contains("7 shards here, and 16 at node 0"), "{error}");
    }

    let mut cluster = Cluster::new(1, 1, Faults::default(), reliable());
    let node = &cluster.hosts[0].node;
    let (names, movables) = (node.names(NamesConfig::default()).unwrap(), node.movables().unwrap());
    let make = |shard| {
        assert_ne!(shard, 1, "no such thing");
        Tally::default()
    };
    let shards = MovableShards::start(&movables, &names, NAME, 2, make).unwrap();
    assert!(MovableShards::start(&movables, &names, NAME, 2, make).is_err(), "twice");
    let failed = shards.shard(1).find(LIMIT);
    cluster.steps(600);
    cluster.hosts[0].system.advance(LIMIT / 2);
    let error = cluster.wait(failed).unwrap_err().to_string();
    assert!(error.contains("no such thing"), "{error}");
    let found = shards.shard(0).find(LIMIT);
    cluster.wait(found).unwrap();
    assert_eq!(format!("{:?}", shards.shard(1)), "ShardAddress(1 of tallies)");
}

#[test]
#[should_panic(expected = "0 shards: 1 to 65536 may be")]
fn there_is_a_shard() {
    let cluster = Cluster::new(1, 1, Faults::default(), reliable());
    let node = &cluster.hosts[0].node;
    let (names, movables) = (node.names(NamesConfig::default()).unwrap(), node.movables().unwrap());
    drop(MovableShards::start(&movables, &names, NAME, 0, |_| Tally::default()));
}
