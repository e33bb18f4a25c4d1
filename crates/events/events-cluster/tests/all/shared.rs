//! Several nodes write what one does, whoever comes and goes.

use crate::graph::*;
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::Network;
use actinium_events::Builder;
use actinium_events::nodes::OutputsAt;
use actinium_events_cluster::ClusterProcessor;
use std::sync::Arc;

/// A graph of either kind.
fn builder(in_pieces: bool, visit: Visit, lines: &Lines, loads: &Lines) -> Builder {
    match in_pieces {
        true => of(Pieces::default(), visit, lines.clone()),
        false => in_runs(visit, lines.clone(), loads.clone()),
    }
}

#[test]
fn four_nodes_write_what_one_does_and_conditions_are_loaded_once() {
    for in_pieces in [false, true] {
        let (lines, loads) = (Lines::default(), Lines::default());
        let expected = alone(builder(in_pieces, quietly(), &lines, &loads), &lines);
        assert!(expected.len() as u64 >= EVENTS, "{expected:?}");
        for count in [1, 4] {
            let members = members(&Network::new(), count);
            loads.lock().unwrap().clear();
            let graph = |_| {
                let builder = builder(in_pieces, quietly(), &lines, &loads);
                ClusterProcessor::new(builder, settings())
            };
            let mut ended = run(&members, graph, |_| ());
            let outcome = first(&mut ended).into_result().unwrap();
            assert!(ended.iter().all(|other| matches!(other, Ok(None))), "{ended:?}");
            assert_eq!(std::mem::take(&mut *lines.lock().unwrap()), expected);
            assert_eq!((outcome.run.done, outcome.nodes.len()), (EVENTS, count as usize));
            assert_eq!(outcome.run.ran.values().sum::<u64>(), EVENTS);
            let calls = |node: &actinium_events_cluster::NodeFigures| {
                let square = node.modules.iter().find(|module| module.label == "square");
                square.map_or(0, |module| module.calls)
            };
            assert_eq!(outcome.nodes.iter().map(calls).sum::<u64>(), EVENTS);
            if !in_pieces {
                assert_eq!(*loads.lock().unwrap(), ["0", "1", "2"], "{count} nodes");
            }
            members.into_iter().for_each(Member::end);
        }
    }
}

#[test]
fn what_a_dead_node_had_others_run_and_the_output_is_the_same() {
    for in_pieces in [false, true] {
        let (lines, loads) = (Lines::default(), Lines::default());
        let expected = alone(builder(in_pieces, quietly(), &lines, &loads), &lines);
        let (network, gate) = (Network::new(), Arc::new(Gate::default()));
        let members = members(&network, 3);
        let graph = |at| {
            let visit = if at == 1 { gate.visit(7) } else { quietly() };
            let builder = builder(in_pieces, visit, &lines, &loads);
            ClusterProcessor::new(builder, settings())
        };
        let opened = gate.clone();
        let mut ended = run(&members, graph, |running| {
            // It has run some events, and is in one.
            gate.came(7);
            network.kill(NodeId(1));
            while !running[0].is_over() {
                std::thread::yield_now();
            }
            opened.open();
        });
        let outcome = first(&mut ended).into_result().unwrap();
        let [dead, alive] = &ended[..] else { panic!("{ended:?}") };
        let why = dead.as_ref().expect_err("it is dead").to_string();
        assert!(why.contains("node 0 is down"), "{why}");
        assert!(matches!(alive, Ok(None)), "{alive:?}");
        assert_eq!(*lines.lock().unwrap(), expected, "in order, and each once");
        assert_eq!(outcome.run.done, EVENTS);
        let [gone] = &outcome.gone[..] else { panic!("{:?}", outcome.gone) };
        assert!(gone.node == 1 && (1..=8).contains(&gone.given_again), "{gone:?}");
        members.into_iter().for_each(Member::end);
    }
}

#[test]
fn a_node_that_leaves_hands_its_events_on_and_one_that_comes_late_gets_some() {
    let (lines, loads) = (Lines::default(), Lines::default());
    let expected = alone(in_runs(quietly(), lines.clone(), loads.clone()), &lines);
    let (network, gate) = (Network::new(), Arc::new(Gate::default()));
    let graph = |visit| {
        let builder = in_runs(visit, lines.clone(), loads.clone());
        ClusterProcessor::new(builder, settings()).nodes(1)
    };
    let first = Member::new(network.node(NodeId(0)));
    // Event 120 is in run 1, and the first stops there.
    let running = first.start(graph(gate.visit(121)));
    gate.came(121);
    let second = Member::new(network.node(NodeId(1)));
    let late = Arc::new(Gate::default());
    let of_second = second.start(graph(late.visit(5)));
    late.came(5);
    of_second.cancel();
    late.open();
    assert!(matches!(of_second.wait(), Ok(None)));
    gate.open();
    let outcome = running.wait().unwrap().expect("it is the first").into_result().unwrap();
    assert_eq!(*lines.lock().unwrap(), expected);
    assert_eq!((outcome.run.done, outcome.nodes.len()), (EVENTS, 2));
    [first, second].into_iter().for_each(Member::end);
}

#[test]
fn outputs_on_each_node_write_each_event_once_and_runs_come_one_after_the_other() {
    let members = members(&Network::new(), 2);
    let lines = Lines::default();
    for name in ["one", "two"] {
        let graph = |_| {
            let builder = of(Pieces::default(), quietly(), lines.clone());
            ClusterProcessor::new(builder, settings()).outputs(OutputsAt::EachNode).name(name)
        };
        let mut ended = run(&members, graph, |_| ());
        assert_eq!(first(&mut ended).into_result().unwrap().run.done, EVENTS);
        let mut lines = std::mem::take(&mut *lines.lock().unwrap());
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len() as u64, EVENTS);
    }
    let again = ClusterProcessor::new(of(Numbers, quietly(), lines), settings()).name("one");
    let refused = again.start(&members[0].node, &members[0].system);
    let why = refused.expect_err("it had one of that name").to_string();
    assert!(why.contains("actinium.events.one") && why.contains("name of its own"), "{why}");
    members.into_iter().for_each(Member::end);
}
