//! Graphs on a system, beside actors and other graphs.

use actinium_actor::recording::Act;
use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, Address, Context, Mailbox, Observer, OnEnd, Recipient, SendError, Shutdown,
    SpawnOptions, System, SystemHandle,
};
use actinium_events::{
    Analyzer, AsyncProducer, Builder, Cause, Completion, Event, EventSender, Figures, Graph, Input,
    Next, Processor, RunSummary, Settings, Source, StartError, Tell, Threads, WaitError, channel,
};
use actinium_scheduler::Policy;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// So many numbers from 0.
struct Numbers(u64);

impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(if number < self.0 { Next::Event(number) } else { Next::End })
    }
}

struct See<F>(F);
impl<F: Fn(&Event<'_>) -> Result<(), Cause> + Send + Sync + 'static> Analyzer for See<F> {
    fn analyze(&self, event: &Event<'_>) -> Result<(), Cause> {
        (self.0)(event)
    }
}

/// A graph whose only module calls this for each event.
fn graph(
    name: &str,
    events: u64,
    threads: Threads,
    see: impl Fn(&Event<'_>) + Clone + Send + Sync + 'static,
) -> Graph {
    let mut builder = Builder::new(name, Numbers(events));
    builder.analyzer("see", threads, move |_| {
        let see = see.clone();
        See(move |event: &Event<'_>| {
            see(event);
            Ok(())
        })
    });
    builder.build().expect("a graph")
}

/// While records are kept, each call of a module is one; the names are the labels.
#[test]
fn calls_of_modules_are_recorded_while_somebody_asks() {
    let mut test = TestSystem::seeded(3);
    let run = |test: &mut TestSystem| {
        let graph = graph("numbers", 20, Threads::Concurrent, |_| ());
        let running = Processor::new(graph, Settings::default()).start(test).expect("it starts");
        test.advance(Duration::from_secs(1));
        assert!(running.take_summary().is_some_and(|summary| summary.events == 20));
        let taken = test.take_records().into_iter().flat_map(|worker| worker.records);
        taken.collect::<Vec<_>>()
    };
    assert_eq!(run(&mut test), []);
    test.record(1_000);
    let records = run(&mut test);
    let calls = records.iter().filter_map(|record| match record.act {
        Act::Call { name, event } => Some((&*test.recorded_name(name) == "see", event)),
        _ => None,
    });
    let mut events: Vec<(bool, u64)> = calls.collect();
    events.sort_unstable();
    assert!(events.into_iter().eq((0..20).map(|event| (true, event))), "{records:?}");
    test.stop_recording();
    run(&mut test);
    assert_eq!(run(&mut test), []);
}

#[test]
fn the_latency_of_each_event_is_counted() {
    let counts = Settings::default().figures(Figures::Counts);
    for (settings, expected) in [(Settings::default(), 50), (counts, 0)] {
        let system = System::builder().workers(2).build().expect("a system");
        let graph = graph("numbers", 50, Threads::Concurrent, |_| ());
        let processor = Processor::new(graph, settings.slots(4));
        let monitor = processor.monitor();
        assert!(monitor.latency().is_empty(), "before the start");
        let summary = processor.run_on(&system).expect("it runs");
        assert_eq!((monitor.latency().count(), summary.latency().count()), (expected, expected));
        assert!(summary.latency().max_ns() <= summary.elapsed_ns);
    }
}

#[test]
fn only_a_system_of_the_run_s_own_is_observed() {
    struct Nobody;
    impl Observer for Nobody {
        fn started(
            &self,
            _: &SystemHandle,
        ) -> Result<OnEnd, Box<dyn std::error::Error + Send + Sync>> {
            Err("it can not".into())
        }
    }
    let processor = || {
        let graph = graph("numbers", 1, Threads::Concurrent, |_| ());
        Processor::new(graph, Settings::default()).observer(Nobody)
    };
    let error = processor().run().expect_err("it is not observed");
    assert!(error.to_string().contains("it can not"), "{error}");
    let system = System::builder().workers(1).build().expect("a system");
    let error = processor().start(&system).expect_err("it has no system of its own");
    assert!(error.to_string().contains("observer"), "{error}");
}

#[test]
fn a_graph_is_drawn_with_what_it_needs() {
    let drawing = graph("numbers", 1, Threads::Limited(3), |_| ()).drawing();
    let labels: Vec<(&str, &str)> =
        drawing.nodes.iter().map(|it| (it.label.as_str(), it.detail.as_str())).collect();
    assert_eq!(labels, [("see", "limited(3)"), ("numbers", "")]);
    assert!(drawing.edges.is_empty(), "it asks for nothing");
}

/// The end of such a run may come before its start has returned.
#[test]
fn runs_that_are_over_at_once_end() {
    let system = System::builder().workers(2).build().expect("a system");
    for events in (0..2).cycle().take(400) {
        let graph = graph("short", events, Threads::Concurrent, |_| ());
        let running = Processor::new(graph, Settings::default()).start(&system).expect("it starts");
        assert_eq!(running.wait_for(MINUTE), Ok(true));
    }
}

/// Counts what it is sent, and runs for as long as it sends itself more.
struct Sink {
    total: Arc<Mutex<u64>>,
    restless: bool,
}

impl Actor for Sink {
    type Msg = u64;
    fn handle(&mut self, n: u64, ctx: &mut Context<'_, Self>) {
        *self.total.lock().unwrap() += n;
        if self.restless {
            ctx.address().tell(n);
        }
    }
}

fn sink(system: &SystemHandle) -> (Address<Sink>, Arc<Mutex<u64>>) {
    let total = Arc::new(Mutex::new(0));
    (system.spawn(Sink { total: total.clone(), restless: false }), total)
}

#[test]
fn a_graph_feeds_actors_and_one_audit_covers_both() {
    for policy in Policy::ALL {
        for workers in [1, 3] {
            let system = System::builder().workers(workers).policy(policy).build().unwrap();
            let (sink, total) = sink(&system);
            let graph = graph("sums", 500, Threads::Concurrent, move |event| {
                sink.tell(event.number());
            });
            let running = Processor::new(graph, Settings::default().slots(7)).start(&system);
            let summary = running.unwrap().wait().unwrap();
            assert_eq!((summary.events, summary.failed, summary.workers), (500, 0, workers));
            system.wait_idle(MINUTE).unwrap();
            assert_eq!(*total.lock().unwrap(), 500 * 499 / 2);
            let audit = system.audit(MINUTE).unwrap();
            assert!(audit.is_balanced(), "{audit:?}");
            assert_eq!((audit.events.begun, audit.events.ended), (500, 500));
        }
    }
}

#[test]
fn audits_balance_while_graphs_run() {
    let system = System::builder().workers(2).build().unwrap();
    let graphs = ["one", "two"].map(|name| {
        let graph = graph(name, u64::MAX, Threads::Concurrent, |_| ());
        Processor::new(graph, Settings::default().slots(5)).start(&system).unwrap()
    });
    for _ in 0..50 {
        let events = system.audit(MINUTE).unwrap().events;
        assert!(events.is_balanced(), "{events:?}");
    }
    graphs.iter().for_each(|running| running.cancel());
    let summaries = graphs.map(|running| running.wait().unwrap());
    let events = system.audit(MINUTE).unwrap().events;
    assert!(events.is_balanced() && events.in_flight == 0, "{events:?}");
    let sum = |of: fn(&RunSummary) -> u64| summaries.iter().map(of).sum::<u64>();
    assert_eq!(events.ended, sum(|it| it.events));
    assert_eq!(events.cancelled, sum(|it| it.abandoned));
}

/// Takes numbers among other things.
struct Letters(mpsc::Sender<u64>);

enum Letter {
    Number(u64),
}

impl From<u64> for Letter {
    fn from(n: u64) -> Self {
        Letter::Number(n)
    }
}

impl Actor for Letters {
    type Msg = Letter;
    fn handle(&mut self, Letter::Number(n): Letter, _ctx: &mut Context<'_, Self>) {
        let _ = self.0.send(n);
    }
}

#[test]
fn a_graph_tells_a_recipient_whatever_actor_is_behind_it_and_fails_when_that_has_ended() {
    let system = System::builder().workers(1).build().unwrap();
    let (sender, numbers) = mpsc::channel();
    let bounded = SpawnOptions::new().mailbox(Mailbox::bounded(2));
    let letters = system.spawn_with(bounded, move || Letters(sender.clone())).unwrap();
    let run = |to: Recipient<u64>| {
        let mut builder = Builder::new("numbers", Numbers(50));
        builder.async_output("tell", Threads::Concurrent, move |inputs| {
            Tell::new(inputs.get("numbers"), &to, |_, n: &u64| *n)
        });
        let settings = Settings::default().slots(8);
        Processor::new(builder.build().unwrap(), settings).run_on(&system).unwrap()
    };
    let summary = run((&letters).into());
    assert_eq!((summary.events, summary.failed), (50, 0));
    let mut told: Vec<u64> = (0..50).map(|_| numbers.recv_timeout(MINUTE).unwrap()).collect();
    told.sort_unstable();
    assert!(told.into_iter().eq(0..50));
    letters.stop();
    assert!(numbers.recv_timeout(MINUTE).is_err(), "it has ended");
    let failed = run(letters.into()).into_result().unwrap_err().to_string();
    assert!(failed.contains("was not told: the actor has ended"), "{failed}");
}

#[test]
fn a_system_that_drains_finishes_what_graphs_have_begun_before_its_actors_end() {
    for policy in Policy::ALL {
        let system = System::builder().workers(2).policy(policy).build().unwrap();
        let (sink, total) = sink(&system);
        let graph = graph("endless", u64::MAX, Threads::Concurrent, move |_| sink.tell(1));
        let processor = Processor::new(graph, Settings::default().slots(4));
        let monitor = processor.monitor();
        let running = processor.start(&system).unwrap();
        while monitor.events() < 100 {
            std::thread::yield_now();
        }
        let (progress, modules) = (monitor.progress(), monitor.modules().unwrap());
        assert_eq!((progress.slots, progress.workers, modules.len()), (4, 2, 1));
        assert!(progress.elapsed_ns > 0 && progress.ended >= 100 && modules[0].calls >= 100);
        let report = system.shutdown(Shutdown::Drain);
        let summary = running.wait().unwrap();
        assert!(summary.stopped && summary.abandoned == 0 && summary.events >= 100, "{policy}");
        assert_eq!((*total.lock().unwrap(), report.dead), (summary.events, 0), "{policy}");
        assert_eq!(monitor.events(), summary.events, "a monitor outlives the run");
        assert_eq!((monitor.progress().slots, monitor.modules().map(|it| it.len())), (0, None));
    }
}

#[test]
fn a_dropped_system_ends_its_graphs_and_drops_their_modules() {
    let held = Arc::new(());
    let of_module = held.clone();
    let system = System::builder().workers(2).build().unwrap();
    let graph = graph("endless", u64::MAX, Threads::Concurrent, move |_| {
        let _ = &of_module;
    });
    let running = Processor::new(graph, Settings::default()).start(&system).unwrap();
    drop(system);
    assert!(running.is_over());
    assert_eq!(Arc::strong_count(&held), 1);
    assert!(running.take_summary().is_some());
}

/// Gets the summary of a run as a message.
struct Waits(mpsc::Sender<u64>);

impl Actor for Waits {
    type Msg = RunSummary;
    fn handle(&mut self, summary: RunSummary, _: &mut Context<'_, Self>) {
        self.0.send(summary.events).unwrap();
    }
}

/// Starts a graph, and passes its summary on.
struct Starts(Option<Processor>, Address<Waits>);

impl Actor for Starts {
    type Msg = ();
    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        if let Some(processor) = self.0.take() {
            let running = processor.start(&ctx.system()).unwrap();
            let waits = self.1.clone();
            ctx.pipe(async move { waits.tell(running.await) }, |()| ());
        }
    }
}

