//! `actinium probe --fabric`: several nodes in one process, the ranks of an MPI job, and what is refused.

mod common;

use common::{Ran, command, number, run, small};
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
        "route       direct: 1.00 hops",
        "the end     was known to all",
    ] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
    let quiet = run(&small(&["--fabric", "in-process", "--nodes", "2", "--quiet"])).ok();
    assert!(quiet.contains("per frame") && !quiet.contains("the end"), "{quiet}");
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
    use common::mpiexec;

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
