//! Events through graphs: what runs, in which order, how often, and what happens when something
//! fails.

use actinium_events::{
    Analyzer, AsyncProducer, Builder, Cause, Completion, Event, Figures, Filter, Input, Next,
    OnError, Order, Output, Processor, Producer, Settings, Source, Threads, Transition,
};
use actinium_scheduler::Policy;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Numbers from 0, with transitions before some of them.
struct Numbers(u64, Vec<(u64, Transition)>);

impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        if self.1.first().is_some_and(|&(at, _)| at == number) {
            return Ok(Next::Transition(self.1.remove(0).1));
        }
        Ok(if number < self.0 { Next::Event(number) } else { Next::End })
    }
}

fn numbers(n: u64) -> Builder {
    Builder::new("number", Numbers(n, Vec::new()))
}

struct Make<F>(F);
impl<T: Send + Sync + 'static, F: Fn(&Event<'_>) -> Result<T, Cause> + Send + Sync + 'static>
    Producer for Make<F>
{
    type Product = T;
    fn produce(&self, event: &Event<'_>) -> Result<T, Cause> {
        (self.0)(event)
    }
}

struct Pass<F>(F);
impl<F: Fn(&Event<'_>) -> Result<bool, Cause> + Send + Sync + 'static> Filter for Pass<F> {
    fn pass(&self, event: &Event<'_>) -> Result<bool, Cause> {
        (self.0)(event)
    }
}

struct See<F>(F);
impl<F: Fn(&Event<'_>) -> Result<(), Cause> + Send + Sync + 'static> Analyzer for See<F> {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event)
    }
}
impl<F: Fn(&Event<'_>) -> Result<(), Cause> + Send + Sync + 'static> Output for See<F> {
    fn write(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event)
    }
}

fn every(f: impl Fn(Settings)) {
    for policy in Policy::ALL {
        for (workers, slots) in [(1, 1), (2, 1), (2, 3), (3, 16)] {
            f(Settings::default()
                .policy(policy)
                .workers(workers)
                .slots(slots)
                .on_error(OnError::Skip));
        }
    }
}

#[test]
fn producers_run_at_most_once_and_only_when_needed() {
    every(|settings| {
        let runs = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let mut builder = numbers(40);
        for k in 0..3 {
            let runs = runs.clone();
            builder.producer(["needed", "sometimes", "never"][k], Threads::Concurrent, move |_| {
                let runs = runs.clone();
                Make(move |event: &Event<'_>| {
                    runs[k].fetch_add(1, Ordering::SeqCst);
                    Ok(event.number())
                })
            });
        }
        builder.filter("even", Threads::Concurrent, |inputs| {
            let needed: Input<u64> = inputs.get("needed");
            Pass(move |event: &Event<'_>| Ok(event.get(needed).is_multiple_of(2)))
        });
        for label in ["first", "second"] {
            builder.analyzer(label, Threads::Concurrent, |inputs| {
                let (a, b): (Input<u64>, Input<u64>) =
                    (inputs.get("sometimes"), inputs.get("needed"));
                See(move |event: &Event<'_>| {
                    assert_eq!(*event.get(a), *event.get(b));
                    Ok(())
                })
            });
        }
        builder.path("one", ["even", "first"]);
        builder.path("two", ["even", "second"]);
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (40, 0), "{:?}", summary.failures);
        let runs: Vec<_> = runs.iter().map(|runs| runs.load(Ordering::SeqCst)).collect();
        assert_eq!(runs, [40, 20, 0]);
        assert_eq!((summary.paths[0].events, summary.paths[0].passed), (40, 20));
        assert_eq!(summary.modules[1].calls, 20);
    });
}

