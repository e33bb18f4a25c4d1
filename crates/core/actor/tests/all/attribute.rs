//! Actors made of their methods, by `#[actor]`.

use actinium_actor::testing::TestSystem;
use actinium_actor::{
    Actor, Address, AskError, Context, Mailbox, Reply, SpawnOptions, StopReason, actor,
};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

fn answer<R>(system: &mut TestSystem, answer: actinium_actor::Answer<R>) -> Result<R, AskError> {
    system.run_until_idle();
    answer.wait()
}

// ---- all kinds of messages

struct Account {
    cents: i64,
    waiting: Vec<Reply<i64>>,
    ended: Sender<(i64, String)>,
}

#[actor]
impl Account {
    /// Pays in.
    fn deposit(&mut self, cents: i64) {
        self.cents += cents;
        for reply in self.waiting.drain(..) {
            let _ = reply.send(self.cents);
        }
    }

    fn balance(&self) -> i64 {
        self.cents
    }

    /// With parameters that are called as the macro calls its own.
    fn transfer(&mut self, msg: i64, ctx: Address<Self>) {
        self.cents -= msg;
        ctx.deposit(msg);
    }

    fn withdraw(&mut self, mut cents: i64) -> Result<i64, String> {
        if cents > self.cents {
            return Err(format!("there are {} cents, not {cents}", self.cents));
        }
        cents = self.cents - cents;
        self.cents = cents;
        Ok(cents)
    }

    fn flush(&mut self) -> () {}

    fn next_balance(&mut self, reply: Reply<i64>) {
        self.waiting.push(reply);
    }

    fn later(&mut self, cents: i64, ctx: &mut Context<'_, Self>) {
        ctx.after(Duration::from_secs(1), AccountMsg::Deposit { cents });
    }

    fn r#type(&self) -> &'static str {
        "account"
    }

    #[cfg(any())]
    fn absent(&self, missing: Missing) -> Missing {}

    fn started(&mut self, _ctx: &mut Context<'_, Self>) {
        self.cents += 1;
    }

    fn footprint_bytes(&self) -> usize {
        1 << 20
    }

    fn stopped(&mut self, _ctx: &mut Context<'_, Self>, reason: &StopReason) {
        let _ = self.ended.send((self.cents, reason.to_string()));
    }
}

fn account(system: &TestSystem) -> (Address<Account>, Receiver<(i64, String)>) {
    let (ended, end) = channel();
    (system.spawn(Account { cents: 0, waiting: Vec::new(), ended }), end)
}

