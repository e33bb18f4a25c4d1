//! A flame graph of turns: which worker spent its time on which actors.

use crate::feed::{Consumer, Subscription, subscribe};
use crate::flows::Flows;
use crate::trace::model::short;
use actinium_actor::recording::{Act, Name, Record, WorkerRecords};
use actinium_actor::trace::{Span, SpanKind};
use actinium_actor::{Observer, OnEnd, SystemHandle};
use actinium_drawing::escaped;
use actinium_observe::file::{NewFile, WriteError, writable};
use actinium_observe::number::{count, percent};
use actinium_scheduler::log;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Actors of a type, on one worker, that are told apart: memory is bounded.
const ACTORS_MAX: usize = 1_024;

/// The time in turns by worker, type of actor, and message; or actor, if all messages of a type are
/// of one sort; or module that was called, in a graph of events. Made by a [`FlameRecorder`].
///
/// Records are of turns, which may have messages of several sorts. So the time of messages is an
/// estimate: that of a type's turns, in the shares that sampled messages of the type have taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlameGraph {
    workers: BTreeMap<usize, BTreeMap<&'static str, OfType>>,
    /// Calls of modules in a turn of each worker that has not ended.
    calls: BTreeMap<usize, Vec<(Name, u64)>>,
    /// The sampled messages of each type, by their sort.
    sampled: BTreeMap<String, Sorts>,
    /// Records that are missing.
    lost: u64,
}

/// How many messages of each sort were sampled, and the time that they took.
type Sorts = BTreeMap<&'static str, (u64, u64)>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfType {
    /// Time of all its actors.
    all_ns: u64,
    turns: u64,
    messages: u64,
    /// Time of each, as far as they are told apart.
    actors: HashMap<u64, u64>,
    /// Time of each module that was called.
    modules: BTreeMap<Arc<str>, u64>,
}

/// A frame of the graph.
struct Frame {
    name: String,
    title: String,
    ns: u64,
    inner: Vec<Frame>,
}

impl FlameGraph {
    /// Adds what a worker did, if it is a turn or a call in one.
    fn add(&mut self, worker: usize, record: &Record, text: impl Fn(Name) -> Arc<str>) {
        let (kind, number, handled) = match record.act {
            Act::Turn { kind, number, handled } => (kind, number, handled),
            // The turn that it is in comes behind it.
            Act::Call { name, .. } => {
                return self.calls.entry(worker).or_default().push((name, record.took_ns));
            }
            _ => return,
        };
        let of_type = self.workers.entry(worker).or_default().entry(kind).or_default();
        of_type.all_ns = of_type.all_ns.saturating_add(record.took_ns);
        of_type.turns += 1;
        of_type.messages += handled;
        for (name, ns) in self.calls.get_mut(&worker).into_iter().flat_map(|it| it.drain(..)) {
            *of_type.modules.entry(text(name)).or_default() += ns;
        }
        let actors = &mut of_type.actors;
        if number != 0 && (actors.len() < ACTORS_MAX || actors.contains_key(&number)) {
            *actors.entry(number).or_default() += record.took_ns;
        }
    }

    /// Adds a sampled message, if it was handled.
    fn add_message(&mut self, span: &Span) {
        if span.kind != SpanKind::Message || span.worker.is_none() {
            return;
        }
        if !self.sampled.contains_key(&*span.name) {
            self.sampled.insert(span.name.to_string(), Sorts::new());
        }
        let sorts = self.sampled.get_mut(&*span.name).expect("it is there by now");
        let (messages, ns) = sorts.entry(span.message).or_default();
        *messages += 1;
        *ns = ns.saturating_add(span.end_ns.saturating_sub(span.begin_ns));
    }

    /// So many records are missing in it.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// One line for each stack, as other tools of flame graphs read it: frames with `;` between
    /// them, and nanoseconds.
    #[must_use]
    pub fn folded(&self) -> String {
        fn fold(stack: &str, frame: &Frame, into: &mut String) {
            let name = frame.name.replace(';', ":");
            let stack = if stack.is_empty() { name } else { format!("{stack};{name}") };
            let inner: u64 = frame.inner.iter().map(|it| it.ns).sum();
            if frame.ns > inner {
                let _ = writeln!(into, "{stack} {}", frame.ns - inner);
            }
            frame.inner.iter().for_each(|it| fold(&stack, it, into));
        }
        let mut lines = String::new();
        self.root().inner.iter().for_each(|it| fold("", it, &mut lines));
        lines
    }

