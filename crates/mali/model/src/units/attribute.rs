//! Attributes of vertices.
//!
// source: ISA.xml, LD_ATTR; Mesa, panvk_vX_cmd_draw.c (`emit_vs_attrib`), instancing.rst.

use std::sync::Arc;

use tepui_mali_instancing::Division;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Attribute, AttributeFrequency, AttributeType};

use super::Port;
use crate::pixels::format::PixelFormat;
use crate::warp::trap::Trap;

/// Bits of a descriptor's index in a handle.
pub const INDEX_BITS: u32 = 24;

/// Recently read attributes, by handle; none if no table has the descriptor.
#[derive(Default)]
pub struct Cache {
    entries: Vec<(u32, Option<Arc<CachedAttribute>>)>,
}

impl Cache {
    const SIZE: usize = 32;
}

/// A decoded attribute.
pub struct CachedAttribute {
    pub attribute: Attribute,
    pub format: PixelFormat,
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
    pub fn index(&self, vertex: u32, instance: u32, offset: u32) -> u32 {
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
    pub fn attribute(&mut self, handle: u32) -> Result<Option<Arc<CachedAttribute>>, Box<Trap>> {
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
