//! Which PUs programs get that run beside each other: what the kernel says of their workers'
//! threads.

use crate::common::{Ran, Scratch, command, run, run_with, small, with};
use actinium::topology::{CpuSet, Topology, bind_current_thread_to};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A probe with one worker, which goes on until it is ended.
const ENDLESS: [&str; 11] = [
    "probe",
    "--workers",
    "1",
    "--actors",
    "1",
    "--messages",
    "1000000000",
    "--warm-up",
    "0",
    "--in-flight",
    "1",
];

/// Programs that see no claims but each other's.
struct Host(Scratch);

impl Host {
    fn new(name: &str) -> Self {
        Host(Scratch::new(name))
    }

    fn claims(&self) -> String {
        self.0.path("claims")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("ACTINIUM_CLAIMS", self.claims());
        command
    }

    fn start(&self, arguments: &[&str]) -> Program {
        let mut command = self.command(arguments);
        Program(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    }
}

/// Killed when dropped.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The PUs that each worker of a process may use.
fn masks(process: u32) -> Vec<CpuSet> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let mask = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let is_worker = field("Name:")?.starts_with("actinium-");
        is_worker.then(|| field("Cpus_allowed_list:")?.parse().ok()).flatten()
    };
    threads.filter_map(|thread| mask(thread.ok()?)).collect()
}

/// The PU of a process's only worker, when it is bound.
fn bound_pu(process: u32) -> CpuSet {
    loop {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
        let state = stat.rsplit(')').next().expect("what comes behind its name").trim_start();
        assert!(!state.starts_with('Z'), "it has ended");
        match masks(process).as_slice() {
            [mask] if mask.len() == 1 => return mask.clone(),
            _ => std::thread::yield_now(),
        }
    }
}

fn allowed() -> CpuSet {
    Topology::detect().expect("this machine").allowed().clone()
}

/// Whether there are PUs for two, and threads may be bound at all.
fn is_divisible() -> bool {
    let all = allowed();
    let bound = std::thread::spawn(move || (all.len(), bind_current_thread_to(&all)));
    matches!(bound.join(), Ok((2.., Ok(()))))
}

#[test]
fn two_programs_have_a_pu_each_and_who_is_killed_frees_its_own() {
    if !is_divisible() {
        return;
    }
    let host = Host::new("binding-two");
    let first = host.start(&ENDLESS);
    let pu = bound_pu(first.0.id());
    let second = host.start(&ENDLESS);
    let other = bound_pu(second.0.id());
    assert!(pu.intersection(&other).is_empty(), "both are bound to {pu}");
    // The next one gets what it had.
    drop(first);
    let third = host.start(&ENDLESS);
    let free = allowed().difference(&other);
    assert!(!bound_pu(third.0.id()).intersection(&free).is_empty());
}

fn worker_pus(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    json["worker_pus"].clone()
}

#[test]
fn who_finds_no_pu_runs_unbound_and_says_so() {
    if !is_divisible() {
        return;
    }
    let host = Host::new("binding-none-left");
    let first = allowed().first().expect("one").to_string();
    let holder = host.start(&with(&ENDLESS, &["--bind", &first]));
    bound_pu(holder.0.id());
    let probe = |bind: &str| -> Ran {
        let arguments = small(&["--json", "--bind", bind]);
        host.command(&arguments).output().expect("it starts").into()
    };
    let listed = probe(&first);
    assert_eq!(worker_pus(&listed), json!([null]));
    let said = format!("other systems have claimed PUs of {first}: 1 of 1 workers run unbound");
    assert!(listed.stderr.contains(&said), "{}", listed.stderr);
    for (bind, is_bound) in [("auto", true), ("none", false)] {
        let ran = probe(bind);
        assert_eq!((worker_pus(&ran)[0].is_u64(), ran.stderr.as_str()), (is_bound, ""), "{bind}");
    }
}

#[test]
fn one_system_after_the_other_has_the_same_pu() {
    let host = Host::new("binding-in-turn");
    let first = allowed().first().expect("one").to_string();
    let small = ["--workers", "1", "--actors", "2", "--messages", "100", "--state", "64"];
    let more = ["--bind", &first, "--repeat", "2", "--json"];
    let arguments = [&["locality"][..], &small, &more].concat();
    let ran: Ran = host.command(&arguments).output().expect("it starts").into();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "none finds the PU claimed");
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["workers_bound"], true);
    assert_eq!(json["settings"]["bind"], json!({ "value": first, "source": "flag" }));
}

