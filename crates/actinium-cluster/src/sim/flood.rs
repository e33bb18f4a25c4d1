//! All nodes send to all others, each message to one that the seed draws: frames, routes, threads and links in virtual time.
//!
//! Each node has a worker, which sends, hands on and handles messages, and a thread, which takes frames that have arrived before it looks for one that is to leave, as
//! the driver of the runtime does. Not modelled: credit and acknowledgements, refused senders (what waits, waits), losses, and several workers.

use super::Links;
use crate::gather::GatherConfig;
use crate::link::HEADER_BYTES;
use crate::pace::{Pace, Why};
use crate::route::{Route, Router};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Flood {
    /// Nodes: at least 2.
    pub nodes: u32,
    /// How messages go.
    pub route: Route,
    /// Messages that each node sends.
    pub messages: u32,
    /// How many each sends in a second, evenly but for chance; 0: all at once.
    pub rate_per_s: u64,
    /// A message's own bytes.
    pub message_bytes: u32,
    /// How they gather.
    pub gather: GatherConfig,
    /// What things cost.
    pub links: Links,
    /// Of all chance.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Figures {
    /// Messages that were handled: all.
    pub delivered: u64,
    /// Until the last was.
    pub elapsed_ns: u64,
    /// From being sent to having been handled.
    pub latency_mean_ns: u64,
    /// Of 100 messages, 99 took no longer.
    pub latency_p99_ns: u64,
    /// Frames that were sent.
    pub frames: u64,
    /// Of these, because they were full.
    pub full: u64,
    /// Because nothing held them.
    pub free: u64,
    /// Because a worker had nothing else to do.
    pub idle: u64,
    /// Because they were due.
    pub due: u64,
    /// Messages in them, those that were handed on included.
    pub hops: u64,
    /// Destinations that a node gathers for, on average over nodes.
    pub destinations_mean: f64,
    /// And at most.
    pub destinations_max: u64,
    /// Memory for frames that were gathered at one time, at most, on average over nodes.
    pub frame_bytes_mean: u64,
    /// And of the node with most.
    pub frame_bytes_max: u64,
}

#[derive(Clone, Copy)]
struct Message {
    to: u32,
    sent_ns: u64,
}

/// Kind, length, place and life of the receiver: what stands before a message in a frame.
const MESSAGE_HEAD_BYTES: usize = 13;

struct Frame {
    messages: Vec<Message>,
    first_ns: u64,
}

/// The gathering place of one destination.
#[derive(Default)]
struct Gathering {
    open: Option<Frame>,
    full: VecDeque<Frame>,
    pace: Pace,
    is_idle: bool,
    is_listed: bool,
}

#[derive(Default)]
struct Node {
    unsent: u32,
    work: VecDeque<Message>,
    worker_is_busy: bool,
    inbox: VecDeque<Vec<Message>>,
    thread_is_busy: bool,
    wakes_ns: Option<u64>,
    gatherings: BTreeMap<u32, Gathering>,
    /// Destinations for which something waits.
    listed: VecDeque<u32>,
    frames: u64,
    frames_max: u64,
}

enum Step {
    Send,
    /// The worker is done with a message.
    Worked(Message),
    /// The thread is done with a frame that has arrived, or that it has sent.
    Received(Vec<Message>),
    Sent,
    /// A frame is due.
    Wake,
    Arrive(Vec<Message>),
}

struct World<'a> {
    flood: &'a Flood,
    router: Router,
    random: fastrand::Rng,
    nodes: Vec<Node>,
    /// When, in which order, where; what is in `steps`.
    agenda: BinaryHeap<Reverse<(u64, u64, u32)>>,
    steps: BTreeMap<u64, Step>,
    planned: u64,
    latencies_ns: Vec<u64>,
    figures: Figures,
}