#[test]
fn each_thread_kind_keeps_others_out() {
    every(|settings| {
        let inside = Arc::new([const { AtomicUsize::new(0) }; 5]);
        let mut builder = numbers(60);
        let kinds = [
            (Threads::Serial, 0, 1),
            (Threads::Exclusive("disk".into()), 1, 1),
            (Threads::Exclusive("disk".into()), 1, 1),
            (Threads::Limited(2), 2, 2),
            (Threads::Concurrent, 3, usize::MAX),
            (Threads::Stream, 4, usize::MAX),
        ];
        for (k, (threads, counter, most)) in kinds.into_iter().enumerate() {
            let inside = inside.clone();
            let streams = threads == Threads::Stream;
            builder.analyzer(&format!("m{k}"), threads, move |inputs| {
                let (inside, slot) = (inside.clone(), inputs.slot());
                See(move |event: &Event<'_>| {
                    if streams {
                        assert_eq!(slot, Some(event.slot()));
                    }
                    let now = inside[counter].fetch_add(1, Ordering::SeqCst) + 1;
                    std::thread::yield_now();
                    inside[counter].fetch_sub(1, Ordering::SeqCst);
                    if now > most { Err(format!("{now} at a time").into()) } else { Ok(()) }
                })
            });
        }
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (60, 0), "{:?}", summary.failures);
    });
}

#[test]
fn failures_name_module_event_and_cause_and_nothing_of_them_is_written() {
    every(|settings| {
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut builder = numbers(30);
        builder.producer("shaky", Threads::Serial, |inputs| {
            let number: Input<u64> = inputs.get("number");
            Make(move |event: &Event<'_>| match *event.get(number) % 10 {
                3 => Err("three is too many".into()),
                7 => panic!("seven"),
                _ => Ok(1u8),
            })
        });
        builder.analyzer("looks", Threads::Concurrent, |inputs| {
            let shaky: Input<u8> = inputs.get("shaky");
            See(move |event: &Event<'_>| {
                (*event.get(shaky) == 1).then_some(()).ok_or_else(|| "?".into())
            })
        });
        let log = written.clone();
        builder.output("file", Threads::Serial, move |_| {
            let log = log.clone();
            See(move |event: &Event<'_>| {
                log.lock().expect("not poisoned").push(event.number());
                Ok(())
            })
        });
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (24, 6));
        let mut written = written.lock().expect("not poisoned").clone();
        written.sort_unstable();
        let good: Vec<u64> = (0..30).filter(|n| !matches!(n % 10, 3 | 7)).collect();
        assert_eq!(written, good);
        assert!(summary.failures.iter().all(|it| it.module == "shaky"));
        let said = |event, text| {
            summary.failures.iter().any(|it| it.event == Some(event) && it.cause.contains(text))
        };
        assert!(
            said(13, "three is too many") && said(27, "it panicked: seven"),
            "{:?}",
            summary.failures
        );
    });
}

#[test]
fn stopping_at_the_first_failure_and_trying_again() {
    let failing = |on_error, succeeds_after: usize| {
        let tries = Arc::new(AtomicUsize::new(0));
        let mut builder = numbers(1_000);
        builder.analyzer("fails", Threads::Serial, move |_| {
            let tries = tries.clone();
            See(move |event: &Event<'_>| {
                let bad =
                    event.number() == 5 && tries.fetch_add(1, Ordering::SeqCst) < succeeds_after;
                if bad { Err("five".into()) } else { Ok(()) }
            })
        });
        let settings = Settings::default().workers(2).slots(4).on_error(on_error);
        Processor::new(builder.build().expect("a graph"), settings).run().expect("runs")
    };
    let stopped = failing(OnError::Stop, usize::MAX);
    assert!(stopped.ended_by_failure && stopped.failed == 1 && stopped.events < 1_000);
    let again = failing(OnError::Retry(2), 2);
    assert_eq!((again.events, again.failed, again.retries), (1_000, 0, 2));
    let in_vain = failing(OnError::Retry(2), usize::MAX);
    assert_eq!((in_vain.events, in_vain.failed, in_vain.retries), (999, 1, 2));
}

