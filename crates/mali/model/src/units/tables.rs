//! Bifrost's descriptors: one array per kind, whose addresses a job contains.
//!
//! Buffers, textures and samplers are converted to the Valhall descriptors that the units read.
//!
// source: Mesa, v7.xml (Uniform Buffer, Texture), pan_cmdstream.c.

use tepui_mali_packets::shader::{Buffer, BufferType};
use tepui_softgpu::UnitMemory;

use super::midgard;
use crate::warp::addresses::{SAMPLERS, TEXTURES, Tables, UNIFORM_BUFFERS};
use crate::warp::trap::{Trap, failed};

/// Some bits of a word.
pub fn bits(word: u64, start: u32, size: u32) -> u64 {
    word >> start & ((1 << size) - 1)
}

impl Tables {
    /// Reads the descriptor that a handle names, converted to Valhall's; `None` if there is none.
    pub fn descriptor(
        &self,
        memory: &mut UnitMemory<'_>,
        handle: u32,
    ) -> Result<Option<[u8; 32]>, Box<Trap>> {
        let (table, index) = (handle >> 24, handle & 0xff_ffff);
        let (at, count) = match table {
            UNIFORM_BUFFERS => self.uniform_buffers,
            TEXTURES => self.textures,
            _ => self.samplers,
        };
        if index >= count || at == 0 {
            return Ok(None);
        }
        if table != UNIFORM_BUFFERS && self.arch.0 < 6 {
            return midgard::descriptor(memory, table == SAMPLERS, at, index).map(Some);
        }
        if table != UNIFORM_BUFFERS {
            let at = at.wrapping_add(u64::from(index) * 32);
            return memory.read_array(at).map(Some).map_err(failed);
        }
        let at = at.wrapping_add(u64::from(index) * 8);
        let word = u64::from_le_bytes(memory.read_array(at).map_err(failed)?);
        if word == 0 {
            return Ok(None);
        }
        let buffer = Buffer {
            buffer_type: BufferType::Simple,
            size: (bits(word, 0, 12) as u32 + 1) * 16,
            address: word >> 12 << 4,
            ..Buffer::default()
        };
        let packed = buffer.pack().ok();
        Ok(packed.and_then(|bytes| bytes.first_chunk().copied()))
    }
}
