use super::*;
use crate::NodeSet;
use crate::{PageSize, Placement};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

const MIB: u64 = 1 << 20;

fn small() -> SegmentBuilder {
    Segment::builder().size(Size::Bytes(5 * MIB + 4096)).threads(2)
}

/// The part of `/proc/self/smaps` that is about this segment.
fn smaps(segment: &Segment) -> String {
    let from = format!("{:x}-", segment.start().as_ptr() as usize);
    let text = fs::read_to_string("/proc/self/smaps").unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with(&from)).take(40);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn eager_is_all_there_head_and_tail_too() {
    for pages in [PageSize::Base, PageSize::TransparentHuge] {
        for touch in [false, true] {
            let segment = small().pages(pages).touch(touch).build().unwrap();
            let stats = segment.stats();
            assert_eq!(stats.absent_bytes, Some(0), "{pages} {touch}");
            assert_eq!(stats.size_bytes, 5 * MIB + 4096);
            let on_nodes: u64 = stats.nodes.iter().map(|node| node.bytes).sum();
            assert_eq!(on_nodes, stats.size_bytes);
            let figures = stats.fault_in.unwrap();
            assert_eq!(figures.bytes, stats.size_bytes);
            assert_eq!(figures.threads.len(), 2);
            assert_eq!(figures.threads.iter().map(|one| one.bytes).sum::<u64>(), figures.bytes);
            if pages == PageSize::Base {
                assert_eq!(stats.transparent_huge_bytes, 0);
            } else if stats.pages_used == PageSize::Base {
                assert!(matches!(segment.warnings()[0], Warning::Pages { .. }));
            }
        }
    }
}

#[test]
fn lazy_is_there_when_it_is_used() {
    let mut segment = small().mode(Mode::Lazy).pages(PageSize::Base).build().unwrap();
    assert_eq!(segment.stats().absent_bytes, Some(5 * MIB + 4096));
    assert!(segment.bytes().unwrap()[..8192].iter().all(|&byte| byte == 0));
    segment.bytes().unwrap()[5 << 20] = 1;
    // The page of zeros, which reading maps, counts or does not: kernels differ.
    let absent = segment.stats().absent_bytes.unwrap();
    assert!((5 * MIB - 8192..=5 * MIB).contains(&absent), "{absent}");
    segment.wait().unwrap();
    assert!(!segment.has_ended() && segment.stats().fault_in.is_none());
}

#[test]
fn background_changes_nothing_that_is_used_meanwhile() {
    for touch in [false, true] {
        let builder = Segment::builder().size(Size::Bytes(64 * MIB)).threads(2).touch(touch);
        let mut segment = builder.pages(PageSize::Base).mode(Mode::Background).build().unwrap();
        // Runs ahead of the fault-in, and beside it.
        let bytes = segment.bytes().unwrap();
        for round in 1..=3_u8 {
            for at in (0..bytes.len()).rev().step_by(4096) {
                assert!(bytes[at] == round - 1);
                bytes[at] = round;
            }
        }
        segment.wait().unwrap();
        assert!(segment.has_ended());
        assert_eq!(segment.progress().share(), 1.0);
        let bytes = segment.bytes().unwrap();
        assert!((0..bytes.len()).rev().step_by(4096).all(|at| bytes[at] == 3));
        assert_eq!(segment.stats().absent_bytes, Some(0));
    }
}

#[test]
fn background_can_be_dropped_half_way() {
    for _ in 0..5 {
        let builder = Segment::builder().size(Size::Bytes(256 * MIB)).mode(Mode::Background);
        drop(builder.pages(PageSize::Base).build().unwrap());
    }
}

