//! Draws a layout: a layer's memory on the left, the order within a tile on the right.
//!
//! Memory runs from left to right and top to bottom, in cells of a power of two of bytes. A cell
//! has the colour of its level, bright where it holds elements and dark where it is padding;
//! metadata and headers are white. The tile is coloured from blue over green to yellow along the
//! curve, which is drawn as a line: through numbered elements if there is room, else through
//! squares of elements.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use tepui_mali_layout::Modifier;

use super::canvas::{Canvas, Rgb};
use crate::image::Image;

const BACKGROUND: Rgb = [22, 24, 29];
const TEXT: Rgb = [214, 216, 220];
const HEADERS: Rgb = [235, 235, 235];
const UNUSED: Rgb = [36, 39, 46];

/// Colours of the levels, repeating.
const LEVELS: [Rgb; 8] = [
    [86, 156, 214],
    [220, 120, 86],
    [120, 190, 110],
    [197, 134, 192],
    [214, 186, 90],
    [78, 190, 180],
    [230, 130, 160],
    [150, 150, 220],
];

/// Number of cells in a row, and the size of a cell in pixels.
const COLUMNS: u64 = 64;
const CELL_PX: u32 = 8;
const MARGIN_PX: u32 = 24;
/// Minimum distance between labels.
const LABEL_PX: u32 = 12;
/// Limit on the rows of cells.
const MAX_ROWS: u64 = 64;
/// Limit on the side of the drawn tile.
const TILE_PX: u32 = 512;

/// Draws `image` into the PNG file `path`.
pub fn write(image: &Image, path: &Path) -> io::Result<()> {
    let memory = Memory::of(image);
    let (title, tile) = (title(image), Tile::of(image));
    let rows = memory.cells.len().div_ceil(COLUMNS as usize) as u32;
    let map_w = COLUMNS as u32 * CELL_PX;
    let label_px =
        memory.labels.iter().map(|(_, _, text)| Canvas::text_w(text)).max().unwrap_or(0) + 12;
    let tile_x = MARGIN_PX + label_px + map_w + MARGIN_PX;
    let width = (tile_x + tile.side_px() + MARGIN_PX).max(MARGIN_PX * 2 + Canvas::text_w(&title));
    let top = MARGIN_PX + 24;
    // A label is next to the row in which its level starts, or as close below as there is space.
    let mut labels_px = 0;
    let labels: Vec<_> = memory
        .labels
        .iter()
        .map(|(level, first, text)| {
            let y = labels_px.max((first / COLUMNS) as u32 * CELL_PX);
            labels_px = y + LABEL_PX;
            (y, text, level.map_or(HEADERS, color_of))
        })
        .collect();
    let height = top + 16 + (rows * CELL_PX).max(tile.height_px()).max(labels_px) + MARGIN_PX;

    let mut canvas = Canvas::new(width, height, BACKGROUND);
    canvas.text(MARGIN_PX, MARGIN_PX, &title, TEXT);
    let map_x = MARGIN_PX + label_px;
    canvas.text(map_x, top, &format!("memory: {} bytes per cell", memory.unit_B), TEXT);
    canvas.text(tile_x, top, &tile.caption, TEXT);
    let top = top + 16;
    for (at, cell) in (0..).zip(&memory.cells) {
        let (column, row) = (at % COLUMNS as u32, at / COLUMNS as u32);
        let (x, y) = (map_x + column * CELL_PX, top + row * CELL_PX);
        canvas.rect(x, y, CELL_PX - 1, CELL_PX - 1, cell.color());
    }
    for (y, label, color) in labels {
        canvas.text(MARGIN_PX, top + y, label, color);
    }
    tile.draw(&mut canvas, tile_x, top);
    canvas.write(BufWriter::new(File::create(path)?))
}

fn title(image: &Image) -> String {
    let answer = image.answer();
    let mut title = format!(
        "{} {}x{} {} on {}",
        answer.format, answer.width_px, answer.height_px, answer.tiling, answer.gpu
    );
    let layers = answer.layers.max(answer.depth_px);
    if layers > 1 {
        title += &format!(", layer 0 of {layers}");
    }
    title
}

fn color_of(level: u32) -> Rgb {
    LEVELS[level as usize % LEVELS.len()]
}

/// The content of a cell of memory.
#[derive(Clone, Copy)]
enum Cell {
    Unused,
    Padding(u32),
    Elements(u32),
    Headers,
}

impl Cell {
    fn color(self) -> Rgb {
        match self {
            Cell::Unused => UNUSED,
            Cell::Padding(l) => color_of(l).map(|c| (u16::from(c) * 2 / 5) as u8),
            Cell::Elements(l) => color_of(l),
            Cell::Headers => HEADERS,
        }
    }
}

/// A layer's memory, followed by metadata.
struct Memory {
    unit_B: u64,
    cells: Vec<Cell>,
    /// Level (none for metadata), the cell in which it starts, and its label.
    labels: Vec<(Option<u32>, u64, String)>,
}

