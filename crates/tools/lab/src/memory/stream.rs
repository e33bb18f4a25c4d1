//! STREAM (McCalpin): four loops over three arrays that no cache holds, by what memory the arrays
//! lie in.
//!
//! Each thread is bound to a PU, if there is one that no other program has claimed, and has the
//! same part of each array in every loop. The arrays are written before the first round; the first
//! round does not count; of the others the best does, as STREAM's rules have it. What the arrays
//! hold at the end is compared with what the same operations make of single numbers.

use super::failure::failure;
use crate::Failure;
use actinium::Bind;
use actinium::topology::{PuId, Topology, bind_current_thread};
use actinium_memory::{PageSize, Placement, Segment, SegmentStats, Size, Warning};
use serde::{Serialize, Serializer};
use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Barrier;
use std::time::Instant;

/// STREAM's scalar.
const SCALAR: f64 = 3.0;
/// How far a mean may be off, relative to what it should be: STREAM's bound for 64-bit numbers.
const ERROR_MAX: f64 = 1e-13;

/// The memory that holds the arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Store {
    /// The heap, first written by one thread, as programs do that think of nothing.
    Heap,
    /// The heap, first written by the threads that use it.
    HeapTouched,
    /// Segments.
    Segment(Placement),
}

impl Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Store::Heap => f.write_str("heap"),
            Store::HeapTouched => f.write_str("heap-touched"),
            Store::Segment(placement) => placement.fmt(f),
        }
    }
}

impl Serialize for Store {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Store {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "heap" => Ok(Store::Heap),
            "heap-touched" => Ok(Store::HeapTouched),
            _ => text.parse().map(Store::Segment).map_err(|_| {
                format!("'{text}' is no placement: allowed are heap, heap-touched, interleave, interleave:NODES, weighted, bind:NODES, first-touch, local; NODES are like '0' or '0-2,5'")
            }),
        }
    }
}

/// The settings of the measurement.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many numbers each array has.
    pub numbers: usize,
    /// The kinds of memory to measure, one after the other.
    pub stores: Vec<Store>,
    /// The pages of segments.
    pub pages: PageSize,
    /// How many threads.
    pub threads: usize,
    /// To which PUs they are bound.
    pub bind: Bind,
    /// How many rounds.
    pub times: usize,
    /// Whether each node is measured by itself, too.
    pub nodes: bool,
}

/// One kernel's rate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rate {
    /// The name.
    pub kernel: &'static str,
    /// The rate of the best round, in GB (10⁹ bytes) per second.
    pub gb_per_s: f64,
    /// Times of a round.
    pub least_s: f64,
    /// Likewise.
    pub mean_s: f64,
    /// Likewise.
    pub greatest_s: f64,
}

/// The result of one store.
#[derive(Clone, Debug, Serialize)]
pub struct Achieved {
    /// The store.
    pub store: Store,
    /// The node whose PUs ran it, if only those did.
    pub node: Option<u32>,
    /// How many threads.
    pub threads: usize,
    /// Copy, scale, add, triad.
    pub rates: Vec<Rate>,
    /// The time from before the arrays were there to after they were checked.
    pub total_s: f64,
    /// The largest relative error of the three arrays.
    pub error: f64,
    /// Where the first array's pages are.
    pub segment: Option<SegmentStats>,
    /// Warnings that name the features that segments did without.
    pub warnings: Vec<Warning>,
    /// Seconds of each round's kernels, the first round's too.
    #[serde(skip)]
    pub times: Vec<[f64; 4]>,
}

impl Achieved {
    /// Whether the arrays hold what they have to.
    pub fn is_valid(&self) -> bool {
        self.error <= ERROR_MAX
    }
}

/// How large each array has to be, by STREAM's rules: four times all of the last level's caches,
/// and 32 MiB at least.
pub fn default_bytes(machine: &Topology) -> u64 {
    let last = machine.caches().iter().map(|cache| cache.level).max();
    let sizes = machine.caches().iter().filter(|cache| Some(cache.level) == last);
    let all: u64 = sizes.filter_map(|cache| cache.size_bytes).sum();
    (4 * all).max(32 << 20)
}

/// A function that runs before each round: it waits for other nodes, for example.
pub type Meet<'a> = &'a (dyn Fn() + Sync);

