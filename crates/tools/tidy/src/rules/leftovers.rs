//! Tests and doc examples run. (`cfg_attr(miri, ignore)` is fine: elsewhere the test runs.)

use crate::{Finding, Tree};

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let ignored = source.uses("#[ignore");
        findings.extend(
            ignored.map(|line| file.finding(line, "leftovers", "`#[ignore]` is not for commits")),
        );
        for (line, comment) in (1..).zip(&source.comments) {
            let fence = comment.split_once("```").map(|(_, info)| info.split(','));
            if fence.is_some_and(|mut info| info.any(|word| word.trim().starts_with("ignore"))) {
                let message =
                    "a doc example that is ignored may not compile: make it run, or `text`";
                findings.push(file.finding(line, "leftovers", message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    #[test]
    fn each_leftover_is_found() {
        let path = "crates/core/actor/src/lib.rs";
        finds(check, path, "#[test]\n#[ignore]\nfn f() {}", &[2]);
        finds(check, path, "#[test]\n#[ignore = \"slow\"]\nfn f() {}", &[2]);
        finds(check, path, "/// ```ignore\n/// x\n/// ```", &[1]);
        finds(check, path, "//! ```rust,ignore\n", &[1]);
    }

    #[test]
    fn what_only_looks_like_one_is_not() {
        let path = "crates/core/actor/src/lib.rs";
        passes(check, path, "// #[ignore] is banned\nlet x = \"#[ignore]\";");
        passes(check, path, "#[cfg_attr(miri, ignore = \"slow there\")]\nfn f() {}");
        passes(check, path, "#[ignored]\nfn f() {}");
        passes(check, path, "/// ```no_run\n/// x\n/// ```\n/// ```compile_fail,E0277");
    }
}
