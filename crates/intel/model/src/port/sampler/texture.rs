//! State of surfaces that the sampler keeps, and rows of texels that it reuses.

use tepui_softgpu::Protection;
use tepui_texel::axis::Axis;
use tepui_texel::{Pick, Placed, Row, Unpacker};

use super::super::auxiliary::AuxiliaryPlane;
use super::super::payload::LANES as WIDTH;
use super::super::plain::PlainLevel;
use super::super::surface::{Dimension, Image, Surface};
use crate::memory::Memory;

/// Maximum number of levels of an image.
pub(super) const MAX_LEVELS: usize = 16;

/// Applies a surface's swizzle.
///
/// source: genxml, Shader Channel Select.
pub(super) fn swizzled(value: [u32; 4], swizzle: [u32; 4], one: u32) -> [u32; 4] {
    swizzle.map(|select| match select {
        4..=7 => value[select as usize - 4],
        1 => one,
        _ => 0,
    })
}

/// Scratch rows that messages reuse; their old contents are never read.
#[repr(align(64))]
pub(crate) struct Scratch {
    /// The words of texels.
    pub(super) taps: [[Row<WIDTH>; 4]; 4],
    pub(super) axes: [Axis<WIDTH>; 3],
    pub(super) placed: Placed<WIDTH>,
    pub(super) rows: [Row<WIDTH>; 4],
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch {
            taps: [[[0; WIDTH]; 4]; 4],
            axes: [Axis::ZERO; 3],
            placed: Placed::ZERO,
            rows: [[0; WIDTH]; 4],
        }
    }
}

/// Cached state of a surface.
pub(crate) struct Texture {
    /// The vectorised unpacker; none if the surface is not supported.
    pub(super) unpacker: Option<Unpacker>,
    /// The source of each component.
    pub(super) picks: [Pick; 4],
    /// The layer that the cached levels belong to, and for each level the fast-path level, if it is
    /// supported; none if it has not been examined.
    layer: u32,
    levels: [Option<Option<PlainLevel>>; MAX_LEVELS],
    /// The value of texels in clear blocks, if there are any.
    pub(crate) clear: [u32; 4],
    /// The clear state of a level's blocks: the level, and its auxiliary plane.
    marks: Option<(u32, AuxiliaryPlane)>,
}

impl Texture {
    pub fn of(surface: &Surface) -> Texture {
        let image = match surface {
            Surface::Image(image) => Some(image),
            _ => None,
        };
        let suits =
            |image: &&Image| !image.cube && image.dimension == Dimension::Two && image.samples == 1;
        let image = image.filter(suits);
        let picks = image.map_or([Pick::Zero; 4], |image| {
            // source: genxml, Shader Channel Select.
            image.swizzle.map(|select| match select {
                4..=7 => image.format.pick(select as usize - 4),
                1 => Pick::One,
                _ => Pick::Zero,
            })
        });
        Texture {
            unpacker: image
                .and_then(|image| image.format.unpacker.or_else(|| image.format.block_unpacker())),
            picks,
            layer: 0,
            levels: [None; MAX_LEVELS],
            clear: image.filter(|image| image.may_be_clear).map_or([0; 4], |image| {
                swizzled(image.clear_texel(), image.swizzle, image.format.one())
            }),
            marks: None,
        }
    }

    /// The auxiliary plane of a level.
    pub(crate) fn marks(&mut self, image: &Image, level: u32) -> Option<AuxiliaryPlane> {
        match self.marks {
            Some((known, marks)) if known == level => Some(marks),
            _ => {
                let marks = image.auxiliary?.plane(image, image.level.checked_add(level)?);
                self.marks = Some((level, marks));
                Some(marks)
            }
        }
    }

    pub(super) fn level(
        &mut self,
        memory: &mut Memory<'_>,
        image: &Image,
        level: u32,
        layer: u32,
    ) -> Option<PlainLevel> {
        if layer != self.layer {
            self.layer = layer;
            self.levels = [None; MAX_LEVELS];
        }
        *self.levels.get_mut(level as usize)?.get_or_insert_with(|| {
            let plane = image.sampled_plane(image.level.checked_add(level)?);
            PlainLevel::of_elements(memory, image, &plane, layer, Protection::READ)
        })
    }
}
