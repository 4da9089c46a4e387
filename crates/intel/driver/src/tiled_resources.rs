//! Page tables of sparse resources on Gen12 (TR-TT: translation of tiled resources).
//!
//! Addresses of a window are translated twice: tables that the driver writes lead from tiles of 64 KiB to other addresses, or to nothing,
//! before the page tables of the kernel count. Tiles without memory read as zeros and drop what is written. A table of the third level has
//! entries for 32 GiB each, one of the second level for 64 MiB, one of the first level for a tile.
//!
//! The host writes the tables; units forget what they knew of them before the next submission ([`Device::forgetting_batch`]).
//!
//! source: Mesa, anv_sparse.c (`anv_trtt_bind_add`), genX_init_state.c (`init_trtt_context_state`)
//!
//! [`Device::forgetting_batch`]: crate::device::Device::forgetting_batch

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex};

use tepui_vulkan::backend::SparseBind;
use tepui_vulkan::{Error, Result};
use tepui_vulkan_kit::Slab;
use tepui_vulkan_kit::arena::Mapped;
use tepui_vulkan_kit::slab::Part;

use crate::family::Intel;
use crate::kernel::{Bo, Kernel, lock};
use crate::space::{SPARSE, Window};

/// Bytes of a tile.
pub const TILE_B: u64 = 1 << TILE_LOG2;
const TILE_LOG2: u32 = 16;
/// Bytes of which a table of the first level, and one of the second, has entries, as logarithms.
const FIRST_LOG2: u32 = 26;
const SECOND_LOG2: u32 = 35;
/// Bytes of a table.
const TABLE_B: u64 = 4096;
/// Entries of a table of the second or third level, and of one of the first.
const ENTRIES: u64 = TABLE_B / 8;
const TILES: u64 = TABLE_B / 4;
/// Bytes of a buffer of tables.
const BUFFER_B: u64 = 16 * TABLE_B;
/// An entry of the second or the third level of which no tile has memory.
const NULL_ENTRY: u64 = 1 << 1;

/// Registers and their values but for the address of the table of the third level.
/// source: genxml, GFX_TRTT_INVAL, GFX_TRTT_NULL, GFX_TRTT_VA_RANGE: the value of bits 47:44 of addresses that are translated, and which
/// of these bits count
const INVALID_TILE: (u64, u32) = (0x4414, 1);
const NULL_TILE: (u64, u32) = (0x4410, 0);
const RANGE: (u64, u32) = (0x4404, 0xf << 4 | (SPARSE >> 44) as u32);
/// Address of the table of the third level, and the register that turns translation on. source: genxml, GFX_TRTT_L3_BASE_LOW, GFX_TRTT_CR
const THIRD_TABLE: u64 = 0x4408;
const ENABLE: (u64, u32) = (0x4400, 1);

/// A table of the first level.
struct First<M> {
    memory: Part<M>,
    /// A bit for each tile that has memory.
    used: [u64; 16],
}

/// The tables.
struct Tables<M> {
    slab: Slab<M>,
    third: Part<M>,
    /// Tables of the second level, by the addresses that they have entries for.
    second: BTreeMap<u64, Part<M>>,
    /// Tables of the first level, likewise. Those without tiles are not kept, so that memory bounds their number.
    first: BTreeMap<u64, First<M>>,
    /// Tables of null tiles that are not in use.
    unused: Vec<Part<M>>,
    /// Number of changes that units have to see.
    version: u64,
}

/// Numbers of the tables of the first level that have entries for addresses.
fn tables_of(at: &Range<u64>) -> RangeInclusive<u64> {
    at.start >> FIRST_LOG2..=(at.end - 1) >> FIRST_LOG2
}

impl<M: Mapped> Tables<M> {
    fn new(new: &impl Fn(u64) -> Result<M>) -> Result<Tables<M>> {
        let mut slab = Slab::default();
        let third = null_table(&mut slab, new)?;
        let (second, first) = (BTreeMap::new(), BTreeMap::new());
        Ok(Tables { slab, third, second, first, unused: Vec::new(), version: 0 })
    }

    /// Writes the entry of a table of the first level.
    fn put(&self, table: u64, entry: u64) {
        if let Some(second) = self.second.get(&(table >> (SECOND_LOG2 - FIRST_LOG2))) {
            second.write(8 * (table % ENTRIES), &entry.to_le_bytes());
        }
    }

