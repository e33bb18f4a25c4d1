//! What a container's seccomp profile may forbid: each call that a segment would make, refused in
//! turn. `./check numa` runs this on four NUMA nodes too.
//!
//! A program of its own: `./check numa` runs it alone in an emulated machine, too, and sanitizers
//! leave it out.

#![cfg(all(target_os = "linux", target_endian = "little", not(miri)))]
// no-sanitizer: what is forbidden here is what sanitizers need themselves.

use actinium_memory::{
    MemoryError, Mode, NodeSet, PageSize, Placement, Segment, SegmentBuilder, Size, Warning,
};

const MIB: u64 = 1 << 20;

/// A call, or those calls whose argument of this number has one of these bits.
#[derive(Clone, Copy)]
struct Call(libc::c_long, Option<(u32, u32)>);

const MBIND: Call = Call(libc::SYS_mbind, None);
const MLOCK: Call = Call(libc::SYS_mlock2, None);
const MOVE_PAGES: Call = Call(libc::SYS_move_pages, None);
const SCHEDULER: Call = Call(libc::SYS_sched_setscheduler, None);
const AFFINITY: Call = Call(libc::SYS_sched_setaffinity, None);
const MADVISE: Call = Call(libc::SYS_madvise, None);
const MEMFD: Call = Call(libc::SYS_memfd_create, None);
const THREADS: [Call; 2] = [Call(libc::SYS_clone, None), Call(libc::SYS_clone3, None)];
const FILES: Call = Call(libc::SYS_openat, None);
const POOL: Call = Call(libc::SYS_mmap, Some((3, libc::MAP_HUGETLB as u32)));

/// From now on these answer EPERM, to this thread and to those that it starts.
fn forbid(calls: &[Call]) {
    const LOAD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let step = |code, k, (jt, jf)| libc::sock_filter { code, jt, jf, k };
    let mut program = Vec::new();
    for &Call(number, bits) in calls {
        // Where `seccomp_data` has the call's number and the lower halves of its arguments.
        program.push(step(LOAD, 0, (0, 0)));
        let rest = if bits.is_some() { 3 } else { 1 };
        program.push(step(JUMP_IF_EQUAL, u32::try_from(number).expect("small"), (0, rest)));
        if let Some((argument, bits)) = bits {
            program.push(step(LOAD, 16 + 8 * argument, (0, 0)));
            program.push(step(JUMP_IF_SET, bits, (0, 1)));
        }
        program.push(step(RETURN, 0x0005_0000 | libc::EPERM as u32, (0, 0)));
    }
    program.push(step(RETURN, 0x7fff_0000, (0, 0)));
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).expect("short"),
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the calls take numbers and a program that is alive; they concern this thread alone,
    // which the test has started for them.
    let codes = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program),
        ]
    };
    assert_eq!(codes, [0, 0], "{}", std::io::Error::last_os_error());
}

/// Makes a segment where these are forbidden, waits for it, and looks at it there.
fn without(
    calls: &[Call],
    builder: SegmentBuilder,
    look: impl FnOnce(&mut Segment, Vec<Warning>) + Send,
) -> Result<(), MemoryError> {
    std::thread::scope(|scope| {
        let work = || {
            forbid(calls);
            let mut segment = builder.build()?;
            segment.wait()?;
            // Part of what may be said is said then.
            let _ = segment.stats();
            let warnings = segment.warnings();
            look(&mut segment, warnings);
            segment.bytes().expect("private").iter_mut().for_each(|byte| *byte += 1);
            Ok(())
        };
        scope.spawn(work).join().expect("the checks hold")
    })
}

fn small() -> SegmentBuilder {
    Segment::builder().size(Size::Bytes(4 * MIB)).pages(PageSize::Base).threads(2)
}

/// One warning, which says all these words.
fn says(warnings: &[Warning], words: &[&str]) {
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let text = warnings[0].to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

fn is_all_there(segment: &Segment) {
    assert_eq!(segment.stats().absent_bytes, Some(0));
}

#[test]
fn without_a_policy_pages_lie_where_the_kernel_puts_them() {
    // One node is where all was to be anyway.
    let online = std::fs::read_to_string("/sys/devices/system/node/online").unwrap_or_default();
    let nodes = online.trim().parse::<NodeSet>().map_or(1, |nodes| nodes.len());
    for placement in [Placement::Interleave, Placement::Local(Vec::new())] {
        let look = |segment: &mut Segment, warnings: Vec<Warning>| {
            is_all_there(segment);
            match nodes {
                1 => assert!(warnings.is_empty(), "{warnings:?}"),
                _ => says(&warnings, &["memory policy can not be set", "mbind", "not permitted"]),
            }
        };
        without(&[MBIND], small().placement(placement), look).expect("a segment");
    }
}

#[test]
fn without_locking_it_is_said() {
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        is_all_there(segment);
        says(&warnings, &["not locked", "not permitted"]);
    };
    without(&[MLOCK], small().lock(true), look).expect("a segment");
}

