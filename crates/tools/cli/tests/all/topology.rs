//! `actinium topology`: what each flag does.

use crate::common::{at, run};

const MACHINE: &str = "package:2 numa:1 l3:1 core:4 pu:2";

#[test]
fn the_machine_is_shown_as_tree_or_as_table() {
    let tree = run(&["topology"]).ok();
    assert!(tree.starts_with("Machine: "), "{tree}");
    // Each call of these tests has claims of its own.
    let (machine, claims) = tree.split_once("\nClaims on PUs: in ").expect("they are told");
    assert!(std::path::Path::new(claims.trim()).is_dir(), "{claims}");
    assert!(run(&["topology", "--tree"]).ok().starts_with(machine));
    let table = run(&["topology", "--table"]).ok();
    assert!(table.contains("PU  core  L2  L3  NUMA node  package  allowed"), "{table}");
    assert_ne!(tree, table);
}

#[test]
fn json_has_a_schema_version_and_the_machine() {
    let json = run(&["topology", "--json", "--synthetic", MACHINE]).json();
    assert_eq!(json["schema_version"], 1);
    for (list, number) in [("packages", 2), ("cores", 8), ("pus", 16), ("numa_nodes", 2)] {
        assert_eq!(at(&json, list).as_array().map(Vec::len), Some(number), "{list}");
    }
}

#[test]
fn a_synthetic_machine_is_not_this_one() {
    let synthetic = run(&["topology", "--tree", "--synthetic", MACHINE]).ok();
    assert!(synthetic.contains(MACHINE), "{synthetic}");
    assert_ne!(synthetic, run(&["topology", "--tree"]).ok());
}

#[test]
fn a_recorded_machine_is_shown() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded-sys");
    let cpu = folder.join("cpu");
    for pu in ["cpu0", "cpu1", "cpu2"] {
        let topology = cpu.join(pu).join("topology");
        std::fs::create_dir_all(&topology).expect("the folder can be made");
        std::fs::write(topology.join("physical_package_id"), "0\n").expect("it can be written");
        std::fs::write(topology.join("core_id"), &pu[3..]).expect("it can be written");
    }
    std::fs::write(cpu.join("online"), "0-2\n").expect("it can be written");
    let name = folder.to_str().expect("the path is UTF-8");
    let json = run(&["topology", "--json", "--sysfs", name]).json();
    assert_eq!(json["pus"].as_array().map(Vec::len), Some(3));
}

#[test]
fn machines_that_do_not_exist_are_refused() {
    for (arguments, start) in [
        (["--synthetic", "core:0"], "actinium: --synthetic: 'core:0': "),
        (["--synthetic", ""], "actinium: --synthetic: '': "),
        (["--sysfs", "/nowhere"], "actinium: --sysfs: '/nowhere': "),
    ] {
        let ran = run(&[&["topology"], &arguments[..]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ran.stderr.starts_with(start), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn one_form_and_one_machine_at_a_time() {
    for (arguments, line) in [
        (&["--json", "--tree"][..], "--json: not together with --tree"),
        (&["--tree", "--table"], "--tree: not together with --table"),
        (&["--synthetic", "core:1", "--sysfs", "/"], "--synthetic: not together with --sysfs"),
    ] {
        let ran = run(&[&["topology"], arguments].concat());
        assert_eq!(ran.code, Some(2));
        assert_eq!(ran.stderr, format!("actinium: {line}\n"));
    }
}

#[cfg(not(feature = "hwloc"))]
#[test]
fn hwloc_needs_its_feature() {
    let ran = run(&["topology", "--hwloc"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let start = "actinium: --hwloc: this command was built without the feature 'hwloc': ";
    assert!(ran.stderr.starts_with(start) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

#[cfg(feature = "hwloc")]
#[test]
fn hwloc_sees_the_same_pus() {
    let pus = |arguments: &[&str]| {
        let json = run(&[&["topology", "--json"], arguments].concat()).json();
        json["pus"].as_array().map(Vec::len)
    };
    assert_eq!(pus(&["--hwloc"]), pus(&[]));
}
