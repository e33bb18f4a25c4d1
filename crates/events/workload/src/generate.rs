//! Makes the workload that is shipped as `workloads/reconstruction.toml`: no experiment's, but of
//! the shape that is published of one.
//!
//! Published of CMS minimum-bias reconstruction: 461 modules on 79 levels with 1,457 inputs;
//! somebody who needs 264 others and somebody whom 78 need; module times with a median of 264 µs, a
//! ninth decile of 20 ms and a maximum of 299 ms; per event 4.5 s in all (0.4 to 22), 3.2 s of it
//! one behind the other; readers that share what is not thread safe (7 ms), and an output that
//! takes one event at a time (218 ms). The labels are made up. One seed gives one file.

use actinium_scheduler::mixing::SplitMix64;
use std::fmt::Write;

/// The seed of the shipped file.
pub const SEED: u64 = 2_024;

const LEVELS: usize = 80;
const PRODUCERS: usize = 460;
const READERS: usize = 4;
const OUTPUT_INPUTS: usize = 264;
const EDGES: usize = 1_457;
const EVENTS: usize = 100;
/// How many times each module has: a divisor of the number of events.
const VARIANTS: usize = 4;
/// The number of producers that many modules need: the beam's position, the field, the geometry.
const POPULAR: usize = 3;

const FAMILIES: [&str; 12] = [
    "pixel",
    "strip",
    "calorimeter",
    "muon",
    "track",
    "vertex",
    "electron",
    "photon",
    "tau",
    "jet",
    "flow",
    "missing-energy",
];
const STEPS: [&str; 12] = [
    "unpack",
    "clusters",
    "hits",
    "seeds",
    "candidates",
    "fit",
    "select",
    "merge",
    "isolate",
    "tag",
    "correct",
    "rank",
];

struct Module {
    label: String,
    level: usize,
    /// Not the same for every event, also apart from how much there is in each.
    times_ms: [f64; VARIANTS],
    inputs: Vec<usize>,
}

/// The file's text.
#[must_use]
pub fn reconstruction(seed: u64) -> String {
    let mut random = Random(SplitMix64::new(seed));
    let mut modules = modules(&mut random);
    let output = wire(&mut modules, &mut random);
    set_times(&mut modules, &mut random);
    let factors = factors(&mut random);
    text(&modules, &output, &factors)
}

/// The producers by level: readers first, one at least on each level.
fn modules(random: &mut Random) -> Vec<Module> {
    // Most stand early, where many things are done with the same hits, or late, where everything is
    // looked at in many ways.
    let middle = 2..LEVELS;
    let mut levels: Vec<usize> = middle.clone().collect();
    while levels.len() < PRODUCERS - READERS {
        let at = random.unit();
        let at = if random.unit() < 0.4 { at * at * 0.5 } else { 1.0 - at * at * 0.45 };
        levels.push(2 + (at * (middle.len() - 1) as f64) as usize);
    }
    levels.sort_unstable();
    let readers = (0..READERS).map(|reader| ("read", reader, 1));
    let others = levels.into_iter().enumerate().map(|(index, level)| {
        // The detector's parts first, then what is made of them.
        let family = (level * FAMILIES.len() / LEVELS + random.below(4)).min(FAMILIES.len() - 1);
        (FAMILIES[family], index, level)
    });
    let others: Vec<_> = others.collect();
    let label = |(family, index, level): (&str, usize, usize)| match level {
        1 => format!("{family}-{}", index + 1),
        _ => format!("{family}-{}-{}", STEPS[index % STEPS.len()], index + 1),
    };
    let all = readers.chain(others);
    all.map(|it| Module {
        label: label(it),
        level: it.2,
        times_ms: [0.0; VARIANTS],
        inputs: Vec::new(),
    })
    .collect()
}

/// Gives each its inputs, and returns the output's.
fn wire(modules: &mut [Module], random: &mut Random) -> Vec<usize> {
    let start = |level: usize, modules: &[Module]| modules.partition_point(|it| it.level < level);
    let mut edges = 0;
    for index in READERS..modules.len() {
        let level = modules[index].level;
        let (first, behind) = (start(level - 1, modules), start(level, modules));
        // The first of each level is on the spine: it needs the one before, so that the chain has
        // no gap.
        let on_spine = behind == index;
        let previous = if on_spine { first } else { first + random.below(behind - first) };
        modules[index].inputs.push(previous);
        edges += 1;
    }
    // The rest of the edges, to anything on a lower level, often to what is popular.
    let due = EDGES - OUTPUT_INPUTS;
    while edges < due {
        let index = READERS + POPULAR + random.below(modules.len() - READERS - POPULAR);
        let behind = start(modules[index].level, modules);
        let input = match random.unit() < 0.28 {
            true => READERS + random.below(POPULAR),
            // Rather what is near than what is far.
            false => {
                behind - 1 - ((random.unit() * random.unit()) * behind as f64) as usize % behind
            }
        };
        if input < behind && !modules[index].inputs.contains(&input) {
            modules[index].inputs.push(input);
            edges += 1;
        }
    }
    // The output needs all that nobody else does, and others until it has enough.
    let mut needed = vec![false; modules.len()];
    modules.iter().flat_map(|it| &it.inputs).for_each(|&input| needed[input] = true);
    let mut output: Vec<usize> = (0..modules.len()).filter(|&index| !needed[index]).collect();
    while output.len() < OUTPUT_INPUTS {
        let input = random.below(modules.len());
        if !output.contains(&input) {
            output.push(input);
        }
    }
    output.sort_unstable();
    output
}

