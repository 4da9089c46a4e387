//! Transform feedback as state: vertices that are captured into buffers.

/// Buffers of captured vertices.
pub const MAX_FEEDBACK: usize = 4;

/// Streams of vertices.
pub const MAX_STREAMS: usize = 4;

/// A stream of the application's as one that there is.
pub(crate) fn stream_number(n: u32) -> u8 {
    n.min(MAX_STREAMS as u32 - 1) as u8
}

/// A buffer that vertices are captured into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackBuffer {
    /// GPU address; 0 for none.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// Transform feedback of a command buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Feedback {
    /// Buffers by number.
    pub buffers: [FeedbackBuffer; MAX_FEEDBACK],
    /// Draws capture.
    pub active: bool,
}

/// GPU addresses of counters by the number of their buffer; 0 for none.
pub type Counters = [u64; MAX_FEEDBACK];
