//! `unsafe` stands only where [`is_allowed`] says: few places, each reviewed, each under Miri and sanitizers.

use crate::{Finding, Tree, tree::File};

/// Whole crates, and names of files or folders under `src/` of crates, that may hold `unsafe`.
const ALLOWED: &[(&str, &[&str])] = &[
    ("actinium-scheduler", &[]),
    ("actinium-memory", &[]),
    ("actinium-actor", &["mailbox", "cell"]),
    // FFI: a receive that is under way while its owner does something else; windows; memory that processes share.
    ("actinium-cluster", &["mpi_bell", "mpi_transfer", "mpi_window"]),
    // FFI: binding threads.
    ("actinium-topology", &["bind", "cpuset"]),
];

/// Whether `unsafe` may stand in this file.
#[must_use]
pub fn is_allowed(file: &File) -> bool {
    let counts_allocations = file.stem().contains("alloc")
        && (file.crate_name() == Some("actinium-bench")
            || file.is_below("tests")
            || file.is_below("benches"));
    let Some((_, names)) = ALLOWED.iter().find(|&&(name, _)| file.crate_name() == Some(name))
    else {
        return counts_allocations;
    };
    let below_src = file.in_crate().strip_prefix("src/");
    let first = below_src.and_then(|path| path.split(['/', '.']).next());
    let named = first.is_some_and(|first| names.iter().any(|name| first.starts_with(name)));
    counts_allocations || names.is_empty() || named
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
            "crates/actinium-actor/src/address.rs",
            "crates/actinium-actor/src/system/mailbox.rs",
            "crates/actinium-actor/tests/mailbox.rs",
            "crates/actinium-topology/src/lib.rs",
            "crates/actinium-bench/src/main.rs",
            "crates/actinium-observe/src/alloc.rs",
            "build.rs",
        ] {
            finds(check, path, UNSAFE, &[2]);
        }
        finds(check, "crates/actinium/src/lib.rs", "unsafe impl Send for X {}", &[1]);
    }

    #[test]
    fn it_is_free_in_its_places() {
        for path in [
            "crates/actinium-scheduler/src/runnable.rs",
            "crates/actinium-actor/src/mailbox.rs",
            "crates/actinium-actor/src/mailbox_block.rs",
            "crates/actinium-actor/src/mailbox/block.rs",
            "crates/actinium-actor/src/cell/mod.rs",
            "crates/actinium-topology/src/bind.rs",
            "crates/actinium-topology/src/cpuset.rs",
            "crates/actinium-bench/src/counting_allocator.rs",
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
