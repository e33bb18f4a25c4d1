//! Hits of a detector: read from many CSV files, calibrated per run, summed up to clusters,
//! selected, written to a file. The energies of the selected clusters are counted in bins.
//!
//! `cargo run -p actinium --features app,csv --example hits -- HITS.csv ..` in a folder that has
//! a file `gains-RUN.json` for each run.

use actinium::app::{self, GraphArgs, clap};
use actinium::events::data::{Files, RowOutput, RowsExt, SourceExt};
use actinium::events::{AnalyzerMut, Builder, Cause, Event, Input, Threads, ThreadsMut};
use clap::Parser;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Sums up the hits of each event, and selects the events with much energy.
#[derive(Parser)]
#[command(name = "hits", version)]
struct Args {
    /// Files of hits, in the order in which they are read
    #[arg(value_name = "FILE", required = true)]
    hits: Vec<PathBuf>,
    #[command(flatten)]
    graph: GraphArgs,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Hit {
    pub(crate) run: u64,
    pub(crate) event: u64,
    pub(crate) channel: u32,
    pub(crate) adc: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cluster {
    pub(crate) event: u64,
    pub(crate) energy: f64,
    pub(crate) hits: usize,
}

struct Fill(Input<Cluster>, [u64; 100]);

impl AnalyzerMut for Fill {
    fn analyze(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        self.1[(event.get(self.0).energy as usize).min(99)] += 1;
        Ok(())
    }
}

pub(crate) fn main() -> ExitCode {
    app::main(|args: Args, matches| {
        let written = RowOutput::create("clusters.csv")?;
        let events = Files::<Hit>::open(&args.hits)?;
        let events =
            events.group_by(|hit| (hit.run, hit.event)).runs_by(|hits| hits[0].run).read_ahead(64);
        let (mut graph, hits) = Builder::with_source("hits", events);
        let gains = graph.condition("gains", |run| {
            let path = format!("gains-{run}.json");
            let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
            Ok(serde_json::from_str::<HashMap<u32, f64>>(&text)?)
        });
        let energies = graph.producer("calibrate", Threads::Concurrent, move |inputs| {
            let (hits, gains) = (inputs.get(hits), gains.clone());
            move |event: &Event<'_>| {
                let gains = gains.get()?;
                let gain = |hit: &Hit| gains.get(&hit.channel).unwrap_or(&1.0);
                Ok(event.get(hits).iter().map(|hit| hit.adc * gain(hit)).collect::<Vec<_>>())
            }
        });
        let cluster = graph.producer("clusters", Threads::Concurrent, move |inputs| {
            let (hits, energies) = (inputs.get(hits), inputs.get(energies));
            move |event: &Event<'_>| {
                let (hits, energies) = (event.get(hits), event.get(energies));
                let energy = energies.iter().sum();
                Ok(Cluster { event: hits[0].event, energy, hits: hits.len() })
            }
        });
        let hard = graph.filter("hard", Threads::Concurrent, move |inputs| {
            let cluster = inputs.get(cluster);
            move |event: &Event<'_>| Ok(event.get(cluster).energy > 10.0)
        });
        let fill = graph.analyzer_mut("fill", ThreadsMut::Stream, move |inputs| {
            Fill(inputs.get(cluster), [0; 100])
        });
        let main = graph.path("main", (hard, &fill));
        graph.output("write", Threads::Serial.select(main), written.of(cluster));
        args.graph.run(matches, |_| graph.build())?;
        if let Some(Fill(_, bins)) =
            fill.merge(|all, one| (0..100).for_each(|k| all.1[k] += one.1[k]))
        {
            let most = (0..100).max_by_key(|&bin| bins[bin]).unwrap_or_default();
            eprintln!("{} clusters; most have an energy of {most}", written.finish()?);
        }
        Ok(())
    })
}
