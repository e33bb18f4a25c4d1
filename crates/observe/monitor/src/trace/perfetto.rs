//! Traces in Perfetto's own format: a sequence of packets in protobuf.
//!
//! Two such files one behind the other are one trace of both. So tracks have numbers that no other
//! file has, and times are in nanoseconds since 1970.
//!
//! The numbers of fields are those of Perfetto's `perfetto_trace.proto`.

use super::model::{Arg, Counter, Format, Head, Shown, Texts};
use super::protobuf::{double, fixed, message, text, uint};
use super::spans::ShownSpan;
use actinium_actor::recording::Record;
use actinium_actor::trace::Span;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};

/// Kinds of a track event.
const SLICE_BEGIN: u32 = 1;
const SLICE_END: u32 = 2;
const INSTANT: u32 = 3;
const COUNTER: u32 = 4;

/// The clocks whose times are the same here: since boot, which traces are in, and since 1970.
const CLOCK_BOOT: u32 = 6;
const CLOCK_REAL: u32 = 1;

/// Flags of a sequence of packets: names begin anew; names that were said before are used.
const STATE_CLEARED: u32 = 1;
const NEEDS_STATE: u32 = 2;

/// The fields of an event for the arrow that begins, or ends there.
const FLOW_BEGINS: u32 = 47;
const FLOW_ENDS: u32 = 48;

/// The tracks of sampled messages have numbers from here on, behind that of the process.
const SPANS: u64 = 1 << 23;
/// And those of spans that overlap.
const LANES: u64 = SPANS + (1 << 22);

/// Numbers that stand for texts, once those were said.
#[derive(Default)]
struct Names(HashMap<String, u64>);

impl Names {
    /// The number, and whether it is a new one.
    fn of(&mut self, name: &str) -> (u64, bool) {
        if let Some(&number) = self.0.get(name) {
            return (number, false);
        }
        let number = self.0.len() as u64 + 1;
        self.0.insert(name.to_owned(), number);
        (number, true)
    }
}

/// The number of the arrow from a span to another node: not that of the arrow to the span.
fn far(span: u64) -> u64 {
    span.rotate_left(1) ^ 1
}

/// Writes such a file.
pub(super) struct Perfetto {
    /// The number of the first track, that of the process.
    first_track: u64,
    sequence: u32,
    begin_unix_ns: u64,
    workers: usize,
    counters: BTreeMap<Counter, u64>,
    /// The tracks of messages that were described.
    span_tracks: BTreeSet<usize>,
    /// The tracks of spans that overlap: until when each is in use, and its index.
    lanes: BTreeSet<(u64, usize)>,
    categories: Names,
    events: Names,
    args: Names,
    values: Names,
    /// Names that the next packet says first.
    said: Vec<u8>,
    bytes: Vec<u8>,
}

/// What an event is beside its time and track.
struct Event<'a> {
    kind: u32,
    category: Option<&'static str>,
    name: Option<&'a str>,
    args: &'a [(&'static str, Arg)],
    /// The arrows that begin or end here.
    flows: &'a [(u32, u64)],
}

impl Perfetto {
    pub(super) fn new() -> Self {
        // As good as different from all others.
        let random = RandomState::new().hash_one(std::process::id());
        Perfetto {
            first_track: (random & !0xff_ffff) | 1 << 62,
            sequence: (random >> 16) as u32 | 1,
            begin_unix_ns: 0,
            workers: 0,
            counters: BTreeMap::new(),
            span_tracks: BTreeSet::new(),
            lanes: BTreeSet::new(),
            categories: Names::default(),
            events: Names::default(),
            args: Names::default(),
            values: Names::default(),
            said: Vec::new(),
            bytes: Vec::new(),
        }
    }

    fn track(&self, worker: usize) -> u64 {
        self.first_track + 1 + worker as u64
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.begin_unix_ns.saturating_add(at_ns)
    }

    fn describe(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let sequence = self.sequence;
        message(1, &mut self.bytes, |packet| {
            uint(10, sequence, packet);
            message(60, packet, write);
        });
    }

    /// The number of a name, which the next packet says if it is new: in this field.
    fn named(names: &mut Names, said: &mut Vec<u8>, field: u32, name: &str) -> u64 {
        let (number, is_new) = names.of(name);
        if is_new {
            message(field, said, |one| {
                uint(1, number, one);
                text(2, name, one);
            });
        }
        number
    }

