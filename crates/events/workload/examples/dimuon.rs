//! Real events from a file to a histogram: which particles decay to two muons?
//!
//! The events are made up, with a seed: a smooth background and three particles. They are written
//! to a file and read from it as a source; a producer selects good muons, a filter keeps events
//! with a pair of opposite charge, a producer computes the pair's invariant mass, an analyzer fills
//! the histogram, an output writes the pairs. A plain loop over the same file has to give the same
//! histogram. The peaks are the J/psi (3.1 GeV), the upsilon (9.5 GeV) and the Z (91.2 GeV).
//!
//! `cargo run --release -p actinium-workload --example dimuon [FOLDER [EVENTS]]`

use actinium_events::data::{RowFile, RowOutput, Rows};
use actinium_events::{
    AnalyzerMut, Builder, Cause, Event, Figures, Filter, Input, Processor, Producer, Settings,
    Threads, ThreadsMut,
};
use actinium_observe::number::count;
use actinium_report::html::{Figure, LineChart, Section, Series, Unit};
use actinium_workload::RunReport;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A muon: transverse momentum in GeV, direction, charge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Muon {
    pt: f64,
    eta: f64,
    phi: f64,
    charge: i8,
}

/// The muons that the detector saw in one collision of two protons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Collision {
    id: u64,
    muons: Vec<Muon>,
}

/// Two muons of opposite charge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pair {
    id: u64,
    mass: f64,
}

// --- The physics: the same for the graph and for the plain loop
// -----------------------------------------

fn is_good(muon: &Muon) -> bool {
    muon.pt > 3.0 && muon.eta.abs() < 2.4
}

/// The first positive and the first negative one.
fn opposite(muons: &[Muon]) -> Option<(Muon, Muon)> {
    let first = |sign: i8| muons.iter().find(|muon| muon.charge == sign).copied();
    Some((first(1)?, first(-1)?))
}

/// The mass of whatever the two came from; their own is too small to count.
fn invariant_mass((a, b): (Muon, Muon)) -> f64 {
    let angle = (a.eta - b.eta).cosh() - (a.phi - b.phi).cos();
    (2.0 * a.pt * b.pt * angle).max(0.0).sqrt()
}

// --- The histogram
// ---------------------------------------------------------------------------------------

const BIN_GEV: f64 = 0.5;
const BINS: usize = 240;

#[derive(Clone, Debug, PartialEq)]
struct Histogram {
    bins: Vec<u64>,
    /// Beyond the last bin.
    over: u64,
}

impl Histogram {
    fn new() -> Self {
        Histogram { bins: vec![0; BINS], over: 0 }
    }

    fn fill(&mut self, mass: f64) {
        match self.bins.get_mut((mass / BIN_GEV) as usize) {
            Some(bin) => *bin += 1,
            None => self.over += 1,
        }
    }

    fn add(&mut self, other: &Histogram) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, other)| *bin += other);
        self.over += other.over;
    }

    fn entries(&self) -> u64 {
        self.bins.iter().sum::<u64>() + self.over
    }

    /// Columns of 2 GeV, their heights logarithmic.
    fn draw(&self) -> String {
        const ROWS: usize = 8;
        let columns: Vec<f64> = self
            .bins
            .chunks(4)
            .map(|bins| (1.0 + bins.iter().sum::<u64>() as f64).log10())
            .collect();
        let most = columns.iter().copied().fold(1.0, f64::max);
        let eighths = |column: &f64| (column / most * (ROWS * 8) as f64).round() as usize;
        let mut text = String::new();
        for row in (0..ROWS).rev() {
            let blocks = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
            let line: String = columns
                .iter()
                .map(|column| blocks[eighths(column).saturating_sub(row * 8).min(8)])
                .collect();
            text += &format!("  {}\n", line.trim_end());
        }
        text += &format!("  {}\n", "─".repeat(columns.len()));
        text + "  0         20        40        60        80        100 GeV\n"
    }
}

// --- The modules
// -----------------------------------------------------------------------------------------

struct GoodMuons(Input<Collision>);

impl Producer for GoodMuons {
    type Product = Vec<Muon>;

    fn produce(&self, event: &Event<'_>) -> Result<Vec<Muon>, Cause> {
        Ok(event.get(self.0).muons.iter().copied().filter(is_good).collect())
    }
}

struct HasPair(Input<Vec<Muon>>);

impl Filter for HasPair {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(opposite(&event.get(self.0)).is_some())
    }
}

struct MakePair(Input<Collision>, Input<Vec<Muon>>);

impl Producer for MakePair {
    type Product = Pair;

    fn produce(&self, event: &Event<'_>) -> Result<Pair, Cause> {
        let muons =
            opposite(&event.get(self.1)).ok_or("asked for the pair of an event that has none")?;
        Ok(Pair { id: event.get(self.0).id, mass: invariant_mass(muons) })
    }
}

struct Fill(Input<Pair>, Histogram);

impl AnalyzerMut for Fill {
    fn analyze(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        self.1.fill(event.get(self.0).mass);
        Ok(())
    }
}

// --- The events
// ------------------------------------------------------------------------------------------

