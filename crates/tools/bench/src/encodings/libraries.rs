//! The libraries.

use super::timing::{Cost, Plan, Timed, medians};
use actinium_wire::{Encoding, Limits};
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::hint::black_box;

/// The name of our own library.
pub(super) const OURS: &str = "binary";
/// More than any of the messages has.
const BUFFER_BYTES: usize = 1 << 16;

/// Its functions are always compiled into the loop that measures them: what it costs to call them,
/// and to pass a message through memory, is no library's part.
trait Library {
    const NAME: &'static str;

    /// Encodes into the buffer from its begin, which may be made shorter; how many bytes that is.
    fn encode<M: Serialize>(message: &M, buffer: &mut Vec<u8>) -> Option<usize>;

    fn decode<M: DeserializeOwned>(bytes: &Bytes) -> Option<M>;
}

struct Ours;

impl Library for Ours {
    const NAME: &'static str = OURS;

    #[inline(always)]
    fn encode<M: Serialize>(message: &M, buffer: &mut Vec<u8>) -> Option<usize> {
        buffer.clear();
        Encoding::Binary.encode(message, buffer).ok()?;
        Some(buffer.len())
    }

    #[inline(always)]
    fn decode<M: DeserializeOwned>(bytes: &Bytes) -> Option<M> {
        Encoding::Binary.decode(bytes, &Limits::default()).ok()
    }
}

struct Postcard;

impl Library for Postcard {
    const NAME: &'static str = "postcard";

    #[inline(always)]
    fn encode<M: Serialize>(message: &M, buffer: &mut Vec<u8>) -> Option<usize> {
        postcard::to_slice(message, buffer).ok().map(|used| used.len())
    }

    #[inline(always)]
    fn decode<M: DeserializeOwned>(bytes: &Bytes) -> Option<M> {
        postcard::from_bytes(bytes).ok()
    }
}

/// The bitcode library. With serde, it has no way to use a buffer again.
struct Bitcode;

impl Library for Bitcode {
    const NAME: &'static str = "bitcode";

    #[inline(always)]
    fn encode<M: Serialize>(message: &M, buffer: &mut Vec<u8>) -> Option<usize> {
        *buffer = bitcode::serialize(message).ok()?;
        Some(buffer.len())
    }

    #[inline(always)]
    fn decode<M: DeserializeOwned>(bytes: &Bytes) -> Option<M> {
        bitcode::deserialize(bytes).ok()
    }
}

/// MessagePack without the fields' names.
struct Rmp;

impl Library for Rmp {
    const NAME: &'static str = "rmp-serde";

    #[inline(always)]
    fn encode<M: Serialize>(message: &M, buffer: &mut Vec<u8>) -> Option<usize> {
        buffer.clear();
        rmp_serde::encode::write(buffer, message).ok()?;
        Some(buffer.len())
    }

    #[inline(always)]
    fn decode<M: DeserializeOwned>(bytes: &Bytes) -> Option<M> {
        rmp_serde::from_slice(bytes).ok()
    }
}

/// Measures the cost of a message with each library. `how` is what the table says of it besides the
/// library's name.
pub(super) fn costs<M: Serialize + DeserializeOwned + PartialEq>(
    message: &M,
    how: &'static str,
    plan: Plan,
) -> Result<Vec<Cost>, String> {
    let mut timed = [
        timed::<Ours, M>(message)?,
        timed::<Postcard, M>(message)?,
        timed::<Bitcode, M>(message)?,
        timed::<Rmp, M>(message)?,
    ];
    Ok(medians(plan, how, &mut timed))
}

fn timed<L: Library, M: Serialize + DeserializeOwned + PartialEq>(
    message: &M,
) -> Result<Timed<'_>, String> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let length = L::encode(message, &mut buffer)
        .ok_or_else(|| format!("{} can not encode the message", L::NAME))?;
    let bytes = Bytes::copy_from_slice(&buffer[..length]);
    if L::decode::<M>(&bytes).as_ref() != Some(message) {
        return Err(format!("{}: the message did not come back as it was", L::NAME));
    }
    Ok(Timed {
        library: L::NAME,
        bytes: length,
        encode: Box::new(move |calls| {
            for _ in 0..calls {
                black_box(L::encode(black_box(message), &mut buffer));
                black_box(&buffer);
            }
        }),
        decode: Box::new(move |calls| {
            for _ in 0..calls {
                // Looked at where it is: to move it costs more than to decode a small message.
                let decoded = L::decode::<M>(black_box(&bytes));
                black_box(&decoded);
            }
        }),
    })
}
