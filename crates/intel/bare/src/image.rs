//! Images and samplers: texels in the hardware's layout, and the states by which messages find them.

use tepui_intel_compiler::View;
use tepui_intel_layout::surface_format;
use tepui_intel_layout::{Dimension, ImageDesc, Layout, Msaa, Shape, Texel, Tiling};
use tepui_intel_packets::sampler::{
    MapFilter, MipFilter, SamplerState, ShadowFunction, TextureCoordinateMode as Mode,
};
use tepui_intel_packets::surface::{
    RenderSurfaceState, ShaderChannelSelect, SurfaceType, TileMode,
};
use tepui_ir::interp::{Compare, Filter, ImageData, SamplerData, Wrap};
use tepui_ir::{Dim, NumKind, ResKind, Resource};
use tepui_ir_gen::texels::{bytes, format_of, texels};

use crate::Error;

/// An image of the interpreter and its interpretation by a shader.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The texels.
    pub data: ImageData,
    /// Dimensionality.
    pub dim: Dim,
    /// Whether shaders see layers as an array.
    pub array: bool,
    /// The kind of texels.
    pub kind: NumKind,
    /// Whether it is a storage image or storage texel buffer.
    pub storage: bool,
}

/// A place of a texel: level, layer or slice, column, row, sample; and its index in the interpreter's level.
type Place = (Texel, usize);

impl Picture {
    /// An image as a resource declares it.
    #[must_use]
    pub fn new(data: ImageData, r: &Resource) -> Picture {
        let storage = matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer);
        Picture { data, dim: r.dim, array: r.array, kind: r.texels, storage }
    }

    fn format(&self) -> Result<tepui_format::Format, Error> {
        format_of(self.data.format).ok_or(Error::Texels(self.data.format))
    }

    /// The layout; none for texel buffers.
    fn layout(&self) -> Result<Option<Layout>, Error> {
        let [width_px, height_px, depth_px] = self.data.size;
        let dimension = match self.dim {
            Dim::Buffer => return Ok(None),
            Dim::D1 => Dimension::D1,
            Dim::D2 | Dim::Subpass => Dimension::D2,
            Dim::D3 => Dimension::D3,
            Dim::Cube => Dimension::Cube,
        };
        let shape = Shape {
            format: self.format()?,
            dimension,
            width_px,
            height_px,
            depth_px,
            layers: self.data.layers,
            samples: self.data.samples,
            levels: self.data.levels.len() as u32,
        };
        let tiling = if self.dim == Dim::D1 { Tiling::Linear } else { Tiling::Y };
        let desc = ImageDesc { shape, tiling, may_have_aux: false, linear_stride_B: None };
        Layout::new(&desc).map(Some).map_err(|e| Error::Image(e.to_string()))
    }

    /// The places of all texels of a level.
    fn places(&self, level: usize) -> impl Iterator<Item = Place> + use<> {
        let (data, [w, h, d]) = (&self.data, self.data.level_size(level));
        let (layers, samples) = (data.layers, data.samples);
        let sides = [samples, w, h, d, layers];
        (0..sides.iter().product::<u32>()).map(move |index| {
            let mut rest = index;
            let [sample, x_px, y_px, z_px, layer] = sides.map(|side| {
                let at = rest % side;
                rest /= side;
                at
            });
            let level = level as u32;
            (Texel { level, layer, x_px, y_px, z_px, sample }, index as usize)
        })
    }

    /// The bytes of the image in memory.
    ///
    /// # Errors
    /// When the hardware does not have such an image.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let format = self.format()?;
        let all = |level: &[[u64; 4]]| {
            bytes(level, format, self.kind).map_err(|e| Error::Image(e.to_string()))
        };
        let Some(layout) = self.layout()? else { return all(&self.data.levels[0]) };
        let mut out = vec![0; layout.size_B as usize];
        let n = format.info().block.bytes as usize;
        for (level, list) in self.data.levels.iter().enumerate() {
            let list = all(list)?;
            for (place, index) in self.places(level) {
                let Some(at) = layout.texel_offset_B(place) else { continue };
                out[at as usize..][..n].copy_from_slice(&list[index * n..][..n]);
            }
        }
        Ok(out)
    }

    /// Takes the texels from memory.
    ///
    /// # Errors
    /// As [`Picture::bytes`].
    pub fn take(&mut self, memory: &[u8]) -> Result<(), Error> {
        let format = self.format()?;
        let kind = self.kind;
        let all = |raw: &[u8]| texels(raw, format, kind).map_err(|e| Error::Image(e.to_string()));
        let Some(layout) = self.layout()? else {
            self.data.levels[0] = all(memory)?;
            return Ok(());
        };
        let n = format.info().block.bytes as usize;
        for level in 0..self.data.levels.len() {
            for (place, index) in self.places(level) {
                let Some(at) = layout.texel_offset_B(place) else { continue };
                self.data.levels[level][index] = all(&memory[at as usize..][..n])?[0];
            }
        }
        Ok(())
    }

    /// The surface state of a view of the image at an address.
    ///
    /// # Errors
    /// When the hardware does not have such an image.
    pub fn state(&self, view: View, address: u64) -> Result<RenderSurfaceState, Error> {
        let format = self.format()?;
        let n = format.info().block.bytes;
        let raw = match n {
            1 => tepui_format::Format::R8_UINT,
            2 => tepui_format::Format::R16_UINT,
            4 => tepui_format::Format::R32_UINT,
            _ => tepui_format::Format::R32G32_UINT,
        };
        let viewed = if view == View::Raw { raw } else { format };
        let row = surface_format::of(viewed).ok_or(Error::Texels(self.data.format))?;
        let select = RenderSurfaceState {
            surface_format: row.number,
            surface_base_address: address,
            shader_channel_select_red: ShaderChannelSelect::Red,
            shader_channel_select_green: ShaderChannelSelect::Green,
            shader_channel_select_blue: ShaderChannelSelect::Blue,
            shader_channel_select_alpha: ShaderChannelSelect::Alpha,
            ..RenderSurfaceState::default()
        };
        let Some(layout) = self.layout()? else {
            let last = self.data.size[0] - 1;
            return Ok(RenderSurfaceState {
                surface_type: SurfaceType::SurftypeBuffer,
                width: last & 0x7f,
                height: last >> 7 & 0x3fff,
                depth: last >> 21,
                surface_pitch: n - 1,
                ..select
            });
        };
        Ok(self.image_state(&layout, view, select))
    }

    fn image_state(
        &self,
        layout: &Layout,
        view: View,
        select: RenderSurfaceState,
    ) -> RenderSurfaceState {
        let [width, height, depth] = self.data.size;
        let layers = self.data.layers;
        let (surface_type, last) = match self.dim {
            Dim::D1 => (SurfaceType::Surftype1d, layers - 1),
            Dim::D3 => (SurfaceType::Surftype3d, depth - 1),
            Dim::Cube if view == View::Sampled => (SurfaceType::SurftypeCube, layers / 6 - 1),
            _ => (SurfaceType::Surftype2d, layers - 1),
        };
        let alignment = |elements: u32| match elements {
            8 => 2,
            16 => 3,
            _ => 1,
        };
        let block = layout.desc().shape.format.info().block.bytes;
        let (pitch, qpitch) = match self.dim {
            Dim::D1 => (1, (layout.row_pitch_B / u64::from(block)) as u32),
            _ => (layout.row_pitch_B as u32, layout.qpitch_el),
        };
        RenderSurfaceState {
            surface_type,
            width: width - 1,
            height: height - 1,
            depth: last,
            render_target_view_extent: last,
            surface_array: self.array || self.dim == Dim::Cube && view != View::Sampled,
            mip_count_lod: self.data.levels.len() as u32 - 1,
            mip_tail_start_lod: 15,
            surface_horizontal_alignment: alignment(layout.align_el.w),
            surface_vertical_alignment: alignment(layout.align_el.h),
            surface_pitch: pitch - 1,
            surface_qpitch: qpitch >> 2,
            tile_mode: if self.dim == Dim::D1 { TileMode::Linear } else { TileMode::Ymajor },
            number_of_multisamples: self.data.samples.trailing_zeros(),
            multisampled_surface_storage_format: layout.msaa == Msaa::Interleaved,
            cube_face_enable_positive_x: true,
            cube_face_enable_negative_x: true,
            cube_face_enable_positive_y: true,
            cube_face_enable_negative_y: true,
            cube_face_enable_positive_z: true,
            cube_face_enable_negative_z: true,
            ..select
        }
    }
}

