//! `actinium locality`: what it prints, and what each flag does. Each test fails if its flag does
//! nothing.

use crate::common::{Scratch, at, number, run, run_with, text, with};
use serde_json::Value;

/// An experiment that takes no time; arguments that are given replace its own.
fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    const SMALL: &str = "locality --workers 1 --actors 4 --accesses 2 --messages 400 --warm-up 0 --repeat 1 \
        --policy pinned,affine";
    let mut arguments = with(&SMALL.split(' ').collect::<Vec<_>>(), more);
    if !more.contains(&"--state") && !more.contains(&"--variant") {
        arguments.extend(["--state", "64"]);
    }
    arguments
}

#[track_caller]
fn figures(more: &[&str]) -> Value {
    let mut arguments = small(more);
    arguments.push("--json");
    run(&arguments).json()
}

#[track_caller]
fn list(json: &Value, path: &str) -> Vec<Value> {
    at(json, path).as_array().unwrap_or_else(|| panic!("{path} in {json}")).clone()
}

#[test]
fn the_table_is_policy_by_state_with_ratios_and_means() {
    let stdout = run(&small(&["--state", "64,4096"])).ok();
    let lines: Vec<&str> = stdout.lines().collect();
    for heading in ["actors", "accesses", "state (bytes)", "pinned (ms)", "affine (ms)", "× best"]
    {
        assert!(lines[0].contains(heading), "{heading} in {stdout}");
    }
    assert!(lines[2].contains("64") && lines[3].contains("4,096"), "{stdout}");
    assert!(lines[4].contains("geometric mean"), "{stdout}");
    let words = [
        "first done",
        "longest wait",
        "re-homed",
        "pushed",
        "moves",
        "switches",
        "misses per message",
    ];
    for word in words {
        assert!(stdout.contains(word), "{word} in {stdout}");
    }
}

#[test]
fn quiet_prints_the_first_table_only() {
    for flag in ["--quiet", "-q"] {
        assert_eq!(run(&small(&[flag])).ok().lines().count(), 4, "heading, rule, row, mean");
    }
}

#[test]
fn json_has_a_schema_version_and_its_ratios_are_those_of_its_runs() {
    let json = figures(&["--repeat", "3"]);
    assert_eq!(json["schema_version"], 2);
    let policies = list(&json, "rows.0.policies");
    let runs =
        |of: &Value| -> Vec<f64> { list(of, "runs_s").iter().filter_map(Value::as_f64).collect() };
    let best =
        policies.iter().find(|of| of["policy"] == json["rows"][0]["best"]).expect("the best");
    for policy in &policies {
        let mut ratios: Vec<f64> =
            runs(policy).iter().zip(runs(best)).map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        assert!((number(policy, "ratio_to_best") - ratios[1]).abs() < 1e-9, "{policy}");
        assert_eq!(policy["message_count"], 400);
        let share = number(policy, "first_done_share");
        assert!(share > 0.0 && share <= 1.0, "{share}");
        assert!(number(policy, "longest_wait_ns") > 0.0);
        assert!(policy["context_switches"].is_number());
        let changes = number(policy, "rehomed") + number(policy, "pushed");
        assert_eq!(number(policy, "home_changes_per_turn"), changes, "one worker: none");
    }
    // Either there are cache misses, or it is said why there are none.
    let misses = policies.iter().all(|policy| policy["cache_misses"].is_number());
    assert_ne!(misses, json["cache_misses_missing"].is_string(), "{json}");
    assert_eq!(list(&json, "means").len(), 2);
}

