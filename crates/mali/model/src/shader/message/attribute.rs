//! Attributes of vertices.
//!
// source: ISA.xml, LD_ATTR; Mesa, panvk_vX_cmd_draw.c (`emit_vs_attrib`), instancing.rst. Elements that
// are not wholly within their buffer read as zeros.

use std::sync::Arc;

use tepui_mali_isa::Op as Isa;

use super::image::{IN_INSTRUCTION, deliver, kind};
use crate::pixels::format::NumericType;
use crate::shader::op::{Handler, Lanes, Op};
use crate::units::Port;
use crate::units::attribute::{CachedAttribute, INDEX_BITS};
use crate::units::warp_access::WarpAccess;
use crate::warp::host::for_hosts;
use crate::warp::local::NOWHERE;
use crate::warp::row::{LANES, Row, numbers};
use crate::warp::trap::{Trap, failed};

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
                for (row, word) in words.iter_mut().zip(crate::pixels::format::words(&texel)) {
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
    l.put_staging(op, &rows);
    Ok(())
}
