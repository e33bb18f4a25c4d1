//! `actinium probe --fabric`: several nodes in one process, the ranks of an MPI job, and what is
//! refused.

use crate::common::{Ran, Scratch, command, number, run, small, text};
use serde_json::Value;

#[track_caller]
fn cluster(more: &[&str]) -> Value {
    let mut arguments = small(more);
    arguments.push("--json");
    run(&arguments).json()
}

/// What holds for any run with so many nodes, 4 actors each, 50 pings each.
#[track_caller]
fn check(json: &Value, nodes: u64) {
    let get = |path: &str| number(json, path) as u64;
    assert_eq!(get("schema_version"), 1);
    assert_eq!((get("node_count"), get("actor_count")), (nodes, 4 * nodes));
    assert_eq!(get("message_count"), nodes * 4 * 50 * 2);
    let all = json["nodes"].as_array().expect("nodes is a list");
    assert_eq!(all.len() as u64, nodes);
    for (index, node) in all.iter().enumerate() {
        assert_eq!(node["node"], index);
        assert_eq!(node["ledger_balanced"], true);
        assert_eq!(node["corrupted_count"], 0);
        let left = ["left_full", "left_free", "left_idle", "left_due", "left_urgent"];
        let sum: u64 = left.iter().map(|why| node[why].as_u64().expect("a count")).sum();
        assert_eq!(node["frame_count"], sum);
        assert_eq!(sum > 0, nodes > 1, "who is alone sends nothing: {node}");
    }
    let messages = all.iter().map(|node| node["message_count"].as_u64().expect("a count"));
    assert_eq!(messages.sum::<u64>(), get("message_count"));
    let longest = all.iter().map(|node| node["elapsed_time_ns"].as_u64().expect("a time"));
    assert_eq!(longest.max(), Some(get("elapsed_time_ns")));
    assert!(get("termination_ns") > 0);
    check_levels(json, nodes);
    check_levels(&json["nodes"][0], 1);
    for sum in ["remote_message_count", "frame_count", "left_free", "refused_count"] {
        let counts = all.iter().map(|node| node[sum].as_u64().expect("a count"));
        assert_eq!(counts.sum::<u64>(), get(sum), "{sum}");
    }
    let sampled = |json: &Value| json["round_trip"]["count"].as_u64();
    let sampled_by_each = all.iter().map(sampled).sum::<Option<u64>>();
    assert_eq!(sampled_by_each, sampled(json), "{json}");
    let used = all.iter().filter_map(|node| node["cpu_s"].as_f64());
    assert_eq!(used.sum::<f64>(), number(json, "cpu_s"));
}

/// The four levels of all nodes, or of one.
#[track_caller]
fn check_levels(json: &Value, nodes: u64) {
    let throughput = &json["throughput"];
    assert_eq!(throughput["nodes"], nodes);
    let computation = number(throughput, "computation_per_s");
    let elapsed_s = number(json, "elapsed_time_ns") * 1e-9;
    for (level, count) in
        [("computation", 1), ("node", nodes), ("worker", nodes), ("actor", 4 * nodes)]
    {
        let per_s = number(throughput, &format!("{level}_per_s")) * count as f64;
        assert!((per_s / computation - 1.0).abs() < 1e-9, "{level}");
        assert!((per_s * elapsed_s / number(json, "message_count") - 1.0).abs() < 1e-6, "{level}");
    }
}

/// Threads over time, and the load of CPUs of one machine if it is of one: as many values as there
/// are steps.
#[track_caller]
fn check_load(load: &Value, has_cpus: bool) {
    check_load_of(load, has_cpus, false);
}

