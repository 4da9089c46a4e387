//! Descriptor sets as programs find them, and values of uniform registers.

use tepui_agx_compiler::abi::spilled;
use tepui_vulkan::Result;
use tepui_vulkan::command::{BindPoint, MAX_SETS};

const _: () = assert!(spilled::SET as usize == MAX_SETS, "the set after the application's");

/// Sets as programs find them: addresses, those that are pushed uploaded.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// GPU address of each set; 0 for none. The set of the render targets follows the application's
    /// ([`spilled::SET`]).
    pub addresses: [u64; MAX_SETS + 1],
    /// Address and size of buffers with dynamic offsets.
    pub dynamic: [Vec<(u64, u32)>; MAX_SETS],
}

impl Bindings {
    /// No sets but that of the render targets.
    pub fn with_targets(address: u64) -> Bindings {
        let mut b = Bindings::default();
        b.addresses[MAX_SETS] = address;
        b
    }

    /// Takes over what changed; `upload` gives the address of the bytes of a set that is pushed.
    pub fn update(
        &mut self,
        mut upload: impl FnMut(&[u8]) -> Result<u64>,
        point: &mut BindPoint,
    ) -> Result<bool> {
        if point.changed == 0 {
            return Ok(false);
        }
        for (k, set) in point.sets.iter().enumerate().filter(|s| point.changed >> s.0 & 1 != 0) {
            self.addresses[k] = match set.pushed[0].is_empty() {
                true => set.addresses[0],
                false => upload(&set.pushed[0])?,
            };
            self.dynamic[k].clone_from(&set.dynamic);
        }
        point.changed = 0;
        Ok(true)
    }

    /// Address and size of a buffer with a dynamic offset.
    pub(super) fn dynamic(&self, set: u8, index: u32) -> (u64, u32) {
        self.dynamic[usize::from(set) % MAX_SETS].get(index as usize).copied().unwrap_or((0, 0))
    }
}

/// Up to four half-uniforms.
pub type Halves = [u16; 4];

/// Halves of a 64-bit number.
pub fn long(v: u64) -> Halves {
    std::array::from_fn(|k| (v >> (16 * k)) as u16)
}

/// Halves of a word.
pub fn word(v: u32) -> Halves {
    long(u64::from(v))
}

/// The two words of a 64-bit number.
pub(super) fn split(v: u64) -> [u32; 2] {
    [v as u32, (v >> 32) as u32]
}
