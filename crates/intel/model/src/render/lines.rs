//! Dashed (stippled) and smooth (antialiased) lines.

use tepui_intel_packets::pixel::State3dLineStipple;
use tepui_raster::TILE_SIDE;

use super::state::{State, latched};
use super::unit::GRID;
use crate::context::HardwareContext;
use crate::job::JobFault;

/// The stipple pattern of a draw.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    bits: u32,
    /// Number of pixels per bit.
    repeat: u32,
    /// Whether a line continues the pattern where the previous one ended.
    strips: bool,
}

impl Pattern {
    /// The stipple pattern of a context; none if lines are solid.
    pub fn of(context: &HardwareContext, state: &State) -> Result<Option<Pattern>, JobFault> {
        /// Topologies of lines that share vertices. source: genxml, 3D_Prim_Topo_Type.
        const STRIPS: [u32; 3] = [3, 10, 16];
        if !state.wm.line_stipple_enable {
            return Ok(None);
        }
        let stipple: State3dLineStipple = latched(context)?;
        let topology = if state.gs.enable { state.gs.output_topology } else { state.topology };
        Ok(Some(Pattern {
            bits: stipple.line_stipple_pattern,
            repeat: stipple.line_stipple_repeat_count.max(1),
            strips: STRIPS.contains(&topology),
        }))
    }
}

/// The dashes of a line.
#[derive(Clone, Copy)]
pub(super) struct Dashes {
    pattern: Pattern,
    /// The axis along which pixels are counted.
    axis: usize,
    /// The first pixel, and whether pixel coordinates increase along the line.
    first: i32,
    up: bool,
    /// Number of pixels of the lines before it.
    before: u32,
}

/// Counts the pixels of consecutive lines.
#[derive(Clone, Copy, Default)]
pub(super) struct Counter {
    pixels: u32,
    /// The end vertex of the previous line.
    last: Option<u32>,
}

impl Counter {
    /// The dashes of a line between two vertices, whose window positions are in sub-pixels.
    pub fn next(
        &mut self,
        pattern: Pattern,
        [from, to]: [u32; 2],
        [p, q]: [[i32; 2]; 2],
    ) -> Dashes {
        if !pattern.strips || self.last != Some(from) {
            self.pixels = 0;
        }
        self.last = Some(to);
        let long = [0, 1].map(|axis| (q[axis] - p[axis]).abs());
        let axis = usize::from(long[1] > long[0]);
        // The first pixel whose centre is at or after a position.
        let pixel = GRID.pixel() as i32;
        let at = |place: i32| {
            (place - pixel / 2).div_euclid(pixel)
                + i32::from((place - pixel / 2).rem_euclid(pixel) != 0)
        };
        let (start, end) = (at(p[axis]), at(q[axis]));
        let up = q[axis] >= p[axis];
        let before = self.pixels;
        self.pixels = before.wrapping_add(start.abs_diff(end));
        Dashes { pattern, axis, first: if up { start } else { start - 1 }, up, before }
    }
}

impl Dashes {
    /// The columns of a tile's row that belong to dashes.
    pub fn row(&self, corner: [u32; 2], line: usize) -> u32 {
        let drawn = |place: i32| {
            let steps = if self.up { place - self.first } else { self.first - place };
            let count = self.before.wrapping_add_signed(steps);
            self.pattern.bits >> (count / self.pattern.repeat % 16) & 1 != 0
        };
        if self.axis == 1 {
            return if drawn(corner[1] as i32 + line as i32) { u32::MAX } else { 0 };
        }
        (0..TILE_SIDE as u32)
            .filter(|x| drawn((corner[0] + x) as i32))
            .fold(0, |row, x| row | 1 << x)
    }
}

/// A smooth line: the alpha of its pixels is scaled by their coverage.
#[derive(Clone, Copy)]
pub(crate) struct SmoothLine {
    from: [f32; 2],
    /// Unit vector along the line.
    way: [f32; 2],
    length: f32,
    half_width: f32,
}

impl SmoothLine {
    /// A line whose ends are in sub-pixels.
    pub(super) fn new([p, q]: [[i32; 2]; 2], width: f32) -> SmoothLine {
        let px = |v: i32| v as f32 / GRID.pixel() as f32;
        let (from, to) = (p.map(px), q.map(px));
        let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        let length = dx.hypot(dy);
        let way = if length > 0.0 { [dx / length, dy / length] } else { [1.0, 0.0] };
        SmoothLine { from, way, length, half_width: width / 2.0 }
    }

    /// The width of a plain line that covers all of its pixels.
    pub(super) fn outline_px(width: f32) -> f32 {
        // Measured across an axis, a diagonal line is wider by the square root of 2.
        (width + 1.0) * std::f32::consts::SQRT_2
    }

    /// The coverage of a pixel.
    ///
    /// Assumption: coverage depends on the distance of the pixel's centre from the line's sides and ends, over half a
    /// pixel to either side.
    pub fn coverage(&self, [x, y]: [u32; 2]) -> f32 {
        let [x, y] = [x as f32 + 0.5 - self.from[0], y as f32 + 0.5 - self.from[1]];
        let along = x * self.way[0] + y * self.way[1];
        let across = (x * self.way[1] - y * self.way[0]).abs();
        let side = (self.half_width + 0.5 - across).clamp(0.0, 1.0);
        let end = (along + 0.5).min(self.length - along + 0.5).clamp(0.0, 1.0);
        side * end
    }

    /// The columns of a tile's row that are at least partly covered.
    pub(super) fn row(&self, corner: [u32; 2], line: usize) -> u32 {
        (0..TILE_SIDE as u32)
            .filter(|x| self.coverage([corner[0] + x, corner[1] + line as u32]) > 0.0)
            .fold(0, |row, x| row | 1 << x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(strips: bool) -> Pattern {
        Pattern { bits: 0x000f, repeat: 2, strips }
    }

    #[test]
    fn dashes_go_on_in_strips() {
        let px = |v: i32| v * GRID.pixel() as i32;
        let mut counter = Counter::default();
        // Ten pixels to the right, from column 2 on: eight of sixteen are drawn.
        let first = counter.next(pattern(true), [0, 1], [[px(2), 0], [px(12), 0]]);
        assert_eq!(first.row([0, 0], 0) & 0xfff, 0x3fc);
        // Then down: pixels 10 to 31 are skipped, 32 and up are drawn.
        let second = counter.next(pattern(true), [1, 2], [[px(12), 0], [px(12), px(30)]]);
        assert_eq!((0..30).find(|&y| second.row([0, 0], y) != 0), Some(22));
        // Without strips, and to the left: from column 11 down.
        let third = counter.next(pattern(false), [2, 3], [[px(12), 0], [px(2), 0]]);
        assert_eq!(third.row([0, 0], 0) & 0xfff, 0xff0);
    }

    #[test]
    fn smooth_lines_fade_at_their_sides() {
        let px = |v: f32| (v * GRID.pixel() as f32) as i32;
        let line = SmoothLine::new([[px(0.0), px(2.0)], [px(20.0), px(2.0)]], 1.0);
        let column = [0, 1, 2, 3].map(|y| line.coverage([8, y]));
        assert_eq!(column, [0.0, 0.5, 0.5, 0.0]);
        assert_eq!(line.coverage([0, 1]), 0.5);
        assert_eq!(line.coverage([30, 1]), 0.0);
    }
}
