//! The actor that keeps a pool: its members are its children.

use super::options::PoolOptions;
use super::seats::{Seat, Seats};
use crate::actor::{Actor, Context};
use crate::address::Address;
use crate::groups::member::Loaded;
use crate::options::SpawnError;
use crate::stop_reason::Down;
use crate::time::Time;
use actinium_scheduler::guard::Guarded;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Makes a member's state.
pub(super) type Factory<A> = Arc<Guarded<Box<dyn Fn() -> A + Send + Sync>>>;

/// Marks that are kept for one member: one for each look within the bound on the queue's age.
const MARKS: usize = 64;

pub(super) struct Keeper<A: Actor> {
    pub(super) seats: Arc<Seats<A>>,
    pub(super) options: PoolOptions,
    pub(super) factory: Factory<A>,
    /// By place.
    members: BTreeMap<u32, Kept<A>>,
    /// How many finish what they have before they end.
    leaving: usize,
    is_closing: bool,
    /// When members were replaced, as far back as counts.
    replaced_at: VecDeque<Time>,
    grown_at: Option<Time>,
    /// Since when at least one member has had nothing to do.
    spare_since: Option<Time>,
}

struct Kept<A: Actor> {
    seat: Arc<Seat<A>>,
    /// Messages that the member had taken when the keeper looked, and when that was: those that it
    /// has not handled all yet.
    marks: VecDeque<(u64, Time)>,
}

pub(super) enum Msg<A: Actor> {
    /// The first members, which whoever made the pool has started.
    Begin(Vec<Arc<Seat<A>>>),
    Tick,
    /// A member of this place has ended.
    Down(u32, Down),
    /// Somebody shall take this place.
    Replace(u32),
    /// Whoever was to take this place could not be made.
    Again(u32),
    /// End when the members have handled what they have.
    Close,
}

impl<A: Actor> Keeper<A> {
    pub(super) fn new(seats: Arc<Seats<A>>, options: PoolOptions, factory: Factory<A>) -> Self {
        Keeper {
            seats,
            options,
            factory,
            members: BTreeMap::new(),
            leaving: 0,
            is_closing: false,
            replaced_at: VecDeque::new(),
            grown_at: None,
            spare_since: None,
        }
    }

    /// Lets senders see who is there.
    fn publish(&self) {
        if !self.is_closing {
            self.seats.set(self.members.values().map(|kept| kept.seat.clone()).collect());
        }
    }

    fn keep(&mut self, seat: Arc<Seat<A>>, ctx: &Context<'_, Self>) {
        let place = seat.place;
        ctx.watch(&seat.address, move |down| Msg::Down(place, down));
        self.members.insert(place, Kept { seat, marks: VecDeque::new() });
    }

    /// Starts a member at a place.
    fn start(&mut self, place: u32, ctx: &Context<'_, Self>) -> Result<(), SpawnError> {
        let options = self.options.members.clone().supervise(self.options.supervision);
        let address: Address<A> = ctx.spawn_with(options, maker(&self.factory))?;
        self.keep(Seat::new(address, place), ctx);
        self.publish();
        Ok(())
    }

    /// Replaces whoever was at this place, unless that was too often.
    fn replace(&mut self, place: u32, ctx: &Context<'_, Self>) {
        let (now, supervision) = (ctx.now(), self.options.supervision);
        self.replaced_at.push_back(now);
        self.replaced_at.retain(|&at| now.since(at) <= supervision.period());
        match supervision.again_after(self.replaced_at.len() as u32) {
            Some(Duration::ZERO) => self.take_place(place, ctx),
            Some(wait) => drop(ctx.after(wait, Msg::Replace(place))),
            None => self.give_up("its members end too often", ctx),
        }
    }

    fn take_place(&mut self, place: u32, ctx: &Context<'_, Self>) {
        match self.start(place, ctx) {
            // Relaxed: a figure.
            Ok(()) => drop(self.seats.replaced.fetch_add(1, Ordering::Relaxed)),
            // As if it had ended at once. Not here and now: that might go on for ever.
            Err(SpawnError::FactoryFailed(_)) => {
                ctx.after(self.options.tick(), Msg::Again(place));
            }
            Err(error) => self.give_up(&error.to_string(), ctx),
        }
    }

    fn give_up(&self, why: &str, ctx: &Context<'_, Self>) {
        let name = std::any::type_name::<A>();
        ctx.fail(format!("the pool of {name} has ended: {why}"));
    }

