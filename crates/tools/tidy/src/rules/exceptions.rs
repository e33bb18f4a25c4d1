//! The exceptions: lists in `exceptions.toml` of what is still wrong, by name. They only ever get
//! shorter.

use std::collections::BTreeSet;

use toml::{Table, Value};

use crate::{Finding, Tree};

/// Where the lists stand.
pub const PATH: &str = "crates/tools/tidy/exceptions.toml";

/// One rule's list.
#[derive(Debug, Default)]
pub struct Exceptions {
    rule: &'static str,
    names: BTreeSet<String>,
}

impl Exceptions {
    /// Reads the list that is called as its rule; empty if there is none.
    #[must_use]
    pub fn of(tree: &Tree, rule: &'static str) -> Exceptions {
        let file = tree.files.iter().find(|file| file.path == PATH);
        let table = file.and_then(|file| file.text.parse::<Table>().ok()).unwrap_or_default();
        let list = table.get(rule).and_then(Value::as_array).into_iter().flatten();
        Exceptions { rule, names: list.filter_map(Value::as_str).map(str::to_owned).collect() }
    }

    /// Whether the list has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// A finding for each name that is right by now, and has to leave the list.
    pub fn unneeded(&self, wrong: &BTreeSet<String>) -> Vec<Finding> {
        let unneeded = self.names.difference(wrong).map(|name| Finding {
            path: PATH.to_owned(),
            line: 1,
            rule: self.rule,
            message: format!("{name} needs no exception any more: take it off the list"),
        });
        unneeded.collect()
    }
}
