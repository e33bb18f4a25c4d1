//! The published experiments, scaled to a machine.
//!
//! On 12 PUs they are those that were published: 8 workers with 24 actors, 6 workers with 18, 240
//! and 8,000 actors, and a hash map. On other machines two thirds (half) of the PUs work, and each
//! worker has as many actors.

use crate::placement::GraphKind;
use crate::receivers::Skew;
use crate::workload::Workload;
use serde::Serialize;

/// Milliseconds of a published row: work stealing, dedicated threads, thread pool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Published {
    /// `WorkStealing`.
    pub stealing_ms: f64,
    /// `Dedicated`: in the first two tables of a wrong executor, and up to 1.43 times too slow.
    pub pinned_ms: f64,
    /// `ThreadPool`.
    pub pool_ms: f64,
}

impl Published {
    /// How many times as long the pool took as the better of the other two: what the tables can be
    /// judged by.
    pub fn pool_to_best(&self) -> f64 {
        self.pool_ms / self.stealing_ms.min(self.pinned_ms)
    }
}

/// One experiment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cell {
    /// The table in which it stands.
    pub group: String,
    /// The row in which it stands.
    pub row: String,
    /// Workers that take part.
    pub workers: usize,
    /// The workload that they run.
    pub workload: Workload,
    /// The published times, if this machine is the one of the publication.
    pub published: Option<Published>,
}

/// State sizes of the published tables, in bytes.
const STATES: [u64; 7] = [64, 256, 2_000, 4_000, 32_000, 320_000, 3_200_000];
/// Entries of the published hash maps.
const ENTRIES: [u64; 6] = [64, 256, 2_000, 4_000, 32_000, 320_000];
/// PUs of the machine of the published experiments.
const PUBLISHED_PUS: usize = 12;

type Row<const N: usize> = [[f64; N]; 3];
const ACCESSES_20: Row<7> = [
    [505.0, 471.0, 589.0, 625.0, 687.0, 667.0, 1341.0],
    [557.0, 561.0, 600.0, 600.0, 640.0, 738.0, 1428.0],
    [2001.0, 1996.0, 2109.0, 2096.0, 2328.0, 3070.0, 3997.0],
];
const ACCESSES_100: Row<7> = [
    [2073.0, 1735.0, 2052.0, 2183.0, 3501.0, 3089.0, 6579.0],
    [2045.0, 1815.0, 2048.0, 2130.0, 2822.0, 2543.0, 6907.0],
    [2498.0, 2272.0, 2412.0, 2373.0, 3204.0, 2999.0, 6047.0],
];
const HASH_MAP: Row<6> = [
    [1070.0, 1071.0, 1097.0, 1129.0, 1238.0, 1284.0],
    [656.0, 646.0, 661.0, 649.0, 721.0, 798.0],
    [8314.0, 8751.0, 9412.0, 9492.0, 10269.0, 10602.0],
];

fn published<const N: usize>(rows: &Row<N>, at: usize, pus: usize) -> Option<Published> {
    let [stealing_ms, pinned_ms, pool_ms] = rows.map(|row| row[at]);
    (pus == PUBLISHED_PUS).then_some(Published { stealing_ms, pinned_ms, pool_ms })
}

/// Messages of each actor, so that each worker handles about so many; at least 8.
fn each(messages: u32, workers: usize, actors: u32) -> u32 {
    let each = u64::from(messages) * workers as u64 / u64::from(actors);
    each.clamp(8, u64::from(u32::MAX)) as u32
}

/// The published experiments on a machine of so many PUs, each worker handling about so many
/// messages in the measured round.
pub fn published_grid(pus: usize, messages: u32) -> Vec<Cell> {
    let (most, half) = ((pus * 2 / 3).max(1), (pus / 2).max(1));
    let mut cells = Vec::new();
    let loops = [
        (most, 3 * most as u32, 20, &STATES[..], Some(&ACCESSES_20)),
        (half, 3 * half as u32, 100, &STATES[..], Some(&ACCESSES_100)),
        (most, 30 * most as u32, 20, &STATES[..], None),
        (most, 8_000, 20, &STATES[..6], None),
    ];
    for (workers, actors, accesses, states, table) in loops {
        for (at, &state) in states.iter().enumerate() {
            let messages = each(messages * 20 / accesses, workers, actors);
            let mut workload = Workload::closed_loop(actors, accesses, state, messages);
            workload.warm_up = messages;
            cells.push(Cell {
                group: format!("{workers} workers, {actors} actors, {accesses} accesses"),
                row: format!("{state} B"),
                workers,
                workload,
                published: table.and_then(|table| published(table, at, pus)),
            });
        }
    }
    for (at, &entries) in ENTRIES.iter().enumerate() {
        let actors = 3 * most as u32;
        let messages = each(messages, most, actors);
        let mut workload = Workload::hash_map(actors, entries, messages);
        workload.warm_up = messages;
        cells.push(Cell {
            group: format!("{most} workers, {actors} actors, hash map"),
            row: format!("{entries} entries"),
            workers: most,
            workload,
            published: published(&HASH_MAP, at, pus),
        });
    }
    cells
}

