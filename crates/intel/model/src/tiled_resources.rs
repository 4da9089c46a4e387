//! Translation of tiled resources (TR-TT, Gen12): page tables of the client, from a range of addresses to other
//! addresses or to nothing.
//!
//! A table of level 3 has 512 entries of 32 GiB each, a table of level 2 512 entries of 64 MiB, both of 64 bits; a table
//! of level 1 has 1024 entries of 32 bits, one for each tile of 64 KiB. Tiles without memory (null tiles) read zeros and
//! drop writes.
//!
//! As a TLB does, the model keeps what the tables say: [`map`] binds the tiles in the address space, when translation is
//! enabled, when a batch begins, and when a batch invalidates the TLB.
//!
//! source: Mesa, gen120.xml (`GFX_TRTT_*`); anv_sparse.c: indices and entries of the tables.
//!
//! Assumption: contexts of one address space have the same tables.

use std::ops::Range;
use std::sync::Arc;

use tepui_softgpu::AddressSpace;
use tepui_softgpu::vm::Mapping;

use crate::job::{JobFault, Unit};
use crate::memory::{ADDRESS_BITS, Memory, address};
use crate::order::MemoryUnit;
use crate::registers::{Registers, TRTT_CR, TRTT_INVAL, TRTT_L3_BASE, TRTT_NULL, TRTT_VA_RANGE};

const UNIT: Unit = Unit::CommandStreamer;

/// Bits of an address inside a tile, and of those that an entry of levels 2 and 3 covers.
const TILE_BITS: u32 = 16;
const LEVEL_2_BITS: u32 = 26;
const LEVEL_3_BITS: u32 = 35;
/// Bits of the range that is translated.
const RANGE_BITS: u32 = 44;
const TABLE_BYTES: usize = 4096;

/// Limit on tables and on bound ranges; more are a fault, so that tables that lead back to themselves end.
const MAX_TABLES: usize = 1 << 12;
const MAX_RUNS: usize = 1 << 16;

/// An entry of a table of level 2 or 3.
enum Entry {
    Invalid,
    Null,
    Table(u64),
}

impl Entry {
    fn of(bytes: [u8; 8]) -> Entry {
        let entry = u64::from_le_bytes(bytes);
        match entry & 3 {
            0 => Entry::Table(address(entry)),
            2 => Entry::Null,
            _ => Entry::Invalid,
        }
    }
}

/// Consecutive tiles with consecutive targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    at: u64,
    target: u64,
    bytes: u64,
}

/// The contents of the tables.
#[derive(Default)]
struct Tables {
    runs: Vec<Run>,
    nulls: Vec<Range<u64>>,
    read: usize,
}

impl Tables {
    fn table(&mut self, memory: &mut Memory<'_>, at: u64) -> Result<Option<Vec<u8>>, JobFault> {
        self.read += 1;
        if self.read > MAX_TABLES || self.runs.len() > MAX_RUNS {
            return Err(JobFault::new(UNIT, "the tables of tiled resources do not end"));
        }
        let mut bytes = vec![0; TABLE_BYTES];
        // Without a table, accesses fault.
        Ok(memory.read(at, &mut bytes).is_ok().then_some(bytes))
    }

    fn null(&mut self, at: u64, bits: u32) {
        let end = at + (1 << bits);
        match self.nulls.last_mut() {
            Some(last) if last.end == at => last.end = end,
            _ => self.nulls.push(at..end),
        }
    }

    fn tile(&mut self, at: u64, target: u64) {
        let bytes = 1 << TILE_BITS;
        match self.runs.last_mut() {
            Some(last) if last.at + last.bytes == at && last.target + last.bytes == target => {
                last.bytes += bytes;
            }
            _ => self.runs.push(Run { at, target, bytes }),
        }
    }

