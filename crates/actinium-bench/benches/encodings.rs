//! `cargo bench -p actinium-bench --bench encodings`: see `actinium_bench::encodings`.

use std::process::ExitCode;

fn main() -> ExitCode {
    actinium_bench::encodings()
}
