//! Our own format and the CMS demo framework's, in JSON: any text ends in a workload or in faults
//! that lie within it.
#![no_main]

use actinium_workload::{self as workload, Syntax};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match workload::parse("input", text, Syntax::Json) {
        // What is accepted can be laid out.
        Ok(checked) => drop(workload::graph::reachable(&checked.workload)),
        Err(faults) => assert!(!faults.to_string().is_empty()),
    }
});
