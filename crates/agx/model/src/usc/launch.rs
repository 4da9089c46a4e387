//! A launch: the state that USC words load before a program runs.

use std::sync::Arc;

use tepui_agx_packets::usc::FragmentProperties;

use super::cache::Programs;
use super::program::Program;
use super::shared::{Shared, TileLayout};
use crate::job::Helper;

/// State that a pipeline's USC words prepare.
pub struct Launch<'v> {
    /// The program.
    pub program: Arc<Program>,
    /// The program that runs once before it.
    pub preshader: Option<Arc<Program>>,
    /// Uniform registers in halves.
    pub uniforms: Vec<u16>,
    /// Texture state registers: descriptors of 24 bytes.
    pub textures: Vec<[u8; 24]>,
    /// Sampler state registers: 8 bytes each, and the custom border colour.
    pub samplers: Vec<([u8; 8], [u32; 4])>,
    /// The sampler heap of bindless samplers: address and count.
    pub sampler_heap: (u64, u32),
    /// Bytes of local memory of a workgroup.
    pub local_bytes: u32,
    /// Layout of local memory as an image block: bytes of a sample and samples of a pixel; `None`
    /// for plain local memory.
    pub tile: Option<TileLayout>,
    /// Use of the results of a fragment program; `None` in other programs.
    pub fragment: Option<FragmentProperties>,
    /// The helper program's registers.
    pub helper: Helper,
    /// Base of 32-bit USC addresses.
    pub usc_exec_base: u64,
    /// Decoded programs of this job.
    pub programs: &'v Programs<'v>,
}

impl Launch<'_> {
    /// Fills the state that a launch prepares for the SIMD-groups of each workgroup.
    pub fn enter(&self, shared: &mut Shared) {
        shared.textures.clone_from(&self.textures);
        shared.samplers.clone_from(&self.samplers);
        shared.sampler_heap = self.sampler_heap;
        shared.tile = self.tile;
    }

    /// The helper program, if the job names one.
    pub fn helper_program(&self) -> Result<Option<Arc<Program>>, String> {
        // The low bit of the address says that there is a program; the rest of the low bits are
        // configuration. source: Mesa's agx_bg_eot.c, `agx_helper_program`.
        if self.helper.binary & 1 == 0 {
            return Ok(None);
        }
        let address = self.usc_exec_base + u64::from(self.helper.binary & !0x3f);
        self.programs.get(address).map(Some).map_err(|fault| fault.1)
    }
}
