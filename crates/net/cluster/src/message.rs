//! The content of a frame: messages one behind the other, each with its kind and its length.

use crate::codec::{CodecError, NODES, decode, encode};
use crate::denial::Denial;
use crate::link::HEADER_BYTES;
use actinium_scheduler::trace::TraceContext;
use actinium_wire::Encoding;
use serde::{Deserialize, Serialize};

/// Names an exported actor of one incarnation of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct ActorKey {
    /// The place in the table of exports, which only grows.
    pub(crate) index: u32,
    /// Tells the actors apart that have been in this place, in all incarnations of the node.
    pub(crate) generation: u32,
}

/// Names a handle that a node has given away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct HandleKey {
    /// Which handle: never used again in this incarnation of the node.
    pub(crate) serial: u64,
    /// What those know who were given it.
    pub(crate) secret: u64,
}

/// Marks the serial number of the handle that any exported actor has, beside those that are given
/// away: its place follows.
const EXPORTED: u64 = 1 << 63;

/// Marks the serial number of the handle of an actor that moves: its own number follows.
const MOVABLE: u64 = 1 << 62;

impl HandleKey {
    /// The handle of an exported actor.
    pub(crate) fn of_exported(key: ActorKey) -> Self {
        HandleKey { serial: EXPORTED | u64::from(key.index), secret: key.generation.into() }
    }

    /// The exported actor whose handle this is, if it is one's.
    pub(crate) fn exported(self) -> Option<ActorKey> {
        let index = u32::try_from(self.serial.checked_sub(EXPORTED)?).ok()?;
        Some(ActorKey { index, generation: u32::try_from(self.secret).ok()? })
    }

    /// The handle of an actor that moves: the hash of its kind, and its number.
    pub(crate) fn of_movable(kind: u64, serial: u64) -> Self {
        HandleKey { serial: MOVABLE | serial & (MOVABLE - 1), secret: kind }
    }

    /// The actor that moves whose handle this is, if it is one's: the hash of its kind, and its
    /// number.
    pub(crate) fn movable(self) -> Option<(u64, u64)> {
        let is_movable = self.serial & (EXPORTED | MOVABLE) == MOVABLE;
        is_movable.then_some((self.secret, self.serial & (MOVABLE - 1)))
    }
}

