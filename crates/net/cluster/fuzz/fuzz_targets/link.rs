//! A link against a peer that says anything: garbage, and frames with a right checksum, of the
//! session and of others, with any numbers.
#![no_main]

use actinium_cluster::link::{HEADER_BYTES, Link, LinkConfig, LinkEvent, VERSION};
use libfuzzer_sys::fuzz_target;

const WINDOW: u32 = 8;

/// Bytes of the input, one after the other; zeros when it is over.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number: small, near the end of the range, near an own one, or any.
    fn number(&mut self, near: u64) -> u64 {
        match self.byte() {
            small @ 0..=99 => small.into(),
            less @ 100..=149 => u64::MAX - u64::from(less - 100),
            off @ 150..=249 => near.wrapping_add(u64::from(off)).wrapping_sub(200),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes.to_vec()
    }
}

fn frame(kind: u8, words: [u64; 7], payload: &[u8]) -> Vec<u8> {
    let mut frame = [b'A', b'c', VERSION, kind, 0, 0, 0, 0].to_vec();
    words.iter().for_each(|word| frame.extend_from_slice(&word.to_le_bytes()));
    frame.extend_from_slice(payload);
    let sum = crc32c::crc32c_append(crc32c::crc32c(&frame[..4]), &frame[8..]);
    frame[4..8].copy_from_slice(&sum.to_le_bytes());
    frame
}

fn word(frame: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| frame[8 + 8 * index + byte]))
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let reliable = input.byte() % 2 == 1;
    let config = LinkConfig { reliable, window_frames: WINDOW, ..LinkConfig::default() };
    let (mut here, mut now_ns) = (Link::new(config, 10, 0).expect("it makes sense"), 0_u64);
    // What the link has said of itself last: its incarnation and the other's, what it has of the
    // other's frames.
    let mut own = [10, 0, 0, 0, 0, 0, 0];
    let mut waiting = Vec::new();
    let mut under_way = 0_u64;
    while !input.0.is_empty() {
        match input.byte() % 12 {
            0 => here.receive(input.bytes(), now_ns),
            1 => {
                let grid = [u8::from(reliable), input.byte(), 0, 0, 0, 0, 0, 0, 0, 0];
                let words = [input.number(20), own[0], 0, 0, 0, 0, 0];
                here.receive(frame(1, words, &grid), now_ns);
            }
            2 => {
                now_ns = now_ns.saturating_add(input.number(0) >> 8);
                here.tick(now_ns);
            }
            3 => {
                if here.send(input.byte().into(), vec![0; HEADER_BYTES + 4]).is_ok() {
                    under_way += 1;
                }
            }
            4 if !waiting.is_empty() => here.handled(waiting.remove(0), 1, now_ns),
            5 => {
                let takes = input.byte() % 4 > 0;
                here.transmit(now_ns, |frame| {
                    own = std::array::from_fn(|index| word(frame, index));
                    takes
                });
            }
            kind => {
                // Of this session, mostly.
                let from_incarnation = if input.byte() % 8 > 0 { own[1] } else { input.number(20) };
                let to_incarnation = if input.byte() % 8 > 0 { own[0] } else { input.number(10) };
                let words = [
                    from_incarnation,
                    to_incarnation,
                    input.number(own[5]),
                    input.number(0),
                    input.number(0),
                    input.number(own[2]),
                    input.number(own[2]),
                ];
                let kind = if kind > 9 { 2 } else { kind - 4 };
                here.receive(frame(kind, words, &input.bytes()), now_ns);
            }
        }
        while let Some(event) = here.poll_event() {
            match event {
                LinkEvent::Frame(delivery) => {
                    assert!(here.is_up());
                    waiting.push(delivery.session);
                }
                LinkEvent::Down(_) => {
                    waiting.clear();
                    under_way = 0;
                }
                _ => {}
            }
        }
        assert!(waiting.len() <= WINDOW as usize, "more than was allowed is handed over");
        assert!(under_way == 0 || here.is_up());
        let _ = here.due_ns();
    }
});
