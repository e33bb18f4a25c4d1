//! Four nodes that all send to all while nodes die and start again and pairs are cut and healed,
//! over a bad network: nothing is lost without a report, nothing is doubled, nothing comes out of
//! order. First the links alone in virtual time, then whole nodes with threads.
//!
//! `ACTINIUM_SOAK_MESSAGES` says how many messages the first sends (default 1,000,000; the deep run
//! is 1,000,000,000), and `ACTINIUM_SOAK_REAL_MESSAGES` how many the second does (default 200,000;
//! the deep run is 100,000,000).

use crate::common::{MS, bad_network, reliable};
use actinium_actor::{Actor, Address, Context, Reply, System};
use actinium_cluster::fabric::in_process::{Faults, InProcess, Network};
use actinium_cluster::fabric::{Fabric, NodeId};
use actinium_cluster::link::{HEADER_BYTES, Link, LinkConfig, LinkEvent};
use actinium_cluster::route::Route;
use actinium_cluster::{Node, NodeConfig, NodeEvent, RemoteActor, RemoteAddress, RemoteSendError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const NODES: u32 = 4;

fn messages(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// What is known of the messages from one node to another, over all their lives. Numbers only rise.
#[derive(Default)]
struct Ledger {
    sent: u64,
    received: u64,
    /// The largest number that was received.
    last: Option<u64>,
    /// As the receiver has said.
    lost: u64,
    /// As the sender has said when a session ended.
    unacknowledged: u64,
    /// In the present session.
    sent_now: u64,
    /// What was lost and reported included.
    arrived_now: u64,
}

/// One life of a node: a link to each other one.
struct Life {
    fabric: InProcess,
    links: BTreeMap<u32, Link>,
}

struct World {
    network: Network,
    random: fastrand::Rng,
    lives: Vec<Life>,
    ledgers: BTreeMap<(u32, u32), Ledger>,
    incarnation: u64,
    downs: u64,
    deaths: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let network = Network::seeded(seed, Faults { reordering: 0.02, ..bad_network() });
        let (lives, ledgers) = (Vec::new(), BTreeMap::new());
        let mut world =
            World { network, random, lives, ledgers, incarnation: 1, downs: 0, deaths: 0 };
        world.lives = (0..NODES).map(|node| world.life(node)).collect();
        world
    }

    fn life(&self, node: u32) -> Life {
        let fabric = self.network.node(NodeId(node));
        let link = |other: u32| {
            // From even nodes reliably; from odd ones what is lost is reported.
            let config = LinkConfig { reliable: node.is_multiple_of(2), ..LinkConfig::default() };
            (other, Link::new(config, self.incarnation, self.network.now_ns()).unwrap())
        };
        Life { fabric, links: (0..NODES).filter(|&other| other != node).map(link).collect() }
    }

    fn kill(&mut self, node: u32) {
        self.network.kill(NodeId(node));
        self.deaths += 1;
        self.incarnation += 1_000_000;
        self.lives[node as usize] = self.life(node);
    }

    fn step(&mut self, end: u64) {
        self.network.advance(MS);
        let now_ns = self.network.now_ns();
        for node in 0..NODES {
            let life = &mut self.lives[node as usize];
            while let Some((from, frame)) = life.fabric.poll() {
                life.links.get_mut(&from.0).unwrap().receive(frame, now_ns);
            }
            for (&other, link) in &mut life.links {
                link.tick(now_ns);
                while let Some(event) = link.poll_event() {
                    event_of(&mut self.ledgers, node, other, link, event, now_ns, &mut self.downs);
                }
                let ledger = self.ledgers.entry((node, other)).or_default();
                while ledger.sent < end && link.has_credit() {
                    let count = self.random.u64(1..=100).min(end - ledger.sent);
                    let mut frame = vec![0; HEADER_BYTES];
                    for number in ledger.sent..ledger.sent + count {
                        frame.extend_from_slice(&number.to_le_bytes());
                    }
                    link.send(count as u32, frame).unwrap();
                    ledger.sent += count;
                    ledger.sent_now += count;
                }
                let fabric = &mut life.fabric;
                link.transmit(now_ns, |frame| fabric.send(NodeId(other), frame).is_ok());
            }
        }
    }
}

fn event_of(
    ledgers: &mut BTreeMap<(u32, u32), Ledger>,
    node: u32,
    other: u32,
    link: &mut Link,
    event: LinkEvent,
    now_ns: u64,
    downs: &mut u64,
) {
    let to = ledgers.entry((node, other)).or_default();
    match event {
        LinkEvent::Up => to.sent_now = 0,
        LinkEvent::Down(ref down) => {
            // What is not reported as such has arrived, or was reported as lost.
            let acknowledged = to.sent_now - down.unacknowledged.messages;
            assert!(acknowledged <= to.arrived_now, "{node} to {other}: lost in silence");
            to.unacknowledged += down.unacknowledged.messages;
            *downs += 1;
        }
        _ => {}
    }
    let from = ledgers.entry((other, node)).or_default();
    match event {
        LinkEvent::Up => from.arrived_now = 0,
        LinkEvent::Frame(frame) => {
            for number in frame.payload().chunks_exact(8) {
                let number = u64::from_le_bytes(number.try_into().unwrap());
                assert!(
                    from.last < Some(number),
                    "{other} to {node}: {number} after {:?}",
                    from.last
                );
                from.last = Some(number);
                from.received += 1;
                from.arrived_now += 1;
            }
            link.handled(frame.session, 1, now_ns);
        }
        LinkEvent::Lost(lost) => {
            assert!(other % 2 == 1, "lost on a reliable link");
            from.lost += lost.messages;
            from.arrived_now += lost.messages;
        }
        LinkEvent::Refused(refusal) => panic!("{refusal}"),
        _ => {}
    }
}

#[test]
fn four_nodes_that_die_and_are_cut_lose_nothing_in_silence() {
    let of_each = messages("ACTINIUM_SOAK_MESSAGES", 1_000_000) / u64::from(NODES * (NODES - 1));
    let mut world = World::new(1);
    // In so many parts: before each, something happens.
    let parts = (of_each / 20_000).clamp(8, 400);
    for part in 1..=parts {
        let end = of_each * part / parts;
        let (a, b) = (world.random.u32(..NODES), world.random.u32(..NODES));
        let is_cut = match world.random.u32(..4) {
            0 => {
                world.kill(a);
                false
            }
            _ => {
                world.network.cut(NodeId(a), NodeId(b));
                true
            }
        };
        // Longer than the silence that ends a session, or shorter.
        let mut healed_after = world.random.u64(10..1_600);
        let mut steps = 0_u64;
        while healed_after > 0 || world.ledgers.values().any(|ledger| ledger.sent < end) {
            world.step(end);
            healed_after = healed_after.saturating_sub(1);
            if healed_after == 0 && is_cut {
                world.network.heal(NodeId(a), NodeId(b));
            }
            steps += 1;
            assert!(steps < 10_000 + 10 * of_each, "stuck");
        }
    }
    world.network.set_faults(Faults::default());
    (0..2_000).for_each(|_| world.step(of_each));
    for ((from, to), ledger) in &world.ledgers {
        assert_eq!(ledger.sent_now, ledger.arrived_now, "{from} to {to}, in their last session");
        assert!(world.lives[*from as usize].links[to].is_up());
    }
    let sum = |of: fn(&Ledger) -> u64| world.ledgers.values().map(of).sum::<u64>();
    assert_eq!(sum(|ledger| ledger.sent), of_each * u64::from(NODES * (NODES - 1)));
    assert!(world.downs > 0 && world.deaths > 0 && sum(|ledger| ledger.lost) > 0);
    println!(
        "sent {}, received {}, reported lost {}, unacknowledged at the end of {} sessions {}; {} nodes died",
        sum(|ledger| ledger.sent),
        sum(|ledger| ledger.received),
        sum(|ledger| ledger.lost),
        world.downs,
        sum(|ledger| ledger.unacknowledged),
        world.deaths,
    );
}

/// What lay in mailboxes of nodes that died: acknowledged, for a frame counts as handled when its
/// messages are in mailboxes. By route (the two tests run side by side) and pair.
static IN_MAILBOXES: Mutex<BTreeMap<(u8, u32, u32), u64>> = Mutex::new(BTreeMap::new());

/// A message, from, to and which: in a mailbox until it is handled.
struct Letter {
    message: (u8, u32, u32, u64),
    is_handled: bool,
}

impl Drop for Letter {
    fn drop(&mut self) {
        if !self.is_handled {
            let (route, from, to, _) = self.message;
            *IN_MAILBOXES.lock().unwrap().entry((route, from, to)).or_default() += 1;
        }
    }
}

/// Whole nodes: sends to all others as long as it is told to, and checks what comes.
struct Soaker {
    route: u8,
    me: u32,
    others: BTreeMap<u32, RemoteAddress<Soaker>>,
    books: Arc<Mutex<Books>>,
    /// To be sent to each other node in all its lives.
    end: u64,
    /// For room, or for its next turn.
    is_waiting: bool,
}

/// Of all pairs.
#[derive(Debug, Default)]
struct Books {
    sent: BTreeMap<(u32, u32), u64>,
    received: BTreeMap<(u32, u32), u64>,
    last: BTreeMap<(u32, u32), u64>,
    /// As the sender's node has said.
    reported: BTreeMap<(u32, u32), u64>,
    died: BTreeMap<(u32, u32), u64>,
    /// What was sent less what is known of it when all was quiet last: below 0 if what was reported
    /// as unacknowledged had arrived.
    before: BTreeMap<(u32, u32), i64>,
    wrong: Vec<String>,
}

enum Msg {
    Number(Letter),
    Met(u32, Box<RemoteAddress<Soaker>>),
    End(u64),
    GoOn,
    /// A node may be up again.
    Look,
    Asked(Reply<()>),
}

impl Actor for Soaker {
    type Msg = Msg;
    fn handle(&mut self, msg: Msg, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Number(mut letter) => {
                letter.is_handled = true;
                let (_, from, to, number) = letter.message;
                let pair = (from, to);
                let mut books = self.books.lock().unwrap();
                *books.received.entry(pair).or_default() += 1;
                if let Some(last) = books.last.insert(pair, number)
                    && last >= number
                {
                    books.wrong.push(format!("{pair:?}: {number} after {last}"));
                }
                return;
            }
            Msg::Asked(reply) => {
                let _ = reply.send(());
                return;
            }
            Msg::Met(node, address) => drop(self.others.insert(node, *address)),
            Msg::End(end) => self.end = end,
            Msg::GoOn => self.is_waiting = false,
            Msg::Look => {}
        }
        if !self.is_waiting {
            self.send(ctx);
        }
    }
}

