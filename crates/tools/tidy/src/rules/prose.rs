//! Prose fits a screen and points at things that exist: Markdown lines have at most
//! [`MARKDOWN_MAX`] columns, comment lines at most [`COMMENT_MAX`], and every relative link and
//! every path below `crates/` in Markdown leads to a file or a folder.
//!
//! Tables, code blocks and lines of one word (a link, a path) may be longer.

use std::collections::BTreeSet;

use crate::{Finding, Tree, tree::File};

/// The most columns of a line of Markdown.
pub const MARKDOWN_MAX: usize = 120;
/// The most columns of a line that is a comment.
pub const COMMENT_MAX: usize = 100;

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let places = places(tree);
    let mut findings = Vec::new();
    for file in &tree.files {
        if file.path.ends_with(".rs") {
            findings.extend(long_comments(file));
        } else if file.path.ends_with(".md") {
            findings.extend(markdown(file, &places));
        }
    }
    findings
}

/// All files and folders.
fn places(tree: &Tree) -> BTreeSet<&str> {
    let mut places = BTreeSet::new();
    for file in &tree.files {
        let folders = file.path.match_indices('/').map(|(end, _)| &file.path[..end]);
        places.extend(folders.chain([file.path.as_str()]));
    }
    places
}

fn long_comments(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let text = comment.trim_start_matches(['/', '!']).trim();
        is_code ^= text.starts_with("```");
        let columns = line.chars().count();
        let may = is_code || text.starts_with('|') || is_one_word(text);
        if columns > COMMENT_MAX && !may {
            let message = format!("{columns} columns; the most for a comment is {COMMENT_MAX}");
            findings.push(file.finding(number, "prose", message));
        }
    }
    findings
}

fn markdown(file: &File, places: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut is_code = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        let columns = line.chars().count();
        if columns > MARKDOWN_MAX && !line.starts_with('|') && !is_one_word(line) {
            let message = format!("{columns} columns; the most is {MARKDOWN_MAX}");
            findings.push(file.finding(number, "prose", message));
        }
        let prose: String = line.split('`').step_by(2).collect();
        for target in links(&prose).chain(paths(line)) {
            if !leads(file, target, places) {
                let message = format!("`{target}` leads nowhere");
                findings.push(file.finding(number, "prose", message));
            }
        }
    }
    findings
}

/// Whether the line is one word, or one behind a bullet.
fn is_one_word(line: &str) -> bool {
    line.split_whitespace().filter(|word| word.len() > 1).count() <= 1
}

/// Targets of links to files: `](TARGET)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let targets = targets.filter_map(|target| target.split('#').next());
    targets.filter(|target| !target.is_empty() && !target.contains(':'))
}

/// Paths in backticks that start at the root.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.starts_with("crates/") && !text.contains(['*', ' ', '{', '<']))
}

/// Whether the target, from the file's folder or from the root, is there.
fn leads(file: &File, target: &str, places: &BTreeSet<&str>) -> bool {
    if target.starts_with("crates/") && places.contains(target.trim_end_matches('/')) {
        return true;
    }
    let mut parts: Vec<&str> = file.path.split('/').collect();
    parts.pop();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    // Pictures are no text files: only their folder is known, if it holds text, too.
    let is_picture = [".png", ".svg", ".jpg"].iter().any(|end| target.ends_with(end));
    is_picture || parts.is_empty() || places.contains(parts.join("/").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    const CODE: &str = "crates/actinium/src/lib.rs";

    #[test]
    fn long_lines_are_found() {
        let words = |columns: usize| format!("{}\n", "ab ".repeat(columns).split_at(columns).0);
        passes(check, "README.md", &words(120));
        finds(check, "README.md", &format!("\n{}", words(121)), &[2]);
        passes(check, "README.md", &format!("```\n{}```\n| {}", words(130), words(130)));
        passes(check, "README.md", &"a".repeat(130));
        passes(check, CODE, &format!("// {}", words(97)));
        finds(check, CODE, &format!("    /// {}", words(93)), &[1]);
        passes(check, CODE, &format!("//! | {}", words(130)));
        passes(check, CODE, &format!("/// ```\n/// {}", words(130)));
        passes(check, CODE, &format!("let x = \"// {}\";", words(130)));
    }

    #[test]
    fn links_and_paths_lead_somewhere() {
        let tree = |text| {
            let files = [("docs/a.md", text), ("docs/b/c.md", ""), ("crates/x/y/z.rs", "")];
            check(&Tree::of(&files)).len()
        };
        assert_eq!(tree("[b](b/c.md#part) [up](../docs/b) [web](https://a.b/c) [here](#part)"), 0);
        assert_eq!(tree("`crates/x/y/` and `crates/x/y/z.rs`, `crates/*/tests`"), 0);
        assert_eq!(tree("[b](b/d.md) and `crates/x/q.rs`"), 2);
        assert_eq!(tree("```\n[b](b/d.md)\n```\n![p](images/p.png)"), 0);
    }
}
