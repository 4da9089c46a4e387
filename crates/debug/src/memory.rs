//! Memory as a recorded SIMD-group saw it: pages that it accessed, and every write to memory while it ran.

use std::collections::HashMap;

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Device memory, by address.
    Device,
    /// Local memory of the workgroup, by offset.
    Local,
    /// Scratch memory, by offset; the lane is in the upper 32 bits.
    Scratch,
}

/// A word of memory. Its address is a multiple of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryLocation {
    /// The memory space.
    pub space: Space,
    /// The address in it.
    pub address: u64,
}

/// A stretch of memory with a name, such as a buffer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Address of its first byte.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A memory access of an instruction of the recorded group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The step of the instruction.
    pub step: u32,
    /// The memory space.
    pub space: Space,
    /// Whether it writes.
    pub writes: bool,
    /// Lanes that execute it.
    pub lanes: u32,
    /// Address of the access of each lane.
    pub addresses: Vec<u64>,
    /// Bytes per lane.
    pub bytes: u32,
}

/// The writer of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The recorded group, at a step.
    Own(u32),
    /// Another group: its workgroup, and its number in it.
    Other([u32; 3], u32),
}

/// A word that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The first step that sees it.
    pub step: u32,
    /// The word before.
    pub before: u32,
    /// The word after.
    pub after: u32,
    /// The writer.
    pub by: Writer,
}

/// Words of a page.
const PAGE_WORDS: u64 = 256;

/// A page as it was at a step.
#[derive(Clone, Debug)]
struct Page {
    step: u32,
    words: Box<[Option<u32>]>,
}

/// The memory of a recording.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Buffers that have names.
    pub regions: Vec<Region>,
    pages: HashMap<MemoryLocation, Page>,
    writes: HashMap<MemoryLocation, Vec<Write>>,
    accesses: Vec<Access>,
    /// Words that an instruction which is about to run may write, as they are.
    pending: Vec<(MemoryLocation, u32, Writer)>,
    bytes: usize,
}

impl Memory {
    /// Bytes of pages, writes and accesses that are kept; then no more is noted.
    pub const MAX_BYTES: usize = 128 << 20;

    /// Notes what an instruction of the group is about to access. `step` is the instruction's; `word` reads memory.
    pub fn access(&mut self, access: Access, word: impl Fn(MemoryLocation) -> Option<u32>) {
        let step = access.step;
        for place in words(&access) {
            self.open(place, step, &word);
        }
        if access.writes {
            self.expect(&access, Writer::Own(step), &word);
        }
        self.bytes += size_of::<Access>() + 8 * access.addresses.len();
        if self.bytes < Memory::MAX_BYTES {
            self.accesses.push(access);
        }
    }

    /// Notes that an instruction, of this group or another, is about to write.
    pub fn expect(
        &mut self,
        access: &Access,
        by: Writer,
        word: impl Fn(MemoryLocation) -> Option<u32>,
    ) {
        for place in words(access) {
            if let Some(before) = word(place) {
                self.pending.push((place, before, by));
            }
        }
    }

    /// Notes what the instruction before wrote; `step` is the first of the group that sees it.
    pub fn settle(&mut self, step: u32, word: impl Fn(MemoryLocation) -> Option<u32>) {
        for (place, before, by) in std::mem::take(&mut self.pending) {
            let Some(after) = word(place).filter(|&after| after != before) else { continue };
            self.bytes += size_of::<Write>();
            let writes = self.writes.entry(place).or_default();
            // Several lanes may write the same word.
            if self.bytes < Memory::MAX_BYTES && writes.last().is_none_or(|w| w.step != step) {
                writes.push(Write { step, before, after, by });
            }
        }
    }

    /// Keeps a page as it is, unless it is known.
    fn open(
        &mut self,
        place: MemoryLocation,
        step: u32,
        word: &impl Fn(MemoryLocation) -> Option<u32>,
    ) {
        let first = place.address & !(4 * PAGE_WORDS - 1);
        let page = MemoryLocation { address: first, ..place };
        if self.pages.contains_key(&page) || self.bytes >= Memory::MAX_BYTES {
            return;
        }
        let words: Box<[Option<u32>]> = (0..PAGE_WORDS)
            .map(|k| word(MemoryLocation { address: first + 4 * k, ..place }))
            .collect();
        self.bytes += size_of_val(&*words);
        self.pages.insert(page, Page { step, words });
    }

    /// The access of a step.
    #[must_use]
    pub fn at(&self, step: usize) -> Option<&Access> {
        let at = self.accesses.binary_search_by_key(&step, |a| a.step as usize).ok()?;
        self.accesses.get(at)
    }

    /// A word before a step; `None` if it is in no page that the group accessed, or not bound.
    #[must_use]
    pub fn word(&self, place: MemoryLocation, step: usize) -> Option<u32> {
        let first = place.address & !(4 * PAGE_WORDS - 1);
        let page = self.pages.get(&MemoryLocation { address: first, ..place })?;
        let known = page.words[((place.address - first) / 4) as usize]?;
        let writes = self.writes(place);
        let seen = writes.partition_point(|w| w.step as usize <= step);
        let kept = writes.partition_point(|w| w.step <= page.step);
        Some(if seen > kept {
            writes[seen - 1].after
        } else if seen < kept {
            writes[seen].before
        } else {
            known
        })
    }

