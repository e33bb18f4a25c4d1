//! Bounds on the memory and work that a peer may cause, whatever it claims.

/// Bounds for whatever comes from outside. Each has a default that serves most programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one encoded message. Looked at before anything is allocated for it.
    pub frame_bytes: usize,
    /// Most levels of nesting: lists in structs in lists.
    pub depth: u16,
    /// Most bytes of memory that decoding one message may take for its lists, maps and structs. The
    /// strings and byte slices in a message are part of the frame, which has its own limit. A
    /// growing `Vec` may hold twice as much for a moment.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { frame_bytes: 16 << 20, depth: 128, memory_bytes: 64 << 20 }
    }
}

impl Limits {
    /// For what is not a message of the program: hellos and refusals.
    pub(crate) const HELLO: Limits =
        Limits { frame_bytes: 256 << 10, depth: 64, memory_bytes: 4 << 20 };
}
