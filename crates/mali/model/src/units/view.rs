//! Textures as instructions access them: descriptors, planes, and texels in any layout and format.
//!
//! A texture descriptor points to planes, one per level of each layer. There are no texels past an image's
//! edges.
//!
// source: Mesa, pan_texture.c (`panfrost_emit_texture_payload`, `panfrost_emit_plane`).

use tepui_format::Format;
use tepui_format::block::BlockCodec;
use tepui_mali_chips::Arch;
use tepui_mali_layout::afbc::{Afbc, HEADER_B, Superblock};
use tepui_mali_layout::index_in_tile;
use tepui_mali_packets::Packet;
use tepui_mali_packets::texture::{
    AfbcCompressionMode, AfbcSuperblockSize, Astc2dDimension, ClumpFormat, ClumpOrdering, Plane,
    PlaneType, Texture, TextureDimension,
};
use tepui_softgpu::UnitMemory;
use tepui_texel::blocks::Blocks;

use super::Port;
use super::surface::{Layout, Texel};
use super::warp_access::WarpAccess;
use crate::pixels::format::{NumericType, PixelFormat};
use crate::pixels::target::{
    AfbcImage, Body, body, header_columns, interleaved_64k, u_interleaved,
};
use crate::warp::row::{LANES, Row, numbers};
use crate::warp::trap::{Trap, failed};

/// Recently read views, by handle.
#[derive(Default)]
pub struct Cache {
    entries: Vec<(u32, Option<View>)>,
}

impl Cache {
    const SIZE: usize = 64;
}

/// A texture with its descriptors read.
pub struct View {
    pub texture: Texture,
    format: PixelFormat,
    srgb: bool,
    /// Bifrost's memory layout of levels; none on Valhall, whose planes describe it.
    layout: Option<Layout>,
    /// Planes that were read, by index.
    planes: Vec<Option<Box<Surface>>>,
    blocks: Blocks,
}

/// The conversion of elements to texels.
#[derive(Clone)]
enum Content {
    Texels,
    /// Stencil in the upper byte of four.
    UpperByte,
    /// The alpha of four bytes, of which the others are 0 and not in memory.
    // source: Mesa, pan_format.c (A8_UNORM since v9), pan_texture.c (`special_clump_formats`)
    Alpha,
    Blocks {
        format: Format,
        width: u32,
        height: u32,
    },
}

/// A plane with its descriptor decoded.
struct Surface {
    plane: Plane,
    content: Content,
    /// Bytes of an element: a texel or a block.
    bytes: u64,
    afbc: Option<AfbcImage>,
}

/// Limit on the bytes of a superblock's pixels.
const SUPERBLOCK_BYTES: u32 = 256 * 16;

/// Limit on the planes that are kept.
const MAX_PLANES: u32 = 1 << 14;

impl<'vm> Port<'vm> {
    /// The texture of a handle, and memory; `None` if no table has a descriptor.
    pub fn view(
        &mut self,
        handle: u32,
    ) -> Result<Option<(&mut View, &mut UnitMemory<'vm>)>, Box<Trap>> {
        let found = self.views.entries.iter().position(|(h, _)| *h == handle);
        let bifrost = self.tables.map(|tables| tables.arch);
        let index = match found {
            Some(index) => index,
            None => {
                let view = match self.descriptor(handle)? {
                    Some(bytes) if bytes.iter().any(|b| *b != 0) => {
                        Some(View::new(&bytes, handle, bifrost)?)
                    }
                    _ => None,
                };
                if self.views.entries.len() >= Cache::SIZE {
                    self.views.entries.clear();
                }
                self.views.entries.push((handle, view));
                self.views.entries.len() - 1
            }
        };
        let memory = &mut self.memory;
        Ok(self.views.entries[index].1.as_mut().map(|view| (view, memory)))
    }
}

