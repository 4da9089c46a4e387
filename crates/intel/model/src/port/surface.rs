//! Surfaces: decoded RENDER_SURFACE_STATE.

use tepui_intel_eu::Refusal;
use tepui_intel_layout::{self as layout, yf3_tile_el};
use tepui_intel_packets::Packet;
use tepui_intel_packets::Revision;
use tepui_intel_packets::surface::{
    AuxiliarySurfaceMode, RenderSurfaceState, SurfaceType, TileMode,
};
use tepui_softgpu::Contents;

use super::auxiliary::{Auxiliary, AuxiliaryKind};
use super::refusal::{refuse, unimplemented};
use crate::compressed::{View, ViewKind, clear_colour};
use crate::format::{self, Format, MAX_BYTES};
use crate::memory::{Memory, address};
use crate::order::MemoryUnit;

/// The format number of untyped buffers.
///
/// source: Mesa, isl.h (`ISL_FORMAT_RAW`).
const RAW: u32 = 0x1ff;

/// A surface.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Surface {
    /// A null surface: reads return 0, writes are dropped.
    Null,
    /// A buffer.
    Buffer(Buffer),
    /// An image.
    Image(Image),
}

/// A buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    /// GPU address of the first byte.
    pub base: u64,
    /// Number of elements.
    pub elements: u64,
    /// Stride of elements in bytes.
    pub pitch: u64,
    /// The format of typed access; none for RAW.
    pub format: Option<&'static Format>,
    /// The swizzle of the sampler's channels.
    pub swizzle: [u32; 4],
}

/// The dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    /// 1D, with layers.
    One,
    /// 2D, with layers. A cube is six layers.
    Two,
    /// 3D.
    Three,
}

/// The arrangement of elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tiling {
    /// Row by row.
    Linear,
    /// Tiles of 512 bytes by 8 rows.
    X,
    /// Tiles of 128 bytes by 32 rows.
    Y,
    /// Tiles of 64 bytes by 64 rows, for stencil.
    W,
    /// Tiles of 4 KiB whose shape depends on the bytes of an element.
    Yf {
        /// Bytes of an element.
        element: u32,
    },
    /// Yf tiles of a 3D image.
    Yf3 {
        /// Bytes of an element.
        element: u32,
    },
    /// Tiles of 64 KiB whose shape depends on the bytes of an element.
    Ys {
        /// Bytes of an element.
        element: u32,
    },
    /// Tiles as [`Tiling::Ys`] with all samples of fewer elements.
    YsSamples {
        /// Bytes of an element.
        element: u32,
        /// Samples of an element.
        samples: u32,
    },
    /// Ys tiles of a 3D image.
    Ys3 {
        /// Bytes of an element.
        element: u32,
    },
}

impl Tiling {
    /// Width and height of a tile in elements, if levels are aligned to whole tiles.
    pub(crate) fn tile_elements(self) -> Option<[u32; 2]> {
        match self {
            Tiling::Yf { element } => {
                let [bytes, rows] = yf_tile(element);
                Some([bytes / element, rows])
            }
            Tiling::Yf3 { element } => {
                let [width, height, _] = yf3_tile_el(element);
                Some([width, height])
            }
            Tiling::Ys { element } => {
                let [bytes, rows] = ys_tile(element);
                Some([bytes / element, rows])
            }
            Tiling::YsSamples { element, samples } => {
                let [width, height, _] = ys_tile_of_samples(element, samples);
                Some([width, height])
            }
            Tiling::Ys3 { element } => {
                let [width, height, _] = ys3_tile(element);
                Some([width, height])
            }
            _ => None,
        }
    }
}

/// Width in bytes and height in rows of a Yf tile.
pub(crate) fn yf_tile(element: u32) -> [u32; 2] {
    layout::Tiling::Yf.bits(element).map_or([element, 1], |bits| bits.tile().into())
}

/// Width, height and depth in elements of a 3D Ys tile.
///
/// source: Mesa, isl.c (`isl_tiling_get_info`).
pub(crate) fn ys3_tile(element: u32) -> [u32; 3] {
    let [width, height, depth] = yf3_tile_el(element);
    [4 * width, 2 * height, 2 * depth]
}

