//! Actors that talk come to lie on one node, and what they say arrives, in order.

use crate::common::{Cluster, LIMIT, bad_network, reliable};
use crate::liar::{Control, Found, Key, Liar, Said, answer, ask, denials, read};
use actinium_actor::Context;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::{
    Denial, ExchangeRules, ManualNode, Migrate, Movable, MovableAddress, MovableId, Movables,
    NodeConfig, NodeEvent, RemoteAskError, RepartitionConfig, RepartitionStats,
};
use actinium_wire::{Encoding, Message};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// An actor that talks with others, and counts what comes from each of them.
#[derive(Clone, Default, Serialize, Deserialize, Message)]
struct Talker {
    me: u32,
    /// Whom it talks with.
    others: Vec<MovableId>,
    /// The number of messages to each with whom it has ever talked.
    sent: Vec<(MovableId, u64)>,
    next: BTreeMap<u32, u64>,
    disorder: u64,
    is_pinned: bool,
    cost: u64,
}

#[derive(Clone, Serialize, Deserialize, Message)]
enum Say {
    /// Talk with all from now on.
    Meet(Vec<MovableId>),
    /// So many messages to each.
    Talk(u64),
    /// Who, and which.
    Hello(u32, u64),
}

impl Migrate for Talker {
    const KIND: &'static str = "test.talker";
    type Message = Say;
    type Request = ();
    /// Where it is, the number of messages that have come, of those in disorder, and of those sent.
    type Answer = (u32, u64, u64, u64);

    fn message(&mut self, message: Say, ctx: &Context<'_, Movable<Self>>) {
        match message {
            Say::Meet(others) => self.others = others,
            Say::Talk(messages) => {
                let talkers = Movables::<Talker>::here(ctx).unwrap();
                for &id in &self.others {
                    let known = self.sent.iter().position(|(it, _)| *it == id);
                    let place = known.unwrap_or_else(|| {
                        self.sent.push((id, 0));
                        self.sent.len() - 1
                    });
                    let other = talkers.at(id);
                    for _ in 0..messages {
                        other.send(Say::Hello(self.me, self.sent[place].1)).unwrap();
                        self.sent[place].1 += 1;
                    }
                }
            }
            Say::Hello(from, number) => {
                let next = self.next.entry(from).or_default();
                self.disorder += u64::from(*next != number);
                *next = number + 1;
            }
        }
    }

    fn request(&mut self, (): (), ctx: &Context<'_, Movable<Self>>) -> (u32, u64, u64, u64) {
        let node = Movables::<Talker>::here(ctx).unwrap().node();
        let sent = self.sent.iter().map(|(_, sent)| sent).sum();
        (node.0, self.next.values().sum(), self.disorder, sent)
    }

    fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    fn move_cost(&self) -> u64 {
        self.cost
    }
}

const ROUND: Duration = Duration::from_secs(10);

fn config() -> NodeConfig {
    let repartition = RepartitionConfig { sample_every: 2, round: ROUND, ..Default::default() };
    NodeConfig { repartition: Some(repartition), ..reliable() }
}

struct Talking {
    cluster: Cluster,
    talkers: Vec<Movables<Talker>>,
    actors: Vec<MovableAddress<Talker>>,
    /// Where each is.
    at: Vec<u32>,
    edges: Vec<Vec<usize>>,
    events: Vec<Vec<NodeEvent>>,
}

impl Talking {
    fn new(nodes: u32, faults: Faults, config: NodeConfig, states: Vec<(u32, Talker)>) -> Self {
        let mut cluster = Cluster::new(7, nodes, faults, config);
        let talkers: Vec<Movables<Talker>> =
            cluster.hosts.iter().map(|host| host.node.movables().unwrap()).collect();
        cluster.steps(300);
        let at = states.iter().map(|&(node, _)| node).collect();
        let edges = vec![Vec::new(); states.len()];
        let spawn = |(node, state): (u32, Talker)| talkers[node as usize].spawn(state);
        let actors = states.into_iter().map(spawn).collect();
        let events = vec![Vec::new(); nodes as usize];
        Talking { cluster, talkers, actors, at, edges, events }
    }

    fn plain(nodes: u32, config: NodeConfig, at: &[u32]) -> Self {
        let state = |(me, &node): (u32, &u32)| (node, Talker { me, ..Talker::default() });
        Self::new(nodes, Faults::default(), config, (0..).zip(at).map(state).collect())
    }