#[test]
fn outputs_come_in_order_when_asked_to() {
    for window in [1, 2, 100] {
        every(|settings| {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let mut builder = numbers(50);
            builder.producer("work", Threads::Concurrent, |_| {
                Make(|event: &Event<'_>| {
                    (0..event.number() % 7).for_each(|_| std::thread::yield_now());
                    if event.number() == 20 { Err("twenty".into()) } else { Ok(()) }
                })
            });
            let log = seen.clone();
            builder.output("file", Threads::Serial, move |inputs| {
                let work: Input<()> = inputs.get("work");
                let log = log.clone();
                See(move |event: &Event<'_>| {
                    let () = *event.get(work);
                    log.lock().expect("not poisoned").push(event.number());
                    Ok(())
                })
            });
            let settings = settings.order(Order::Input { window });
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
            let expected: Vec<u64> = (0..50).filter(|&n| n != 20).collect();
            assert_eq!(*seen.lock().expect("not poisoned"), expected);
        });
    }
}

#[test]
fn transitions_are_barriers() {
    struct Watch(Arc<Mutex<Vec<String>>>);
    impl Analyzer for Watch {
        fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
            self.0.lock().expect("not poisoned").push(event.number().to_string());
            Ok(())
        }
        fn transition(&self, transition: Transition) -> Result<(), Cause> {
            self.0.lock().expect("not poisoned").push(format!("{transition:?}"));
            Ok(())
        }
    }
    every(|settings| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let barriers = vec![
            (0, Transition::BeginRun(1)),
            (10, Transition::EndRun(1)),
            (10, Transition::BeginRun(2)),
            (20, Transition::EndRun(2)),
        ];
        let mut builder = Builder::new("number", Numbers(20, barriers));
        let own = log.clone();
        builder.analyzer("watch", Threads::Concurrent, move |_| Watch(own.clone()));
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!(summary.events, 20);
        let log = log.lock().expect("not poisoned");
        let at = |what: &str| log.iter().position(|it| it == what).expect("it is there");
        assert_eq!(
            (at("BeginRun(1)"), at("EndRun(1)"), at("BeginRun(2)"), at("EndRun(2)")),
            (0, 11, 12, 23)
        );
        assert!(
            (0..10).all(|n: u64| at(&n.to_string()) < 11)
                && (10..20).all(|n: u64| at(&n.to_string()) > 12)
        );
    });
}

