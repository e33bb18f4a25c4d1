//! What waiting allocates.
//!
//! Each thread counts for itself: a test system runs on the thread of its test.

use crate::common::{Does, does};
use actinium_actor::Context;
use actinium_actor::testing::TestSystem;
use futures_lite::future::yield_now;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator as it is; counting touches a plain thread-local
// number only, which needs no destructor and never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller's promises are the system allocator's demands.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`; all memory comes from the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Holds so many times, one after the other.
fn hold_again(left: u32, ctx: &mut Context<'_, Does<u32>>) {
    if left > 0 {
        ctx.hold(yield_now(), move |_, (), ctx| hold_again(left - 1, ctx));
    }
}

#[test]
fn a_held_future_costs_one_allocation() {
    // In the order in which they became ready, so that nothing is drawn.
    let mut sys = TestSystem::builder().fifo().run_limit(100_000).build();
    let actor = sys.spawn(does(hold_again));
    // The actor's extra part, the queue of what it holds for, the trace of this test.
    actor.tell(5000);
    sys.run_until_idle();
    let count = 1000;
    actor.tell(count);
    let before = CALLS.get();
    let turns = sys.run_until_idle();
    let calls = CALLS.get() - before;
    assert!(turns >= u64::from(count), "each future waited for a turn");
    assert_eq!(calls, u64::from(count));
}
