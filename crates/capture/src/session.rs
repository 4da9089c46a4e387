//! Replays the memory records of a capture: [`Session`] holds GPU memory as it was at the record
//! applied last.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tepui_decode::{GpuMemory, Unreadable};

use crate::record::{Mapping, Record};
use crate::{MAPPING_BYTES, PAGE_BYTES};

/// A record that contradicts the records before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    /// A page number that no page record has.
    #[error(
        "page {page} of object {object} refers to page record {number}, but there are only {count}"
    )]
    NoSuchPage {
        /// The object.
        object: u64,
        /// Number of the page in the object.
        page: u32,
        /// The number of the page record.
        number: u32,
        /// Page records so far.
        count: usize,
    },
    /// A page record is longer than [`PAGE_BYTES`].
    #[error("a page record has {size} bytes; a page has {PAGE_BYTES}")]
    PageSize {
        /// Its size.
        size: usize,
    },
    /// A mapping exceeds the address space or is not a multiple of [`MAPPING_BYTES`].
    #[error(
        "address space {space} maps {length:#x} bytes at {address:#x}; mappings are whole pages within 64 bits"
    )]
    Mapping {
        /// The address space.
        space: u64,
        /// First address.
        address: u64,
        /// Length in bytes.
        length: u64,
    },
    /// A page lies outside its object.
    #[error("object {object} of {size} bytes has no page {page}")]
    OutsideObject {
        /// The object.
        object: u64,
        /// Its size.
        size: u64,
        /// The page.
        page: u32,
    },
}

/// An object's contents.
#[derive(Clone, Debug, Default)]
struct Object {
    size: u64,
    /// Pages that are not all zero.
    pages: BTreeMap<u32, Arc<[u8]>>,
}

/// GPU memory after the records applied so far: pages, buffer objects and address spaces.
#[derive(Clone, Debug, Default)]
pub struct Session {
    pages: Vec<Arc<[u8]>>,
    objects: HashMap<u64, Object>,
    spaces: HashMap<u64, BTreeMap<u64, Mapping>>,
}

impl Session {
    /// A session without records.
    pub fn new() -> Session {
        Session::default()
    }

    /// Applies a record. Records that do not describe memory change nothing.
    pub fn apply(&mut self, record: &Record) -> Result<(), Inconsistent> {
        match record {
            Record::Page(bytes) => {
                if bytes.len() > PAGE_BYTES {
                    return Err(Inconsistent::PageSize { size: bytes.len() });
                }
                self.pages.push(bytes.as_slice().into());
            }
            Record::Contents(contents) => {
                let id = contents.object;
                let object = self.objects.entry(id).or_default();
                if object.size != contents.size {
                    *object = Object { size: contents.size, pages: BTreeMap::new() };
                }
                for &(page, number) in &contents.pages {
                    let size = contents.size;
                    if u64::from(page) >= size.div_ceil(PAGE_BYTES as u64) {
                        return Err(Inconsistent::OutsideObject { object: id, size, page });
                    }
                    if number == 0 {
                        object.pages.remove(&page);
                        continue;
                    }
                    let count = self.pages.len();
                    let bytes = self.pages.get(number as usize - 1).cloned();
                    let bytes = bytes.ok_or(Inconsistent::NoSuchPage {
                        object: id,
                        page,
                        number,
                        count,
                    })?;
                    object.pages.insert(page, bytes);
                }
            }
            Record::Mappings(mappings) => {
                let mut ranges = BTreeMap::new();
                for mapping in &mappings.mappings {
                    let &Mapping { address, length, offset, .. } = mapping;
                    let whole = (address | length | offset).is_multiple_of(MAPPING_BYTES);
                    if !whole || length == 0 || address.checked_add(length).is_none() {
                        let space = mappings.space;
                        return Err(Inconsistent::Mapping { space, address, length });
                    }
                    ranges.insert(address, *mapping);
                }
                self.spaces.insert(mappings.space, ranges);
            }
            Record::Forget => *self = Session::default(),
            Record::Process(_)
            | Record::Opened { .. }
            | Record::Closed { .. }
            | Record::Call(_)
            | Record::Start(_)
            | Record::Finish(_) => {}
        }
        Ok(())
    }

    /// The current state of an address space. One without a record has no mappings.
    pub fn space(&self, space: u64) -> View<'_> {
        View { session: self, mappings: self.spaces.get(&space) }
    }

    /// Size of an object in bytes; `None` without a record of it.
    pub fn object_size(&self, object: u64) -> Option<u64> {
        Some(self.objects.get(&object)?.size)
    }

    /// The pages of an object that are not all zero, in order, each without its trailing zeros.
    pub fn object_pages(&self, object: u64) -> impl Iterator<Item = (u32, &Arc<[u8]>)> {
        self.objects.get(&object).into_iter().flat_map(|o| o.pages.iter()).map(|(&i, b)| (i, b))
    }
}

/// The current state of an address space.
#[derive(Clone, Copy)]
pub struct View<'a> {
    session: &'a Session,
    mappings: Option<&'a BTreeMap<u64, Mapping>>,
}

impl<'a> View<'a> {
    /// The mappings, in order of address.
    pub fn mappings(&self) -> impl Iterator<Item = &'a Mapping> + use<'a> {
        self.mappings.into_iter().flat_map(BTreeMap::values)
    }

    /// Copies memory.
    ///
    /// # Errors
    /// The first address that is not mapped readable.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), u64> {
        let mut done = 0;
        while done < into.len() {
            let here = address.checked_add(done as u64).ok_or(address)?;
            let (_, mapping) =
                self.mappings.and_then(|m| m.range(..=here).next_back()).ok_or(here)?;
            let inside = here - mapping.address;
            if inside >= mapping.length || !mapping.read {
                return Err(here);
            }
            let page_bytes = PAGE_BYTES as u64;
            let inside_object = if mapping.single_page { inside % page_bytes } else { inside };
            let at = mapping.offset.checked_add(inside_object).ok_or(here)?;
            let (page, in_page) = (at / page_bytes, (at % page_bytes) as usize);
            let left = mapping.length - inside;
            let step = (PAGE_BYTES - in_page).min(into.len() - done);
            let step = step.min(usize::try_from(left).unwrap_or(usize::MAX));
            let piece = &mut into[done..done + step];
            piece.fill(0);
            let bytes = self
                .session
                .objects
                .get(&mapping.object)
                .and_then(|object| object.pages.get(&u32::try_from(page).ok()?));
            if let Some(bytes) = bytes
                && let Some(bytes) = bytes.get(in_page..)
            {
                let there = bytes.len().min(step);
                piece[..there].copy_from_slice(&bytes[..there]);
            }
            done += step;
        }
        Ok(())
    }
}

/// For decoders.
impl GpuMemory for View<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        View::read(self, address, into).map_err(|address| Unreadable { address })
    }
}