impl View {
    fn new(bytes: &[u8; 32], handle: u32, bifrost: Option<Arch>) -> Result<View, Box<Trap>> {
        let invalid = |e| Box::new(Trap::Invalid(format!("texture {handle:#x}: {e}")));
        let (texture, layout) = match bifrost {
            Some(arch) => {
                let (texture, layout) = Layout::read(arch, bytes).map_err(invalid)?;
                (texture, Some(layout))
            }
            None => (Texture::unpack(bytes).map_err(invalid)?, None),
        };
        let format = PixelFormat::new(texture.format).ok_or_else(|| {
            let what = format!("textures of format {:#x}", texture.format);
            Box::new(Trap::Unimplemented(what))
        })?;
        let srgb = texture.format >> 20 & 1 != 0;
        Ok(View { texture, format, srgb, layout, planes: Vec::new(), blocks: Blocks::new(1024) })
    }

    /// The numeric type of texels.
    pub fn kind(&self) -> NumericType {
        self.format.kind()
    }

    /// The format of texels.
    pub fn format(&self) -> &PixelFormat {
        &self.format
    }

    /// Width, height and depth of a level.
    pub fn size(&self, level: u32) -> [u32; 3] {
        let t = &self.texture;
        let minified = |texels: u32| (texels >> level.min(31)).max(1);
        let height = if t.dimension == TextureDimension::N1d { 1 } else { minified(t.height) };
        let volume = t.dimension == TextureDimension::N3d;
        [minified(t.width), height, if volume { minified(t.depth) } else { 1 }]
    }

    /// Number of layers; each cube counts six.
    pub fn layers(&self) -> u32 {
        let faces = if self.texture.dimension == TextureDimension::Cube { 6 } else { 1 };
        self.texture.array_size * faces
    }

    /// Whether a texel is within the image.
    fn has(&self, at: Texel) -> bool {
        let [width, height, depth] = self.size(at.level);
        let depth = match self.texture.dimension {
            TextureDimension::N3d => depth,
            _ => self.texture.sample_count,
        };
        at.x < width
            && at.y < height
            && at.z < depth
            && at.layer < self.layers()
            && at.level < self.texture.levels
    }

    /// The plane of a texel, and the slice or sample within the plane.
    fn surface(
        &mut self,
        memory: &mut UnitMemory<'_>,
        at: Texel,
    ) -> Result<(&Surface, u32), Box<Trap>> {
        let t = &self.texture;
        let level = t.minimum_level.wrapping_add(at.level);
        let (index, slice) = match self.layout {
            Some(layout) => layout.index(t, at, level),
            None => (at.layer.wrapping_mul(t.levels).wrapping_add(level), at.z),
        };
        let slot = (index % MAX_PLANES) as usize;
        if slot >= self.planes.len() {
            self.planes.resize_with(slot + 1, || None);
        }
        if self.planes[slot].is_none() || index >= MAX_PLANES {
            let plane = match self.layout {
                Some(layout) => layout.plane(memory, t, &self.format, index, level)?,
                None => {
                    let at = t.surfaces.wrapping_add(u64::from(index) * Plane::SIZE_BYTES as u64);
                    let bytes = memory.read_array::<{ Plane::SIZE_BYTES }>(at).map_err(failed)?;
                    Plane::unpack(&bytes)
                        .map_err(|e| Box::new(Trap::Invalid(format!("plane of a texture: {e}"))))?
                }
            };
            let surface = Surface::new(plane, &self.format, self.srgb)?;
            self.planes[slot] = Some(Box::new(surface));
        }
        let plane = self.planes[slot].as_deref();
        plane
            .map(|plane| (plane, slice))
            .ok_or_else(|| Box::new(Trap::Invalid("a plane of a texture".into())))
    }

    /// The address of a texel for a store; `None` past the edges of its level.
    pub fn address(
        &mut self,
        memory: &mut UnitMemory<'_>,
        at: Texel,
    ) -> Result<Option<u64>, Box<Trap>> {
        if !self.has(at) {
            return Ok(None);
        }
        let (surface, slice) = self.surface(memory, at)?;
        if !matches!(surface.content, Content::Texels) || surface.afbc.is_some() {
            let what = format!("addresses in planes of type {}", surface.plane.plane_type);
            return Err(Box::new(Trap::Unimplemented(what)));
        }
        Ok(Some(surface.element([at.x, at.y], slice)))
    }

