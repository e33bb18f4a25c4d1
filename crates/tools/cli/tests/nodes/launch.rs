//! `actinium launch`: several processes, their output, and how they end; and the probe over Zenoh
//! in them.

use crate::common::{Ran, command, run};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

fn shell<'a>(nodes: &'a str, script: &'a str) -> Vec<&'a str> {
    vec!["launch", "-n", nodes, "--", "sh", "-c", script]
}

/// The lines, sorted: nodes print as they come.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn each_node_is_told_who_it_is_and_its_lines_say_whose_they_are() {
    let script = "echo node $ACTINIUM_NODE of $ACTINIUM_NODES; echo aside >&2; printf half";
    let Ran { code, stdout, stderr } = run(&shell("3", script));
    assert_eq!(code, Some(0), "{stderr}");
    let nodes = [
        "[0] half",
        "[0] node 0 of 3",
        "[1] half",
        "[1] node 1 of 3",
        "[2] half",
        "[2] node 2 of 3",
    ];
    assert_eq!(lines(&stdout), nodes);
    assert_eq!(lines(&stderr), ["[0] aside", "[1] aside", "[2] aside"]);
}

#[test]
fn each_node_connects_to_those_before_it() {
    let stdout = run(&shell("3", "echo $ACTINIUM_LISTEN $ACTINIUM_CONNECT")).ok();
    let lines = lines(&stdout);
    let [zero, one, two] = lines[..] else { panic!("{lines:?}") };
    let zero = zero.strip_prefix("[0] ").expect("its number").trim();
    let one: Vec<&str> = one.strip_prefix("[1] ").expect("its number").split(' ').collect();
    assert!(zero.starts_with("tcp/127.0.0.1:"), "{zero}");
    assert_eq!(one[1], zero);
    assert!(two.ends_with(&format!(" {zero},{}", one[0])), "{two}");
    assert_ne!(one[0], zero);
}

#[test]
fn a_subcommand_of_ours_needs_no_path() {
    let stdout = run(&["launch", "-n", "1", "--", "completions", "bash"]).ok();
    assert!(stdout.starts_with("[0] _actinium"), "{stdout}");
}

#[test]
fn when_one_fails_the_others_end_and_its_exit_code_is_ours() {
    // The others wait for what never comes.
    let script = "case $ACTINIUM_NODE in 1) exit 7;; *) exec sleep 100000;; esac";
    let Ran { code, stdout, stderr } = run(&shell("3", script));
    assert_eq!((code, stdout.as_str()), (Some(7), ""));
    assert_eq!(stderr, "actinium: launch: node 1 failed (exit status: 7); the others were ended\n");
    let Ran { code, stderr, .. } = run(&shell("2", "kill -KILL $$"));
    assert_eq!(code, Some(137));
    assert!(stderr.contains("signal: 9"), "{stderr}");
}

#[test]
fn what_nodes_have_started_ends_with_them() {
    // Their shells end; what these have started holds their output open, and would for long.
    let script = "sleep 100000 & echo $!; exit 3";
    let Ran { code, stdout, .. } = run(&shell("1", script));
    assert_eq!(code, Some(3));
    let id: i32 = stdout.trim().strip_prefix("[0] ").expect("a line").parse().expect("a number");
    // Whoever adopts it has to take notice of its end, which may be a moment later.
    while is_running(id) {
        std::thread::yield_now();
    }
}

