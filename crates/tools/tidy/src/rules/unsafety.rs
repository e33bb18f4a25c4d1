//! `unsafe` stands only where [`is_allowed`] says: few places, each reviewed, each under Miri and
//! sanitizers.

use crate::{Finding, Tree, tree::File};

/// Whole crates, and names of files or folders under `src/` of crates, that may hold `unsafe`.
const ALLOWED: &[(&str, &[&str])] = &[
    ("scheduler", &[]),
    ("memory", &[]),
    ("actor", &["actor", "cell", "mailbox", "send"]),
    // FFI: a receive that is under way while its owner does something else; windows; memory that
    // processes share.
    ("cluster", &["mpi_bell", "mpi_segment", "mpi_transfer", "mpi_window"]),
    // Products are read without being counted as read.
    ("events", &["reading"]),
    // A function that runs before `main`.
    ("dashboard", &["before_main"]),
    ("monitor", &["before_main"]),
    // FFI: binding threads.
    ("topology", &["bind"]),
];

/// Whether `unsafe` may stand in this file.
#[must_use]
pub fn is_allowed(file: &File) -> bool {
    let counts_allocations = file.stem().contains("alloc")
        && (file.crate_name() == Some("bench")
            || file.is_below("tests")
            || file.is_below("benches"));
    let Some((_, names)) = ALLOWED.iter().find(|&&(name, _)| file.crate_name() == Some(name))
    else {
        return counts_allocations;
    };
    let below_src = file.in_crate().strip_prefix("src/");
    let first = below_src.and_then(|path| path.split(['/', '.']).next());
    let named = first.is_some_and(|first| names.iter().any(|name| first.starts_with(name)));
    // The model of a cell has a cell's memory.
    let is_model = file.crate_name() == Some("actor") && file.stem() == "loom_cell";
    counts_allocations || names.is_empty() || named || is_model
}

/// The rule.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| !is_allowed(file)) {
        findings.extend(source.uses("unsafe").map(|line| {
            let message =
                "`unsafe` in a file that may not hold it (see actinium-tidy, rules/unsafety.rs)";
            file.finding(line, "unsafe", message)
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::{finds, passes};

    const UNSAFE: &str = "fn f() {\n    unsafe { g() }\n}";

    #[test]
    fn it_is_found_outside_its_places() {
        for path in [
            "crates/actinium/src/lib.rs",
            "crates/core/actor/src/address.rs",
            "crates/core/actor/src/system/mailbox.rs",
            "crates/core/actor/tests/mailbox.rs",
            "crates/core/topology/src/lib.rs",
            "crates/tools/bench/src/main.rs",
            "crates/observe/observe/src/alloc.rs",
            "build.rs",
        ] {
            finds(check, path, UNSAFE, &[2]);
        }
        finds(check, "crates/actinium/src/lib.rs", "unsafe impl Send for X {}", &[1]);
    }

    #[test]
    fn it_is_free_in_its_places() {
        for path in [
            "crates/core/scheduler/src/runnable.rs",
            "crates/core/actor/src/mailbox.rs",
            "crates/core/actor/src/mailbox_block.rs",
            "crates/core/actor/src/mailbox/block.rs",
            "crates/core/actor/src/cell/mod.rs",
            "crates/core/topology/src/bind.rs",
            "crates/tools/bench/src/counting_allocator.rs",
            "crates/actinium/tests/allocations.rs",
        ] {
            passes(check, path, UNSAFE);
        }
    }

    #[test]
    fn the_word_alone_is_not_a_use() {
        passes(
            check,
            "crates/actinium/src/lib.rs",
            "#![forbid(unsafe_code)]\n// unsafe is elsewhere",
        );
    }
}