/// Width and height in elements, and the number of rows of the pitch, of a Ys tile with all samples of its elements.
///
/// source: Mesa, isl.c (`isl_tiling_get_info`).
pub(crate) fn ys_tile_of_samples(element: u32, samples: u32) -> [u32; 3] {
    let [bytes, height] = ys_tile(element);
    let bits = samples.ilog2();
    let width = (bytes / element) >> bits.div_ceil(2);
    [width, height >> (bits / 2), (1 << 16) / (width * element)]
}

/// Width in bytes and height in rows of a Ys tile.
///
/// source: Mesa, isl.c (`isl_tiling_get_info`).
pub(crate) fn ys_tile(element: u32) -> [u32; 2] {
    yf_tile(element).map(|v| 4 * v)
}

/// An image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    /// GPU address.
    pub base: u64,
    /// Dimensions.
    pub dimension: Dimension,
    /// Whether it is a cube, for which RESINFO returns the number of cubes instead of layers.
    pub cube: bool,
    /// Whether it is an array, whose length RESINFO returns.
    pub array: bool,
    /// Size of level 0 in texels: width, height, depth (1 unless 3D).
    pub size: [u32; 3],
    /// Number of accessible layers or slices.
    pub layers: u32,
    /// The first accessible layer or slice.
    pub first_layer: u32,
    /// The level that coordinates refer to.
    pub level: u32,
    /// The level that is rendered to: for the sampler, the same field is the number of levels.
    pub target_level: u32,
    /// Number of levels from there on.
    pub levels: u32,
    /// Smallest level of detail of the sampler, from that level on.
    ///
    /// Assumption: Resource Min LOD counts from the surface's first level, as Surface Min LOD does, and is applied after the sampler's range;
    /// of messages that name a level its whole part counts.
    pub min_lod: f32,
    /// Pitch in bytes, of rows of texels or of tiles.
    pub pitch: u64,
    /// Distance of layers in rows.
    pub qpitch: u64,
    /// Alignment of levels in texels, horizontal and vertical.
    pub align: [u32; 2],
    /// The arrangement of texels.
    pub tiling: Tiling,
    /// The level from which on all levels share a tile.
    pub tail: u32,
    /// An offset in texels, for views of single levels.
    pub offset: [u32; 2],
    /// The format.
    pub format: &'static Format,
    /// The swizzle of the sampler's channels.
    pub swizzle: [u32; 4],
    /// Samples of a texel.
    pub samples: u32,
    /// Whether samples are interleaved in rows instead of being in slices.
    pub interleaved: bool,
    /// The fast clear colour.
    pub clear: ClearColour,
    /// Its auxiliary surface.
    pub auxiliary: Option<Auxiliary>,
    /// How accesses see its memory, for the checker.
    pub view: View,
    /// Whether the sampler must check the auxiliary surface, because a block may be clear.
    pub may_be_clear: bool,
}

/// The colour of fast-cleared blocks.
///
/// source: genxml, gen120.xml, CLEAR_COLOR; Mesa, isl.c (`isl_get_sampler_clear_field_offset`): on Gen12 it is in
/// memory, as four channels for rendering, followed by a pixel of at most 64 bits for the sampler, which reads the
/// channels only of formats whose red has 32 bits. Of depth of 24 bits it reads the pixel in place of the first channel (Wa_2201730850).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClearColour {
    /// The channels, as render target writes convert them.
    pub channels: [u32; 4],
    /// The GPU address and the value of the pixel.
    pub pixel: Option<(u64, [u8; ClearColour::PIXEL_BYTES])>,
}

impl ClearColour {
    /// Maximum size of a converted pixel.
    pub const PIXEL_BYTES: usize = 8;

    /// Reads the colour that is in memory at an address. The checker of order does not see the read of a fast clear.
    fn read(memory: &mut Memory<'_>, at: u64, clears: bool) -> Result<ClearColour, Refusal> {
        let mut bytes = [0; 16 + ClearColour::PIXEL_BYTES];
        match clears {
            true => memory.read_untracked(at, &mut bytes),
            false => memory.read_by(MemoryUnit::State, at, &mut bytes),
        }
        .map_err(refuse)?;
        let channels =
            std::array::from_fn(|k| u32::from_le_bytes([0, 1, 2, 3].map(|i| bytes[4 * k + i])));
        let pixel = std::array::from_fn(|k| bytes[16 + k]);
        Ok(ClearColour { channels, pixel: Some((at + 16, pixel)) })
    }

