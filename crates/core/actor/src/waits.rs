//! Who waits for what, by a walk over the living actors: see [`crate::census`] for what a walk is.

use crate::actor_core::{Core, Inner};
use crate::actor_id::ActorId;
use crate::system_handle::SystemHandle;
use std::collections::BTreeMap;

/// An actor that is not run for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingActor {
    /// The actor.
    pub actor: ActorId,
    /// The name of its type.
    pub kind: &'static str,
    /// Messages in its mailbox.
    pub queued: u64,
}

/// An actor that is not run until a full mailbox has taken its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MutedActor {
    /// The actor.
    pub muted: WaitingActor,
    /// The actor whose mailbox is full.
    pub by: WaitingActor,
}

/// Who waits for what in a system. See [`SystemHandle::waits`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waits {
    /// Actors that a full mailbox holds back; one stands here for each mailbox that does.
    pub muted: Vec<MutedActor>,
    /// Threads and tasks outside that wait for a full mailbox.
    pub outside: u64,
    /// Actors with futures of theirs under way ([`crate::Context::hold`]).
    pub holding: Vec<WaitingActor>,
    /// Actors that wait for their restart ([`crate::Supervision::backoff`]).
    pub restarting: Vec<WaitingActor>,
    /// Closures that run elsewhere ([`crate::Context::offload`]).
    pub offloaded: u64,
}

impl WaitingActor {
    fn of(core: &Core) -> Self {
        WaitingActor { actor: core.id, kind: core.kind(), queued: core.mailbox_len() as u64 }
    }
}

impl SystemHandle {
    /// Who waits for what: actors that a full mailbox holds back, those that wait for futures or
    /// for their restart. It walks over all actors, as [`actors`](SystemHandle::actors) does, and
    /// takes at most `most` of each sort.
    ///
    /// ```
    /// # use actinium_actor::{Actor, Context, Mailbox, SpawnOptions, System};
    /// # struct Slow;
    /// # impl Actor for Slow {
    /// #     type Msg = u64;
    /// #     fn handle(&mut self, _: u64, _: &mut Context<'_, Self>) {}
    /// # }
    /// let system = System::builder().build()?;
    /// let options = SpawnOptions::new().mailbox(Mailbox::bounded(16));
    /// let slow = system.spawn_with(options, Slow)?;
    /// for it in system.waits(100).muted {
    ///     println!("{} waits until {} has taken its messages", it.muted.actor, it.by.actor);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn waits(&self, most: usize) -> Waits {
        self.inner.waits(most)
    }
}

impl Inner {
    fn waits(&self, most: usize) -> Waits {
        let mut waits = Waits { offloaded: self.offloads.running(), ..Waits::default() };
        // Asked for after the walk, which holds a lock of the register.
        let mut full = BTreeMap::new();
        self.each_actor(false, |core| {
            if core.is_holding() && waits.holding.len() < most {
                waits.holding.push(WaitingActor::of(core));
            }
            let Some(backpressure) = core.backpressure.as_deref() else { return };
            let (muted, outside) = backpressure.held_back();
            waits.outside += outside as u64;
            if !muted.is_empty() && full.len() < most {
                full.insert(core.id, (WaitingActor::of(core), muted));
            }
        });
        for (by, muted) in full.into_values() {
            let still = muted.iter().filter(|core| core.is_muted());
            let still = still.map(|core| MutedActor { muted: WaitingActor::of(core), by });
            waits.muted.extend(still.take(most - waits.muted.len()));
        }
        let restarting = self.backoffs.waiting();
        waits.restarting = restarting.iter().take(most).map(|it| WaitingActor::of(it)).collect();
        waits
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::testing::TestSystem;
    use crate::{Actor, Context, Mailbox, Recipient, SpawnOptions};

    /// Passes on what it gets.
    struct Pass(Option<Recipient<u32>>);

    impl Actor for Pass {
        type Msg = u32;

        fn handle(&mut self, n: u32, _: &mut Context<'_, Self>) {
            if let Some(to) = &self.0 {
                (0..n).for_each(|_| to.tell(0));
            }
        }
    }

    #[test]
    fn who_is_muted_and_by_whom_is_told() {
        let mut system = TestSystem::seeded(1);
        let options = SpawnOptions::new().mailbox(Mailbox::bounded(2));
        let slow = system.spawn_with(options, Pass(None)).expect("it starts");
        let fast = system.spawn(Pass(Some(slow.clone().into())));
        fast.tell(20);
        let mut seen = Vec::new();
        while system.step() {
            seen.extend(system.waits(10).muted.into_iter().map(|it| (it.muted.actor, it.by.actor)));
        }
        assert!(seen.contains(&(fast.id(), slow.id())), "{seen:?}");
        assert!(seen.iter().all(|it| *it == (fast.id(), slow.id())), "{seen:?}");
        assert_eq!(system.waits(10), Default::default());
    }
}
