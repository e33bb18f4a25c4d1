//! Memory of frames that have left or were handled, for later ones.

/// The most frames whose memory is kept.
pub(super) const SPARE_MAX: usize = 32;
/// The largest capacity in bytes of a frame whose memory is kept.
const SPARE_BYTES_MAX: usize = 64 << 10;

/// See the module.
#[derive(Default)]
pub(super) struct Spare(Vec<Vec<u8>>);

impl Spare {
    pub(super) fn add(&mut self, frame: Vec<u8>) {
        if self.0.len() < SPARE_MAX && frame.capacity() <= SPARE_BYTES_MAX {
            self.0.push(frame);
        }
    }

    /// The one that was used last, with what is in it.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// A copy of these bytes.
    #[cfg(feature = "mpi")]
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = self.take();
        copy.clear();
        copy.extend_from_slice(bytes);
        copy
    }
}