    /// Reads the tables from level 3 on, for the addresses from `base` on.
    fn read(memory: &mut Memory<'_>, registers: &Registers, base: u64) -> Result<Tables, JobFault> {
        let mut tables = Tables::default();
        let [null, invalid] = [TRTT_NULL, TRTT_INVAL].map(|register| registers.get(register));
        let first = address(registers.get64(TRTT_L3_BASE)) & !(TABLE_BYTES as u64 - 1);
        let Some(level_3) = tables.table(memory, first)? else { return Ok(tables) };
        for (index, entry) in (0..).zip(level_3.as_chunks::<8>().0) {
            let at = base + (index << LEVEL_3_BITS);
            let level_2 = match Entry::of(*entry) {
                Entry::Invalid => continue,
                Entry::Null => {
                    tables.null(at, LEVEL_3_BITS);
                    continue;
                }
                Entry::Table(level_2) => level_2,
            };
            let Some(level_2) = tables.table(memory, level_2)? else { continue };
            for (index, entry) in (0..).zip(level_2.as_chunks::<8>().0) {
                let at = at + (index << LEVEL_2_BITS);
                let level_1 = match Entry::of(*entry) {
                    Entry::Invalid => continue,
                    Entry::Null => {
                        tables.null(at, LEVEL_2_BITS);
                        continue;
                    }
                    Entry::Table(level_1) => level_1,
                };
                let Some(level_1) = tables.table(memory, level_1)? else { continue };
                for (index, entry) in (0..).zip(level_1.as_chunks::<4>().0) {
                    let at = at + (index << TILE_BITS);
                    match u32::from_le_bytes(*entry) {
                        entry if entry == invalid => {}
                        entry if entry == null => tables.null(at, TILE_BITS),
                        entry => tables.tile(at, address(u64::from(entry) << TILE_BITS)),
                    }
                }
            }
        }
        Ok(tables)
    }
}

/// The parts of a run in the buffers that are bound at its targets.
fn parts(vm: &AddressSpace, run: Run, into: &mut Vec<Mapping>) {
    let page = vm.page_size();
    let mut done = 0;
    while done < run.bytes {
        let target = run.target + done;
        let Some(found) = vm.mapping_at(target) else {
            done += page;
            continue;
        };
        let within = target - found.address;
        let length = (found.length - within).min(run.bytes - done);
        into.push(Mapping {
            address: run.at + done,
            length,
            offset: if found.single_page { found.offset } else { found.offset + within },
            ..found
        });
        done += length;
    }
}

fn is_same(a: &Mapping, b: &Mapping) -> bool {
    let place = |m: &Mapping| (m.address, m.length, m.offset, m.protection.bits(), m.single_page);
    place(a) == place(b) && Arc::ptr_eq(&a.memory, &b.memory)
}

