//! Allocation of uniform registers to the values that a shader reads from them: buffer addresses,
//! push constants, system values.
//!
//! The compiler chooses the registers and reports them; the driver fills them in at launch. Buffer
//! addresses are in the low half of the file, which memory instructions can encode.

use crate::varyings::Varying;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use tepui_agx_isa::operand::UNIFORM_HALVES;
use tepui_ir::{Access, Attrs, Inst, Op, Resource, Shader};
use tepui_sysval::SystemValue;

/// Half-uniforms that memory instructions can take an address from.
/// source: Mesa, agx_lower_uniform_sources.c
const LOW_HALVES: u16 = 256;

/// Half-uniforms that texture instructions can take the address of descriptors from. source: Mesa,
/// agx_pack.c, agx_pack_texture
const BASE_HALVES: u16 = 128;

/// Half-uniforms that are left to offsets of descriptors where these have no addresses of their own.
const OFFSET_HALVES: u16 = 192;

/// The contents of a uniform register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
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
    /// 64-bit address of the row that describes an image or sampler ([`crate::descriptor`]); rows
    /// of later elements follow it.
    Descriptor {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Array element.
        element: u32,
    },
    /// 64-bit address of a descriptor set.
    SetAddress {
        /// Descriptor set.
        set: u32,
    },
    /// Bytes from the beginning of a set to the row that describes an image or sampler
    /// ([`crate::descriptor`]), 32 bits.
    DescriptorOffset {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Array element.
        element: u32,
    },
    /// Bytes of the row that describes an image or sampler ([`crate::descriptor`]).
    DescriptorBytes {
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Array element.
        element: u32,
        /// First byte in the row, a multiple of 4.
        byte: u8,
        /// Half-uniforms: 1 or 2.
        halves: u8,
    },
    /// A value of the draw or dispatch.
    System(SystemValue),
    /// A 64-bit word of the push constants: an address.
    PushLong {
        /// Offset in bytes.
        offset: u32,
    },
    /// 64-bit address of a copy of the push constants in memory.
    PushAddress,
    /// 64-bit address of [`crate::Program::data`] in memory.
    DataAddress,
    /// Vertex: 64-bit address of an attribute's first element.
    AttributeBase {
        /// The attribute's location.
        index: u8,
    },
    /// Vertex: the last element of an attribute that may be fetched, 32 bits.
    AttributeClamp {
        /// The attribute's location.
        index: u8,
    },
    /// Vertex: the word of the vertex store where a varying begins, 16 bits.
    VaryingWord {
        /// The varying.
        varying: Varying,
    },
    /// Fragment: not zero where the second number of a coefficient register is the flat value
    /// (triangle fans whose first vertex is provoking), 16 bits.
    FirstFan,
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
        /// Index of the result.
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
            | Source::Descriptor { .. }
            | Source::SetAddress { .. }
            | Source::PushLong { .. }
            | Source::PushAddress
            | Source::DataAddress
            | Source::AttributeBase { .. } => 4,
            Source::Constant16 { .. } | Source::VaryingWord { .. } | Source::FirstFan => 1,
            Source::System(value) => value.bits() as u16 / 16,
            Source::Preamble { halves, .. } => halves as u16,
            Source::DescriptorBytes { halves, .. } => halves as u16,
            _ => 2,
        }
    }

    /// The place in a known descriptor that a load reads, if it is one: uniforms are loaded from
    /// there without a thread.
    #[must_use]
    pub fn of_descriptor_load(s: &Shader, i: Inst) -> Option<Source> {
        let (Op::LoadGlobal, Attrs::Mem(mem), &[address]) =
            (s.insts[i].op, s.insts[i].attrs, s.args(i))
        else {
            return None;
        };
        let ty = s.ty(s.result(i));
        let address = s.def_inst(address).filter(|&d| s.insts[d].op == Op::DescriptorAddress)?;
        let handle = s.def_inst(s.arg(address, 0))?;
        let (Op::Descriptor, Attrs::Res(r, _)) = (s.insts[handle].op, s.insts[handle].attrs) else {
            return None;
        };
        let element = u32::try_from(s.as_const(s.arg(handle, 0))?).ok()?;
        let byte = u8::try_from(mem.offset).ok().filter(|b| b % 4 == 0)?;
        let is_constant =
            mem.access.contains(Access::CONST) && !mem.access.contains(Access::VOLATILE);
        let halves = match (ty.comps(), ty.bits()) {
            (1, 16) => 1,
            (1, 32) => 2,
            _ => return None,
        };
        let Resource { set, binding, .. } = s.resources[r];
        is_constant.then_some(Source::DescriptorBytes { set, binding, element, byte, halves })
    }

    /// Whether programs get the value otherwise where the registers are full.
    const fn can_be_loaded(self) -> bool {
        use Source::{Constant, Constant16, DescriptorBytes};
        matches!(self, DescriptorBytes { .. } | Constant { .. } | Constant16 { .. })
    }

    /// Its alignment in half-uniforms.
    const fn alignment(self) -> u16 {
        match self {
            // Texture instructions name the base of descriptors so. source: agx_pack.c,
            // agx_pack_texture
            Source::Descriptor { .. } | Source::SetAddress { .. } => 4,
            s if s.halves() > 1 => 2,
            _ => 1,
        }
    }
}