    fn meet(&mut self, edges: Vec<Vec<usize>>) {
        for (actor, others) in self.actors.iter().zip(&edges) {
            let others = others.iter().map(|&other| self.actors[other].id()).collect();
            actor.send(Say::Meet(others)).unwrap();
        }
        self.edges = edges;
    }

    /// All talk, and then comes the next round.
    fn round(&mut self, messages: u64) {
        for actor in &self.actors {
            actor.send(Say::Talk(messages)).unwrap();
        }
        self.cluster.steps(10);
        for host in &mut self.cluster.hosts {
            host.system.advance(ROUND);
        }
        self.cluster.steps(40);
        for (host, events) in self.events.iter_mut().enumerate() {
            events.append(&mut self.cluster.events(host));
        }
    }

    /// Looks where all are, and that all that was said has been heard, in order.
    fn look(&mut self) {
        self.cluster.steps(200);
        let (mut heard, mut said) = (0, 0);
        for actor in 0..self.actors.len() {
            let answer = self.actors[actor].ask((), LIMIT);
            let (node, came, disorder, sent) = self.cluster.wait(answer).unwrap();
            assert_eq!(disorder, 0, "to actor {actor}");
            self.at[actor] = node;
            heard += came;
            said += sent;
        }
        assert_eq!(heard, said, "each message arrives once");
        let known: u64 = (0..self.talkers.len()).map(|host| self.stats(host).actors).sum();
        assert_eq!(known, self.actors.len() as u64, "each actor lives on one node");
    }

    /// Of 1,000 messages, those that cross between nodes.
    fn crossing(&self) -> usize {
        let edges = self.edges.iter().enumerate();
        let edges = edges.flat_map(|(from, others)| others.iter().map(move |&to| (from, to)));
        let crosses = |&(from, to): &(usize, usize)| self.at[from] != self.at[to];
        edges.clone().filter(crosses).count() * 1000 / edges.count()
    }

    fn loads(&self) -> Vec<usize> {
        let count = |node| self.at.iter().filter(|&&at| at == node).count();
        (0..self.talkers.len() as u32).map(count).collect()
    }

    fn stats(&self, host: usize) -> RepartitionStats {
        self.cluster.hosts[host].node.stats().repartition.unwrap()
    }

    fn moved(&self) -> u64 {
        (0..self.talkers.len()).map(|host| self.stats(host).moved).sum()
    }
}

/// Communities; each actor talks with `degree` others, of which 95 % are of its own.
fn communities(random: &mut fastrand::Rng, count: usize, size: usize) -> Vec<Vec<usize>> {
    let mut others = |me: usize| -> Vec<usize> {
        let mut others = std::collections::BTreeSet::new();
        while others.len() < 6 {
            let inside = me / size * size + random.usize(..size);
            let other = if random.usize(..20) == 0 { random.usize(..count * size) } else { inside };
            if other != me {
                others.insert(other);
            }
        }
        others.into_iter().collect()
    };
    (0..count * size).map(&mut others).collect()
}

#[test]
fn communities_come_together_and_nothing_is_lost() {
    let mut random = fastrand::Rng::with_seed(3);
    let at: Vec<u32> = (0..800).map(|_| random.u32(..4)).collect();
    // Few messages, so that it is soon over: a move costs as little as they are few.
    let mut config = config();
    let rules = ExchangeRules { move_cost: 8, ..ExchangeRules::default() };
    config.repartition.as_mut().unwrap().rules = rules;
    let mut talking = Talking::plain(4, config, &at);
    talking.meet(communities(&mut random, 8, 100));
    talking.look();
    let before = talking.crossing();
    for _ in 0..50 {
        talking.round(4);
    }
    talking.look();
    let (after, loads, moved) = (talking.crossing(), talking.loads(), talking.moved());
    assert!(before > 700 && after * 2 < before, "{before} {after} {loads:?} {moved}");
    assert!(loads.iter().all(|load| (150..=250).contains(load)), "{loads:?}");
    assert!(moved < 2_400, "{moved}");
    // What the nodes themselves say.
    let share = |host| talking.stats(host).remote_share_ppm().unwrap();
    let first = |host| talking.stats(host).remote_share_first_ppm;
    assert!((0..4).all(|host| share(host) < first(host)));
    let told = talking.events.iter().flatten();
    let leave = |event: &NodeEvent| match event {
        NodeEvent::Exchange { leave, .. } => *leave as u64,
        _ => 0,
    };
    assert!(told.map(leave).sum::<u64>() >= moved);
}

