//! Images: loads of texels, their addresses, and stores with conversion.
//!
//! A texture descriptor points to planes, one for each level of each layer. Texels beyond an image's
//! edges read as zero, and stores there do nothing.
//!
// source: Mesa, pan_texture.c (`panfrost_emit_texture_payload`, `panfrost_emit_plane`),
// bifrost_compile.c (`va_emit_image_coord`, `bi_emit_image_store`), ISA.xml.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::{RegisterFormat, RoundMode};
use tepui_mali_layout::index_in_tile;
use tepui_mali_packets::Packet;
use tepui_mali_packets::texture::{ClumpOrdering, Plane, PlaneType, Texture, TextureDimension};
use tepui_softgpu::Access;

use super::super::alu::rounding::to_half;
use super::super::op::{Handler, Lanes, Op, Trap};
use super::super::row::{LANES, Row, float16, halves, join};
use super::{NOWHERE, Port, failed};
use crate::pixel::{Kind, PixelFormat};

/// Bits of a conversion descriptor that are the pixel format.
const FORMAT: u32 = (1 << 22) - 1;

/// An image.
#[derive(Clone)]
pub struct Image {
    texture: Texture,
    format: PixelFormat,
}

/// Images that were read last, by handle.
#[derive(Default)]
pub struct Cache {
    entries: Vec<(u32, Option<Image>)>,
}

impl Cache {
    const SIZE: usize = 16;
}

/// A texel's place.
#[derive(Clone, Copy)]
struct Texel {
    x: u32,
    y: u32,
    /// The slice of a volume, or the sample.
    z: u32,
    layer: u32,
    level: u32,
}

impl Port<'_> {
    /// The image of a handle; `None` where no table has a descriptor.
    fn image(&mut self, handle: u32) -> Result<Option<Image>, Box<Trap>> {
        if let Some((_, image)) = self.images.entries.iter().find(|(h, _)| *h == handle) {
            return Ok(image.clone());
        }
        let image = match self.descriptor(handle)? {
            Some(bytes) if bytes.iter().any(|b| *b != 0) => {
                let texture = Texture::unpack(&bytes)
                    .map_err(|e| Box::new(Trap::Invalid(format!("texture {handle:#x}: {e}"))))?;
                let format = PixelFormat::new(texture.format).ok_or_else(|| {
                    let what = format!("images of format {:#x}", texture.format);
                    Box::new(Trap::Unimplemented(what))
                })?;
                Some(Image { texture, format })
            }
            _ => None,
        };
        if self.images.entries.len() >= Cache::SIZE {
            self.images.entries.clear();
        }
        self.images.entries.push((handle, image.clone()));
        Ok(image)
    }

    /// The address of a texel; `None` beyond the edges of its level.
    fn texel(&mut self, image: &Image, at: Texel) -> Result<Option<u64>, Box<Trap>> {
        let t = &image.texture;
        let volume = t.dimension == TextureDimension::N3d;
        let size = |texels: u32| (texels >> at.level.min(31)).max(1);
        let depth = if volume { size(t.depth) } else { t.sample_count };
        let faces = if t.dimension == TextureDimension::Cube { 6 } else { 1 };
        let layers = t.array_size * faces;
        let height = if t.dimension == TextureDimension::N1d { 1 } else { size(t.height) };
        let inside = at.x < size(t.width) && at.y < height && at.z < depth;
        if !inside || at.layer >= layers || at.level >= t.levels {
            return Ok(None);
        }
        let index = u64::from(at.layer * t.levels + t.minimum_level + at.level);
        let plane = t.surfaces + index * Plane::SIZE_BYTES as u64;
        let bytes = self.memory.read_array::<{ Plane::SIZE_BYTES }>(plane).map_err(failed)?;
        let plane = Plane::unpack(&bytes)
            .map_err(|e| Box::new(Trap::Invalid(format!("plane of a texture: {e}"))))?;
        if plane.plane_type != PlaneType::Generic {
            let what = format!("images in planes of type {}", plane.plane_type);
            return Err(Box::new(Trap::Unimplemented(what)));
        }
        let texel = image.format.bytes() as u64;
        let row = u64::from(plane.row_stride);
        let offset = match plane.clump_ordering {
            ClumpOrdering::Linear => u64::from(at.y) * row + u64::from(at.x) * texel,
            ClumpOrdering::TiledUInterleaved => {
                let tile = u64::from(at.y / 16) * row + u64::from(at.x / 16) * 256 * texel;
                tile + u64::from(index_in_tile(at.x % 16, at.y % 16)) * texel
            }
        };
        let slice = i64::from(plane.slice_stride) * i64::from(at.z);
        Ok(Some(plane.pointer.wrapping_add(offset).wrapping_add_signed(slice)))
    }
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    Some(match isa {
        Isa::LD_TEX_IMM | Isa::LD_TEX => load,
        Isa::LEA_TEX_IMM | Isa::LEA_TEX => address,
        Isa::ST_CVT => store,
        Isa::LD_CVT => load_converted,
        Isa::TEX_FETCH => fetch,
        _ => return None,
    })
}