/// A texture state register, counted from `ts0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TextureState {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Array element.
    pub element: u32,
    /// Whether it holds the PBE descriptor, for stores, else the texture descriptor.
    pub pbe: bool,
}

/// A sampler state register, counted from `ss1`: loads use `ss0`, which must be
/// [`crate::descriptor::loads_sampler`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SamplerState {
    /// Descriptor set.
    pub set: u32,
    /// Binding.
    pub binding: u32,
    /// Array element.
    pub element: u32,
}

/// Texture state registers that a shader takes; other images are found through memory.
const MAX_TEXTURES: usize = 64;
/// Sampler state registers of a launch, without the one for loads. source: cmdbuf.xml, "Sampler
/// states"
const MAX_SAMPLERS: usize = 16;

/// The sampler state register of the first sampler. source: Mesa, agx_nir_lower_texture.c, on
/// sampler #0
const FIRST_SAMPLER: u8 = 1;

fn place_in<T: Copy + PartialEq>(list: &mut Vec<T>, most: usize, x: T) -> Option<u8> {
    let at = list.iter().position(|y| *y == x).or_else(|| {
        list.push(x);
        (list.len() <= most).then(|| list.len() - 1)
    });
    list.truncate(most);
    at.map(|n| n as u8)
}

/// A uniform.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Uniform {
    /// First half-uniform.
    pub half: u16,
    /// Its contents.
    pub source: Source,
}

/// The uniforms of a shader.
#[derive(Clone, Debug, Default)]
pub struct Uniforms {
    /// All of them, in the order of their first use.
    pub list: Vec<Uniform>,
    /// The textures of the texture state registers, from `ts0` on.
    pub textures: Vec<TextureState>,
    /// The samplers of the sampler state registers, from `ss1` on.
    pub samplers: Vec<SamplerState>,
    by_source: FxHashMap<Source, u16>,
    /// Places that the ABI fixes.
    pinned: Vec<Uniform>,
    sealed: bool,
    /// The next free half below and from [`LOW_HALVES`] on.
    low: u16,
    high: u16,
    /// A half that an aligned uniform left free.
    gap: Option<u16>,
    /// Descriptors are found by the addresses of their sets: the next place for such an address.
    sets: Option<u16>,
}

impl Uniforms {
    /// The register of `source`; `None` when the file is full.
    pub fn get(&mut self, source: Source) -> Option<u16> {
        if let Some(&half) = self.by_source.get(&source) {
            return Some(half);
        }
        if self.is_scarce() && source.can_be_loaded() {
            return None;
        }
        let pinned = self.pinned.iter().find(|u| u.source == source).map(|u| u.half);
        let half = match pinned {
            Some(half) => half,
            None => self.place(source)?,
        };
        self.by_source.insert(source, half);
        self.list.push(Uniform { half, source });
        Some(half)
    }

    /// Whether what is left is for offsets of descriptors, without which nothing goes.
    fn is_scarce(&self) -> bool {
        let left = |next: u16, end: u16| end.saturating_sub(next);
        let all = left(self.low, LOW_HALVES) + left(self.high.max(LOW_HALVES), UNIFORM_HALVES);
        self.is_by_set() && all < OFFSET_HALVES
    }

    /// Leaves the first halves to the ABI, which has `pinned` at fixed places in them.
    pub fn reserve(&mut self, halves: u16, pinned: Vec<Uniform>) {
        self.low = halves;
        self.pinned = pinned;
    }

