//! A worker's texture unit and pixel back end.

use tepui_texel::blocks::Blocks;
use tepui_texel::cache::{Cache, hash, words};

use crate::error::{Fault, Unsupported};
use crate::image::Descriptor;
use crate::lanes::Kernels;
use crate::notes::Notes;
use crate::pbe::Pbe;
use crate::plain::Scratch;
use crate::sampler::{Sampler, SamplerState};
use crate::texture::Texture;

/// Caches and scratch memory of one worker. Cached descriptors and decoded blocks are looked up by
/// their bytes, so changes of memory cannot make them stale.
pub struct Unit {
    pub(crate) textures: Cache<Descriptor, Result<Texture, Unsupported>>,
    pub(crate) images: Cache<Descriptor, Result<Pbe, Unsupported>>,
    pub(crate) samplers: Cache<SamplerState, Result<Sampler, Unsupported>>,
    pub(crate) blocks: Blocks,
    pub(crate) scratch: Box<Scratch>,
    pub(crate) kernels: &'static Kernels,
    /// Non-fatal diagnostics.
    pub notes: Notes,
}

impl Default for Unit {
    fn default() -> Self {
        Unit {
            textures: Cache::new(64),
            images: Cache::new(32),
            samplers: Cache::new(32),
            // Those of a few rows of workgroups or tiles of a large texture.
            blocks: Blocks::new(8192),
            scratch: Box::default(),
            kernels: Kernels::of_host(),
            notes: Notes::default(),
        }
    }
}

pub(crate) fn texture<'a>(
    cache: &'a mut Cache<Descriptor, Result<Texture, Unsupported>>,
    bytes: &Descriptor,
) -> Result<&'a Texture, &'a Unsupported> {
    cache.get(bytes, |bytes| hash(words(bytes)), Texture::decode).as_ref()
}

pub(crate) fn image<'a>(
    cache: &'a mut Cache<Descriptor, Result<Pbe, Unsupported>>,
    bytes: &Descriptor,
) -> Result<&'a Pbe, Fault> {
    cache
        .get(bytes, |bytes| hash(words(bytes)), Pbe::decode)
        .as_ref()
        .map_err(|why| Fault::Descriptor(why.clone()))
}

pub(crate) fn sampler<'a>(
    cache: &'a mut Cache<SamplerState, Result<Sampler, Unsupported>>,
    state: &SamplerState,
) -> Result<&'a Sampler, &'a Unsupported> {
    let hash = |s: &SamplerState| hash(words(&s.sampler).chain(s.border.map(u64::from)));
    cache.get(state, hash, Sampler::decode).as_ref()
}
