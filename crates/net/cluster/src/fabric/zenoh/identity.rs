//! One process per node's number. Whoever starts asks whether anybody answers to its number
//! already; if so, it does not start, and the other one says that it was asked. Where two find each
//! other only later (a network was cut in two, say), the one that started first gives way, as it
//! does on the links, where the larger incarnation wins.
//!
//! Tokens (`alive`) are a hint that somebody is there. They outlive a process that was stopped or
//! cut off, so they decide nothing: an answer does.

use crate::fabric::NodeId;
use actinium_scheduler::{log, nanoseconds};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, SystemTime};
use zenoh::qos::CongestionControl;
use zenoh::query::{ConsolidationMode, Query, QueryTarget};
use zenoh::{Session, Wait};

/// The time for an answer. A process that does not answer within it is stopped or cut off.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Longest description of a process that people are shown.
const WHAT_BYTES_MAX: usize = 256;

/// The relation of a process to its node's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The process first asks all others whether the number is free.
    Asks = 0,
    /// The process is the node with that number.
    Is = 1,
    /// The process was the node, and had to give way to another.
    Was = 2,
}

impl State {
    fn of(number: u8) -> Option<Self> {
        [State::Asks, State::Is, State::Was].into_iter().find(|&state| state as u8 == number)
    }
}

/// A process's answer to the question who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The time at which the process started.
    pub(super) incarnation: u64,
    /// The relation of the process to its node's number.
    pub(super) state: State,
    /// For people.
    pub(super) what: String,
}

impl Answer {
    fn write(&self) -> String {
        format!("{} {} {}", self.incarnation, self.state as u8, self.what)
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let incarnation = words.next()?.parse().ok()?;
        let state = State::of(words.next()?.parse().ok()?)?;
        let what = words.next()?.chars().filter(|c| !c.is_control()).take(WHAT_BYTES_MAX).collect();
        Some(Answer { incarnation, state, what })
    }
}

/// This process, as a node.
pub(super) struct Identity {
    pub(super) node: NodeId,
    pub(super) incarnation: u64,
    what: String,
    state: AtomicU8,
}