/// The handle of each lane: a source, or with the instruction's own table and index the immediate.
fn handles(l: &Lanes<'_, '_>, op: &Op) -> Row {
    match op.flags & IN_INSTRUCTION != 0 {
        true => Row::splat(op.immediate),
        false => l.get(&op.src[2]),
    }
}

/// A modifier in [`Op::flags`]: table and index are in the instruction.
pub const IN_INSTRUCTION: u32 = 1 << 8;

/// The texel of a lane: 16 bits each of x and y, and of slice or sample and layer. One-dimensional
/// images have all 32 for x.
fn place(image: &Image, xy: u32, zw: u32) -> Texel {
    let ([x, y], [z, layer]) = (halves(xy).map(u32::from), halves(zw).map(u32::from));
    match image.texture.dimension {
        TextureDimension::N1d => Texel { x: xy, y: 0, z, layer, level: 0 },
        _ => Texel { x, y, z, layer, level: 0 },
    }
}

fn load(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (xy, zw, handles) = (l.get(&op.src[0]), l.get(&op.src[1]), handles(l, op));
    let mut channels = [Row::splat(0); 4];
    for lane in l.active() {
        let Some(image) = l.port.image(handles.0[lane])? else { continue };
        let at = place(&image, xy.0[lane], zw.0[lane]);
        let Some(address) = l.port.texel(&image, at)? else { continue };
        let mut bytes = [0; 16];
        let texel = &mut bytes[..image.format.bytes()];
        l.port.memory.read(address, texel).map_err(failed)?;
        let kind = kind(op.flags).unwrap_or(image.format.kind());
        let values = image.format.unpack(&bytes[..image.format.bytes()], kind);
        for (row, value) in channels.iter_mut().zip(values) {
            row.0[lane] = value;
        }
    }
    deliver(l, op, &channels);
    Ok(())
}

/// Modifiers of texture instructions in [`Op::flags`]: the components that are returned, in the lowest
/// four bits; handles are 32 bits each.
pub const WIDE: u32 = 1 << 4;
/// The staging registers have a layer.
pub const ARRAY: u32 = 1 << 5;
/// The staging registers have offsets, and the level or the sample.
pub const OFFSET: u32 = 1 << 6;
/// Results have 16 bits.
pub const SHORT: u32 = 1 << 7;
/// Coordinates, from this bit on.
pub const COORDINATES: u32 = 8;

/// The handle of a texture, in the 64 bits of its source: the upper word, or the upper half of the
/// lower one with five bits of the table and eleven of the index.
fn texture_handle(source: u64, flags: u32) -> u32 {
    match flags & WIDE != 0 {
        true => (source >> 32) as u32,
        false => {
            let half = source as u32 >> 16;
            super::handle(i64::from(half >> 11), i64::from(half & 0x7ff))
        }
    }
}

