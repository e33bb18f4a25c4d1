//! `actinium explain`: files of flight recorders and of runs, and what is neither.

use crate::common::{Scratch, at, run, run_with, small};
use serde_json::{Value, json};

/// A document of a worker that has been in one turn for five seconds.
fn stuck() -> Value {
    let look = |at_s: f64| {
        let worker = json!({
            "sent": 0, "handled": 0, "turns": 7, "crossed": 0, "stolen": 0, "parked": 0,
            "cpu_ns": 0, "ready_ns": 0, "cpu": 0, "is_occupied": true,
            "actor": { "actor": 3, "kind": "shop::Till", "message": "shop::Order" },
        });
        json!({
            "at_s": at_s, "queued": 2, "handled": 9, "dead": 0, "restarted": 0, "actors": 1,
            "working": 1, "workers": [worker], "process_cpu_ns": 0, "cpus": {},
        })
    };
    json!({
        "document": "actinium flight", "schema_version": 1, "actinium_version": "0.1.0",
        "command": ["shop"], "process": 17, "made_unix_s": 0,
        "reason": { "cause": "signal", "text": "SIGUSR1 came" }, "reasons_left_out": 0,
        "policy": "affine", "pus": 1, "workers": [{ "pu": null, "node": null, "thread": null }],
        "looks": [look(1.0), look(3.5), look(6.0)], "walks": [], "types": [], "lanes": [],
        "records": { "workers": [], "kept_s": 0.0, "lost": 0 }, "threads": [], "dead_letters": [],
    })
}

#[test]
fn a_flight_recorder_s_file_is_explained() {
    let scratch = Scratch::new("explain");
    let file = scratch.file("flight.json", stuck().to_string());
    let text = run(&["explain", &file]).ok();
    for part in ["5.0 s of a flight", "SIGUSR1 came", "critical: stuck-worker", "actor 3 (Till)"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(text.contains("messages are Order") && text.contains("What to do: "), "{text}");
    let json = run(&["explain", "--json", &file]).json();
    assert_eq!((at(&json, "schema_version"), at(&json, "of")), (&json!(1), &json!("flight")));
    assert_eq!(at(&json, "findings.0.diagnosis"), "stuck-worker");
    assert_eq!(at(&json, "findings.0.figures.lasted_s"), 5.0);
}

#[test]
fn a_program_s_own_files_are_explained() {
    let scratch = Scratch::new("explain-runs");
    let report = scratch.path("run.json");
    run_with(&small(&["--quiet"]), &[("ACTINIUM_REPORT", &report)]);
    let text = run(&["explain", &report]).ok();
    assert!(text.contains("of a recording") && text.contains("Nothing is found"), "{text}");
}

#[test]
fn what_can_not_be_explained_is_said_in_a_line() {
    let scratch = Scratch::new("explain-bad");
    let whole = stuck().to_string();
    let cut = scratch.file("cut.json", &whole[..whole.len() / 2]);
    let newer = whole.replace("\"schema_version\":1", "\"schema_version\":9");
    let newer = scratch.file("newer.json", newer);
    let other = scratch.file("other.json", "[1, 2, 3]");
    let gone = scratch.path("gone.json");
    for (what, says) in [
        (cut.as_str(), "cut off"),
        (&newer, "data of version 9"),
        (&other, "no recording"),
        (&gone, "can not read"),
        ("127.0.0.1:1", "http://127.0.0.1:1/api/flight"),
    ] {
        run(&["explain", what]).refused(&["actinium: ", says]);
    }
}
