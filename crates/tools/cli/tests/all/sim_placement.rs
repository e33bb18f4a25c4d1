//! `actinium sim placement`: each flag does what it says, and what is asked wrongly is refused.

use crate::common::{at, number, run};
use serde_json::Value;

fn whole(more: &[&str]) -> Value {
    run(&[&["sim", "placement", "--quiet", "--json"], more].concat()).json()
}

fn json(more: &[&str]) -> Value {
    whole(&[&["--nodes", "6", "--rounds", "40"], more].concat())
}

fn figure(json: &Value, name: &str) -> f64 {
    number(json, &format!("runs.0.{name}"))
}

#[test]
fn the_same_call_gives_the_same_json_and_another_seed_another() {
    let first = json(&[]);
    assert_eq!(first, json(&[]));
    assert_eq!(number(&first, "schema_version"), 1.0);
    let runs = at(&first, "runs").as_array().unwrap();
    let graphs: Vec<&str> = runs.iter().map(|run| run["graph"].as_str().unwrap()).collect();
    assert_eq!(graphs, ["communities", "ring", "star", "changing", "adversarial"]);
    assert_ne!(at(&first, "runs"), at(&json(&["--seed", "7"]), "runs"));
    let (before, after) = ("crossings_per_message_before", "crossings_per_message_after");
    assert!(figure(&first, after) * 4.0 < figure(&first, before), "{first}");
    assert_eq!(at(&first, "runs.0.crossings_per_message").as_array().unwrap().len(), 10);
    let messages = figure(&first, "protocol_messages_per_move") * figure(&first, "moves");
    assert_eq!(messages.round(), 2.0 * figure(&first, "offers"));
    assert!(figure(&first, "offers") >= figure(&first, "offers_refused"));
}

#[test]
fn each_flag_counts() {
    let of = |more: &[&str], name: &str| {
        figure(&json(&[&["--graph", "communities"], more].concat()), name)
    };
    let moves = |more: &[&str]| of(more, "moves");
    let default = moves(&[]);
    assert!(default > 100.0);
    assert_eq!(moves(&["--move-cost", "1000000"]), 0.0);
    assert!(moves(&["--moves-max", "1"]) < default);
    // A node offers one exchange in a round, and may be offered another one.
    let exchanges = |max: &str| of(&["--exchanges-max", max], "exchanges");
    assert!(exchanges("1") * 2.0 < exchanges("16"));
    assert_eq!(of(&["--exchanges-max", "3"], "exchanges_max"), 3.0);
    let short = whole(&["--nodes", "6", "--rounds", "2", "--graph", "communities"]);
    assert!(figure(&short, "moves") < default);
    assert_ne!(moves(&["--sample-every", "64"]), default);
    assert_ne!(moves(&["--messages", "32"]), default);
    assert_eq!(of(&["--actors", "50"], "actors"), 300.0);
    let spread =
        |more: &[&str]| of(more, "actors_of_a_node_max") - of(more, "actors_of_a_node_min");
    assert!(spread(&["--imbalance", "0"]) <= 8.0);
    let changing = |every: &str| {
        let call = ["--graph", "changing", "--change-every", every];
        figure(&json(&call), "moves")
    };
    assert!(changing("10") > changing("40"));
    let nodes = whole(&["--rounds", "5", "--graph", "ring", "--nodes", "2,4"]);
    assert_eq!((number(&nodes, "runs.0.nodes"), number(&nodes, "runs.1.nodes")), (2.0, 4.0));
}

#[test]
fn the_table_names_its_columns() {
    let text = run(&["sim", "placement", "--nodes", "4", "--graph", "ring", "--rounds", "5"]);
    let text = text.ok();
    for word in
        ["before", "after", "moves", "refused", "messages", "last move", "on a node", "ring"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    for (arguments, says) in [
        (&["--graph", "heap"][..], "--graph: 'heap' is not allowed: communities, ring, star"),
        (&["--nodes", "0"], "--nodes: '0' is not allowed: 1 to 100000"),
        (&["--exchanges-max", "1025"], "--exchanges-max: '1025' is not allowed: 1 to 1024"),
        (&["--nodes", "100000", "--actors", "1000"], "at most 2000000 are simulated"),
    ] {
        run(&[&["sim", "placement"], arguments].concat()).refused(&[says]);
    }
}
