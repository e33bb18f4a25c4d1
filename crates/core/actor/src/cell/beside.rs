//! The messages of an actor that nobody sends to its mailbox: urgent ones, those that it has put
//! aside and brought back, the one that tells of silence, and the items of its streams.
//!
//! They go into the mailbox's own part, where the turn's batch comes to them: there is one place
//! that calls the handler, and the compiler puts the handler there. Urgent messages and those that
//! were brought back go to the front; the actor's [`First`](super::waits::First) says how many of
//! them are there, so that none that come later overtake them.

use super::owned::InTurn;
use super::waits::{Aside, Messages, SilenceTimer, Source, StreamId, Waits, WaitsBox};
use crate::actor::Actor;
use crate::actor_core::{DRAINING, URGENT};
use crate::send_error::ENDED;
use crate::stop_reason::StopReason;
use actinium_scheduler::Turn;
use actinium_scheduler::guard::Guarded;
use actinium_scheduler::sync::atomic::Ordering;
use std::task::Poll;

/// Most messages of one sort that a turn handles before those of the mailbox.
const AT_ONCE: u32 = 64;

/// The place of a stream in this turn.
enum Next<A: Actor> {
    /// None, or all of them have nothing to give.
    None,
    Poll(StreamId, Messages<A>),
}

impl<A: Actor> InTurn<'_, A> {
    fn at_once(&self) -> u32 {
        self.worker().batch().min(AT_ONCE)
    }

    /// Puts messages behind the first so many of the mailbox, in this order.
    fn put_all_behind(&self, first: u32, messages: Vec<Aside<A>>) {
        if messages.is_empty() {
            return;
        }
        for (behind, msg) in (first..).zip(messages) {
            self.put_behind(behind, msg.stamp_ns, msg.msg.into_inner());
        }
        let now_ns = self.worker().shared().clock().now_ns();
        self.with_life(|life| life.its_waits().note_message(now_ns));
    }

    /// Notes how many messages the turn has taken from the mailbox: those that were put first were
    /// the first of them.
    pub(super) fn note_taken(&self, taken: u32) {
        self.with_life(|life| life.waits().into_iter().for_each(|it| it.first.take(taken)));
    }

    // ---- urgent messages
    // ---------------------------------------------------------------------------------------------

    /// Puts urgent messages before all others, but behind the former ones.
    pub(super) fn bring_urgent(&self) {
        // Acquire: pairs with the release in `push_urgent`.
        if self.cell().core.flags.load(Ordering::Acquire) & URGENT == 0 {
            return;
        }
        let former = self.with_life(|life| life.its_waits().first.urgent);
        let messages = (former..self.at_once()).map_while(|_| self.next_urgent());
        let messages: Vec<_> = messages.collect();
        self.with_life(|life| life.its_waits().first.urgent += messages.len() as u32);
        self.put_all_behind(former, messages);
    }

    /// Sees to it that the actor has what looks after urgent messages, if there are any.
    pub(super) fn expect_urgent(&self) {
        let core = &self.cell().core;
        // Relaxed: `bring_urgent` takes them.
        if core.flags.load(Ordering::Relaxed) & URGENT == 0 {
            return;
        }
        let make = core.controls().for_urgent().and_then(|it| it.downcast_ref());
        let make: Option<&fn() -> WaitsBox<A>> = make;
        self.with_life(|life| {
            let waits = &mut life.extra().waits;
            *waits = waits.take().or_else(|| make.map(|make| make()));
        });
    }

    fn next_urgent(&self) -> Option<Aside<A>> {
        let core = &self.cell().core;
        let mut controls = core.controls();
        let msg = controls.pop_urgent();
        if controls.urgent() == 0 {
            // Relaxed: under the lock, under which it is set.
            core.flags.fetch_and(!URGENT, Ordering::Relaxed);
        }
        drop(controls);
        let (stamp_ns, msg) = msg?;
        let msg = msg.downcast::<A::Msg>().expect("sent to an address of this actor");
        Some(Aside { stamp_ns, msg: Guarded::new(*msg) })
    }

    // ---- messages brought back
    // ---------------------------------------------------------------------------------------

    /// Puts messages that were put aside and brought back before those of the mailbox, but behind
    /// the former ones.
    pub(super) fn bring_ready(&self) {
        let most = self.at_once();
        let (former, messages) = self.with_life(|life| {
            let waits = life.its_waits();
            let most = (most.saturating_sub(waits.first.ready) as usize).min(waits.ready.len());
            let messages: Vec<_> = waits.ready.drain(..most).collect();
            let former = waits.first.urgent + waits.first.ready;
            waits.first.ready += messages.len() as u32;
            (former, messages)
        });
        self.worker().counters().sent.add(messages.len() as u64);
        self.put_all_behind(former, messages);
    }

    // ---- silence
    // -----------------------------------------------------------------------------------------------------

    /// Tells the actor that no message has come for some time, if so, and sees to it that somebody
    /// looks again.
    pub(super) fn look_after_silence(&mut self) -> Option<Turn> {
        if !self.with_life(|life| life.waits().is_some_and(|waits| waits.silence.is_some())) {
            return None;
        }
        let now_ns = self.worker().shared().clock().now_ns();
        let is_draining = self.worker().shared().control().is_draining();
        let has_messages = self.cell().len() > 0;
        let (msg, timer_ns) = self.with_life(|life| {
            let waits = life.waits()?;
            if has_messages {
                waits.note_message(now_ns);
            }
            let silence = waits.silence.as_mut().filter(|it| !it.is_told && !is_draining)?;
            let due_ns = silence.since_ns.saturating_add(silence.timeout_ns);
            if now_ns >= due_ns {
                silence.is_told = true;
                return Some((silence.msg.take(), None));
            }
            // One that is set too early looks again.
            let timer = waits.silence_timer.as_ref();
            let is_set = timer.is_some_and(|timer| timer.is_in_time(now_ns, due_ns));
            Some((None, (!is_set).then_some(due_ns)))
        })?;
        if let Some(due_ns) = timer_ns {
            let timer = SilenceTimer::set(&self.cell().core, due_ns, self.worker());
            let before = self.with_life(|life| life.waits()?.silence_timer.replace(timer));
            before.into_iter().for_each(|timer| timer.cancel(self.worker()));
        }
        let mut make = msg?;
        let made = self.user(|_, _| make());
        self.with_life(|life| {
            // Unless it was replaced: `make` is user code.
            let silence = life.waits().and_then(|it| it.silence.as_mut());
            if let Some(silence) = silence.filter(|it| it.msg.is_none()) {
                silence.msg = Some(make);
            }
        });
        match made {
            Ok(msg) => {
                self.worker().counters().sent.add(1);
                // It is not the message of somebody else: the silence goes on.
                self.put_last(msg);
                None
            }
            Err(panicked) => Some(self.panicked_waiting(panicked)),
        }
    }

    // ---- streams
    // -----------------------------------------------------------------------------------------------------

    /// Polls the streams, one after the other, and puts what they give into the mailbox, until none
    /// has more, or it is enough. `Some`: the turn ends here.
    pub(super) fn poll_sources(&mut self) -> Option<Turn> {
        let is_due = |waits: &Waits<A>| waits.sources_due && !waits.sources.is_empty();
        if !self.with_life(|life| life.waits().is_some_and(|waits| is_due(waits))) {
            return None;
        }
        self.drop_sources();
        let budget = self.items_wanted();
        if budget == 0 {
            return None;
        }
        let waker = self.with_life(|life| {
            let waits = life.waits()?;
            waits.sources_due = false;
            Some(waits.waker(&self.cell().core))
        })?;
        let mut cx = std::task::Context::from_waker(&waker);
        let (mut items, mut asleep, mut failed) = (Vec::new(), 0, None);
        while items.len() < budget {
            let (id, mut stream) = match self.next_source(asleep) {
                Next::None => break,
                Next::Poll(id, stream) => (id, stream),
            };
            match self.user(|_, _| stream.as_mut().poll_next(&mut cx)) {
                Ok(Poll::Pending) => {
                    self.put_source_back(id, stream);
                    asleep += 1;
                }
                Ok(Poll::Ready(Some(msg))) => {
                    self.put_source_back(id, stream);
                    asleep = 0;
                    items.push(Guarded::new(msg));
                }
                Ok(Poll::Ready(None)) => {
                    let source = self.with_life(|life| life.waits()?.detach(id));
                    drop((stream, source));
                }
                Err(panicked) => {
                    drop(stream);
                    failed = Some(panicked);
                    break;
                }
            }
        }
        if items.len() == budget {
            self.poll_sources_again();
        }
        if !items.is_empty() {
            let now_ns = self.worker().shared().clock().now_ns();
            self.with_life(|life| life.its_waits().note_message(now_ns));
        }
        self.worker().counters().sent.add(items.len() as u64);
        items.into_iter().for_each(|msg| self.put_last(msg.into_inner()));
        failed.map(|panicked| self.panicked_waiting(panicked))
    }

    /// How many items of streams this turn takes: a batch of them if nothing else waits, and else
    /// one, every other turn. So neither keeps the other waiting for ever, and an actor that holds
    /// for each item does not gather more and more of them.
    fn items_wanted(&self) -> usize {
        if self.cell().len() == 0 {
            return self.at_once() as usize;
        }
        self.with_life(|life| {
            life.waits().map_or(0, |waits| {
                waits.took_item = !waits.took_item;
                usize::from(waits.took_item)
            })
        })
    }

    fn poll_sources_again(&self) {
        self.with_life(|life| life.waits().into_iter().for_each(|it| it.sources_due = true));
    }

    /// Takes out the next stream, after so many in a row that had nothing to give.
    fn next_source(&self, asleep: usize) -> Next<A> {
        self.with_life(|life| {
            let Some(waits) = life.waits() else { return Next::None };
            let count = waits.sources.len();
            if asleep >= count {
                return Next::None;
            }
            let place = waits.next_source % count;
            waits.next_source = place + 1;
            let source = &mut waits.sources[place];
            source.stream.take().map_or(Next::None, |stream| Next::Poll(source.id, stream))
        })
    }

    /// Puts a stream back, unless the actor has detached it meanwhile.
    fn put_source_back(&self, id: StreamId, stream: Messages<A>) {
        let left = self.with_life(|life| {
            let mut sources = life.waits().into_iter().flat_map(|waits| &mut waits.sources);
            match sources.find(|source| source.id == id) {
                Some(source) => source.stream.replace(stream),
                None => Some(stream),
            }
        });
        // A user's value: not in there.
        drop(left);
    }

    /// Drops the streams that end now: all of them when the actor was asked to stop, and when the
    /// system drains those for which it does not wait.
    fn drop_sources(&self) {
        let stops = self.flags() & DRAINING != 0;
        if !stops && !self.worker().shared().control().is_draining() {
            return;
        }
        let ended = self.with_life(|life| {
            let sources = life.waits().map(|waits| &mut waits.sources);
            let ends = |source: &mut Source<A>| stops || !source.outlives_drain;
            sources.map(|sources| sources.extract_if(.., ends).collect::<Vec<_>>())
        });
        drop(ended);
    }

    // ---- the end
    // -----------------------------------------------------------------------------------------------------

    /// Drops the urgent messages and the stash of an actor that has ended: they are dead letters.
    pub(super) fn drop_beside(&self, reason: &StopReason) {
        let mut left = 0;
        // Relaxed: the controls are closed by now, under the lock under which it is set.
        if self.cell().core.flags.load(Ordering::Relaxed) & URGENT != 0 {
            while let Some(msg) = self.next_urgent() {
                left += 1;
                self.cell().core.trace_lost::<A::Msg>(msg.stamp_ns, ENDED);
                drop(msg);
            }
        }
        let waits = self.with_life(|life| life.extra.as_mut().and_then(|extra| extra.waits.take()));
        if let Some(mut waits) = waits {
            let waits = waits.waits();
            // They come back, and in vain.
            self.worker().counters().sent.add(waits.ready.len() as u64);
            left += waits.ready.len() as u64;
            for aside in waits.ready.iter().chain(&waits.stash) {
                self.cell().core.trace_lost::<A::Msg>(aside.stamp_ns, ENDED);
            }
        }
        if left > 0 {
            self.worker().counters().dead.add(left);
            self.cell().core.add_dead_letter::<A::Msg>(left, reason.clone());
        }
    }

    /// Whether streams keep the actor alive.
    pub(super) fn has_sources(&self) -> bool {
        self.with_life(|life| life.waits().is_some_and(|waits| !waits.sources.is_empty()))
    }
}
