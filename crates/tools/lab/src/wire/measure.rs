//! Measures the cost of a message by itself. It counts the CPU time of this thread, so that other
//! load on the machine disturbs less.

use actinium_observe::process::cpu_time::thread_time;
use actinium_wire::{Encoding, Limits, Message};
use bytes::Bytes;
use serde::Serialize;
use std::hint::black_box;
use std::time::Duration;

/// The cost of one message in one encoding.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// How many bytes it has.
    pub bytes: usize,
    /// CPU time to encode it into a buffer that is used again.
    pub encode_ns: f64,
    /// CPU time to decode it (and to drop what was decoded).
    pub decode_ns: f64,
}

impl Cost {
    /// Encoding and decoding.
    pub fn both_ns(&self) -> f64 {
        self.encode_ns + self.decode_ns
    }
}

/// How many times each is measured; the median counts.
pub const ROUNDS: usize = 9;

/// Measures a message for about `time` in all.
///
/// # Errors
/// If the encoding can not say it, or does not give it back as it was.
pub fn cost<M: Message + PartialEq>(
    message: &M,
    encoding: Encoding,
    time: Duration,
) -> Result<Cost, String> {
    let mut buffer = Vec::new();
    encoding.encode(message, &mut buffer).map_err(|error| error.to_string())?;
    let (bytes, limits) = (Bytes::from(buffer.clone()), Limits::default());
    let back: M = encoding.decode(&bytes, &limits).map_err(|error| error.to_string())?;
    if back != *message {
        return Err(format!("{encoding}: {} did not come back as it was", M::NAME));
    }
    let share = time / (2 * ROUNDS as u32);
    let encode_ns = median(share, || {
        buffer.clear();
        black_box(encoding.encode(black_box(message), &mut buffer).is_ok());
        black_box(&buffer);
    });
    let decode_ns = median(share, || {
        drop(black_box(encoding.decode::<M>(black_box(&bytes), &limits)));
    });
    Ok(Cost { bytes: bytes.len(), encode_ns, decode_ns })
}

/// CPU time of one call: the median of rounds that take about `time` each.
pub fn median(time: Duration, mut call: impl FnMut()) -> f64 {
    let mut calls = 1_u64;
    while time_of(calls, &mut call) < time / 4 && calls < 1 << 40 {
        calls *= 2;
    }
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| time_of(calls * 4, &mut call).as_secs_f64() * 1e9 / (calls * 4) as f64)
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn time_of(calls: u64, call: &mut impl FnMut()) -> Duration {
    let before = thread_time();
    (0..calls).for_each(|_| call());
    thread_time().saturating_sub(before)
}
