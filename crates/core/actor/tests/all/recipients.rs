//! Handles that name what an actor takes, and not its type.

use crate::common::{ON_PURPOSE, quiet};
use actinium_actor::testing::{Probe, TestSystem};
use actinium_actor::{
    Actor, Address, AskError, AskRecipient, Context, Down, Mailbox, Recipient, Reply, SendError,
    SpawnOptions, StopReason,
};
use std::collections::HashSet;
use std::time::Duration;

/// An actor with messages of its own, which takes others', too.
#[derive(Default)]
struct Shop {
    sold: Vec<u32>,
}

enum Msg {
    Sell(u32),
    Total(Reply<u32>),
    Half(u32, Reply<u32>),
}

impl From<u32> for Msg {
    fn from(article: u32) -> Self {
        Msg::Sell(article)
    }
}

impl From<((), Reply<u32>)> for Msg {
    fn from(((), reply): ((), Reply<u32>)) -> Self {
        Msg::Total(reply)
    }
}

impl From<(u32, Reply<u32>)> for Msg {
    fn from((of, reply): (u32, Reply<u32>)) -> Self {
        Msg::Half(of, reply)
    }
}

impl Actor for Shop {
    type Msg = Msg;

    fn handle(&mut self, msg: Msg, _ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Sell(0) => panic!("{ON_PURPOSE}"),
            Msg::Sell(article) => self.sold.push(article),
            Msg::Total(reply) => drop(reply.send(self.sold.iter().sum())),
            // Odd numbers have none: the request is dropped.
            Msg::Half(of, reply) if of % 2 == 0 => drop(reply.send(of / 2)),
            Msg::Half(..) => {}
        }
    }
}

fn shop(sys: &TestSystem, mailbox: Mailbox) -> Address<Shop> {
    let options = SpawnOptions::new().mailbox(mailbox);
    sys.handle().spawn_with(options, Shop::default).expect("nothing forbids it")
}

#[test]
fn a_recipient_reaches_whoever_takes_its_messages() {
    let mut sys = TestSystem::seeded(1);
    let (shop, probe) = (sys.spawn(Shop::default()), sys.probe::<u32>());
    let all: [Recipient<u32>; 3] = [shop.clone().into(), probe.recipient(), (&probe).into()];
    for (n, recipient) in (1..).zip(&all) {
        recipient.send(n).unwrap();
        recipient.try_send(10 * n).unwrap();
        recipient.tell(100 * n);
    }
    let total = AskRecipient::<(), u32>::from(&shop).ask(());
    sys.run_until_idle();
    assert_eq!(total.wait(), Ok(111));
    assert_eq!(probe.received(), [2, 20, 200, 3, 30, 300]);
    assert!(sys.audit().is_balanced());
}

#[test]
fn a_probe_stands_in_for_an_actor_that_is_asked() {
    let sys = TestSystem::seeded(1);
    let probe = sys.probe::<(u32, Reply<u32>)>();
    let asked: AskRecipient<u32, u32> = (&probe).into();
    let answer = asked.ask(8);
    let (request, reply) = probe.expect_next();
    reply.send(request / 2).unwrap();
    assert_eq!(answer.wait(), Ok(4));
}

#[test]
fn handles_of_one_actor_are_equal() {
    let sys = TestSystem::seeded(1);
    let (one, other) = (sys.spawn(Shop::default()), sys.spawn(Shop::default()));
    let of = |shop: &Address<Shop>| Recipient::<u32>::from(shop);
    assert_eq!(of(&one), of(&one).clone());
    assert_ne!(of(&one), of(&other));
    let set: HashSet<_> = [of(&one), of(&other), of(&one)].into();
    assert_eq!(set.len(), 2);
    assert_eq!(format!("{:?}", of(&one)), format!("{one:?}").replace("Address", "Recipient"));
    let asks = |shop: &Address<Shop>| AskRecipient::<u32, u32>::from(shop);
    assert!(asks(&one) == asks(&one) && asks(&one) != asks(&other));
    assert_eq!((of(&one).id(), asks(&other).id()), (one.id(), other.id()));
}

#[test]
fn a_message_comes_back_from_an_actor_that_has_ended() {
    let mut sys = TestSystem::seeded(1);
    let (shop, probe) = (sys.spawn(Shop::default()), sys.probe::<u32>());
    let (to_shop, to_probe) = (Recipient::from(&shop), probe.recipient::<u32>());
    shop.stop();
    probe.address().stop();
    sys.run_until_idle();
    for recipient in [&to_shop, &to_probe] {
        assert!(recipient.is_closed());
        assert_eq!(recipient.send(7), Err(SendError::Closed(7)));
        assert_eq!(recipient.try_send(8), Err(SendError::Closed(8)));
        assert_eq!(recipient.send_blocking(9), Err(SendError::Closed(9)));
    }
    let asked = AskRecipient::<u32, u32>::from(&shop);
    assert_eq!(asked.ask(2).wait(), Err(AskError::Closed(shop.id())));
    assert!(sys.audit().is_balanced());
}