#[test]
fn affine_is_judged_by_the_best_of_the_others() {
    let json = figures(&["--policy", "affine,pinned,stealing", "--state", "64,500"]);
    // One run of each: its time is the median.
    let seconds = |row: &Value, at: usize| number(row, &format!("policies.{at}.runs_s.0"));
    let rows = list(&json, "rows");
    let ratios: Vec<f64> = rows
        .iter()
        .map(|row| {
            let ratio = seconds(row, 0) / seconds(row, 1).min(seconds(row, 2));
            assert!((number(row, "affine_to_best_other") - ratio).abs() < 1e-9, "{row}");
            ratio
        })
        .collect();
    let mean = |a: f64, b: f64| (a * b).sqrt();
    assert!((number(&json, "affine.to_best_other") - mean(ratios[0], ratios[1])).abs() < 1e-9);
    let to = |at| {
        mean(
            seconds(&rows[0], 0) / seconds(&rows[0], at),
            seconds(&rows[1], 0) / seconds(&rows[1], at),
        )
    };
    assert!((number(&json, "affine.to_best_single") - to(1).max(to(2))).abs() < 1e-9);
    assert_eq!(json["affine"]["best_single"], if to(1) > to(2) { "pinned" } else { "stealing" });
    let short = ratios.iter().filter(|&&ratio| ratio > 1.03).count();
    assert_eq!(number(&json, "affine.rows_short"), short as f64);
    assert!((number(&json, "affine.worst") - ratios[0].max(ratios[1])).abs() < 1e-9);
    let text = run(&small(&["--policy", "pinned,affine"])).ok();
    assert!(text.contains("× the best other of each row"), "{text}");
    assert!(text.contains("affine / best other") && text.contains("95 % interval"), "{text}");
    for alone in ["affine", "pinned,pool"] {
        assert!(figures(&["--policy", alone])["affine"].is_null());
        assert!(!run(&small(&["--policy", alone])).ok().contains("the best other of each row"));
    }
}

#[test]
fn rows_that_are_surely_short_are_counted() {
    let json = figures(&["--repeat", "7"]);
    let row = at(&json, "rows.0");
    assert_eq!(row["best_other"], "pinned");
    let runs = |at: usize| list(row, &format!("policies.{at}.runs_s"));
    let seconds = |value: &Value| value.as_f64().expect("seconds");
    let (pinned, affine) = (runs(0), runs(1));
    let mut ratios: Vec<f64> =
        affine.iter().zip(&pinned).map(|(a, b)| seconds(a) / seconds(b)).collect();
    ratios.sort_by(f64::total_cmp);
    // Of seven ratios the interval is all.
    for (at, ratio) in [(0, ratios[0]), (1, ratios[6])] {
        let end = number(row, &format!("affine_to_best_other_interval.{at}"));
        assert!((end - ratio).abs() < 1e-9, "{row}");
    }
    let surely = ratios[0] > 1.03;
    assert_eq!(number(&json, "affine.rows_surely_short"), f64::from(u8::from(surely)));
    let median = |at: usize| number(row, &format!("policies.{at}.first_done_share"));
    let starves = median(0) < 0.75 * median(1);
    assert_eq!(row["best_other_starves"], starves);
    let starved = f64::from(u8::from(surely && starves));
    assert_eq!(number(&json, "affine.rows_surely_short_starved"), starved);
}

#[test]
fn messages_travel_to_those_that_are_chosen() {
    let travel = |more: &[&str]| {
        let more = [&["--workers", "2", "--policy", "pinned", "--batch", "64"], more].concat();
        let json = figures(&more);
        assert_eq!(json["rows"][0]["policies"][0]["message_count"], 400, "{more:?}");
        json
    };
    let turns = |json: &Value| number(json, "rows.0.policies.0.turns");
    let own = travel(&[]);
    assert_eq!(at(&own, "settings.receivers.value"), "itself");
    assert!(number(&own, "rows.0.policies.0.longest_wait_ns") > 0.0);
    // One message at a time has a turn at each of its receivers; closed loops fill their turns.
    let zipf = travel(&["--receivers", "zipf:1.5", "--in-flight", "1"]);
    assert_eq!(at(&zipf, "settings.receivers.value"), "zipf:1.5");
    assert!(turns(&zipf) > 2.0 * turns(&own), "{} {}", turns(&zipf), turns(&own));
    assert!(at(&zipf, "rows.0.policies.0.longest_wait_ns").is_null());
    let most = travel(&["--receivers", "hot:1:1", "--in-flight", "100"]);
    // All wait at the one hot actor, whose turns are full.
    assert!(turns(&most) < turns(&zipf) / 2.0, "{} {}", turns(&most), turns(&zipf));
    let stdout = run(&small(&["--receivers", "zipf"])).ok();
    assert!(stdout.contains("zipf:1: 16 messages travel from actor to actor"), "{stdout}");
}

