//! Attribute setup: the parts of vertices that pixel threads get, and their form.
//!
//! An attribute's component becomes four double words: the differences of the second and the third vertex
//! from the first, one that is unused, and the first vertex's value. `pln` adds the value and the differences
//! times barycentric coordinates.

use tepui_intel_packets::raster::SfOutputAttributeDetail;

use super::state::State;
use super::unit::UNIT;
use crate::job::JobFault;

/// Maximum number of attributes of a pixel thread.
const MAX_ATTRIBUTES: u32 = 32;

/// The source of an attribute's components.
#[derive(Clone, Copy)]
struct Attribute {
    /// Its offset in a vertex's entry, in double words.
    source: usize,
    /// A second offset, used for back faces.
    back: usize,
    /// The replacement of each component.
    replaced: [Replacement; 4],
    constant: bool,
    point_coordinates: bool,
}

/// The replacement of an attribute's component.
#[derive(Clone, Copy)]
enum Replacement {
    Not,
    Constant(f32),
    PrimitiveId,
}

/// The attributes of a draw.
pub(super) struct Attributes(Vec<Attribute>);

impl Attributes {
    pub fn new(state: &State) -> Result<Attributes, JobFault> {
        let sbe = &state.sbe;
        let count = sbe.number_of_sf_output_attributes;
        if count > MAX_ATTRIBUTES {
            return Err(JobFault::new(UNIT, "3DSTATE_SBE: more attributes than there are"));
        }
        let s = &state.swizzles;
        let details: [SfOutputAttributeDetail; 16] = [
            s.attribute_0,
            s.attribute_1,
            s.attribute_2,
            s.attribute_3,
            s.attribute_4,
            s.attribute_5,
            s.attribute_6,
            s.attribute_7,
            s.attribute_8,
            s.attribute_9,
            s.attribute_10,
            s.attribute_11,
            s.attribute_12,
            s.attribute_13,
            s.attribute_14,
            s.attribute_15,
        ];
        // The read offset is in units of two vectors.
        let first = 8 * sbe.vertex_urb_entry_read_offset as usize;
        let attribute = |index: u32| {
            // Only the first sixteen attributes can be swizzled.
            let detail = details.get(index as usize).filter(|_| sbe.attribute_swizzle_enable);
            let source = detail.map_or(index, |d| d.source_attribute) as usize;
            let source = first + 4 * source;
            // Swizzle Select 1 and 3 use the next attribute for back faces.
            let back = match detail {
                Some(d) if d.swizzle_select & 1 != 0 => source + 4,
                _ => source,
            };
            let mut replaced = [Replacement::Not; 4];
            if let Some(d) = detail {
                let which = [
                    d.component_override_x,
                    d.component_override_y,
                    d.component_override_z,
                    d.component_override_w,
                ];
                for (component, _) in which.into_iter().enumerate().filter(|(_, w)| *w) {
                    // source: genxml, SF_OUTPUT_ATTRIBUTE_DETAIL "Constant Source".
                    replaced[component] = match d.constant_source {
                        0 => Replacement::Constant(0.0),
                        1 => Replacement::Constant(if component == 3 { 1.0 } else { 0.0 }),
                        2 => Replacement::Constant(1.0),
                        _ => Replacement::PrimitiveId,
                    };
                }
            }
            if sbe.primitive_id_override_attribute_select == index {
                let which = [
                    sbe.primitive_id_override_component_x,
                    sbe.primitive_id_override_component_y,
                    sbe.primitive_id_override_component_z,
                    sbe.primitive_id_override_component_w,
                ];
                for (component, _) in which.into_iter().enumerate().filter(|(_, w)| *w) {
                    replaced[component] = Replacement::PrimitiveId;
                }
            }
            Attribute {
                source,
                back,
                replaced,
                constant: sbe.constant_interpolation_enable >> index & 1 != 0,
                point_coordinates: sbe.point_sprite_texture_coordinate_enable >> index & 1 != 0,
            }
        };
        Ok(Attributes((0..count).map(attribute).collect()))
    }

    /// Number of double words of a primitive's attributes.
    pub fn dwords(&self) -> usize {
        16 * self.0.len()
    }

    /// Adds a primitive's attributes.
    pub fn add(
        &self,
        entries: [&[u32]; 3],
        provoking: usize,
        point: bool,
        front: bool,
        number: u32,
        out: &mut Vec<u32>,
    ) {
        for attribute in &self.0 {
            let from = if front { attribute.source } else { attribute.back };
            for component in 0..4 {
                let value = |vertex: usize| entries[vertex].get(from + component).copied();
                let at = |vertex: usize| value(vertex).unwrap_or(0);
                let [a, b, c] = match attribute.replaced[component] {
                    Replacement::Constant(v) => [v.to_bits(); 3],
                    Replacement::PrimitiveId => [number; 3],
                    Replacement::Not => [at(0), at(1), at(2)],
                };
                if point && attribute.point_coordinates {
                    // source: SKL PRM volume 7, "point sprite": (x, y, 0, 1).
                    let [right, down] = [component == 0, component == 1];
                    let one = |yes: bool| if yes { 1.0f32.to_bits() } else { 0 };
                    out.extend([one(right), one(down), 0, one(component == 3)]);
                } else if attribute.constant || point {
                    out.extend([0, 0, 0, [a, b, c][provoking.min(2)]]);
                } else {
                    let [a, b, c] = [a, b, c].map(f32::from_bits);
                    out.extend([(b - a).to_bits(), (c - a).to_bits(), 0, a.to_bits()]);
                }
            }
        }
    }
}
