//! The regions of a node: their memory, and who may do what with it.
//!
//! A region's memory lies behind a lock of its own, which each access takes for one copy. So no
//! reference to the bytes ever lives while another node's write goes on, and one copy is never
//! seen half done. A transfer is several copies: see the module.

use super::access::RegionAccess;
use super::memory::RegionMemory;
use crate::fabric::{NodeId, RegionId};
use crate::locks::{lock, read, write};
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, RwLock};

/// The reason for which a region's node has not done it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Message)]
pub(crate) enum Refusal {
    /// There is no such region (any more).
    Gone,
    /// The ticket is none for that.
    NotAllowed,
    /// The region has so many bytes.
    OutOfRange { region_bytes: u64 },
    /// The region lies in a window, and no messages reach it.
    InWindow,
}

/// The memory of a region without its type.
pub(crate) trait Held: Send + Sync {
    /// Copies at most so many bytes out. None: the memory was taken back.
    fn get(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, Refusal>;

    /// Copies bytes in, all or none.
    fn put(&self, offset: u64, from: &[u8]) -> Result<(), Refusal>;

    fn byte_len(&self) -> u64;
}

/// The memory of a region, until it is taken back.
pub(crate) struct Memory<M>(pub(crate) Mutex<Option<M>>);

impl<M: RegionMemory> Memory<M> {
    fn access<R>(
        &self,
        offset: u64,
        bytes: u64,
        f: impl FnOnce(&mut M, usize) -> R,
    ) -> Result<R, Refusal> {
        let mut memory = lock(&self.0);
        let memory = memory.as_mut().ok_or(Refusal::Gone)?;
        let region_bytes = memory.byte_len() as u64;
        match offset.checked_add(bytes) {
            // It is not above a length that is a `usize`.
            Some(end) if end <= region_bytes => Ok(f(memory, offset as usize)),
            _ => Err(Refusal::OutOfRange { region_bytes }),
        }
    }
}

impl<M: RegionMemory> Held for Memory<M> {
    fn get(&self, offset: u64, bytes: u64) -> Result<Vec<u8>, Refusal> {
        self.access(offset, bytes, |memory, offset| {
            let mut copy = vec![0; bytes as usize];
            memory.read_at(offset, &mut copy);
            copy
        })
    }

    fn put(&self, offset: u64, from: &[u8]) -> Result<(), Refusal> {
        self.access(offset, from.len() as u64, |memory, offset| memory.write_at(offset, from))
    }

    fn byte_len(&self) -> u64 {
        lock(&self.0).as_ref().map_or(0, |memory| memory.byte_len() as u64)
    }
}

/// A region's memory in a window: other nodes reach it without this one's doing.
#[derive(Debug)]
pub(crate) struct Window {
    place: RegionId,
    /// The nodes that know where it lies.
    holders: Mutex<BTreeSet<NodeId>>,
}

impl Window {
    pub(crate) fn new(place: RegionId) -> Self {
        Window { place, holders: Mutex::default() }
    }

    /// Where it lies.
    pub(crate) fn place(&self) -> RegionId {
        self.place
    }

    /// The nodes that know where it lies. No more come when it is in no table any more.
    pub(crate) fn holders(&self) -> BTreeSet<NodeId> {
        lock(&self.holders).clone()
    }
}

#[derive(Clone)]
enum Body {
    /// Copied into messages, and from there.
    Held(Arc<dyn Held>),
    Window(Arc<Window>),
}

struct Entry {
    /// For each of [`RegionAccess::ALL`].
    secrets: [u64; 3],
    body: Body,
}

impl Entry {
    fn allows(&self, secret: u64, access: RegionAccess) -> bool {
        let tickets = RegionAccess::ALL.iter().zip(&self.secrets);
        tickets.into_iter().any(|(of, &own)| own == secret && of.contains(access))
    }
}

#[derive(Default)]
struct Numbers {
    last: u64,
    /// The source of secrets: a keyed hash, whose key is the operating system's random numbers.
    secrets: RandomState,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Table {
    numbers: Mutex<Numbers>,
    entries: RwLock<BTreeMap<u64, Entry>>,
}

impl Table {
    /// Adds a region; its number, which no region of an earlier run has had: this run began at
    /// `incarnation`.
    pub(crate) fn add(&self, incarnation: u64, memory: Arc<dyn Held>) -> u64 {
        self.add_body(incarnation, Body::Held(memory))
    }

    /// Adds a region that lies in a window; its number, as for [`Table::add`].
    pub(crate) fn add_window(&self, incarnation: u64, window: Arc<Window>) -> u64 {
        self.add_body(incarnation, Body::Window(window))
    }

    fn add_body(&self, incarnation: u64, body: Body) -> u64 {
        let mut numbers = lock(&self.numbers);
        numbers.last = numbers.last.max(incarnation).wrapping_add(1);
        let number = numbers.last;
        let secret = |access: RegionAccess| numbers.secrets.hash_one((number, access.bits()));
        let entry = Entry { secrets: RegionAccess::ALL.map(secret), body };
        write(&self.entries).insert(number, entry);
        number
    }

    /// From now on there is no such region. An access that has begun may still end.
    pub(crate) fn remove(&self, number: u64) {
        let entry = write(&self.entries).remove(&number);
        // Not behind the lock: it may hold the last of what is the user's.
        drop(entry);
    }

    /// The secret of a ticket.
    pub(crate) fn secret(&self, number: u64, access: RegionAccess) -> Option<u64> {
        let place = RegionAccess::ALL.iter().position(|of| *of == access)?;
        read(&self.entries).get(&number).map(|entry| entry.secrets[place])
    }

