//! Every decoder, typed and by schema: the first byte chooses the encoding. What is decoded is
//! encoded again, and has to be the same.
#![no_main]

use actinium_wire::{Blob, Encoding, Limits, Message, Numbers, Value};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Serialize, Deserialize, Message)]
enum Node {
    Leaf,
    Number(f64),
    Pair(i8, Option<String>),
    Tree { name: String, children: Vec<Node>, map: BTreeMap<u32, ()>, blob: Blob, numbers: Numbers<u32> },
}

fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    let encoding = Encoding::ALL[usize::from(*first) % 4];
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let _ = Value::decode_any(encoding, data, &limits);
    let schema = Node::schema().into_valid().expect("it is made from a type");
    let _ = Value::decode(encoding, data, &schema, &limits);
    let Ok(node) = encoding.decode::<Node>(&bytes::Bytes::copy_from_slice(data), &limits) else { return };
    let mut again = Vec::new();
    encoding.encode(&node, &mut again).expect("what was decoded can be encoded");
    let back: Node = encoding.decode(&again.into(), &Limits::default()).expect("and decoded");
    assert_eq!(format!("{node:?}"), format!("{back:?}"));
});
