//! Communities of actors, spread over four nodes at random, find together by themselves.
//!
//! `cargo run -p actinium --features cluster --example placement`; with `-- --rates` it also prints
//! greetings per second, of a cluster whose actors do not move, and when they have moved.
//!
//! Each actor talks with six others, nearly all of its own community. The nodes sample who talks
//! with whom, and exchange actors ([`NodeConfig::repartition`]). One actor of each community is
//! pinned: it stays where it began, and the others may come to it.
//!
//! The nodes share a process here, on the in-process fabric. Over Zenoh or MPI each is a process,
//! and `Node::join_with` makes the node, as in the example `job`.

use actinium::cluster::fabric::{NodeId, in_process::Network};
use actinium::cluster::link::LinkConfig;
use actinium::cluster::{
    ExchangeRules, Migrate, Movable, MovableAddress, MovableId, Movables, Node, NodeConfig,
    RepartitionConfig,
};
use actinium::prelude::*;
use actinium::wire::Message;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt::Write;
use std::time::{Duration, Instant};

const NODES: u32 = 4;
const COMMUNITIES: usize = 4;
const SIZE: usize = 25;
const TIMEOUT: Duration = Duration::from_secs(60);
/// Far more rounds of talk than they need.
const TALKS_MAX: u32 = 20_000;

/// An actor that moves: all that it knows is data.
#[derive(Clone, Serialize, Deserialize, Message)]
struct Member {
    friends: Vec<MovableId>,
    heard: u64,
    is_pinned: bool,
}

#[derive(Serialize, Deserialize, Message)]
enum Say {
    Meet(Vec<MovableId>),
    /// Greet each friend so many times.
    Talk(u32),
    Hello,
}

impl Migrate for Member {
    const KIND: &'static str = "example.member";
    type Message = Say;
    type Request = ();
    /// The node where it is, and the number of greetings that it has heard.
    type Answer = (u32, u64);

    fn message(&mut self, say: Say, ctx: &Context<'_, Movable<Self>>) {
        match say {
            Say::Meet(friends) => self.friends = friends,
            Say::Talk(times) => {
                // Of the node where it is now: addresses do not move, names of actors do.
                let Some(members) = Movables::<Member>::here(ctx) else { return };
                for &friend in self.friends.iter().cycle().take(self.friends.len() * times as usize)
                {
                    if let Err(error) = members.at(friend).send(Say::Hello) {
                        eprintln!("a greeting is lost: {error}");
                    }
                }
            }
            Say::Hello => self.heard += 1,
        }
    }

    fn request(&mut self, (): (), ctx: &Context<'_, Movable<Self>>) -> (u32, u64) {
        let node = Movables::<Member>::here(ctx).map_or(u32::MAX, |members| members.node().0);
        (node, self.heard)
    }

    fn is_pinned(&self) -> bool {
        self.is_pinned
    }
}

type BoxError = Box<dyn Error>;

type Nodes = Vec<(System, Node, Movables<Member>)>;

/// Short rounds, so that the example is soon over. Programs leave this as it is.
fn short_rounds() -> RepartitionConfig {
    RepartitionConfig {
        sample_every: 4,
        round: Duration::from_millis(50),
        rules: ExchangeRules { move_cost: 16, ..ExchangeRules::default() },
    }
}

fn start(repartition: Option<RepartitionConfig>) -> Result<Nodes, BoxError> {
    let network = Network::new();
    let nodes = (0..NODES).map(|number| {
        let fabric = network.node(NodeId(number));
        let system = System::builder().workers(1).build()?;
        let link = LinkConfig { reliable: true, ..LinkConfig::default() };
        let repartition = repartition.clone();
        let config = NodeConfig { link, repartition, ..NodeConfig::default() };
        let node = Node::start(system.handle(), config, move || Ok(fabric))?;
        let members = node.movables()?;
        Ok((system, node, members))
    });
    nodes.collect()
}

/// The friends of each: six of its community, but one of the first member's is of the next one.
fn friends(member: usize) -> Vec<usize> {
    let (community, place) = (member / SIZE, member % SIZE);
    let of = |community: usize, place: usize| community % COMMUNITIES * SIZE + place % SIZE;
    let mut friends: Vec<usize> =
        [1, 2, 5, 8, 11, 12].iter().map(|step| of(community, place + step)).collect();
    if place == 0 {
        friends[5] = of(community + 1, 0);
    }
    friends
}