    /// The channels of texels in the lanes of a mask, before the view's swizzle: zeros past the edges of a level.
    #[inline(always)]
    pub fn texels(
        &mut self,
        memory: &mut UnitMemory<'_>,
        at: &[Texel; LANES],
        mask: u16,
        kind: NumericType,
    ) -> Result<[Row; 4], Box<Trap>> {
        let first = at[mask.trailing_zeros() as usize % LANES];
        if together(at, first, mask) {
            let [x, y] = columns_and_rows(at);
            return self.texels_of_level(memory, [&x, &y], first, mask, kind);
        }
        let mut out = [Row::splat(0); 4];
        for lane in numbers(mask) {
            let values = self.texel(memory, at[lane], kind)?.unwrap_or_default();
            for (row, value) in out.iter_mut().zip(values) {
                row.0[lane] = value;
            }
        }
        Ok(out)
    }

    /// Version of [`View::texels`] for texels with the same level, layer and slice as a given one.
    #[inline(always)]
    pub fn texels_of_level(
        &mut self,
        memory: &mut UnitMemory<'_>,
        [x, y]: [&[u32; LANES]; 2],
        of: Texel,
        mask: u16,
        kind: NumericType,
    ) -> Result<[Row; 4], Box<Trap>> {
        let mut out = [Row::splat(0); 4];
        let there = self.there([x, y], of, mask);
        if there == 0 {
            return Ok(out);
        }
        if let Some(words) = self.words(memory, [x, y], of, there)? {
            self.format.unpack_rows(&words, there, kind, &mut out);
            return Ok(out);
        }
        for lane in numbers(there) {
            let at = Texel { x: x[lane], y: y[lane], ..of };
            let values = self.texel(memory, at, kind)?.unwrap_or_default();
            for (row, value) in out.iter_mut().zip(values) {
                row.0[lane] = value;
            }
        }
        Ok(out)
    }

    /// The lanes of a mask whose texels are within a level, layer and slice.
    #[inline(always)]
    fn there(&self, [x, y]: [&[u32; LANES]; 2], of: Texel, mask: u16) -> u16 {
        let [width, height, _] = self.size(of.level);
        let mut there = 0u16;
        for lane in 0..LANES {
            there |= u16::from(x[lane] < width && y[lane] < height) << lane;
        }
        if self.has(Texel { x: 0, y: 0, ..of }) { there & mask } else { 0 }
    }

    /// The raw words of texels in the lanes of a mask: zeros past the edges of a level. `None` if they need decoding.
    #[inline(always)]
    pub fn raw_texels(
        &mut self,
        memory: &mut UnitMemory<'_>,
        at: &[Texel; LANES],
        mask: u16,
    ) -> Result<Option<[Row; 4]>, Box<Trap>> {
        let first = at[mask.trailing_zeros() as usize % LANES];
        if !together(at, first, mask) {
            return Ok(None);
        }
        let [x, y] = columns_and_rows(at);
        let there = self.there([&x, &y], first, mask);
        if there == 0 {
            return Ok(Some([Row::splat(0); 4]));
        }
        let words = self.words(memory, [&x, &y], first, there)?;
        Ok(words.map(|words| match there == mask {
            true => words,
            false => words.map(|row| Row::splat(0).choose(there, &row)),
        }))
    }

    /// The address of `count` texels from one on, along the first axis, if they are contiguous and within their level.
    #[inline(always)]
    pub fn run(
        &mut self,
        memory: &mut UnitMemory<'_>,
        of: Texel,
        count: u32,
    ) -> Result<Option<u64>, Box<Trap>> {
        let last = Texel { x: of.x.saturating_add(count - 1), ..of };
        if !self.has(of) || !self.has(last) {
            return Ok(None);
        }
        let length = self.format.bytes() as u64;
        let (surface, slice) = self.surface(memory, of)?;
        if !matches!(surface.content, Content::Texels) || surface.bytes != length {
            return Ok(None);
        }
        let together = match &surface.afbc {
            Some(image) => image.superblock([of.x, of.y]) == image.superblock([last.x, last.y]),
            None => surface.plane.clump_ordering == ClumpOrdering::Linear,
        };
        if together { surface.texel(memory, [of.x, of.y], slice) } else { Ok(None) }
    }