    /// A drawing: each frame is as wide as its time, and says more where the pointer is.
    #[must_use]
    pub fn svg(&self) -> String {
        let root = self.root();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n{STYLE}\n\
             <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
             <text class=\"head\" x=\"{MARGIN}\" y=\"22\">Time in turns, by worker, type of actor, \
             and message, actor or module</text>\n"
        );
        if self.lost > 0 {
            let lost = count(self.lost);
            let _ = writeln!(
                svg,
                "<text class=\"head\" x=\"{MARGIN}\" y=\"40\">{lost} records are missing: the \
                 workers did more than was taken.</text>"
            );
        }
        let scale = (WIDTH - 2.0 * MARGIN) / root.ns.max(1) as f64;
        draw(&root, MARGIN, 0, scale, root.ns, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    /// Writes it: folded if the file's name ends in `.folded`, else as a drawing. The file is there
    /// in full or, after an error, as it was before.
    ///
    /// # Errors
    /// If the file can not be written.
    pub fn write(&self, path: &Path) -> Result<(), WriteError> {
        let is_folded = path.extension().is_some_and(|it| it == "folded");
        let text = if is_folded { self.folded() } else { self.svg() };
        let mut file = NewFile::create(path)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.map_err(|error| file.error(error))?;
        file.finish()
    }

    fn root(&self) -> Frame {
        let workers = self.workers.iter().map(|(worker, types)| {
            let frame = |(kind, of): (&&'static str, &OfType)| of.frame(kind, self.sorts(kind));
            let inner = types.iter().map(frame).collect();
            Frame::of(format!("worker {worker}"), inner)
        });
        Frame::of("all workers".to_owned(), workers.collect())
    }
}

impl FlameGraph {
    /// The sorts of a type's messages, if there is more than one to be told apart.
    fn sorts(&self, kind: &str) -> Option<&Sorts> {
        self.sampled.get(kind).filter(|it| it.len() > 1 && it.values().any(|it| it.1 > 0))
    }
}

impl Frame {
    /// With those inside, the longest first.
    fn of(name: String, mut inner: Vec<Frame>) -> Self {
        inner.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.name.cmp(&b.name)));
        let ns = inner.iter().fold(0_u64, |sum, it| sum.saturating_add(it.ns));
        Frame { title: name.clone(), name, ns, inner }
    }
}

impl OfType {
    fn frame(&self, kind: &'static str, sorts: Option<&Sorts>) -> Frame {
        let name = short(kind);
        let inner = match sorts {
            Some(sorts) => self.by_messages(sorts),
            None => self.by_actors(name),
        };
        let (turns, messages) = (count(self.turns), count(self.messages));
        let title = format!("{kind}: {turns} turns, {messages} messages");
        Frame { title, ns: self.all_ns, ..Frame::of(name.to_owned(), inner) }
    }

    /// The time of the turns, in the shares of the sampled messages.
    fn by_messages(&self, sorts: &Sorts) -> Vec<Frame> {
        let all_ns: u64 = sorts.values().fold(0, |sum, it| sum.saturating_add(it.1));
        let frame = |(&message, &(sampled, ns)): (&&'static str, &(u64, u64))| {
            let name = short(message).to_owned();
            let share = u128::from(self.all_ns) * u128::from(ns) / u128::from(all_ns.max(1));
            let title = format!("{name}, estimated from a sample of {}", count(sampled));
            Frame { title, name, ns: share as u64, inner: Vec::new() }
        };
        sorts.iter().map(frame).collect()
    }

    fn by_actors(&self, name: &str) -> Vec<Frame> {
        let actors = self.actors.iter().map(|(number, &ns)| {
            let name = format!("{name} {number}");
            Frame { title: name.clone(), name, ns, inner: Vec::new() }
        });
        let modules = self.modules.iter().map(|(name, &ns)| {
            let name = name.to_string();
            Frame { title: name.clone(), name, ns, inner: Vec::new() }
        });
        actors.chain(modules).collect()
    }
}

