//! Reports to observers of threads: places of threads, accesses of messages, words of memory.

use tepui_intel_eu::{Message, REGISTER_BYTES, Step as EuStep};
use tepui_intel_isa::Sfid;

use super::{Ports, Space};
use crate::watch::{Access, Inspect, MemorySpace, Step, ThreadPlace};

/// The form of a message that accesses memory channel by channel.
struct MessageForm {
    writes: bool,
    /// Bytes of a channel.
    bytes: u32,
    /// Channels.
    width: usize,
    /// Unit of offsets in bytes.
    unit: u64,
    /// Whether channels have addresses of 64 bits.
    wide: bool,
}

impl MessageForm {
    /// The form of a message; none for blocks, images and other units.
    ///
    /// source: as [`super::untyped`] and [`super::scattered`] have it.
    fn of(message: &Message) -> Option<MessageForm> {
        let (kind, control) = (message.desc >> 14 & 0x1f, message.desc >> 8 & 0x3f);
        let components = 4 * (!control & 0xf).count_ones();
        let untyped = |writes, wide| MessageForm {
            writes,
            bytes: components,
            width: if control >> 4 & 3 == 1 { 16 } else { 8 },
            unit: 1,
            wide,
        };
        let atomic = |wide| MessageForm {
            bytes: if wide && control & 0x10 != 0 { 8 } else { 4 },
            width: if !wide && control & 0x10 == 0 { 16 } else { 8 },
            ..untyped(true, wide)
        };
        let scattered = |writes| MessageForm {
            writes,
            bytes: 1 << (control >> 2 & 3),
            width: if control & 1 != 0 { 16 } else { 8 },
            unit: 1,
            wide: false,
        };
        let scattered_a64 = |writes| MessageForm {
            bytes: match control & 3 {
                0 => 1 << (control >> 2 & 3),
                kind => 4 << (kind - 1),
            },
            width: if control >> 4 & 1 != 0 { 16 } else { 8 },
            wide: true,
            ..scattered(writes)
        };
        Some(match (message.sfid, kind) {
            (Sfid::DataCache1, 0x01) => untyped(false, false),
            (Sfid::DataCache1, 0x09) => untyped(true, false),
            (Sfid::DataCache1, 0x02 | 0x1b) => atomic(false),
            (Sfid::DataCache1, 0x11) => untyped(false, true),
            (Sfid::DataCache1, 0x19) => untyped(true, true),
            (Sfid::DataCache1, 0x12 | 0x1d) => atomic(true),
            (Sfid::DataCache1, 0x10) => scattered_a64(false),
            (Sfid::DataCache1, 0x1a) => scattered_a64(true),
            (Sfid::DataCache0, _) if message.desc >> 18 & 1 != 0 => return None,
            (Sfid::DataCache0, 3) => MessageForm { bytes: 4, unit: 4, ..scattered(false) },
            (Sfid::DataCache0, 11) => MessageForm { bytes: 4, unit: 4, ..scattered(true) },
            (Sfid::DataCache0, 4) => scattered(false),
            (Sfid::DataCache0, 12) => scattered(true),
            _ => return None,
        })
    }
}

impl Ports<'_> {
    /// Tells the observer of an instruction.
    pub(super) fn tell(&mut self, step: &EuStep<'_>) {
        let Some(watch) = self.shared.watch.clone() else { return };
        let access = step.message.as_ref().and_then(|message| self.access(step, message));
        let place = match &self.pixels {
            Some(back_end) => ThreadPlace::Pixels(back_end.places),
            None => self.place,
        };
        watch.tell(&Step {
            kernel: self.shared.kernel,
            offset: step.ip,
            exec: step.exec,
            alive: step.alive,
            place,
            access,
            thread: step.thread,
            memory: self,
        });
    }

    /// The memory that a message accesses. Elements that are out of a surface are left out.
    fn access(&mut self, step: &EuStep<'_>, message: &Message) -> Option<Access> {
        let form = MessageForm::of(message)?;
        let grf = step.thread.grf();
        let from = |register: u8| usize::from(register) * REGISTER_BYTES;
        let first = from(message.src0?);
        let header = message.header.then(|| {
            let word = |k: usize| grf.get(first + 4 * k..).and_then(<[u8]>::first_chunk);
            std::array::from_fn(|k| word(k).map_or(0, |bytes| u32::from_le_bytes(*bytes)))
        });
        let space = match form.wide {
            true => Space::Flat(0),
            false => self.space(message, header).ok()?,
        };
        // Behind the header, which may be the whole first payload.
        let addresses = match (message.header, message.src0_registers, message.src1) {
            (true, 1, second) => from(second?),
            (true, ..) => first + REGISTER_BYTES,
            (false, ..) => first,
        };
        let mut access = Access {
            space: if matches!(space, Space::Local) {
                MemorySpace::Local
            } else {
                MemorySpace::Device
            },
            writes: form.writes,
            channels: 0,
            addresses: [0; 32],
            bytes: form.bytes,
        };
        let bytes = if form.wide { 8 } else { 4 };
        for lane in (0..form.width).filter(|lane| message.channels >> lane & 1 != 0) {
            let mut word = [0; 8];
            let at = addresses + bytes * lane;
            word[..bytes].copy_from_slice(grf.get(at..at + bytes)?);
            let offset = u64::from_le_bytes(word).wrapping_mul(form.unit);
            let address = match space {
                Space::Local => Some(offset),
                Space::Flat(base) => Some(base.wrapping_add(offset)),
                Space::Surface(surface) => surface.byte(offset, form.bytes as usize),
            };
            let channel = usize::from(message.channel_offset) + lane;
            if let (Some(address), Some(to)) = (address, access.addresses.get_mut(channel)) {
                *to = address;
                access.channels |= 1 << channel;
            }
        }
        Some(access)
    }
}

impl Inspect for Ports<'_> {
    fn word(&self, space: MemorySpace, address: u64) -> Option<u32> {
        match space {
            MemorySpace::Local => {
                let at = usize::try_from(address).ok()?;
                self.local.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
            }
            MemorySpace::Device => {
                let mut bytes = [0; 4];
                self.memory.peek(address, &mut bytes).then(|| u32::from_le_bytes(bytes))
            }
        }
    }

    fn code_is(&self, code: &[u8]) -> bool {
        let mut bytes = vec![0; code.len()];
        self.memory.peek(self.shared.kernel, &mut bytes) && bytes == code
    }
}
