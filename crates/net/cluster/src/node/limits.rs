//! Bounds on the memory and work that one other node may cause here.

/// Bounds on the memory and work that another node may cause here, for each other node alone. An
/// operation beyond a bound is refused, counted and told
/// ([`NodeEvent::Denied`](crate::NodeEvent::Denied)). Honest programs do not come near the
/// defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerLimits {
    /// The number of its requests and reply handles that actors here have not answered yet.
    pub asks: usize,
    /// The number of actors' ends that it waits for here.
    pub watches: usize,
    /// The number of its lookups that wait for a name that is not exported yet. Their names and
    /// descriptions of types have 16 MiB in all at most.
    pub lookups: usize,
    /// The number of living actors that it has started here. Besides,
    /// [`NodeConfig::spawned_max`](crate::NodeConfig::spawned_max) holds for all nodes together.
    pub spawned: usize,
    /// The number of names of the cluster that its actors have in this node's list, each of 4,096
    /// bytes at most: see [`Names`](crate::Names).
    pub names: usize,
    /// The number of rounds of a team that it is ahead of this node: see [`Team`](crate::Team).
    pub rounds: usize,
    /// The number of actors that it may say to have exported under one name: see
    /// [`NodeHandle::find_all`](crate::NodeHandle::find_all).
    pub found: usize,
    /// The bytes of answers and news for it that wait because it takes nothing. A node for which
    /// more waits is cut off ([`Breach::Unread`](crate::link::Breach::Unread)). Otherwise it could
    /// ask for ever, and never take an answer.
    pub unread_bytes: usize,
    /// The number of its messages and requests that are pending in one actor that moves
    /// ([`Migrate`](crate::Migrate)): until the actor has arrived, or at its former place until the
    /// way to it has capacity. The same bound holds for this node's own.
    pub pending: usize,
}

impl Default for PeerLimits {
    fn default() -> Self {
        PeerLimits {
            asks: 1 << 18,
            watches: 1 << 21,
            lookups: 1 << 12,
            spawned: 1 << 19,
            names: 1 << 18,
            rounds: 1 << 14,
            found: 1 << 22,
            unread_bytes: 256 << 20,
            pending: 1 << 16,
        }
    }
}

impl PeerLimits {
    /// Returns the name of the first setting that is 0, if there is one.
    pub(super) fn zero(&self) -> Option<&'static str> {
        let PeerLimits {
            asks,
            watches,
            lookups,
            spawned,
            names,
            rounds,
            found,
            unread_bytes,
            pending,
        } = *self;
        let settings = [
            ("asks", asks),
            ("watches", watches),
            ("lookups", lookups),
            ("spawned", spawned),
            ("names", names),
            ("rounds", rounds),
            ("found", found),
            ("unread_bytes", unread_bytes),
            ("pending", pending),
        ];
        settings.into_iter().find(|&(_, limit)| limit == 0).map(|(setting, _)| setting)
    }
}
