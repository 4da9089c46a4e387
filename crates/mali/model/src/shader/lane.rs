//! Instructions between the lanes of a warp.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::{InactiveResult, LaneOperation, SubgroupSize};

use super::host::for_hosts;
use super::op::Handler;
use super::row::{LANES, Row};

for_hosts! {
    /// The handler of an instruction. [`Op::flags`](super::op::Op::flags) is the number of lanes of a
    /// subgroup, and for CLPER the lane operation above it; the immediate is what an inactive lane gives.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::WMASK => |l, op| {
                let a = l.get(&op.src[0]);
                let mut votes = 0u32;
                for lane in 0..LANES {
                    votes |= u32::from(a.0[lane] != 0) << lane;
                }
                votes &= u32::from(l.warp.mask);
                // Each subgroup sees its own lanes, from bit 0 on.
                let size = op.flags as usize;
                let all = u32::MAX >> (32 - size);
                let of = |lane: usize| votes >> (lane / size * size) & all;
                l.put(op, &Row(std::array::from_fn(of)));
                Ok(())
            },
            // The other widths move the same bits.
            Isa::CLPER_I32
            | Isa::CLPER_S32
            | Isa::CLPER_V2U16
            | Isa::CLPER_V2S16
            | Isa::CLPER_V4U8
            | Isa::CLPER_V4S8 => |l, op| {
                let (a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
                let mask = l.warp.mask;
                let sources = sources(op.flags, &b);
                let value = |lane: usize| match mask >> sources[lane] & 1 {
                    1 => a.0[sources[lane]],
                    _ => op.immediate,
                };
                l.put(op, &Row(std::array::from_fn(value)));
                Ok(())
            },
            Isa::CLPER_U64 | Isa::CLPER_S64 => |l, op| {
                let (a, b) = (l.get64(&op.src[0]), l.get(&op.src[1]));
                let mask = l.warp.mask;
                let sources = sources(op.flags, &b);
                let inactive = u64::from(op.immediate) | u64::from(op.immediate) << 32;
                let value = |lane: usize| match mask >> sources[lane] & 1 {
                    1 => a[sources[lane]],
                    _ => inactive,
                };
                l.put64(op, &std::array::from_fn(value));
                Ok(())
            },
            _ => return None,
        })
    }
}

/// The lane that each lane reads.
#[inline(always)]
fn sources(flags: u32, b: &Row) -> [usize; LANES] {
    let size = (flags & 0xff) as usize;
    let operation = flags >> 8;
    std::array::from_fn(|lane| {
        let (first, own) = (lane / size * size, lane % size);
        let given = b.0[lane] as usize;
        let other = match operation {
            o if o == LaneOperation::Xor as u32 => own ^ given,
            o if o == LaneOperation::Shift as u32 => own.wrapping_add(given),
            _ => given,
        };
        first + other % size
    })
}

/// Lanes of a subgroup.
pub fn lanes(size: SubgroupSize) -> u32 {
    match size {
        SubgroupSize::Subgroup2 => 2,
        SubgroupSize::Subgroup4 => 4,
        SubgroupSize::Subgroup8 => 8,
        SubgroupSize::Subgroup16 => 16,
    }
}

/// What an inactive lane gives.
pub fn inactive(result: InactiveResult) -> u32 {
    match result {
        InactiveResult::Zero => 0,
        InactiveResult::Umax => u32::MAX,
        InactiveResult::I1 => 1,
        InactiveResult::V2i1 => 0x0001_0001,
        InactiveResult::Smin => 0x8000_0000,
        InactiveResult::Smax => 0x7fff_ffff,
        InactiveResult::V2smin => 0x8000_8000,
        InactiveResult::V2smax => 0x7fff_7fff,
        InactiveResult::V4smin => 0x8080_8080,
        InactiveResult::V4smax => 0x7f7f_7f7f,
        InactiveResult::F1 => 0x3f80_0000,
        InactiveResult::V2f1 => 0x3c00_3c00,
        InactiveResult::Infn => 0xff80_0000,
        InactiveResult::Inf => 0x7f80_0000,
        InactiveResult::V2infn => 0xfc00_fc00,
        InactiveResult::V2inf => 0x7c00_7c00,
    }
}
