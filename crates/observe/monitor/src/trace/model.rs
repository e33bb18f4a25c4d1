//! What a trace shows of a system, whatever the format of its file.

use actinium_actor::recording::{Act, Name, Record};
use actinium_actor::trace::Span;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

/// What is known before anything is recorded.
pub(super) struct Head {
    /// Shown as the process.
    pub(super) pid: u32,
    pub(super) process: String,
    /// The thread of each worker, by index.
    pub(super) workers: Vec<(u32, String)>,
    /// The time in nanoseconds since 1970 at which the system's clock was 0.
    pub(super) begin_unix_ns: u64,
    /// Name and value of what is to be known about the trace.
    pub(super) about: Vec<(&'static str, String)>,
}

/// A value over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counter {
    /// Messages in mailboxes, or on their way.
    Waiting,
    /// Living actors.
    Actors,
    /// The share of a CPU that this process used, in percent.
    Cpu(u32),
    /// The share of a CPU that a worker used, in percent.
    WorkerCpu(usize),
    /// How long a worker's queue takes to run once through, in microseconds.
    Queue(usize),
}

impl Counter {
    pub(super) fn name(self) -> String {
        match self {
            Counter::Waiting => "waiting messages".to_owned(),
            Counter::Actors => "actors".to_owned(),
            Counter::Cpu(cpu) => format!("load of CPU {cpu}"),
            Counter::WorkerCpu(worker) => format!("CPU of worker {worker}"),
            Counter::Queue(worker) => format!("queue of worker {worker}"),
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Counter::Waiting => "messages",
            Counter::Actors => "actors",
            Counter::Cpu(_) | Counter::WorkerCpu(_) => "%",
            Counter::Queue(_) => "us",
        }
    }
}

/// A format of files. Times are in nanoseconds of the system's clock.
pub(super) trait Format: Send {
    fn begin(&mut self, head: &Head, out: &mut dyn Write) -> io::Result<()>;
    /// Some of a worker's records, in the order in which they ended.
    fn records(
        &mut self,
        worker: usize,
        records: &[Record],
        texts: &Texts<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()>;
    /// So many records are missing before this moment.
    fn lost(&mut self, worker: usize, at_ns: u64, lost: u64, out: &mut dyn Write)
    -> io::Result<()>;
    /// A span, and an arrow to it from where its message was sent.
    fn span(&mut self, span: &Span, out: &mut dyn Write) -> io::Result<()>;
    fn counter(
        &mut self,
        counter: Counter,
        at_ns: u64,
        value: f64,
        out: &mut dyn Write,
    ) -> io::Result<()>;
    fn end(&mut self, at_ns: u64, lost: u64, out: &mut dyn Write) -> io::Result<()>;
}

/// The texts of names in records.
pub(super) type Texts<'a> = dyn Fn(Name) -> Arc<str> + 'a;

/// A value that belongs to an event.
pub(super) enum Arg {
    Number(u64),
    Text(Cow<'static, str>),
}

/// A record as it is shown.
pub(super) struct Shown {
    pub(super) category: &'static str,
    pub(super) name: Cow<'static, str>,
    /// Whether it has a length.
    pub(super) is_slice: bool,
    pub(super) args: Vec<(&'static str, Arg)>,
}

impl Shown {
    pub(super) fn of(record: &Record, texts: &Texts<'_>) -> Self {
        let number = |name, value| (name, Arg::Number(value));
        let shown = |category, name: Cow<'static, str>, is_slice, args| Shown {
            category,
            name,
            is_slice,
            args,
        };
        let slice = |category, name, args| shown(category, name, true, args);
        let moment = |category, name: &'static str, args| shown(category, name.into(), false, args);
        match record.act {
            Act::Turn { kind, number: actor, handled } => {
                let args = vec![
                    ("type", Arg::Text(kind.into())),
                    number("actor", actor),
                    number("messages", handled),
                ];
                slice("turn", short(kind).into(), args)
            }
            Act::Call { name, event } => {
                slice("module", texts(name).to_string().into(), vec![number("event", event)])
            }
            Act::Sleep => slice("sleep", "asleep".into(), Vec::new()),
            Act::Steal { from, actors } => {
                moment("move", "steal", vec![number("from", from as u64), number("actors", actors)])
            }
            Act::Move { to, actors } => {
                moment("move", "new home", vec![number("to", to as u64), number("actors", actors)])
            }
            Act::Wake { worker } => moment("wake", "wake", vec![number("worker", worker as u64)]),
            Act::Scale { from, to } => {
                moment("scale", "scale", vec![number("from", from as u64), number("to", to as u64)])
            }
            other => {
                let what = Arg::Text(format!("{other:?}").into());
                moment("other", "other", vec![("what", what)])
            }
        }
    }
}

/// A type's name without the path before it.
pub(crate) fn short(kind: &'static str) -> &'static str {
    let head = kind.find('<').unwrap_or(kind.len());
    kind[..head].rfind("::").map_or(kind, |at| &kind[at + 2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_named_by_the_type_without_its_path() {
        assert_eq!(short("a::b::Counter"), "Counter");
        assert_eq!(short("a::Map<b::Key>"), "Map<b::Key>");
        assert_eq!(short("Counter"), "Counter");
    }
}