    fn event(&mut self, track: u64, at_ns: u64, event: &Event<'_>) {
        let at_ns = self.unix_ns(at_ns);
        let Perfetto { categories, events, args, values, said, .. } = self;
        let category = event.category.map(|name| Self::named(categories, said, 1, name));
        let name = event.name.map(|name| Self::named(events, said, 2, name));
        let mut noted = Vec::new();
        for (name, value) in event.args {
            let name = Self::named(args, said, 3, name);
            let interned = match value {
                Arg::Text(Cow::Borrowed(value)) => Some(Self::named(values, said, 29, value)),
                _ => None,
            };
            noted.push((name, interned, value));
        }
        let (sequence, said, bytes) = (self.sequence, &mut self.said, &mut self.bytes);
        message(1, bytes, |packet| {
            uint(8, at_ns, packet);
            uint(10, sequence, packet);
            message(11, packet, |it| {
                category.into_iter().for_each(|category| uint(3, category, it));
                for (name, interned, value) in noted {
                    message(4, it, |arg| {
                        uint(1, name, arg);
                        match (interned, value) {
                            (Some(number), _) => uint(17, number, arg),
                            (None, Arg::Number(number)) => uint(3, *number, arg),
                            (None, Arg::Text(value)) => text(6, value, arg),
                        }
                    });
                }
                uint(9, event.kind, it);
                name.into_iter().for_each(|name| uint(10, name, it));
                uint(11, track, it);
                event.flows.iter().for_each(|&(field, id)| fixed(field, id, it));
            });
            if !said.is_empty() {
                message(12, packet, |names| names.append(said));
            }
            uint(13, NEEDS_STATE, packet);
        });
    }

    fn moment(&mut self, track: u64, at_ns: u64, name: &'static str, args: &[(&'static str, Arg)]) {
        let category = Some("recording");
        let event = Event { kind: INSTANT, category, name: Some(name), args, flows: &[] };
        self.event(track, at_ns, &event);
    }

    fn slice_end(&mut self, track: u64, at_ns: u64) {
        let event = Event { kind: SLICE_END, category: None, name: None, args: &[], flows: &[] };
        self.event(track, at_ns, &event);
    }

    /// Writes what has gathered.
    fn flush(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// The track of the messages of a worker, or, behind those, of other threads.
    fn span_track(&mut self, index: usize) -> u64 {
        let index = index.min(self.workers);
        let track = self.first_track + SPANS + index as u64;
        if self.span_tracks.insert(index) {
            let name = match index == self.workers {
                true => "messages of other threads".to_owned(),
                false => format!("messages of worker {index}"),
            };
            self.describe_spans(track, &name);
        }
        track
    }

    /// A track on which nothing overlaps with this time. Perfetto shows those of one name together.
    fn lane(&mut self, begin_ns: u64, end_ns: u64) -> u64 {
        // That which became free last.
        let free = self.lanes.range(..=(begin_ns, usize::MAX)).next_back().copied();
        let index = free.map_or(self.lanes.len(), |(_, index)| index);
        free.map(|lane| self.lanes.remove(&lane));
        self.lanes.insert((end_ns, index));
        let track = self.first_track + LANES + index as u64;
        if free.is_none() {
            self.describe_spans(track, "waits and events");
        }
        track
    }

    fn describe_spans(&mut self, track: u64, name: &str) {
        let process = self.first_track;
        self.describe(|it| {
            uint(1, track, it);
            text(2, name, it);
            uint(5, process, it);
        });
    }

    fn counter_track(&mut self, counter: Counter) -> u64 {
        if let Some(&track) = self.counters.get(&counter) {
            return track;
        }
        let process = self.first_track;
        let track = self.track(self.workers) + self.counters.len() as u64;
        self.counters.insert(counter, track);
        self.describe(|it| {
            uint(1, track, it);
            text(2, &counter.name(), it);
            uint(5, process, it);
            message(8, it, |unit| text(6, counter.unit(), unit));
        });
        track
    }
}

impl Format for Perfetto {
    fn begin(&mut self, head: &Head, out: &mut dyn Write) -> io::Result<()> {
        (self.begin_unix_ns, self.workers) = (head.begin_unix_ns, head.workers.len());
        let (process, sequence, at_ns) = (self.first_track, self.sequence, head.begin_unix_ns);
        message(1, &mut self.bytes, |packet| {
            message(6, packet, |snapshot| {
                for clock in [CLOCK_BOOT, CLOCK_REAL] {
                    message(1, snapshot, |it| {
                        uint(1, clock, it);
                        uint(2, at_ns, it);
                    });
                }
            });
            uint(10, sequence, packet);
            uint(13, STATE_CLEARED, packet);
            uint(87, true, packet);
        });
        self.describe(|it| {
            uint(1, process, it);
            message(3, it, |it| {
                uint(1, head.pid, it);
                text(6, &head.process, it);
                for (name, value) in &head.about {
                    text(8, &format!("{name}: {value}"), it);
                }
            });
        });
        for (worker, (thread, name)) in head.workers.iter().enumerate() {
            let track = self.track(worker);
            self.describe(|it| {
                uint(1, track, it);
                message(4, it, |it| {
                    uint(1, head.pid, it);
                    uint(2, *thread, it);
                    text(5, name, it);
                });
                uint(5, process, it);
            });
        }
        let about: Vec<_> = head
            .about
            .iter()
            .map(|(name, value)| (*name, Arg::Text(value.clone().into())))
            .collect();
        self.moment(process, 0, "clock begins", &about);
        self.flush(out)
    }

