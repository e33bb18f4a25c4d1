//! `actinium probe`: what it prints, and what each flag does. Each test fails if its flag does
//! nothing.

use crate::common::{Scratch, at, figures, number, run, run_with, small, text};

/// The figures, by their names in the table.
const NAMES: [&str; 23] = [
    "node-count",
    "worker-count-per-node",
    "actor-count-per-worker",
    "worker-count",
    "actor-count",
    "message-count-per-actor",
    "message-count",
    "elapsed-time",
    "computation-throughput",
    "node-throughput",
    "worker-throughput",
    "worker-period",
    "actor-throughput",
    "actor-period",
    "delivery-latency 10 %",
    "delivery-latency 30 %",
    "delivery-latency 50 %",
    "delivery-latency 70 %",
    "delivery-latency 90 %",
    "delivery-latency 98 %",
    "delivery-latency 99 %",
    "delivery-latency 99.9 %",
    "delivery-latency max",
];

/// The first column of the table.
fn names(stdout: &str) -> Vec<String> {
    let rows = stdout.lines().skip(2).take_while(|line| !line.is_empty());
    rows.map(|row| row.split("  ").next().unwrap_or_default().to_owned()).collect()
}

/// The words of one row.
#[track_caller]
fn row<'a>(stdout: &'a str, name: &str) -> Vec<&'a str> {
    let row = stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("  "));
    row.unwrap_or_else(|| panic!("no {name} in {stdout}")).split_whitespace().collect()
}

#[test]
fn the_table_has_the_figures_of_the_issue() {
    let stdout = run(&small(&[])).ok();
    assert_eq!(names(&stdout), NAMES);
    assert_eq!(row(&stdout, "node-count"), ["1"]);
    assert_eq!(row(&stdout, "worker-count-per-node"), ["1"]);
    assert_eq!(row(&stdout, "actor-count-per-worker"), ["4"]);
    assert_eq!(row(&stdout, "worker-count"), ["1"]);
    assert_eq!(row(&stdout, "actor-count"), ["4"]);
    assert_eq!(row(&stdout, "message-count-per-actor"), ["50", "pings"]);
    assert_eq!(row(&stdout, "message-count"), ["400", "pings", "and", "replies"]);
    assert!(stdout.contains("pings and replies: both are delivered messages"), "{stdout}");
    assert!(stdout.contains("true times from send to handling, of a sample"), "{stdout}");
    assert!(stdout.contains("1 / throughput"), "{stdout}");
    for counter in ["sent 405", "handled 405", "stolen", "re-homed", "parked", "woken"] {
        assert!(stdout.contains(counter), "{counter} in {stdout}");
    }
    for counter in ["crossed", "published"] {
        assert!(stdout.contains(counter), "{counter} in {stdout}");
    }
    assert!(stdout.contains("each handled 100.0 % to 100.0 % of the messages"), "{stdout}");
    assert!(stdout.contains("sent 405 = handled 405 + queued 0 + returned 0 + dead 0: balanced"));
}

#[test]
fn without_flags_it_is_the_probe_of_the_issue() {
    let settings = run(&["probe", "--show-settings", "--json"]).json();
    for (setting, value) in [("actors", 100), ("in_flight", 1), ("messages", 40_000)] {
        assert_eq!(settings["settings"][setting]["value"], value, "{setting}");
    }
    assert_eq!(settings["settings"]["policy"]["value"], "affine");
}

