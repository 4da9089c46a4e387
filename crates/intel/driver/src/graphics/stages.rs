//! Stages before the rasteriser, and the division of the URB among them.

use tepui_intel_chips::Generation;
use tepui_intel_compiler::stage::{DomainInfo, HullInfo, VertexOutputs};
use tepui_intel_packets::bindings::{
    State3dPushConstantAllocDs, State3dPushConstantAllocGs, State3dPushConstantAllocHs,
    State3dPushConstantAllocPs, State3dPushConstantAllocVs, State3dUrbDs, State3dUrbGs,
    State3dUrbHs, State3dUrbVs,
};
use tepui_intel_packets::gen12;
use tepui_intel_packets::stages::{State3dDs, State3dGs, State3dHs, State3dTe, State3dVs};
use tepui_vulkan::Result;

use super::Context;
use crate::packets::Out;
use crate::space;
use crate::variant::Variant;

/// KiB of the URB that push constants have, in parts of 2 KiB for each stage. source: Mesa, intel_device_info.c
/// (`max_constant_urb_size_kb`)
const CONSTANTS_KIB: u32 = 32;
/// KiB in which parts of the URB begin.
const URB_UNIT_KIB: u32 = 8;

/// The URB of a generation.
struct Urb {
    /// KiB of its share of the L3 without workgroup memory.
    kib: u32,
    /// Entries that a stage has at least, if it runs: vertex, hull, domain, geometry.
    min: [u32; 4],
    /// Entries that a stage may have.
    max: [u32; 4],
    /// Threads of a stage.
    threads: [u32; 4],
}

/// source: Mesa, intel_device_info.c (SKL GT2, TGL GT2), intel_l3_config.c: 48 ways of 8 KiB, 32 ways of 32 KiB
fn urb_of(generation: Generation) -> Urb {
    match generation {
        Generation::Gen9 => {
            Urb { kib: 384, min: [64, 1, 34, 2], max: [1856, 672, 1120, 640], threads: [336; 4] }
        }
        Generation::Gen12 => Urb {
            kib: 1024,
            min: [64, 1, 34, 2],
            max: [3576, 1548, 3576, 1548],
            threads: [546, 336, 546, 336],
        },
    }
}

/// Entries and the first unit of each stage, whose entries have these sizes in 64 bytes; 0 for stages that do not run.
///
/// Each stage has what it needs at least; the rest is divided by what they could use. source: Mesa, intel_urb_config.c
fn divide(urb: &Urb, sizes: [u32; 4]) -> [(u32, u32); 4] {
    let unit_b = 1024 * URB_UNIT_KIB;
    let units = |entries: u32, size: u32| (entries * size * 64).div_ceil(unit_b);
    let least: [u32; 4] = std::array::from_fn(|k| units(urb.min[k], sizes[k]));
    let wants: [u32; 4] = std::array::from_fn(|k| units(urb.max[k], sizes[k]) - least[k]);
    let first = CONSTANTS_KIB / URB_UNIT_KIB;
    let free = (urb.kib / URB_UNIT_KIB - first).saturating_sub(least.iter().sum());
    let all: u32 = wants.iter().sum::<u32>().max(1);
    let mut start = first;
    std::array::from_fn(|k| {
        let own = least[k] + (free * wants[k] / all).min(wants[k]);
        let here = start;
        start += own;
        if sizes[k] == 0 {
            return (0, here);
        }
        // Small entries are counted in eights.
        let step = if sizes[k] < 9 { 8 } else { 1 };
        let entries = (own * unit_b / (64 * sizes[k])).min(urb.max[k]);
        ((entries / step * step).max(urb.min[k].min(step)), here)
    })
}