/// Loads texels at integer coordinates, each offset by bytes with a sign of a further register. Its third
/// byte is the sample of images that have several, its top byte the level of others.
fn fetch(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let sources = l.get64(&op.src[0]);
    let coordinates = op.flags >> COORDINATES & 3;
    let (first, count) = op.staging[1];
    let staging = |l: &Lanes<'_, '_>, n: u32, lane: usize| match n < u32::from(count) {
        true => l.raw(u16::from(first) + n as u16).0[lane],
        false => 0,
    };
    let mut channels = [Row::splat(0); 4];
    let mut kind = Kind::Float;
    for lane in l.active() {
        let Some(image) = l.port.image(texture_handle(sources[lane], op.flags))? else { continue };
        let mut n = coordinates;
        let mut next = |present: bool| {
            let value = if present { staging(l, n, lane) } else { 0 };
            n += u32::from(present);
            value
        };
        let layer = next(op.flags & ARRAY != 0);
        let [dx, dy, dz, top] = next(op.flags & OFFSET != 0).to_le_bytes();
        let place = |n: u32, offset: u8| match n < coordinates {
            true => staging(l, n, lane).wrapping_add_signed((offset as i8).into()),
            false => 0,
        };
        let sampled = image.texture.sample_count > 1;
        let at = Texel {
            x: place(0, dx),
            y: place(1, dy),
            z: if sampled { dz.into() } else { place(2, dz) },
            layer,
            level: if sampled { 0 } else { top.into() },
        };
        kind = image.format.kind();
        let mut values = [0; 4];
        if let Some(address) = l.port.texel(&image, at)? {
            let mut bytes = [0; 16];
            let texel = &mut bytes[..image.format.bytes()];
            l.port.memory.read(address, texel).map_err(failed)?;
            values = image.format.unpack(texel, kind);
        }
        let one = if kind == Kind::Float { 1f32.to_bits() } else { 1 };
        for (i, row) in channels.iter_mut().enumerate() {
            // Three bits for each channel: one of the texel's, 0 or 1.
            row.0[lane] = match image.texture.swizzle >> (3 * i) & 7 {
                channel @ 0..4 => values[channel as usize],
                4 => 0,
                _ => one,
            };
        }
    }
    let returned: Vec<Row> =
        (0..4).filter(|i| op.flags >> i & 1 != 0).map(|i| channels[i]).collect();
    let (register, count) = op.staging[0];
    let zero = Row::splat(0);
    for n in 0..usize::from(count) {
        let row = match op.flags & SHORT != 0 {
            false => *returned.get(n).unwrap_or(&zero),
            true => {
                let short = |v: u32| match kind {
                    Kind::Float => to_half(f32::from_bits(v), RoundMode::Rte),
                    _ => v as u16,
                };
                let pair = [2 * n, 2 * n + 1].map(|n| *returned.get(n).unwrap_or(&zero));
                Row(std::array::from_fn(|lane| join(pair.map(|row| short(row.0[lane])))))
            }
        };
        l.put_register(register + n as u8, &row);
    }
    Ok(())
}

/// The kind of a register format; `None` of one that follows the image's.
fn kind(flags: u32) -> Option<Kind> {
    match RegisterFormat::Auto as u32 {
        auto if flags & 7 == auto => None,
        _ => Some(match flags & 7 {
            f if f == RegisterFormat::F32 as u32 || f == RegisterFormat::F16 as u32 => Kind::Float,
            f if f == RegisterFormat::S32 as u32 || f == RegisterFormat::S16 as u32 => Kind::Signed,
            _ => Kind::Unsigned,
        }),
    }
}

/// Whether a register format has 16 bits.
fn is_short(flags: u32) -> bool {
    [RegisterFormat::F16, RegisterFormat::S16, RegisterFormat::U16]
        .iter()
        .any(|format| flags & 7 == *format as u32)
}

/// Writes channels to the staging registers, two in one if they have 16 bits.
pub fn deliver(l: &mut Lanes<'_, '_>, op: &Op, channels: &[Row; 4]) {
    let (register, count) = op.staging[0];
    let float = kind(op.flags) == Some(Kind::Float);
    for i in 0..usize::from(count).min(4) {
        let row = match is_short(op.flags) {
            false => channels[i],
            true if i > 1 => break,
            true => {
                let short = |v: u32| match float {
                    true => to_half(f32::from_bits(v), RoundMode::Rte),
                    false => v as u16,
                };
                let (a, b) = (&channels[2 * i], &channels[2 * i + 1]);
                Row(std::array::from_fn(|lane| join([short(a.0[lane]), short(b.0[lane])])))
            }
        };
        l.put_register(register + i as u8, &row);
    }
}

