//! Segments registered with an io_uring: pinned for real, read into without a copy by the kernel,
//! refused clearly.
//!
//! One test at a time: what is pinned and locked is the whole process's.
//!
//! A program of its own: it forks, and measures what the process has locked.

#![cfg(all(feature = "io-uring", target_os = "linux", not(miri)))]

use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actinium_memory::fabric::{Register, UringBuffers, pinned_bytes};
use actinium_memory::{MemoryError, Mode, PageSize, Segment, SegmentBuilder, Size};
use io_uring::{opcode, types};

const MIB: usize = 1 << 20;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A ring, unless there is none here.
fn ring() -> Option<(MutexGuard<'static, ()>, Arc<UringBuffers>)> {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    match UringBuffers::new(8) {
        Ok(ring) => Some((guard, Arc::new(ring))),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

fn small(mib: usize) -> SegmentBuilder {
    Segment::builder().size(Size::Bytes((mib * MIB) as u64)).threads(2).pages(PageSize::Base)
}

fn pinned() -> u64 {
    pinned_bytes().expect("Linux says so")
}

/// A container may allow little.
fn built(builder: SegmentBuilder) -> Option<Segment> {
    match builder.build() {
        Ok(segment) => Some(segment),
        Err(error @ MemoryError::Fabric { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_static_segment_is_pinned_as_a_whole_and_let_go() {
    let Some((_guard, ring)) = ring() else { return };
    let before = pinned();
    for mode in [Mode::Eager, Mode::Background] {
        for pages in [PageSize::Base, PageSize::TransparentHuge] {
            let builder = small(40).pages(pages).mode(mode);
            let builder = builder.register(ring.clone(), Register::Static);
            let Some(segment) = built(builder) else { return };
            segment.wait().expect("memory");
            let figures = segment.stats().registration.expect("it has a fabric");
            assert_eq!((figures.bytes, figures.registered), (40 << 20, 3), "{figures:?}");
            assert_eq!((figures.fabric.as_str(), figures.how.as_str()), ("io-uring", "static"));
            assert!(figures.elapsed_s > 0.0);
            assert_eq!(figures.pinned_bytes, Some(before + (40 << 20)));
            drop(segment);
            // The kernel unpins when it comes to it.
            while pinned() > before {
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn the_kernel_reads_into_what_is_leased() {
    let Some((_guard, ring)) = ring() else { return };
    let how = Register::Dynamic { bytes_max: 4 << 20 };
    let Some(mut segment) = built(small(16).mode(Mode::Lazy).register(ring.clone(), how)) else {
        return;
    };
    let mut ring = Some(ring);
    let name = std::env::temp_dir().join(format!("actinium-register-{}", std::process::id()));
    std::fs::write(&name, b"straight into the segment").expect("a file");
    let file = std::fs::File::open(&name).expect("the file");
    std::fs::remove_file(&name).expect("it is ours");
    let at = 9 * MIB;
    {
        let lease = segment.lease(at..at + 25).expect("it fits");
        let [part] = lease.parts() else { panic!("{lease:?}") };
        let shared = ring.as_ref().expect("a ring");
        // SAFETY: the bytes lie within the segment.
        let start = unsafe { segment.start().add(at) }.as_ptr();
        let index = UringBuffers::index(part.key);
        let read = opcode::ReadFixed::new(types::Fd(file.as_raw_fd()), start, 25, index).build();
        // SAFETY: nobody else uses this ring's queues, and the buffer is leased until the request
        // is done.
        unsafe { shared.ring().submission_shared().push(&read).expect("an empty queue") };
        shared.ring().submit_and_wait(1).expect("it is submitted");
        // SAFETY: as above.
        let done = unsafe { shared.ring().completion_shared().next() }.expect("it is done");
        assert_eq!(done.result(), 25);
    }
    assert_eq!(&segment.bytes().expect("private")[at..at + 25], b"straight into the segment");
    // Pinned is what was used, and no more than was allowed.
    for from in (0..16 * MIB).step_by(MIB) {
        drop(segment.lease(from..from + MIB).expect("it fits"));
        assert!(segment.registration().expect("a fabric").bytes <= 4 << 20);
    }
    let figures = segment.registration().expect("a fabric");
    assert!(figures.evicted > 0 && figures.hits > 0, "{figures:?}");
    drop(segment);
    ring.take();
}

#[test]
fn what_makes_no_sense_is_refused() {
    let Some((_guard, ring)) = ring() else { return };
    let lazy = small(4).mode(Mode::Lazy).register(ring.clone(), Register::Static);
    let error = lazy.build().expect_err("it would fault all in");
    assert!(error.is_bad_request() && error.to_string().contains("'static'"), "{error}");
    let little = small(4).register(ring, Register::Dynamic { bytes_max: 4096 });
    let error = little.build().expect_err("not even one chunk");
    assert!(error.is_bad_request() && error.to_string().contains("at least one"), "{error}");
    let error = small(4).build().expect("memory").lease(0..1).expect_err("no fabric");
    assert!(error.is_bad_request(), "{error}");
}

/// Runs this in the child of a fork, and says how that ended.
fn in_a_child(work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    // SAFETY: the child uses what it is given here, with no other thread in need of a lock of its,
    // and ends at once.
    match unsafe { libc::fork() } {
        0 => {
            let said = work().err().unwrap_or_default();
            let _ = std::io::Write::write_all(&mut writer, said.as_bytes());
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) }
        }
        child => {
            drop(writer);
            let mut said = String::new();
            std::io::Read::read_to_string(&mut reader, &mut said).expect("the child's words");
            // SAFETY: the child is ours.
            assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
            if said.is_empty() { Ok(()) } else { Err(said) }
        }
    }
}

/// Takes `CAP_IPC_LOCK` from this process and lets it lock so many bytes.
fn may_lock(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit is alive.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) }, 0);
    // Version 3 of the interface, this thread; all three sets of both words are empty.
    let (header, none) = ([0x2008_0522_u32, 0], [0_u32; 6]);
    // SAFETY: the header and the sets are alive, and as large as that version has them.
    let code = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(code, 0);
}

#[test]
fn a_limit_of_locked_memory_is_named_before_anything_is_touched() {
    let Some((_guard, ring)) = ring() else { return };
    drop(ring);
    let said = in_a_child(|| {
        may_lock(1 << 20);
        let ring = Arc::new(UringBuffers::new(8).map_err(|error| error.to_string())?);
        let builder = small(16).threads(1).register(ring, Register::Static);
        builder.build().map(drop).map_err(|error| error.to_string())
    });
    let said = said.expect_err("16 MiB are more than 1");
    for words in ["io-uring: ", "16777216", "1048576", "RLIMIT_MEMLOCK, ulimit -l"] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn what_other_rings_have_locked_counts_too() {
    let Some((_guard, ring)) = ring() else { return };
    drop(ring);
    let said = in_a_child(|| {
        may_lock(1 << 20);
        let ring = || UringBuffers::new(8).map(Arc::new).map_err(|error| error.to_string());
        let one = |ring| {
            let how = Register::Dynamic { bytes_max: 700 << 10 };
            let builder = Segment::builder().size(Size::Bytes(700 << 10)).threads(1);
            builder.mode(Mode::Lazy).register(ring, how).build()
        };
        let (first, second) = (one(ring()?), one(ring()?));
        let (first, second) =
            (first.map_err(|e| e.to_string())?, second.map_err(|e| e.to_string())?);
        let _held = first.lease(0..1).map_err(|error| format!("the first: {error}"))?;
        second.lease(0..1).map(drop).map_err(|error| error.to_string())
    });
    let said = said.expect_err("twice 700 KiB are more than 1 MiB");
    for words in ["io-uring: can not register 716800 bytes: ", "memory", "RLIMIT_MEMLOCK"] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_kernel_that_forbids_rings_is_named() {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let said = in_a_child(|| {
        // Loads the call's number; answers EPERM if it is io_uring_setup, else lets it through.
        let filter = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        let mut program = [
            filter(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            filter(
                libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
                0,
                1,
                libc::SYS_io_uring_setup as u32,
            ),
            filter(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            filter(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: 4, filter: program.as_mut_ptr() };
        // SAFETY: plain flags, and a program that is alive.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        assert_eq!(done, 0);
        UringBuffers::new(8).map(drop).map_err(|error| error.to_string())
    });
    let said = said.expect_err("it is forbidden");
    assert!(said.starts_with("io-uring: can not set up a ring: "), "{said}");
    assert!(said.contains("seccomp"), "{said}");
}
