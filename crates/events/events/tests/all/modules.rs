//! The API of modules: factories, handles, modules with a state, several products, ends of jobs.

use actinium_events::{
    Analyzer, AnalyzerMut, AsyncAnalyzer, AsyncAnalyzerMut, AsyncFilterMut, AsyncProducer,
    AsyncProducerMut, Builder, Cause, Completion, Event, Figures, FilterMut, Input, Kept, Next,
    OnError, OutputMut, Processor, Producer, ProducerMut, RunSummary, Settings, Source, Threads,
    ThreadsMut, Transition,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Numbers from 0, with a run around each ten.
struct Numbers(u64, Vec<Transition>);
impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        if let Some(transition) = self.1.pop() {
            return Ok(Next::Transition(transition));
        }
        if number == self.0 {
            return Ok(Next::End);
        }
        if number % 10 == 9 {
            self.1.push(Transition::EndRun(number / 10));
        }
        Ok(Next::Event(number))
    }
}

fn numbers(n: u64) -> (Builder, actinium_events::Handle<u64>) {
    Builder::with_source("number", Numbers(n, Vec::new()))
}

fn run(builder: Builder, settings: Settings) -> RunSummary {
    Processor::new(builder.build().expect("a graph"), settings).run().expect("it runs")
}

fn every(f: impl Fn(Settings)) {
    for (workers, slots) in [(1, 1), (2, 1), (2, 3), (3, 16)] {
        f(Settings::default().workers(workers).slots(slots).on_error(OnError::Skip));
    }
}

/// Does what a closure says, whatever the role.
struct Does<F>(F);
impl<T: Send + Sync + 'static, F> Producer for Does<F>
where
    F: Fn(&Event<'_>) -> Result<T, Cause> + Send + Sync + 'static,
{
    type Product = T;
    fn produce(&self, event: &Event<'_>) -> Result<T, Cause> {
        (self.0)(event)
    }
}
impl<F: Fn(&Event<'_>) -> Result<(), Cause> + Send + Sync + 'static> Analyzer for Does<F> {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event)
    }
}

