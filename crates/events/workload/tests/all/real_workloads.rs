//! The real files are read as they are.

use crate::common::data;
use actinium_workload::{self as workload, Format, Role, Threads, Work, graph};

#[test]
fn the_cms_files_are_read_as_they_are() {
    for (file, slots, events, work) in [
        ("reco_minbias_busywait", 2, 200, Work::Busy),
        ("reco_minbias_sleeping_perfectIO", 375, 37_500, Work::Wait),
        ("reco_minbias_sleeping_betweenmodules", 70, 7_000, Work::Wait),
    ] {
        let Some(path) = data(&format!("cms/{file}.config")) else { return };
        let read = workload::read(&path, None).expect("it is right");
        let it = read.workload;
        assert_eq!((it.name.as_str(), it.format), ("TEST", Format::CmsJson));
        assert_eq!(it.options.slots.map(|slots| slots.get()), Some(slots));
        assert_eq!(it.options.busy_turns_per_second, Some(2.2e7));
        assert_eq!(it.source.events.map(|events| events.get()), Some(events));
        assert_eq!(it.modules.len(), 463);
        assert!(it.modules.iter().all(|module| module.work == work));
        assert_eq!(it.paths.len(), 1);
        assert_eq!(it.modules[it.paths[0].modules[0]].label, "output");
        assert_eq!(it.modules[0].times.of(101), 190_245_000);
        assert_eq!(it.modules[0].role, Role::Filter);
        let reached = graph::reachable(&it);
        assert_eq!(reached.iter().filter(|&&reached| reached).count(), 461);
        // The other two are told of, and nothing else.
        assert_eq!(read.warnings.list().len(), 2, "{}", read.warnings);
        let kinds =
            |kind: fn(&Threads) -> bool| it.modules.iter().filter(|m| kind(&m.threads)).count();
        let serial = kinds(|threads| *threads == Threads::Serial);
        let exclusive = kinds(|threads| matches!(threads, Threads::Exclusive { resource: 0 }));
        let expected = match file {
            "reco_minbias_busywait" => (1, 4),
            "reco_minbias_sleeping_betweenmodules" => (459, 4),
            _ => (0, 0),
        };
        assert_eq!((serial, exclusive), expected, "{file}");
    }
}

#[test]
fn the_gaudi_data_flow_is_read_with_the_timing_beside_it() {
    let Some(path) = data("gaudi/df.mcreco.TriggerOff.3rdEvent.graphml") else { return };
    let read = workload::read(&path, None).expect("it is right");
    let it = read.workload;
    assert_eq!(it.format, Format::GaudiGraphml);
    assert_eq!(it.modules.len(), 164);
    assert!(graph::reachable(&it).iter().all(|&reached| reached));
    let total: u64 = it.modules.iter().map(|module| module.times.of(0)).sum();
    assert_eq!(total / 1_000_000, 10_080);
    // 10 algorithms have no time.
    assert_eq!(read.warnings.list().len(), 10, "{}", read.warnings);
}

#[test]
fn a_file_that_is_cut_off_is_said_to_be() {
    let Some(path) = data("cms/reco_minbias_busywait.config") else { return };
    let text = std::fs::read_to_string(path).expect("it is readable");
    for part in 1..12 {
        let cut = &text[..text.len() * part / 12];
        let faults = workload::parse("f", cut, workload::Syntax::Json).expect_err("it is cut off");
        let [fault] = faults.list() else { panic!("{faults}") };
        // Where the cut is: in the last line, or before it if the cut left white space only.
        let at = fault.at.expect("it has a place");
        let lines = cut.trim_end().lines().count();
        assert!(at.line as usize >= lines, "{fault}: {lines}");
    }
}