impl Identity {
    pub(super) fn new(node: NodeId) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "an incarnation differs from earlier ones of its number, on any host"
        )]
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let incarnation = nanoseconds(since).max(1);
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let what = format!("process {} on host '{}'", std::process::id(), host.trim());
        Identity { node, incarnation, what, state: AtomicU8::new(State::Asks as u8) }
    }

    fn answer(&self) -> Answer {
        // Relaxed: nothing hangs on it but what is said.
        let state = State::of(self.state.load(Ordering::Relaxed)).unwrap_or(State::Asks);
        Answer { incarnation: self.incarnation, state, what: self.what.clone() }
    }

    /// Sets what this process is to its number.
    pub(super) fn set(&self, state: State) {
        // Relaxed: see `answer`.
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Somebody asks who this is: on a thread of Zenoh's, which must not wait. (An answer for which
    /// there is no room is dropped.)
    pub(super) fn reply(&self, query: &Query) {
        let asking = query.payload().and_then(|payload| {
            let bytes = payload.to_bytes();
            Answer::read(std::str::from_utf8(&bytes).ok()?)
        });
        let Some(asking) = asking else { return };
        if asking.incarnation == self.incarnation {
            return;
        }
        if self.answer().state == State::Is && asking.state == State::Asks {
            log!(
                Warn,
                {node: u64::from(self.node.0)},
                "{} is wanted by {}, too: refused, because this process has it; each process needs a number of its own",
                self.node,
                asking.what
            );
        }
        // If it can not be said, whoever asks finds out on the links.
        drop(query.reply(query.key_expr().clone(), self.answer().write()).wait());
    }

    /// Asks who else answers to `key`; `hear` is told on a thread of Zenoh's.
    fn ask(
        &self,
        session: &Session,
        key: &str,
        hear: impl Fn(Answer) + Send + Sync + 'static,
    ) -> Result<(), String> {
        let own = self.incarnation;
        let asked = session
            .get(key)
            .payload(self.answer().write())
            .target(QueryTarget::All)
            .consolidation(ConsolidationMode::None)
            .congestion_control(CongestionControl::Drop)
            .timeout(ANSWER_WITHIN)
            .callback(move |reply| {
                let Ok(sample) = reply.result() else { return };
                let bytes = sample.payload().to_bytes();
                let answer = std::str::from_utf8(&bytes).ok().and_then(Answer::read);
                if let Some(answer) = answer.filter(|answer| answer.incarnation != own) {
                    hear(answer);
                }
            });
        asked.wait().map_err(|error| error.to_string())
    }

    /// Makes sure, as far as anybody who is connected can say, that no other process is this node.
    ///
    /// # Errors
    /// If one is, or was about to be before this one.
    pub(super) fn make_sure(&self, session: &Session, key: &str) -> Result<(), String> {
        let (sender, answers) = std::sync::mpsc::channel();
        self.ask(session, key, move |answer| drop(sender.send(answer)))?;
        // Ends when all have answered: then the callback, and the sender in it, is dropped.
        for other in answers {
            let was_first = other.state == State::Asks && other.incarnation < self.incarnation;
            if other.state == State::Is || was_first {
                return Err(format!(
                    "{} is in the cluster already, as {}: give this process another number",
                    self.node, other.what
                ));
            }
        }
        Ok(())
    }

    /// A token says that another process is this node: asks it, without waiting.
    pub(super) fn look_for_twin(
        &self,
        session: &Session,
        key: &str,
        hear: impl Fn(Answer) + Send + Sync + 'static,
    ) {
        let asked = self.ask(session, key, hear);
        if let Err(error) = asked {
            log!(Warn, {node: u64::from(self.node.0)}, "{}: can not ask who else has its number: {error}", self.node);
        }
    }

    /// Whether this process has to give way to the one that answered. Both say what happens.
    pub(super) fn gives_way_to(&self, other: &Answer) -> bool {
        let gives_way = other.state == State::Is && other.incarnation > self.incarnation;
        let (node, what) = (self.node, &other.what);
        if gives_way {
            log!(
                Warn,
                {node: u64::from(self.node.0)},
                "{node} was started again, as {what}: this process is not heard any more; each process needs a number of its own"
            );
        } else if other.state != State::Asks && other.incarnation < self.incarnation {
            log!(
                Warn,
                {node: u64::from(self.node.0)},
                "{node} is {what}, too, which was started before this process: it is not heard any more; each process needs a number of its own"
            );
        }
        gives_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let answer =
            Answer { incarnation: 7, state: State::Is, what: "process 3 on host 'a b'".to_owned() };
        assert_eq!(Answer::read(&answer.write()), Some(answer));
        for garbage in ["", "7", "7 1", "x 1 y", "-1 0 z", "1 3 z"] {
            assert_eq!(Answer::read(garbage), None, "{garbage}");
        }
        let long = Answer::read(&format!("1 0 {}\u{1b}[31m", "ä".repeat(1_000))).unwrap();
        assert_eq!(long.what.chars().count(), WHAT_BYTES_MAX);
    }

    #[test]
    fn of_two_that_meet_late_the_earlier_gives_way() {
        let identity = Identity::new(NodeId(1));
        let other = |incarnation, state| Answer { incarnation, state, what: "another".to_owned() };
        assert!(identity.gives_way_to(&other(u64::MAX, State::Is)));
        assert!(!identity.gives_way_to(&other(1, State::Is)));
        assert!(!identity.gives_way_to(&other(u64::MAX, State::Asks)), "that one is still asking");
        assert!(
            !identity.gives_way_to(&other(u64::MAX, State::Was)),
            "that one is nobody any more"
        );
    }
}
