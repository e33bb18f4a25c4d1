//! GaudiHive's data flow and its times: two texts, divided by a zero byte.
#![no_main]

use actinium_workload::gaudi;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (flow, times) = text.split_once('\0').unwrap_or((text, "{}"));
    if let Err(faults) = gaudi::parse("flow", flow, "times", times) {
        assert!(!faults.to_string().is_empty());
    }
});