#[test]
fn an_actor_starts_a_graph_and_gets_its_summary_as_a_message() {
    let system = System::builder().workers(1).build().unwrap();
    let (tell, told) = mpsc::channel();
    let waits = system.spawn(Waits(tell));
    let ends = Arc::new(Mutex::new(0));
    let seen = ends.clone();
    let processor = Processor::new(graph("ten", 10, Threads::Serial, |_| ()), Settings::default())
        .on_end(move |end| *seen.lock().unwrap() += end.number);
    system.spawn(Starts(Some(processor), waits)).tell(());
    assert_eq!(told.recv().unwrap(), 10);
    assert_eq!(*ends.lock().unwrap(), 45);
}

#[test]
fn what_can_not_start_says_why_and_has_not_begun() {
    let system = System::builder().workers(1).build().unwrap();
    let one = || graph("one", 3, Threads::Exclusive("disk".into()), |_| ());
    let start = |settings: Settings| Processor::new(one(), settings).start(&system);
    let error = start(Settings::default().workers(2)).unwrap_err();
    assert!(matches!(error, StartError::OfSystem("workers")), "{error}");
    assert!(error.to_string().contains("that system's"), "{error}");
    let error = start(Settings::default().weight(0)).unwrap_err();
    assert_eq!(error.to_string(), "weight: 0 is not allowed: 1 to 1,000");
    let error = start(Settings::default().slots(0)).unwrap_err();
    assert!(error.to_string().starts_with("slots: 0 is not allowed"), "{error}");

    // Two graphs with one exclusive resource.
    let (release, held) = mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let first = graph("first", 1, Threads::Exclusive("disk".into()), move |_| {
        let _ = held.lock().unwrap().recv();
    });
    let running = Processor::new(first, Settings::default()).start(&system).unwrap();
    let error = start(Settings::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("'one'") && text.contains("'first'") && text.contains("disk"), "{text}");
    drop(release);
    assert_eq!(running.wait().unwrap().events, 1);
    assert_eq!(start(Settings::default()).unwrap().wait().unwrap().events, 3);

    system.shutdown(Shutdown::Drain);
    let error = start(Settings::default()).unwrap_err();
    assert!(matches!(error, StartError::Ending), "{error}");
}

