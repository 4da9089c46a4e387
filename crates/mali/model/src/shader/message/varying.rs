//! Varyings: interpolated, flat and special ones.
//!
// source: ISA.xml; Mesa, bifrost_compile.c (`bi_emit_load_vary`, `bi_varying_src0_for_barycentric`).

use tepui_mali_isa::modifier::{SampleMode, SourceFormat, UpdateMode, fields as f};
use tepui_mali_isa::{Inst, Op as Isa};
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Attribute, AttributeType};

use super::image::{IN_INSTRUCTION, deliver};
use crate::pixels::format::{NumericType, PixelFormat};
use crate::pixels::scene::Primitive;
use crate::pixels::{Pixels, Point};
use crate::shader::alu::rounding::to_half;
use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row, float16, halves, join, numbers};
use crate::warp::trap::{Trap, failed};
use tepui_mali_isa::modifier::RoundMode;

/// Shifts of modifiers in [`Op::flags`]: the sample mode of a varying, its format in memory.
const SAMPLE: u32 = 10;
const SOURCE: u32 = 12;
/// Requests the hidden position of an earlier instruction.
const RETRIEVE: u32 = 1 << 16;

/// Special varyings.
const POINT: u32 = 0;
const FRAGMENT_W: u32 = 2;
const FRAGMENT_Z: u32 = 3;

/// Bias of a descriptor's offset, above the offset of varyings in a packet.
const PACKET_OFFSET: i32 = 1024;

/// The modifiers of an instruction that loads varyings.
pub fn flags(inst: &Inst) -> u32 {
    let sample = inst.modifier().map_or(0, |mode: SampleMode| mode as u32);
    let source = inst.modifier().map_or(0, |format: SourceFormat| format as u32);
    let retrieve = inst.modifier() == Some(UpdateMode::Retrieve);
    let _ = f::SAMPLE_MODE;
    sample << SAMPLE | source << SOURCE | if retrieve { RETRIEVE } else { 0 }
}

/// The flags of a sample mode.
pub const fn sample_flags(mode: u32) -> u32 {
    mode << SAMPLE
}

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::LD_VAR_BUF_IMM_F32 => |l, op| buffer(l, op, None, false),
            Isa::LD_VAR_BUF_IMM_F16 => |l, op| buffer(l, op, None, true),
            Isa::LD_VAR_BUF_F32 => |l, op| buffer(l, op, Some(1), false),
            Isa::LD_VAR_BUF_F16 => |l, op| buffer(l, op, Some(1), true),
            Isa::LD_VAR_SPECIAL => |l, op| special(l, op),
            Isa::LD_VAR_IMM => |l, op| descriptor(l, op, None, Some(0)),
            Isa::LD_VAR => |l, op| descriptor(l, op, Some(1), Some(0)),
            Isa::LD_VAR_FLAT_IMM => |l, op| descriptor(l, op, None, None),
            Isa::LD_VAR_FLAT => |l, op| descriptor(l, op, Some(0), None),
            _ => return None,
        })
    }
}

fn pixels<'l>(l: &'l mut Lanes<'_, '_>) -> Result<&'l mut Pixels, Box<Trap>> {
    let what = || Box::new(Trap::Invalid("a varying in a shader that is not of fragments".into()));
    l.port.pixels.as_deref_mut().ok_or_else(what)
}

/// The position at which a lane's varying is interpolated.
pub(super) fn point(flags: u32, mode: u32) -> Result<Point, Box<Trap>> {
    if flags & RETRIEVE != 0 {
        let what = "varyings at the position of an earlier instruction";
        return Err(Box::new(Trap::Unimplemented(what.into())));
    }
    Ok(match flags >> SAMPLE & 3 {
        m if m == SampleMode::Center as u32 => Point::Centre,
        m if m == SampleMode::Centroid as u32 => Point::Centroid(mode as u16),
        m if m == SampleMode::Sample as u32 => Point::Sample((mode >> 16 & 0x1f) as u8),
        _ => Point::Explicit(halves(mode).map(|v| v as i16)),
    })
}