#[test]
fn over_a_bad_network_too() {
    let mut random = fastrand::Rng::with_seed(4);
    let state = |me: u32| (random.u32(..3), Talker { me, ..Talker::default() });
    let states = (0..60).map(state).collect();
    let mut talking = Talking::new(3, bad_network(), config(), states);
    talking.meet(communities(&mut fastrand::Rng::with_seed(5), 6, 10));
    talking.look();
    let before = talking.crossing();
    for _ in 0..30 {
        talking.round(16);
    }
    talking.look();
    let after = talking.crossing();
    assert!(after * 2 < before, "{before} {after}");
}

#[test]
fn a_ring_and_a_star_stay_balanced() {
    let at: Vec<u32> = (0..80).map(|n| n % 4).collect();
    let mut talking = Talking::plain(4, config(), &at);
    talking.meet((0..80).map(|n| vec![(n + 1) % 80]).collect());
    talking.look();
    assert_eq!(talking.crossing(), 1000);
    for _ in 0..40 {
        talking.round(60);
    }
    talking.look();
    assert!(talking.crossing() < 300, "{}", talking.crossing());
    assert!(talking.loads().iter().all(|load| (15..=25).contains(load)), "{:?}", talking.loads());

    talking.meet((0..80).map(|n| if n == 0 { Vec::new() } else { vec![0] }).collect());
    for _ in 0..30 {
        talking.round(60);
    }
    talking.look();
    assert!(talking.loads().iter().all(|load| (14..=27).contains(load)), "{:?}", talking.loads());
    let settled = talking.moved();
    for _ in 0..10 {
        talking.round(60);
    }
    assert!(talking.moved() <= settled + 4, "{} after {settled}", talking.moved());
}

/// Who is where is turned round and round. Actors do not follow for ever.
#[test]
fn alternating_talk_does_not_thrash() {
    let at: Vec<u32> = (0..64).map(|n| n % 4).collect();
    let mut talking = Talking::plain(4, config(), &at);
    let lines = |by_row: bool| -> Vec<Vec<usize>> {
        let other = |n: usize, k: usize| if by_row { n / 8 * 8 + k } else { k * 8 + n % 8 };
        let others = |n: usize| (0..8).map(|k| other(n, k)).filter(|&it| it != n).collect();
        (0..64).map(others).collect()
    };
    for turn in 0..40 {
        talking.meet(lines(turn % 2 == 0));
        for _ in 0..3 {
            talking.round(8);
        }
    }
    talking.look();
    // Rests of 4, 8, 16, .. rounds: in 120 rounds an actor moves five times, if it always may.
    assert!(talking.moved() <= 64 * 6, "{}", talking.moved());
}

/// Node 0's actors talk with pinned ones of three nodes. One round is enough for all to leave.
#[test]
fn a_node_has_exchanges_with_several_nodes_in_one_round() {
    let after_a_round = |exchanges_max| {
        let mut config = config();
        let rules = ExchangeRules { exchanges_max, imbalance_min: 8, ..Default::default() };
        config.repartition.as_mut().unwrap().rules = rules;
        let state = |me: u32| (me / 3, Talker { me, is_pinned: me >= 3, ..Talker::default() });
        let states = (0..12).map(state).collect();
        let mut talking = Talking::new(4, Faults::default(), config, states);
        // The first of each other node.
        let to = |me: usize| if me < 3 { vec![3 * (me + 1)] } else { Vec::new() };
        talking.meet((0..12).map(to).collect());
        talking.round(200);
        talking.look();
        let with = |event: &NodeEvent| match event {
            NodeEvent::Exchange { node, leave: 1, come: 0 } => Some(node.0),
            _ => None,
        };
        let told = [std::mem::take(&mut talking.events[0]), talking.cluster.events(0)].concat();
        let mut with: Vec<u32> = told.iter().filter_map(with).collect();
        with.sort_unstable();
        let stats = talking.stats(0);
        assert_eq!(stats.rounds, 1);
        assert_eq!((stats.exchanges, stats.moved), (with.len() as u64, with.len() as u64));
        (with, stats.offers, talking.crossing())
    };
    assert_eq!(after_a_round(16), (vec![1, 2, 3], 3, 0));
    let (with, offers, crossing) = after_a_round(1);
    assert_eq!((with.len(), offers, crossing), (1, 1, 666));
}

