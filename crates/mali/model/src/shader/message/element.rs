//! Bifrost's attributes, varyings and images: elements of buffers in memory.
//!
//! A vertex shader stores varyings there, and a fragment shader loads them for the three vertices of its primitive.
//!
// source: Mesa, v7.xml (Attribute, Attribute Buffer and its continuations), pan_cmdstream.c
// (panfrost_emit_vertex_data, panfrost_emit_varying_descriptor, emit_image_bufs), bifrost_compile.c.

use tepui_mali_instancing::Division;
use tepui_softgpu::UnitMemory;

use super::image::{IN_INSTRUCTION, POSITION, deliver, kind};
use super::midgard;
use super::varying::{point, weights};
use crate::pixels::format::{NumericType, PixelFormat};
use crate::pixels::target::u_interleaved;
use crate::pixels::{Pixels, Point};
use crate::shader::op::{Lanes, Op};
use crate::units::tables::bits;
use crate::warp::addresses::{Tables, padded};
use crate::warp::local::NOWHERE;
use crate::warp::row::Row;
use crate::warp::trap::{Trap, failed};

/// Flag of instructions that load varyings: use the provoking vertex's value.
pub const FLAT: u32 = 1 << 17;

/// Flag of instructions that load varyings: interpolate at a covered sample (Midgard).
pub const CENTROID: u32 = 1 << 18;

/// An attribute or varying and its buffer.
struct Element {
    format: u32,
    offset: i64,
    kind: u8,
    /// The type of a value that is in no buffer (Midgard).
    special: u8,
    pointer: u64,
    stride: u32,
    size: u32,
    divisor_r: u32,
    divisor_p: u32,
    /// The continuation record that follows the buffer's.
    continuation: [u32; 4],
}

/// The pixel format of constant values that are not in memory.
const CONSTANT: u32 = 0x5f;

/// Types of buffers.
const LINEAR: u8 = 1;
const POT_DIVISOR: u8 = 2;
const MODULUS: u8 = 3;
const NPOT_DIVISOR: u8 = 4;
/// Types of values that are in no buffer (Midgard).
const VERTEX_ID: u8 = 34;
const INSTANCE_ID: u8 = 36;
const IMAGE_LINEAR: u8 = 5;
const IMAGE_INTERLEAVED: u8 = 6;

impl Tables {
    fn element(
        memory: &mut UnitMemory<'_>,
        (list, buffers): (u64, u64),
        index: u32,
    ) -> Result<Option<Element>, Box<Trap>> {
        if list == 0 || buffers == 0 {
            return Ok(None);
        }
        let at = list.wrapping_add(u64::from(index) * 8);
        let attribute = u64::from_le_bytes(memory.read_array(at).map_err(failed)?);
        let at = buffers.wrapping_add(bits(attribute, 0, 9) * 16);
        // No bytes follow the last record of an array.
        let mut bytes = [0; 32];
        memory.read(at, &mut bytes[..16]).map_err(failed)?;
        if let Ok(next) = memory.read_array::<16>(at.wrapping_add(16)) {
            bytes[16..].copy_from_slice(&next);
        }
        let (words, _) = bytes.as_chunks::<4>();
        let word = |n: usize| u32::from_le_bytes(words[n]);
        let first = u64::from(word(0)) | u64::from(word(1)) << 32;
        Ok(Some(Element {
            format: bits(attribute, 10, 22) as u32,
            offset: i64::from((attribute >> 32) as i32),
            special: bits(first, 0, 8) as u8,
            kind: bits(first, 0, 6) as u8,
            pointer: bits(first, 6, 50) << 6,
            stride: word(2),
            size: word(3),
            divisor_r: bits(first, 56, 5) as u32,
            divisor_p: bits(first, 61, 3) as u32,
            continuation: [word(4), word(5), word(6), word(7)],
        }))
    }
}

impl Element {
    /// The vertex or the instance index, if the element is one of these (Midgard).
    fn builtin(&self, vertex: u32, instance: u32) -> Option<u32> {
        // The offset is in the field that holds a buffer's size.
        match self.special {
            VERTEX_ID => Some(vertex.wrapping_add(self.size)),
            INSTANCE_ID => Some(instance.wrapping_add(self.size)),
            _ => None,
        }
    }

    /// Whether it is 0 without being in memory: a varying that only one of the two stages has.
    fn is_constant(&self) -> bool {
        self.format >> 12 & 0xff == CONSTANT
    }

    /// The pixel format of the element in memory.
    fn pixels(&self) -> Result<PixelFormat, Box<Trap>> {
        PixelFormat::new(self.format).ok_or_else(|| {
            let what = format!("attributes of format {:#x}", self.format);
            Box::new(Trap::Unimplemented(what))
        })
    }

