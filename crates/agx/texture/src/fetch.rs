//! Texel fetch: from element indices to the bits of texels.

use tepui_agx_layout::PAGE_B;
use tepui_agx_packets::Packet;
use tepui_agx_packets::texture::SparseBlock;
use tepui_softgpu::Access;
use tepui_texel::lanes;

use crate::compression;
use crate::image::{Image, sparse_entry};
use crate::lanes::{Kernels, Texels};
use crate::memory::Memory;
use crate::notes::{Note, Notes};
use crate::{LANES, Row};

/// Reads texels of one image for one instruction.
pub(crate) struct Fetcher<'a, M> {
    pub memory: &'a mut M,
    pub notes: &'a mut Notes,
    pub image: &'a Image,
    /// Lanes that read.
    pub exec: u32,
    /// Lanes that read a non-resident page of a sparse image.
    pub absent: u32,
    /// The host address of the image if all of it is contiguous.
    pub(crate) whole: Option<*const u8>,
}

impl<'a, M: Memory> Fetcher<'a, M> {
    pub fn new(memory: &'a mut M, notes: &'a mut Notes, image: &'a Image, exec: u32) -> Self {
        let whole = image
            .span
            .and_then(|span| memory.window(image.address, span, Access::Read))
            .map(<*mut u8>::cast_const);
        Fetcher { memory, notes, image, exec, absent: 0, whole }
    }

    /// The bits of texels, in as many words as the format has. `elements` are the element indices
    /// of the texels; those in solid tiles of a compressed image are changed to the element that
    /// holds the colour.
    pub fn words(
        &mut self,
        kernels: &Kernels,
        texels: &Texels<'_>,
        elements: &mut Row,
        words: &mut [Row; 4],
    ) {
        let mut zero = 0;
        if self.image.metadata.is_some() {
            let exec = self.reading(texels);
            let Fetcher { memory, notes, image, .. } = self;
            zero = compression::redirect(*memory, notes, image, texels, exec, elements);
        }
        let offsets = self.offsets(kernels, texels, elements);
        match self.whole {
            // SAFETY: `whole` is valid for `image.span` bytes, within which all texels inside their
            // levels, layers inside the image and samples below its number lie.
            Some(host) => unsafe { gather(host, &offsets, self.image.sample_bytes, words) },
            None if self.image.layer_table.is_some() => {
                zero |= self.sparse(texels, &offsets, words);
            }
            None => self.scattered(self.reading(texels), &offsets, words),
        }
        if zero != 0 {
            for word in words.iter_mut() {
                for (i, w) in word.iter_mut().enumerate() {
                    *w &= (zero >> i & 1).wrapping_sub(1);
                }
            }
        }
    }

    /// The lanes that need a texel.
    fn reading(&self, texels: &Texels<'_>) -> u32 {
        let mut outside = 0;
        for (i, o) in texels.outside.iter().enumerate() {
            outside |= (o & 1) << i;
        }
        self.exec & !outside
    }

    /// Byte offsets from the image's address.
    #[inline]
    fn offsets(&self, kernels: &Kernels, texels: &Texels<'_>, elements: &Row) -> [u64; LANES] {
        debug_assert!(texels.layer.iter().all(|&l| l < self.image.layers));
        debug_assert!(texels.sample.iter().all(|&s| s < self.image.samples));
        let mut out = [0; LANES];
        kernels.offsets(elements, texels.level.offset, self.image.element_shift, &mut out);
        if self.image.layers > 1 {
            for i in 0..LANES {
                out[i] += u64::from(texels.layer[i]) * self.image.layer_stride;
            }
        }
        if self.image.samples > 1 {
            for i in 0..LANES {
                out[i] += u64::from(texels.sample[i] * self.image.sample_bytes);
            }
        }
        out
    }

