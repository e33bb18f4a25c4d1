//! `actinium events --draw`, `--trace` and `--sweep jobs`, and the pages of saved figures.

use crate::common::{Scratch, number, run, shipped, text};
use serde_json::Value;

const FAST: [&str; 6] = ["--time-scale", "0.01", "--workers", "2", "--slots", "3"];

#[test]
fn a_graph_is_drawn_as_text_and_as_a_picture() {
    let (file, scratch) = (shipped("imaging.toml"), Scratch::new("events-draw"));
    let dot = run(&["events", &file, "--draw", "dot"]).ok();
    assert!(dot.starts_with("digraph \"imaging\" {"), "{dot}");
    for part in ["[label=\"in-focus\", shape=diamond", "limited(2), waits", "penwidth"] {
        assert!(dot.contains(part), "{part} in {dot}");
    }
    let mermaid = run(&["events", &file, "--draw", "mermaid"]).ok();
    assert!(mermaid.starts_with("flowchart LR\n") && mermaid.contains("classDef critical"));
    for name in ["graph.svg", "graph.dot", "graph.mmd"] {
        let path = scratch.path(name);
        assert_eq!(run(&["events", &file, "--draw", &path]).ok(), "");
        assert!(text(&path).contains("read-frame"), "{name}");
    }
    run(&["events", &file, "--draw", "png"]).refused(&["--draw", "png", "svg"]);
    run(&["events", &file, "--draw", "/no/such/folder/x.svg"]).refused(&["/no/such/folder/x.svg"]);
    run(&["events", &file, "--draw", "svg", "--plan"]).refused(&["not together with"]);
}

#[test]
fn hundreds_of_modules_are_folded_and_dot_has_each() {
    let file = shipped("reconstruction.toml");
    let svg = run(&["events", &file, "--draw", "svg"]).ok();
    assert!(svg.contains("Folded to be readable") && svg.contains("thick: critical path"));
    assert!(svg.matches("<title>").count() <= 60);
    let dot = run(&["events", &file, "--draw", "dot"]).ok();
    assert!(dot.matches("[label=").count() > 400);
    let mermaid = run(&["events", &file, "--draw", "mermaid"]).ok();
    assert!(mermaid.contains("%% Folded") && mermaid.matches("-->").count() <= 500);
}

#[test]
fn a_trace_has_each_call_of_a_module_within_a_turn() {
    let (file, scratch) = (shipped("imaging.toml"), Scratch::new("events-trace"));
    let trace = scratch.path("run.trace.json");
    let flags = [&["events", &file][..], &FAST, &["--events", "200", "--trace", &trace]].concat();
    run(&[&flags[..], &["--quiet"]].concat()).ok();
    let mut trace: Value = serde_json::from_str(&text(&trace)).expect("it is JSON");
    let Value::Array(all) = trace["traceEvents"].take() else { panic!("{trace}") };
    let of = |cat: &str| all.iter().filter(move |it| it["cat"] == cat).collect::<Vec<_>>();
    let (calls, turns) = (of("module"), of("turn"));
    assert!(calls.iter().any(|it| it["name"] == "segment") && !turns.is_empty());
    for call in calls {
        let at = |it: &Value, name: &str| it[name].as_f64().expect("a number");
        let within = |turn: &&&Value| {
            // Times are shown in microseconds, which round.
            turn["tid"] == call["tid"]
                && at(turn, "ts") <= at(call, "ts") + 1e-6
                && at(call, "ts") + at(call, "dur") <= at(turn, "ts") + at(turn, "dur") + 1e-6
        };
        assert!(turns.iter().any(|turn| within(&turn)), "{call}");
        assert!(call["args"]["event"].as_u64().is_some_and(|event| event < 200));
    }
    run(&["events", &file, "--trace", "/no/such/folder/x"])
        .refused(&["--trace: ", "/no/such/folder/x"]);
    run(&["events", &file, "--trace", "x", "--fabric", "in-process"])
        .refused(&["--trace: not together with --fabric", "ACTINIUM_TRACE"]);
}

