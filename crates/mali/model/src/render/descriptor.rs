//! Reading descriptors, and what those of all framebuffers have.

use tepui_mali_packets::Packet;
use tepui_mali_packets::framebuffer::{
    BlockFormat, BlockFormatV6, FramebufferParameters, Msaa, SamplePattern,
};
use tepui_raster::Samples;
use tepui_softgpu::UnitMemory;

use crate::job::{JobFault, Unit};
use crate::pixels::{GRID, MAX_SAMPLES};

const UNIT: Unit = Unit::Fragment;

/// Converts a block format of v6 to that of later architectures.
pub(crate) fn later(format: BlockFormatV6) -> Result<BlockFormat, JobFault> {
    let missing = || JobFault::unimplemented(UNIT, format!("images in the layout {format}"));
    format.later().ok_or_else(missing)
}

pub(crate) fn layered(msaa: Msaa) -> Result<(), JobFault> {
    match msaa {
        Msaa::Single | Msaa::Layered => Ok(()),
        other => {
            let what = format!("depths in memory as samples of kind {other}");
            Err(JobFault::unimplemented(UNIT, what))
        }
    }
}

pub(crate) fn packet<P: Packet>(
    memory: &mut UnitMemory<'_>,
    at: u64,
    what: &str,
) -> Result<P, JobFault> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    memory.read(at, &mut bytes).map_err(|fault| JobFault::memory(UNIT, fault))?;
    P::unpack(&bytes).map_err(|problem| JobFault::new(UNIT, format!("{what}: {problem}")))
}

/// Reads the sample positions: a table in memory, in 1/256 of a pixel.
///
// source: Mesa, pan_samples.c.
pub(crate) fn samples(
    memory: &mut UnitMemory<'_>,
    parameters: &FramebufferParameters,
) -> Result<Samples<MAX_SAMPLES>, JobFault> {
    let of_pattern = match parameters.sample_pattern {
        SamplePattern::SingleSampled => 1,
        SamplePattern::Ordered4xGrid | SamplePattern::Rotated4xGrid => 4,
        SamplePattern::D3d8xGrid => 8,
        SamplePattern::D3d16xGrid => 16,
    };
    // Draws to a framebuffer of one sample may still use several.
    let count = match parameters.sample_count {
        0 | 1 => of_pattern,
        count => (count as usize).min(MAX_SAMPLES),
    };
    let mut places = [[8; 2]; MAX_SAMPLES];
    if count > 1 && parameters.sample_locations == 0 {
        places = pattern_places(parameters.sample_pattern);
    } else if count > 1 {
        for (sample, place) in places.iter_mut().enumerate().take(count) {
            let at = parameters.sample_locations + 4 * sample as u64;
            let bytes = memory.read_array::<4>(at);
            let [x0, x1, y0, y1] = bytes.map_err(|fault| JobFault::memory(UNIT, fault))?;
            let sixteenths = |low, high| (u16::from_le_bytes([low, high]) / 16).min(16) as u8;
            *place = [sixteenths(x0, x1), sixteenths(y0, y1)];
        }
    }
    Ok(Samples::new(&GRID, count, places))
}

/// Sample positions of a pattern, in 1/16 of a pixel.
fn pattern_places(pattern: SamplePattern) -> [[u8; 2]; MAX_SAMPLES] {
    let at: &[[i8; 2]] = match pattern {
        SamplePattern::SingleSampled => &[[0, 0]],
        SamplePattern::Ordered4xGrid => &[[-4, -4], [4, -4], [-4, 4], [4, 4]],
        SamplePattern::Rotated4xGrid => &[[-2, -6], [6, -2], [-6, 2], [2, 6]],
        SamplePattern::D3d8xGrid => {
            &[[1, -3], [-1, 3], [5, 1], [-3, -5], [-5, 5], [-7, -1], [3, 7], [7, -7]]
        }
        SamplePattern::D3d16xGrid => &[
            [1, 1],
            [-1, -3],
            [-3, 2],
            [4, -1],
            [-5, -2],
            [2, 5],
            [5, 3],
            [3, -5],
            [-2, 6],
            [0, -7],
            [-4, -6],
            [-6, 4],
            [-8, 0],
            [7, -4],
            [6, 7],
            [-7, -8],
        ],
    };
    let mut places = [[8; 2]; MAX_SAMPLES];
    for (place, at) in places.iter_mut().zip(at) {
        *place = at.map(|v| (v + 8) as u8);
    }
    places
}
