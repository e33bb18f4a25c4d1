//! The nodes that a coordinator knows, and what it has to say to them.

use crate::agent::{self, Agent};
use crate::protocol::{Down, HasBytes, Joined, Up};
use actinium_actor::{Actor, Address, Context};
use actinium_cluster::job::FIRST;
use actinium_cluster::{RemoteActor, RemoteAddress, RemoteSendError};
use std::collections::VecDeque;

/// Where an agent is.
pub(crate) enum Target<C: RemoteActor<Message = Up>> {
    /// On this node.
    Here(Address<Agent<C>>),
    /// On another node.
    There(RemoteAddress<Agent<C>>),
}

/// See the module.
pub(crate) struct Known<C: RemoteActor<Message = Up>> {
    /// The number of its attempt to join, counted over all nodes.
    pub(crate) serial: u64,
    target: Target<C>,
    backlog: VecDeque<Down>,
    waits_for_credit: bool,
    pub(crate) joined: Joined,
    /// It may not take part.
    pub(crate) is_refused: bool,
    /// Its figures have come.
    pub(crate) has_figures: bool,
}

impl<C: RemoteActor<Message = Up>> Known<C> {
    /// A node whose agent is there.
    pub(crate) fn new(serial: u64, target: Target<C>) -> Self {
        Known {
            serial,
            target,
            backlog: VecDeque::new(),
            waits_for_credit: false,
            joined: Joined::default(),
            is_refused: false,
            has_figures: false,
        }
    }

    /// Says something, after what was said before.
    pub(crate) fn say(&mut self, down: Down) {
        match self.target {
            Target::Here(_) => self.backlog.push_back(down),
            Target::There(_) => self.backlog.extend(down.parts()),
        }
    }

    /// Whether it has been told all.
    pub(crate) fn was_told(&self) -> bool {
        self.backlog.is_empty()
    }

    /// There is credit again.
    pub(crate) fn writable(&mut self) {
        self.waits_for_credit = false;
    }

    /// Sends what there is credit for. `writable` tells an actor that there is credit again.
    ///
    /// # Errors
    /// What can not be sent, and why.
    pub(crate) fn send<A: Actor>(
        &mut self,
        ctx: &Context<'_, A>,
        writable: impl FnOnce() -> A::Msg + Send + 'static,
    ) -> Result<(), String> {
        while !self.waits_for_credit {
            let Some(down) = self.backlog.pop_front() else { break };
            match &self.target {
                // A message that is refused is in the ledger.
                Target::Here(address) => drop(address.send(agent::Msg::Down(FIRST, down))),
                Target::There(address) => match address.send(down) {
                    Err(RemoteSendError::Full(down)) => {
                        self.backlog.push_front(down);
                        self.waits_for_credit = true;
                        ctx.pipe(address.ready(), move |()| writable());
                        break;
                    }
                    // That the node is down is told by itself.
                    Ok(()) | Err(RemoteSendError::NodeDown(_)) => {}
                    Err(error) => return Err(error.to_string()),
                },
            }
        }
        Ok(())
    }
}
