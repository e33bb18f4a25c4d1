//! The figures of the page: which command prints each, and where it stands in the command's JSON.

use crate::measured::Unit;
use serde_json::Value;

/// One row of a table.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) what: &'static str,
    /// The arguments behind the section's command.
    pub(super) args: &'static str,
    /// Names and numbers between slashes; `key=value` is the element of a list in which they stand
    /// together.
    pub(super) at: &'static str,
    pub(super) unit: Unit,
    /// The value that we want, if we named one; else empty.
    pub(super) wanted: &'static str,
}

/// A table.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// The words before each row's arguments, if they have any in common; `actinium` is the
    /// command.
    pub(super) command: &'static str,
    /// Its commands print the same each time, so they run once.
    pub(super) once: bool,
    pub(super) figures: &'static [Figure],
}

const fn figure(
    what: &'static str,
    args: &'static str,
    at: &'static str,
    unit: Unit,
    wanted: &'static str,
) -> Figure {
    Figure { what, args, at, unit, wanted }
}

use Unit::{Count, Inverse, Nanoseconds, Rate, Seconds, Share, Times};

const RECONSTRUCTION: &str = "workloads/reconstruction.toml --time-scale 0.02";
const ELASTIC: &str = "--idle 2000 --repeat 3";
const MANY_ACTORS: &str =
    "--actors 24,240 --accesses 20,100 --state 256,4000,32000 --messages 500000 --repeat 1";
const STARTUP: &str = "startup --mode none,background,eager --size 1g --repeat 3";
const IN_PROCESS: &str = "actinium probe --fabric in-process --nodes 2 --workers 1 --in-flight 1 --actors 400 --messages 5000";
const OVER_MPI: &str = "mpiexec -n 2 actinium probe --fabric mpi --workers 1 --in-flight 1 --actors 400 --messages 5000";
const WINDOWS: &str = "startup --fabric mpi --size 64m --repeat 5";
const AT_REST: &str = "--rest --no-doorbells";
const CLUSTER: &str = "cluster --nodes 1000,10000 --route direct,3d";
const PLACEMENT: &str = "placement --nodes 100";
const PLACEMENT_256: &str = "placement --nodes 256 --graph communities";