/// The same. `some_are_cut`: it is that of several nodes, and some of their shares were cut.
#[track_caller]
fn check_load_of(load: &Value, has_cpus: bool, some_are_cut: bool) {
    let list = |of: &str| -> Vec<f64> {
        let list = load[of].as_array().unwrap_or_else(|| panic!("{of} in {load}"));
        list.iter().map(|value| value.as_f64().expect("a number")).collect()
    };
    let (ends, active) = (list("end_s"), list("threads_active"));
    assert!(!ends.is_empty() && ends.is_sorted() && ends[0] > 0.0, "{load}");
    // The worker, the node's thread, and the one that looks, at least.
    assert!(list("threads").iter().all(|&threads| threads >= 3.0), "{load}");
    assert!(list("threads").len() == ends.len() && active.len() == ends.len(), "{load}");
    assert!(active.iter().any(|&threads| threads > 0.0), "{load}");
    let Some(cpus) = load["cpus"].as_object() else { return assert!(!has_cpus, "{load}") };
    assert!(has_cpus && !cpus.is_empty(), "{load}");
    for (step, active) in active.iter().enumerate() {
        let shares = cpus.values().map(|shares| shares[step].as_f64().expect("a share"));
        let (sum, most) = shares.fold((0.0, 0.0_f64), |(sum, most), it| (sum + it, most.max(it)));
        // A share is cut at 1: in a short step, the clock of a thread may be ahead of the time.
        let is_cut = (some_are_cut || most >= 1.0) && sum < *active;
        assert!((sum - active).abs() < 1e-9 || is_cut, "{load}");
    }
}

#[test]
fn nodes_of_one_process_ping_each_other_and_end_together() {
    for nodes in ["1", "3"] {
        let json = cluster(&["--fabric", "in-process", "--nodes", nodes]);
        assert_eq!(json["fabric"], "in-process");
        check(&json, nodes.parse().expect("a number"));
        assert!(number(&json, "round_trip.quantiles_ns.p50") > 0.0);
    }
    check(&cluster(&["--fabric", "in-process"]), 2);
}

#[test]
fn nodes_of_one_process_have_its_threads_and_cpus_together() {
    let json = cluster(&["--fabric", "in-process", "--nodes", "3"]);
    check_load(&json["load"], false);
    check_load(&json["nodes"][0]["load"], true);
    for node in [1, 2] {
        let node = &json["nodes"][node];
        assert_eq!((&node["load"], &node["cpu_s"]), (&Value::Null, &Value::Null));
    }
    let machines = json["machines"].as_array().expect("a list");
    assert_eq!((machines.len(), &machines[0]["nodes"]), (1, &vec![0, 1, 2].into()));
    assert_eq!(machines[0]["load"], json["nodes"][0]["load"]);
    assert!(!machines[0]["host"].as_str().expect("a name").is_empty());
    assert!(number(&json, "cpus_used") > 0.0 && number(&json, "memory_max_bytes") > 1e6);
    // A worker and a thread of its own for each node.
    assert!(number(&json, "threads_max") >= 6.0, "{json}");
}

#[test]
fn each_flag_does_what_it_says() {
    let more = ["--fabric", "in-process", "--warm-up", "7", "--payload", "300", "--in-flight", "8"];
    let json = cluster(&more);
    check(&json, 2);
    assert_eq!(json["settings"]["payload"]["value"], 300);
    let json = cluster(&["--fabric", "in-process", "--no-counters"]);
    check(&json, 2);
    assert_eq!(json["round_trip"], Value::Null);
    let json =
        run(&["probe", "--fabric", "in-process", "--nodes", "5", "--show-settings", "--json"]);
    let json = json.json();
    assert_eq!(json["settings"]["fabric"]["value"], "in-process");
    assert_eq!(json["settings"]["nodes"]["value"], 5);
}

#[test]
fn by_each_route_all_arrives_and_a_grid_has_fewer_destinations_and_more_hops() {
    let of = |route| {
        let json = cluster(&["--fabric", "in-process", "--nodes", "9", "--route", route]);
        check(&json, 9);
        assert_eq!(json["settings"]["route"]["value"], route);
        let handed_on = json["nodes"].as_array().expect("nodes is a list").iter();
        let handed_on = handed_on.map(|node| node["handed_on_count"].as_u64().expect("a count"));
        let get = |path: &str| number(&json, path);
        (get("hops_per_message"), get("destination_count_max"), handed_on.sum::<u64>())
    };
    assert_eq!(of("direct"), (1.0, 8.0, 0));
    let (hops, destinations, handed_on) = of("2d");
    // Half of the other nodes are two hops away.
    assert!(hops > 1.3 && hops < 1.7, "{hops}");
    assert!(destinations == 4.0 && handed_on > 9 * 4 * 50 / 2, "{destinations}, {handed_on}");
    let (hops, destinations, _) = of("3d");
    assert!(hops > 1.3 && hops < 3.0 && destinations <= 6.0, "{hops}, {destinations}");
}