#[test]
fn launch_divides_the_pus_among_its_nodes() {
    let all = allowed();
    let lists = |arguments: &[&str], environment: &[(&str, &str)]| -> Vec<String> {
        let launch = [&["launch"], arguments, &["--", "sh", "-c", "echo $ACTINIUM_BIND"]].concat();
        let mut lines: Vec<String> =
            run_with(&launch, environment).ok().lines().map(|line| line[4..].to_owned()).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lists(&["-n", "1"], &[]), [all.to_string()]);
    assert_eq!(lists(&["-n", "2", "--bind", "none"], &[]), ["none", "none"]);
    assert_eq!(lists(&["-n", "2"], &[("ACTINIUM_BIND", "none")]), ["none", "none"]);
    let first = all.first().expect("one").to_string();
    assert_eq!(lists(&["-n", "2", "--bind", &first], &[]), ["none", "none"], "too few");
    if all.len() > 1 {
        let lists = lists(&["-n", "2"], &[]);
        let sets: Vec<CpuSet> = lists.iter().map(|list| list.parse().expect("a list")).collect();
        assert!(sets[0].intersection(&sets[1]).is_empty(), "{lists:?}");
    }
}

#[test]
fn the_nodes_of_a_launch_share_no_pu() {
    if !is_divisible() {
        return;
    }
    let host = Host::new("binding-launch");
    let probe = [env!("CARGO_BIN_EXE_actinium")].into_iter().chain(ENDLESS);
    let script = ["launch", "-n", "2", "--", "sh", "-c", "echo $$; exec \"$@\"", "sh"];
    let arguments: Vec<&str> = script.into_iter().chain(probe).collect();
    let mut command = host.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut launch = Program(child);
    let lines = BufReader::new(launch.0.stdout.take().expect("a pipe")).lines().take(2);
    let nodes: Vec<u32> =
        lines.map(|line| line.expect("a line")[4..].parse().expect("an id")).collect();
    let masks: Vec<CpuSet> = nodes.iter().map(|&node| bound_pu(node)).collect();
    assert!(masks[0].intersection(&masks[1]).is_empty(), "both are bound to {}", masks[0]);
    // It ends its nodes, which a killed one could not.
    let own = rustix::process::Pid::from_raw(launch.0.id() as i32).expect("a process");
    rustix::process::kill_process(own, rustix::process::Signal::INT).expect("it is there");
    launch.0.wait().expect("it ends");
}

#[test]
fn a_list_that_can_not_be_had_is_refused_with_what_there_is() {
    let all = allowed();
    let file = crate::common::shipped("imaging.toml");
    for arguments in [
        small(&["--bind", "70000"]),
        vec!["events", &file, "--bind", "70000", "--show-settings"],
        vec!["elastic", "--bind", "70000", "--show-settings"],
        vec!["locality", "--bind", "70000", "--show-settings"],
        vec!["memory", "stream", "--bind", "70000"],
        vec!["launch", "--bind", "70000", "--", "true"],
    ] {
        let Ran { code, stderr, .. } = run(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        let said = "--bind: '70000' is not allowed: PU 70000 is not there: ";
        assert!(stderr.contains(said), "{stderr}");
        assert!(stderr.contains(&format!("this process may use the PUs {all} of ")), "{stderr}");
    }
    let Ran { code, stderr, .. } = run_with(&small(&[]), &[("ACTINIUM_BIND", "all")]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("ACTINIUM_BIND: 'all' is not allowed: auto, none, or"), "{stderr}");
}

#[test]
fn a_cpuset_narrower_than_the_list_is_named() {
    if !is_divisible() {
        return;
    }
    let all = allowed();
    let (first, last) = (all.first().expect("two"), all.last().expect("two"));
    let host = Host::new("binding-narrow");
    // What a thread starts may run where it may.
    let confined = |arguments: Vec<&str>| -> Ran {
        std::thread::scope(|scope| {
            let run = scope.spawn(|| {
                bind_current_thread_to(&last.into()).expect("it is ours");
                host.command(&arguments).output().expect("it starts").into()
            });
            run.join().expect("it does not panic")
        })
    };
    let first = first.to_string();
    let ran = confined(small(&["--bind", &first]));
    assert_eq!(ran.code, Some(2));
    let said = format!("PU {first} is not in the process's cpuset: auto, none, or");
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("may use the PUs {last} of ")), "{}", ran.stderr);
    assert_eq!(worker_pus(&confined(small(&["--json"]))), json!([last.0]));
}

#[test]
fn a_folder_that_can_not_be_used_leaves_workers_unbound_and_is_named() {
    let host = Host::new("binding-folder");
    fs::write(host.claims(), "no folder").expect("a file");
    let ran: Ran = host.command(&small(&["--json"])).output().expect("it starts").into();
    assert_eq!(worker_pus(&ran), json!([null]));
    let topology: Ran = host.command(&["topology"]).output().expect("it starts").into();
    for said in [ran.stderr, topology.ok()] {
        let why =
            format!("the folder {}, where programs claim PUs, can not be used", host.claims());
        assert!(said.contains(&why) && said.contains("workers run unbound"), "{said}");
    }
}
