//! What a graph on this node is fed with, by actors.

use actinium_events::Next;
use actinium_scheduler::sync::lock;
use std::collections::VecDeque;
use std::sync::Mutex;

/// What a graph has not begun.
#[derive(Debug)]
pub(crate) struct Inbox<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<Next<T>>,
    has_ended: bool,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Inbox(Mutex::new(State { waiting: VecDeque::new(), has_ended: false }))
    }
}

impl<T> Inbox<T> {
    /// Adds what comes next.
    pub(crate) fn push(&self, more: impl IntoIterator<Item = Next<T>>) {
        lock(&self.0).waiting.extend(more);
    }

    /// Says that there will be no more.
    pub(crate) fn end(&self) {
        lock(&self.0).has_ended = true;
    }

    /// Takes all events back.
    pub(crate) fn clear(&self) -> Vec<T> {
        let all = std::mem::take(&mut lock(&self.0).waiting);
        let events = all.into_iter().filter_map(|next| match next {
            Next::Event(event) | Next::Numbered(_, event) => Some(event),
            Next::Transition(_) | Next::Later | Next::End => None,
        });
        events.collect()
    }

    /// What comes next, for a source.
    pub(crate) fn next(&self) -> Next<T> {
        let mut state = lock(&self.0);
        match state.waiting.pop_front() {
            Some(next) => next,
            None if state.has_ended => Next::End,
            None => Next::Later,
        }
    }
}
