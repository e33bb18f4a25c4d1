//! What a seed makes of a run: how many nodes, how they are set, how bad the network is, and how
//! often each thing happens to them.
//!
//! Not every run has all of it. A run in which everything goes wrong all the time never gets
//! anywhere, so each seed leaves most kinds of trouble out and makes the rest frequent ("swarm
//! testing", A. Groce et al., 2012).

use super::wire::Lies;
use crate::common::MS;
use actinium_cluster::fabric::in_process::Faults;
use actinium_cluster::link::LinkConfig;
use actinium_cluster::route::Route;
use actinium_cluster::{AggregatorConfig, NodeConfig, PayloadConfig};

/// How often something happens: so many times in a thousand steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odds {
    pub(super) letters: u32,
    pub(super) payloads: u32,
    pub(super) asks: u32,
    pub(super) watches: u32,
    pub(super) spawns: u32,
    pub(super) names: u32,
    pub(super) moves: u32,
    pub(super) lookups: u32,
    pub(super) cuts: u32,
    pub(super) deaths: u32,
    pub(super) farewells: u32,
    pub(super) pauses: u32,
    pub(super) clocks: u32,
    pub(super) weather: u32,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) nodes: u32,
    pub(super) config: NodeConfig,
    pub(super) faults: Faults,
    pub(super) remote_memory: bool,
    pub(super) quorum: usize,
    /// The last node lies, so.
    pub(super) lies: Option<Lies>,
    pub(super) odds: Odds,
    /// Steps of trouble.
    pub(super) steps: u32,
}

/// Most nodes of a run.
pub(super) const NODES_MAX: u32 = 6;
/// After so long a silence nodes give each other up: a tenth of what is usual, as are all times
/// here.
pub(super) const DOWN_AFTER_NS: u64 = 100 * MS;

impl Scenario {
    pub(super) fn of(seed: u64) -> Self {
        let random = &mut fastrand::Rng::with_seed(seed ^ 0x5ce0_a210);
        let (route, nodes) = match random.u32(..10) {
            0 => (Route::Square, random.u32(4..=NODES_MAX)),
            1 => (Route::Cube, random.u32(5..=NODES_MAX)),
            _ => (Route::Direct, random.u32(2..=4)),
        };
        let lies = (nodes > 2 && random.u32(..3) == 0)
            .then(|| Lies { of_a_thousand: [5, 50, 300][random.usize(..3)], seed: random.u64(..) });
        Scenario {
            seed,
            nodes,
            config: config(random, route, nodes),
            faults: weather(random),
            remote_memory: random.bool(),
            quorum: if random.bool() { 1 } else { nodes as usize / 2 + 1 },
            lies,
            odds: odds(random),
            steps: random.u32(150..400),
        }
    }

    /// Whether nothing may be lost while a session lasts.
    pub(super) fn is_reliable(&self) -> bool {
        self.config.link.reliable
    }

    pub(super) fn is_grid(&self) -> bool {
        self.config.route != Route::Direct
    }

    pub(super) fn liar(&self) -> Option<u32> {
        self.lies.as_ref().map(|_| self.nodes - 1)
    }
}

fn config(random: &mut fastrand::Rng, route: Route, nodes: u32) -> NodeConfig {
    let link = LinkConfig {
        reliable: random.bool(),
        window_frames: [1, 2, 8, 64][random.usize(..4)],
        resend_ns: random.u64(2..=8) * MS,
        acknowledge_ns: random.u64(1..=2) * MS,
        heartbeat_ns: 10 * MS,
        down_after_ns: DOWN_AFTER_NS,
    };
    let aggregator = AggregatorConfig {
        frame_bytes: [256, 1_024, 16 << 10][random.usize(..3)],
        frames_waiting: random.usize(1..=4),
        hold_ns: [0, 10_000, 2 * MS][random.usize(..3)],
    };
    let payload = PayloadConfig {
        waiting_bytes_max: 64 << 10,
        ahead_bytes_max: [1, 64 << 10][random.usize(..2)],
        window_bytes: 16 << 10,
    };
    NodeConfig { link, aggregator, payload, route, grid_nodes: nodes, ..NodeConfig::default() }
}

/// How bad the network is.
pub(super) fn weather(random: &mut fastrand::Rng) -> Faults {
    let mut chance = |of: f64| if random.bool() { 0.0 } else { of * random.f64() };
    Faults {
        loss: chance(0.2),
        duplication: chance(0.2),
        corruption: chance(0.1),
        reordering: chance(0.3),
        delay_ns: match random.u32(..4) {
            0 => 0..=0,
            1 => 0..=20 * MS,
            _ => 0..=3 * MS,
        },
    }
}

fn odds(random: &mut fastrand::Rng) -> Odds {
    let mut odds = |often: u32| if random.bool() { random.u32(1..=often) } else { 0 };
    Odds {
        payloads: odds(200),
        asks: odds(300),
        watches: odds(100),
        spawns: odds(150),
        names: odds(150),
        moves: odds(200),
        lookups: odds(50),
        cuts: odds(30),
        deaths: odds(15),
        farewells: odds(15),
        pauses: odds(20),
        clocks: odds(30),
        weather: odds(20),
        letters: random.u32(50..=500),
    }
}
