use proptest::prelude::*;

use super::*;
use crate::Distance;

fn machine(text: &str) -> Topology {
    Topology::synthetic(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> SyntheticError {
    match Topology::synthetic(text) {
        Err(TopologyError::Synthetic(error)) => error,
        other => panic!("{text}: {other:?}"),
    }
}

/// The PUs in logical order: what hwloc's `lstopo -p` shows.
fn order(text: &str) -> Vec<u32> {
    let machine = machine(text);
    let order = machine.cores().iter().flat_map(|core| core.pus.iter());
    order.map(|pu| pu.0).collect()
}

#[test]
fn levels_multiply() {
    let machine = machine("node:2 pack:1 l3:2 l2:4 core:1 pu:2");
    assert_eq!(machine.numa_nodes().len(), 2);
    assert_eq!(machine.packages().len(), 2);
    assert_eq!(machine.cores().len(), 16);
    assert_eq!(machine.pus().len(), 32);
    assert_eq!(machine.caches().len(), 4 + 16);
    assert_eq!(machine.packages()[1].pus.to_string(), "16-31");
    assert_eq!(machine.caches()[1].pus.to_string(), "8-15");
    assert!(machine.warnings().is_empty());
    assert_eq!(machine.allowed().len(), 32);
}

#[test]
fn names_may_be_long_short_or_in_capitals() {
    let short = machine("pack:1 node:1 l3:1 l1d:2 l1i:1 core:1 pu:1");
    let long = machine(" Package:1 NUMANode:1 L3Cache:1\tL1dCache:2 L1iCache:1 Core:1 PU:1 ");
    assert_eq!(short.caches(), long.caches());
    assert_eq!(short.pus(), long.pus());
    assert_eq!(machine("socket:2 group:2 group:2 die:3 pu:1").pus().len(), 24);
}

#[test]
fn attributes_are_kept() {
    let machine = machine("node:2(memory=4GB) l3:1(size=8MiB) core:2 pu:1(indexes=3,1,2,0)");
    assert_eq!(machine.numa_nodes()[0].memory_bytes, Some(4_000_000_000));
    assert_eq!(machine.numa_nodes()[0].pus.to_string(), "1,3");
    assert_eq!(machine.caches()[0].size_bytes, Some(8 << 20));
    for separator in [" ", ",", ", "] {
        let text = format!("node:2(indexes=5,3{separator}memory=1kib) pu:1");
        let nodes = Topology::synthetic(&text).unwrap().numa_nodes().to_vec();
        let nodes: Vec<_> = nodes.iter().map(|node| (node.os_index, node.memory_bytes)).collect();
        assert_eq!(nodes, [(5, Some(1024)), (3, Some(1024))], "{text}");
    }
}

#[test]
fn defaults_are_those_of_hwloc() {
    let machine = machine("l4:1 l3:1 l2:1 l1d:1 pu:1");
    let sizes: Vec<_> = machine.caches().iter().map(|cache| cache.size_bytes.unwrap()).collect();
    assert_eq!(sizes, [64 << 20, 16 << 20, 4 << 20, 32 << 10]);
    assert_eq!(machine.numa_nodes()[0].memory_bytes, Some(1 << 30));
}

#[test]
fn what_lstopo_writes_is_read() {
    let machine = machine(
        "Package:1 [NUMANode(memory=8281874432)] L3Cache:1(size=33554432) L2Cache:2(size=524288) \
         L1dCache:1(size=32768) L1iCache:1(size=32768) Core:1 PU:1",
    );
    assert_eq!(machine.numa_nodes()[0].memory_bytes, Some(8_281_874_432));
    assert_eq!(machine.distance(PuId(0), PuId(1)), Distance::L3);
}

#[test]
fn attached_nodes_are_numbered_from_the_inside_out() {
    let nodes = |text: &str| -> Vec<String> {
        let machine = machine(text);
        let nodes = machine.numa_nodes().iter();
        nodes.map(|node| format!("{}: {}", node.os_index, node.pus)).collect()
    };
    // As lstopo 2.9 shows it.
    assert_eq!(nodes("[numa] pack:2 [numa] pu:2"), ["0: 0-1", "1: 2-3", "2: 0-3"]);
    assert_eq!(nodes("pack:2 [numa][numa] pu:2"), ["0: 0-1", "1: 0-1", "2: 2-3", "3: 2-3"]);
    assert_eq!(nodes("pack:2 [numa(indexes=3,1)] pu:1"), ["3: 0", "1: 1"]);
}

#[test]
fn indexes_in_three_ways() {
    // As lstopo 2.9 shows it.
    // (It does not know `pu` as a name there.)
    for indexes in ["4*2:2*2:1*2", "0,4,2,6,1,5,3,7", "pack:core", "pack:core:pu"] {
        let text = format!("pack:2 core:2 pu:2(indexes={indexes})");
        assert_eq!(order(&text), [0, 4, 2, 6, 1, 5, 3, 7], "{indexes}");
    }
    assert_eq!(order("pack:2 core:2 pu:2(indexes=1*2:2*2:4*2)"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order("core:4 pu:2(indexes=core)"), [0, 4, 1, 5, 2, 6, 3, 7]);
    let cores = machine("pack:2(indexes=1,0) core:2(indexes=0,1,0,1) pu:1");
    let cores: Vec<u32> = cores.cores().iter().map(|core| core.os_index).collect();
    assert_eq!(cores, [0, 1, 0, 1]);
}

#[test]
fn errors_say_where_and_what_is_allowed() {
    for (text, position, found, expected) in [
        ("", 1, "", "pu:COUNT as the last level"),
        ("core:2", 7, "", "pu:COUNT as the last level"),
        ("core:2 croe:2", 8, "croe", "one of package"),
        ("machine:1 pu:2", 1, "machine", "one of package"),
        ("4 2", 1, "4", "one of package"),
        ("core", 5, "", "':' and a count"),
        ("core:x pu:1", 6, "x", "a count from 1 to 65536"),
        ("core:0 pu:1", 6, "0", "a count from 1"),
        ("core:300 pu:300", 13, "300", "a count from 1 to 218 (at most 65536 PUs)"),
        ("core:99999999999999999999 pu:1", 6, "99999999999999999999", "a count"),
        ("core:2pu:1", 7, "pu:1", "a blank"),
        ("core:2 core:2 pu:1", 8, "core", "each kind of level once"),
        ("pu:2 core:1", 6, "core:1", "the end: pu is the last level"),
        ("core:2(size=3) pu:1", 8, "size", "indexes= or ')'"),
        ("l2:2(size=3XB) pu:1", 11, "3XB", "a size"),
        ("l2:2(size) pu:1", 10, ")", "'='"),
        ("l2:2(size=3", 12, "", "size= or ')'"),
        ("pu:2(indexes=0)", 14, "0", "2 numbers up to"),
        ("pu:2(indexes=0,9999999)", 14, "0,9999999", "2 numbers up to"),
        ("pu:2(indexes=1,1)", 14, "1,1", "each number once"),
        ("pu:4(indexes=2*0)", 14, "2*0", "STEP*COUNT"),
        ("pu:4(indexes=1*2:1*2)", 14, "1*2:1*2", "loops that number 4 objects"),
        ("pu:4(indexes=3*2)", 14, "3*2", "loops that number 4 objects"),
        ("pu:4(indexes=core)", 14, "core", "names of this level and those before"),
        ("[core] pu:1", 2, "core", "numa"),
        ("[numa pu:1", 7, "pu:1", "']'"),
        ("numa:2 [numa] pu:1", 9, "numa", "either as a level or in brackets"),
        ("[numa] numa:2 pu:1", 8, "numa", "either as a level or in brackets"),
    ] {
        let error = error(text);
        assert_eq!((error.position, error.found.as_str()), (position, found), "{text}: {error}");
        assert!(error.expected.contains(expected), "{text}: {error}");
    }
}

#[test]
fn the_largest_machine_is_fine() {
    if cfg!(miri) {
        return; // Safe code, and hours there.
    }
    let machine = machine("package:8 numa:4 l3:8 l2:16 core:8 pu:2");
    assert_eq!(machine.pus().len(), crate::MAX_PUS);
    assert_eq!(machine.choose_pus(crate::MAX_PUS).unwrap().len(), crate::MAX_PUS);
}

fn level() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "package", "numa", "group", "die", "l3", "l2", "l1d", "l1i", "core", "pu", "x", "[numa]",
    ]);
    let attribute = prop::sample::select(vec![
        "",
        "(memory=1GB)",
        "(size=3KiB)",
        "(indexes=0,1)",
        "(indexes=1*2)",
        "(indexes=core:pu)",
        "(",
        "(=)",
    ]);
    (name, 0u32..5, attribute)
        .prop_map(|(name, count, attribute)| format!("{name}:{count}{attribute}"))
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,60}") {
        let _ = Topology::synthetic(&text);
    }

    #[test]
    fn no_near_miss_panics(
        levels in prop::collection::vec(level(), 0..7),
        tail in "[a-z0-9:()=,* \\[\\]]{0,20}",
    ) {
        let text = format!("{} {tail}", levels.join(" "));
        let _ = Topology::synthetic(&text);
    }

    #[test]
    fn every_machine_holds_together(
        counts in prop::collection::vec(1usize..4, 6),
        kinds in prop::sample::subsequence(vec!["package", "numa", "l3", "l2", "core", "pu"], 0..=5).prop_shuffle(),
    ) {
        let levels = kinds.iter().filter(|&&kind| kind != "pu").zip(&counts);
        let mut text: Vec<String> = levels.map(|(kind, count)| format!("{kind}:{count}")).collect();
        text.push(format!("pu:{}", counts[5]));
        let machine = machine(&text.join(" "));
        let n = machine.pus().len();
        let mut chosen = machine.choose_pus(n).unwrap();
        chosen.sort();
        chosen.dedup();
        prop_assert_eq!(chosen.len(), n);
        prop_assert_eq!(machine.neighbours(PuId(0)).len(), n - 1);
        prop_assert!(machine.to_tree().contains("PU 0"));
        for pu in machine.pus() {
            prop_assert!(machine.cores()[pu.core].pus.contains(pu.id));
            prop_assert!(machine.packages()[pu.package].pus.contains(pu.id));
        }
    }
}
