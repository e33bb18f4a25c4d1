//! Stamps: which versions of which modules a product came from.
//!
//! A stamp is a digest of a module's label and version and of the stamps of its inputs, in the
//! order in which it asks for them. What a module reads does not change while a graph runs, so its
//! stamp is computed once, when the graph is built, and costs an event nothing.

use actinium_scheduler::mixing::mix;
use std::fmt;

/// Which versions of which modules a product came from: equal if and only if all of them, and the
/// ways in which they read each other, are (to within the odds of 64 bits). It does not change from
/// run to run or from machine to machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(u64);

impl Stamp {
    pub(crate) fn new(label: &str, version: u32, inputs: impl Iterator<Item = Stamp>) -> Self {
        let name =
            label.bytes().fold(mix(0, label.len() as u64), |sum, byte| mix(sum, byte.into()));
        Stamp(inputs.fold(mix(name, version.into()), |sum, input| mix(sum, input.0)))
    }

    /// Returns the stamp as a number, to be stored with the data that is written.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The stamps of modules (label, version, and who makes what it asks for) and, last, of the source.
/// There is no cycle.
pub(crate) fn stamps(modules: &[(&str, u32, &[u16])], source: (&str, u32)) -> Box<[Stamp]> {
    let n = modules.len();
    let mut stamps: Vec<Option<Stamp>> = vec![None; n];
    stamps.push(Some(Stamp::new(source.0, source.1, std::iter::empty())));
    // A stack of its own: graphs are deep.
    let mut wanted: Vec<usize> = (0..n).collect();
    while let Some(&m) = wanted.last() {
        let (label, version, inputs) = modules[m];
        let missing = inputs.iter().map(|&input| usize::from(input));
        let missing = missing.filter(|&input| stamps[input].is_none());
        let before = wanted.len();
        wanted.extend(missing);
        if wanted.len() == before {
            let inputs = inputs.iter().filter_map(|&input| stamps[usize::from(input)]);
            stamps[m] = Some(Stamp::new(label, version, inputs));
            wanted.pop();
        }
    }
    stamps.into_iter().flatten().collect()
}
