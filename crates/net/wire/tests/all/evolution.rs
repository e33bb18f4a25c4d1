//! Old messages, read by new code. The files in `golden/` were written by the types of version 1
//! below, and stay as they are.

use actinium_wire::{Encoding, Limits, Message, Value};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

mod v1 {
    use super::{Deserialize, Message, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
    #[message(name = "order", version = 1)]
    pub(super) struct Order {
        pub(super) id: u32,
        pub(super) customer: String,
        pub(super) urgent: bool,
        pub(super) lines: Vec<Line>,
        pub(super) state: State,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
    pub(super) struct Line {
        pub(super) article: String,
        pub(super) count: u16,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
    pub(super) enum State {
        Open,
        Paid { cents: u64 },
    }
}

/// Against version 1: `id` is wider, `customer` is called `client`, `urgent` is gone, `note`,
/// `rebate` and a variant have come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
#[message(name = "order", version = 2)]
struct Order {
    id: u64,
    #[serde(alias = "customer")]
    client: String,
    lines: Vec<Line>,
    state: State,
    note: Option<String>,
    #[serde(default = "no_rebate")]
    rebate: f32,
}

fn no_rebate() -> f32 {
    0.5
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
struct Line {
    #[serde(rename = "part", alias = "article")]
    name: String,
    count: u16,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Message)]
enum State {
    Sent,
    #[serde(alias = "Open")]
    New,
    Paid {
        cents: u64,
    },
}

fn old() -> v1::Order {
    v1::Order {
        id: 7,
        customer: "Ada".to_owned(),
        urgent: true,
        lines: vec![v1::Line { article: "cog".to_owned(), count: 3 }],
        state: v1::State::Paid { cents: 1_250 },
    }
}

fn new() -> Order {
    Order {
        id: 7,
        client: "Ada".to_owned(),
        lines: vec![Line { name: "cog".to_owned(), count: 3 }],
        state: State::Paid { cents: 1_250 },
        note: None,
        rebate: 0.5,
    }
}

fn golden(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What old programs have written stays readable: by the old types in every encoding, by the new
/// ones in those with names.
#[test]
fn messages_of_version_1_are_read() {
    for encoding in Encoding::available() {
        let bytes = golden(&format!("order-1.{encoding}"));
        let mut written = Vec::new();
        encoding.encode(&old(), &mut written).expect("it is encoded");
        assert_eq!(written, bytes, "{encoding}: version 1 is written as it always was");
        let read: v1::Order =
            encoding.decode(&bytes.clone().into(), &Limits::default()).expect("it is read");
        assert_eq!(read, old());
        let read = encoding.decode::<Order>(&bytes.into(), &Limits::default());
        match encoding {
            Encoding::Binary => assert!(read.is_err(), "links see the fingerprint and do not try"),
            _ => assert_eq!(read.expect("it is read"), new(), "{encoding}"),
        }
    }
}

/// Version 1's own description, which is all that one needs to read its binary.
#[test]
fn binary_of_version_1_is_read_by_its_schema() {
    let schema = String::from_utf8(golden("order-1.schema")).expect("it is UTF-8");
    assert_eq!(v1::Order::schema().to_string(), schema.trim_end());
    let bytes = golden("order-1.binary");
    let limits = Limits::default();
    let value = Value::decode(
        Encoding::Binary,
        &bytes,
        &v1::Order::schema().into_valid().expect("it may be walked"),
        &limits,
    );
    let mut named = Vec::new();
    value.expect("it is read").encode(Encoding::SelfDescribing, &mut named).expect("it is written");
    let read: Order = Encoding::SelfDescribing.decode(&named.into(), &limits).expect("it is read");
    assert_eq!(read, new());
}

/// The other way: new messages, read by old programs, if what these need is still there.
#[test]
fn unknown_fields_are_passed_over() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Part {
        id: u32,
    }
    for encoding in Encoding::available().into_iter().skip(1) {
        let mut bytes = Vec::new();
        encoding.encode(&new(), &mut bytes).expect("it is written");
        let read: Part = encoding.decode(&bytes.into(), &Limits::default()).expect("it is read");
        assert_eq!(read, Part { id: 7 });
    }
}
