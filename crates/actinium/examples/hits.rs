//! Hits of a detector: read from many CSV files, calibrated per run, summed up to clusters,
//! selected, written to a file. The energies of the selected clusters are counted in bins.
//!
//! `cargo run -p actinium --features app,csv --example hits -- HITS.csv ..` in a folder that has
//! a file `gains-RUN.json` for each run.

use actinium::app::{self, GraphArgs, clap};
use actinium::events::data::{Files, RowOutput, RowsExt, SourceExt};
use actinium::events::{
    AnalyzerMut, Builder, Cause, Event, Filter, Input, Producer, ProducerMut, Threads, ThreadsMut,
    Transition,
};
use clap::Parser;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
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

/// The gains are those of the run. Each slot has its own, and needs no lock for them.
struct Calibrate(Input<Vec<Hit>>, HashMap<u32, f64>);

impl ProducerMut for Calibrate {
    type Product = Vec<f64>;

    fn produce(&mut self, event: &Event<'_>) -> Result<Vec<f64>, Cause> {
        let gain = |hit: &Hit| self.1.get(&hit.channel).unwrap_or(&1.0);
        Ok(event.get(self.0).iter().map(|hit| hit.adc * gain(hit)).collect())
    }

    fn transition(&mut self, transition: Transition) -> Result<(), Cause> {
        if let Transition::BeginRun(run) = transition {
            let path = format!("gains-{run}.json");
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
            self.1 = serde_json::from_str(&text)?;
        }
        Ok(())
    }
}

struct Clusters(Input<Vec<Hit>>, Input<Vec<f64>>);

impl Producer for Clusters {
    type Product = Cluster;

    fn produce(&self, event: &Event<'_>) -> Result<Cluster, Cause> {
        let energies = event.get(self.1);
        let (number, energy) = (event.get(self.0)[0].event, energies.iter().sum());
        Ok(Cluster { event: number, energy, hits: energies.len() })
    }
}

struct Hard(Input<Cluster>);

impl Filter for Hard {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(event.get(self.0).energy > 10.0)
    }
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
        let (energies, _) = graph.producer_mut("calibrate", ThreadsMut::Stream, move |inputs| {
            Calibrate(inputs.get(hits), HashMap::new())
        });
        let cluster = graph.producer("clusters", Threads::Concurrent, move |inputs| {
            Clusters(inputs.get(hits), inputs.get(energies))
        });
        let hard =
            graph.filter("hard", Threads::Concurrent, move |inputs| Hard(inputs.get(cluster)));
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
