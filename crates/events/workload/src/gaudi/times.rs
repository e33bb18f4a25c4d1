//! The mean time of each algorithm: a JSON object of numbers, or of texts that are numbers.

use crate::draft::{self, Unit};
use crate::fault::{Reporter, quoted};
use crate::json;
use crate::tree::{Node, Value};
use std::collections::HashMap;

/// Nanoseconds by algorithm.
pub(super) struct TimesByName(HashMap<String, u64>);

impl TimesByName {
    pub(super) fn read(text: &str, reporter: &mut Reporter<'_>) -> Self {
        let node = json::tree(text, reporter);
        let entries = node.as_ref().and_then(|node| node.entries("the timing", reporter));
        let mut times = HashMap::new();
        for entry in entries.unwrap_or_default() {
            let what = format!("the time of {}", quoted(&entry.key));
            let node = as_number(&entry.node);
            // A wrong time is known as none, so that it is not called missing as well.
            let ns = draft::nanoseconds(&node, &what, Unit::Seconds, reporter);
            times.insert(entry.key.clone(), ns.unwrap_or(0));
        }
        TimesByName(times)
    }

    /// Returns an algorithm's time. Where it has none, that of the name with a capital counts.
    pub(super) fn of(&self, name: &str) -> Option<u64> {
        let capitalised = || {
            let first = name.chars().next()?;
            let rest = &name[first.len_utf8()..];
            self.0.get(&format!("{}{rest}", first.to_uppercase()))
        };
        self.0.get(name).or_else(capitalised).copied()
    }
}

/// A text that is a number counts as one: `"0.000267"`.
fn as_number(node: &Node) -> Node {
    let value = match &node.value {
        Value::Text(text) => text.trim().parse().map(Value::Number).ok(),
        _ => None,
    };
    Node { bytes: node.bytes.clone(), value: value.unwrap_or_else(|| node.value.clone()) }
}
