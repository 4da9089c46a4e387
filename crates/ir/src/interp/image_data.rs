//! Images and samplers as a run sees them: texels of all levels as raw component bits, filters and
//! addressing.

use super::texel;
use crate::attrs::ImageFormat;

/// Filter between texels, or between levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Filter {
    /// The nearest texel or level.
    #[default]
    Nearest,
    /// Weighted by distance.
    Linear,
}

/// Addressing of coordinates outside of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Wrap {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The image repeats.
    Repeat,
    /// The image repeats, every other time mirrored.
    Mirror,
    /// Mirrored once, then the texel at the edge.
    MirrorOnce,
    /// The border colour.
    Border,
}

/// A sampler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SamplerData {
    /// Filter within a level when magnifying.
    pub mag: Filter,
    /// Filter within a level when minifying.
    pub min: Filter,
    /// Filter between levels.
    pub mip: Filter,
    /// Addressing in each dimension.
    pub wrap: [Wrap; 3],
    /// Smallest level of detail.
    pub min_lod: f32,
    /// Largest level of detail.
    pub max_lod: f32,
    /// Comparison of depths.
    pub compare: Option<Compare>,
    /// Border colour as bits.
    pub border: [u32; 4],
    /// Coordinates count texels.
    pub unnormalized: bool,
}

impl Default for SamplerData {
    fn default() -> SamplerData {
        SamplerData {
            mag: Filter::Nearest,
            min: Filter::Nearest,
            mip: Filter::Nearest,
            wrap: [Wrap::Clamp; 3],
            min_lod: 0.0,
            max_lod: 1000.0,
            compare: None,
            border: [0; 4],
            unnormalized: false,
        }
    }
}

/// An image: levels of texels, each with four components as bits (floats as `f32`).
#[derive(Clone, Debug, PartialEq)]
pub struct ImageData {
    /// Width, height, depth in texels of level 0 (1 where the image has no such dimension).
    pub size: [u32; 3],
    /// Array layers; six for each cube.
    pub layers: u32,
    /// Samples of a texel.
    pub samples: u32,
    /// The format to which stores convert texels; `Unknown` for no conversion.
    pub format: ImageFormat,
    /// Texels of each level: sample fastest, then x, y, z, layer.
    pub levels: Vec<Vec<[u64; 4]>>,
}

impl Default for ImageData {
    fn default() -> ImageData {
        ImageData {
            size: [0; 3],
            layers: 0,
            samples: 1,
            format: ImageFormat::Unknown,
            levels: Vec::new(),
        }
    }
}

impl ImageData {
    /// A zeroed image with `levels` levels and one sample.
    #[must_use]
    pub fn new(size: [u32; 3], layers: u32, levels: u32) -> ImageData {
        ImageData::multisampled(size, layers, levels, 1)
    }

    /// A zeroed image.
    #[must_use]
    pub fn multisampled(size: [u32; 3], layers: u32, levels: u32, samples: u32) -> ImageData {
        let mut i = ImageData { size, layers, samples, ..ImageData::default() };
        for l in 0..levels {
            let n: u32 = i.level_size(l as usize).iter().product();
            i.levels.push(vec![[0; 4]; (n * layers * samples) as usize]);
        }
        i
    }

    /// Width, height and depth of a level.
    #[must_use]
    pub fn level_size(&self, level: usize) -> [u32; 3] {
        self.size.map(|s| (s >> level.min(31)).max(1))
    }

    /// Index of a texel's sample in its level, `None` out of bounds.
    #[must_use]
    pub fn index(&self, level: usize, at: [i64; 3], layer: i64, sample: i64) -> Option<usize> {
        let s = self.level_size(level);
        let inside = (0..3).all(|i| at[i] >= 0 && at[i] < i64::from(s[i]));
        let all = inside
            && level < self.levels.len()
            && (0..i64::from(self.layers)).contains(&layer)
            && (0..i64::from(self.samples)).contains(&sample);
        all.then(|| {
            let slice = layer * i64::from(s[2]) + at[2];
            let texel = (slice * i64::from(s[1]) + at[1]) * i64::from(s[0]) + at[0];
            (texel * i64::from(self.samples) + sample) as usize
        })
    }

    /// A texel; out of bounds, zero in the channels that the format has.
    pub(super) fn texel(&self, level: usize, at: [i64; 3], layer: i64, sample: i64) -> [u64; 4] {
        let t = self.index(level, at, layer, sample).map_or([0; 4], |i| self.levels[level][i]);
        texel::complete(self.format, t)
    }
}

/// A comparison of a reference with a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of VkCompareOp")]
pub enum Compare {
    Never,
    Less,
    Equal,
    LessOrEqual,
    Greater,
    NotEqual,
    GreaterOrEqual,
    Always,
}

impl Compare {
    /// Whether the reference passes.
    #[must_use]
    pub fn passes(self, reference: f32, texel: f32) -> bool {
        match self {
            Compare::Never => false,
            Compare::Less => reference < texel,
            Compare::Equal => reference == texel,
            Compare::LessOrEqual => reference <= texel,
            Compare::Greater => reference > texel,
            Compare::NotEqual => reference != texel,
            Compare::GreaterOrEqual => reference >= texel,
            Compare::Always => true,
        }
    }
}