#[test]
fn cells_are_all_combinations() {
    let json = figures(&["--actors", "2,3", "--accesses", "1,5", "--state", "8,64,500"]);
    let rows = list(&json, "rows");
    assert_eq!(rows.len(), 12);
    let cell =
        |row: &Value| ["actors", "accesses", "state"].map(|of| row[of].as_u64().unwrap_or(0));
    assert_eq!((cell(&rows[0]), cell(&rows[11])), ([2, 1, 8], [3, 5, 500]));
    // 400 messages are not divided by 3: each actor has the same share.
    assert_eq!(rows[11]["policies"][0]["message_count"], 399);
}

#[test]
fn policies_are_those_asked_for_in_their_order() {
    let names = |policies| -> Vec<Value> {
        let json = figures(&["--policy", policies]);
        list(&json, "means").iter().map(|mean| mean["policy"].clone()).collect()
    };
    assert_eq!(names("affine,stealing,pool"), ["affine", "stealing", "pool"]);
    // With other parameters, it is another policy.
    let eager = "affine,colocate_after=8,start_together=1";
    assert_eq!(names(&format!("{eager},pool,affine")), [eager, "pool", "affine"]);
}

#[test]
fn messages_warm_up_and_repeat_are_counted() {
    assert_eq!(figures(&["--messages", "40"])["rows"][0]["policies"][0]["message_count"], 40);
    let runs = |repeat| list(&figures(&["--repeat", repeat]), "rows.0.policies.1.runs_s").len();
    assert_eq!((runs("1"), runs("4")), (1, 4));
    // What is known of the actors after a warm-up needs no turn of its own for each any more, but
    // it is no part of the run.
    let json = figures(&["--warm-up", "4000"]);
    assert_eq!(json["rows"][0]["policies"][0]["message_count"], 400);
    assert_eq!(at(&json, "settings.warm_up.value"), "4000");
}

#[test]
fn a_batch_bounds_a_turn() {
    let turns = |batch| number(&figures(&["--batch", batch]), "rows.0.policies.0.turns");
    assert!(turns("1") >= 400.0, "each message has a turn of its own");
    assert!(turns("64") < 100.0);
}

#[test]
fn workers_are_as_many_as_asked_for() {
    assert_eq!(at(&figures(&["--workers", "2"]), "settings.workers.value"), "2");
    let stdout = run(&small(&["--workers", "64"])).ok();
    let pus = actinium::topology::Topology::detect().expect("a machine").allowed().len();
    assert_eq!(stdout.contains(": they run unbound"), pus < 64, "{stdout}");
    let ran =
        run_with(&small(&["--workers", "1", "--show-settings"]), &[("ACTINIUM_WORKERS", "7")]);
    assert!(ran.ok().contains("flag"));
}

#[test]
fn a_map_is_another_state() {
    let json = figures(&["--variant", "map", "--entries", "64,100"]);
    let states: Vec<Value> = list(&json, "rows").iter().map(|row| row["state"].clone()).collect();
    assert_eq!(states, [64, 100]);
    let stdout = run(&small(&["--variant", "map", "--entries", "64"])).ok();
    assert!(stdout.contains("state (entries)"), "{stdout}");
}

#[test]
fn packed_states_are_said_to_be_packed() {
    let stdout = run(&small(&["--packed"])).ok();
    assert!(stdout.contains("small ones share cache lines"), "{stdout}");
    assert!(!run(&small(&[])).ok().contains("share cache lines"));
}

#[test]
fn what_takes_too_much_memory_is_left_out_and_named() {
    let arguments = ["--state", "64,100000", "--memory", "4096"];
    let json = figures(&arguments);
    assert_eq!(list(&json, "rows").len(), 1);
    assert_eq!(at(&json, "left_out.0.needs_bytes"), 400_000);
    let stdout = run(&small(&arguments)).ok();
    assert!(stdout.contains("left out      4 actors, 100,000 bytes"), "{stdout}");
}

