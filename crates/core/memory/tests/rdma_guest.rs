//! Registration with software RDMA on a real kernel with four NUMA nodes: runs as init of the
//! machine that `qemu/boot.sh` emulates (`./check rdma`). Started otherwise, it says so and ends.
//!
//! A program of its own: it is the init of an emulated machine.

// no-sanitizer: what runs in an emulated machine is tested there.

use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Arc;

use actinium_memory::fabric::{Register, Verbs, pinned_bytes};
use actinium_memory::{Mode, PageSize, Placement, Segment, SegmentBuilder, Size};

const MIB: usize = 1 << 20;

fn main() {
    if std::process::id() != 1 {
        println!("skipped: for the emulated machine of ./check rdma");
        return;
    }
    let works = catch_unwind(|| {
        mount();
        load_modules();
        add_adapter();
    });
    let mut failed = usize::from(works.is_err());
    for (name, check) in CHECKS {
        match catch_unwind(check) {
            Ok(()) => println!("ok      {name}"),
            Err(_) => {
                println!("FAILED  {name}");
                failed += 1;
            }
        }
    }
    println!("TEST {}", if failed == 0 { "PASS" } else { "FAIL" });
    // SAFETY: the machine has nothing else to do.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
}

const CHECKS: &[(&str, fn())] = &[
    ("cold memory is registered where the registering thread is", cold_is_on_one_node),
    ("a static segment is pinned evenly", static_is_even),
    ("a static segment in the background too", background_is_even),
    ("dynamic registration keeps to its bound", dynamic_is_bounded),
    ("an adapter that is not there is named, with those that are", adapters_are_named),
];

fn mount() {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        let _ = fs::create_dir(at);
        let [kind, at] = [kind, at].map(|text| CString::new(text).expect("no zeros"));
        // SAFETY: the strings end in zeros and are alive; the last argument may be null.
        unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    }
}

/// In the order of their names, which begin with numbers.
fn load_modules() {
    let entries = fs::read_dir("/modules").expect("modules");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for path in files {
        let file = fs::File::open(&path).expect("a module");
        // SAFETY: the file is open, and the parameters are an empty string.
        let code =
            unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
        // Some kernels have one or the other built in.
        let error = std::io::Error::last_os_error();
        let is_there = code == 0 || error.raw_os_error() == Some(libc::EEXIST);
        assert!(is_there, "{}: {error}", path.display());
    }
}

/// The module `dummy` comes with a first device.
fn add_adapter() {
    for line in ["/bin/ip link set dummy0 up", "/bin/rdma link add rxe0 type rxe netdev dummy0"] {
        let words: Vec<&str> = line.split(' ').collect();
        let status = Command::new(words[0]).args(&words[1..]).status().expect("a program");
        assert!(status.success(), "{line}: {status}");
    }
}

fn adapter() -> Arc<Verbs> {
    Arc::new(Verbs::open(Some("rxe0")).expect("the adapter"))
}

fn builder(mib: usize) -> SegmentBuilder {
    Segment::builder().size(Size::Bytes((mib * MIB) as u64)).pages(PageSize::Base).threads(8)
}

/// Bytes on nodes 0 to 3.
fn on_nodes(segment: &Segment) -> Vec<u64> {
    let nodes = segment.stats().nodes;
    (0..4).map(|node| nodes.iter().find(|on| on.node == node).map_or(0, |on| on.bytes)).collect()
}

fn cold_is_on_one_node() {
    let how = Register::Dynamic { bytes_max: 256 << 20 };
    let builder = builder(256).placement(Placement::FirstTouch).mode(Mode::Lazy);
    let segment = builder.register(adapter(), how).build().expect("memory");
    let lease = segment.lease(0..segment.len()).expect("it fits");
    let figures = segment.registration().expect("a fabric");
    println!("cold: 256 MiB registered in {:.3} s", figures.elapsed_s);
    assert!(lease.parts().iter().all(|part| Verbs::local_key(part.key) != 0));
    // Alone as init, it is bound to no node and may move to another between two chunks.
    let nodes = on_nodes(&segment);
    println!("cold: bytes by node {nodes:?}");
    assert_eq!(nodes.iter().sum::<u64>(), 256 << 20);
    assert!(nodes.iter().any(|&bytes| bytes > 128 << 20), "{nodes:?}");
    assert_eq!(pinned_bytes(), Some(256 << 20));
    drop(lease);
    drop(segment);
    assert_eq!(pinned_bytes(), Some(0));
}

fn static_is_even() {
    let segment = builder(256).register(adapter(), Register::Static).build().expect("memory");
    let figures = segment.registration().expect("a fabric");
    println!("warm: 256 MiB registered in {:.3} s of all threads", figures.elapsed_s);
    println!("warm: bytes by node {:?}", on_nodes(&segment));
    assert_eq!(on_nodes(&segment), [64 << 20; 4]);
    assert_eq!((figures.bytes, figures.registered), (256 << 20, 16));
    assert_eq!(figures.pinned_bytes, Some(256 << 20));
    let lease = segment.lease(17 * MIB..18 * MIB).expect("it is there");
    assert_eq!((lease.parts().len(), segment.registration().expect("a fabric").hits), (1, 1));
}

fn background_is_even() {
    let builder = builder(64).mode(Mode::Background).register(adapter(), Register::Static);
    let mut segment = builder.build().expect("memory");
    segment.bytes().expect("private")[..3 * MIB].fill(1);
    drop(segment.lease(0..MIB).expect("whoever comes first"));
    segment.wait().expect("memory");
    assert_eq!(on_nodes(&segment), [16 << 20; 4]);
    let figures = segment.registration().expect("a fabric");
    assert_eq!((figures.bytes, figures.registered), (64 << 20, 4));
}

fn dynamic_is_bounded() {
    let how = Register::Dynamic { bytes_max: 8 << 20 };
    let segment = builder(64).register(adapter(), how).build().expect("memory");
    for from in (0..64 * MIB).step_by(2 * MIB) {
        drop(segment.lease(from..from + MIB).expect("it fits"));
        assert!(pinned_bytes() <= Some(8 << 20));
    }
    let figures = segment.registration().expect("a fabric");
    assert_eq!((figures.registered, figures.evicted, figures.chunks), (32, 28, 4));
}

fn adapters_are_named() {
    assert_eq!(Verbs::adapters().expect("a list"), ["rxe0"]);
    let error = Verbs::open(Some("mlx5_0")).expect_err("no such").to_string();
    assert_eq!(error, "verbs: no adapter 'mlx5_0': rxe0");
    assert!(!Verbs::open(None).expect("the first").protection_domain().is_null());
}
