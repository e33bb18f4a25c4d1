//! `cargo bench -p actinium-bench`: see the library `actinium_bench`.

use std::process::ExitCode;

fn main() -> ExitCode {
    actinium_bench::main()
}