    /// The GPU address of the colour, if it is in memory.
    pub fn address(&self) -> Option<u64> {
        self.pixel.map(|(at, _)| at)
    }

    /// The sampler's texel of a format.
    fn sampled(&self, format: &Format, texel: &mut [u8]) {
        match self.pixel {
            Some(_) if format.is_24_bit_depth() => {
                texel.copy_from_slice(&self.channels[0].to_le_bytes()[..texel.len()]);
            }
            Some((_, pixel)) if !format.has_32_bit_channels() && texel.len() <= pixel.len() => {
                texel.copy_from_slice(&pixel[..texel.len()]);
            }
            _ => format.pack(self.channels, texel),
        }
    }
}

impl Surface {
    /// Reads a surface state of a revision, with the address of the table of auxiliary surfaces. `clears` says whether it is for a fast clear, which converts the clear colour for the
    /// sampler. Drivers that convert it themselves give the state another address then, which they write at any time.
    ///
    /// source: Mesa, blorp_genX_exec_brw.h (`op_clear_addr`).
    pub fn read(
        memory: &mut Memory<'_>,
        at: u64,
        revision: Revision,
        auxiliary_table: u64,
        clears: bool,
    ) -> Result<Surface, Refusal> {
        let mut bytes = [0; RenderSurfaceState::SIZE_BYTES];
        memory.read_by(MemoryUnit::State, at, &mut bytes).map_err(refuse)?;
        let state = RenderSurfaceState::unpack_as(&bytes, revision)
            .map_err(|problem| refuse(format!("the surface state at {at:#x}: {problem}")))?;
        let mut surface = Surface::of(&state, auxiliary_table)?;
        if let Surface::Image(image) = &mut surface
            && state.clear_value_address_enable
        {
            image.clear = ClearColour::read(memory, address(state.clear_value_address), clears)?;
        }
        Ok(surface)
    }

    /// The surface of a state, with the address of the table of auxiliary surfaces.
    pub fn of(state: &RenderSurfaceState, table: u64) -> Result<Surface, Refusal> {
        match state.surface_type {
            SurfaceType::SurftypeNull => Ok(Surface::Null),
            SurfaceType::SurftypeBuffer => Buffer::of(state).map(Surface::Buffer),
            SurfaceType::SurftypeStrbuf => Err(unimplemented("a structured buffer")),
            _ => Image::of(state, table).map(Surface::Image),
        }
    }

    /// Determines whether the sampler must check for clear blocks. Only a fast clear creates any, so that a
    /// surface without one has none until the next draw.
    pub fn look_for_clear_blocks(&mut self, memory: &mut Memory<'_>) {
        if let Surface::Image(image) = self
            && let Some(auxiliary) = image.auxiliary.filter(|a| {
                matches!(a.kind, AuxiliaryKind::Ccs | AuxiliaryKind::InTable | AuxiliaryKind::Hiz)
            })
        {
            image.may_be_clear = auxiliary.has_clear_blocks(memory, image);
        }
    }

    /// How accesses see its memory, for the checker.
    #[inline]
    pub fn view(&self) -> View {
        match self {
            Surface::Image(image) => image.view,
            _ => View::BYTES,
        }
    }

    /// The address of `bytes` bytes at an offset of an untyped buffer; `None` outside of it.
    pub fn byte(&self, offset: u64, bytes: usize) -> Option<u64> {
        let Surface::Buffer(buffer) = self else { return None };
        let end = offset.checked_add(bytes as u64)?;
        (end <= buffer.elements * buffer.pitch).then_some(buffer.base + offset)
    }
}

fn known_format(number: u32) -> Result<&'static Format, Refusal> {
    format::find(number).ok_or_else(|| unimplemented(format!("the surface format {number:#x}")))
}

fn swizzle(state: &RenderSurfaceState) -> [u32; 4] {
    [
        state.shader_channel_select_red,
        state.shader_channel_select_green,
        state.shader_channel_select_blue,
        state.shader_channel_select_alpha,
    ]
    .map(|select| select as u32)
}

