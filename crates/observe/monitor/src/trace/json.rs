//! Traces in Chrome's trace event format: JSON, one event a line.

use super::model::{Arg, Counter, Format, Head, Shown, Texts};
use super::spans::ShownSpan;
use actinium_actor::recording::Record;
use actinium_actor::trace::Span;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The key of the first line under which [`Head::begin_unix_ns`] stands.
pub(super) const BEGIN: &str = "begin_unix_ns";

/// Writes such a file.
#[derive(Default)]
pub(super) struct Json {
    pid: u32,
    /// The thread of each worker, and behind them one that stands for all others.
    threads: Vec<u32>,
}

impl Json {
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
        let thread = |track: usize| self.threads[track.min(workers)];
        let id = format!("{:016x}", span.id);
        let (begin, dur) = (us(span.begin_ns), us(span.end_ns - span.begin_ns));
        let mut event = json!({
            "ph": "X", "cat": "span", "name": span.name, "ts": begin, "dur": dur,
            "args": object(span.args),
        });
        if !span.is_nested {
            event["ph"] = json!("b");
            event["id"] = json!(id);
        }
        self.event(event, thread(span.track), out)?;
        if !span.is_nested {
            let (cat, name, end) = ("span", &span.name, us(span.end_ns));
            let event = json!({ "ph": "e", "cat": cat, "name": name, "id": id, "ts": end });
            self.event(event, thread(span.track), out)?;
        }
        let Some((from, sent_ns)) = span.sent else { return Ok(()) };
        if from == workers {
            // An arrow begins at a slice.
            let send = json!({
                "ph": "X", "cat": "span", "name": "send", "ts": us(sent_ns), "dur": 0.001,
            });
            self.event(send, thread(from), out)?;
        }
        for (phase, track, at) in [("s", from, us(sent_ns)), ("f", span.track, begin)] {
            let flow = json!({
                "ph": phase, "bp": "e", "cat": "flow", "name": "message", "id": id, "ts": at,
            });
            self.event(flow, thread(track), out)?;
        }
        Ok(())
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
