//! Libraries do not write to stderr or stdout by themselves: what they have to tell goes through
//! the log (`actinium_scheduler::logging`), so that a program decides where it is written. A place
//! that has to says why, on its line or at most [`LINES_ABOVE`] lines above: `// tidy: stderr:
//! REASON`.

use super::guards::LINES_ABOVE;
use crate::source::has_word;
use crate::{Finding, Tree};

/// The macros that write there. (`writeln!(io::stderr(), ..)` is for shells: libraries have none.)
const MACROS: &[&str] = &["eprintln!", "eprint!", "println!", "print!", "dbg!"];

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let is_library = file.crate_name().is_some()
            && !file.path.starts_with("crates/tools/")
            && file.in_crate().starts_with("src/");
        if !is_library {
            continue;
        }
        let mut lines = source.lines();
        let tests = lines.find(|(_, code)| code.trim_start().starts_with("#[cfg(all(test"));
        let end = tests.map_or(source.tests_begin(), |(line, _)| line);
        for (line, code) in source.lines().filter(|&(line, _)| line < end) {
            let Some(name) = MACROS.iter().find(|name| has_word(code, name)) else { continue };
            let comments = source.comments_near(line, LINES_ABOVE);
            let reason = comments.split_once("tidy: stderr:").map(|(_, reason)| reason.trim());
            if reason.is_none_or(str::is_empty) {
                let message = format!("`{name}` in a library: use `actinium_scheduler::log!`");
                findings.push(file.finding(line, "stderr", message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    const PATH: &str = "crates/core/actor/src/life.rs";

    #[test]
    fn what_writes_by_itself_is_found() {
        finds(check, PATH, "f();\neprintln!(\"it failed\");", &[2]);
        finds(check, "crates/actinium/src/lib.rs", "println!(\"{x}\");", &[1]);
        finds(check, PATH, "// tidy: stderr:\neprint!(\"x\");", &[2]);
    }

    #[test]
    fn programs_tests_and_reasons_are_not() {
        passes(check, PATH, "// eprintln!(1)\nlet x = \"eprintln!\"; my_println!(x);");
        passes(check, PATH, "// tidy: stderr: the one place.\neprintln!(\"x\");");
        passes(check, PATH, "#[cfg(all(test, not(loom)))]\nmod tests {\n    println!();\n}");
        passes(check, "crates/core/actor/tests/all/x.rs", "println!(\"x\");");
        passes(check, "crates/core/memory/benches/x.rs", "println!(\"x\");");
        passes(check, "crates/tools/cli/src/main.rs", "println!(\"x\");");
    }
}
