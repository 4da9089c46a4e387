//! Attributes and vertex buffers: a resource table with the attributes by location, then the buffers.
//!
//! source: Mesa, panvk_vX_cmd_draw.c (`emit_vs_attrib`)

use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Attribute, AttributeFrequency, AttributeType};
use tepui_vulkan::state::{GraphicsState, MAX_VERTEX};
use tepui_vulkan::{Error, Result};

use crate::descriptor::buffer;
use crate::format::{self, HwFormat};
use crate::packed::packet;
use crate::tables;
use crate::texture::DESCRIPTOR_B;

/// Attributes, and vertex buffers after them.
pub const MAX_ATTRIBUTES: usize = 16;

/// First instance of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstInstance {
    /// It is known; descriptors begin there.
    Known(u32),
    /// Programs add it ([`instance_word`]).
    Added,
}

/// Whether an attribute of these locations is fetched by instance.
pub fn has_instances(s: &GraphicsState, used: u32) -> bool {
    (0..32).any(|k| used >> k & 1 != 0 && rate(s, k).is_some())
}

/// The divisor of an attribute that is fetched by instance.
fn rate(s: &GraphicsState, location: usize) -> Option<u32> {
    let a = s.attributes.get(location).copied().flatten()?;
    s.rates.get(usize::from(a.binding)).copied().flatten()
}

/// The mask of an instance's number in its draw, for a location, or the factor of the first instance, by which programs add that.
pub fn instance_word(s: &GraphicsState, location: u8, factor: bool) -> u32 {
    match (rate(s, location.into()), factor) {
        (None, _) | (Some(0), false) => 0,
        (Some(_), false) => !0,
        (Some(divisor), true) => divisor.max(1),
    }
}

/// The locations of attributes whose formats have no alpha, a bit each; those without an attribute are zeros.
pub fn opaque_attributes(s: &GraphicsState) -> u32 {
    let mut bits = 0;
    for (k, a) in s.attributes.iter().enumerate().take(MAX_ATTRIBUTES) {
        let hw = a.and_then(|a| format::hw(a.format));
        bits |= u32::from(hw.is_some_and(HwFormat::is_opaque)) << k;
    }
    bits
}

/// The table of attributes that a program reads, for draws from an instance on.
///
/// # Errors
/// When an attribute has a format that the unit does not read.
pub fn table(
    s: &GraphicsState,
    used: u32,
    buffers: &[(u64, u64); MAX_VERTEX],
    first: FirstInstance,
) -> Result<Vec<u8>> {
    let mut out = vec![0; 2 * MAX_ATTRIBUTES * DESCRIPTOR_B];
    for k in (0..32).filter(|k| used >> k & 1 != 0) {
        let Some(a) = s.attributes.get(k).copied().flatten() else { continue };
        if k >= MAX_ATTRIBUTES || usize::from(a.binding) >= MAX_ATTRIBUTES {
            return Err(Error::unsupported("more than 16 vertex attributes or buffers on Mali"));
        }
        let unknown = || Error::unsupported(format!("vertex attributes of {} on Mali", a.format));
        let hw = format::hw(a.format).ok_or_else(unknown)?;
        let stride = s.strides[usize::from(a.binding)];
        let mut attribute = Attribute {
            attribute_type: AttributeType::N1d,
            offset_enable: true,
            format: hw.number,
            table: tables::ATTRIBUTES.into(),
            frequency: AttributeFrequency::Vertex,
            offset: a.offset as i32,
            buffer_index: MAX_ATTRIBUTES as u32 + u32::from(a.binding),
            stride,
            ..Attribute::default()
        };
        if let Some(divisor) = s.rates[usize::from(a.binding)] {
            attribute.offset_enable = false;
            attribute.frequency = AttributeFrequency::Instance;
            // Instances are counted from 0.
            match first {
                FirstInstance::Known(n) => {
                    attribute.offset = a.offset.wrapping_add(n.wrapping_mul(stride)) as i32;
                    divide(&mut attribute, divisor);
                }
                FirstInstance::Added => divide(&mut attribute, divisor.max(1)),
            }
        }
        attribute.pack_into(&mut out[k * DESCRIPTOR_B..]).map_err(packet)?;
    }
    for (k, &(address, size)) in buffers.iter().enumerate().take(MAX_ATTRIBUTES) {
        let at = (MAX_ATTRIBUTES + k) * DESCRIPTOR_B;
        out[at..at + DESCRIPTOR_B].copy_from_slice(&buffer(address, size));
    }
    Ok(out)
}

/// Divides the number of an instance by a divisor.
fn divide(a: &mut Attribute, divisor: u32) {
    match divisor {
        // All instances have the first element.
        0 => a.stride = 0,
        1 => {}
        n if n.is_power_of_two() => {
            a.attribute_type = AttributeType::N1dPotDivisor;
            a.divisor_r = n.trailing_zeros();
        }
        n => {
            a.attribute_type = AttributeType::N1dNpotDivisor;
            (a.divisor_d, a.divisor_r, a.divisor_e) = magic(n);
        }
    }
}

/// The multiplier that divides by a number that is no power of two, without its top bit, the shift, and whether it is rounded down.
/// source: Mesa, pan_attributes.c (`panfrost_compute_magic_divisor`)
fn magic(divisor: u32) -> (u32, u32, u32) {
    let shift = divisor.ilog2();
    let power = 1u64 << (shift + 32);
    let d = u64::from(divisor);
    let (m, e) = (power.div_ceil(d), power % d);
    let rounds_down = e <= 1 << shift;
    let multiplier = if rounds_down { m - 1 } else { m };
    (multiplier as u32 & !(1 << 31), shift, u32::from(rounds_down))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The unit's arithmetic is that of `tepui_mali_instancing`, with one thread an instance.
    #[test]
    fn divisors_are_those_of_the_instancing_rules() {
        for divisor in [3, 5, 6, 7, 100, 641, 1_000_003] {
            let rules = tepui_mali_instancing::Instancing::new(1, divisor).unwrap().division;
            let (d, r, e) = magic(divisor);
            assert_eq!(
                (d, r, e != 0),
                (rules.magic_multiplier, rules.shift, rules.round_down),
                "{divisor}"
            );
        }
    }
}
