//! How a reply handle leaves in a message that goes to another node.
//!
//! A message is encoded while its owner still has it: it may not be sent after all, and come back.
//! So a handle that is encoded stays usable. When the message is dropped here, for it was sent, the
//! way to the asker goes to whoever waits for the other node's answer, which may have come by then.

use crate::ask::way::Way;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// See the module.
pub(crate) struct Passage<R>(Mutex<State<R>>);

enum State<R> {
    /// The message is still here.
    Open,
    /// The message has gone: this is the way to the asker.
    Left(Way<R>),
    /// The answer, or that there is none, came before the message had gone.
    Answered(Option<R>),
    /// The asker was told.
    Over,
}

impl<R> Passage<R> {
    pub(crate) fn new() -> Self {
        Passage(Mutex::new(State::Open))
    }

    /// No change behind this lock is left half-way by a panic.
    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, next: impl FnOnce(State<R>) -> (State<R>, Option<Sent<R>>)) {
        let mut state = self.state();
        let (new, then) = next(std::mem::replace(&mut *state, State::Over));
        *state = new;
        drop(state);
        // Not behind the lock: whoever is told is the user's code.
        if let Some((way, Some(answer))) = then {
            // The asker may have stopped waiting.
            let _ = way.send(answer);
        }
    }

    /// The message has gone.
    pub(crate) fn leave(&self, way: Way<R>) {
        self.replace(|state| match state {
            State::Open => (State::Left(way), None),
            State::Answered(answer) => (State::Over, Some((way, answer))),
            over => (over, Some((way, None))),
        });
    }

    /// The other node has answered, or there will be no answer.
    pub(crate) fn answer(&self, answer: Option<R>) {
        self.replace(|state| match state {
            State::Open => (State::Answered(answer), None),
            State::Left(way) => (State::Over, Some((way, answer))),
            over => (over, None),
        });
    }

    /// Whether nothing has come of it yet.
    pub(crate) fn is_open(&self) -> bool {
        matches!(&*self.state(), State::Open)
    }

    /// Whether the asker may still wait for the answer.
    pub(crate) fn is_awaited(&self) -> bool {
        match &*self.state() {
            State::Open | State::Answered(_) => true,
            State::Left(way) => !way.is_over(),
            State::Over => false,
        }
    }
}

/// The way to an asker, and what is to go there: nothing means that there is no answer.
type Sent<R> = (Way<R>, Option<R>);

impl<R> fmt::Debug for Passage<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passage")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_channel::oneshot;

    fn open() -> (Passage<u32>, Way<u32>, oneshot::Receiver<u32>) {
        let (sender, receiver) = oneshot::channel();
        (Passage::new(), Way::Future(sender), receiver)
    }

    #[test]
    fn the_answer_arrives_whether_the_message_goes_first_or_the_answer_comes_first() {
        let (passage, way, mut receiver) = open();
        passage.leave(way);
        assert!(passage.is_awaited());
        passage.answer(Some(1));
        passage.answer(Some(2));
        assert_eq!(receiver.try_recv(), Ok(Some(1)));

        let (passage, way, mut receiver) = open();
        passage.answer(Some(1));
        assert_eq!(receiver.try_recv(), Ok(None), "the message is still here");
        passage.leave(way);
        assert_eq!(receiver.try_recv(), Ok(Some(1)));
        assert!(!passage.is_awaited());
    }

    #[test]
    fn without_an_answer_the_asker_is_told() {
        let (passage, way, mut receiver) = open();
        passage.leave(way);
        passage.answer(None);
        assert!(receiver.try_recv().is_err());

        let (passage, way, mut receiver) = open();
        passage.answer(None);
        passage.leave(way);
        assert!(receiver.try_recv().is_err());

        // The message came back, and was dropped.
        let (passage, way, mut receiver) = open();
        passage.answer(None);
        passage.answer(Some(1));
        passage.leave(way);
        assert!(receiver.try_recv().is_err());
    }

    #[test]
    fn an_asker_that_has_gone_waits_for_nothing() {
        let (passage, way, receiver) = open();
        passage.leave(way);
        drop(receiver);
        assert!(!passage.is_awaited());
    }
}