/// Runs it.
pub fn flood(flood: &Flood) -> Figures {
    let mut world = World {
        flood,
        router: flood.route.router(flood.nodes),
        random: fastrand::Rng::with_seed(flood.seed),
        nodes: (0..flood.nodes)
            .map(|_| Node { unsent: flood.messages, ..Node::default() })
            .collect(),
        agenda: BinaryHeap::new(),
        steps: BTreeMap::new(),
        planned: 0,
        latencies_ns: Vec::new(),
        figures: Figures::default(),
    };
    if flood.nodes >= 2 && flood.messages > 0 {
        for at in 0..flood.nodes {
            let first_ns = world.pause_ns();
            world.plan(first_ns, at, Step::Send);
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

    /// Until a node's next message.
    fn pause_ns(&mut self) -> u64 {
        match self.flood.rate_per_s {
            0 => 0,
            rate => {
                let mean_ns = 1_000_000_000 / rate.max(1);
                self.random.u64(mean_ns / 2..=mean_ns / 2 + mean_ns)
            }
        }
    }

    fn step(&mut self, now_ns: u64, at: u32, step: Step) {
        match step {
            Step::Send => self.send(now_ns, at),
            Step::Worked(message) => self.worked(now_ns, at, message),
            Step::Received(messages) => {
                let node = &mut self.nodes[at as usize];
                node.thread_is_busy = false;
                node.work.extend(messages);
                self.work(now_ns, at);
                self.turn(now_ns, at);
            }
            Step::Sent => {
                self.nodes[at as usize].thread_is_busy = false;
                self.turn(now_ns, at);
            }
            Step::Wake => {
                self.nodes[at as usize].wakes_ns = None;
                self.turn(now_ns, at);
            }
            Step::Arrive(messages) => {
                self.nodes[at as usize].inbox.push_back(messages);
                self.turn(now_ns, at);
            }
        }
    }

    fn send(&mut self, now_ns: u64, at: u32) {
        // Any but itself.
        let draw = self.random.u32(..self.flood.nodes - 1);
        let to = draw + u32::from(draw >= at);
        let pause_ns = self.pause_ns();
        let node = &mut self.nodes[at as usize];
        node.unsent -= 1;
        node.work.push_back(Message { to, sent_ns: now_ns });
        if node.unsent > 0 {
            self.plan(now_ns + pause_ns, at, Step::Send);
        }
        self.work(now_ns, at);
    }

    /// The worker goes on, if it is free and there is work.
    fn work(&mut self, now_ns: u64, at: u32) {
        let node = &mut self.nodes[at as usize];
        if !node.worker_is_busy
            && let Some(message) = node.work.pop_front()
        {
            node.worker_is_busy = true;
            self.plan(now_ns + self.flood.links.message_ns, at, Step::Worked(message));
        }
    }

    fn worked(&mut self, now_ns: u64, at: u32, message: Message) {
        self.nodes[at as usize].worker_is_busy = false;
        if message.to == at {
            self.figures.elapsed_ns = now_ns;
            self.latencies_ns.push(now_ns - message.sent_ns);
        } else {
            self.gather(now_ns, at, message);
        }
        self.work(now_ns, at);
        let node = &mut self.nodes[at as usize];
        if !node.worker_is_busy {
            for next in &node.listed {
                if let Some(gathering) = node.gatherings.get_mut(next) {
                    gathering.is_idle = true;
                }
            }
        }
        self.turn(now_ns, at);
    }

    fn gather(&mut self, now_ns: u64, at: u32, message: Message) {
        let next = self.router.next(at, message.to);
        let node = &mut self.nodes[at as usize];
        let gathering = node.gatherings.entry(next).or_default();
        if !gathering.is_listed {
            gathering.is_listed = true;
            node.listed.push_back(next);
        }
        let open = gathering.open.get_or_insert_with(|| {
            gathering.is_idle = false;
            node.frames += 1;
            node.frames_max = node.frames_max.max(node.frames);
            Frame { messages: Vec::new(), first_ns: now_ns }
        });
        open.messages.push(message);
        if frame_bytes(self.flood, open.messages.len()) >= self.flood.gather.frame_bytes {
            gathering.full.extend(gathering.open.take());
        }
    }

    /// The thread does one thing, if it is free.
    fn turn(&mut self, now_ns: u64, at: u32) {
        let node = &mut self.nodes[at as usize];
        if node.thread_is_busy {
            return;
        }
        let links = &self.flood.links;
        if let Some(messages) = node.inbox.pop_front() {
            node.thread_is_busy = true;
            return self.plan(now_ns + links.overhead_ns, at, Step::Received(messages));
        }
        let mut due_ns = u64::MAX;
        for _ in 0..node.listed.len() {
            let Some(next) = node.listed.pop_front() else { break };
            let Some(gathering) = node.gatherings.get_mut(&next) else { continue };
            let taken = take(gathering, now_ns, self.flood, &mut self.figures);
            gathering.is_listed = gathering.open.is_some() || !gathering.full.is_empty();
            if gathering.is_listed {
                node.listed.push_back(next);
            }
            let Some(frame) = taken else {
                let first_ns = gathering.open.as_ref().map_or(now_ns, |open| open.first_ns);
                due_ns = due_ns.min(first_ns + self.flood.gather.hold_ns);
                continue;
            };
            node.frames -= 1;
            node.thread_is_busy = true;
            let bytes = frame_bytes(self.flood, frame.messages.len()) as u64;
            let wire_ns = bytes * links.gap_per_kib_ns / 1_024;
            let arrives_ns = now_ns + links.overhead_ns + wire_ns + links.latency_ns;
            let free_ns = now_ns + links.overhead_ns.max(links.gap_ns + wire_ns);
            self.plan(arrives_ns, next, Step::Arrive(frame.messages));
            return self.plan(free_ns, at, Step::Sent);
        }
        if due_ns != u64::MAX && node.wakes_ns.is_none_or(|wakes_ns| wakes_ns > due_ns) {
            node.wakes_ns = Some(due_ns);
            self.plan(due_ns.max(now_ns), at, Step::Wake);
        }
    }

    fn finish(mut self) -> Figures {
        let nodes = self.nodes.len().max(1) as u64;
        let figures = &mut self.figures;
        self.latencies_ns.sort_unstable();
        figures.delivered = self.latencies_ns.len() as u64;
        let sum_ns: u128 = self.latencies_ns.iter().map(|&ns| u128::from(ns)).sum();
        let count = u128::from(figures.delivered.max(1));
        figures.latency_mean_ns = u64::try_from(sum_ns / count).unwrap_or(u64::MAX);
        let place = (self.latencies_ns.len() * 99).div_ceil(100).saturating_sub(1);
        figures.latency_p99_ns = self.latencies_ns.get(place).copied().unwrap_or_default();
        let destinations = self.nodes.iter().map(|node| node.gatherings.len() as u64);
        figures.destinations_max = destinations.clone().max().unwrap_or_default();
        figures.destinations_mean = destinations.sum::<u64>() as f64 / nodes as f64;
        let frame_bytes = self.flood.gather.frame_bytes as u64;
        let bytes = self.nodes.iter().map(|node| node.frames_max * frame_bytes);
        figures.frame_bytes_max = bytes.clone().max().unwrap_or_default();
        figures.frame_bytes_mean = bytes.sum::<u64>() / nodes;
        self.figures
    }
}

fn frame_bytes(flood: &Flood, messages: usize) -> usize {
    HEADER_BYTES + messages * (MESSAGE_HEAD_BYTES + flood.message_bytes as usize)
}

/// As `Gather::take`.
fn take(
    gathering: &mut Gathering,
    now_ns: u64,
    flood: &Flood,
    figures: &mut Figures,
) -> Option<Frame> {
    let GatherConfig { hold_ns, frame_bytes: full_bytes, .. } = flood.gather;
    let frame = if let Some(full) = gathering.full.pop_front() {
        figures.full += 1;
        full
    } else {
        let first_ns = gathering.open.as_ref()?.first_ns;
        match gathering.pace.leaves(now_ns, first_ns, gathering.is_idle, hold_ns, full_bytes)? {
            Why::Free => figures.free += 1,
            Why::Due => figures.due += 1,
            Why::Idle => figures.idle += 1,
        }
        gathering.open.take()?
    };
    figures.frames += 1;
    figures.hops += frame.messages.len() as u64;
    let messages = frame.messages.len();
    gathering.pace.left(now_ns, messages as u32, frame_bytes(flood, messages), hold_ns);
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nodes: u32, route: Route, messages: u32, rate_per_s: u64) -> Figures {
        let (gather, links) = (GatherConfig::default(), Links::default());
        flood(&Flood {
            nodes,
            route,
            messages,
            rate_per_s,
            message_bytes: 64,
            gather,
            links,
            seed: 1,
        })
    }

    #[test]
    fn a_single_message_takes_what_its_parts_cost() {
        let links = Links::default();
        let figures = of(2, Route::Direct, 1, 1);
        let bytes = (HEADER_BYTES + MESSAGE_HEAD_BYTES + 64) as u64;
        // Sent and handled by a worker, sent and received by a thread, on the wire, under way.
        let ns = 2 * links.message_ns
            + 2 * links.overhead_ns
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

    /// What routes are for: where all send to all and no pair has much to say, straight frames are nearly empty.
    #[test]
    fn a_grid_fills_frames_and_has_fewer_destinations_and_more_hops() {
        let [direct, square, cube] = Route::ALL.map(|route| of(343, route, 200, 0));
        let filled = |figures: &Figures| figures.hops as f64 / figures.frames as f64;
        assert!(filled(&direct) < filled(&square) && filled(&square) < filled(&cube));
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
