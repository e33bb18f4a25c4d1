//! Orderings made weaker one at a time: does any model notice? The program `mutants` runs what this
//! finds; CONTRIBUTING.md says how.
//!
//! Each ordering of an atomic access is made one step weaker in each way that there is, and each
//! fence is taken away. `SeqCst` accesses become `Relaxed`, for loom takes a `SeqCst` access for an
//! `AcqRel` one. A place of which no model can tell says so: [`NO_MODEL`] and why, in a comment on
//! its line or at most [`LINES_ABOVE`] lines above.

use crate::rules::orderings::LINES_ABOVE;
use crate::source::Source;
use std::fmt;

/// Words of a comment that says why no model notices that an ordering is weaker.
pub const NO_MODEL: &str = "no model";

/// One change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Counted from 1.
    pub line: usize,
    /// Characters before what is replaced.
    column: usize,
    /// The text that is replaced.
    pub from: &'static str,
    /// The text that replaces it.
    pub to: &'static str,
    /// The line as it is, without blanks around it: with `from`, `to` and `nth` it says which
    /// mutant this is when lines move.
    pub code: String,
    /// The how manieth such line of the file, from 0.
    pub nth: usize,
    /// Whether a comment says why no model notices.
    pub is_excused: bool,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}: {}", self.line, self.from, self.to, self.code)
    }
}

impl Mutant {
    /// Which one it is, whatever lines stand above.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}#{} {} -> {}", self.code, self.nth, self.from, self.to)
    }

    /// The file with this change.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = &mut lines[self.line - 1];
        let (before, rest): (String, String) = (
            line.chars().take(self.column).collect(),
            line.chars().skip(self.column + self.from.chars().count()).collect(),
        );
        *line = format!("{before}{}{rest}", self.to);
        lines.join("\n") + "\n"
    }
}

/// An ordering that can be weaker, and the fence that has it.
const ORDERINGS: [(&str, &str); 4] = [
    ("Ordering::Acquire", "fence(Ordering::Acquire)"),
    ("Ordering::Release", "fence(Ordering::Release)"),
    ("Ordering::AcqRel", "fence(Ordering::AcqRel)"),
    ("Ordering::SeqCst", "fence(Ordering::SeqCst)"),
];

/// The weaker orderings that an access may get instead.
fn weaker(ordering: &str, is_fence: bool) -> &'static [&'static str] {
    match ordering {
        "Ordering::Acquire" | "Ordering::Release" if is_fence => &[],
        "Ordering::SeqCst" if is_fence => &["Ordering::AcqRel"],
        "Ordering::Acquire" | "Ordering::Release" | "Ordering::SeqCst" => &["Ordering::Relaxed"],
        "Ordering::AcqRel" => &["Ordering::Acquire", "Ordering::Release"],
        _ => &[],
    }
}

/// All mutants of a file, in its order; unit tests are left as they are.
#[must_use]
pub fn of(text: &str) -> Vec<Mutant> {
    let source = Source::of(text);
    let raw: Vec<&str> = text.lines().collect();
    let is_test = |two: &[String]| {
        two[0].trim().starts_with("#[cfg(") && two[0].contains("test") && two[1].contains("mod ")
    };
    let end = source.code.windows(2).position(is_test).unwrap_or(source.code.len());
    let mut mutants: Vec<Mutant> = Vec::new();
    for (line, code) in source.lines().take_while(|&(line, _)| line <= end) {
        let comments = source.comments_near(line, LINES_ABOVE).to_lowercase();
        let shown = raw[line - 1].trim();
        let nth = raw[..line - 1].iter().filter(|other| other.trim() == shown).count();
        let mut add = |at: usize, from, to| {
            mutants.push(Mutant {
                line,
                column: code[..at].chars().count(),
                from,
                to,
                code: shown.to_owned(),
                nth,
                is_excused: comments.contains(NO_MODEL),
            });
        };
        for (from, fence) in ORDERINGS {
            for (at, _) in code.match_indices(from) {
                let is_fence = code[..at].ends_with("fence(");
                weaker(from, is_fence).iter().for_each(|to| add(at, from, to));
                if is_fence {
                    add(at - "fence(".len(), fence, "()");
                }
            }
        }
    }
    mutants
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(text: &str) -> Vec<String> {
        of(text).iter().map(|mutant| mutant.apply(text)).collect()
    }

    #[test]
    fn each_ordering_gets_weaker_by_itself() {
        assert_eq!(
            changes(
                "a.swap(1, Ordering::AcqRel); // Ordering::Acquire\nb.load(Ordering::Relaxed);\n"
            ),
            [
                "a.swap(1, Ordering::Acquire); // Ordering::Acquire\nb.load(Ordering::Relaxed);\n",
                "a.swap(1, Ordering::Release); // Ordering::Acquire\nb.load(Ordering::Relaxed);\n"
            ]
        );
        assert_eq!(
            changes("c.cas(x, y, Ordering::Release, Ordering::Acquire);\n"),
            [
                "c.cas(x, y, Ordering::Release, Ordering::Relaxed);\n",
                "c.cas(x, y, Ordering::Relaxed, Ordering::Acquire);\n"
            ]
        );
    }

    #[test]
    fn fences_go_away() {
        assert_eq!(
            changes("é(); fence(Ordering::SeqCst);\n"),
            ["é(); fence(Ordering::AcqRel);\n", "é(); ();\n"]
        );
        assert_eq!(changes("fence(Ordering::Acquire);\n"), ["();\n"]);
    }

    #[test]
    fn tests_stay_and_reasons_count() {
        let text = "// Release: no model has two of them.\na.store(1, Ordering::Release);\n\
                    #[cfg(all(test, not(loom)))]\nmod tests {\n    a.load(Ordering::Acquire);\n}\n";
        let mutants = of(text);
        assert_eq!(mutants.len(), 1);
        assert!(mutants[0].is_excused);
    }

    #[test]
    fn a_mutant_is_known_again_when_lines_move() {
        let text = "a.load(Ordering::Acquire);\na.load(Ordering::Acquire);\n";
        let keys = |text: &str| of(text).iter().map(Mutant::key).collect::<Vec<_>>();
        assert_eq!(keys(&format!("\n{text}")), keys(text));
        assert_ne!(keys(text)[0], keys(text)[1]);
    }
}