impl Buffer {
    fn of(state: &RenderSurfaceState) -> Result<Buffer, Refusal> {
        // source: Mesa, isl_surface_state.c: the number of elements minus one is spread over width (7 bits),
        // height (14 bits) and depth (11 bits).
        let elements =
            u64::from(state.depth) << 21 | u64::from(state.height) << 7 | u64::from(state.width);
        let format = match state.surface_format {
            RAW => None,
            number => Some(known_format(number)?),
        };
        Ok(Buffer {
            base: address(state.surface_base_address),
            elements: elements + 1,
            pitch: u64::from(state.surface_pitch) + 1,
            format,
            swizzle: swizzle(state),
        })
    }

    /// The address of an element; `None` outside of the buffer.
    pub fn element(&self, index: u32) -> Option<u64> {
        (u64::from(index) < self.elements).then(|| self.base + u64::from(index) * self.pitch)
    }
}

impl Image {
    /// Its auxiliary surface, if that is an MCS, which maps samples to slices.
    pub fn mcs(&self) -> Option<Auxiliary> {
        self.auxiliary.filter(|auxiliary| matches!(auxiliary.kind, AuxiliaryKind::Mcs { .. }))
    }

    /// Whether messages that name a level read it: levels below the smallest level of detail are outside of the surface.
    /// source: D3D11's SetResourceMinLOD, for which the field is: all methods that read textures adhere to it, and reads of an empty
    /// set are out of bounds
    #[inline]
    pub fn has_level(&self, lod: u32) -> bool {
        lod < self.levels && lod >= self.min_lod as u32
    }

    /// The clear colour as a texel of the image.
    ///
    /// Assumption: the sampler returns the value of a texel in the image's format, not the colour of the
    /// surface state.
    pub fn clear_texel(&self) -> [u32; 4] {
        let mut bytes = [0; MAX_BYTES];
        let texel = &mut bytes[..self.format.bytes];
        self.clear.sampled(self.format, texel);
        self.format.unpack(texel, [0; 2])
    }

    /// The use of the clear colour by the sampler, for the checker.
    pub fn used_clear(&self) -> Contents {
        let mut bytes = [0; MAX_BYTES];
        let texel = &mut bytes[..self.format.bytes];
        self.clear.sampled(self.format, texel);
        Contents::UsedClear(clear_colour(texel, self.clear.address()))
    }

    /// The clear colour as filters read it, see [`Format::raw`].
    pub fn clear_raw(&self) -> [u32; 4] {
        let mut bytes = [0; MAX_BYTES];
        let texel = &mut bytes[..self.format.bytes];
        self.clear.sampled(self.format, texel);
        self.format.raw(texel, [0; 2])
    }