/// The division of the URB: push constants, then the stages.
pub fn urb(c: &Context<'_>, out: &mut Out) -> Result<()> {
    constants(c, out)?;
    let hull = c.hull.map_or(0, |h| h.1.patch.entry_units().max(1));
    let domain = c.domain.map_or(0, |d| d.1.outputs.vue.entry_units().max(1));
    let geometry = c.geometry.map_or(0, |g| g.1.entry_units());
    let sizes = [c.vertex_info.entry_units(), hull, domain, geometry];
    let parts = divide(&urb_of(c.generation), sizes);
    let [vs, hs, ds, gs] = sizes.map(|size| size.max(1) - 1);
    let [(vs_n, vs_at), (hs_n, hs_at), (ds_n, ds_at), (gs_n, gs_at)] = parts;
    match c.generation {
        Generation::Gen9 => {
            out.put(&State3dUrbVs {
                vs_number_of_urb_entries: vs_n,
                vs_urb_entry_allocation_size: vs,
                vs_urb_starting_address: vs_at,
            })?;
            out.put(&State3dUrbHs {
                hs_number_of_urb_entries: hs_n,
                hs_urb_entry_allocation_size: hs,
                hs_urb_starting_address: hs_at,
            })?;
            out.put(&State3dUrbDs {
                ds_number_of_urb_entries: ds_n,
                ds_urb_entry_allocation_size: ds,
                ds_urb_starting_address: ds_at,
            })?;
            out.put(&State3dUrbGs {
                gs_number_of_urb_entries: gs_n,
                gs_urb_entry_allocation_size: gs,
                gs_urb_starting_address: gs_at,
            })
        }
        Generation::Gen12 => {
            out.put(&gen12::State3dUrbAllocVs {
                vs_urb_entry_allocation_size: vs,
                vs_number_of_urb_entries_slice0: vs_n,
                vs_number_of_urb_entries_slice_n: vs_n,
                vs_urb_starting_address_slice0: vs_at,
                vs_urb_starting_address_slice_n: vs_at,
            })?;
            out.put(&gen12::State3dUrbAllocHs {
                hs_urb_entry_allocation_size: hs,
                hs_number_of_urb_entries_slice0: hs_n,
                hs_number_of_urb_entries_slice_n: hs_n,
                hs_urb_starting_address_slice0: hs_at,
                hs_urb_starting_address_slice_n: hs_at,
            })?;
            out.put(&gen12::State3dUrbAllocDs {
                ds_urb_entry_allocation_size: ds,
                ds_number_of_urb_entries_slice0: ds_n,
                ds_number_of_urb_entries_slice_n: ds_n,
                ds_urb_starting_address_slice0: ds_at,
                ds_urb_starting_address_slice_n: ds_at,
            })?;
            out.put(&gen12::State3dUrbAllocGs {
                gs_urb_entry_allocation_size: gs,
                gs_number_of_urb_entries_slice0: gs_n,
                gs_number_of_urb_entries_slice_n: gs_n,
                gs_urb_starting_address_slice0: gs_at,
                gs_urb_starting_address_slice_n: gs_at,
            })
        }
    }
}

/// Parts of the URB for push constants: equal ones, and the rest for fragments.
fn constants(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let runs = [true, c.hull.is_some(), c.domain.is_some(), c.geometry.is_some()];
    let count = runs.iter().filter(|&&on| on).count() as u32 + 1;
    let each = CONSTANTS_KIB / count / 2 * 2;
    let mut start = 0;
    let [vs, hs, ds, gs] = runs.map(|on| {
        let own = if on { (each, start) } else { (0, 0) };
        start += own.0;
        own
    });
    out.put(&State3dPushConstantAllocVs {
        constant_buffer_size: vs.0,
        constant_buffer_offset: vs.1,
    })?;
    out.put(&State3dPushConstantAllocHs {
        constant_buffer_size: hs.0,
        constant_buffer_offset: hs.1,
    })?;
    out.put(&State3dPushConstantAllocDs {
        constant_buffer_size: ds.0,
        constant_buffer_offset: ds.1,
    })?;
    out.put(&State3dPushConstantAllocGs {
        constant_buffer_size: gs.0,
        constant_buffer_offset: gs.1,
    })?;
    out.put(&State3dPushConstantAllocPs {
        constant_buffer_size: CONSTANTS_KIB - start,
        constant_buffer_offset: start,
    })
}

/// First byte of the program of a stage that has one.
fn kernel(v: &Variant) -> u64 {
    v.code.address - space::CODE + u64::from(v.programs[0].offset)
}

/// Entries of tables that are fetched before a thread begins.
fn prefetched(v: &Variant) -> (u32, u32) {
    let samplers = (v.places.samplers.len() as u32).min(16).div_ceil(4);
    ((v.places.entries.len() as u32).min(255), samplers)
}

/// Pairs of slots after the header that setup reads, less one.
fn output_length(o: &VertexOutputs) -> u32 {
    (o.vue.slots.len() as u32).div_ceil(2).max(2) - 1
}

/// 3DSTATE_VS.
pub fn vertex(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let (info, v) = (c.vertex_info, c.vertex);
    let (scratch, log2) = c.scratch[0];
    let (binding_table_entry_count, sampler_count) = prefetched(v);
    let (gen12, threads) = (c.generation == Generation::Gen12, urb_of(c.generation).threads[0] - 1);
    out.put(&State3dVs {
        kernel_start_pointer: kernel(v),
        binding_table_entry_count,
        sampler_count,
        per_thread_scratch_space: log2,
        scratch_space_base_pointer: scratch,
        statistics_enable: c.statistics,
        maximum_number_of_threads: if gen12 { 0 } else { threads },
        maximum_number_of_threads_gen12: if gen12 { threads } else { 0 },
        vertex_urb_entry_output_read_offset: 1,
        vertex_urb_entry_output_length: output_length(&info.outputs),
        ..tepui_intel_programs::vertex(info, &v.programs[0])
    })
}