/// One message of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// For an actor.
    Tell(ActorKey, Encoding, &'a [u8]),
    /// For an actor, together with bytes that are still at the sender's.
    TellWith(ActorKey, Encoding, Offer, &'a [u8]),
    /// For an actor, which is to answer this request in the same encoding.
    Ask(ActorKey, u64, Encoding, &'a [u8]),
    /// For the actor of a handle.
    TellTo(HandleKey, Encoding, &'a [u8]),
    /// For the actor of a handle, which is to answer this request in the same encoding.
    AskTo(HandleKey, u64, Encoding, &'a [u8]),
    /// The answer by a reply handle, in this encoding; None: there is none.
    Reply(HandleKey, Encoding, Option<&'a [u8]>),
    /// The answer to a request, if there is one: whoever asked knows its encoding.
    Answer(u64, Result<&'a [u8], Unanswered>),
    /// Between the nodes themselves.
    Control(Control),
    /// In a grid: messages between two nodes of which one at least is not at this link.
    Envelope(Envelope<'a>),
}

/// Messages from a node to another one that is no neighbour of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    pub(crate) to: u32,
    pub(crate) from: u32,
    /// The number of times that it was handed on.
    pub(crate) hops: u8,
    /// The receiver's incarnation of the two nodes' session.
    pub(crate) to_incarnation: u64,
    /// Messages of the session before these.
    pub(crate) number: u64,
    /// How many these are. 0: it is a [`SessionSay`].
    pub(crate) messages: u32,
    /// Whether payloads belong to some of them.
    pub(crate) has_offers: bool,
    pub(crate) payload: &'a [u8],
}

/// A word of one node to another that is no neighbour about their session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SessionSay {
    /// "This is my incarnation, and that is yours as far as I know (else 0); and whether I am up."
    Hello { from_incarnation: u64, to_incarnation: u64, is_up: bool },
    /// "So many messages I have sent, so many of yours have come or are lost, and so many of these
    /// are lost"; and whether that asks for the same.
    Count { sent: u64, received: u64, lost: u64, asks: bool },
    /// "I leave."
    Bye { from_incarnation: u64 },
}

/// Bytes that a message belongs to, which its sender keeps until the message is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Which incarnation of the sender's node.
    pub(crate) incarnation: u64,
    /// Which of that incarnation's offers to this node.
    pub(crate) id: u64,
    pub(crate) bytes: u64,
}

/// The reason for which a request was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The actor has ended, or never was.
    Closed,
    /// The actor dropped the request, or its answer has no bytes.
    NoReply,
    /// The request could not be read there.
    NotUnderstood,
    /// The asker may not ask that actor.
    Denied,
    /// Too many of the asker's requests are open.
    TooMany,
}

/// A word of one node to another, in contrast to messages of actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Control {
    /// "Who has this name?" The answer is a [`Found`]. The hello, encoded by itself, says what the
    /// asker knows of the actor's type. Whether to wait with the answer until somebody has it.
    Lookup { request: u64, name: String, hello: Vec<u8>, wait: bool },
    /// "Tell me when it ends."
    Watch { watch: u64, key: ActorKey },
    /// "It has ended", and why, and whether that was no end that somebody wanted.
    Ended { watch: u64, reason: String, is_abnormal: bool },
    /// "Start an actor of this type." The answer is a [`Found`]. The hello, encoded by itself as
    /// the arguments are, says what the asker knows of the type and of what it is made of.
    Spawn { request: u64, hello: Vec<u8>, args: Vec<u8> },
    /// "It is to end": when its mailbox is empty, or now.
    Stop { key: ActorKey, now: bool },
    /// "It is to end when you no longer hear of me."
    Adopt { key: ActorKey },
    /// In a grid: "these nodes I reach", one bit each.
    Reach { nodes: Vec<u8> },
    /// In a grid: "all nodes up to so many hops from me, less one, are about to leave and have
    /// nothing under way."
    Leaving { level: u32 },
    /// "A message of yours is lost, because so many bytes of its payload did not come here", and
    /// why.
    PayloadLost { bytes: u64, why: String },
    /// "So many messages of yours were for actors that are not here (any more)."
    Misaddressed { messages: u64 },
    /// "You may not do that", with an actor of this number, and how often you have tried. So told
    /// now and then only.
    Denied { what: Denial, index: Option<u32>, times: u64 },
    /// "You may not watch that", each time.
    NotWatched { watch: u64 },
    /// "Tell me when the actor of this handle ends."
    WatchHandle { watch: u64, handle: HandleKey },
    /// "I no longer want to know that."
    UnwatchHandle { watch: u64, handle: HandleKey },
    /// "The actor of this handle has ended": the answer to a message for it.
    HandleEnded { handle: HandleKey },
}

/// The answer to [`Control::Lookup`] and [`Control::Spawn`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Found {
    /// This one, and how messages to it travel. What is to be said of that.
    Actor {
        key: ActorKey,
        /// The number of actors that have the name: this one, and those behind it in the table.
        count: u32,
        encoding: Encoding,
        remarks: Vec<String>,
    },
    NoSuchName,
    /// The actor has another type: this one.
    OtherKind(String),
    /// The actor has this type, but the two nodes' ideas of its messages differ too much. The text
    /// says where.
    Incompatible(String),
    /// No actors of this type are started here for others.
    NotRegistered,
    /// The actor was to be started, and was not. The text says why.
    NotStarted(String),
    /// This number of actors that other nodes have started live here already.
    AtCapacity(u64),
}

const TELL: u8 = 0;
const ASK: u8 = 1;
const ANSWER: u8 = 2;
const CONTROL: u8 = 3;
const ENVELOPE: u8 = 4;

/// Beside the number of hops of an envelope: payloads belong to its messages.
const HAS_OFFERS: u8 = 1 << 7;

/// The bytes that an envelope adds to its content, its head included.
pub(crate) const ENVELOPE_BYTES: usize = HEAD_BYTES + 29;
const TELL_WITH: u8 = 5;
const TELL_TO: u8 = 6;
const ASK_TO: u8 = 7;
const REPLY: u8 = 8;
/// A message that is part of a trace: the context, and the message.
const TRACED: u8 = 9;

/// The encoding stands above the kind.
const ENCODING_FROM_BIT: u32 = 4;
/// The bits of the kind.
const KIND: u8 = (1 << ENCODING_FROM_BIT) - 1;

/// Kind with encoding, and length.
const HEAD_BYTES: usize = 5;

fn with_head(
    kind: u8,
    encoding: Encoding,
    into: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    let start = into.len();
    into.extend_from_slice(&[kind | encoding.id() << ENCODING_FROM_BIT, 0, 0, 0, 0]);
    body(into)?;
    // A frame is far shorter than 4 GiB: the aggregator sees to that.
    let len = (into.len() - start - HEAD_BYTES) as u32;
    into[start + 1..start + HEAD_BYTES].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

/// Makes a message part of a trace. It stays one message.
#[cold]
pub(crate) fn traced(context: TraceContext, message: &[u8]) -> Vec<u8> {
    let mut into = Vec::with_capacity(HEAD_BYTES + TraceContext::BYTES + message.len());
    let written = with_head(TRACED, NODES, &mut into, |into| {
        into.extend_from_slice(&context.to_bytes());
        into.extend_from_slice(message);
        Ok(())
    });
    debug_assert_eq!(written, Ok(()));
    into
}

fn put_key(key: ActorKey, into: &mut Vec<u8>) {
    into.extend_from_slice(&key.index.to_le_bytes());
    into.extend_from_slice(&key.generation.to_le_bytes());
}

/// Appends a message for an actor.
pub(crate) fn tell<T: Serialize>(
    key: ActorKey,
    encoding: Encoding,
    message: &T,
    into: &mut Vec<u8>,
) -> Result<(), CodecError> {
    with_head(TELL, encoding, into, |into| {
        put_key(key, into);
        encode(encoding, message, into)
    })
}

/// Appends a message for an actor that belongs to offered bytes.
pub(crate) fn tell_with<T: Serialize>(
    key: ActorKey,
    encoding: Encoding,
    offer: Offer,
    message: &T,
    into: &mut Vec<u8>,
) -> Result<(), CodecError> {
    with_head(TELL_WITH, encoding, into, |into| {
        put_key(key, into);
        for word in [offer.incarnation, offer.id, offer.bytes] {
            into.extend_from_slice(&word.to_le_bytes());
        }
        encode(encoding, message, into)
    })
}

/// Appends a request to an actor.
pub(crate) fn ask<T: Serialize>(
    key: ActorKey,
    request: u64,
    encoding: Encoding,
    message: &T,
    into: &mut Vec<u8>,
) -> Result<(), CodecError> {
    with_head(ASK, encoding, into, |into| {
        put_key(key, into);
        into.extend_from_slice(&request.to_le_bytes());
        encode(encoding, message, into)
    })
}

fn put_handle(handle: HandleKey, into: &mut Vec<u8>) {
    into.extend_from_slice(&handle.serial.to_le_bytes());
    into.extend_from_slice(&handle.secret.to_le_bytes());
}

/// Appends a message for the actor of a handle, whose bytes `write` appends.
pub(crate) fn tell_to(
    handle: HandleKey,
    encoding: Encoding,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    into: &mut Vec<u8>,
) -> Result<(), CodecError> {
    with_head(TELL_TO, encoding, into, |into| {
        put_handle(handle, into);
        write(into)
    })
}

/// Appends a request to the actor of a handle, whose bytes `write` appends.
pub(crate) fn ask_to(
    handle: HandleKey,
    request: u64,
    encoding: Encoding,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
    into: &mut Vec<u8>,
) -> Result<(), CodecError> {
    with_head(ASK_TO, encoding, into, |into| {
        put_handle(handle, into);
        into.extend_from_slice(&request.to_le_bytes());
        write(into)
    })
}

/// Appends the answer by a reply handle, if there is one.
pub(crate) fn reply(
    handle: HandleKey,
    encoding: Encoding,
    answer: Option<&[u8]>,
    into: &mut Vec<u8>,
) {
    let written = with_head(REPLY, encoding, into, |into| {
        put_handle(handle, into);
        into.push(answer.is_some().into());
        into.extend_from_slice(answer.unwrap_or_default());
        Ok(())
    });
    debug_assert_eq!(written, Ok(()));
}

/// Appends an answer that is bytes already.
pub(crate) fn answer(request: u64, answer: Result<&[u8], Unanswered>, into: &mut Vec<u8>) {
    let written = with_head(ANSWER, NODES, into, |into| {
        into.extend_from_slice(&request.to_le_bytes());
        match answer {
            Ok(bytes) => {
                into.push(0);
                into.extend_from_slice(bytes);
            }
            Err(Unanswered::Closed) => into.push(1),
            Err(Unanswered::NoReply) => into.push(2),
            Err(Unanswered::NotUnderstood) => into.push(3),
            Err(Unanswered::Denied) => into.push(4),
            Err(Unanswered::TooMany) => into.push(5),
        }
        Ok(())
    });
    debug_assert_eq!(written, Ok(()));
}

/// Appends what a node says.
pub(crate) fn control(control: &Control, into: &mut Vec<u8>) -> Result<(), CodecError> {
    with_head(CONTROL, NODES, into, |into| encode(NODES, control, into))
}

/// Appends messages for a node that is no neighbour.
pub(crate) fn envelope(envelope: &Envelope<'_>, into: &mut Vec<u8>) {
    let written = with_head(ENVELOPE, NODES, into, |into| {
        into.extend_from_slice(&envelope.to.to_le_bytes());
        into.extend_from_slice(&envelope.from.to_le_bytes());
        into.push(envelope.hops & !HAS_OFFERS | if envelope.has_offers { HAS_OFFERS } else { 0 });
        into.extend_from_slice(&envelope.to_incarnation.to_le_bytes());
        into.extend_from_slice(&envelope.number.to_le_bytes());
        into.extend_from_slice(&envelope.messages.to_le_bytes());
        into.extend_from_slice(envelope.payload);
        Ok(())
    });
    debug_assert_eq!(written, Ok(()));
}

fn read_envelope(body: &[u8]) -> Option<Envelope<'_>> {
    let (to, body) = body.split_first_chunk::<4>()?;
    let (from, body) = body.split_first_chunk::<4>()?;
    let (&hops, body) = body.split_first()?;
    let (to_incarnation, body) = body.split_first_chunk::<8>()?;
    let (number, body) = body.split_first_chunk::<8>()?;
    let (messages, payload) = body.split_first_chunk::<4>()?;
    Some(Envelope {
        to: u32::from_le_bytes(*to),
        from: u32::from_le_bytes(*from),
        hops: hops & !HAS_OFFERS,
        has_offers: hops & HAS_OFFERS != 0,
        to_incarnation: u64::from_le_bytes(*to_incarnation),
        number: u64::from_le_bytes(*number),
        messages: u32::from_le_bytes(*messages),
        payload,
    })
}

/// Calls `each` for what lies in a frame's payload, in order. False if it is no sequence of
/// messages; those before the fault were read.
pub(crate) fn read<'a>(payload: &'a [u8], mut each: impl FnMut(Item<'a>)) -> bool {
    read_traced(payload, |_, item| each(item))
}

/// Reads like [`read`], with the traces that messages are part of.
pub(crate) fn read_traced<'a>(
    mut payload: &'a [u8],
    mut each: impl FnMut(Option<TraceContext>, Item<'a>),
) -> bool {
    while !payload.is_empty() {
        let Some((context, item, rest)) = read_one_traced(payload) else { return false };
        each(context, item);
        payload = rest;
    }
    true
}

/// A message for an actor, and what is behind it, if that is what comes first: what most messages
/// are.
#[inline(always)]
pub(crate) fn read_tell(payload: &[u8]) -> Option<(ActorKey, Encoding, &[u8], &[u8])> {
    let (TELL, encoding, body, rest) = read_head(payload)? else { return None };
    let (key, body) = read_key(body)?;
    Some((key, encoding, body, rest))
}

/// The kind of the first message, its encoding and its body, and what is behind it.
#[inline(always)]
fn read_head(payload: &[u8]) -> Option<(u8, Encoding, &[u8], &[u8])> {
    let (&[kind, a, b, c, d], rest) = payload.split_first_chunk::<HEAD_BYTES>()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes([a, b, c, d]) as usize)?;
    let encoding = Encoding::of_id(kind >> ENCODING_FROM_BIT)?;
    Some((kind & KIND, encoding, body, rest))
}