pub(super) const SECTIONS: &[Section] = &[
    Section {
        title: "Event processing",
        command: "actinium events",
        once: false,
        figures: &[figure(
            "ideal to elapsed, shipped workload",
            RECONSTRUCTION,
            "/wall_by_ideal",
            Inverse,
            "≥ 0.97",
        )],
    },
    Section {
        title: "Messages between 200 actors",
        command: "actinium",
        once: false,
        figures: &[
            figure(
                "probe, 1 worker",
                "probe --workers 1",
                "/computation_throughput_per_s",
                Rate,
                "",
            ),
            figure(
                "probe, 2 workers",
                "probe --workers 2",
                "/computation_throughput_per_s",
                Rate,
                "",
            ),
        ],
    },
    Section {
        title: "Elastic workers",
        command: "actinium elastic",
        once: false,
        figures: &[
            figure(
                "Pi, elastic to fixed, 1 worker",
                ELASTIC,
                "/pi/workers=1/ratio",
                Times,
                "≤ 1.03",
            ),
            figure(
                "a burst reaches all workers, median",
                ELASTIC,
                "/burst/spread_p50_ns",
                Nanoseconds,
                "≤ 200 µs",
            ),
            figure(
                "a system at rest handles a message, 90th percentile",
                ELASTIC,
                "/burst/wake_p90_ns",
                Nanoseconds,
                "≤ 100 µs",
            ),
            figure("CPU time of 2 s at rest", ELASTIC, "/burst/rest_cpu_s", Seconds, ""),
        ],
    },
    Section {
        title: "Locality: time of affine to that of the best other policy",
        command: "actinium locality",
        once: false,
        figures: &[figure(
            "geometric mean of 12 cells",
            MANY_ACTORS,
            "/affine/to_best_other",
            Times,
            "≤ 0.98",
        )],
    },
    Section {
        title: "Memory",
        command: "actinium memory",
        once: false,
        figures: &[
            figure(
                "eager fault-in of 1 GiB, 2 threads, to the fastest plain loop",
                STARTUP,
                "/rows/mode=eager/of_limit",
                Times,
                "≥ 0.9",
            ),
            figure(
                "time of a no-op job with a static window over MPI, to one without",
                WINDOWS,
                "/jobs/registration=static/of_none/median",
                Times,
                "",
            ),
            figure(
                "rate of reads of 4 KiB by a static window, to a dynamic one",
                WINDOWS,
                "/transfers/bytes=4096/static_of_dynamic/median",
                Times,
                "> 1",
            ),
            figure(
                "of reads of 16 MiB",
                WINDOWS,
                "/transfers/bytes=16777216/static_of_dynamic/median",
                Times,
                "> 1",
            ),
        ],
    },
    Section {
        title: "Protocols, and messages between nodes",
        command: "",
        once: false,
        figures: &[
            figure(
                "a protocol's monitor, per message",
                "actinium wire bench",
                "/monitor_ns",
                Nanoseconds,
                "≤ 5 ns",
            ),
            figure(
                "messages delivered between two nodes in one process",
                IN_PROCESS,
                "/throughput/computation_per_s",
                Rate,
                "",
            ),
            figure(
                "messages delivered over MPI",
                OVER_MPI,
                "/throughput/computation_per_s",
                Rate,
                "≥ 5.9 M/s",
            ),
        ],
    },
    Section {
        title: "Two nodes over MPI beside MPI alone (`against` is an example of actinium-cluster)",
        command: "mpiexec -n 2 against",
        once: false,
        figures: &[
            figure("time of one message, one way", "", "/one_message", Times, "≤ 2"),
            figure(
                "rate of messages of 64 bytes, to MPI one by one",
                "",
                "/stream",
                Times,
                "≥ 2.5",
            ),
            figure("rate of payloads of 1 MiB", "", "/payloads", Times, "≥ 0.95"),
            figure(
                "CPU time of a node at rest that nobody can wake, to a thread that only sleeps as often",
                AT_REST,
                "/to_sleeping",
                Times,
                "≤ 1.2",
            ),
            figure("to a thread that then asks MPI, too", AT_REST, "/to_asking", Times, ""),
        ],
    },
    Section {
        title: "Simulated clusters",
        command: "actinium sim",
        once: true,
        figures: &[
            figure(
                "1,000 nodes, 100 messages of each, virtual time, direct",
                CLUSTER,
                "/sizes/nodes=1000/routes/route=direct/messages_per_s",
                Rate,
                "",
            ),
            figure(
                "through a cube (3d)",
                CLUSTER,
                "/sizes/nodes=1000/routes/route=3d/messages_per_s",
                Rate,
                "",
            ),
            figure(
                "all nodes know that all work is done after",
                CLUSTER,
                "/sizes/nodes=1000/termination_ns",
                Nanoseconds,
                "",
            ),
            figure(
                "10,000 nodes, through a cube",
                CLUSTER,
                "/sizes/nodes=10000/routes/route=3d/messages_per_s",
                Rate,
                "",
            ),
            figure(
                "all 10,000 know that all work is done after",
                CLUSTER,
                "/sizes/nodes=10000/termination_ns",
                Nanoseconds,
                "",
            ),
            figure(
                "share of messages between 100 nodes, communities, before placement by traffic",
                PLACEMENT,
                "/runs/graph=communities/crossings_per_message_before",
                Share,
                "",
            ),
            figure(
                "after 200 rounds of it",
                PLACEMENT,
                "/runs/graph=communities/crossings_per_message_after",
                Share,
                "",
            ),
            figure(
                "moves of each actor",
                PLACEMENT,
                "/runs/graph=communities/moves_per_actor",
                Count,
                "",
            ),
            figure(
                "a ring, after 200 rounds",
                PLACEMENT,
                "/runs/graph=ring/crossings_per_message_after",
                Share,
                "",
            ),
            figure("a star", PLACEMENT, "/runs/graph=star/crossings_per_message_after", Share, ""),
            figure(
                "communities that change after 100 rounds",
                PLACEMENT,
                "/runs/graph=changing/crossings_per_message_after",
                Share,
                "",
            ),
            figure(
                "partners that change in each round: moves of each actor",
                PLACEMENT,
                "/runs/graph=adversarial/moves_per_actor",
                Count,
                "",
            ),
            figure(
                "communities on 256 nodes, or PUs, after 200 rounds (1,000 nodes: docs/sim.md)",
                PLACEMENT_256,
                "/runs/graph=communities/crossings_per_message_after",
                Share,
                "",
            ),
        ],
    },
];

/// The number at a place.
pub(super) fn at(document: &Value, place: &str) -> Option<f64> {
    place.split('/').skip(1).try_fold(document, step_into)?.as_f64()
}

fn step_into<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    if !step.contains('=') {
        return value.get(step);
    }
    let has = |element: &Value, pair: &str| {
        let (key, wanted) = pair.split_once('=')?;
        let found = match element.get(key)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        (found == wanted).then_some(())
    };
    value
        .as_array()?
        .iter()
        .find(|element| step.split('&').all(|pair| has(element, pair).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn places_are_found() {
        let document = json!({
            "a": { "b": 1.5 },
            "rows": [{ "mode": "lazy", "n": 1, "x": 7 }, { "mode": "eager", "n": 1, "x": 8 }, { "mode": "eager", "n": 2, "x": 9 }],
        });
        assert_eq!(at(&document, "/a/b"), Some(1.5));
        assert_eq!(at(&document, "/rows/mode=eager/x"), Some(8.0));
        assert_eq!(at(&document, "/rows/mode=eager&n=2/x"), Some(9.0));
        assert_eq!(at(&document, "/rows/mode=none/x"), None);
        assert_eq!(at(&document, "/a"), None);
        assert_eq!(at(&document, "/b"), None);
    }
}
