//! Recorded trees, written by the tests themselves.

use super::*;
use crate::Distance;
use crate::testing::Folder;

/// One PU of a tree.
struct Recorded {
    pu: u32,
    package: u32,
    core: u32,
    siblings: &'static str,
    l3: &'static str,
}

fn write_pu(folder: &Folder, recorded: &Recorded) {
    let cpu = format!("cpu/cpu{}", recorded.pu);
    let write =
        |path: &str, text: &str| folder.write(&format!("{cpu}/{path}"), &format!("{text}\n"));
    write("topology/physical_package_id", &recorded.package.to_string());
    write("topology/core_id", &recorded.core.to_string());
    write("topology/core_cpus_list", recorded.siblings);
    for (index, level, kind, size, shared) in [
        (0, 1, "Data", "32K", recorded.siblings),
        (1, 1, "Instruction", "64K", recorded.siblings),
        (2, 2, "Unified", "1M", recorded.siblings),
        (3, 3, "Unified", "16384K", recorded.l3),
    ] {
        let write = |file: &str, text: &str| write(&format!("cache/index{index}/{file}"), text);
        write("level", &level.to_string());
        write("type", kind);
        write("size", size);
        write("coherency_line_size", "64");
        write("shared_cpu_list", shared);
    }
}

fn write_node(folder: &Folder, node: u32, pus: &str, gib: u64, distances: &str) {
    let write = |file: &str, text: &str| folder.write(&format!("node/node{node}/{file}"), text);
    write("cpulist", &format!("{pus}\n"));
    write(
        "meminfo",
        &format!("Node {node} MemTotal:  {} kB\nNode {node} MemFree: 1 kB\n", gib << 20),
    );
    write("distance", distances);
}

/// 2 packages of 2 NUMA nodes of 1 core with 2 PUs; PU 7 is offline, and node 9 is memory only.
fn two_packages() -> Folder {
    let folder = Folder::new();
    folder.write("cpu/online", "0-6\n");
    folder.write("cpu/present", "0-7\n");
    for pu in 0..7 {
        write_pu(
            &folder,
            &Recorded {
                pu,
                package: pu % 4 / 2,
                core: pu % 2,
                siblings: ["0,4", "1,5", "2,6", "3"][pu as usize % 4],
                l3: ["0,4", "1,5", "2,6", "3"][pu as usize % 4],
            },
        );
    }
    folder.write("node/online", "0-3,9\n");
    for (node, pus) in ["0,4", "1,5", "2,6", "3"].iter().enumerate() {
        write_node(&folder, node as u32, pus, 4, "10 12 20 20 30");
    }
    write_node(&folder, 9, "", 16, "30 30 30 30 10");
    folder
}

#[test]
fn two_packages_with_everything() {
    let folder = two_packages();
    let machine = Topology::from_sysfs(folder.path()).unwrap();
    assert_eq!(machine.warnings(), [""; 0]);
    assert_eq!(machine.packages().len(), 2);
    assert_eq!(machine.packages()[0].pus.to_string(), "0-1,4-5");
    assert_eq!(machine.cores().len(), 4);
    assert_eq!(machine.pus().len(), 7);
    assert_eq!(machine.offline().to_string(), "7");
    assert_eq!(machine.caches().len(), 16);

    let memory: Vec<_> = machine.numa_nodes().iter().map(|node| node.memory_bytes).collect();
    let gib = |n: u64| Some(n << 30);
    assert_eq!(memory, [gib(4), gib(4), gib(4), gib(4), gib(16)]);
    assert!(machine.numa_nodes()[4].pus.is_empty());
    assert_eq!(machine.numa_nodes()[4].os_index, 9);
    assert_eq!(machine.numa_distances().unwrap()[4], [30, 30, 30, 30, 10]);

    let l3 = &machine.caches()[machine.pu(PuId(4)).unwrap().l3.unwrap()];
    assert_eq!((l3.level, l3.size_bytes, l3.line_bytes), (3, Some(16 << 20), Some(64)));
    assert_eq!(l3.pus.to_string(), "0,4");

    let from_0 = [4, 1, 2].map(|pu| machine.distance(PuId(0), PuId(pu)));
    assert_eq!(from_0, [Distance::Core, Distance::Package, Distance::Machine]);
    assert_eq!(machine.choose_pus(5).unwrap(), [0, 1, 2, 3, 4].map(PuId));
}