/// The first message, and what is behind it; None if there is none.
pub(crate) fn read_one(payload: &[u8]) -> Option<(Item<'_>, &[u8])> {
    read_one_traced(payload).map(|(_, item, rest)| (item, rest))
}

/// The first message with the trace that it is part of, and what is behind it; None if there is
/// none.
pub(crate) fn read_one_traced(payload: &[u8]) -> Option<(Option<TraceContext>, Item<'_>, &[u8])> {
    if payload.first().is_none_or(|kind| kind & KIND != TRACED) {
        return read_plain(payload).map(|(item, rest)| (None, item, rest));
    }
    let (_, _, body, rest) = read_head(payload)?;
    let (context, message) = body.split_first_chunk()?;
    // One message, and none in it that is part of another trace.
    let (item, []) = read_plain(message)? else { return None };
    // A context that is none loses no message.
    Some((TraceContext::from_bytes(context), item, rest))
}

fn read_plain(payload: &[u8]) -> Option<(Item<'_>, &[u8])> {
    if let Some((key, encoding, message, rest)) = read_tell(payload) {
        return Some((Item::Tell(key, encoding, message), rest));
    }
    let (kind, encoding, body, rest) = read_head(payload)?;
    let item = match kind {
        TELL_WITH => {
            let (key, body) = read_key(body)?;
            let (words, body) = body.split_first_chunk::<24>()?;
            let (words, _) = words.as_chunks();
            let word = |index: usize| u64::from_le_bytes(words[index]);
            let offer = Offer { incarnation: word(0), id: word(1), bytes: word(2) };
            Item::TellWith(key, encoding, offer, body)
        }
        ASK => {
            let (key, body) = read_key(body)?;
            let (request, body) = body.split_first_chunk::<8>()?;
            Item::Ask(key, u64::from_le_bytes(*request), encoding, body)
        }
        TELL_TO => {
            let (handle, body) = read_handle(body)?;
            Item::TellTo(handle, encoding, body)
        }
        ASK_TO => {
            let (handle, body) = read_handle(body)?;
            let (request, body) = body.split_first_chunk::<8>()?;
            Item::AskTo(handle, u64::from_le_bytes(*request), encoding, body)
        }
        REPLY => {
            let (handle, body) = read_handle(body)?;
            let (status, body) = body.split_first()?;
            let answer = match status {
                0 => None,
                1 => Some(body),
                _ => return None,
            };
            Item::Reply(handle, encoding, answer)
        }
        ANSWER => {
            let (request, body) = body.split_first_chunk::<8>()?;
            let (status, body) = body.split_first()?;
            let answer = match status {
                0 => Ok(body),
                1 => Err(Unanswered::Closed),
                2 => Err(Unanswered::NoReply),
                3 => Err(Unanswered::NotUnderstood),
                4 => Err(Unanswered::Denied),
                5 => Err(Unanswered::TooMany),
                _ => return None,
            };
            Item::Answer(u64::from_le_bytes(*request), answer)
        }
        CONTROL => Item::Control(decode(NODES, body).ok()?),
        ENVELOPE => Item::Envelope(read_envelope(body)?),
        _ => return None,
    };
    Some((item, rest))
}

