//! `actinium memory`: its figures, its flags, and what it refuses.

use crate::common::{Scratch, at, number, on_a_terminal, run, text};
use actinium::topology::Topology;
use serde_json::Value;

/// `startup` with one small segment, measured once; with some arguments more.
fn startup<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["memory", "startup", "--size", "4m", "--repeat", "1"], more].concat()
}

/// `stream` with small arrays; with some arguments more.
fn stream<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["memory", "stream", "--size", "1m", "--times", "2"], more].concat()
}

#[track_caller]
fn json(mut arguments: Vec<&str>) -> Value {
    arguments.push("--json");
    run(&arguments).json()
}

#[track_caller]
fn quiet(mut arguments: Vec<&str>) -> String {
    arguments.push("--quiet");
    run(&arguments).ok()
}

/// The values of a field in all rows.
fn all<'a>(json: &'a Value, rows: &str, field: &str) -> Vec<&'a Value> {
    at(json, rows).as_array().expect("rows").iter().map(|row| at(row, field)).collect()
}

#[test]
fn startup_compares_modes_with_what_the_machine_can_do() {
    let report = json(startup(&["--threads", "1"]));
    assert_eq!(number(&report, "schema_version"), 1.0);
    assert_eq!((number(&report, "threads"), number(&report, "repeat")), (1.0, 1.0));
    let modes = all(&report, "rows", "mode");
    let expected = [
        "none",
        "lazy",
        "background",
        "eager-1",
        "eager",
        "limit:map-populate",
        "limit:populate",
        "limit:memset",
    ];
    assert_eq!(modes, expected);
    for row in at(&report, "rows").as_array().expect("rows") {
        assert_eq!(number(row, "size_bytes"), f64::from(4 << 20));
        assert!(number(row, "ready_s") > 0.0 && number(row, "end_s") >= number(row, "ready_s"));
        let is_eager = row["mode"].as_str().is_some_and(|mode| mode.starts_with("eager"));
        let is_limit = row["mode"].as_str().is_some_and(|mode| mode.starts_with("limit"));
        assert_eq!(row["gb_per_s"].is_number(), is_eager || is_limit, "{row}");
        assert_eq!(row["of_limit"].is_number(), is_eager, "{row}");
        assert_eq!(row["of_none"].is_number(), !is_limit, "{row}");
    }
    assert_eq!(number(&report, "rows.0.of_none"), 1.0);
}

#[test]
fn startup_does_as_its_flags_say() {
    let report = json(startup(&["--mode", "lazy,eager", "--no-limit", "--pages", "base"]));
    assert_eq!(all(&report, "rows", "mode"), ["lazy", "eager"]);
    assert_eq!((&report["pages"], number(&report, "rows.1.huge_bytes")), (&"base".into(), 0.0));

    let arguments = ["memory", "startup", "--size", "1m,2m", "--mode", "none", "--no-limit"];
    let report = json([&arguments[..], &["--repeat", "2", "--placement", "bind:0"]].concat());
    assert_eq!(all(&report, "rows", "size_bytes"), [1 << 20, 2 << 20]);
    assert_eq!((number(&report, "repeat"), &report["placement"]), (2.0, &"bind:0".into()));
}

#[test]
fn registered_memory_is_pinned_and_shown() {
    let arguments = ["--mode", "none,lazy,eager", "--no-limit", "--register", "io-uring"];
    let ran = run(&startup(&[&arguments[..], &["--json"]].concat()));
    if ran.stderr.contains("io-uring: can not") {
        println!("skipped: {}", ran.stderr);
        return;
    }
    let report = ran.json();
    assert_eq!(report["register"], "io-uring");
    assert_eq!(all(&report, "rows", "registered_bytes"), [0, 0, 4 << 20]);
    // What is used later would be registered then.
    assert_eq!(all(&report, "rows", "pinned_bytes"), [0, 0, 4 << 20]);
    assert!(
        report["rows"][1]["register_s"].is_null() && number(&report, "rows.2.register_s") > 0.0
    );
    let table = quiet(startup(&arguments));
    assert!(table.contains("registered") && table.contains("4.0 MiB"), "{table}");

    let plain = json(startup(&["--mode", "eager", "--no-limit"]));
    assert_eq!((&plain["register"], number(&plain, "rows.0.pinned_bytes")), (&"none".into(), 0.0));
    assert!(!quiet(startup(&["--mode", "eager", "--no-limit"])).contains("registered"));
}

