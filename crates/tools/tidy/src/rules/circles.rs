//! The modules of a crate import each other in no circle: each can be read after those that it
//! uses.

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::Modules;
use crate::{Finding, Tree};

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for modules in Modules::of(tree) {
        for circle in circles(&modules.arrows()) {
            let text = circle.iter().copied().collect::<Vec<_>>().join(", ");
            findings.extend(circle.into_iter().map(|path| Finding {
                path: path.to_owned(),
                line: 1,
                rule: "circles",
                message: format!("imports one of those that import it: {text}"),
            }));
        }
    }
    findings
}

/// The largest sets of files each of which reaches all others, and has an other.
fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|&from| (from, reachable(arrows, from))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (&from, reaches) in &reached {
        let is_back = |to: &&str| reached.get(to).is_some_and(|back| back.contains(from));
        let circle: BTreeSet<&str> = reaches.iter().copied().filter(is_back).collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

fn reachable<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = arrows.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = next.pop() {
        if seen.insert(file) {
            next.extend(arrows.get(file).into_iter().flatten().copied());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "crates/core/a/src/";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files.iter().map(|(name, _)| format!("{ROOT}{name}")).collect();
        let files: Vec<(&str, &str)> =
            paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)).collect();
        let findings = check(&Tree::of(&files));
        findings.iter().map(|finding| finding.path.replace(ROOT, "")).collect()
    }

    #[test]
    fn two_that_import_each_other_are_found() {
        for (a, b) in [
            ("use crate::b::B; pub struct A;", "use crate::a::A; pub struct B;"),
            ("use super::b; pub struct A;", "fn f(_: crate::a::A) {}"),
            ("pub fn a() { crate::b::b() }", "use super::a::{self}; pub fn b() { a::a() }"),
            ("use crate::{b::{B, C}}; pub struct A;", "use super::A; pub struct B; pub struct C;"),
        ] {
            let lib = "mod a; mod b; pub use a::A; pub use b::B;";
            assert_eq!(found(&[("lib.rs", lib), ("a.rs", a), ("b.rs", b)]), ["a.rs", "b.rs"]);
        }
    }

    #[test]
    fn a_parent_and_its_child_are_found() {
        let files = [
            ("lib.rs", "mod m;"),
            ("m/mod.rs", "mod x; use x::X; pub struct M;"),
            ("m/x.rs", "use super::M; pub struct X;"),
        ];
        assert_eq!(found(&files), ["m/mod.rs", "m/x.rs"]);
    }

    #[test]
    fn what_is_passed_on_is_taken_from_its_file() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::*; pub use b::B;"),
            ("a.rs", "use crate::B; pub struct A;"),
            ("b.rs", "use std::fmt; use other::A; pub struct B;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
        let back = ("b.rs", "pub struct B(crate::A);");
        assert_eq!(found(&[files[0], files[1], back]), ["a.rs", "b.rs"]);
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
