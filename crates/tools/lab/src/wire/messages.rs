//! The three messages that are measured.

use actinium_wire::{Message, Numbers};
use serde::{Deserialize, Serialize};

/// A small control message: three fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "control")]
pub struct Control {
    /// The number of the request.
    pub id: u64,
    /// The code of the command.
    pub code: u16,
    /// The argument of the command.
    pub value: f64,
}

/// Nested, with strings and 20 items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "order")]
pub struct Order {
    /// The number of the order.
    pub id: u64,
    /// The customer who ordered.
    pub customer: Customer,
    /// The items that were ordered.
    pub items: Vec<Item>,
    /// A note of the customer, if there is one.
    pub note: Option<String>,
    /// How it will come.
    pub shipping: Shipping,
}

/// A customer who orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Customer {
    /// The customer's name.
    pub name: String,
    /// The street of the postal address.
    pub street: String,
    /// The city of the postal address.
    pub city: String,
}

/// An item of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub struct Item {
    /// The article's number in the catalogue.
    pub article: String,
    /// A description of the article.
    pub description: String,
    /// The number of pieces.
    pub quantity: u32,
    /// The price of one piece.
    pub price: f64,
}

/// How it will come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
pub enum Shipping {
    /// The customer fetches the order.
    Pickup,
    /// A carrier delivers the order.
    Carrier {
        /// The name of the carrier.
        name: String,
        /// Whether the order arrives tomorrow.
        express: bool,
    },
}

/// Many numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "telemetry")]
pub struct Telemetry {
    /// The number of the sensor.
    pub source: u32,
    /// The time of the measurement, in nanoseconds.
    pub time_ns: u64,
    /// The measured values: 1,000 numbers.
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