impl Soaker {
    fn send(&mut self, ctx: &Context<'_, Self>) {
        let mut is_sending = false;
        for (&node, other) in &self.others {
            for _ in 0..200 {
                // Not held while it sends: who receives takes it, too.
                let next = {
                    let mut books = self.books.lock().unwrap();
                    let sent = books.sent.entry((self.me, node)).or_default();
                    if *sent >= self.end {
                        break;
                    }
                    *sent += 1;
                    *sent
                };
                if let Err(error) = other.send((self.route, self.me, node, next)) {
                    // It was not sent: as if it had never been.
                    *self.books.lock().unwrap().sent.entry((self.me, node)).or_default() -= 1;
                    match error {
                        RemoteSendError::Full(_) => {
                            self.is_waiting = true;
                            return ctx.pipe(other.ready(), |()| Msg::GoOn);
                        }
                        // Until its next life is met.
                        _ => break,
                    }
                }
                is_sending = true;
            }
        }
        if is_sending {
            self.is_waiting = true;
            ctx.address().tell(Msg::GoOn);
        }
    }
}

impl RemoteActor for Soaker {
    const KIND: &'static str = "test.soaker";
    type Message = (u8, u32, u32, u64);
    type Request = ();
    type Answer = ();
    fn message(message: (u8, u32, u32, u64)) -> Msg {
        Msg::Number(Letter { message, is_handled: false })
    }
    fn request((): (), reply: Reply<()>) -> Msg {
        Msg::Asked(reply)
    }
}

