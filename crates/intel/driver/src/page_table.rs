//! The table that maps pages of colour images to their control surfaces on Gen12 (the auxiliary table).
//!
//! It has three levels, like a page table of memory: an entry of the last one maps 64 KiB of an image to 256 bytes of control surface,
//! and says in which format they are compressed. Units look an address up with each compressed access.
//!
//! source: Mesa, intel_aux_map.c

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tepui_intel_layout::aux::{PAGE_B, PAGE_CCS_B};
use tepui_vulkan::Result;
use tepui_vulkan_kit::arena::Mapped;

use crate::kernel::{Bo, Kernel, lock};
use crate::space::Window;

/// An entry is valid.
const VALID: u64 = 1;
/// Entries of the first two levels, and of the last one.
const UPPER_ENTRIES: u64 = 1 << 12;
const LAST_ENTRIES: u64 = 1 << 8;
/// Alignment of a table of the last level, which is smaller.
const LAST_ALIGN: u64 = 8 << 10;
/// Pages of which a table of the last level, and of the second one, has entries, as logarithms of bytes.
const LAST_LOG2: u32 = 24;
const SECOND_LOG2: u32 = 36;

/// A table of the second or of the last level, and where it is in its buffer.
type Place = (usize, u64);

/// The tables, and what they map.
struct Tables<M> {
    /// Buffers of tables: the first begins with the first level.
    buffers: Vec<M>,
    /// First byte of the last buffer that is free.
    next: u64,
    /// Tables of the second level and of the last one, by number.
    second: BTreeMap<u64, Place>,
    last: BTreeMap<u64, Place>,
    /// Entries by number of the page, and how many images have them: those of none are not valid any more.
    pages: BTreeMap<u64, (u64, u32)>,
    /// Number of changes of entries that units may remember.
    version: u64,
}

/// The table.
pub struct PageTable {
    kernel: Arc<Kernel>,
    /// GPU address of the first level.
    pub address: u64,
    tables: Mutex<Tables<Bo>>,
}

/// Pages of an image that the table maps, until it is dropped.
pub struct Mapping {
    table: Arc<PageTable>,
    pages: std::ops::Range<u64>,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let mut t = lock(&self.table.tables);
        self.pages.clone().for_each(|page| t.remove(page));
    }
}

/// Bytes of a buffer of tables.
const BUFFER_B: u64 = 1 << 20;

impl<M: Mapped> Tables<M> {
    /// Tables that map nothing, in a buffer of zeros.
    fn new(first: M) -> Tables<M> {
        Tables {
            buffers: vec![first],
            next: 8 * UPPER_ENTRIES,
            second: BTreeMap::new(),
            last: BTreeMap::new(),
            pages: BTreeMap::new(),
            version: 0,
        }
    }

    /// A place for a table of zeros; `new` makes another buffer of [`BUFFER_B`] bytes.
    fn take(&mut self, new: &impl Fn() -> Result<M>, entries: u64) -> Result<Place> {
        let align = (8 * entries).max(LAST_ALIGN);
        let mut at = self.next.next_multiple_of(align);
        if at + 8 * entries > BUFFER_B {
            self.buffers.push(new()?);
            at = 0;
        }
        self.next = at + 8 * entries;
        Ok((self.buffers.len() - 1, at))
    }

    fn put(&self, (buffer, at): Place, entry: u64, value: u64) {
        self.buffers[buffer].write(at + 8 * entry, &value.to_le_bytes());
    }

    /// The place of the last level's table of a page, which is made if there is none.
    fn table_of(&mut self, new: &impl Fn() -> Result<M>, page: u64) -> Result<Place> {
        let at = page * PAGE_B;
        let (second, last) = (at >> SECOND_LOG2, at >> LAST_LOG2);
        if let Some(&place) = self.last.get(&last) {
            return Ok(place);
        }
        let upper = match self.second.get(&second) {
            Some(&place) => place,
            None => {
                let place = self.take(new, UPPER_ENTRIES)?;
                self.put((0, 0), second, (self.buffers[place.0].address() + place.1) | VALID);
                self.second.insert(second, place);
                place
            }
        };
        let place = self.take(new, LAST_ENTRIES)?;
        let entry = (self.buffers[place.0].address() + place.1) | VALID;
        self.put(upper, last % UPPER_ENTRIES, entry);
        self.last.insert(last, place);
        Ok(place)
    }

    /// Maps a page; returns whether it could, which it cannot if the page is mapped in another way.
    fn add(&mut self, new: &impl Fn() -> Result<M>, page: u64, entry: u64) -> Result<bool> {
        let place = self.table_of(new, page)?;
        let (before, images) = self.pages.entry(page).or_default();
        if *images > 0 && *before != entry {
            return Ok(false);
        }
        *images += 1;
        if *images == 1 {
            // Units may remember an entry that was there before.
            self.version += u64::from(*before != 0 && *before != entry);
            *before = entry;
            self.put(place, page % LAST_ENTRIES, entry);
        }
        Ok(true)
    }

