//! The leftovers that a working copy may hold and a commit may not: unfinished code, debug prints,
//! tests and doc examples that do not run. (`cfg_attr(miri, ignore)` is fine: elsewhere the test
//! runs.)

use crate::{Finding, Tree};

const BANNED: &[&str] = &["todo!", "unimplemented!", "dbg!", "#[ignore"];

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        for banned in BANNED {
            let found = source.uses(banned);
            findings.extend(found.map(|line| {
                file.finding(line, "leftovers", format!("`{banned}` is not for commits"))
            }));
        }
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
        finds(check, path, "fn f() {\n    todo!()\n}", &[2]);
        finds(check, path, "fn f() { unimplemented!(\"later\") }", &[1]);
        finds(check, path, "let x = std::dbg!(1);", &[1]);
        finds(check, path, "#[test]\n#[ignore]\nfn f() {}", &[2]);
        finds(check, path, "#[test]\n#[ignore = \"slow\"]\nfn f() {}", &[2]);
        finds(check, path, "/// ```ignore\n/// x\n/// ```", &[1]);
        finds(check, path, "//! ```rust,ignore\n", &[1]);
    }

    #[test]
    fn what_only_looks_like_one_is_not() {
        let path = "crates/core/actor/src/lib.rs";
        passes(check, path, "// todo!() is banned\nlet x = \"dbg!(x) #[ignore]\";");
        passes(check, path, "#[cfg_attr(miri, ignore = \"slow there\")]\nfn f() {}");
        passes(check, path, "my_todo!();\n#[ignored]\nfn f() {}");
        passes(check, path, "/// ```no_run\n/// x\n/// ```\n/// ```compile_fail,E0277");
    }
}
