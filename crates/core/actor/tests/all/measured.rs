//! Figures of turns and messages by types, and of chosen actors.

use actinium_actor::{
    Actor, ActorId, Address, Context, Measure, Measured, Shutdown, System, TurnFigures, actor,
};
use std::error::Error;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

struct Counter(u64);

#[actor]
impl Counter {
    fn add(&mut self, n: u64) {
        self.0 += n;
    }

    fn get(&self) -> u64 {
        self.0
    }
}

/// Sends itself so many messages, each in a turn of its own.
struct Loops;

impl Actor for Loops {
    type Msg = u64;

    fn handle(&mut self, left: u64, ctx: &mut Context<'_, Self>) {
        if left > 0 {
            let _ = ctx.address().send(left - 1);
        }
    }
}

/// The figures of a type, when the system rests.
fn of<'a>(measured: &'a Measured, part: &str) -> Option<&'a TurnFigures> {
    measured.types.iter().find(|it| it.kind.contains(part)).map(|it| &it.figures)
}

fn sum(buckets: &[(u64, u64)]) -> u64 {
    buckets.iter().map(|it| it.1).sum()
}

fn system(workers: usize) -> Result<System, Box<dyn Error>> {
    Ok(System::builder().workers(workers).build()?)
}

/// Ends the system, so that all rounds have ended, and returns what was measured.
fn ended(system: System) -> Measured {
    let handle = system.handle();
    system.shutdown(Shutdown::Drain);
    handle.measured()
}

#[test]
fn nothing_is_measured_unless_somebody_asks() -> Result<(), Box<dyn Error>> {
    let system = system(1)?;
    system.spawn(Loops).send(100)?;
    system.wait_idle(LONG)?;
    assert_eq!(ended(system), Measured::default());
    Ok(())
}

#[test]
fn every_turn_counts_if_that_is_asked_for() -> Result<(), Box<dyn Error>> {
    let system = system(1)?;
    let _measuring = system.measure(&Measure::new().every_turn());
    // The worker has seen that it measures when it has had a round.
    let loops: Vec<_> = (0..4).map(|_| system.spawn(Loops)).collect();
    system.wait_idle(LONG)?;
    let before = system.measured();
    let before = of(&before, "Loops").map_or(0, |it| it.handled);
    for it in &loops {
        it.send(1_000)?;
    }
    system.wait_idle(LONG)?;
    let measured = ended(system);
    let figures = of(&measured, "Loops").ok_or("no figures")?;
    assert_eq!((figures.handled - before, measured.missed), (4 * 1_001, 0), "{measured:?}");
    assert_eq!(figures.bytes, figures.handled * 8);
    assert_eq!(sum(&figures.turn_ns), figures.turns);
    assert!(figures.busy_ns > 0 && figures.messages.is_empty());
    Ok(())
}

#[test]
fn a_sample_of_the_rounds_stands_for_all_turns() -> Result<(), Box<dyn Error>> {
    let system = system(1)?;
    let measuring = system.measure(&Measure::new());
    let looping = system.spawn(Loops);
    looping.send(300_000)?;
    system.wait_idle(LONG)?;
    drop(measuring);
    looping.send(10)?;
    let handle = system.handle();
    let report = system.shutdown(Shutdown::Drain);
    let (measured, turns) = (handle.measured(), handle.stats().total().turns);
    let figures = of(&measured, "Loops").ok_or("no figures")?;
    // All turns but those after the last measured round.
    assert!(figures.turns > 0 && figures.turns <= turns, "{figures:?} of {turns}");
    assert!(figures.handled > report.handled / 20, "{figures:?}");
    assert!(sum(&figures.wait_ns) > 0, "{figures:?}");
    Ok(())
}

