//! The costs of this machine: what single operations cost, and what only several workers at once
//! show.

use super::measure::{self, Loop};
use crate::Failure;
use actinium::Policy;
use actinium::topology::Topology;
use actinium_sim::machine::LINE_BYTES;
use actinium_sim::{Costs, Machine, Workload, simulate};

/// Actors per worker, as in the published experiments.
pub(super) const ACTORS: u32 = 3;
/// Accesses per message, likewise.
pub(super) const ACCESSES: u32 = 20;
/// Real runs of which the median counts.
pub(super) const RUNS: usize = 5;
/// A real run has so many times as many messages as a simulated one: what happens only at its start
/// counts little then.
const LONGER: u32 = 10;
/// The state at which costs are fitted: it fits into the smallest cache.
pub(super) const FITTED_BYTES: u64 = 64;
/// Simulated runs by which a cost is fitted, at most.
const FITS: usize = 16;
/// A cost is fitted well enough when the simulation is off by no more than this.
const FITTED: f64 = 0.01;

/// The machine at hand, as it is simulated.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) workers: usize,
    pub(super) batch: u32,
    pub(super) seed: u64,
    /// Simulated messages of each worker.
    pub(super) messages: u32,
    pub(super) machine: Machine,
}

fn failed(error: impl ToString) -> Failure {
    Failure::Failed(error.to_string())
}

impl Own {
    /// Measures the machine, as the simulation needs it.
    pub(super) fn measure(batch: u32, seed: u64, messages: u32) -> Result<Self, Failure> {
        let topology = Topology::detect().map_err(failed)?;
        let workers = topology.usable_workers().workers;
        let costs = single_costs(&topology, messages)?;
        let mut machine = Machine::new(&topology, workers, costs).map_err(failed)?;
        fit_third_level(&mut machine);
        let mut own = Own { workers, batch, seed, messages, machine };
        if workers > 1 {
            own.fit_shared_turns()?;
            own.fit_contention()?;
        }
        Ok(own)
    }

    /// Large states take longer, and say as much with fewer messages.
    fn messages_of_actor(&self, state_bytes: u64) -> u32 {
        let each = self.messages.div_ceil(ACTORS);
        if state_bytes > 1_000_000 { each.div_ceil(4) } else { each }
    }

    fn actors(&self) -> u32 {
        ACTORS * self.workers as u32
    }

    /// What is simulated of actors with such states.
    pub(super) fn workload(&self, state_bytes: u64) -> Workload {
        let messages = self.messages_of_actor(state_bytes);
        let mut workload = Workload::closed_loop(self.actors(), ACCESSES, state_bytes, messages);
        workload.warm_up = messages;
        workload
    }

    /// Nanoseconds of a worker's time per message, simulated.
    pub(super) fn simulated_ns(&self, policy: Policy, state_bytes: u64) -> Result<f64, Failure> {
        let workload = self.workload(state_bytes);
        let how = actinium_sim::Settings::new(policy).batch(self.batch).seed(self.seed);
        let figures = simulate(&self.machine, &workload, &how).map_err(failed)?;
        Ok(figures.elapsed_ns as f64 * self.workers as f64 / figures.handled.max(1) as f64)
    }

    /// Likewise of one real run.
    pub(super) fn real_ns(&self, policy: Policy, state_bytes: u64) -> Result<f64, Failure> {
        let messages = self.messages_of_actor(state_bytes).saturating_mul(LONGER);
        let (workers, actors, batch) = (self.workers, self.actors(), self.batch);
        let accesses = ACCESSES;
        let how = Loop { policy, workers, actors, accesses, state_bytes, messages, batch };
        let handled = f64::from(actors) * f64::from(messages);
        Ok(measure::run(&how)? * workers as f64 / handled)
    }

    fn real_median_ns(&self, policy: Policy) -> Result<f64, Failure> {
        let runs = (0..RUNS).map(|_| self.real_ns(policy, FITTED_BYTES));
        Ok(measure::median(&mut runs.collect::<Result<Vec<f64>, Failure>>()?))
    }

    /// Beside other workers, turns of what nobody owns cost more: lines that all of them write.
    fn fit_shared_turns(&mut self) -> Result<(), Failure> {
        let real_ns = self.real_median_ns(Policy::stealing())?;
        let more_ns = real_ns - self.simulated_ns(Policy::stealing(), FITTED_BYTES)?;
        let costs = &mut self.machine.costs;
        costs.shared_turn_ns = (costs.shared_turn_ns + more_ns * f64::from(self.batch)).max(0.0);
        Ok(())
    }

    /// A lock that several workers want at once costs what makes the pool as slow as it is: each
    /// turn takes it twice, and the others wait meanwhile.
    fn fit_contention(&mut self) -> Result<(), Failure> {
        let real_ns = self.real_median_ns(Policy::pool())?;
        let per_message = 2.0 * self.workers as f64 / f64::from(self.batch);
        for _ in 0..FITS {
            let more_ns = real_ns - self.simulated_ns(Policy::pool(), FITTED_BYTES)?;
            if more_ns.abs() < FITTED * real_ns {
                break;
            }
            let costs = &mut self.machine.costs;
            costs.contended_ns = (costs.contended_ns + more_ns / per_message).max(0.0);
        }
        Ok(())
    }
}

