//! A crate as a new user has it: it depends on the facade and on no other crate of ours, and has
//! every example of the documents as a program. The program `fresh` has cargo check it.

use std::collections::BTreeSet;

/// A listing of Rust in a document.
#[derive(Debug, PartialEq, Eq)]
pub struct Listing<'a> {
    /// The line of its first line, counted from 1.
    pub line: usize,
    /// What is between the fences.
    pub text: &'a str,
}

impl Listing<'_> {
    /// Whether it is a whole program, and not a part of one.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.text.lines().any(|line| line.starts_with("fn main()"))
    }
}

/// The listings of a document that are marked as Rust and nothing more (`rust,ignore`, say).
#[must_use]
pub fn listings(text: &str) -> Vec<Listing<'_>> {
    let mut found = Vec::new();
    let (mut at, mut begun) = (0, None);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        match (line.trim_end(), begun) {
            ("```rust", None) => begun = Some((number + 1, at + line.len())),
            ("```", Some((line, start))) => {
                found.push(Listing { line, text: &text[start..at] });
                begun = None;
            }
            _ => {}
        }
        at += line.len();
    }
    found
}

/// The crates of ours other than the facade that a text names.
#[must_use]
pub fn strangers(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("actinium_")).collect()
}

/// The lines of a section of a manifest.
fn section<'a>(manifest: &'a str, head: &str) -> impl Iterator<Item = &'a str> {
    let lines = manifest.lines().skip_while(move |line| *line != head).skip(1);
    lines.take_while(|line| !line.starts_with('['))
}

/// The manifest of the fresh crate. `root` and `facade` are the manifests of the workspace and of
/// the facade, which lies at `path`; `programs` are the names and paths of the crate's programs.
///
/// Its features are all that an example needs, and those that the API's pages are built with. What
/// is not ours is what the facade's examples use.
#[must_use]
pub fn manifest(root: &str, facade: &str, path: &str, programs: &[(String, String)]) -> String {
    let listed = |line: &str| -> Vec<String> {
        let names = line.split('"').skip(1).step_by(2);
        names.map(|name| format!("\"{name}\"")).collect()
    };
    let required = facade.lines().filter(|line| line.starts_with("required-features = "));
    let built = section(facade, "[package.metadata.docs.rs]");
    let features: BTreeSet<String> = required.chain(built).flat_map(listed).collect();
    let features = features.into_iter().collect::<Vec<_>>().join(", ");
    let versions = section(root, "[workspace.dependencies]").filter(|it| !it.contains("path ="));
    let others = section(facade, "[dev-dependencies]");
    let profile = section(root, "[profile.dev]");
    let mut text = format!(
        "[package]\nname = \"fresh\"\nedition = \"2024\"\npublish = false\nautobins = false\n\n\
         [lints.rust]\nwarnings = \"deny\"\n\n\
         [workspace]\nresolver = \"3\"\n\n\
         [workspace.dependencies]\n{}\n\
         [dependencies]\nactinium = {{ path = \"{path}\", features = [{features}] }}\n{}\n\
         [profile.dev]\n{}\n\
         [profile.dev.package.\"*\"]\ndebug = false\n",
        lines(versions),
        lines(others),
        lines(profile),
    );
    for (name, path) in programs {
        text += &format!("\n[[bin]]\nname = \"{name}\"\npath = \"{path}\"\n");
    }
    text
}

fn lines<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_of_rust_are_found_with_their_lines() {
        let text = "a\n```rust\nfn main() {}\n```\n```sh\nls\n```\n```rust,ignore\nx\n```\n\
                    ```rust\nlet x;\n    fn main() {}\n```\n```rust\nnever closed\n";
        let found = listings(text);
        let expected = [(3, "fn main() {}\n", true), (12, "let x;\n    fn main() {}\n", false)];
        let found: Vec<_> = found.iter().map(|it| (it.line, it.text, it.is_whole())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn crates_of_ours_are_strangers_but_for_the_facade() {
        let text = "use actinium::cluster;\nuse actinium_cluster::Node; // ACTINIUM_WORKERS\n";
        assert_eq!(strangers(text), BTreeSet::from(["actinium_cluster"]));
    }

    #[test]
    fn a_manifest_has_one_crate_of_ours_and_what_its_examples_need() {
        let root = "[workspace.dependencies]\nactinium = { path = \"crates/actinium\" }\n\
                    serde = \"1\"\n\n[profile.dev]\ndebug = 1\n\n[profile.release]\nlto = true\n";
        let facade = "[package.metadata.docs.rs]\nfeatures = [\"app\", \"wire\"]\n\
                      [dev-dependencies]\nserde.workspace = true\n\n[[example]]\nname = \"job\"\n\
                      required-features = [\"app\", \"csv\"]\n";
        let programs = [("hello".to_owned(), "/x/hello.rs".to_owned())];
        let text = manifest(root, facade, "/a", &programs);
        let table: toml::Table = text.parse().expect("a manifest");
        let ours = &table["dependencies"]["actinium"];
        assert_eq!(ours["path"].as_str(), Some("/a"));
        let features: Vec<_> =
            ours["features"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
        assert_eq!(features, ["app", "csv", "wire"]);
        assert_eq!(table["dependencies"]["serde"]["workspace"].as_bool(), Some(true));
        let versions = table["workspace"]["dependencies"].as_table().unwrap();
        assert_eq!(versions.keys().collect::<Vec<_>>(), ["serde"]);
        assert_eq!(table["bin"][0]["name"].as_str(), Some("hello"));
        assert!(!text.contains("lto"));
    }
}