#[test]
fn messages_are_told_by_their_methods() -> Result<(), Box<dyn Error>> {
    let system = system(1)?;
    let _measuring = system.measure(&Measure::new().every_turn());
    let counter = system.spawn(Counter(0));
    let worked: Address<Counter> = counter.clone();
    for n in 0..10_000 {
        worked.add(n);
        if n % 2 == 0 {
            drop(worked.get());
        }
    }
    let measured = ended(system);
    let figures = of(&measured, "Counter").ok_or("no figures")?;
    let [add, get] = &figures.messages[..] else { return Err(format!("{figures:?}").into()) };
    assert_eq!((add.name, get.name), ("add", "get"));
    // One in 127 is a sample, and stands for so many.
    let share = add.handled as f64 / (add.handled + get.handled) as f64;
    assert!((0.5..0.8).contains(&share), "{figures:?}");
    Ok(())
}

#[test]
fn only_chosen_types_and_actors_are_measured() -> Result<(), Box<dyn Error>> {
    let system = system(1)?;
    let (chosen, other) = (system.spawn(Loops), system.spawn(Loops));
    let counter = system.spawn(Counter(0));
    let measure = Measure::new().every_turn().kind("Counter").actors([chosen.id()]);
    let measuring = system.measure(&measure);
    assert_eq!(counter.get().wait()?, 0);
    system.wait_idle(LONG)?;
    chosen.send(50)?;
    other.send(50)?;
    counter.add(1);
    system.wait_idle(LONG)?;
    drop(measuring);
    let id: ActorId = chosen.id();
    let measured = ended(system);
    assert!(of(&measured, "Counter").is_some() && of(&measured, "Loops").is_none());
    let [it] = &measured.actors[..] else { return Err(format!("{measured:?}").into()) };
    assert_eq!((it.actor, it.figures.handled), (id, 51));
    assert!(it.kind.contains("Loops"));
    Ok(())
}

/// Fails at each message.
struct Fails;

impl Actor for Fails {
    type Msg = ();

    fn handle(&mut self, (): (), _: &mut Context<'_, Self>) {
        panic!("as it must");
    }
}

#[test]
fn turns_that_fail_count_and_restarts_are_told() -> Result<(), Box<dyn Error>> {
    use actinium_actor::{SpawnOptions, Supervision};
    let system = system(1)?;
    let _measuring = system.measure(&Measure::new().every_turn());
    let options = SpawnOptions::new().supervise(Supervision::restart());
    let fails = system.spawn_with(options, || Fails)?;
    system.wait_idle(LONG)?;
    fails.send(())?;
    system.wait_idle(LONG)?;
    let measured = ended(system);
    let fails = measured.types.iter().find(|it| it.kind.contains("Fails")).ok_or("no figures")?;
    assert_eq!((fails.figures.handled, fails.restarts), (1, 1), "{fails:?}");
    Ok(())
}

#[test]
fn turns_of_chosen_actors_are_recorded() -> Result<(), Box<dyn Error>> {
    use actinium_actor::recording::Act;
    let system = system(1)?;
    let actors: Vec<_> = (0..3).map(|_| system.spawn(Loops)).collect();
    let turns = || -> Vec<u64> {
        let taken = system.take_records().remove(0).records;
        let number = |act: &Act| match act {
            Act::Turn { number, .. } => Some(*number),
            _ => None,
        };
        taken.iter().filter_map(|it| number(&it.act)).collect()
    };
    let one = |at: usize| actors[at].id();
    for chosen in [vec![0], vec![2, 1], vec![]] {
        system.record_only(1_000, chosen.iter().map(|&at| one(at)));
        // The worker has seen that when it has had a round.
        system.spawn(Loops);
        system.wait_idle(LONG)?;
        turns();
        for it in &actors {
            it.send(0)?;
        }
        system.wait_idle(LONG)?;
        let expected: Vec<_> = match &chosen[..] {
            [] => (0..3).map(one).collect(),
            chosen => chosen.iter().map(|&at| one(at)).collect(),
        };
        let mut found = turns();
        found.sort_unstable();
        found.dedup();
        let mut expected: Vec<_> = expected.iter().map(|it| it.as_u64()).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{chosen:?}");
    }
    Ok(())
}
