//! Values that may be too long for a frame, in pieces.

use super::error::JobError;
use actinium_wire::{Blob, Message};
use serde::{Deserialize, Serialize};

/// Bytes of a piece: half of what a frame takes.
const PIECE_BYTES: usize = 8 << 10;

/// Some bytes of what a node has to say, in order.
#[derive(Clone, Debug, Serialize, Deserialize, Message)]
#[message(name = "actinium.nodes.piece")]
pub struct Piece {
    /// Which node.
    pub node: u32,
    /// The bytes.
    pub bytes: Blob,
    /// Whether they are the last.
    pub is_last: bool,
}

/// A value as JSON, in pieces.
///
/// # Errors
/// If it has no JSON.
pub fn pieces(node: u32, value: &impl Serialize) -> Result<Vec<Piece>, JobError> {
    let bytes = serde_json::to_vec(value).map_err(JobError::failed)?;
    let count = bytes.len().div_ceil(PIECE_BYTES);
    let pieces = bytes.chunks(PIECE_BYTES).zip(1..);
    let piece = |(bytes, number): (&[u8], usize)| Piece {
        node,
        bytes: bytes.to_vec().into(),
        is_last: number == count,
    };
    Ok(pieces.map(piece).collect())
}
