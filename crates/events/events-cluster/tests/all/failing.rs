//! What fails is told, and nothing hangs.

use crate::graph::*;
use actinium_actor::Shutdown;
use actinium_cluster::fabric::in_process::Network;
use actinium_cluster::job::JobError;
use actinium_events::{Cause, Next, Piece, Source, channel};
use actinium_events_cluster::ClusterProcessor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Fails or panics at event 20.
struct Breaks {
    panics: bool,
}

impl Source for Breaks {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        match number {
            20 if self.panics => panic!("the disk is on fire"),
            20 => Err("the disk is full of holes".into()),
            number => Ok(Next::Event(number)),
        }
    }
}

#[test]
fn a_source_that_fails_ends_the_run_after_the_events_before_it() {
    for (panics, why) in [(false, "the disk is full of holes"), (true, "the disk is on fire")] {
        let members = members(&Network::new(), 2);
        let lines = Lines::default();
        let graph =
            |_| ClusterProcessor::new(of(Breaks { panics }, quietly(), lines.clone()), settings());
        let mut ended = run(&members, graph, |_| ());
        let outcome = first(&mut ended);
        assert!(matches!(ended[0], Ok(None)), "{ended:?}");
        assert_eq!((outcome.run.done, lines.lock().unwrap().len()), (20, 20));
        let error = outcome.into_result().expect_err("it has failed").to_string();
        assert!(error.contains(why) && error.contains("event 20"), "{error}");
        members.into_iter().for_each(Member::end);
    }
}

/// Pieces, one of which can not be read.
struct Torn(Pieces);

impl Source for Torn {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        self.0.next(number)
    }
    fn pieces(&self) -> Vec<Piece> {
        self.0.pieces()
    }
    fn open(&mut self, piece: u32) -> Result<(), Cause> {
        if piece == 3 { Err("it is torn".into()) } else { self.0.open(piece) }
    }
}

#[test]
fn a_piece_that_can_not_be_read_is_named() {
    let members = members(&Network::new(), 2);
    let lines = Lines::default();
    let graph = |_| {
        let builder = of(Torn(Pieces::default()), quietly(), lines.clone());
        ClusterProcessor::new(builder, settings())
    };
    let mut ended = run(&members, graph, |_| ());
    let outcome = first(&mut ended);
    assert!(matches!(ended[0], Ok(None)), "{ended:?}");
    let written: Vec<String> = lines.lock().unwrap().clone();
    let each: BTreeSet<&String> = written.iter().collect();
    assert_eq!((each.len(), written.len() as u64), (written.len(), outcome.run.done));
    let error = outcome.into_result().expect_err("it has failed").to_string();
    assert!(error.contains("piece 3 of the source: it is torn"), "{error}");
    members.into_iter().for_each(Member::end);
}

#[test]
fn a_module_that_fails_stops_all_nodes_and_is_named() {
    for in_pieces in [false, true] {
        let members = members(&Network::new(), 3);
        let lines = Lines::default();
        let visit: Visit =
            Arc::new(|n| if n == 3 || n == 1_003 { Err("ow".into()) } else { Ok(()) });
        let graph = |_| {
            let (visit, lines) = (visit.clone(), lines.clone());
            let builder = match in_pieces {
                true => of(Pieces::default(), visit, lines),
                false => of(Endless, visit, lines),
            };
            ClusterProcessor::new(builder, settings())
        };
        let mut ended = run(&members, graph, |_| ());
        let outcome = first(&mut ended);
        let failed = &outcome.run.failures[0];
        assert!(failed.module == "square" && failed.cause == "ow", "{failed:?}");
        let written: Vec<String> = lines.lock().unwrap().clone();
        let each: BTreeSet<&String> = written.iter().collect();
        assert_eq!((each.len(), written.len() as u64), (written.len(), outcome.run.done));
        let error = outcome.into_result().expect_err("it has failed").to_string();
        assert!(error.contains("in module 'square': ow"), "{error}");
        members.into_iter().for_each(Member::end);
    }
}

/// Numbers without end.
struct Endless;

impl Source for Endless {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(Next::Event(number))
    }
}

#[test]
fn who_has_another_graph_is_refused_and_told_of_both() {
    let members = members(&Network::new(), 2);
    let lines = Lines::default();
    let graph = |at| {
        let settings = if at == 0 { settings() } else { settings().events_max(7) };
        ClusterProcessor::new(of(Numbers, quietly(), lines.clone()), settings)
    };
    let mut ended = run(&members, graph, |_| ());
    assert_eq!(first(&mut ended).into_result().unwrap().run.done, EVENTS);
    let Err(JobError::Setting(why)) = &ended[0] else { panic!("{ended:?}") };
    for part in ["node 1 was asked for something else than node 0", "Some(7)", "None"] {
        assert!(why.contains(part), "{part} in {why}");
    }
    members.into_iter().for_each(Member::end);
}

#[test]
fn a_run_without_end_ends_when_a_node_stops_it_or_the_first_is_cancelled() {
    for cancels in [false, true] {
        let members = members(&Network::new(), 2);
        let lines = Lines::default();
        let graph = |_| ClusterProcessor::new(of(Endless, quietly(), lines.clone()), settings());
        let mut ended = run(&members, graph, |running| {
            while running[0].progress() < 50 {
                std::thread::yield_now();
            }
            match cancels {
                true => running[0].cancel(),
                false => running[1].stop(),
            }
        });
        let outcome = first(&mut ended);
        assert!(outcome.run.interrupted && outcome.run.done >= 50, "{outcome:?}");
        assert!(matches!(ended[0], Ok(None)), "{ended:?}");
        let written = lines.lock().unwrap().len() as u64;
        assert!(written >= outcome.run.done && (cancels || written == outcome.run.done));
        outcome.into_result().expect("nothing has failed");
        members.into_iter().for_each(Member::end);
    }
}

#[test]
fn a_source_that_has_nothing_now_wakes_the_run_when_it_has() {
    let members = members(&Network::new(), 2);
    let lines = Lines::default();
    let (sender, source) = channel::<u64>(4);
    let graph = |source| ClusterProcessor::new(of(source, quietly(), lines.clone()), settings());
    let first = members[0].start(graph(source));
    // Its own is not read.
    let second = members[1].start(graph(channel(4).1));
    for n in 0..100 {
        sender.try_send(n).expect("there is room");
        while first.progress() <= n {
            std::thread::yield_now();
        }
    }
    sender.end();
    let [first, second] = [first, second].map(|running| running.wait().unwrap());
    assert_eq!(first.expect("it is the first").into_result().unwrap().run.done, 100);
    assert!(second.is_none());
    assert_eq!(lines.lock().unwrap().len(), 100);
    members.into_iter().for_each(Member::end);
}

#[test]
fn who_waits_for_a_run_whose_system_ends_is_told() {
    let members = members(&Network::new(), 1);
    let lines = Lines::default();
    let graph = ClusterProcessor::new(of(Endless, quietly(), lines), settings());
    let running = members[0].start(graph);
    while running.progress() < 10 {
        std::thread::yield_now();
    }
    members[0].system.shutdown(Shutdown::Drop);
    let why = running.wait().expect_err("nobody knows what came of it").to_string();
    assert!(why.contains("the system ended before the run"), "{why}");
}