/// Address and conversion descriptor of texels.
fn address(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (xy, zw, handles) = (l.get(&op.src[0]), l.get(&op.src[1]), handles(l, op));
    let mut rows = [Row::splat(0); 3];
    for lane in l.active() {
        let (mut address, mut conversion) = (NOWHERE, 0);
        if let Some(image) = l.port.image(handles.0[lane])? {
            let at = place(&image, xy.0[lane], zw.0[lane]);
            address = l.port.texel(&image, at)?.unwrap_or(NOWHERE);
            conversion = image.texture.format & FORMAT;
        }
        rows[0].0[lane] = address as u32;
        rows[1].0[lane] = (address >> 32) as u32;
        rows[2].0[lane] = conversion;
    }
    let (register, count) = op.staging[0];
    for (i, row) in rows.iter().enumerate().take(count.into()) {
        l.put_register(register + i as u8, row);
    }
    Ok(())
}

/// Loads texels in the format of a conversion descriptor.
fn load_converted(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (addresses, conversions) = (l.get64(&op.src[0]), l.get(&op.src[1]));
    let mut channels = [Row::splat(0); 4];
    for lane in l.active() {
        let address = addresses[lane].wrapping_add(op.immediate.into());
        let address = l.port.address(address, lane, 16, Access::Read)?;
        let Some(address) = address else { continue };
        let bits = conversions.0[lane] & FORMAT;
        let format = PixelFormat::new(bits)
            .ok_or_else(|| Box::new(Trap::Unimplemented(format!("loads in format {bits:#x}"))))?;
        let mut bytes = [0; 16];
        let texel = &mut bytes[..format.bytes()];
        l.port.memory.read(address, texel).map_err(failed)?;
        let values = format.unpack(texel, kind(op.flags).unwrap_or(format.kind()));
        for (row, value) in channels.iter_mut().zip(values) {
            row.0[lane] = value;
        }
    }
    deliver(l, op, &channels);
    Ok(())
}

/// Stores texels in the format of a conversion descriptor.
fn store(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (addresses, conversions) = (l.get64(&op.src[0]), l.get(&op.src[1]));
    let (register, count) = op.staging[1];
    let mut channels = [Row::splat(0); 4];
    for i in 0..usize::from(count).min(4) {
        let row = *l.raw(u16::from(register) + i as u16);
        match (is_short(op.flags), kind(op.flags)) {
            (false, _) => channels[i] = row,
            (true, _) if i > 1 => {}
            (true, kind) => {
                for lane in 0..LANES {
                    for (n, half) in halves(row.0[lane]).into_iter().enumerate() {
                        channels[2 * i + n].0[lane] = match kind {
                            Some(Kind::Float) => float16(half).to_bits(),
                            Some(Kind::Signed) => half as i16 as i32 as u32,
                            _ => half.into(),
                        };
                    }
                }
            }
        }
    }
    let mut known: Option<(u32, PixelFormat)> = None;
    for lane in l.active() {
        let bits = conversions.0[lane] & FORMAT;
        let address = addresses[lane].wrapping_add(op.immediate.into());
        let address = l.port.address(address, lane, 16, Access::Write)?;
        let Some(address) = address else { continue };
        let format = match &known {
            Some((b, format)) if *b == bits => format.clone(),
            _ => PixelFormat::new(bits).ok_or_else(|| {
                Box::new(Trap::Unimplemented(format!("stores in format {bits:#x}")))
            })?,
        };
        let kind = kind(op.flags).unwrap_or(format.kind());
        let bytes = format.pack(channels.map(|row| row.0[lane]), kind);
        l.port.memory.write(address, &bytes[..format.bytes()]).map_err(failed)?;
        known = Some((bits, format));
    }
    Ok(())
}
