//! A test file for a model checker is compiled for that checker alone: `tests/loom*.rs` starts with
//! `#![cfg(loom)]`, `tests/shuttle*.rs` with `#![cfg(shuttle)]`, and no other test file, nor module
//! of one, is compiled so. Otherwise `./check` would run it in the wrong build, or never.

use crate::{Finding, Tree};

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let Some(name) = file.in_crate().strip_prefix("tests/") else {
            continue;
        };
        // Anything else in a folder is a module of a test, compiled when the test is.
        let (program, is_module) = match name.split_once('/') {
            Some((folder, rest)) => (folder, rest != "main.rs"),
            None => (name, false),
        };
        for checker in ["loom", "shuttle"] {
            let attribute = format!("#![cfg({checker})]");
            let gated = source.code.iter().position(|code| code.contains(&attribute));
            let message = match (program.starts_with(checker), gated) {
                (true, None) if !is_module => format!("a {checker} test without `{attribute}`"),
                (false, Some(_)) => format!(
                    "`{attribute}` in a file that `./check {checker}` does not find: call it {checker}_*.rs"
                ),
                _ => continue,
            };
            findings.push(file.finding(gated.map_or(1, |line| line + 1), "model-tests", message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    #[test]
    fn name_and_attribute_go_together() {
        passes(check, "crates/core/a/tests/loom_inbox.rs", "//! Docs.\n#![cfg(loom)]\n");
        passes(check, "crates/core/a/tests/loom/main.rs", "#![cfg(loom)]\n");
        passes(check, "crates/core/a/tests/loom/inbox.rs", "fn f() {}");
        passes(check, "crates/core/a/tests/stress.rs", "fn f() {}");
        passes(check, "crates/core/a/src/loom.rs", "fn f() {}");
        finds(check, "crates/core/a/tests/loom_inbox.rs", "fn f() {}", &[1]);
        finds(check, "crates/core/a/tests/shuttle/main.rs", "#![cfg(loom)]", &[1, 1]);
        finds(check, "crates/core/a/tests/stress.rs", "//! x\n#![cfg(shuttle)]", &[2]);
        passes(check, "crates/core/a/tests/all/loom.rs", "fn f() {}");
        finds(check, "crates/core/a/tests/all/loom.rs", "#![cfg(loom)]", &[1]);
    }
}
