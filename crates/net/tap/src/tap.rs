//! Somebody who looks at messages.

use crate::filter::TapFilter;
use crate::queue::{Missed, Queue, Waiting, What};
use crate::tapped::Tapped;
use crate::world::{add_to_all, remove_from_all};
use actinium_scheduler::guard;
use actinium_wire::schema::ValidSchema;
use actinium_wire::{Encoding, Limits, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Most types whose descriptions a tap keeps.
const SCHEMAS_MAX: usize = 1_024;

/// Gets the messages that its filter lets through, until it is dropped.
pub struct Tap {
    queue: Arc<Queue>,
    /// What is known of the types of messages; an error if their description is of no use.
    schemas: HashMap<(String, What), Result<ValidSchema<'static>, String>>,
}

impl Tap {
    /// Looks at all messages that nodes and gateways of this process send and receive from now on.
    #[must_use]
    pub fn open(filter: TapFilter) -> Self {
        let queue = Arc::new(Queue::new(filter));
        add_to_all(&queue);
        Tap::new(queue)
    }

    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Tap { queue, schemas: HashMap::new() }
    }

    /// The next message, if one waits.
    pub fn try_next(&mut self) -> Option<Tapped> {
        self.next_within(Duration::ZERO)
    }

    /// The next message, if it comes within this time.
    pub fn next_within(&mut self, within: Duration) -> Option<Tapped> {
        loop {
            let waiting = self.queue.next(within)?;
            let tapped = self.read(waiting);
            let variants = &self.queue.filter.variants;
            if variants.is_empty() || variants.iter().any(|it| Some(it) == tapped.variant.as_ref())
            {
                return Some(tapped);
            }
        }
    }

    /// What it does not get, though its filter lets it through.
    #[must_use]
    pub fn missed(&self) -> Missed {
        self.queue.missed()
    }

    fn read(&mut self, waiting: Waiting) -> Tapped {
        let Waiting { unix_ns, point, direction, what, peer, kind, encoding, len, .. } = &waiting;
        let read = self.value(&waiting);
        let variant = read.as_ref().ok().and_then(|value| value.variant()).map(str::to_owned);
        let contents = self.queue.filter.contents.then(|| read.and_then(|value| text(&value)));
        Tapped {
            unix_ns: *unix_ns,
            at: point.clone(),
            direction: *direction,
            what: *what,
            peer: peer.clone(),
            kind: kind.clone(),
            variant,
            encoding: encoding.name().to_owned(),
            bytes: *len,
            problem: contents.as_ref().and_then(|it| it.as_ref().err().cloned()),
            contents: contents.and_then(Result::ok),
        }
    }

    fn value(&mut self, waiting: &Waiting) -> Result<Value, String> {
        let Waiting { kind, what, schema, encoding, bytes, len, .. } = waiting;
        let Some(bytes) = bytes else {
            let most = self.queue.filter.max_bytes;
            return Err(format!("{len} bytes are more than the {most} that are read"));
        };
        let limits = Limits { frame_bytes: bytes.len().max(1), ..Limits::default() };
        let Some(describe) = schema else {
            let value = Value::decode_any(*encoding, bytes, &limits);
            return value.map_err(|error| error.to_string());
        };
        if self.schemas.len() >= SCHEMAS_MAX {
            self.schemas.clear();
        }
        let known = self.schemas.entry((kind.clone(), *what)).or_insert_with(|| {
            // The program's own code.
            let schema = guard::catch(describe).map_err(|panic| panic.message().to_owned())?;
            schema.into_valid().map_err(|fault| fault.to_string())
        });
        let schema = known.as_ref().map_err(Clone::clone)?;
        Value::decode(*encoding, bytes, schema, &limits).map_err(|error| error.to_string())
    }
}

fn text(value: &Value) -> Result<serde_json::Value, String> {
    let mut text = Vec::new();
    value.encode(Encoding::Text, &mut text).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

impl Drop for Tap {
    fn drop(&mut self) {
        remove_from_all(&self.queue);
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").field("filter", &self.queue.filter).finish_non_exhaustive()
    }
}
