//! Placement on a real kernel with four NUMA nodes: runs as init of the machine that `qemu/boot.sh`
//! emulates (`./check numa`). Started otherwise, it says so and ends.
//!
//! A program of its own: it is the init of an emulated machine.

// no-sanitizer: what runs in an emulated machine is tested there.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::panic::catch_unwind;
use std::process::Command;

use actinium_memory::{
    MemoryError, Mode, PageSize, Placement, Segment, SegmentBuilder, Size, Warning,
};
use actinium_topology::{PuId, Topology, bind_current_thread, bind_current_thread_to};

const MIB: u64 = 1 << 20;

fn main() {
    if std::process::id() != 1 {
        println!("skipped: for the emulated machine of ./check numa");
        return;
    }
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        let _ = fs::create_dir(at);
        let [kind, at] = [kind, at].map(|text| CString::new(text).expect("no zeros"));
        // SAFETY: the strings end in zeros and are alive; the last argument may be null.
        unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    }
    let mut failed = 0;
    for (name, check) in CHECKS {
        match catch_unwind(check) {
            Ok(()) => println!("ok      {name}"),
            Err(_) => {
                println!("FAILED  {name}");
                failed += 1;
            }
        }
    }
    failed += others();
    println!("TEST {}", if failed == 0 { "PASS" } else { "FAIL" });
    // SAFETY: the machine has nothing else to do.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
}

/// Runs the test binaries that were put into the guest's folder `also`; how many of them failed.
fn others() -> usize {
    let Ok(folder) = fs::read_dir("/also") else { return 0 };
    let mut failed = 0;
    for file in folder {
        let path = file.expect("a file").path();
        // One test at a time: each looks at where all of its process's memory is.
        let ended = Command::new(&path).args(["--test-threads=1", "--nocapture"]).status();
        let is_well = ended.is_ok_and(|status| status.success());
        println!("{}  {}", if is_well { "ok    " } else { "FAILED" }, path.display());
        failed += usize::from(!is_well);
    }
    failed
}

const CHECKS: &[(&str, fn())] = &[
    ("the machine is as it was asked for", machine_is_right),
    ("work is stolen from near nodes first", near_first),
    ("interleaving is even, whatever the number of threads", interleave_is_even),
    ("interleaving is even in huge pages", interleave_is_even_in_huge_pages),
    ("interleaving is even in the background", interleave_is_even_in_the_background),
    ("interleaving is even by touching", interleave_is_even_by_touching),
    ("interleaving is even in a file", interleave_is_even_in_a_file),
    ("interleaving over some nodes leaves others alone", interleave_over_some),
    ("weights need a newer kernel, and that is said", weights_are_refused),
    ("bound memory is there and nowhere else", bind_is_strict),
    ("first touch is by the worker that has the part", first_touch_is_the_worker_s),
    ("untouched memory goes to whoever touches it", lazy_is_the_toucher_s),
    ("arenas are local to their workers", arenas_are_local),
    ("numa_maps says the same", numa_maps_agree),
    ("binding past a node is refused, not killed", past_a_node_is_refused),
    ("a node that is nearly full is warned of", a_full_node_is_warned_of),
    ("threads keep to the process's PUs", threads_keep_to_the_cpuset),
    ("a pool's huge pages are used, counted and placed", the_pool_is_placed),
    ("a cgroup's limit is refused, not killed", past_a_cgroup_is_refused),
];

fn machine() -> Topology {
    Topology::detect().expect("a machine")
}

fn builder(mib: u64) -> SegmentBuilder {
    Segment::builder().size(Size::Bytes(mib * MIB)).pages(PageSize::Base)
}

/// The same in huge pages, which are faulted in sooner.
fn huge(mib: u64) -> SegmentBuilder {
    builder(mib).pages(PageSize::TransparentHuge)
}

/// Bytes on nodes 0 to 3.
fn on_nodes(segment: &Segment) -> Vec<u64> {
    let stats = segment.stats();
    assert_eq!(stats.absent_bytes, Some(0));
    (0..4)
        .map(|node| stats.nodes.iter().find(|on| on.node == node).map_or(0, |on| on.bytes))
        .collect()
}

/// Within 2 % of a quarter each.
#[track_caller]
fn is_even(segment: &Segment) {
    let (quarter, nodes) = (segment.len() as f64 / 4.0, on_nodes(segment));
    let is_even = nodes.iter().all(|&bytes| (bytes as f64 / quarter - 1.0).abs() < 0.02);
    assert!(is_even, "{nodes:?}");
}

fn node_of(machine: &Topology, pu: PuId) -> u32 {
    let index = machine.pu(pu).and_then(|pu| pu.numa_node).expect("each PU has a node");
    machine.numa_nodes()[index].os_index
}

