//! What bytes stand for: numbers that are near what makes sense, and messages of each kind.

use super::world::Worker;
use crate::liar::{Control, Found, Key, answer, ask, control, envelope, item, tell, tell_with};
use actinium_cluster::link::VERSION;
use actinium_cluster::{Denial, RemoteActor};
use actinium_wire::Encoding;
use actinium_wire::hello::Hello;
use actinium_wire::schema::Schema;

/// Bytes of the input, one after the other; zeros when it is over.
pub(super) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// One of so many.
    pub(super) fn pick(&mut self, of: usize) -> usize {
        usize::from(self.byte()) % of
    }

    /// A number: near this one mostly, or small, near the end of the range, or any.
    pub(super) fn number(&mut self, near: u64) -> u64 {
        match self.byte() {
            0..=99 => near,
            off @ 100..=149 => near.wrapping_add(u64::from(off)).wrapping_sub(125),
            small @ 150..=199 => u64::from(small - 150),
            less @ 200..=224 => u64::MAX - u64::from(less - 200),
            less @ 225..=249 => (1 << 63) - u64::from(less - 225),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    pub(super) fn bytes(&mut self) -> Vec<u8> {
        let len = self.pick(64).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes.to_vec()
    }

    /// The same with other bytes in it, cut short, or longer; as it is, now and then. What is
    /// before `from` stays.
    pub(super) fn spoil(&mut self, what: &mut Vec<u8>, from: usize) {
        for _ in 0..self.pick(4) {
            let (at, byte) =
                (self.number(u64::from(self.0.first().copied().unwrap_or(0))), self.byte());
            if let Some(rest) = what.len().checked_sub(from + 1) {
                what[from + (at % (rest as u64 + 1)) as usize] = byte;
            }
        }
        match self.pick(8) {
            0 => what.truncate(self.pick(what.len() + 1).max(from)),
            1 => what.extend(self.bytes()),
            _ => {}
        }
    }

    /// An actor of the node, mostly.
    pub(super) fn key(&mut self) -> Key {
        let index = match self.byte() {
            255 => self.number(0) as u32,
            small => u32::from(small % 12),
        };
        Key { index, life: self.number(1) as u32 }
    }

    fn name(&mut self) -> String {
        const NAMES: [&str; 9] = [
            "usual",
            "none",
            "all",
            "busy",
            "late",
            "actinium.names",
            "actinium.shards.shares",
            "",
            "nobody",
        ];
        match self.byte() {
            200.. => String::from_utf8_lossy(&self.bytes()).into_owned(),
            known => NAMES[usize::from(known) % NAMES.len()].to_owned(),
        }
    }

    /// What is said of an actor's type: the truth, mostly.
    fn hello(&mut self, with_args: bool) -> Vec<u8> {
        let mut hello = if with_args {
            hello_of(Schema::of::<(u64, u64, bool, u64)>(Worker::KIND, Worker::VERSION))
        } else {
            hello_of(Schema::of::<(u64, bool, u64)>(Worker::KIND, Worker::VERSION))
        };
        match self.byte() {
            240..=250 => self.spoil(&mut hello, 0),
            251.. => hello = self.bytes(),
            _ => {}
        }
        hello
    }

    fn denial(&mut self) -> Denial {
        [Denial::Ask, Denial::Watches, Denial::Sender][self.pick(3)]
    }

    fn found(&mut self) -> Found {
        match self.pick(10) {
            0 => Found::NoSuchName,
            1 => Found::OtherKind("other".to_owned()),
            2 => Found::Incompatible(String::from_utf8_lossy(&self.bytes()).into_owned()),
            3 => Found::NotRegistered,
            4 => Found::NotStarted("no".to_owned()),
            5 => Found::AtCapacity(self.number(0)),
            _ => {
                let (key, count) = (self.key(), self.number(1) as u32);
                let encoding = Encoding::ALL[self.pick(Encoding::ALL.len())];
                Found::Actor {
                    key,
                    count,
                    encoding,
                    remarks: vec!["remark".to_owned(); self.pick(3)],
                }
            }
        }
    }

    fn control(&mut self) -> Control {
        match self.pick(12) {
            0 => {
                let (request, name, hello) = (self.number(1), self.name(), self.hello(false));
                Control::Lookup { request, name, hello, wait: self.pick(2) == 1 }
            }
            1 => Control::Watch { watch: self.number(1), key: self.key() },
            2 => {
                let reason = String::from_utf8_lossy(&self.bytes()).into_owned();
                Control::Ended { watch: self.number(0), reason, is_abnormal: self.pick(2) == 1 }
            }
            3 => {
                let (request, hello) = (self.number(1), self.hello(true));
                let args = if self.pick(4) == 0 { self.bytes() } else { early(&7_u64) };
                Control::Spawn { request, hello, args }
            }
            4 => Control::Stop { key: self.key(), now: self.pick(2) == 1 },
            5 => Control::Adopt { key: self.key() },
            6 => Control::Reach { nodes: self.bytes() },
            7 => Control::Leaving { level: self.number(1) as u32 },
            8 => Control::PayloadLost { bytes: self.number(8), why: "lost".to_owned() },
            9 => Control::Misaddressed { messages: self.number(1) },
            10 => {
                let index = (self.pick(2) == 1).then(|| self.number(0) as u32);
                Control::Denied { what: self.denial(), index, times: self.number(1) }
            }
            _ => Control::NotWatched { watch: self.number(0) },
        }
    }

    /// A message. So deep in envelopes.
    pub(super) fn item(&mut self, depth: usize) -> Vec<u8> {
        match self.pick(14) {
            0 => tell(self.key(), &self.number(0)),
            1 => item(0, &[&self.key_bytes(), &self.bytes()]),
            2 => {
                let (key, life, id, len) =
                    (self.key(), self.number(5), self.number(6), self.number(8));
                tell_with(key, life, id, len, &1_u64)
            }
            3 => ask(self.key(), self.number(1), &(self.pick(2) == 1)),
            4 => answer(self.number(1), &self.number(7)),
            5 => answer(self.number(1), &self.found()),
            6 => item(2, &[&self.number(1).to_le_bytes(), &[self.byte()], &self.bytes()]),
            7 => item(1, &[&self.key_bytes(), &self.number(1).to_le_bytes(), &self.bytes()]),
            8 if depth < 3 => {
                let (to, from) = (self.pick(5) as u32, self.pick(5) as u32);
                let (to_incarnation, number, messages) =
                    (self.number(1), self.number(0), self.number(1) as u32);
                let inside = if self.pick(4) == 0 { self.bytes() } else { self.item(depth + 1) };
                envelope(to, from, to_incarnation, number, messages, &inside)
            }
            9 => item(self.byte() & 15, &[&self.bytes()]),
            _ => control(&self.control()),
        }
    }

    fn key_bytes(&mut self) -> Vec<u8> {
        let Key { index, life } = self.key();
        [index.to_le_bytes(), life.to_le_bytes()].concat()
    }
}

fn hello_of(schema: Schema) -> Vec<u8> {
    early(&Hello::with_schema(schema, &Encoding::ALL, false))
}

/// As it travels before the two nodes have negotiated how messages do.
fn early(what: &impl serde::Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    Encoding::SelfDescribing.encode(what, &mut bytes).expect("it has bytes");
    bytes
}

/// The fields of a frame that is changed: where its words begin, and how many there are.
pub(super) fn set_word(frame: &mut [u8], word: usize, value: u64) {
    if let Some(place) = frame.get_mut(8 + 8 * word..16 + 8 * word) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

pub(super) fn word(frame: &[u8], word: usize) -> u64 {
    frame
        .get(8 + 8 * word..16 + 8 * word)
        .map_or(0, |word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
}

/// As if it were of this protocol.
pub(super) fn with_magic(frame: &mut [u8], magic: [u8; 2]) {
    if let [a, b, version, ..] = frame {
        (*a, *b, *version) = (magic[0], magic[1], VERSION);
    }
}
