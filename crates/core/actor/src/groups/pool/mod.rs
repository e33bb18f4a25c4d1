//! A group that lives: it replaces members that have ended, and grows and shrinks with its load.
//!
//! | file | what it is |
//! |---|---|
//! | `options.rs` | how a pool is made, and what it has done |
//! | `seats.rs` | the members as senders see them |
//! | `keeper.rs` | the actor that has the members as children |

mod keeper;
mod options;
mod seats;

pub use options::{PoolFigures, PoolOptions, Route};

use crate::actor::{Actor, Context};
use crate::actor_core::{CoreRef, Inner};
use crate::address::Address;
use crate::ask::{Answer, AskError, Reply};
use crate::groups::choice::{key_hash, least_loaded};
use crate::handle::at::{At, Handle, Place};
use crate::options::SpawnError;
use crate::send_error::SendError;
use crate::source::{ByFactory, Source};
use crate::system_handle::SystemHandle;
use actinium_scheduler::Worker;
use actinium_scheduler::guard::Guarded;
use keeper::{Keeper, Msg, maker};
use seats::{Seat, Seats, by_key};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A group of actors of one type that lives: members that fail are restarted or replaced, more of
/// them come while messages wait too long, and go when there is too little to do. Cheap to clone,
/// usable from any thread. Made by [`SystemHandle::pool`] or [`Context::pool`].
///
/// A member that goes is drained: nothing is sent to it any more, it handles what it has, and then
/// it ends. When the last clone of this is gone, all members go so. [`Context::watch`] tells when
/// a pool has ended.
///
/// ```
/// use actinium_actor::{Actor, Context, PoolOptions, Reply, Shutdown, System};
///
/// struct Thumbnails;
/// struct Scale(Vec<u8>, Reply<usize>);
///
/// impl Actor for Thumbnails {
///     type Msg = Scale;
///     fn handle(&mut self, Scale(image, reply): Scale, _ctx: &mut Context<'_, Self>) {
///         let _ = reply.send(image.len() / 100);
///     }
/// }
///
/// let system = System::builder().workers(1).build()?;
/// let pool = system.pool(PoolOptions::new(2..=8), || Thumbnails)?;
/// assert_eq!(pool.ask(|reply| Scale(vec![0; 1_000], reply)).wait()?, 10);
/// assert_eq!(pool.figures().members, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool<A: Actor>(Arc<Handles<A>>);

/// What all clones of a pool share.
struct Handles<A: Actor> {
    seats: Arc<Seats<A>>,
    keeper: Address<Keeper<A>>,
    route: Route,
}

impl SystemHandle {
    /// Starts a pool of actors, which `factory` makes.
    ///
    /// # Errors
    /// If a member can not be started, or no pool has so few or so many members as the options say.
    pub fn pool<A: Actor>(
        &self,
        options: PoolOptions,
        factory: impl Fn() -> A + Send + Sync + 'static,
    ) -> Result<Pool<A>, SpawnError> {
        let system = &self.inner;
        let keep = |keeper| system.with_worker(|worker| system.spawn_light(keeper, worker));
        start(system, options, Box::new(factory), keep)
    }
}

impl<A: Actor> Context<'_, A> {
    /// Starts a pool of actors, which ends when this actor ends or restarts. Otherwise as
    /// [`SystemHandle::pool`].
    ///
    /// # Errors
    /// As there.
    pub fn pool<B: Actor>(
        &self,
        options: PoolOptions,
        factory: impl Fn() -> B + Send + Sync + 'static,
    ) -> Result<Pool<B>, SpawnError> {
        start(&self.core().system, options, Box::new(factory), |keeper| self.spawn(keeper))
    }
}

fn start<A: Actor>(
    system: &Arc<Inner>,
    options: PoolOptions,
    // tidy: guard: guarded at once.
    factory: Box<dyn Fn() -> A + Send + Sync>,
    keep: impl FnOnce(Keeper<A>) -> Address<Keeper<A>>,
) -> Result<Pool<A>, SpawnError> {
    let factory = Arc::new(Guarded::new(factory));
    let (min, max, route) = (options.min, options.max, options.route);
    if min == 0 || max < min || u32::try_from(max).is_err() {
        return Err(SpawnError::NoMembers { min, max });
    }
    let each = options.members.clone().supervise(options.supervision);
    let seats = Arc::new(Seats::new());
    let keeper = keep(Keeper::new(seats.clone(), options, factory.clone()));
    // From here on the pool ends with this.
    let pool = Pool(Arc::new(Handles { seats, keeper, route }));
    let mut members = Vec::new();
    for place in 0..min as u32 {
        let member = |worker: Option<&Worker>| {
            let parent = CoreRef::new(&pool.0.keeper.0.core);
            let source = Source::<A, ByFactory>::split(maker(&factory));
            system.spawn_full(each.clone(), source, Some(parent), worker)
        };
        match system.with_worker(member) {
            Ok(address) => members.push(Seat::new(address, place)),
            Err(error) => {
                members.iter().for_each(|seat: &Arc<Seat<A>>| seat.address.kill());
                return Err(error);
            }
        }
    }
    pool.0.seats.set(members.clone());
    pool.0.keeper.tell(Msg::Begin(members));
    Ok(pool)
}

