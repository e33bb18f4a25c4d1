//! `--validate`: all that is wrong with a workload's file.

use super::settings::EventsArgs;
use crate::Failure;
use crate::output;
use actinium_workload::job::Unknown;
use actinium_workload::registry::Registry;
use actinium_workload::{Fault, Faults};
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Report<'a> {
    schema_version: u32,
    file: String,
    valid: bool,
    errors: usize,
    warnings: usize,
    faults: &'a [Fault],
}

/// Prints all faults.
///
/// # Errors
/// If any of them forbids running the workload, or stdout can not be written.
pub fn run(args: &EventsArgs, registry: &Registry, json: bool) -> Result<(), Failure> {
    let read = args.workload(registry, Unknown::Refused);
    let faults = match &read {
        Ok(checked) => &checked.warnings,
        Err(faults) => faults,
    };
    let (errors, warnings) = (faults.errors().count(), faults.warnings().count());
    let file = args.config.to_string_lossy().into_owned();
    match json {
        true => output::print_json(&Report {
            schema_version: super::SCHEMA_VERSION,
            file: file.clone(),
            valid: read.is_ok(),
            errors,
            warnings,
            faults: faults.list(),
        })?,
        false => output::print(text(&file, faults, read.is_ok()))?,
    }
    match read {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::Asked(format!(
            "{file}: it can not be run: {}, {}",
            counted(errors, "error"),
            counted(warnings, "warning")
        ))),
    }
}

fn text(file: &str, faults: &Faults, is_valid: bool) -> String {
    let mut text = faults.to_string();
    if is_valid {
        let warnings = counted(faults.warnings().count(), "warning");
        text += &format!("{file}: it can be run: {warnings}\n");
    }
    text
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