#[test]
fn a_share_of_memory_is_a_size() {
    let arguments = ["memory", "startup", "--size", "1%,2%", "--mode", "lazy", "--no-limit"];
    let report = json([&arguments[..], &["--repeat", "1"]].concat());
    let sizes = all(&report, "rows", "size_bytes");
    let [one, two] = [sizes[0], sizes[1]].map(|size| size.as_f64().expect("a number"));
    assert!((two / one - 2.0).abs() < 0.01, "{one} {two}");
}

#[test]
fn a_pool_that_is_empty_is_said() {
    let ran = run(&startup(&["--mode", "eager", "--no-limit", "--pages", "1g"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // The machine that tests may have such pages.
    let is_told = ran.stderr.contains("instead of '1g'");
    assert_eq!(is_told, !ran.stdout.contains("1.0 GiB"), "{} {}", ran.stderr, ran.stdout);
}

#[test]
fn stream_checks_what_it_computes() {
    let report = json(stream(&["--threads", "1"]));
    let stores = ["heap", "heap-touched", "interleave", "first-touch", "local"];
    assert_eq!(all(&report, "stores", "store"), stores);
    assert_eq!((number(&report, "array_bytes"), number(&report, "times")), (1048576.0, 2.0));
    for store in at(&report, "stores").as_array().expect("stores") {
        assert_eq!(all(store, "rates", "kernel"), ["copy", "scale", "add", "triad"]);
        assert!(all(store, "rates", "gb_per_s").iter().all(|rate| rate.as_f64() > Some(0.0)));
        assert_eq!((number(store, "error"), number(store, "threads")), (0.0, 1.0));
        assert!(number(store, "total_s") > 0.0);
        let is_heap = store["store"].as_str().is_some_and(|name| name.starts_with("heap"));
        assert_eq!(store["segment"].is_null(), is_heap);
        if !is_heap {
            assert_eq!(number(store, "segment.absent_bytes"), 0.0);
        }
    }
}

#[test]
fn stream_does_as_its_flags_say() {
    let report = json(stream(&["--placement", "bind:0,heap", "--pages", "base", "--nodes"]));
    let nodes = all(&report, "stores", "node");
    assert_eq!(all(&report, "stores", "store")[..2], ["bind:0", "heap"]);
    assert!(
        nodes[..2].iter().all(|node| node.is_null()) && nodes[2..].iter().all(|node| node.is_u64())
    );
    assert!(nodes.len() > 2, "each node by itself");
    assert_eq!(number(&report, "stores.0.segment.transparent_huge_bytes"), 0.0);
    assert_eq!(report["stores"][0]["segment"]["pages_asked"], "base");

    let machine = Topology::detect().expect("a machine");
    let report = json(vec!["memory", "stream", "--times", "2", "--placement", "heap-touched"]);
    let caches = machine.caches().iter().filter_map(|cache| cache.size_bytes).max().unwrap_or(0);
    assert!(number(&report, "array_bytes") >= 4.0 * caches as f64);
    let threads = machine.usable_workers().workers as f64;
    assert_eq!(number(&report, "threads"), threads);
}

#[test]
fn tables_have_a_line_each() {
    let table = quiet(startup(&["--mode", "none,lazy", "--no-limit"]));
    assert_eq!(table.lines().count(), 2 + 2, "{table}");
    let table = quiet(stream(&["--placement", "heap,local"]));
    assert_eq!(table.lines().count(), 2 + 2, "{table}");
    let loud = run(&stream(&["--placement", "heap"]));
    assert!(loud.stderr.contains("actinium: heap\n"), "{}", loud.stderr);
    let shown = on_a_terminal("memory stream --size 1m --times 2 --placement heap -q", &[]);
    assert!(shown.contains("triad GB/s"), "{shown}");
}

#[test]
fn reports_are_pages() {
    let scratch = Scratch::new("memory");
    let path = &scratch.path("page.html");
    quiet(stream(&["--placement", "heap,interleave", "--report", path]));
    let page = text(path);
    for words in ["triad", "Pages by node", "interleave", "node 0"] {
        assert!(page.contains(words), "{words}");
    }
    quiet(startup(&["--mode", "none,eager", "--no-limit", "--report", path]));
    let page = text(path);
    assert!(page.contains("Time until it could begin") && page.contains("eager"));

    let ran = run(&stream(&["--report", "/nowhere/page.html"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.starts_with("actinium: --report: "), "{}", ran.stderr);
}

#[test]
fn what_is_asked_wrongly() {
    let pus = Topology::detect().expect("a machine").allowed().len();
    let many = format!("{}", pus + 1);
    for (what, flag, value, problem) in [
        ("startup", "--size", "0", "is no size: allowed are"),
        ("startup", "--size", "64m,x", "'x' is no size"),
        ("startup", "--size", "101%", "is no size"),
        ("startup", "--size", "900t", "does not fit"),
        ("startup", "--mode", "fast", "none, lazy, background, eager-1, eager"),
        ("startup", "--pages", "3m", "is no page size: allowed are base, thp"),
        ("startup", "--placement", "heap", "is no placement: allowed are"),
        ("startup", "--placement", "bind:4000", "may use the nodes"),
        ("startup", "--register", "carrier-pigeon", "none, io-uring"),
        ("startup", "--repeat", "0", "1 to 1000"),
        ("startup", "--threads", "0", "1 to 4096"),
        ("startup", "--threads", &many, "one for each PU"),
        ("stream", "--threads", &many, "one for each PU"),
        ("stream", "--times", "1", "2 to 1000"),
        ("stream", "--placement", "stack", "is no placement: allowed are heap"),
        ("stream", "--placement", "bind:4000", "may use the nodes"),
        ("stream", "--pages", "huge", "is no page size"),
        ("stream", "--size", "-1", "is no size"),
        ("stream", "--size", "900t", "does not fit"),
    ] {
        let ran = run(&["memory", what, flag, value, "--quiet"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{what} {flag} {value}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(
            ran.stderr.starts_with("actinium: ") && ran.stderr.contains(problem),
            "{}",
            ran.stderr
        );
    }
    let ran = run(&["memory", "fill"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "actinium: 'fill' is no command: allowed are startup, stream\n");
}

#[test]
fn help_names_the_flags() {
    for (what, flags) in [
        (
            "startup",
            &["--size", "--mode", "--placement", "--register", "--repeat", "--no-limit"][..],
        ),
        ("stream", &["--size", "--placement", "--times", "--nodes"]),
    ] {
        let help = run(&["memory", what, "--help"]).ok();
        for flag in flags.iter().chain(&["--pages", "--threads", "--json", "--quiet", "--report"]) {
            assert!(help.contains(flag), "{flag} in {help}");
        }
        assert!(!help.contains("--child"));
    }
}

/// What holds for STREAM with these stores on so many nodes with a thread each.
#[track_caller]
fn check_nodes(report: &Value, nodes: u64, stores: &[&str]) {
    assert_eq!(number(report, "schema_version"), 1.0);
    assert_eq!(
        (number(report, "node_count"), number(report, "thread_count")),
        (nodes as f64, nodes as f64)
    );
    assert_eq!((number(report, "array_bytes"), number(report, "times")), (1048576.0, 3.0));
    assert_eq!(all(report, "stores", "store"), stores);
    assert_eq!(report["kernels"], serde_json::json!(["copy", "scale", "add", "triad"]));
    for store in at(report, "stores").as_array().expect("stores") {
        assert!(
            all(store, "nodes", "node").iter().map(|node| node.as_u64()).eq((0..nodes).map(Some))
        );
        assert!(
            all(store, "nodes", "is_valid").iter().all(|is_valid| is_valid.as_bool() == Some(true))
        );
        for kernel in 0..4 {
            let of = |node: &Value| number(node, &format!("gb_per_s.{kernel}"));
            let each: Vec<f64> = store["nodes"].as_array().expect("nodes").iter().map(of).collect();
            // Of one round all together are at most as fast as each in its best.
            let sum = number(store, &format!("gb_per_s.{kernel}"));
            assert!(sum > 0.0 && sum <= each.iter().sum::<f64>() * (1.0 + 1e-9), "{store}");
            assert!(nodes > 1 || sum == each[0], "{store}");
        }
    }
}

/// `stream` of two small stores on several nodes.
fn nodes<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let small = ["memory", "stream", "--size", "1m", "--times", "3", "--threads", "1"];
    [&small[..], &["--placement", "heap,interleave"], more].concat()
}

#[test]
fn nodes_measure_at_the_same_time_and_the_first_reports() {
    let report = json(nodes(&["--fabric", "in-process"]));
    assert_eq!(report["fabric"], "in-process");
    check_nodes(&report, 2, &["heap", "interleave"]);
    // Rates of many rounds travel in several messages.
    let many = ["memory", "stream", "--size", "64k", "--times", "250", "--threads", "1"];
    let many = json([&many[..], &["--placement", "heap", "--fabric", "in-process"]].concat());
    assert!(number(&many, "stores.0.gb_per_s.0") > 0.0);
    let scratch = Scratch::new("stream");
    let path = &scratch.path("page.html");
    let table = quiet(nodes(&["--fabric", "in-process", "--report", path]));
    assert!(table.contains("all 2") && table.contains("triad GB/s"), "{table}");
    let html = text(path);
    assert!(html.contains("heap, sum") && html.contains("interleave, node 1"));
}

#[test]
fn what_nodes_can_not_measure_is_refused() {
    let refused = |arguments: Vec<&str>, parts: &[&str]| {
        let ran = run(&arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(parts.iter().all(|part| ran.stderr.contains(part)), "{}", ran.stderr);
    };
    refused(nodes(&["--fabric", "in-process", "--nodes"]), &["--nodes", "--fabric"]);
    refused(nodes(&["--fabric", "pigeons"]), &["pigeons", "zenoh"]);
    refused(nodes(&["--node", "1"]), &["--fabric"]);
    refused(
        nodes(&["--fabric", "in-process", "--node", "1"]),
        &["--node: only with --fabric zenoh"],
    );
    refused(startup(&["--fabric", "zenoh"]), &["--fabric: 'startup' measures", "memory stream"]);
    #[cfg(not(feature = "mpi"))]
    refused(startup(&["--fabric", "mpi"]), &["'mpi' is not in this build", "feature mpi"]);
    #[cfg(not(feature = "mpi"))]
    refused(nodes(&["--fabric", "mpi"]), &["'mpi' is not in this build", "feature mpi"]);
    #[cfg(not(feature = "zenoh"))]
    refused(nodes(&["--fabric", "zenoh"]), &["'zenoh' is not in this build", "feature zenoh"]);
}

#[cfg(feature = "mpi")]
#[test]
fn ranks_measure_at_the_same_time_and_one_of_them_reports() {
    let stream = nodes(&["--fabric", "mpi", "--json"]);
    let ran: crate::common::Ran =
        crate::common::mpiexec("2", &stream).output().expect("mpiexec starts").into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("one report, and nothing else");
    assert_eq!((&report["fabric"], &report["remark"]), (&"mpi".into(), &Value::Null));
    check_nodes(&report, 2, &["heap", "interleave"]);
    let alone = run(&stream);
    assert!(alone.stderr.contains("a job of one node"), "{}", alone.stderr);
    check_nodes(&serde_json::from_str(&alone.stdout).expect("JSON"), 1, &["heap", "interleave"]);
}

/// `startup` starts its jobs by itself: here with what lets root and one core have several ranks.
#[cfg(feature = "mpi")]
fn jobs(more: &[&str]) -> crate::common::Ran {
    let environment = [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        // In a container that forbids reading other processes' memory, there are windows so, too.
        ("OMPI_MCA_osc", "pt2pt"),
        ("MPIEXEC_TIMEOUT", "900"),
    ];
    let arguments = ["memory", "startup", "--fabric", "mpi", "--repeat", "2", "--quiet"];
    crate::common::run_with(&[&arguments[..], more].concat(), &environment)
}

#[cfg(feature = "mpi")]
#[test]
fn startup_compares_registrations_of_mpi_jobs() {
    let report = jobs(&["--size", "17m", "--json"]).json();
    assert_eq!((&report["fabric"], number(&report, "ranks")), (&"mpi".into(), 2.0));
    assert_eq!(number(&report, "size_bytes"), f64::from(17 << 20));
    assert_eq!(all(&report, "jobs", "registration"), ["none", "static", "dynamic"]);
    // A no-op job leases nothing, so a dynamic window registers nothing.
    let registered = all(&report, "jobs", "registered_bytes");
    assert_eq!(registered, [0, 17 << 20, 0]);
    assert!(number(&report, "jobs.1.register_s") > 0.0);
    for job in at(&report, "jobs").as_array().expect("jobs") {
        let [low, median, high] =
            ["low", "median", "high"].map(|of| number(job, &format!("seconds.{of}")));
        assert!(0.0 < low && low <= median && median <= high, "{job}");
        assert!(number(job, "of_none.median") > 0.0);
    }
    let sizes: Vec<u64> =
        all(&report, "transfers", "bytes").iter().map(|of| of.as_u64().expect("bytes")).collect();
    assert_eq!(sizes, [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20]);
    for transfer in at(&report, "transfers").as_array().expect("transfers") {
        let ratio = number(transfer, "static_of_dynamic.median");
        let rates = ["static_gb_per_s", "dynamic_gb_per_s"]
            .map(|of| number(transfer, &format!("{of}.median")));
        assert!((rates[0] / rates[1] / ratio - 1.0).abs() < 1e-9, "{transfer}");
        let [low, high] =
            ["low", "high"].map(|of| number(transfer, &format!("static_of_dynamic.{of}")));
        assert!(low <= ratio && ratio <= high, "{transfer}");
    }
    let three = jobs(&["--size", "16m", "--ranks", "3", "--mpiexec", "mpiexec --bind-to none"]);
    // Two lines of head, three jobs, seven sizes twice.
    assert_eq!(three.ok().lines().count(), 2 + 3 + 14);
}

#[cfg(feature = "mpi")]
#[test]
fn what_mpi_jobs_are_asked_wrongly() {
    for (flag, value, problem) in [
        ("--size", "1m", "--size: at least 16777216 bytes"),
        ("--size", "1g,2g,3g", "--size: one with --fabric"),
        ("--ranks", "1", "2 to 1024"),
        ("--mpiexec", "no-such-launcher", "'no-such-launcher' can not be started"),
        ("--mpiexec", " ", "has no name"),
    ] {
        let ran = jobs(&[flag, value]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{flag} {value}");
        assert!(ran.stderr.contains(problem), "{}", ran.stderr);
    }
    let inside = run_in_a_job();
    assert_eq!(inside.code, Some(2));
    assert!(inside.stderr.contains("without mpiexec"), "{}", inside.stderr);
}

#[cfg(feature = "mpi")]
fn run_in_a_job() -> crate::common::Ran {
    let arguments = ["memory", "startup", "--fabric", "mpi"];
    crate::common::run_with(&arguments, &[("OMPI_COMM_WORLD_SIZE", "2")])
}
