//! Messages by a peer's description: the first byte chooses the encoding, the first line is a
//! schema as JSON, the rest is the message.
#![no_main]

use actinium_wire::schema::Schema;
use actinium_wire::{Encoding, Limits, Value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let (schema, message) = (&data[..end], &data[end + 1..]);
    let limits = Limits { memory_bytes: 1 << 20, depth: 64, ..Limits::default() };
    let Ok(schema) = Encoding::Text.decode_slice::<Schema>(schema, &limits) else { return };
    let Ok(schema) = schema.into_valid() else { return };
    let encoding = Encoding::ALL[usize::from(*first) % 4];
    let Ok(value) = Value::decode(encoding, message, &schema, &limits) else { return };
    let mut again = Vec::new();
    if value.encode(encoding, &mut again).is_ok() {
        let back = Value::decode(encoding, &again, &schema, &Limits::default());
        assert_eq!(format!("{:?}", back.expect("what was encoded can be decoded")), format!("{value:?}"));
    }
});
