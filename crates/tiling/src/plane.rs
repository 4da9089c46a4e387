//! Tiled planes (one mip level of one layer) and the addresses of their elements.

/// The order of the elements within a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Morton order: the bits of x and y interleaved, x lowest. In tiles that are wider than high,
    /// the top bits are those of x alone. (AGX: twiddled.)
    Morton,
    /// Morton order of x ^ y and y, in square tiles. (Mali: u-interleaved.)
    UInterleaved,
    /// Each bit of a byte's place in the tile is a bit of its column or of its row. (Intel: tiles X, Y,
    /// W, Yf and Ys.)
    Bits(AddressBits),
    /// No tiles: linear rows. Tiles of this order are single elements, so that a row of tiles is a
    /// row of the image and `tile_row_B` is its stride.
    Raster,
}

/// Bits of a byte's offset in a tile that come from its column in bytes, and bits that come from its
/// row: the lowest bit of either goes to the lowest bit of its mask, and so on. Every bit of the offset
/// is in one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddressBits {
    /// Bits that come from the column.
    pub x: u32,
    /// Bits that come from the row.
    pub y: u32,
}

impl AddressBits {
    /// Largest tile in bytes.
    const MAX_BYTES: u32 = 1 << 16;

    /// Width of the tile in bytes, and its rows.
    pub const fn tile(self) -> (u32, u32) {
        (1 << self.x.count_ones(), 1 << self.y.count_ones())
    }

    /// The offset of a byte in the tile.
    #[inline]
    pub const fn index(self, x: u32, y: u32) -> u32 {
        deposit(x, self.x) | deposit(y, self.y)
    }

    /// Whether the masks are those of a tile, and keep an element of `element_B` bytes contiguous.
    fn suits(self, element_B: u32) -> bool {
        let all = self.x | self.y;
        self.x & self.y == 0
            && all < Self::MAX_BYTES
            && (all + 1).is_power_of_two()
            && element_B.is_power_of_two()
            && self.x & (element_B - 1) == element_B - 1
    }

    /// The masks for elements instead of bytes.
    pub(crate) fn of_elements(self, element_B: u32) -> AddressBits {
        let shift = element_B.trailing_zeros();
        AddressBits { x: self.x >> shift, y: self.y >> shift }
    }
}

/// Moves the lowest bits of `value` to the bits of `mask`, in order.
#[inline]
pub(crate) const fn deposit(value: u32, mask: u32) -> u32 {
    let (mut value, mut left, mut result) = (value as u64, mask as u64, 0);
    while left != 0 {
        // The next run of bits.
        let first = left.trailing_zeros();
        let length = (left >> first).trailing_ones();
        let run = ((1 << length) - 1) << first;
        result |= value << first & run;
        value >>= length;
        left ^= run;
    }
    result as u32
}

/// A tiled plane: tiles in raster order, each contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    pub(crate) element_B: u32,
    pub(crate) width_el: u32,
    pub(crate) height_el: u32,
    pub(crate) log2_tile_w: u32,
    pub(crate) log2_tile_h: u32,
    pub(crate) tile_row_B: usize,
    pub(crate) order: Order,
}

/// Reason why a plane was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaneError {
    /// The element's size has no kernel.
    #[error("elements of {0} bytes; there are kernels for 1, 2, 3, 4, 6, 8, 12, 16, 32 and 64")]
    ElementSize(u32),
    /// The order does not support this tile size.
    #[error(
        "tiles of {0}x{1} elements; sides are powers of two of at most 256, and tiles are square, in \
         Morton order also twice as wide as high, in raster order single elements; tiles by bits are as \
         large as the bits say"
    )]
    TileSize(u32, u32),
    /// A row of tiles is too short for the plane's width.
    #[error("a row of tiles of {row_B} bytes; the plane's width needs {needed_B}")]
    RowTooShort {
        /// Bytes from tile row to tile row.
        row_B: u64,
        /// Bytes that the tiles of a row take.
        needed_B: u64,
    },
    /// A size is 0 or exceeds the address space.
    #[error("a plane of {0}x{1} elements is empty or exceeds the address space")]
    Extent(u32, u32),
}

/// A rectangle of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Rect {
    /// Left column.
    pub x: u32,
    /// Top row.
    pub y: u32,
    /// Width.
    pub w: u32,
    /// Height.
    pub h: u32,
}

