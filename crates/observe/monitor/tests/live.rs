//! A system is seen while it runs.

use actinium_actor::testing::TestSystem;
use actinium_actor::{Actor, Address, Context, Shutdown, System};
use actinium_monitor::live::{self, ActorsQuery, LIVE_VERSION, Live, Snapshot};
use serde_json::json;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

struct Till {
    children: Vec<Address<Leaf>>,
}

struct Leaf;

impl Actor for Till {
    type Msg = u64;

    fn handle(&mut self, children: u64, ctx: &mut Context<'_, Self>) {
        self.children.extend((0..children).map(|_| ctx.spawn(Leaf)));
    }
}

impl Actor for Leaf {
    type Msg = ();

    fn handle(&mut self, (): (), ctx: &mut Context<'_, Self>) {
        ctx.stop();
    }
}

#[test]
fn a_snapshot_says_what_a_system_does_and_travels_as_json() {
    let mut system = TestSystem::seeded(1);
    let till = system.spawn(Till { children: Vec::new() });
    let live = Live::new(&system);
    till.tell(3);
    system.run_until_idle();
    let leaf = system.spawn(Leaf);
    leaf.tell(());
    system.run_until_idle();
    assert!(leaf.send(()).is_err());
    (0..7).for_each(|_| till.tell(0));

    let seen = live.snapshot();
    assert_eq!((seen.schema_version, seen.now.number), (LIVE_VERSION, 1));
    assert_eq!(seen.about.workers.len(), system.workers());
    assert!(!seen.about.pus.is_empty(), "the machine is known");
    assert_eq!((seen.now.actors, seen.now.waiting), (4, 7));
    let handled: u64 = seen.now.workers.iter().map(|it| it.counters["handled"]).sum();
    assert_eq!(handled, 2);
    let kinds: Vec<_> = seen.now.walk.types.iter().map(|it| (&it.kind[..], it.living)).collect();
    assert!(kinds[0].0.ends_with("Leaf") && kinds[0].1 == 3, "{kinds:?}");
    let fullest = &seen.now.walk.fullest[..];
    assert_eq!((fullest.len(), fullest[0].actor, fullest[0].queued), (1, till.id().as_u64(), 7));
    assert!(seen.now.process.threads > 0 && !seen.now.process.busiest.is_empty());
    let text = serde_json::to_string(&seen).expect("JSON");
    assert_eq!(serde_json::from_str::<Snapshot>(&text).expect("a snapshot"), seen);
    assert_eq!(live.clone().now().number, 2, "clones count together");
}

#[test]
fn actors_are_paged_and_families_shown() {
    let mut system = TestSystem::seeded(1);
    let till = system.spawn(Till { children: Vec::new() });
    till.tell(25);
    system.run_until_idle();
    let live = Live::new(&system);
    let mut query = ActorsQuery {
        sort: Some("youngest".to_owned()),
        search: Some("leaf".to_owned()),
        take: Some(10),
        ..ActorsQuery::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = live.actors(&query).expect("a query");
        assert_eq!(page.total, 25);
        seen.extend(page.actors.iter().map(|it| it.actor));
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted_by(|a, b| a > b), "each once, the youngest first");

    let roots = live.family(None, 5);
    assert_eq!((roots.total, roots.members[0].1), (1, 25));
    let root = roots.members[0].0.actor;
    assert_eq!(root, till.id().as_u64());
    let children = live.family(Some(root), 5);
    assert_eq!((children.total, children.members.len()), (25, 5));
    assert_eq!(children.members[0].0.parent, Some(root));
    assert_eq!(live.actor(root, 9).map(|it| it.figures.queued), Some(0));
    assert_eq!(live.actor(u64::MAX, 9), None);
}

#[test]
fn sections_are_shown_until_they_are_dropped_and_may_panic() {
    let system = TestSystem::seeded(1);
    let live = Live::new(&system);
    let name = "sections of this test";
    let first = live::section(name, || json!({ "open": 3 }));
    let second = live::section(name, || panic!("no figures"));
    let nothing = live::section("nothing of this test", || json!(null));
    let seen = live.now().sections;
    assert_eq!(seen[name], json!({ "open": 3 }));
    assert_eq!(seen[&format!("{name} 2")], json!({ "error": "it panicked: no figures" }));
    assert!(!seen.contains_key("nothing of this test"));
    drop((first, second, nothing));
    assert!(live.now().sections.keys().all(|it| !it.starts_with(name)));
}

/// Waits in its turn until it is told to go on.
struct Waits {
    begun: Sender<()>,
    go_on: Receiver<()>,
}

impl Actor for Waits {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        self.begun.send(()).expect("somebody waits");
        self.go_on.recv_timeout(Duration::from_secs(60)).expect("it is told");
    }
}

#[test]
fn a_worker_is_seen_in_the_turn_of_an_actor() {
    let system = System::builder().workers(1).build().expect("a system");
    let ((begun, has_begun), (go_on, told)) = (channel(), channel());
    let waits = system.spawn(Waits { begun, go_on: told });
    let live = Live::new(&system);
    waits.tell(());
    has_begun.recv_timeout(Duration::from_secs(60)).expect("its turn begins");
    let worker = live.now().workers.swap_remove(0);
    let in_turn = worker.in_turn.expect("it is in a turn");
    assert!(worker.is_occupied && in_turn.kind.ends_with("Waits"), "{in_turn:?}");
    assert_eq!(in_turn.actor, waits.id().as_u64());
    go_on.send(()).expect("it waits");
    system.shutdown(Shutdown::Drain);
    let seen = live.now();
    assert!(seen.is_ending && seen.workers[0].in_turn.is_none());
}