#[test]
fn json_has_a_schema_version_and_its_sums_agree() {
    let json = figures(&["--workers", "2", "--repeat", "2", "--warm-up", "5"]);
    let get = |path: &str| number(&json, path);
    assert_eq!(json["schema_version"], 2);
    assert_eq!(json["message_count_is"], "pings and replies: both are delivered messages");
    assert_eq!(get("worker_count"), get("node_count") * get("worker_count_per_node"));
    assert_eq!(get("actor_count"), get("worker_count") * get("actor_count_per_worker"));
    assert_eq!(get("message_count"), 2.0 * get("actor_count") * get("message_count_per_actor"));
    for counter in ["sent", "handled", "bytes", "turns", "parked"] {
        let of = |at: &str| get(&format!("{at}.{counter}"));
        assert_eq!(of("counters"), of("runs.0.counters") + of("runs.1.counters"), "{counter}");
    }
    for index in [0, 1] {
        let of = |path: &str| get(&format!("runs.{index}.{path}"));
        assert_eq!(of("message_count"), get("message_count"));
        let control = of("control_message_count");
        assert_eq!(of("counters.handled"), of("message_count") + control);
        let per_s = of("message_count") / of("elapsed_time_ns") * 1e9;
        assert!((of("computation_throughput_per_s") / per_s - 1.0).abs() < 1e-9);
    }
    let all = |counter: &str| {
        let of = |at: &str| get(&format!("life.{at}.{counter}"));
        of("workers.0") + of("workers.1") + of("external")
    };
    for counter in ["sent", "handled", "returned", "dead"] {
        assert_eq!(all(counter), get(&format!("ledger.{counter}")), "{counter}");
    }
    assert_eq!(json["ledger"]["balanced"], true);
    let ledger = ["handled", "queued", "returned", "dead"].map(|of| get(&format!("ledger.{of}")));
    assert_eq!(get("ledger.sent"), ledger.iter().sum::<f64>());
}

#[test]
fn throughput_has_four_levels_and_a_period_is_its_inverse() {
    let json = figures(&["--workers", "2"]);
    let get = |path: &str| number(&json, path);
    let equal = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    equal(get("node_throughput_per_s"), get("computation_throughput_per_s"));
    equal(get("worker_throughput_per_s") * 2.0, get("computation_throughput_per_s"));
    equal(get("actor_throughput_per_s") * 8.0, get("computation_throughput_per_s"));
    equal(get("worker_period_ns") * get("worker_throughput_per_s"), 1e9);
    equal(get("actor_period_ns") * get("actor_throughput_per_s"), 1e9);
}

#[test]
fn latencies_rise_with_the_quantile() {
    let json = figures(&["--messages", "4000"]);
    let quantiles = ["p10", "p30", "p50", "p70", "p90", "p98", "p99", "p99_9", "max"];
    let values = quantiles.map(|of| number(&json, &format!("delivery_latency_{of}_ns")));
    assert!(values[0] >= 1.0 && values.is_sorted(), "{values:?}");
    assert!(number(&json, "delivery_latency_samples") > 0.0);
}

#[test]
fn workers_are_as_many_as_asked_for() {
    let json = figures(&["--workers", "2", "--placement", "spread", "--policy", "pinned"]);
    assert_eq!(json["worker_count"], 2);
    for worker in ["life.workers.0", "life.workers.1"] {
        assert!(number(&json, &format!("{worker}.handled")) > 0.0, "{worker} takes part");
    }
    assert_eq!(at(&json, "life.workers").as_array().map(Vec::len), Some(2));
    assert_eq!(figures(&["--workers", "1"])["worker_count"], 1);
}

#[test]
fn all_workers_are_what_the_process_may_use() {
    let usable = actinium::topology::Topology::detect().expect("a machine").usable_workers();
    assert_eq!(figures(&["--workers", "all"])["worker_count"], usable.workers);
}

#[test]
fn policies_move_what_they_may() {
    let of = |policy: &str| {
        let json = figures(&["--workers", "2", "--placement", "spread", "--policy", policy]);
        assert_eq!(json["settings"]["policy"]["value"], policy);
        json
    };
    let pinned = of("pinned");
    // Half of the targets are on the other worker, and stay there.
    assert!(number(&pinned, "counters.crossed") > 0.0);
    for counter in ["stolen", "rehomed", "stealable"] {
        assert_eq!(number(&pinned, &format!("counters.{counter}")), 0.0, "{counter}");
    }
    // These have no inboxes: what wakes is queued for anyone.
    for policy in ["pool", "stealing"] {
        assert_eq!(number(&of(policy), "counters.crossed"), 0.0, "{policy}");
    }
    of("affine");
}

#[test]
fn actors_are_as_many_as_asked_for() {
    let json = figures(&["--workers", "2", "--actors", "7", "--placement", "spread"]);
    assert_eq!((&json["actor_count_per_worker"], &json["actor_count"]), (&7.into(), &14.into()));
    // One host on each worker starts them.
    assert_eq!(number(&json, "runs.0.control_message_count"), 16.0);
    assert_eq!(number(&json, "message_count"), 1_400.0);
}