    /// Calls `f` with a region's body. No region is removed meanwhile.
    fn with<R>(
        &self,
        number: u64,
        secret: u64,
        access: RegionAccess,
        f: impl FnOnce(&Body) -> R,
    ) -> Result<R, Refusal> {
        let entries = read(&self.entries);
        let entry = entries.get(&number).ok_or(Refusal::Gone)?;
        match entry.allows(secret, access) {
            true => Ok(f(&entry.body)),
            false => Err(Refusal::NotAllowed),
        }
    }

    fn held(
        &self,
        number: u64,
        secret: u64,
        access: RegionAccess,
    ) -> Result<Arc<dyn Held>, Refusal> {
        match self.with(number, secret, access, Body::clone)? {
            Body::Held(memory) => Ok(memory),
            Body::Window(_) => Err(Refusal::InWindow),
        }
    }

    /// Where a region lies in a window, for a node that has a ticket for that access; it counts as
    /// one that knows then. None: it lies in none.
    pub(crate) fn place(
        &self,
        number: u64,
        secret: u64,
        access: RegionAccess,
        node: NodeId,
    ) -> Result<Option<RegionId>, Refusal> {
        self.with(number, secret, access, |body| match body {
            Body::Held(_) => None,
            Body::Window(window) => {
                lock(&window.holders).insert(node);
                Some(window.place)
            }
        })
    }

    /// Copies bytes out of a region.
    pub(crate) fn get(
        &self,
        number: u64,
        secret: u64,
        offset: u64,
        bytes: u64,
    ) -> Result<Blob, Refusal> {
        let memory = self.held(number, secret, RegionAccess::READ)?;
        memory.get(offset, bytes).map(Blob::from)
    }

    /// Copies bytes into a region.
    pub(crate) fn put(
        &self,
        number: u64,
        secret: u64,
        offset: u64,
        from: &[u8],
    ) -> Result<(), Refusal> {
        self.held(number, secret, RegionAccess::WRITE)?.put(offset, from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(bytes: Vec<u8>) -> (Table, u64, Arc<Memory<Vec<u8>>>) {
        let table = Table::default();
        let memory = Arc::new(Memory(Mutex::new(Some(bytes))));
        let number = table.add(7, memory.clone());
        (table, number, memory)
    }

    #[test]
    fn tickets_allow_what_they_are_for() {
        let (table, number, _) = table(vec![1, 2, 3]);
        assert!(number > 7);
        let secrets = RegionAccess::ALL.map(|access| table.secret(number, access).unwrap());
        for (access, secret) in RegionAccess::ALL.into_iter().zip(secrets) {
            let can_read = table.get(number, secret, 0, 3).is_ok();
            assert_eq!(can_read, access.contains(RegionAccess::READ));
            let can_write = table.put(number, secret, 0, &[9]).is_ok();
            assert_eq!(can_write, access.contains(RegionAccess::WRITE));
            assert_eq!(table.get(number, secret ^ 1, 0, 1), Err(Refusal::NotAllowed));
            assert_eq!(table.get(number + 1, secret, 0, 1), Err(Refusal::Gone));
        }
    }

    #[test]
    fn ranges_are_checked_against_what_there_is_now() {
        let (table, number, memory) = table(vec![1, 2, 3]);
        let secret = table.secret(number, RegionAccess::ALL[2]).unwrap();
        let outside = Err(Refusal::OutOfRange { region_bytes: 3 });
        for (offset, bytes) in [(0, 4), (3, 1), (4, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert_eq!(table.get(number, secret, offset, bytes), outside);
        }
        assert_eq!(table.put(number, secret, 2, &[1, 1]), outside.map(drop));
        assert_eq!(lock(&memory.0).as_deref(), Some(&[1, 2, 3][..]), "all or none");
        lock(&memory.0).as_mut().unwrap().truncate(1);
        let shorter = Err(Refusal::OutOfRange { region_bytes: 1 });
        assert_eq!(table.get(number, secret, 0, 2), shorter);
        assert_eq!(&*table.get(number, secret, 1, 0).unwrap(), &[0_u8; 0]);
        table.remove(number);
        assert_eq!(table.get(number, secret, 0, 1), Err(Refusal::Gone));
    }

    #[test]
    fn who_has_a_ticket_learns_where_a_window_lies_and_is_noted() {
        let table = Table::default();
        let place = RegionId { node: NodeId(0), index: 4_096, bytes: 3 };
        let window = Arc::new(Window::new(place));
        let number = table.add_window(7, window.clone());
        let (reads, writes) = (RegionAccess::READ, RegionAccess::WRITE);
        let secret = table.secret(number, reads).unwrap();
        let refused = Err(Refusal::NotAllowed);
        assert_eq!(table.place(number, secret, writes, NodeId(1)), refused);
        assert_eq!(table.place(number, secret ^ 1, reads, NodeId(1)), refused);
        assert!(window.holders().is_empty());
        assert_eq!(table.place(number, secret, reads, NodeId(2)), Ok(Some(place)));
        assert_eq!(window.holders(), BTreeSet::from([NodeId(2)]));
        assert_eq!(table.get(number, secret, 0, 1), Err(Refusal::InWindow));
        table.remove(number);
        assert_eq!(table.place(number, secret, reads, NodeId(3)), Err(Refusal::Gone));
        let (table, number, _) = self::table(vec![1]);
        let secret = table.secret(number, reads).unwrap();
        assert_eq!(table.place(number, secret, reads, NodeId(1)), Ok(None));
    }
}