    /// Descriptors in memory are found by the address of their set and an offset, of which a set with any number
    /// of bindings has one; the addresses of `count` sets come first, where texture instructions can encode them.
    pub fn address_by_set(&mut self, count: u16) {
        let first = self.low.next_multiple_of(4);
        self.sets = Some(first);
        self.low = first + count * Source::SetAddress { set: 0 }.halves();
    }

    /// Whether descriptors are found by the address of their set.
    #[must_use]
    pub fn is_by_set(&self) -> bool {
        self.sets.is_some()
    }

    /// Whether the address of descriptors is in a register that texture instructions cannot encode.
    #[must_use]
    pub fn out_of_reach(&self) -> bool {
        let far = |u: &Uniform| {
            matches!(u.source, Source::Descriptor { .. } | Source::SetAddress { .. })
                && u.half >= BASE_HALVES
        };
        self.list.iter().any(far)
    }

    /// No further uniform gets a place.
    pub fn seal(&mut self) {
        self.sealed = true;
    }

    fn place(&mut self, source: Source) -> Option<u16> {
        if self.sealed {
            return None;
        }
        let halves = source.halves();
        if let (Source::SetAddress { .. }, Some(next)) = (source, &mut self.sets) {
            let half = *next;
            *next += halves;
            return (half + halves <= BASE_HALVES).then_some(half);
        }
        if halves == 1
            && let Some(gap) = self.gap.take()
        {
            return Some(gap);
        }
        // Constants leave the low half to addresses while there is room above.
        let wants_low = halves == 4;
        self.high = self.high.max(LOW_HALVES);
        // Memory instructions encode bases in the low half alone; other instructions take these through registers.
        let anywhere = !wants_low
            || matches!(
                source,
                Source::Preamble { .. } | Source::BufferAddress { .. } | Source::PushLong { .. }
            ) && self.low.next_multiple_of(4) + halves > LOW_HALVES;
        let from_high =
            anywhere && self.low + 64 > LOW_HALVES && self.high + halves <= UNIFORM_HALVES;
        let (next, end) =
            if from_high { (&mut self.high, UNIFORM_HALVES) } else { (&mut self.low, LOW_HALVES) };
        if halves > 1 && *next & 1 != 0 {
            self.gap = Some(*next);
            *next += 1;
        }
        *next = next.next_multiple_of(source.alignment());
        let half = *next;
        if half + halves > end {
            return None;
        }
        *next += halves;
        Some(half)
    }

    /// The texture state register for a descriptor; `None` when there are no more.
    pub fn texture(&mut self, t: TextureState) -> Option<u8> {
        place_in(&mut self.textures, MAX_TEXTURES, t)
    }

    /// The sampler state register for a sampler; `None` when there are no more.
    pub fn sampler(&mut self, s: SamplerState) -> Option<u8> {
        place_in(&mut self.samplers, MAX_SAMPLERS, s).map(|n| n + FIRST_SAMPLER)
    }

    /// Half-uniforms up to the last one in use.
    #[must_use]
    pub fn halves(&self) -> u16 {
        self.list.iter().map(|u| u.half + u.source.halves()).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many buffers, then the descriptors of an array of images.
    fn place(u: &mut Uniforms) {
        for element in 0..31 {
            u.get(Source::BufferAddress { set: 0, binding: 0, element }).unwrap();
        }
        for binding in 1..9 {
            u.get(Source::Descriptor { set: 0, binding, element: 0 }).unwrap();
        }
    }

    #[test]
    fn addresses_of_sets_stay_in_reach() {
        let mut u = Uniforms::default();
        place(&mut u);
        assert!(u.out_of_reach());
        let mut u = Uniforms::default();
        u.address_by_set(2);
        for element in 0..31 {
            u.get(Source::BufferAddress { set: 0, binding: 0, element }).unwrap();
        }
        assert_eq!(u.get(Source::SetAddress { set: 3 }), Some(0));
        assert_eq!(u.get(Source::SetAddress { set: 1 }), Some(4));
        assert!(!u.out_of_reach());
    }

    #[test]
    fn addresses_that_find_no_place_below_go_above() {
        let mut u = Uniforms::default();
        let of = |element| Source::BufferAddress { set: 0, binding: 0, element };
        let places: Vec<u16> = (0..90).map(|k| u.get(of(k)).unwrap()).collect();
        assert_eq!(places[63], LOW_HALVES - 4);
        assert_eq!(places[64], LOW_HALVES);
        // Values that must be in the lower part are refused.
        assert_eq!(u.get(Source::BufferTable { set: 0, binding: 0 }), None);
    }
}