#[test]
fn one_actor_alone_pings_itself() {
    let json = figures(&["--actors", "1"]);
    assert_eq!(number(&json, "counters.handled"), 102.0);
}

#[test]
fn requests_in_flight_are_bounded() {
    let one = figures(&["--in-flight", "1"]);
    let eight = figures(&["--in-flight", "8"]);
    let many = figures(&["--in-flight", "1000"]);
    assert_eq!((&one["in_flight_max"], &eight["in_flight_max"]), (&1.into(), &8.into()));
    assert_eq!(many["in_flight_max"], 50, "no more than there are pings");
    let turns = |json| number(json, "counters.turns");
    assert!(turns(&eight) < turns(&one), "more requests make longer batches");
}

#[test]
fn messages_are_pings_per_actor() {
    let json = figures(&["--messages", "7"]);
    assert_eq!((&json["message_count_per_actor"], &json["message_count"]), (&7.into(), &56.into()));
    assert_eq!(number(&json, "counters.handled"), 56.0 + 5.0);
}

#[test]
fn a_payload_travels_in_each_message() {
    let bytes = |payload: &str, carrier: &str| {
        let json = figures(&["--payload", payload]);
        assert_eq!(at(&json, "payload.bytes").to_string(), payload);
        assert_eq!(at(&json, "payload.carrier"), carrier);
        assert_eq!(number(&json, "payload.corrupted"), 0.0);
        number(&json, "counters.bytes")
    };
    let none = bytes("0", "none");
    let least = bytes("1", "inline");
    let (hundred, most) = (bytes("100", "inline"), bytes("1024", "inline"));
    assert!(none < least);
    assert!(hundred - none >= 400.0 * 100.0, "{none} {hundred}");
    assert!(most - none >= 400.0 * 1024.0, "{none} {most}");
    // By pointer: the mailbox holds little of it.
    assert!(bytes("1025", "boxed") < hundred);
    bytes("20000", "boxed");
    let stdout = run(&small(&["--payload", "100"])).ok();
    assert!(stdout.contains("100 bytes in each, inline"), "{stdout}");
}

#[test]
fn a_batch_ends_a_turn() {
    let turns = |batch| {
        let json = figures(&["--in-flight", "20", "--batch", batch]);
        (number(&json, "counters.turns"), number(&json, "counters.handled"))
    };
    let (turns_of_one, handled) = turns("1");
    assert!(turns_of_one >= handled, "each message has a turn of its own");
    let (turns_of_many, handled) = turns("64");
    assert!(turns_of_many < handled / 2.0, "{turns_of_many} turns for {handled} messages");
}

#[test]
fn the_seed_decides_where_round_robins_start() {
    let starts = |seed| {
        let json = figures(&["--seed", seed, "--repeat", "2"]);
        let starts = |run| at(&json, run)["starts"].as_str().expect("a fingerprint").to_owned();
        [starts("runs.0"), starts("runs.1")]
    };
    let seven = starts("7");
    assert_eq!(seven, starts("7"));
    assert_ne!(seven, starts("8"));
    assert_ne!(seven[0], seven[1], "each round starts elsewhere");
}

#[test]
fn warm_up_is_handled_but_not_counted() {
    let handled = |warm_up| {
        let json = figures(&["--warm-up", warm_up]);
        assert_eq!(number(&json, "counters.handled"), 405.0);
        assert_eq!(number(&json, "message_count"), 400.0);
        number(&json, "ledger.handled")
    };
    assert_eq!(handled("0"), 405.0);
    // Two messages for each of 10 pings of 4 actors, and the word to begin.
    assert_eq!(handled("10"), 405.0 + 80.0 + 5.0);
}