    /// Makes the tables of addresses that are not there; `new` makes memory.
    fn make(&mut self, new: &impl Fn(u64) -> Result<M>, at: &Range<u64>) -> Result<()> {
        for table in tables_of(at) {
            if self.first.contains_key(&table) {
                continue;
            }
            let number = table >> (SECOND_LOG2 - FIRST_LOG2);
            if let Entry::Vacant(vacant) = self.second.entry(number) {
                let second = null_table(&mut self.slab, new)?;
                self.third.write(8 * (number % ENTRIES), &second.address().to_le_bytes());
                vacant.insert(second);
            }
            let memory = match self.unused.pop() {
                Some(memory) => memory,
                None => self.slab.take(TABLE_B, BUFFER_B, new)?,
            };
            self.put(table, memory.address());
            self.first.insert(table, First { memory, used: [0; 16] });
        }
        Ok(())
    }

    /// Sets tiles, of which those in tables that are not there stay without memory: to memory from an address on, or to none.
    fn set(&mut self, at: &Range<u64>, memory: Option<u64>) {
        let mut has_changed = false;
        for (&table, first) in self.first.range_mut(tables_of(at)) {
            let from = at.start.max(table << FIRST_LOG2);
            let end = at.end.min((table + 1) << FIRST_LOG2);
            for tile in from >> TILE_LOG2..end >> TILE_LOG2 {
                let number = tile % TILES;
                let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
                if memory.is_none() && first.used[word] & bit == 0 {
                    continue;
                }
                let to = memory.map(|to| to + ((tile << TILE_LOG2) - at.start));
                let entry = to.map_or(NULL_TILE.1, |to| (to >> TILE_LOG2) as u32);
                first.memory.write(4 * number, &entry.to_le_bytes());
                match to {
                    Some(_) => first.used[word] |= bit,
                    None => first.used[word] &= !bit,
                }
                has_changed = true;
            }
        }
        self.version += u64::from(has_changed);
        self.release(at);
    }

    /// Takes tables that have no tiles out of use.
    fn release(&mut self, at: &Range<u64>) {
        let tables = self.first.range(tables_of(at));
        let empty: Vec<u64> =
            tables.filter(|(_, t)| t.used == [0; 16]).map(|(&table, _)| table).collect();
        for table in empty {
            self.put(table, NULL_ENTRY);
            self.unused.extend(self.first.remove(&table).map(|t| t.memory));
        }
    }
}

/// A table of the second or third level of which nothing has memory.
fn null_table<M: Mapped>(slab: &mut Slab<M>, new: &impl Fn(u64) -> Result<M>) -> Result<Part<M>> {
    let table = slab.take(TABLE_B, BUFFER_B, new)?;
    for entry in 0..ENTRIES {
        table.write(8 * entry, &NULL_ENTRY.to_le_bytes());
    }
    Ok(table)
}

/// The page tables of a device's sparse resources.
pub struct TiledResources {
    kernel: Arc<Kernel>,
    tables: Mutex<Tables<Bo>>,
}

impl TiledResources {
    /// Tables of which nothing has memory.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub fn new(kernel: &Arc<Kernel>) -> Result<Arc<TiledResources>> {
        let tables = Mutex::new(Tables::new(&|size| Bo::new(kernel, size, Window::Data))?);
        Ok(Arc::new(TiledResources { kernel: kernel.clone(), tables }))
    }

    /// Registers that turn translation on, in their order.
    pub fn registers(&self) -> [(u64, u32); 6] {
        let third = lock(&self.tables).third.address();
        let low = (THIRD_TABLE, third as u32);
        let high = (THIRD_TABLE + 4, (third >> 32) as u32);
        [INVALID_TILE, NULL_TILE, low, high, RANGE, ENABLE]
    }

    /// Number of changes that units have to see before work that is submitted after them.
    pub fn version(&self) -> u64 {
        lock(&self.tables).version
    }

    /// Addresses of `size` bytes without memory.
    ///
    /// # Errors
    /// When there are none.
    pub fn reserve(self: &Arc<TiledResources>, size: u64, window: Window) -> Result<SparseRange> {
        let size = size.max(1).checked_next_multiple_of(TILE_B);
        let size = size.ok_or_else(|| Error::device_memory("too large"))?;
        let address = self.kernel.take(window, size)?;
        Ok(SparseRange { tables: self.clone(), address, size })
    }
}

/// Addresses of a sparse resource.
pub struct SparseRange {
    tables: Arc<TiledResources>,
    /// The first address.
    pub address: u64,
    size: u64,
}