#[test]
fn outside_actors_a_full_mailbox_gives_the_message_back_and_says_when_there_is_room() {
    let mut sys = TestSystem::seeded(1);
    let shop = shop(&sys, Mailbox::bounded(2));
    let recipient = Recipient::from(&shop);
    recipient.send(1).unwrap();
    recipient.send(2).unwrap();
    assert_eq!(recipient.send(3), Err(SendError::Full(3)));
    assert_eq!(recipient.try_send(3), Err(SendError::Full(3)));
    let mut room = Box::pin(recipient.room());
    let mut sending = Box::pin(recipient.send_async(3));
    let poll = |future: &mut dyn FnMut(&mut std::task::Context<'_>) -> bool| {
        future(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    };
    assert!(!poll(&mut |cx| room.as_mut().poll(cx).is_ready()));
    assert!(!poll(&mut |cx| sending.as_mut().poll(cx).is_ready()));
    sys.run_until_idle();
    assert!(poll(&mut |cx| room.as_mut().poll(cx).is_ready()));
    assert!(poll(&mut |cx| sending.as_mut().poll(cx).is_ready()));
    let total = AskRecipient::<(), u32>::from(&shop).ask(());
    sys.run_until_idle();
    assert_eq!(total.wait(), Ok(6));
    assert!(sys.audit().is_balanced());
}

/// Sends numbers from one on, as many as it is told, and then says so.
struct Sender(Recipient<u32>, Recipient<u32>);

impl Actor for Sender {
    type Msg = u32;

    fn handle(&mut self, count: u32, ctx: &mut Context<'_, Self>) {
        match count.checked_sub(1) {
            Some(left) => {
                self.0.send(count).expect("it lives");
                ctx.address().tell(left);
            }
            None => self.1.tell(0),
        }
    }
}

#[test]
fn in_an_actor_a_full_mailbox_mutes_the_sender() {
    for seed in 0..10 {
        let mut sys = TestSystem::seeded(seed);
        let (shop, done) = (shop(&sys, Mailbox::bounded(2)), sys.probe::<u32>());
        let sender = sys.spawn(Sender(Recipient::from(&shop), done.recipient()));
        sender.tell(100);
        sys.run_until_idle();
        assert_eq!(done.received(), [0]);
        let total = AskRecipient::<(), u32>::from(&shop).ask(());
        sys.run_until_idle();
        assert_eq!(total.wait(), Ok(5050));
        assert!(sys.handle().stats().total().muted > 0, "seed {seed}: nobody was muted");
        assert!(sys.audit().is_balanced());
    }
}

#[test]
fn an_ask_that_is_dropped_or_late_says_so() {
    let mut sys = TestSystem::seeded(1);
    let shop = sys.spawn(Shop::default());
    let asked = AskRecipient::<u32, u32>::from(&shop);
    let (good, dropped) = (asked.ask(6), asked.ask_timeout(Duration::from_secs(1), 7));
    sys.run_until_idle();
    assert_eq!(good.wait(), Ok(3));
    assert_eq!(dropped.wait(), Err(AskError::NoReply(shop.id())));
}

/// Watches or links as it is told, and hands on what it hears.
struct Watcher(Recipient<Down>);

enum Do {
    Watch(Recipient<u32>),
    Unwatch(Recipient<u32>),
    Link(AskRecipient<u32, u32>),
    Unlink(AskRecipient<u32, u32>),
    Down(Down),
}

impl Actor for Watcher {
    type Msg = Do;

    fn handle(&mut self, msg: Do, ctx: &mut Context<'_, Self>) {
        match msg {
            Do::Watch(other) => ctx.watch(&other, Do::Down),
            Do::Unwatch(other) => ctx.unwatch(&other),
            Do::Link(other) => ctx.link(&other),
            Do::Unlink(other) => ctx.unlink(&other),
            Do::Down(down) => self.0.tell(down),
        }
    }
}

fn watcher(sys: &TestSystem, heard: &Probe<Down>) -> Address<Watcher> {
    sys.spawn(Watcher(heard.recipient()))
}

#[test]
fn a_recipient_is_watched() {
    let mut sys = TestSystem::seeded(1);
    let (heard, shop) = (sys.probe(), sys.spawn(Shop::default()));
    let (hears, does_not) = (watcher(&sys, &heard), watcher(&sys, &heard));
    hears.tell(Do::Watch((&shop).into()));
    does_not.tell(Do::Watch((&shop).into()));
    does_not.tell(Do::Unwatch((&shop).into()));
    sys.run_until_idle();
    shop.stop();
    sys.run_until_idle();
    let down = Down { actor: shop.id(), reason: StopReason::Requested };
    assert_eq!(heard.received(), [down]);
}

#[test]
fn a_recipient_is_linked() {
    quiet();
    let mut sys = TestSystem::seeded(1);
    let (heard, shop) = (sys.probe(), sys.spawn(Shop::default()));
    let (linked, unlinked) = (watcher(&sys, &heard), watcher(&sys, &heard));
    linked.tell(Do::Link((&shop).into()));
    unlinked.tell(Do::Link((&shop).into()));
    unlinked.tell(Do::Unlink((&shop).into()));
    sys.run_until_idle();
    Recipient::<u32>::from(&shop).tell(0);
    sys.run_until_idle();
    assert!(linked.is_closed() && !unlinked.is_closed());
}

#[test]
fn urgent_messages_come_first_whatever_the_handle_makes_of_them() {
    let mut sys = TestSystem::seeded(1);
    let (shop, done) = (shop(&sys, Mailbox::bounded(2)), sys.probe::<u32>());
    let (to_shop, to_probe) = (Recipient::<u32>::from(&shop), done.recipient::<u32>());
    to_probe.send(1).unwrap();
    to_probe.send_urgent(2).unwrap();
    shop.tell(Msg::Sell(10));
    to_shop.send_urgent(20).unwrap();
    to_shop.send_urgent(30).unwrap();
    assert_eq!(to_shop.send_urgent(40), Err(SendError::Full(40)));
    sys.run_until_idle();
    assert_eq!(done.received(), [2, 1]);
    let total = shop.ask(Msg::Total);
    sys.run_until_idle();
    assert_eq!(total.wait(), Ok(60));
    shop.stop();
    sys.run_until_idle();
    assert_eq!(to_shop.send_urgent(50), Err(SendError::Closed(50)));
    assert!(sys.audit().is_balanced());
}
