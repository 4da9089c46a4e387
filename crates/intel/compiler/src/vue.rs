//! Vertex URB entries (VUEs): where the stages before the rasteriser leave the outputs of a vertex, and how fixed-function
//! setup brings them to fragments.
//!
//! An entry is a row of slots of 16 bytes:
//!
//! ```text
//! 0        header: shading rate, layer, viewport index, point size
//! 1        position
//! 2, 3     clip and cull distances, if any is written
//! even, …  user locations in order: location n is n slots after location 0, written or not
//! then     primitive id, where a geometry shader writes it
//! ```
//!
//! So the place of a location relative to another does not depend on the rest of the shader. Setup moves the first sixteen
//! attributes of a fragment anywhere; later ones come in the order of the entry.
//!
//! Clip distance n is component n of the eight in slots 2 and 3, cull distance n is component 7 - n: fragments find both
//! without knowing how many of the other kind there are, and the hardware takes a mask of each.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Maximum number of user locations.
pub const MAX_LOCATIONS: u16 = 32;

/// Maximum number of attributes of a fragment.
pub const MAX_ATTRIBUTES: usize = 32;

/// Attributes that setup can take from any slot.
pub const SWIZZLED_ATTRIBUTES: usize = 16;

/// Bytes of a slot.
pub const SLOT_BYTES: u32 = 16;

/// A slot of a vertex URB entry, or an attribute that setup generates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Varying {
    /// Shading rate, layer, viewport index and point size, a double word each.
    Header,
    /// Clip-space position.
    Position,
    /// Components 0 to 3 or 4 to 7 of the clip and cull distances.
    Distances(u8),
    /// A user location.
    Location(u16),
    /// The primitive's number, in the first component: of the slot if the entry has one, else from setup.
    PrimitiveId,
    /// Coordinates within a point, which setup generates.
    PointCoord,
}

/// The slots of a vertex URB entry.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct VueMap {
    /// The contents of each slot; `None` for padding and for locations that are not written.
    pub slots: Vec<Option<Varying>>,
}

impl VueMap {
    /// The entry of a vertex with these outputs: a mask of the halves of the distances, one of the locations, and whether
    /// there is a primitive id.
    #[must_use]
    pub fn new(distances: u8, locations: u32, primitive_id: bool) -> VueMap {
        let mut slots = vec![Some(Varying::Header), Some(Varying::Position)];
        if distances != 0 {
            slots
                .extend([0, 1].map(|k| (distances >> k & 1 != 0).then_some(Varying::Distances(k))));
        }
        let end = (u32::BITS - locations.leading_zeros()) as u16;
        slots.extend((0..end).map(|n| (locations >> n & 1 != 0).then_some(Varying::Location(n))));
        if primitive_id {
            slots.push(Some(Varying::PrimitiveId));
        }
        VueMap { slots }
    }

    /// The slot of an output.
    #[must_use]
    pub fn slot(&self, varying: Varying) -> Option<usize> {
        self.slots.iter().position(|&s| s == Some(varying))
    }

    /// The entry of a vertex that another stage than the rasteriser reads: it has slots for distances in any case, so that
    /// stage knows where everything is ([`VueMap::slot_between`]).
    #[must_use]
    pub fn between(distances: u8, locations: u32) -> VueMap {
        let mut map = VueMap::new(0b11, locations, false);
        for half in (0..2).filter(|half| distances >> half & 1 == 0) {
            map.slots[2 + half] = None;
        }
        map
    }

    /// The slot of an input of a stage before the rasteriser, in [`VueMap::between`].
    #[must_use]
    pub fn slot_between(varying: Varying) -> Option<u16> {
        match varying {
            Varying::Header => Some(0),
            Varying::Position => Some(1),
            Varying::Distances(half) => Some(2 + u16::from(half)),
            Varying::Location(n) => Some(4 + n),
            Varying::PrimitiveId | Varying::PointCoord => None,
        }
    }

    /// The size of an entry in units of 64 bytes, as 3DSTATE_URB_* have it.
    #[must_use]
    pub fn entry_units(&self) -> u32 {
        (self.slots.len() as u32 * SLOT_BYTES).div_ceil(64)
    }

