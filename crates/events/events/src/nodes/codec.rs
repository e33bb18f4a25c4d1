//! Products as bytes, for those that go to other nodes.

use crate::cause::Cause;
use crate::engine::Engine;
use crate::event::Event;
use crate::product::{Input, Product};
use crate::products::Made;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::marker::PhantomData;

/// The encoding of one type of products: MessagePack with the names of fields, so that every
/// attribute of serde works.
pub(crate) trait Codec: Send + Sync {
    fn made(&self) -> Made;
    /// Encodes an input of the module that sees this event.
    fn encode(&self, event: &Event<'_>, position: u16) -> Result<Vec<u8>, Cause>;
    /// Encodes a product that lies nowhere yet.
    fn encode_loose(&self, product: &(dyn Any + Send)) -> Result<Vec<u8>, Cause>;
    /// Decodes a product, which this module makes of the event in this slot.
    fn put(&self, bytes: &[u8], engine: &Engine, slot: u32, module: u16) -> Result<(), Cause>;
}

/// The encoding of products of type `T`.
pub(crate) struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    pub(crate) fn new() -> Self {
        Of(PhantomData)
    }
}

impl<T: Product + Serialize + DeserializeOwned> Codec for Of<T> {
    fn made(&self) -> Made {
        Made::of::<T>()
    }

    fn encode(&self, event: &Event<'_>, position: u16) -> Result<Vec<u8>, Cause> {
        encode::<T>(&event.get(Input::at(position)))
    }

    fn encode_loose(&self, product: &(dyn Any + Send)) -> Result<Vec<u8>, Cause> {
        encode::<T>(product.downcast_ref().ok_or("it has another type")?)
    }

    fn put(&self, bytes: &[u8], engine: &Engine, slot: u32, module: u16) -> Result<(), Cause> {
        engine.put(slot, module, decode::<T>(bytes)?)?;
        Ok(())
    }
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Cause> {
    Ok(rmp_serde::to_vec_named(value)?)
}

/// Decodes a value that takes all the bytes.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Cause> {
    let (value, rest) = decode_first(bytes)?;
    match rest {
        [] => Ok(value),
        rest => Err(format!("{} bytes too many", rest.len()).into()),
    }
}

/// Decodes the value at the begin, and returns what is behind it.
pub(crate) fn decode_first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Cause> {
    let mut rest = bytes;
    let value = rmp_serde::from_read(&mut rest)?;
    Ok((value, rest))
}
