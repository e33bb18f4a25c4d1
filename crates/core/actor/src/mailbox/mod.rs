//! The mailbox: where an actor's messages wait.
//!
//! A mailbox has two parts. The **own** part is a plain ring that only the owner worker touches:
//! what runs on the same worker sends there without an atomic. The **shared** part
//! ([`shared::SharedQueue`]) is a lock-free queue in blocks for everybody else; it is allocated
//! when the first message from elsewhere comes.
//!
//! # First in, first out, however actors move
//!
//! 1. The owner takes from the own part until that is empty, then from the shared part.
//! 2. The own part may be pushed to only while the shared part is empty (claimed by a sender counts
//!    as not empty).
//!
//! The owner knows that the shared part is empty without looking at it: whoever pushes there then
//! notifies the runnable, and what clears the notification marks the runnable `NOTIFIED` until its
//! turn has found the shared part empty. A sender that has pushed there and now runs on the owner's
//! worker has notified it before it came, so one of the two is seen.
//!
//! So at every moment all that is in the own part was sent before all that is in the shared part. A
//! sender that moves from the owner's worker to another and back cannot overtake itself: its
//! message in the shared part makes rule 2 send the next one there too.

pub(crate) mod carrier;
pub(crate) mod envelope;
pub(crate) mod own;
pub(crate) mod shared;
