//! Payloads of a segment between actors of different workers: never copied, and home again in
//! batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use actinium::Bind;
use actinium::memory::heap::{Arena, Heap, Payload};
use actinium::prelude::*;
use std::time::Duration;

const PAYLOADS: u64 = 1_000;
/// From 4 KiB, in blocks and in runs of pages.
const SIZES: [usize; 4] = [4 << 10, 6_000, 20 << 10, 100 << 10];

struct Maker {
    arena: Arena,
    next: Address<Passer>,
    made: u64,
}

impl Actor for Maker {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        let size = SIZES[(self.made % 4) as usize];
        if let Ok(payload) = self.arena.payload_with(size, |bytes| bytes.fill(self.made as u8)) {
            let made_at = payload.as_ptr() as usize;
            self.next.tell(Pass { number: self.made, made_at, maker: ctx.worker(), payload });
            self.made += 1;
        }
        if self.made < PAYLOADS {
            ctx.address().tell(());
        }
    }
}

struct Pass {
    number: u64,
    made_at: usize,
    maker: usize,
    payload: Payload,
}

#[derive(Default)]
struct Counts {
    arrived: AtomicU64,
    copies: AtomicU64,
    wrong: AtomicU64,
    crossed: AtomicU64,
}

/// Passes on, or takes a look and lets go.
struct Passer {
    next: Option<Address<Passer>>,
    counts: Arc<Counts>,
}

impl Actor for Passer {
    type Msg = Pass;

    fn handle(&mut self, msg: Pass, ctx: &mut Context<'_, Self>) {
        if let Some(next) = &self.next {
            next.tell(msg);
            return;
        }
        let size = SIZES[(msg.number % 4) as usize];
        let is_right =
            msg.payload.len() == size && msg.payload.iter().all(|&byte| byte == msg.number as u8);
        let is_copy = msg.payload.as_ptr() as usize != msg.made_at;
        // Relaxed: read when the workers have ended.
        let count =
            |counter: &AtomicU64, is: bool| counter.fetch_add(u64::from(is), Ordering::Relaxed);
        count(&self.counts.arrived, true);
        count(&self.counts.copies, is_copy);
        count(&self.counts.wrong, !is_right);
        count(&self.counts.crossed, ctx.worker() != msg.maker);
    }
}

#[test]
fn nobody_copies_and_blocks_come_home_in_batches() {
    for policy in [Policy::Pinned, Policy::default()] {
        let is_pinned = matches!(policy, Policy::Pinned);
        // 16 MiB in two arenas, of which one is used.
        let heap = Heap::leak_plain(2, 128).expect("memory");
        let system =
            System::builder().workers(2).bind(Bind::None).policy(policy).build().expect("two");
        let counts = Arc::new(Counts::default());
        let at = |worker| SpawnOptions::new().on_worker(worker);
        let passer = |next: Option<Address<Passer>>| {
            let counts = counts.clone();
            let passer = move || Passer { next: next.clone(), counts: counts.clone() };
            system.spawn_with(at(1), passer).expect("worker 1")
        };
        let next = passer(Some(passer(None)));
        let maker = move || {
            let arena = heap.arena(1).expect("it is free");
            Maker { arena, next: next.clone(), made: 0 }
        };
        let maker = system.spawn_with(at(0), maker).expect("worker 0");
        maker.send(()).expect("it lives");
        system.wait_idle(Duration::MAX).unwrap();
        system.shutdown(Shutdown::Drain);

        // Relaxed: the workers have ended.
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!((read(&counts.arrived), read(&counts.wrong)), (PAYLOADS, 0));
        assert_eq!(read(&counts.copies), 0);
        let figures = heap.arena(1).expect("the maker has ended").figures();
        assert_eq!((figures.copied_bytes, figures.returned), (0, PAYLOADS));
        if is_pinned {
            assert_eq!(read(&counts.crossed), PAYLOADS);
            // 32 to a batch, and what is left when a thread ends; runs of pages, which are one of
            // the sizes, go home one by one.
            let runs = PAYLOADS / SIZES.len() as u64;
            assert!(figures.batches <= (PAYLOADS - runs) / 32 + 2 + runs, "{figures:?}");
        }
        assert_eq!(heap.arena(0).expect("it is free").figures(), Default::default());
    }
}

#[test]
fn what_is_copied_is_counted() {
    let heap = Heap::leak_plain(1, 4).expect("memory");
    let mut arena = heap.arena(0).expect("it is free");
    drop(arena.payload(&[1; 5000]).expect("room"));
    actinium::memory::heap::flush();
    let figures = arena.figures();
    assert_eq!((figures.copied_bytes, figures.returned, figures.batches), (5000, 1, 1));
}