#[test]
fn repeats_have_a_median_and_a_spread() {
    let json = figures(&["--repeat", "3"]);
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(3));
    let mut times =
        ["runs.0", "runs.1", "runs.2"].map(|run| number(at(&json, run), "elapsed_time_ns"));
    times.sort_by(f64::total_cmp);
    assert_eq!(number(&json, "elapsed_time_ns"), times[1]);
    assert_eq!(number(&json, "spread.elapsed_time_ns.min"), times[0]);
    assert_eq!(number(&json, "spread.elapsed_time_ns.max"), times[2]);
    let stdout = run(&small(&["--repeat", "3"])).ok();
    let heading: Vec<&str> = stdout.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(heading, ["figure", "median", "unit", "least", "greatest", "spread"]);
    assert_eq!(names(&stdout), NAMES);
}

#[test]
fn placement_is_spread_or_the_policy_s() {
    let spawned = |placement, by: &str| {
        let json = figures(&["--workers", "2", "--placement", placement, "--policy", "pinned"]);
        number(&json, &format!("life.{by}.spawned"))
    };
    // A host on each worker starts that worker's actors; or they are all started from outside.
    assert_eq!(spawned("spread", "workers.0"), 4.0);
    assert_eq!(spawned("spread", "workers.1"), 4.0);
    assert_eq!(spawned("spread", "external"), 2.0);
    assert_eq!(spawned("policy", "workers.0"), 0.0);
    assert_eq!(spawned("policy", "external"), 9.0);
}

#[test]
fn as_many_pings_cross_as_asked_for() {
    let spread =
        ["--workers", "2", "--actors", "20", "--placement", "spread", "--policy", "pinned"];
    // Each ping that crosses has a reply that does; at most some that begin or end the run, too.
    let crossed = |percent| {
        let json = figures(&[&spread[..], &["--messages", "500", "--crossing", percent]].concat());
        assert_eq!(json["settings"]["crossing"]["value"].to_string(), percent);
        number(&json, "counters.crossed") / number(&json, "message_count")
    };
    assert!(crossed("0") < 0.01);
    assert!((0.22..0.28).contains(&crossed("25")));
    assert!(crossed("100") > 0.99);
    let alone = ["--actors", "1", "--placement", "spread", "--crossing"];
    run(&small(&[&alone[..], &["99"]].concat())).refused(&["--crossing: '99' needs --actors 2"]);
    run(&small(&[&alone[..], &["100"]].concat())).ok();
    let text = run(&small(&[&spread[..], &["--crossing", "25"]].concat())).ok();
    assert!(text.contains("placement spread, crossing 25%"), "{text}");
}

#[test]
fn without_counters_there_are_no_latencies() {
    let with = figures(&["--messages", "4000"]);
    let without = figures(&["--messages", "4000", "--no-counters"]);
    assert!(with["delivery_latency_p50_ns"].is_number());
    assert!(without["delivery_latency_p50_ns"].is_null());
    assert_eq!(number(&without, "delivery_latency_samples"), 0.0);
    assert_eq!(number(&without, "message_count"), 32_000.0, "messages are counted nevertheless");
    let stdout = run(&small(&["--no-counters"])).ok();
    assert!(stdout.contains("not sampled: --no-counters"), "{stdout}");
}

#[test]
fn quiet_prints_the_table_only() {
    let lines = |more: &[&str]| run(&small(more)).ok().lines().count();
    assert_eq!(lines(&["--quiet"]), 2 + NAMES.len());
    assert_eq!(lines(&["-q"]), 2 + NAMES.len());
    assert!(lines(&[]) > 2 + NAMES.len());
}

#[test]
fn elastic_workers_work_only_if_needed() {
    let arguments = ["--workers", "3", "--bind", "none", "--actors", "1", "--messages", "100000"];
    let working =
        |more: &[&str]| number(&figures(&[&arguments[..], more].concat()), "workers_working");
    // Three actors of which one has something to do at a time keep one worker busy.
    assert_eq!(working(&[]), 3.0);
    assert!(working(&["--elastic"]) < 3.0);
    let stdout = run(&small(&[&arguments[..], &["--elastic"]].concat())).ok();
    assert!(stdout.contains(" of 3 workers were given work at the end"), "{stdout}");
    assert!(!run(&small(&[])).ok().contains("were given work at the end"));
    let refused = run(&small(&["--elastic", "--policy", "pool"]));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("not with the policy pool, only with affine"));
}

