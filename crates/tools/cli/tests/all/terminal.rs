//! The command among others: terminals, pipes, full disks, shells, cpusets.

use crate::common::{SMALL, clean, command, on_a_terminal, run, run_with, small};
use actinium_cli::cli::Cli;
use clap::CommandFactory;
use std::fs::OpenOptions;
use std::process::{Command, Stdio};

#[test]
fn help_names_each_flag() {
    let mut root = Cli::command();
    root.build();
    for subcommand in root.get_subcommands() {
        let name = subcommand.get_name();
        let help = run(&[name, "--help"]).ok();
        for argument in subcommand.get_arguments() {
            match argument.get_long() {
                Some(long) => assert!(help.contains(&format!("--{long}")), "--{long} in {help}"),
                None => {
                    let names = argument.get_value_names().unwrap_or_default();
                    let shown = |name: &str| {
                        help.contains(&format!("[{name}]")) || help.contains(&format!("<{name}>"))
                    };
                    assert!(names.iter().all(|name| shown(name)), "{names:?} in {help}");
                }
            }
        }
    }
    let help = run(&["probe", "--help"]).ok();
    // Wherever its lines end.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Pings and replies both count as messages"), "{help}");
    for variable in ["ACTINIUM_WORKERS", "ACTINIUM_POLICY", "ACTINIUM_BATCH"] {
        assert!(help.contains(&format!("[env: {variable}]")), "{variable} in {help}");
    }
    let help = run(&["--help"]).ok();
    for name in ["topology", "probe", "completions", "man", "Exit codes: 0"] {
        assert!(help.contains(name), "{name} in {help}");
    }
}

#[test]
fn the_version_is_the_package_s() {
    assert_eq!(run(&["--version"]).ok(), format!("actinium {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_flags() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&["completions", shell]).ok();
        assert!(script.contains("in-flight") && script.contains("topology"), "{shell}");
    }
}

#[test]
fn manual_pages_know_the_flags() {
    let page = run(&["man"]).ok();
    assert!(page.starts_with(".ie") && page.contains(".TH actinium 1"), "{page}");
    let page = run(&["man", "probe"]).ok();
    assert!(page.contains(".TH actinium\\-probe 1") || page.contains(".TH actinium-probe 1"));
    assert!(page.contains("in\\-flight"), "{page}");
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    for arguments in [&SMALL[..], &["topology"], &["man"], &["completions", "zsh"], &["--help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = command(arguments);
        let child = command.stdout(writer).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(command);
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*stderr), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn stdout_that_can_not_be_written_is_a_failure() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = command(&SMALL).stdout(full).stderr(Stdio::piped()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("actinium: can not write to stdout: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1);
}

#[test]
fn a_bar_shows_on_a_terminal_only() {
    let probe = SMALL.join(" ");
    let shown = on_a_terminal(&probe, &[]);
    assert!(shown.contains('─') && shown.contains("/400"), "{shown}");
    let warmed = on_a_terminal(&small(&["--warm-up", "9", "--repeat", "2"]).join(" "), &[]);
    for bar in ["warm-up", "run 1/2", "run 2/2"] {
        assert!(warmed.contains(bar), "{bar} in {warmed}");
    }
    let quiet = on_a_terminal(&format!("{probe} --quiet"), &[]);
    assert!(!quiet.contains("/400"), "{quiet}");
    assert_eq!(run(&SMALL).stderr, "");
}

#[test]
fn colours_are_for_terminals_and_not_with_no_color() {
    let coloured = |text: &str| text.contains("\u{1b}[1m") || text.contains("\u{1b}[36m");
    let probe = SMALL.join(" ");
    for arguments in ["--help", &probe] {
        assert!(coloured(&on_a_terminal(arguments, &[])), "{arguments}");
        let plain = on_a_terminal(arguments, &[("NO_COLOR", "1")]);
        assert!(!coloured(&plain), "{arguments}: {plain}");
    }
    let stdout = run_with(&["--help"], &[]).ok();
    assert!(!stdout.contains('\u{1b}'), "{stdout}");
}

#[test]
fn more_workers_than_pus_run_with_a_warning() {
    let pus = actinium::topology::Topology::detect().expect("a machine").allowed().len();
    let workers = (pus + 1).to_string();
    let ran = run(&small(&["--workers", &workers, "--json"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let start = format!("actinium: warning: {workers} workers on {pus} PU");
    assert!(ran.stderr.starts_with(&start), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["worker_count"], pus + 1);
}

#[test]
fn a_cpuset_of_one_pu_has_one_worker() {
    let topology = actinium::topology::Topology::detect().expect("a machine");
    let pu = topology.allowed().iter().next().expect("a PU").0.to_string();
    let run = |more: &[&str]| {
        let mut command = Command::new("taskset");
        command.args(["-c", &pu, env!("CARGO_BIN_EXE_actinium"), "probe", "--actors", "4"]);
        command.args(["--messages", "50"]).args(more).stdin(Stdio::null());
        clean(&mut command);
        crate::common::Ran::from(command.output().expect("taskset starts"))
    };
    let alone = run(&["--json"]).json();
    assert_eq!(alone["worker_count"], 1);
    let two = run(&["--workers", "2"]);
    assert_eq!(two.code, Some(0), "{two:?}");
    assert!(two.stderr.starts_with("actinium: warning: 2 workers on 1 PU"), "{}", two.stderr);
}
