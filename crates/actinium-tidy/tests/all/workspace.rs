//! Holds the real workspace to every rule.

use std::path::Path;

use actinium_tidy::{Tree, check};

fn workspace() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
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
    for path in ["Cargo.toml", "check", ".ci/run", "crates/actinium-scheduler/src/lib.rs"] {
        assert!(tree.files.iter().any(|file| file.path == path), "{path} was not read");
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = std::fs::read_dir(crates).expect("crates/ can be listed").count();
    assert_eq!(tree.manifests().count(), folders);
    assert!(tree.rust().any(|(file, source)| {
        file.crate_name() == Some("actinium-tidy") && source.uses("fn").next().is_some()
    }));
}

/// One bad workspace that breaks every rule: none of them is left out of the list.
#[test]
fn every_rule_is_in_force() {
    let long = "\n".repeat(900);
    let own_path = ["see /ho", "me/ada/notes"].concat();
    let tree = Tree::of(&[
        ("crates/actinium-topology/Cargo.toml", "[dependencies]\nactinium.workspace = true"),
        (
            "crates/actinium-actor/src/lib.rs",
            "todo!();\nInstant::now();\nunsafe {}\nx(Ordering::Relaxed);",
        ),
        ("crates/actinium-actor/src/long.rs", &long),
        ("crates/actinium-actor/src/setting.rs", "\"ACTINIUM_SECRET\""),
        ("crates/actinium-actor/tests/loom.rs", ""),
        ("docs/notes.md", &own_path),
    ]);
    let mut rules: Vec<&str> = check(&tree).iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let expected = [
        "environment",
        "layers",
        "leftovers",
        "length",
        "machine-paths",
        "manifests",
        "model-tests",
        "orderings",
        "time",
        "unsafe",
    ];
    assert_eq!(rules, expected);
    assert_eq!(rules.len(), actinium_tidy::RULES.len());
}