#[test]
fn without_the_pool_s_pages_there_are_others() {
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        is_all_there(segment);
        // Where the pool is empty that is the reason.
        says(&warnings, &["instead of '2m'"]);
        assert_eq!(segment.stats().pool_bytes, 0);
    };
    without(&[POOL], small().pages(PageSize::Huge(2 << 20)), look).expect("a segment");
}

#[test]
fn what_can_not_be_asked_is_unknown_and_not_wrong() {
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        says(&warnings, &["unknown", "move_pages"]);
        let stats = segment.stats();
        assert_eq!((stats.absent_bytes, stats.nodes.len()), (None, 0));
        assert_eq!(segment.places(0..4096), None);
    };
    without(&[MOVE_PAGES], small(), look).expect("a segment");
}

#[test]
fn unbound_threads_fault_in_too() {
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        is_all_there(segment);
        says(&warnings, &["unbound threads", "not permitted"]);
        let figures = segment.fault_figures().expect("it has ended");
        assert!(figures.threads.iter().all(|thread| thread.node.is_none()), "{figures:?}");
    };
    without(&[AFFINITY], small(), look).expect("a segment");
}

#[test]
fn a_background_that_can_not_yield_says_so() {
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        is_all_there(segment);
        says(&warnings, &["at the program's own priority", "not permitted"]);
    };
    without(&[SCHEDULER], small().mode(Mode::Background), look).expect("a segment");
}

#[test]
fn without_populating_pages_are_touched() {
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        is_all_there(segment);
        says(&warnings, &["page by page", "not permitted"]);
    };
    without(&[MADVISE], small(), look).expect("a segment");
}

#[test]
fn without_threads_the_caller_does_it_and_the_background_is_refused() {
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        is_all_there(segment);
        says(&warnings, &["by 0 instead of 2 threads", "not permitted"]);
    };
    without(&THREADS, small(), look).expect("a segment");
    let builder = small().mode(Mode::Background);
    let error = without(&THREADS, builder, |_, _| ()).expect_err("there is nobody to do it");
    let text = error.to_string();
    assert!(
        text.contains("can not start the fault-in's thread") && text.contains("ulimit -u"),
        "{text}"
    );
}

#[test]
fn a_file_that_can_not_be_made_is_an_error() {
    let error = without(&[MEMFD], small().file("shared"), |_, _| ()).expect_err("no file");
    assert!(
        error.to_string().contains("can not reserve the segment: Operation not permitted"),
        "{error}"
    );
}

#[test]
fn a_machine_that_can_not_be_looked_at_still_gives_memory() {
    for mode in [Mode::Eager, Mode::Background] {
        let look = |segment: &mut Segment, _: Vec<Warning>| {
            assert_eq!(segment.fault_figures().map(|figures| figures.bytes), Some(4 * MIB));
            is_all_there(segment);
        };
        without(&[FILES], small().mode(mode), look).expect("a segment");
    }
    let share = Segment::builder().size(Size::Share(0.01));
    let error = without(&[FILES], share, |_, _| ()).expect_err("of what?");
    assert!(error.is_bad_request() && error.to_string().contains("is unknown"), "{error}");
}

#[test]
fn all_at_once_each_is_said_once() {
    let calls = [MBIND, MLOCK, MOVE_PAGES, SCHEDULER, AFFINITY, MADVISE];
    let builder = small().mode(Mode::Background).lock(true).no_dump(true).no_fork(true);
    let look = |segment: &mut Segment, warnings: Vec<Warning>| {
        assert_eq!(segment.progress().share(), 1.0);
        let mut kinds: Vec<_> = warnings.iter().map(std::mem::discriminant).collect();
        let all = kinds.len();
        kinds.dedup();
        assert!(kinds.len() == all && (7..=8).contains(&all), "{warnings:?}");
    };
    without(&calls, builder, look).expect("a segment");
}