    /// The index of an element in its buffer.
    fn number(&self, tables: &Tables, vertex: u32, instance: u32) -> Result<u64, Box<Trap>> {
        let linear = vertex.wrapping_add(instance.wrapping_mul(tables.instance_size));
        let number = match self.kind {
            LINEAR => linear,
            POT_DIVISOR => linear >> self.divisor_r,
            MODULUS => linear % padded(self.divisor_r, self.divisor_p),
            NPOT_DIVISOR => {
                let division = Division {
                    shift: self.divisor_r,
                    magic_multiplier: self.continuation[1],
                    round_down: self.divisor_p & 1 != 0,
                    power_of_two: false,
                };
                division.apply(linear)
            }
            kind => {
                let what = format!("attributes of type {kind}");
                return Err(Box::new(Trap::Unimplemented(what)));
            }
        };
        Ok(number.into())
    }

    /// The address of an element; none if it is not entirely within the buffer.
    fn address(&self, number: u64, bytes: usize) -> Option<u64> {
        let offset = i128::from(number) * i128::from(self.stride) + i128::from(self.offset);
        let end = offset + bytes as i128;
        let inside = offset >= 0 && end <= i128::from(self.size);
        inside.then(|| self.pointer.wrapping_add(offset as u64))
    }

    /// The address of a texel of an image; none past its edges.
    fn texel(&self, xy: u32, zw: u32, bytes: usize) -> Result<Option<u64>, Box<Trap>> {
        let [first, second, row, slice] = self.continuation;
        let size = [first >> 16, second & 0xffff, second >> 16].map(|v| v + 1);
        let [x, y, z] = [xy & 0xffff, xy >> 16, zw & 0xffff];
        if x >= size[0] || y >= size[1] || z >= size[2] {
            return Ok(None);
        }
        let bytes = bytes as u64;
        let within = match self.kind {
            IMAGE_LINEAR => u64::from(y) * u64::from(row) + u64::from(x) * bytes,
            IMAGE_INTERLEAVED => u_interleaved([x, y], row.into(), bytes),
            kind => {
                let what = format!("images of type {kind}");
                return Err(Box::new(Trap::Unimplemented(what)));
            }
        };
        let offset = within + u64::from(z) * u64::from(slice);
        Ok(Some(self.pointer.wrapping_add(offset).wrapping_add_signed(self.offset)))
    }
}

fn no_tables() -> Box<Trap> {
    Box::new(Trap::Invalid("an attribute in a shader without any".into()))
}

/// The descriptor index of each lane: in the instruction, or a source.
fn indices(l: &Lanes<'_, '_>, op: &Op, source: usize) -> Row {
    match op.flags & IN_INSTRUCTION != 0 {
        true => Row::splat(op.immediate),
        false => l.get(&op.src[source]),
    }
}

/// Converts an element to the register format.
fn unpacked(op: &Op, format: &PixelFormat, bytes: &[u8]) -> [u32; 4] {
    let own = format.kind();
    let wanted = match kind(op.flags) {
        Some(NumericType::Float) if own == NumericType::Float => own,
        Some(kind) => kind,
        None => own,
    };
    format.unpack(bytes, wanted)
}

/// LD_ATTR: an attribute of a vertex and an instance.
pub fn load_attribute(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (vertices, instances) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let indices = indices(l, op, 2);
    let mut channels = [Row::splat(0); 4];
    for lane in l.active() {
        let tables = l.port.tables.ok_or_else(no_tables)?;
        let memory = &mut l.port.memory;
        let lists = (tables.attributes, tables.attribute_buffers);
        let element = Tables::element(memory, lists, indices.0[lane])?;
        let Some(element) = element.filter(|element| !element.is_constant()) else { continue };
        if tables.arch.0 < 6
            && let Some(value) = element.builtin(vertices.0[lane], instances.0[lane])
        {
            channels[0].0[lane] = value;
            continue;
        }
        let format = element.pixels()?;
        let number = element.number(&tables, vertices.0[lane], instances.0[lane])?;
        let number = number + u64::from(tables.offset_start);
        let Some(at) = element.address(number, format.bytes()) else { continue };
        let mut bytes = [0; 16];
        memory.read(at, &mut bytes[..format.bytes()]).map_err(failed)?;
        let values = unpacked(op, &format, &bytes[..format.bytes()]);
        for (row, value) in channels.iter_mut().zip(values) {
            row.0[lane] = value;
        }
    }
    deliver(l, op, &channels);
    Ok(())
}

/// LEA_ATTR: the address at which a vertex's varying is stored, and its conversion descriptor.
pub fn varying_address(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (vertices, instances) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let indices = indices(l, op, 2);
    let mut rows = [Row::splat(0); 3];
    for lane in l.active() {
        let tables = l.port.tables.ok_or_else(no_tables)?;
        let lists = (tables.varyings, tables.varying_buffers);
        let mut address = NOWHERE;
        let element = Tables::element(&mut l.port.memory, lists, indices.0[lane])?;
        if let Some(element) = element.filter(|element| !element.is_constant()) {
            rows[2].0[lane] = element.format;
            let bytes = match element.format >> 12 & 0xff {
                POSITION => 16,
                _ => element.pixels()?.bytes(),
            };
            let number = element.number(&tables, vertices.0[lane], instances.0[lane])?;
            address = element.address(number, bytes).unwrap_or(NOWHERE);
        }
        rows[0].0[lane] = address as u32;
        rows[1].0[lane] = (address >> 32) as u32;
    }
    l.put_staging(op, &rows);
    Ok(())
}

