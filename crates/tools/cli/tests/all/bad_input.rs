//! What is asked wrongly ends with exit code 2, nothing on stdout, and one line on stderr that
//! names the flag or variable, its value and what is allowed.

use crate::common::{command, run, run_with};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[track_caller]
fn refused(arguments: &[&str], environment: &[(&str, &str)], line: &str) {
    let ran = run_with(arguments, environment);
    assert_eq!(ran.stderr, format!("actinium: {line}\n"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
}

#[test]
fn values_that_are_not_allowed() {
    let workers = |value: &str| {
        format!("'{value}' is not a number of workers: allowed are 1 to 4096, or 'all'")
    };
    let policy = |value: &str| {
        format!("unknown policy '{value}': allowed are pinned, pool, stealing, affine")
    };
    let within = |value: &str, high: &str| format!("'{value}' is not allowed: {high}");
    for (flag, value, problem) in [
        ("--workers", "0", workers("0")),
        ("--workers", "-1", workers("-1")),
        ("--workers", "4097", workers("4097")),
        ("--workers", "99999999999999999999", workers("99999999999999999999")),
        ("--workers", "two", workers("two")),
        ("--workers", "1.5", workers("1.5")),
        ("--workers", "", workers("")),
        ("--policy", "fifo", policy("fifo")),
        ("--policy", "Affine", policy("Affine")),
        ("--policy", "", policy("")),
        ("--batch", "0", within("0", "1 to 1000000")),
        ("--batch", "1000001", within("1000001", "1 to 1000000")),
        ("--actors", "0", within("0", "1 to 16777216")),
        ("--actors", "16777217", within("16777217", "1 to 16777216")),
        ("--in-flight", "0", within("0", "1 to 16777216")),
        ("--messages", "0", within("0", "1 to 1000000000")),
        ("--messages", "1e6", within("1e6", "1 to 1000000000")),
        ("--payload", "-1", within("-1", "0 to 16777216")),
        ("--payload", "16777217", within("16777217", "0 to 16777216")),
        ("--warm-up", "x", within("x", "0 to 1000000000")),
        ("--repeat", "0", within("0", "1 to 1000")),
        ("--repeat", "1001", within("1001", "1 to 1000")),
        ("--seed", "-5", within("-5", "0 to 18446744073709551615")),
        ("--placement", "here", within("here", "spread, policy")),
        ("--crossing", "101", within("101", "0 to 100")),
        ("--crossing", "50", "'50' needs --placement spread, not policy".to_owned()),
    ] {
        refused(&["probe", flag, value], &[], &format!("{flag}: {problem}"));
    }
}

#[test]
fn variables_that_are_not_allowed() {
    for (variable, value, problem) in [
        ("WORKERS", "0", "'0' is not a number of workers: allowed are 1 to 4096, or 'all'"),
        ("WORKERS", "two", "'two' is not a number of workers: allowed are 1 to 4096, or 'all'"),
        ("WORKERS", "", "'' is not a number of workers: allowed are 1 to 4096, or 'all'"),
        ("POLICY", "fifo", "unknown policy 'fifo': allowed are pinned, pool, stealing, affine"),
        ("BATCH", "0", "'0' is not allowed: 1 to 1000000"),
        ("BATCH", "64 ", "'64 ' is not allowed: 1 to 1000000"),
    ] {
        let variable = format!("ACTINIUM_{variable}");
        refused(&["probe"], &[(&variable, value)], &format!("{variable}: {problem}"));
    }
}

#[test]
fn a_variable_that_is_not_utf_8() {
    let mut command = command(&["probe"]);
    command.env("ACTINIUM_BATCH", OsStr::from_bytes(b"6\xff4"));
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    let line = "actinium: ACTINIUM_BATCH: '6\u{fffd}4' is not allowed: 1 to 1000000\n";
    assert_eq!(String::from_utf8_lossy(&output.stderr), line);
}

#[test]
fn settings_that_together_ask_for_too_much() {
    refused(
        &["probe", "--workers", "4096", "--actors", "16777216"],
        &[],
        "--actors: '16777216' on each of 4096 workers are 68,719,476,736 actors: at most 16,777,216",
    );
    refused(
        &[
            "probe",
            "--workers",
            "2",
            "--actors",
            "100",
            "--in-flight",
            "16777216",
            "--messages",
            "1000000000",
        ],
        &[],
        "--in-flight: '16777216' of each of 200 actors are 3,355,443,200 requests under way: at most 16,777,216",
    );
    refused(
        &["probe", "--workers", "2", "--actors", "1000", "--payload", "16777216"],
        &[],
        "--payload: '16777216' bytes in each of 2000 requests under way are 31.2 GiB: at most 4.0 GiB",
    );
}

#[test]
fn arguments_that_do_not_exist() {
    let probe = "'actinium probe --help' lists what is allowed";
    let commands = actinium_cli::cli::command_names().join(", ");
    for (arguments, line) in [
        (
            &["probe", "--worker", "2"][..],
            format!("--worker: there is no such argument; did you mean --workers?; {probe}"),
        ),
        (&["probe", "-x"], format!("-x: there is no such argument; {probe}")),
        (&["probe", "2"], format!("2: there is no such argument; {probe}")),
        (&["probe", "--workers"], format!("--workers: it needs a value: {probe}")),
        (&["probe", "--json=yes"], "--json: 'yes': it takes no value".to_owned()),
        (&["probe", "--seed", "1", "--seed", "2"], "--seed: given more than once".to_owned()),
        (&["prob"], format!("'prob' is no command: allowed are {commands}")),
        (
            &[],
            format!(
                "which command? allowed are {commands}; 'actinium --help' lists what is allowed"
            ),
        ),
        (
            &["completions", "csh"],
            "<SHELL>: 'csh' is not allowed: bash, elvish, fish, powershell, zsh".to_owned(),
        ),
        (
            &["completions"],
            "<SHELL> is missing; 'actinium completions --help' lists what is allowed".to_owned(),
        ),
        (&["man", "cd"], format!("[COMMAND]: 'cd' is not allowed: {commands}")),
    ] {
        refused(arguments, &[], &line);
    }
}

#[test]
fn an_argument_that_is_not_utf_8() {
    let mut command = command(&["probe", "--workers"]);
    command.arg(OsStr::from_bytes(b"\xff"));
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains('\u{fffd}') && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn what_was_typed_can_not_break_the_line() {
    refused(
        &["probe", "--policy", "a\nb\u{1b}[31m"],
        &[],
        "--policy: unknown policy 'a\\nb\\u{1b}[31m': allowed are pinned, pool, stealing, affine",
    );
}

#[test]
fn bad_input_is_found_before_anything_runs() {
    let ran = run(&["probe", "--messages", "1000000000", "--repeat", "0"]);
    assert_eq!(ran.code, Some(2));
}
