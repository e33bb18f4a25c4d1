//! A workload as a text that other programs read: numbers with spaces between them.
//!
//! First threads, events in flight, events, locks and modules. Then for each module: its lock or
//! -1, its number in the workload, its inputs, and its times in nanoseconds; before each list
//! stands how many there are. Inputs and locks are numbered from 0, in the order of this text.

use actinium_workload::{Module, Role, Threads, Work, Workload, graph};
use std::fmt::Write;

/// The text, or why there can be none.
pub(super) fn text(
    workload: &Workload,
    threads: usize,
    in_flight: usize,
    events: u64,
) -> Result<String, String> {
    let reached = graph::reachable(workload);
    let all = workload.modules.iter().enumerate().zip(reached);
    let modules: Vec<(usize, &Module)> =
        all.filter(|(_, reached)| *reached).map(|(module, _)| module).collect();
    let place = |number: usize| modules.iter().position(|(other, _)| *other == number);
    let (mut text, mut locks) = (String::new(), Vec::new());
    for &(number, module) in &modules {
        plain(workload, module)?;
        let inputs: Option<Vec<usize>> =
            module.inputs.iter().map(|input| place(input.module)).collect();
        let inputs = inputs.ok_or_else(|| format!("{}: an input is missing", module.label))?;
        let lock = lock(number, module.threads, &mut locks).map_or(-1, |lock| lock as i64);
        let _ = write!(text, "{lock} {number} {}", inputs.len());
        inputs.iter().for_each(|input| _ = write!(text, " {input}"));
        let times = module.times.cycle();
        let _ = write!(text, " {}", times.len());
        times.iter().for_each(|ns| _ = write!(text, " {ns}"));
        text.push('\n');
    }
    let (locks, modules) = (locks.len(), modules.len());
    Ok(format!("{threads} {in_flight} {events} {locks} {modules}\n{text}"))
}

/// Whether the other programs can do what the module does.
fn plain(workload: &Workload, module: &Module) -> Result<(), String> {
    let is_plain = matches!(module.role, Role::Producer | Role::Output)
        && module.work == Work::Busy
        && module.parts.get() == 1
        && module.fails_every.is_none()
        && !module.fetches_one_by_one
        && workload.source.times.cycle() == [0];
    if is_plain {
        return Ok(());
    }
    let label = &module.label;
    Err(format!("{label}: only busy producers and outputs in one part can be compared"))
}

/// The number of the lock that a module needs: of itself, or of a resource.
fn lock(number: usize, threads: Threads, locks: &mut Vec<(bool, usize)>) -> Option<usize> {
    let key = match threads {
        Threads::Serial => (false, number),
        Threads::Exclusive { resource } => (true, resource),
        Threads::Limited(n) if n.get() == 1 => (false, number),
        _ => return None,
    };
    let known = locks.iter().position(|lock| *lock == key);
    Some(known.unwrap_or_else(|| {
        locks.push(key);
        locks.len() - 1
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use actinium_workload::{Syntax, parse};

    fn of(file: &str) -> Result<String, String> {
        let read = parse("it.toml", file, Syntax::Toml).map_err(|faults| faults.to_string())?;
        text(&read.workload, 2, 4, 7)
    }

    #[test]
    fn what_runs_is_written_in_order() {
        let file = r#"
            format = 1
            modules = [
              { label = "a", time-ms = 0.001, threads = "exclusive(disk)" },
              { label = "nobody's" },
              { label = "b", times-ms = [0.002, 0.003], inputs = ["a"] },
              { label = "out", kind = "output", threads = "serial", inputs = ["a", "b"] },
            ]
            [paths]
            main = ["out"]
        "#;
        let text = of(file).expect("it is plain");
        assert_eq!(text, "2 4 7 2 3\n0 0 0 1 1000\n-1 2 1 0 2 2000 3000\n1 3 2 0 1 1 0\n");
    }

    #[test]
    fn what_others_can_not_do_is_refused() {
        let file = r#"
            format = 1
            modules = [{ label = "out", kind = "output", work = "wait" }]
            paths = { main = ["out"] }
        "#;
        assert!(of(file).expect_err("it waits").contains("out: only busy"));
    }
}
