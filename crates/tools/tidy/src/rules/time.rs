//! The runtime asks its clock and never sleeps on its own, so that one seed gives one run; tests
//! wait for things to happen and not for time to pass. A place that needs it all the same says why,
//! on its line or just above: `// tidy: clock: REASON`.

use crate::{Finding, Tree, tree::File};

const READS: &[&str] = &["Instant::now", "SystemTime::now", "thread::sleep"];

/// Where real time is the point: the clock itself, what measures, what people run.
fn is_allowed(file: &File) -> bool {
    let measures = matches!(file.crate_name(), Some("bench" | "cli" | "lab"));
    let clock = file.stem() == "clock" && file.in_crate().starts_with("src/");
    measures || clock || file.is_below("benches") || file.is_below("examples")
}

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| !is_allowed(file)) {
        for read in READS {
            for line in source.uses(read) {
                let comments = source.comments_near(line, 2);
                let reason = comments.split_once("tidy: clock:").map(|(_, reason)| reason.trim());
                if reason.is_none_or(str::is_empty) {
                    let message = format!(
                        "`{read}` outside clock.rs, benches, examples, the lab and the command"
                    );
                    findings.push(file.finding(line, "time", message));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    const READ: &str = "fn f() {\n    let now = std::time::Instant::now();\n}";

    #[test]
    fn real_time_is_found_in_the_runtime_and_in_tests() {
        for path in [
            "crates/core/scheduler/src/worker.rs",
            "crates/core/actor/tests/ask.rs",
            "crates/core/actor/tests/clock.rs",
            "crates/actinium/src/lib.rs",
        ] {
            finds(check, path, READ, &[2]);
        }
        finds(check, "crates/actinium/src/lib.rs", "SystemTime::now();", &[1]);
        finds(check, "crates/actinium/src/lib.rs", "\nthread::sleep(MS);", &[2]);
    }

    #[test]
    fn it_is_free_where_time_is_the_point() {
        for path in [
            "crates/core/scheduler/src/clock.rs",
            "crates/tools/bench/src/main.rs",
            "crates/actinium/benches/send.rs",
            "crates/actinium/examples/ring.rs",
            "crates/tools/cli/src/bench.rs",
        ] {
            passes(check, path, READ);
        }
    }

    #[test]
    fn a_reason_lets_it_pass_and_an_empty_one_does_not() {
        let path = "crates/core/actor/tests/wall.rs";
        passes(check, path, "// tidy: clock: the real timer is what is tested\nInstant::now();");
        finds(check, path, "// tidy: clock:\nInstant::now();", &[2]);
        finds(check, path, "// tidy: clock: far away\n\n\n\nInstant::now();", &[5]);
    }
}