/// Measures.
///
/// # Errors
/// If memory can not be had.
pub fn measure(
    settings: &Settings,
    machine: &Topology,
    meet: Meet<'_>,
    mut note: impl FnMut(&str),
) -> Result<Vec<Achieved>, Failure> {
    let seats = machine.seats(&settings.bind, settings.threads);
    let seats = seats.map_err(|error| Failure::Asked(format!("--bind: {error}")))?;
    seats.remarks.iter().for_each(|remark| note(remark));
    let all = seats.pus();
    let mut achieved = Vec::new();
    for store in &settings.stores {
        note(&store.to_string());
        achieved.push(one(settings, store, None, &all, settings.threads, meet)?);
    }
    if settings.nodes {
        for node in machine.numa_nodes() {
            let of_node = |pu: &Option<PuId>| pu.is_some_and(|pu| node.pus.contains(pu));
            let pus: Vec<Option<PuId>> = all.iter().copied().filter(of_node).collect();
            // A node without workers has nobody to measure it, one without memory nothing.
            if pus.is_empty() || node.memory_bytes == Some(0) {
                continue;
            }
            note(&format!("node {}", node.os_index));
            let store = Store::Segment(Placement::Bind([node.os_index].into_iter().collect()));
            achieved.push(one(settings, &store, Some(node.os_index), &pus, pus.len(), meet)?);
        }
    }
    Ok(achieved)
}

/// An array.
enum Array {
    Heap(Vec<f64>),
    Segment(Segment),
}

impl Array {
    fn new(settings: &Settings, store: &Store, threads: usize) -> Result<Self, Failure> {
        let numbers = settings.numbers;
        let placement = match store {
            Store::Heap => {
                let mut values = vec![0.0; numbers];
                // By this thread, so that the pages are where it is.
                values.fill(1.0);
                return Ok(Array::Heap(values));
            }
            // The system hands out zeroed memory that nobody has touched.
            Store::HeapTouched => return Ok(Array::Heap(vec![0.0; numbers])),
            Store::Segment(placement) => placement.clone(),
        };
        let builder = Segment::builder().size(Size::Bytes(numbers as u64 * 8));
        let builder = builder.pages(settings.pages).placement(placement).threads(threads);
        builder.build().map(Array::Segment).map_err(failure)
    }

    fn values(&mut self, numbers: usize) -> Result<&mut [f64], Failure> {
        match self {
            Array::Heap(values) => Ok(values),
            Array::Segment(segment) => {
                let bytes = segment.bytes().map(|bytes| &mut bytes[..numbers * 8]);
                bytes
                    .map(bytemuck::cast_slice_mut)
                    .ok_or_else(|| Failure::Failed("the segment is not private".to_owned()))
            }
        }
    }
}

fn one(
    settings: &Settings,
    store: &Store,
    node: Option<u32>,
    pus: &[Option<PuId>],
    threads: usize,
    meet: Meet<'_>,
) -> Result<Achieved, Failure> {
    let begun = Instant::now();
    let make = || Array::new(settings, store, threads);
    let (mut a, mut b, mut c) = (make()?, make()?, make()?);
    let numbers = settings.numbers;
    let (times, error) = rounds(
        [a.values(numbers)?, b.values(numbers)?, c.values(numbers)?],
        settings.times,
        pus,
        threads,
        meet,
    );
    let total_s = begun.elapsed().as_secs_f64();
    let (mut segment, mut warnings) = (None, Vec::new());
    if let Array::Segment(first) = &a {
        segment = Some(first.stats());
        warnings = first.warnings();
    }
    Ok(Achieved {
        store: store.clone(),
        node,
        threads,
        rates: rates(&times, settings.numbers),
        total_s,
        error,
        segment,
        warnings,
        times,
    })
}

/// The kernels, and the bytes that each moves per number.
pub const KERNELS: [(&str, u64); 4] = [("copy", 16), ("scale", 16), ("add", 24), ("triad", 24)];

fn rates(times: &[[f64; 4]], numbers: usize) -> Vec<Rate> {
    let counted = &times[1..];
    let kernels = KERNELS.iter().enumerate();
    kernels
        .map(|(index, &(kernel, bytes_per_number))| {
            let of = || counted.iter().map(move |round| round[index]);
            let least_s = of().fold(f64::INFINITY, f64::min);
            Rate {
                kernel,
                gb_per_s: (bytes_per_number * numbers as u64) as f64 / least_s / 1e9,
                least_s,
                mean_s: of().sum::<f64>() / counted.len() as f64,
                greatest_s: of().fold(0.0, f64::max),
            }
        })
        .collect()
}

