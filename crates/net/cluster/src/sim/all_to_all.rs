//! All nodes send to all others, each message to one that the seed draws: frames, routes, workers
//! and links in virtual time.
//!
//! Each node has a worker, which sends, hands on and handles messages. After a round of them, or
//! when there are none, it moves frames, as the workers of the runtime do: it takes some that have
//! arrived, and then sends all that are to leave. Each frame costs the worker at either end the
//! same, also one that only acknowledges. Links give credit, acknowledge and resend by the numbers
//! of [`LinkConfig`]: at most a window of frames is under way to a node that has not handled them.
//! Handled frames are acknowledged by the next frame that goes there, or by a frame of their own
//! when they are a quarter of a window or the time for it has come. A frame that is lost comes when
//! it is sent again, and those behind it wait. Workers have a CPU each, or share some. Not
//! modelled: refused senders (what waits, waits), several workers, and the node's thread, which
//! sleeps while its worker does not.

use super::Links;
use super::cpus::{Begun, Cpus, SharedCpus};
use super::termination::{self, Idle};
use crate::aggregator::AggregatorConfig;
use crate::flush::{FlushPolicy, FlushReason};
use crate::link::{HEADER_BYTES, LinkConfig};
use crate::route::{Route, Router};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// The settings of a simulation in which all nodes send to all.
#[derive(Clone, Debug)]
pub struct AllToAll {
    /// The number of nodes: at least 2.
    pub nodes: u32,
    /// The route of the messages.
    pub route: Route,
    /// The number of messages that each node sends.
    pub messages: u32,
    /// The number of messages that each node sends per second, evenly but for chance; 0: all at
    /// once.
    pub rate_per_s: u64,
    /// The number of a node's messages that may be without an answer. Who handles one answers it,
    /// and the answer brings the next; receivers are drawn from all nodes, the own one included;
    /// `rate_per_s` does not count. 0: nothing is answered, and a node sends to others only.
    pub in_flight: u32,
    /// The bytes of a message itself, without its head.
    pub message_bytes: u32,
    /// The settings by which messages are aggregated into frames.
    pub aggregator: AggregatorConfig,
    /// The costs of links and nodes.
    pub links: Links,
    /// The settings of links: of the window and of times. They resend, whatever is set.
    pub link: LinkConfig,
    /// The chance that a frame is lost.
    pub loss: f64,
    /// The CPUs of the workers.
    pub cpus: SharedCpus,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// The figures of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of messages that were handled: all.
    pub delivered: u64,
    /// The time until the last message was handled.
    pub elapsed_ns: u64,
    /// The mean time from a message's sending until it was handled.
    pub latency_mean_ns: u64,
    /// The time within which 99 of 100 messages were handled.
    pub latency_p99_ns: u64,
    /// The number of frames that were sent.
    pub frames: u64,
    /// The number of these that left because they were full.
    pub full: u64,
    /// The number that left because nothing held them.
    pub free: u64,
    /// The number that left because a worker had nothing else to do.
    pub idle: u64,
    /// The number that left because they were due.
    pub due: u64,
    /// The number of messages in all frames; a message counts once per hop.
    pub hops: u64,
    /// The number of destinations that a node aggregates for, on average over nodes.
    pub destinations_mean: f64,
    /// The largest number of destinations of a node.
    pub destinations_max: u64,
    /// The number of frames that only acknowledge.
    pub acknowledgements: u64,
    /// The number of frames that were lost and sent again.
    pub resent: u64,
    /// The number of times that a destination had something to leave and no credit.
    pub no_credit: u64,
    /// The rounds of the four-counter method, from the first message to the end.
    pub rounds: u64,
    /// The time from the last message until all nodes know that it was the last.
    pub termination_ns: u64,
    /// The largest memory for open frames of a node at one time, on average over nodes.
    pub frame_bytes_mean: u64,
    /// The same of the node with most.
    pub frame_bytes_max: u64,
}

