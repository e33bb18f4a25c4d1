//! Rules that choose a member.

use super::member::{Loaded, Member};
use actinium_scheduler::mixing::{KeyHasher, rendezvous};
use std::hash::{Hash, Hasher};

/// The hash by which keys are spread: the same in every process and with every release.
pub(super) fn key_hash(key: impl Hash) -> u64 {
    let mut hasher = KeyHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

/// The place of the member with the least load, the running message included; of equals the first.
pub(super) fn least_loaded<T: Loaded>(members: &[T]) -> usize {
    let open = || members.iter().enumerate().filter(|(_, member)| !member.is_closed());
    let Some(least) = open().map(|(_, member)| member.waiting()).min() else { return 0 };
    // One with as few that is at rest has a message less to do than all others.
    let with_least = || open().filter(|(_, member)| member.waiting() <= least);
    let at_rest = with_least().find(|(_, member)| !member.is_running());
    at_rest.or_else(|| with_least().next()).map_or(0, |(place, _)| place)
}

/// The place of the member that a key belongs to, of those that live.
pub(super) fn by_key<T: Member>(members: &[T], key: u64) -> Option<usize> {
    let open = (0..).zip(members).filter(|(_, member)| !member.is_closed());
    rendezvous(key, open.map(|(place, _)| place)).map(|place| place as usize)
}
