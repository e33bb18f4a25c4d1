//! Keys that are spread over nodes that come and go.

use crate::common::{Cluster, LIMIT, bad_network};
use actinium_actor::{Actor, Context, Reply};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{NodeConfig, RemoteActor, RemoteAskError, Shards};
use std::collections::BTreeMap;

/// Counts per key, and says so with who it is.
struct Share {
    me: u32,
    counts: BTreeMap<String, u64>,
}

enum Msg {
    Add(String),
    Count(String, Reply<(u32, u64)>),
}

impl Actor for Share {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Add(key) => *self.counts.entry(key).or_default() += 1,
            Msg::Count(key, reply) => {
                let count = self.counts.get(&key).copied().unwrap_or_default();
                let _ = reply.send((self.me, count));
            }
        }
    }
}

impl RemoteActor for Share {
    const KIND: &'static str = "test.share";
    type Message = String;
    type Request = String;
    type Answer = (u32, u64);
    fn message(key: String) -> Msg {
        Msg::Add(key)
    }
    fn request(key: String, reply: Reply<(u32, u64)>) -> Msg {
        Msg::Count(key, reply)
    }
}

struct Sharded {
    cluster: Cluster,
    shards: Vec<Shards<Share>>,
}

fn start(cluster: &Cluster, host: usize) -> Shards<Share> {
    let share = Share { me: host as u32, counts: BTreeMap::new() };
    let share = cluster.hosts[host].system.spawn(share);
    cluster.hosts[host].node.shards("shares", &share).unwrap()
}

impl Sharded {
    /// Plain links: what is lost of requests for each other's shares is asked again.
    fn new(nodes: u32, faults: Faults) -> Self {
        let mut cluster = Cluster::new(9, nodes, faults, NodeConfig::default());
        let shards = (0..nodes as usize).map(|host| start(&cluster, host)).collect();
        cluster.steps(1_500);
        Sharded { cluster, shards }
    }

    /// Where each key belongs, as that node sees it, and what is counted there.
    fn owners(&mut self, from: usize) -> Vec<(u32, u64)> {
        let mut asked = Vec::new();
        for key in keys() {
            let answer = self.shards[from].at(&key).ask(key, LIMIT);
            asked.push(self.cluster.wait(answer));
        }
        asked.into_iter().collect::<Result<_, RemoteAskError>>().unwrap()
    }
}

fn keys() -> impl Iterator<Item = String> {
    (0..60).map(|n| format!("key {n}"))
}

#[test]
fn all_agree_on_whose_a_key_is_and_only_the_keys_of_those_who_come_or_go_move() {
    let mut sharded = Sharded::new(4, Faults::default());
    for key in keys() {
        sharded.shards[1].at(&key).send(key).unwrap();
    }
    let before = sharded.owners(1);
    assert!(before.iter().all(|&(_, count)| count == 1), "{before:?}");
    assert!((0..4).all(|node| before.iter().any(|&(owner, _)| owner == node)), "{before:?}");
    for from in [0, 2, 3] {
        assert_eq!(sharded.owners(from), before);
    }

    sharded.cluster.network.kill(NodeId(3));
    sharded.cluster.steps(1_200);
    assert_eq!(sharded.shards[0].nodes(), [0, 1, 2].map(NodeId));
    let without = sharded.owners(0);
    for (&(was, _), &(is, count)) in before.iter().zip(&without) {
        assert!(is != 3 && (was == 3 || (is, count) == (was, 1)));
    }

    let next = sharded.cluster.host(3, 2);
    sharded.cluster.hosts[3] = next;
    sharded.shards[3] = start(&sharded.cluster, 3);
    sharded.cluster.steps(500);
    let after = sharded.owners(2);
    for (&(was, _), &(is, _)) in before.iter().zip(&after) {
        assert_eq!(was, is, "it has its share again");
    }
}

#[test]
fn all_meet_over_a_bad_network() {
    let sharded = Sharded::new(4, bad_network());
    for shards in &sharded.shards {
        assert_eq!(shards.nodes(), [0, 1, 2, 3].map(NodeId));
    }
    let again = start_again(&sharded);
    assert_eq!(
        again,
        "the name 'actinium.shards.shares' is taken by another actor that this node exports"
    );
}

fn start_again(sharded: &Sharded) -> String {
    let share = sharded.cluster.hosts[0].system.spawn(Share { me: 0, counts: BTreeMap::new() });
    sharded.cluster.hosts[0].node.shards("shares", &share).unwrap_err().to_string()
}