fn does<T, F: Fn(&Event<'_>) -> Result<T, Cause> + Send + Sync + 'static>(f: F) -> Does<F> {
    Does(f)
}

/// Sums, without a lock, and notes all that it is told.
#[derive(Default)]
struct Sums {
    input: Option<Input<u64>>,
    sum: u64,
    told: Vec<Transition>,
    ends: u32,
}

impl Sums {
    fn add(&mut self, event: &Event<'_>) -> u64 {
        self.sum += self.input.map_or(event.number(), |input| *event.get(input));
        self.sum
    }
}

macro_rules! sums {
    ($($role:ident, $call:ident -> $result:ty $(, $item:item)?: |$sum:ident| $value:expr;)+) => {$(
        impl $role for Sums {
            $($item)?
            fn $call(&mut self, event: &Event<'_>) -> Result<$result, Cause> {
                let $sum = self.add(event);
                Ok($value)
            }
            fn transition(&mut self, transition: Transition) -> Result<(), Cause> {
                self.told.push(transition);
                Ok(())
            }
            fn end_job(&mut self) -> Result<(), Cause> {
                self.ends += 1;
                Ok(())
            }
        }
    )+};
}

sums! {
    ProducerMut, produce -> u64, type Product = u64;: |sum| sum;
    FilterMut, pass -> bool: |sum| sum > 0;
    AnalyzerMut, analyze -> (): |_sum| ();
    OutputMut, write -> (): |_sum| ();
}

#[test]
fn modules_with_a_state_hand_out_what_they_gathered_from_all_slots() {
    every(|settings| {
        let slots = settings.slots.expect("set");
        for threads in
            [ThreadsMut::Serial, ThreadsMut::Stream, ThreadsMut::Exclusive("disk".into())]
        {
            let instances = if threads == ThreadsMut::Stream { slots } else { 1 };
            let (mut builder, number) = numbers(40);
            let sums = move |inputs: &mut actinium_events::Inputs| Sums {
                input: Some(inputs.get(number)),
                ..Sums::default()
            };
            let (made, producer) = builder.producer_mut("made", threads.clone(), sums);
            let filter = builder.filter_mut("filter", threads.clone(), sums);
            let analyzer = builder.analyzer_mut("analyzer", threads.clone(), sums);
            let path = builder.path("path", (&filter, &analyzer));
            let output =
                builder.output_mut("output", threads.clone().select(path), move |inputs| {
                    let _: Input<u64> = inputs.get(made);
                    sums(inputs)
                });
            assert!(analyzer.take().is_empty(), "before the run");
            let summary = run(builder, settings.clone());
            assert_eq!((summary.events, summary.failed), (40, 0), "{:?}", summary.failures);
            let all: u64 = (0..40).sum();
            for kept in [producer, filter, analyzer, output] {
                let modules = kept.clone().take();
                assert_eq!(modules.len(), instances, "{threads:?}");
                for module in &modules {
                    let ends: Vec<_> = (0..4).map(Transition::EndRun).collect();
                    assert_eq!((&module.told, module.ends), (&ends, 1));
                }
                let sum: u64 = modules.iter().map(|module| module.sum).sum();
                assert_eq!(sum, all, "{threads:?}");
                assert!(kept.take().is_empty(), "once");
            }
        }
    });
}

#[test]
fn stateful_instances_are_merged_into_one() {
    let (mut builder, number) = numbers(100);
    let sums = builder.analyzer_mut("sums", ThreadsMut::Stream, move |inputs| {
        Ok(Sums { input: Some(inputs.get(number)), ..Sums::default() })
    });
    run(builder, Settings::default().workers(2).slots(7));
    let merged = sums.merge(|all, one| all.sum += one.sum).expect("the run came to its end");
    assert_eq!(merged.sum, 4_950);
    assert!(sums.merge(|_, _| ()).is_none());
}

/// Panics at every third event, and has seen all others.
struct Shaky(Vec<u64>);
impl AnalyzerMut for Shaky {
    fn analyze(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        assert!(event.number() % 3 != 0, "three");
        self.0.push(event.number());
        Ok(())
    }
    fn end_job(&mut self) -> Result<(), Cause> {
        Err(format!("{} were seen", self.0.len()).into())
    }
}

#[test]
fn a_panic_leaves_the_state_and_an_end_that_fails_is_a_failure_of_the_run() {
    every(|settings| {
        let (mut builder, _) = numbers(30);
        let shaky = builder.analyzer_mut("shaky", ThreadsMut::Serial, |_| Shaky(Vec::new()));
        let summary = run(builder, settings);
        assert_eq!((summary.events, summary.failed), (20, 10));
        let end = summary.failures.last().expect("the end's");
        assert_eq!((end.event, &*end.cause), (None, "the end of the job: 20 were seen"));
        assert!(summary.ended_by_failure);
        let mut seen = shaky.merge(|_, _| ()).expect("it is kept").0;
        seen.sort_unstable();
        assert_eq!(seen, (0..30).filter(|n| n % 3 != 0).collect::<Vec<_>>());
    });
}

#[test]
fn factories_are_called_once_per_instance_and_may_fail() {
    for (slots, threads, calls) in
        [(5, Threads::Concurrent, 1), (5, Threads::Stream, 5), (1, Threads::Stream, 1)]
    {
        let made = Arc::new(Mutex::new(Vec::new()));
        let (mut builder, _) = numbers(9);
        let own = made.clone();
        builder.analyzer("counted", threads, move |inputs| {
            own.lock().expect("not poisoned").push(inputs.slot());
            does(|_| Ok(()))
        });
        run(builder, Settings::default().workers(2).slots(slots));
        let made = made.lock().expect("not poisoned");
        assert_eq!(made.len(), calls);
        assert!(calls == 1 || *made == (0..calls).map(Some).collect::<Vec<_>>(), "{made:?}");
    }
    let (mut builder, _) = numbers(1);
    builder.analyzer("reads", Threads::Serial, |_| {
        let text = std::fs::read_to_string("/no/such/file")?;
        Ok(does(move |_| if text.is_empty() { Err("empty".into()) } else { Ok(()) }))
    });
    let errors = builder.build().expect_err("there is no such file").to_string();
    assert!(errors.starts_with("module 'reads' could not be made: No such file"), "{errors}");
}

#[test]
fn what_is_of_another_graph_or_selects_wrongly_is_refused() {
    let (mut other, _) = numbers(1);
    let theirs = other.producer("theirs", Threads::Serial, |_| does(|_| Ok(1u8)));
    let step = other.analyzer("step", Threads::Serial, |_| does(|_| Ok(())));
    let path = other.path("other", [step]);
    let (mut builder, _) = numbers(1);
    builder.analyzer("asks", Threads::Serial.select(path), move |inputs| {
        let _ = inputs.get(theirs);
        does(|_| Ok(()))
    });
    builder.analyzer("selects", Threads::Serial.select("p"), |_| does(|_| Ok(())));
    builder.path("p", [step]);
    let errors = builder.build().expect_err("much is wrong").to_string();
    for part in [
        "module 'asks' asks for a product by the handle of another graph",
        "module 'asks' selects a path by the handle of another graph",
        "path 'p' has a step by the handle of another graph",
        "module 'selects' selects a path and is no output",
    ] {
        assert!(errors.contains(part), "'{part}' is missing in:\n{errors}");
    }
}

/// A product that is counted while it lives.
struct Counted(Arc<AtomicUsize>, u64);
impl Counted {
    fn new(alive: &Arc<AtomicUsize>, value: u64) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Counted(alive.clone(), value)
    }
}
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Two products and one that nobody reads; of the second every third event fails.
struct Three([Arc<AtomicUsize>; 3], Input<u64>);
impl Three {
    fn make(&self, event: &Event<'_>) -> Result<(Counted, Counted, Counted), Cause> {
        let number = *event.get(self.1);
        if number % 3 == 2 {
            return Err("two".into());
        }
        let [a, b, c] = [0, 1, 2].map(|k| Counted::new(&self.0[k], number + k as u64));
        Ok((a, b, c))
    }
}
impl Producer for Three {
    type Product = (Counted, Counted, Counted);
    fn produce(&self, event: &Event<'_>) -> Result<Self::Product, Cause> {
        self.make(event)
    }
}
impl ProducerMut for Three {
    type Product = (Counted, Counted, Counted);
    fn produce(&mut self, event: &Event<'_>) -> Result<Self::Product, Cause> {
        self.make(event)
    }
}
impl AsyncProducer for Three {
    type Product = (Counted, Counted, Counted);
    fn start(&self, event: &Event<'_>, done: Completion<Self::Product>) -> Result<(), Cause> {
        let made = self.make(event)?;
        done.run(async move { Ok(made) });
        Ok(())
    }
}

