//! Copies of buffers and images, fills and updates.

use std::sync::Arc;

use tepui_format::Format;
use tepui_sysval::Words as _;
use tepui_vulkan::backend::{Addresses, Backend, BufferPixels, ImageCopy, ImageInfo};
use tepui_vulkan::image::aspect_format;
use tepui_vulkan::{Error, Result, vk};

use crate::draw::{self, Draw};
use crate::encoder::{Launch, MetaEncoder};
use crate::program::Program;
use crate::view::{Area, Arrangement, Binding, Level, Memory, Texels};
use crate::words::{CopyWords, FillWords};

/// Units of a row of a copy of bytes: no side of the dispatch overflows.
const ROW: u64 = 1024;

/// Copies bytes between buffers that do not overlap.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn buffer<E: MetaEncoder>(e: &mut E, from: u64, to: u64, size: u64) -> Result<()> {
    let unit = 1u64 << (from | to | size | 16).trailing_zeros().min(4);
    let units = size / unit;
    let mut piece = |done: u64, width: u64, height: u64| {
        let memory = |address: u64| Memory {
            address: address + done,
            slice_pitch: 0,
            arrangement: Arrangement::Linear { row_pitch: (ROW * unit) as u32 },
            element: unit as u32,
        };
        let sides = [memory(from), memory(to)].map(|m| (Texels::Memory(m), [0; 3]));
        texels(e, &sides[0], &sides[1], [width as u32, height as u32, 1], 1)
    };
    let rows = units / ROW;
    if rows > 0 {
        piece(0, ROW, rows)?;
    }
    match units % ROW {
        0 => Ok(()),
        rest => piece(rows * ROW * unit, rest, 1),
    }
}

/// Fills memory with a word.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn fill<E: MetaEncoder>(e: &mut E, address: u64, size: u64, word: u32) -> Result<()> {
    let count = (size / 4) as u32;
    let words = FillWords { to: address.into(), count, word };
    e.launch(&Launch {
        program: Program::Fill,
        words: words.words(),
        bindings: &[],
        threads: [count, 1, 1],
    })
}

/// Writes one word of memory.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn word<E: MetaEncoder>(e: &mut E, address: u64, word: u32) -> Result<()> {
    let words = FillWords { to: address.into(), count: 1, word };
    e.launch(&Launch {
        program: Program::Word,
        words: words.words(),
        bindings: &[],
        threads: [1; 3],
    })
}

/// Writes bytes to memory.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn update<E: MetaEncoder>(e: &mut E, address: u64, data: &[u8]) -> Result<()> {
    let from = e.upload(data)?;
    buffer(e, from, address, data.len() as u64)
}

/// Copies pixels between a buffer and an image.
///
/// # Errors
/// As [`MetaEncoder::launch`], or when programs cannot reach the texels.
pub fn buffer_image<E: MetaEncoder>(
    e: &mut E,
    image: &ImageCopy<'_, E::Backend>,
    buffer: BufferPixels,
    extent: [u32; 3],
    to_image: bool,
) -> Result<()> {
    let part = Part::new(image, extent);
    let memory = |element: u32| {
        let row_pitch = buffer.row_pitch as u32;
        let BufferPixels { address, slice_pitch, .. } = buffer;
        let arrangement = Arrangement::Linear { row_pitch };
        Texels::Memory(Memory { address, slice_pitch, arrangement, element })
    };
    let bytes = part.level.format.info().block.bytes;
    if to_image {
        let to = e.writes(&part.level)?;
        e.before_writes(&part.area(part.size))?;
        return texels(e, &(memory(bytes), [0; 3]), &(to, part.first), part.size, 1);
    }
    let from = e.reads(&part.level)?;
    texels(e, &(from, part.first), &(memory(bytes), [0; 3]), part.size, 1)
}

/// Writes a texel to all texels of a part of an image. All rows are copies of one in memory.
///
/// # Errors
/// As [`buffer_image`].
pub fn fill_image<E: MetaEncoder>(
    e: &mut E,
    image: &ImageCopy<'_, E::Backend>,
    texel: &[u8],
    extent: [u32; 3],
) -> Result<()> {
    let address = e.upload(&texel.repeat(extent[0] as usize))?;
    let row = BufferPixels { address, row_pitch: 0, slice_pitch: 0 };
    buffer_image(e, image, row, extent, true)
}

