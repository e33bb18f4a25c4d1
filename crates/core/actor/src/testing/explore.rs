//! One test under many orders of turns.

use super::system::{TestSystem, TestSystemBuilder};
use actinium_scheduler::mixing::SplitMix64;
use actinium_scheduler::{Policy, guard};
use std::fmt::Write;
use std::ops::Range;

/// The environment variable that asks for one seed only.
const SEED: &str = "ACTINIUM_SEED";
/// The turns that the message of a failure shows.
const TURNS_SHOWN: usize = 20;
/// Makes the numbers that shape a system others than those that order its turns.
const SHAPE: u64 = 0x5eed_0f5a_1159_5eed;

/// Runs a test with each of the seeds 0 to `seeds - 1`, each time with a new system
/// ([`TestSystem::explored`]). The seed decides who runs next, how many messages a turn takes, and
/// the policy: so a thousand seeds are up to a thousand orders that a machine with many workers
/// might have produced.
///
/// The first seed that fails is the smallest that does, and the last one that runs. The environment
/// variable `ACTINIUM_SEED` runs one seed only: to look closer at it.
///
/// ```
/// use actinium_actor::testing::explore;
/// use actinium_actor::{Actor, Address, Context};
///
/// struct Account { euros: u64 }
/// enum Msg { Deposit(u64), Withdraw(u64) }
///
/// impl Actor for Account {
///     type Msg = Msg;
///     fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
///         match msg {
///             Msg::Deposit(euros) => self.euros += euros,
///             Msg::Withdraw(euros) => self.euros -= euros,
///         }
///     }
/// }
///
/// explore(100, |sys| {
///     let account = sys.spawn(Account { euros: 0 });
///     account.tell(Msg::Deposit(5));
///     account.tell(Msg::Withdraw(5));
///     sys.run_until_idle();
///     // One sender's messages arrive in order: never is there too little.
///     sys.expect_running(&account);
///     sys.expect_no_dead_letters();
/// });
/// ```
///
/// # Panics
/// If the test panics: with its message, the seed, the latest turns, and how to run that seed
/// again. Also if there is no seed to run, or `ACTINIUM_SEED` is not a number.
#[track_caller]
pub fn explore(seeds: u64, test: impl FnMut(&mut TestSystem)) {
    let only = std::env::var_os(SEED).map(|value| value.to_string_lossy().into_owned());
    let seeds = match chosen(seeds, only.as_deref()) {
        Ok(seeds) => seeds,
        Err(why) => panic!("{why}"),
    };
    if let Err(why) = explore_seeds(seeds, test) {
        panic!("{why}");
    }
}

impl TestSystem {
    /// The system that [`explore`] gives to the test with this seed: to keep a seed that has failed
    /// as a test of its own.
    pub fn explored(seed: u64) -> Self {
        shape(seed).build()
    }
}

/// The seeds to run.
fn chosen(seeds: u64, only: Option<&str>) -> Result<Range<u64>, String> {
    match only.map(|text| text.trim().parse::<u64>().map_err(|_| text)) {
        None if seeds == 0 => Err("there is no seed to explore: give a number above 0".to_owned()),
        None => Ok(0..seeds),
        Some(Ok(u64::MAX)) => Err(format!("{SEED}: {} is no seed: it is too large", u64::MAX)),
        Some(Ok(seed)) => Ok(seed..seed + 1),
        Some(Err(text)) => Err(format!("{SEED}: '{text}' is no seed: give a number, such as 17")),
    }
}

/// A system whose turns, their lengths and whose policy are drawn from a seed.
fn shape(seed: u64) -> TestSystemBuilder {
    let mut random = SplitMix64::new(seed ^ SHAPE);
    // Mostly one message at a time: then turns are interleaved most finely.
    let batch = match random.below(8) {
        0 => 64,
        1 => 2 + random.below(7) as u32,
        _ => 1,
    };
    let policies = [Policy::affine(), Policy::Pool, Policy::Stealing, Policy::Pinned];
    let policy = policies[random.below(policies.len() as u64) as usize];
    TestSystem::builder().seed(seed).batch(batch).policy(policy)
}