#[test]
fn each_of_several_products_has_an_end_of_its_own() {
    for kind in ["plain", "with a state", "waits"] {
        every(|settings| {
            let alive = [(); 3].map(|()| Arc::default());
            let (mut builder, number) = numbers(60);
            let of = alive.clone();
            let make =
                move |inputs: &mut actinium_events::Inputs| Three(of.clone(), inputs.get(number));
            let labels = ["first", "second", "third"];
            let (first, second, _) = match kind {
                "plain" => builder.producers("three", labels, Threads::Concurrent, make),
                "waits" => builder.async_producers("three", labels, Threads::Concurrent, make),
                _ => builder.producers_mut("three", labels, ThreadsMut::Stream, make).0,
            };
            let is_alone = (settings.workers, settings.slots) == (Some(1), Some(1));
            // The first is read here alone, and gone when the second is read.
            let own = alive.clone();
            let reads = builder.producer("reads", Threads::Concurrent, move |inputs| {
                let (first, own) = (inputs.get(first), own.clone());
                does(move |event| {
                    let unread = own[2].load(Ordering::SeqCst);
                    if is_alone && unread > 0 {
                        return Err("what nobody reads is still there".into());
                    }
                    Ok(event.get(first).1)
                })
            });
            let even = builder.filter_mut("even", ThreadsMut::Stream, |_| Even);
            let own = alive.clone();
            let looks = builder.analyzer("looks", Threads::Concurrent, move |inputs| {
                let (reads, second, own) = (inputs.get(reads), inputs.get(second), own.clone());
                does(move |event| {
                    let left = own[0].load(Ordering::SeqCst);
                    if is_alone && left > 0 {
                        return Err("the first is still there".into());
                    }
                    let (first, second) = (*event.get(reads), event.get(second).1);
                    assert_eq!((first, second), (event.number(), event.number() + 1));
                    Ok(())
                })
            });
            // In odd events nobody wants the second product.
            builder.path("even", (&even, looks));
            builder.analyzer("always", Threads::Concurrent, move |inputs| {
                let reads = inputs.get(reads);
                does(move |event| {
                    assert_eq!(*event.get(reads), event.number());
                    Ok(())
                })
            });
            let summary = run(builder, settings);
            assert_eq!((summary.events, summary.failed), (40, 20), "{:?}", summary.failures);
            let is_its = |it: &actinium_events::Failure| it.module == "three" && it.cause == "two";
            assert!(summary.failures.iter().all(is_its), "{kind}: {:?}", summary.failures);
            assert_eq!(alive.map(|alive| alive.load(Ordering::SeqCst)), [0; 3], "{kind}");
            let calls = |label: &str| {
                let module = summary.modules.iter().find(|module| module.label == label);
                module.map(|module| module.calls)
            };
            assert_eq!((calls("three"), calls("looks")), (Some(60), Some(20)));
            assert_eq!(calls("first"), None, "it is no module");
        });
    }
}

