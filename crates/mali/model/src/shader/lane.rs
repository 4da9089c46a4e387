//! Instructions across the lanes of a warp.

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::{InactiveResult, LaneOperation, SubgroupSize};

use super::op::Handler;
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row};

for_hosts! {
    /// The handler of an instruction. [`Op::flags`](super::op::Op::flags) is the number of lanes of a
    /// subgroup, and for CLPER the lane operation above it; the immediate is the value of inactive lanes.
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
                let mut row = Row::splat(0);
                for (lane, own) in row.0.iter_mut().enumerate() {
                    *own = votes >> (lane & !(size - 1)) & all;
                }
                l.put(op, &row);
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
                let mut row = Row::splat(op.immediate);
                for (own, source) in row.0.iter_mut().zip(sources) {
                    if mask >> source & 1 != 0 {
                        *own = a.0[source];
                    }
                }
                l.put(op, &row);
                Ok(())
            },
            Isa::CLPER_U64 | Isa::CLPER_S64 => |l, op| {
                let (a, b) = (l.get64(&op.src[0]), l.get(&op.src[1]));
                let mask = l.warp.mask;
                let sources = sources(op.flags, &b);
                let inactive = u64::from(op.immediate) | u64::from(op.immediate) << 32;
                let mut values = [inactive; LANES];
                for (own, source) in values.iter_mut().zip(sources) {
                    if mask >> source & 1 != 0 {
                        *own = a[source];
                    }
                }
                l.put64(op, &values);
                Ok(())
            },
            _ => return None,
        })
    }
}

/// The lane that each lane reads. Subgroups have 2, 4, 8 or 16 lanes.
#[inline(always)]
fn sources(flags: u32, b: &Row) -> [usize; LANES] {
    let within = (flags & 0xff) - 1;
    let operation = flags >> 8;
    let mut sources = [0; LANES];
    for (lane, source) in sources.iter_mut().enumerate() {
        let (own, given) = (lane as u32, b.0[lane]);
        let other = match operation {
            o if o == LaneOperation::Xor as u32 => own ^ given,
            o if o == LaneOperation::Shift as u32 => own.wrapping_add(given),
            _ => given,
        };
        *source = ((own & !within | other & within) % LANES as u32) as usize;
    }
    sources
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

/// The value that an inactive lane provides.
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