impl<A: Actor> Pool<A> {
    /// Sends a message to one member, which the pool's [`Route`] chooses.
    ///
    /// # Errors
    /// [`SendError::Closed`] if the pool has ended; [`SendError::Full`] outside actors if the
    /// chosen member's mailbox is full, and everywhere while all members wait to be replaced.
    pub fn send(&self, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        self.route(None, msg, |_| ())
    }

    /// Sends a message to the member that a key belongs to: the same key, the same member. When a
    /// member comes or goes, its keys come from all others or go to them, and no other key moves.
    /// The hash of keys is that of [`Router::by_key`](crate::Router::by_key).
    ///
    /// # Errors
    /// As [`Pool::send`].
    pub fn send_by(&self, key: impl Hash, msg: A::Msg) -> Result<(), SendError<A::Msg>> {
        self.route(Some(key_hash(key)), msg, |_| ())
    }

    /// Asks one member, which the pool's [`Route`] chooses: see [`Address::ask`].
    pub fn ask<R: Send + 'static>(&self, msg: impl FnOnce(Reply<R>) -> A::Msg) -> Answer<R> {
        self.ask_route(None, msg)
    }

    /// Asks the member that a key belongs to: see [`Pool::send_by`].
    pub fn ask_by<R: Send + 'static>(
        &self,
        key: impl Hash,
        msg: impl FnOnce(Reply<R>) -> A::Msg,
    ) -> Answer<R> {
        self.ask_route(Some(key_hash(key)), msg)
    }

    /// The members now, in order of their places.
    pub fn members(&self) -> Vec<Address<A>> {
        self.0.seats.look().iter().map(|seat| seat.address.clone()).collect()
    }

    /// What it has done.
    pub fn figures(&self) -> PoolFigures {
        self.0.seats.figures()
    }

    /// Whether it has ended, or is about to.
    pub fn is_closed(&self) -> bool {
        self.0.seats.is_over()
    }

    /// Ends it: from when it sees the request it takes no more messages, and its members end when
    /// they have handled what they have.
    pub fn stop(&self) {
        // One that has ended needs no stopping.
        let _ = self.0.keeper.send(Msg::Close);
    }

    fn ask_route<R: Send + 'static>(
        &self,
        key: Option<u64>,
        msg: impl FnOnce(Reply<R>) -> A::Msg,
    ) -> Answer<R> {
        let (way, answer) = Answer::channel();
        let pool = self.0.keeper.id();
        match self.route(key, msg(Reply::new(way)), |member| answer.of(member)) {
            Ok(answer) => answer,
            Err(SendError::Closed(_)) => Answer::refused(AskError::Closed(pool)),
            Err(_) => Answer::refused(AskError::Full(pool)),
        }
    }

    /// Sends a message to one member, and calls `then` with who that was.
    fn route<T>(
        &self,
        key: Option<u64>,
        msg: A::Msg,
        then: impl FnOnce(&Address<A>) -> T,
    ) -> Result<T, SendError<A::Msg>> {
        let seats = self.0.seats.look();
        let n = seats.len();
        let first = match self.0.route {
            _ if key.is_some() || n == 0 => 0,
            // Relaxed: only a count.
            Route::RoundRobin => {
                (self.0.seats.turn.fetch_add(1, Ordering::Relaxed) % n as u64) as usize
            }
            Route::LeastLoaded => least_loaded(&seats),
        };
        let mut msg = msg;
        for step in 0..n {
            let chosen = match key {
                Some(key) => by_key(&seats, key),
                None => Some((first + step) % n),
            };
            let Some(seat) = chosen.map(|chosen| &seats[chosen]) else { break };
            match seat.address.send(msg) {
                Ok(()) => {
                    // Relaxed: a count.
                    seat.accepted.fetch_add(1, Ordering::Relaxed);
                    return Ok(then(&seat.address));
                }
                // It has ended just now.
                Err(SendError::Closed(back)) => msg = back,
                Err(error) => return Err(error),
            }
        }
        drop(seats);
        let is_over = self.is_closed() || self.0.keeper.is_closed();
        Err(if is_over { SendError::Closed(msg) } else { SendError::Full(msg) })
    }
}

impl<A: Actor> Drop for Handles<A> {
    fn drop(&mut self) {
        // One that has ended needs no stopping.
        let _ = self.keeper.send(Msg::Close);
    }
}

impl<A: Actor> Clone for Pool<A> {
    fn clone(&self) -> Self {
        Pool(self.0.clone())
    }
}

impl<A: Actor> Handle for Pool<A> {
    fn place(&self) -> Place<'_> {
        Place(At::Here(&self.0.keeper.0.core))
    }
}

impl<A: Actor> fmt::Debug for Pool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, figures) = (std::any::type_name::<A>(), self.figures());
        write!(f, "Pool({name}, {} members)", figures.members)
    }
}
