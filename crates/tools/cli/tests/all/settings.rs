//! Where a setting comes from: flag > environment > default.

use crate::common::{SMALL, run, run_with};

/// Setting, value and source, as `--show-settings` prints them.
fn settings(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<(String, String, String)> {
    let arguments = [&["probe", "--show-settings"], arguments].concat();
    let stdout = run_with(&arguments, environment).ok();
    let words = |line: &str| -> Vec<String> { line.split_whitespace().map(String::from).collect() };
    let rows = stdout.lines().skip(2).map(words);
    rows.map(|words| (words[0].clone(), words[1].clone(), words[2..].join(" "))).collect()
}

/// The value and the source of one of them.
fn setting(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let found = settings(arguments, environment).into_iter().find(|(other, ..)| other == name);
    let (_, value, source) = found.unwrap_or_else(|| panic!("no setting {name}"));
    (value, source)
}

fn pair(value: &str, source: &str) -> (String, String) {
    (value.to_owned(), source.to_owned())
}

#[test]
fn the_flag_beats_the_environment_which_beats_the_default() {
    let environment =
        [("ACTINIUM_WORKERS", "3"), ("ACTINIUM_POLICY", "pool"), ("ACTINIUM_BATCH", "5")];
    for (name, flag, variable, from_flag, from_env) in [
        ("workers", "--workers", "env ACTINIUM_WORKERS", "2", "3"),
        ("policy", "--policy", "env ACTINIUM_POLICY", "pinned", "pool"),
        ("batch", "--batch", "env ACTINIUM_BATCH", "7", "5"),
    ] {
        assert_eq!(setting(name, &[], &[]).1, "default");
        assert_eq!(setting(name, &[], &environment), pair(from_env, variable));
        assert_eq!(setting(name, &[flag, from_flag], &environment), pair(from_flag, "flag"));
    }
}

#[test]
fn each_flag_is_shown_with_its_value() {
    let flags = [
        ("workers", "2"),
        ("policy", "pool"),
        ("batch", "3"),
        ("actors", "4"),
        ("in-flight", "5"),
        ("messages", "6"),
        ("payload", "7"),
        ("placement", "policy"),
        ("seed", "8"),
        ("warm-up", "9"),
        ("repeat", "10"),
    ];
    let names = settings(&[], &[]).into_iter().map(|(name, ..)| name);
    let others = ["elastic", "counters", "segment", "fabric", "nodes", "route", "bind"];
    let mut expected: Vec<&str> = flags.iter().map(|&(name, _)| name).chain(others).collect();
    expected.insert(8, "crossing");
    assert_eq!(names.collect::<Vec<_>>(), expected);
    for (name, value) in flags {
        assert_eq!(setting(name, &[], &[]).1, "default", "{name}");
        let flag = format!("--{name}");
        assert_eq!(setting(name, &[&flag, value], &[]), pair(value, "flag"));
    }
    assert_eq!(setting("elastic", &[], &[]), pair("false", "default"));
    assert_eq!(setting("elastic", &["--elastic"], &[]), pair("true", "flag"));
    assert_eq!(setting("counters", &[], &[]), pair("true", "default"));
    assert_eq!(setting("counters", &["--no-counters"], &[]), pair("false", "flag"));
    assert_eq!(setting("bind", &[], &[]), pair("auto", "default"));
    assert_eq!(setting("bind", &["--bind", "0"], &[]), pair("0", "flag"));
    assert_eq!(
        setting("bind", &[], &[("ACTINIUM_BIND", "none")]),
        pair("none", "env ACTINIUM_BIND")
    );
    assert_eq!(setting("crossing", &[], &[]), pair("none", "default"));
    let crossing = ["--crossing", "25", "--placement", "spread"];
    assert_eq!(setting("crossing", &crossing, &[]), pair("25%", "flag"));
    assert_eq!(setting("segment", &[], &[]), pair("none", "default"));
    assert_eq!(setting("segment", &["--segment", "64m"], &[]), pair("64m", "flag"));
    let nodes = ["--fabric", "in-process", "--nodes", "3"];
    assert_eq!(setting("fabric", &[], &[]), pair("none", "default"));
    assert_eq!(setting("fabric", &nodes, &[]), pair("in-process", "flag"));
    assert_eq!(setting("nodes", &[], &[]), pair("-", "default"));
    assert_eq!(setting("nodes", &nodes, &[]), pair("3", "flag"));
}

#[test]
fn json_names_values_and_sources() {
    let arguments = ["probe", "--show-settings", "--json", "--batch", "9", "--in-flight", "2"];
    let json = run_with(&arguments, &[("ACTINIUM_POLICY", "pinned")]).json();
    assert_eq!(json["schema_version"], 2);
    let settings = &json["settings"];
    assert_eq!(settings["batch"], serde_json::json!({ "value": 9, "source": "flag" }));
    assert_eq!(settings["in_flight"], serde_json::json!({ "value": 2, "source": "flag" }));
    assert_eq!(settings["policy"], serde_json::json!({ "value": "pinned", "source": "env" }));
    assert_eq!(settings["seed"]["source"], "default");
}

#[test]
fn a_policy_may_have_parameters() {
    let policy = "affine,colocate_after=8";
    let show =
        |policy: &str| run_with(&["probe", "--show-settings", "--json", "--policy", policy], &[]);
    assert_eq!(show(policy).json()["settings"]["policy"]["value"], policy);
    let json = run_with(
        &["probe", "--actors", "4", "--messages", "50", "--json"],
        &[("ACTINIUM_POLICY", policy)],
    )
    .json();
    assert_eq!(json["settings"]["policy"]["value"], policy);
    let refused = show("affine,colocate=8");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("affine has no constant 'colocate': there are"), "{refused:?}");
}

#[test]
fn the_environment_reaches_the_run() {
    let environment =
        [("ACTINIUM_WORKERS", "2"), ("ACTINIUM_POLICY", "pinned"), ("ACTINIUM_BATCH", "1")];
    let arguments = ["probe", "--actors", "4", "--messages", "50", "--json"];
    let json = run_with(&arguments, &environment).json();
    assert_eq!(json["worker_count"], 2);
    assert_eq!(json["settings"]["policy"]["value"], "pinned");
    let counter = |name: &str| crate::common::number(&json["counters"], name);
    assert!(counter("turns") >= counter("handled"), "batches of one");
}

#[test]
fn a_flag_hides_a_malformed_variable() {
    let ran = run_with(&SMALL, &[("ACTINIUM_WORKERS", "many")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn the_warm_up_is_a_fortieth_unless_it_is_given() {
    assert_eq!(setting("warm-up", &[], &[]), pair("1000", "default"));
    assert_eq!(setting("warm-up", &["--messages", "400"], &[]), pair("10", "default"));
    let given = ["--messages", "400", "--warm-up", "3"];
    assert_eq!(setting("warm-up", &given, &[]), pair("3", "flag"));
}

#[test]
fn showing_settings_runs_nothing() {
    let stdout = run(&["probe", "--show-settings", "--messages", "1000000000"]).ok();
    assert!(!stdout.contains("elapsed-time"), "{stdout}");
}