/// Nodes 0 and 1 offer to each other, and nodes 2 and 3 to node 0, all at the same moment. Node 0
/// waits for an answer, so that it refuses all three.
#[test]
fn a_busy_node_refuses_and_is_asked_again() {
    let state = |me: u32| (me / 2, Talker { me, is_pinned: me % 2 == 1, ..Talker::default() });
    let states = (0..8).map(state).collect();
    let mut config = config();
    let rules = ExchangeRules { imbalance_min: 8, ..Default::default() };
    config.repartition.as_mut().unwrap().rules = rules;
    let mut talking = Talking::new(4, Faults::default(), config, states);
    // Actors 1 and 3 are pinned to nodes 0 and 1.
    let whom = |me: usize| match me {
        0 => vec![3],
        2 | 4 | 6 => vec![1],
        _ => Vec::new(),
    };
    talking.meet((0..8).map(whom).collect());
    talking.round(200);
    talking.look();
    assert_eq!(talking.stats(0).refused_here, 3);
    // Node 1's offer was over before it was refused: it has taken node 0's.
    let refused = |talking: &Talking| [1, 2, 3].map(|host| talking.stats(host).refused_there);
    assert_eq!(refused(&talking), [0, 1, 1]);
    assert_eq!(talking.stats(1).refused_here, 0);
    for _ in 0..4 {
        talking.round(200);
    }
    talking.look();
    assert_eq!(talking.crossing(), 0, "{:?}", talking.at);
    // What the refusals cost: nodes 2 and 3 offer twice, node 1 in vain. With answers, 12 messages
    // for 4 moves.
    let sum = |of: fn(&RepartitionStats) -> u64| (0..4).map(|host| of(&talking.stats(host))).sum();
    let (offers, moved, refused): (u64, u64, u64) =
        (sum(|it| it.offers), sum(|it| it.moved), sum(|it| it.refused_here));
    assert_eq!((offers, moved, refused), (6, 4, 3));
}

#[test]
fn by_default_nothing_moves() {
    let mut talking = Talking::plain(2, config(), &[]);
    assert!(talking.cluster.hosts[0].node.stats().repartition.is_some());
    talking.cluster.config.repartition = None;
    let host = talking.cluster.host(2, 1);
    assert!(host.node.stats().repartition.is_none());
    assert_eq!(NodeConfig::default().repartition, None);
}

/// One is pinned, another too large: the others come to them.
#[test]
fn who_is_pinned_or_too_large_stays() {
    let state = |me: u32, pinned, cost| Talker { me, is_pinned: pinned, cost, ..Talker::default() };
    let states = vec![
        (0, state(0, true, 0)),
        (1, state(1, false, 0)),
        (0, state(2, false, 1 << 30)),
        (1, state(3, false, 0)),
    ];
    let mut talking = Talking::new(2, Faults::default(), config(), states);
    talking.meet(vec![vec![1], vec![0], vec![3], vec![2]]);
    for _ in 0..10 {
        talking.round(200);
    }
    talking.look();
    // Balance lets two more be on one node than on the other; all four are not.
    assert_eq!(talking.at[0], 0);
    assert_eq!(talking.at[2], 0);
    assert_eq!(talking.moved(), 1);
    // By hand it moves.
    let moved = talking.actors[0].move_to(NodeId(1), LIMIT);
    talking.cluster.wait(moved).unwrap();
    talking.look();
    assert_eq!(talking.at[0], 1);
}

#[test]
fn settings_are_checked() {
    let start = |repartition: RepartitionConfig| {
        let config = NodeConfig { repartition: Some(repartition), ..reliable() };
        let cluster = Cluster::new(1, 0, Faults::default(), reliable());
        let system = actinium_actor::testing::TestSystem::seeded(1);
        let fabric = cluster.network.node(NodeId(0));
        ManualNode::join(system.handle(), fabric, config, 1).err().map(|bad| bad.setting)
    };
    let default = RepartitionConfig::default;
    assert_eq!(start(default()), None);
    assert_eq!(start(RepartitionConfig { sample_every: 0, ..default() }), Some("sample_every"));
    assert_eq!(start(RepartitionConfig { round: Duration::ZERO, ..default() }), Some("round"));
    let rules = ExchangeRules { moves_max: 0, ..ExchangeRules::default() };
    assert_eq!(start(RepartitionConfig { rules, ..default() }), Some("moves_max"));
}