impl Figures {
    /// The messages handled per second.
    #[must_use]
    pub fn messages_per_s(&self) -> f64 {
        per(self.delivered, self.elapsed_ns) * 1e9
    }

    /// The messages in a frame, on average.
    #[must_use]
    pub fn messages_per_frame(&self) -> f64 {
        per(self.hops, self.frames)
    }

    /// The nodes that a message reaches after its first, on average.
    #[must_use]
    pub fn hops_per_message(&self) -> f64 {
        per(self.hops, self.delivered)
    }
}

fn per(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}

#[derive(Clone, Copy)]
struct Message {
    from: u32,
    to: u32,
    is_answer: bool,
    sent_ns: u64,
    /// It is the last one of a frame of this node.
    ends_frame_of: Option<u32>,
}

/// What goes from node to node.
struct Wire {
    from: u32,
    messages: Vec<Message>,
    /// The number of frames that the sender has handled since it last said so.
    handled: u32,
}

/// The bytes before a message in a frame: kind, length, and the place and generation of the
/// receiver.
const MESSAGE_HEAD_BYTES: usize = 13;

struct Frame {
    messages: Vec<Message>,
    first_ns: u64,
}

/// The aggregator of one destination.
#[derive(Default)]
struct Destination {
    open: Option<Frame>,
    full: VecDeque<Frame>,
    policy: FlushPolicy,
    is_idle: bool,
    is_listed: bool,
    /// Whether this node has messages for it, and not only acknowledgements.
    aggregates: bool,
    /// The frames that were sent there, and are not known to be handled.
    under_way: u32,
    /// The time at which the last frame arrives there.
    arrives_ns: u64,
    /// The frames of that node that were handled, and that it does not know of.
    owed: u32,
    /// Whether a time was set at which it is told.
    is_due: bool,
}

#[derive(Default)]
struct Node {
    sent: u64,
    received: u64,
    /// When it was idle.
    idles: Vec<Idle>,
    is_idle: bool,
    /// Those that are to be told now what was handled.
    acknowledges: VecDeque<u32>,
    unsent: u32,
    work: VecDeque<Message>,
    inbox: VecDeque<Wire>,
    is_busy: bool,
    does: Does,
    wakes_ns: Option<u64>,
    destinations: BTreeMap<u32, Destination>,
    /// Destinations for which something waits.
    listed: VecDeque<u32>,
    frames: u64,
    frames_max: u64,
}

/// What a node's worker does at the moment.
#[derive(Clone, Copy)]
enum Does {
    /// Messages: so many more of this round.
    Messages(u32),
    /// It takes so many frames more, and then sends.
    Frames(u32),
}

impl Default for Does {
    fn default() -> Self {
        Does::Messages(ROUND)
    }
}

/// Messages of a round of a worker, after which it moves frames.
const ROUND: u32 = 64;
/// The number of frames that it then takes at most.
const FRAMES: u32 = 16;

impl Node {
    fn send(&mut self, from: u32, to: u32, is_answer: bool, sent_ns: u64) {
        self.sent += 1;
        self.work.push_back(Message { from, to, is_answer, sent_ns, ends_frame_of: None });
    }

    /// Nothing that is held gets more messages soon.
    fn has_run_out_of_work(&mut self) {
        for next in &self.listed {
            if let Some(destination) = self.destinations.get_mut(next) {
                destination.is_idle = true;
            }
        }
    }
}

enum Step {
    Send,
    /// The worker is done with a message.
    Worked(Message),
    /// It is done with a frame that has arrived, or that it has sent.
    Received(Wire),
    Sent,
    /// A frame is due.
    Wake,
    Arrive(Wire),
    /// What was handled of that node's frames is to be acknowledged.
    Due(u32),
}

/// What a worker does next, when it has a CPU.
enum Task {
    Work(Message),
    Receive(Wire),
    Transmit { to: u32, messages: Vec<Message> },
}

