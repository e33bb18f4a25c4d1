//! Holds the real workspace to every rule.

use std::path::Path;

use actinium_tidy::{Tree, check};

fn workspace() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    Tree::read(&root).expect("the workspace can be read")
}

#[test]
fn the_workspace_is_tidy() {
    let findings = check(&workspace());
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} findings:\n{}\n", lines.len(), lines.join("\n"));
}

/// Rules that look at nothing find nothing.
#[test]
fn the_workspace_was_looked_at() {
    let tree = workspace();
    for path in ["Cargo.toml", "check", ".ci/run", "crates/core/scheduler/src/lib.rs"] {
        assert!(tree.files.iter().any(|file| file.path == path), "{path} was not read");
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = |folder: &Path| std::fs::read_dir(folder).expect("it can be listed");
    let wings = list(&crates).map(|wing| wing.expect("it can be read").path());
    let folders = wings.map(|wing| match wing.ends_with("actinium") {
        true => 1,
        false => list(&wing).count(),
    });
    assert_eq!(tree.manifests().count(), folders.sum::<usize>());
    let own = tree.files.iter().find(|file| file.path.ends_with("tidy/src/lib.rs"));
    assert!(own.is_some_and(|file| file.source().uses("fn").next().is_some()));
}

/// One bad workspace that breaks every rule: none of them is left out of the list.
#[test]
fn every_rule_is_in_force() {
    let long = format!("fn long() {{{}}}", "\n".repeat(900));
    let own_path = ["see /ho", "me/ada/notes"].concat();
    let tree = Tree::of(&[
        ("crates/core/topology/Cargo.toml", "[dependencies]\nactinium.workspace = true"),
        (
            "crates/core/actor/src/lib.rs",
            "#[ignore]\nunsafe {}\nx(Ordering::Relaxed);\ncatch_unwind(f);\neprintln!();",
        ),
        ("crates/core/actor/src/circle/mod.rs", "mod half; use half::Half; struct Whole;"),
        ("crates/core/actor/src/circle/half.rs", "use super::Whole; struct Half;"),
        ("crates/core/actor/src/long.rs", &long),
        ("crates/core/actor/src/setting.rs", "\"ACTINIUM_SECRET\""),
        ("crates/core/actor/tests/loom.rs", ""),
        ("ARCHITECTURE.md", "| 7 | `core/actor` | on another floor |"),
        ("docs/notes.md", &own_path),
        ("docs/links.md", "[nowhere](nowhere.md)"),
    ]);
    let mut rules: Vec<&str> = check(&tree).iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let expected = [
        "circles",
        "environment",
        "functions",
        "guards",
        "house",
        "layers",
        "leftovers",
        "length",
        "machine-paths",
        "manifests",
        "model-tests",
        "orderings",
        "prose",
        "stderr",
        "unsafe",
    ];
    assert_eq!(rules, expected);
    assert_eq!(rules.len(), actinium_tidy::RULES.len());
}
