//! The workload of a call: read, and bent as the flags want.

use super::loaded::Loaded;
use super::settings::{EventsArgs, Mode, Settings};
use crate::Failure;
use crate::setting::Source;
use actinium_workload::job::Unknown;
use actinium_workload::own::parse_threads;
use actinium_workload::registry::Registry;
use actinium_workload::{Checked, Faults, Work};

/// Reads the workload; a file that is none is asked wrongly. A plan or a replay does not need the
/// types of modules.
///
/// # Errors
/// With the first fault, and how many more there are.
pub fn read(args: &EventsArgs, registry: &Registry, plans: bool) -> Result<Loaded, Failure> {
    let unknown = if plans || args.replay { Unknown::Tolerated } else { Unknown::Refused };
    match args.workload(registry, unknown) {
        Ok(Checked { workload, job, warnings }) => {
            let job = job.filter(|_| !args.replay);
            Ok(Loaded { workload, job, warnings })
        }
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
pub fn bend(loaded: &mut Loaded, settings: &Settings) -> Result<(), Failure> {
    if loaded.job.is_some() {
        only_replayed("mode", settings.mode.source)?;
        only_replayed("time-scale", settings.time_scale.source)?;
    }
    let workload = &mut loaded.workload;
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

/// Refuses a flag that changes how modules spend their times, for modules that have work to do.
fn only_replayed(flag: &str, source: Source) -> Result<(), Failure> {
    match source {
        Source::Flag => Err(Failure::Asked(format!(
            "--{flag}: the file's modules have types of the program's own; with --replay, they only spend their times"
        ))),
        _ => Ok(()),
    }
}