#[test]
fn homes_and_crossings_are_shown() {
    let arguments = ["--workers", "2", "--placement", "spread", "--policy"];
    let of = |policy| run(&small(&[&arguments[..], &[policy]].concat())).ok();
    let pinned = of("pinned");
    assert!(pinned.contains("actors     at home at workers: 4 at each of 0 to 1; 0."), "{pinned}");
    assert!(!pinned.contains("; 0.000 crossings"), "half of the targets are elsewhere: {pinned}");
    let pool = of("pool");
    assert!(pool.contains("at home at no worker: the policy keeps none there\n"), "{pool}");
    let json = figures(&[&arguments[..], &["pinned"]].concat());
    assert_eq!(at(&json, "actors_at_workers"), &serde_json::json!([4, 4]));
    let crossed = number(&json, "counters.crossed") / number(&json, "counters.handled");
    assert_eq!(number(&json, "crossings_per_message"), crossed);
    let (timed, ns) =
        (number(&json, "counters.crossings_timed"), number(&json, "counters.crossings_ns"));
    assert_eq!(at(&json, "crossing_ns").as_f64(), (timed > 0.0).then(|| ns / timed));
}

#[test]
fn a_segment_is_faulted_in_beside_the_same_measurement() {
    let arguments = ["--segment", "4m", "--repeat", "2"];
    let json = run(&small(&[&arguments[..], &["--json"]].concat())).json();
    let segment = at(&json, "segment");
    assert_eq!(number(segment, "size_bytes"), f64::from(4 << 20));
    assert!(number(segment, "of_without.median") > 0.0, "{segment}");
    assert!(number(segment, "throughput_per_s.median") > 0.0, "{segment}");
    let faulted = at(segment, "faulted_bytes").as_array().expect("one for each").clone();
    let is_within =
        |bytes: &serde_json::Value| bytes.as_u64().is_some_and(|bytes| bytes <= 4 << 20);
    assert!(faulted.len() == 2 && faulted.iter().all(is_within), "{segment}");
    // Each run once without, which is what the other figures are of, and once with.
    assert_eq!(at(&json, "runs").as_array().map(Vec::len), Some(2));

    let stdout = run(&small(&arguments)).ok();
    assert_eq!(names(&stdout)[NAMES.len()..], ["throughput with segment", "of that without"]);
    assert!(stdout.contains("segment    4.0 MiB, faulted in in the background"), "{stdout}");

    let plain = run(&small(&["--json"])).json();
    assert!(plain["segment"].is_null(), "{plain}");
    for (size, words) in
        [("1000t", "--segment: a segment of"), ("x", "is no size"), ("0", "is no size")]
    {
        let refused = run(&small(&["--segment", size]));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(words) && refused.stdout.is_empty(), "{}", refused.stderr);
    }
    let refused = run(&small(&["--segment", "4m", "--fabric", "in-process"]));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn a_report_shows_what_the_system_did() {
    let scratch = Scratch::new("probe-alone");
    let page = scratch.path("run.html");
    let stdout = run(&small(&["--report", &page, "--quiet"])).ok();
    assert!(stdout.contains("node-count"), "it is shown, too: {stdout}");
    let html = text(&page);
    for part in ["What actinium did", "Throughput at four levels", "Prober", "Load of each CPU"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("NaN"), "{html}");
}

#[test]
fn a_page_is_made_again_from_a_recording() {
    let scratch = Scratch::new("report");
    let (json, page) = (scratch.path("run.json"), scratch.path("run.html"));
    run_with(&small(&["--quiet"]), &[("ACTINIUM_REPORT", &json)]).ok();
    run(&["report", &json, &page]).ok();
    assert!(text(&page).contains("Throughput at four levels"));

    let cut = scratch.file("cut.json", &text(&json)[..1_000]);
    run(&["report", &cut, &page]).refused(&["cut.json is no recording, or was cut off"]);
    let missing = scratch.path("missing.json");
    run(&["report", &missing, &page]).refused(&["can not read", "missing.json"]);
    let written = run(&["report", &json, "/no/such/folder/x.html"]);
    assert_eq!(written.code, Some(1));
    assert!(written.stderr.contains("cannot write /no/such/folder/x.html"), "{}", written.stderr);
}
