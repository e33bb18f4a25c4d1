//! A whole node on the in-process fabric, in virtual time, against a peer that does whatever the
//! input says: `tests/all/scripted/`.
#![no_main]
#![allow(dead_code, reason = "the tests use the rest of these modules")]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/all/common/mod.rs"]
mod common;
#[path = "../../tests/all/liar.rs"]
mod liar;
#[path = "../../tests/all/scripted/mod.rs"]
mod scripted;

fuzz_target!(|data: &[u8]| {
    scripted::run(data);
});
