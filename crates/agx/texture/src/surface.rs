//! Depth and stencil buffers as the ISP's load/store unit (ZLS) accesses them: images of one level
//! that registers describe instead of a descriptor.

use tepui_agx_layout::compression::is_large_enough;
use tepui_agx_packets::texture::{ImageMode, Layout};
use tepui_format::Format;
use tepui_format::units::Extent;
use tepui_softgpu::{Access, Fault};

use crate::compression::{self, TileState};
use crate::error::Unsupported;
use crate::image::{Image, Shape};
use crate::memory::Memory;
use crate::notes::Notes;
use tepui_texel::LevelLayout;
use tepui_texel::rows::{self, MAX_SIDE};

/// The registers of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceShape {
    /// `D32_SFLOAT`, `D16_UNORM` or `S8_UINT`.
    pub format: Format,
    /// Memory layout.
    pub layout: Layout,
    /// Width and height in pixels.
    pub size_px: [u32; 2],
    /// Samples of a pixel.
    pub samples: u32,
    /// Address of the texels of layer 0.
    pub address: u64,
    /// Bytes from layer to layer.
    pub layer_stride: u64,
    /// Address of the compression metadata and bytes from layer to layer, if it is compressed.
    pub metadata: Option<(u64, u64)>,
}

/// A depth or stencil buffer.
pub struct Surface {
    image: Image,
}

impl Surface {
    /// Computes the layout.
    pub fn new(shape: &SurfaceShape) -> Result<Surface, Unsupported> {
        let [width, height] = shape.size_px;
        // The registers' compression bits apply to the whole miptree, but its small levels are not
        // compressed.
        // source: hk_cmd_draw.c, `hk_pack_zls_control`
        let compressed = is_large_enough(Extent::new(width, height), shape.samples);
        let shape = &SurfaceShape { metadata: shape.metadata.filter(|_| compressed), ..*shape };
        let mut image = Image::new(&Shape {
            format: shape.format,
            arrangement: shape.layout,
            width,
            height,
            depth: 1,
            layers: 1,
            is_3d: false,
            samples: shape.samples,
            mipmapped: false,
            page_aligned_layers: false,
            address: shape.address,
            mode: ImageMode::Normal,
            metadata: shape.metadata.map(|(address, _)| address),
            stride: 0,
            layer_stride: 0,
        })?;
        image.layer_stride = shape.layer_stride;
        if let (Some(metadata), Some((_, stride))) = (&mut image.metadata, shape.metadata) {
            metadata.layer_stride = stride;
        }
        Ok(Surface { image })
    }

    /// Pixels in each direction.
    pub fn size_px(&self) -> [u32; 2] {
        let level = self.image.level(0);
        [level.width, level.height]
    }

    fn address(&self, layer: u32) -> u64 {
        let offset = u64::from(layer).wrapping_mul(self.image.layer_stride);
        self.image.address.wrapping_add(offset).wrapping_add(self.image.level(0).offset)
    }

    /// The host address of a layer's texels, if they are contiguous.
    fn window<M: Memory>(&self, memory: &mut M, layer: u32, access: Access) -> Option<*mut u8> {
        memory.window(self.address(layer), self.image.span?, access)
    }

    fn bytes(&self) -> usize {
        self.image.sample_bytes as usize
    }

    fn offset(&self, element: u32, sample: u32) -> u64 {
        (u64::from(element) << self.image.element_shift)
            + u64::from(sample * self.image.sample_bytes)
    }