/// Where all are, and the number of greetings that were heard.
fn look(members: &[MovableAddress<Member>]) -> Result<(Vec<u32>, u64), BoxError> {
    let asked: Vec<_> = members.iter().map(|member| member.ask((), TIMEOUT)).collect();
    let answers: Vec<(u32, u64)> =
        asked.into_iter().map(|answer| answer.wait()).collect::<Result<_, _>>()?;
    Ok((answers.iter().map(|it| it.0).collect(), answers.iter().map(|it| it.1).sum()))
}

/// Of all greetings, the share that crosses between nodes.
fn crossing(at: &[u32]) -> f64 {
    let greetings =
        (0..at.len()).flat_map(|from| friends(from).into_iter().map(move |to| (from, to)));
    let crosses = greetings.clone().filter(|&(from, to)| at[from] != at[to]).count();
    crosses as f64 / greetings.count() as f64
}

/// Starts all members, spread over the nodes, and tells them who their friends are.
fn members(nodes: &Nodes) -> Result<Vec<MovableAddress<Member>>, BoxError> {
    let spread = |member: usize| (member * 7 + member / 5) % NODES as usize;
    let members: Vec<MovableAddress<Member>> = (0..COMMUNITIES * SIZE)
        .map(|member| {
            let is_pinned = member % SIZE == 0;
            let state = Member { friends: Vec::new(), heard: 0, is_pinned };
            nodes[spread(member)].2.spawn(state)
        })
        .collect();
    for (member, address) in members.iter().enumerate() {
        let friends = friends(member).into_iter().map(|friend| members[friend].id()).collect();
        address.send(Say::Meet(friends))?;
    }
    Ok(members)
}

/// Greetings per second: of many talks, each until all its greetings are heard.
#[allow(clippy::disallowed_methods)] // A rate is one of real time.
fn rate(members: &[MovableAddress<Member>]) -> Result<f64, BoxError> {
    const TALKS: u64 = 100;
    const TIMES: u32 = 50;
    let (_, heard) = look(members)?;
    let greetings = u64::from(TIMES) * members.len() as u64 * 6;
    let begun = Instant::now();
    for talk in 1..=TALKS {
        for member in members {
            member.send(Say::Talk(TIMES))?;
        }
        // Nobody is more than a talk ahead: so not too many wait anywhere.
        while look(members)?.1 < heard + talk * greetings {}
    }
    Ok((TALKS * greetings) as f64 / begun.elapsed().as_secs_f64())
}

/// Returns what it prints.
#[allow(dead_code)] // But for the tests that include this file.
pub(crate) fn run() -> Result<String, BoxError> {
    show(false)
}

fn show(rates: bool) -> Result<String, BoxError> {
    let nodes = start(Some(short_rounds()))?;
    let members = members(&nodes)?;
    let (before, _) = look(&members)?;
    let mut said = 0;
    let mut after = before.clone();
    for talk in 0..TALKS_MAX {
        for member in &members {
            member.send(Say::Talk(1))?;
        }
        said += members.len() as u64 * 6;
        // Behind the talk: nobody is more than a talk ahead.
        (after, _) = look(&members)?;
        if talk % 100 == 0 && crossing(&after) * 3.0 < crossing(&before) {
            break;
        }
    }
    // Greetings that were under way arrive.
    let mut heard = 0;
    for _ in 0..TALKS_MAX {
        heard = look(&members)?.1;
        if heard == said {
            break;
        }
    }

    let mut text = String::new();
    let pinned = (0..members.len()).step_by(SIZE).all(|member| before[member] == after[member]);
    let loads: Vec<usize> =
        (0..NODES).map(|node| after.iter().filter(|&&at| at == node).count()).collect();
    let moved: u64 =
        nodes.iter().filter_map(|(_, node, _)| node.stats().repartition).map(|it| it.moved).sum();
    writeln!(text, "{:.2} crossings per message before", crossing(&before))?;
    writeln!(text, "{:.2} after {moved} moves of {} actors", crossing(&after), members.len())?;
    writeln!(text, "actors of each node: {loads:?}")?;
    let fewer = crossing(&after) * 3.0 < crossing(&before);
    writeln!(text, "a third of the crossings or fewer: {fewer}")?;
    writeln!(text, "pinned actors have stayed: {pinned}")?;
    writeln!(text, "each greeting was heard once: {}", heard == said)?;
    if rates {
        let apart = start(None)?;
        let (before, after) = (rate(&self::members(&apart)?)?, rate(&members)?);
        writeln!(text, "greetings per second: {before:.0} where none move, {after:.0} here")?;
        apart.iter().for_each(|(_, node, _)| node.leave());
    }
    nodes.iter().for_each(|(_, node, _)| node.leave());
    Ok(text)
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), BoxError> {
    print!("{}", show(std::env::args().any(|argument| argument == "--rates"))?);
    Ok(())
}