/// 3DSTATE_HS.
pub fn hull(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let Some((v, info)) = c.hull else { return out.put(&State3dHs::default()) };
    let (scratch, log2) = c.scratch[1];
    let (binding_table_entry_count, sampler_count) = prefetched(v);
    out.put(&State3dHs {
        statistics_enable: c.statistics,
        binding_table_entry_count,
        sampler_count,
        maximum_number_of_threads: urb_of(c.generation).threads[1] - 1,
        kernel_start_pointer: kernel(v),
        per_thread_scratch_space: log2,
        scratch_space_base_pointer: scratch,
        patch_count_threshold: match (c.generation, info.eight_patches) {
            (Generation::Gen12, true) => HullInfo::patch_count_threshold(c.state.patch_points),
            _ => 0,
        },
        ..tepui_intel_programs::hull(info, &v.programs[0])
    })
}

/// 3DSTATE_TE and 3DSTATE_DS.
pub fn tessellation(c: &Context<'_>, out: &mut Out) -> Result<()> {
    tessellator(c, out)?;
    match c.domain {
        Some((v, info)) => out.put(&domain(c, v, info)),
        None => out.put(&State3dDs::default()),
    }
}

fn tessellator(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let te = match c.tessellator {
        None => State3dTe::default(),
        Some([upper, lower]) => tepui_intel_programs::tessellator(if c.state.patch_lower_left {
            &lower
        } else {
            &upper
        }),
    };
    match c.generation {
        Generation::Gen9 => out.put(&te),
        Generation::Gen12 => out.put(&gen12::State3dTe::from(te)),
    }
}

fn domain(c: &Context<'_>, v: &Variant, info: &DomainInfo) -> State3dDs {
    let (scratch, log2) = c.scratch[2];
    let (binding_table_entry_count, sampler_count) = prefetched(v);
    State3dDs {
        statistics_enable: c.statistics,
        binding_table_entry_count,
        sampler_count,
        kernel_start_pointer: kernel(v),
        per_thread_scratch_space: log2,
        scratch_space_base_pointer: scratch,
        maximum_number_of_threads: urb_of(c.generation).threads[2] - 1,
        vertex_urb_entry_output_read_offset: 1,
        vertex_urb_entry_output_length: output_length(&info.outputs),
        ..tepui_intel_programs::domain(info, &v.programs[0])
    }
}

/// 3DSTATE_GS.
pub fn geometry(c: &Context<'_>, out: &mut Out) -> Result<()> {
    let Some((v, info)) = c.geometry else { return out.put(&State3dGs::default()) };
    let (scratch, log2) = c.scratch[3];
    let (binding_table_entry_count, sampler_count) = prefetched(v);
    out.put(&State3dGs {
        statistics_enable: c.statistics,
        binding_table_entry_count,
        sampler_count,
        kernel_start_pointer: kernel(v),
        per_thread_scratch_space: log2,
        scratch_space_base_pointer: scratch,
        // Strips begin with the vertex that is provoking.
        reorder_mode: c.state.provoking_last,
        maximum_number_of_threads: urb_of(c.generation).threads[3] - 1,
        vertex_urb_entry_output_read_offset: 1,
        vertex_urb_entry_output_length: output_length(&info.outputs),
        ..tepui_intel_programs::geometry(info, &v.programs[0])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_share_the_urb_without_overlap() {
        for generation in Generation::ALL {
            let urb = urb_of(generation);
            for sizes in
                [[1, 0, 0, 0], [4, 0, 0, 63], [3, 20, 5, 0], [8, 40, 9, 30], [2, 130, 2, 130]]
            {
                let parts = divide(&urb, sizes);
                let mut end = CONSTANTS_KIB / URB_UNIT_KIB;
                for ((entries, start), size) in parts.into_iter().zip(sizes) {
                    assert!(start >= end, "{generation} {sizes:?} {parts:?}");
                    assert_eq!(entries == 0, size == 0, "{generation} {sizes:?} {parts:?}");
                    assert!(size == 0 || size >= 9 || entries % 8 == 0);
                    end = start + (entries * size * 64).div_ceil(1024 * URB_UNIT_KIB);
                }
                assert!(end <= urb.kib / URB_UNIT_KIB, "{generation} {sizes:?} {parts:?}");
            }
        }
    }
}
