//! CPU time of this thread, in rounds in which all libraries take turns: what else the machine does
//! hits all of them.

use actinium_observe::process::cpu_time::thread_time;
use std::time::Duration;

/// How long to measure.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    rounds: usize,
    /// Least time of one measurement in a round.
    least: Duration,
}

impl Plan {
    /// Half a second for each library and message.
    pub(super) const THOROUGH: Plan = Plan { rounds: 25, least: Duration::from_millis(10) };
    /// To see that it works.
    pub(super) const QUICK: Plan = Plan { rounds: 1, least: Duration::ZERO };
}

/// A library and a message, to be measured.
pub(super) struct Timed<'a> {
    pub(super) library: &'static str,
    pub(super) bytes: usize,
    /// Encodes so many times.
    pub(super) encode: Box<dyn FnMut(u64) + 'a>,
    /// Decodes, and drops, so many times.
    pub(super) decode: Box<dyn FnMut(u64) + 'a>,
}

/// The cost of a message with one library.
pub(super) struct Cost {
    pub(super) library: &'static str,
    pub(super) how: &'static str,
    pub(super) bytes: usize,
    pub(super) encode_ns: f64,
    pub(super) decode_ns: f64,
}

impl Cost {
    pub(super) fn both_ns(&self) -> f64 {
        self.encode_ns + self.decode_ns
    }
}

/// The median of each over the rounds.
pub(super) fn medians(plan: Plan, how: &'static str, timed: &mut [Timed<'_>]) -> Vec<Cost> {
    let mut calls: Vec<[u64; 2]> = Vec::new();
    for one in &mut *timed {
        calls.push([enough(plan.least, &mut one.encode), enough(plan.least, &mut one.decode)]);
    }
    let mut times = vec![[const { Vec::new() }; 2]; timed.len()];
    for _ in 0..plan.rounds {
        for ((one, calls), times) in timed.iter_mut().zip(&calls).zip(&mut times) {
            times[0].push(ns_per_call(calls[0], &mut one.encode));
            times[1].push(ns_per_call(calls[1], &mut one.decode));
        }
    }
    let costs = timed.iter().zip(times).map(|(one, [encode, decode])| Cost {
        library: one.library,
        how,
        bytes: one.bytes,
        encode_ns: median(encode),
        decode_ns: median(decode),
    });
    costs.collect()
}

/// How many calls take the time.
fn enough(least: Duration, call: &mut dyn FnMut(u64)) -> u64 {
    let mut calls = 1;
    while ns_per_call(calls, call) * (calls as f64) < least.as_nanos() as f64 {
        calls *= 2;
    }
    calls
}

fn ns_per_call(calls: u64, call: &mut dyn FnMut(u64)) -> f64 {
    let before = thread_time();
    call(calls);
    thread_time().saturating_sub(before).as_secs_f64() * 1e9 / calls as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
