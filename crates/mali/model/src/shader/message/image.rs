//! Images: loads of texels, their addresses, and stores with conversion.
//!
//! A texture descriptor points to planes, one per level of each layer. Loads past an image's edges return
//! zero, and stores there do nothing.
//!
// source: Mesa, pan_texture.c (`panfrost_emit_texture_payload`, `panfrost_emit_plane`),
// bifrost_compile.c (`va_emit_image_coord`, `bi_emit_image_store`), ISA.xml.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::{RegisterFormat, RoundMode};
use tepui_mali_packets::texture::TextureDimension;
use tepui_softgpu::Access;

use crate::pixels::format::{NumericType, PixelFormat};
use crate::shader::alu::rounding::to_half;
use crate::shader::op::{Handler, Lanes, Op};
use crate::units::surface::Texel;
use crate::units::view::View;
use crate::warp::local::NOWHERE;
use crate::warp::row::{LANES, Row, float16, halves, join};
use crate::warp::trap::{Trap, failed};

/// The texel of a lane: 16 bits each for x and y, and for slice or sample and layer. One-dimensional images
/// use all 32 bits for x.
fn place(view: &View, xy: u32, zw: u32) -> Texel {
    let ([x, y], [z, layer]) = (halves(xy).map(u32::from), halves(zw).map(u32::from));
    match view.texture.dimension {
        TextureDimension::N1d => Texel { x: xy, y: 0, z, layer, level: 0 },
        _ => Texel { x, y, z, layer, level: 0 },
    }
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    Some(match isa {
        Isa::LD_TEX_IMM | Isa::LD_TEX => load,
        Isa::LEA_TEX_IMM | Isa::LEA_TEX => address,
        Isa::ST_CVT => store,
        Isa::LD_CVT => load_converted,
        _ => return None,
    })
}

/// The handle of each lane: from a source, or the immediate if the instruction contains table and index.
fn handles(l: &Lanes<'_, '_>, op: &Op) -> Row {
    match op.flags & IN_INSTRUCTION != 0 {
        true => Row::splat(op.immediate),
        false => l.get(&op.src[2]),
    }
}

/// Modifier in [`Op::flags`]: table and index are in the instruction.
pub const IN_INSTRUCTION: u32 = 1 << 8;

fn load(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (xy, zw, handles) = (l.get(&op.src[0]), l.get(&op.src[1]), handles(l, op));
    let mut channels = [Row::splat(0); 4];
    for lane in l.active() {
        let Some((view, memory)) = l.port.view(handles.0[lane])? else { continue };
        let at = place(view, xy.0[lane], zw.0[lane]);
        let kind = kind(op.flags).unwrap_or(view.kind());
        let Some(values) = view.texel(memory, at, kind)? else { continue };
        for (row, value) in channels.iter_mut().zip(values) {
            row.0[lane] = value;
        }
    }
    deliver(l, op, &channels);
    Ok(())
}

/// The numeric type of a register format; `None` if it follows the image's.
pub fn kind(flags: u32) -> Option<NumericType> {
    match RegisterFormat::Auto as u32 {
        auto if flags & 7 == auto => None,
        _ => Some(match flags & 7 {
            f if f == RegisterFormat::F32 as u32 || f == RegisterFormat::F16 as u32 => {
                NumericType::Float
            }
            f if f == RegisterFormat::S32 as u32 || f == RegisterFormat::S16 as u32 => {
                NumericType::Signed
            }
            _ => NumericType::Unsigned,
        }),
    }
}

/// Whether a register format has 16 bits.
pub fn is_short(flags: u32) -> bool {
    [RegisterFormat::F16, RegisterFormat::S16, RegisterFormat::U16]
        .iter()
        .any(|format| flags & 7 == *format as u32)
}

/// Writes channels to the staging registers, two per register if they have 16 bits.
pub fn deliver(l: &mut Lanes<'_, '_>, op: &Op, channels: &[Row; 4]) {
    let (register, count) = op.staging[0];
    let float = kind(op.flags) == Some(NumericType::Float);
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
        if let Some((view, memory)) = l.port.view(handles.0[lane])? {
            let at = place(view, xy.0[lane], zw.0[lane]);
            address = view.address(memory, at)?.unwrap_or(NOWHERE);
            conversion = view.texture.format & PixelFormat::BITS;
        }
        rows[0].0[lane] = address as u32;
        rows[1].0[lane] = (address >> 32) as u32;
        rows[2].0[lane] = conversion;
    }
    l.put_staging(op, &rows);
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
        let bits = conversions.0[lane] & PixelFormat::BITS;
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

/// The register format of a conversion descriptor, in the flags of an operation.
pub fn conversion_flags(conversion: u32) -> u32 {
    let format = match conversion >> 24 & 7 {
        0 => RegisterFormat::F16,
        1 => RegisterFormat::F32,
        2 => RegisterFormat::S32,
        3 => RegisterFormat::U32,
        4 => RegisterFormat::S16,
        _ => RegisterFormat::U16,
    };
    format as u32
}

/// Code that Bifrost's position shaders use as a pixel format: four floats, of which the first two are snapped to
/// the subpixel grid.
pub const POSITION: u32 = 0x5e;

/// Stores as Bifrost does: the conversion descriptor has the register format; zero means the memory's.
pub fn store_by_conversion(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let conversions = l.get(&op.src[1]);
    let first = l.warp.mask.trailing_zeros() as usize % LANES;
    let conversion = conversions.0[first];
    if conversion >> 12 & 0xff != POSITION {
        let flags = match conversion >> 24 & 7 {
            0 => RegisterFormat::Auto as u32,
            _ => conversion_flags(conversion),
        };
        return store(l, &Op { flags, ..op.clone() });
    }
    let addresses = l.get64(&op.src[0]);
    let (register, count) = op.staging[1];
    for lane in l.writing() {
        let Some(address) = l.port.address(addresses[lane], lane, 16, Access::Write)? else {
            continue;
        };
        let mut bytes = [0; 16];
        for (i, word) in bytes.as_chunks_mut::<4>().0.iter_mut().enumerate().take(count.into()) {
            *word = l.raw(u16::from(register) + i as u16).0[lane].to_le_bytes();
        }
        l.port.memory.write(address, &bytes).map_err(failed)?;
    }
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
                            Some(NumericType::Float) => float16(half).to_bits(),
                            Some(NumericType::Signed) => half as i16 as i32 as u32,
                            _ => half.into(),
                        };
                    }
                }
            }
        }
    }
    let mut known: Option<(u32, PixelFormat)> = None;
    for lane in l.writing() {
        let bits = conversions.0[lane] & PixelFormat::BITS;
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
