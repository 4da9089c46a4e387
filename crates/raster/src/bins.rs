//! Binning: for each tile, the list of shapes that may cover it.

use crate::Shape;

/// Shapes that touch more tiles than this are kept in a list for all tiles, so that the memory for
/// bins is bounded by the number of shapes.
const WIDE: usize = 64;

/// The shapes of each tile of a layer, as indices in order.
#[derive(Default)]
pub struct Bins {
    /// Offset of each tile's shapes in `lists`; one more at the end.
    starts: Vec<u32>,
    lists: Vec<u32>,
    /// Shapes that every tile looks at.
    wide: Vec<u32>,
}

/// The tiles that a shape may touch: first column, first row, one past the last of both. `shift` are the logarithms of a tile's
/// width and height.
#[inline(always)]
fn touched(shape: &Shape, shift: [u32; 2]) -> [u32; 4] {
    let first = |k: usize| u32::from(shape.min_px[k]) >> shift[k];
    let last = |k: usize| (u32::from(shape.max_px[k]) + (1 << shift[k]) - 1) >> shift[k];
    [first(0), first(1), last(0), last(1)]
}

impl Bins {
    /// Sorts shapes into the tiles of a layer; `members` are those of the layer, in order. Sides of tiles are powers of two.
    pub fn fill(&mut self, shapes: &[Shape], members: &[u32], tiles: [u32; 2], tile_px: [u32; 2]) {
        debug_assert!(tile_px.iter().all(|side| side.is_power_of_two()));
        let shift = [tile_px[0].trailing_zeros(), tile_px[1].trailing_zeros()];
        let count = (tiles[0] * tiles[1]) as usize;
        self.starts.clear();
        self.starts.resize(count + 1, 0);
        self.wide.clear();
        let mut total = 0;
        for &index in members {
            let [x0, y0, x1, y1] = touched(&shapes[index as usize], shift);
            let n = ((x1 - x0) * (y1 - y0)) as usize;
            if n > WIDE {
                self.wide.push(index);
                continue;
            }
            total += n;
            for y in y0..y1 {
                for x in x0..x1 {
                    self.starts[(y * tiles[0] + x) as usize] += 1;
                }
            }
        }
        // Prefix sums give the end of each list; filling from the ends makes them starts.
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.lists.clear();
        self.lists.resize(total, 0);
        // Lists are filled from their ends, so that the members have to come in reverse.
        for &index in members.iter().rev() {
            let [x0, y0, x1, y1] = touched(&shapes[index as usize], shift);
            if ((x1 - x0) * (y1 - y0)) as usize > WIDE {
                continue;
            }
            for y in y0..y1 {
                for x in x0..x1 {
                    let start = &mut self.starts[(y * tiles[0] + x) as usize];
                    *start -= 1;
                    self.lists[*start as usize] = index;
                }
            }
        }
    }

    /// Bytes that the lists take.
    pub fn bytes(&self) -> usize {
        let lists = [&self.starts, &self.lists, &self.wide];
        lists.into_iter().map(|list| list.capacity() * size_of::<u32>()).sum()
    }

    /// The shapes that a tile has to look at, in order.
    #[inline]
    pub fn tile<'a>(&'a self, tile: u32) -> impl Iterator<Item = u32> + 'a {
        let own = self.starts[tile as usize] as usize..self.starts[tile as usize + 1] as usize;
        let (mut own, mut wide) = (&self.lists[own], self.wide.as_slice());
        std::iter::from_fn(move || {
            let from_own = match (own.first(), wide.first()) {
                (Some(a), Some(b)) => a < b,
                (first, _) => first.is_some(),
            };
            let list = if from_own { &mut own } else { &mut wide };
            let (first, rest) = list.split_first()?;
            *list = rest;
            Some(*first)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FillRule;

    #[test]
    fn every_tile_sees_its_shapes_in_order() {
        let shape = |min: [u16; 2], max: [u16; 2]| Shape {
            corners: [[0; 2]; 4],
            sides: 3,
            min_px: min,
            max_px: max,
            primitive: 0,
            coverage: crate::CoverageRule::Samples,
            fill: FillRule::TopLeft,
        };
        let shapes = [
            shape([0, 0], [10, 10]),
            shape([0, 0], [512, 512]),
            shape([31, 31], [33, 33]),
            shape([0, 0], [512, 512]),
            shape([5, 5], [6, 40]),
            shape([256, 480], [512, 512]),
            shape([480, 256], [512, 512]),
        ];
        let mut bins = Bins::default();
        bins.fill(&shapes, &[0, 1, 2, 3, 4, 5, 6], [16, 16], [32, 32]);
        let tile = |x: u32, y: u32| bins.tile(y * 16 + x).collect::<Vec<_>>();
        assert_eq!(tile(0, 0), [0, 1, 2, 3, 4]);
        assert_eq!(tile(1, 0), [1, 2, 3]);
        assert_eq!(tile(0, 1), [1, 2, 3, 4]);
        assert_eq!(tile(15, 15), [1, 3, 5, 6]);
        assert_eq!(tile(8, 15), [1, 3, 5]);
        assert_eq!(tile(15, 8), [1, 3, 6]);
        assert_eq!(tile(14, 14), [1, 3]);
        // A start for each of 256 tiles and an end; shapes 0, 2, 4, 5 and 6 touch 1, 4, 2, 8
        // and 8 tiles; two are wide.
        assert!(bins.bytes() >= 4 * (257 + 23 + 2), "{}", bins.bytes());
        assert_eq!(Bins::default().bytes(), 0);
    }
}
