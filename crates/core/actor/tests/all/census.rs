//! Lists of actors and of their types.

use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, ActorCursor, ActorFigures, ActorId, ActorOrder, ActorQuery, Context, Policy,
    SpawnOptions, Supervision, System, WrongCursor,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// Fails on 0.
struct Even;
struct Odd;

impl Actor for Even {
    type Msg = u32;

    fn handle(&mut self, n: u32, _: &mut Context<'_, Self>) {
        assert_ne!(n, 0);
    }
}

impl Actor for Odd {
    type Msg = u32;

    fn handle(&mut self, _: u32, ctx: &mut Context<'_, Self>) {
        ctx.stop();
    }
}

fn ids(actors: &[ActorFigures]) -> Vec<ActorId> {
    actors.iter().map(|it| it.actor).collect()
}

#[test]
fn pages_show_each_actor_once_and_in_order() {
    let sys = TestSystem::seeded(1);
    // More than the list looks at, or keeps, at once.
    const ACTORS: usize = 10_000;
    let (mut evens, mut odds) = (Vec::new(), Vec::new());
    for n in 0..ACTORS / 2 {
        evens.push(sys.spawn(Even));
        odds.push(sys.spawn(Odd));
        (0..n % 7).for_each(|_| evens[n].tell(1));
    }
    let page =
        |order, skip, take| sys.actors(&ActorQuery::new().order(order).skip(skip).take(take));
    type Key = fn(&ActorFigures) -> (usize, u64, &'static str, u64);
    let keys: [(ActorOrder, Key); 5] = [
        (ActorOrder::Oldest, |it| (0, 0, "", it.actor.as_u64())),
        (ActorOrder::Youngest, |it| (0, 0, "", u64::MAX - it.actor.as_u64())),
        (ActorOrder::Queued, |it| (0, u64::MAX - it.queued, "", it.actor.as_u64())),
        (ActorOrder::Worker, |it| (it.worker.unwrap_or(usize::MAX), 0, "", it.actor.as_u64())),
        (ActorOrder::Kind, |it| (0, 0, it.kind, it.actor.as_u64())),
    ];
    for (order, key) in keys {
        let all = page(order, 0, ACTORS + 1);
        assert_eq!((all.total, all.actors.len()), (ACTORS as u64, ACTORS), "{order:?}");
        assert!(all.actors.is_sorted_by_key(key), "{order:?}");
        assert_eq!(ids(&all.actors).into_iter().collect::<BTreeSet<_>>().len(), ACTORS);
        for skip in [0, 1, 4_321, ACTORS - 3, ACTORS, usize::MAX] {
            let part = page(order, skip, 5);
            let expected = all.actors.iter().skip(skip).take(5).cloned().collect::<Vec<_>>();
            assert_eq!((part.total, part.actors), (ACTORS as u64, expected), "{order:?} {skip}");
        }
        let mut paged = Vec::<ActorFigures>::new();
        loop {
            let mut query = ActorQuery::new().order(order).take(3_000);
            if let Some(last) = paged.last() {
                query = query.after(last);
            }
            let page = sys.actors(&query).actors;
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, all.actors, "{order:?}");
    }
    let odd = sys.actors(&ActorQuery::new().kind("::Odd").take(3));
    assert_eq!((odd.total, odd.actors[2].actor), (odds.len() as u64, odds[2].id()));
    assert_eq!(sys.actors(&ActorQuery::new().kind("Neither")).total, 0);
}

#[test]
fn types_count_the_living_their_messages_and_restarts() {
    let mut sys = TestSystem::seeded(1);
    let restarted = SpawnOptions::new().supervise(Supervision::restart());
    let even = sys.spawn_with(restarted, || Even).expect("it starts");
    let odds = [sys.spawn(Odd), sys.spawn(Odd)];
    even.tell(0);
    odds[0].tell(1);
    sys.run_until_idle();
    (0..3).for_each(|n| even.tell(n));
    let types = sys.actor_types();
    assert!(types[0].kind.ends_with("::Even") && types[1].kind.ends_with("::Odd"), "{types:?}");
    let figures: Vec<_> =
        types.iter().map(|it| (it.living, it.queued, it.queued_max, it.restarts)).collect();
    assert_eq!(figures, [(1, 3, 3, 1), (1, 0, 0, 0)]);
    drop((even, odds));
    sys.run_until_idle();
    let types = sys.actor_types();
    assert!(types.iter().all(|it| (it.living, it.queued) == (0, 0)), "{types:?}");
}

#[test]
fn types_say_how_many_belong_to_each_worker() {
    let at_workers = |policy| {
        let system = System::builder().workers(3).policy(policy).build().expect("it starts");
        let at = |worker| SpawnOptions::new().on_worker(worker);
        let spawn = |worker| system.spawn_with(at(worker), || Even).expect("there is this worker");
        let actors = [0, 2, 2].map(spawn);
        system.wait_idle(Duration::from_secs(30)).expect("they have started");
        let types = system.actor_types();
        drop(actors);
        types[0].at_workers.clone()
    };
    assert_eq!(at_workers(Policy::pinned()), [1, 0, 2]);
    assert_eq!(at_workers(Policy::pool()), [0, 0, 0], "they belong to nobody between turns");
}

#[test]
fn a_system_is_listed_while_its_actors_come_and_go() {
    let system = System::builder().workers(2).build().expect("it starts");
    let kept: Vec<_> = (0..1_000).map(|_| system.spawn(Even)).collect();
    std::thread::scope(|scope| {
        let churn = scope.spawn(|| {
            for _ in 0..2_000 {
                let odd = system.spawn(Odd);
                odd.tell(1);
                kept[7].tell(1);
            }
        });
        loop {
            let is_last = churn.is_finished();
            let page = system.actors(&ActorQuery::new().kind("::Even").take(2_000));
            assert_eq!(ids(&page.actors), kept.iter().map(|it| it.id()).collect::<Vec<_>>());
            assert!(page.actors.iter().all(|it| it.worker.is_none_or(|worker| worker < 2)));
            let types = system.actor_types();
            assert!(types.iter().any(|it| it.kind.ends_with("::Even") && it.living == 1_000));
            if is_last {
                break;
            }
        }
    });
}

#[test]
fn a_search_finds_types_names_and_numbers() {
    let sys = TestSystem::seeded(1);
    let evens: Vec<_> = (0..5).map(|_| sys.spawn(Even)).collect();
    let odd = sys.spawn_with(SpawnOptions::new().name("The Till"), Odd).expect("a free name");
    let found = |text: &str| sys.actors(&ActorQuery::new().search(text));
    assert_eq!((found("").total, found("eVEN").total), (6, 5));
    let by_name = found("till");
    assert_eq!(ids(&by_name.actors), [odd.id()]);
    assert_eq!(by_name.actors[0].name.as_deref(), Some("The Till"));
    for text in [evens[3].id().to_string(), evens[3].id().as_u64().to_string()] {
        assert!(ids(&found(&text).actors).contains(&evens[3].id()), "{text}");
    }
    assert_eq!(found("nobody").total, 0);
    let figures = sys.actor(odd.id().as_u64()).expect("it lives");
    assert_eq!((figures.actor, figures.queued), (odd.id(), 0));
    assert_eq!(sys.actor(u64::MAX), None);
}

#[test]
fn a_page_goes_on_after_the_text_of_a_cursor() {
    let sys = TestSystem::seeded(1);
    let evens: Vec<_> = (0..9).map(|_| sys.spawn(Even)).collect();
    evens.iter().enumerate().for_each(|(n, even)| (0..n % 3).for_each(|_| even.tell(1)));
    for order in [ActorOrder::Queued, ActorOrder::Kind, ActorOrder::Youngest] {
        let query = || ActorQuery::new().order(order);
        let first = sys.actors(&query().take(4)).actors;
        let text = ActorCursor::from(&first[3]).to_string();
        let cursor: ActorCursor = text.parse().expect("a cursor");
        let all = sys.actors(&query()).actors;
        assert_eq!(sys.actors(&query().after(&cursor)).actors, all[4..], "{order:?}");
    }
    for wrong in ["", "1", "1,2,3", "x,2,-,K", "1,-2,-,K"] {
        assert_eq!(wrong.parse::<ActorCursor>(), Err(WrongCursor { text: wrong.to_owned() }));
    }
}

/// Has as many children as it is told.
struct Parent(Vec<actinium_actor::Address<Even>>);

impl Actor for Parent {
    type Msg = u32;

    fn handle(&mut self, n: u32, ctx: &mut Context<'_, Self>) {
        self.0 = (0..n).map(|_| ctx.spawn(Even)).collect();
    }
}

#[test]
fn a_family_is_known_until_its_members_end() {
    let mut sys = TestSystem::seeded(1);
    let parents: Vec<_> = (0..3).map(|_| sys.spawn(Parent(Vec::new()))).collect();
    parents.iter().zip([2, 300, 0]).for_each(|(parent, n)| parent.tell(n));
    sys.run_until_idle();
    let roots = sys.family(None, 10);
    let counts: Vec<_> = roots.members.iter().map(|it| (it.figures.actor, it.children)).collect();
    assert_eq!((roots.total, counts), (2, vec![(parents[1].id(), 300), (parents[0].id(), 2)]));
    let children = sys.family(Some(parents[1].id().as_u64()), 7);
    assert_eq!((children.total, children.members.len()), (300, 7));
    assert!(children.members.iter().all(|it| it.figures.parent == Some(parents[1].id())));
    parents[1].tell(1);
    sys.run_until_idle();
    assert_eq!(sys.family(Some(parents[1].id().as_u64()), 7).total, 1, "the others have ended");
}