#[test]
fn a_module_that_does_not_return_is_named_and_its_system_goes_on() {
    let system = System::builder().workers(2).build().unwrap();
    let (release, held) = mpsc::channel::<()>();
    let (enter, entered) = mpsc::channel();
    let held = Arc::new(Mutex::new(held));
    let hangs = graph("hangs", 1, Threads::Serial, move |_| {
        enter.send(()).unwrap();
        let _ = held.lock().unwrap().recv();
    });
    let running = Processor::new(hangs, Settings::default()).start(&system).unwrap();
    entered.recv().unwrap();
    running.stopper().stop_within(Duration::ZERO);
    let summary = running.wait().unwrap();
    assert_eq!(summary.stuck.len(), 1, "{:?}", summary.stuck);
    assert_eq!(summary.stuck[0].module.as_deref(), Some("see"));
    assert_eq!(summary.abandoned, 1);
    drop(release);
    let other = graph("other", 20, Threads::Concurrent, |_| ());
    let other = Processor::new(other, Settings::default().slots(1)).start(&system).unwrap();
    assert_eq!(other.wait().unwrap().events, 20);
    let report = system.shutdown(Shutdown::Drain);
    assert!(report.stuck.is_empty());
}

/// Waits for so many nanoseconds of the processor's clock.
struct Later(Input<u64>, u64);