struct Host {
    system: System,
    node: Node,
    soaker: Address<Soaker>,
}

struct Real {
    route: Route,
    network: Network,
    books: Arc<Mutex<Books>>,
    hosts: Vec<Option<Host>>,
    end: u64,
}

const LIMIT: Duration = Duration::from_secs(240);

/// Ends a test that hangs.
struct Limit(Instant);

impl Limit {
    #[expect(clippy::disallowed_methods, reason = "a limit against hanging")]
    fn new() -> Self {
        Limit(Instant::now())
    }

    fn is_over(&self) -> bool {
        self.0.elapsed() >= LIMIT
    }
}

impl Real {
    fn start(&mut self, n: u32) {
        let fabric = self.network.node(NodeId(n));
        let system = System::builder().workers(1).build().unwrap();
        let config = NodeConfig { route: self.route, grid_nodes: NODES, ..reliable() };
        let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
        let (route, books) = (self.route, self.books.clone());
        node.on_event(move |event| {
            let (to, messages) = match event {
                NodeEvent::Down { node, unacknowledged, undelivered, .. } => {
                    (node, unacknowledged.messages + undelivered)
                }
                NodeEvent::Undelivered { node, messages }
                // Sent to its earlier life, before this one was met.
                | NodeEvent::Misaddressed { node, messages } => (node, *messages),
                // In a grid: with a node in between that has died.
                NodeEvent::LostThere(node, lost) if route != Route::Direct => (node, lost.messages),
                NodeEvent::LostThere(..) => {
                    books.lock().unwrap().wrong.push("lost on a reliable link".to_owned());
                    return;
                }
                _ => return,
            };
            *books.lock().unwrap().reported.entry((n, to.0)).or_default() += messages;
        });
        let (others, books) = (BTreeMap::new(), self.books.clone());
        let soaker = system.spawn(Soaker {
            route: route as u8,
            me: n,
            others,
            books,
            end: self.end,
            is_waiting: false,
        });
        node.export("soaker", &soaker).unwrap();
        self.hosts[n as usize] = Some(Host { system, node, soaker });
    }