/// The state of a sampler whose border colour is at an offset from the dynamic state base.
#[must_use]
pub fn sampler(s: &SamplerData, border: u64) -> SamplerState {
    let filter = |f| match f {
        Filter::Nearest => MapFilter::Nearest,
        Filter::Linear => MapFilter::Linear,
    };
    let [x, y, z] = s.wrap.map(|w| match w {
        Wrap::Clamp => Mode::Clamp,
        Wrap::Repeat => Mode::Wrap,
        Wrap::Mirror => Mode::Mirror,
        Wrap::MirrorOnce => Mode::MirrorOnce,
        Wrap::Border => Mode::ClampBorder,
    });
    SamplerState {
        min_mode_filter: filter(s.min),
        mag_mode_filter: filter(s.mag),
        mip_mode_filter: match s.mip {
            Filter::Nearest => MipFilter::Nearest,
            Filter::Linear => MipFilter::Linear,
        },
        min_lod: s.min_lod.clamp(0.0, 14.0),
        max_lod: s.max_lod.clamp(0.0, 14.0),
        tcx_address_control_mode: x,
        tcy_address_control_mode: y,
        tcz_address_control_mode: z,
        cube_surface_control_mode: true,
        border_color_pointer: border,
        non_normalized_coordinate_enable: s.unnormalized,
        // The function selects what gives 0. source: Mesa, genX_init_state.c (`vk_to_intel_shadow_compare_op`)
        shadow_function: match s.compare {
            None | Some(Compare::Never) => ShadowFunction::Always,
            Some(Compare::Less) => ShadowFunction::Lequal,
            Some(Compare::Equal) => ShadowFunction::Notequal,
            Some(Compare::LessOrEqual) => ShadowFunction::Less,
            Some(Compare::Greater) => ShadowFunction::Gequal,
            Some(Compare::NotEqual) => ShadowFunction::Equal,
            Some(Compare::GreaterOrEqual) => ShadowFunction::Greater,
            Some(Compare::Always) => ShadowFunction::Never,
        },
        ..SamplerState::default()
    }
}