/// A product that is counted while it lives.
struct Counted(Arc<AtomicUsize>);
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn products_go_when_their_last_consumer_is_done() {
    every(|settings| {
        let alive = Arc::new(AtomicUsize::new(0));
        let slots = settings.slots.expect("set");
        let mut builder = numbers(40);
        for k in 0..20 {
            let alive = alive.clone();
            builder.producer(&format!("p{k}"), Threads::Concurrent, move |inputs| {
                let before: Option<Input<Counted>> =
                    (k > 0).then(|| inputs.get(&format!("p{}", k - 1)));
                let alive = alive.clone();
                Make(move |event: &Event<'_>| {
                    let _before = before.map(|before| event.get(before));
                    // Of a chain at most two links are there at a time.
                    let now = alive.fetch_add(1, Ordering::SeqCst) + 1;
                    if now > 2 * slots {
                        Err(format!("{now} alive").into())
                    } else {
                        Ok(Counted(alive.clone()))
                    }
                })
            });
        }
        builder.analyzer("end", Threads::Concurrent, |inputs| {
            let last: Input<Counted> = inputs.get("p19");
            See(move |event: &Event<'_>| {
                let _last = event.get(last);
                Ok(())
            })
        });
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (40, 0), "{:?}", summary.failures);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn all_faults_of_a_graph_are_told_at_once() {
    let mut builder = numbers(1);
    let make = || Make(|_: &Event<'_>| Ok(1u8));
    builder.producer("tracks", Threads::Concurrent, move |inputs| {
        let _: Input<u8> = inputs.get("hits");
        make()
    });
    builder.producer("hits", Threads::Limited(0), move |inputs| {
        let _: Input<u8> = inputs.get("tracks");
        make()
    });
    builder.producer("hits", Threads::Serial, move |_| make());
    builder.analyzer("looks", Threads::Serial, |inputs| {
        let (_, _): (Input<u16>, Input<u8>) = (inputs.get("tracks"), inputs.get("tarcks"));
        See(|_: &Event<'_>| Ok(()))
    });
    builder.path("p", ["hits", "nobody"]);
    let text = builder.build().expect_err("much is wrong").to_string();
    for part in [
        "two modules have the label 'hits'",
        "module 'hits': limited to 0",
        "module 'looks' asks for u16 of 'tracks', which makes u8",
        "module 'looks' asks for u8 of 'tarcks', which no module is called; is 'tracks' meant?",
        "path 'p': 'hits' is neither a filter nor an analyzer",
        "path 'p': no module is called 'nobody'",
    ] {
        assert!(text.contains(part), "'{part}' is missing in:\n{text}");
    }
    let mut builder = numbers(1);
    for (label, needs) in [("a", "b"), ("b", "c"), ("c", "a")] {
        builder.producer(label, Threads::Serial, move |inputs| {
            let _: Input<u8> = inputs.get(needs);
            make()
        });
    }
    let text = builder.build().expect_err("a cycle").to_string();
    assert_eq!(text, "modules need each other in a cycle: a needs b needs c needs a");
}

#[test]
fn the_source_fails_and_nothing_hangs() {
    struct Broken;
    impl Source for Broken {
        type Product = u64;
        fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
            if number == 3 { Err("the tape is torn".into()) } else { Ok(Next::Event(number)) }
        }
    }
    every(|settings| {
        let summary =
            Processor::new(Builder::new("tape", Broken).build().expect("a graph"), settings)
                .run()
                .expect("runs");
        assert_eq!((summary.events, summary.ended_by_failure), (3, true));
        assert_eq!(
            (&*summary.failures[0].module, &*summary.failures[0].cause),
            ("tape", "the tape is torn")
        );
    });
}

/// A module that keeps its completions until many events wait, which shows that a waiting module
/// holds no thread.
struct Gather(Arc<Mutex<Vec<Completion<u8>>>>, usize);
impl AsyncProducer for Gather {
    type Product = u8;
    fn start(&self, _: &Event<'_>, done: Completion<u8>) -> Result<(), Cause> {
        let mut waiting = self.0.lock().expect("not poisoned");
        waiting.push(done);
        if waiting.len() == self.1 {
            let all = std::mem::take(&mut *waiting);
            drop(waiting);
            all.into_iter().for_each(|done| done.finish(Ok(1)));
        }
        Ok(())
    }
}

fn gather(slots: usize, events: u64, settings: Settings) -> actinium_events::RunSummary {
    let mut builder = numbers(events);
    let waiting = Arc::new(Mutex::new(Vec::new()));
    builder.async_producer("wait", Threads::Concurrent, move |_| Gather(waiting.clone(), slots));
    builder.analyzer("end", Threads::Concurrent, |inputs| {
        let wait: Input<u8> = inputs.get("wait");
        See(move |event: &Event<'_>| {
            (*event.get(wait) == 1).then_some(()).ok_or_else(|| "?".into())
        })
    });
    let settings = settings.slots(slots);
    Processor::new(builder.build().expect("a graph"), settings).run().expect("runs")
}