    /// It has not met this life of the other one before.
    fn meet(&self, from: u32, to: u32) {
        let host = self.hosts[from as usize].as_ref().unwrap();
        let limit = Limit::new();
        loop {
            let found = host.node.find::<Soaker>(NodeId(to), "soaker", LIMIT).wait();
            // An earlier life may have answered, or be thought to be there yet.
            let is_there = |found: &RemoteAddress<Soaker>| found.ask((), LIMIT).wait().is_ok();
            match found {
                Ok(found) if is_there(&found) => {
                    return host.soaker.tell(Msg::Met(to, Box::new(found)));
                }
                other => assert!(!limit.is_over(), "{from} to {to}: {other:?}"),
            }
        }
    }

    fn die(&mut self, n: u32) {
        self.network.kill(NodeId(n));
        // Its threads end; nothing that it says is heard.
        if let Some(Host { system, node, soaker }) = self.hosts[n as usize].take() {
            drop((soaker, node));
            system.shutdown(actinium_actor::Shutdown::Drop);
        }
        let mut books = self.books.lock().unwrap();
        for to in (0..NODES).filter(|&to| to != n) {
            let missing = books.missing((n, to)).max(0);
            *books.died.entry((n, to)).or_default() += missing as u64;
        }
        for from in (0..NODES).filter(|&from| from != n) {
            let key = (self.route as u8, from, n);
            let letters = IN_MAILBOXES.lock().unwrap().remove(&key).unwrap_or_default();
            *books.died.entry((from, n)).or_default() += letters;
        }
        drop(books);
        self.start(n);
        for other in (0..NODES).filter(|&other| other != n) {
            self.meet(n, other);
            self.meet(other, n);
        }
    }