impl Memory {
    fn of(image: &Image) -> Memory {
        let answer = image.answer();
        let layer_B = answer.layer_stride_B;
        let metadata_B = match image {
            Image::Agx(_, layout) => layout.metadata.as_ref().map_or(0, |m| m.layer_stride_B),
            Image::Mali(..) | Image::Intel(..) => 0,
        };
        let unit_B =
            ((layer_B + metadata_B).div_ceil(COLUMNS * MAX_ROWS)).next_power_of_two().max(16);
        let cells = vec![Cell::Unused; (layer_B + metadata_B).div_ceil(unit_B) as usize];
        let mut memory = Memory { unit_B, cells, labels: Vec::new() };
        for level in &answer.levels {
            // Levels of Intel's images lie side by side.
            if !matches!(image, Image::Intel(..)) {
                memory.fill(level.offset_B, level.size_B, Cell::Padding(level.level));
            }
            let (w, h) = image.level_px(level.level).unwrap_or_default();
            let label = format!("{} {w}x{h}", level.level);
            memory.labels.push((Some(level.level), level.offset_B / unit_B, label));
        }
        match image {
            Image::Agx(_, layout) => {
                let element_B = u64::from(layout.element_B);
                for (l, level) in (0..).zip(layout.levels()) {
                    let Some(addresser) = layout.level_addresser(l) else { continue };
                    memory.elements(level.extent_el.to_array(), element_B, l, |x, y| {
                        level.offset_B + addresser.offset_B(x, y)
                    });
                }
            }
            Image::Mali(_, layout) => {
                let block = layout.desc().shape.format.info().block;
                for (l, level) in (0..).zip(layout.levels()) {
                    if let Some(afbc) = level.afbc {
                        memory.fill(level.offset_B, level.size_B, Cell::Elements(l));
                        memory.fill(level.offset_B, afbc.header_size_B, Cell::Headers);
                        continue;
                    }
                    memory.elements(level.extent_el.to_array(), block.bytes.into(), l, |x, y| {
                        let at = tepui_mali_layout::Texel {
                            level: l,
                            x_px: x * block.width_px,
                            y_px: y * block.height_px,
                            ..Default::default()
                        };
                        layout.texel_offset_B(at).unwrap_or(level.offset_B)
                    });
                }
            }
            Image::Intel(..) => {}
        }
        if let Image::Intel(_, layout) = image {
            let block = layout.desc().shape.format.info().block;
            for (level, l) in (0..).zip(layout.levels()) {
                memory.elements(l.extent_el.to_array(), block.bytes.into(), level, |x, y| {
                    let (x_px, y_px) = (x * block.width_px, y * block.height_px);
                    let at = tepui_layout::Texel { level, x_px, y_px, ..Default::default() };
                    layout.texel_offset_B(at).unwrap_or(u64::MAX)
                });
            }
        }
        if metadata_B > 0 {
            memory.fill(layer_B, metadata_B, Cell::Headers);
            memory.labels.push((None, layer_B / unit_B, "metadata".into()));
        }
        memory
    }

    fn fill(&mut self, offset_B: u64, size_B: u64, with: Cell) {
        let end = (offset_B + size_B).div_ceil(self.unit_B).min(self.cells.len() as u64);
        for cell in &mut self.cells[(offset_B / self.unit_B).min(end) as usize..end as usize] {
            *cell = with;
        }
    }

    /// Marks the cells that hold elements of a level. In large levels elements are sampled, densely
    /// enough to reach every cell of a tile.
    fn elements(
        &mut self,
        [w, h]: [u32; 2],
        element_B: u64,
        level: u32,
        offset_B: impl Fn(u32, u32) -> u64,
    ) {
        // A cell of Morton-ordered memory covers a square of elements, or two.
        let step = (self.unit_B / element_B / 2).max(1).isqrt() as usize;
        for y in (0..h).step_by(step) {
            for x in (0..w).step_by(step) {
                let at = (offset_B(x, y) / self.unit_B) as usize;
                if let Some(cell) = self.cells.get_mut(at) {
                    *cell = Cell::Elements(level);
                }
            }
        }
    }
}

/// The order of the elements within the largest tile.
struct Tile {
    caption: String,
    w: u32,
    h: u32,
    /// The elements, in order.
    path: Vec<(u32, u32)>,
    /// Aligned squares are contiguous.
    squares: bool,
}