/// Costs that one or two threads show. What is not measured is as in the published experiments.
fn single_costs(topology: &Topology, messages: u32) -> Result<Costs, Failure> {
    let mut costs = Costs::PUBLISHED;
    // Sizes as one worker sees them.
    let one = Machine::new(topology, 1, costs).map_err(failed)?;
    access_costs(&mut costs, cache_bytes(&one));
    costs.clock_ns = measure::clock_ns();
    costs.lock_ns = measure::lock_ns();
    if topology.usable_workers().workers > 1 {
        let transfer_ns = measure::transfer_ns();
        costs.transfer_ns = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].map(|near| near * transfer_ns);
        costs.fetch_part = (measure::fetch_ns() / transfer_ns).min(1.0);
        (costs.wake_ns, costs.wake_latency_ns) = measure::wake_ns();
    }
    turn_costs(&mut costs, messages.saturating_mul(LONGER))?;
    Ok(costs)
}

fn cache_bytes(one: &Machine) -> [f64; 3] {
    one.levels.each_ref().map(|level| level.lines[0] * LINE_BYTES as f64)
}

/// Of random accesses to so much memory, a cache of that size misses this share.
fn misses(cache: f64, bytes: f64) -> f64 {
    (1.0 - cache / bytes).max(0.0)
}

/// Each step solves for the one cost that the steps before do not know.
fn access_costs(costs: &mut Costs, [l1, l2, l3]: [f64; 3]) {
    costs.access_ns = measure::access_ns((l1 / 4.0) as u64);
    // A few times the second level: of a large third level, others may use the most.
    let (in_l2, in_l3) = (l2 / 2.0, 4.0 * l2);
    let in_memory = (4.0 * l3).min(f64::from(1 << 28)).max(2.0 * l3);
    let rest = |bytes: f64, known: f64| (measure::access_ns(bytes as u64) - known).max(0.0);
    costs.l2_ns = rest(in_l2, costs.access_ns) / misses(l1, in_l2).max(0.1);
    let known = costs.access_ns + misses(l1, in_l3) * costs.l2_ns;
    costs.l3_ns = rest(in_l3, known) / misses(l2, in_l3).max(0.1);
    let known =
        costs.access_ns + misses(l1, in_memory) * costs.l2_ns + misses(l2, in_memory) * costs.l3_ns;
    costs.memory_ns = rest(in_memory, known) / misses(l3, in_memory).max(0.1);
}

/// One worker: no contention, no misses. Turns of one message and of many tell a turn's cost from a
/// message's.
fn turn_costs(costs: &mut Costs, messages: u32) -> Result<(), Failure> {
    let single = |policy, batch, accesses| -> Result<f64, Failure> {
        let (workers, actors, state_bytes) = (1, ACTORS, FITTED_BYTES);
        let how = Loop { policy, workers, actors, accesses, state_bytes, messages, batch };
        // The least: whatever disturbs makes it longer.
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            least = measure::run(&how)?.min(least);
        }
        Ok(least / (f64::from(actors) * f64::from(messages)))
    };
    let (one, many) = (single(Policy::pinned(), 1, 0)?, single(Policy::pinned(), 64, 0)?);
    costs.turn_ns = ((one - many) * 64.0 / 63.0).max(0.0);
    costs.message_ns = (one - costs.turn_ns).max(0.0);
    // Accesses begin while the turn before them ends: in a loop of nothing else they cost more.
    let accessed = (single(Policy::pinned(), 1, ACCESSES)? - one) / f64::from(ACCESSES);
    costs.access_ns = accessed.clamp(0.0, costs.access_ns);
    let (shared_one, shared_many) =
        (single(Policy::stealing(), 1, 0)?, single(Policy::stealing(), 64, 0)?);
    let queueing = 2.0 * costs.lock_ns + costs.clock_ns + costs.tick_ns;
    let shared_turn = (shared_one - shared_many) * 64.0 / 63.0;
    costs.shared_turn_ns = (shared_turn - costs.turn_ns - queueing).max(0.0);
    costs.shared_message_ns = (shared_many - many - (shared_turn - costs.turn_ns) / 64.0).max(0.0);
    Ok(())
}

/// How much of the third level these workers have: others may use it, too, and pages that the
/// processor does not know cost like lines that it does not have. All workers at once access three
/// quarters of the memory that it is said to hold; what that costs more than hits says what it
/// holds.
fn fit_third_level(machine: &mut Machine) {
    let costs = machine.costs;
    let [l1, l2, l3] = cache_bytes(machine);
    let workers = machine.workers() as f64;
    let sharers = machine.levels[2].of_worker.iter().filter(|&&at| at == 0).count() as f64;
    let all = 0.75 * l3;
    let each = all / sharers;
    let known = costs.access_ns + misses(l1, each) * costs.l2_ns + misses(l2, each) * costs.l3_ns;
    let more_ns = measure::access_beside_ns(each as u64, workers as usize) - known;
    let missed = (more_ns / costs.memory_ns.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    if missed > 0.0 {
        let lines = all * (1.0 - missed) / LINE_BYTES as f64;
        let level = &mut machine.levels[2];
        level.lines.iter_mut().for_each(|held| *held = held.min(lines.max(l2 / LINE_BYTES as f64)));
    }
}