#[test]
fn people_see_all_nodes_and_each() {
    let stdout = run(&small(&["--fabric", "in-process", "--nodes", "2"])).ok();
    for part in [
        "computation",
        "to others",
        "per frame",
        "handed on",
        "of a worker",
        "all nodes",
        "node 1",
        "waited",
        "urgent",
        "CPU time",
        "threads active",
        "CPU ",
        "route       direct: 1.00 hops",
        "the end     was known to all",
    ] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
    let quiet = run(&small(&["--fabric", "in-process", "--nodes", "2", "--quiet"])).ok();
    assert!(quiet.contains("per frame") && !quiet.contains("the end"), "{quiet}");
}

#[test]
fn a_report_has_all_nodes_and_each() {
    let scratch = Scratch::new("probe-report");
    let page = scratch.path("nodes.html");
    let stdout = run(&small(&["--fabric", "in-process", "--report", &page, "--quiet"])).ok();
    assert!(stdout.contains("per frame"), "it is shown, too: {stdout}");
    let html = text(&page);
    for part in [
        "Messages between nodes",
        "800 pings and replies between 8 actors of 2 nodes",
        "actinium probe --workers 1 --actors 4 --messages 50 --warm-up 0 --fabric in-process",
        "of an actor",
        "99.9 %",
        ">node 1<",
        "Why frames left",
        "Threads active",
        "Load of each CPU",
        "all nodes, CPU ",
        "All nodes are in one process.",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("NaN") && !html.contains("Load of each CPU by each node"));
    let without = ["--fabric", "in-process", "--report", &page, "--no-counters", "--nodes", "1"];
    run(&small(&without)).ok();
    let html = text(&page);
    assert!(html.contains("--nodes 1 --no-counters") && !html.contains("Round trip"), "{html}");
}

#[test]
fn a_report_that_can_not_be_written_is_refused_before_anything_runs() {
    // More pings than anybody waits for.
    let forever = ["--messages", "1000000000", "--fabric", "in-process"];
    let report = ["--report", "/no/such/folder/x.html"];
    refused(&[&forever[..], &report].concat(), &["--report: cannot write /no/such/folder/x.html"]);
    let alone = ["--messages", "1000000000"];
    refused(&[&alone[..], &report].concat(), &["--report: cannot write /no/such/folder/x.html"]);
}

#[track_caller]
fn refused(more: &[&str], parts: &[&str]) {
    run(&small(more)).refused(parts);
}

#[test]
fn what_is_not_allowed_is_refused() {
    refused(&["--fabric", "pigeons"], &["pigeons", "in-process", "mpi"]);
    refused(&["--nodes", "2"], &["--fabric"]);
    refused(&["--route", "2d"], &["--fabric"]);
    refused(&["--fabric", "in-process", "--route", "4d"], &["--route", "'4d'", "direct, 2d, 3d"]);
    refused(&["--fabric", "in-process", "--nodes", "0"], &["--nodes", "1 to 64"]);
    refused(&["--fabric", "in-process", "--placement", "spread"], &["--placement", "policy"]);
    refused(&["--fabric", "in-process", "--crossing", "50"], &["--crossing", "--fabric"]);
    refused(&["--fabric", "in-process", "--repeat", "2"], &["--repeat", "'2'"]);
    let mut command = command(&small(&["--fabric", "in-process"]));
    let ran: Ran = command.env("ACTINIUM_ENCODING", "smoke").output().expect("it starts").into();
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("ACTINIUM_ENCODING"), "{}", ran.stderr);
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_says_which_feature_is_missing() {
    refused(&["--fabric", "mpi"], &["'mpi' is not in this build", "feature mpi"]);
}

#[cfg(not(feature = "zenoh"))]
#[test]
fn a_build_without_zenoh_says_which_feature_is_missing() {
    refused(&["--fabric", "zenoh"], &["'zenoh' is not in this build", "feature zenoh"]);
}