#[test]
fn methods_are_told_and_asked() {
    let mut system = TestSystem::seeded(1);
    let (account, end) = account(&system);
    account.deposit(41);
    assert_eq!(answer(&mut system, account.balance()), Ok(42));
    let (left, refused) = (account.withdraw(40), account.withdraw(3));
    system.run_until_idle();
    assert_eq!(left.wait(), Ok(2));
    assert_eq!(refused.wait(), Err(AskError::Failed("there are 2 cents, not 3".to_owned())));
    assert_eq!(answer(&mut system, account.flush()), Ok(()));
    assert_eq!(answer(&mut system, account.r#type()), Ok("account"));
    account.stop();
    system.run_until_idle();
    assert_eq!(end.try_recv(), Ok((2, StopReason::Requested.to_string())));
    assert!(matches!(answer(&mut system, account.balance()), Err(AskError::Closed(_))));
}

#[test]
fn an_answer_may_be_given_later() {
    let mut system = TestSystem::seeded(2);
    let (account, _end) = account(&system);
    let next = account.next_balance();
    account.later(9);
    assert_eq!(answer(&mut system, account.balance()), Ok(1));
    system.advance(Duration::from_secs(2));
    assert_eq!(answer(&mut system, next), Ok(10));
    let unanswered = account.next_balance();
    account.kill();
    assert!(matches!(answer(&mut system, unanswered), Err(AskError::NoReply(_))));
}

#[test]
fn parameters_may_be_called_as_the_macro_calls_its_own() {
    let mut system = TestSystem::seeded(3);
    let ((one, _one), (other, _other)) = (account(&system), account(&system));
    one.transfer(5, other.clone());
    assert_eq!(answer(&mut system, one.balance()), Ok(-4));
    assert_eq!(answer(&mut system, other.balance()), Ok(6));
}

#[test]
fn messages_are_values_and_hooks_are_the_traits() {
    let mut system = TestSystem::seeded(4);
    let (account, _end) = account(&system);
    account.tell(AccountMsg::Deposit { cents: 3 });
    let balance = account.ask(|reply| AccountMsg::Balance { reply });
    assert_eq!(answer(&mut system, balance), Ok(4));
    let (ended, _end) = channel();
    let mut unit = Account { cents: 7, waiting: Vec::new(), ended };
    assert_eq!(unit.withdraw(7), Ok(0));
    assert_eq!(Actor::footprint_bytes(&unit), 1 << 20);
}

#[test]
fn what_is_told_to_a_full_mailbox_from_outside_is_a_dead_letter() {
    let mut system = TestSystem::seeded(5);
    let (ended, _end) = channel();
    let mut ended = Some(ended);
    let made = system.spawn_with(SpawnOptions::new().mailbox(Mailbox::bounded(1)), move || {
        let ended = ended.take().expect("made once");
        Account { cents: 0, waiting: Vec::new(), ended }
    });
    let account = made.expect("it is made");
    account.deposit(1);
    account.deposit(1);
    assert!(matches!(account.balance().wait(), Err(AskError::Full(_))));
    system.run_until_idle();
    assert_eq!(answer(&mut system, account.balance()), Ok(2));
}

// ---- failures

/// Fails by what it is told.
struct Sum(u64);

#[actor]
impl Sum {
    fn started(&mut self) -> Result<(), String> {
        match self.0 {
            13 => Err("no luck".to_owned()),
            _ => Ok(()),
        }
    }

    #[tell]
    fn add(&mut self, number: &'static str) -> Result<(), std::num::ParseIntError> {
        self.0 += number.parse::<u64>()?;
        Ok(())
    }

    fn halves(&mut self, reply: Reply<u64>) -> Result<(), &'static str> {
        if self.0 % 2 == 1 {
            return Err("odd");
        }
        let _ = reply.send(self.0 / 2);
        Ok(())
    }
}

#[test]
fn errors_that_are_no_answers_are_failures() {
    let mut system = TestSystem::seeded(8);
    let failure = |sum: u64, then: fn(&Address<Sum>)| {
        let sum = system.spawn(Sum(sum));
        then(&sum);
        // What finds it ended says why it did.
        sum.add("0");
        system.run_until_idle();
        let letters = system.dead_letters();
        let ended = letters.iter().rfind(|letter| letter.to == sum.id());
        ended.map(|letter| letter.reason.to_string())
    };
    let mut failure = failure;
    assert_eq!(failure(0, |sum| sum.add("1")), None);
    let why = failure(0, |sum| sum.add("one")).expect("it has failed");
    assert!(why.contains("invalid digit"), "{why}");
    let why = failure(13, |_| {}).expect("it has failed");
    assert!(why.contains("no luck"), "{why}");
    let why = failure(3, |sum| drop(sum.halves())).expect("it has failed");
    assert!(why.contains("odd"), "{why}");
}

// ---- tests

/// More seeds than one, each with a system of its own.
#[actinium_actor::test(seeds = 3)]
fn a_test_runs_with_all_seeds(system: &mut TestSystem) -> Result<(), AskError> {
    let sum = system.spawn(Sum(2));
    let half = sum.halves();
    system.run_until_idle();
    assert_eq!(half.wait()?, 1);
    Ok(())
}

#[actinium_actor::test]
#[should_panic(expected = "seed 0 is the first that fails: Closed")]
fn a_test_fails_by_its_error(system: &mut TestSystem) -> Result<(), AskError> {
    let sum = system.spawn(Sum(2));
    sum.stop();
    system.run_until_idle();
    sum.halves().wait().map(|_| ())
}

// ---- parameters of the type

struct Cache<K, V, const MOST: usize> {
    entries: Vec<(K, V)>,
}

#[actor(msg = CacheMessages, address = CacheMethods)]
impl<K, V, const MOST: usize> Cache<K, V, MOST>
where
    K: PartialEq + Send + 'static,
    V: Clone + Send + 'static,
{
    pub(crate) fn put(&mut self, key: K, value: V) {
        self.entries.insert(0, (key, value));
        self.entries.truncate(MOST);
    }

    fn get(&self, key: K) -> Option<V> {
        self.entries.iter().find(|entry| entry.0 == key).map(|entry| entry.1.clone())
    }
}

/// A type whose parameter is in no message.
struct Sink<T>(Vec<T>);

#[actor]
impl<T: Send + 'static> Sink<T> {
    fn clear(&mut self) -> usize {
        self.0.drain(..).count()
    }
}

#[test]
fn an_actor_may_have_parameters() {
    let mut system = TestSystem::seeded(6);
    let cache = system.spawn(Cache::<&str, u8, 2> { entries: Vec::new() });
    [("a", 1), ("b", 2), ("c", 3)].into_iter().for_each(|(key, value)| cache.put(key, value));
    assert_eq!(answer(&mut system, cache.get("a")), Ok(None));
    assert_eq!(answer(&mut system, cache.get("c")), Ok(Some(3)));
    let sink = system.spawn(Sink(vec!["x"; 5]));
    assert_eq!(answer(&mut system, sink.clear()), Ok(5));
    cache.tell(CacheMessages::Put { key: "a", value: 4 });
    assert_eq!(answer(&mut system, cache.get("a")), Ok(Some(4)));
}

// ---- visibility

pub(crate) mod shown {
    use actinium_actor::actor;

    /// Known only here.
    struct Secret;

    #[derive(Default)]
    pub(crate) struct Shown(u64);

    #[actor]
    impl Shown {
        fn learn(&mut self, secret: Secret) {
            let Secret = secret;
            self.0 += 1;
        }

        pub(crate) fn known(&self) -> u64 {
            self.0
        }
    }

    pub(crate) fn teach(shown: &actinium_actor::Address<Shown>) {
        shown.learn(Secret);
    }
}

#[test]
fn the_address_is_as_visible_as_the_methods() {
    use shown::ShownAddress;
    let mut system = TestSystem::seeded(7);
    let shown = system.spawn(shown::Shown::default());
    shown::teach(&shown);
    assert_eq!(answer(&mut system, shown.known()), Ok(1));
}
