//! No file names a path of somebody's own machine.

use crate::{Finding, Tree};

/// How such a path starts. The last character stands apart so that this file does not name one.
const STARTS: &[(&str, &str)] = &[
    ("/home", "/"),
    ("/Users", "/"),
    ("C:\\Users", "\\"),
    ("/root", "/"),
    ("/work", "/"),
    ("/tmp/spec", "/"),
    ("/tmp/target", "-"),
];

/// Names that stand for anybody.
const ANYBODY: &[&str] = &["you", "user", "me", "$USER"];

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (line, text) in (1..).zip(file.text.lines()) {
            for (folder, end) in STARTS {
                let start = format!("{folder}{end}");
                for (at, _) in text.match_indices(&start) {
                    let rest = &text[at + start.len()..];
                    let name = rest
                        .split(|c: char| !c.is_alphanumeric() && c != '$')
                        .next()
                        .unwrap_or_default();
                    if starts_a_path(&text[..at]) && !name.is_empty() && !ANYBODY.contains(&name) {
                        let message = format!("{start}{name} is a path of somebody's own machine");
                        findings.push(file.finding(line, "machine-paths", message));
                    }
                }
            }
        }
    }
    findings
}

/// Whether what follows is absolute, and not the inside of a longer path or an address.
fn starts_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "/._-~}])".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    #[test]
    fn a_path_of_somebody_is_found() {
        for (folder, end) in STARTS {
            let text = format!("fine\nlet x = \"{folder}{end}ada/x\";");
            finds(check, "docs/x.md", &text, &[2]);
            finds(check, "crates/core/a/src/lib.rs", &format!("{folder}{end}ada"), &[1]);
        }
    }

    #[test]
    fn a_path_of_anybody_is_not() {
        let home = "/home";
        passes(
            check,
            "docs/x.md",
            &format!("{home}/you/x and {home}/user/x, {home}/ and {home}/<name>"),
        );
        passes(
            check,
            "docs/x.md",
            &format!("https://example.org{home}/page, src{home}/x, ../..{home}/x"),
        );
        passes(check, "docs/x.md", "/sys/devices and /tmp/x and /workspace/x");
    }
}