/// LD_ATTR_TEX: a texel of an image.
pub fn load_image(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (xy, zw, indices) = (l.get(&op.src[0]), l.get(&op.src[1]), l.get(&op.src[2]));
    let mut channels = [Row::splat(0); 4];
    for lane in l.active() {
        let tables = l.port.tables.ok_or_else(no_tables)?;
        let memory = &mut l.port.memory;
        let lists = (tables.attributes, tables.attribute_buffers);
        let Some(element) = Tables::element(memory, lists, indices.0[lane])? else { continue };
        let format = element.pixels()?;
        let at = element.texel(xy.0[lane], zw.0[lane], format.bytes())?;
        let Some(at) = at else { continue };
        let mut bytes = [0; 16];
        memory.read(at, &mut bytes[..format.bytes()]).map_err(failed)?;
        let values = unpacked(op, &format, &bytes[..format.bytes()]);
        for (row, value) in channels.iter_mut().zip(values) {
            row.0[lane] = value;
        }
    }
    deliver(l, op, &channels);
    Ok(())
}

/// LEA_ATTR_TEX: the address of an image's texel, and its conversion descriptor.
pub fn image_address(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (xy, zw, indices) = (l.get(&op.src[0]), l.get(&op.src[1]), l.get(&op.src[2]));
    let mut rows = [Row::splat(0); 3];
    for lane in l.active() {
        let tables = l.port.tables.ok_or_else(no_tables)?;
        let lists = (tables.attributes, tables.attribute_buffers);
        let mut address = NOWHERE;
        if let Some(element) = Tables::element(&mut l.port.memory, lists, indices.0[lane])? {
            rows[2].0[lane] = element.format;
            let bytes = element.pixels()?.bytes();
            address = element.texel(xy.0[lane], zw.0[lane], bytes)?.unwrap_or(NOWHERE);
        }
        rows[0].0[lane] = address as u32;
        rows[1].0[lane] = (address >> 32) as u32;
    }
    l.put_staging(op, &rows);
    Ok(())
}

/// The vertices that a lane's varyings come from, their weights, and the index of the provoking one.
fn corners(pixels: &Pixels, lane: usize, at: Point) -> ([u32; 3], [f32; 3], usize) {
    match pixels.primitive(lane) {
        Some(p) => (p.vertices, weights(pixels, lane, at), p.provoking.into()),
        // A frame shader: the framebuffer's corners.
        None => {
            let [x, y] = pixels.point(lane, at);
            let p = &pixels.framebuffer.parameters;
            let [b, c] = [x / f64::from(p.width), y / f64::from(p.height)].map(|v| v as f32);
            ([0, 1, 2], [1.0 - b - c, b, c], 0)
        }
    }
}

/// LD_VAR: a varying at a position in the primitive.
pub fn load_varying(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let modes = l.get(&op.src[0]);
    let indices = indices(l, op, 1);
    let mut channels = [Row::splat(0); 4];
    let outside = || Box::new(Trap::Invalid("a varying in a shader without fragments".into()));
    for lane in l.active() {
        let tables = l.port.tables.ok_or_else(no_tables)?;
        let lists = (tables.varyings, tables.varying_buffers);
        let memory = &mut l.port.memory;
        let element = Tables::element(memory, lists, indices.0[lane])?;
        let Some(element) = element.filter(|element| !element.is_constant()) else { continue };
        let pixels = l.port.pixels.as_deref().ok_or_else(outside)?;
        if tables.arch.0 < 6
            && let Some(values) = midgard::builtin(pixels, lane, element.special)
        {
            for (row, value) in channels.iter_mut().zip(values) {
                row.0[lane] = value;
            }
            continue;
        }
        let format = element.pixels()?;
        let flat = op.flags & FLAT != 0 || format.kind() != NumericType::Float;
        let at = match flat {
            true => Point::Centre,
            false if tables.arch.0 < 6 => midgard::place(pixels, lane, op.flags & CENTROID != 0),
            false => point(op.flags, modes.0[lane])?,
        };
        let (vertices, weights, provoking) = corners(pixels, lane, at);
        let mut values = [[0u32; 4]; 3];
        for (vertex, values) in vertices.into_iter().zip(&mut values) {
            let Some(at) = element.address(vertex.into(), format.bytes()) else { continue };
            let mut bytes = [0; 16];
            memory.read(at, &mut bytes[..format.bytes()]).map_err(failed)?;
            *values = format.unpack(&bytes[..format.bytes()], format.kind());
        }
        for (k, row) in channels.iter_mut().enumerate() {
            row.0[lane] = match flat {
                true => values[provoking.min(2)][k],
                false => {
                    let [a, b, c] = values.map(|v| f32::from_bits(v[k]));
                    (a + weights[1] * (b - a) + weights[2] * (c - a)).to_bits()
                }
            };
        }
    }
    deliver(l, op, &channels);
    Ok(())
}
