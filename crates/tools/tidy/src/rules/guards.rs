//! User code is called, and its values are held and dropped, by `actinium_scheduler::guard` alone:
//! whoever catches a panic by hand forgets that its payload may panic, too; and a closure or a
//! future of the user's in a plain box has a destructor that may panic wherever that box dies. A
//! place that needs it otherwise says why, on its line or at most [`LINES_ABOVE`] lines above: `//
//! tidy: guard: REASON`.

use crate::source::has_word;
use crate::{Finding, Tree};

/// How far above its place a reason may stand.
pub const LINES_ABOVE: usize = 3;

/// The crates that call user code on workers.
const CRATES: &[&str] = &["scheduler", "actor", "events"];

/// The types of what the user gives to be called. (Tasks, callbacks and the like are the runtime's
/// own: they have names.)
const USERS: &[&str] =
    &["Box<dyn Fn", "Box<dyn FnMut", "Box<dyn FnOnce", "Box<dyn Future", "Arc<dyn Fn"];

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust() {
        let is_guarded = file.crate_name().is_some_and(|name| CRATES.contains(&name))
            && file.in_crate().starts_with("src/")
            && file.in_crate() != "src/guard.rs";
        if !is_guarded {
            continue;
        }
        let mut lines = source.lines();
        let tests = lines.find(|(_, code)| code.trim_start().starts_with("#[cfg(all(test"));
        let end = tests.map_or(source.tests_begin(), |(line, _)| line);
        for (line, code) in source.lines().filter(|&(line, _)| line < end) {
            let message = if code.contains("catch_unwind(") && !code.contains("fn ") {
                has_word(code, "catch_unwind").then_some("`catch_unwind`: use `guard::catch`")
            } else {
                let holds = USERS.iter().any(|user| code.contains(user));
                let is_held = !code.contains("Guarded<") && !code.contains("&mut dyn");
                (holds && is_held).then_some("a closure of the user's: hold it in a `Guarded`")
            };
            let Some(message) = message else { continue };
            let comments = source.comments_near(line, LINES_ABOVE);
            let reason = comments.split_once("tidy: guard:").map(|(_, reason)| reason.trim());
            if reason.is_none_or(str::is_empty) {
                findings.push(file.finding(line, "guards", message.to_owned()));
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
    fn panics_caught_by_hand_and_plain_boxes_are_found() {
        finds(check, PATH, "let _ = catch_unwind(AssertUnwindSafe(|| drop(msg)));", &[1]);
        finds(check, PATH, "x();\nstd::panic::catch_unwind(f);", &[2]);
        finds(check, PATH, "struct A {\n    call: Box<dyn FnOnce() + Send>,\n}", &[2]);
        finds(check, PATH, "type Listener = Arc<dyn Fn(&Letter)>;", &[1]);
        finds(check, PATH, "// tidy: guard:\ntype Listener = Arc<dyn Fn(&Letter)>;", &[2]);
    }

    #[test]
    fn what_is_guarded_or_not_the_user_s_is_not() {
        passes(check, PATH, "guard::catch(|| f());");
        passes(check, PATH, "type Factory<A> = Guarded<Box<dyn FnMut() -> A + Send>>;");
        passes(check, PATH, "// tidy: guard: never dropped\ntype Job = Box<dyn FnOnce()>;");
        passes(check, PATH, "ctx.pipe_catch_unwind(async {}, |it| it);");
        passes(check, "crates/core/scheduler/src/guard.rs", "catch_unwind(f)");
        passes(check, "crates/core/actor/tests/all/x.rs", "catch_unwind(f)");
        passes(check, "crates/tools/cli/src/x.rs", "catch_unwind(f)");
        passes(check, PATH, "#[cfg(test)]\nmod tests {\n    catch_unwind(f);\n}");
        passes(check, PATH, "#[cfg(all(test, not(loom)))]\nmod tests {\n    catch_unwind(f);\n}");
    }
}
