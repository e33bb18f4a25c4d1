//! The names of exclusive resources that the runs on a system use: one run each.

use actinium_scheduler::sync::lock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The graph that uses each name.
#[derive(Default)]
pub(crate) struct Exclusives(Mutex<BTreeMap<String, String>>);

/// A run's names, until this is dropped.
pub(crate) struct Claim {
    all: Arc<Exclusives>,
    names: Vec<String>,
}

impl Exclusives {
    /// Claims names for a graph. Returns the first that is taken, and by which graph.
    pub(crate) fn claim(
        self: &Arc<Self>,
        names: &[String],
        graph: &str,
    ) -> Result<Claim, (String, String)> {
        let mut taken = lock(&self.0);
        if let Some((name, other)) = names.iter().find_map(|name| taken.get_key_value(name)) {
            return Err((name.clone(), other.clone()));
        }
        taken.extend(names.iter().map(|name| (name.clone(), graph.to_owned())));
        Ok(Claim { all: self.clone(), names: names.to_vec() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut taken = lock(&self.all.0);
        self.names.iter().for_each(|name| drop(taken.remove(name)));
    }
}