/// Numbers that look random and are the same for the same seed (SplitMix64).
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Around 0, about 1 wide.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }

    fn muon(&mut self, pt: f64, charge: i8) -> Muon {
        let phi = self.between(-std::f64::consts::PI, std::f64::consts::PI);
        Muon { pt, eta: self.between(-2.6, 2.6), phi, charge }
    }

    fn collision(&mut self, id: u64) -> Collision {
        let kind = self.share();
        // What decayed: a narrow particle, the Z, or nothing in particular.
        let mass = match kind {
            ..0.14 => 3.097 + 0.04 * self.normal(),
            ..0.19 => 9.46 + 0.1 * self.normal(),
            ..0.35 => {
                91.19
                    + 1.25 * (std::f64::consts::PI * (self.share() - 0.5)).tan()
                    + 1.2 * self.normal()
            }
            _ => 1.5 - 18.0 * (1.0 - self.share()).ln(),
        };
        let charge = if self.share() < 0.5 { 1 } else { -1 };
        let pt = 4.0 - 9.0 * (1.0 - self.share()).ln();
        let first = self.muon(pt, charge);
        let second = self.muon(0.0, if kind > 0.9 { charge } else { -charge });
        // Its momentum is what gives the pair that mass.
        let angle = (first.eta - second.eta).cosh() - (first.phi - second.phi).cos();
        let second = Muon { pt: mass.max(0.3).powi(2) / (2.0 * pt * angle.max(1e-6)), ..second };
        let mut muons = vec![first, second];
        if self.share() < 0.2 {
            let pt = -4.0 * (1.0 - self.share()).ln();
            let charge = if self.share() < 0.5 { 1 } else { -1 };
            muons.push(self.muon(pt, charge));
        }
        if self.share() < 0.1 {
            muons.truncate(1);
        }
        Collision { id, muons }
    }
}

// --- The program
// -----------------------------------------------------------------------------------------

/// Runs the example in a folder, in which it leaves `collisions`, `pairs` and `dimuon.html`; the
/// text is what it has to say.
pub(crate) fn run(folder: &Path, events: u64, ending: &str) -> Result<String, Box<dyn Error>> {
    let (collisions, pairs) =
        (folder.join(format!("collisions.{ending}")), folder.join(format!("pairs.{ending}")));
    let mut random = Random(2026);
    let mut file = RowFile::create(&collisions)?;
    for id in 0..events {
        file.write(&random.collision(id))?;
    }
    file.finish()?;

    let kept = RowOutput::create(&pairs)?;
    let (mut builder, collisions_in) =
        Builder::with_source("collisions", Rows::<Collision>::open(&collisions)?);
    let good = builder.producer("good muons", Threads::Concurrent, move |inputs| {
        GoodMuons(inputs.get(collisions_in))
    });
    let has_pair =
        builder.filter("has a pair", Threads::Concurrent, move |inputs| HasPair(inputs.get(good)));
    let pair = builder.producer("pair", Threads::Concurrent, move |inputs| {
        MakePair(inputs.get(collisions_in), inputs.get(good))
    });
    // One histogram per slot: nobody waits for another.
    let fill = builder.analyzer_mut("fill", ThreadsMut::Stream, move |inputs| {
        Fill(inputs.get(pair), Histogram::new())
    });
    let with_pair = builder.path("pairs", (has_pair, &fill));
    builder.output("write", Threads::Serial.select(with_pair), kept.of(pair));
    let settings = Settings::default()
        .slots(16)
        .figures(Figures::Spans)
        .sample_every(Duration::from_millis(5));
    let summary = Processor::new(builder.build()?, settings).run()?.into_result()?;
    let rows = kept.finish()?;
    let Fill(_, histogram) =
        fill.merge(|all, one| all.1.add(&one.1)).ok_or("the run came to no end")?;

    let expected = plain_loop(&collisions)?;
    let same =
        histogram == expected && rows == expected.entries() && read_back(&pairs)? == expected;
    if !same {
        return Err("the graph and the plain loop differ".into());
    }
    let page = folder.join("dimuon.html");
    let points =
        (0..).map(|bin| f64::from(bin) * BIN_GEV).zip(histogram.bins.iter().map(|&n| n as f64));
    let chart = LineChart::new("Invariant mass of muon pairs", Unit::Count)
        .note("Pairs per 0.5 GeV.")
        .x("mass", Unit::Other("GeV".into()))
        .steps()
        .series(Series::new("pairs", points.collect()));
    let mut report = RunReport::new("Dimuons", &summary)
        .figure(Figure::new("Pairs", count(rows)).note("the same as in a plain loop"))
        .page();
    report.sections.insert(0, Section::new("Result").chart(chart));
    report.write(&page)?;
    Ok(format!(
        "{} collisions, {rows} pairs of muons, as many as in a plain loop:\n{}{}\n",
        summary.events,
        histogram.draw(),
        page.display()
    ))
}

/// The same without a graph.
fn plain_loop(collisions: &Path) -> Result<Histogram, Box<dyn Error>> {
    let mut histogram = Histogram::new();
    for collision in Rows::<Collision>::open(collisions)? {
        let good: Vec<Muon> = collision?.muons.into_iter().filter(is_good).collect();
        if let Some(pair) = opposite(&good) {
            histogram.fill(invariant_mass(pair));
        }
    }
    Ok(histogram)
}

fn read_back(pairs: &Path) -> Result<Histogram, Box<dyn Error>> {
    let mut histogram = Histogram::new();
    for pair in Rows::<Pair>::open(pairs)? {
        histogram.fill(pair?.mass);
    }
    Ok(histogram)
}

#[allow(dead_code)] // When the tests include this file.
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let folder =
        arguments.next().map_or_else(|| std::env::temp_dir().join("actinium-dimuon"), Into::into);
    let events = match arguments.next() {
        Some(events) => events.to_string_lossy().parse()?,
        None => 100_000,
    };
    fs::create_dir_all(&folder)?;
    print!("{}", run(&folder, events, "jsonl")?);
    Ok(())
}