/// The position within pixels at which a varying is interpolated, if it is the same for all lanes of a mask.
#[inline(always)]
fn same_point(
    pixels: &Pixels,
    flags: u32,
    mode: &Row,
    mask: u16,
) -> Result<Option<[f32; 2]>, Box<Trap>> {
    let first = mask.trailing_zeros() as usize % LANES;
    let at = point(flags, mode.0[first])?;
    let same = match at {
        Point::Centre => true,
        // With one sample there is only one position.
        Point::Centroid(_) | Point::Sample(_) => pixels.framebuffer.samples.count == 1,
        Point::Explicit(_) => {
            (0..LANES).all(|lane| mode.0[lane] == mode.0[first] || mask >> lane & 1 == 0)
        }
    };
    Ok(same.then(|| pixels.within(first, at)))
}

/// The lanes of a mask whose primitive is that of the first of them.
#[inline(always)]
fn same_primitive(pixels: &Pixels, mask: u16) -> u16 {
    let first = pixels.lanes[mask.trailing_zeros() as usize % LANES].primitive;
    let mut same = 0u16;
    for (lane, other) in pixels.lanes.iter().enumerate() {
        same |= u16::from(other.primitive == first) << lane;
    }
    same & mask
}

/// The bits of a component of a primitive's vertex, at a byte offset in its packet; zero past the packet's
/// end.
#[inline(always)]
fn vertex_word(
    pixels: &Pixels,
    primitive: &Primitive,
    vertex: usize,
    offset: u32,
    short: bool,
) -> u32 {
    let stride = pixels.state.as_ref().map_or(0, |p| p.varying_stride);
    let bytes = if short { 2 } else { 4 };
    if offset.checked_add(bytes).is_none_or(|end| end > stride) {
        return 0;
    }
    let at = (primitive.vertices[vertex] + offset) as usize;
    match pixels.scene.varyings.get(at..at + bytes as usize) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        Some(&[a, b]) => u16::from_le_bytes([a, b]).into(),
        _ => 0,
    }
}

/// Version of [`vertex_word`]: as a float.
#[inline(always)]
fn vertex_value(
    pixels: &Pixels,
    primitive: &Primitive,
    vertex: usize,
    offset: u32,
    short: bool,
) -> f32 {
    let word = vertex_word(pixels, primitive, vertex, offset, short);
    if short { float16(word as u16) } else { f32::from_bits(word) }
}

/// A component of a lane's varying, at a byte offset in the vertices' packets; halves if `short`.
fn component(
    pixels: &Pixels,
    lane: usize,
    offset: u32,
    weights: Option<[f32; 3]>,
    short: bool,
) -> u32 {
    let Some(primitive) = pixels.primitive(lane) else { return 0 };
    let Some([_, b, c]) = weights else {
        return vertex_word(pixels, primitive, primitive.provoking.into(), offset, short);
    };
    let value = |vertex| vertex_value(pixels, primitive, vertex, offset, short);
    let first = value(0);
    (first + b * (value(1) - first) + c * (value(2) - first)).to_bits()
}

/// The barycentric weights of a lane's vertices.
pub(super) fn weights(pixels: &Pixels, lane: usize, at: Point) -> [f32; 3] {
    let place = pixels.point(lane, at);
    pixels.primitive(lane).map_or([1.0, 0.0, 0.0], |p| p.barycentrics.at(place))
}