impl Plane {
    /// A plane of `width_el`×`height_el` elements of `element_B` bytes, in tiles of `tile_el` =
    /// (width, height) elements; rows of tiles are `tile_row_B` bytes apart.
    pub fn new(
        order: Order,
        element_B: u32,
        (width_el, height_el): (u32, u32),
        tile_el: (u32, u32),
        tile_row_B: u64,
    ) -> Result<Plane, PlaneError> {
        if !matches!(element_B, 1 | 2 | 3 | 4 | 6 | 8 | 12 | 16 | 32 | 64) {
            return Err(PlaneError::ElementSize(element_B));
        }
        let (tile_w, tile_h) = tile_el;
        let most = if matches!(order, Order::Bits(_)) { 1 << 16 } else { 256 };
        let valid = |side: u32| side.is_power_of_two() && side <= most;
        if !valid(tile_w) || !valid(tile_h) {
            return Err(PlaneError::TileSize(tile_w, tile_h));
        }
        let shape = match order {
            Order::Morton => tile_w == tile_h || tile_w / 2 == tile_h,
            Order::UInterleaved => tile_w == tile_h,
            Order::Raster => tile_w * tile_h == 1,
            Order::Bits(bits) => {
                bits.suits(element_B)
                    && u64::from(tile_w) * u64::from(element_B) == u64::from(bits.tile().0)
                    && tile_h == bits.tile().1
            }
        };
        if !shape {
            return Err(PlaneError::TileSize(tile_w, tile_h));
        }
        let tile_B = u64::from(tile_w * tile_h * element_B);
        let needed_B = u64::from(width_el.div_ceil(tile_w)) * tile_B;
        if tile_row_B < needed_B {
            return Err(PlaneError::RowTooShort { row_B: tile_row_B, needed_B });
        }
        let plane = Plane {
            element_B,
            width_el,
            height_el,
            log2_tile_w: tile_w.ilog2(),
            log2_tile_h: tile_h.ilog2(),
            tile_row_B: usize::try_from(tile_row_B)
                .map_err(|_| PlaneError::Extent(width_el, height_el))?,
            order,
        };
        let tile_rows = u64::from(height_el.div_ceil(tile_h));
        let fits = tile_rows.checked_mul(tile_row_B).is_some_and(|b| b <= isize::MAX as u64);
        if width_el == 0 || height_el == 0 || !fits {
            return Err(PlaneError::Extent(width_el, height_el));
        }
        Ok(plane)
    }

    /// Size of a tile in bytes.
    pub fn tile_B(&self) -> usize {
        (self.element_B as usize) << (self.log2_tile_w + self.log2_tile_h)
    }

    /// The rectangle that covers the plane.
    pub fn rect(&self) -> Rect {
        Rect { x: 0, y: 0, w: self.width_el, h: self.height_el }
    }

    /// Offset of an element from the plane's start, in bytes. The kernels are tested against this
    /// function.
    pub fn offset_B(&self, x: u32, y: u32) -> usize {
        let (tile_w, tile_h) = (1 << self.log2_tile_w, 1 << self.log2_tile_h);
        let tile = (y / tile_h) as usize * self.tile_row_B + (x / tile_w) as usize * self.tile_B();
        let (x, y) = (x % tile_w, y % tile_h);
        tile + self.index_in_tile(x, y) as usize * self.element_B as usize
    }

    /// The position along the curve of element (x, y) of a tile.
    pub fn index_in_tile(&self, x: u32, y: u32) -> u32 {
        let x = match self.order {
            Order::Morton | Order::Raster => x,
            Order::UInterleaved => x ^ y,
            Order::Bits(bits) => {
                let bits = bits.of_elements(self.element_B);
                return deposit(x, bits.x) | deposit(y, bits.y);
            }
        };
        spread(x) | spread(y) << 1
    }

    /// The smallest number of bytes that holds rows of tiles up to row `y_end` (exclusive) and, of
    /// the last of them, the tiles up to column `x_end`.
    pub(crate) fn bytes_up_to(&self, x_end: u32, y_end: u32) -> usize {
        let tile_rows = (y_end.div_ceil(1 << self.log2_tile_h)) as usize;
        let tiles = (x_end.div_ceil(1 << self.log2_tile_w)) as usize;
        (tile_rows - 1) * self.tile_row_B + tiles * self.tile_B()
    }
}

/// Spreads the bits of `value` (below 65536) to the even bit positions.
#[inline]
pub(crate) const fn spread(value: u32) -> u32 {
    let v = value & 0xffff;
    let v = (v | v << 8) & 0x00ff_00ff;
    let v = (v | v << 4) & 0x0f0f_0f0f;
    let v = (v | v << 2) & 0x3333_3333;
    (v | v << 1) & 0x5555_5555
}
