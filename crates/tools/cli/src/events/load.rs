//! The workload of a call: read, and bent as the flags want.

use super::settings::{EventsArgs, Mode, Settings};
use actinium_app::Failure;
use actinium_workload::own::parse_threads;
use actinium_workload::{Faults, Work, Workload};

/// Reads the workload; a file that is none is asked wrongly.
///
/// # Errors
/// With the first fault, and how many more there are.
pub fn read(args: &EventsArgs) -> Result<(Workload, Faults), Failure> {
    match args.workload() {
        Ok(checked) => Ok((checked.workload, checked.warnings)),
        Err(faults) => Err(Failure::Asked(first(&faults))),
    }
}

/// The first error, in one line.
fn first(faults: &Faults) -> String {
    let count = faults.errors().count();
    let first = faults.errors().next().map(ToString::to_string).unwrap_or_default();
    match count {
        0 | 1 => first,
        _ => format!("{first} (and {} more: --validate lists them)", count - 1),
    }
}

/// Changes the workload as the flags want it.
///
/// # Errors
/// If a flag names a module that is not there.
pub fn bend(workload: &mut Workload, settings: &Settings) -> Result<(), Failure> {
    match settings.mode.value {
        Mode::Busy => workload.set_work(Work::Busy),
        Mode::Wait => workload.set_work(Work::Wait),
        Mode::AsConfigured => {}
    }
    if settings.time_scale.value != 1.0 {
        workload.scale_times(settings.time_scale.value);
    }
    for change in &settings.thread_types.value {
        let asked = |problem: String| Failure::Asked(format!("--thread-type: {problem}"));
        let threads = parse_threads(&change.kind, |name| workload.resource(name)).map_err(asked)?;
        match &change.label {
            None => workload.modules.iter_mut().for_each(|module| module.threads = threads),
            Some(label) => match workload.module(label) {
                Some(index) => workload.modules[index].threads = threads,
                None => {
                    let near = workload.near(label);
                    let near = near.map(|near| format!("; did you mean '{near}'?"));
                    let near = near.unwrap_or_default();
                    return Err(asked(format!("'{label}' is no module of this workload{near}")));
                }
            },
        }
    }
    Ok(())
}
