//! Connections that are not authenticated yet. The gateway keeps few of them, gives each little
//! time, and closes the oldest first. So a client with a valid token gets in, however many
//! connections others hold open.

use crate::limits::Limits;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Counters of connections, and the number of present ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayStats {
    /// Connections now that were not let in yet.
    pub strangers: usize,
    /// Most of them at once.
    pub strangers_most: usize,
    /// Connections that were let in.
    pub admitted: u64,
    /// Connections that were closed at once: their address had as many strangers as it may.
    pub refused: u64,
    /// Connections that were closed for a newer one: there were as many strangers as there may be.
    pub displaced: u64,
    /// Connections that were closed because they were not let in in time.
    pub late: u64,
    /// Clients whose rates are remembered.
    pub remembered: usize,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Strangers {
    most: usize,
    most_per_address: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Rises with each: the first is the oldest.
    next: u64,
    by_age: BTreeMap<u64, (Place, oneshot::Sender<()>)>,
    per_place: HashMap<Place, usize>,
    stats: GatewayStats,
}

/// Where somebody comes from: an address, or the 64 bits of one of IPv6 that name a network, for
/// one host has all of those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(u64);

impl Place {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Place(u64::from(address.to_bits())),
            IpAddr::V6(address) => Place((address.to_bits() >> 64) as u64),
        }
    }
}

/// One of them, until it is let in or its connection ends.
#[derive(Debug)]
pub(crate) struct Stranger {
    all: Arc<Strangers>,
    number: u64,
}

impl Strangers {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Strangers {
            most: limits.strangers,
            most_per_address: limits.strangers_per_address,
            inner: Mutex::default(),
        })
    }

    /// No user code runs under the lock, so a poisoned one holds what it should.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody has connected. The receiver is told when it has to go for a newer one, and closed
    /// when it is let in. None: its address has too many.
    pub(crate) fn enter(
        self: &Arc<Self>,
        from: IpAddr,
    ) -> Option<(Stranger, oneshot::Receiver<()>)> {
        let place = Place::of(from);
        let mut inner = self.lock();
        if inner.per_place.get(&place).is_some_and(|count| *count >= self.most_per_address) {
            inner.stats.refused += 1;
            return None;
        }
        if inner.by_age.len() >= self.most
            && let Some(oldest) = inner.by_age.first_entry().map(|oldest| *oldest.key())
            && let Some(gone) = inner.remove(oldest)
        {
            inner.stats.displaced += 1;
            // If it has gone by itself, it need not be told.
            let _ = gone.send(());
        }
        let (displace, displaced) = oneshot::channel();
        let number = inner.next;
        inner.next += 1;
        inner.by_age.insert(number, (place, displace));
        *inner.per_place.entry(place).or_default() += 1;
        let count = inner.by_age.len();
        inner.stats.strangers_most = inner.stats.strangers_most.max(count);
        drop(inner);
        Some((Stranger { all: self.clone(), number }, displaced))
    }

    pub(crate) fn stats(&self) -> GatewayStats {
        let inner = self.lock();
        GatewayStats { strangers: inner.by_age.len(), ..inner.stats }
    }

    pub(crate) fn was_late(&self) {
        self.lock().stats.late += 1;
    }
}

impl Inner {
    fn remove(&mut self, number: u64) -> Option<oneshot::Sender<()>> {
        let (place, displace) = self.by_age.remove(&number)?;
        if let Some(count) = self.per_place.get_mut(&place) {
            *count -= 1;
            if *count == 0 {
                self.per_place.remove(&place);
            }
        }
        Some(displace)
    }
}

impl Stranger {
    /// Admits the client: it is no stranger any more.
    pub(crate) fn admit(self) {
        self.all.lock().stats.admitted += 1;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.all.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strangers(most: usize, most_per_address: usize) -> Arc<Strangers> {
        let limits = Limits {
            strangers: most,
            strangers_per_address: most_per_address,
            ..Limits::default()
        };
        Strangers::new(&limits)
    }

    fn address(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    #[test]
    fn the_oldest_goes_for_a_newer_one() {
        let all = strangers(2, 2);
        let (_first, mut told) = all.enter(address(1)).expect("there is capacity");
        let (second, mut closed) = all.enter(address(2)).expect("there is capacity");
        let _third = all.enter(address(3)).expect("for the oldest");
        assert_eq!(told.try_recv(), Ok(()));
        second.admit();
        assert!(closed.try_recv().is_err(), "it is let in");
        let stats = all.stats();
        assert_eq!((stats.strangers, stats.displaced, stats.admitted), (1, 1, 1));
    }

    #[test]
    fn an_address_has_so_many_and_a_network_of_ipv6_is_one() {
        let all = strangers(10, 2);
        let kept: Vec<_> = (0..3).map(|_| all.enter(address(1))).collect();
        assert!(kept[2].is_none() && all.enter(address(2)).is_some());
        drop(kept);
        assert!(all.enter(address(1)).is_some());
        assert_eq!(all.stats().refused, 1);
        let place = |text: &str| Place::of(text.parse().expect("an address"));
        assert_eq!(place("2001:db8::1"), place("2001:db8::ffff:2"));
        assert_ne!(place("2001:db8::1"), place("2001:db8:0:1::1"));
        assert_eq!(place("::ffff:10.0.0.1"), place("10.0.0.1"));
    }
}
