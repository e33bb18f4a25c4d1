//! A graph whose output is text, and the nodes that run it.

use actinium_actor::{Shutdown, System};
use actinium_cluster::fabric::NodeId;
use actinium_cluster::fabric::in_process::{InProcess, Network};
use actinium_cluster::job::JobError;
use actinium_cluster::link::LinkConfig;
use actinium_cluster::{Node, NodeConfig};
use actinium_events::data::SourceExt;
use actinium_events::{
    Builder, Cause, Condition, Event, Input, Next, Order, OutputMut, Piece, Processor, Producer,
    Settings, Source, Threads, ThreadsMut, Transition,
};
use actinium_events_cluster::{ClusterOutcome, ClusterProcessor, ClusterRunning};
use actinium_scheduler::Policy;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

pub(crate) const EVENTS: u64 = 300;

/// What the output has written.
pub(crate) type Lines = Arc<Mutex<Vec<String>>>;

/// The numbers from 0, in runs of 100.
pub(crate) struct Numbers;

impl Source for Numbers {
    type Product = u64;
    fn next(&mut self, number: u64) -> Result<Next<u64>, Cause> {
        Ok(if number < EVENTS { Next::Event(number) } else { Next::End })
    }
}

/// The sizes of the pieces.
const PIECES: [u64; 6] = [40, 90, 0, 70, 20, 80];

/// Numbers in pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    at: usize,
    index: u64,
    is_alone: bool,
}

impl Source for Pieces {
    type Product = u64;

    fn next(&mut self, _: u64) -> Result<Next<u64>, Cause> {
        while self.at < PIECES.len() && self.index == PIECES[self.at] {
            if self.is_alone {
                return Ok(Next::End);
            }
            (self.at, self.index) = (self.at + 1, 0);
        }
        if self.at == PIECES.len() {
            return Ok(Next::End);
        }
        self.index += 1;
        let number = Piece::number(self.at as u32, self.index - 1);
        Ok(Next::Numbered(number, 1_000 * self.at as u64 + self.index))
    }

    fn pieces(&self) -> Vec<Piece> {
        let piece = |(at, &bytes): (usize, &u64)| Piece { name: format!("piece {at}"), bytes };
        PIECES.iter().enumerate().map(piece).collect()
    }

    fn open(&mut self, piece: u32) -> Result<(), Cause> {
        *self = Pieces { at: piece as usize, index: 0, is_alone: true };
        Ok(())
    }
}

/// What modules do on a node beside their work.
pub(crate) type Visit = Arc<dyn Fn(u64) -> Result<(), Cause> + Send + Sync>;

struct Square(Input<u64>, Option<Condition<String>>, Visit);

impl Producer for Square {
    type Product = String;
    fn produce(&self, event: &Event<'_>) -> Result<String, Cause> {
        let n = *event.get(self.0);
        (self.2)(n)?;
        let of = self.1.as_ref().map(|of| of.get()).transpose()?;
        Ok(format!("{} {}", n * n, of.as_deref().map_or("-", String::as_str)))
    }
}

struct Write(Input<String>, Lines);

impl OutputMut for Write {
    fn write(&mut self, event: &Event<'_>) -> Result<(), Cause> {
        self.1.lock().unwrap().push(format!("{} {}", event.number(), *event.get(self.0)));
        Ok(())
    }
    fn transition(&mut self, transition: Transition) -> Result<(), Cause> {
        self.1.lock().unwrap().push(format!("{transition:?}"));
        Ok(())
    }
}

/// What comes of the source goes through a producer to an output.
fn rest(
    mut builder: Builder,
    numbers: actinium_events::Handle<u64>,
    condition: Option<Condition<String>>,
    (visit, lines): (Visit, Lines),
) -> Builder {
    builder.crosses(numbers);
    let square = builder.producer("square", Threads::Concurrent, move |inputs| {
        Square(inputs.get(numbers), condition.clone(), visit.clone())
    });
    builder.crosses(square);
    builder.output_mut("write", ThreadsMut::Serial, move |inputs| {
        Write(inputs.get(square), lines.clone())
    });
    builder
}