const WIDTH: f64 = 1_200.0;
const MARGIN: f64 = 10.0;
const TOP: f64 = 50.0;
const ROW: f64 = 22.0;
/// Four rows: all, workers, types, actors and modules.
const HEIGHT: f64 = TOP + 4.0 * ROW + MARGIN;
/// What is narrower is not drawn.
const NARROW: f64 = 0.3;
/// About how wide a letter is.
const LETTER: f64 = 6.6;

const STYLE: &str = "<style>.page{fill:#fff}.head{fill:#222}.frame text{fill:#111;pointer-events:none}\
.frame rect{stroke:#fff;stroke-width:.5}.frame:hover rect{stroke:#000;stroke-width:1.5}\
@media (prefers-color-scheme:dark){.page{fill:#16181c}.head{fill:#ddd}\
.frame rect{stroke:#16181c}.frame:hover rect{stroke:#fff}}</style>";

fn draw(frame: &Frame, x: f64, depth: u32, scale: f64, all_ns: u64, svg: &mut String) {
    let width = frame.ns as f64 * scale;
    if width < NARROW {
        return;
    }
    let y = TOP + f64::from(depth) * ROW;
    let share = percent(frame.ns as f64 / all_ns.max(1) as f64);
    let took = Duration::from_nanos(frame.ns);
    let (title, fill) = (escaped(&frame.title), colour(&frame.name, depth));
    let _ = write!(
        svg,
        "<g class=\"frame\"><title>{title}, {took:.3?}, {share}</title>\
         <rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{ROW}\" fill=\"{fill}\"/>"
    );
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    if letters >= 3 {
        let mut name: String = frame.name.chars().take(letters).collect();
        if name.len() < frame.name.len() {
            name.pop();
            name.push('…');
        }
        let (name, x, y) = (escaped(&name), x + 3.0, y + 15.0);
        let _ = write!(svg, "<text x=\"{x:.2}\" y=\"{y}\">{name}</text>");
    }
    svg.push_str("</g>\n");
    let mut x = x;
    for inner in &frame.inner {
        draw(inner, x, depth + 1, scale, all_ns, svg);
        x += inner.ns as f64 * scale;
    }
}

/// Light enough for dark letters; one name has one colour.
fn colour(name: &str, depth: u32) -> String {
    if depth < 2 {
        return "hsl(210,15%,80%)".to_owned();
    }
    // An actor has its type's.
    let name = if depth == 3 { name.rsplit_once(' ').map_or(name, |(kind, _)| kind) } else { name };
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let light = if depth == 3 { 82 } else { 72 };
    format!("hsl({},70%,{light}%)", 15 + hasher.finish() % 200)
}

/// A graph that is being made.
struct Gathering {
    graph: FlameGraph,
    flows: Flows,
}

impl Consumer for Gathering {
    fn take(&mut self, system: &SystemHandle, records: &[WorkerRecords]) {
        let graph = &mut self.graph;
        for (worker, taken) in records.iter().enumerate() {
            graph.lost += taken.lost;
            let text = |name| system.recorded_name(name);
            taken.records.iter().for_each(|record| graph.add(worker, record, text));
        }
        // Those that are lost are a sample less.
        let (spans, _) = self.flows.take();
        spans.iter().for_each(|span| graph.add_message(span));
    }
}

/// Gathers a [`FlameGraph`] of a running system.
///
/// ```
/// use actinium_actor::System;
/// use actinium_monitor::FlameRecorder;
///
/// let system = System::builder().build()?;
/// let recorder = FlameRecorder::start(&system)?;
/// // .. the part of the run that is to be seen ..
/// println!("{}", recorder.finish().folded());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FlameRecorder(Subscription<Gathering>);

impl std::fmt::Debug for FlameRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FlameRecorder")
    }
}

impl FlameRecorder {
    /// Begins.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(system: &SystemHandle) -> io::Result<Self> {
        let gathering = Gathering { graph: FlameGraph::default(), flows: Flows::of(system) };
        subscribe(system, gathering).map(FlameRecorder)
    }

    /// Ends, and returns what was gathered.
    #[must_use]
    pub fn finish(self) -> FlameGraph {
        let gathering = self.0.end();
        let mut gathering = gathering.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut gathering.graph)
    }
}