/// Loads that are not even: on a worker for each PU.
pub fn skewed_grid(pus: usize, messages: u32) -> Vec<Cell> {
    let workers = pus.max(1);
    let w = workers as u32;
    let actors = (320 * w).min(8_000);
    let skewed = |skew, state| {
        let n = each(messages / 4, workers, actors);
        Workload { warm_up: n, ..Workload::skewed(skew, actors, 16 * w, state, n) }
    };
    let ping_pong = each(messages, workers, 8 * w);
    let rows = [
        ("Zipf, 256 B", skewed(Skew::Zipf { exponent: 1.0 }, 256)),
        ("Zipf, 4000 B", skewed(Skew::Zipf { exponent: 1.0 }, 4_000)),
        ("2 hot actors per worker, 4000 B", skewed(Skew::Hot { actors: 2 * w, share: 0.8 }, 4_000)),
        ("4 hot actors per worker, 4000 B", skewed(Skew::Hot { actors: 4 * w, share: 0.8 }, 4_000)),
        (
            "ping-pong, 4 pairs per worker",
            Workload { warm_up: ping_pong, ..Workload::ping_pong(4 * w, ping_pong) },
        ),
        (
            "groups of 8 that affinity, one per worker",
            Workload { warm_up: ping_pong, ..Workload::groups(w, 8, ping_pong) },
        ),
        ("bursts of 4 x 10 us per worker", Workload::burst(4 * w, 10_000.0, 60)),
        ("bursts of 5 x 10 us per 2 workers", Workload::burst(5 * w.div_ceil(2), 10_000.0, 60)),
    ];
    let group = format!("{workers} workers, skewed and bursty loads");
    let cell = |(row, workload): (&str, Workload)| Cell {
        group: group.clone(),
        row: row.to_owned(),
        workers,
        workload,
        published: None,
    };
    rows.into_iter().map(cell).collect()
}

/// Actors that talk with those that a graph says, 800 of them or so many that there are three for
/// each PU, on a worker for each PU. They have [`TALK_BEFORE`] times as many messages before the
/// measured round as in it, in which to find together.
pub fn talking_grid(pus: usize, messages: u32) -> Vec<Cell> {
    let workers = pus.max(1);
    let actors = (3 * workers as u32).next_multiple_of(100).max(800);
    let n = each(messages, workers, actors);
    let graphs = [GraphKind::Communities, GraphKind::Ring, GraphKind::Star, GraphKind::Changing];
    let cell = |graph: GraphKind| Cell {
        group: format!("{workers} workers, {actors} actors that talk"),
        row: graph.name().to_owned(),
        workers,
        workload: Workload {
            warm_up: n.saturating_mul(TALK_BEFORE),
            ..Workload::graph(graph, actors, n)
        },
        published: None,
    };
    graphs.map(cell).into()
}

/// See [`talking_grid`].
pub const TALK_BEFORE: u32 = 20;

/// Machines by their number of PUs, in hwloc's synthetic syntax: that of the published experiments,
/// a desktop with SMT, and two and four packages of eight-core caches.
pub const MACHINES: [(&str, &str); 5] = [
    ("12", "package:2 l3:1(size=12MiB) l2:6(size=256KiB) l1d:1(size=32KiB) core:1 pu:1"),
    ("16", "package:1 l3:2(size=32MiB) l2:4(size=1MiB) l1d:1(size=32KiB) core:1 pu:2"),
    ("64", "package:2 numa:1 l3:4(size=32MiB) l2:8(size=1MiB) l1d:1(size=32KiB) core:1 pu:1"),
    ("256", "package:4 numa:1 l3:8(size=32MiB) l2:8(size=1MiB) l1d:1(size=32KiB) core:1 pu:1"),
    ("512", "package:4 numa:1 l3:8(size=32MiB) l2:8(size=1MiB) l1d:1(size=32KiB) core:1 pu:2"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_topology::Topology;

    #[test]
    fn on_twelve_pus_it_is_what_was_published() {
        let cells = published_grid(12, 1_000);
        assert_eq!(cells[0].group, "8 workers, 24 actors, 20 accesses");
        assert_eq!(cells[7].group, "6 workers, 18 actors, 100 accesses");
        assert_eq!(cells[14].workload.actors, 240);
        assert_eq!(cells.iter().filter(|cell| cell.published.is_some()).count(), 20);
        assert!(published_grid(16, 1_000).iter().all(|cell| cell.published.is_none()));
    }

    #[test]
    fn the_named_machines_have_as_many_pus() {
        for (name, description) in MACHINES {
            let pus = Topology::synthetic(description).unwrap().pus().len();
            assert_eq!(pus.to_string(), name);
        }
    }
}