#[test]
fn progress_is_told_until_all_is_done() {
    let (calls, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (count, max) = (Arc::clone(&calls), Arc::clone(&most));
    let segment = small()
        .on_progress(move |progress| {
            count.fetch_add(1, Ordering::Relaxed);
            max.fetch_max(progress.done_bytes, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    assert!(calls.load(Ordering::Relaxed) >= 2);
    assert_eq!(most.load(Ordering::Relaxed), segment.len() as u64);
}

#[test]
fn a_thread_that_dies_hangs_nobody() {
    for mode in [Mode::Eager, Mode::Background] {
        let segment =
            small().mode(mode).on_progress(|_| panic!("the callback is broken")).build().unwrap();
        segment.wait().unwrap();
        assert_eq!(segment.stats().absent_bytes, Some(0));
        let warnings: Vec<String> = segment.warnings().iter().map(ToString::to_string).collect();
        assert!(
            warnings.iter().any(|line| line.contains("the callback is broken")),
            "{warnings:?}"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_touched() {
    for mode in [Mode::Eager, Mode::Background, Mode::Lazy] {
        let error = small().size(Size::Bytes(1 << 50)).mode(mode).build().unwrap_err();
        assert!(matches!(error, MemoryError::TooLarge { .. }), "{error}");
        assert!(!error.is_bad_request());
    }
    let error = small().size(Size::Bytes(u64::MAX)).build().unwrap_err();
    assert!(error.is_bad_request(), "{error}");
}

#[test]
fn settings_that_make_no_sense() {
    let refused = |builder: SegmentBuilder, words: &[&str]| {
        let error = builder.build().unwrap_err();
        assert!(error.is_bad_request(), "{error}");
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    refused(Segment::builder(), &["size"]);
    refused(small().size(Size::Bytes(0)), &["size", "'0'"]);
    for share in [0.0, -1.0, 1.5, f64::NAN] {
        refused(small().size(Size::Share(share)), &["size", "share"]);
    }
    refused(small().threads(0), &["threads", "'0'", "1 to"]);
    refused(small().pages(PageSize::Huge(3 << 20)), &["pages", "base, thp"]);
    refused(small().pages(PageSize::Huge(4096)), &["pages", "base, thp"]);
    let nodes: NodeSet = "4000".parse().unwrap();
    refused(small().placement(Placement::Bind(nodes)), &["placement", "4000", "may use"]);
    refused(small().placement(Placement::InterleaveOver(NodeSet::default())), &["placement"]);
}

#[test]
fn a_share_is_of_what_the_process_may_use() {
    let len = |share| small().size(Size::Share(share)).mode(Mode::Lazy).build().unwrap().len();
    // Others take memory, and give it back, between the two: not always.
    let is_quarter = |_| {
        let (quarter, all) = (len(0.25), len(1.0));
        all.abs_diff(4 * quarter) <= 4 * 4096
    };
    assert!((0..1_000).any(is_quarter), "a quarter is no quarter");
}

#[test]
fn a_pool_without_pages_is_replaced_and_said() {
    for bytes in [2 << 20, 1 << 30, 1 << 38] {
        let size = Size::Bytes(4 * MIB);
        let segment =
            small().size(size).pages(PageSize::Huge(bytes)).mode(Mode::Lazy).build().unwrap();
        let warnings = segment.warnings();
        let stats = segment.stats();
        if stats.pages_used == PageSize::Huge(bytes) {
            assert!(warnings.is_empty() && segment.len().is_multiple_of(bytes));
        } else {
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            let text = warnings[0].to_string();
            assert!(text.contains("instead of") && text.contains("pages '"), "{text}");
        }
    }
}

#[test]
fn every_placement_fills_the_segment() {
    for placement in ["interleave", "interleave:0", "weighted", "bind:0", "first-touch", "local"] {
        let asked: Placement = placement.parse().unwrap();
        let segment = small().placement(asked.clone()).build().unwrap();
        assert_eq!(segment.stats().absent_bytes, Some(0), "{placement}");
        let ends = segment.arenas().iter().fold(0, |end, arena| {
            assert_eq!(arena.range.start, end);
            arena.range.end
        });
        assert_eq!(ends, segment.len());
        match asked {
            Placement::FirstTouch => assert_eq!(segment.arenas().len(), 2),
            Placement::Local(_) => {
                assert!(segment.arenas().iter().all(|arena| arena.node.is_some()));
            }
            _ => assert_eq!(segment.arenas().len(), 1),
        }
    }
}

#[test]
fn options_reach_the_kernel() {
    let plain = small().build().unwrap();
    let with = small().no_dump(true).no_fork(true).build().unwrap();
    let flags = |segment: &Segment| {
        let text = smaps(segment);
        let line = text.lines().find(|line| line.starts_with("VmFlags:")).unwrap().to_owned();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    for flag in ["dd", "dc"] {
        assert!(flags(&with).iter().any(|word| word == flag), "{:?}", flags(&with));
        assert!(flags(&plain).iter().all(|word| word != flag));
    }
}

#[test]
fn locked_or_said_not_to_be() {
    let segment = small().lock(true).pages(PageSize::Base).build().unwrap();
    match segment.warnings().as_slice() {
        [] => assert_eq!(segment.stats().locked_bytes, segment.len() as u64),
        [only] => assert!(matches!(only, Warning::NotLocked { .. }), "{only}"),
        more => panic!("{more:?}"),
    }
    assert_eq!(small().build().unwrap().stats().locked_bytes, 0);
}

#[test]
fn a_file_is_shared_and_found_again() {
    let mut first = small().file("actinium-test").pages(PageSize::Base).build().unwrap();
    assert!(first.bytes().is_none());
    first.write(MIB as usize, b"here");
    let file = first.file().unwrap().try_clone_to_owned().unwrap();
    let mut second = Segment::reattach(file.try_clone().unwrap()).unwrap();
    assert_eq!(second.len(), first.len());
    second.write(MIB as usize + 4, b" too");
    drop(first);
    drop(second);
    let third = Segment::reattach(file).unwrap();
    let mut found = [0; 8];
    third.read(MIB as usize, &mut found);
    assert_eq!(&found, b"here too");
    assert_eq!(third.stats().absent_bytes.map(|bytes| bytes < third.len() as u64), Some(true));
}

#[test]
fn only_a_segment_s_file_is_one() {
    let folder = crate::testing::Folder::new();
    folder.write("file", "x");
    let file = fs::File::open(folder.path().join("file")).unwrap();
    let error = Segment::reattach(file.into()).unwrap_err();
    assert!(error.is_bad_request() && error.to_string().contains("size may change"), "{error}");
}

#[test]
#[should_panic(expected = "lie outside")]
fn reading_beyond_the_end_is_noticed() {
    small().build().unwrap().read(5 << 20, &mut [0; 4097]);
}

#[test]
fn a_large_segment_is_given_back() {
    let builder = Segment::builder().size(Size::Bytes(257 * MIB)).threads(2);
    let segment = builder.build().unwrap();
    let from = format!("{:x}-", segment.start().as_ptr() as usize);
    let is_mapped = || fs::read_to_string("/proc/self/maps").unwrap().contains(&from);
    assert!(is_mapped());
    drop(segment);
    assert!(!is_mapped());
}
