//! Clusters of a calorimeter: a program whose job is a file. Its modules are below; which of them
//! run, with what parameters and on what files, `clusters.toml` says.
//!
//! `cargo run -p actinium --features app,csv,parquet --example clusters -- JOB.toml`

use actinium::app::Registry;
use actinium::events::data::{Files, RowsExt, SourceExt};
use actinium::events::{
    AsyncProducer, Cause, Completion, Event, Filter, Input, Kept, OutputMut, Producer, ProducerMut,
    Source, Transition,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

// --- The physics
// -----------------------------------------------------------------------------------------

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Hit {
    pub(crate) run: u64,
    pub(crate) event: u64,
    pub(crate) cell: u32,
    pub(crate) adc: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cluster {
    pub(crate) run: u64,
    pub(crate) event: u64,
    pub(crate) cells: u64,
    pub(crate) energy: f64,
}

/// Energies of hits, with the gains of the run that is on.
struct Calibrate {
    hits: Input<Vec<Hit>>,
    folder: PathBuf,
    gains: HashMap<u32, f64>,
}

impl ProducerMut for Calibrate {
    type Product = Vec<f64>;

    fn produce(&mut self, event: &Event<'_>) -> Result<Vec<f64>, Cause> {
        let gain = |hit: &Hit| self.gains.get(&hit.cell).unwrap_or(&1.0);
        Ok(event.get(self.hits).iter().map(|hit| hit.adc * gain(hit)).collect())
    }

    fn transition(&mut self, transition: Transition) -> Result<(), Cause> {
        if let Transition::BeginRun(run) = transition {
            let path = self.folder.join(format!("gains-{run}.json"));
            let text = std::fs::read(&path).map_err(|it| format!("{}: {it}", path.display()))?;
            self.gains = serde_json::from_slice(&text)?;
        }
        Ok(())
    }
}

/// All hits above a threshold, as one cluster.
struct ClusterFinder {
    hits: Input<Vec<Hit>>,
    energies: Input<Vec<f64>>,
    threshold: f64,
}

impl Producer for ClusterFinder {
    type Product = Cluster;

    fn produce(&self, event: &Event<'_>) -> Result<Cluster, Cause> {
        let (hits, energies) = (event.get(self.hits), event.get(self.energies));
        let seen = energies.iter().filter(|&&energy| energy > self.threshold);
        let (cells, energy) = seen.fold((0, 0.0), |(cells, sum), energy| (cells + 1, sum + energy));
        Ok(Cluster { run: hits[0].run, event: hits[0].event, cells, energy })
    }
}

/// The temperature of the detector, which a service knows.
struct Temperature {
    hits: Input<Vec<Hit>>,
    service: Sender<(String, Completion<f64>)>,
}

impl AsyncProducer for Temperature {
    type Product = f64;

    fn start(&self, event: &Event<'_>, done: Completion<f64>) -> Result<(), Cause> {
        let hits = event.get(self.hits);
        let question = format!("{} {}\n", hits[0].run, hits[0].event);
        Ok(self.service.send((question, done)).map_err(|_| "the service has gone")?)
    }
}

/// What a thread does for [`Temperature`]: it passes on questions and answers, line by line.
fn ask(mut service: TcpStream, questions: &Receiver<(String, Completion<f64>)>) {
    let mut answers = service.try_clone().map(|it| BufReader::new(it).lines());
    for (question, done) in questions {
        let mut answer = || -> Result<f64, Cause> {
            let answers = answers.as_mut().map_err(|error| error.to_string())?;
            service.write_all(question.as_bytes())?;
            Ok(answers.next().ok_or("the service has closed its connection")??.trim().parse()?)
        };
        done.finish(answer());
    }
}

/// A warm calorimeter shows 2 % less per degree above 20.
struct Correct(Input<Cluster>, Input<f64>);

impl Producer for Correct {
    type Product = Cluster;

    fn produce(&self, event: &Event<'_>) -> Result<Cluster, Cause> {
        let (cluster, degrees) = (event.get(self.0).clone(), *event.get(self.1));
        let energy = cluster.energy * (1.0 + 0.02 * (degrees - 20.0));
        Ok(Cluster { energy, ..cluster })
    }
}

struct Hard(Input<Cluster>, f64);

impl Filter for Hard {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(event.get(self.0).energy > self.1)
    }
}

/// How many clusters have which energy. Each slot counts its own.
struct Spectrum {
    cluster: Input<Cluster>,
    to: SpectrumFile,
    bins: Vec<u64>,
}

impl Spectrum {
    fn add(&mut self, other: Spectrum) {
        self.bins.iter_mut().zip(other.bins).for_each(|(bin, more)| *bin += more);
    }
}

impl OutputMut for Spectrum {
    fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        let bin = (event.get(self.cluster).energy / self.to.width) as usize;
        self.bins[bin.min(self.to.bins - 1)] += 1;
        Ok(())
    }
}

// --- The program: what the job's file may name
// -----------------------------------------------------------------------------------------

#[derive(Deserialize)]
struct HitFiles {
    files: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Gains {
    gains: PathBuf,
}

#[derive(Deserialize)]
struct Threshold {
    threshold: f64,
}

#[derive(Deserialize)]
struct Service {
    service: String,
}

#[derive(Deserialize)]
struct SpectrumFile {
    file: PathBuf,
    bins: usize,
    width: f64,
}

fn hits(from: HitFiles) -> Result<impl Source<Product = Vec<Hit>>, Cause> {
    let hits = Files::<Hit>::open(from.files)?.group_by(|hit| (hit.run, hit.event));
    Ok(hits.runs_by(|hits| hits[0].run).read_ahead(64))
}

fn temperature(to: Service, hits: Input<Vec<Hit>>) -> Result<Temperature, Cause> {
    let stream = TcpStream::connect(&to.service).map_err(|it| format!("{}: {it}", to.service))?;
    let (service, questions) = channel();
    std::thread::spawn(move || ask(stream, &questions));
    Ok(Temperature { hits, service })
}

/// The run has ended: one spectrum of those of all slots.
fn write_spectrum(spectra: Kept<Spectrum>) -> Result<(), Cause> {
    let Some(all) = spectra.merge(Spectrum::add) else { return Ok(()) };
    Ok(std::fs::write(&all.to.file, serde_json::to_vec(&all.bins)?)?)
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.source("hit-files", hits);
    registry.producer_mut("calibrate", |from: Gains, hits| {
        Ok(Calibrate { hits, folder: from.gains, gains: HashMap::new() })
    });
    registry.producer("cluster-finder", |above: Threshold, (hits, energies)| {
        Ok(ClusterFinder { hits, energies, threshold: above.threshold })
    });
    registry.async_producer("temperature", temperature);
    registry.producer("correct", |(), (cluster, degrees)| Ok(Correct(cluster, degrees)));
    registry.filter("hard", |above: Threshold, cluster| Ok(Hard(cluster, above.threshold)));
    let spectrum = registry.output_mut("spectrum", |to: SpectrumFile, cluster| match to.bins {
        0 => Err("a spectrum has at least one bin".into()),
        bins => Ok(Spectrum { cluster, to, bins: vec![0; bins] }),
    });
    spectrum.after(write_spectrum);
    registry.row_file::<Cluster>("cluster-file");
    registry.crosses::<Vec<Hit>>(); // to other nodes: --fabric
    registry
}

actinium::events_main!(registry);
