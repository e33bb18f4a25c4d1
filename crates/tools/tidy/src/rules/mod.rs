//! The rules, one file each. A rule takes the tree and gives what it finds wrong.

pub mod circles;
pub mod environment;
pub mod functions;
pub mod guards;
pub mod house;
pub mod layers;
pub mod leftovers;
pub mod length;
pub mod machine_paths;
pub mod manifests;
pub mod model_tests;
pub mod orderings;
pub mod prose;
pub mod stderr;
pub mod unsafety;

use crate::{Finding, Tree};

/// A rule.
pub type Rule = fn(&Tree) -> Vec<Finding>;

/// All of them.
pub const RULES: &[Rule] = &[
    circles::check,
    environment::check,
    functions::check,
    guards::check,
    house::check,
    layers::check,
    leftovers::check,
    length::check,
    machine_paths::check,
    manifests::check,
    model_tests::check,
    orderings::check,
    prose::check,
    stderr::check,
    unsafety::check,
];

#[cfg(test)]
pub(crate) mod testing {
    use super::Rule;
    use crate::Tree;

    /// The rule finds nothing in a file with this text.
    #[track_caller]
    pub(crate) fn passes(rule: Rule, path: &str, text: &str) {
        let findings = rule(&Tree::of(&[(path, text)]));
        assert!(findings.is_empty(), "{path}: {text}\nfound {findings:?}");
    }

    /// The rule finds just these lines of a file with this text.
    #[track_caller]
    pub(crate) fn finds(rule: Rule, path: &str, text: &str, lines: &[usize]) {
        let findings = rule(&Tree::of(&[(path, text)]));
        let found: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{path}: {text}\nfound {findings:?}");
        assert!(findings.iter().all(|finding| finding.path == path));
    }
}