/// An [`Observer`] that draws a system's turns: see [`Monitored::flame_graph`].
///
/// [`Monitored::flame_graph`]: crate::Monitored::flame_graph
#[derive(Debug)]
pub struct FlameToFile {
    path: PathBuf,
}

impl FlameToFile {
    /// The observer that writes this file. If it observes several systems, the last one's file is
    /// what remains.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        FlameToFile { path: path.into() }
    }
}

impl Observer for FlameToFile {
    fn started(&self, system: &SystemHandle) -> Result<OnEnd, Box<dyn Error + Send + Sync>> {
        writable(&self.path)?;
        let (recorder, path) = (FlameRecorder::start(system)?, self.path.clone());
        Ok(OnEnd::new(move |_| {
            let graph = recorder.finish();
            let lost = graph.lost();
            if lost > 0 {
                log!(
                    Warn,
                    { lost: lost },
                    "{lost} records are missing in the flame graph: the workers did more than was taken"
                );
            }
            if let Err(error) = graph.write(&path) {
                log!(Error, {}, "the flame graph of the system is lost: {error}");
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_scheduler::{Clock, Policy, Settings, Shared};

    fn turn(kind: &'static str, number: u64, took_ns: u64) -> Record {
        Record { begin_ns: 0, took_ns, act: Act::Turn { kind, number, handled: 1 } }
    }

    fn text(_: Name) -> Arc<str> {
        "module".into()
    }

    fn graph() -> FlameGraph {
        let mut graph = FlameGraph::default();
        let turns = [(0, "a::Map<b::Key>", 1, 700), (0, "a::Map<b::Key>", 2, 200)];
        for (worker, kind, number, ns) in turns {
            graph.add(worker, &turn(kind, number, ns), text);
        }
        graph.add(1, &turn("x;y", 0, 100), text);
        graph.add(1, &Record { begin_ns: 0, took_ns: 50, act: Act::Sleep }, text);
        graph
    }

    #[test]
    fn stacks_are_weighted_by_time() {
        let folded = "worker 0;Map<b::Key>;Map<b::Key> 1 700\nworker 0;Map<b::Key>;Map<b::Key> 2 200\n\
                      worker 1;x:y 100\n";
        assert_eq!(graph().folded(), folded);
    }

    #[test]
    fn modules_stand_in_the_turn_that_called_them() {
        let mut graph = FlameGraph::default();
        let settings = Settings {
            workers: 1,
            policy: Policy::Pinned,
            batch: 1,
            batch_time: Duration::MAX,
            figures: false,
            elastic: None,
            pus: Vec::new(),
        };
        let shared = Shared::new(settings, None, Clock::virtual_time());
        let act = Act::Call { name: shared.recording().name("fit"), event: 3 };
        let text = |name| shared.recording().text(name);
        graph.add(0, &Record { begin_ns: 0, took_ns: 60, act }, text);
        graph.add(0, &turn("slot task", 0, 100), text);
        assert_eq!(graph.folded(), "worker 0;slot task 40\nworker 0;slot task;fit 60\n");
    }

    #[test]
    fn a_drawing_has_each_frame_and_its_share() {
        let svg = graph().svg();
        for text in ["worker 0", "Map&lt;b::Key&gt; 2", "a::Map&lt;b::Key&gt;: 2 turns", "90.0 %"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        assert!(!svg.contains("missing"));
        let mut odd = graph();
        odd.add(1, &turn("a\u{1b}b", 0, 100), text);
        assert!(odd.svg().contains("a\u{fffd}b") && !odd.svg().contains('\u{1b}'));
        let lost = FlameGraph { lost: 1_234, ..graph() };
        assert!(lost.svg().contains("1,234 records are missing"), "{}", lost.svg());
        assert!(FlameGraph::default().svg().ends_with("</svg>\n"));
    }

    #[test]
    fn more_actors_than_are_told_apart_are_still_counted() {
        let mut graph = FlameGraph::default();
        (1..=ACTORS_MAX as u64 + 9).for_each(|number| graph.add(0, &turn("A", number, 1), text));
        assert!(graph.folded().contains("worker 0;A 9\n"), "{}", graph.folded());
    }
}
