//! Writes records to bytes, with identical pages stored once.

use std::collections::HashMap;
use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_128;

use crate::record::{Contents, Mapping, Mappings, Record};
use crate::{MAGIC, MAX_PAYLOAD_BYTES, PAGE_BYTES, VERSION};

/// Limit on remembered pages: 4 GiB of them. Beyond it, the numbering is reset.
const MAX_PAGES: usize = 1 << 18;

/// Limit on the pages of one [`Contents`] record, so that no record is too long.
const PAGES_A_RECORD: usize = 1 << 20;

/// Writes a stream.
pub struct Writer<W: Write> {
    out: W,
    /// Numbers of pages by the 128-bit hash of their contents. Collisions are not handled: by
    /// chance they do not happen.
    pages: HashMap<u128, u32>,
    /// The page numbers of each object, as the last record has them.
    objects: HashMap<u64, Vec<u32>>,
    spaces: HashMap<u64, Vec<Mapping>>,
}

impl<W: Write> Writer<W> {
    /// Writes the header of a stream.
    pub fn new(mut out: W) -> io::Result<Writer<W>> {
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        Ok(Writer { out, pages: HashMap::new(), objects: HashMap::new(), spaces: HashMap::new() })
    }

    /// Writes a record that does not describe memory. [`Writer::object`] and [`Writer::mappings`]
    /// write those that do.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        let payload = postcard::to_stdvec(record).map_err(io::Error::other)?;
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        if length > MAX_PAYLOAD_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a record has {length} bytes; at most {MAX_PAYLOAD_BYTES} are allowed"),
            ));
        }
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&crc32fast::hash(&payload).to_le_bytes())?;
        self.out.write_all(&payload)
    }

    /// Begins a description of memory. If too many pages are numbered, this resets the numbering:
    /// then everything must be described again, and what is not is dropped.
    pub fn begin_memory(&mut self) -> io::Result<()> {
        if self.pages.len() >= MAX_PAGES {
            self.record(&Record::Forget)?;
            self.pages.clear();
            self.objects.clear();
            self.spaces.clear();
        }
        Ok(())
    }

    /// Describes the contents of an object of `size` bytes: [`ObjectWriter::page`] takes its pages
    /// in rising order, and those left out are zero.
    pub fn object(&mut self, object: u64, size: u64) -> io::Result<ObjectWriter<'_, W>> {
        let count = usize::try_from(size.div_ceil(PAGE_BYTES as u64)).map_err(io::Error::other)?;
        let known = self.objects.remove(&object);
        let fresh = known.as_ref().is_none_or(|pages| pages.len() != count);
        let mut numbers = known.unwrap_or_default();
        if fresh {
            numbers.clear();
            numbers.resize(count, 0);
        }
        Ok(ObjectWriter {
            writer: self,
            object,
            size,
            numbers,
            fresh,
            changed: Vec::new(),
            next: 0,
        })
    }

    /// Describes the mappings of an address space.
    pub fn mappings(&mut self, space: u64, mappings: Vec<Mapping>) -> io::Result<()> {
        if self.spaces.get(&space) == Some(&mappings) {
            return Ok(());
        }
        self.record(&Record::Mappings(Mappings { space, mappings: mappings.clone() }))?;
        self.spaces.insert(space, mappings);
        Ok(())
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns the number of a page's contents and writes a page record if they are new.
    fn page(&mut self, bytes: &[u8]) -> io::Result<u32> {
        let used = used_bytes(bytes);
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

/// Length without trailing zeros.
fn used_bytes(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<16>();
    if let Some(last) = rest.iter().rposition(|&byte| byte != 0) {
        return words.len() * 16 + last + 1;
    }
    let Some(word) = words.iter().rposition(|word| *word != [0; 16]) else { return 0 };
    let last = words[word].iter().rposition(|&byte| byte != 0).unwrap_or(0);
    word * 16 + last + 1
}

/// Describes the contents of one object.
pub struct ObjectWriter<'w, W: Write> {
    writer: &'w mut Writer<W>,
    object: u64,
    size: u64,
    /// The page numbers of the object, updated as pages are described.
    numbers: Vec<u32>,
    /// The object is new, or has another size than before.
    fresh: bool,
    changed: Vec<(u32, u32)>,
    /// The first page that is not described yet.
    next: usize,
}

impl<W: Write> ObjectWriter<'_, W> {
    /// Describes a page. A page outside the object, or before one already described, is ignored.
    pub fn page(&mut self, index: u32, bytes: &[u8]) -> io::Result<()> {
        if index as usize >= self.numbers.len() || (index as usize) < self.next {
            return Ok(());
        }
        self.zeros(index as usize);
        let number = self.writer.page(bytes)?;
        self.set(index as usize, number);
        self.next = index as usize + 1;
        Ok(())
    }

    /// Whether the page was not all zero when the object was last described.
    pub fn held(&self, index: u32) -> bool {
        self.numbers.get(index as usize).is_some_and(|&number| number != 0)
    }

    /// Ends the description.
    pub fn end(mut self) -> io::Result<()> {
        self.zeros(self.numbers.len());
        let ObjectWriter { writer, object, size, numbers, fresh, changed, .. } = self;
        writer.objects.insert(object, numbers);
        if fresh && changed.is_empty() {
            writer.record(&Record::Contents(Contents { object, size, pages: Vec::new() }))?;
        }
        for pages in changed.chunks(PAGES_A_RECORD) {
            writer.record(&Record::Contents(Contents { object, size, pages: pages.to_vec() }))?;
        }
        Ok(())
    }

    fn zeros(&mut self, end: usize) {
        for index in self.next..end {
            self.set(index, 0);
        }
    }

    fn set(&mut self, index: usize, number: u32) {
        if self.numbers[index] != number {
            self.numbers[index] = number;
            self.changed.push((index as u32, number));
        }
    }
}
