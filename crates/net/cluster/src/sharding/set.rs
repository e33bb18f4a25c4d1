//! What a node knows of a set of shards, for those who send to them and for the node's keeper.

use crate::error::RemoteAskError;
use crate::locks::lock;
use crate::movable::{Migrate, MovableAddress, WAITING_MAX, WeakMovables};
use crate::names::Names;
use actinium_actor::Reply;
use std::sync::{Mutex, MutexGuard};

pub(super) struct Set<S: Migrate> {
    pub(super) name: String,
    pub(super) movables: WeakMovables<S>,
    pub(super) names: Names,
    pub(super) make: Box<dyn Fn(u32) -> S + Send + Sync>,
    /// The way to each shard.
    routes: Vec<Mutex<Route<S>>>,
}

/// The way from this node to a shard.
pub(super) struct Route<S: Migrate> {
    pub(super) address: Option<MovableAddress<S>>,
    /// The number of deliveries that the keeper was given, and has not handed on yet. What is sent
    /// meanwhile goes behind them.
    pub(super) waiting: usize,
}

/// How to reach a shard now.
pub(super) enum Way<S: Migrate> {
    Direct(MovableAddress<S>),
    /// Through the keeper, which has counted on it.
    Keeper,
    /// Too much waits already.
    Full,
}

/// What waits until its shard is found.
pub(super) enum Waiting<S: Migrate> {
    Tell(S::Message),
    /// With the time at which nobody waits for the answer any more.
    Ask(S::Request, u64, Reply<Result<S::Answer, RemoteAskError>>),
    Find(Reply<Result<MovableAddress<S>, RemoteAskError>>),
}

impl<S: Migrate> Set<S> {
    pub(super) fn new(
        name: &str,
        (movables, names): (WeakMovables<S>, Names),
        count: u32,
        make: impl Fn(u32) -> S + Send + Sync + 'static,
    ) -> Self {
        let route = |_| Mutex::new(Route { address: None, waiting: 0 });
        let routes = (0..count).map(route).collect();
        Set { name: name.to_owned(), movables, names, make: Box::new(make), routes }
    }

    /// The number of shards.
    pub(super) fn count(&self) -> u32 {
        self.routes.len() as u32
    }

    /// The name in the cluster of whoever has a shard.
    pub(super) fn claimed(&self, shard: u32) -> String {
        format!("actinium.shard.{}.{shard}", self.name)
    }

    pub(super) fn route(&self, shard: u32) -> MutexGuard<'_, Route<S>> {
        lock(&self.routes[shard as usize])
    }

    pub(super) fn way(&self, shard: u32) -> Way<S> {
        let mut route = self.route(shard);
        match &route.address {
            Some(address) if route.waiting == 0 && !address.is_closed() => {
                Way::Direct(address.clone())
            }
            _ if route.waiting >= WAITING_MAX => Way::Full,
            _ => {
                route.waiting += 1;
                Way::Keeper
            }
        }
    }
}
