//! How a system hangs together: who supervises whom, and what workers got from each other on the
//! machine.

use crate::live::{ExchangeNow, Live, PuPlace};
use actinium_actor::SystemHandle;
use serde::{Deserialize, Serialize};

/// The most supervisors at the top that are kept, and the most children of each.
const ROOTS: usize = 20;
const CHILDREN: usize = 8;
/// The most levels of the tree.
const LEVELS: usize = 4;
/// The most actors of the tree.
const MEMBERS: usize = 200;

/// How a system hangs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Structure {
    /// Where the PU of each worker is in the machine; none for a worker that is bound to none.
    pub places: Vec<Option<PuPlace>>,
    /// What workers got from each other.
    pub exchanges: Vec<ExchangeNow>,
    /// The tree of supervision when most actors were seen to live.
    pub tree: Tree,
}

/// Who supervises whom, at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// The moment, in seconds since the recording began.
    pub at_s: f64,
    /// Actors that lived then.
    pub actors: u64,
    /// The tree from the top: each supervisor stands before its children.
    pub members: Vec<Member>,
    /// Actors at the places shown that were left out, as there are so many.
    pub left_out: u64,
}

/// An actor of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The number of supervisors above it.
    pub level: u64,
    /// Its number.
    pub actor: u64,
    /// The name of its type.
    pub kind: String,
    /// A name that it was given.
    pub name: Option<String>,
    /// The number of its children.
    pub children: u64,
}

impl Structure {
    /// What can be told at the end.
    pub(crate) fn of(system: &SystemHandle, tree: Tree) -> Self {
        let live = Live::new(system);
        let about = live.about();
        let place = |pu: &Option<u32>| about.pus.iter().find(|it| Some(it.pu) == *pu).cloned();
        Structure {
            places: about.workers.iter().map(place).collect(),
            exchanges: system.exchanges().iter().map(ExchangeNow::from).collect(),
            tree,
        }
    }
}

impl Tree {
    /// Looks whether there are so many more actors than at the last look that the tree is worth a
    /// walk. There are few walks, however many actors there are.
    pub(crate) fn look(&mut self, system: &SystemHandle, at_s: f64, actors: u64) {
        if actors <= self.actors + self.actors / 2 {
            return;
        }
        let mut tree = Tree { at_s, actors, ..Tree::default() };
        tree.add(system, None, 0);
        if !tree.members.is_empty() {
            *self = tree;
        }
    }

    fn add(&mut self, system: &SystemHandle, of: Option<u64>, level: usize) {
        let most = if level == 0 { ROOTS } else { CHILDREN };
        let family = system.family(of, most.min(MEMBERS - self.members.len()));
        self.left_out += family.total.saturating_sub(family.members.len() as u64);
        for it in family.members {
            let actor = it.figures.actor.as_u64();
            if self.members.len() >= MEMBERS {
                self.left_out += 1;
                continue;
            }
            self.members.push(Member {
                level: level as u64,
                actor,
                kind: it.figures.kind.to_owned(),
                name: it.figures.name.clone(),
                children: it.children,
            });
            if it.children > 0 && level + 1 < LEVELS {
                self.add(system, Some(actor), level + 1);
            }
        }
    }
}