/// All rounds' times, and the largest relative error at the end.
fn rounds(
    [a, b, c]: [&mut [f64]; 3],
    times: usize,
    pus: &[Option<PuId>],
    threads: usize,
    meet: Meet<'_>,
) -> (Vec<[f64; 4]>, f64) {
    let barrier = Barrier::new(threads);
    let barrier = &barrier;
    let numbers = a.len();
    // The same split as a segment's arenas have.
    let mut rest = (&mut *a, &mut *b, &mut *c);
    let mut parts = Vec::new();
    for thread in 0..threads {
        let len = numbers * (thread + 1) / threads - numbers * thread / threads;
        let (a, after_a) = rest.0.split_at_mut(len);
        let (b, after_b) = rest.1.split_at_mut(len);
        let (c, after_c) = rest.2.split_at_mut(len);
        rest = (after_a, after_b, after_c);
        parts.push((a, b, c));
    }
    let done: Vec<Vec<[f64; 4]>> = std::thread::scope(|scope| {
        let handles: Vec<_> = parts
            .into_iter()
            .enumerate()
            .map(|(thread, part)| {
                let pu = pus.get(thread).copied().flatten();
                scope.spawn(move || {
                    // A thread that can not be bound runs where it is put: the report has the
                    // rates.
                    let _ = pu.map(bind_current_thread);
                    kernels(part, times, barrier, if thread == 0 { meet } else { &|| () })
                })
            })
            .collect();
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let times = done.into_iter().next().unwrap_or_default();
    let error = check([a, b, c], times.len());
    (times, error)
}

fn kernels(
    (a, b, c): (&mut [f64], &mut [f64], &mut [f64]),
    times: usize,
    barrier: &Barrier,
    meet: Meet<'_>,
) -> Vec<[f64; 4]> {
    a.fill(1.0);
    b.fill(2.0);
    c.fill(0.0);
    let timed = |work: &mut dyn FnMut()| {
        barrier.wait();
        let begun = Instant::now();
        work();
        barrier.wait();
        begun.elapsed().as_secs_f64()
    };
    (0..times)
        .map(|_| {
            meet();
            [
                timed(&mut || c.copy_from_slice(a)),
                timed(&mut || b.iter_mut().zip(&*c).for_each(|(b, c)| *b = SCALAR * c)),
                timed(&mut || {
                    let both = a.iter().zip(&*b);
                    c.iter_mut().zip(both).for_each(|(c, (a, b))| *c = a + b);
                }),
                timed(&mut || {
                    let both = b.iter().zip(&*c);
                    a.iter_mut().zip(both).for_each(|(a, (b, c))| *a = b + SCALAR * c);
                }),
            ]
        })
        .collect()
}

/// The largest relative error of a mean.
fn check(arrays: [&[f64]; 3], times: usize) -> f64 {
    let (mut a, mut b, mut c) = (1.0, 2.0, 0.0);
    for _ in 0..times {
        c = a;
        b = SCALAR * c;
        c = a + b;
        a = b + SCALAR * c;
    }
    let errors = arrays.iter().zip([a, b, c]).map(|(array, expected): (_, f64)| {
        let off: f64 = array.iter().map(|value| (value - expected).abs()).sum();
        off / array.len() as f64 / expected.abs()
    });
    // What is no number is as wrong as can be.
    errors.map(|error| if error.is_nan() { f64::INFINITY } else { error }).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_compute_what_they_should_and_errors_are_found() {
        for threads in [1, 2, 3] {
            let mut arrays = [(); 3].map(|()| vec![0.0; 1001]);
            let [a, b, c] = &mut arrays;
            let (times, error) = rounds([a, b, c], 3, &[], threads, &|| ());
            assert_eq!((times.len(), error), (3, 0.0));
            // a = 15 a each round.
            assert_eq!(arrays[0][1000], 15_f64.powi(3));
            arrays[1][500] += 1.0;
            let [a, b, c] = &arrays;
            assert!(check([a, b, c], 3) > ERROR_MAX);
            arrays[1][500] = f64::NAN;
            let [a, b, c] = &arrays;
            assert_eq!(check([a, b, c], 3), f64::INFINITY);
        }
    }

    #[test]
    fn the_first_round_does_not_count() {
        let rates = rates(&[[9.0; 4], [2.0; 4], [4.0; 4]], 1_000_000_000);
        assert_eq!((rates[0].gb_per_s, rates[3].gb_per_s), (8.0, 12.0));
        assert_eq!((rates[0].least_s, rates[0].mean_s, rates[0].greatest_s), (2.0, 3.0, 4.0));
    }

    #[test]
    fn arrays_are_larger_than_all_caches() {
        let machine =
            Topology::synthetic("package:2 l3:1(size=64MB) core:4 pu:1").expect("a machine");
        let caches: u64 = machine.caches().iter().filter_map(|cache| cache.size_bytes).sum();
        assert_eq!(default_bytes(&machine), 4 * caches);
        let small = Topology::synthetic("core:1 pu:1").expect("a machine");
        assert_eq!(default_bytes(&small), 32 << 20);
    }
}