    /// Takes an image away from a page.
    fn remove(&mut self, page: u64) {
        let Some((entry, images)) = self.pages.get_mut(&page) else { return };
        *images -= 1;
        if *images > 0 {
            return;
        }
        let entry = *entry & !VALID;
        if let Some(&place) = self.last.get(&((page * PAGE_B) >> LAST_LOG2)) {
            self.put(place, page % LAST_ENTRIES, entry);
        }
    }
}

impl PageTable {
    /// An empty table.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: &Arc<Kernel>) -> Result<Arc<PageTable>> {
        let first = Bo::new(kernel, BUFFER_B, Window::Data)?;
        Ok(Arc::new(PageTable {
            kernel: kernel.clone(),
            address: first.address,
            tables: Mutex::new(Tables::new(first)),
        }))
    }

    /// Number of changes of entries that units may remember: they are to forget them before work that is submitted after a change.
    pub fn version(&self) -> u64 {
        lock(&self.tables).version
    }

    /// Maps the pages of `size` bytes of an image at an address to their control surface; `None` if they are mapped in another way, or
    /// are not whole pages.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn map(
        self: &Arc<PageTable>,
        address: u64,
        control: u64,
        size: u64,
        format: u64,
    ) -> Result<Option<Mapping>> {
        if !address.is_multiple_of(PAGE_B) || !control.is_multiple_of(PAGE_CCS_B) {
            return Ok(None);
        }
        let new = || Bo::new(&self.kernel, BUFFER_B, Window::Data);
        let first = address / PAGE_B;
        // What is mapped goes back if the rest cannot be.
        let mut mapping = Mapping { table: self.clone(), pages: first..first };
        for page in first..first + size.div_ceil(PAGE_B) {
            let entry = (control + (page - first) * PAGE_CCS_B) | format | VALID;
            if !lock(&self.tables).add(&new, page, entry)? {
                return Ok(None);
            }
            mapping.pages.end = page + 1;
        }
        Ok(Some(mapping))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Memory of the host at an address.
    struct Host {
        address: u64,
        words: Box<[Cell<u64>]>,
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

    impl tepui_vulkan_kit::recycle::Piece for Host {
        fn size(&self) -> u64 {
            BUFFER_B
        }
    }

    fn host(address: u64) -> Host {
        Host { address, words: vec![Cell::new(0); (BUFFER_B / 8) as usize].into() }
    }

    /// The entry of a page, as units find it.
    /// source: Mesa, intel_aux_map.c, on the bits of an address: 47:36, 35:24, 23:16
    fn find(t: &Tables<Host>, page: u64) -> u64 {
        let at = page * PAGE_B;
        let read = |address: u64| {
            let buffer =
                t.buffers.iter().find(|b| (b.address..b.address + BUFFER_B).contains(&address));
            let buffer = buffer.expect("an address of a table");
            buffer.words[((address - buffer.address) / 8) as usize].get()
        };
        let mut next = t.buffers[0].address;
        for (shift, bits, mask) in [(36, 12, 0xffff_ffff_8000), (24, 12, 0xffff_ffff_e000)] {
            let entry = read(next + 8 * (at >> shift & ((1 << bits) - 1)));
            if entry & VALID == 0 {
                return 0;
            }
            next = entry & mask;
        }
        read(next + 8 * (at >> 16 & 0xff))
    }

    #[test]
    fn pages_lead_to_their_entries() {
        let count = Cell::new(1);
        let new = || {
            count.set(count.get() + 1);
            Ok(host(count.get() * 0x100_0000))
        };
        let mut t = Tables::new(host(0x100_0000));
        let pages: Vec<u64> = (0..200).map(|k| k * 0x1_2345 + k % 3).collect();
        for &page in &pages {
            assert!(t.add(&new, page, page << 8 | VALID).unwrap());
        }
        assert!(t.buffers.len() > 1);
        for &page in &pages {
            assert_eq!(find(&t, page), page << 8 | VALID);
        }
        assert_eq!(find(&t, 1), 0);
        // A page has one entry, which several images may have.
        assert!(!t.add(&new, pages[7], 0x500 | VALID).unwrap());
        assert!(t.add(&new, pages[7], pages[7] << 8 | VALID).unwrap());
        t.remove(pages[7]);
        assert_eq!(find(&t, pages[7]), pages[7] << 8 | VALID);
        t.remove(pages[7]);
        assert_eq!(find(&t, pages[7]) & VALID, 0);
        // Units may remember the entry that was there before, if it is another.
        assert!(t.add(&new, pages[7], pages[7] << 8 | VALID).unwrap());
        assert_eq!(t.version, 0);
        t.remove(pages[7]);
        assert!(t.add(&new, pages[7], 0x500 | VALID).unwrap());
        assert_eq!((t.version, find(&t, pages[7])), (1, 0x500 | VALID));
    }
}
