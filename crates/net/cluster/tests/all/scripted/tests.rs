use super::run;
use actinium_cluster::link::{Breach, DownReason};
use actinium_cluster::{Denial, NodeEvent};
use proptest::prelude::*;

fn is_down(event: &NodeEvent, is_why: fn(&DownReason) -> bool) -> bool {
    matches!(event, NodeEvent::Down { reason, .. } if is_why(reason))
}

fn is_denied(event: &NodeEvent, of: Denial) -> bool {
    matches!(event, NodeEvent::Denied { what, .. } if *what == of)
}

type IsIt = fn(&NodeEvent) -> bool;

/// How far each of the seeds that were made by hand comes.
const COME_TO: [(&str, IsIt); 8] = [
    ("usual", |event| is_denied(event, Denial::Asks)),
    ("usual", |event| is_denied(event, Denial::Watch)),
    ("anew", |event| is_down(event, |why| *why == DownReason::Restarted)),
    ("payloads", |event| matches!(event, NodeEvent::PayloadLost { .. })),
    ("grid", |event| is_denied(event, Denial::Sender)),
    ("grid", |event| matches!(event, NodeEvent::Up(node) if node.0 == 1)),
    ("deaf", |event| is_down(event, |why| matches!(why, DownReason::Broke(Breach::Unread { .. })))),
    ("again", |event| {
        is_down(event, |why| matches!(why, DownReason::Broke(Breach::Absurd { .. })))
    }),
];

/// What the fuzzer begins with.
#[test]
fn chosen_scripts_come_far_and_break_nothing() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/node");
    let mut found = 0;
    for seed in std::fs::read_dir(seeds).unwrap() {
        let path = seed.unwrap().path();
        eprintln!("{}", path.display());
        let told = run(&std::fs::read(&path).unwrap());
        for (name, is_it) in COME_TO.iter().filter(|(name, _)| path.ends_with(name)) {
            assert!(told.iter().any(is_it), "{name} comes not as far as it did: {told:?}");
            found += 1;
        }
    }
    assert_eq!(found, COME_TO.len(), "seeds are missing");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_script_breaks_a_node(bytes in proptest::collection::vec(any::<u8>(), 0..1_500)) {
        run(&bytes);
    }
}