/// Copies pixels between images.
///
/// # Errors
/// As [`buffer_image`].
pub fn image<E: MetaEncoder>(
    e: &mut E,
    from: &ImageCopy<'_, E::Backend>,
    to: &ImageCopy<'_, E::Backend>,
    extent: [u32; 3],
) -> Result<()> {
    // Depth and stencil together are copied one after the other.
    let both = vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL;
    if from.layers.aspect_mask.contains(both) {
        for aspect_mask in [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL] {
            let one = |c: &ImageCopy<'_, E::Backend>| vk::ImageSubresourceLayers {
                aspect_mask,
                ..c.layers
            };
            let a = ImageCopy { image: from.image, layers: one(from), offset: from.offset };
            let b = ImageCopy { image: to.image, layers: one(to), offset: to.offset };
            image(e, &a, &b, extent)?;
        }
        return Ok(());
    }
    // The extent is in pixels of the source, and slices of a 3D image correspond to layers of another.
    let (a, b) = (Part::new(from, extent), Part::new(to, extent));
    let size = a.size;
    let (source, target) = (e.reads(&a.level)?, e.writes(&b.level)?);
    e.before_writes(&b.area(size))?;
    texels(e, &(source, a.first), &(target, b.first), size, from.image.1.samples)
}

/// The part of a level that a copy is about.
struct Part<'a, B: Backend> {
    level: Level<'a, B>,
    /// First column, row and layer or slice, in elements.
    first: [u32; 3],
    /// Columns, rows and layers or slices, in elements.
    size: [u32; 3],
}

impl<'a, B: Backend> Part<'a, B> {
    /// The part of a copy of `extent` pixels.
    fn new(copy: &ImageCopy<'a, B>, extent: [u32; 3]) -> Part<'a, B> {
        let level = level_of(copy.image, copy.layers);
        let block = level.format.info().block;
        let [x, y, z] = copy.offset.map(|v| v.max(0) as u32);
        let (slice, slices) = match level.is_volume() {
            true => (z, extent[2]),
            false => (copy.layers.base_array_layer, copy.layers.layer_count),
        };
        Part {
            level,
            first: [x / block.width_px, y / block.height_px, slice],
            size: [extent[0].div_ceil(block.width_px), extent[1].div_ceil(block.height_px), slices],
        }
    }

    fn area(&self, size: [u32; 3]) -> Area<'a, B> {
        Area { of: self.level, first: self.first, size }
    }
}

/// The level of an image that a subresource with one aspect is about.
pub(crate) fn level_of<'a, B: Backend>(
    (image, info, addresses): (&'a Arc<B::Image>, &'a ImageInfo, Addresses),
    layers: vk::ImageSubresourceLayers,
) -> Level<'a, B> {
    let aspect = layers.aspect_mask;
    let format: Format = aspect_format(info.format, aspect);
    let plane = B::plane(image, aspect);
    Level { image, info, addresses, plane, format, level: layers.mip_level }
}

/// A side of a copy: its texels, and the first column, row and layer.
type Endpoint<'a, B> = (Texels<'a, B>, [u32; 3]);

/// Copies texels from one side to another.
fn texels<B: Backend, E: MetaEncoder<Backend = B>>(
    e: &mut E,
    (from, from_first): &Endpoint<'_, B>,
    (to, to_first): &Endpoint<'_, B>,
    size: [u32; 3],
    samples: u32,
) -> Result<()> {
    if size.contains(&0) {
        return Ok(());
    }
    let words = CopyWords { from: from.words(*from_first), to: to.words(*to_first), size };
    let words = words.words();
    let program = match (from, to) {
        (Texels::Drawn(..), _) => {
            return Err(Error::unsupported("a copy from texels that can only be drawn"));
        }
        (Texels::Memory(a), Texels::Memory(b)) => {
            // An element of an image has all samples.
            let element = a.element.max(b.element);
            let unit = 1 << element.trailing_zeros().min(4);
            Program::CopyMemory {
                unit: unit as u8,
                units: (element / unit) as u8,
                from: a.order(),
                to: b.order(),
            }
        }
        _ => Program::CopyTexels { from: from.side(), to: to.side(), samples: samples as u8 },
    };
    let mut bindings = Vec::new();
    if let Texels::Image(view, packing) = from {
        bindings.push(Binding::Bits(*view, *packing));
    }
    match to {
        Texels::Drawn(view, output, _) => draw::to_view(
            e,
            view,
            *output,
            &Draw { program, words, bindings: &bindings },
            *to_first,
            size,
        ),
        Texels::Image(view, packing) => {
            bindings.push(Binding::StorageBits(*view, *packing));
            e.launch(&Launch { program, words, bindings: &bindings, threads: size })
        }
        Texels::Memory(_) => {
            e.launch(&Launch { program, words, bindings: &bindings, threads: size })
        }
    }
}