    fn of(state: &RenderSurfaceState, table: u64) -> Result<Image, Refusal> {
        if state.number_of_multisamples > 4 {
            return Err(refuse("an image of more than 16 samples"));
        }
        let dimension = match state.surface_type {
            SurfaceType::Surftype1d => Dimension::One,
            SurfaceType::Surftype3d => Dimension::Three,
            _ => Dimension::Two,
        };
        let cube = state.surface_type == SurfaceType::SurftypeCube;
        let three = dimension == Dimension::Three;
        let format = known_format(state.surface_format)?;
        let tiling = match (state.tile_mode, state.tiled_resource_mode) {
            (TileMode::Linear, _) => Tiling::Linear,
            (TileMode::Xmajor, _) => Tiling::X,
            (TileMode::Wmajor, _) => Tiling::W,
            (TileMode::Ymajor, 0) => Tiling::Y,
            (TileMode::Ymajor, 1) if three => Tiling::Yf3 { element: format.bytes as u32 },
            (TileMode::Ymajor, 1) => Tiling::Yf { element: format.bytes as u32 },
            (TileMode::Ymajor, _)
                if state.number_of_multisamples != 0
                    && !state.multisampled_surface_storage_format =>
            {
                let samples = 1 << state.number_of_multisamples;
                Tiling::YsSamples { element: format.bytes as u32, samples }
            }
            (TileMode::Ymajor, _) if three => Tiling::Ys3 { element: format.bytes as u32 },
            (TileMode::Ymajor, _) => Tiling::Ys { element: format.bytes as u32 },
        };
        let align = |raw: u32| match raw {
            1..4 => Ok(2u32 << raw),
            _ => Err(refuse("an image without an alignment of its levels")),
        };
        let samples = 1 << state.number_of_multisamples;
        let layers = match (cube, three) {
            (true, _) => 6 * (state.depth + 1),
            (_, true) => state.render_target_view_extent + 1,
            _ => state.depth + 1,
        };
        let auxiliary = Auxiliary::of(state, samples, table);
        Ok(Image {
            base: address(state.surface_base_address),
            dimension,
            cube,
            array: state.surface_array,
            size: [state.width + 1, state.height + 1, if three { state.depth + 1 } else { 1 }],
            layers,
            first_layer: state.minimum_array_element,
            level: state.surface_min_lod,
            target_level: state.mip_count_lod,
            levels: state.mip_count_lod + 1,
            min_lod: (state.resource_min_lod - state.surface_min_lod as f32).max(0.0),
            pitch: u64::from(state.surface_pitch) + 1,
            // source: Mesa, isl_genX_helpers.h (`isl_get_qpitch`): 3D stencil has twice the pitch.
            qpitch: match (tiling, three) {
                (Tiling::W, true) => u64::from(state.surface_qpitch) * 8,
                _ => u64::from(state.surface_qpitch) * 4,
            },
            align: match tiling.tile_elements() {
                // source: Mesa, isl_gfx9.c (`isl_gfx9_choose_image_alignment_el`).
                _ if dimension == Dimension::One && tiling == Tiling::Linear => [64, 1],
                Some(tile) => tile,
                None => [
                    align(state.surface_horizontal_alignment)?,
                    align(state.surface_vertical_alignment)?,
                ],
            },
            tiling,
            tail: match tiling {
                _ if tiling.tile_elements().is_some() => state.mip_tail_start_lod,
                _ => u32::MAX,
            },
            // source: genxml: units of four texels and four rows.
            offset: [4 * state.x_offset, 4 * state.y_offset],
            format,
            swizzle: swizzle(state),
            samples,
            interleaved: state.multisampled_surface_storage_format,
            clear: ClearColour {
                channels: [
                    state.red_clear_color,
                    state.green_clear_color,
                    state.blue_clear_color,
                    state.alpha_clear_color,
                ],
                pixel: None,
            },
            auxiliary,
            view: match (state.auxiliary_surface_mode, auxiliary) {
                (_, Some(auxiliary)) => auxiliary.view(),
                (AuxiliarySurfaceMode::AuxNone, None) => View::PLAIN,
                (AuxiliarySurfaceMode::AuxCcsE, None) if state.depth_stencil_resource => {
                    View::through(View::TABLE, ViewKind::Compressed)
                }
                (_, None) => View::IGNORED,
            },
            may_be_clear: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tepui_softgpu::{AddressSpace, Protection};

    use super::*;

    #[test]
    fn the_sampler_reads_the_converted_pixel_of_formats_without_32_bit_channels() {
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(tepui_softgpu::Memory::new(0x1000).unwrap());
        vm.bind(0, memory, 0, 0x1000, Protection::READ | Protection::WRITE).unwrap();
        // A driver copies pixels with a format of integers, so that channels are not the image's.
        for (dword, value) in [7u32, 8, 9, 10, 0x1122_3344, 0x5566_7788].into_iter().enumerate() {
            vm.write(0x40 + 4 * dword as u64, &value.to_le_bytes()).unwrap();
        }
        let clear =
            ClearColour::read(&mut Memory::new(&vm, MemoryUnit::State), 0x40, false).unwrap();
        assert_eq!(clear.channels, [7, 8, 9, 10]);
        let sampled = |number: u32| {
            let format = format::find(number).unwrap();
            let mut texel = vec![0; format.bytes];
            clear.sampled(format, &mut texel);
            texel
        };
        // R8G8B8A8_UNORM, R16G16B16A16_UNORM, R8_UNORM.
        assert_eq!(sampled(0x0c7), [0x44, 0x33, 0x22, 0x11]);
        assert_eq!(sampled(0x080), [0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55]);
        assert_eq!(sampled(0x140), [0x44]);
        // R32_UINT, R32G32_UINT, R32G32B32A32_UINT.
        assert_eq!(sampled(0x0d7), [7, 0, 0, 0]);
        assert_eq!(sampled(0x087), [7, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(sampled(0x002)[12..], [10, 0, 0, 0]);
    }
}
