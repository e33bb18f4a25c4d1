//! User code that panics at the end of something, or comes back there: the event fails by its
//! policy, and the run ends.

use actinium_events::{
    Analyzer, AsyncProducer, Bind, Builder, Cause, Completion, Event, Input, Next, OnError,
    Processor, Producer, RunSummary, Settings, Source, Threads,
};
use std::collections::HashMap;
use std::fmt;
use std::panic::panic_any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A payload that panics when it is dropped.
struct Splinter(u32);

impl Drop for Splinter {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Splinter(self.0 - 1));
        }
    }
}

/// A value that panics when it is dropped, if it is that of event 2.
struct Grenade(u64);

impl Drop for Grenade {
    fn drop(&mut self) {
        if self.0 == 2 {
            panic_any(Splinter(2));
        }
    }
}

struct Numbers;
impl Source for Numbers {
    type Product = Grenade;
    fn next(&mut self, number: u64) -> Result<Next<Grenade>, Cause> {
        Ok(if number < 6 { Next::Event(Grenade(0)) } else { Next::End })
    }
}

struct Make<F>(F);
impl<T: Send + Sync + 'static, F> Producer for Make<F>
where
    F: Fn(&Event<'_>) -> Result<T, Cause> + Send + Sync + 'static,
{
    type Product = T;
    fn produce(&self, event: &Event<'_>) -> Result<T, Cause> {
        (self.0)(event)
    }
}

struct See<F>(F);
impl<F: Fn(&Event<'_>) -> Result<(), Cause> + Send + Sync + 'static> Analyzer for See<F> {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event)
    }
}

struct Start<F>(F);
impl<F: Fn(&Event<'_>, Completion<Grenade>) + Send + Sync + 'static> AsyncProducer for Start<F> {
    type Product = Grenade;
    fn start(&self, event: &Event<'_>, done: Completion<Grenade>) -> Result<(), Cause> {
        (self.0)(event, done);
        Ok(())
    }
}

/// Runs a graph under each policy about failures; `build` adds modules. Tells its counts of events,
/// of those that failed, and of failures.
fn run(build: impl Fn(&mut Builder), on_error: OnError) -> RunSummary {
    let mut builder = Builder::new("number", Numbers);
    build(&mut builder);
    let settings = Settings::default().workers(2).slots(2).bind(Bind::None).on_error(on_error);
    Processor::new(builder.build().expect("a graph"), settings).run().expect("it runs")
}

/// Event 2 fails with this cause, and the others do not.
#[track_caller]
fn fails(build: impl Fn(&mut Builder), cause: &str) {
    let skip = run(&build, OnError::Skip);
    assert_eq!((skip.events, skip.failed), (5, 1), "{:?}", skip.failures);
    assert!(skip.failures[0].cause.contains(cause), "{:?}", skip.failures);
    assert_eq!(skip.failures[0].event, Some(2));
    let retry = run(&build, OnError::Retry(3));
    assert_eq!((retry.events, retry.failed), (5, 1), "{:?}", retry.failures);
    let stop = run(&build, OnError::Stop);
    assert!(stop.ended_by_failure && stop.failed == 1, "{:?}", stop.failures);
}

/// Asks for what `maker` makes, and looks at it.
fn look<T: Send + Sync + 'static>(builder: &mut Builder, maker: &'static str) {
    builder.analyzer("looks", Threads::Concurrent, move |inputs| {
        let made: Input<T> = inputs.get(maker);
        See(move |event: &Event<'_>| {
            let _ = event.get(made);
            Ok(())
        })
    });
}