/// Binds the tiles that a context's tables name. Returns whether anything has changed.
///
/// # Errors
/// There are too many tables, or the registers describe several ranges.
pub(crate) fn map(vm: &AddressSpace, registers: &Registers) -> Result<bool, JobFault> {
    if registers.get(TRTT_CR) & 1 == 0 {
        return Ok(false);
    }
    let range = registers.get(TRTT_VA_RANGE);
    if range >> 4 & 0xf != 0xf {
        return Err(JobFault::unimplemented(UNIT, "tiled resources in several ranges"));
    }
    let base = u64::from(range & 0xf) << RANGE_BITS;
    let end = (base + (1 << RANGE_BITS)).min(1 << ADDRESS_BITS);
    let tables = Tables::read(&mut Memory::new(vm, MemoryUnit::CommandStreamer), registers, base)?;
    let mut wanted = Vec::new();
    for run in &tables.runs {
        // A target inside of the range would be translated again.
        if !(base..end).contains(&run.target) {
            parts(vm, *run, &mut wanted);
        }
    }
    vm.set_null_ranges(tables.nulls);
    let bound = vm.mappings_in(base..end);
    if bound.len() == wanted.len() && bound.iter().zip(&wanted).all(|(a, b)| is_same(a, b)) {
        return Ok(false);
    }
    let refused = |error| JobFault::new(UNIT, format!("a tile of tiled resources: {error}"));
    for old in bound {
        vm.unbind(old.address, old.length).map_err(refused)?;
    }
    for Mapping { address, length, memory, offset, protection, single_page } in wanted {
        match single_page {
            true => vm.bind_single_page(address, memory, offset, length, protection),
            false => vm.bind(address, memory, offset, length, protection),
        }
        .map_err(refused)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_softgpu::{Memory as Bytes, Protection};

    const ALL: Protection = Protection::READ.union(Protection::WRITE);
    const BASE: u64 = 0xf << RANGE_BITS;

    /// Tables at 0, 0x1000 and 0x2000 of a buffer, whose tiles from 0x10000 on are the targets.
    fn space() -> (AddressSpace, Registers) {
        let vm = AddressSpace::new(12, ADDRESS_BITS);
        vm.bind(0, Arc::new(Bytes::new(0x8_0000).expect("memory")), 0, 0x8_0000, ALL).unwrap();
        let mut registers = Registers::default();
        for (register, value) in
            [(TRTT_INVAL, 1), (TRTT_NULL, 0), (TRTT_VA_RANGE, 0xff), (TRTT_CR, 1)]
        {
            registers.set(register, value).unwrap();
        }
        for entry in 0..512 {
            vm.write(8 * entry, &2u64.to_le_bytes()).unwrap();
            vm.write(0x1000 + 8 * entry, &2u64.to_le_bytes()).unwrap();
        }
        vm.write(8 * 3, &0x1000u64.to_le_bytes()).unwrap();
        vm.write(0x1000 + 8 * 5, &0x2000u64.to_le_bytes()).unwrap();
        (vm, registers)
    }

    fn set(vm: &AddressSpace, tile: u64, entry: u32) {
        vm.write(0x2000 + 4 * tile, &entry.to_le_bytes()).unwrap();
    }

    #[test]
    fn tiles_reach_their_targets_until_the_tables_say_otherwise() {
        let (vm, registers) = space();
        let at = |tile: u64| BASE + (3 << LEVEL_3_BITS) + (5 << LEVEL_2_BITS) + (tile << TILE_BITS);
        set(&vm, 7, 3);
        set(&vm, 8, 4);
        set(&vm, 9, 1);
        assert!(map(&vm, &registers).unwrap());
        assert!(!map(&vm, &registers).unwrap(), "nothing has changed");
        assert_eq!(vm.mappings_in(BASE..1 << 48).len(), 1, "one run");
        vm.write(at(7) + 0xfffe, &[1, 2, 3, 4]).unwrap();
        assert_eq!(vm.read_array::<2>(0x3_fffe).unwrap(), [1, 2]);
        assert_eq!(vm.read_array::<2>(0x4_0000).unwrap(), [3, 4]);
        // Null tiles at each level, and an invalid one.
        for null in [at(6), BASE, BASE + (3 << LEVEL_3_BITS), at(7) + (1 << LEVEL_2_BITS)] {
            vm.write(null, &[9; 4]).unwrap();
            assert_eq!(vm.read_array::<4>(null).unwrap(), [0; 4]);
        }
        assert!(vm.read_array::<1>(at(9)).is_err());
        // The old contents count until they are invalidated.
        set(&vm, 7, 0);
        assert_eq!(vm.read_array::<2>(at(7) + 0xfffe).unwrap(), [1, 2]);
        assert!(map(&vm, &registers).unwrap());
        assert_eq!(vm.read_array::<4>(at(7) + 0xfffe).unwrap(), [0, 0, 3, 4]);
    }

    #[test]
    fn tables_that_lead_back_to_themselves_end() {
        let (vm, registers) = space();
        for entry in 0..512 {
            vm.write(8 * entry, &0u64.to_le_bytes()).unwrap();
        }
        assert!(map(&vm, &registers).is_err());
    }
}