struct World<'a> {
    settings: &'a AllToAll,
    cpus: Cpus<Task>,
    router: Router,
    random: fastrand::Rng,
    nodes: Vec<Node>,
    /// The plan: for each step its time, its number (a key of `steps`), and its node.
    agenda: BinaryHeap<Reverse<(u64, u64, u32)>>,
    steps: BTreeMap<u64, Step>,
    planned: u64,
    latencies_ns: Vec<u64>,
    figures: Figures,
}

/// Runs the simulation.
pub fn all_to_all(settings: &AllToAll) -> Figures {
    let mut world = World {
        settings,
        cpus: Cpus::new(settings.cpus),
        router: settings.route.router(settings.nodes),
        random: fastrand::Rng::with_seed(settings.seed),
        nodes: (0..settings.nodes)
            .map(|_| Node { unsent: settings.messages, ..Node::default() })
            .collect(),
        agenda: BinaryHeap::new(),
        steps: BTreeMap::new(),
        planned: 0,
        latencies_ns: Vec::new(),
        figures: Figures::default(),
    };
    if settings.nodes >= 2 && settings.messages > 0 {
        for at in 0..settings.nodes {
            // Without answers, each send plans the next.
            for _ in 0..settings.in_flight.clamp(1, settings.messages) {
                let first_ns = world.pause_ns();
                world.plan(first_ns, at, Step::Send);
            }
        }
    }
    while let Some(Reverse((now_ns, number, at))) = world.agenda.pop() {
        if let Some(step) = world.steps.remove(&number) {
            world.step(now_ns, at, step);
        }
    }
    world.finish()
}

