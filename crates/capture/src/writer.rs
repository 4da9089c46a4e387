//! Records into bytes.

use std::collections::HashMap;
use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_128;

use crate::record::{Contents, Mapping, Mappings, Record};
use crate::{MAGIC, MAX_PAYLOAD_BYTES, PAGE_BYTES, VERSION};

/// Pages that are remembered: 4 GiB of them. With more, numbers start anew.
const MAX_PAGES: usize = 1 << 18;

/// Pages of an object in one record, so that no record is too long.
const PAGES_A_RECORD: usize = 1 << 20;

/// Writes a stream.
pub struct Writer<W: Write> {
    out: W,
    /// Numbers of pages by the hash of their contents. Two contents with the same 128 bits of hash
    /// would be taken for one; by chance that does not happen.
    pages: HashMap<u128, u32>,
    /// The page numbers of each object, as the last record has them.
    objects: HashMap<u64, Vec<u32>>,
    spaces: HashMap<u64, Vec<Mapping>>,
}

impl<W: Write> Writer<W> {
    /// Begins a stream.
    pub fn new(mut out: W) -> io::Result<Writer<W>> {
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        Ok(Writer { out, pages: HashMap::new(), objects: HashMap::new(), spaces: HashMap::new() })
    }

    /// Writes a record that is not about memory; for that there are [`Writer::object`] and
    /// [`Writer::mappings`].
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        let payload = postcard::to_stdvec(record).map_err(io::Error::other)?;
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        if length > MAX_PAYLOAD_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a record of {length} bytes; {MAX_PAYLOAD_BYTES} is the most"),
            ));
        }
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
        self.out.write_all(&payload)
    }

    /// Begins a description of memory. Numbers start anew when there are too many; whatever is not
    /// described after this call is then gone.
    pub fn begin_memory(&mut self) -> io::Result<()> {
        if self.pages.len() >= MAX_PAGES {
            self.record(&Record::Forget)?;
            self.pages.clear();
            self.objects.clear();
            self.spaces.clear();
        }
        Ok(())
    }

    /// Describes what an object of `size` bytes holds now. `page` gives the contents of each of its
    /// pages in `present`; all others hold zeros. Pages come in rising order.
    pub fn object<'p>(
        &mut self,
        object: u64,
        size: u64,
        present: impl Iterator<Item = (u32, &'p [u8])>,
    ) -> io::Result<()> {
        let count = usize::try_from(size.div_ceil(PAGE_BYTES as u64)).map_err(io::Error::other)?;
        let known = self.objects.remove(&object);
        let fresh = known.as_ref().is_none_or(|pages| pages.len() != count);
        let mut before = known.unwrap_or_default();
        before.resize(count, 0);
        let mut changed = Vec::new();
        let mut next = 0;
        for (index, bytes) in present {
            let index = index as usize;
            if index >= count || index < next {
                continue;
            }
            for (gap, page) in before[next..index].iter_mut().enumerate() {
                if *page != 0 {
                    *page = 0;
                    changed.push(((next + gap) as u32, 0));
                }
            }
            let number = self.page(bytes)?;
            if before[index] != number {
                before[index] = number;
                changed.push((index as u32, number));
            }
            next = index + 1;
        }
        for (gap, page) in before[next..].iter_mut().enumerate() {
            if *page != 0 {
                *page = 0;
                changed.push(((next + gap) as u32, 0));
            }
        }
        self.objects.insert(object, before);
        if fresh || !changed.is_empty() {
            let mut rest = changed.as_slice();
            loop {
                let (pages, tail) = rest.split_at(rest.len().min(PAGES_A_RECORD));
                let contents = Contents { object, size, pages: pages.to_vec() };
                self.record(&Record::Contents(contents))?;
                rest = tail;
                if rest.is_empty() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Describes what an address space binds now.
    pub fn mappings(&mut self, space: u64, mappings: Vec<Mapping>) -> io::Result<()> {
        if self.spaces.get(&space) == Some(&mappings) {
            return Ok(());
        }
        self.record(&Record::Mappings(Mappings { space, mappings: mappings.clone() }))?;
        self.spaces.insert(space, mappings);
        Ok(())
    }

    /// Hands everything so far to the reader.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The number of a page's contents, written if they are new.
    fn page(&mut self, bytes: &[u8]) -> io::Result<u32> {
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        if used == 0 {
            return Ok(0);
        }
        let bytes = &bytes[..used];
        let hash = xxh3_128(bytes);
        if let Some(&number) = self.pages.get(&hash) {
            return Ok(number);
        }
        let number = self.pages.len() as u32 + 1;
        self.record(&Record::Page(bytes.to_vec()))?;
        self.pages.insert(hash, number);
        Ok(number)
    }
}
