//! GaudiHive's data flow, its times and its control flow: three texts, divided by zero bytes.
#![no_main]

use actinium_workload::gaudi::{self, File, Job};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut texts = text.splitn(3, '\0');
    let mut file = |name| texts.next().map(|text| File { name, text });
    let data = file("flow").unwrap_or(File { name: "flow", text: "" });
    let times = file("times").unwrap_or(File { name: "times", text: "{}" });
    if let Err(faults) = gaudi::parse_job(Job { data, times, control: file("control") }) {
        assert!(!faults.to_string().is_empty());
    }
});