#[test]
fn the_folder_may_stand_for_the_root_or_sys() {
    for prefix in ["sys/devices/system", "devices/system"] {
        let folder = Folder::new();
        folder.write(&format!("{prefix}/cpu/online"), "0-2\n");
        let machine = Topology::from_sysfs(folder.path()).unwrap();
        assert_eq!(machine.pus().len(), 3);
    }
    let error = Topology::from_sysfs(Folder::new().path()).unwrap_err();
    assert!(error.to_string().contains("no topology here"), "{error}");
}

#[test]
fn a_container_without_caches_and_nodes() {
    let folder = Folder::new();
    folder.write("cpu/online", "2,40-41\n");
    let machine = Topology::from_sysfs(folder.path()).unwrap();
    assert_eq!(machine.packages().len(), 1);
    assert_eq!(machine.numa_nodes().len(), 1);
    assert_eq!(machine.cores().len(), 3);
    assert!(machine.caches().is_empty());
    assert_eq!(machine.distance(PuId(2), PuId(41)), Distance::NumaNode);
    let warnings = machine.warnings().join("\n");
    for said in ["one NUMA node", "PUs 2,40-41: cache", "one package", "each counts as a core"] {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
}

#[test]
fn without_a_list_the_folders_count() {
    let folder = Folder::new();
    for (pu, online) in [(0, None), (5, Some("1")), (6, Some("0"))] {
        folder.write(&format!("cpu/cpu{pu}/topology/core_id"), "0");
        if let Some(online) = online {
            folder.write(&format!("cpu/cpu{pu}/online"), online);
        }
    }
    folder.write("cpu/cpufreq/x", "");
    let machine = Topology::from_sysfs(folder.path()).unwrap();
    assert_eq!(machine.allowed().to_string(), "0,5");
    assert_eq!(machine.offline().to_string(), "6");
}

#[test]
fn old_kernels_have_masks_only() {
    let folder = Folder::new();
    folder.write("cpu/online", "0-3");
    for pu in 0..4 {
        let mask = ["3", "c"][pu / 2];
        folder.write(&format!("cpu/cpu{pu}/topology/thread_siblings"), mask);
        folder.write(&format!("cpu/cpu{pu}/topology/physical_package_id"), "-1");
        folder.write(&format!("cpu/cpu{pu}/cache/index0/level"), "3");
        folder.write(&format!("cpu/cpu{pu}/cache/index0/type"), "Unified");
        folder.write(&format!("cpu/cpu{pu}/cache/index0/shared_cpu_map"), "0000000f");
    }
    folder.write("node/node0/cpumap", "0000000f");
    let machine = Topology::from_sysfs(folder.path()).unwrap();
    assert_eq!(machine.cores().len(), 2);
    assert_eq!(machine.caches().len(), 1);
    assert_eq!(machine.numa_nodes()[0].pus.len(), 4);
    assert_eq!(machine.packages().len(), 1);
}

#[test]
fn garbage_is_survived() {
    let files = [
        "cpu/online",
        "cpu/present",
        "cpu/cpu0/topology/physical_package_id",
        "cpu/cpu0/topology/core_cpus_list",
        "cpu/cpu0/cache/index3/level",
        "cpu/cpu0/cache/index3/shared_cpu_list",
        "cpu/cpu0/cache/index3/size",
        "node/online",
        "node/node0/cpulist",
        "node/node0/meminfo",
        "node/node0/distance",
    ];
    let folder = two_packages();
    // Miri takes a second for each tree.
    let few = if cfg!(miri) { 1 } else { files.len() };
    for file in &files[..few] {
        let before = fs::read_to_string(folder.path().join(file)).unwrap();
        for garbage in
            ["", "x", "-1", "4294967296", "7-3", "900", "\u{1F600}", "99999999999999999999K"]
        {
            folder.write(file, garbage);
            if let Ok(machine) = Topology::from_sysfs(folder.path()) {
                let _ = (machine.to_tree(), machine.to_table(), machine.choose_pus(1));
            }
        }
        folder.write(file, &before);
    }
    folder.write("cpu/online", "x");
    let machine = Topology::from_sysfs(folder.path()).unwrap();
    assert!(machine.warnings()[0].contains("cpu/online is missing or unreadable"));
    assert_eq!(machine.pus().len(), 7);
    folder.write("cpu/online", "0-1000000");
    let error = Topology::from_sysfs(folder.path()).unwrap_err();
    assert_eq!(error, TopologyError::TooManyPus { count: 1_000_001 });
}

#[test]
fn sizes_have_units() {
    for (text, expected) in [
        ("32K", Some(32 << 10)),
        ("2M", Some(2 << 20)),
        ("100", Some(100)),
        ("0K", None),
        ("K", None),
        ("1X", None),
        ("18446744073709551615K", None),
    ] {
        assert_eq!(bytes(text), expected, "{text}");
    }
}
