//! Images and samplers: texels in the hardware's layout, and their descriptors.

use tepui_ir::interp::{Compare, Filter, ImageData, SamplerData, Wrap};
use tepui_ir::{Dim, NumKind, ResKind, Resource};
use tepui_ir_gen::texels::{bytes, format_of, texels};
use tepui_mali_chips::Arch;
use tepui_mali_layout::{Dimension, ImageDesc, Layout, Modifier, Shape, Texel};
use tepui_mali_packets::Packet;
use tepui_mali_packets::texture::{
    CompareFunction, MipmapMode, Sampler, TextureDimension, WrapMode,
};
use tepui_mali_textures::{
    Bytes, DESCRIPTOR_B, IDENTITY, Part, Role, buffer_plane, of_buffer, of_part, planes,
};

use crate::Error;
use crate::memory::Layout as Block;

/// An image of the interpreter and its interpretation by a shader.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The texels.
    pub data: ImageData,
    /// Dimensionality.
    pub dim: Dim,
    /// The kind of texels.
    pub kind: NumKind,
    /// Storage images and storage texel buffers have it.
    pub storage: bool,
}

/// A place of a texel: level, layer or slice, column, row, sample; and its index in the interpreter's level.
type Place = (Texel, usize);

impl Picture {
    /// An image as a resource declares it.
    #[must_use]
    pub fn new(data: ImageData, r: &Resource) -> Picture {
        let storage = matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer);
        Picture { data, dim: r.dim, kind: r.texels, storage }
    }

    fn format(&self) -> Result<tepui_format::Format, Error> {
        format_of(self.data.format).ok_or(Error::Texels(self.data.format))
    }

    /// The layout; none for texel buffers.
    fn layout(&self, arch: Arch) -> Result<Option<Layout>, Error> {
        let [width_px, height_px, depth_px] = self.data.size;
        let dimension = match self.dim {
            Dim::Buffer => return Ok(None),
            Dim::D1 => Dimension::D1,
            Dim::D3 => Dimension::D3,
            Dim::D2 | Dim::Subpass | Dim::Cube => Dimension::D2,
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
        let modifier = match self.dim {
            Dim::D1 => Modifier::Linear,
            _ => Modifier::UInterleaved,
        };
        let desc = ImageDesc { arch, shape, modifier, checksums: false, explicit: None };
        Layout::new(&desc).map(Some).map_err(|e| Error::Image(e.to_string()))
    }

    /// The places of all texels of a level.
    fn places(&self, level: usize) -> impl Iterator<Item = Place> + use<> {
        let (data, [w, h, d]) = (&self.data, self.data.level_size(level));
        let sides = [data.samples, w, h, d, data.layers];
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
    pub fn bytes(&self, arch: Arch) -> Result<Vec<u8>, Error> {
        let format = self.format()?;
        let all = |level: &[[u64; 4]]| {
            bytes(level, format, self.kind).map_err(|e| Error::Image(e.to_string()))
        };
        let Some(layout) = self.layout(arch)? else { return all(&self.data.levels[0]) };
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
    pub fn take(&mut self, arch: Arch, memory: &[u8]) -> Result<(), Error> {
        let format = self.format()?;
        let kind = self.kind;
        let all = |raw: &[u8]| texels(raw, format, kind).map_err(|e| Error::Image(e.to_string()));
        let Some(layout) = self.layout(arch)? else {
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

    /// The descriptor of the image at an address; its planes are placed in memory.
    pub(crate) fn descriptor(
        &self,
        arch: Arch,
        address: u64,
        m: &mut Block,
    ) -> Result<Bytes, Error> {
        let format = self.format()?;
        let Some(layout) = self.layout(arch)? else {
            let size = u64::from(self.data.size[0]) * u64::from(format.info().block.bytes);
            let plane = m.place(&buffer_plane(format, address, size)?);
            return Ok(of_buffer(format, size, plane)?);
        };
        let (shape, layers) = match self.dim {
            Dim::D1 => (TextureDimension::N1d, self.data.layers),
            Dim::D3 => (TextureDimension::N3d, 1),
            // Stores see the faces of a cube as layers.
            Dim::Cube if !self.storage => (TextureDimension::Cube, self.data.layers),
            _ => (TextureDimension::N2d, self.data.layers),
        };
        let levels = self.data.levels.len() as u32;
        let part = Part {
            layout: &layout,
            address,
            format,
            shape,
            levels: [0, levels],
            layers: [0, layers],
            swizzle: IDENTITY,
            min_lod: 0.0,
        };
        let role = if self.storage { Role::Storage } else { Role::Sampled };
        let at = m.place(&planes(&part)?);
        Ok(of_part(&part, role, at)?)
    }
}

/// The descriptor of a sampler.
///
/// # Errors
/// When a value does not fit into its field.
pub(crate) fn sampler(s: &SamplerData) -> Result<Bytes, Error> {
    let [wrap_mode_s, wrap_mode_t, wrap_mode_r] = s.wrap.map(|w| match w {
        Wrap::Clamp => WrapMode::ClampToEdge,
        Wrap::Repeat => WrapMode::Repeat,
        Wrap::Mirror => WrapMode::MirroredRepeat,
        Wrap::MirrorOnce => WrapMode::MirroredClampToEdge,
        Wrap::Border => WrapMode::ClampToBorder,
    });
    let nearest = [s.mag, s.min].map(|f| f == Filter::Nearest);
    let [r, g, b, a] = s.border;
    let sampler = Sampler {
        wrap_mode_s,
        wrap_mode_t,
        wrap_mode_r,
        round_to_nearest_even: nearest != [true; 2],
        seamless_cube_map: true,
        normalized_coordinates: !s.unnormalized,
        clamp_integer_array_indices: false,
        magnify_nearest: nearest[0],
        minify_nearest: nearest[1],
        mipmap_mode: match s.mip {
            Filter::Nearest => MipmapMode::Nearest,
            Filter::Linear => MipmapMode::Trilinear,
        },
        minimum_lod: s.min_lod.clamp(0.0, MAX_LOD),
        maximum_lod: s.max_lod.clamp(0.0, MAX_LOD),
        // The unit compares the texel with the reference, the interpreter the reference with the texel.
        compare_function: match s.compare {
            None | Some(Compare::Never) => CompareFunction::Never,
            Some(Compare::Less) => CompareFunction::Greater,
            Some(Compare::Equal) => CompareFunction::Equal,
            Some(Compare::LessOrEqual) => CompareFunction::Gequal,
            Some(Compare::Greater) => CompareFunction::Less,
            Some(Compare::NotEqual) => CompareFunction::NotEqual,
            Some(Compare::GreaterOrEqual) => CompareFunction::Lequal,
            Some(Compare::Always) => CompareFunction::Always,
        },
        maximum_anisotropy: 1,
        border_color_r: r,
        border_color_g: g,
        border_color_b: b,
        border_color_a: a,
        ..Sampler::default()
    };
    let mut bytes = [0; DESCRIPTOR_B];
    sampler.pack_into(&mut bytes)?;
    Ok(bytes)
}

/// Largest level of detail that the fields hold: 13 bits, 8 of them after the point.
const MAX_LOD: f32 = 31.0;
