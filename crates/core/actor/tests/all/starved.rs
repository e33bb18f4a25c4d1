//! What can not be had from the system is an error.
//
// no-sanitizer: sanitizers need more address space than this leaves.

use crate::common::does;
use actinium_actor::{Bind, Shutdown, System};

/// In a process of its own, for the limit is the process's: address space for some of the stacks,
/// but not for all.
#[test]
fn threads_that_cannot_be_started_are_an_error_and_those_before_them_end() {
    const INSIDE: &str = "FEW_STACKS";
    if std::env::var_os(INSIDE).is_some() {
        let large = System::builder().workers(16).bind(Bind::None).stack_size(1 << 30);
        let error = large.build().unwrap_err();
        assert!(matches!(error, actinium_actor::BuildError::Thread(_)), "{error}");
        // The room of those that were started is free again.
        let small =
            System::builder().workers(2).bind(Bind::None).stack_size(1 << 30).build().unwrap();
        small.spawn(does(|(): (), _| ())).send(()).unwrap();
        assert_eq!(small.shutdown(Shutdown::Drain).handled, 1);
        return;
    }
    let name = "starved::threads_that_cannot_be_started_are_an_error_and_those_before_them_end";
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 6000000 && exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}