struct Even;
impl FilterMut for Even {
    fn pass(&mut self, event: &Event<'_>) -> Result<bool, Cause> {
        Ok(event.number() % 2 == 0)
    }
}

#[test]
fn several_products_may_be_asked_for_one_by_one_by_label_and_later_than_each_other() {
    every(|settings| {
        let (mut builder, number) = numbers(20);
        let halves =
            builder.producers("halves", ["half", "rest"], Threads::Serial, move |inputs| {
                let number = inputs.get(number);
                does(move |event| {
                    let number = *event.get(number);
                    Ok((number / 2, number % 2))
                })
            });
        let first = builder.analyzer("first", Threads::Concurrent, move |inputs| {
            let half = inputs.get(halves.0);
            does(move |event| {
                assert_eq!(*event.get(half), event.number() / 2);
                Ok(())
            })
        });
        let then = builder.analyzer("then", Threads::Concurrent.one_by_one(), |inputs| {
            let (rest, half): (Input<u64>, Input<u64>) = (inputs.get("rest"), inputs.get("half"));
            does(move |event| {
                assert_eq!(2 * *event.get(half) + *event.get(rest), event.number());
                Ok(())
            })
        });
        builder.path("path", [first, then]);
        let graph = builder.build().expect("a graph");
        assert_ne!(graph.stamp("half"), graph.stamp("rest"));
        assert_eq!(graph.len(), 3);
        let summary = Processor::new(graph, settings).run().expect("it runs");
        assert_eq!((summary.events, summary.failed), (20, 0), "{:?}", summary.failures);
    });
    let (mut builder, _) = numbers(1);
    builder.producers("two", ["a", "a"], Threads::Serial, |_| does(|_| Ok((1u8, 2u8))));
    builder.analyzer("asks", Threads::Serial, |inputs| {
        let _: Input<u8> = inputs.get("two");
        does(|_| Ok(()))
    });
    let errors = builder.build().expect_err("much is wrong").to_string();
    for part in [
        "two modules have the label 'a'",
        "of 'two', which makes several, each with a label of its own: 'a', 'a'",
    ] {
        assert!(errors.contains(part), "'{part}' is missing in:\n{errors}");
    }
}

#[test]
fn waiting_modules_are_told_of_transitions_and_of_the_end_of_the_job() {
    #[derive(Clone, Default)]
    struct Waits(Arc<Mutex<Vec<String>>>);
    impl AsyncAnalyzer for Waits {
        fn start(&self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
            done.at(event.now_ns(), ());
            Ok(())
        }
        fn transition(&self, transition: Transition) -> Result<(), Cause> {
            self.0.lock().expect("not poisoned").push(format!("{transition:?}"));
            Ok(())
        }
        fn end_job(&self) -> Result<(), Cause> {
            self.0.lock().expect("not poisoned").push("end".to_owned());
            Ok(())
        }
    }
    every(|settings| {
        let (waits, mut builder) = (Waits::default(), numbers(20).0);
        let own = waits.clone();
        builder.async_output("waits", Threads::Concurrent, move |_| own.clone());
        assert_eq!(run(builder, settings).events, 20);
        assert_eq!(*waits.0.lock().expect("not poisoned"), ["EndRun(0)", "EndRun(1)", "end"]);
    });
}

