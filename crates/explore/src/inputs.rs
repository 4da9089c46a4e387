//! Inputs of a run: sizes, buffers, images and samplers.

use serde::{Deserialize, Deserializer};

/// Instructions of all SIMD-groups after which a run counts as endless: seconds in a browser.
const MAX_INSTRUCTIONS: u64 = 1 << 28;
/// Bytes of all buffers.
pub(crate) const MAX_BUFFERS_B: usize = 1 << 28;

/// Inputs of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Inputs {
    /// Width and height of the picture.
    pub size: [u32; 2],
    /// Seconds since the start: `time` of the uniform buffer.
    pub time: f32,
    /// Place of the pointer in pixels.
    pub pointer: [f32; 2],
    /// Vertices of the draw.
    pub vertices: u32,
    /// Workgroups in each direction.
    pub groups: [u32; 3],
    /// Buffers' contents.
    pub buffers: Vec<Contents>,
    /// Images.
    pub images: Vec<ImageInput>,
    /// Samplers.
    pub samplers: Vec<SamplerInput>,
    /// Instructions of all SIMD-groups after which the run counts as endless.
    pub budget: u64,
}

impl Default for Inputs {
    fn default() -> Inputs {
        Inputs {
            size: [256, 256],
            time: 0.0,
            pointer: [0.0; 2],
            vertices: 3,
            groups: [1; 3],
            buffers: Vec::new(),
            images: Vec::new(),
            samplers: Vec::new(),
            budget: MAX_INSTRUCTIONS,
        }
    }
}

/// The contents of a storage buffer.
#[derive(Clone, Debug, Deserialize)]
pub struct Contents {
    /// Descriptor set.
    #[serde(default)]
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Number of words.
    pub words: usize,
    /// Initial contents: `zeros`, `index` (0, 1, 2, … as floats) or `random` (floats from 0 to 1).
    #[serde(default)]
    pub fill: String,
    /// Explicit contents, instead of `words` and `fill`.
    #[serde(skip)]
    pub data: Option<Vec<u32>>,
}

impl Contents {
    /// The words before the run.
    #[must_use]
    pub fn words(&self) -> Vec<u32> {
        if let Some(data) = &self.data {
            return data.clone();
        }
        let count = self.words.min(MAX_BUFFERS_B / 4);
        let mut state = 0x2545_f491u32;
        let mut random = || {
            // xorshift32
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            ((state >> 8) as f32 / (1u32 << 24) as f32).to_bits()
        };
        match self.fill.as_str() {
            "index" => (0..count).map(|k| (k as f32).to_bits()).collect(),
            "random" => (0..count).map(|_| random()).collect(),
            _ => vec![0; count],
        }
    }
}

/// An image.
#[derive(Clone, Debug, Deserialize)]
pub struct ImageInput {
    /// Descriptor set.
    #[serde(default)]
    pub set: u32,
    /// Binding; an array of descriptors has the same content in all elements.
    pub binding: u32,
    /// Description, as [`crate::images::Request`] parses it.
    pub what: String,
    /// The contents of the file that it names; base64 in JSON.
    #[serde(default, deserialize_with = "base64")]
    pub file: Option<Vec<u8>>,
}

/// A sampler.
#[derive(Clone, Debug, Deserialize)]
pub struct SamplerInput {
    /// Descriptor set.
    #[serde(default)]
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Description, as [`crate::images::sampler`] parses it.
    pub what: String,
}

/// Bytes in base64.
pub(crate) fn base64<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    data_encoding::BASE64
        .decode(text.as_bytes())
        .map(Some)
        .map_err(|e| serde::de::Error::custom(format!("bytes in base64: {e}")))
}
