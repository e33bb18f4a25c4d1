//! The messages of the shop's protocol.

use actinium_wire::{Blob, Message, Numbers};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A number of pieces of one article.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Item {
    /// The article's name.
    pub article: String,
    /// How many.
    pub count: u32,
}

/// A customer's special wish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// A discount, in percent.
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

/// A customer's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Order {
    /// By whom.
    pub customer: String,
    /// The ordered articles.
    pub items: Vec<Item>,
    /// The special wish.
    pub wish: Wish,
    /// Came with version 2.
    #[serde(default)]
    pub note: Option<String>,
}

/// The bill for an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Bill {
    /// The order's number.
    pub number: u64,
    /// The price of each article.
    pub lines: BTreeMap<String, f64>,
    /// The price of the whole order.
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
