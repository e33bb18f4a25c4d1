//! Hellos that reach the comparison of types: the input is a peer's schema, as JSON, and the
//! fingerprint is computed of it.
#![no_main]

use actinium_wire::hello::{Hello, negotiate};
use actinium_wire::schema::{Schema, breaks};
use actinium_wire::{Encoding, Limits, Message};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize, Message)]
#[message(name = "M")]
enum Node {
    Leaf,
    Number(f64),
    Pair(i8, Option<String>),
    Wrapped(Wrapped),
    Tree { name: String, children: Vec<Node>, map: BTreeMap<u32, (bool, Wrapped)> },
}

#[derive(Serialize, Deserialize, Message)]
struct Wrapped(Option<Box<Node>>);

fuzz_target!(|data: &[u8]| {
    let limits = Limits { depth: 64, ..Limits::default() };
    let Ok(mut schema) = Encoding::Text.decode_slice::<Schema>(data, &limits) else { return };
    let own = Hello::of::<Node>(&Encoding::ALL, false);
    schema.name.clone_from(&own.protocol);
    let peer = Hello::with_schema(schema, &Encoding::ALL, false);
    let there = negotiate(&own, &peer);
    let here = negotiate(&peer, &own);
    assert_eq!(there.is_ok(), here.is_ok(), "both sides come to the same");
    if let Err(error) = there {
        assert!(error.to_string().len() < 200_000, "what is told fits a refusal");
    }
    if let Ok(valid) = peer.schema.valid() {
        assert_eq!(breaks(&valid, &valid), [], "who is understood by nobody else is by itself");
    }
});