/// Runs them in order, up to the first that fails.
fn explore_seeds(seeds: Range<u64>, mut test: impl FnMut(&mut TestSystem)) -> Result<(), String> {
    for seed in seeds {
        let mut sys = TestSystem::explored(seed);
        if let Err(panicked) = guard::catch(|| test(&mut sys)) {
            return Err(failure(&sys, panicked.message()));
        }
    }
    Ok(())
}

#[cold]
fn failure(sys: &TestSystem, said: &str) -> String {
    let (seed, trace) = (sys.seed(), sys.trace());
    let mut text = format!(
        "seed {seed} is the first that fails: {said}\n{sys:?}, batch {}, policy {}",
        sys.options().batch,
        sys.options().policy
    );
    let latest = &trace[trace.len().saturating_sub(TURNS_SHOWN)..];
    for (index, (id, kind)) in latest.iter().enumerate() {
        let turn = trace.len() - latest.len() + index + 1;
        let _ = write!(text, "\n  turn {turn}: {id} ({kind})");
    }
    let thread = std::thread::current();
    let test = thread.name().filter(|&name| name != "main").unwrap_or_default();
    let _ = write!(text, "\nto run only this seed: {SEED}={seed} cargo test {test}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Address, Context, Recipient};
    use std::collections::BTreeSet;

    /// Sends its number on.
    struct Sender(Recipient<u32>);

    impl Actor for Sender {
        type Msg = u32;

        fn handle(&mut self, n: u32, _: &mut Context<'_, Self>) {
            self.0.tell(n);
        }
    }

    /// What came, in order, from three that race.
    fn race(sys: &mut TestSystem) -> Vec<u32> {
        let probe = sys.probe::<u32>();
        let senders: Vec<Address<Sender>> =
            (0..3).map(|_| sys.spawn(Sender(probe.recipient()))).collect();
        for n in 0..9 {
            senders[n as usize % 3].tell(n);
        }
        sys.run_until_idle();
        probe.received()
    }

    #[test]
    fn seeds_are_many_orders_and_each_is_always_the_same() {
        let mut orders = BTreeSet::new();
        // Miri takes half a second for each.
        let seeds = if cfg!(miri) { 6 } else { 200 };
        explore_seeds(0..seeds, |sys| _ = orders.insert(race(sys))).unwrap();
        assert!(orders.len() as u64 > seeds / 2, "{}", orders.len());
        for seed in [0, 7] {
            let [one, other] = [(); 2].map(|()| race(&mut TestSystem::explored(seed)));
            assert_eq!(one, other);
        }
    }

    #[test]
    fn the_first_seed_that_fails_is_named_and_is_the_last() {
        let fails = |sys: &mut TestSystem| {
            let came = race(sys);
            assert!(came[0] != 2, "2 came first");
        };
        let mut ran = Vec::new();
        let text = explore_seeds(0..1000, |sys| {
            ran.push(sys.seed());
            fails(sys);
        })
        .unwrap_err();
        let seed = *ran.last().unwrap();
        assert_eq!(ran, (0..=seed).collect::<Vec<_>>());
        assert!(seed < 999, "some order has 2 first");
        let first = format!("seed {seed} is the first that fails: 2 came first\n");
        assert!(text.starts_with(&first), "{text}");
        let again = format!("\nto run only this seed: ACTINIUM_SEED={seed} cargo test testing::");
        assert!(text.contains(&again), "{text}");
        assert!(text.contains("\n  turn ") && text.contains("Sender)"), "{text}");
        // And that seed alone fails, too.
        let only = chosen(1000, Some(&seed.to_string())).unwrap();
        assert_eq!(explore_seeds(only, fails).unwrap_err(), text);
    }

    #[test]
    fn seeds_that_are_none_are_refused() {
        assert_eq!(chosen(3, None), Ok(0..3));
        assert_eq!(chosen(3, Some(" 17 ")), Ok(17..18));
        assert!(chosen(0, None).unwrap_err().contains("no seed to explore"));
        assert_eq!(
            chosen(3, Some("-1")).unwrap_err(),
            "ACTINIUM_SEED: '-1' is no seed: give a number, such as 17"
        );
        assert!(chosen(3, Some(&u64::MAX.to_string())).is_err());
    }
}