impl World<'_> {
    fn plan(&mut self, at_ns: u64, node: u32, step: Step) {
        self.planned += 1;
        self.steps.insert(self.planned, step);
        self.agenda.push(Reverse((at_ns, self.planned, node)));
    }

    /// Draws the time until a node's next message.
    fn pause_ns(&mut self) -> u64 {
        match self.settings.rate_per_s {
            0 => 0,
            _ if self.settings.in_flight > 0 => 0,
            rate => {
                let mean_ns = 1_000_000_000 / rate.max(1);
                self.random.u64(mean_ns / 2..=mean_ns / 2 + mean_ns)
            }
        }
    }

    fn step(&mut self, now_ns: u64, at: u32, step: Step) {
        self.do_step(now_ns, at, step);
        self.go_on(now_ns, at);
        if !self.nodes[at as usize].is_busy {
            let begun = self.cpus.leave(now_ns, at);
            self.begin(begun);
        }
        self.note_idle(now_ns, at);
    }

    /// Lets the worker do the next thing, if it is free and there is one.
    fn go_on(&mut self, now_ns: u64, at: u32) {
        if self.nodes[at as usize].is_busy {
            return;
        }
        if let Some(task) = self.next(now_ns, at) {
            self.nodes[at as usize].is_busy = true;
            let begun = self.cpus.ask(now_ns, at, task);
            self.begin(begun);
        }
    }

    /// What the worker of a node does next. None: it has nothing to do.
    fn next(&mut self, now_ns: u64, at: u32) -> Option<Task> {
        let node = &mut self.nodes[at as usize];
        if let Does::Messages(left) = node.does {
            if left > 0
                && let Some(message) = node.work.pop_front()
            {
                node.does = Does::Messages(left - 1);
                return Some(Task::Work(message));
            }
            node.does = Does::Frames(FRAMES);
            if node.work.is_empty() {
                node.has_run_out_of_work();
            }
        }
        if let Does::Frames(left @ 1..) = node.does
            && let Some(wire) = node.inbox.pop_front()
        {
            node.does = Does::Frames(left - 1);
            return Some(Task::Receive(wire));
        }
        if let Some(task) = self.next_to_leave(now_ns, at) {
            return Some(task);
        }
        let node = &mut self.nodes[at as usize];
        node.does = Does::default();
        node.work.pop_front().map(Task::Work)
    }

    fn begin(&mut self, begun: Option<Begun<Task>>) {
        let Some(Begun { node: at, task, at_ns }) = begun else { return };
        let links = self.settings.links;
        let (ns, step) = match task {
            Task::Work(message) => (links.message_ns, Step::Worked(message)),
            Task::Receive(wire) => (links.end_ns(), Step::Received(wire)),
            Task::Transmit { to, messages } => return self.transmit(at_ns, at, to, messages),
        };
        self.plan(at_ns + ns, at, step);
    }

    fn do_step(&mut self, now_ns: u64, at: u32, step: Step) {
        let node = &mut self.nodes[at as usize];
        match step {
            Step::Send => self.send(now_ns, at),
            Step::Worked(message) => {
                node.is_busy = false;
                self.worked(now_ns, at, message);
            }
            Step::Received(wire) => {
                node.is_busy = false;
                node.work.extend(wire.messages);
                let back = node.destinations.entry(wire.from).or_default();
                back.under_way = back.under_way.saturating_sub(wire.handled);
            }
            Step::Sent => node.is_busy = false,
            Step::Wake => node.wakes_ns = None,
            Step::Arrive(wire) => node.inbox.push_back(wire),
            Step::Due(to) => {
                if let Some(destination) = node.destinations.get_mut(&to) {
                    destination.is_due = false;
                    node.acknowledges.push_back(to);
                }
            }
        }
    }

    fn send(&mut self, now_ns: u64, at: u32) {
        let (nodes, is_answered) = (self.settings.nodes, self.settings.in_flight > 0);
        let to = if is_answered {
            self.random.u32(..nodes)
        } else {
            // Any but itself.
            let draw = self.random.u32(..nodes - 1);
            draw + u32::from(draw >= at)
        };
        let pause_ns = self.pause_ns();
        let node = &mut self.nodes[at as usize];
        node.unsent -= 1;
        node.send(at, to, false, now_ns);
        if node.unsent > 0 && !is_answered {
            self.plan(now_ns + pause_ns, at, Step::Send);
        }
    }

    /// A message has been handled: it is answered, or its answer brings the next.
    fn answer(&mut self, now_ns: u64, at: u32, handled: Message) {
        let node = &mut self.nodes[at as usize];
        if !handled.is_answer {
            node.send(at, handled.from, true, now_ns);
        } else if node.unsent > 0 {
            self.send(now_ns, at);
        }
    }

    fn worked(&mut self, now_ns: u64, at: u32, message: Message) {
        if let Some(from) = message.ends_frame_of {
            self.handled(now_ns, at, from);
        }
        if message.to == at {
            self.nodes[at as usize].received += 1;
            self.figures.elapsed_ns = now_ns;
            self.latencies_ns.push(now_ns - message.sent_ns);
            if self.settings.in_flight > 0 {
                self.answer(now_ns, at, message);
            }
        } else {
            self.aggregator(now_ns, at, message);
        }
    }

    /// A worker has handled a frame of that node: it is told at once if that is much, else later.
    fn handled(&mut self, now_ns: u64, at: u32, from: u32) {
        let link = &self.settings.link;
        let (window, due_ns) = (link.window_frames, now_ns + link.acknowledge_ns);
        let node = &mut self.nodes[at as usize];
        let back = node.destinations.entry(from).or_default();
        back.owed += 1;
        if back.owed >= (window / 4).max(1) {
            node.acknowledges.push_back(from);
        } else if !std::mem::replace(&mut back.is_due, true) {
            self.plan(due_ns, at, Step::Due(from));
        }
    }

    /// Notes whether the node is idle from now on: whether it would take part in a round.
    fn note_idle(&mut self, now_ns: u64, at: u32) {
        let node = &mut self.nodes[at as usize];
        let is_idle = !node.is_busy && node.work.is_empty() && node.unsent == 0;
        if is_idle == std::mem::replace(&mut node.is_idle, is_idle) {
            return;
        }
        let (sent, received) = (node.sent, node.received);
        match node.idles.last_mut() {
            _ if is_idle => {
                node.idles.push(Idle { from_ns: now_ns, until_ns: u64::MAX, sent, received });
            }
            Some(idle) => idle.until_ns = now_ns,
            None => {}
        }
    }

    fn aggregator(&mut self, now_ns: u64, at: u32, mut message: Message) {
        message.ends_frame_of = None;
        let next = self.router.next(at, message.to);
        let node = &mut self.nodes[at as usize];
        let destination = node.destinations.entry(next).or_default();
        destination.aggregates = true;
        if !destination.is_listed {
            destination.is_listed = true;
            node.listed.push_back(next);
        }
        let open = destination.open.get_or_insert_with(|| {
            destination.is_idle = false;
            node.frames += 1;
            node.frames_max = node.frames_max.max(node.frames);
            Frame { messages: Vec::new(), first_ns: now_ns }
        });
        open.messages.push(message);
        if frame_bytes(self.settings, open.messages.len()) >= self.settings.aggregator.frame_bytes {
            destination.full.extend(destination.open.take());
        }
    }

    /// The next frame that leaves now, with messages or with an acknowledgement only. If there is
    /// none, the time is planned at which one is due.
    fn next_to_leave(&mut self, now_ns: u64, at: u32) -> Option<Task> {
        let (taken, due_ns) = self.next_frame(now_ns, at);
        if let Some((to, frame)) = taken {
            return Some(Task::Transmit { to, messages: frame.messages });
        }
        let node = &mut self.nodes[at as usize];
        while let Some(to) = node.acknowledges.pop_front() {
            // A frame may have said it meanwhile.
            if node.destinations.get(&to).is_some_and(|destination| destination.owed > 0) {
                self.figures.acknowledgements += 1;
                return Some(Task::Transmit { to, messages: Vec::new() });
            }
        }
        if due_ns != u64::MAX && node.wakes_ns.is_none_or(|wakes_ns| wakes_ns > due_ns) {
            node.wakes_ns = Some(due_ns);
            self.plan(due_ns.max(now_ns), at, Step::Wake);
        }
        None
    }

    /// Takes the next frame that may leave, with its destination; and the time at which one that is
    /// held is due.
    fn next_frame(&mut self, now_ns: u64, at: u32) -> (Option<(u32, Frame)>, u64) {
        let (settings, node) = (self.settings, &mut self.nodes[at as usize]);
        let mut due_ns = u64::MAX;
        for _ in 0..node.listed.len() {
            let Some(next) = node.listed.pop_front() else { break };
            let Some(destination) = node.destinations.get_mut(&next) else { continue };
            if destination.under_way >= settings.link.window_frames {
                // What comes back from there lets it go on.
                self.figures.no_credit += 1;
                node.listed.push_back(next);
                continue;
            }
            let taken = take(destination, now_ns, settings, &mut self.figures);
            destination.is_listed = destination.open.is_some() || !destination.full.is_empty();
            if destination.is_listed {
                node.listed.push_back(next);
            }
            let Some(frame) = taken else {
                let first_ns = destination.open.as_ref().map_or(now_ns, |open| open.first_ns);
                due_ns = due_ns.min(first_ns + settings.aggregator.hold_ns);
                continue;
            };
            destination.under_way += 1;
            node.frames -= 1;
            return (Some((next, frame)), due_ns);
        }
        (None, due_ns)
    }

    /// Sends a frame, and with it what the other node is to know of its own.
    fn transmit(&mut self, now_ns: u64, at: u32, next: u32, mut messages: Vec<Message>) {
        let (settings, links) = (self.settings, &self.settings.links);
        let node = &mut self.nodes[at as usize];
        let bytes = frame_bytes(settings, messages.len()) as u64;
        let wire_ns = bytes * links.gap_per_kib_ns / 1_024;
        let mut arrives_ns = now_ns + links.end_ns() + wire_ns + links.latency_ns;
        let free_ns = now_ns + links.between_ns(wire_ns);
        if settings.loss > 0.0 {
            // Each time that it is lost, it is sent again after a while.
            while self.random.f64() < settings.loss {
                self.figures.resent += 1;
                arrives_ns += settings.link.resend_ns;
            }
        }
        let destination = node.destinations.entry(next).or_default();
        // The other node hands frames over in order.
        arrives_ns = arrives_ns.max(destination.arrives_ns);
        destination.arrives_ns = arrives_ns;
        let handled = std::mem::take(&mut destination.owed);
        if let Some(last) = messages.last_mut() {
            last.ends_frame_of = Some(at);
        }
        self.plan(arrives_ns, next, Step::Arrive(Wire { from: at, messages, handled }));
        self.plan(free_ns, at, Step::Sent);
    }

    fn finish(mut self) -> Figures {
        let idles: Vec<_> = self.nodes.iter().map(|node| node.idles.clone()).collect();
        let nodes = self.nodes.len().max(1) as u64;
        let figures = &mut self.figures;
        if !self.latencies_ns.is_empty() {
            let ended = termination::rounds(&idles, &self.settings.links);
            figures.rounds = ended.rounds;
            figures.termination_ns = ended.known_ns.saturating_sub(figures.elapsed_ns);
        }
        self.latencies_ns.sort_unstable();
        figures.delivered = self.latencies_ns.len() as u64;
        let sum_ns: u128 = self.latencies_ns.iter().map(|&ns| u128::from(ns)).sum();
        let count = u128::from(figures.delivered.max(1));
        figures.latency_mean_ns = u64::try_from(sum_ns / count).unwrap_or(u64::MAX);
        let place = (self.latencies_ns.len() * 99).div_ceil(100).saturating_sub(1);
        figures.latency_p99_ns = self.latencies_ns.get(place).copied().unwrap_or_default();
        let destinations = self
            .nodes
            .iter()
            .map(|node| node.destinations.values().filter(|it| it.aggregates).count() as u64);
        figures.destinations_max = destinations.clone().max().unwrap_or_default();
        figures.destinations_mean = destinations.sum::<u64>() as f64 / nodes as f64;
        let frame_bytes = self.settings.aggregator.frame_bytes as u64;
        let bytes = self.nodes.iter().map(|node| node.frames_max * frame_bytes);
        figures.frame_bytes_max = bytes.clone().max().unwrap_or_default();
        figures.frame_bytes_mean = bytes.sum::<u64>() / nodes;
        self.figures
    }
}

