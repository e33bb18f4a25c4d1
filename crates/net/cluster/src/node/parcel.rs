//! What a frame receiver hands over, and what is to be done when that is handled.

use crate::link::Delivery;
use std::any::Any;
use std::sync::Arc;

/// A frame of a link; or the messages of an envelope, in a grid, as a frame.
pub(crate) struct Parcel {
    pub(super) delivery: Delivery,
    pub(super) envelope: Option<Box<FromEnvelope>>,
}

/// The envelope that the messages of a parcel were in.
pub(crate) struct FromEnvelope {
    pub(super) mark: Mark,
    /// Keeps the frame of the neighbour that brought the envelope from counting as handled.
    pub(super) _frame: Arc<dyn Any + Send + Sync>,
}

/// How far the other end of a session is to be told that this one is, when the messages of an
/// envelope were handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// This end's incarnation in the session.
    pub(super) incarnation: u64,
    pub(super) received: u64,
    pub(super) lost: u64,
}