#[test]
fn waiting_modules_hold_no_thread() {
    every(|settings| {
        let summary = gather(10, 40, settings);
        assert_eq!((summary.events, summary.failed, summary.in_flight_max), (40, 0, 10));
    });
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn a_hundred_thousand_events_wait_on_two_workers() {
    let summary = gather(100_000, 200_000, Settings::default().workers(2));
    assert_eq!((summary.events, summary.in_flight_max), (200_000, 100_000));
}

#[test]
fn an_event_does_not_end_while_a_start_still_reads_it() {
    /// Completed by another thread, or by itself, before its start returns.
    struct Reads(Input<u64>);
    impl AsyncProducer for Reads {
        type Product = u64;
        fn start(&self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
            let read = event.get(self.0);
            let (number, by_itself) = (*read, read.is_multiple_of(3));
            let finish = move || done.finish(Ok(number));
            if by_itself {
                finish();
            } else {
                std::thread::spawn(finish).join().map_err(|_| "the thread panicked")?;
            }
            // Others have time to end the event, were it possible, and to begin the next one.
            for _ in 0..100 {
                std::thread::yield_now();
            }
            let again = *event.get(self.0);
            if (number, number) == (*read, again) { Ok(()) } else { Err("another event's".into()) }
        }
    }
    every(|settings| {
        let mut builder = numbers(60);
        for name in ["reads", "reads too"] {
            let reads = |inputs: &mut actinium_events::Inputs| Reads(inputs.get("number"));
            builder.async_producer(name, Threads::Concurrent, reads);
        }
        builder.analyzer("end", Threads::Concurrent, move |inputs| {
            let numbers = ["reads", "reads too"].map(|name| inputs.get::<u64>(name));
            See(move |event: &Event<'_>| {
                let is_its = numbers.iter().all(|&it| *event.get(it) == event.number());
                is_its.then_some(()).ok_or_else(|| "?".into())
            })
        });
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (60, 0), "{:?}", summary.failures);
    });
}

#[test]
fn a_completion_that_is_dropped_fails_its_event() {
    struct Forgets;
    impl AsyncProducer for Forgets {
        type Product = u8;
        fn start(&self, event: &Event<'_>, done: Completion<u8>) -> Result<(), Cause> {
            if event.number().is_multiple_of(2) {
                done.at(event.now_ns() + 1_000, 1);
            }
            Ok(())
        }
    }
    every(|settings| {
        let mut builder = numbers(20);
        builder.async_producer("forgets", Threads::Serial, |_| Forgets);
        builder.analyzer("end", Threads::Concurrent, |inputs| {
            let it: Input<u8> = inputs.get("forgets");
            See(move |event: &Event<'_>| {
                (*event.get(it) == 1).then_some(()).ok_or_else(|| "?".into())
            })
        });
        let summary =
            Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (10, 10));
        assert!(summary.failures[0].cause.contains("dropped its completion"));
    });
}

#[test]
fn stopping_finishes_what_is_in_flight_and_stopping_again_does_not() {
    for times in [1, 2] {
        let mut builder = Builder::new("number", Numbers(u64::MAX, Vec::new()));
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let stopper = Arc::new(Mutex::new(None::<actinium_events::Stopper>));
        let (own, held) = (stopper.clone(), waiting.clone());
        builder.async_analyzer("stops", Threads::Concurrent, move |_| {
            Stops(own.clone(), held.clone(), times)
        });
        let processor = Processor::new(
            builder.build().expect("a graph"),
            Settings::default().workers(2).slots(3),
        );
        *stopper.lock().expect("not poisoned") = Some(processor.stopper());
        let summary = processor.run().expect("runs");
        assert!(summary.stopped);
        if times == 1 {
            assert_eq!(summary.abandoned, 0);
            assert!(summary.events >= 100, "{}", summary.events);
        } else {
            assert!(summary.abandoned > 0);
        }
    }
    struct Stops(
        Arc<Mutex<Option<actinium_events::Stopper>>>,
        Arc<Mutex<Vec<Completion<()>>>>,
        usize,
    );
    impl actinium_events::AsyncAnalyzer for Stops {
        fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
            if event.number() == 100 {
                let stopper =
                    self.0.lock().expect("not poisoned").clone().expect("set before the run");
                (0..self.2).for_each(|_| stopper.stop());
                if self.2 == 2 {
                    self.1.lock().expect("not poisoned").push(done);
                    return Ok(());
                }
            }
            done.finish(Ok(()));
            Ok(())
        }
    }
}

