//! The figures of one message in one encoding.

use super::loopback::OnLink;
use super::measure::Cost;
use actinium_wire::Encoding;
use serde::Serialize;

/// The measurements of one message in one encoding.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The message's name.
    pub message: &'static str,
    /// How it was encoded.
    pub encoding: Encoding,
    /// The cost of the message by itself.
    #[serde(flatten)]
    pub cost: Cost,
    /// Encode and decode, over binary's.
    pub cpu_to_binary: Option<f64>,
    /// The ratio of the message's bytes to those of binary.
    pub bytes_to_binary: Option<f64>,
    /// The cost on the link.
    pub link: Option<OnLink>,
    /// CPU time on the link, over binary's.
    pub link_cpu_to_binary: Option<f64>,
}