/// Whether it is there, and is not only waiting for its parent to take notice of its end.
fn is_running(id: i32) -> bool {
    let there = Pid::from_raw(id).is_some_and(|id| test_kill_process(id).is_ok());
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    there && !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[test]
fn ctrl_c_ends_all() {
    // Each says that it is there, and would stay.
    let mut launch = command(&shell("2", "echo $$; exec sleep 100000"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let stdout = launch.stdout.take().expect("a pipe");
    let mut ids = BufReader::new(stdout).lines().map(|line| {
        let line = line.expect("a line");
        line[4..].parse::<i32>().expect("a number")
    });
    let ids = [ids.next().expect("the first"), ids.next().expect("the second")];
    let own = Pid::from_raw(launch.id() as i32).expect("a process");
    kill_process(own, Signal::INT).expect("it is there");
    let ran: Ran = launch.wait_with_output().expect("it ends").into();
    assert_eq!(ran.code, Some(130));
    assert_eq!(ran.stderr, "actinium: launch: interrupted\n");
    assert!(!ids.into_iter().any(is_running));
}

#[test]
fn who_ends_is_waited_for_before_the_rest_is_killed() {
    // It ignores the first request, and is killed after the grace.
    let script = "case $ACTINIUM_NODE in \
        0) trap '' TERM; while :; do sleep 0.1; done;; \
        1) exit 5;; esac";
    assert_eq!(run(&shell("2", script)).code, Some(5));
}

#[test]
fn what_can_not_be_started_is_named() {
    let Ran { code, stdout, stderr } = run(&["launch", "--", "no/such/program"]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("can not start 'no/such/program': No such file"), "{stderr}");
    for (arguments, part) in [
        (&["launch"][..], "COMMAND"),
        (&["launch", "-n", "0", "--", "true"], "1 to 256"),
        (&["launch", "-n", "257", "--", "true"], "1 to 256"),
    ] {
        let Ran { code, stderr, .. } = run(arguments);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[cfg(feature = "zenoh")]
mod zenoh {
    use super::*;
    use crate::common::{Scratch, number, run_with, shipped, small, text, with};
    use serde_json::Value;

    /// The report: what node 0 prints, without its number.
    fn report(stdout: &str) -> Value {
        let line = |line: &str| line.strip_prefix("[0] ").expect("node 0 reports").to_owned();
        let text: Vec<String> = stdout.lines().map(line).collect();
        serde_json::from_str(&text.join("\n")).expect("one report, and nothing else")
    }

    #[test]
    fn nodes_ping_each_other_and_the_first_reports() {
        let probe = small(&["--fabric", "zenoh", "--json"]);
        let mut arguments = vec!["launch", "-n", "4", "--"];
        arguments.extend(probe);
        let Ran { code, stdout, stderr } = run(&arguments);
        assert_eq!(code, Some(0), "{stderr}");
        let json = report(&stdout);
        assert_eq!(json["fabric"], "zenoh");
        assert_eq!((number(&json, "node_count"), number(&json, "actor_count")), (4.0, 16.0));
        assert_eq!(number(&json, "message_count"), f64::from(4 * 4 * 50 * 2));
        let nodes = json["nodes"].as_array().expect("nodes");
        assert!(nodes.iter().all(|node| node["ledger_balanced"] == true), "{json}");
    }

    #[test]
    fn nodes_with_other_settings_are_refused_and_all_end() {
        let script = "exec \"$0\" probe --fabric zenoh --workers 1 --actors 4 --warm-up 0 --messages 5$ACTINIUM_NODE";
        let actinium = env!("CARGO_BIN_EXE_actinium");
        let Ran { code, stderr, .. } =
            run(&["launch", "-n", "2", "--", "sh", "-c", script, actinium]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("the nodes have different settings"), "{stderr}");
    }

    #[test]
    fn nodes_share_events_and_the_first_reports() {
        let file = shipped("imaging.toml");
        let scratch = Scratch::new("launch-events");
        let path = &scratch.path("lines.csv");
        let events = ["launch", "-n", "3", "--", "events", &file, "--fabric", "zenoh", "--json"];
        let more = ["--workers", "1", "--events", "90", "--time-scale", "0.01"];
        let order = ["--order", "input", "--output", path];
        let Ran { code, stdout, stderr } = run(&[&events[..], &more, &order].concat());
        assert_eq!(code, Some(0), "{stderr}");
        let json = report(&stdout);
        assert_eq!(json["fabric"], "zenoh");
        assert_eq!((number(&json, "node_count"), number(&json, "events")), (3.0, 90.0));
        let nodes = json["nodes"].as_array().expect("nodes");
        assert_eq!(nodes.iter().map(|node| number(node, "events")).sum::<f64>(), 90.0);
        assert!(nodes.iter().all(|node| node["load"].is_object()), "each is a process");
        let text = text(path);
        let numbers = text.lines().skip(1).map(|line| line.split(',').next().expect("a number"));
        assert!(numbers.eq((0..90).map(|n| n.to_string())), "in order");
    }

    #[test]
    fn nodes_that_were_asked_for_other_events_are_refused() {
        let script =
            "exec \"$0\" events \"$1\" --fabric zenoh --workers 1 --events 10$ACTINIUM_NODE --json";
        let file = shipped("imaging.toml");
        let launch = ["launch", "-n", "2", "--", "sh", "-c", script];
        let Ran { code, stderr, .. } =
            run(&[&launch[..], &[env!("CARGO_BIN_EXE_actinium"), &file]].concat());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("node 1 was asked for something else than node 0"), "{stderr}");
        assert!(stderr.contains("events 100") && stderr.contains("events 101"), "{stderr}");
    }

    /// A node that is killed when it has come late and has events: others get those, and the run
    /// does not notice.
    #[test]
    fn who_comes_late_gets_events_and_who_is_killed_loses_them_to_others() {
        use std::io::BufRead;
        let scratch = Scratch::new("launch-late");
        let text = "format = 1\n[[modules]]\nlabel = \"wait\"\nwork = \"wait\"\ntime-ms = 5\n\
                    [[modules]]\nlabel = \"write\"\nkind = \"output\"\ninputs = [\"wait\"]\n[paths]\np = [\"write\"]\n";
        let file = &scratch.file("workload.toml", text);
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("tcp/{}", port.local_addr().expect("an address"));
        drop(port);
        // By itself the first would take more than a minute.
        let node = |node: &str, slots: &str, how: [&str; 2]| {
            let events = ["events", file, "--fabric", "zenoh", "--nodes", "2", "--node", node];
            let more = ["--events", "16000", "--workers", "1", "--slots", slots, "--json"];
            let mut command = command(&[&events[..], &more, &how].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
        };
        let mut first = node("0", "1", ["--listen", &address]);
        let mut told = BufReader::new(first.stderr.take().expect("a pipe")).lines();
        let mut until = |part: &str| {
            let mut lines = told.by_ref().map(|line| line.expect("a line"));
            assert!(lines.any(|line| line.contains(part)), "{part}");
        };
        until("begins without node 1");
        let mut killed = node("1", "4", ["--connect", &address]);
        until("node 1 has come");
        killed.kill().expect("it is there");
        killed.wait().expect("it ends");
        until("node 1 is down");
        let late = node("1", "500", ["--connect", &address]);
        let late: Ran = late.wait_with_output().expect("it ends").into();
        assert_eq!((late.code, late.stdout.as_str()), (Some(0), ""), "{}", late.stderr);
        let ran: Ran = first.wait_with_output().expect("it ends").into();
        assert_eq!(ran.code, Some(0));
        let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!((number(&json, "events"), number(&json, "failed")), (16_000.0, 0.0));
        assert_eq!((number(&json, "node_count"), number(&json, "nodes.1.slots")), (2.0, 500.0));
        assert_eq!(number(&json, "nodes_down.0.node"), 1.0);
        assert!(number(&json, "given_again") >= 1.0);
    }

    #[test]
    fn nodes_measure_memory_at_the_same_time() {
        let stream = ["launch", "-n", "2", "--", "memory", "stream", "--fabric", "zenoh", "--json"];
        let small = ["--size", "1m", "--times", "3", "--threads", "1", "--placement", "heap"];
        let Ran { code, stdout, stderr } = run(&[&stream[..], &small].concat());
        assert_eq!(code, Some(0), "{stderr}");
        let json = report(&stdout);
        assert_eq!((number(&json, "node_count"), &json["fabric"]), (2.0, &"zenoh".into()));
    }

    #[test]
    fn one_node_alone_is_a_cluster_and_settings_say_where_they_come_from() {
        let alone = ["--fabric", "zenoh", "--node", "0", "--nodes", "1", "--json"];
        assert_eq!(number(&run(&small(&alone)).json(), "node_count"), 1.0);
        let shown = ["--fabric", "zenoh", "--cluster", "c", "--show-settings", "--json"];
        let environment = [
            ("ACTINIUM_NODE", "1"),
            ("ACTINIUM_NODES", "3"),
            ("ACTINIUM_LISTEN", "tcp/127.0.0.1:0"),
        ];
        let json = run_with(&small(&shown), &environment).json();
        let of = |name: &str| {
            let setting = &json["settings"][name];
            (setting["value"].to_string(), setting["source"].as_str().expect("a source").to_owned())
        };
        assert_eq!(of("node"), ("\"1\"".to_owned(), "env".to_owned()));
        assert_eq!(of("nodes"), ("3".to_owned(), "env".to_owned()));
        assert_eq!(of("cluster"), ("\"c\"".to_owned(), "flag".to_owned()));
        assert_eq!(of("listen"), ("\"tcp/127.0.0.1:0\"".to_owned(), "env".to_owned()));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let zenoh = |more: &[&'static str]| with(&small(&["--fabric", "zenoh"]), more);
        for (more, part) in [
            (&[][..], "--nodes: needed with --fabric zenoh"),
            (&["--nodes", "2"], "--node: needed with --fabric zenoh"),
            (&["--nodes", "2", "--node", "2"], "--node: '2' is not allowed: 0 to 1"),
            (
                &["--nodes", "1", "--node", "0", "--tls-key", "k"],
                "--tls-certificate: only together",
            ),
            (&["--nodes", "1", "--node", "0", "--tls-allow", "a=0"], "--tls-allow: only together"),
        ] {
            let Ran { code, stderr, .. } = run(&zenoh(more));
            assert_eq!(code, Some(2), "{stderr}");
            assert!(stderr.contains(part), "{part} in {stderr}");
        }
        // What the fabric itself refuses.
        for (more, part) in [
            (["--listen", "udp/127.0.0.1:1"], "--listen: 'udp/127.0.0.1:1' is not allowed"),
            (["--listen", "tls/127.0.0.1:1"], "it needs certificates"),
            (["--cluster", "a/b"], "--cluster: 'a/b' is not allowed"),
        ] {
            let mut arguments = zenoh(&["--nodes", "1", "--node", "0"]);
            arguments.extend(more);
            let Ran { code, stderr, .. } = run(&arguments);
            assert_eq!(code, Some(2), "{stderr}");
            assert!(stderr.contains(part), "{part} in {stderr}");
        }
        let Ran { code, stderr, .. } = run_with(&zenoh(&[]), &[("ACTINIUM_NODES", "two")]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("ACTINIUM_NODES: 'two'"), "{stderr}");
    }
}

/// The nodes run to their end all the same.
#[test]
fn what_nodes_print_that_finds_no_room_is_a_failure() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let done = format!("{}/launch-full-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let script = format!("echo out; echo err >&2; echo done >> '{done}'");
    let mut of_stdout = command(&shell("2", &script));
    let Ran { code, stderr, .. } = of_stdout.stdout(full()).output().expect("it starts").into();
    assert_eq!(code, Some(1));
    let expected = "actinium: launch: can not write what the nodes print: No space left on device";
    assert!(stderr.contains(expected) && stderr.contains("[1] err"), "{stderr}");
    let mut of_stderr = command(&shell("2", &script));
    let Ran { code, stdout, .. } = of_stderr.stderr(full()).output().expect("it starts").into();
    assert_eq!((code, lines(&stdout)), (Some(1), vec!["[0] out", "[1] out"]));
    let ran = std::fs::read_to_string(&done).expect("they have run");
    std::fs::remove_file(&done).expect("it is there");
    assert_eq!(ran.lines().count(), 4);
}
