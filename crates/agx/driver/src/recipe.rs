//! Recipes of programs: the values that the CPU writes into uniform registers for each draw or dispatch, and what USC words load
//! straight from descriptor sets.

use std::sync::Arc;

use tepui_agx_compiler::abi::spilled;
use tepui_agx_compiler::descriptor::{
    PBE_B, ROW_B, SAMPLER_B, SECOND_SAMPLER, SECOND_SAMPLER_B, SECOND_STATE_B, STATE_B, TEXTURE_B,
};
use tepui_agx_compiler::{Program, Source};
use tepui_vulkan::descriptor::SetLayout;

use crate::encoder::bindings::long;
use crate::family::Agx;
use crate::mutable::BUFFER_B;

/// Location of a binding's descriptors.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u32,
    stride: u32,
    /// Number of its first dynamic offset, for buffers that have one.
    dynamic: Option<u32>,
}

/// Descriptor offsets of a pipeline layout: for each set, those of its bindings by number.
#[derive(Clone, Debug, Default)]
pub struct Places(Vec<Vec<(u32, Place)>>);

impl Places {
    /// The locations for set layouts.
    pub fn new(sets: &[Option<Arc<SetLayout<Agx>>>]) -> Places {
        let place = |(n, b): &(u32, tepui_vulkan::descriptor::Binding)| {
            let dynamic = b.is_dynamic.then_some(b.first_dynamic);
            (*n, Place { offset: b.offset[0], stride: b.stride[0] / b.planes, dynamic })
        };
        let set = |s: &Option<Arc<SetLayout<Agx>>>| {
            s.as_ref().map_or_else(Vec::new, |s| s.bindings.iter().map(place).collect())
        };
        Places(sets.iter().map(set).collect())
    }

    /// One set of consecutive rows, as the driver's own programs use.
    pub fn rows(count: u32) -> Places {
        let stride = tepui_agx_compiler::descriptor::ROW_B;
        let row = |k| (k, Place { offset: k * stride, stride, dynamic: None });
        Places(vec![(0..count).map(row).collect()])
    }

    fn get(&self, set: u32, binding: u32) -> Option<Place> {
        if set == spilled::SET {
            return Some(Place { offset: binding * ROW_B, stride: ROW_B, dynamic: None });
        }
        let own = binding & !SECOND_SAMPLER;
        let set = self.0.get(set as usize)?;
        let mut place = set[set.binary_search_by_key(&own, |p| p.0).ok()?].1;
        if own != binding {
            // Programs look for the twin's number where the sampler's would be.
            place.offset += SECOND_SAMPLER_B - SAMPLER_B;
        }
        Some(place)
    }
}

/// A value that the CPU writes for each draw or dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A source of the compiler that does not depend on descriptors.
    Source(Source),
    /// Address of bytes in a set.
    SetAddress {
        /// Set.
        set: u8,
        /// Offset in bytes.
        offset: u32,
    },
    /// Address of a buffer with a dynamic offset.
    DynamicAddress {
        /// Set.
        set: u8,
        /// Number of the dynamic offset.
        index: u32,
    },
    /// Size of a buffer with a dynamic offset.
    DynamicSize {
        /// Set.
        set: u8,
        /// Number of the dynamic offset.
        index: u32,
    },
    /// Address of a table of buffers with dynamic offsets: 16 bytes each.
    DynamicTable {
        /// Set.
        set: u8,
        /// Number of the first dynamic offset.
        first: u32,
    },
    /// Address of zeros: a binding that the layout has not.
    Null,
}

/// Bytes that USC words load from a descriptor set.
#[derive(Clone, Copy, Debug)]
pub struct FromSet {
    /// First register: a half-uniform, a texture or a sampler state register.
    pub register: u16,
    /// Half-uniforms.
    pub halves: u16,
    /// Set.
    pub set: u8,
    /// Offset in bytes.
    pub offset: u32,
}

/// Layout of uniform, texture and sampler state registers.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Runs of half-uniforms that the CPU writes: first register, halves, and the first word in the block.
    pub runs: Vec<(u16, u16, u16)>,
    /// Initial contents of the block: constants.
    pub block: Vec<u16>,
    /// Values: the half in the block, and its source.
    pub values: Vec<(u16, Value)>,
    /// Uniforms loaded from sets.
    pub uniforms: Vec<FromSet>,
    /// Texture state loaded from sets.
    pub textures: Vec<FromSet>,
    /// Sampler state loaded from sets.
    pub samplers: Vec<FromSet>,
    /// Half-uniforms in use.
    pub halves: u16,
}

