//! Streams of frames, hellos and recordings. A frame that is accepted may be a hello, which is
//! negotiated with ours.
#![no_main]

use actinium_wire::frame::Unframer;
use actinium_wire::hello::{Hello, negotiate};
use actinium_wire::link::hello_of;
use actinium_wire::recording::Recording;
use actinium_wire::{Encoding, Limits, Message};
use libfuzzer_sys::fuzz_target;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Message)]
struct Note {
    text: String,
}

fuzz_target!(|data: &[u8]| {
    let mut unframer = Unframer::new(1 << 16);
    for part in data.chunks(7) {
        unframer.feed(part);
        loop {
            match unframer.next() {
                Ok(Some(frame)) => {
                    if let Ok(peer) = hello_of(&frame) {
                        let _ = negotiate(&Hello::of::<Note>(&Encoding::ALL, false), &peer);
                    }
                }
                Ok(None) => break,
                Err(error) if error.is_fatal() => return,
                Err(_) => {}
            }
        }
    }
    let _ = unframer.end();
    let _ = Recording::read(bytes::Bytes::copy_from_slice(data), &Limits::default());
});
