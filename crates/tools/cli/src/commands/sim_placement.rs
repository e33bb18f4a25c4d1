//! `actinium sim placement`.

use actinium_app::Failure;
use actinium_app::output::OutputArgs;
use actinium_app::parse::from_to;
use actinium_lab::sim::placement::{Report, run as simulate};
use actinium_sim::placement::{GraphKind, Rules, Settings};

/// The description in `--help`.
pub(crate) const ABOUT: &str = "\
Simulate clusters whose nodes exchange actors, so that those that talk lie on one node.

The nodes decide by the code that real ones run (docs/placement.md). All actors send along the edges of a graph, round by round; the nodes look at \
some of the messages, and exchange actors pairwise. The table says how many messages cross between nodes before and after, how often actors move, and \
how even the nodes are. With --nodes 256, the nodes may stand for the PUs of a machine. One seed gives one result.";

fn graph(text: &str) -> Result<GraphKind, String> {
    let names = GraphKind::ALL.map(GraphKind::name).join(", ");
    let found = GraphKind::ALL.into_iter().find(|graph| graph.name() == text);
    found.ok_or_else(|| format!("'{text}' is not allowed: {names}"))
}

/// Arguments of `actinium sim placement`.
#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// Number of nodes; several, with commas between them, are compared
    #[arg(long, value_name = "N,..", default_value = "100", value_delimiter = ',', value_parser = from_to::<1, 100_000>)]
    nodes: Vec<u64>,

    /// Who talks with whom: communities, ring, star, changing or adversarial; several are compared
    #[arg(long, value_name = "GRAPH,..", default_value = "communities,ring,star,changing,adversarial", value_delimiter = ',', value_parser = graph)]
    graph: Vec<GraphKind>,

    /// Actors of each node at the beginning
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_to::<1, 1_000_000>)]
    actors: u64,

    /// Number of rounds
    #[arg(long, value_name = "N", default_value = "200", value_parser = from_to::<1, 1_000_000>)]
    rounds: u64,

    /// Of the graph `changing`: all talk with others after so many rounds
    #[arg(long, value_name = "N", default_value = "100", value_parser = from_to::<1, 1_000_000>)]
    change_every: u64,

    /// Messages that each actor sends in a round
    #[arg(long, value_name = "N", default_value = "160", value_parser = from_to::<1, 1_000_000>)]
    messages: u64,

    /// One of so many messages is looked at
    #[arg(long, value_name = "N", default_value = "16", value_parser = from_to::<1, { 1 << 20 }>)]
    sample_every: u64,

    /// A move has to save more than so much weight
    #[arg(long, value_name = "N", default_value = "64", value_parser = from_to::<0, { 1 << 40 }>)]
    move_cost: u64,

    /// Actors that a node gives, and takes, in one exchange
    #[arg(long, value_name = "N", default_value = "64", value_parser = from_to::<1, 4096>)]
    moves_max: u64,

    /// Exchanges of a node, with different nodes, in a round
    #[arg(long, value_name = "N", default_value = "16", value_parser = from_to::<1, 1024>)]
    exchanges_max: u64,

    /// The difference that exchanges may make between two nodes, in percent of their mean
    #[arg(long, value_name = "N", default_value = "10", value_parser = from_to::<0, 200>)]
    imbalance: u64,

    /// Decides everything that is random
    #[arg(long, value_name = "N", default_value = "42", value_parser = from_to::<0, { u64::MAX }>)]
    seed: u64,

    #[command(flatten)]
    output: OutputArgs,
}

/// Simulates, and prints what came of it.
///
/// # Errors
/// If a setting is not allowed, or stdout can not be written.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let settings = Settings {
        actors_per_node: args.actors as u32,
        messages: args.messages as u32,
        sample_every: args.sample_every as u32,
        rounds: args.rounds as u32,
        change_every: args.change_every as u32,
        rules: Rules {
            move_cost: args.move_cost,
            moves_max: args.moves_max as usize,
            exchanges_max: args.exchanges_max as u32,
            imbalance_percent: args.imbalance as u32,
            ..Rules::default()
        },
        seed: args.seed,
        ..Settings::new(GraphKind::Communities)
    };
    let nodes: Vec<u32> = args.nodes.iter().map(|&nodes| nodes as u32).collect();
    let report = simulate(&args.graph, &nodes, &settings, args.output.quiet)?;
    args.output.report(&report, Report::text)
}