#[test]
fn a_product_whose_destructor_panics_fails_its_event() {
    // When its last reader has ended, in the middle of the event.
    let early = |builder: &mut Builder| {
        let make = |_: &mut _| Make(|event: &Event<'_>| Ok(Grenade(event.number())));
        builder.producer("made", Threads::Concurrent, make);
        look::<Grenade>(builder, "made");
    };
    fails(early, "its product was dropped, and it panicked");
    // When the event ends.
    struct Own;
    impl Source for Own {
        type Product = Grenade;
        fn next(&mut self, number: u64) -> Result<Next<Grenade>, Cause> {
            Ok(if number < 6 { Next::Event(Grenade(number)) } else { Next::End })
        }
    }
    for on_error in [OnError::Skip, OnError::Retry(2)] {
        let mut builder = Builder::new("number", Own);
        look::<Grenade>(&mut builder, "number");
        let settings = Settings::default().workers(2).bind(Bind::None).on_error(on_error);
        let summary = Processor::new(builder.build().unwrap(), settings).run().unwrap();
        assert_eq!((summary.events, summary.failed), (5, 1), "{:?}", summary.failures);
        assert!(summary.failures[0].cause.contains("was dropped"), "{:?}", summary.failures);
    }
}

#[test]
fn a_payload_and_an_error_that_panic_fail_the_event() {
    let payload = |builder: &mut Builder| {
        builder.analyzer("panics", Threads::Serial, |_| {
            See(|event: &Event<'_>| match event.number() {
                2 => panic_any(Splinter(2)),
                _ => Ok(()),
            })
        });
    };
    fails(payload, "it panicked");
    #[derive(Debug)]
    struct Unspeakable;
    impl fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("no words")
        }
    }
    impl std::error::Error for Unspeakable {}
    let error = |builder: &mut Builder| {
        builder.analyzer("fails", Threads::Serial, |_| {
            See(|event: &Event<'_>| match event.number() {
                2 => Err(Unspeakable.into()),
                _ => Ok(()),
            })
        });
    };
    fails(error, "no words");
}

#[test]
fn a_future_that_panics_or_dies_badly_ends_its_event() {
    let panics = |builder: &mut Builder| {
        builder.async_producer("waits", Threads::Concurrent, |_| {
            Start(|event: &Event<'_>, done: Completion<Grenade>| {
                let number = event.number();
                done.run(async move {
                    let mut was_polled = false;
                    std::future::poll_fn(|cx| {
                        cx.waker().wake_by_ref();
                        match std::mem::replace(&mut was_polled, true) {
                            true => std::task::Poll::Ready(()),
                            false => std::task::Poll::Pending,
                        }
                    })
                    .await;
                    if number == 2 {
                        panic_any(Splinter(2));
                    }
                    Ok(Grenade(0))
                });
            })
        });
        look::<Grenade>(builder, "waits");
    };
    fails(panics, "it panicked");
    // What the future held dies when the result is there: the event is not harmed.
    let held = |builder: &mut Builder| {
        builder.async_producer("waits", Threads::Concurrent, |_| {
            Start(|event: &Event<'_>, done: Completion<Grenade>| {
                let held = std::mem::ManuallyDrop::new(Grenade(event.number()));
                struct Future(std::mem::ManuallyDrop<Grenade>, bool);
                impl std::future::Future for Future {
                    type Output = Result<Grenade, Cause>;
                    fn poll(
                        mut self: std::pin::Pin<&mut Self>,
                        cx: &mut std::task::Context<'_>,
                    ) -> std::task::Poll<Self::Output> {
                        if std::mem::replace(&mut self.1, true) {
                            return std::task::Poll::Ready(Ok(Grenade(0)));
                        }
                        cx.waker().wake_by_ref();
                        std::task::Poll::Pending
                    }
                }
                impl Drop for Future {
                    fn drop(&mut self) {
                        drop(std::mem::ManuallyDrop::into_inner(std::mem::replace(
                            &mut self.0,
                            std::mem::ManuallyDrop::new(Grenade(0)),
                        )));
                    }
                }
                done.run(Future(held, false));
            })
        });
        look::<Grenade>(builder, "waits");
    };
    let summary = run(held, OnError::Stop);
    assert_eq!((summary.events, summary.failed), (6, 0), "{:?}", summary.failures);
}

