//! Modules that split their work, and modules that ask for one input after the other.

use actinium_events::{
    AsyncProducer, Builder, Cause, Completion, Event, Input, Next, OnError, Processor, Producer,
    Settings, Source, Threads,
};
use actinium_scheduler::Policy;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

struct Numbers(u64);
impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(if number < self.0 { Next::Event(number) } else { Next::End })
    }
}

struct Make<F>(F);
impl<F: Fn(&Event<'_>) -> Result<u64, Cause> + Send + Sync + 'static> Producer for Make<F> {
    type Product = u64;
    fn produce(&self, event: &Event<'_>) -> Result<u64, Cause> {
        (self.0)(event)
    }
}

struct See<F>(F);
impl<F: Fn(&Event<'_>) -> Result<(), Cause> + Send + Sync + 'static> actinium_events::Analyzer
    for See<F>
{
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event)
    }
}

struct Later;
impl AsyncProducer for Later {
    type Product = u64;
    fn start(&self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
        let sum = Arc::new(AtomicU64::new(0));
        let (own, number) = (sum.clone(), event.number());
        event.parallel_for_then(
            7,
            move |part| {
                own.fetch_add(part as u64 + number, Ordering::SeqCst);
            },
            move |ran| done.finish(ran.map(|()| sum.load(Ordering::SeqCst))),
        );
        Ok(())
    }
}

fn run(builder: Builder, settings: Settings) -> actinium_events::RunSummary {
    Processor::new(builder.build().expect("a graph"), settings).run().expect("runs")
}

#[test]
fn another_worker_helps() {
    for policy in Policy::ALL {
        let mut builder = Builder::new("number", Numbers(5));
        // Each part waits for the other: this ends only if two workers are at it.
        builder.analyzer("split", Threads::Serial, |_| {
            See(|event: &Event<'_>| {
                let both = Barrier::new(2);
                event.parallel_for(2, move |_| {
                    both.wait();
                })
            })
        });
        let summary = run(builder, Settings::default().policy(policy).workers(2).slots(1));
        assert_eq!((summary.events, summary.failed), (5, 0), "{policy:?}");
    }
}

thread_local! {
    static SPLITS: Cell<bool> = const { Cell::new(false) };
}

#[test]
fn who_splits_runs_nothing_else_until_all_parts_are_done() {
    for policy in Policy::ALL {
        for (workers, slots) in [(1, 1), (2, 3), (3, 16)] {
            let mut builder = Builder::new("number", Numbers(100));
            for label in ["one", "two", "three"] {
                builder.producer(label, Threads::Exclusive("disk".into()), |_| {
                    Make(|event: &Event<'_>| {
                        assert!(!SPLITS.get(), "a module runs inside another one");
                        SPLITS.set(true);
                        let runs: Arc<[AtomicUsize]> =
                            (0..9).map(|_| AtomicUsize::new(0)).collect();
                        let own = runs.clone();
                        let result = event.parallel_for(9, move |part| {
                            own[part].fetch_add(1, Ordering::SeqCst);
                        });
                        SPLITS.set(false);
                        result?;
                        assert!(runs.iter().all(|runs| runs.load(Ordering::SeqCst) == 1));
                        Ok(event.number())
                    })
                });
            }
            builder.async_producer("later", Threads::Serial, |_| Later);
            builder.analyzer("all", Threads::Concurrent, |inputs| {
                let made = ["one", "two", "three"].map(|label| inputs.get::<u64>(label));
                let later: Input<u64> = inputs.get("later");
                See(move |event: &Event<'_>| {
                    assert!(!SPLITS.get(), "a module runs inside another one");
                    assert!(made.iter().all(|&input| *event.get(input) == event.number()));
                    assert_eq!(*event.get(later), 21 + 7 * event.number());
                    Ok(())
                })
            });
            let settings = Settings::default().policy(policy).workers(workers).slots(slots);
            let summary = run(builder, settings);
            assert_eq!((summary.events, summary.failed), (100, 0), "{:?}", summary.failures);
        }
    }
}