impl AsyncProducer for Later {
    type Product = u64;
    fn start(&self, event: &Event<'_>, done: Completion<u64>) -> Result<(), Cause> {
        let number = *event.get(self.0);
        done.at(event.now_ns() + self.1 * (number % 3), number);
        Ok(())
    }
}

/// Notes what it is told.
struct Notes(Arc<Mutex<Vec<(u64, u64)>>>);

impl Actor for Notes {
    type Msg = u64;
    fn handle(&mut self, n: u64, ctx: &mut Context<'_, Self>) {
        self.0.lock().unwrap().push((1_000 + n, ctx.now().ns));
    }
}

/// Runs a graph with waits beside an actor on a test system, and returns the order of their turns
/// with the times.
fn order_of_turns(seed: u64) -> Vec<(u64, u64)> {
    let mut test = TestSystem::seeded(seed);
    let mut builder = Builder::new("numbers", Numbers(30));
    builder.async_producer("later", Threads::Concurrent, |inputs| {
        Later(inputs.get("numbers"), 1_000_000)
    });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (noted, notes) = (seen.clone(), test.spawn(Notes(seen.clone())));
    builder.analyzer("see", Threads::Concurrent, move |inputs| {
        let (later, noted, notes) = (inputs.get::<u64>("later"), noted.clone(), notes.clone());
        See(move |event: &Event<'_>| {
            notes.tell(event.number());
            noted.lock().unwrap().push((*event.get(later), event.now_ns()));
            Ok(())
        })
    });
    let processor = Processor::new(builder.build().unwrap(), Settings::default().slots(6));
    let running = processor.start(&test).unwrap();
    assert!(matches!(
        Processor::new(graph("no", 1, Threads::Serial, |_| ()), Settings::default()).run_on(&test),
        Err(StartError::Wait(WaitError::VirtualTime))
    ));
    test.run_until_idle();
    assert!(!running.is_over());
    test.advance(Duration::from_millis(100));
    let summary = running.take_summary().unwrap();
    assert_eq!((summary.events, summary.failed), (30, 0));
    assert!(test.audit().is_balanced());
    assert_eq!(test.audit().events.ended, 31);
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn on_a_test_system_one_seed_is_one_run_in_virtual_time() {
    let first = order_of_turns(7);
    assert_eq!(first, order_of_turns(7));
    assert!((0..20).any(|seed| order_of_turns(seed) != first), "the seed decides");
    // Waits are of virtual time, to the nanosecond.
    assert!(first.iter().all(|(_, at_ns)| at_ns % 1_000_000 == 0), "{first:?}");
}