#[test]
fn modules_sources_closures_and_listeners_that_panic_at_their_end_do_not_end_the_run() {
    let mut builder = Builder::new("number", Numbers);
    builder.analyzer("splits", Threads::Concurrent, |_| {
        let (own, made) = (Grenade(2), Grenade(2));
        std::mem::forget(made);
        See(move |event: &Event<'_>| {
            let _ = &own;
            let held = Grenade(event.number());
            event.parallel_for(4, move |_| {
                let _ = &held;
            })
        })
    });
    let settings = Settings::default().workers(2).bind(Bind::None).on_error(OnError::Skip);
    let held = Grenade(2);
    let ended = Arc::new(AtomicU64::new(0));
    let ends = ended.clone();
    let processor = Processor::new(builder.build().unwrap(), settings).on_end(move |end| {
        let _ = &held;
        ends.fetch_add(1, Ordering::SeqCst);
        if end.number == 3 {
            panic_any(Splinter(2));
        }
    });
    let summary = processor.run().unwrap();
    assert_eq!((summary.events, summary.failed), (6, 0), "{:?}", summary.failures);
    assert_eq!(ended.load(Ordering::SeqCst), 6);
}

#[test]
fn a_destructor_may_finish_what_other_modules_wait_for() {
    /// What waits for the end of a product, or `None`: that has come already.
    type Waiting = Arc<Mutex<HashMap<u64, Option<Completion<Grenade>>>>>;
    /// Finishes another module of the same event as it dies.
    struct Ends(u64, Waiting);
    impl Drop for Ends {
        fn drop(&mut self) {
            let done = self.1.lock().unwrap().insert(self.0, None);
            if let Some(done) = done.flatten() {
                done.finish(Ok(Grenade(0)));
            }
        }
    }
    let build = |builder: &mut Builder| {
        let waiting = Waiting::default();
        let (puts, takes) = (waiting.clone(), waiting);
        builder.async_producer("waits", Threads::Concurrent, move |_| {
            let puts = puts.clone();
            Start(move |event: &Event<'_>, done: Completion<Grenade>| {
                let mut waiting = puts.lock().unwrap();
                let has_come = waiting.contains_key(&event.number());
                if has_come {
                    drop(waiting);
                    done.finish(Ok(Grenade(0)));
                } else {
                    waiting.insert(event.number(), Some(done));
                }
            })
        });
        look::<Grenade>(builder, "waits");
        builder.producer("ends", Threads::Concurrent, move |_| {
            let takes = takes.clone();
            Make(move |event: &Event<'_>| Ok(Ends(event.number(), takes.clone())))
        });
        builder.analyzer("reads", Threads::Concurrent, |inputs| {
            let ends: Input<Ends> = inputs.get("ends");
            See(move |event: &Event<'_>| {
                let _ = event.get(ends);
                Ok(())
            })
        });
    };
    for _ in 0..20 {
        let summary = run(build, OnError::Stop);
        assert_eq!((summary.events, summary.failed), (6, 0), "{:?}", summary.failures);
    }
}

#[test]
fn a_module_that_can_not_be_made_is_an_error_with_its_name() {
    // Which of its calls panics: the first is that of the builder, and makes the first instance.
    for (threads, bad, told) in [
        (Threads::Concurrent, 0, "module 'made' could not be made: it panicked: no shelf"),
        (Threads::Stream, 0, "module 'made' of slot 0 could not be made: it panicked: no shelf"),
        (Threads::Stream, 1, "module 'made' of slot 1 could not be made: it panicked: no shelf"),
    ] {
        let (mut calls, dropped) = (0, Arc::new(AtomicU64::new(0)));
        struct Counts(Arc<AtomicU64>);
        impl Drop for Counts {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let mut builder = Builder::new("number", Numbers);
        let counts = dropped.clone();
        builder.producer("made", threads, move |_| {
            calls += 1;
            assert!(calls - 1 != bad, "no shelf");
            let own = Counts(counts.clone());
            Make(move |_: &Event<'_>| {
                let _ = &own;
                Ok(Grenade(0))
            })
        });
        let settings = Settings::default().workers(2).slots(2).bind(Bind::None);
        let error = match builder.build() {
            Ok(graph) => Processor::new(graph, settings).run().unwrap_err().to_string(),
            Err(errors) => errors.to_string(),
        };
        assert_eq!(error, told);
        // Those that were made are gone.
        assert_eq!(dropped.load(Ordering::SeqCst), bad);
    }
}
