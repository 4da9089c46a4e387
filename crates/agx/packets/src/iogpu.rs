//! Command buffers of macOS.

use tepui_packets::PacketInfo;

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[];
