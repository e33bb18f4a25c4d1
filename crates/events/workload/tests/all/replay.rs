//! The sum over all products is that of a plain loop, whatever runs where and in which order.

use actinium_events::{Bind, Figures, OnError, Order, Processor, Settings};
use actinium_scheduler::Policy;
use actinium_workload::{self as workload, Syntax, Threads, Work, Workload, replay};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::num::NonZeroU32;

/// A module in a random graph: what it needs (as distances back), its kind of threads, whether it
/// waits, its microseconds.
type Dice = (Vec<usize>, usize, bool, u64);

fn workload(dice: &[Dice], filters: &[(usize, f64)]) -> Workload {
    let mut text = String::from("format = 1\nname = \"random\"\n[source]\nevents = 10\n");
    for (m, (inputs, _, _, us)) in dice.iter().enumerate() {
        let mut inputs: Vec<usize> =
            inputs.iter().filter(|&&back| back < m).map(|back| m - 1 - back).collect();
        inputs.sort_unstable();
        inputs.dedup();
        let inputs: Vec<String> = inputs.iter().map(|input| format!("\"m{input}\"")).collect();
        let _ = write!(
            text,
            "[[modules]]\nlabel = \"m{m}\"\ninputs = [{}]\ntime-ms = {}\n",
            inputs.join(", "),
            *us as f64 / 1_000.0
        );
    }
    for (f, (needs, fraction)) in filters.iter().enumerate() {
        let (needs, last) = (needs % dice.len(), dice.len() - 1);
        let _ = write!(
            text,
            "[[modules]]\nlabel = \"f{f}\"\nkind = \"filter\"\ninputs = [\"m{needs}\"]\naccepts = {fraction:?}\ntime-ms = 0.0\n\
             [[modules]]\nlabel = \"a{f}\"\nkind = \"analyzer\"\ninputs = [\"m{last}\"]\ntime-ms = 0.0\n\
             [[modules]]\nlabel = \"o{f}\"\nkind = \"output\"\ninputs = [\"m{needs}\"]\ntime-ms = 0.0\n"
        );
    }
    text.push_str("[paths]\n");
    for f in 0..filters.len() {
        let _ = writeln!(text, "p{f} = [\"f{f}\", \"a{f}\", \"o{f}\"]");
    }
    let read = workload::parse("random.toml", &text, Syntax::Toml);
    let mut workload = read.unwrap_or_else(|faults| panic!("{faults}\n{text}")).workload;
    let disk = workload.resource("disk");
    for (module, (_, kind, waits, _)) in workload.modules.iter_mut().zip(dice) {
        module.work = if *waits { Work::Wait } else { Work::Busy };
        module.threads = match kind {
            0 => Threads::Concurrent,
            1 => Threads::Serial,
            2 => Threads::Exclusive { resource: disk },
            3 => Threads::Stream,
            _ => Threads::Limited(NonZeroU32::new(2).expect("not 0")),
        };
    }
    workload
}

fn check(workload: &Workload, events: u64, settings: Settings) {
    let (graph, total) = replay::graph(workload, Some(events)).expect("a graph");
    let summary = Processor::new(graph, settings.on_error(OnError::Skip)).run().expect("runs");
    assert_eq!((summary.events, summary.failed), (events, 0), "{:?}", summary.failures);
    assert_eq!(total.get(), replay::expected_total(workload, events));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 48 }, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs(
        dice in prop::collection::vec(
            (prop::collection::vec(0usize..12, 0..4), 0usize..5, any::<bool>(), 0u64..30), 1..40),
        filters in prop::collection::vec((0usize..100, 0.0f64..=1.0), 1..4),
        policy in 0usize..4,
        workers in 1usize..4,
        slots in 1usize..9,
        in_order in any::<bool>(),
    ) {
        let order = if in_order { Order::Input { window: 3 } } else { Order::Completed };
        let settings = Settings::default().workers(workers).slots(slots).policy(Policy::ALL[policy]).order(order);
        check(&workload(&dice, &filters), 12, settings);
    }
}

#[test]
fn every_policy_kind_slot_and_worker_count() {
    let text = include_str!("../../../../../workloads/imaging.toml");
    let mut workload =
        workload::parse("imaging.toml", text, Syntax::Toml).expect("it is right").workload;
    workload.scale_times(0.001);
    for work in [Work::Busy, Work::Wait] {
        for threads in [Threads::Concurrent, Threads::Serial, Threads::Stream] {
            workload.set_work(work);
            workload.modules.iter_mut().for_each(|module| module.threads = threads);
            for policy in Policy::ALL {
                for (workers, slots) in [(1, 1), (2, 4), (4, 2)] {
                    check(
                        &workload,
                        20,
                        Settings::default().workers(workers).slots(slots).policy(policy),
                    );
                }
            }
        }
    }
}

#[test]
fn the_real_files() {
    for name in [
        "reco_minbias_busywait",
        "reco_minbias_sleeping_perfectIO",
        "reco_minbias_sleeping_betweenmodules",
    ] {
        let Some(file) = crate::common::data(&format!("cms/{name}.config")) else { return };
        let mut workload = workload::read(&file, None).expect("it is right").workload;
        workload.scale_times(0.0005);
        for (workers, slots) in [(1, 1), (2, 4), (2, 50)] {
            check(&workload, 100, Settings::default().workers(workers).slots(slots));
        }
    }
}

#[test]
fn a_replay_splits_and_fetches_as_its_file_says() {
    let text = "format = 1\nname = \"split\"\n[source]\nevents = 6\n\
        [[modules]]\nlabel = \"for\"\ntime-ms = 0.2\nparts = 5\n\
        [[modules]]\nlabel = \"stealing\"\ntime-ms = 0.2\nparts = 4\nsteals-while-splitting = true\n\
        [[modules]]\nlabel = \"asks\"\nkind = \"analyzer\"\ninputs = [\"stealing\", \"for\"]\ntime-ms = 0.0\n\
        fetches-one-by-one = true\n[paths]\np = [\"asks\"]\n";
    let read = workload::parse("split.toml", text, Syntax::Toml);
    let workload = read.unwrap_or_else(|faults| panic!("{faults}")).workload;
    for (workers, slots) in [(1, 1), (2, 1), (3, 4)] {
        let (graph, total) = replay::graph(&workload, None).expect("a graph");
        let settings = Settings::default()
            .workers(workers)
            .slots(slots)
            .figures(Figures::Spans)
            .bind(Bind::None);
        let summary = Processor::new(graph, settings).run().expect("runs");
        assert_eq!((summary.events, summary.failed), (6, 0), "{:?}", summary.failures);
        assert_eq!(total.get(), replay::expected_total(&workload, 6));
        let index =
            |label| summary.modules.iter().position(|it| it.label == label).expect("is there");
        let of = |event, label| {
            let module = index(label) as u32;
            summary
                .spans
                .iter()
                .filter(move |it| it.event == event && it.module == module && !it.waits)
        };
        for event in 0..6 {
            // The call that starts it, and its parts.
            assert_eq!(of(event, "stealing").count(), 1 + 4);
            // Whoever splits takes part; if nobody helps, all parts are in its own span.
            assert!((1..=1 + 5).contains(&of(event, "for").count()));
            let first = of(event, "stealing").map(|it| it.start_ns).max();
            assert!(of(event, "for").map(|it| it.start_ns).min() > first, "one by one");
        }
    }
}
