//! `actinium events` without running: `--validate`, `--plan`, settings, and whatever is asked
//! wrongly.

use crate::common::{Scratch, at, number, run, run_with, shipped};

const SMALL: &str = "\
format = 1
[options]
slots = 3
workers = 2
[source]
events = 12
[[modules]]
label = \"a\"
time-ms = 2
[[modules]]
label = \"out\"
kind = \"output\"
threads = \"serial\"
time-ms = 1
inputs = [\"a\"]
[paths]
p = [\"out\"]
";

#[track_caller]
fn refused(arguments: &[&str], line: &str) {
    let ran = run(arguments);
    assert_eq!(ran.stderr, format!("actinium: {line}\n"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
}

#[test]
fn a_valid_file_is_said_to_be() {
    let file = shipped("imaging.toml");
    let text = run(&["events", &file, "--validate"]).ok();
    assert_eq!(text, format!("{file}: it can be run: no warnings\n"));
    let json = run(&["events", &file, "--validate", "--json"]).json();
    assert_eq!((number(&json, "schema_version"), at(&json, "valid")), (2.0, &true.into()));
    assert_eq!((number(&json, "errors"), number(&json, "warnings")), (0.0, 0.0));
}

#[test]
fn all_faults_are_printed_with_their_places() {
    let text = SMALL.replace("time-ms = 2", "time-ms = -2").replace("\"a\"]", "\"b\"]");
    let scratch = Scratch::new("plan-faults");
    let path = &scratch.file("faults.toml", text);
    let ran = run(&["events", path, "--validate"]);
    assert_eq!(ran.code, Some(2));
    let starts = [
        format!(
            "{path}:9:11: error: 'time-ms' of module 'a' (in milliseconds) is -2: it has to be"
        ),
        format!("{path}:15:11: error: module 'out' asks for 'b', which no module is called"),
    ];
    assert_eq!(ran.stdout.lines().count(), 2, "{}", ran.stdout);
    for (line, start) in ran.stdout.lines().zip(starts) {
        assert!(line.starts_with(&start), "{line}\n{start}");
    }
    assert_eq!(ran.stderr, format!("actinium: {path}: it can not be run: 2 errors, no warnings\n"));

    let ran = run(&["events", path, "--validate", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, at(&json, "valid")), (Some(2), &false.into()));
    let fault = at(&json, "faults.0");
    assert_eq!(
        (&fault["line"], &fault["column"], &fault["severity"]),
        (&9.into(), &11.into(), &"error".into())
    );
}

#[test]
fn a_file_that_can_not_be_run_is_refused_in_one_line() {
    let scratch = Scratch::new("plan-errors");
    for (name, text, start) in [
        ("cut.json", "{\"process\": {\n\"label\": \"x", ":2:"),
        (
            "cut.config",
            "{\"process\": [1, 2",
            ":1:18: error: the file ends before the list of line 1 has its ']': it is cut off",
        ),
        ("empty.toml", "", ":1:1: error: the file lacks 'format'"),
        (
            "cycle.toml",
            "format = 1\nmodules = [{label = \"a\", inputs = [\"a\"]}]\npaths = {}\n",
            ":2:36: error: a cycle: 'a' needs 'a': take out one of these inputs",
        ),
        (
            "zero.toml",
            &SMALL.replace("slots = 3", "slots = 0"),
            ":3:9: error: 'slots' is 0: it has to be a whole number from 1 to",
        ),
        (
            "none.toml",
            &SMALL.replace("events = 12", "events = 0"),
            ":6:10: error: 'events' is 0: it has to be a whole number from 1 to",
        ),
        (
            "nan.toml",
            &SMALL.replace("time-ms = 2", "time-ms = nan"),
            ":9:11: error: 'time-ms' of module 'a' (in milliseconds) is NaN",
        ),
        (
            "class.config",
            "{\"process\": {\"source\": {\"@type\": \"demo::SimpleSource\", \"iterations\": 1}, \"producers\": [], \"paths\": {},\n\"filters\": [{\"@label\": \"x\", \"@type\": \"demo::PasFilter\"}]}}",
            ":1:100: error: no path has a module",
        ),
    ] {
        let file = &scratch.file(name, text);
        for more in [&[][..], &["--plan"], &["--show-settings"]] {
            let ran = run(&[&["events", file], more].concat());
            let expected = format!("actinium: {file}{start}");
            assert!(ran.stderr.starts_with(&expected), "{}\n{expected}", ran.stderr);
            assert_eq!(
                (ran.code, ran.stdout.as_str(), ran.stderr.lines().count()),
                (Some(2), "", 1)
            );
        }
    }
    let utf8 = &scratch.file("bytes.toml", b"format = 1\nname = \"\xff\"");
    refused(
        &["events", utf8],
        &format!("{utf8}:2:9: error: the byte 0xFF is not UTF-8: the file has to be text in UTF-8"),
    );
}

#[test]
fn what_is_no_file_is_refused() {
    refused(&["events", "/no/such/file"], "/no/such/file: error: there is no such file");
    refused(&["events", "/"], "/: error: it is a directory: name the file in it");
    refused(&["events", "/dev/null"], "/dev/null: error: it is not a regular file");
    refused(&["events"], "<CONFIG> is missing; 'actinium events --help' lists what is allowed");
    let scratch = Scratch::new("plan-large");
    let large = &scratch.path("large.toml");
    let file = std::fs::File::create(large).expect("a file");
    file.set_len(3_000_000_000).expect("a hole");
    refused(
        &["events", large],
        &format!("{large}: error: it has 3000000000 bytes: at most 67108864 are read (64 MiB)"),
    );
}

#[test]
fn values_that_are_not_allowed() {
    let file = shipped("imaging.toml");
    let kinds = "concurrent, serial, exclusive(RESOURCE), stream, limited(N)";
    let sweep =
        "write slots=1,2,4,8, workers=1,2,4 or jobs=1,2,4: each number greater than the one before";
    for (flag, value, problem) in [
        ("--slots", "0", "'0' is not allowed: 1 to 10000000".to_owned()),
        ("--slots", "10000001", "'10000001' is not allowed: 1 to 10000000".to_owned()),
        ("--slots", "-1", "'-1' is not allowed: 1 to 10000000".to_owned()),
        ("--events", "0", "'0' is not allowed: 1 to 1000000000000".to_owned()),
        ("--events", "1e3", "'1e3' is not allowed: 1 to 1000000000000".to_owned()),
        (
            "--workers",
            "0",
            "'0' is not a number of workers: allowed are 1 to 4096, or 'all'".to_owned(),
        ),
        (
            "--policy",
            "fifo",
            "unknown policy 'fifo': allowed are pinned, pool, stealing, affine".to_owned(),
        ),
        ("--mode", "sleep", "'sleep' is not allowed: busy, wait, as-configured".to_owned()),
        ("--order", "random", "'random' is not allowed: completed, input".to_owned()),
        ("--time-scale", "-1", "'-1' is not allowed: 0 to 1000".to_owned()),
        ("--time-scale", "nan", "'nan' is not allowed: 0 to 1000".to_owned()),
        ("--time-scale", "inf", "'inf' is not allowed: 0 to 1000".to_owned()),
        (
            "--thread-type",
            "serial",
            format!("'serial' lacks its '=': write LABEL=KIND or all=KIND; kinds are {kinds}"),
        ),
        (
            "--thread-type",
            "a=seriel",
            format!("'seriel' is no thread kind; did you mean 'serial'?; there are: {kinds}"),
        ),
        (
            "--thread-type",
            "trak=serial",
            "'trak' is no module of this workload; did you mean 'track'?".to_owned(),
        ),
        ("--sweep", "slots=4,2", format!("'slots=4,2' is not allowed: {sweep}")),
        ("--sweep", "4,2", format!("'4,2' is not allowed: {sweep}")),
        ("--sweep", "slots=0,2", "'0' is not allowed: 1 to 10000000".to_owned()),
        ("--times", "x", "".to_owned()),
    ] {
        if flag == "--times" {
            let line = format!(
                "{file}: error: a file of times (x) belongs to a GaudiHive data flow, which this is not"
            );
            refused(&["events", &file, flag, value], &line);
        } else {
            refused(&["events", &file, flag, value], &format!("{flag}: {problem}"));
        }
    }
    refused(&["events", &file, "--plan", "--validate"], "--plan: not together with --validate");
    refused(
        &["events", &file, "--plan", "--sweep", "slots=1"],
        "--plan: not together with --sweep",
    );
}

#[test]
fn variables_that_are_not_allowed() {
    let file = shipped("imaging.toml");
    for (variable, value, problem) in [
        ("ACTINIUM_SLOTS", "0", "'0' is not allowed: 1 to 10000000"),
        (
            "ACTINIUM_WORKERS",
            "none",
            "'none' is not a number of workers: allowed are 1 to 4096, or 'all'",
        ),
        (
            "ACTINIUM_POLICY",
            "fifo",
            "unknown policy 'fifo': allowed are pinned, pool, stealing, affine",
        ),
    ] {
        let ran = run_with(&["events", &file], &[(variable, value)]);
        assert_eq!((ran.code, ran.stderr), (Some(2), format!("actinium: {variable}: {problem}\n")));
    }
}

/// The value and the source of a setting.
fn setting(
    file: &str,
    name: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> (String, String) {
    let arguments = [&["events", file, "--show-settings", "--json"], arguments].concat();
    let json = run_with(&arguments, environment).json();
    assert_eq!(json["schema_version"], 2);
    let setting = &json["settings"][name];
    let value = &setting["value"];
    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    (value, setting["source"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn the_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let scratch = Scratch::new("plan-settings");
    let file = &scratch.file("settings.toml", SMALL);
    let bare = &scratch.file(
        "bare.toml",
        SMALL.replace("slots = 3\nworkers = 2\n", "").replace("events = 12\n", ""),
    );
    let pair = |value: &str, source: &str| (value.to_owned(), source.to_owned());
    for (name, flag, variable, of_flag, of_env, of_file) in [
        ("slots", "--slots", "ACTINIUM_SLOTS", "7", "5", Some("3")),
        ("workers", "--workers", "ACTINIUM_WORKERS", "4", "3", Some("2")),
        ("policy", "--policy", "ACTINIUM_POLICY", "pool", "pinned", None),
    ] {
        let environment = [(variable, of_env)];
        assert_eq!(setting(file, name, &[flag, of_flag], &environment), pair(of_flag, "flag"));
        assert_eq!(setting(file, name, &[], &environment), pair(of_env, "env"));
        if let Some(of_file) = of_file {
            assert_eq!(setting(file, name, &[], &[]), pair(of_file, "file"));
        }
        assert_eq!(setting(bare, name, &[], &[]).1, "default");
    }
    assert_eq!(setting(file, "events", &[], &[]), pair("12", "file"));
    assert_eq!(setting(file, "events", &["--events", "9"], &[]), pair("9", "flag"));
    assert_eq!(setting(bare, "events", &[], &[]), pair("1000", "default"));
    // One slot per worker where nobody says anything.
    assert_eq!(setting(bare, "slots", &["--workers", "3"], &[]), pair("3", "default"));
    for (name, flag, value) in [
        ("mode", "--mode", "wait"),
        ("order", "--order", "input"),
        ("time_scale", "--time-scale", "0.5"),
    ] {
        assert_eq!(setting(file, name, &[flag, value], &[]), pair(value, "flag"));
        assert_eq!(setting(file, name, &[], &[]).1, "default");
    }
    let table = run(&["events", file, "--show-settings", "--thread-type", "a=serial"]).ok();
    assert!(table.contains("a=serial") && table.contains("file"), "{table}");
}

fn plan(file: &str, more: &[&str]) -> serde_json::Value {
    run(&[&["events", file, "--plan", "--json"], more].concat()).json()
}

#[test]
fn a_plan_says_what_is_known() {
    let scratch = Scratch::new("plan-plan");
    let file = &scratch.file("plan.toml", SMALL);
    let json = plan(file, &["--events", "100"]);
    for (path, expected) in [
        ("schema_version", 2.0),
        ("plan.modules", 2.0),
        ("plan.edges", 1.0),
        ("plan.levels", 2.0),
        ("plan.total_ns.mean", 3e6),
        ("plan.critical_path.time_ns.max", 3e6),
        ("plan.parallelism.mean", 1.0),
        ("plan.ceilings.0.events_per_s", 1000.0),
        // Two workers and three slots, as the file says: 300 ms of work on two.
        ("plan.predictions.0.workers", 2.0),
        ("plan.predictions.0.slots", 3.0),
        ("plan.predictions.0.events", 100.0),
        ("plan.predictions.0.elapsed_ns", 151e6),
    ] {
        let is = number(&json, path);
        assert!((is / expected - 1.0).abs() < 0.02, "{path}: {is}, not {expected}");
    }
    assert_eq!(at(&json, "plan.critical_path.modules.1.label"), "out");
    let text = run(&["events", file, "--plan"]).ok();
    for part in ["levels", "critical path", "parallelism", "1,000.00", "ideal by list scheduling"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn flags_bend_what_is_planned() {
    let scratch = Scratch::new("plan-bent");
    let file = &scratch.file("bent.toml", SMALL);
    let is = |more: &[&str], path: &str| number(&plan(file, more), path);
    assert_eq!(is(&["--time-scale", "0.5"], "plan.total_ns.mean"), 1.5e6);
    assert_eq!(is(&["--time-scale", "0"], "plan.total_ns.mean"), 0.0);
    assert_eq!(is(&["--mode", "wait"], "plan.waiting_modules"), 2.0);
    assert_eq!(is(&["--mode", "busy"], "plan.waiting_modules"), 0.0);
    assert_eq!(is(&["--thread-type", "a=serial"], "plan.ceilings.0.events_per_s"), 500.0);
    assert_eq!(is(&["--thread-type", "all=exclusive(x)"], "plan.ceilings.0.time_ns"), 3e6);
    assert_eq!(is(&["--slots", "5"], "plan.predictions.0.slots"), 5.0);
    assert_eq!(is(&["--workers", "1"], "plan.predictions.0.workers"), 1.0);
    let all = plan(file, &["--thread-type", "out=concurrent"]);
    assert_eq!(all["plan"]["ceilings"], serde_json::json!([]));
    // The later one wins.
    let later = ["--thread-type", "all=serial", "--thread-type", "all=limited(3)"];
    assert_eq!(is(&later, "plan.ceilings.0.tasks_max"), 3.0);
}

#[test]
fn warnings_are_counted_unless_quiet() {
    let scratch = Scratch::new("plan-warned");
    let file = &scratch
        .file("warned.toml", SMALL.replace("[paths]", "[[modules]]\nlabel = \"b\"\n[paths]"));
    let ran = run(&["events", file, "--plan"]);
    assert_eq!(ran.stderr, format!("actinium: {file}: warnings: 1; --validate lists them\n"));
    run(&["events", file, "--plan", "--quiet"]).ok();
    let text = run(&["events", file, "--validate"]).ok();
    assert!(text.ends_with(": it can be run: 1 warning\n"), "{text}");
}