/// The order in which graphs (by name) and an actor (`a`) had their turns.
type Log = Arc<Mutex<String>>;

fn logs(log: &Log, name: char) -> impl Fn(&Event<'_>) + Clone + Send + Sync + 'static {
    let log = log.clone();
    move |_| log.lock().unwrap().push(name)
}

struct Busy(Log);

impl Actor for Busy {
    type Msg = ();
    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        self.0.lock().unwrap().push('a');
        ctx.address().tell(());
    }
}

fn longest_without(log: &str, wanted: char) -> usize {
    log.split(wanted).map(str::len).max().unwrap_or(0)
}

#[test]
fn neither_a_graph_nor_actors_starve_the_other() {
    let mut test = TestSystem::builder().fifo().build();
    let log = Log::default();
    let actors = 5;
    (0..actors).for_each(|_| test.spawn(Busy(log.clone())).tell(()));
    let graph = graph("g", u64::MAX, Threads::Concurrent, logs(&log, 'g'));
    let running = Processor::new(graph, Settings::default().slots(500)).start(&test).unwrap();
    (0..20_000).for_each(|_| assert!(test.step()));
    running.cancel();
    let log = log.lock().unwrap().clone();
    // Once all of the graph's slots are under way.
    let log = &log[log.len() / 4..];
    let (longest_g, longest_a) = (longest_without(log, 'a'), longest_without(log, 'g'));
    // At most 16 slot tasks, each with a turn of up to a batch of modules (one, here).
    assert!((1..=16).contains(&longest_g), "{longest_g} turns of the graph in a row");
    assert!((1..=actors).contains(&longest_a), "{longest_a} turns of actors in a row");
}

#[test]
fn graphs_share_a_worker_by_their_weights_however_many_events_they_have_in_flight() {
    let mut test = TestSystem::builder().fifo().build();
    let log = Log::default();
    let runs = [('x', 1, 40), ('y', 3, 4)].map(|(name, weight, slots)| {
        let graph = graph(&name.to_string(), u64::MAX, Threads::Concurrent, logs(&log, name));
        let settings = Settings::default().slots(slots).weight(weight);
        Processor::new(graph, settings).start(&test).unwrap()
    });
    (0..20_000).for_each(|_| assert!(test.step()));
    runs.iter().for_each(|running| running.cancel());
    let log = log.lock().unwrap().clone();
    let count = |name| log.matches(name).count() as f64;
    let ratio = count('y') / count('x');
    assert!((2.5..=3.5).contains(&ratio), "{ratio}: {} and {}", count('x'), count('y'));
    assert!(longest_without(&log[log.len() / 4..], 'y') <= 2, "x gets its turns in between");
    assert!(longest_without(&log[log.len() / 4..], 'x') <= 8, "y has its turns in between");
}

#[test]
fn a_run_of_its_own_is_elastic_if_it_is_told_to_be() {
    let run = |settings: Settings| {
        let graph = graph("few", 200, Threads::Serial, |_| ());
        Processor::new(graph, settings.workers(2)).run()
    };
    assert_eq!(run(Settings::default()).unwrap().working, 2);
    assert_eq!(run(Settings::default().elastic(true)).unwrap().events, 200);
    // The builder is told, and allows it under affine alone.
    let error = run(Settings::default().elastic(true).policy(Policy::pool()));
    let error = error.expect_err("nobody knows there what things cost").to_string();
    assert!(error.contains("only with affine"), "{error}");
    let system = System::builder().workers(1).build().unwrap();
    let graph = graph("few", 200, Threads::Serial, |_| ());
    let error = Processor::new(graph, Settings::default().elastic(true)).start(&system);
    assert!(matches!(error, Err(StartError::OfSystem("elastic"))), "it is the system's: {error:?}");
}