impl Tile {
    fn of(image: &Image) -> Tile {
        let answer = image.answer();
        let level = &answer.levels[0];
        let mut tile = level.tile_el;
        let mut path = Vec::new();
        match image {
            Image::Agx(_, layout) if tile != [1, 1] => {
                let extent = layout.levels()[0].tile_el;
                path.extend(
                    (0..extent.area() as u32)
                        .map(|i| tepui_agx_layout::address::element_at(i, extent)),
                );
            }
            Image::Mali(_, layout) if layout.desc().modifier == Modifier::UInterleaved => {
                let mut order: Vec<_> = (0..tile[1])
                    .flat_map(|y| (0..tile[0]).map(move |x| (x, y)))
                    .map(|(x, y)| (tepui_mali_layout::index_in_tile(x, y), (x, y)))
                    .collect();
                order.sort_unstable();
                path.extend(order.into_iter().map(|(_, at)| at));
            }
            Image::Mali(_, layout) => {
                // Headers of AFBC; rows of a linear image.
                tile = [level.tiles[0].min(16), level.tiles[1].min(16)];
                let index = |x: u32, y: u32| match layout.desc().modifier {
                    Modifier::Afbc(afbc) => afbc.header_index(x, y, level.tiles[0]),
                    _ => u64::from(y) * u64::from(level.tiles[0]) + u64::from(x),
                };
                path.extend((0..tile[1]).flat_map(|y| (0..tile[0]).map(move |x| (x, y))));
                path.sort_by_key(|&(x, y)| index(x, y));
            }
            Image::Intel(_, layout) if tile != [1, 1] => {
                path.extend((0..tile[1]).flat_map(|y| (0..tile[0]).map(move |x| (x, y))));
                path.sort_by_key(|&(x, y)| layout.index_in_tile(x, y));
            }
            Image::Agx(..) | Image::Intel(..) => {
                tile = [level.tiles[0].min(16), level.tiles[1].min(16)];
                path.extend((0..tile[1]).flat_map(|y| (0..tile[0]).map(move |x| (x, y))));
            }
        }
        let [w, h] = tile;
        let caption = match (level.tile_el == tile, answer.tiling) {
            (_, "afbc") => format!("order of the headers of {w}x{h} superblocks"),
            (true, _) => format!("order within a tile of {w}x{h}"),
            (false, _) => format!("order of the first {w}x{h} pixels"),
        };
        Tile { caption, w, h, path, squares: !matches!(image, Image::Intel(..)) }
    }

    fn scale(&self) -> u32 {
        (TILE_PX / self.w.max(self.h)).clamp(1, 48)
    }

    fn side_px(&self) -> u32 {
        (self.w * self.scale()).max(Canvas::text_w(&self.caption))
    }

    fn height_px(&self) -> u32 {
        self.h * self.scale()
    }

    fn draw(&self, canvas: &mut Canvas, left: u32, top: u32) {
        let s = self.scale();
        let last = self.path.len().max(2) as f32 - 1.0;
        for (i, &(x, y)) in self.path.iter().enumerate() {
            let gap = u32::from(s >= 8);
            let color = gradient(i as f32 / last);
            canvas.rect(left + x * s, top + y * s, s - gap, s - gap, color);
        }
        // Squares of elements, large enough for a line through their centres; on either curve, an
        // aligned square is contiguous, except on Intel's.
        let side = LINE_PX.div_ceil(s).next_power_of_two();
        if side > self.w.min(self.h) || side > 1 && !self.squares {
            return;
        }
        let (area, px) = ((side * side) as usize, side * s);
        let middles: Vec<_> = self
            .path
            .iter()
            .step_by(area)
            .map(|&(x, y)| (left + x / side * px + px / 2, top + y / side * px + px / 2))
            .collect();
        for step in middles.windows(2) {
            canvas.line(step[0], step[1], LINE);
        }
        if let Some(&(x, y)) = middles.first() {
            canvas.rect(x - 3, y - 3, 7, 7, LINE);
        }
        if s >= NUMBER_PX {
            for (i, &(x, y)) in self.path.iter().enumerate() {
                let color = NUMBERS[usize::from(i as f32 > 0.4 * last)];
                canvas.text(left + x * s + 2, top + y * s + 2, &i.to_string(), color);
            }
        }
    }
}

/// Colours of the curve, and of the numbers on dark and on bright cells.
const LINE: Rgb = [255, 255, 255];
const NUMBERS: [Rgb; 2] = [[190, 200, 225], [12, 14, 20]];
/// Minimum size of squares that the line passes through, and of cells with numbers.
const LINE_PX: u32 = 16;
const NUMBER_PX: u32 = 28;

/// The gradient from blue over green to yellow, which contrasts with the line and the numbers.
fn gradient(at: f32) -> Rgb {
    const STOPS: [[f32; 3]; 4] =
        [[60.0, 60.0, 140.0], [40.0, 120.0, 140.0], [60.0, 170.0, 90.0], [225.0, 205.0, 60.0]];
    let at = at.clamp(0.0, 1.0) * 3.0;
    let i = (at as usize).min(2);
    let t = at - i as f32;
    std::array::from_fn(|c| (STOPS[i][c] * (1.0 - t) + STOPS[i + 1][c] * t) as u8)
}
