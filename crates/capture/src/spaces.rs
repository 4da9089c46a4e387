//! Describes address spaces, and the memory bound in them, in a stream.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::{Arc, Weak};

use tepui_softgpu::{AddressSpace, Memory, Protection};

use crate::{Mapping, PAGE_BYTES, Writer, residency};

/// Numbers of the address spaces and memory blocks that a stream names.
#[derive(Default)]
pub struct Spaces {
    objects: Objects,
    /// Numbers of address spaces by where they are.
    spaces: HashMap<usize, u64>,
}

/// Numbers of memory blocks.
#[derive(Default)]
struct Objects {
    by_place: HashMap<usize, (u64, Weak<Memory>)>,
    given: u64,
}

impl Objects {
    fn number(&mut self, memory: &Arc<Memory>) -> u64 {
        let place = Arc::as_ptr(memory) as usize;
        if let Some((number, known)) = self.by_place.get(&place)
            && known.strong_count() > 0
        {
            return *number;
        }
        // Another block may have been at this address before.
        self.given += 1;
        self.by_place.insert(place, (self.given, Arc::downgrade(memory)));
        if self.by_place.len().is_power_of_two() {
            self.by_place.retain(|_, (_, memory)| memory.strong_count() > 0);
        }
        self.given
    }
}

impl Spaces {
    /// Describes an address space and all memory bound in it; gives its number.
    pub fn describe<W: Write>(
        &mut self,
        out: &mut Writer<W>,
        vm: &AddressSpace,
    ) -> io::Result<u64> {
        let fresh = self.spaces.len() as u64 + 1;
        let space = *self.spaces.entry(std::ptr::from_ref(vm) as usize).or_insert(fresh);
        out.begin_memory()?;
        let bound = vm.mappings();
        let mut mappings = Vec::with_capacity(bound.len());
        let mut described: HashSet<u64> = HashSet::new();
        for mapping in &bound {
            let object = self.objects.number(&mapping.memory);
            if described.insert(object) {
                describe(out, object, &mapping.memory)?;
            }
            mappings.push(Mapping {
                address: mapping.address,
                length: mapping.length,
                object,
                offset: mapping.offset,
                read: mapping.protection.contains(Protection::READ),
                write: mapping.protection.contains(Protection::WRITE),
                single_page: mapping.single_page,
            });
        }
        out.mappings(space, mappings)?;
        Ok(space)
    }
}

/// Describes what a block of memory holds.
fn describe<W: Write>(out: &mut Writer<W>, object: u64, memory: &Memory) -> io::Result<()> {
    let mut writer = out.object(object, memory.size() as u64)?;
    let touched = residency::touched(memory);
    let mut page = vec![0; PAGE_BYTES];
    for index in 0..memory.size().div_ceil(PAGE_BYTES) {
        if touched.contains(index) || writer.held(index as u32) {
            residency::copy(memory, index, &mut page);
            writer.page(index as u32, &page)?;
        }
    }
    writer.end()
}