fn machine_is_right() {
    let machine = machine();
    assert_eq!((machine.pus().len(), machine.numa_nodes().len()), (8, 4));
    let row = &machine.numa_distances().expect("distances")[0];
    assert_eq!(row, &[10, 16, 32, 32]);
}

fn near_first() {
    let machine = machine();
    let order = machine.neighbours(PuId(0));
    let nodes: Vec<u32> = order.iter().map(|&(pu, _)| node_of(&machine, pu)).collect();
    assert_eq!(nodes[..3], [0, 1, 1], "{nodes:?}");
}

fn interleave_is_even() {
    for threads in [1, 6, 8] {
        is_even(&builder(16).threads(threads).build().expect("memory"));
    }
}

fn interleave_is_even_in_huge_pages() {
    let segment = huge(32).threads(6).build().expect("memory");
    is_even(&segment);
    assert!(segment.stats().transparent_huge_bytes >= 16 * MIB, "{:?}", segment.stats());
}

fn interleave_is_even_in_the_background() {
    let mut segment = builder(16).threads(3).mode(Mode::Background).build().expect("memory");
    segment.bytes().expect("private")[..2 << 20].fill(1);
    segment.wait().expect("memory");
    is_even(&segment);
}

fn interleave_is_even_by_touching() {
    // Emulated, the exchanges that touch are slow.
    is_even(&builder(2).threads(6).touch(true).build().expect("memory"));
}

fn interleave_is_even_in_a_file() {
    is_even(&builder(16).file("shared").threads(6).build().expect("memory"));
}

fn interleave_over_some() {
    let placement = "interleave:1,3".parse().expect("a placement");
    let nodes = on_nodes(&builder(16).placement(placement).build().expect("memory"));
    assert_eq!(nodes, [0, 8 * MIB, 0, 8 * MIB]);
}

fn weights_are_refused() {
    let segment = builder(16).placement(Placement::WeightedInterleave).build().expect("memory");
    // A kernel that has weights has them all at 1 here.
    let warnings = segment.warnings();
    let is_said = warnings.iter().all(|warning| matches!(warning, Warning::Weights { .. }));
    assert!(is_said && warnings.len() <= 1, "{warnings:?}");
    is_even(&segment);
}

fn bind_is_strict() {
    for node in 0..4_u32 {
        let placement = Placement::Bind([node].into_iter().collect());
        let segment = builder(16).placement(placement).build().expect("memory");
        let figures = segment.fault_figures().expect("it is eager");
        assert!(figures.threads.iter().all(|thread| thread.node == Some(node)), "{figures:?}");
        assert_eq!(on_nodes(&segment)[node as usize], 16 * MIB);
    }
}

fn first_touch_is_the_worker_s() {
    let machine = machine();
    let builder = builder(16).placement(Placement::FirstTouch).threads(8);
    let segment = builder.build().expect("memory");
    let pus = machine.choose_pus(8).expect("eight");
    for (arena, pu) in segment.arenas().iter().zip(pus) {
        let expected = BTreeMap::from([(node_of(&machine, pu), arena.range.len() as u64)]);
        assert_eq!(segment.places(arena.range.clone()), Some(expected));
    }
}

fn lazy_is_the_toucher_s() {
    let builder = builder(16).placement(Placement::FirstTouch).mode(Mode::Lazy);
    let mut segment = builder.build().expect("memory");
    std::thread::scope(|scope| {
        let bytes = segment.bytes().expect("private");
        scope.spawn(move || {
            bind_current_thread(PuId(5)).expect("it is there");
            bytes.fill(1);
        });
    });
    assert_eq!(on_nodes(&segment), [0, 0, 16 * MIB, 0]);
}

fn arenas_are_local() {
    let machine = machine();
    let pus: Vec<PuId> = [7, 0, 4, 3].map(PuId).to_vec();
    let placement = Placement::Local(pus.clone());
    for mode in [Mode::Eager, Mode::Background] {
        let builder = builder(16).placement(placement.clone()).threads(3).mode(mode);
        let segment = builder.build().expect("memory");
        segment.wait().expect("memory");
        for (arena, &pu) in segment.arenas().iter().zip(&pus) {
            let node = node_of(&machine, pu);
            assert_eq!(arena.node, Some(node));
            let expected = BTreeMap::from([(node, arena.range.len() as u64)]);
            assert_eq!(segment.places(arena.range.clone()), Some(expected));
        }
    }
}

