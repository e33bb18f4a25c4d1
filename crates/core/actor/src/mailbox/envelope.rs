//! A message with the time at which it was sent.

/// A message as it waits: by value or in a box (`carrier`), with the time at which it was sent if
/// that is sampled (else 0).
#[derive(Debug)]
pub(crate) struct Envelope<M> {
    pub(crate) stamp_ns: u64,
    pub(crate) msg: M,
}