fn frame_bytes(settings: &AllToAll, messages: usize) -> usize {
    HEADER_BYTES + messages * (MESSAGE_HEAD_BYTES + settings.message_bytes as usize)
}

/// Takes the next frame of a destination that may leave, as `Aggregator::take` does.
fn take(
    destination: &mut Destination,
    now_ns: u64,
    settings: &AllToAll,
    figures: &mut Figures,
) -> Option<Frame> {
    let AggregatorConfig { hold_ns, frame_bytes: full_bytes, .. } = settings.aggregator;
    let frame = if let Some(full) = destination.full.pop_front() {
        figures.full += 1;
        full
    } else {
        let first_ns = destination.open.as_ref()?.first_ns;
        match destination.policy.leaves(
            now_ns,
            first_ns,
            destination.is_idle,
            hold_ns,
            full_bytes,
        )? {
            FlushReason::Free => figures.free += 1,
            FlushReason::Due => figures.due += 1,
            FlushReason::Idle => figures.idle += 1,
        }
        destination.open.take()?
    };
    figures.frames += 1;
    figures.hops += frame.messages.len() as u64;
    let messages = frame.messages.len();
    destination.policy.left(now_ns, messages as u32, frame_bytes(settings, messages), hold_ns);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(nodes: u32, messages: u32) -> AllToAll {
        AllToAll {
            nodes,
            route: Route::Direct,
            messages,
            rate_per_s: 0,
            in_flight: 0,
            message_bytes: 64,
            aggregator: AggregatorConfig::default(),
            links: Links::default(),
            link: LinkConfig::default(),
            loss: 0.0,
            cpus: SharedCpus::default(),
            seed: 1,
        }
    }

    fn of(nodes: u32, route: Route, messages: u32, rate_per_s: u64) -> Figures {
        all_to_all(&AllToAll { route, rate_per_s, ..settings(nodes, messages) })
    }

    #[test]
    fn a_small_window_stops_senders_and_all_arrives() {
        let with = |window_frames| {
            let link = LinkConfig { window_frames, ..LinkConfig::default() };
            all_to_all(&AllToAll { link, ..settings(2, 20_000) })
        };
        let (small, large) = (with(2), with(4_096));
        assert_eq!((small.delivered, large.delivered), (40_000, 40_000));
        assert_eq!(large.no_credit, 0);
        assert!(small.no_credit > 0 && small.elapsed_ns >= large.elapsed_ns, "{small:?} {large:?}");
        assert!(small.acknowledgements > 0);
    }

    #[test]
    fn lost_frames_come_later_and_all_arrives() {
        let lossy = all_to_all(&AllToAll { loss: 0.1, ..settings(8, 1_000) });
        let clean = all_to_all(&settings(8, 1_000));
        assert_eq!((lossy.delivered, clean.resent), (8_000, 0));
        assert!(lossy.resent > 0);
        let later_ns = LinkConfig::default().resend_ns;
        assert!(lossy.elapsed_ns > clean.elapsed_ns + later_ns / 2, "{lossy:?} {clean:?}");
    }

    #[test]
    fn the_end_is_known_after_the_last_message() {
        for nodes in [2, 30] {
            let figures = all_to_all(&settings(nodes, 200));
            let round_ns = super::super::all_reduce_ns(nodes, &Links::default());
            assert!(figures.rounds >= 2, "{figures:?}");
            assert!(figures.termination_ns > 0 && figures.termination_ns <= 3 * round_ns);
        }
    }

    #[test]
    fn each_message_is_answered_and_more_in_flight_fill_frames() {
        let of = |in_flight| all_to_all(&AllToAll { in_flight, ..settings(4, 1_000) });
        let (one, many) = (of(1), of(100));
        assert_eq!((one.delivered, many.delivered), (8_000, 8_000), "messages and answers");
        assert!(many.elapsed_ns * 4 < one.elapsed_ns, "{many:?} {one:?}");
        let filled = (one.messages_per_frame(), many.messages_per_frame());
        assert!(filled.0 < 2.0 && filled.1 > 4.0, "{one:?} {many:?}");
        // A quarter of them stays at home.
        let share = many.hops as f64 / many.delivered as f64;
        assert!((share - 0.75).abs() < 0.05, "{share}");
        // More than there are.
        assert_eq!(all_to_all(&AllToAll { in_flight: 9, ..settings(2, 3) }).delivered, 12);
    }

    #[test]
    fn nodes_that_share_cpus_take_as_long_as_their_work_on_these() {
        let of = |count| {
            let costs = Links { message_ns: 1_000, ..Links::default() };
            let cpus = SharedCpus { count, switch_ns: 0, ..SharedCpus::default() };
            all_to_all(&AllToAll { cpus, links: costs, in_flight: 50, ..settings(8, 2_000) })
        };
        let (own, as_many, two, one) = (of(0), of(8), of(2), of(1));
        assert_eq!(own, as_many, "a CPU for each worker");
        assert_eq!((two.delivered, one.delivered), (32_000, 32_000));
        // Each message is handled at least once, and mostly handed on before.
        assert!(one.elapsed_ns > 50_000_000, "{one:?}");
        let (slower, twice) = (two.elapsed_ns / own.elapsed_ns, one.elapsed_ns / two.elapsed_ns);
        assert!(slower >= 3, "{own:?} {two:?}");
        assert!((1..=2).contains(&twice), "{two:?} {one:?}");
        // Changes cost time; and who keeps a CPU for longer sends fuller frames.
        let of = |slice_ns, switch_ns| {
            let cpus = SharedCpus { count: 2, slice_ns, switch_ns };
            all_to_all(&AllToAll { cpus, in_flight: 400, ..settings(4, 20_000) })
        };
        let (short, long) = (of(1_000, 2_000), of(1_000_000, 2_000));
        assert!(short.elapsed_ns > of(1_000, 0).elapsed_ns, "{short:?}");
        assert!(short.messages_per_frame() < long.messages_per_frame(), "{short:?} {long:?}");
    }

    #[test]
    fn a_frame_keeps_the_worker_busy_at_both_ends() {
        let costs = Links { frame_ns: 20_000, ..Links::default() };
        let aggregator = AggregatorConfig { frame_bytes: 256, ..AggregatorConfig::default() };
        let figures = all_to_all(&AllToAll { links: costs, aggregator, ..settings(2, 2_000) });
        // Each of two nodes sends half of the frames and receives the other half.
        let busy_ns = figures.frames * costs.frame_ns;
        assert!((busy_ns..busy_ns * 5 / 4).contains(&figures.elapsed_ns), "{figures:?}");
    }

    #[test]
    fn a_single_message_takes_what_its_parts_cost() {
        let links = Links::default();
        let figures = of(2, Route::Direct, 1, 1);
        let bytes = (HEADER_BYTES + MESSAGE_HEAD_BYTES + 64) as u64;
        // Sent and handled by a worker, alone and in a frame; on the wire, under way.
        let ns = 2 * (links.message_ns + links.frame_ns + links.overhead_ns)
            + bytes * links.gap_per_kib_ns / 1_024
            + links.latency_ns;
        assert_eq!((figures.latency_mean_ns, figures.latency_p99_ns), (ns, ns));
        assert_eq!((figures.delivered, figures.frames, figures.free), (2, 2, 2));
    }

    #[test]
    fn all_arrives_by_any_route_and_one_seed_gives_one_run() {
        for route in Route::ALL {
            let figures = of(30, route, 200, 0);
            assert_eq!(figures.delivered, 30 * 200, "{route}");
            assert!(figures.hops >= figures.delivered);
            let frames = figures.full + figures.free + figures.idle + figures.due;
            assert_eq!(frames, figures.frames);
            assert_eq!(figures, of(30, route, 200, 0));
        }
        assert_eq!(of(1, Route::Direct, 5, 0), Figures::default());
    }

    /// The purpose of grids: where all send to all and no pair has much to say, frames by the
    /// direct route are nearly empty.
    #[test]
    fn a_grid_fills_frames_and_has_fewer_destinations_and_more_hops() {
        let [direct, square, cube] = Route::ALL.map(|route| of(343, route, 200, 0));
        let filled = [&direct, &square, &cube].map(Figures::messages_per_frame);
        assert!(filled.is_sorted_by(|one, next| one < next), "{filled:?}");
        assert!(direct.destinations_max > 4 * square.destinations_max);
        assert!(square.destinations_max > cube.destinations_max);
        assert!(direct.hops < square.hops && square.hops < cube.hops);
        assert!(direct.elapsed_ns > square.elapsed_ns);
        // And what they cost: a message that has the road to itself.
        let [direct, square, cube] = Route::ALL.map(|route| of(343, route, 5, 100));
        assert!(direct.latency_mean_ns < square.latency_mean_ns);
        assert!(square.latency_mean_ns < cube.latency_mean_ns);
    }
}
