//! `cargo bench -p actinium-bench --bench events [FILE [SECTION]]`: see `actinium_bench::events`.

use std::process::ExitCode;

fn main() -> ExitCode {
    actinium_bench::events()
}
