//! Attributes of vertices.
//!
// source: ISA.xml, LD_ATTR; Mesa, panvk_vX_cmd_draw.c (`emit_vs_attrib`), instancing.rst. Elements that
// are not wholly within their buffer read as zeros.

use std::sync::Arc;

use tepui_mali_instancing::Division;
use tepui_mali_isa::Op as Isa;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Attribute, AttributeFrequency, AttributeType};

use super::super::host::for_hosts;
use super::super::op::{Handler, Lanes, Op, Trap, numbers};
use super::super::row::{LANES, Row};
use super::image::{IN_INSTRUCTION, deliver, kind};
use super::{NOWHERE, Port, WarpAccess, failed};
use crate::pixel::{NumericType, PixelFormat};

/// Bits of a descriptor's index in a handle.
const INDEX_BITS: u32 = 24;

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::LD_ATTR_IMM | Isa::LD_ATTR => |l, op| load(l, op),
            Isa::LEA_ATTR_IMM | Isa::LEA_ATTR => |l, op| address(l, op),
            _ => return None,
        })
    }
}

/// Recently read attributes, by handle; none if no table has the descriptor.
#[derive(Default)]
pub struct Cache {
    entries: Vec<(u32, Option<Arc<CachedAttribute>>)>,
}

impl Cache {
    const SIZE: usize = 32;
}

/// A decoded attribute.
struct CachedAttribute {
    attribute: Attribute,
    format: PixelFormat,
}

impl CachedAttribute {
    /// Decodes a descriptor; none for zeros.
    fn read(handle: u32, bytes: &[u8; 32]) -> Result<Option<CachedAttribute>, Box<Trap>> {
        if bytes.iter().all(|b| *b == 0) {
            return Ok(None);
        }
        let attribute = Attribute::unpack(bytes)
            .map_err(|e| Box::new(Trap::Invalid(format!("attribute {handle:#x}: {e}"))))?;
        let format = PixelFormat::new(attribute.format).ok_or_else(|| {
            let what = format!("attributes of format {:#x}", attribute.format);
            Box::new(Trap::Unimplemented(what))
        })?;
        match attribute.attribute_type {
            AttributeType::N1d | AttributeType::N1dPotDivisor | AttributeType::N1dNpotDivisor => {
                Ok(Some(CachedAttribute { attribute, format }))
            }
            other => {
                let what = format!("attributes of type {other}");
                Err(Box::new(Trap::Unimplemented(what)))
            }
        }
    }

    /// The element of a vertex and an instance; `offset` is the attribute offset of the shader environment.
    #[inline(always)]
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

impl Port<'_> {
    /// The attribute of a handle.
    fn attribute(&mut self, handle: u32) -> Result<Option<Arc<CachedAttribute>>, Box<Trap>> {
        if let Some((_, known)) = self.attributes.entries.iter().find(|(h, _)| *h == handle) {
            return Ok(known.clone());
        }
        let known = match self.descriptor(handle)? {
            Some(bytes) => CachedAttribute::read(handle, &bytes)?.map(Arc::new),
            None => None,
        };
        if self.attributes.entries.len() >= Cache::SIZE {
            self.attributes.entries.clear();
        }
        self.attributes.entries.push((handle, known.clone()));
        Ok(known)
    }
}

/// The elements that lanes read of one attribute.
struct AttributeElements {
    known: Arc<CachedAttribute>,
    addresses: [u64; LANES],
    /// Lanes that read this attribute.
    lanes: u16,
    /// Lanes whose element is within the buffer.
    inside: u16,
}

/// Calls `body` for each distinct attribute of the lanes.
#[inline(always)]
fn each(
    l: &mut Lanes<'_, '_>,
    op: &Op,
    mut body: impl FnMut(&mut Port<'_>, &AttributeElements) -> Result<(), Box<Trap>>,
) -> Result<(), Box<Trap>> {
    let (vertices, instances) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let handles = match op.flags & IN_INSTRUCTION != 0 {
        true => Row::splat(op.immediate),
        false => l.get(&op.src[2]),
    };
    let mut left = l.warp.mask;
    while left != 0 {
        let handle = handles.0[left.trailing_zeros() as usize];
        let mut lanes = 0u16;
        for (lane, other) in handles.0.iter().enumerate() {
            lanes |= u16::from(*other == handle) << lane;
        }
        lanes &= left;
        left &= !lanes;
        let Some(known) = l.port.attribute(handle)? else { continue };
        let a = &known.attribute;
        let table = a.table << INDEX_BITS;
        let buffer = l.port.buffer(table | a.buffer_index & ((1 << INDEX_BITS) - 1))?;
        let (stride, first) = (u64::from(a.stride), i64::from(a.offset));
        let (mut addresses, mut inside) = ([0; LANES], 0u16);
        for (lane, address) in addresses.iter_mut().enumerate() {
            let index = known.index(vertices.0[lane], instances.0[lane], l.port.attribute_offset);
            // The limit is far past the end of any buffer.
            let offset = (u64::from(index) * stride).min(1 << 62) as i64 + first;
            let end = offset + known.format.bytes() as i64;
            inside |= u16::from(offset >= 0 && end as u64 <= buffer.size) << lane;
            *address = buffer.address.wrapping_add_signed(offset);
        }
        let elements = AttributeElements { known, addresses, lanes, inside: inside & lanes };
        body(l.port, &elements)?;
    }
    Ok(())
}

#[inline(always)]
fn load(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let mut channels = [Row::splat(0); 4];
    let wanted = kind(op.flags);
    each(l, op, |port, elements| {
        let AttributeElements { known, addresses, inside, .. } = elements;
        let own = known.format.kind();
        // Integers that are read as floats are converted; other bits are unchanged.
        let kind = match wanted {
            Some(NumericType::Float) if own == NumericType::Float => own,
            Some(kind) => kind,
            None => own,
        };
        if *inside == 0 {
            return Ok(());
        }
        let bytes = known.format.bytes();
        let mut words = [Row::splat(0); 4];
        let access = WarpAccess::readable(&mut port.memory, addresses, *inside, bytes as u64);
        if !access.is_some_and(|access| access.load_texels(bytes as u64, &mut words)) {
            for lane in numbers(*inside) {
                let mut texel = [0; 16];
                port.memory.read(addresses[lane], &mut texel[..bytes]).map_err(failed)?;
                for (row, word) in words.iter_mut().zip(crate::pixel::words(&texel)) {
                    row.0[lane] = word;
                }
            }
        }
        known.format.unpack_rows(&words, *inside, kind, &mut channels);
        Ok(())
    })?;
    deliver(l, op, &channels);
    Ok(())
}

#[inline(always)]
fn address(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let mut rows = [Row::splat(0); 3];
    each(l, op, |_, elements| {
        for lane in numbers(elements.lanes) {
            let inside = elements.inside >> lane & 1 != 0;
            let address = if inside { elements.addresses[lane] } else { NOWHERE };
            rows[0].0[lane] = address as u32;
            rows[1].0[lane] = (address >> 32) as u32;
            rows[2].0[lane] = elements.known.attribute.format;
        }
        Ok(())
    })?;
    let (register, count) = op.staging[0];
    for (i, row) in rows.iter().enumerate().take(count.into()) {
        l.put_register(register + i as u8, row);
    }
    Ok(())
}