/// Numbers in runs, each with a condition; `loads` notes which were loaded.
pub(crate) fn in_runs(visit: Visit, lines: Lines, loads: Lines) -> Builder {
    let (mut builder, numbers) =
        Builder::with_source("numbers", Numbers.runs_by(|n: &u64| n / 100));
    let condition = builder.condition("of", move |run| {
        loads.lock().unwrap().push(format!("{run}"));
        Ok(format!("of run {run}"))
    });
    rest(builder, numbers, Some(condition), (visit, lines))
}

/// The events of a source.
pub(crate) fn of<S: Source<Product = u64>>(source: S, visit: Visit, lines: Lines) -> Builder {
    let (builder, numbers) = Builder::with_source("numbers", source);
    rest(builder, numbers, None, (visit, lines))
}

pub(crate) fn quietly() -> Visit {
    Arc::new(|_| Ok(()))
}

pub(crate) fn settings() -> Settings {
    Settings::default().slots(4).order(Order::Input { window: 16 })
}

/// What one process without nodes writes.
pub(crate) fn alone(builder: Builder, lines: &Lines) -> Vec<String> {
    let processor = Processor::new(builder.build().unwrap(), settings().workers(1));
    processor.run().unwrap().into_result().unwrap();
    std::mem::take(&mut *lines.lock().unwrap())
}

pub(crate) type Ended = Result<Option<ClusterOutcome>, JobError>;

/// A node of this process, with its system.
pub(crate) struct Member {
    pub(crate) node: Node,
    pub(crate) system: System,
}

impl Member {
    pub(crate) fn new(fabric: InProcess) -> Self {
        // A module that a test holds up holds one of two workers, and the other runs the actors.
        let system = System::builder().workers(2).policy(Policy::Pool).build().unwrap();
        let down_after_ns = 2_000_000_000;
        let link = LinkConfig { reliable: true, down_after_ns, ..LinkConfig::default() };
        let config = NodeConfig { link, ..NodeConfig::default() };
        let node = Node::start(system.handle(), config, move || Ok(fabric)).unwrap();
        Member { node, system }
    }

    pub(crate) fn start(&self, processor: ClusterProcessor) -> ClusterRunning {
        processor.start(&self.node, &self.system).unwrap()
    }

    pub(crate) fn end(self) {
        self.node.leave();
        self.system.shutdown(Shutdown::Drain);
    }
}

/// So many nodes, all of which know each other from the first.
pub(crate) fn members(network: &Network, count: u32) -> Vec<Member> {
    let fabrics: Vec<_> = (0..count).map(|id| network.node(NodeId(id))).collect();
    fabrics.into_iter().map(Member::new).collect()
}

/// Runs a graph on all of these to the end, which `during` may hurry.
pub(crate) fn run(
    members: &[Member],
    processor: impl Fn(usize) -> ClusterProcessor,
    during: impl FnOnce(&[ClusterRunning]),
) -> Vec<Ended> {
    let start = |(at, member): (usize, &Member)| member.start(processor(at));
    let running: Vec<ClusterRunning> = members.iter().enumerate().map(start).collect();
    during(&running);
    let wait = |running: ClusterRunning| thread::spawn(move || running.wait());
    let waiting: Vec<_> = running.into_iter().map(wait).collect();
    waiting.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// What the first node knows.
#[track_caller]
pub(crate) fn first(ended: &mut Vec<Ended>) -> ClusterOutcome {
    ended.remove(0).expect("it runs").expect("it is the first")
}

/// Holds a node up: the `count`th event that comes to a module there stays until it is opened.
#[derive(Default)]
pub(crate) struct Gate(Mutex<(usize, bool)>, Condvar);

impl Gate {
    pub(crate) fn visit(self: &Arc<Self>, count: usize) -> Visit {
        let gate = self.clone();
        Arc::new(move |_| {
            let mut state = gate.0.lock().unwrap();
            state.0 += 1;
            gate.1.notify_all();
            if state.0 == count {
                while !state.1 {
                    state = gate.1.wait(state).unwrap();
                }
            }
            Ok(())
        })
    }

    /// Waits until as many events have come.
    pub(crate) fn came(&self, count: usize) {
        let mut state = self.0.lock().unwrap();
        while state.0 < count {
            state = self.1.wait(state).unwrap();
        }
    }

    pub(crate) fn open(&self) {
        self.0.lock().unwrap().1 = true;
        self.1.notify_all();
    }
}
