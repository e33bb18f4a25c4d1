//! What two nodes say to each other when they exchange actors.

use std::collections::BTreeSet;
use std::fmt;

/// A node's offer of actors to another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer<K> {
    /// The number of movable actors of the node that offers.
    pub load: u64,
    /// The actors that it offers.
    pub candidates: Vec<Candidate<K>>,
    /// What its other actors send to actors of the other node: how much pulls each of those here.
    pub pulls: Vec<(K, u64)>,
}

/// An actor that may move to the other node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<K> {
    /// The actor.
    pub actor: K,
    /// What its move costs, as a weight.
    pub cost: u64,
    /// How often it has moved in short succession, this time included.
    pub streak: u8,
    /// The weight of its edges to actors of its own node that are no candidates.
    pub home: u64,
    /// The weight of its edges to actors of the other node that never move.
    pub there: u64,
    /// The weights of its edges with candidates before it, each by its place in the list.
    pub among: Vec<(u32, u64)>,
    /// The weights of its edges to movable actors of the other node.
    pub edges: Vec<(K, u64)>,
}

/// The answer to an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<K> {
    /// The offered actors that may move.
    pub take: Vec<K>,
    /// The actors that come back for them.
    pub give: Vec<Given<K>>,
}

/// An actor that comes, and how often it has moved in short succession.
pub type Given<K> = (K, u8);

/// Why there is no exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The node takes part in another exchange, or rests from one.
    Busy,
    /// What the other node has said breaks the rules. This says which.
    Malformed(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Busy => f.write_str("the node takes part in an exchange, or rests from one"),
            Refusal::Malformed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

/// The largest weight, cost or number of actors that another node may state. Sums of them do not
/// overflow.
pub(crate) const WEIGHT_MAX: u64 = 1 << 40;
/// The largest number of actors, and of edges, that an offer may have.
const ITEMS_MAX: usize = 1 << 20;

impl<K: Copy + Ord> Offer<K> {
    /// Checks what another node has said.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut seen = BTreeSet::new();
        let mut items = self.pulls.len();
        let is_heavy = |&weight: &u64| weight > WEIGHT_MAX;
        let mut has_heavy = is_heavy(&self.load) || self.pulls.iter().any(|(_, it)| is_heavy(it));
        for (place, candidate) in self.candidates.iter().enumerate() {
            if !seen.insert(candidate.actor) {
                return Err(Refusal::Malformed("the offer names an actor twice"));
            }
            if candidate.among.iter().any(|&(other, _)| other as usize >= place) {
                return Err(Refusal::Malformed("the offer has an edge to no candidate"));
            }
            items += 1 + candidate.among.len() + candidate.edges.len();
            let own = [candidate.cost, candidate.home, candidate.there];
            let among = candidate.among.iter().map(|(_, weight)| weight);
            let edges = candidate.edges.iter().map(|(_, weight)| weight);
            has_heavy |= own.iter().chain(among).chain(edges).any(is_heavy);
        }
        if has_heavy {
            return Err(Refusal::Malformed("the offer has a number that is too large"));
        }
        if items > ITEMS_MAX {
            return Err(Refusal::Malformed("the offer is too long"));
        }
        Ok(())
    }
}
