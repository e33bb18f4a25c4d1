//! The command line that repeats a run.

use super::Settings;
use super::settings::{Sweep, SweepOf};
use crate::setting;

/// Returns the command line that repeats the run, or the sweep.
pub(super) fn command(settings: &Settings, sweep: Option<&Sweep>) -> String {
    let mut command = format!("{} {}", settings.program, settings.config);
    if settings.replay {
        command += " --replay";
    }
    if let Some(sweep) = sweep {
        command += &format!(" --sweep {sweep}");
        if sweep.repeat > 1 {
            command += &format!(" --repeat {}", sweep.repeat);
        }
    }
    for (flag, path) in &settings.companions {
        command += &format!(" --{flag} {}", path.display());
    }
    for change in settings.thread_types.value.iter() {
        command += &format!(" --thread-type '{change}'");
    }
    let is_said =
        |name: &str| name == "thread-type" || sweep.is_some_and(|sweep| is_swept(sweep, name));
    let rows = settings.rows().into_iter().filter(|(name, ..)| !is_said(name));
    command += &setting::flags(rows);
    command
}

/// Whether the sweep decides this setting.
pub(super) fn is_swept(sweep: &Sweep, name: &str) -> bool {
    match sweep.of {
        SweepOf::Slots => name == "slots",
        SweepOf::Workers | SweepOf::Jobs => name == "slots" || name == "workers",
    }
}
