//! Traces in Chrome's trace event format: JSON, one event a line.

use super::model::{Arg, Counter, Format, Head, Shown, Texts};
use actinium_actor::recording::Record;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The key of the first line under which [`Head::begin_unix_ns`] stands.
pub(super) const BEGIN: &str = "begin_unix_ns";

/// Writes such a file.
#[derive(Default)]
pub(super) struct Json {
    pid: u32,
    /// The thread of each worker.
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
        for (thread, name) in &head.workers {
            let name = json!({ "name": name });
            self.event(json!({ "ph": "M", "name": "thread_name", "args": name }), *thread, out)?;
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

/// The format counts in microseconds.
fn us(ns: u64) -> f64 {
    ns as f64 * 1e-3
}

fn event_of(record: &Record, texts: &Texts<'_>) -> Value {
    let Shown { category, name, is_slice, args } = Shown::of(record, texts);
    let value = |arg| match arg {
        Arg::Number(number) => json!(number),
        Arg::Text(text) => json!(text),
    };
    let args: Map<String, Value> =
        args.into_iter().map(|(name, arg)| (name.to_owned(), value(arg))).collect();
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
        let event =
            event_of(&Record { begin_ns: 2_000, took_ns: 250, act: Act::Sleep }, &|_| "".into());
        assert_eq!((&event["dur"], &event["ph"]), (&json!(0.25), &json!("X")));
    }
}
