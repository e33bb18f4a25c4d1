//! What is said in the shop.

use actinium_wire::{Blob, Message, Numbers};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// So many of this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Item {
    /// What.
    pub article: String,
    /// How many.
    pub count: u32,
}

/// What somebody would like beside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// So many percent off.
    Discount(f64),
    /// To be brought between these hours.
    Between {
        /// From.
        from: u8,
        /// Until.
        to: u8,
    },
    /// A gift: its colour, and how large.
    Gift(String, u16),
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Order {
    /// By whom.
    pub customer: String,
    /// What.
    pub items: Vec<Item>,
    /// And what beside.
    pub wish: Wish,
    /// Came with version 2.
    #[serde(default)]
    pub note: Option<String>,
}

/// What it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Bill {
    /// The order's number.
    pub number: u64,
    /// What each article costs.
    pub lines: BTreeMap<String, f64>,
    /// What all of it costs.
    pub total: f64,
}

/// One of each kind of value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Sample {
    /// Numbers in bulk.
    pub values: Numbers<f64>,
    /// Others.
    pub small: Numbers<i16>,
    /// Bytes.
    pub raw: Blob,
    /// A character.
    pub letter: char,
    /// A pair.
    pub pair: (i64, f32),
    /// Whether it is good.
    pub good: bool,
    /// Names of numbers.
    pub names: BTreeMap<String, i8>,
    /// Maybe more of them.
    pub more: Vec<Option<f64>>,
}

actinium_wire::protocol! {
    /// A shop that can be reached from outside.
    pub protocol Shop, version 2, between client and server;

    /// Nothing is under way.
    state Idle {
        client request Place(Order) -> server Billed(Bill);
        client request Mirror(Sample) -> server Mirrored(Sample);
        client signal Watch(String) -> Watching;
        client signal Bye -> end;
    }
    /// Prices come.
    state Watching {
        server stream Price(f64);
        client signal Stop -> Idle;
    }
}
