//! Memory, images, and the state of a physical device that tests observe.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tepui_vulkan::backend::{ImageInfo, MemoryPurpose, Subresource};
use tepui_vulkan::{Error, Result};

/// Alignment of memory in bytes.
const PAGE_B: usize = 4096;

pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// State of a physical device that tests observe and change.
#[derive(Default)]
pub struct Shared {
    log: Mutex<Vec<String>>,
    /// Number and size of memory by its first address.
    allocations: Mutex<BTreeMap<u64, (u32, u64)>>,
    count: AtomicU32,
    /// Allocations until one fails; one more than that number, 0 for none.
    fails_after: AtomicI64,
    lost: AtomicBool,
    /// Keys of the shaders that were compiled.
    pub(crate) compiled: Mutex<Vec<u128>>,
    /// Samplers so far.
    pub(crate) samplers: AtomicU32,
}

impl Shared {
    /// The lines since the last call.
    pub fn log(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.log))
    }

    /// Keys of the shaders that were compiled since the last call.
    pub fn compiled(&self) -> Vec<u128> {
        std::mem::take(&mut lock(&self.compiled))
    }

    /// Adds a line.
    pub(crate) fn say(&self, line: String) {
        lock(&self.log).push(line);
    }

    /// The number of pieces of memory that there are.
    pub fn allocations(&self) -> usize {
        lock(&self.allocations).len()
    }

    /// Makes the allocation after `count` further ones fail, and no other.
    pub fn fail_after(&self, count: u32) {
        self.fails_after.store(i64::from(count) + 1, Ordering::Relaxed);
    }

    /// Loses the device.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// An address as the number of its memory and the offset in it.
    pub fn text(&self, address: u64) -> String {
        let all = lock(&self.allocations);
        match all.range(..=address).next_back() {
            Some((start, (number, size))) if address <= start + size => {
                format!("m{number}+{:#x}", address - start)
            }
            _ => "nowhere".to_owned(),
        }
    }
}

/// Memory of the host.
pub struct Memory {
    start: *mut u8,
    layout: Layout,
    /// Bytes.
    pub size: u64,
    /// Its number in the device, from 1.
    pub number: u32,
    /// State that tests observe.
    pub shared: Arc<Shared>,
}

// SAFETY: the memory is a value's own; the application synchronises access to it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Allocates memory.
    ///
    /// # Errors
    /// When there is none, or the test wants none.
    pub fn new(
        shared: &Arc<Shared>,
        size: u64,
        memory_type: u32,
        purpose: MemoryPurpose,
    ) -> Result<Memory> {
        let left = shared.fails_after.fetch_sub(1, Ordering::Relaxed);
        if left <= 0 {
            shared.fails_after.store(0, Ordering::Relaxed);
        }
        if left == 1 {
            return Err(Error::device_memory("the test wants none"));
        }
        let layout = Layout::from_size_align(size.max(1) as usize, PAGE_B)
            .map_err(|_| Error::device_memory("too large"))?;
        // SAFETY: the size is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return Err(Error::device_memory("no memory"));
        }
        let number = shared.count.fetch_add(1, Ordering::Relaxed) + 1;
        lock(&shared.allocations).insert(start as u64, (number, size));
        if let MemoryPurpose::Sets(kind) = purpose {
            shared.say(format!("m{number}: sets, kind {kind}, type {memory_type}"));
        }
        Ok(Memory { start, layout, size, number, shared: shared.clone() })
    }

    /// First byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        lock(&self.shared.allocations).remove(&(self.start as u64));
        // SAFETY: the memory is of this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// An image: rows of pixels, level after level in each layer.
pub struct Image {
    levels: Vec<Subresource>,
    layer_size: u64,
    /// Bytes.
    pub size: u64,
}

impl Image {
    /// Lays out an image.
    pub fn new(info: &ImageInfo) -> Image {
        let block = info.format.info().block;
        let (mut offset, mut levels) = (0, Vec::new());
        for level in 0..info.levels {
            let [width, height, depth] = info.extent.map(|e| u64::from((e >> level).max(1)));
            let row_pitch = width.div_ceil(block.width_px.into()) * u64::from(block.bytes);
            let depth_pitch = row_pitch * height.div_ceil(block.height_px.into());
            let size = depth_pitch * depth * u64::from(info.samples);
            levels.push(Subresource { offset, size, row_pitch, array_pitch: 0, depth_pitch });
            offset += size;
        }
        let layer_size = offset;
        levels.iter_mut().for_each(|l| l.array_pitch = layer_size);
        Image { levels, layer_size, size: layer_size * u64::from(info.layers) }
    }

    /// Location of a level of a layer.
    pub fn subresource(&self, level: u32, layer: u32) -> Subresource {
        let level = self.levels[level as usize];
        Subresource { offset: level.offset + self.layer_size * u64::from(layer), ..level }
    }
}