    /// The state of setup for the attributes of a fragment program.
    ///
    /// # Errors
    /// When attributes past the sixteenth are not where the entry has them.
    pub fn setup(&self, inputs: &[Option<FragmentInput>]) -> Result<Setup> {
        let source = |input: &FragmentInput| match input.varying {
            Varying::PointCoord => None,
            varying => self.slot(varying),
        };
        let sources: Vec<Option<usize>> =
            inputs.iter().map(|i| i.as_ref().and_then(source)).collect();
        let low = sources.iter().flatten().min().copied().unwrap_or(2);
        let later = sources.iter().enumerate().skip(SWIZZLED_ATTRIBUTES);
        // Attributes that are not moved determine the first slot.
        let first = later
            .filter_map(|(k, source)| source.map(|s| s.checked_sub(k)))
            .next()
            .unwrap_or(Some(low & !1));
        let in_order = |first: usize| {
            let mut all = sources.iter().enumerate();
            first.is_multiple_of(2)
                && low >= first
                && all.all(|(k, s)| s.is_none_or(|s| k < SWIZZLED_ATTRIBUTES || s == first + k))
        };
        let Some(first) = first.filter(|&first| in_order(first)) else {
            return Err(Error::Feature(
                "this many inputs of a fragment shader beside clip distances",
            ));
        };
        let end = sources.iter().flatten().max().map_or(first + 1, |&last| last + 1);
        let attribute =
            |(input, source): (&Option<FragmentInput>, &Option<usize>)| SetupAttribute {
                source: source.map(|s| (s - first) as u8),
                flat: input.as_ref().is_some_and(|i| i.flat),
                generated: input.as_ref().map(|i| i.varying).filter(|&v| {
                    v == Varying::PointCoord || v == Varying::PrimitiveId && source.is_none()
                }),
            };
        Ok(Setup {
            read_offset: (first / 2) as u8,
            read_length: (end - first).div_ceil(2).max(1) as u8,
            attributes: inputs.iter().zip(&sources).map(attribute).collect(),
        })
    }
}

/// An attribute of a fragment program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FragmentInput {
    /// The source of its four components.
    pub varying: Varying,
    /// Whether the provoking vertex has the value, instead of an interpolation.
    pub flat: bool,
}

/// Parameters of 3DSTATE_SBE and 3DSTATE_SBE_SWIZ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Vertex URB Entry Read Offset, in units of two slots.
    pub read_offset: u8,
    /// Vertex URB Entry Read Length, in units of two slots.
    pub read_length: u8,
    /// The attributes.
    pub attributes: Vec<SetupAttribute>,
}

/// An attribute of [`Setup`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SetupAttribute {
    /// The slot that it comes from, counted from the first that is read; without one it is 0 in all components, unless it
    /// is generated.
    pub source: Option<u8>,
    /// Whether it is constant over the primitive (Constant Interpolation Enable).
    pub flat: bool,
    /// [`Varying::PrimitiveId`] (Primitive ID Override, component x) or [`Varying::PointCoord`] (Point Sprite Texture
    /// Coordinate Enable), where setup generates it.
    pub generated: Option<Varying>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(locations: &[u16]) -> Vec<Option<FragmentInput>> {
        let input = |&n| FragmentInput { varying: Varying::Location(n), flat: false };
        locations.iter().map(|n| Some(input(n))).collect()
    }

    #[test]
    fn locations_begin_at_an_even_slot() {
        let plain = VueMap::new(0, 0b1011, false);
        assert_eq!(plain.slot(Varying::Location(3)), Some(5));
        assert_eq!((plain.slots.len(), plain.entry_units()), (6, 2));
        let clipped = VueMap::new(0b01, 0b1, true);
        assert_eq!(clipped.slot(Varying::Location(0)), Some(4));
        assert_eq!(clipped.slot(Varying::PrimitiveId), Some(5));
        let between = VueMap::between(0b10, 0b101);
        assert_eq!(between.slots[2], None);
        for varying in [Varying::Position, Varying::Distances(1), Varying::Location(2)] {
            let slot = between.slot(varying).map(|slot| slot as u16);
            assert_eq!(slot, VueMap::slot_between(varying), "{varying:?}");
        }
    }

    #[test]
    fn setup_moves_sixteen_attributes() {
        let map = VueMap::new(0, 0b1_0011, false);
        let setup = map.setup(&inputs(&[4, 2, 1])).unwrap();
        assert_eq!((setup.read_offset, setup.read_length), (1, 3));
        let sources: Vec<_> = setup.attributes.iter().map(|a| a.source).collect();
        // Location 2 is not written: it is zero.
        assert_eq!(sources, [Some(4), None, Some(1)]);
    }

    #[test]
    fn later_attributes_come_in_the_order_of_the_entry() {
        let map = VueMap::new(0, u32::MAX >> 8, false);
        let all: Vec<u16> = (2..22).collect();
        let setup = map.setup(&inputs(&all)).unwrap();
        assert_eq!(setup.read_offset, 2);
        assert!(setup.attributes.iter().enumerate().all(|(k, a)| a.source == Some(k as u8)));
        let mut moved = all;
        moved.swap(17, 18);
        assert!(map.setup(&inputs(&moved)).is_err());
    }

    #[test]
    fn primitive_ids_are_generated_where_no_stage_writes_them() {
        let input = FragmentInput { varying: Varying::PrimitiveId, flat: true };
        let own = VueMap::new(0, 1, true).setup(&[Some(input)]).unwrap();
        assert_eq!((own.attributes[0].source, own.attributes[0].generated), (Some(1), None));
        let made = VueMap::new(0, 1, false).setup(&[Some(input)]).unwrap();
        assert_eq!(made.attributes[0].generated, Some(Varying::PrimitiveId));
    }
}