#[test]
fn a_panic_in_a_part_fails_the_event_and_the_other_parts_run() {
    let runs = Arc::new(AtomicUsize::new(0));
    let mut builder = Builder::new("number", Numbers(4));
    let own = runs.clone();
    builder.analyzer("split", Threads::Concurrent, move |_| {
        let runs = own.clone();
        See(move |event: &Event<'_>| {
            let (runs, number) = (runs.clone(), event.number());
            event.parallel_for(5, move |part| {
                runs.fetch_add(1, Ordering::SeqCst);
                assert!(number != 2 || part != 3, "no part 3");
            })
        })
    });
    let summary = run(builder, Settings::default().workers(2).on_error(OnError::Skip));
    assert_eq!((summary.events, summary.failed), (3, 1));
    assert!(summary.failures[0].cause.contains("no part 3"), "{:?}", summary.failures);
    assert_eq!(runs.load(Ordering::SeqCst), 20);
}

#[test]
fn a_panic_after_the_last_part_fails_the_event() {
    struct Panics;
    impl AsyncProducer for Panics {
        type Product = u64;
        fn start(&self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
            let number = event.number();
            event.parallel_for_then(
                3,
                |_| (),
                move |ran| {
                    assert!(number != 1, "not this one");
                    done.finish(ran.map(|()| number));
                },
            );
            Ok(())
        }
    }
    let mut builder = Builder::new("number", Numbers(4));
    builder.async_producer("panics", Threads::Serial, |_| Panics);
    builder.analyzer("asks", Threads::Concurrent, |inputs| {
        let made: Input<u64> = inputs.get("panics");
        See(move |event: &Event<'_>| {
            assert_eq!(*event.get(made), event.number());
            Ok(())
        })
    });
    let summary = run(builder, Settings::default().workers(2).on_error(OnError::Skip));
    assert_eq!((summary.events, summary.failed), (3, 1), "{:?}", summary.failures);
}

#[test]
fn inputs_are_fetched_one_by_one_in_the_order_in_which_they_were_asked_for() {
    for order in [["a", "b"], ["b", "a"]] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut builder = Builder::new("number", Numbers(10));
        for label in ["a", "b"] {
            let log = log.clone();
            builder.producer(label, Threads::Concurrent, move |_| {
                let log = log.clone();
                Make(move |event: &Event<'_>| {
                    log.lock().expect("not poisoned").push(label);
                    Ok(event.number())
                })
            });
        }
        builder.analyzer("asks", Threads::Concurrent.one_by_one(), move |inputs| {
            let made = order.map(|label| inputs.get::<u64>(label));
            See(move |event: &Event<'_>| {
                assert!(made.iter().all(|&input| *event.get(input) == event.number()));
                Ok(())
            })
        });
        let summary = run(builder, Settings::default().workers(2).slots(1));
        assert_eq!((summary.events, summary.failed), (10, 0), "{:?}", summary.failures);
        let log = log.lock().expect("not poisoned");
        assert!(log.chunks(2).all(|pair| pair == order), "{log:?}");
    }
}

/// Keeps the completion of the first attempt and uses it in the second.
struct Keeps(Mutex<Option<Completion<u64>>>);
impl AsyncProducer for Keeps {
    type Product = u64;
    fn start(&self, _: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
        let mut kept = self.0.lock().expect("not poisoned");
        let Some(old) = kept.take() else {
            *kept = Some(done);
            return Err("the first attempt".into());
        };
        old.finish(Ok(999));
        done.finish(Err("the second attempt".into()));
        Ok(())
    }
}

#[test]
fn a_completion_of_an_earlier_attempt_does_not_end_a_later_one() {
    let mut builder = Builder::new("number", Numbers(1));
    builder.async_producer("keeps", Threads::Concurrent, |_| Keeps(Mutex::default()));
    builder.analyzer("needs", Threads::Concurrent, |inputs| {
        let _: Input<u64> = inputs.get("keeps");
        See(|_: &Event<'_>| Ok(()))
    });
    let summary = run(builder, Settings::default().workers(1).on_error(OnError::Retry(1)));
    assert_eq!((summary.events, summary.failed, summary.retries), (0, 1, 1));
    assert_eq!(summary.failures[0].cause, "the second attempt");
}
