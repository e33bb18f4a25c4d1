//! A tree of values with places, which JSON and TOML are both turned into, and how a table of it is
//! asked.
//!
//! Whoever takes a table apart notes what is missing or of the wrong type and goes on, so that one
//! look finds all faults. What nobody has asked for by the end is a key that is not known.

use std::ops::{Range, RangeInclusive};

use super::fault::{Reporter, quoted, suggestion};
use actinium_scheduler::mixing::mix;

/// A value and the bytes that it stands in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) bytes: Range<usize>,
    pub(super) value: Value,
}

/// A value in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// A number, which may be NaN or an infinity.
    Number(f64),
    /// A whole number that an `f64` can not hold.
    Large(i128),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
    /// A date, which no workload has.
    Other(&'static str),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: usize,
    pub(super) node: Node,
}

impl Value {
    /// A whole number.
    pub(super) fn whole(number: i128) -> Self {
        let float = number as f64;
        if float as i128 == number { Value::Number(float) } else { Value::Large(number) }
    }
}

impl Node {
    pub(super) fn at(&self) -> usize {
        self.bytes.start
    }

    /// Mixes what is said here into a sum, without its place. The parser bounds how deep values
    /// may lie in each other.
    pub(super) fn digest(&self, sum: u64) -> u64 {
        let text =
            |sum, text: &str| text.bytes().fold(mix(sum, 1), |sum, byte| mix(sum, byte.into()));
        match &self.value {
            Value::Null => mix(sum, 2),
            Value::Bool(value) => mix(sum, 3 + u64::from(*value)),
            Value::Number(number) => mix(mix(sum, 5), number.to_bits()),
            Value::Large(number) => text(sum, &number.to_string()),
            Value::Text(value) => text(sum, value),
            Value::List(list) => list.iter().fold(mix(sum, 6), |sum, node| node.digest(sum)),
            Value::Table(entries) => entries
                .iter()
                .fold(mix(sum, 7), |sum, entry| entry.node.digest(text(sum, &entry.key))),
            Value::Other(kind) => text(sum, kind),
        }
    }

    /// How a message calls it.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Number(_) | Value::Large(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other(kind) => kind,
        }
    }

    /// The text, or a fault.
    pub(super) fn text(&self, what: &str, reporter: &mut Reporter<'_>) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => self.wrong(what, "a text", reporter),
        }
    }

    /// The number within these bounds, or a fault.
    pub(super) fn number(
        &self,
        what: &str,
        allowed: RangeInclusive<f64>,
        reporter: &mut Reporter<'_>,
    ) -> Option<f64> {
        let bounds = format!("a number from {} to {}", allowed.start(), allowed.end());
        match self.value {
            Value::Number(number) if allowed.contains(&number) => Some(number),
            Value::Number(number) => {
                reporter.error(self.at(), format!("{what} is {number}: it has to be {bounds}"));
                None
            }
            _ => self.wrong(what, &bounds, reporter),
        }
    }

    /// The whole number within these bounds, or a fault.
    pub(super) fn whole(
        &self,
        what: &str,
        allowed: RangeInclusive<u64>,
        reporter: &mut Reporter<'_>,
    ) -> Option<u64> {
        let bounds = format!("a whole number from {} to {}", allowed.start(), allowed.end());
        match self.value {
            Value::Number(number)
                if number.fract() == 0.0
                    && (*allowed.start() as f64..=*allowed.end() as f64).contains(&number) =>
            {
                Some(number as u64)
            }
            Value::Number(number) => {
                reporter.error(self.at(), format!("{what} is {number}: it has to be {bounds}"));
                None
            }
            _ => self.wrong(what, &bounds, reporter),
        }
    }

    /// The list, or a fault.
    pub(super) fn list(&self, what: &str, reporter: &mut Reporter<'_>) -> Option<&[Node]> {
        match &self.value {
            Value::List(list) => Some(list),
            _ => self.wrong(what, "a list", reporter),
        }
    }

    /// The entries of the table, or a fault.
    pub(super) fn entries(&self, what: &str, reporter: &mut Reporter<'_>) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => self.wrong(what, "a table", reporter),
        }
    }

    /// The table, to be asked, or a fault.
    pub(super) fn table(&self, what: String, reporter: &mut Reporter<'_>) -> Option<Table<'_>> {
        let entries = self.entries(&what, reporter)?;
        Some(Table { entries, at: self.at(), what, asked: Vec::new() })
    }

    pub(super) fn wrong<T>(
        &self,
        what: &str,
        right: &str,
        reporter: &mut Reporter<'_>,
    ) -> Option<T> {
        let kind = self.kind();
        reporter.error(self.at(), format!("{what} is {kind}: it has to be {right}"));
        None
    }
}

/// A table that is being taken apart.
#[derive(Debug)]
pub(super) struct Table<'n> {
    entries: &'n [Entry],
    at: usize,
    /// How messages call it: "module 'x'".
    pub(super) what: String,
    asked: Vec<&'static str>,
}

/// The treatment of a key that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// The format is ours: it was mistyped.
    Error,
    /// The format is somebody else's, who ignores it too.
    Warning,
}

impl<'n> Table<'n> {
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.asked.push(key);
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The value of a key that has to be there; `right` says what it has to be.
    pub(super) fn need(
        &mut self,
        key: &'static str,
        right: &str,
        reporter: &mut Reporter<'_>,
    ) -> Option<&'n Node> {
        let node = self.get(key);
        if node.is_none() {
            reporter.error(self.at, format!("{} lacks '{key}': {right}", self.what));
        }
        node
    }

    /// How a message calls a value of this table.
    pub(super) fn name(&self, key: &str) -> String {
        format!("'{key}' of {}", self.what)
    }

    /// Notes the keys that nobody has asked for.
    pub(super) fn finish(self, unknown: Unknown, reporter: &mut Reporter<'_>) {
        for entry in self.entries {
            if self.asked.contains(&entry.key.as_str()) {
                continue;
            }
            let near = suggestion(&entry.key, self.asked.iter().copied());
            let key = quoted(&entry.key);
            match unknown {
                Unknown::Error => {
                    let mut known = self.asked.clone();
                    known.sort_unstable();
                    known.dedup();
                    let known = known.join(", ");
                    let message =
                        format!("{} has no key {key}{near}; there are: {known}", self.what);
                    reporter.error(entry.at, message);
                }
                Unknown::Warning => {
                    let message =
                        format!("{}: the key {key} is not known and ignored{near}", self.what);
                    reporter.warning(entry.at, message);
                }
            }
        }
    }
}
