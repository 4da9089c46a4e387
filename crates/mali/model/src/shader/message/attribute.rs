//! Attributes of vertices.
//!
// source: ISA.xml, LD_ATTR; Mesa, panvk_vX_cmd_draw.c (`emit_vs_attrib`), instancing.rst. Elements that
// are not wholly within their buffer read as zeros.

use tepui_mali_instancing::Division;
use tepui_mali_isa::Op as Isa;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Attribute, AttributeFrequency, AttributeType};

use super::super::op::{Handler, Lanes, Op, Trap};
use super::super::row::Row;
use super::image::{IN_INSTRUCTION, deliver, kind};
use super::{NOWHERE, failed};
use crate::pixel::{Kind, PixelFormat};

/// Bits of a descriptor's index in a handle.
const INDEX_BITS: u32 = 24;

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    Some(match isa {
        Isa::LD_ATTR_IMM | Isa::LD_ATTR => load,
        Isa::LEA_ATTR_IMM | Isa::LEA_ATTR => address,
        _ => return None,
    })
}

/// An attribute that was read last.
struct Known {
    handle: u32,
    attribute: Attribute,
    format: PixelFormat,
}

impl Known {
    /// The element of a vertex and an instance; `offset` is that of the shader's environment.
    fn index(&self, vertex: u32, instance: u32, offset: u32) -> u32 {
        let a = &self.attribute;
        let offset = if a.offset_enable { offset } else { 0 };
        let of = match a.frequency {
            AttributeFrequency::Vertex => vertex,
            AttributeFrequency::Instance => instance,
        };
        let of = of.wrapping_add(offset);
        match a.attribute_type {
            AttributeType::N1dPotDivisor => of >> a.divisor_r,
            AttributeType::N1dNpotDivisor => {
                let division = Division {
                    shift: a.divisor_r,
                    magic_multiplier: a.divisor_d,
                    round_down: a.divisor_e != 0,
                    power_of_two: false,
                };
                division.apply(of)
            }
            _ => of,
        }
    }
}

/// The handles of an instruction.
fn handles(l: &Lanes<'_, '_>, op: &Op) -> Row {
    match op.flags & IN_INSTRUCTION != 0 {
        true => Row::splat(op.immediate),
        false => l.get(&op.src[2]),
    }
}

/// Calls `body` with each lane's attribute and the address of its element; none beyond the end.
fn each(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    mut body: impl FnMut(&mut Lanes<'_, '_>, usize, &Known, Option<u64>) -> Result<(), Box<Trap>>,
) -> Result<(), Box<Trap>> {
    let (vertices, instances, handles) = (l.get(&op.src[0]), l.get(&op.src[1]), handles(l, op));
    let mut known: Option<Known> = None;
    for lane in l.active() {
        let handle = handles.0[lane];
        if known.as_ref().is_none_or(|known| known.handle != handle) {
            known = match l.port.descriptor(handle)? {
                Some(bytes) if bytes.iter().any(|b| *b != 0) => {
                    let attribute = Attribute::unpack(&bytes).map_err(|e| {
                        Box::new(Trap::Invalid(format!("attribute {handle:#x}: {e}")))
                    })?;
                    let format = PixelFormat::new(attribute.format).ok_or_else(|| {
                        let what = format!("attributes of format {:#x}", attribute.format);
                        Box::new(Trap::Unimplemented(what))
                    })?;
                    Some(Known { handle, attribute, format })
                }
                _ => None,
            };
        }
        let Some(known) = &known else { continue };
        let a = &known.attribute;
        match a.attribute_type {
            AttributeType::N1d | AttributeType::N1dPotDivisor | AttributeType::N1dNpotDivisor => {}
            other => {
                let what = format!("attributes of type {other}");
                return Err(Box::new(Trap::Unimplemented(what)));
            }
        }
        let table = a.table << INDEX_BITS;
        let buffer = l.port.buffer(table | a.buffer_index & ((1 << INDEX_BITS) - 1))?;
        let index = known.index(vertices.0[lane], instances.0[lane], l.port.attribute_offset);
        let offset = i128::from(index) * i128::from(a.stride) + i128::from(a.offset);
        let end = offset + known.format.bytes() as i128;
        let inside = offset >= 0 && end <= i128::from(buffer.size);
        let address = inside.then(|| buffer.address.wrapping_add(offset as u64));
        body(l, lane, known, address)?;
    }
    Ok(())
}

fn load(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let mut channels = [Row::splat(0); 4];
    let wanted = kind(op.flags);
    each(l, op, |l, lane, known, address| {
        let own = known.format.kind();
        // Integers that are wanted as floats become floats; other bits are not changed.
        let kind = match wanted {
            Some(Kind::Float) if own == Kind::Float => own,
            Some(kind) => kind,
            None => own,
        };
        let Some(address) = address else { return Ok(()) };
        let mut bytes = [0; 16];
        let texel = &mut bytes[..known.format.bytes()];
        l.port.memory.read(address, texel).map_err(failed)?;
        let values = known.format.unpack(texel, kind);
        for (row, value) in channels.iter_mut().zip(values) {
            row.0[lane] = value;
        }
        Ok(())
    })?;
    deliver(l, op, &channels);
    Ok(())
}

fn address(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let mut rows = [Row::splat(0); 3];
    each(l, op, |_, lane, known, address| {
        let address = address.unwrap_or(NOWHERE);
        rows[0].0[lane] = address as u32;
        rows[1].0[lane] = (address >> 32) as u32;
        rows[2].0[lane] = known.attribute.format;
        Ok(())
    })?;
    let (register, count) = op.staging[0];
    for (i, row) in rows.iter().enumerate().take(count.into()) {
        l.put_register(register + i as u8, row);
    }
    Ok(())
}
