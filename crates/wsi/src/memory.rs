//! Memory of images that the server of the window system maps.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::capabilities::Extent;
use crate::error::{Error, Property, Result};
use crate::format::Format;
use crate::swapchain::{Pixels, SharedImage};

/// Rows of pixels of one image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) extent: Extent,
    pub(crate) format: Format,
}

impl Layout {
    /// Bytes of the pixels of a row.
    pub(crate) fn used(&self) -> usize {
        self.extent.width as usize * self.format.bytes() as usize
    }

    /// Bytes of a row that ends on a word.
    pub(crate) fn row(&self) -> usize {
        self.format.row_bytes(self.extent.width) as usize
    }

    pub(crate) fn rows(&self) -> usize {
        self.extent.height as usize
    }

    /// An error unless the rows of an image lie in `bytes`.
    pub(crate) fn check_rows(&self, bytes: &[u8], pitch: usize) -> Result<()> {
        if pitch < self.used() {
            return Err(Error::Unsupported(Property::Layout));
        }
        let before_last = pitch.checked_mul(self.rows().saturating_sub(1));
        let needed = before_last.and_then(|bytes| bytes.checked_add(self.used()));
        match needed {
            Some(needed) if needed <= bytes.len() => Ok(()),
            _ => Err(Error::ImageMemory {
                needed: needed.map_or(u64::MAX, |needed| needed as u64),
                given: bytes.len() as u64,
            }),
        }
    }
}

/// Memory of a file, mapped here.
struct Mapping {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the value; its memory is shared with the server, which only reads it,
// or with a driver that orders its accesses.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(file: BorrowedFd<'_>, length: usize, access: ProtFlags) -> Result<Mapping> {
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, file, 0)?
        };
        let base = NonNull::new(base.cast()).ok_or(Error::OutOfMemory)?;
        Ok(Mapping { base, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no reference into it outlives the value.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// The memory of one image: of the driver, or a `memfd` of its own.
pub(crate) struct ImageMemory {
    file: OwnedFd,
    /// For memory of its own, where it can be written; for the driver's once it had to be read.
    mapping: Option<Mapping>,
    own: bool,
    pub(crate) offset: u64,
    pub(crate) pitch: u32,
    pub(crate) layout: Layout,
}

impl ImageMemory {
    /// Memory of its own if the driver has none.
    pub(crate) fn new(image: Option<SharedImage>, layout: Layout) -> Result<ImageMemory> {
        if let Some(SharedImage { memory, offset, pitch, .. }) = image {
            return Ok(ImageMemory {
                file: memory,
                mapping: None,
                own: false,
                offset,
                pitch,
                layout,
            });
        }
        let length = layout.row() * layout.rows();
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("tepui-swapchain", flags)?;
        rustix::fs::ftruncate(&file, length as u64)?;
        // The server need not fear that reading its mapping fails.
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::SEAL)?;
        let mapping = Mapping::new(file.as_fd(), length, ProtFlags::READ | ProtFlags::WRITE)?;
        let pitch = layout.row() as u32;
        Ok(ImageMemory { file, mapping: Some(mapping), own: true, offset: 0, pitch, layout })
    }

    /// The file, for the server.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// A second descriptor of the file, for a request that takes one.
    pub(crate) fn duplicate(&self) -> Result<OwnedFd> {
        Ok(rustix::io::fcntl_dupfd_cloexec(&self.file, 0)?)
    }

    /// Bytes from the start of the file to the end of the image.
    pub(crate) fn end(&self) -> u64 {
        self.offset + u64::from(self.pitch) * u64::from(self.layout.extent.height)
    }

    /// Brings the pixels here, if they are not.
    pub(crate) fn store(&mut self, pixels: Pixels<'_>) -> Result<()> {
        let (layout, pitch) = (self.layout, self.pitch as usize);
        let target = match (&mut self.mapping, self.own) {
            (Some(mapping), true) => {
                // SAFETY: the mapping has this length and is readable and writable; `self` is borrowed
                // mutably, and the server does not write.
                unsafe { std::slice::from_raw_parts_mut(mapping.base.as_ptr(), mapping.length) }
            }
            _ => {
                return match pixels {
                    Pixels::InPlace => Ok(()),
                    _ => Err(Error::Unsupported(Property::Pixels)),
                };
            }
        };
        match pixels {
            Pixels::InPlace => {}
            Pixels::Fill(fill) => fill(target, pitch),
            Pixels::Rows { bytes, pitch: from } => {
                layout.check_rows(bytes, from)?;
                if from == pitch && bytes.len() >= target.len() {
                    target.copy_from_slice(&bytes[..target.len()]);
                } else {
                    for (to, row) in target.chunks_exact_mut(pitch).zip(bytes.chunks(from)) {
                        to[..layout.used()].copy_from_slice(&row[..layout.used()]);
                    }
                }
            }
        }
        Ok(())
    }

    /// The pixels, read from the memory: the rows, and the bytes from one to the next.
    pub(crate) fn read(&mut self) -> Result<(&[u8], usize)> {
        let end = usize::try_from(self.end()).map_err(|_| Error::OutOfMemory)?;
        if self.mapping.is_none() {
            // From the start of the file: a mapping must begin on a page, the image need not.
            self.mapping = Some(Mapping::new(self.file.as_fd(), end, ProtFlags::READ)?);
        }
        let mapping = self.mapping.as_ref().ok_or(Error::OutOfMemory)?;
        // SAFETY: the mapping has at least `end` bytes and is readable; the driver does not write to an
        // image that it has given away.
        let bytes = unsafe { std::slice::from_raw_parts(mapping.base.as_ptr(), end) };
        Ok((&bytes[self.offset as usize..], self.pitch as usize))
    }
}