/// Varyings at a byte offset in the packets.
#[inline(always)]
fn buffer(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    offset: Option<usize>,
    halves: bool,
) -> Result<(), Box<Trap>> {
    let mode = l.get(&op.src[0]);
    let offsets = offset.map_or(Row::splat(op.immediate), |source| l.get(&op.src[source]));
    let source = op.flags >> SOURCE & 0xf;
    let flat = source == SourceFormat::SrcFlat32 as u32 || source == SourceFormat::SrcFlat16 as u32;
    let short = source == SourceFormat::SrcFlat16 as u32 || source == SourceFormat::SrcF16 as u32;
    let (register, count) = op.staging[0];
    let mask = l.warp.mask;
    let pixels = pixels(l)?;
    let mut rows = [Row::splat(0); 4];
    let wanted = (usize::from(count) * if halves { 2 } else { 1 }).min(4);
    let bytes = if short { 2 } else { 4 };
    let mut slow = mask;
    if !flat && let Some(at) = same_point(pixels, op.flags, &mode, mask)? {
        slow = 0;
        let [b, c] = pixels.weights(mask, at);
        let mut left = mask;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let group = same_primitive(pixels, left);
            left &= !group;
            let offset = offsets.0[first];
            let same = (0..LANES).all(|l| offsets.0[l] == offset || group >> l & 1 == 0);
            let Some(primitive) = pixels.primitive(first).filter(|_| same) else {
                slow |= group;
                continue;
            };
            for (k, row) in rows.iter_mut().enumerate().take(wanted) {
                let offset = offset.wrapping_add(k as u32 * bytes);
                let [first, second, third] =
                    [0, 1, 2].map(|v| vertex_value(pixels, primitive, v, offset, short));
                let (to_second, to_third) = (second - first, third - first);
                let mut values = Row::splat(0);
                for lane in 0..LANES {
                    let value = first + b[lane] * to_second + c[lane] * to_third;
                    values.0[lane] = value.to_bits();
                }
                *row = row.choose(group, &values);
            }
        }
    }
    for lane in numbers(slow) {
        let weights = match flat {
            true => None,
            false => Some(weights(pixels, lane, point(op.flags, mode.0[lane])?)),
        };
        for (k, row) in rows.iter_mut().enumerate().take(wanted) {
            let offset = offsets.0[lane].wrapping_add(k as u32 * bytes);
            row.0[lane] = component(pixels, lane, offset, weights, short);
        }
    }
    for i in 0..count.min(4) {
        let n = usize::from(i);
        let row = match halves {
            false => rows[n],
            true if n > 1 => break,
            true => {
                let half = |v: u32| match flat {
                    true => v as u16,
                    false => to_half(f32::from_bits(v), RoundMode::Rte),
                };
                let (a, b) = (&rows[2 * n], &rows[2 * n + 1]);
                Row(std::array::from_fn(|lane| join([half(a.0[lane]), half(b.0[lane])])))
            }
        };
        l.put_register(register + i, &row);
    }
    Ok(())
}

/// Point coordinates, 1/w and depth.
fn special(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let mode = l.get(&op.src[0]);
    let lanes = l.active();
    let which = op.immediate;
    let pixels = pixels(l)?;
    let mut rows = [Row::splat(0); 4];
    let down = !pixels.state.as_ref().is_some_and(|p| p.points_from_below);
    for lane in lanes {
        let at = point(op.flags, mode.0[lane])?;
        let place = pixels.point(lane, at);
        let Some(primitive) = pixels.primitive(lane) else { continue };
        match which {
            POINT => {
                let Some(planes) = &primitive.point else { continue };
                let mut at = [0, 1].map(|k| crate::pixels::scene::value(&planes[k], place));
                if !down {
                    at[1] = 1.0 - at[1];
                }
                for (row, value) in rows.iter_mut().zip(at) {
                    row.0[lane] = (value as f32).to_bits();
                }
            }
            FRAGMENT_W => {
                let plane = &primitive.barycentrics.one_over_w;
                let w = crate::pixels::scene::value(plane, place) as f32;
                rows[0].0[lane] = w.to_bits();
            }
            FRAGMENT_Z => {
                let z = pixels.depth(lane, pixels.within(lane, at));
                let [low, high] = pixels.state.as_ref().map_or([0.0, 1.0], |p| p.range);
                rows[0].0[lane] = z.clamp(low, high).to_bits();
            }
            other => {
                let what = format!("the special varying {other}");
                return Err(Box::new(Trap::Unimplemented(what)));
            }
        }
    }
    deliver(l, op, &rows);
    Ok(())
}

