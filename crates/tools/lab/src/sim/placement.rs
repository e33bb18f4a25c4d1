//! Clusters that exchange actors, simulated: the runs, the table, and JSON.

use crate::Failure;
use actinium_observe::number::{count, decimal, percent};
use actinium_report::{Column, Progress, Table};
use actinium_sim::placement::{Figures, GraphKind, Settings, place};
use serde::Serialize;
use std::fmt::Write;

/// Rises when a field of the JSON goes or changes its meaning; not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

/// Most actors of all nodes together: more would take hours.
const ACTORS_MAX: u64 = 2_000_000;

/// All that came of it. It serialises as the JSON that the command prints.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    actinium_version: &'static str,
    runs: Vec<Run>,
}

/// One graph on one number of nodes.
#[derive(Debug, Serialize)]
struct Run {
    graph: &'static str,
    nodes: u32,
    actors: u64,
    rounds: u32,
    messages_per_round: u32,
    sample_every: u32,
    change_every: u32,
    move_cost: u64,
    moves_max: usize,
    exchanges_max: u32,
    imbalance_percent: u32,
    seed: u64,
    crossings_per_message_before: f64,
    crossings_per_message_after: f64,
    /// After each tenth of the rounds.
    crossings_per_message: Vec<f64>,
    moves: u64,
    moves_per_actor: f64,
    moves_of_one_actor_max: u32,
    exchanges: u64,
    offers: u64,
    offers_refused: u64,
    /// Offers and their answers; null if nothing moved.
    protocol_messages_per_move: Option<f64>,
    last_move_in_round: u32,
    actors_of_a_node_min: u64,
    actors_of_a_node_max: u64,
}

impl Run {
    fn new(settings: &Settings, figures: Figures) -> Self {
        Run {
            graph: settings.graph.name(),
            nodes: settings.nodes,
            actors: figures.actors,
            rounds: settings.rounds,
            messages_per_round: settings.messages,
            sample_every: settings.sample_every,
            change_every: settings.change_every,
            move_cost: settings.rules.move_cost,
            moves_max: settings.rules.moves_max,
            exchanges_max: settings.rules.exchanges_max,
            imbalance_percent: settings.rules.imbalance_percent,
            seed: settings.seed,
            crossings_per_message_before: figures.crossings_before,
            crossings_per_message_after: figures.crossings_after,
            protocol_messages_per_move: figures.messages_per_move(),
            moves: figures.moves,
            moves_per_actor: figures.moves_per_actor(),
            moves_of_one_actor_max: figures.moves_of_one_max,
            exchanges: figures.exchanges,
            offers: figures.offers,
            offers_refused: figures.refused,
            last_move_in_round: figures.last_move,
            actors_of_a_node_min: figures.load_min,
            actors_of_a_node_max: figures.load_max,
            crossings_per_message: figures.crossings,
        }
    }
}

/// Simulates all graphs on all numbers of nodes, with the other settings as they are given.
///
/// # Errors
/// If there would be too many actors, or a setting is not allowed.
pub fn run(
    graphs: &[GraphKind],
    nodes: &[u32],
    settings: &Settings,
    quiet: bool,
) -> Result<Report, Failure> {
    let most = nodes.iter().copied().max().unwrap_or_default();
    let actors = u64::from(most) * u64::from(settings.actors_per_node);
    if actors > ACTORS_MAX {
        return Err(Failure::Asked(format!(
            "--actors: {} on each of {most} nodes are {actors}: at most {ACTORS_MAX} are simulated",
            settings.actors_per_node
        )));
    }
    let jobs = (graphs.len() * nodes.len()) as u64;
    let progress = if quiet { Progress::hidden(jobs) } else { Progress::new(jobs, "simulations") };
    let mut runs = Vec::new();
    for &nodes in nodes {
        for &graph in graphs {
            let settings = Settings { graph, nodes, ..settings.clone() };
            let figures = place(&settings).map_err(|bad| Failure::Asked(bad.to_string()))?;
            runs.push(Run::new(&settings, figures));
            progress.add(1);
        }
    }
    progress.finish();
    Ok(Report { schema_version: SCHEMA_VERSION, actinium_version: env!("CARGO_PKG_VERSION"), runs })
}

impl Report {
    /// Returns the report as text; remarks unless `quiet`.
    pub fn text(&self, quiet: bool) -> String {
        let mut table = Table::new([
            Column::right("nodes"),
            Column::left("graph"),
            Column::right("actors"),
            Column::right("before"),
            Column::right("after"),
            Column::right("moves"),
            Column::right("most"),
            Column::right("exchanges"),
            Column::right("offers"),
            Column::right("refused"),
            Column::right("messages"),
            Column::right("last move"),
            Column::right("on a node"),
        ]);
        for run in &self.runs {
            table.row([
                count(run.nodes.into()).into(),
                run.graph.into(),
                count(run.actors).into(),
                percent(run.crossings_per_message_before).into(),
                percent(run.crossings_per_message_after).into(),
                decimal(run.moves_per_actor, 2).into(),
                count(run.moves_of_one_actor_max.into()).into(),
                count(run.exchanges).into(),
                count(run.offers).into(),
                count(run.offers_refused).into(),
                run.protocol_messages_per_move.map_or("-".into(), |it| decimal(it, 2)).into(),
                count(run.last_move_in_round.into()).into(),
                format!("{} to {}", run.actors_of_a_node_min, run.actors_of_a_node_max).into(),
            ]);
        }
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all");
        line(table.to_string());
        let (Some(run), false) = (self.runs.first(), quiet) else { return text };
        line(format!(
            "load       each actor sends {} messages in each of {} rounds; one in {} is looked at; seed {}",
            run.messages_per_round, run.rounds, run.sample_every, run.seed
        ));
        line(
            "before     messages that cross between nodes, before the first round; after, likewise"
                .to_owned(),
        );
        line("moves      per actor, in all rounds; most: of one actor".to_owned());
        line(
            "refused    offers that a busy node refused; messages: of offers and answers, per move"
                .to_owned(),
        );
        line("last move  the last round in which an actor moved".to_owned());
        line("on a node  the fewest and the most actors of a node after the last round".to_owned());
        text
    }
}
