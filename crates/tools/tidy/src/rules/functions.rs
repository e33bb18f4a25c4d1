//! No function has more than [`LINES_MAX`] lines, from `fn` to its closing brace: a longer one has
//! phases, and each can be a function. One that is better whole says why, right above it: `// tidy:
//! functions: REASON`.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Signature, TraitItemFn};

use crate::{Finding, Tree};

/// The most lines that a function may have.
pub const LINES_MAX: usize = 70;

/// How far above `fn` the reason may stand: there may be attributes between.
const LINES_ABOVE: usize = 6;

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".rs")) {
        // Few files have one: only those are parsed.
        if file.text.lines().count() <= LINES_MAX {
            continue;
        }
        let Some(parsed) = file.parsed() else {
            findings.push(file.finding(1, "functions", "it does not parse"));
            continue;
        };
        let mut long = Long::default();
        long.visit_file(parsed);
        let source = file.source();
        for (name, line, lines) in long.found {
            let comments = source.comments_near(line, LINES_ABOVE);
            let reason = comments.split_once("tidy: functions:").map(|(_, reason)| reason.trim());
            if reason.is_some_and(|reason| !reason.is_empty()) {
                continue;
            }
            let message = format!("`{name}` has {lines} lines; the most is {LINES_MAX}");
            findings.push(file.finding(line, "functions", message));
        }
    }
    findings
}

/// The functions that are too long: name, line and lines of each.
#[derive(Default)]
struct Long {
    found: Vec<(String, usize, usize)>,
}

impl Long {
    fn look(&mut self, signature: &Signature, block: &Block) {
        let line = signature.span().start().line;
        let lines = block.span().end().line - line + 1;
        if lines > LINES_MAX {
            self.found.push((signature.ident.to_string(), line, lines));
        }
    }
}

impl<'a> Visit<'a> for Long {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.look(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        self.look(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a TraitItemFn) {
        if let Some(block) = &function.default {
            self.look(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    const PATH: &str = "crates/core/a/src/a.rs";

    /// A function of so many lines.
    fn function(lines: usize) -> String {
        format!("fn f() {{{}}}", "\n".repeat(lines - 1))
    }

    #[test]
    fn the_bound_is_exact() {
        passes(check, PATH, &format!("{}\nconst A: u8 = 1;", function(70)));
        finds(check, PATH, &format!("const A: u8 = 1;\n{}", function(71)), &[2]);
        finds(check, PATH, &format!("impl A {{\n{}\n}}", function(71)), &[2]);
        finds(check, PATH, &format!("trait A {{\n{}\n}}", function(71)), &[2]);
        finds(check, PATH, &format!("fn g() {{\n{}\n}}", function(71)), &[1, 2]);
    }

    #[test]
    fn a_reason_lets_it_pass_and_an_empty_one_does_not() {
        let with = |comment: &str| format!("{comment}\n#[inline]\npub {}", function(71));
        passes(check, PATH, &with("// tidy: functions: one table of words"));
        finds(check, PATH, &with("// tidy: functions:"), &[3]);
        finds(check, PATH, &with("// long"), &[3]);
    }

    #[test]
    fn what_does_not_parse_is_found() {
        finds(check, PATH, &format!("fn f( {{{}}}", "\n".repeat(70)), &[1]);
    }
}
