//! Message passing: one thread allocates a block, writes its first bytes and passes it on, another
//! reads them and gives the block back. The arena beside mimalloc and the system's allocator, in
//! one run, in turns; medians of rounds, and ratios.
//!
//! `cargo bench -p actinium-memory`

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::NonNull;
use std::sync::mpsc;
use std::time::Instant;

use actinium_memory::heap::{Arena, Heap, flush};
use actinium_memory::{Placement, Segment, Size};
use mimalloc::MiMalloc;

/// Blocks travel in batches, as messages do in lanes, so that the channel costs little.
const BATCH: usize = 256;
const BATCHES: usize = 4_000;
const ROUNDS: usize = 7;
/// Sizes of a program's messages, in bytes: mostly small ones.
const SIZES: [usize; 8] = [32, 64, 64, 128, 256, 64, 1024, 4096];

struct Block(NonNull<u8>, Layout);

// SAFETY: a block has one holder at a time.
unsafe impl Send for Block {}

/// Nanoseconds for each block that was allocated on one thread and given back on another.
fn round(mut alloc: impl FnMut(Layout) -> NonNull<u8>, free: impl Fn(Block) + Send) -> f64 {
    let (send, receive) = mpsc::sync_channel::<Vec<Block>>(4);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for batch in receive {
                for block in batch {
                    // SAFETY: the producer wrote there.
                    assert_eq!(unsafe { block.0.cast::<u64>().read() }, block.1.size() as u64);
                    free(block);
                }
            }
            flush();
        });
        for batch in 0..BATCHES {
            let blocks = (0..BATCH).map(|number| {
                let size = SIZES[(batch + number) % SIZES.len()];
                let layout = Layout::from_size_align(size, 8).expect("a layout");
                let block = alloc(layout);
                // SAFETY: the block has at least 32 bytes, aligned to 8.
                unsafe { block.cast::<u64>().write(size as u64) };
                Block(block, layout)
            });
            send.send(blocks.collect()).expect("the consumer is there");
        }
        drop(send);
    });
    begun.elapsed().as_nanos() as f64 / (BATCH * BATCHES) as f64
}

fn global(allocator: &(impl GlobalAlloc + Sync)) -> f64 {
    round(
        // SAFETY: no size is 0.
        |layout| NonNull::new(unsafe { allocator.alloc(layout) }).expect("memory"),
        // SAFETY: allocated there, with this layout.
        |block| unsafe { allocator.dealloc(block.0.as_ptr(), block.1) },
    )
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let segment = Segment::builder().size(Size::Bytes(256 << 20)).placement(Placement::Interleave);
    let heap = Heap::leak(segment.build().expect("memory")).expect("a heap");
    let mut arena = heap.arena(0).expect("nobody has it");
    let (mut own, mut mimalloc, mut system) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..=ROUNDS {
        let arena_ns = round(
            |layout| loop {
                match arena.alloc(layout) {
                    Ok(block) => return block,
                    // The consumer is behind: what it has is on its way.
                    Err(_) => std::thread::yield_now(),
                }
            },
            // SAFETY: allocated in this heap, with this layout.
            |block| unsafe { Arena::free(heap, block.0, block.1) },
        );
        let (mimalloc_ns, system_ns) = (global(&MiMalloc), global(&System));
        // The first round is for the pages.
        if number > 0 {
            own.push(arena_ns);
            mimalloc.push(mimalloc_ns);
            system.push(system_ns);
        }
    }
    let (own, mimalloc, system) = (median(own), median(mimalloc), median(system));
    println!("ns per block, allocated here and given back there; medians of {ROUNDS} rounds");
    println!("arena     {own:6.1}");
    println!("mimalloc  {mimalloc:6.1}   {:.2} x as fast", mimalloc / own);
    println!("system    {system:6.1}   {:.2} x as fast", system / own);
}