impl Recipe {
    /// The recipe of a program; `data` is the address of its constant data.
    pub(crate) fn new(p: &Program, places: &Places, data: u64) -> Recipe {
        let mut r = Recipe {
            halves: p.uniforms.iter().map(|u| u.half + u.source.halves()).max().unwrap_or(0),
            ..Recipe::default()
        };
        let mut cpu: Vec<(u16, u16, Value)> = Vec::new();
        for u in &p.uniforms {
            let halves = u.source.halves();
            let from = |set: u32, offset: u32| FromSet {
                register: u.half,
                halves,
                set: set as u8,
                offset,
            };
            let value = match u.source {
                Source::Preamble { .. } => continue,
                Source::BufferAddress { set, binding, element } => match places.get(set, binding) {
                    Some(Place { dynamic: Some(first), .. }) => {
                        Value::DynamicAddress { set: set as u8, index: first + element }
                    }
                    Some(b) => {
                        r.uniforms.push(from(set, b.offset + element * BUFFER_B));
                        continue;
                    }
                    None => Value::Null,
                },
                Source::BufferSize { set, binding, element } => match places.get(set, binding) {
                    Some(Place { dynamic: Some(first), .. }) => {
                        Value::DynamicSize { set: set as u8, index: first + element }
                    }
                    Some(b) => {
                        r.uniforms.push(from(set, b.offset + element * BUFFER_B + 8));
                        continue;
                    }
                    None => Value::Source(Source::Constant { bits: 0 }),
                },
                Source::DescriptorBytes { set, binding, element, byte, .. } => {
                    match places.get(set, binding) {
                        Some(b) => {
                            let offset = b.offset + element * b.stride + u32::from(byte);
                            r.uniforms.push(from(set, offset));
                            continue;
                        }
                        None => Value::Source(Source::Constant { bits: 0 }),
                    }
                }
                Source::BufferTable { set, binding } => match places.get(set, binding) {
                    Some(Place { dynamic: Some(first), .. }) => {
                        Value::DynamicTable { set: set as u8, first }
                    }
                    Some(b) => Value::SetAddress { set: set as u8, offset: b.offset },
                    None => Value::Null,
                },
                Source::Descriptor { set, binding, element } => match places.get(set, binding) {
                    Some(b) => {
                        Value::SetAddress { set: set as u8, offset: b.offset + element * b.stride }
                    }
                    None => Value::Null,
                },
                Source::SetAddress { set } => Value::SetAddress { set: set as u8, offset: 0 },
                Source::DescriptorOffset { set, binding, element } => {
                    let bits = places
                        .get(set, binding)
                        .map_or(0, |b| b.offset.wrapping_add(element.wrapping_mul(b.stride)));
                    Value::Source(Source::Constant { bits })
                }
                source => Value::Source(source),
            };
            cpu.push((u.half, halves, value));
        }
        cpu.sort_by_key(|c| c.0);
        for (half, halves, value) in cpu {
            let extends =
                r.runs.last().is_some_and(|&(start, n, _)| start + n == half && n + halves <= 64);
            if !extends {
                // Runs begin at whole words of the block.
                r.block.resize(r.block.len().next_multiple_of(2), 0);
                r.runs.push((half, 0, r.block.len() as u16 / 2));
            }
            let at = r.block.len() as u16;
            if let Some(run) = r.runs.last_mut() {
                run.1 += halves;
            }
            match value {
                Value::Source(Source::Constant { bits }) => {
                    r.block.extend([bits as u16, (bits >> 16) as u16])
                }
                Value::Source(Source::Constant16 { bits }) => r.block.push(bits),
                Value::Source(Source::DataAddress) => r.block.extend(long(data)),
                value => {
                    r.block.resize(r.block.len() + usize::from(halves), 0);
                    r.values.push((at, value));
                }
            }
        }
        for (k, t) in p.textures.iter().enumerate() {
            if let Some(b) = places.get(t.set, t.binding) {
                let part = if t.pbe { PBE_B } else { TEXTURE_B };
                let offset = b.offset + t.element * b.stride + part;
                r.textures.push(FromSet {
                    register: k as u16,
                    halves: 0,
                    set: t.set as u8,
                    offset,
                });
            }
        }
        for (k, s) in p.samplers.iter().enumerate() {
            if let Some(b) = places.get(s.set, s.binding) {
                let state = match s.binding & SECOND_SAMPLER {
                    0 => STATE_B,
                    _ => SECOND_STATE_B - (SECOND_SAMPLER_B - SAMPLER_B),
                };
                let offset = b.offset + s.element * b.stride + state;
                r.samplers.push(FromSet {
                    register: k as u16 + 1,
                    halves: 0,
                    set: s.set as u8,
                    offset,
                });
            }
        }
        r
    }

    /// The register that a half of the block goes to.
    pub fn register(&self, half: u16) -> u16 {
        let run = self.runs.iter().rev().find(|r| 2 * r.2 <= half);
        run.map_or(0, |r| r.0 + (half - 2 * r.2))
    }

    /// Whether a value is among those that the CPU writes.
    pub fn has(&self, test: impl Fn(Source) -> bool) -> bool {
        self.values.iter().any(|v| matches!(v.1, Value::Source(s) if test(s)))
    }
}