    /// Looks how old the oldest waiting message is, and whether a member has nothing to do.
    fn look(&mut self, now: Time) -> (Duration, bool) {
        let (mut oldest, mut is_spare) = (Duration::ZERO, false);
        for Kept { seat, marks } in self.members.values_mut() {
            // Relaxed: what was sent just now is young.
            let accepted = seat.accepted.load(Ordering::Relaxed);
            let waiting = seat.address.len();
            let handled = accepted.saturating_sub(waiting as u64);
            while marks.front().is_some_and(|&(upto, _)| upto <= handled) {
                marks.pop_front();
            }
            if let Some(&(_, at)) = marks.front() {
                oldest = oldest.max(now.since(at));
            }
            let is_new = marks.back().is_none_or(|&(upto, _)| upto < accepted);
            if waiting > 0 && is_new && marks.len() < MARKS {
                marks.push_back((accepted, now));
            }
            is_spare |= waiting == 0 && !Loaded::is_running(&seat.address);
        }
        (oldest, is_spare)
    }

    fn tick(&mut self, ctx: &Context<'_, Self>) {
        let (now, options) = (ctx.now(), &self.options);
        let (queue_age, idle, min, max) =
            (options.queue_age, options.idle, options.min, options.max);
        let (oldest, is_spare) = self.look(now);
        let is_late = oldest > queue_age;
        let rests = self.grown_at.is_some_and(|at| now.since(at) < queue_age);
        if is_late && !rests && self.members.len() < max {
            let free = (0..).find(|place| !self.members.contains_key(place)).unwrap_or(0);
            // One that can not be started now is tried again when this looks again.
            if self.start(free, ctx).is_ok() {
                count(&self.seats.grown);
            }
            self.grown_at = Some(now);
        }
        if is_late || !is_spare {
            self.spare_since = None;
            return;
        }
        let since = *self.spare_since.get_or_insert(now);
        if now.since(since) >= idle && self.members.len() > min {
            self.spare_since = Some(now);
            count(&self.seats.shrunk);
            self.retire();
        }
    }

    /// Lets the member of the last place go: senders forget it, and then it ends when it has
    /// handled what it has.
    fn retire(&mut self) {
        let Some((_, kept)) = self.members.pop_last() else { return };
        self.publish();
        self.leaving += 1;
        kept.seat.address.stop();
    }

    fn down(&mut self, place: u32, down: &Down, ctx: &Context<'_, Self>) {
        let is_here =
            self.members.get(&place).is_some_and(|kept| kept.seat.address.id() == down.actor);
        if is_here {
            self.members.remove(&place);
            self.publish();
            self.replace(place, ctx);
            return;
        }
        // It was let go.
        self.leaving = self.leaving.saturating_sub(1);
        self.end_if_empty(ctx);
    }

    fn end_if_empty(&self, ctx: &Context<'_, Self>) {
        if self.is_closing && self.leaving == 0 {
            ctx.stop();
        }
    }

    fn close(&mut self, ctx: &Context<'_, Self>) {
        self.is_closing = true;
        self.seats.close();
        while !self.members.is_empty() {
            self.retire();
        }
        self.end_if_empty(ctx);
    }
}

fn count(figure: &AtomicU64) {
    // Relaxed: a figure.
    figure.fetch_add(1, Ordering::Relaxed);
}

/// Makes members.
pub(super) fn maker<A: Actor>(factory: &Factory<A>) -> impl FnMut() -> A + Send + use<A> {
    let factory = factory.clone();
    move || factory()
}

impl<A: Actor> Actor for Keeper<A> {
    type Msg = Msg<A>;

    fn started(&mut self, ctx: &mut Context<'_, Self>) {
        if self.options.min < self.options.max {
            ctx.every(self.options.tick(), || Msg::Tick);
        }
    }

    fn handle(&mut self, msg: Msg<A>, ctx: &mut Context<'_, Self>) {
        match msg {
            Msg::Begin(seats) => {
                for seat in seats {
                    ctx.adopt(seat.address.clone());
                    self.keep(seat, ctx);
                }
            }
            Msg::Tick if self.is_closing => {}
            Msg::Tick => self.tick(ctx),
            Msg::Down(place, down) => self.down(place, &down, ctx),
            Msg::Replace(_) | Msg::Again(_) if self.is_closing => {}
            Msg::Again(place) => self.replace(place, ctx),
            Msg::Replace(place) => self.take_place(place, ctx),
            Msg::Close => self.close(ctx),
        }
    }
}

/// However it ends, senders hear of it.
impl<A: Actor> Drop for Keeper<A> {
    fn drop(&mut self) {
        self.seats.close();
    }
}