    /// The raw words, or the parts that texels have, in the lanes of a mask, whose texels are all within the same level
    /// and layer; `None` if they need decoding. The values of other lanes are unspecified.
    #[inline(always)]
    fn words(
        &mut self,
        memory: &mut UnitMemory<'_>,
        [x, y]: [&[u32; LANES]; 2],
        of: Texel,
        mask: u16,
    ) -> Result<Option<[Row; 4]>, Box<Trap>> {
        let length = self.format.bytes() as u64;
        let (surface, slice) = self.surface(memory, of)?;
        if !matches!(surface.content, Content::Texels) || surface.bytes != length {
            return Ok(None);
        }
        let (mut offsets, mut written) = ([0; LANES], mask);
        let base = match &surface.afbc {
            None => {
                let Some(base) = surface.offsets([x, y], slice, mask, &mut offsets) else {
                    return Ok(None);
                };
                base
            }
            Some(image) => {
                let bytes = length as u32;
                let [width, height] = image.afbc.superblock.shifts();
                let mut left = mask;
                while left != 0 {
                    let first = left.trailing_zeros() as usize % LANES;
                    let superblock = [x[first] >> width, y[first] >> height];
                    let mut same = 0u16;
                    for lane in 0..LANES {
                        let other = (x[lane] >> width ^ superblock[0])
                            | (y[lane] >> height ^ superblock[1]);
                        same |= u16::from(other == 0) << lane;
                    }
                    same &= left;
                    left &= !same;
                    let Some(pixels) = surface.body(memory, image, superblock, slice)? else {
                        written &= !same;
                        continue;
                    };
                    if pixels > u32::MAX - SUPERBLOCK_BYTES {
                        return Ok(None);
                    }
                    for lane in 0..LANES {
                        let row = (y[lane] & ((1 << height) - 1)) << width;
                        let own = pixels + (row | x[lane] & ((1 << width) - 1)) * bytes;
                        let chosen = (u32::from(same) >> lane & 1).wrapping_neg();
                        offsets[lane] = offsets[lane] & !chosen | own & chosen;
                    }
                }
                surface.slice(slice)
            }
        };
        let mut words = [Row::splat(0); 4];
        if written != 0 {
            let access = WarpAccess::at_offsets(memory, base, &offsets, written, length);
            if !access.is_some_and(|access| access.load_texels(length, &mut words)) {
                return Ok(None);
            }
        }
        if written != mask {
            for row in &mut words[..(length as usize).div_ceil(4)] {
                *row = Row::splat(0).choose(written, row);
            }
        }
        Ok(Some(words))
    }

    /// The channels of a texel, before the view's swizzle; `None` past the edges of its level.
    pub fn texel(
        &mut self,
        memory: &mut UnitMemory<'_>,
        at: Texel,
        kind: NumericType,
    ) -> Result<Option<[u32; 4]>, Box<Trap>> {
        if !self.has(at) {
            return Ok(None);
        }
        let (surface, slice) = self.surface(memory, at)?;
        let length = surface.bytes as usize;
        let mut bytes = [0; 16];
        match surface.content.clone() {
            Content::Texels => {
                if let Some(address) = surface.texel(memory, [at.x, at.y], slice)? {
                    memory.read(address, &mut bytes[..length]).map_err(failed)?;
                }
                Ok(Some(self.format.unpack(&bytes[..length], kind)))
            }
            Content::UpperByte => {
                if let Some(address) = surface.texel(memory, [at.x, at.y], slice)? {
                    memory.read(address, &mut bytes[..length]).map_err(failed)?;
                }
                Ok(Some(self.format.unpack(&bytes[3..4], kind)))
            }
            Content::Alpha => {
                if let Some(address) = surface.texel(memory, [at.x, at.y], slice)? {
                    memory.read(address, &mut bytes[3..4]).map_err(failed)?;
                }
                Ok(Some(self.format.unpack(&bytes[..4], kind)))
            }
            Content::Blocks { format, width, height } => {
                let address = surface.element([at.x / width, at.y / height], slice);
                let within = (at.y % height * width + at.x % width) as usize;
                memory.read(address, &mut bytes[..length]).map_err(failed)?;
                let texel = self.blocks.texel(format, u128::from_le_bytes(bytes), within);
                Ok(Some(self.format.ordered(texel)))
            }
        }
    }
}