#[test]
fn a_failure_tells_its_sources_and_is_an_error_of_the_run() {
    #[derive(Debug)]
    struct Outer(std::io::Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the gains of run 7 can not be read")
        }
    }
    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let (mut builder, _) = numbers(12);
    builder.analyzer("gains", Threads::Concurrent, |_| {
        does(|event| match event.number() % 10 {
            5 => Err(Outer(std::io::Error::other("the disk is gone")).into()),
            _ => Ok(()),
        })
    });
    let settings = Settings::default().workers(1).on_error(OnError::Skip);
    let error = run(builder, settings).into_result().expect_err("one event fails");
    let text = "event 5 failed in module 'gains': the gains of run 7 can not be read: \
                the disk is gone";
    assert_eq!(error.to_string(), text);
    assert_eq!((error.summary.events, error.summary.failed), (11, 1));
    assert!(run(numbers(12).0, Settings::default()).into_result().is_ok());
}

#[test]
fn it_is_known_how_many_products_live_at_a_time() {
    let (mut builder, number) = numbers(50);
    let long = builder.producer("long", Threads::Concurrent, |_| does(|_| Ok(1u8)));
    let (a, b) = builder.producers("pair", ["a", "b"], Threads::Serial, move |inputs| {
        let _ = inputs.get(long);
        does(|_| Ok((2u16, "three".to_owned())))
    });
    builder.producer("unread", Threads::Concurrent, |_| does(|_| Ok(4u32)));
    // All slots have theirs before the first goes on.
    builder.async_analyzer("last", Threads::Concurrent, move |inputs| {
        let _ = (inputs.get(a), inputs.get(b), inputs.get(number));
        Gathers(Arc::default())
    });
    let settings = |figures| Settings::default().workers(2).slots(5).figures(figures);
    let graph = builder.build().expect("a graph");
    let summary = Processor::new(graph, settings(Figures::Spans)).run().expect("it runs");
    assert_eq!((summary.events, summary.failed), (50, 0), "{:?}", summary.failures);
    let most: Vec<_> =
        summary.products.iter().map(|product| (&*product.label, product.alive_max)).collect();
    // What is read by a serial module only is there once per event that waits for that.
    let long = most[0].1;
    assert!((1..=5).contains(&long));
    assert_eq!(most, [("long", long), ("unread", 0), ("a", 5), ("b", 5)]);
    assert!(run(numbers(3).0, settings(Figures::Times)).products.is_empty());
}

/// Goes on when five events are here.
struct Gathers(Arc<Mutex<Vec<Completion<()>>>>);
impl AsyncAnalyzer for Gathers {
    fn start(&self, _: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
        let mut all = self.0.lock().expect("not poisoned");
        all.push(done);
        if all.len() == 5 {
            let all = std::mem::take(&mut *all);
            all.into_iter().for_each(|done| done.finish(Ok(())));
        }
        Ok(())
    }
}

/// Never comes to the end of its job by itself.
struct Stays(Sender<()>, Receiver<()>);
impl AnalyzerMut for Stays {
    fn analyze(&mut self, _: &Event<'_>) -> Result<(), Cause> {
        Ok(())
    }
    fn end_job(&mut self) -> Result<(), Cause> {
        self.0.send(())?;
        let _ = self.1.recv();
        Ok(())
    }
}

