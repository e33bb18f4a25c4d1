//! The circumstances of a measurement: where and when it was made.

use serde::Serialize;
use std::fmt;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The circumstances of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Circumstances {
    /// The day, in UTC: `2025-01-31`.
    pub(crate) date: String,
    /// How to run it again.
    pub(crate) command: String,
    /// The commit, with `+` if the working copy differs from it; `None` outside a repository.
    pub(crate) commit: Option<String>,
    /// The name that the processor gives itself.
    pub(crate) processor: String,
    /// PUs that this process may use.
    pub(crate) pus: usize,
}

impl fmt::Display for Circumstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, `{}`", self.date, self.command)?;
        if let Some(commit) = &self.commit {
            write!(f, ", commit {commit}")?;
        }
        write!(f, "; {} PUs of {}", self.pus, self.processor)
    }
}

impl Circumstances {
    pub(crate) fn now(args: &[String]) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        Circumstances {
            date: date(since / 86_400),
            command: command(args),
            commit: commit(),
            processor: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            pus: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

fn command(args: &[String]) -> String {
    let mut args = args.iter().filter(|arg| *arg != "--bench").peekable();
    let mut command = String::from("cargo bench -p actinium-bench");
    if args.peek().is_some() {
        command += " --";
    }
    args.for_each(|arg| command = format!("{command} {arg}"));
    command
}

/// The day so many days after 1970-01-01 (the Gregorian calendar repeats every 146,097 days; years
/// begin in March here, so that the day that some years lack is their last).
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let differs = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(commit + if differs.is_empty() { "" } else { "+" })
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_088, "2024-12-31"),
            (20_089, "2025-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn the_command_runs_it_again() {
        let command =
            |args: &[&str]| command(&args.iter().map(|&arg| arg.into()).collect::<Vec<_>>());
        assert_eq!(command(&["--bench"]), "cargo bench -p actinium-bench");
        assert_eq!(
            command(&["--only", "ring", "--bench"]),
            "cargo bench -p actinium-bench -- --only ring"
        );
    }
}
