//! Variants of AFBC: the flags of its format modifier, and the order of headers.

use std::fmt;
use std::str::FromStr;

use tepui_format::units::{El, Extent};
use tepui_mali_chips::Arch;

/// The shape of a superblock. All have 256 pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Superblock {
    /// 16×16.
    S16x16,
    /// 32×8.
    S32x8,
    /// 64×4.
    S64x4,
}

impl Superblock {
    const ALL: [Superblock; 3] = [Superblock::S16x16, Superblock::S32x8, Superblock::S64x4];

    /// Width and height.
    #[inline]
    pub const fn extent(self) -> Extent<El> {
        let [w, h] = self.shifts();
        Extent::new(1 << w, 1 << h)
    }

    /// The logarithms of width and height to the base 2.
    #[inline(always)]
    pub const fn shifts(self) -> [u32; 2] {
        match self {
            Superblock::S16x16 => [4, 4],
            Superblock::S32x8 => [5, 3],
            Superblock::S64x4 => [6, 2],
        }
    }

    /// The unit of rendering: superblocks of fewer than 16 rows are padded to 16.
    pub const fn render_extent(self) -> Extent<El> {
        let Extent { w, h, .. } = self.extent();
        Extent::new(w, h.next_multiple_of(16))
    }
}

/// A variant of AFBC. All are sparse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Afbc {
    /// The shape of a superblock.
    pub superblock: Superblock,
    /// Headers are in tiles of 8×8 superblocks.
    pub tiled: bool,
    /// Red, green and blue are decorrelated before compression.
    pub ytr: bool,
    /// The second half of a payload has a fixed address.
    pub split: bool,
    /// A superblock of one colour has no payload.
    pub solid_color: bool,
}

impl Afbc {
    /// Superblocks of 16×16, headers in raster order.
    pub const PLAIN: Afbc = Afbc {
        superblock: Superblock::S16x16,
        tiled: false,
        ytr: false,
        split: false,
        solid_color: false,
    };

    const YTR: u64 = 1 << 4;
    const SPLIT: u64 = 1 << 5;
    const SPARSE: u64 = 1 << 6;
    const TILED: u64 = 1 << 8;
    const SOLID_COLOR: u64 = 1 << 9;

    /// The flags of the DRM format modifier. source: drm_fourcc.h, `AFBC_FORMAT_MOD_*`.
    pub const fn flags(self) -> u64 {
        let mut flags = Afbc::SPARSE
            | match self.superblock {
                Superblock::S16x16 => 1,
                Superblock::S32x8 => 2,
                Superblock::S64x4 => 3,
            };
        if self.tiled {
            flags |= Afbc::TILED;
        }
        if self.ytr {
            flags |= Afbc::YTR;
        }
        if self.split {
            flags |= Afbc::SPLIT;
        }
        if self.solid_color {
            flags |= Afbc::SOLID_COLOR;
        }
        flags
    }

    /// The variant of a modifier's flags, if it is one of these.
    pub fn from_flags(flags: u64) -> Option<Afbc> {
        let superblock = match flags & 0xf {
            1 => Superblock::S16x16,
            2 => Superblock::S32x8,
            3 => Superblock::S64x4,
            _ => return None,
        };
        let afbc = Afbc {
            superblock,
            tiled: flags & Afbc::TILED != 0,
            ytr: flags & Afbc::YTR != 0,
            split: flags & Afbc::SPLIT != 0,
            solid_color: flags & Afbc::SOLID_COLOR != 0,
        };
        (afbc.flags() == flags).then_some(afbc)
    }

    /// Superblocks on a side of a tile of headers.
    #[inline]
    pub(crate) const fn header_tile(self) -> u32 {
        if self.tiled { 8 } else { 1 }
    }

    /// Alignment of the body. source: Mesa, `pan_afbc_body_align`.
    pub(crate) const fn body_align_B(self, arch: Arch) -> u64 {
        match (self.tiled, arch.0) {
            (true, _) => 4096,
            (false, 6..) => 128,
            (false, _) => 64,
        }
    }

    /// The index of a superblock's header within its surface, with `stride` superblocks in a row.
    #[inline]
    pub fn header_index(self, x: u32, y: u32, stride: u32) -> u64 {
        let (x, y, stride) = (u64::from(x), u64::from(y), u64::from(stride));
        if !self.tiled {
            return y * stride + x;
        }
        let bit = |value: u64, from: u32, to: u32| (value >> from & 1) << to;
        let within =
            bit(x, 0, 0) | bit(y, 0, 1) | bit(x, 1, 2) | bit(y, 1, 3) | bit(x, 2, 4) | bit(y, 2, 5);
        (y & !7) * stride + (x & !7) * 8 + within
    }
}

/// `16x16`, `32x8+tiled+ytr`.
impl fmt::Display for Afbc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.superblock.extent())?;
        for (set, name) in self.names() {
            if set {
                write!(f, "+{name}")?;
            }
        }
        Ok(())
    }
}

impl Afbc {
    fn names(&self) -> [(bool, &'static str); 4] {
        [(self.tiled, "tiled"), (self.ytr, "ytr"), (self.split, "split"), (self.solid_color, "sc")]
    }
}

impl FromStr for Afbc {
    type Err = String;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Afbc, String> {
        let mut words = text.split('+');
        let size = words.next().unwrap_or_default();
        let superblock =
            Superblock::ALL.into_iter().find(|s| s.extent().to_string() == size).ok_or_else(
                || format!("no AFBC superblock '{size}'; there are 16x16, 32x8 and 64x4"),
            )?;
        let mut afbc = Afbc { superblock, ..Afbc::PLAIN };
        for word in words {
            match word {
                "tiled" => afbc.tiled = true,
                "ytr" => afbc.ytr = true,
                "split" => afbc.split = true,
                "sc" => afbc.solid_color = true,
                "sparse" => {}
                other => {
                    return Err(format!(
                        "no AFBC option '{other}'; there are tiled, ytr, split and sc"
                    ));
                }
            }
        }
        Ok(afbc)
    }
}
