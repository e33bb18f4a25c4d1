//! The probe while another process wants each PU, too.

use super::figures;
use super::runs::Commands;
use crate::measured::{Measured, Unit};
use actinium_topology::{PuId, Topology, bind_current_thread};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PROBE: &str = "probe --workers 2 --json";
pub(super) const COMMAND: &str = "`actinium probe --workers 2`, with the loops and without";
const RATE: &str = "/computation_throughput_per_s";
/// Until the loops have had the PUs for as long as a scheduler of an operating system looks back.
const LEAD: Duration = Duration::from_millis(300);

/// What so many pairs of runs say: with a busy loop on each PU, to without.
pub(super) fn measure(commands: &Commands, pairs: usize) -> Result<Measured, String> {
    let rate = || {
        let document = commands.actinium(PROBE)?;
        figures::at(&document, RATE).ok_or_else(|| format!("{PROBE}: it prints no {RATE}"))
    };
    let pair = |_| {
        let alone = rate()?;
        Ok(beside_loops(rate)? / alone)
    };
    Ok(Measured {
        what: "probe, 2 workers, beside a busy loop of another process on each PU, to alone"
            .to_owned(),
        unit: Unit::Times,
        values: (0..pairs).map(pair).collect::<Result<_, String>>()?,
        wanted: "≥ 0.45",
    })
}

/// Runs `measure` while this process keeps each PU busy that it may use.
fn beside_loops<T>(measure: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let machine = Topology::detect().map_err(|error| error.to_string())?;
    let pus: Vec<PuId> = machine.allowed().iter().collect();
    let is_over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let loops: Vec<_> = pus
            .iter()
            .map(|&pu| {
                scope.spawn(move || {
                    bind_current_thread(pu).map_err(|error| error.to_string())?;
                    // Relaxed: nothing else is handed over.
                    while !is_over.load(Ordering::Relaxed) {
                        spin_loop();
                    }
                    Ok::<_, String>(())
                })
            })
            .collect();
        std::thread::sleep(LEAD);
        let measured = measure();
        // Relaxed: pairs with nothing, as above.
        is_over.store(true, Ordering::Relaxed);
        for busy in loops {
            busy.join().map_err(|_| "a busy loop panicked".to_owned())??;
        }
        measured
    })
}
