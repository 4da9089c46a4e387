//! Unified vertex store (UVS): the outputs of vertex programs.
//!
//! The outputs of a vertex are consecutive words: the position, varyings of 32 bits (smooth, flat,
//! linear), pairs of varyings of 16 bits, point size, layer and viewport, clip distances.
//! [`Layout`] says where each lies. source: docs/drivers/asahi.rst, "Hardware varyings"; agx_uvs.h,
//! `enum uvs_group`.

use tepui_agx_packets::ppp::{OutputSelect, VaryingCounts};

/// The inputs of a vertex program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Index of the vertex, base vertex included.
    pub index: u32,
    /// Instance, from 0.
    pub instance: u32,
}

/// The layout of the outputs of a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Words of a vertex.
    pub stride: usize,
    /// The point size.
    pub point_size: Option<usize>,
    /// Layer in the low half, viewport in the high half, if selected.
    pub target: Option<usize>,
    /// The layer is selected.
    pub layer: bool,
    /// The viewport is selected.
    pub viewport: bool,
    /// Clip distances: the first word, and a mask of planes.
    pub clip_distances: (usize, u16),
}

impl Layout {
    /// The layout of a vertex of `stride` words.
    pub fn new(
        stride: u32,
        select: &OutputSelect,
        counts_32: &VaryingCounts,
        counts_16: &VaryingCounts,
    ) -> Result<Layout, String> {
        let sum = |c: &VaryingCounts| (c.smooth + c.flat + c.linear) as usize;
        let mut at = 4 + sum(counts_32) + sum(counts_16);
        let mut take = |words: usize| {
            let here = at;
            at += words;
            here
        };
        let point_size = select.point_size.then(|| take(1));
        let target = (select.viewport_target || select.render_target).then(|| take(1));
        let planes = select.clip_distance_planes as u16;
        let first_plane = take(planes.count_ones() as usize);
        // An index beyond the vertex would read another vertex.
        let last = first_plane + planes.count_ones() as usize;
        let needed = if planes != 0 { last } else { first_plane };
        let beside = point_size.is_some() || target.is_some() || planes != 0;
        if stride < 4 || beside && needed > stride as usize {
            return Err(format!(
                "a vertex of {stride} words has no room for the {needed} that are selected"
            ));
        }
        Ok(Layout {
            stride: stride as usize,
            point_size,
            target,
            layer: select.render_target,
            viewport: select.viewport_target,
            clip_distances: (first_plane, planes),
        })
    }
}

/// A direct-mapped cache of the shaded vertices of an indexed draw, by index.
pub struct Reuse {
    entries: Box<[Entry; Reuse::SETS]>,
    epoch: u32,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    index: u32,
    epoch: u32,
    place: u32,
}

impl Default for Reuse {
    fn default() -> Reuse {
        Reuse { entries: Box::new([Entry::default(); Reuse::SETS]), epoch: 0 }
    }
}

impl Reuse {
    const SETS: usize = 4096;

    /// Empties the cache, at the start of an instance or draw.
    pub fn clear(&mut self) {
        match self.epoch.checked_add(1) {
            Some(epoch) => self.epoch = epoch,
            None => *self = Reuse { epoch: 1, ..Reuse::default() },
        }
    }

    /// The first output word of a vertex. A vertex that is not in the cache is inserted with
    /// `place`.
    pub fn place(&mut self, index: u32, place: u32) -> u32 {
        let entry = &mut self.entries[index as usize % Reuse::SETS];
        if entry.epoch != self.epoch || entry.index != index {
            *entry = Entry { index, epoch: self.epoch, place };
        }
        entry.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_order_of_the_store() {
        let select = OutputSelect {
            point_size: true,
            viewport_target: true,
            render_target: true,
            clip_distance_planes: 0b111,
            ..OutputSelect::default()
        };
        let counts = VaryingCounts { smooth: 3, flat: 1, linear: 2 };
        let none = VaryingCounts::default();
        let layout = Layout::new(15, &select, &counts, &none).unwrap();
        assert_eq!(layout.point_size, Some(10));
        assert_eq!(layout.target, Some(11));
        assert_eq!(layout.clip_distances, (12, 0b111));
        assert!(Layout::new(14, &select, &counts, &none).is_err());
    }

    #[test]
    fn vertices_are_found_again_until_another_instance_begins() {
        let mut reuse = Reuse::default();
        reuse.clear();
        assert_eq!(reuse.place(7, 100), 100);
        assert_eq!(reuse.place(7, 200), 100);
        assert_eq!(reuse.place(7 + 4096, 300), 300);
        assert_eq!(reuse.place(7, 400), 400);
        reuse.clear();
        assert_eq!(reuse.place(7, 500), 500);
    }
}
