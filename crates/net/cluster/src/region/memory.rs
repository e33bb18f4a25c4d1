//! Memory that a region can be made of.

use actinium_memory::Segment;

/// Memory whose bytes other nodes may read and write while a node holds it as a
/// [`Region`](crate::Region). Its length may change; an access that lies outside then is refused.
///
/// Vectors, boxed slices and [`Segment`]s are such memory. All calls come one at a time, so that
/// nobody sees bytes that are half written by one call. Whoever implements it checks nothing: the
/// ranges lie within [`RegionMemory::byte_len`], which was asked just before.
pub trait RegionMemory: Send + 'static {
    /// How many bytes there are now.
    fn byte_len(&self) -> usize;

    /// Copies bytes out.
    fn read_at(&mut self, offset: usize, into: &mut [u8]);

    /// Copies bytes in.
    fn write_at(&mut self, offset: usize, from: &[u8]);
}

macro_rules! slices {
    ($($memory:ty),*) => {$(
        impl RegionMemory for $memory {
            fn byte_len(&self) -> usize {
                self.len()
            }

            fn read_at(&mut self, offset: usize, into: &mut [u8]) {
                into.copy_from_slice(&self[offset..offset + into.len()]);
            }

            fn write_at(&mut self, offset: usize, from: &[u8]) {
                self[offset..offset + from.len()].copy_from_slice(from);
            }
        }
    )*};
}

slices! { Vec<u8>, Box<[u8]> }

/// A segment in a file, which other processes may write to meanwhile, is copied byte by byte: what
/// they do may be seen in parts.
impl RegionMemory for Segment {
    fn byte_len(&self) -> usize {
        self.len()
    }

    fn read_at(&mut self, offset: usize, into: &mut [u8]) {
        match self.bytes() {
            Some(bytes) => into.copy_from_slice(&bytes[offset..offset + into.len()]),
            None => self.read(offset, into),
        }
    }

    fn write_at(&mut self, offset: usize, from: &[u8]) {
        match self.bytes() {
            Some(bytes) => bytes[offset..offset + from.len()].copy_from_slice(from),
            None => self.write(offset, from),
        }
    }
}
