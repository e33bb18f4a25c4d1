//! Lists of actors and of their types.

use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, ActorFigures, ActorId, ActorOrder, ActorQuery, Context, SpawnOptions, Supervision,
    System,
};
use std::collections::BTreeSet;

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
