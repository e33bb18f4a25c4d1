//! A workload in parts, for a cluster: each node runs the modules of the events that it is given,
//! and what its outputs would have seen goes to one node, which runs the outputs of all events.

use super::pace::{Cpus, Pace};
pub use super::seen::{Given, Observations, Seen, sum};
use super::{Checksum, Making, Replayed, Sums, build, events_of, register};
use crate::{Module, Role, Threads, Times, Work, Workload};
use actinium_events::{
    Builder, Cause, Event, Filter, Graph, GraphErrors, Input, Inputs, Next, Source,
};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The label of what is given to outputs that run apart.
const GIVEN: &str = "the events of all nodes";

/// Makes the graph that [`graph`](super::graph) makes, and records what the ends of paths see,
/// event by event.
///
/// # Errors
/// The same as those of [`graph`](super::graph).
pub fn recorded(
    cpus: Cpus,
    workload: &Workload,
    events: Option<u64>,
    slots: usize,
) -> Result<(Graph, Seen), GraphErrors> {
    let (pace, seen) = (Pace::of_machine(cpus), Seen::new(slots));
    let source = events_of(workload, events, pace);
    Ok((build(workload, source, &Sums::By(seen.clone()), pace)?, seen))
}

/// A source that asks somebody for the next event.
struct Asks<F, M> {
    next: F,
    make: M,
}

impl<F, M, T, P> Source for Asks<F, M>
where
    F: FnMut() -> Next<T> + Send + 'static,
    M: Fn(T) -> (u64, P) + Send + 'static,
    P: Send + Sync + 'static,
{
    type Product = P;

    fn next(&mut self, _: u64) -> Result<Next<P>, Cause> {
        Ok(match (self.next)() {
            Next::Event(given) | Next::Numbered(_, given) => {
                let (number, product) = (self.make)(given);
                Next::Numbered(number, product)
            }
            Next::Transition(transition) => Next::Transition(transition),
            Next::Later => Next::Later,
            Next::End => Next::End,
        })
    }
}

/// All but the outputs, for the events whose numbers `next` gives, on a node that may share CPUs
/// with others. Where an output would have run,
/// what it would have seen is noted, in no time.
///
/// # Errors
/// As [`graph`](super::graph).
pub fn inner(
    workload: &Workload,
    slots: usize,
    next: impl FnMut() -> Next<u64> + Send + 'static,
) -> Result<(Graph, Seen), GraphErrors> {
    let (pace, seen) = (Pace::of_machine(Cpus::Shared), Seen::new(slots));
    let mut inner = workload.clone();
    for module in inner.modules.iter_mut().filter(|module| module.role == Role::Output) {
        module.threads = Threads::Concurrent;
        (module.work, module.times) = (Work::Busy, Times::constant(0));
        (module.parts, module.fails_every) = (NonZeroU32::MIN, None);
    }
    let making = Making { times: workload.source.times.clone(), pace };
    let make = move |number| (number, making.make(number));
    Ok((build(&inner, Asks { next, make }, &Sums::By(seen.clone()), pace)?, seen))
}

/// Whether an output runs for an event: it would have where the event ran.
struct Wants {
    module: u64,
    given: Input<Given>,
}

impl Filter for Wants {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(event.get(self.given).sum_of(self.module).is_some())
    }
}

/// The outputs alone, with their times and thread kinds, for events of which the rest has run
/// elsewhere; `None` if there are none.
///
/// For each output there is a filter more, called `wants LABEL`, and a path.
///
/// # Errors
/// As [`graph`](super::graph).
pub fn outputs(
    workload: &Workload,
    slots: usize,
    next: impl FnMut() -> Next<Given> + Send + 'static,
) -> Result<Option<(Graph, Seen)>, GraphErrors> {
    let on_paths: Vec<usize> =
        workload.paths.iter().flat_map(|path| path.modules.iter().copied()).collect();
    let modules = workload.modules.iter().enumerate();
    let outputs: Vec<(usize, &Module)> = modules
        .filter(|(number, module)| module.role == Role::Output && on_paths.contains(number))
        .collect();
    if outputs.is_empty() {
        return Ok(None);
    }
    let (pace, seen) = (Pace::of_machine(Cpus::Shared), Seen::new(slots));
    let make = |given: Given| (given.number, given);
    let mut builder = Builder::new(GIVEN, Asks { next, make });
    for (number, module) in outputs {
        let number = number as u64;
        let (shared, sums) = (Arc::new(module.clone()), Sums::By(seen.clone()));
        let make = move |inputs: &mut Inputs| Replayed {
            number,
            times: shared.times.clone(),
            parts: shared.parts,
            fails_every: shared.fails_every,
            source: None::<Input<Checksum>>,
            inputs: Box::default(),
            given: Some(inputs.get(GIVEN)),
            module: shared.clone(),
            pace,
            sums: sums.clone(),
        };
        let wants = format!("wants {}", module.label);
        register(&mut builder, workload, module, Some(&wants), make);
        let make = move |inputs: &mut Inputs| Wants { module: number, given: inputs.get(GIVEN) };
        builder.filter(&wants, actinium_events::Threads::Concurrent, make);
        builder.path(&wants, [&wants]);
    }
    Ok(Some((builder.build()?, seen)))
}
