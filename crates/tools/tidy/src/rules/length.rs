//! No Rust file has more than [`LINES_MAX`] lines: a longer one is two ideas.

use crate::{Finding, Tree};

/// The most lines that a Rust file may have.
pub const LINES_MAX: usize = 800;

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".rs")) {
        let lines = file.text.lines().count();
        if lines > LINES_MAX {
            let message = format!("{lines} lines; the most is {LINES_MAX}: split it");
            findings.push(file.finding(lines, "length", message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    #[test]
    fn the_bound_is_exact() {
        passes(check, "crates/actinium/src/lib.rs", &"x\n".repeat(800));
        finds(check, "crates/actinium/src/lib.rs", &"x\n".repeat(801), &[801]);
        passes(check, "docs/long.md", &"x\n".repeat(2_000));
    }
}