#[test]
fn what_is_for_zenoh_only_is_refused_elsewhere() {
    for flag in ["--node", "--listen", "--connect", "--cluster", "--tls-key", "--tls-allow"] {
        refused(&["--fabric", "in-process", flag, "0"], &[flag, "only with --fabric zenoh"]);
    }
}

#[cfg(feature = "mpi")]
mod mpi {
    use super::*;
    use crate::common::mpiexec;

    fn job(ranks: &str, more: &[&str]) -> Ran {
        mpiexec(ranks, &small(more)).output().expect("mpiexec starts").into()
    }

    #[test]
    fn ranks_ping_each_other_and_one_of_them_reports() {
        let ran = job("4", &["--fabric", "mpi", "--json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let json: Value = serde_json::from_str(&ran.stdout).expect("one report, and nothing else");
        assert_eq!(json["fabric"], "mpi");
        assert_eq!(json["remark"], Value::Null);
        check(&json, 4);
    }

    #[test]
    fn each_rank_has_threads_and_cpus_of_its_own_and_one_page_shows_them() {
        let scratch = Scratch::new("probe-ranks");
        let page = scratch.path("ranks.html");
        let ran = job("3", &["--fabric", "mpi", "--json", "--report", &page]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        check(&json, 3);
        let nodes = json["nodes"].as_array().expect("a list");
        nodes.iter().for_each(|node| check_load(&node["load"], true));
        check_load(&json["load"], false);
        let some_are_cut = nodes
            .iter()
            .flat_map(|node| node["load"]["cpus"].as_object().expect("CPUs").values())
            .flat_map(|shares| shares.as_array().expect("a list"))
            .any(|share| share.as_f64() >= Some(1.0));
        check_load_of(&json["machines"][0]["load"], true, some_are_cut);
        // They are on one machine, and each has threads of its own.
        assert_eq!(json["machines"][0]["nodes"], Value::from(vec![0, 1, 2]));
        assert_eq!(json["machines"].as_array().map(Vec::len), Some(1));
        let of_each = nodes.iter().map(|node| number(node, "threads_max")).sum::<f64>();
        assert_eq!(number(&json, "threads_max"), of_each);
        let html = text(&page);
        for part in [
            "mpiexec -n 3 actinium probe --workers 1",
            "Load of each CPU by each node",
            "node 0, CPU ",
            "node 2, CPU ",
            "all nodes, CPU ",
        ] {
            assert!(html.contains(part), "{part}");
        }
    }

    #[test]
    fn outside_mpiexec_it_is_one_node_and_says_so() {
        let Ran { code, stdout, stderr } = run(&small(&["--fabric", "mpi", "--json"]));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains("--fabric mpi outside mpiexec: a job of one node"), "{stderr}");
        check(&serde_json::from_str(&stdout).expect("JSON"), 1);
    }

    #[test]
    fn its_number_of_nodes_is_the_jobs() {
        refused(&["--fabric", "mpi", "--nodes", "2"], &["--nodes", "mpiexec"]);
    }
}

#[cfg(feature = "zenoh")]
mod zenoh {
    use super::*;

    #[test]
    fn processes_that_are_launched_have_one_report() {
        let scratch = Scratch::new("probe-launched");
        let page = scratch.path("launched.html");
        let probe = small(&["--fabric", "zenoh", "--json", "--report", &page]);
        let Ran { code, stdout, stderr } =
            run(&[&["launch", "-n", "3", "--"], &probe[..]].concat());
        assert_eq!(code, Some(0), "{stderr}");
        let lines = stdout.lines().map(|line| line.strip_prefix("[0] ").expect("node 0 reports"));
        let json = lines.collect::<Vec<_>>().join("\n");
        let json: Value = serde_json::from_str(&json).expect("one report, and nothing else");
        check(&json, 3);
        let nodes = json["nodes"].as_array().expect("a list");
        nodes.iter().for_each(|node| check_load(&node["load"], true));
        let html = text(&page);
        assert!(html.contains("node 2, CPU ") && html.contains("of 3 nodes"));
    }
}