#[test]
fn an_elastic_system_runs_graphs() {
    let system = System::builder().workers(3).elastic(true).build().unwrap();
    for _ in 0..3 {
        let graph = graph("many", 2_000, Threads::Concurrent, |_| ());
        let running = Processor::new(graph, Settings::default().slots(9)).start(&system).unwrap();
        assert_eq!(running.wait().unwrap().events, 2_000);
    }
    assert!(system.audit(MINUTE).unwrap().is_balanced());
}

#[test]
fn many_graphs_come_and_go_on_one_system() {
    let system = System::builder().workers(2).build().unwrap();
    std::thread::scope(|scope| {
        for of in 0..4 {
            let system = &system;
            scope.spawn(move || {
                for n in 0..25_u64 {
                    let name = format!("{of}-{n}");
                    let graph = graph(&name, 20, Threads::Serial, |_| ());
                    let running = Processor::new(graph, Settings::default().slots(3));
                    let running = running.start(system).unwrap();
                    if n % 5 == 4 {
                        running.cancel();
                    }
                    let summary = running.wait().unwrap();
                    assert!(n % 5 == 4 || summary.events == 20);
                }
            });
        }
    });
    let events = system.audit(MINUTE).unwrap().events;
    assert!(events.is_balanced() && events.in_flight == 0, "{events:?}");
}

#[test]
fn a_channel_bounds_what_waits_and_says_what_was_lost() {
    let system = System::builder().workers(1).build().unwrap();
    let (sender, source) = channel::<u64>(2);
    assert_eq!(sender.try_send(1), Ok(()));
    assert_eq!(sender.try_send(2), Ok(()));
    assert_eq!(sender.try_send(3), Err(SendError::Full(3)));
    let (third, fourth) = (sender.send(3), sender.send(4));
    let graph = Builder::new("numbers", source).build().unwrap();
    let running = Processor::new(graph, Settings::default().slots(1)).start(&system).unwrap();
    let others = sender.clone();
    let thread = std::thread::spawn(move || {
        (0..1_000).for_each(|n| others.send_blocking(n).expect("it is taken"));
    });
    thread.join().unwrap();
    assert_eq!(futures_lite::future::block_on(third), Ok(()));
    sender.end();
    assert_eq!(futures_lite::future::block_on(fourth), Err(SendError::Closed(4)));
    assert_eq!(sender.try_send(9), Err(SendError::Closed(9)));
    assert_eq!(running.wait().unwrap().events, 1_003);
    assert_eq!(sender.lost(), 0);

    let (sender, source) = channel::<u64>(5);
    (0..5).for_each(|n| sender.try_send(n).unwrap());
    drop(source);
    assert_eq!((sender.lost(), sender.try_send(7)), (5, Err(SendError::Closed(7))));
}

/// Sends an event, and fails.
struct Fails(EventSender<u64>);

impl Actor for Fails {
    type Msg = u64;
    fn handle(&mut self, n: u64, _: &mut Context<'_, Self>) {
        self.0.try_send(n).unwrap();
        assert!(n < 3, "the third is too much");
    }
}

#[test]
fn a_source_actor_that_dies_midway_ends_the_run_with_an_error_that_names_it() {
    let system = System::builder().workers(2).build().unwrap();
    let (sender, source) = channel::<u64>(10);
    let graph = Builder::new("numbers", source).build().unwrap();
    let running = Processor::new(graph, Settings::default()).start(&system).unwrap();
    let fails = system.spawn(Fails(sender));
    (1..=3).for_each(|n| fails.tell(n));
    let summary = running.wait().unwrap();
    assert_eq!((summary.events, summary.ended_by_failure), (3, true), "what was sent has run");
    let failure = &summary.failures[0];
    assert_eq!(failure.module, "numbers");
    assert!(failure.cause.contains("all its senders were dropped"), "{}", failure.cause);
    assert!(system.audit(MINUTE).unwrap().is_balanced());
}
