//! `actinium sim`: each flag does what it says, and what is asked wrongly is refused.

use crate::common::{at, number, run};
use serde_json::Value;

const SMALL: [&str; 6] =
    ["sim", "--machine", "package:1 core:4 pu:1", "--messages", "100", "--quiet"];

fn json(more: &[&str]) -> Value {
    run(&[&SMALL[..], more, &["--json"]].concat()).json()
}

fn refused(arguments: &[&str], part: &str) {
    let ran = run(&[&["sim"], arguments].concat());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(part) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[test]
fn the_same_call_gives_the_same_json() {
    let first = json(&["--grid", "skewed"]);
    assert_eq!(first, json(&["--grid", "skewed"]));
    assert_eq!(number(&first, "schema_version"), 2.0);
    assert_eq!(number(&first, "pu_count"), 4.0);
    assert_eq!(number(&first, "messages_per_worker"), 100.0);
    assert!(number(&first, "cells.0.policies.affine.handled") > 0.0);
    assert!(number(&first, "affine_to.pinned") > 0.0);
}

#[test]
fn skewed_workloads_say_how_skewed_they_are() {
    let skewed = json(&["--grid", "skewed"]);
    let shape = |cell: &str| at(&skewed, &format!("cells.{cell}.workload.shape")).clone();
    assert_eq!(shape("0"), serde_json::json!({"kind": "zipf", "exponent": 1.0}));
    assert_eq!(shape("2"), serde_json::json!({"kind": "hot", "actors": 8, "share": 0.8}));
}

#[test]
fn workers_are_elastic_if_asked_for() {
    let working = |more: &[&str]| {
        let all = json(&[&["--grid", "skewed"], more].concat());
        let cells = at(&all, "cells").as_array().unwrap().clone();
        let of = |cell: &Value| number(cell, "policies.affine.working");
        (cells.iter().map(of).fold(f64::INFINITY, f64::min), at(&all, "elastic").clone())
    };
    assert_eq!(working(&[]), (4.0, false.into()));
    let (least, elastic) = working(&["--elastic"]);
    assert!((1.0..4.0).contains(&least) && elastic == true, "{least}");
    let ran = run(&[&SMALL[..], &["--grid", "skewed", "--elastic"]].concat()).ok();
    assert!(ran.contains("working"), "{ran}");
    refused(&["--calibrate", "--elastic"], "--elastic");
}

#[test]
fn what_the_model_does_not_cover_is_named_with_the_reason() {
    let grid = ["--grid", "published"];
    let gaps = |cell: &Value| at(cell, "not_covered").as_array().unwrap().clone();
    let cells = at(&json(&grid), "cells").as_array().unwrap().clone();
    let of = |row: &str| {
        let cell = cells.iter().find(|cell| cell["row"] == row);
        gaps(cell.unwrap_or_else(|| panic!("{row} in {cells:?}")))
    };
    assert_eq!((of("64 B"), of("3200000 B")), (vec![], vec!["third_level".into()]));
    assert_eq!(of("64 entries"), ["allocator"]);
    let arguments = ["sim", "--machine", "package:1 core:16 pu:1", "--messages", "100"];
    let text = run(&[&arguments[..], &grid].concat()).stdout;
    for part in ["more than half of the third-level caches", "a price per block", "more than 8"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn grids() {
    let cells = |grid| at(&json(&["--grid", grid]), "cells").as_array().unwrap().len();
    assert_eq!(cells("published") + cells("skewed"), cells("all"));
    assert_eq!(cells("skewed"), 8);
}

#[test]
fn machines_by_number_are_those_of_the_published_tables() {
    let arguments =
        ["sim", "--machine", "12", "--grid", "published", "--messages", "100", "--quiet"];
    let text = run(&arguments).ok();
    assert!(text.contains("8 workers, 24 actors, 20 accesses"), "{text}");
    assert!(text.contains("6 workers, 18 actors, 100 accesses"), "{text}");
    assert!(!text.contains("seed 42"), "--quiet: {text}");
    let text = run(&arguments[..arguments.len() - 1]).stdout;
    assert!(text.contains("seed 42"), "{text}");
}

#[test]
fn messages_batch_seed_and_set_reach_the_simulation() {
    let grid = ["--grid", "skewed"];
    let normal = json(&grid);
    let cells = |more: &[&str]| at(&json(&[&grid[..], more].concat()), "cells").clone();
    for more in [["--seed", "7"], ["--batch", "64"], ["--set", "balance_every_ns=1"]] {
        assert_ne!(&cells(&more), at(&normal, "cells"), "{more:?}");
    }
    let set = json(&["--grid", "skewed", "--set", "distance_ns=9"]);
    assert_eq!(number(&set, "affine_constants.distance_ns"), 9.0);
    let more = run(&[
        "sim",
        "--machine",
        "core:2 pu:1",
        "--grid",
        "skewed",
        "--messages",
        "300",
        "--json",
        "--quiet",
    ])
    .json();
    assert_eq!(number(&more, "messages_per_worker"), 300.0);
}

#[test]
fn a_sweep_tries_values_of_each_constant() {
    let sweep = json(&["--grid", "skewed", "--sweep"]);
    let points = at(&sweep, "points").as_array().unwrap();
    let tried = points.iter().filter(|point| at(point, "constant") == "balance_every_ns").count();
    assert_eq!(tried, 4);
    assert!(points.iter().all(|point| number(point, "to_present") > 0.0));
    let text = run(&[&SMALL[..], &["--grid", "skewed", "--sweep"]].concat()).ok();
    assert!(text.contains("time / present"), "{text}");
}

#[test]
fn a_calibration_holds_the_simulation_against_this_machine() {
    let report = run(&["sim", "--calibrate", "--messages", "100", "--json"]).json();
    assert_eq!(at(&report, "cells").as_array().unwrap().len(), 20);
    // So few messages may seem to take no longer with accesses than without.
    assert!(number(&report, "costs.access_ns") >= 0.0);
    assert!(number(&report, "third_level_bytes") > 0.0);
    let cells = at(&report, "cells").as_array().unwrap();
    let covered = cells.iter().filter(|cell| cell["covered"] == true).count();
    assert_eq!(number(&report, "covered"), covered as f64);
    let fitted = cells.iter().filter(|cell| cell["fitted"] == true);
    assert!(fitted.clone().all(|cell| cell["state_bytes"] == 64));
    let is_shared = |cell: &&Value| cell["policy"] == "pool" || cell["policy"] == "stealing";
    assert!(fitted.clone().all(|cell| is_shared(&cell)));
    for cell in at(&report, "cells").as_array().unwrap() {
        let error = number(cell, "predicted_ns") / number(cell, "measured_ns") - 1.0;
        assert!((error - number(cell, "error")).abs() < 1e-9);
        assert_eq!(cell["covered"], error.abs() <= 0.1);
        assert!(cell["covered"] == false || cell["why"].is_null(), "{cell}");
    }
}

#[test]
fn what_is_not_allowed() {
    refused(&["--machine", "package:2 croe:4"], "--machine: synthetic topology, character 11");
    refused(&["--machine", "core:2000 pu:1"], "--machine: 2000 PUs: at most 1024");
    refused(&["--grid", "all of them"], "--grid: 'all of them' is not allowed");
    refused(&["--messages", "99"], "--messages: '99' is not allowed: 100 to 100000000");
    refused(&["--batch", "0"], "--batch: '0' is not allowed: 1 to 1000000");
    refused(&["--seed", "-1"], "--seed: '-1' is not allowed");
    refused(&["--set", "x"], "--set: 'x' is not allowed: NAME=VALUE");
    refused(&["--set", "x=1"], "--set: affine has no constant 'x': there are wait_worth_moving_ns");
    refused(&["--set", "distance_ns=many"], "--set: distance_ns: 'many' is no whole number");
    refused(
        &["--set", "steals_to_rehome=4294967296"],
        "--set: '4294967296' is not allowed: 0 to 4294967295",
    );
    refused(&["--sweep", "--calibrate"], "--calibrate");
    refused(&["--calibrate", "--machine", "12"], "--machine");
}
