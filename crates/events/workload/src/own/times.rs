//! The times of a module or of the source, event by event.

use crate::draft::{self, Unit};
use crate::fault::Reporter;
use crate::model::Times;
use crate::tree::{Node, Table};

/// Longest cycle of a module's own times and the events' factors together.
pub(super) const CYCLE_MAX: usize = 100_000;

/// `time-ms` or `times-ms`, multiplied by the events' factors.
pub(super) fn times(table: &mut Table<'_>, factors: &[f64], reporter: &mut Reporter<'_>) -> Times {
    let (one, many) = (table.get("time-ms"), table.get("times-ms"));
    let what = [table.name("time-ms"), table.name("times-ms")];
    let times = match (one, many) {
        (None, None) => return Times::constant(0),
        (Some(node), None) => {
            draft::nanoseconds(node, &what[0], Unit::Milliseconds, reporter).map(|ns| vec![ns])
        }
        (None, Some(node)) => draft::times(node, &what[1], Unit::Milliseconds, reporter),
        (Some(_), Some(node)) => {
            reporter
                .error(node.at(), format!("{} stands beside 'time-ms': say one of them", what[1]));
            None
        }
    };
    let times = times.unwrap_or_default();
    if factors.is_empty() || times.is_empty() {
        return Times::cycled(times);
    }
    let cycle = least_common_multiple(times.len(), factors.len());
    if cycle > CYCLE_MAX {
        let message = format!(
            "{} and 'event-factors' come together again after {cycle} events only: let one's length divide the other's",
            what[1]
        );
        reporter.error(many.map_or(table.at(), Node::at), message);
        return Times::cycled(times);
    }
    let most = (draft::SECONDS_MAX * 1e9) as u64;
    let scaled = |event: usize| {
        let ns = times[event % times.len()] as f64 * factors[event % factors.len()];
        (ns.round() as u64).min(most)
    };
    Times::cycled((0..cycle).map(scaled).collect())
}

fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
