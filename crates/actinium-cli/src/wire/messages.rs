//! The three messages that are measured.

use actinium_wire::{Message, Numbers};
use serde::{Deserialize, Serialize};

/// A small control message: three fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "control")]
pub struct Control {
    /// Which request it is.
    pub id: u64,
    /// What is to be done.
    pub code: u16,
    /// How much of it.
    pub value: f64,
}

/// Nested, with strings and 20 items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "order")]
pub struct Order {
    /// Its number.
    pub id: u64,
    /// Who has ordered.
    pub customer: Customer,
    /// What was ordered.
    pub items: Vec<Item>,
    /// What else was said.
    pub note: Option<String>,
    /// How it will come.
    pub shipping: Shipping,
}

/// Who has ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Customer {
    /// A name.
    pub name: String,
    /// Where letters go.
    pub street: String,
    /// Likewise.
    pub city: String,
}

/// What was ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Item {
    /// Its number in the catalogue.
    pub article: String,
    /// What it is.
    pub description: String,
    /// How many.
    pub quantity: u32,
    /// What one costs.
    pub price: f64,
}

/// How it will come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub enum Shipping {
    /// It is fetched.
    Pickup,
    /// It is sent by somebody.
    Carrier {
        /// By whom.
        name: String,
        /// Whether tomorrow.
        express: bool,
    },
}

/// Many numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "telemetry")]
pub struct Telemetry {
    /// Who has measured.
    pub source: u32,
    /// When, in nanoseconds.
    pub time_ns: u64,
    /// What was measured: 1,000 numbers.
    pub samples: Numbers<f64>,
}

/// A control message.
pub fn control() -> Control {
    Control { id: 123_456_789, code: 42, value: 0.618_033_988_749_894_9 }
}

/// An order of 20 items.
pub fn order() -> Order {
    let item = |number: u32| Item {
        article: format!("ART-{:06}", number * 7_919),
        description: format!("Stainless fitting, size {number}, with gasket"),
        quantity: number % 7 + 1,
        price: f64::from(number * 1_237 % 10_000) / 100.0,
    };
    Order {
        id: 9_876_543_210,
        customer: Customer {
            name: "Marie Example".to_owned(),
            street: "12 Long & Winding Road".to_owned(),
            city: "Exampleton".to_owned(),
        },
        items: (1..=20).map(item).collect(),
        note: Some("ring twice, then wait".to_owned()),
        shipping: Shipping::Carrier { name: "by rail".to_owned(), express: true },
    }
}

/// 1,000 numbers with all their digits.
pub fn telemetry() -> Telemetry {
    let samples = (0..1_000).map(|index| (f64::from(index) * 0.37).sin() * 1e3).collect();
    Telemetry { source: 7, time_ns: 1_700_000_000_123_456_789, samples }
}
