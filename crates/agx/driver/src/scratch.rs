//! Scratch memory: a helper program that hands out one block to each SIMD-group of a core, last in, first out.
//!
//! The program's memory has a row of words for each core: how many blocks are in use, and from word [`FIRST`] on the blocks'
//! descriptors. source: Mesa's libagx/helper.cl for the protocol, lib/agx_scratch.c for descriptors

use std::sync::Arc;

use tepui_agx_compiler::helper::{FIRST, ROW, descriptor_mask, program, unit_log4};
use tepui_drm::uapi::asahi::HelperProgram;
use tepui_vulkan::{Error, Result};
use tepui_vulkan_kit::arena::Mapped;

use crate::code::{Code, CodeMemory};
use crate::kernel::{Bo, Kernel, Window};

/// SIMD-groups of a core that have scratch memory at the same time: fewer than the hardware can run, so
/// that threads with much scratch memory wait for others. The largest workgroup has as many.
const GROUPS: u32 = 32;
/// Numbers of cores in a cluster. source: Mesa, lib/agx_scratch.h, AGX_MAX_CORES_PER_CLUSTER
const CORES: u32 = 16;

/// Scratch memory.
pub struct Scratch {
    /// Bytes for each thread.
    pub bytes: u32,
    /// Fields of the helper program in commands.
    pub helper: HelperProgram,
    _code: Code,
    _blocks: Bo,
    _table: Bo,
}

/// Makes scratch memory of `bytes` for each thread.
///
/// # Errors
/// When there is no memory.
pub fn new(kernel: &Arc<Kernel>, memory: &Arc<CodeMemory>, bytes: u32) -> Result<Scratch> {
    let log4 = unit_log4(bytes);
    let block = u64::from(tepui_agx_compiler::helper::UNIT_B << (2 * log4)) * 32;
    let p = &kernel.params;
    let cores = p.num_clusters_total * CORES;
    let count = u64::from(cores) * u64::from(GROUPS);
    let blocks = Bo::new(kernel, block * (count + 1), Window::Data, false)?;
    let first = blocks.address.next_multiple_of(block);
    let mut words = vec![0u32; (ROW * cores) as usize];
    for core in 0..cores {
        for group in 0..GROUPS {
            let address = first + block * u64::from(core * GROUPS + group);
            words[(core * ROW + FIRST + group) as usize] =
                (address >> 8) as u32 | descriptor_mask(log4);
        }
    }
    let table = Bo::new(kernel, 4 * words.len() as u64, Window::Data, false)?;
    table.write(0, bytemuck::cast_slice(&words));
    let code = program()
        .map_err(|e| Error::new(tepui_vulkan::vk::Result::ERROR_UNKNOWN, e.to_string()))?;
    let code = memory.put(&code)?;
    let helper = HelperProgram { binary: code.usc() as u32 | 1, cfg: 1 << 16, data: table.address };
    Ok(Scratch { bytes, helper, _code: code, _blocks: blocks, _table: table })
}
