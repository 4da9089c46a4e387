//! The table that maps a surface to its CCS on Gen12 (AUX-TT).
//!
//! It has three levels, like a page table. 64 KiB of a surface have 256 bytes of CCS, so that 4 bits cover two
//! cache lines.
//!
//! source: Mesa, intel_aux_map.c: levels, entries and granularity.

use tepui_softgpu::Fault;

use crate::memory::{Memory, address};

/// Bytes of a surface that an entry of the last level covers.
pub(crate) const PAGE_BYTES: u64 = 64 << 10;
/// Bytes of their CCS.
pub(crate) const CCS_BYTES: usize = 256;

/// The levels: the lowest bit of the index in an address, the number of index bits, and the address bits of an
/// entry.
const LEVELS: [(u32, u32, u64); 3] =
    [(36, 12, 0xffff_ffff_8000), (24, 12, 0xffff_ffff_e000), (16, 8, 0xffff_ffff_ff00)];

/// The address of the CCS for the 64 KiB that contain an address, if the table has one.
///
/// # Errors
/// Memory of the table is not bound.
pub(crate) fn find(memory: &mut Memory<'_>, table: u64, at: u64) -> Result<Option<u64>, Fault> {
    let at = address(at);
    let mut next = table;
    for (shift, bits, mask) in LEVELS {
        let index = at >> shift & ((1 << bits) - 1);
        let mut entry = [0; 8];
        memory.read(next + 8 * index, &mut entry)?;
        let entry = u64::from_le_bytes(entry);
        if entry & 1 == 0 {
            return Ok(None);
        }
        next = entry & mask;
    }
    Ok(Some(next))
}

/// The position of a block's 4 bits in the CCS of its 64 KiB, from the address of its first byte: byte and bit. A
/// block is two horizontally adjacent cache lines of a Y tile.
///
/// Assumption: the bits of a tile's 32 blocks are in column order. Only the GPU reads them.
pub(crate) fn place(at: u64) -> (u64, u32) {
    let tile = (at % PAGE_BYTES) >> 12;
    let block = 32 * tile + (at >> 10 & 3) * 8 + (at >> 6 & 7);
    (block / 2, block as u32 % 2 * 4)
}

/// Whether any block of a CCS is clear.
pub(crate) fn has_clear(ccs: &[u8; CCS_BYTES]) -> bool {
    ccs.iter().any(|byte| byte & 0xf == CLEAR || byte >> 4 == CLEAR)
}

/// The 4 bits of a clear block.
///
/// Assumption: drivers only write zeros, for blocks that are not clear.
pub(crate) const CLEAR: u8 = 0xf;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use tepui_softgpu::{AddressSpace, Protection};

    use super::*;

    #[test]
    fn blocks_of_64_kib_fill_256_bytes() {
        let places: HashSet<(u64, u32)> = (0..PAGE_BYTES)
            .step_by(64)
            .filter(|at| at & 0x200 == 0)
            .map(|at| place(0x1_2345_0000 + at))
            .collect();
        assert_eq!(places.len(), 2 * CCS_BYTES);
        assert!(
            places.iter().all(|&(byte, bit)| byte < CCS_BYTES as u64 && (bit == 0 || bit == 4))
        );
    }

    #[test]
    fn the_levels_lead_to_the_ccs() {
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(tepui_softgpu::Memory::new(0x2_0000).unwrap());
        vm.bind(0, memory, 0, 0x2_0000, Protection::READ | Protection::WRITE).unwrap();
        let at = 0xabc_def5_1234_u64;
        let put = |address: u64, entry: u64| vm.write(address, &entry.to_le_bytes()).unwrap();
        put(8 * 0x0ab, 0x8000 | 1);
        put(0x8000 + 8 * 0xcde, 0x1_0000 | 1);
        assert_eq!(
            find(&mut Memory::new(&vm, crate::order::MemoryUnit::Sampler), 0, at).unwrap(),
            None
        );
        put(0x1_0000 + 8 * 0xf5, 0x42_1234_5600 | 0x7 << 52 | 1);
        assert_eq!(
            find(&mut Memory::new(&vm, crate::order::MemoryUnit::Sampler), 0, at).unwrap(),
            Some(0x42_1234_5600)
        );
        assert!(
            find(&mut Memory::new(&vm, crate::order::MemoryUnit::Sampler), 1 << 40, at).is_err()
        );
    }
}