/// Whether all texels of the lanes of a mask have the level, layer and slice of a given one.
#[inline(always)]
fn together(at: &[Texel; LANES], first: Texel, mask: u16) -> bool {
    let mut same = true;
    for (lane, at) in at.iter().enumerate() {
        let like = at.z == first.z && at.layer == first.layer && at.level == first.level;
        same &= like || mask >> lane & 1 == 0;
    }
    same
}

#[inline(always)]
fn columns_and_rows(at: &[Texel; LANES]) -> [[u32; LANES]; 2] {
    let mut out = [[0; LANES]; 2];
    for (lane, at) in at.iter().enumerate() {
        [out[0][lane], out[1][lane]] = [at.x, at.y];
    }
    out
}

impl Surface {
    fn new(plane: Plane, format: &PixelFormat, srgb: bool) -> Result<Surface, Box<Trap>> {
        let unimplemented = |what: String| Box::new(Trap::Unimplemented(what));
        let mut bytes = format.bytes() as u64;
        let (mut content, mut afbc) = (Content::Texels, None);
        match plane.plane_type {
            PlaneType::Generic => {
                let (element, name) = clump(plane.clump_format, srgb).ok_or_else(|| {
                    unimplemented(format!("textures of clumps {}", plane.clump_format))
                })?;
                bytes = if element == 0 { bytes } else { element };
                if let Some(name) = name {
                    content = blocks(name)?;
                } else if plane.clump_format == ClumpFormat::X24s8 {
                    content = Content::UpperByte;
                } else if plane.clump_format == ClumpFormat::A8 && bytes == 4 {
                    (bytes, content) = (1, Content::Alpha);
                }
            }
            PlaneType::Astc2d => {
                let side = |dimension| match dimension {
                    Astc2dDimension::N4 => 4,
                    Astc2dDimension::N5 => 5,
                    Astc2dDimension::N6 => 6,
                    Astc2dDimension::N8 => 8,
                    Astc2dDimension::N10 => 10,
                    Astc2dDimension::N12 => 12,
                };
                let size = [side(plane.block_width_2d), side(plane.block_height_2d)];
                let numeric = match (srgb, plane.decode_hdr) {
                    (true, _) => "SRGB",
                    (false, true) => "SFLOAT",
                    (false, false) => "UNORM",
                };
                content = blocks(&format!("ASTC_{}x{}_{numeric}_BLOCK", size[0], size[1]))?;
                bytes = 16;
            }
            PlaneType::Afbc => {
                let superblock = match plane.superblock_size {
                    AfbcSuperblockSize::N16x16 => Superblock::S16x16,
                    AfbcSuperblockSize::N32x8 => Superblock::S32x8,
                    AfbcSuperblockSize::N64x4 => Superblock::S64x4,
                };
                let image = Afbc { superblock, tiled: plane.tiled_header, ..Afbc::PLAIN };
                let stride = header_columns(image, plane.row_stride.into());
                afbc = Some(AfbcImage { afbc: image, stride, body_offset: 0 });
                // Stencil interleaved with depth.
                if plane.compression_mode == AfbcCompressionMode::X24s8 {
                    (bytes, content) = (4, Content::UpperByte);
                }
            }
            other => return Err(unimplemented(format!("textures in planes of type {other}"))),
        }
        Ok(Surface { plane, content, bytes, afbc })
    }

    /// The address of an element: a texel or a block.
    #[inline(always)]
    fn element(&self, [x, y]: [u32; 2], z: u32) -> u64 {
        let row = u64::from(self.plane.row_stride);
        let offset = match (self.plane.clump_ordering, &self.content) {
            (ClumpOrdering::Linear, _) => u64::from(y) * row + u64::from(x) * self.bytes,
            (ClumpOrdering::Interleaved64k, _) => interleaved_64k([x, y], row, self.bytes),
            (_, Content::Blocks { .. }) => {
                // Tiles of 4×4 blocks.
                let tile = u64::from(y / 4) * row + u64::from(x / 4) * 16 * self.bytes;
                let within = tepui_mali_layout::index_in_tile(x % 4, y % 4);
                tile + u64::from(within) * self.bytes
            }
            (ClumpOrdering::TiledUInterleaved, _) => u_interleaved([x, y], row, self.bytes),
        };
        self.slice(z).wrapping_add(offset)
    }

