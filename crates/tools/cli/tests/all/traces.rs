//! `--trace`: one file of all systems or nodes, and what is refused.

use crate::common::{Scratch, run, small, text};
use serde_json::Value;
use std::path::Path;

/// The names of processes in a trace, and how many slices each has.
fn processes(path: &str) -> Vec<(String, usize)> {
    let trace: Value = serde_json::from_str(&text(path)).expect("it is JSON");
    assert_eq!(trace["displayTimeUnit"], "ns");
    let events = trace["traceEvents"].as_array().expect("there are events");
    let named = events.iter().filter(|it| it["name"] == "process_name");
    let slices = |pid: &Value| {
        let of = events.iter().filter(|it| it["cat"] == "turn" && it["pid"] == *pid);
        of.count()
    };
    let name = |it: &Value| it["args"]["name"].as_str().expect("a name").to_owned();
    named.map(|it| (name(it), slices(&it["pid"]))).collect()
}

/// What lies beside the trace.
fn files(scratch: &Scratch) -> Vec<String> {
    let path = scratch.path("");
    let all = std::fs::read_dir(Path::new(&path)).expect("a folder");
    all.map(|it| it.expect("a file").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn one_system_and_several_are_in_one_file() {
    let scratch = Scratch::new("traces-systems");
    let path = scratch.path("run.json");
    run(&small(&["--trace", &path, "--quiet"])).ok();
    let found = processes(&path);
    assert!(
        matches!(&found[..], [(name, slices)] if name.contains("system 1") && *slices > 0),
        "{found:?}"
    );

    let locality =
        ["locality", "--workers", "1", "--messages", "200", "--repeat", "1", "--state", "64"];
    let more = ["--actors", "2", "--policy", "pinned,affine", "--quiet", "--trace", &path];
    run(&[&locality[..], &more].concat()).ok();
    let found = processes(&path);
    assert!(found.len() >= 2 && found.iter().all(|(_, slices)| *slices > 0), "{found:?}");

    let elastic = ["elastic", "--workers", "1", "--terms", "1000", "--bursts", "0", "--hops", "0"];
    run(&[&elastic[..], &["--repeat", "1", "--quiet", "--trace", &path]].concat()).ok();
    assert!(!processes(&path).is_empty());
    assert_eq!(files(&scratch), ["run.json"]);
}

#[test]
fn several_nodes_are_in_one_file() {
    let scratch = Scratch::new("traces-nodes");
    let path = scratch.path("run.json");
    let nodes = ["--fabric", "in-process", "--nodes", "3", "--quiet"];
    run(&small(&[&nodes[..], &["--trace", &path]].concat())).ok();
    let found = processes(&path);
    assert_eq!(found.len(), 3);
    for (node, (name, slices)) in found.iter().enumerate() {
        assert!(name.starts_with(&format!("node {node} ")) && *slices > 0, "{found:?}");
    }
    let trace: Value = serde_json::from_str(&text(&path)).expect("it is JSON");
    for part in trace["otherData"]["parts"].as_array().expect("one for each node") {
        assert_eq!(part["clock"], "CLOCK_REALTIME of one host");
        assert_eq!(part["clock's uncertainty in ns"], "0");
    }
    assert_eq!(files(&scratch), ["run.json"]);

    let perfetto = scratch.path("run.pftrace");
    run(&small(&[&nodes[..], &["--trace", &perfetto]].concat())).ok();
    let bytes = std::fs::read(&perfetto).expect("it is written");
    let text = String::from_utf8_lossy(&bytes);
    assert!((0..3).all(|node| text.contains(&format!("node {node} (actinium)"))));

    let stream = ["memory", "stream", "--fabric", "in-process", "--size", "64k"];
    let more =
        ["--times", "2", "--placement", "heap", "--threads", "1", "--quiet", "--trace", &path];
    run(&[&stream[..], &more].concat()).ok();
    let found = processes(&path);
    assert!(
        !found.is_empty() && found.iter().all(|(name, _)| name.starts_with("node ")),
        "{found:?}"
    );
}

#[test]
fn a_trace_that_can_not_be_written_is_refused_before_anything_runs() {
    let no = "/no/such/folder/run.json";
    run(&small(&["--trace", no])).refused(&["--trace", no]);
    let nodes = ["--fabric", "in-process", "--nodes", "2", "--trace", no];
    run(&small(&nodes)).refused(&["--trace", no]);
    let stream = ["memory", "stream", "--size", "64k", "--trace", "run.json"];
    run(&stream).refused(&["--trace", "--fabric"]);
}

#[test]
fn a_full_disk_fails_the_command_and_says_so() {
    if !Path::new("/dev/full").exists() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    let ran = run(&small(&["--trace", "/dev/full", "--quiet"]));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("/dev/full"), "{}", ran.stderr);
}
