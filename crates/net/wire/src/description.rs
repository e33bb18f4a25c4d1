//! A protocol as data: what those need who are not written in Rust.

use crate::protocol::Spoken;
use crate::schema::Schema;
use serde::{Deserialize, Serialize};

/// A protocol as data: its messages, their senders, and the states that allow them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// The messages: an enum. Its name and version are the protocol's.
    pub schema: Schema,
    /// The names of the two parties.
    pub parties: [String; 2],
    /// The first is where it begins, the last is the end.
    pub states: Vec<DescribedState>,
    /// The messages, in the order of the enum.
    pub words: Vec<DescribedWord>,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedState {
    /// The name.
    pub name: String,
    /// How long one waits in it, in milliseconds.
    pub within_ms: Option<u64>,
    /// Whether a request is open.
    pub asked: bool,
    /// For each message, the state after it; none, if it is not allowed.
    pub next: Vec<Option<usize>>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedWord {
    /// The name.
    pub name: String,
    /// The party that says it, as an index into [`Description::parties`].
    pub from: u8,
}

impl Description {
    /// Describes the protocol with these messages.
    #[must_use]
    pub fn of<M: Spoken>() -> Self {
        let model = M::MODEL;
        let rows = model.next.chunks(model.words.len().max(1));
        let states = model.states.iter().zip(rows).map(|(state, row)| DescribedState {
            name: state.name.to_owned(),
            within_ms: state.within.map(|within| within.as_millis() as u64),
            asked: state.asked,
            next: row.iter().map(|next| (*next != u8::MAX).then_some(usize::from(*next))).collect(),
        });
        let words = model
            .words
            .iter()
            .map(|word| DescribedWord { name: word.name.to_owned(), from: word.from });
        Description {
            schema: M::schema(),
            parties: model.parties.map(str::to_owned),
            states: states.collect(),
            words: words.collect(),
        }
    }

    /// Returns the response to a message, if it is a request: the one message that may follow it.
    #[must_use]
    pub fn response(&self, word: usize) -> Option<&DescribedWord> {
        let after = |state: &DescribedState| state.next.get(word).copied().flatten();
        let asked = self
            .states
            .iter()
            .filter_map(after)
            .find_map(|state| self.states.get(state).filter(|state| state.asked))?;
        self.words.get(asked.next.iter().position(Option::is_some)?)
    }
}