#[test]
fn settings_are_shown_with_their_sources() {
    let environment = [("ACTINIUM_WORKERS", "3"), ("ACTINIUM_BATCH", "5")];
    let ran = run_with(&["locality", "--show-settings", "--json", "--seed", "9"], &environment);
    let json = ran.json();
    let setting = |name: &str| {
        let of = at(&json, &format!("settings.{name}"));
        [&of["value"], &of["source"]].map(|text| text.as_str().unwrap_or("").to_owned())
    };
    assert_eq!(setting("workers"), ["3", "env"]);
    assert_eq!(setting("batch"), ["5", "env"]);
    assert_eq!(setting("seed"), ["9", "flag"]);
    assert_eq!(setting("actors"), ["24", "default"]);
    assert_eq!(setting("state"), ["64,256,2000,4000,32000,320000,3200000", "default"]);
    assert_eq!(setting("packed"), ["false", "default"]);
    assert_eq!(setting("in_flight"), ["48", "default"]);
}

#[test]
fn the_report_has_the_heat_map() {
    let scratch = Scratch::new("locality");
    let path = &scratch.path("locality.html");
    run(&small(&["--report", path])).ok();
    let html = text(path);
    assert!(html.contains("class=\"grid\"") && html.contains("--share:"), "a heat map");
    for word in ["4 actors, 2 accesses, 64 bytes", "pinned", "affine", "geometric mean of all rows"]
    {
        assert!(html.contains(word), "{word}");
    }
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    let refused = |arguments: &[&str], line: &str| {
        let ran = run(&[&["locality"], arguments].concat());
        assert_eq!(ran.stderr, format!("actinium: {line}\n"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    };
    let within =
        |flag: &str, value: &str, range: &str| format!("{flag}: '{value}' is not allowed: {range}");
    for (flag, value, range) in [
        ("--actors", "0", "1 to 1048576"),
        ("--accesses", "1000001", "1 to 1000000"),
        ("--state", "7", "8 to 4294967296"),
        ("--entries", "0", "1 to 67108864"),
        ("--messages", "-1", "1 to 1000000000"),
        ("--warm-up", "x", "0 to 1000000000"),
        ("--batch", "65", "1 to 64"),
        ("--repeat", "0", "1 to 1000"),
        ("--memory", "0", "1 to 70368744177664"),
    ] {
        refused(&[flag, value], &within(flag, value, range));
    }
    refused(&["--actors", "3,,4"], &within("--actors", "", "1 to 1048576"));
    refused(
        &["--policy", "fifo"],
        "--policy: unknown policy 'fifo': allowed are pinned, pool, stealing, affine",
    );
    refused(&["--policy", "pool,pool"], "--policy: 'pool' is there twice");
    let unknown = run(&["locality", "--policy", "pool,affine,colocate=8"]).stderr;
    assert!(unknown.contains("--policy: affine has no constant 'colocate'"), "{unknown}");
    for receivers in ["zipf:17", "zipf:-1", "hot", "hot:0:0.5", "hot:1:1.5", "all"] {
        refused(
            &["--receivers", receivers],
            &within(
                "--receivers",
                receivers,
                "itself, zipf, zipf:EXPONENT (0 to 16), or hot:ACTORS:SHARE (at least 1, 0 to 1)",
            ),
        );
    }
    refused(&["--in-flight", "3"], "--in-flight: only with --receivers zipf or hot");
    refused(
        &["--receivers", "zipf", "--in-flight", "9", "--messages", "8"],
        "--messages: '8' are less than one for each of 9 --in-flight",
    );
    refused(&["--state", "64,128,64"], "--state: '64' is there twice");
    refused(&["--entries", "64"], "--entries: only with --variant map");
    refused(&["--variant", "map", "--state", "64"], "--state: only with --variant array");
    refused(&["--variant", "map", "--packed"], "--packed: only with --variant array");
    refused(&["--messages", "5"], "--messages: '5' are less than one for each of 24 actors");
    refused(
        &["--memory", "100", "--state", "64"],
        "--memory: '100' leaves no cell: the smallest takes 1.5 KiB",
    );
    refused(
        &["--report", "/no/such/folder/x.html", "--messages", "24"],
        "--report: cannot write /no/such/folder/x.html: its folder does not exist",
    );
}