/// Varyings given by a descriptor.
fn descriptor(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    handle: Option<usize>,
    mode: Option<usize>,
) -> Result<(), Box<Trap>> {
    let handles = match op.flags & IN_INSTRUCTION != 0 {
        true => Row::splat(op.immediate),
        false => handle.map_or(Row::splat(0), |source| l.get(&op.src[source])),
    };
    let modes = mode.map(|source| l.get(&op.src[source]));
    let mut rows = [Row::splat(0); 4];
    for lane in l.active() {
        let Some(bytes) = l.port.descriptor(handles.0[lane])? else { continue };
        let attribute = Attribute::unpack(&bytes)
            .map_err(|e| Box::new(Trap::Invalid(format!("varying: {e}"))))?;
        let format = PixelFormat::new(attribute.format).ok_or_else(|| {
            Box::new(Trap::Unimplemented(format!("varyings of format {:#x}", attribute.format)))
        })?;
        let float = format.kind() == NumericType::Float;
        if attribute.attribute_type != AttributeType::VertexPacket {
            let at = modes.map_or(Ok(Point::Centre), |modes| point(op.flags, modes.0[lane]))?;
            let value = in_frame(l, &attribute, &format, lane, at)?;
            for (row, value) in rows.iter_mut().zip(value) {
                row.0[lane] = value;
            }
            continue;
        }
        let offset = attribute.offset.wrapping_sub(PACKET_OFFSET) as u32;
        let components = (format.bytes() / 4).min(4) as u32;
        let pixels = pixels(l)?;
        let weights = match modes {
            Some(modes) if float => Some(weights(pixels, lane, point(op.flags, modes.0[lane])?)),
            _ => None,
        };
        for (k, row) in (0..4).zip(&mut rows) {
            row.0[lane] = match k < components {
                true => component(pixels, lane, offset + 4 * k, weights, false),
                false if k < 3 => 0,
                false if float => 1f32.to_bits(),
                false => 1,
            };
        }
    }
    deliver(l, op, &rows);
    Ok(())
}

/// A varying of a frame shader: the vertices 0, 1 and 2 of a buffer, of which 1 is one framebuffer to the right of 0
/// and 2 one below it.
///
// source: Mesa, pan_fb_preload.c (`pan_preload_emit_varying`), pan_blitter: the driver's vertices are the framebuffer's
// corners.
fn in_frame(
    l: &mut Lanes<'_, '_>,
    attribute: &Attribute,
    format: &PixelFormat,
    lane: usize,
    at: Point,
) -> Result<[u32; 4], Box<Trap>> {
    let units = pixels(l)?;
    if attribute.attribute_type != AttributeType::N1d || units.primitive(lane).is_some() {
        let what = format!("varyings of type {} of primitives", attribute.attribute_type);
        return Err(Box::new(Trap::Unimplemented(what)));
    }
    let place = units.point(lane, at);
    let p = &units.framebuffer.parameters;
    let [b, c] = [place[0] / f64::from(p.width), place[1] / f64::from(p.height)].map(|v| v as f32);
    let table = attribute.table << 24 | attribute.buffer_index & 0xff_ffff;
    let buffer = l.port.buffer(table)?;
    let mut vertices = [[0; 4]; 3];
    for (vertex, values) in (0u64..).zip(&mut vertices) {
        let offset = vertex * u64::from(attribute.stride);
        let offset = offset.wrapping_add_signed(attribute.offset.into());
        let size = format.bytes();
        let mut bytes = [0; 16];
        if offset.checked_add(size as u64).is_some_and(|end| end <= buffer.size) {
            let address = buffer.address.wrapping_add(offset);
            l.port.memory.read(address, &mut bytes[..size]).map_err(failed)?;
        }
        *values = format.unpack(&bytes[..size], format.kind());
    }
    let [first, second, third] = vertices;
    Ok(std::array::from_fn(|k| match format.kind() {
        NumericType::Float => {
            let [first, second, third] = [first, second, third].map(|v| f32::from_bits(v[k]));
            (first + b * (second - first) + c * (third - first)).to_bits()
        }
        _ => first[k],
    }))
}
