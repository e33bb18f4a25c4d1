//! The bytes that a message carries besides its meaning.
//!
//! Up to [`INLINE_MAX`] bytes lie in the message itself, and are copied with it, in the next larger
//! of a few sizes. More lie in a buffer that travels by pointer with the ping and comes back with
//! the reply, as a program would do it. Either way the sender of a ping writes every byte asked
//! for, and both the receiver of the ping and that of the reply read every one.

/// A payload of some kind.
pub trait Payload: Send + 'static {
    /// How it travels, for the report.
    const CARRIER: &'static str;

    /// Room for so many bytes.
    fn new(bytes: usize) -> Self;

    /// Writes this value to each of the first `bytes` bytes.
    fn write(&mut self, bytes: usize, value: u8);

    /// Whether each of the first `bytes` bytes has this value.
    fn holds(&self, bytes: usize, value: u8) -> bool;
}

/// Most bytes that lie in the message itself.
pub const INLINE_MAX: usize = 1024;

/// No payload.
impl Payload for () {
    const CARRIER: &'static str = "none";

    fn new(_bytes: usize) -> Self {}

    fn write(&mut self, _bytes: usize, _value: u8) {}

    fn holds(&self, _bytes: usize, _value: u8) -> bool {
        true
    }
}

/// Up to `N` bytes in the message itself.
#[derive(Debug)]
pub struct Inline<const N: usize>([u8; N]);

impl<const N: usize> Payload for Inline<N> {
    const CARRIER: &'static str = "inline";

    fn new(_bytes: usize) -> Self {
        Inline([0; N])
    }

    fn write(&mut self, bytes: usize, value: u8) {
        self.0[..bytes].fill(value);
    }

    fn holds(&self, bytes: usize, value: u8) -> bool {
        all_are(&self.0[..bytes], value)
    }
}

/// Any number of bytes behind a pointer.
#[derive(Debug)]
pub struct Boxed(Box<[u8]>);

impl Payload for Boxed {
    const CARRIER: &'static str = "boxed";

    fn new(bytes: usize) -> Self {
        Boxed(vec![0; bytes].into_boxed_slice())
    }

    fn write(&mut self, _bytes: usize, value: u8) {
        self.0.fill(value);
    }

    fn holds(&self, _bytes: usize, value: u8) -> bool {
        all_are(&self.0, value)
    }
}

/// Without a branch per byte, so that it is done many bytes at a time.
fn all_are(bytes: &[u8], value: u8) -> bool {
    bytes.iter().fold(0, |wrong, byte| wrong | (byte ^ value)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn travels<P: Payload>(bytes: usize) {
        let mut payload = P::new(bytes);
        payload.write(bytes, 7);
        assert!(payload.holds(bytes, 7));
        payload.write(bytes, 255);
        assert!(!payload.holds(bytes, 7));
    }

    #[test]
    fn what_is_written_is_read() {
        travels::<Inline<8>>(1);
        travels::<Inline<8>>(8);
        travels::<Inline<1024>>(1000);
        travels::<Boxed>(100_000);
    }

    #[test]
    fn one_wrong_byte_is_seen() {
        for wrong in 0..40 {
            let mut bytes = [9; 40];
            bytes[wrong] = 8;
            assert!(!all_are(&bytes, 9), "byte {wrong}");
        }
    }
}
