//! Offers and answers as data.

use crate::traffic::Key;
use actinium_placement::{Answer, Candidate, Offer};
use actinium_wire::Message;
use serde::{Deserialize, Serialize};

/// A [`Key`]: the hash of the kind, the node where it began, the serial number.
type KeyData = (u64, u32, u64);

fn data(key: Key) -> KeyData {
    (key.kind, key.node, key.serial)
}

fn key((kind, node, serial): KeyData) -> Key {
    Key { kind, node, serial }
}

/// See [`Offer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(super) struct OfferData {
    load: u64,
    candidates: Vec<CandidateData>,
    pulls: Vec<(KeyData, u64)>,
}

/// See [`Candidate`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(super) struct CandidateData {
    actor: KeyData,
    cost: u64,
    streak: u8,
    home: u64,
    there: u64,
    among: Vec<(u32, u64)>,
    edges: Vec<(KeyData, u64)>,
}

/// See [`Answer`]; none if the node is busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub(super) struct AnswerData {
    take: Vec<KeyData>,
    give: Vec<(KeyData, u8)>,
}

impl From<&Offer<Key>> for OfferData {
    fn from(offer: &Offer<Key>) -> Self {
        let weighed = |edges: &[(Key, u64)]| -> Vec<(KeyData, u64)> {
            edges.iter().map(|&(key, weight)| (data(key), weight)).collect()
        };
        let candidate = |it: &Candidate<Key>| CandidateData {
            actor: data(it.actor),
            cost: it.cost,
            streak: it.streak,
            home: it.home,
            there: it.there,
            among: it.among.clone(),
            edges: weighed(&it.edges),
        };
        OfferData {
            load: offer.load,
            candidates: offer.candidates.iter().map(candidate).collect(),
            pulls: weighed(&offer.pulls),
        }
    }
}

impl From<OfferData> for Offer<Key> {
    fn from(offer: OfferData) -> Self {
        let weighed = |edges: Vec<(KeyData, u64)>| -> Vec<(Key, u64)> {
            edges.into_iter().map(|(it, weight)| (key(it), weight)).collect()
        };
        let candidate = |it: CandidateData| Candidate {
            actor: key(it.actor),
            cost: it.cost,
            streak: it.streak,
            home: it.home,
            there: it.there,
            among: it.among,
            edges: weighed(it.edges),
        };
        Offer {
            load: offer.load,
            candidates: offer.candidates.into_iter().map(candidate).collect(),
            pulls: weighed(offer.pulls),
        }
    }
}

impl From<&Answer<Key>> for AnswerData {
    fn from(answer: &Answer<Key>) -> Self {
        AnswerData {
            take: answer.take.iter().copied().map(data).collect(),
            give: answer.give.iter().map(|&(key, streak)| (data(key), streak)).collect(),
        }
    }
}

impl From<AnswerData> for Answer<Key> {
    fn from(answer: AnswerData) -> Self {
        Answer {
            take: answer.take.into_iter().map(key).collect(),
            give: answer.give.into_iter().map(|(it, streak)| (key(it), streak)).collect(),
        }
    }
}