#[test]
fn a_module_that_does_not_end_its_job_is_named() {
    let ((called, was_called), (release, never)) = (channel(), channel());
    let (mut builder, _) = numbers(3);
    let mut ends = Some((called, never));
    let kept = builder.analyzer_mut("stays", ThreadsMut::Serial, move |_| {
        let (called, never) = ends.take().ok_or("it is made once")?;
        Ok(Stays(called, never))
    });
    let graph = builder.build().expect("a graph");
    let processor = Processor::new(graph, Settings::default().workers(1));
    let stopper = processor.stopper();
    let stops = std::thread::spawn(move || {
        was_called.recv().expect("the job ends");
        stopper.stop_within(Duration::ZERO);
    });
    let summary = processor.run().expect("it runs");
    stops.join().expect("it has stopped");
    assert_eq!(summary.stuck[0].module.as_deref(), Some("stays"), "{:?}", summary.stuck);
    let error = summary.into_result().expect_err("a worker is left behind").to_string();
    assert!(error.contains("has not returned from stays"), "{error}");
    assert!(kept.take().is_empty());
    drop(release);
}

/// Doubles a number when its deadline is there, and counts the events.
struct Doubles(Input<u64>, u64);
impl AsyncProducerMut for Doubles {
    type Product = u64;
    fn start(&mut self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
        self.1 += 1;
        done.at(event.now_ns(), 2 * *event.get(self.0));
        Ok(())
    }
}

/// Lets each second event pass.
struct Alternates(bool);
impl AsyncFilterMut for Alternates {
    fn start(&mut self, _: &Event<'_>, done: Completion<bool>) -> Result<(), Cause> {
        self.0 = !self.0;
        done.finish(Ok(self.0));
        Ok(())
    }
}

/// Adds up what it is given.
struct Adds(Input<u64>, u64);
impl AsyncAnalyzerMut for Adds {
    fn start(&mut self, event: &Event<'_>, done: Completion<()>) -> Result<(), Cause> {
        self.1 += *event.get(self.0);
        done.finish(Ok(()));
        Ok(())
    }
}

#[test]
fn waiting_modules_may_have_a_state() {
    every(|settings| {
        let (mut builder, number) = numbers(20);
        let (double, doubles) =
            builder.async_producer_mut("double", ThreadsMut::Serial, move |inputs| {
                Doubles(inputs.get(number), 0)
            });
        let second = builder.async_filter_mut("second", ThreadsMut::Serial, |_| Alternates(false));
        let path = builder.path("seconds", [&second]);
        let all = builder.async_analyzer_mut("all", ThreadsMut::Stream, move |inputs| {
            Adds(inputs.get(double), 0)
        });
        let options = ThreadsMut::Exclusive("sum".into()).select(path);
        let seconds =
            builder.async_output_mut("sum", options, move |inputs| Adds(inputs.get(number), 0));
        assert_eq!(run(builder, settings).events, 20);
        let calls = doubles.merge(|_, _| ()).expect("it is kept").1;
        let sum = |kept: Kept<Adds>| kept.merge(|all, one| all.1 += one.1).expect("kept").1;
        assert_eq!((calls, sum(all)), (20, 380));
        // Which ones depends on the order in which slots come to the filter; ten do.
        let sum = sum(seconds);
        assert!((45..=145).contains(&sum), "{sum}");
    });
}

#[test]
fn closures_are_modules() {
    every(|settings| {
        let (mut builder, number) = numbers(20);
        let text = builder.producer("text", Threads::Concurrent, move |inputs| {
            let number = inputs.get(number);
            move |event: &Event<'_>| Ok(event.get(number).to_string())
        });
        let short = builder.filter("short", Threads::Concurrent, move |inputs| {
            let text = inputs.get(text);
            move |event: &Event<'_>| Ok(event.get(text).len() == 1)
        });
        let shorts = builder.path("shorts", [short]);
        let seen = Arc::new(Mutex::new(String::new()));
        let to = seen.clone();
        builder.output_mut("write", ThreadsMut::Serial.select(shorts), move |inputs| {
            let (text, seen, mut first) = (inputs.get(text), to.clone(), true);
            move |event: &Event<'_>| {
                let mut seen = seen.lock().map_err(|_| "poisoned")?;
                *seen += if std::mem::take(&mut first) { ">" } else { "" };
                *seen += &event.get(text);
                Ok(())
            }
        });
        assert_eq!(run(builder, settings).into_result().expect("no failure").events, 20);
        let seen = seen.lock().expect("not poisoned");
        let mut digits: Vec<char> = seen.chars().skip(1).collect();
        digits.sort_unstable();
        assert!(seen.starts_with('>') && digits.iter().copied().eq('0'..='9'), "{seen}");
    });
}