impl SparseRange {
    /// Binds memory to tiles, or takes it away. The last tile is bound as a whole.
    ///
    /// # Errors
    /// When the part is not inside of the range or of the memory, or there is no memory for tables.
    pub fn bind(&self, b: &SparseBind<Intel>) -> Result<()> {
        let is_inside = |at: u64, size: u64| at.checked_add(b.size).is_some_and(|end| end <= size);
        let memory =
            b.memory.as_ref().map(|(bo, at)| (bo.address.wrapping_add(*at), (*at, bo.size)));
        let is_possible = is_inside(b.offset, self.size)
            && b.offset.is_multiple_of(TILE_B)
            && memory
                .is_none_or(|(to, (at, size))| is_inside(at, size) && to.is_multiple_of(TILE_B));
        if !is_possible {
            let what = "memory is bound beyond the end of a sparse resource or of the memory, or not to whole tiles";
            return Err(Error::device_memory(what));
        }
        if b.size == 0 {
            return Ok(());
        }
        let start = self.address + b.offset;
        let at = start..start + b.size.next_multiple_of(TILE_B);
        let TiledResources { kernel, tables } = &*self.tables;
        let mut tables = lock(tables);
        if memory.is_some()
            && let Err(e) = tables.make(&|size| Bo::new(kernel, size, Window::Data), &at)
        {
            tables.release(&at);
            return Err(e);
        }
        tables.set(&at, memory.map(|(to, _)| to));
        Ok(())
    }
}

impl Drop for SparseRange {
    fn drop(&mut self) {
        let TiledResources { kernel, tables } = &*self.tables;
        lock(tables).set(&(self.address..self.address + self.size), None);
        kernel.give(self.address, self.size);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tepui_vulkan_kit::recycle::Piece;

    use super::*;

    /// Memory of the host at an address.
    struct Host {
        address: u64,
        words: Box<[Cell<u64>]>,
    }

    impl Piece for Host {
        fn size(&self) -> u64 {
            BUFFER_B
        }
    }

    // SAFETY: the words are as many as the size says, and live as long.
    unsafe impl Mapped for Host {
        fn address(&self) -> u64 {
            self.address
        }

        fn host(&self) -> *mut u8 {
            self.words.as_ptr() as *mut u8
        }
    }

    /// The address that units find in place of one.
    fn find(t: &Tables<Host>, at: u64) -> Option<u64> {
        let word = |p: &Part<Host>, byte: u64| {
            let (whole, offset) = p.place();
            whole.words[((offset + byte) / 8) as usize].get()
        };
        let second = word(&t.third, 8 * (at >> SECOND_LOG2 & 511));
        if second == NULL_ENTRY {
            return None;
        }
        let second = t.second.values().find(|p| p.address() == second).expect("a table");
        let first = word(second, 8 * (at >> FIRST_LOG2 & 511));
        if first == NULL_ENTRY {
            return None;
        }
        let first = t.first.values().find(|t| t.memory.address() == first).expect("a table");
        let number = at >> TILE_LOG2 & 1023;
        let entry = word(&first.memory, 4 * number) >> (32 * (number % 2)) & 0xffff_ffff;
        (entry != 0).then_some((entry << TILE_LOG2) | (at % TILE_B))
    }

    #[test]
    fn tiles_lead_to_memory_and_tables_are_used_again() {
        let count = Cell::new(0);
        let new = |_| {
            count.set(count.get() + 1);
            let words = vec![Cell::new(0); (BUFFER_B / 8) as usize].into();
            Ok(Host { address: count.get() << 32, words })
        };
        let mut t = Tables::new(&new).unwrap();
        // The end of one table and the beginning of the next, which another table of the second level leads to.
        let edge = SPARSE + (1 << SECOND_LOG2);
        let at = edge - 3 * TILE_B..edge + 2 * TILE_B;
        t.make(&new, &at).unwrap();
        t.set(&at, Some(0x5_0000_0000));
        assert_eq!((t.version, t.first.len(), t.second.len()), (1, 2, 2));
        for tile in 0..5 {
            let offset = tile * TILE_B + 7;
            assert_eq!(find(&t, at.start + offset), Some(0x5_0000_0000 + offset));
        }
        assert_eq!([find(&t, at.start - 1), find(&t, at.end)], [None; 2]);
        t.set(&(edge..edge + TILE_B), None);
        assert_eq!(find(&t, edge), None);
        assert_eq!(find(&t, edge + TILE_B), Some(0x5_0000_0000 + 4 * TILE_B));
        // What has no memory, and no table, stays so.
        t.set(&(edge..edge + TILE_B), None);
        t.set(&(SPARSE..edge - 3 * TILE_B), None);
        assert_eq!(t.version, 2);
        // Resources that come and go take no more tables.
        for k in 0..1000 {
            let at = SPARSE + (k << FIRST_LOG2)..SPARSE + (k << FIRST_LOG2) + TILE_B;
            t.make(&new, &at).unwrap();
            t.set(&at, Some(0x6_0000_0000));
            t.set(&at, None);
        }
        assert_eq!((count.get(), t.first.len(), t.unused.len()), (1, 2, 1));
    }
}