fn numa_maps_agree() {
    let segment = builder(16).build().expect("memory");
    let from = format!("{:x} ", segment.start().as_ptr() as usize);
    let maps = fs::read_to_string("/proc/self/numa_maps").expect("the kernel has it");
    let line = maps.lines().find_map(|line| line.strip_prefix(&from)).expect("the segment's");
    assert!(line.starts_with("interleave:0-3"), "{line}");
    let nodes = line.split(' ').filter_map(|word| {
        let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
        Some((node.parse::<usize>().ok()?, pages.parse::<u64>().ok()?))
    });
    let expected = on_nodes(&segment);
    for (node, pages) in nodes {
        assert_eq!(pages * 4096, expected[node], "{line}");
    }
}

fn past_a_node_is_refused() {
    let placement: Placement = "bind:1".parse().expect("a placement");
    let error = builder(700).placement(placement.clone()).build().expect_err("too much");
    assert!(matches!(error, MemoryError::TooLarge { .. }), "{error}");
    assert!(error.to_string().contains("free on nodes 1"), "{error}");
    drop(huge(200).placement(placement).build().expect("this fits"));
}

fn a_full_node_is_warned_of() {
    // How much is free depends on the kernel, and on what else lies in the memory that we were
    // started from.
    let file = "/sys/devices/system/node/node3/meminfo";
    let text = fs::read_to_string(file).expect("the kernel has it");
    let line = text.lines().find_map(|line| line.split_once("MemFree:"));
    let word = line.and_then(|(_, rest)| rest.split_whitespace().next()).expect("a number");
    let free_mib = word.parse::<u64>().expect("a number") >> 10;
    let placement = "bind:3".parse().expect("a placement");
    let _full = huge(free_mib - 40).placement(placement).build().expect("memory");
    let segment = huge(400).build().expect("elsewhere there is room");
    let warnings = segment.warnings();
    let short = warnings.iter().any(|one| matches!(one, Warning::NodeShort { node: 3, .. }));
    assert!(short && warnings.len() == 1, "{warnings:?}");
    assert!(on_nodes(&segment)[3] < 100 * MIB);
}

fn threads_keep_to_the_cpuset() {
    let all = machine().allowed().clone();
    bind_current_thread_to(&"6-7".parse().expect("PUs")).expect("they are there");
    let segment = builder(16).threads(2).build().expect("memory");
    let figures = segment.fault_figures().expect("it is eager");
    assert!(figures.threads.iter().all(|thread| thread.node == Some(3)), "{figures:?}");
    is_even(&segment);
    bind_current_thread_to(&all).expect("they are ours");
}

fn the_pool_is_placed() {
    // 8 pages on each node. They stay for the tests that run after these.
    fs::write("/proc/sys/vm/nr_hugepages", "32").expect("we are root");
    let pool = |mib: u64, placement: &str| {
        let placement = placement.parse().expect("a placement");
        let builder = builder(mib).pages(PageSize::Huge(2 << 20)).placement(placement);
        builder.threads(6).build().expect("memory")
    };
    let segment = pool(16, "interleave");
    assert_eq!((segment.warnings().len(), segment.stats().pool_bytes), (0, 16 * MIB));
    is_even(&segment);
    drop(segment);
    assert_eq!(on_nodes(&pool(16, "bind:2")), [0, 0, 16 * MIB, 0]);
    let segment = pool(18, "bind:2");
    let warnings = segment.warnings();
    let is_said =
        matches!(&warnings[..], [Warning::Pages { used, .. }] if *used != PageSize::Huge(2 << 20));
    assert!(is_said && segment.stats().pool_bytes == 0, "{warnings:?}");
    assert_eq!(on_nodes(&segment), [0, 0, 18 * MIB, 0]);
}

fn past_a_cgroup_is_refused() {
    let [kind, at] = [c"cgroup2", c"/sys/fs/cgroup"];
    // SAFETY: the strings end in zeros and are alive; the last argument may be null.
    let code =
        unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
    let write = |file: &str, text: &str| {
        fs::write(format!("/sys/fs/cgroup/{file}"), text)
            .unwrap_or_else(|error| panic!("{file}: {error}"));
    };
    write("cgroup.subtree_control", "+memory");
    fs::create_dir("/sys/fs/cgroup/small").expect("a cgroup");
    write("small/memory.max", "67108864");
    write("small/cgroup.procs", "1");
    for mode in [Mode::Eager, Mode::Background, Mode::Lazy] {
        let error = builder(100).mode(mode).build().expect_err("too much");
        assert!(matches!(error, MemoryError::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("cgroup, /sys/fs/cgroup/small/memory.max"), "{error}");
    }
    is_even(&builder(32).build().expect("this fits"));
    let half = Segment::builder().size(Size::Share(0.5)).mode(Mode::Lazy).build();
    assert_eq!(half.expect("half of the cgroup's").len() as u64, 32 * MIB);
    write("cgroup.procs", "1");
    drop(builder(100).build().expect("there is no such limit any more"));
}
