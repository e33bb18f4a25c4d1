//! Schemas, fingerprints, and values that know their type at run time only.

use crate::common::{Everything, everything};
use actinium_wire::schema::{Break, Schema};
use actinium_wire::{Encoding, Limits, Message, Numbers, Value};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A converter without the type makes of any encoding the same bytes in any other as the type
    /// does.
    #[test]
    fn any_encoding_becomes_any_other_by_the_schema(message in everything()) {
        let schema = Everything::schema();
        let schema = schema.valid().expect("it may be walked");
        let bytes = |encoding: Encoding| {
            let mut bytes = Vec::new();
            encoding.encode(&message, &mut bytes).expect("it is encoded");
            (encoding, bytes)
        };
        let typed: Vec<_> = Encoding::available().into_iter().map(bytes).collect();
        for (from, bytes) in &typed {
            let value = Value::decode(*from, bytes, &schema, &Limits::default());
            let value = value.unwrap_or_else(|error| panic!("{error}"));
            for (to, expected) in &typed {
                let mut out = Vec::new();
                value.encode(*to, &mut out).expect("it is encoded");
                prop_assert!(&out == expected, "{from} to {to}");
            }
        }
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let limits = Limits { memory_bytes: 1 << 18, ..Limits::default() };
        let schema = Everything::schema();
        let schema = schema.valid().expect("it may be walked");
        for encoding in Encoding::available() {
            let _ = Value::decode(encoding, &bytes, &schema, &limits);
            let _ = Value::decode_any(encoding, &bytes, &limits);
        }
    }
}

#[test]
fn a_schema_looks_like_a_declaration() {
    #[derive(Serialize, Deserialize, Message)]
    #[message(version = 3, name = "tree")]
    struct Node {
        #[serde(rename = "id", alias = "number", default)]
        key: u32,
        children: Vec<Node>,
        kind: Kind,
        samples: Numbers<f32>,
    }
    #[derive(Serialize, Deserialize, Message)]
    enum Kind {
        Leaf,
        Named(String),
        Point(f64, f64),
        Sized { bytes: u64, r#type: Option<bool> },
    }
    assert_eq!(
        Node::schema().to_string(),
        "tree version 3: Node; Node {id: u32, children: list<Node>, kind: Kind, samples: numbers<f32>}; \
         Kind <Leaf, Named(string), Point[f64, f64], Sized{bytes: u64, type: option<bool>}>;"
    );
}

#[test]
fn types_of_one_name_are_told_apart() {
    mod other {
        #[derive(serde::Serialize, serde::Deserialize, actinium_wire::Message)]
        pub(super) struct Part(pub(super) bool);
    }
    #[derive(Serialize, Deserialize, Message)]
    struct Part(u8);
    #[derive(Serialize, Deserialize, Message)]
    struct Both(Part, other::Part);
    let text = Both::schema().to_string();
    assert_eq!(text, "Both version 1: Both; Both [Part, Part#2]; Part (u8); Part#2 (bool);");
}

/// The binary encoding of two types may differ only if their fingerprints do.
#[test]
fn the_fingerprint_is_of_what_is_written() {
    macro_rules! fingerprint {
        ($($body:tt)*) => {{
            #[derive(Serialize, Deserialize, Message)]
            $($body)*
            M::schema().fingerprint()
        }};
    }
    let base = fingerprint! { struct M { a: u32, b: String } };
    assert_eq!(
        base,
        fingerprint! { struct M { #[serde(alias = "x")] a: u32, #[serde(default)] b: String } }
    );
    for other in [
        fingerprint! { struct M { b: String, a: u32 } },
        fingerprint! { struct M { a: u64, b: String } },
        fingerprint! { struct M { a: u32, b: String, c: u8 } },
        fingerprint! { struct M { c: u32, b: String } },
        fingerprint! { #[message(version = 2)] struct M { a: u32, b: String } },
        fingerprint! { #[message(name = "N")] struct M { a: u32, b: String } },
        fingerprint! { struct M(u32, String); },
    ] {
        assert_ne!(base, other);
    }
    assert_eq!(
        base, 8_098_522_103_617_832_575,
        "it is the same on every machine and in every build"
    );
}

fn breaks(writer: &Schema, reader: &Schema) -> Vec<Break> {
    let writer = writer.valid().expect("it may be walked");
    let reader = reader.valid().expect("it may be walked");
    actinium_wire::schema::breaks(&writer, &reader)
}

#[test]
fn breaks_are_found_and_named() {
    macro_rules! schema {
        ($($body:tt)*) => {{
            #[derive(Serialize, Deserialize, Message)]
            $($body)*
            M::schema()
        }};
    }
    let old = schema! { struct M { a: u32, name: String, gone: bool } };
    let good = [
        schema! { struct M { a: u64, name: String } },
        schema! { struct M { a: Option<u32>, name: String, new: Option<u8> } },
        schema! { struct M { #[serde(alias = "a")] b: u32, name: String, #[serde(default)] new: u8 } },
    ];
    for new in good {
        assert_eq!(breaks(&old, &new), []);
    }
    for (new, problem) in [
        (
            schema! { struct M { b: u32, name: String } },
            "M.b: expected, not written, and without a default: add #[serde(default)]",
        ),
        (schema! { struct M { a: u16, name: String } }, "M.a: expected u16, and u32 is written"),
        (schema! { struct M { a: i32, name: String } }, "M.a: expected i32, and u32 is written"),
        (
            schema! { struct M { a: u32, name: char } },
            "M.name: expected char, and string is written",
        ),
    ] {
        let found = breaks(&old, &new);
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [problem]);
        assert_eq!(found[0].always, !problem.contains("u32 is"), "a number may fit all the same");
    }
    let few = schema! { enum M { A, B(u8) } };
    let many = schema! { enum M { A, B(u8), C } };
    assert_eq!(breaks(&few, &many), []);
    let found = breaks(&many, &few);
    assert_eq!(found[0].to_string(), "M::C: a variant that is not known");
    assert!(!found[0].always, "the others are understood");
}
