//! The kinds of operations that a node refuses another.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An operation that another node has tried and was refused: see
/// [`NodeEvent::Denied`](crate::NodeEvent::Denied).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Denial {
    /// To send to an actor without [`Grants::SEND`](crate::Grants::SEND).
    Send,
    /// To ask an actor without [`Grants::ASK`](crate::Grants::ASK).
    Ask,
    /// To watch an actor without [`Grants::WATCH`](crate::Grants::WATCH).
    Watch,
    /// To stop an actor without [`Grants::STOP`](crate::Grants::STOP).
    Stop,
    /// To adopt an actor without [`Grants::ADOPT`](crate::Grants::ADOPT).
    Adopt,
    /// To answer a request that it was not asked.
    Answer,
    /// To tell the end of an actor that is not watched there.
    Ended,
    /// To have a payload read from a third node.
    Place,
    /// To speak for a node whose messages do not come through it, or to say what only neighbours in
    /// a grid say.
    Sender,
    /// To claim or give back a name for an actor of a third node.
    Claim,
    /// To give or refuse a name for which it was not asked.
    NotAsked,
    /// To take the part of another member of a team.
    Member,
    /// More open requests than [`PeerLimits::asks`](crate::PeerLimits::asks).
    Asks,
    /// More watches than [`PeerLimits::watches`](crate::PeerLimits::watches).
    Watches,
    /// More waiting lookups than [`PeerLimits::lookups`](crate::PeerLimits::lookups).
    Lookups,
    /// More living actors than [`PeerLimits::spawned`](crate::PeerLimits::spawned).
    Spawned,
    /// More names than [`PeerLimits::names`](crate::PeerLimits::names).
    Names,
    /// More rounds ahead than [`PeerLimits::rounds`](crate::PeerLimits::rounds).
    Rounds,
    /// More messages in a moving actor than [`PeerLimits::pending`](crate::PeerLimits::pending).
    #[serde(rename = "Held")]
    Pending,
    /// An offer of actors, or an answer to one, that breaks the rules: see
    /// [`NodeConfig::repartition`](crate::NodeConfig::repartition).
    Exchange,
    /// To read or write a [`Region`](crate::Region) without a ticket for that, or outside of it.
    Region,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Denial::Send => "to send to it: export it with Grants::SEND",
            Denial::Ask => "to ask it: export it with Grants::ASK",
            Denial::Watch => "to watch it: export it with Grants::WATCH",
            Denial::Stop => "to stop it: export it with Grants::STOP",
            Denial::Adopt => "to adopt it: export it with Grants::ADOPT",
            Denial::Answer => "to answer what it was not asked",
            Denial::Ended => "to tell the end of an actor that is not watched there",
            Denial::Place => "to have a payload read from a third node",
            Denial::Sender => "to speak for another node",
            Denial::Claim => "to claim or give back a name for a third node",
            Denial::NotAsked => "to give or refuse a name that it was not asked for",
            Denial::Member => "to take another member's part in a team",
            Denial::Asks => "to have more requests open (PeerLimits::asks)",
            Denial::Watches => "to watch more actors (PeerLimits::watches)",
            Denial::Lookups => "to wait for more names (PeerLimits::lookups)",
            Denial::Spawned => "to start more actors (PeerLimits::spawned)",
            Denial::Names => "to claim more names (PeerLimits::names)",
            Denial::Rounds => "to be more rounds of a team ahead (PeerLimits::rounds)",
            Denial::Pending => "to have more pending in an actor that moves (PeerLimits::pending)",
            Denial::Exchange => "to exchange actors against the rules",
            Denial::Region => {
                "to read or write a region without a ticket for that, or outside of it"
            }
        })
    }
}
