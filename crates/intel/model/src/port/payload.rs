//! Payloads and responses of messages, channel by channel.

use tepui_intel_eu::{Message, ThreadView};

/// Channels of the widest message.
pub(super) const LANES: usize = 16;

/// The payload of a message: both sources of a split send in sequence.
pub(super) struct Payload {
    pub(super) bytes: [u8; Payload::MAX_BYTES],
    pub(super) header: Option<[u32; 8]>,
}

impl Payload {
    /// Limit on the bytes of a payload: 15 registers, twice for split sends.
    pub(super) const MAX_BYTES: usize = 2 * 15 * 32 + 64;

    /// Copies the payload, without its header.
    pub(super) fn new(view: &ThreadView<'_>, message: &Message) -> Payload {
        let mut bytes = [0; Payload::MAX_BYTES];
        let (first, second) = (view.payload(), view.payload1());
        let skip = if message.header { 32.min(first.len()) } else { 0 };
        let body = &first[skip..];
        bytes[..body.len()].copy_from_slice(body);
        bytes[body.len()..body.len() + second.len()].copy_from_slice(second);
        Payload { bytes, header: message.header.then(|| view.dwords(0)) }
    }

    /// The double word of a channel in the field that begins at register `register`.
    pub(super) fn u32(&self, register: usize, lane: usize) -> u32 {
        let at = 32 * register + 4 * lane;
        self.bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// A byte of a register.
    pub(super) fn byte(&self, register: usize, index: usize) -> u8 {
        self.bytes.get(32 * register + index).copied().unwrap_or(0)
    }

    /// The quad word of a channel.
    pub(super) fn u64(&self, register: usize, lane: usize) -> u64 {
        let half = |k| u64::from(self.u32(register, 2 * lane + k));
        half(0) | half(1) << 32
    }
}

/// The enabled channels of a message, below `width`.
pub(super) fn lanes(message: &Message, width: usize) -> impl Iterator<Item = usize> + use<> {
    let channels = message.channels;
    (0..width).filter(move |lane| channels >> lane & 1 != 0)
}

/// Writes a channel's double word to the field of the response that begins at register `register`.
pub(super) fn put_u32(view: &mut ThreadView<'_>, register: usize, lane: usize, value: u32) {
    let at = 32 * register + 4 * lane;
    if let Some(to) = view.response().get_mut(at..at + 4) {
        to.copy_from_slice(&value.to_le_bytes());
    }
}

/// Writes a channel's quad word.
pub(super) fn put_u64(view: &mut ThreadView<'_>, register: usize, lane: usize, value: u64) {
    put_u32(view, register, 2 * lane, value as u32);
    put_u32(view, register, 2 * lane + 1, (value >> 32) as u32);
}