/// As in the crate's `repartition`: an actor, by its kind's hash, its first node and its number.
type Name = (u64, u32, u64);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct OfferData {
    load: u64,
    candidates: Vec<CandidateData>,
    pulls: Vec<(Name, u64)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct CandidateData {
    actor: Name,
    cost: u64,
    streak: u8,
    home: u64,
    there: u64,
    among: Vec<(u32, u64)>,
    edges: Vec<(Name, u64)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct AnswerData {
    take: Vec<Name>,
    give: Vec<(Name, u8)>,
}

/// A node with actors that talk with what a liar has, which takes part.
fn with_liar(others: Vec<MovableId>) -> (Talking, Liar, Key) {
    let mut talking = Talking::plain(1, config(), &[0, 0, 0, 0]);
    let cluster = &mut talking.cluster;
    let mut liar = Liar::meet(cluster, 1, 1);
    let asked = liar.said.iter().find_map(|said| match said {
        Said::Control(Control::Lookup { request, name, .. }) if name == "actinium.repartition" => {
            Some(*request)
        }
        _ => None,
    });
    let own = Key { index: 0, life: 1 };
    let found = Found::Actor { key: own, count: 1, encoding: Encoding::Binary, remarks: vec![] };
    liar.say(cluster, &[answer(asked.expect("it asks for them"), &found)]);
    // Any name of a node tells its life, and the first place is the repartitioner's.
    let exported = "actinium.movable.0.0.0.0";
    let key = Key { index: 0, ..liar.key::<Movable<Talker>>(cluster, exported) };
    for actor in &talking.actors {
        actor.send(Say::Meet(others.clone())).unwrap();
        actor.send(Say::Talk(100)).unwrap();
    }
    talking.cluster.steps(10);
    (talking, liar, key)
}

#[test]
fn what_breaks_the_rules_is_refused_and_moves_nothing() {
    let there = MovableId { node: 1, serial: 5 };
    let (mut talking, mut liar, key) = with_liar(vec![there]);
    let actor = |serial| CandidateData {
        actor: (1, 1, serial),
        cost: 0,
        streak: 0,
        home: 0,
        there: 0,
        among: Vec::new(),
        edges: Vec::new(),
    };
    let offer = |load, candidates| OfferData { load, candidates, pulls: Vec::new() };
    for broken in [
        offer(u64::MAX, vec![]),
        offer(1, vec![actor(1), actor(1)]),
        offer(1, vec![CandidateData { among: vec![(0, 1)], ..actor(1) }]),
        offer(1, vec![CandidateData { there: u64::MAX, ..actor(1) }]),
    ] {
        liar.said.clear();
        liar.say(&mut talking.cluster, &[ask(key, 9, &broken)]);
        let said = liar.said.iter().find_map(|said| match said {
            Said::Answer(9, 0, said) => Some(read::<Option<AnswerData>>(said)),
            _ => None,
        });
        assert!(matches!(said, Some(None)), "{said:?}");
    }
    let denied = denials(&talking.cluster);
    assert!(denied.iter().all(|(what, ..)| *what == Denial::Exchange), "{denied:?}");
    assert_eq!(talking.stats(0).malformed, 4);
    // The node's own offer, and an answer that takes what was not offered.
    talking.cluster.hosts[0].system.advance(ROUND);
    liar.said.clear();
    liar.steps(&mut talking.cluster, 20);
    let asked = liar.said.iter().find_map(|said| match said {
        Said::Ask(_, request, offer) => Some((*request, read::<OfferData>(offer))),
        _ => None,
    });
    let (request, offered) = asked.expect("it pays to exchange with the liar");
    assert_eq!((offered.load, offered.candidates.len()), (4, 4));
    let name = offered.candidates[0].actor;
    let lie = AnswerData { take: vec![(name.0, 0, 77)], give: Vec::new() };
    liar.say(&mut talking.cluster, &[answer(request, &Some(lie))]);
    liar.steps(&mut talking.cluster, 20);
    assert_eq!((talking.stats(0).malformed, talking.stats(0).exchanges), (5, 0));
    assert_eq!(talking.stats(0).actors, 4);
    assert!(liar.link.is_up());
}

/// A node says that its actors talk with those here: it gets some, and in one exchange no more than
/// the rules allow. Where it does not make room for them, they stay.
#[test]
fn who_takes_actors_and_does_not_run_them_gets_none() {
    let there = MovableId { node: 1, serial: 5 };
    let (mut talking, mut liar, key) = with_liar(vec![there]);
    let kind = actinium_wire::fnv1a(b"test.talker");
    let pulls = (0..4).map(|serial| ((kind, 0, serial), 1 << 30)).collect();
    let greedy = OfferData { load: 0, candidates: Vec::new(), pulls };
    liar.said.clear();
    liar.say(&mut talking.cluster, &[ask(key, 9, &greedy)]);
    let said = liar.said.iter().find_map(|said| match said {
        Said::Answer(9, 0, said) => read::<Option<AnswerData>>(said),
        _ => None,
    });
    // Of four and none: two more here than there are left.
    let given = said.expect("an answer").give;
    assert_eq!(given.len(), 3, "{given:?}");
    // A second one has to wait.
    liar.say(&mut talking.cluster, &[ask(key, 10, &greedy)]);
    assert_eq!(talking.stats(0).refused_here, 1);
    // It is asked to start them, and says no.
    for _ in 0..100 {
        liar.steps(&mut talking.cluster, 20);
        let refuse = |said: &Said| match said {
            Said::Control(Control::Spawn { request, .. }) => {
                Some(answer(*request, &Found::NotRegistered))
            }
            // What they have sent to the liar's actor is to be there first: there is none.
            Said::Control(Control::Lookup { request, name, .. }) if name.contains("movable") => {
                Some(answer(*request, &Found::NoSuchName))
            }
            _ => None,
        };
        let answers: Vec<_> = liar.said.iter().filter_map(refuse).collect();
        liar.said.clear();
        if !answers.is_empty() {
            liar.say(&mut talking.cluster, &answers);
        }
    }
    assert_eq!((talking.stats(0).actors, talking.stats(0).not_moved), (4, 3));
    let not_moved = |event: &NodeEvent| matches!(event, NodeEvent::NotMoved { .. });
    assert_eq!(talking.cluster.events(0).iter().filter(|it| not_moved(it)).count(), 3);
}

/// Its state panics when it is sent anything.
#[derive(Clone, Serialize, Deserialize, Message)]
struct Fragile;

impl Migrate for Fragile {
    const KIND: &'static str = "test.fragile";
    type Message = ();
    type Request = ();
    type Answer = ();
    fn message(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) {
        panic!("as the test wants");
    }
    fn request(&mut self, (): (), _ctx: &Context<'_, Movable<Self>>) {}
}

/// At home, and after a move.
#[test]
fn one_whose_state_panics_is_found_and_counted_no_longer() {
    for to in [0, 1] {
        let mut cluster = Cluster::new(1, 2, Faults::default(), config());
        let fragile = [0, 1].map(|host: usize| cluster.hosts[host].node.movables().unwrap());
        cluster.steps(300);
        let actor = fragile[0].spawn(Fragile);
        let moved = actor.move_to(NodeId(to), LIMIT);
        cluster.wait(moved).unwrap();
        let counted = |cluster: &Cluster| {
            [0, 1].map(|n: usize| cluster.hosts[n].node.stats().repartition.unwrap().actors)
        };
        assert_eq!(counted(&cluster).iter().sum::<u64>(), 1);
        actor.send(()).unwrap();
        cluster.steps(50);
        assert_eq!(counted(&cluster), [0, 0], "on node {to}");
        let found = fragile[1].find(actor.id(), LIMIT);
        if to == 0 {
            let found = cluster.wait(found).map(drop);
            assert!(matches!(found, Err(RemoteAskError::NoSuchName(_))), "{found:?}");
        }
        let asked = actor.ask((), LIMIT);
        assert_eq!(cluster.wait(asked), Err(RemoteAskError::Closed), "on node {to}");
    }
}
