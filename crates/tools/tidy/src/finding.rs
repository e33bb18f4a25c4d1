//! A finding: one place that breaks a rule.

use std::fmt;

/// One place that breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the workspace's root, with `/` between folders.
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    /// The rule's name.
    pub rule: &'static str,
    /// The fault, and what would be right.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.message)
    }
}
