//! A destructor that causes itself for ever comes to an end.

// leaks: the value that would go on for ever is forgotten.

use crate::reentry::{everywhere, once};
use actinium_actor::{Actor, Address, Context};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn a_message_that_tells_when_it_is_dropped_comes_to_an_end() {
    /// As it dies, it sends another.
    struct Again<A: Actor<Msg = Self>>(Address<A>, Arc<AtomicU64>);
    impl<A: Actor<Msg = Self>> Drop for Again<A> {
        fn drop(&mut self) {
            once(|| {
                self.1.fetch_add(1, Ordering::SeqCst);
                self.0.tell(Again(self.0.clone(), self.1.clone()));
            });
        }
    }
    struct Sink;
    impl Actor for Sink {
        type Msg = Again<Sink>;
        fn handle(&mut self, msg: Again<Sink>, ctx: &mut Context<'_, Self>) {
            std::mem::forget(msg);
            ctx.stop();
        }
    }
    everywhere(|system| {
        let sink = system.spawn(Sink);
        let dropped = Arc::new(AtomicU64::new(0));
        sink.tell(Again(sink.clone(), dropped.clone()));
        system.wait_idle(Duration::MAX).unwrap();
        sink.tell(Again(sink.clone(), dropped.clone()));
        assert!((1..100).contains(&dropped.load(Ordering::SeqCst)));
        assert!(system.audit(Duration::MAX).unwrap().is_balanced());
    });
}
