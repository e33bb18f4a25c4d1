//! What `#[actor]` refuses, with the words of the compiler.

/// The compiler says what is wrong and what to do, at the user's line.
///
/// `TRYBUILD=overwrite cargo test -p actinium-actor-macros` writes what it says now.
#[test]
fn errors_say_what_to_do() {
    trybuild::TestCases::new().compile_fail("tests/cases/*.rs");
}