#[test]
fn jobs_of_one_thread_stand_beside_one_job_of_several() {
    let (file, scratch) = (shipped("imaging.toml"), Scratch::new("events-jobs"));
    let page = scratch.path("jobs.html");
    let flags = ["--time-scale", "0.01", "--events", "20", "--sweep", "jobs=1,2", "--repeat", "2"];
    let flags = [&["events", &file][..], &flags, &["--json", "--report", &page]].concat();
    let json = run(&flags).json();
    let points = json["points"].as_array().expect("a list");
    let shapes: Vec<(f64, f64, f64)> = points
        .iter()
        .map(|it| (number(it, "jobs"), number(it, "workers"), number(it, "events")))
        .collect();
    assert_eq!(shapes, [(1.0, 1.0, 20.0), (1.0, 2.0, 40.0), (2.0, 1.0, 40.0)]);
    for point in points {
        assert_eq!(number(point, "runs"), 2.0);
        let (low, high) = (number(point, "range.0"), number(point, "range.1"));
        assert!(low <= number(point, "events_per_s") && number(point, "events_per_s") <= high);
    }
    // Two processes have about twice the memory of one; one of two threads has not.
    let memory = |nth: usize| number(&points[nth], "memory_max_bytes");
    assert!(memory(2) > 1.5 * memory(1), "{json}");
    assert_eq!(json["sweep"], "jobs");
    let html = text(&page);
    for part in ["Memory against threads", "so many jobs of one thread", "2 jobs of one thread"] {
        assert!(html.contains(part), "{part}");
    }
    // The page can be made again of what was printed.
    let (saved, again) = (scratch.file("jobs.json", json.to_string()), scratch.path("again.html"));
    run(&["report", &saved, &again]).ok();
    assert!(text(&again).contains("Memory against threads"));
}

#[test]
fn a_job_that_fails_is_named_with_what_it_said() {
    let scratch = Scratch::new("events-jobs-fail");
    let file = "format = 1\n[[modules]]\nlabel = \"bad\"\nkind = \"analyzer\"\nfails-every = 3\n[paths]\np = [\"bad\"]\n";
    let file = scratch.file("bad.toml", file);
    let ran = run(&["events", &file, "--sweep", "jobs=1,2", "--events", "9", "--quiet"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    for part in ["job 1 of 1 failed", "bad", "event 2"] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    run(&["events", &file, "--sweep", "jobs=2", "--workers", "3"])
        .refused(&["--workers: not together with --sweep jobs"]);
    run(&["events", &file, "--repeat", "3"]).refused(&["--sweep"]);
}

#[test]
fn a_sweep_over_workers_has_a_slot_for_each() {
    let file = shipped("imaging.toml");
    let flags = [
        "--time-scale",
        "0.01",
        "--events",
        "20",
        "--sweep",
        "workers=1,2",
        "--bind",
        "none",
        "--json",
    ];
    let json = run(&[&["events", &file][..], &flags].concat()).json();
    let points = json["points"].as_array().expect("a list");
    let of = |name: &str| points.iter().map(|it| number(it, name)).collect::<Vec<_>>();
    assert_eq!((of("workers"), of("slots")), (vec![1.0, 2.0], vec![1.0, 2.0]));
    assert_eq!(points[0]["checksum"], points[1]["checksum"]);
}

#[test]
fn a_page_is_made_again_of_saved_figures() {
    let (file, scratch) = (shipped("imaging.toml"), Scratch::new("events-saved"));
    let flags = [&["events", &file][..], &FAST, &["--events", "60"]].concat();
    let printed = run(&[&flags[..], &["--json"]].concat()).ok();
    let (saved, page) = (scratch.file("run.json", &printed), scratch.path("run.html"));
    run(&["report", &saved, &page]).ok();
    let html = text(&page);
    for part in [
        "60 events went through",
        "How many events took how long",
        "Modules and what they need",
        "The critical path of event",
        "Load of each CPU",
        "Longest running",
        "actinium events",
        "on 2 workers with 3 slots",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("NaN"));
    // What was looked at closely is there, too.
    let full = scratch.path("full.json");
    assert!(run(&[&flags[..], &["--report", &full, "--quiet"]].concat()).ok().contains("events"));
    run(&["report", &full, &page]).ok();
    let html = text(&page);
    for part in ["Modules on workers", "Threads active", "Lives of products", "Events in flight"] {
        assert!(html.contains(part), "{part}");
    }

    let cut_off = scratch.file("cut.json", &printed[..printed.len() / 2]);
    run(&["report", &cut_off, &page]).refused(&["cut.json", "cut off"]);
    let newer = printed.replacen("\"schema_version\": 2", "\"schema_version\": 99", 1);
    let newer = scratch.file("newer.json", newer);
    run(&["report", &newer, &page]).refused(&["newer.json", "version 99", "release"]);
    let other = printed.replacen("\"elapsed_s\"", "\"elapsed\"", 1);
    let other = scratch.file("other.json", other);
    run(&["report", &other, &page]).refused(&["other.json", "elapsed_s"]);
    let nodes = [&flags[..], &["--fabric", "in-process", "--json"]].concat();
    let nodes = scratch.file("nodes.json", run(&nodes).ok());
    run(&["report", &nodes, &page]).refused(&["several nodes", "--report"]);
}