#[inline(always)]
fn read_key(body: &[u8]) -> Option<(ActorKey, &[u8])> {
    let (index, body) = body.split_first_chunk::<4>()?;
    let (generation, body) = body.split_first_chunk::<4>()?;
    let key =
        ActorKey { index: u32::from_le_bytes(*index), generation: u32::from_le_bytes(*generation) };
    Some((key, body))
}

fn read_handle(body: &[u8]) -> Option<(HandleKey, &[u8])> {
    let (serial, body) = body.split_first_chunk::<8>()?;
    let (secret, body) = body.split_first_chunk::<8>()?;
    let (serial, secret) = (u64::from_le_bytes(*serial), u64::from_le_bytes(*secret));
    Some((HandleKey { serial, secret }, body))
}

/// Reads a whole frame that never left, like [`read`].
pub(crate) fn read_unsent<'a>(frame: &'a [u8], each: impl FnMut(Item<'a>)) {
    read(frame.get(HEADER_BYTES..).unwrap_or_default(), each);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: ActorKey = ActorKey { index: 3, generation: 9 };
    const HANDLE: HandleKey = HandleKey { serial: 7, secret: u64::MAX - 1 };
    const OFFER: Offer = Offer { incarnation: 1, id: 2, bytes: u64::MAX };

    const ENVELOPE: Envelope<'_> = Envelope {
        to: 1,
        from: 70_000,
        hops: 2,
        to_incarnation: u64::MAX,
        number: 5,
        messages: 3,
        has_offers: true,
        payload: &[1, 2],
    };

    fn frame() -> Vec<u8> {
        let mut bytes = Vec::new();
        tell(KEY, Encoding::Text, &5_u32, &mut bytes).unwrap();
        tell_with(KEY, NODES, OFFER, &6_u8, &mut bytes).unwrap();
        ask(KEY, 77, NODES, &"why", &mut bytes).unwrap();
        answer(77, Ok(&[1, 2]), &mut bytes);
        answer(78, Err(Unanswered::NoReply), &mut bytes);
        control(&Control::Watch { watch: 4, key: KEY }, &mut bytes).unwrap();
        let write = |into: &mut Vec<u8>| encode(NODES, &8_u8, into);
        tell_to(HANDLE, NODES, write, &mut bytes).unwrap();
        ask_to(HANDLE, 79, Encoding::Text, write, &mut bytes).unwrap();
        reply(HANDLE, Encoding::Text, Some(&[7]), &mut bytes);
        reply(HANDLE, NODES, None, &mut bytes);
        envelope(&ENVELOPE, &mut bytes);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = frame();
        let mut items = Vec::new();
        assert!(read(&bytes, |item| items.push(item)));
        let expected = [
            Item::Tell(KEY, Encoding::Text, b"5\n"),
            Item::TellWith(KEY, NODES, OFFER, &[6]),
            Item::Ask(KEY, 77, NODES, &[3, b'w', b'h', b'y']),
            Item::Answer(77, Ok(&[1, 2])),
            Item::Answer(78, Err(Unanswered::NoReply)),
            Item::Control(Control::Watch { watch: 4, key: KEY }),
            Item::TellTo(HANDLE, NODES, &[8]),
            Item::AskTo(HANDLE, 79, Encoding::Text, &[8]),
            Item::Reply(HANDLE, Encoding::Text, Some(&[7])),
            Item::Reply(HANDLE, NODES, None),
            Item::Envelope(ENVELOPE),
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn a_traced_message_is_one_message_with_its_context() {
        let context = TraceContext::new(7, 8, true).unwrap();
        let (mut told, mut bytes) = (Vec::new(), Vec::new());
        tell(KEY, Encoding::Text, &5_u32, &mut told).unwrap();
        bytes.extend(traced(context, &told));
        bytes.extend(&told);
        let mut items = Vec::new();
        assert!(read_traced(&bytes, |context, item| items.push((context, item))));
        let item = || Item::Tell(KEY, Encoding::Text, b"5\n");
        assert_eq!(items, [(Some(context), item()), (None, item())]);
        // One in another is none, and neither are two in one.
        assert!(read_one(&traced(context, &traced(context, &told))).is_none());
        assert!(read_one(&traced(context, &[&told[..], &told].concat())).is_none());
        assert!(read_one(&traced(context, &[])).is_none());
    }

    proptest! {
        #[test]
        fn no_garbage_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            read(&bytes, |_| {});
        }

        #[test]
        fn a_frame_cut_short_is_noticed(len in 1..frame().len()) {
            let bytes = frame();
            let mut items = 0;
            let whole = read(&bytes[..len], |_| items += 1);
            // Unless it was cut between two messages.
            prop_assert!(!whole || items < 11);
        }
    }
}
