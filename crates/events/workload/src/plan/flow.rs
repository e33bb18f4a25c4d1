//! A workload's graph in the form that planning walks: who needs whom, what is reached, what limits
//! whom.

use crate::graph;
use crate::model::{Threads, Work, Workload};

/// The reached modules of a workload, under their indices in it.
#[derive(Clone, Debug)]
pub struct Flow<'w> {
    /// The workload.
    pub workload: &'w Workload,
    /// Which modules run if every filter says yes.
    pub reached: Vec<bool>,
    /// The producers that each module needs: each once, whatever the number of its products.
    pub producers: Vec<Vec<usize>>,
    /// The modules that need each module's products. Only reached modules are listed.
    pub consumers: Vec<Vec<usize>>,
    /// The paths on which each module stands, with its place there.
    pub on_paths: Vec<Vec<(usize, usize)>>,
    /// Which limit each module is under, if any: an index into `limits`.
    pub limit_of: Vec<Option<usize>>,
    /// The modules and resources that only a limited number of tasks can be in at a time.
    pub limits: Vec<Limit>,
    /// The mean time from each module's start to the end of the event, along the longest way: the
    /// more, the more urgent.
    pub urgency: Vec<f64>,
    /// The number of modules in the longest chain that ends with each: 1 for who needs nobody, 0
    /// for what is not reached.
    pub levels: Vec<usize>,
}

/// A serial module, a limited one, or a shared resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The module's label, or the resource's name.
    pub name: String,
    /// Whether it is one module's, or shared.
    pub shared: bool,
    /// How many tasks may be in it.
    pub tasks_max: u32,
}

impl<'w> Flow<'w> {
    /// Makes the flow of a workload.
    #[must_use]
    pub fn new(workload: &'w Workload) -> Self {
        let count = workload.modules.len();
        let reached = graph::reachable(workload);
        let producers: Vec<Vec<usize>> = workload.modules.iter().map(distinct_producers).collect();
        let mut consumers = vec![Vec::new(); count];
        for consumer in (0..count).filter(|&consumer| reached[consumer]) {
            for &producer in &producers[consumer] {
                consumers[producer].push(consumer);
            }
        }
        let mut on_paths = vec![Vec::new(); count];
        for (path, steps) in workload.paths.iter().enumerate() {
            for (step, &module) in steps.modules.iter().enumerate() {
                on_paths[module].push((path, step));
            }
        }
        let (limits, limit_of) = limits(workload, &reached);
        let order = order(&producers, &consumers, &reached);
        let mut levels = vec![0; count];
        for &module in &order {
            let deepest = producers[module].iter().map(|&producer| levels[producer]).max();
            levels[module] = 1 + deepest.unwrap_or(0);
        }
        let mut urgency = vec![0.0; count];
        for &module in order.iter().rev() {
            let behind = consumers[module].iter().map(|&consumer| urgency[consumer]);
            let behind = behind.fold(0.0, f64::max);
            urgency[module] = workload.modules[module].times.mean() + behind;
        }
        Self {
            workload,
            reached,
            producers,
            consumers,
            on_paths,
            limit_of,
            limits,
            urgency,
            levels,
        }
    }

    /// The modules that run, by index.
    pub fn modules(&self) -> impl Iterator<Item = usize> {
        (0..self.reached.len()).filter(|&module| self.reached[module])
    }

    /// How many pairs of a module and one that it needs there are.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.modules().map(|module| self.producers[module].len()).sum()
    }

    /// Whether every module that runs only waits.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        self.modules().all(|module| self.workload.modules[module].work == Work::Wait)
    }
}

fn distinct_producers(module: &crate::model::Module) -> Vec<usize> {
    // In the order in which they are asked for, which matters to who asks one by one.
    let mut seen = std::collections::HashSet::with_capacity(module.inputs.len());
    module.inputs.iter().map(|input| input.module).filter(|&module| seen.insert(module)).collect()
}

fn limits(workload: &Workload, reached: &[bool]) -> (Vec<Limit>, Vec<Option<usize>>) {
    let shared = workload.resources.iter();
    let mut limits: Vec<Limit> =
        shared.map(|name| Limit { name: name.clone(), shared: true, tasks_max: 1 }).collect();
    let modules = workload.modules.iter().zip(reached);
    let limit_of = modules
        .map(|(module, &reached)| {
            let tasks_max = match module.threads {
                _ if !reached => return None,
                // A stream module has an instance per slot, and a slot has one event: nobody ever
                // waits.
                Threads::Concurrent | Threads::Stream => return None,
                Threads::Exclusive { resource } => return Some(resource),
                Threads::Serial => 1,
                Threads::Limited(limit) => limit.get(),
            };
            limits.push(Limit { name: module.label.clone(), shared: false, tasks_max });
            Some(limits.len() - 1)
        })
        .collect();
    (limits, limit_of)
}

/// The reached modules, each behind all that it needs.
fn order(producers: &[Vec<usize>], consumers: &[Vec<usize>], reached: &[bool]) -> Vec<usize> {
    let mut missing: Vec<usize> = producers.iter().map(Vec::len).collect();
    let mut order: Vec<usize> =
        (0..reached.len()).filter(|&module| reached[module] && missing[module] == 0).collect();
    let mut next = 0;
    while let Some(&module) = order.get(next) {
        next += 1;
        for &consumer in &consumers[module] {
            missing[consumer] -= 1;
            if missing[consumer] == 0 {
                order.push(consumer);
            }
        }
    }
    order
}
