//! The `actinium` command.
fn main() {}