    fn wait(&self, is_so: impl Fn(&Books) -> bool) {
        let limit = Limit::new();
        while !is_so(&self.books.lock().unwrap()) {
            assert!(!limit.is_over(), "{:?}", self.books.lock().unwrap());
            for host in self.hosts.iter().flatten() {
                host.soaker.tell(Msg::Look);
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "meanwhile the nodes have the processor"
            )]
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Books {
    /// What was sent since all was quiet last, less what is known of that.
    fn missing(&self, pair: (u32, u32)) -> i64 {
        let of = |book: &BTreeMap<(u32, u32), u64>| book.get(&pair).map_or(0, |&n| n as i64);
        let known = of(&self.received) + of(&self.reported) + of(&self.died);
        of(&self.sent) - known - self.before.get(&pair).copied().unwrap_or_default()
    }

    fn all_is_quiet(&mut self) {
        for pair in pairs() {
            let missing = self.missing(pair);
            *self.before.entry(pair).or_default() += missing;
        }
    }
}

fn pairs() -> impl Iterator<Item = (u32, u32)> {
    (0..NODES).flat_map(|a| (0..NODES).map(move |b| (a, b))).filter(|(a, b)| a != b)
}

#[test]
fn four_real_nodes_that_die_and_are_cut_lose_nothing_in_silence() {
    soak(Route::Direct);
}

#[test]
fn four_real_nodes_of_a_square_that_die_and_are_cut_lose_nothing_in_silence() {
    soak(Route::Square);
}

fn soak(route: Route) {
    let of_each = messages("ACTINIUM_SOAK_REAL_MESSAGES", 200_000) / u64::from(NODES * (NODES - 1));
    let (network, books) = (Network::new(), Arc::default());
    let hosts = (0..NODES).map(|_| None).collect();
    let mut real = Real { route, network, books, hosts, end: 0 };
    (0..NODES).for_each(|n| real.start(n));
    pairs().for_each(|(from, to)| real.meet(from, to));
    let mut random = fastrand::Rng::with_seed(1);
    let parts = (of_each / 100_000).clamp(4, 100);
    for part in 1..=parts {
        let end = of_each * part / parts;
        real.end = end;
        real.hosts.iter().flatten().for_each(|host| host.soaker.tell(Msg::End(end)));
        // In the middle of it.
        let first = pairs().next().unwrap();
        let half = of_each * (2 * part - 1) / (2 * parts);
        real.wait(|books| books.sent.get(&first).is_some_and(|&sent| sent >= half));
        let (a, b) = (random.u32(..NODES), random.u32(..NODES));
        if part % 3 == 0 {
            real.die(a);
        } else {
            real.network.cut(NodeId(a), NodeId(b));
            #[expect(clippy::disallowed_methods, reason = "nothing is expected of the time")]
            std::thread::sleep(Duration::from_millis(random.u64(1..50)));
            real.network.heal(NodeId(a), NodeId(b));
        }
        real.wait(|books| pairs().all(|it| books.sent.get(&it).is_some_and(|&sent| sent >= end)));
        real.wait(|books| pairs().all(|pair| books.missing(pair) <= 0));
        real.books.lock().unwrap().all_is_quiet();
    }
    let books = real.books.lock().unwrap();
    assert!(books.wrong.is_empty(), "{:?}", books.wrong);
    let sum = |of: &BTreeMap<(u32, u32), u64>| of.values().sum::<u64>();
    assert_eq!(sum(&books.sent), of_each * u64::from(NODES * (NODES - 1)));
    println!(
        "{route}: sent {}, received {}, reported at the end of sessions {}, gone with nodes that died {}",
        sum(&books.sent),
        sum(&books.received),
        sum(&books.reported),
        sum(&books.died),
    );
}
