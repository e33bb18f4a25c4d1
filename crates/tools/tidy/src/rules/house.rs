//! The table "The house" in `ARCHITECTURE.md` names every crate, with its floor.

use std::collections::BTreeSet;

use super::layers::FLOORS;
use crate::{Finding, Tree};

const PAGE: &str = "ARCHITECTURE.md";

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.files.iter().find(|file| file.path == PAGE) else {
        return Vec::new();
    };
    let drawn: BTreeSet<(String, String)> = page.text.lines().flat_map(row).collect();
    let built: BTreeSet<(String, String)> = tree
        .manifests()
        .filter_map(|manifest| {
            let path = manifest.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            Some((floor_of(manifest.crate_name()?), path.to_owned()))
        })
        .collect();
    let missing = built.difference(&drawn).map(|(floor, path)| {
        page.finding(1, "house", format!("the table has no row `| {floor} | `{path}` |`"))
    });
    let gone = drawn.difference(&built).map(|(floor, path)| {
        page.finding(
            1,
            "house",
            format!("the table has `{path}` on floor {floor}; it is not there"),
        )
    });
    missing.chain(gone).collect()
}

/// The floor of a crate in the words of the table: a number, or `-` for a crate beside the house.
fn floor_of(folder: &str) -> String {
    let package = if folder == "actinium" { folder.into() } else { format!("actinium-{folder}") };
    let floor = FLOORS.iter().find(|(_, names)| names.contains(&package.as_str()));
    match floor {
        None | Some((0, _)) => "-".to_owned(),
        Some((floor, _)) => floor.to_string(),
    }
}

/// The floor and the folders of a row: `| 4 | `core/actor` | .. |`.
fn row(line: &str) -> Vec<(String, String)> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, floor, folders, ..] = cells[..] else { return Vec::new() };
    if floor != "-" && floor.parse::<u8>().is_err() {
        return Vec::new();
    }
    let folders = folders.split('`').skip(1).step_by(2);
    folders.map(|folder| (floor.to_owned(), folder.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_crates_agree() {
        let found = |table: &str| {
            let crates = ["crates/core/actor/Cargo.toml", "crates/tools/tidy/Cargo.toml"];
            let mut files = crates.map(|path| (path, "")).to_vec();
            files.push((PAGE, table));
            check(&Tree::of(&files)).len()
        };
        assert_eq!(found("| 4 | `core/actor` | x |\n| - | `tools/tidy` | y |"), 0);
        assert_eq!(found("| 3 | `core/actor` | x |\n| - | `tools/tidy` | y |"), 2);
        assert_eq!(found("| - | `tools/tidy` | y |\n| word | `core/actor` | y |"), 1);
        assert_eq!(check(&Tree::of(&[("crates/core/actor/Cargo.toml", "")])).len(), 0);
    }
}
