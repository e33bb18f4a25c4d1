//! `actinium elastic`: what it prints, and what each flag does. Each test fails if its flag does
//! nothing.

use crate::common::{at, number, run, run_with, with};
use serde_json::Value;

/// Takes no time; arguments that are given replace its own.
fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    const SMALL: &str = "elastic --workers 1 --terms 10000 --actors 4 --slices 2 --bursts 0 --idle 1 --bystanders 0 \
        --hops 0 --repeat 1";
    with(&SMALL.split(' ').collect::<Vec<_>>(), more)
}

#[track_caller]
fn figures(more: &[&str]) -> Value {
    let mut arguments = small(more);
    arguments.push("--json");
    run(&arguments).json()
}

fn len(json: &Value, path: &str) -> usize {
    at(json, path).as_array().map_or(0, Vec::len)
}

#[test]
fn pi_is_computed_with_one_to_all_workers() {
    let json = figures(&["--workers", "2", "--repeat", "3"]);
    assert_eq!(json["schema_version"], 1);
    assert_eq!(len(&json, "pi"), 2);
    for (index, point) in json["pi"].as_array().expect("points").iter().enumerate() {
        assert_eq!(point["workers"], index + 1);
        for of in ["fixed_s", "elastic_s"] {
            assert_eq!(at(point, of)["runs"], 3, "{of}");
        }
        assert!(number(point, "ratio") > 0.0);
    }
    let stdout = run(&small(&[])).ok();
    for heading in ["Pi, workers", "all from the start (ms)", "elastic from one (ms)", "ratio"] {
        assert!(stdout.contains(heading), "{heading} in {stdout}");
    }
}

#[test]
fn more_terms_come_nearer_to_pi() {
    let error = |terms| number(&figures(&["--terms", terms]), "pi.0.error");
    assert!(error("100") > 0.005 && error("100000") < 0.000_05);
    // Shares that are not equal are the same series.
    let error = |actors| number(&figures(&["--actors", actors, "--slices", "7"]), "pi.0.error");
    assert!((error("1") - error("13")).abs() < 1e-9);
}

#[test]
fn bursts_and_rest_are_measured_if_asked_for() {
    let json = figures(&["--bursts", "3", "--idle", "20"]);
    assert_eq!(at(&json, "burst.bursts"), 3);
    // One worker is all workers.
    assert_eq!(at(&json, "burst.reached"), 3);
    assert!(number(&json, "burst.rest_s") >= 0.02);
    assert!(number(&json, "burst.wake_p50_ns") <= number(&json, "burst.wake_p90_ns"));
    assert!(at(&json, "burst.rest_cpu_s").is_number());
    assert!(figures(&[])["burst"].is_null());
    let stdout = run(&small(&["--bursts", "1"])).ok();
    assert!(stdout.contains("from a burst until all workers run, median"), "{stdout}");
}

#[test]
fn hops_are_measured_beside_each_number_of_bystanders() {
    let json = figures(&["--hops", "1000", "--bystanders", "0,50", "--repeat", "3"]);
    let bystanders: Vec<&Value> =
        json["hops"].as_array().expect("points").iter().map(|point| &point["bystanders"]).collect();
    assert_eq!(bystanders, [0, 50]);
    assert_eq!(number(&json, "hops.0.ratio_to_first"), 1.0);
    assert_eq!(at(&json, "hops.1.hop_ns.runs"), 3);
    assert_eq!(len(&figures(&[]), "hops"), 0);
}

#[test]
fn quiet_leaves_the_reasons_out() {
    for flag in ["--quiet", "-q"] {
        assert_eq!(run(&small(&[flag])).ok().lines().count(), 3, "heading, rule, one row");
    }
    assert!(run(&small(&[])).ok().lines().count() > 3);
}

#[test]
fn settings_are_shown_with_their_sources() {
    let flags = [
        ("policy", "affine,colocate_after=8"),
        ("terms", "90000"),
        ("actors", "7"),
        ("slices", "3"),
        ("bursts", "2"),
        ("idle", "5"),
        ("bystanders", "1,2"),
        ("hops", "6"),
        ("repeat", "4"),
    ];
    let names: Vec<String> = flags.iter().map(|(name, _)| format!("--{name}")).collect();
    let mut arguments = vec!["elastic", "--show-settings", "--json"];
    names.iter().zip(flags).for_each(|(flag, (_, value))| arguments.extend([flag, value]));
    let json = run_with(&arguments, &[("ACTINIUM_WORKERS", "3")]).json();
    for (name, value) in flags {
        let setting = at(&json, &format!("settings.{name}"));
        assert_eq!((&setting["value"], &setting["source"]), (&value.into(), &"flag".into()));
    }
    let workers = at(&json, "settings.workers");
    assert_eq!((&workers["value"], &workers["source"]), (&"3".into(), &"env".into()));
    let stdout = run(&["elastic", "--show-settings"]).ok();
    assert!(stdout.contains("default"), "{stdout}");
    let of_env = [("ACTINIUM_POLICY", "affine,start_together=7")];
    let json = run_with(&["elastic", "--show-settings", "--json"], &of_env).json();
    assert_eq!(at(&json, "settings.policy.value"), "affine,start_together=7");
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    let refused = |arguments: &[&str], line: &str| {
        let ran = run(&[&["elastic"], arguments].concat());
        assert_eq!(ran.stderr, format!("actinium: {line}\n"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    };
    for (flag, value, range) in [
        ("--terms", "0", "1 to 1000000000000"),
        ("--actors", "0", "1 to 1048576"),
        ("--slices", "x", "1 to 1048576"),
        ("--bursts", "1001", "0 to 1000"),
        ("--idle", "0", "1 to 60000"),
        ("--bystanders", "16777217", "0 to 16777216"),
        ("--hops", "-1", "0 to 1000000000000"),
        ("--repeat", "0", "1 to 1000"),
    ] {
        refused(&[flag, value], &format!("{flag}: '{value}' is not allowed: {range}"));
    }
    refused(
        &["--policy", "pool"],
        "--policy: 'pool' has no elastic workers; only affine has, with or without parameters",
    );
    refused(
        &["--workers", "0"],
        "--workers: '0' is not a number of workers: allowed are 1 to 4096, or 'all'",
    );
    refused(
        &["--terms", "10", "--actors", "5", "--slices", "3"],
        "--terms: '10' are less than one for each of 15 messages (--actors times --slices)",
    );
}