    fn records(
        &mut self,
        worker: usize,
        records: &[Record],
        texts: &Texts<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let track = self.track(worker);
        // Slices lie in each other: the outer one begins first, and ends last.
        let mut sorted: Vec<&Record> = records.iter().collect();
        sorted.sort_by_key(|it| (it.begin_ns, Reverse(it.took_ns)));
        let mut open: Vec<u64> = Vec::new();
        for record in sorted {
            while let Some(&end_ns) = open.last()
                && end_ns <= record.begin_ns
            {
                self.slice_end(track, end_ns);
                open.pop();
            }
            let Shown { category, name, is_slice, args } = Shown::of(record, texts);
            let kind = if is_slice { SLICE_BEGIN } else { INSTANT };
            let (category, name) = (Some(category), Some(&*name));
            let event = Event { kind, category, name, args: &args, flows: &[] };
            self.event(track, record.begin_ns, &event);
            if is_slice {
                let end_ns = record.begin_ns + record.took_ns;
                open.push(open.last().map_or(end_ns, |&outer| outer.min(end_ns)));
            }
        }
        while let Some(end_ns) = open.pop() {
            self.slice_end(track, end_ns);
        }
        self.flush(out)
    }

    fn lost(
        &mut self,
        worker: usize,
        at_ns: u64,
        lost: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.moment(self.track(worker), at_ns, "records lost", &[("lost", Arg::Number(lost))]);
        self.flush(out)
    }

    /// Sampled messages have tracks of their own, beside those of the turns that they are part of;
    /// what overlaps has others.
    fn span(&mut self, span: &Span, out: &mut dyn Write) -> io::Result<()> {
        let span = ShownSpan::of(span, self.workers);
        let category = Some("span");
        let mut flows = Vec::new();
        let track = match span.sent {
            Some((from, sent_ns)) => {
                let (track, begins) = (self.span_track(from), [(FLOW_BEGINS, span.id)]);
                let name = Some("send");
                let send = Event { kind: INSTANT, category, name, args: &[], flows: &begins };
                self.event(track, sent_ns, &send);
                // What it sends to other nodes knows its id. Most arrows that begin here end
                // nowhere.
                flows = vec![(FLOW_ENDS, span.id), (FLOW_BEGINS, far(span.id))];
                self.span_track(span.track)
            }
            None => self.lane(span.begin_ns, span.end_ns),
        };
        flows.extend(span.far_parent.map(|parent| (FLOW_ENDS, far(parent))));
        let name = Some(&*span.name);
        let begin = Event { kind: SLICE_BEGIN, category, name, args: &span.args, flows: &flows };
        self.event(track, span.begin_ns, &begin);
        self.slice_end(track, span.end_ns);
        self.flush(out)
    }

    fn counter(
        &mut self,
        counter: Counter,
        at_ns: u64,
        value: f64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (track, at_ns) = (self.counter_track(counter), self.unix_ns(at_ns));
        let sequence = self.sequence;
        message(1, &mut self.bytes, |packet| {
            uint(8, at_ns, packet);
            uint(10, sequence, packet);
            message(11, packet, |it| {
                uint(9, COUNTER, it);
                uint(11, track, it);
                double(44, value, it);
            });
        });
        self.flush(out)
    }

    fn end(&mut self, at_ns: u64, lost: u64, out: &mut dyn Write) -> io::Result<()> {
        let args = [("records lost", Arg::Number(lost))];
        self.moment(self.first_track, at_ns, "trace ends", &args);
        self.flush(out)
    }
}

#[cfg(test)]
#[path = "../../tests/all/perfetto_schema.rs"]
mod schema;

#[cfg(test)]
mod tests {
    use super::schema::Trace;
    use super::*;
    use actinium_actor::recording::Act;
    use prost::Message;

    /// The kind of each event of a trace.
    fn kinds(trace: &[u8]) -> Vec<i32> {
        let packets = Trace::decode(trace).expect("it is a trace").packet;
        let events = packets.into_iter().filter_map(|packet| packet.track_event);
        events.filter_map(|event| event.r#type).collect()
    }

    #[test]
    fn slices_in_each_other_end_the_other_way_round() {
        let record = |begin_ns, took_ns| Record { begin_ns, took_ns, act: Act::Sleep };
        // In the order in which they ended: one inside, one that begins with it and lasts longer,
        // and one right behind.
        let records = [record(1_000, 5), record(1_000, 20), record(1_020, 7)];
        let mut out = Vec::new();
        let mut format = Perfetto::new();
        format.records(0, &records, &|_| "".into(), &mut out).expect("memory takes all");
        let (begin, end) = (SLICE_BEGIN as i32, SLICE_END as i32);
        assert_eq!(kinds(&out), [begin, begin, end, end, begin, end]);
    }
}
