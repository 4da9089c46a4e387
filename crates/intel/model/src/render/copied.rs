//! Pixel shaders that copy texels: areas of whole strips are copied without shading.

use tepui_intel_eu::{Term, TexelCopy};
use tepui_raster::TILE_SIDE;

use super::geometry::Primitive;
use super::pixel::PixelShader;
use super::tile::{STRIP, Worker, whole_strips};
use crate::port::CopiedArea;

/// The source texels of a primitive's pixels.
struct Source<'s> {
    copy: &'s TexelCopy,
    /// The distance from a pixel to its texel, in two steps, neither of which becomes negative.
    distance: [[i32; 2]; 2],
    layer: u32,
}

impl Source<'_> {
    /// The texel of a pixel.
    fn of(&self, pixel: [u32; 2]) -> Option<[u32; 2]> {
        let along = |axis: usize| {
            let [first, second] = self.distance[axis];
            pixel[axis].checked_add_signed(first)?.checked_add_signed(second)
        };
        Some([along(0)?, along(1)?])
    }
}

impl PixelShader {
    /// The source of a primitive, if the program only copies texels at a scale of one.
    fn copied_source(&self, attributes: &[u32]) -> Option<Source<'_>> {
        /// Floats up to a small multiple of this represent all multiples of one half.
        const FARTHEST: i32 = 1 << 20;
        let copy = self.variant.program.program().copies()?;
        let bits = |at: u16| self.setup_dword(attributes, at.into());
        let float = |at: u16| bits(at).map(f32::from_bits).filter(|v| v.abs() < FARTHEST as f32);
        let term = |term: Option<Term>| {
            let Some(Term { at, negative }) = term else { return Some(0) };
            let value = bits(at)? as i32;
            let near = (-FARTHEST..FARTHEST).contains(&value);
            near.then_some(if negative { -value } else { value })
        };
        let mut distance = [[0; 2]; 2];
        for (distance, coordinate) in distance.iter_mut().zip(&copy.coordinates) {
            let (scale, offset) = (float(coordinate.scale)?, float(coordinate.offset)?);
            // Drivers add one half, for centres of pixels, which is truncated again if nothing is negative.
            if scale != 1.0 || (2.0 * offset).fract() != 0.0 {
                return None;
            }
            *distance = [term(coordinate.before)? + offset.floor() as i32, term(coordinate.after)?];
        }
        let layer = copy.layer.map_or(Some(0.0), float).filter(|layer| *layer >= 0.0)?;
        Some(Source { copy, distance, layer: layer as u32 })
    }
}

impl Worker<'_, '_> {
    /// Copies the strips of a tile's rows for which the shader only copies; returns the completed columns of each pair
    /// of rows.
    pub fn copied(
        &mut self,
        corner: [u32; 2],
        primitive: &Primitive,
        passed: &[u32; TILE_SIDE],
    ) -> [u32; TILE_SIDE / 2] {
        let mut done = [0; TILE_SIDE / 2];
        let attributes =
            &self.scene.attributes[primitive.attributes..][..self.drawing.attribute_dwords];
        let source = self.drawing.shader.and_then(|shader| shader.copied_source(attributes));
        let Some(source) = source else { return done };
        let Source { copy, layer, .. } = source;
        let (pairs, _) = passed.as_chunks::<2>();
        let mut next = 0;
        while let Some(&pair) = pairs.get(next) {
            // Pairs of rows with the same strips are merged.
            let columns = whole_strips(pair);
            let alike = pairs[next..].iter().take_while(|&&pair| whole_strips(pair) == columns);
            let rows = alike.count();
            let mut left = columns;
            while left != 0 {
                let first = left.trailing_zeros();
                let width = (left >> first).trailing_ones();
                let run = (((1u64 << width) - 1) as u32) << first;
                left &= !run;
                let to = [corner[0] + first, corner[1] + 2 * next as u32];
                let Some(from) = source.of(to) else { continue };
                let area = CopiedArea { from, layer, to, size: [width, 2 * rows as u32] };
                let threads = u64::from(width / STRIP) * rows as u64;
                let instructions = threads * copy.instructions;
                if self.budget < instructions || !self.ports.copy_texels(copy, &area) {
                    continue;
                }
                self.budget -= instructions;
                self.part.stats.threads += threads;
                self.part.stats.instructions += instructions;
                done[next..next + rows].iter_mut().for_each(|columns| *columns |= run);
            }
            next += rows;
        }
        done
    }
}
