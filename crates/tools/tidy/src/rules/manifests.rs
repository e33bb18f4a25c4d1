//! Every crate's manifest takes its lints and the versions of its dependencies from the
//! workspace's, and the manifest that a rule cannot read is a finding of its own.

use toml::{Table, Value};

use crate::{Finding, Tree, tree::File};

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.manifests() {
        let manifest = match file.text.parse::<Table>() {
            Ok(manifest) => manifest,
            Err(error) => {
                findings.push(file.finding(
                    1,
                    "manifests",
                    format!("not TOML: {}", error.message()),
                ));
                continue;
            }
        };
        if !inherits(manifest.get("lints")) {
            findings.push(file.finding(1, "manifests", "lacks `[lints] workspace = true`"));
        }
        for (name, dependency) in dependencies(&manifest) {
            if !inherits(Some(dependency)) {
                let message = format!(
                    "{name}: its version stands in the root Cargo.toml; say `{name}.workspace = true`"
                );
                findings.push(file.finding(line_of(file, name), "manifests", message));
            }
        }
    }
    findings
}

fn inherits(value: Option<&Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(Value::as_bool) == Some(true)
}

/// All dependencies of a manifest: for running, testing and building, on every target.
pub fn dependencies(manifest: &Table) -> impl Iterator<Item = (&str, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = std::iter::once(manifest).chain(targets);
    let tables =
        tables.flat_map(move |table| sections.into_iter().filter_map(|section| table.get(section)));
    tables.filter_map(Value::as_table).flatten().map(|(name, value)| (name.as_str(), value))
}

/// The line on which a dependency is named.
pub(crate) fn line_of(file: &File, dependency: &str) -> usize {
    let starts = |line: &str| {
        let rest = line.trim_start().trim_start_matches('"').strip_prefix(dependency);
        let named = rest.is_some_and(|rest| rest.starts_with([' ', '=', '.', '"']));
        named || line.contains(&format!("dependencies.{dependency}]"))
    };
    file.text.lines().position(starts).map_or(1, |line| line + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    const PATH: &str = "crates/core/actor/Cargo.toml";
    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[test]
    fn lints_come_from_the_workspace() {
        passes(check, PATH, LINTS);
        finds(check, PATH, "[package]\nname = \"a\"", &[1]);
        finds(check, PATH, "[lints]\nworkspace = false", &[1]);
        finds(check, PATH, "[lints.rust]\nmissing_docs = \"deny\"", &[1]);
        finds(check, PATH, "[lints", &[1]);
    }

    #[test]
    fn versions_come_from_the_workspace() {
        for good in [
            "[dependencies]\na.workspace = true",
            "[dev-dependencies]\na = { workspace = true, features = [\"x\"] }",
        ] {
            passes(check, PATH, &format!("{LINTS}{good}"));
        }
        for bad in [
            "[dependencies]\na = \"1\"",
            "[dev-dependencies]\na = { version = \"1\" }",
            "[build-dependencies]\na = { path = \"../a\" }",
            "[target.'cfg(loom)'.dependencies]\na = \"1\"",
        ] {
            finds(check, PATH, &format!("{LINTS}{bad}"), &[4]);
        }
        finds(check, PATH, &format!("{LINTS}[dependencies.a]\nversion = \"1\""), &[3]);
    }
}
