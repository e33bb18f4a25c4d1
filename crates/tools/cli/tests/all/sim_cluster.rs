//! `actinium sim cluster`: each flag does what it says, and what is asked wrongly is refused.

use crate::common::{Scratch, at, number, run};
use serde_json::Value;

const SMALL: [&str; 7] = ["sim", "cluster", "--nodes", "30", "--messages", "50", "--quiet"];

fn json(more: &[&str]) -> Value {
    run(&[&SMALL[..], more, &["--json"]].concat()).json()
}

/// Of the first size, by the first route.
fn figure(json: &Value, name: &str) -> f64 {
    number(json, &format!("sizes.0.routes.0.{name}"))
}

#[test]
fn the_same_call_gives_the_same_json_and_another_seed_another() {
    let first = json(&[]);
    assert_eq!(first, json(&[]));
    assert_eq!(number(&first, "schema_version"), 2.0);
    let routes = at(&first, "sizes.0.routes").as_array().unwrap();
    let names: Vec<&str> = routes.iter().map(|it| it["route"].as_str().unwrap()).collect();
    assert_eq!(names, ["direct", "2d", "3d"]);
    assert!(routes.iter().all(|route| route["delivered"] == 30 * 50));
    assert_ne!(at(&first, "sizes"), at(&json(&["--seed", "7"]), "sizes"));
}

#[test]
fn nodes_and_routes_are_compared_in_order() {
    let call = ["sim", "cluster", "--nodes", "9,4", "--route", "3d,direct", "--messages", "3"];
    let json = run(&[&call[..], &["--json", "--quiet"]].concat()).json();
    assert_eq!((number(&json, "sizes.0.nodes"), number(&json, "sizes.1.nodes")), (4.0, 9.0));
    assert_eq!(at(&json, "sizes.0.routes.0.route"), "direct");
    assert_eq!(at(&json, "sizes.0.routes.1.route"), "3d");
    assert_eq!(number(&json, "sizes.1.detected_by"), 8.0);
    let last_ns = number(&json, "sizes.1.detection_last_ns");
    assert!((0.9e9..1.2e9).contains(&last_ns), "{last_ns}");
}

#[test]
fn each_cost_counts() {
    let slow = ["--rate", "1000", "--route", "direct"];
    let with = |flag: &str, value: &str| {
        figure(&json(&[&slow[..], &[flag, value]].concat()), "latency_mean_ns")
    };
    let default_ns = figure(&json(&slow), "latency_mean_ns");
    assert!((with("--latency", "101500") - default_ns - 100_000.0).abs() < 10_000.0);
    for (flag, value) in [("--overhead", "50000"), ("--message", "20000"), ("--bytes", "60000")] {
        assert!(with(flag, value) > default_ns * 1.5, "{flag}");
    }
    // Once where a frame is sent, and once where it is received.
    assert!((with("--frame", "10350") - default_ns - 20_000.0).abs() < 4_000.0);
    assert!(with("--gap-per-kib", "100000") > default_ns * 1.5);
    // With all at once, the gap between frames is what counts.
    let elapsed =
        |more: &[&str]| figure(&json(&[&["--route", "direct"], more].concat()), "elapsed_ns");
    assert!(elapsed(&["--gap", "50000"]) > 2.0 * elapsed(&[]));
    // A lost frame comes when it is sent again; and a small window stops senders.
    assert!(elapsed(&["--loss", "0.1"]) > elapsed(&[]) + 10e6);
    let small = ["--messages", "20000", "--nodes", "2", "--route", "direct", "--window", "1"];
    let stopped = run(&[&["sim", "cluster", "--quiet", "--json"], &small[..]].concat()).json();
    assert!(figure(&stopped, "no_credit") > 0.0);
    // Workers and threads that share a CPU take turns.
    assert!(elapsed(&["--cpus", "1"]) > 5.0 * elapsed(&[]));
    assert_eq!(elapsed(&["--cpus", "60", "--switch", "0"]), elapsed(&[]));
    assert!(elapsed(&["--cpus", "1", "--switch", "0"]) < elapsed(&["--cpus", "1"]));
    assert!(elapsed(&["--cpus", "1", "--slice", "0"]) > elapsed(&["--cpus", "1"]));
    // Held frames leave later, but fuller.
    let per_frame = |more: &[&str]| {
        let pair = [
            "sim",
            "cluster",
            "--nodes",
            "2",
            "--route",
            "direct",
            "--messages",
            "5000",
            "--quiet",
            "--json",
        ];
        figure(&run(&[&pair[..], more].concat()).json(), "messages_per_frame")
    };
    assert!(per_frame(&["--hold", "10000"]) > per_frame(&["--hold", "0"]));
    assert!(per_frame(&["--frame-bytes", "256"]) < 4.0);
}