#[test]
fn spans_and_samples_say_what_happened() {
    let mut builder = numbers(20);
    builder.analyzer("end", Threads::Serial, |_| See(|_: &Event<'_>| Ok(())));
    let settings = Settings::default().workers(2).slots(2).figures(Figures::Spans);
    let summary = Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
    assert_eq!(summary.spans.len(), 20);
    assert!(summary.spans.iter().all(|span| span.start_ns <= span.end_ns && span.worker < 2));
    assert_eq!((summary.modules[0].calls, summary.spans_forgotten), (20, 0));
    // Of more than are kept, the latest stay, and the others are counted.
    let mut builder = numbers(20);
    builder.analyzer("end", Threads::Serial, |_| See(|_: &Event<'_>| Ok(())));
    let mut settings = Settings::default().workers(1).figures(Figures::Spans);
    settings.spans_max = 8;
    let few = Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
    assert_eq!((few.spans.len(), few.spans_forgotten), (8, 12));
    assert!(few.spans.iter().all(|span| span.event >= 12), "{:?}", few.spans);
    // A wait has a span of its own, which lasts as long as the wait.
    let mut builder = numbers(5);
    struct Sleeps;
    impl actinium_events::AsyncAnalyzer for Sleeps {
        fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
            done.at(event.now_ns() + 2_000_000, ());
            Ok(())
        }
    }
    builder.async_analyzer("sleeps", Threads::Concurrent, |_| Sleeps);
    let settings = Settings::default().workers(2).slots(2).figures(Figures::Spans);
    let waited = Processor::new(builder.build().expect("a graph"), settings).run().expect("runs");
    let (waits, calls): (Vec<_>, Vec<_>) = waited.spans.into_iter().partition(|span| span.waits);
    assert_eq!((waits.len(), calls.len()), (5, 5));
    assert!(waits.iter().all(|span| span.end_ns - span.start_ns >= 2_000_000), "{waits:?}");
    let wrong =
        Processor::new(numbers(1).build().expect("a graph"), Settings::default().slots(0)).run();
    assert_eq!(
        wrong.expect_err("no slots").to_string(),
        "slots: 0 is not allowed: 1 to 16,777,216"
    );
}

#[test]
fn a_run_ends_in_its_time_without_a_module_that_does_not_return() {
    for workers in [1, 2] {
        let mut builder = numbers(u64::MAX);
        let (entered, is_in) = mpsc::channel();
        let entered = Mutex::new(entered);
        // Its sender is never dropped before the end of this test.
        let (resume, never) = mpsc::channel::<()>();
        let never = Arc::new(Mutex::new(never));
        builder.analyzer("hangs", Threads::Serial, move |_| {
            let (entered, never) = (entered.lock().expect("not poisoned").clone(), never.clone());
            See(move |event: &Event<'_>| {
                if event.number() == 7 {
                    entered.send(()).expect("the test waits");
                    let _ = never.lock().expect("only one event comes here").recv();
                }
                Ok(())
            })
        });
        let settings = Settings::default().workers(workers).slots(4);
        let processor = Processor::new(builder.build().expect("a graph"), settings);
        let stopper = processor.stopper();
        let run = std::thread::spawn(move || processor.run().expect("runs"));
        is_in.recv().expect("it comes so far");
        stopper.stop_within(Duration::ZERO);
        let summary = run.join().expect("it ends");
        assert!(summary.stopped);
        assert!(summary.abandoned > 0);
        assert_eq!(summary.stuck.len(), 1, "{:?}", summary.stuck);
        assert_eq!(summary.stuck[0].module.as_deref(), Some("hangs"));
        // It may come back at any time, and do no harm.
        drop(resume);
    }
}

#[test]
fn a_run_that_is_done_in_its_time_leaves_nobody_behind() {
    let mut builder = numbers(20);
    builder.analyzer("end", Threads::Serial, |_| See(|_: &Event<'_>| Ok(())));
    let processor =
        Processor::new(builder.build().expect("a graph"), Settings::default().workers(2));
    // Before it begins, and for longer than the clock can tell.
    processor.stopper().stop_within(Duration::MAX);
    let summary = processor.run().expect("runs");
    assert!(summary.stopped && summary.stuck.is_empty(), "{:?}", summary.stuck);
}