    /// Reads one sample of the pixels x, x + 1, … of a row, all of which must be inside.
    pub fn load_row<M: Memory>(
        &self,
        memory: &mut M,
        notes: &mut Notes,
        [layer, sample]: [u32; 2],
        [x, y]: [u32; 2],
        out: &mut [u32],
    ) -> Result<(), Fault> {
        let level = self.image.level(0);
        let host = self.window(memory, layer, Access::Read);
        let mut state = TileState::Plain;
        let step = level.metadata.as_ref().map_or(u32::MAX, |m| m.tile_texels()[0]);
        for (at, value) in (x..).zip(out) {
            if step != u32::MAX && (at == x || at % step == 0) {
                state =
                    compression::state(memory, notes, &self.image, level, u64::from(layer), at, y)?;
            }
            let element = match state {
                TileState::Plain => level.element(at, y),
                TileState::Solid(element) => element,
                TileState::Unknown => {
                    *value = 0;
                    continue;
                }
            };
            let offset = self.offset(element, sample);
            let mut bytes = [0; 4];
            let n = self.bytes().min(4);
            match host {
                // SAFETY: the window has the bytes of all texels of the layer.
                Some(host) => unsafe {
                    let from = host.add(offset as usize);
                    std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), n);
                },
                None => memory.read(self.address(layer).wrapping_add(offset), &mut bytes[..n])?,
            }
            *value = u32::from_le_bytes(bytes);
        }
        Ok(())
    }

    /// Reads one sample of pixels, `size` columns and rows from `at` on, all of which must be inside.
    pub fn load_rows<M: Memory>(
        &self,
        memory: &mut M,
        notes: &mut Notes,
        which @ [layer, _]: [u32; 2],
        at: [u32; 2],
        size: [usize; 2],
        texels: &mut [[u32; MAX_SIDE]; MAX_SIDE],
    ) -> Result<(), Fault> {
        let level = self.image.level(0);
        let is_plain = self.image.samples == 1 && level.metadata.is_none();
        if is_plain
            && rows::suit(level, at, size)
            && let Some(host) = self.window(memory, layer, Access::Read)
        {
            // SAFETY: the window has the bytes of all texels of the layer, and pixels are inside.
            unsafe {
                match self.bytes() {
                    4 => rows::read(level, host, at, size, texels),
                    2 => widened::<u16>(texels, |to| rows::read(level, host, at, size, to)),
                    _ => widened::<u8>(texels, |to| rows::read(level, host, at, size, to)),
                }
            }
            return Ok(());
        }
        for (y, row) in (at[1]..).zip(&mut texels[..size[1]]) {
            self.load_row(memory, notes, which, [at[0], y], &mut row[..size[0]])?;
        }
        Ok(())
    }

    /// Makes the compressed tiles of pixels uncompressed, before these are written: `size` columns
    /// and rows from `at` on, all inside.
    pub fn open<M: Memory>(
        &self,
        memory: &mut M,
        notes: &mut Notes,
        layer: u32,
        at: [u32; 2],
        size: [usize; 2],
    ) -> Result<(), Fault> {
        let level = self.image.level(0);
        let end = [0, 1].map(|k| at[k] + size[k] as u32);
        let rectangle = [at[0], at[1], end[0], end[1]];
        compression::open_tiles(memory, notes, &self.image, level, u64::from(layer), rectangle)
    }

    /// Writes one sample of pixels, `size` columns and rows from `at` on. All must be inside and in
    /// uncompressed tiles.
    pub fn store_rows<M: Memory>(
        &self,
        memory: &mut M,
        [layer, sample]: [u32; 2],
        at: [u32; 2],
        size: [usize; 2],
        texels: &[[u32; MAX_SIDE]; MAX_SIDE],
    ) -> Result<(), Fault> {
        let level = self.image.level(0);
        let host = self.window(memory, layer, Access::Write);
        if let Some(host) = host.filter(|_| self.image.samples == 1 && rows::suit(level, at, size))
        {
            // SAFETY: the window has the bytes of all texels of the layer, and pixels are inside.
            unsafe {
                match self.bytes() {
                    4 => rows::write(level, host, at, size, texels),
                    2 => rows::write(level, host, at, size, &narrowed(texels, |t| t as u16)),
                    _ => rows::write(level, host, at, size, &narrowed(texels, |t| t as u8)),
                }
            }
            return Ok(());
        }
        let bytes = self.bytes().min(4);
        for (y, row) in (at[1]..).zip(&texels[..size[1]]) {
            for (x, texel) in (at[0]..).zip(&row[..size[0]]) {
                let offset = self.offset(level.element(x, y), sample);
                let texel = &texel.to_le_bytes()[..bytes];
                match host {
                    // SAFETY: the window has the bytes of all texels of the layer, and the pixel is
                    // inside.
                    Some(host) => unsafe {
                        let to = host.add(offset as usize);
                        std::ptr::copy_nonoverlapping(texel.as_ptr(), to, bytes);
                    },
                    None => memory.write(self.address(layer).wrapping_add(offset), texel)?,
                }
            }
        }
        Ok(())
    }
}

/// Texels of fewer bits than these, as `read` gives them.
fn widened<T: Copy + Default + Into<u32>>(
    texels: &mut [[u32; MAX_SIDE]; MAX_SIDE],
    read: impl FnOnce(&mut [[T; MAX_SIDE]; MAX_SIDE]),
) {
    let mut narrow = [[T::default(); MAX_SIDE]; MAX_SIDE];
    read(&mut narrow);
    for (to, &texel) in texels.as_flattened_mut().iter_mut().zip(narrow.as_flattened()) {
        *to = texel.into();
    }
}

/// Texels of fewer bits.
fn narrowed<T: Copy + Default>(
    texels: &[[u32; MAX_SIDE]; MAX_SIDE],
    narrow: impl Fn(u32) -> T,
) -> [[T; MAX_SIDE]; MAX_SIDE] {
    let mut out = [[T::default(); MAX_SIDE]; MAX_SIDE];
    for (to, &texel) in out.as_flattened_mut().iter_mut().zip(texels.as_flattened()) {
        *to = narrow(texel);
    }
    out
}
