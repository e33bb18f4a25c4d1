//! A crate sees only crates on lower floors. The table is the design's; a crate that is not in it
//! has no place yet.

use toml::Table;

use super::manifests::{dependencies, line_of};
use crate::{Finding, Tree};

/// The floors, from the top.
pub const FLOORS: &[(u8, &[&str])] = &[
    (11, &["actinium-cli", "actinium-bench", "actinium-otlp"]),
    (10, &["actinium-lab", "actinium-top"]),
    (9, &["actinium"]),
    (8, &["actinium-app"]),
    (7, &["actinium-dashboard", "actinium-events-cluster"]),
    (6, &["actinium-metrics", "actinium-workload"]),
    (5, &["actinium-cluster", "actinium-events", "actinium-gateway", "actinium-monitor"]),
    (4, &["actinium-actor", "actinium-tap"]),
    (3, &["actinium-report", "actinium-sim", "actinium-wire"]),
    (
        2,
        &[
            "actinium-drawing",
            "actinium-scheduler",
            "actinium-memory",
            "actinium-observe",
            "actinium-wire-macros",
        ],
    ),
    (
        1,
        &[
            "actinium-actor-macros",
            "actinium-placement",
            "actinium-topology",
            "actinium-wire-model",
        ],
    ),
    // Beside the house: sees no other crate, and is seen by none.
    (0, &["actinium-tidy"]),
];

fn floor(name: &str) -> Option<u8> {
    FLOORS.iter().find(|(_, names)| names.contains(&name)).map(|&(floor, _)| floor)
}

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.manifests() {
        let folder = match file.crate_name().unwrap_or_default() {
            "actinium" => "actinium".to_owned(),
            folder => format!("actinium-{folder}"),
        };
        // What does not parse is found by `manifests`.
        let Ok(manifest) = file.text.parse::<Table>() else {
            continue;
        };
        let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
        if name != Some(&folder) {
            findings.push(file.finding(
                1,
                "layers",
                format!("the crate in {folder}'s folder is called {name:?}"),
            ));
        }
        let Some(own) = floor(&folder) else {
            let message =
                format!("{folder} has no floor: give it one in the design, and in rules/layers.rs");
            findings.push(file.finding(1, "layers", message));
            continue;
        };
        for (key, value) in dependencies(&manifest) {
            let name = value.get("package").and_then(|name| name.as_str()).unwrap_or(key);
            let is_ours = name == "actinium" || name.starts_with("actinium-");
            // What macros make is tried where it is used.
            let is_tried = folder.strip_suffix("-macros") == Some(name)
                && manifest.get("dev-dependencies").is_some_and(|it| it.get(key).is_some());
            let allowed = is_tried || floor(name).is_some_and(|floor| (1..own).contains(&floor));
            if is_ours && !allowed {
                let message =
                    format!("{folder} (floor {own}) sees {name}, which is not on a lower floor");
                findings.push(file.finding(line_of(file, key), "layers", message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of(name: &str) -> String {
        match name.strip_prefix("actinium-") {
            Some(folder) => format!("crates/core/{folder}/Cargo.toml"),
            None => format!("crates/{name}/Cargo.toml"),
        }
    }

    fn found(name: &str, dependencies: &str) -> Vec<String> {
        let path = path_of(name);
        let text = format!("[package]\nname = \"{name}\"\n{dependencies}");
        check(&Tree::of(&[(&path, &text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lower_floors_may_be_seen() {
        assert!(
            found("actinium-actor", "[dependencies]\nactinium-scheduler.workspace = true")
                .is_empty()
        );
        assert!(
            found("actinium", "[dependencies]\nactinium-observe.workspace = true\nserde = \"1\"")
                .is_empty()
        );
        assert!(found("actinium-cli", "[dev-dependencies]\nactinium.workspace = true").is_empty());
    }

    #[test]
    fn the_same_floor_and_higher_ones_may_not() {
        for (name, section, seen) in [
            ("actinium-scheduler", "dependencies", "actinium-actor"),
            ("actinium-scheduler", "dev-dependencies", "actinium"),
            ("actinium-actor", "build-dependencies", "actinium-events"),
            ("actinium-actor", "target.'cfg(unix)'.dependencies", "actinium"),
            ("actinium", "dependencies", "actinium-tidy"),
            ("actinium", "dependencies", "actinium-unheard-of"),
        ] {
            let found = found(name, &format!("[{section}]\n{seen}.workspace = true"));
            assert_eq!(found.len(), 1, "{name} {section} {seen}");
            assert!(found[0].starts_with(&format!("{}:4: layers: ", path_of(name))), "{found:?}");
        }
    }

    #[test]
    fn another_name_hides_nothing() {
        let dependencies = "[dependencies]\nx = { package = \"actinium-actor\", workspace = true }";
        assert_eq!(found("actinium-scheduler", dependencies).len(), 1);
    }

    #[test]
    fn tests_of_macros_may_see_the_crate_that_they_are_for() {
        let tests = "[dev-dependencies]\nactinium-actor.workspace = true";
        assert!(found("actinium-actor-macros", tests).is_empty());
        let code = "[dependencies]\nactinium-actor.workspace = true";
        assert_eq!(found("actinium-actor-macros", code).len(), 1);
        assert_eq!(found("actinium-wire-macros", tests).len(), 1);
    }

    #[test]
    fn a_crate_has_a_floor_and_its_folder_s_name() {
        assert_eq!(found("actinium-unheard-of", "").len(), 1);
        let tree = Tree::of(&[("crates/actinium/Cargo.toml", "[package]\nname = \"other\"")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