fn set_times(modules: &mut [Module], random: &mut Random) {
    let mut levels_seen = 1;
    let mut spine = Vec::new();
    let mut beside = Vec::new();
    for (index, module) in modules.iter().enumerate().skip(READERS) {
        match module.level > levels_seen {
            true => {
                levels_seen = module.level;
                spine.push(index);
            }
            false => beside.push(index),
        }
    }
    let mut give = |indices: &[usize], median: f64, spread: f64, sum: f64| {
        let time = |random: &mut Random| (median * (spread * random.normal()).exp()).min(250.0);
        let means: Vec<f64> = indices.iter().map(|_| time(random)).collect();
        let factor = sum / means.iter().sum::<f64>();
        for (&index, mean) in indices.iter().zip(means) {
            let times = std::array::from_fn(|_| (0.8 * random.normal()).exp());
            let of_mean = mean * factor * VARIANTS as f64 / times.iter().sum::<f64>();
            modules[index].times_ms = times.map(|time| (time * of_mean).clamp(0.002, 299.0));
        }
    };
    give(&spine, 15.0, 1.6, 3_130.0);
    give(&beside, 0.15, 2.6, 1_380.0);
    give(&[0, 1, 2, 3], 1.0, 0.9, 7.2);
}

/// How much more there is in one event than in the mean one.
fn factors(random: &mut Random) -> Vec<f64> {
    let mut factors: Vec<f64> = (0..EVENTS).map(|_| (0.85 * random.normal()).exp()).collect();
    // What is cut off moves the mean, which is moved back, and so on: a few rounds are enough.
    for _ in 0..20 {
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        factors.iter_mut().for_each(|factor| *factor = (*factor / mean).clamp(0.084, 4.97));
    }
    factors
}

fn text(modules: &[Module], output: &[usize], factors: &[f64]) -> String {
    let mut text = String::new();
    let mut line = |line: &str| writeln!(text, "{line}").expect("a String takes all");
    line(
        "# A synthetic reconstruction of collisions: no experiment's, but of the shape that is published of one.",
    );
    line(
        "# Written by `cargo run -p actinium-workload --example reconstruction`; docs/events.md explains every key. Times are in milliseconds.",
    );
    line("");
    line("format = 1");
    line("name = \"reconstruction\"");
    line("");
    line("# How much there is in each event: every time is multiplied by the next of these.");
    line("event-factors = [");
    for row in factors.chunks(20) {
        let row: Vec<String> = row.iter().map(|factor| significant(*factor)).collect();
        line(&format!("  {},", row.join(", ")));
    }
    line("]");
    line("");
    line("modules = [");
    for module in modules {
        let threads = if module.level == 1 { ", threads = \"exclusive(input)\"" } else { "" };
        let inputs = match module.inputs.is_empty() {
            true => String::new(),
            false => format!(", inputs = [{}]", labels(modules, &module.inputs)),
        };
        let (label, times) = (&module.label, module.times_ms.map(significant).join(", "));
        line(&format!("  {{ label = \"{label}\"{threads}, times-ms = [{times}]{inputs} }},"));
    }
    line(
        "  { label = \"output\", kind = \"output\", threads = \"serial\", time-ms = 218.0, inputs = [",
    );
    for row in output.chunks(12) {
        line(&format!("    {},", labels(modules, row)));
    }
    line("  ] },");
    line("]");
    line("");
    line("[source]");
    line("events = 100");
    line("");
    line("[paths]");
    line("reconstruction = [\"output\"]");
    text
}

fn labels(modules: &[Module], indices: &[usize]) -> String {
    let labels = indices.iter().map(|&index| format!("\"{}\"", modules[index].label));
    labels.collect::<Vec<_>>().join(", ")
}

/// Three significant digits, without an exponent.
fn significant(value: f64) -> String {
    let digits = 2 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", digits.clamp(1, 6) as usize);
    let text = text.trim_end_matches('0');
    if text.ends_with('.') { format!("{text}0") } else { text.to_owned() }
}

/// SplitMix64, which never changes: nor does the file.
struct Random(SplitMix64);

impl Random {
    /// Returns a random number from 0 to just below 1.
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// A whole number below this one.
    fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Returns a random number with mean 0 and standard deviation 1.
    fn normal(&mut self) -> f64 {
        // The first is above 0, so that its logarithm is one.
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let texts = [0.0021, 0.264, 19.94, 218.0, 1.0, 0.084].map(significant);
        assert_eq!(texts, ["0.0021", "0.264", "19.9", "218.0", "1.0", "0.084"]);
    }
}