    /// The changes of a word, in order.
    #[must_use]
    pub fn writes(&self, place: MemoryLocation) -> &[Write] {
        self.writes.get(&place).map_or(&[], Vec::as_slice)
    }

    /// Whether a word changed for a step that it had not for the step before.
    #[must_use]
    pub fn changed(&self, place: MemoryLocation, step: usize) -> bool {
        self.writes(place).iter().any(|w| w.step as usize == step)
    }

    /// Parses a location: an address in hexadecimal digits after `0x`, `local+N`, `scratch+N` of a
    /// lane, or a region's name, optionally followed by `[N]` for its N-th word.
    ///
    /// # Errors
    /// A message that says what to write instead.
    pub fn parse(&self, text: &str, lane: usize) -> Result<MemoryLocation, String> {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        let place = |space, address: u64| MemoryLocation { space, address: address & !3 };
        if text.starts_with("0x") {
            let address = number(text).ok_or_else(|| format!("`{text}` is no address"))?;
            return Ok(place(Space::Device, address));
        }
        if let Some((space, offset)) = text.split_once('+')
            && let Some(offset) = number(offset).filter(|&o| o <= u64::from(u32::MAX))
        {
            match space {
                "local" => return Ok(place(Space::Local, offset)),
                "scratch" => return Ok(place(Space::Scratch, offset | (lane as u64) << 32)),
                _ => {}
            }
        }
        let (name, index) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, index)) => {
                (name, number(index).ok_or_else(|| format!("`{index}` is no number"))?)
            }
            None => (text, 0),
        };
        let region = self.regions.iter().find(|r| r.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.regions.iter().map(|r| r.name.as_str()).collect();
            format!(
                "`{text}` is no place in memory: write 0x1500000000, local+16, scratch+16 or a buffer's NAME[WORD]; buffers: {}",
                if known.is_empty() { "none is known by name".to_owned() } else { known.join(", ") }
            )
        })?;
        match index.checked_mul(4).filter(|&at| at < region.bytes) {
            Some(at) => Ok(place(Space::Device, region.address + at)),
            None => Err(format!("{name} has {} words", region.bytes / 4)),
        }
    }

    /// A place as [`Memory::parse`] takes it.
    #[must_use]
    pub fn describe(&self, place: MemoryLocation) -> String {
        let MemoryLocation { space, address } = place;
        match space {
            Space::Local => format!("local+{address:#x}"),
            Space::Scratch => format!("scratch+{:#x} of lane {}", address as u32, address >> 32),
            Space::Device => {
                let own = |r: &&Region| address.wrapping_sub(r.address) < r.bytes;
                match self.regions.iter().find(own) {
                    Some(r) => format!("{}[{}]", r.name, (address - r.address) / 4),
                    None => format!("{address:#x}"),
                }
            }
        }
    }
}

/// The words that an instruction may access.
fn words(access: &Access) -> impl Iterator<Item = MemoryLocation> {
    let Access { space, lanes, bytes, .. } = *access;
    let active = access.addresses.iter().enumerate().filter(move |(l, _)| lanes >> l & 1 != 0);
    active.flat_map(move |(_, &first)| {
        let end = first.saturating_add(u64::from(bytes));
        (first & !3..end).step_by(4).map(move |address| MemoryLocation { space, address })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_at_each_step() {
        let mut m = Memory::default();
        m.regions.push(Region { name: "b".to_owned(), address: 0x1000, bytes: 16 });
        let access = |step, writes, addresses: &[u64]| Access {
            step,
            space: Space::Device,
            writes,
            lanes: 3,
            addresses: addresses.to_vec(),
            bytes: 4,
        };
        let place = m.parse("b[1]", 0).expect("a place");
        assert_eq!(place, MemoryLocation { space: Space::Device, address: 0x1004 });
        let is = |value| move |p: MemoryLocation| Some(if p == place { value } else { 7 });
        // Another group writes 5; the recorded group reads it and writes 6.
        m.expect(&access(0, true, &[0x1004, 0x1004]), Writer::Other([1, 0, 0], 0), is(4));
        m.settle(1, is(5));
        m.access(access(2, false, &[0x1004, 0x1008]), is(5));
        m.access(access(3, true, &[0x1004, 0x1008]), is(5));
        m.settle(4, is(6));
        let seen: Vec<_> = (0..6).map(|step| m.word(place, step)).collect();
        assert_eq!(seen, [4, 5, 5, 5, 6, 6].map(Some));
        assert_eq!(m.word(MemoryLocation { address: 0x1008, ..place }, 9), Some(7));
        assert_eq!(m.word(MemoryLocation { address: 0x9000, ..place }, 9), None);
        assert_eq!(m.writes(place)[0].by, Writer::Other([1, 0, 0], 0));
        assert!(m.changed(place, 4) && !m.changed(place, 3));
        assert_eq!(m.describe(place), "b[1]");
        assert!(m.parse("b[4]", 0).is_err() && m.parse("c", 0).is_err());
        assert_eq!(m.at(3).map(|a| a.writes), Some(true));
    }
}
