//! An atomic access that is weaker than `SeqCst` says what it pairs with, or why it needs no
//! partner, in a comment on its line or at most [`LINES_ABOVE`] lines above. Tests are free to use
//! what they like.

use crate::source::{Source, has_word};
use crate::{Finding, Tree};

/// How far above an access its comment may stand.
pub const LINES_ABOVE: usize = 6;

const WEAK: &[&str] = &["Relaxed", "Acquire", "Release", "AcqRel"];

/// A comment about an ordering has one of these: any other (say, a `SAFETY` one) is about something
/// else.
const VOCABULARY: &[&str] = &[
    "acqrel",
    "acquire",
    "fence",
    "happens",
    "hint",
    "order",
    "pair",
    "publish",
    "relaxed",
    "release",
    "seqcst",
    "sees",
    "statistic",
    "synchron",
    "visible",
];

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let is_test = file.is_below("tests") || file.is_below("benches") || file.stem() == "tests";
        if is_test || !source.code.iter().any(|code| has_word(code, "Ordering")) {
            continue;
        }
        let end = source.tests_begin();
        for (line, weak) in accesses(source).into_iter().filter(|&(line, _)| line < end) {
            let comments = source.comments_near(line, LINES_ABOVE).to_lowercase();
            if !VOCABULARY.iter().any(|word| comments.contains(word)) {
                let message = format!(
                    "`{weak}` and no comment that says what it pairs with, or why with nothing"
                );
                findings.push(file.finding(line, "orderings", message));
            }
        }
    }
    findings
}

/// Where a weak ordering is used, be it as `Ordering::Relaxed` or imported as `Relaxed`; imports
/// aside.
fn accesses(source: &Source) -> Vec<(usize, &'static str)> {
    let mut importing = false;
    let mut found = Vec::new();
    for (line, code) in source.lines() {
        importing |= ["use ", "pub use ", "pub(crate) use "]
            .iter()
            .any(|use_| code.trim_start().starts_with(use_));
        if !importing {
            found.extend(WEAK.iter().find(|weak| has_word(code, weak)).map(|&weak| (line, weak)));
        }
        importing &= !code.contains(';');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    const PATH: &str = "crates/core/scheduler/src/inbox.rs";

    #[test]
    fn an_access_without_a_word_is_found() {
        finds(check, PATH, "fn f() {\n    a.load(Ordering::Relaxed);\n}", &[2]);
        finds(check, PATH, "// SAFETY: ours.\na.swap(1, Ordering::AcqRel);", &[2]);
        finds(check, PATH, "use x::Ordering::{self, Acquire};\na.load(Acquire);", &[2]);
        finds(check, PATH, "use x::{\n    Ordering::Release,\n};\na.store(1, Release);", &[4]);
    }

    #[test]
    fn a_word_about_it_nearby_is_enough() {
        passes(check, PATH, "// Pairs with the store in `push`.\na.load(Ordering::Acquire);");
        passes(check, PATH, "a.load(Ordering::Relaxed); // a statistic");
        let far = |lines| {
            format!("// Release: publishes.\n{}a.store(1, Ordering::Release);", "\n".repeat(lines))
        };
        passes(check, PATH, &far(5));
        finds(check, PATH, &far(6), &[8]);
    }

    #[test]
    fn what_needs_no_word() {
        passes(check, PATH, "a.load(Ordering::SeqCst);");
        passes(check, PATH, "a.cmp(&b) == Ordering::Less");
        passes(check, PATH, "enum Phase { Acquire, Release }");
        passes(check, PATH, "// x\n#[cfg(test)]\nmod tests {\n    a.load(Ordering::Relaxed);\n}");
        passes(check, "crates/core/actor/tests/stress.rs", "a.load(Ordering::Relaxed);");
    }
}