    /// Texels of an image that may not be contiguous in host memory.
    #[cold]
    fn scattered(&mut self, exec: u32, offsets: &[u64; LANES], words: &mut [Row; 4]) {
        if exec == 0 {
            return;
        }
        let bytes = self.image.sample_bytes;
        let (mut low, mut high) = (u64::MAX, 0);
        for i in lanes(exec) {
            low = low.min(offsets[i]);
            high = high.max(offsets[i]);
        }
        let start = self.image.address.wrapping_add(low);
        let size = high - low + u64::from(bytes);
        if let Some(host) = self.memory.window(start, size, Access::Read) {
            let mut inside = [0; LANES];
            for i in lanes(exec) {
                inside[i] = offsets[i] - low;
            }
            // SAFETY: the window covers the texels of all active lanes; inactive lanes read that of
            // the first active one.
            unsafe { gather(host, &inside, bytes, words) };
            return;
        }
        for i in lanes(exec) {
            self.read(self.image.address.wrapping_add(offsets[i]), i, words);
        }
    }

    /// Texels of a sparse image; returns the lanes whose page is not resident.
    fn sparse(&mut self, texels: &Texels<'_>, offsets: &[u64; LANES], words: &mut [Row; 4]) -> u32 {
        let mut absent = 0;
        for i in lanes(self.reading(texels)) {
            let layer = u64::from(texels.layer[i]);
            let offset = offsets[i] - layer * self.image.layer_stride;
            match sparse_address(self.memory, self.image, layer, offset) {
                Ok(Some(address)) => self.read(address, i, words),
                Ok(None) => absent |= 1 << i,
                Err(fault) => {
                    self.notes.add(Note::Unmapped { address: fault.address });
                    absent |= 1 << i;
                }
            }
        }
        self.absent |= absent;
        absent
    }

    /// The texel of a lane; zero if it is not mapped.
    fn read(&mut self, address: u64, lane: usize, words: &mut [Row; 4]) {
        let mut bytes = [0; 16];
        let texel = &mut bytes[..self.image.sample_bytes as usize];
        if self.memory.read(address, texel).is_err() {
            texel.fill(0);
            self.notes.add(Note::Unmapped { address });
        }
        for (w, word) in words.iter_mut().enumerate() {
            let at = 4 * w;
            word[lane] =
                u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        }
    }
}

/// The address of a byte of a layer of a sparse image, if its page is resident.
pub(crate) fn sparse_address<M: Memory>(
    memory: &mut M,
    image: &Image,
    layer: u64,
    offset: u64,
) -> Result<Option<u64>, tepui_softgpu::Fault> {
    let layer_b = image.layer_table.unwrap_or(0);
    let mut bytes = [0; 4];
    memory.read(sparse_entry(image.address, layer_b, layer, offset), &mut bytes)?;
    // Any four bytes unpack to an entry, apart from unknown bits, which do not change the address.
    let entry = SparseBlock::unpack_lossy(&bytes).map(|(entry, _)| entry);
    Ok(entry.ok().filter(|e| e.enabled).map(|e| e.address + offset % PAGE_B))
}

/// Reads a texel for each lane.
///
/// # Safety
/// `host` must be valid for reads of `bytes` bytes at each offset.
#[inline]
unsafe fn gather(host: *const u8, offsets: &[u64; LANES], bytes: u32, words: &mut [Row; 4]) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => {
                for i in 0..LANES {
                    words[0][i] = u32::from(host.add(offsets[i] as usize).read());
                }
            }
            2 => {
                for i in 0..LANES {
                    let p = host.add(offsets[i] as usize).cast::<u16>();
                    words[0][i] = u32::from(p.read_unaligned());
                }
            }
            4 => {
                for i in 0..LANES {
                    words[0][i] = host.add(offsets[i] as usize).cast::<u32>().read_unaligned();
                }
            }
            8 => {
                for i in 0..LANES {
                    let both = host.add(offsets[i] as usize).cast::<u64>().read_unaligned();
                    words[0][i] = both as u32;
                    words[1][i] = (both >> 32) as u32;
                }
            }
            _ => {
                for i in 0..LANES {
                    let all = host.add(offsets[i] as usize).cast::<[u32; 4]>().read_unaligned();
                    for (word, value) in words.iter_mut().zip(all) {
                        word[i] = value;
                    }
                }
            }
        }
    }
}