    /// The address of a texel; `None` in a superblock that was never written.
    #[inline(always)]
    fn texel(
        &self,
        memory: &mut UnitMemory<'_>,
        at: [u32; 2],
        z: u32,
    ) -> Result<Option<u64>, Box<Trap>> {
        let Some(image) = &self.afbc else { return Ok(Some(self.element(at, z))) };
        let body = self.body(memory, image, image.superblock(at), z)?;
        let within = image.within(at) * self.bytes;
        Ok(body.map(|body| self.slice(z).wrapping_add(u64::from(body) + within)))
    }

    /// The address of a slice.
    #[inline(always)]
    fn slice(&self, z: u32) -> u64 {
        let offset = i64::from(self.plane.slice_stride) * i64::from(z);
        self.plane.pointer.wrapping_add_signed(offset)
    }

    /// Byte offsets of texels from an address, if the image's size fits in 32 bits.
    #[inline(always)]
    fn offsets(
        &self,
        [x, y]: [&[u32; LANES]; 2],
        z: u32,
        mask: u16,
        out: &mut [u32; LANES],
    ) -> Option<u64> {
        let (mut columns, mut rows) = (0, 0);
        for lane in 0..LANES {
            let active = (u32::from(mask) >> lane & 1).wrapping_neg();
            columns = columns.max(x[lane] & active);
            rows = rows.max(y[lane] & active);
        }
        let (stride, bytes) = (self.plane.row_stride, self.bytes as u32);
        let far = |row: u32, column: u64| u64::from(row) * u64::from(stride) + column;
        match self.plane.clump_ordering {
            ClumpOrdering::Linear if far(rows, u64::from(columns) * self.bytes) < 1 << 31 => {
                for lane in 0..LANES {
                    out[lane] =
                        y[lane].wrapping_mul(stride).wrapping_add(x[lane].wrapping_mul(bytes));
                }
            }
            ClumpOrdering::TiledUInterleaved
                if far(rows / 16, (u64::from(columns) + 16) * 16 * self.bytes) < 1 << 31 =>
            {
                for lane in 0..LANES {
                    let tile = (y[lane] / 16).wrapping_mul(stride);
                    let within = (x[lane] / 16 * 256 + index_in_tile(x[lane] % 16, y[lane] % 16))
                        .wrapping_mul(bytes);
                    out[lane] = tile.wrapping_add(within);
                }
            }
            _ => return None,
        }
        Some(self.slice(z))
    }

    /// The offset of a superblock's pixels from the first header; `None` if it was never written.
    #[inline]
    fn body(
        &self,
        memory: &mut UnitMemory<'_>,
        image: &AfbcImage,
        [x, y]: [u32; 2],
        z: u32,
    ) -> Result<Option<u32>, Box<Trap>> {
        let index = image.afbc.header_index(x, y, image.stride);
        let header = self.slice(z).wrapping_add(index * HEADER_B);
        match body(memory.read_array(header).map_err(failed)?) {
            Body::Empty => Ok(None),
            Body::Plain(offset) => Ok(Some(offset)),
            Body::Compressed => {
                let what = "superblocks of AFBC that this GPU has not written";
                Err(Box::new(Trap::Unimplemented(what.into())))
            }
        }
    }
}

