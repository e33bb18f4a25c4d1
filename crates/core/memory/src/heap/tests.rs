use super::*;
use std::alloc::Layout;
use std::collections::BTreeSet;
use std::sync::mpsc;

fn heap(arenas: usize, pages: usize) -> &'static Heap {
    Heap::leak_plain(arenas, pages).unwrap()
}

#[test]
fn blocks_are_apart_aligned_and_used_again() {
    let heap = heap(1, 64);
    let mut arena = heap.arena(0).unwrap();
    let mut before = BTreeSet::new();
    for round in 0..3 {
        let mut blocks = Vec::new();
        for (size, align) in [(1, 1), (16, 16), (40, 64), (100, 8), (5000, 4096), (200_000, 16)] {
            for _ in 0..3 {
                let layout = Layout::from_size_align(size, align).unwrap();
                let block = arena.alloc(layout).unwrap();
                assert_eq!(block.as_ptr() as usize % align, 0, "{size} {align}");
                // SAFETY: the block has so many bytes.
                unsafe { block.write_bytes(0xaa, size) };
                blocks.push((block, layout));
            }
        }
        let mut spans: Vec<_> = blocks
            .iter()
            .map(|(block, layout)| {
                (block.as_ptr() as usize, block.as_ptr() as usize + layout.size())
            })
            .collect();
        spans.sort_unstable();
        assert!(spans.windows(2).all(|two| two[0].1 <= two[1].0));
        let starts: BTreeSet<usize> = spans.iter().map(|span| span.0).collect();
        if round == 2 {
            assert_eq!(starts, before, "what was given back is used again");
        }
        before = starts;
        for (block, layout) in blocks {
            // SAFETY: allocated so, and unused.
            unsafe { Arena::free(heap, block, layout) };
        }
        flush();
    }
}

#[test]
fn exhaustion_is_an_error_and_passes() {
    let heap = heap(2, 4);
    let mut arena = heap.arena(1).unwrap();
    let mut payloads = Vec::new();
    let error = loop {
        match arena.payload(&[7; 9000]) {
            Ok(payload) => payloads.push(payload),
            Err(error) => break error,
        }
    };
    assert!(payloads.len() >= 20 && error.arena == 1);
    assert_eq!(error.to_string(), "arena 1 has no room for 9032 bytes");
    assert!(payloads.iter().all(|payload| (payload[0], payload[8999]) == (7, 7)));
    let count = payloads.len();
    payloads.clear();
    flush();
    for _ in 0..count {
        payloads.push(arena.payload(&[8; 9000]).unwrap());
    }
    assert!(arena.payload(&[]).is_err() == arena.alloc(Layout::new::<u8>()).is_err());
    assert!(arena.payload_with(usize::MAX, |_| ()).is_err());
    assert!(arena.payload_with(isize::MAX as usize - 100, |_| ()).is_err());
    assert!(arena.alloc(Layout::from_size_align(1, 1 << 20).unwrap()).is_err());
}

#[test]
fn large_runs_join_again() {
    let heap = heap(1, 8);
    let mut arena = heap.arena(0).unwrap();
    for _ in 0..3 {
        let parts: Vec<_> = (0..4).map(|_| arena.payload(&[1; 100_000]).unwrap()).collect();
        assert!(arena.payload(&[1; 100_000]).is_err());
        drop(parts);
        flush();
        drop(arena.payload(&[1; 8 * 65536 - 64]).unwrap());
        flush();
    }
}

#[test]
fn a_run_that_another_thread_has_freed_is_used_before_pages_that_were_never_touched() {
    let heap = heap(1, 8);
    let mut arena = heap.arena(0).unwrap();
    let first = arena.payload(&[1; 100_000]).unwrap();
    let place = first.as_ptr();
    std::thread::spawn(move || drop(first)).join().unwrap();
    assert_eq!(arena.payload(&[2; 100_000]).unwrap().as_ptr(), place);
}

#[test]
fn an_arena_has_one_owner_at_a_time() {
    let heap = heap(1, 2);
    let mut arena = heap.arena(0).unwrap();
    assert!(heap.arena(0).is_none() && heap.arena(1).is_none());
    let payload = arena.payload(b"kept").unwrap();
    drop(arena);
    let mut again = heap.arena(0).unwrap();
    let other = again.payload(b"new").unwrap();
    assert_eq!((&*payload, &*other), (&b"kept"[..], &b"new"[..]));
}

#[test]
fn payloads_are_shared_not_copied() {
    let heap = heap(1, 4);
    let mut arena = heap.arena(0).unwrap();
    let mut payload = arena.payload_with(100, |bytes| bytes[99] = 1).unwrap();
    let other = payload.clone();
    assert_eq!((payload.as_ptr(), payload.shares()), (other.as_ptr(), 2));
    assert!(payload.get_mut().is_none());
    drop(other);
    payload.get_mut().unwrap()[0] = 9;
    assert_eq!((payload[0], payload[1], payload[99]), (9, 0, 1));
    let raw = payload.into_raw();
    // SAFETY: from `into_raw`, once.
    let payload = unsafe { Payload::from_raw(raw) };
    assert_eq!(payload.len(), 100);
}

#[test]
fn a_writer_that_panics_gives_the_block_back() {
    let heap = heap(1, 1);
    let mut arena = heap.arena(0).unwrap();
    for _ in 0..if cfg!(miri) { 5 } else { 20 } {
        let broken = || arena.payload_with(20_000, |_| panic!("no data"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(broken)).is_err());
        flush();
    }
}

