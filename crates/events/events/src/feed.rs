//! The feed: the source, and the slots that are free.

use crate::counts::Counts;
use crate::erased::ErasedSource;
use crate::module::Transition;
use crate::status::Status;
use std::sync::{Arc, Mutex};

/// On cache lines of its own: each event writes it, and what stands beside it in a run is read at
/// each call.
#[repr(align(128))]
pub(crate) struct Feed {
    pub(crate) state: Mutex<State>,
    status: Arc<Status>,
}

pub(crate) struct State {
    /// Away while somebody asks it.
    pub(crate) source: Option<Box<dyn ErasedSource>>,
    pub(crate) free: Vec<u32>,
    pub(crate) slots: usize,
    /// The next event's.
    pub(crate) number: u64,
    pub(crate) barrier: Option<Transition>,
    /// Somebody wanted to ask the source while it was away: if it has nothing, it is asked once
    /// more, for that may have come meanwhile.
    pub(crate) again: bool,
    pub(crate) ended: bool,
    /// The modules have been told that the job is over.
    pub(crate) is_over: bool,
}

impl Feed {
    pub(crate) fn new(source: Box<dyn ErasedSource>, slots: usize, status: Arc<Status>) -> Self {
        let free = (0..slots as u32).rev().collect();
        Feed {
            state: Mutex::new(State {
                source: Some(source),
                free,
                slots,
                number: 0,
                barrier: None,
                again: false,
                ended: false,
                is_over: false,
            }),
            status,
        }
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.status.counts
    }
}
