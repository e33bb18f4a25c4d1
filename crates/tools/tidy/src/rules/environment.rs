//! Every environment variable `ACTINIUM_*` that the code names is explained in `README.md` or
//! `docs/`.

use std::collections::BTreeSet;

use crate::{Finding, Tree};

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let is_docs =
        |path: &str| path == "README.md" || (path.starts_with("docs/") && path.ends_with(".md"));
    let docs = tree.files.iter().filter(|file| is_docs(&file.path));
    let explained: BTreeSet<&str> = docs.flat_map(|file| variables(&file.text)).collect();
    let mut findings = Vec::new();
    let mut found = BTreeSet::new();
    let own = |name| name == Some("tidy");
    for file in
        tree.files.iter().filter(|file| file.path.ends_with(".rs") && !own(file.crate_name()))
    {
        for (line, text) in (1..).zip(file.text.lines()) {
            for variable in variables(text) {
                // Once is enough to know.
                if !explained.contains(variable) && found.insert(variable) {
                    let message =
                        format!("{variable} is explained neither in README.md nor in docs/");
                    findings.push(file.finding(line, "environment", message));
                }
            }
        }
    }
    findings
}

/// The names in a text; a prefix that ends in `_` is not one.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| {
        let rest = word.strip_prefix("ACTINIUM_").unwrap_or_default();
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        !rest.is_empty() && !rest.ends_with('_') && rest.chars().all(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: (&str, &str) = (
        "crates/actinium/src/lib.rs",
        "\nlet x = var(\"ACTINIUM_WORKERS\");\n// ACTINIUM_WORKERS\n",
    );

    #[test]
    fn an_unexplained_variable_is_found_once() {
        let findings =
            check(&Tree::of(&[CODE, ("README.md", "ACTINIUM_WORKERS_MAX and ACTINIUM_WORKER")]));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
        let findings = check(&Tree::of(&[CODE, ("crates/actinium/README.md", "ACTINIUM_WORKERS")]));
        assert_eq!(findings.len(), 1);
    }

    #[test]
    fn an_explained_one_is_not() {
        for docs in ["README.md", "docs/settings.md"] {
            assert_eq!(check(&Tree::of(&[CODE, (docs, "Set `ACTINIUM_WORKERS=2`.")])), []);
        }
        assert_eq!(
            check(&Tree::of(&[("crates/actinium/src/lib.rs", "\"ACTINIUM_\" \"ACTINIUM_A_\"")])),
            []
        );
    }
}