#[test]
fn blocks_go_round_between_threads() {
    let rounds = if cfg!(miri) { 100 } else { 20_000 };
    // Far fewer blocks than messages: they have to come back.
    let heap = heap(2, 64);
    let (send, receive) = mpsc::sync_channel::<Payload>(8);
    let consumer = std::thread::spawn(move || {
        let mut sum = 0_u64;
        for payload in receive {
            assert!(payload.first() == payload.last());
            sum += u64::from(payload[0]);
        }
        sum
    });
    let mut arena = heap.arena(0).unwrap();
    let mut sum = 0;
    for round in 0..rounds {
        let byte = (round % 251) as u8;
        let len = [1, 100, 3000, 70_000][round % 4];
        let payload = loop {
            match arena.payload_with(len, |bytes| bytes.fill(byte)) {
                Ok(payload) => break payload,
                // Some are on their way: at most 8 are queued, and 31 held back.
                Err(_) => std::thread::yield_now(),
            }
        };
        sum += u64::from(byte);
        send.send(payload).unwrap();
    }
    drop(send);
    assert_eq!(consumer.join().unwrap(), sum);
}

#[test]
fn collections_live_in_arenas() {
    let heap = heap(1, 64);
    let arena = SharedArena::new(heap.arena(0).unwrap());
    let mut lists = allocator_api2::vec::Vec::new_in(arena.clone());
    for list in 0..10 {
        let mut numbers = allocator_api2::vec::Vec::new_in(arena.clone());
        numbers.extend(0..100 * list);
        lists.push(numbers);
    }
    let lists = std::thread::spawn(move || lists.iter().map(|list| list.len()).sum::<usize>());
    assert_eq!(lists.join().unwrap(), 4500);
}

#[cfg(debug_assertions)]
#[test]
fn what_debug_builds_notice() {
    let heap = heap(1, 4);
    let mut arena = heap.arena(0).unwrap();
    let layout = Layout::from_size_align(50, 8).unwrap();
    let message = |work: &mut dyn FnMut()| {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    };
    let block = arena.alloc(layout).unwrap();
    // SAFETY: not one byte beyond the block of 80 bytes that debug builds take for this.
    unsafe { block.add(50).write(1) };
    // SAFETY: allocated so.
    let text = message(&mut || unsafe { Arena::free(heap, block, layout) });
    assert!(text.contains("beyond the 50 bytes"), "{text}");

    let block = arena.alloc(layout).unwrap();
    // SAFETY: allocated so.
    unsafe { Arena::free(heap, block, layout) };
    // SAFETY: it is not, which is found before anything else is done.
    let text = message(&mut || unsafe { Arena::free(heap, block, layout) });
    assert!(text.contains("given back twice"), "{text}");
}

#[test]
fn blocks_of_no_bytes_lie_apart_at_any_alignment() {
    let heap = Heap::leak_plain(1, 8).unwrap();
    let mut arena = heap.arena(0).unwrap();
    for align in [1, 16, 4096, 65536] {
        let layout = Layout::from_size_align(0, align).unwrap();
        let (first, second) = (arena.alloc(layout).unwrap(), arena.alloc(layout).unwrap());
        assert_ne!(first, second, "aligned to {align}");
        for block in [first, second] {
            // SAFETY: allocated so, and given back once.
            unsafe { Arena::free(heap, block, layout) };
        }
        flush();
    }
    // A payload after them shares its memory with none.
    let layout = Layout::from_size_align(0, 65536).unwrap();
    let empty = arena.alloc(layout).unwrap();
    let payload = arena.payload(&[1; 60_000]).unwrap();
    assert!(!payload.as_ptr_range().contains(&empty.as_ptr().cast_const()));
    // SAFETY: as above.
    unsafe { Arena::free(heap, empty, layout) };
}

#[test]
fn a_heap_has_to_have_room() {
    for (arenas, pages) in [(0, 1), (1, 0)] {
        assert!(Heap::leak_plain(arenas, pages).unwrap_err().is_bad_request());
    }
}

#[cfg(not(miri))]
mod on_segments {
    use super::*;
    use crate::{Mode, Placement, Segment, Size};

    #[test]
    fn each_worker_s_arena_becomes_one() {
        let builder = Segment::builder().size(Size::Bytes(16 << 20)).mode(Mode::Background);
        let pus =
            vec![actinium_topology::Topology::detect().unwrap().allowed().first().unwrap(); 3];
        let segment = builder.placement(Placement::Local(pus)).build().unwrap();
        let (start, ranges) = (segment.start().as_ptr() as usize, segment.arenas().to_vec());
        let heap = Heap::leak(segment).unwrap();
        assert_eq!(heap.len(), 3);
        for (number, arena) in ranges.iter().enumerate() {
            // Overtakes the fault-in, or does not.
            let payload = heap.arena(number).unwrap().payload(&[5; 300_000]).unwrap();
            let offset = payload.as_ptr() as usize - start;
            assert!(arena.range.contains(&offset));
            assert!(payload.iter().all(|&byte| byte == 5));
        }
    }

    #[test]
    fn files_and_crumbs_are_none() {
        let builder = || Segment::builder().size(Size::Bytes(1 << 20)).mode(Mode::Lazy);
        let error = Heap::leak(builder().file("x").build().unwrap()).unwrap_err();
        assert!(error.to_string().contains("private"), "{error}");
        let error = Heap::leak(builder().size(Size::Bytes(4096)).build().unwrap()).unwrap_err();
        assert!(error.to_string().contains("64 KiB"), "{error}");
    }
}