#[test]
fn tables_for_people_and_a_page() {
    let page = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("sim-cluster.html");
    let path = page.to_str().unwrap();
    let text = run(&[&SMALL[..6], &["--report", path]].concat()).stdout;
    for part in ["direct", "2d", "3d", "LogGP", "350 ns per frame", "four-counter", "heartbeats"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["Simulated cluster", "--frame</", "Destinations of a node"] {
        assert!(html.contains(part), "{part}");
    }
    std::fs::remove_file(page).unwrap();
    let quiet = run(&SMALL).ok();
    assert!(quiet.contains("direct") && !quiet.contains("LogGP"), "{quiet}");
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    for (arguments, part) in [
        (&["--nodes", "1"][..], "--nodes: '1' is not allowed: 2 to 100000"),
        (&["--route", "4d"], "--route: '4d' is not allowed: direct, 2d, 3d"),
        (&["--messages", "1000000"], "--messages: 1000000 of each of 10000 nodes are"),
        (&["--report", "/no/such/folder/x.html"], "--report: "),
        (&["--loss", "0.6"], "--loss: '0.6' is not allowed: 0 to 0.5"),
        (&["--frame", "1000000001"], "--frame: '1000000001' is not allowed: 0 to 1000000000"),
        (&["--frame-bytes", "1"], "--frame-bytes: '1' is not allowed"),
        (&["--machine", "12"], "--machine"),
    ] {
        let ran = run(&[&["sim", "cluster"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(part) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    }
}

#[test]
fn links_are_measured_into_a_file_and_simulated_from_it() {
    let scratch = Scratch::new("sim-links");
    let measured = run(&["sim", "links", "--fabric", "in-process", "--json"]).ok();
    let links: Value = serde_json::from_str(&measured).expect("it is JSON");
    assert_eq!(at(&links, "fabric"), "in-process");
    // A call and a frame take some time, on any machine.
    assert!(number(&links, "overhead_ns") > 0.0 && number(&links, "gap_ns") > 0.0, "{links}");
    let file = scratch.file("links.json", &measured);
    let simulated = json(&["--links", &file]);
    for name in ["latency_ns", "overhead_ns", "gap_ns", "gap_per_kib_ns"] {
        assert_eq!(at(&simulated, &format!("settings.{name}")), at(&links, name), "{name}");
    }
    assert_eq!(at(&simulated, "settings.links_measured"), "in-process");
    // The same figures by flags give the same run.
    let value = |name: &str| number(&links, name).to_string();
    let by_flags = json(&[
        "--latency",
        &value("latency_ns"),
        "--overhead",
        &value("overhead_ns"),
        "--gap",
        &value("gap_ns"),
        "--gap-per-kib",
        &value("gap_per_kib_ns"),
    ]);
    assert_eq!(at(&simulated, "sizes"), at(&by_flags, "sizes"));
    assert_ne!(at(&simulated, "sizes"), at(&json(&[]), "sizes"));
    let text = run(&[&SMALL[..6], &["--links", &file]].concat()).stdout;
    assert!(text.contains("measured over the fabric 'in-process'"), "{text}");
    let text = run(&["sim", "links", "--fabric", "in-process", "--quiet"]).ok();
    assert!(text.contains("--gap-per-kib") && text.lines().count() == 1, "{text}");
}

#[test]
fn a_file_of_links_that_is_none_is_refused() {
    let scratch = Scratch::new("sim-links-wrong");
    let of = |name: &str, text: &str| {
        let file = scratch.file(name, text);
        run(&["sim", "cluster", "--links", &file])
    };
    of("cut", "{ \"schema_version\": 1,").refused(&["--links: ", "is no file of links"]);
    of("new", "{ \"schema_version\": 9 }").refused(&["--links: ", "version 9"]);
    let long = r#"{ "schema_version": 1, "fabric": "mpi", "latency_ns": 1, "overhead_ns": 1,
        "gap_ns": 2000000000, "gap_per_kib_ns": 1 }"#;
    of("long", long).refused(&["--links: gap_ns of ", "at most 1000000000"]);
    run(&["sim", "cluster", "--links", "/no/file"]).refused(&["--links: can not read /no/file"]);
    run(&["sim", "cluster", "--links", "x", "--gap", "1"]).refused(&["--links", "--gap"]);
    run(&["sim", "links"]).refused(&["--fabric: needed"]);
}

#[test]
fn probes_are_compared_with_their_simulations() {
    let scratch = Scratch::new("sim-compare");
    let probe = |nodes: &str, in_flight: &str| {
        let args = ["probe", "--fabric", "in-process", "--nodes", nodes, "--in-flight", in_flight];
        let more = ["--workers", "1", "--actors", "20", "--messages", "50", "--quiet", "--json"];
        let measured = run(&[&args[..], &more].concat()).ok();
        (scratch.file(&format!("{nodes}-{in_flight}.json"), &measured), measured)
    };
    let ((two, measured), (four, _)) = (probe("2", "1"), probe("4", "50"));
    let compare = |more: &[&str]| {
        let args = ["sim", "cluster", "--compare", &format!("{two},{four}"), "--quiet"];
        run(&[&args[..], more].concat())
    };
    let json: Value = compare(&["--json"]).json();
    let measured: Value = serde_json::from_str(&measured).expect("it is JSON");
    let rate = number(&measured, "throughput.computation_per_s");
    assert_eq!(number(&json, "compared.0.measured_per_s"), rate);
    for (at, nodes, in_flight) in [(0, 2.0, 20.0), (1, 4.0, 1_000.0)] {
        let of = |name: &str| number(&json, &format!("compared.{at}.{name}"));
        assert_eq!((of("nodes"), of("in_flight_per_node")), (nodes, in_flight));
        let error = (of("simulated_per_s") / of("measured_per_s") - 1.0) * 100.0;
        assert!(
            (of("error_percent") - error).abs() < 1e-6 && of("simulated_per_s") > 0.0,
            "{json}"
        );
    }
    assert!(
        number(&json, "compared.1.simulated_messages_per_frame")
            > number(&json, "compared.0.simulated_messages_per_frame")
    );
    // The costs of links count.
    let slow = compare(&["--json", "--latency", "1000000"]).json();
    let of = |json: &Value| number(json, "compared.0.simulated_per_s");
    assert!(of(&slow) * 10.0 < of(&json), "{slow}");
    let text = compare(&[]).ok();
    assert!(text.contains("in-process") && text.contains("error"), "{text}");

    let refused = |text: &str, parts: &[&str]| {
        let file = scratch.file("wrong.json", text);
        run(&["sim", "cluster", "--compare", &file]).refused(parts);
    };
    refused("{ \"schema_version\": 1 }", &["--compare: ", "is no report of 'actinium probe"]);
    let one = measured.to_string().replace("\"node_count\":2", "\"node_count\":1");
    refused(&one, &["--compare: ", "two nodes or more"]);
    let long = measured.to_string().replace(
        "\"messages\":{\"source\":\"flag\",\"value\":50}",
        "\"messages\":{\"source\":\"flag\",\"value\":4000000000}",
    );
    assert_ne!(long, measured.to_string());
    refused(&long, &["--compare: ", "pings: 1 to 50000000"]);
    run(&["sim", "cluster", "--compare", "x", "--nodes", "2"]).refused(&["--compare", "--nodes"]);
}

#[test]
fn the_cost_of_a_message_is_fitted_to_a_probe() {
    let scratch = Scratch::new("sim-fit");
    let probe =
        "probe --fabric in-process --nodes 2 --workers 1 --actors 20 --messages 50 --quiet --json";
    let mut measured: Value = run(&probe.split(' ').collect::<Vec<_>>()).json();
    let mut with_rate = |per_s: f64| {
        measured["throughput"]["computation_per_s"] = per_s.into();
        scratch.file("probe.json", measured.to_string())
    };
    let file = with_rate(1e6);
    let cluster = |args: &[&str]| run(&[&["sim", "cluster", "--quiet"], args].concat());
    let compared = |args: &[&str]| -> Value {
        cluster(&[&["--compare", &file, "--json"], args].concat()).json()
    };
    let known = compared(&["--message", "700", "--frame", "5000"]);
    with_rate(number(&known, "compared.0.simulated_per_s"));
    let fitted = compared(&["--fit", &file, "--frame", "5000"]);
    assert_eq!(number(&fitted, "settings.frame_ns"), 5_000.0);
    let message_ns = number(&fitted, "settings.message_ns");
    assert!((690.0..=700.0).contains(&message_ns), "{message_ns}");
    assert!(number(&fitted, "compared.0.error_percent").abs() < 1.0, "{fitted}");
    // What frames do not cost, messages do.
    let cheaper = compared(&["--fit", &file, "--frame", "0"]);
    assert!(number(&cheaper, "settings.message_ns") > message_ns + 100.0, "{cheaper}");
    // It is that of other simulations, too.
    let small = ["--nodes", "2", "--route", "direct", "--messages", "10", "--json"];
    let simulated: Value =
        cluster(&[&small[..], &["--fit", &file, "--frame", "5000"]].concat()).json();
    assert_eq!(number(&simulated, "settings.message_ns"), message_ns);

    with_rate(1.0);
    cluster(&["--fit", &file]).refused(&["--fit: ", "more than 100000 ns for each message"]);
    cluster(&["--fit", "/no/file"]).refused(&["--fit: can not read /no/file"]);
    cluster(&["--fit", &file, "--message", "80"]).refused(&["--fit", "--message"]);
}
