//! Messages of 64 bytes, and payloads of 1 MiB, from node to node: through actors, and through the
//! engine's own interface (messages one by one; eight payloads under way), in turns, with the
//! ratios of both.
//!
//! ```sh
//! mpiexec -n 2 cargo run --release -p actinium-cluster --features mpi --example against
//! cargo run --release -p actinium-cluster --features zenoh --example against -- zenoh
//! ```
//!
//! With MPI, `--stages` says instead where the time of one message goes: see `stages`; `--windows`
//! what a get and a put cost, by a window and by messages: see `windows`; `--rest` what a node
//! takes that has nothing to do, and `--rest --no-doorbells` the same where ranks cannot wake each
//! other, as on several hosts: see `rest`.
//! `--workers 1,2,4` and `--shapes` count instead, over nodes in this process: see `shapes`.
//! `--json` at the end: the ratios of a comparison, or of `--rest`, as JSON and nothing else.
//!
//! Each node has one worker.

// Much is of MPI only; and without an engine there is nothing to compare with.
#![cfg_attr(not(feature = "mpi"), allow(dead_code, unused_imports))]
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

#[cfg(feature = "mpi")]
mod mpi_alone;
mod player;
mod rest;
mod shapes;
#[cfg(feature = "mpi")]
mod stages;
#[cfg(feature = "mpi")]
mod windows;
#[cfg(feature = "zenoh")]
mod zenoh_alone;

use player::{Error, Side, median};

/// Rounds that count, after one that does not.
const ROUNDS: usize = 7;

/// The performance of an engine alone: messages a second, and nanoseconds from one node to the
/// other.
trait Engine {
    const NAME: &'static str;
    /// Messages in a round through actors, and through the engine.
    const MESSAGES: (u64, u64);
    /// Round trips in a round.
    const TRIPS: usize;
    /// Payloads in a round.
    const PAYLOADS: usize;
    fn stream(&mut self) -> Result<f64, Error>;
    fn one_way_ns(&mut self) -> Result<f64, Error>;
    /// Bytes a second.
    fn bulk(&mut self) -> Result<f64, Error>;
}

/// The side that asks. `json`: how it says what it has found.
fn compare<E: Engine>(side: &Side, mut engine: E, json: bool) -> Result<(), Error> {
    let mut columns: [Vec<f64>; 6] = Default::default();
    let heads = ["actors, M/s", E::NAME, "actors, one way us", E::NAME, "actors, GB/s", E::NAME];
    if !json {
        println!("{}", heads.map(|head| format!("{head:>18}")).join(" "));
    }
    for round in 0..=ROUNDS {
        let values = [
            side.stream(E::MESSAGES.0)? / 1e6,
            engine.stream()? / 1e6,
            side.one_way_ns(E::TRIPS)? / 1e3,
            engine.one_way_ns()? / 1e3,
            side.bulk(E::PAYLOADS)? / 1e9,
            engine.bulk()? / 1e9,
        ];
        if !json {
            let said = values.map(|value| format!("{value:>18.3}")).join(" ");
            println!("{said}{}", if round == 0 { "  (to warm up)" } else { "" });
        }
        if round > 0 {
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
    }
    let ratio = |a: usize, b: usize| -> f64 {
        median(columns[a].iter().zip(&columns[b]).map(|(a, b)| a / b).collect())
    };
    let middle = |at: usize| median(columns[at].clone());
    if json {
        let (stream, one_message, payloads) = (ratio(0, 1), ratio(2, 3), ratio(4, 5));
        let one_way_ns = 1e3 * middle(2);
        let said = serde_json::json!({
            "stream": stream, "one_message": one_message, "payloads": payloads, "one_way_ns": one_way_ns
        });
        println!("{said}");
        return Ok(());
    }
    println!(
        "a stream: {:.2} million/s through actors, {:.2} through {}: {:.2} times as many",
        middle(0),
        middle(1),
        E::NAME,
        ratio(0, 1)
    );
    println!(
        "one message: {:.2} us through actors, {:.2} through {}: {:.2} times as long",
        middle(2),
        middle(3),
        E::NAME,
        ratio(2, 3)
    );
    println!(
        "payloads of 1 MiB: {:.2} GB/s through actors, {:.2} through {}: {:.2} of it",
        middle(4),
        middle(5),
        E::NAME,
        ratio(4, 5)
    );
    println!("at rest: {:.2} % of a core for a node", 100.0 * rest::share_at_rest().0);
    println!("{:?}", side.node.stats().peers[0].aggregator);
    Ok(())
}

/// The side that answers: until the other one has left.
fn answer(side: &Side) {
    let (sender, left) = std::sync::mpsc::channel();
    side.node.on_event(move |event| {
        if let actinium_cluster::NodeEvent::Down { .. } = event {
            let _ = sender.send(());
        }
    });
    let _ = left.recv();
}

/// The shapes of Thorium's mail: nodes, and workers of each.
const SHAPES: [(u32, usize); 3] = [(4, 7), (1, 3), (2, 1)];

/// The numbers of workers that `--workers 1,2,4` names.
fn numbers(list: &str) -> Result<Vec<usize>, Error> {
    let number = |text: &str| match text.parse() {
        Ok(workers @ 1..=64) => Ok(workers),
        _ => Err(format!("--workers: '{text}' is not allowed: 1 to 64")),
    };
    Ok(list.split(',').map(number).collect::<Result<_, _>>()?)
}

fn main() -> Result<(), Error> {
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    let json = asked.pop_if(|last| last == "--json").is_some();
    match asked.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--workers", ..] | ["--shapes" | "--stages" | "--windows"] if json => {
            Err(format!("--json: not with {asked:?}").into())
        }
        ["--workers", list] => {
            let shapes: Vec<_> = numbers(list)?.into_iter().map(|workers| (2, workers)).collect();
            shapes::table(&shapes, &[shapes::Load::Stream, shapes::Load::Mail])
        }
        ["--shapes"] => shapes::table(&SHAPES, &[shapes::Load::Mail]),
        #[cfg(feature = "mpi")]
        [] | ["mpi"] => mpi_alone::run(mpi_alone::What::Comparison, json),
        #[cfg(feature = "mpi")]
        ["--stages"] => mpi_alone::run(mpi_alone::What::Stages, json),
        #[cfg(feature = "mpi")]
        ["--windows"] => windows::run(),
        #[cfg(feature = "mpi")]
        ["--rest"] => mpi_alone::run(mpi_alone::What::Rest { rings: true }, json),
        #[cfg(feature = "mpi")]
        ["--rest", "--no-doorbells"] => {
            mpi_alone::run(mpi_alone::What::Rest { rings: false }, json)
        }
        #[cfg(feature = "zenoh")]
        ["zenoh", ..] => zenoh_alone::run(&asked, json),
        #[cfg(all(feature = "zenoh", not(feature = "mpi")))]
        [] => zenoh_alone::run(&asked, json),
        _ => Err(format!(
            "{asked:?}: not for this build; it is --workers LIST, --shapes, or of the feature mpi: \
             mpi, --stages, --windows, --rest [--no-doorbells], or of the feature zenoh: zenoh"
        )
        .into()),
    }
}
