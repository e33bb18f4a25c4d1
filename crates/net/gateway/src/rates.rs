//! The recent rate of each client. It outlives a connection, so that a client cannot begin anew by
//! connecting again.

use crate::admission::Identity;
use crate::limits::{Bucket, Limits};
use crate::strangers::Place;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// The number of messages that one client may send now, over all its connections.
#[derive(Clone, Debug)]
pub(crate) struct Rate(Arc<Mutex<Bucket>>);

impl Rate {
    /// Returns the time at which the client's next message may come, or None if that is now.
    pub(crate) fn wait(&self, now: Instant) -> Option<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).wait(now)
    }

    /// A message has come.
    pub(crate) fn take(&self, now: Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(now);
    }

    /// Until when it differs from that of a client who has never been here.
    fn until(&self) -> Instant {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).until()
    }
}

/// All of them: by what a client has shown and where it comes from.
#[derive(Debug)]
pub(crate) struct Rates {
    limits: Limits,
    known: Mutex<HashMap<(Place, Identity), Rate>>,
}

impl Rates {
    pub(crate) fn new(limits: &Limits) -> Self {
        Rates { limits: *limits, known: Mutex::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// A client's, which is new if it was not here lately. When too many are known, those are
    /// forgotten that differ from new ones no more, and if there are none, the one that would be
    /// the first.
    pub(crate) fn of(&self, place: Place, identity: &Identity, now: Instant) -> Rate {
        let new = || Rate(Arc::new(Mutex::new(Bucket::new(&self.limits, now))));
        if self.limits.rate.is_none() {
            return new();
        }
        let key = (place, identity.clone());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rate) = known.get(&key) {
            return rate.clone();
        }
        if known.len() >= self.limits.remembered {
            // Who is connected keeps its own, known or not.
            known.retain(|_, rate| rate.until() > now || Arc::strong_count(&rate.0) > 1);
        }
        if known.len() >= self.limits.remembered {
            let first = known.iter().min_by_key(|(_, rate)| rate.until());
            if let Some(key) = first.map(|(key, _)| key.clone()) {
                known.remove(&key);
            }
        }
        known.entry(key).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn who_comes_again_finds_what_it_had_left_and_no_more_are_known_than_may_be() {
        let limits = Limits { rate: Some(1), burst: 2, remembered: 3, ..Limits::default() };
        let (rates, now) = (Rates::new(&limits), crate::clock::now());
        let of =
            |last: u8, now| rates.of(Place::of([127, 0, 0, last].into()), &Identity::Anybody, now);
        (0..2).for_each(|_| of(1, now).take(now));
        assert!(of(1, now).wait(now).is_some(), "it has come again");
        let token = Identity::Token("till".to_owned());
        let other = rates.of(Place::of([127, 0, 0, 1].into()), &token, now);
        assert!(other.wait(now).is_none(), "another client at the same address");
        drop(other);
        for last in 2..100 {
            of(last, now);
            assert!(rates.len() <= 3);
        }
        assert!(of(1, now).wait(now).is_some(), "others are forgotten first");
        let later = now + Duration::from_secs(2);
        for last in 2..100 {
            of(last, later).take(later);
        }
        assert!(of(1, later).wait(later).is_none(), "in time it is forgotten");
        assert_eq!(rates.len(), 3);
    }
}
