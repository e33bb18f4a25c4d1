//! Traces in Chrome's trace event format: JSON, one event a line.

use super::model::{Arg, Counter, Format, Head, Shown, Texts};
use super::spans::ShownSpan;
use actinium_actor::recording::Record;
use actinium_actor::trace::Span;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The key of the first line under which [`Head::begin_unix_ns`] stands.
pub(super) const BEGIN: &str = "begin_unix_ns";

/// What an arrow from one node to another is called.
const FAR: &str = "to another node";

/// Writes such a file.
#[derive(Default)]
pub(super) struct Json {
    pid: u32,
    /// The thread of each worker, and behind them one that stands for all others.
    threads: Vec<u32>,
}

impl Json {
    fn thread(&self, track: usize) -> u32 {
        self.threads[track.min(self.threads.len() - 1)]
    }

    /// The beginning (`s`) or the end (`f`) of an arrow, at a thread and a time.
    fn arrow(
        &self,
        name: &str,
        phase: &str,
        id: u64,
        (thread, at): (u32, f64),
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let id = format!("{id:016x}");
        let event = json!({
            "ph": phase, "bp": "e", "cat": "flow", "name": name, "id": id, "ts": at,
        });
        self.event(event, thread, out)
    }

    /// A span that may overlap with others of its thread: it has a row with those of its name.
    fn overlapping(&self, mut span: ShownSpan, out: &mut dyn Write) -> io::Result<()> {
        let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        // All events in one row.
        let row = span.name.rsplit_once(' ').filter(|(_, number)| is_number(number));
        let row = row.map_or(&*span.name, |(row, _)| row);
        let (thread, id) = (self.thread(span.track), format!("{:016x}", span.id));
        span.args.push(("name", Arg::Text(span.name.clone().into())));
        let args = object(span.args);
        for (phase, at_ns) in [("b", span.begin_ns), ("e", span.end_ns)] {
            let event = json!({
                "ph": phase, "cat": "span", "name": row, "id": id, "ts": us(at_ns), "args": args,
            });
            self.event(event, thread, out)?;
        }
        Ok(())
    }

    fn event(&self, mut event: Value, thread: u32, out: &mut dyn Write) -> io::Result<()> {
        event["pid"] = json!(self.pid);
        event["tid"] = json!(thread);
        out.write_all(b",\n")?;
        Ok(serde_json::to_writer(out, &event)?)
    }
}

impl Format for Json {
    fn begin(&mut self, head: &Head, out: &mut dyn Write) -> io::Result<()> {
        self.pid = head.pid;
        self.threads = head.workers.iter().map(|(thread, _)| *thread).collect();
        let mut about: Map<String, Value> =
            head.about.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        about.insert(BEGIN.to_owned(), json!(head.begin_unix_ns));
        let about = Value::Object(about);
        writeln!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
        let name = json!({ "name": head.process });
        let first = json!({ "ph": "M", "name": "process_name", "pid": self.pid, "args": name });
        write!(out, "{first}")?;
        // No thread has this number.
        let others = (u32::MAX, "other threads".to_owned());
        self.threads.push(others.0);
        for (at, (thread, name)) in head.workers.iter().chain([&others]).enumerate() {
            let name = json!({ "name": name });
            self.event(json!({ "ph": "M", "name": "thread_name", "args": name }), *thread, out)?;
            let at = json!({ "sort_index": at });
            self.event(
                json!({ "ph": "M", "name": "thread_sort_index", "args": at }),
                *thread,
                out,
            )?;
        }
        Ok(())
    }

    fn records(
        &mut self,
        worker: usize,
        records: &[Record],
        texts: &Texts<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let thread = self.threads[worker];
        records.iter().try_for_each(|record| self.event(event_of(record, texts), thread, out))
    }

    fn lost(
        &mut self,
        worker: usize,
        at_ns: u64,
        lost: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let event = json!({
            "ph": "i", "s": "t", "cat": "recording", "name": "records lost", "ts": us(at_ns),
            "args": { "lost": lost },
        });
        self.event(event, self.threads[worker], out)
    }

    fn span(&mut self, span: &Span, out: &mut dyn Write) -> io::Result<()> {
        let workers = self.threads.len() - 1;
        let span = ShownSpan::of(span, workers);
        let Some((from, sent_ns)) = span.sent else { return self.overlapping(span, out) };
        let (begin, dur) = (us(span.begin_ns), us(span.end_ns - span.begin_ns));
        let (to, id) = ((self.thread(span.track), begin), span.id);
        let event = json!({
            "ph": "X", "cat": "span", "name": span.name, "ts": begin, "dur": dur,
            "args": object(span.args),
        });
        self.event(event, to.0, out)?;
        let sent = (self.thread(from), us(sent_ns));
        if from == workers {
            // An arrow begins at a slice.
            let send = json!({
                "ph": "X", "cat": "span", "name": "send", "ts": sent.1, "dur": 0.001,
            });
            self.event(send, sent.0, out)?;
        }
        self.arrow("message", "s", id, sent, out)?;
        self.arrow("message", "f", id, to, out)?;
        // What it sends to other nodes knows its id. Most arrows that begin here end nowhere.
        self.arrow(FAR, "s", id, to, out)?;
        span.far_parent.map_or(Ok(()), |parent| self.arrow(FAR, "f", parent, to, out))
    }

    fn counter(
        &mut self,
        counter: Counter,
        at_ns: u64,
        value: f64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut values = Map::new();
        values.insert(counter.unit().to_owned(), json!(value));
        let name = counter.name();
        let event = json!({ "ph": "C", "name": name, "ts": us(at_ns), "args": values });
        self.event(event, self.pid, out)
    }

    fn end(&mut self, _at_ns: u64, lost: u64, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n],\"metadata\":{{\"records lost\":{lost}}}}}")
    }
}

/// The format counts in microseconds. A quotient is the number that is nearest to the true one, and
/// so the shortest text.
fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn object(args: Vec<(&'static str, Arg)>) -> Value {
    let value = |arg| match arg {
        Arg::Number(number) => json!(number),
        Arg::Text(text) => json!(text),
    };
    let args = args.into_iter().map(|(name, arg)| (name.to_owned(), value(arg)));
    Value::Object(args.collect())
}

fn event_of(record: &Record, texts: &Texts<'_>) -> Value {
    let Shown { category, name, is_slice, args } = Shown::of(record, texts);
    let args = object(args);
    let ts = us(record.begin_ns);
    let mut event = json!({ "cat": category, "name": name, "ts": ts, "args": args });
    if is_slice {
        event["ph"] = json!("X");
        event["dur"] = json!(us(record.took_ns));
    } else {
        event["ph"] = json!("i");
        event["s"] = json!("t");
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_actor::recording::Act;

    #[test]
    fn times_are_in_microseconds() {
        let act = Act::Steal { from: 3, actors: 2 };
        let event = event_of(&Record { begin_ns: 1_500, took_ns: 0, act }, &|_| "".into());
        assert_eq!((&event["ts"], &event["ph"]), (&json!(1.5), &json!("i")));
        assert_eq!(event["args"], json!({ "from": 3, "actors": 2 }));
        assert_eq!(json!(us(209_140)).to_string(), "209.14");
        let event =
            event_of(&Record { begin_ns: 2_000, took_ns: 250, act: Act::Sleep }, &|_| "".into());
        assert_eq!((&event["dur"], &event["ph"]), (&json!(0.25), &json!("X")));
    }
}
