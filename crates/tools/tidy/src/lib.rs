//! The rules of the Actinium workspace that no lint knows, as tests.
//!
//! [`Tree`] is the workspace's text, read from disk or made up by a test; [`check`] holds it to
//! every rule in [`RULES`] and answers with [`Finding`]s. `tests/all/workspace.rs` does that to the
//! real workspace, so `cargo test -p actinium-tidy` is the check. Each rule's file has its own good
//! and bad snippets.
//!
//! A rule about code looks at [`source::Source::code`], in which comments and literals are blank: a
//! banned word in a string is no use of it.

mod finding;
pub mod fresh;
pub mod modules;
pub mod mutants;
pub mod rules;
pub mod source;
pub mod tree;

pub use finding::Finding;
pub use rules::RULES;
pub use tree::{File, Tree};

/// Holds the tree to every rule; the findings in order of file and line.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}
