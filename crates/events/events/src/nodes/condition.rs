//! Conditions: values that hold for a run, loaded where it begins.

use super::codec::{decode, encode};
use crate::cause::{Cause, said};
use crate::erased::{Erased, Ran};
use crate::event::Event;
use crate::module::Transition;
use actinium_scheduler::guard::{self, Guarded};
use actinium_scheduler::sync::lock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A value that holds for a run, such as a calibration: see
/// [`Builder::condition`](crate::Builder::condition). Clones are the same condition.
pub struct Condition<C: 'static>(Arc<Cell<C>>);

struct Cell<C: 'static> {
    name: String,
    /// The run that is on or was on last, with its value.
    now: RwLock<Option<(u64, Arc<C>)>>,
    /// The same of a run that begins soon.
    next: Mutex<Option<(u64, Arc<C>)>>,
    load: Mutex<Load<C>>,
}

type Load<C> = Guarded<Box<dyn FnMut(u64) -> Result<C, Cause> + Send>>;

impl<C: 'static> Condition<C> {
    /// The value of the run that is on, or of the one that was on last.
    ///
    /// # Errors
    /// If no run has begun: the source has not said [`Transition::BeginRun`].
    pub fn get(&self) -> Result<Arc<C>, Cause> {
        let now = self.0.now.read().unwrap_or_else(PoisonError::into_inner);
        let (_, value) = now.as_ref().ok_or_else(|| {
            format!("condition '{}' was asked for before a run had begun", self.0.name)
        })?;
        Ok(value.clone())
    }
}

impl<C> Clone for Condition<C> {
    fn clone(&self) -> Self {
        Condition(self.0.clone())
    }
}

impl<C> fmt::Debug for Condition<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Condition<{}>('{}')", std::any::type_name::<C>(), self.0.name)
    }
}

impl<C: Send + Sync + Serialize + DeserializeOwned + 'static> Condition<C> {
    pub(crate) fn new(
        name: &str,
        load: impl FnMut(u64) -> Result<C, Cause> + Send + 'static,
    ) -> Self {
        Condition(Arc::new(Cell {
            name: name.to_owned(),
            now: RwLock::default(),
            next: Mutex::default(),
            load: Mutex::new(Guarded::new(Box::new(load))),
        }))
    }

    /// The module that changes the value where the run changes.
    pub(crate) fn module(&self) -> Box<dyn Erased> {
        Box::new(Changes(self.0.clone()))
    }

    /// The condition without its type.
    pub(crate) fn erased(&self) -> Arc<dyn AnyCondition> {
        self.0.clone()
    }
}

impl<C> Cell<C> {
    fn load(&self, run: u64) -> Result<Arc<C>, Cause> {
        let mut load = lock(&self.load);
        let loaded = said(guard::catch(|| (*load)(run)));
        let named = |cause| format!("condition '{}' of run {run}: {cause}", self.name);
        Ok(Arc::new(loaded.map_err(named)?))
    }

    fn set(&self, value: (u64, Arc<C>)) {
        let old = {
            let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
            now.replace(value)
        };
        drop(old);
    }
}

/// See [`Condition::module`]. No event runs it.
struct Changes<C: 'static>(Arc<Cell<C>>);

impl<C: Send + Sync + 'static> Erased for Changes<C> {
    fn run(&self, _: &Event<'_>) -> Result<Ran, Cause> {
        Err("a condition has no product".into())
    }

    fn transition(&self, transition: Transition) -> Result<(), Cause> {
        match transition {
            Transition::BeginRun(run) => {
                let next = lock(&self.0.next).take_if(|(of, _)| *of == run);
                let value = match next {
                    Some((_, value)) => value,
                    None => self.0.load(run)?,
                };
                self.0.set((run, value));
            }
            // Outputs of its last events may still read it.
            Transition::EndRun(_) | Transition::BeginBlock(_) | Transition::EndBlock(_) => {}
        }
        Ok(())
    }

    fn end_job(&self) -> Result<(), Cause> {
        Ok(())
    }
}

/// A condition without its type.
pub(crate) trait AnyCondition: Send + Sync {
    /// Loads the value of a run that begins soon, and encodes it.
    fn prepare(&self, run: u64) -> Result<Vec<u8>, Cause>;
    /// Takes the value of a run that begins soon.
    fn expect(&self, run: u64, bytes: &[u8]) -> Result<(), Cause>;
}

impl<C: Send + Sync + Serialize + DeserializeOwned + 'static> AnyCondition for Cell<C> {
    fn prepare(&self, run: u64) -> Result<Vec<u8>, Cause> {
        let value = self.load(run)?;
        let bytes = said(guard::catch(|| encode(&*value)));
        let named = |cause| format!("condition '{}' can not be encoded: {cause}", self.name);
        let bytes = bytes.map_err(named)?;
        *lock(&self.next) = Some((run, value));
        Ok(bytes)
    }

    fn expect(&self, run: u64, bytes: &[u8]) -> Result<(), Cause> {
        let value = said(guard::catch(|| decode(bytes)));
        let named = |cause| format!("condition '{}' can not be decoded: {cause}", self.name);
        *lock(&self.next) = Some((run, Arc::new(value.map_err(named)?)));
        Ok(())
    }
}

/// All conditions of a graph, for those that carry them from the first node to the others.
#[derive(Clone)]
pub struct Conditions(pub(super) Arc<[Arc<dyn AnyCondition>]>);

impl Conditions {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Loads all values of a run that begins soon, for this node and as bytes for the others.
    ///
    /// # Errors
    /// What a condition's function says, if it panics, too.
    pub fn load(&self, run: u64) -> Result<Vec<u8>, Cause> {
        let all = self.0.iter().map(|condition| condition.prepare(run));
        encode(&all.collect::<Result<Vec<_>, _>>()?)
    }

    /// Takes the values of a run that begins soon from the first node.
    ///
    /// # Errors
    /// If they are not those of these conditions.
    pub fn set(&self, run: u64, bytes: &[u8]) -> Result<(), Cause> {
        let all: Vec<Vec<u8>> = decode(bytes)?;
        if all.len() != self.0.len() {
            return Err(format!("{} conditions came, {} are here", all.len(), self.0.len()).into());
        }
        self.0.iter().zip(&all).try_for_each(|(condition, bytes)| condition.expect(run, bytes))
    }
}

impl fmt::Debug for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Conditions({})", self.0.len())
    }
}
