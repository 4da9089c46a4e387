//! Uniform registers: what the shader finds in them, and where.
//!
//! The compiler chooses the places and reports them; whoever launches the shader fills them in. Buffer addresses stand in the low half of
//! the file, where memory instructions reach them.

use rustc_hash::FxHashMap;
use serde::Serialize;
use tepui_agx_isa::operand::UNIFORM_HALVES;

/// Half-uniforms that memory instructions can take an address from.
/// source: Mesa, agx_lower_uniform_sources.c
const LOW_HALVES: u16 = 256;

/// What a uniform holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// 64-bit address of a buffer descriptor's range.
    BufferAddress {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Array element.
        element: u32,
    },
    /// Size in bytes of a buffer descriptor's range, 32 bits.
    BufferSize {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Array element.
        element: u32,
    },
    /// 64-bit address of a table with 16 bytes for each element of a binding: address, size, zero.
    BufferTable {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
    },
    /// Number of workgroups in one direction, 32 bits.
    NumWorkgroups {
        /// 0 to 2.
        axis: u8,
    },
    /// A 32-bit word of the push constants.
    Push {
        /// Offset in bytes.
        offset: u32,
    },
    /// A 64-bit word of the push constants: an address.
    PushLong {
        /// Offset in bytes.
        offset: u32,
    },
    /// 64-bit address of a copy of the push constants in memory.
    PushAddress,
    /// A 32-bit word of the driver's own data.
    Driver {
        /// Offset in bytes.
        offset: u32,
    },
    /// A 32-bit constant.
    Constant {
        /// Its bits.
        bits: u32,
    },
    /// A 16-bit constant.
    Constant16 {
        /// Its bits.
        bits: u16,
    },
    /// Written by the preamble: the n-th of its results.
    Preamble {
        /// Which one.
        index: u32,
        /// Half-uniforms.
        halves: u8,
    },
}

impl Source {
    /// Half-uniforms that it takes: 1, 2 or 4.
    #[must_use]
    pub const fn halves(self) -> u16 {
        match self {
            Source::BufferAddress { .. }
            | Source::BufferTable { .. }
            | Source::PushLong { .. }
            | Source::PushAddress => 4,
            Source::Constant16 { .. } => 1,
            Source::Preamble { halves, .. } => halves as u16,
            _ => 2,
        }
    }
}

/// A uniform.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Uniform {
    /// First half-uniform.
    pub half: u16,
    /// What it holds.
    pub source: Source,
}

/// The uniforms of a shader.
#[derive(Clone, Debug, Default)]
pub struct Uniforms {
    /// All of them, in the order of their first use.
    pub list: Vec<Uniform>,
    by_source: FxHashMap<Source, u16>,
    /// The next free half below and from [`LOW_HALVES`] on.
    low: u16,
    high: u16,
    /// A half that an aligned uniform left free.
    gap: Option<u16>,
}

impl Uniforms {
    /// Where `source` stands; `None` when the file is full.
    pub fn get(&mut self, source: Source) -> Option<u16> {
        if let Some(&half) = self.by_source.get(&source) {
            return Some(half);
        }
        let half = self.place(source)?;
        self.by_source.insert(source, half);
        self.list.push(Uniform { half, source });
        Some(half)
    }

    fn place(&mut self, source: Source) -> Option<u16> {
        let halves = source.halves();
        if halves == 1
            && let Some(gap) = self.gap.take()
        {
            return Some(gap);
        }
        // Constants leave the low half to addresses while there is room above.
        let wants_low = halves == 4;
        self.high = self.high.max(LOW_HALVES);
        let from_high =
            !wants_low && self.low + 64 > LOW_HALVES && self.high + halves <= UNIFORM_HALVES;
        let (next, end) =
            if from_high { (&mut self.high, UNIFORM_HALVES) } else { (&mut self.low, LOW_HALVES) };
        if halves > 1 && *next & 1 != 0 {
            self.gap = Some(*next);
            *next += 1;
        }
        let half = *next;
        if half + halves > end {
            return None;
        }
        *next += halves;
        Some(half)
    }

    /// Half-uniforms up to the last one in use.
    #[must_use]
    pub fn halves(&self) -> u16 {
        self.list.iter().map(|u| u.half + u.source.halves()).max().unwrap_or(0)
    }
}