/// Bytes of a clump of texels (0: the format's) and, if it is a compressed block, its format.
fn clump(format: ClumpFormat, srgb: bool) -> Option<(u64, Option<&'static str>)> {
    let either = |linear, encoded| Some(if srgb { encoded } else { linear });
    Some(match format {
        ClumpFormat::Raw8
        | ClumpFormat::Raw16
        | ClumpFormat::Raw24
        | ClumpFormat::Raw32
        | ClumpFormat::Raw48
        | ClumpFormat::Raw64
        | ClumpFormat::Raw96
        | ClumpFormat::Raw128
        | ClumpFormat::A8
        | ClumpFormat::L8a8
        | ClumpFormat::S8 => (0, None),
        ClumpFormat::X24s8 => (4, None),
        ClumpFormat::D32x32 => (8, None),
        ClumpFormat::Etc2Rgb8 => (8, either("ETC2_R8G8B8_UNORM_BLOCK", "ETC2_R8G8B8_SRGB_BLOCK")),
        ClumpFormat::Etc2Rgb8a1 => {
            (8, either("ETC2_R8G8B8A1_UNORM_BLOCK", "ETC2_R8G8B8A1_SRGB_BLOCK"))
        }
        ClumpFormat::Etc2Rgba8 => {
            (16, either("ETC2_R8G8B8A8_UNORM_BLOCK", "ETC2_R8G8B8A8_SRGB_BLOCK"))
        }
        ClumpFormat::Etc2R11Unorm => (8, Some("EAC_R11_UNORM_BLOCK")),
        ClumpFormat::Etc2R11Snorm => (8, Some("EAC_R11_SNORM_BLOCK")),
        ClumpFormat::Etc2Rg11Unorm => (16, Some("EAC_R11G11_UNORM_BLOCK")),
        ClumpFormat::Etc2Rg11Snorm => (16, Some("EAC_R11G11_SNORM_BLOCK")),
        ClumpFormat::Bc1Unorm => (8, either("BC1_RGBA_UNORM_BLOCK", "BC1_RGBA_SRGB_BLOCK")),
        ClumpFormat::Bc2Unorm => (16, either("BC2_UNORM_BLOCK", "BC2_SRGB_BLOCK")),
        ClumpFormat::Bc3Unorm => (16, either("BC3_UNORM_BLOCK", "BC3_SRGB_BLOCK")),
        ClumpFormat::Bc4Unorm => (8, Some("BC4_UNORM_BLOCK")),
        ClumpFormat::Bc4Snorm => (8, Some("BC4_SNORM_BLOCK")),
        ClumpFormat::Bc5Unorm => (16, Some("BC5_UNORM_BLOCK")),
        ClumpFormat::Bc5Snorm => (16, Some("BC5_SNORM_BLOCK")),
        ClumpFormat::Bc6hUf16 => (16, Some("BC6H_UFLOAT_BLOCK")),
        ClumpFormat::Bc6hSf16 => (16, Some("BC6H_SFLOAT_BLOCK")),
        ClumpFormat::Bc7Unorm => (16, either("BC7_UNORM_BLOCK", "BC7_SRGB_BLOCK")),
        _ => return None,
    })
}

fn blocks(name: &str) -> Result<Content, Box<Trap>> {
    let unknown = || Box::new(Trap::Unimplemented(format!("textures of format {name}")));
    let format: Format = name.parse().map_err(|_| unknown())?;
    BlockCodec::new(format).map_err(|_| unknown())?;
    let block = format.info().block;
    Ok(Content::Blocks { format, width: block.width_px, height: block.height_px })
}

#[cfg(test)]
mod tests {
    use tepui_mali_packets::texture::Format;

    use super::*;

    /// An alpha-only texel is a byte, whatever the format in which it is read.
    #[test]
    fn alphas_are_single_bytes() {
        for (code, alpha) in [(Format::Rgba8Unorm, true), (Format::R8Unorm, false)] {
            let format = PixelFormat::new((code.raw() as u32) << 12).expect("known");
            let plane = Plane {
                plane_type: PlaneType::Generic,
                clump_format: ClumpFormat::A8,
                clump_ordering: ClumpOrdering::Linear,
                row_stride: 64,
                ..Plane::default()
            };
            let surface = Surface::new(plane, &format, false).expect("a surface");
            assert_eq!(matches!(surface.content, Content::Alpha), alpha);
            assert_eq!(surface.element([5, 2], 0), 2 * 64 + 5);
        }
    }

    #[test]
    fn stencils_of_compressed_depths_are_the_upper_bytes() {
        let format = PixelFormat::new((Format::S8.raw() as u32) << 12).expect("known");
        let plane = Plane {
            plane_type: PlaneType::Afbc,
            compression_mode: AfbcCompressionMode::X24s8,
            row_stride: 16,
            ..Plane::default()
        };
        let surface = Surface::new(plane, &format, false).expect("a surface");
        assert!(matches!(surface.content, Content::UpperByte) && surface.bytes == 4);
        let plane = Plane { compression_mode: AfbcCompressionMode::S8, ..plane };
        let surface = Surface::new(plane, &format, false).expect("a surface");
        assert!(matches!(surface.content, Content::Texels) && surface.bytes == 1);
    }
}
