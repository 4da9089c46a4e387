//! Places of what programs read: entries of binding tables and words of constants, found in descriptor sets once a shader is made.
//!
//! A descriptor has a record in the first kind of its set's memory and, unless it is a sampler, surface states in the second
//! ([`crate::descriptor`]); an entry of a binding table points to such a state, so that descriptors may change until a submission
//! executes. Buffers with dynamic offsets get their states when commands are recorded.

use std::sync::Arc;

use tepui_intel_compiler::set_memory::sampled;
use tepui_intel_compiler::{BindMap, Constant, SetBinding, Surface, bind};
use tepui_sysval::SystemValue;
use tepui_vulkan::descriptor::{DescriptorType, SetLayout};
use tepui_vulkan::{Error, Result};

use crate::family::Intel;
use crate::states::{STATE, STATE_B, state_of};

/// Layouts of the sets that a program reads.
#[derive(Clone, Copy)]
pub enum Sets<'a> {
    /// Set layouts by number.
    Layouts(&'a [Option<Arc<SetLayout<Intel>>>]),
    /// Set 0 of the driver's own programs: binding `k` has the record at [`META_RECORD_B`] `* k` and the surface states at
    /// [`META_STATES_B`] `* k`.
    Meta,
}

/// Bytes of the record of a binding of the driver's own programs.
pub const META_RECORD_B: u32 = sampled::BYTES;
/// Bytes of its surface states.
pub const META_STATES_B: u32 = 2 * STATE_B as u32;

/// Placement of the bindings of set layouts in the memory of records, for the compiler.
pub fn placements(sets: &[Option<Arc<SetLayout<Intel>>>]) -> Vec<SetBinding> {
    let mut all = Vec::new();
    for (set, layout) in (0..).zip(sets) {
        let Some(layout) = layout else { continue };
        for (binding, b) in &layout.bindings {
            let [at, ..] = b.offset;
            all.push(SetBinding {
                set,
                binding: *binding,
                offset: match b.ty {
                    // The bytes of a block follow its own record, if it has one.
                    DescriptorType::InlineUniformBlock => at + b.stride[0].next_multiple_of(16),
                    _ => at,
                },
                // Planes are elements of their own.
                stride: b.stride[0] / b.planes.max(1),
                // The record of a block is written with its set, and is not at the place of its bytes.
                bindless: b.updates_after_bind && b.ty != DescriptorType::InlineUniformBlock,
                in_buffer: layout.in_buffer,
                dynamic: if b.ty.is_dynamic() { b.count } else { 0 },
            });
        }
    }
    all
}

/// Place of a surface state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// In the memory of states of a set.
    Set {
        /// Set.
        set: u8,
        /// First byte.
        offset: u32,
    },
    /// Of a buffer with a dynamic offset.
    Dynamic {
        /// Set.
        set: u8,
        /// Number of the dynamic offset in the set.
        index: u32,
        /// A uniform buffer.
        uniform: bool,
    },
    /// Of a colour attachment.
    Target(u8),
    /// Of no colour attachment.
    NoTarget,
    /// Of the program's constant data.
    Data,
    /// Of nothing.
    Null,
}

/// Place of the address and the size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// A record in the memory of a set.
    Record {
        /// Set.
        set: u8,
        /// First byte.
        offset: u32,
    },
    /// A buffer with a dynamic offset.
    Dynamic {
        /// Set.
        set: u8,
        /// Number of the dynamic offset in the set.
        index: u32,
    },
    /// The program's constant data.
    Data,
    /// Nothing.
    Null,
}

/// A word of the constants of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A value of the draw or dispatch.
    System(SystemValue),
    /// Bytes of a buffer.
    Size(Buffer),
    /// Low or high half of the address of a buffer.
    Address(Buffer, bool),
    /// Low or high half of the address of a set.
    SetAddress(u8, bool),
    /// The dynamic offset of a buffer.
    DynamicOffset {
        /// Set.
        set: u8,
        /// First byte of the buffer's record.
        offset: u32,
        /// Number of the dynamic offset in the set.
        index: u32,
    },
}

/// Place of a sampler's handle: a record in the memory of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplerPlace {
    /// Set.
    pub set: u8,
    /// First byte of the record.
    pub offset: u32,
}

/// Places of what a program reads.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Binding table.
    pub entries: Vec<Entry>,
    /// Sampler table.
    pub samplers: Vec<SamplerPlace>,
    /// Constants.
    pub words: Vec<Word>,
}

/// A descriptor of a set layout.
struct Found {
    is_dynamic: bool,
    /// A uniform buffer.
    uniform: bool,
    set: u8,
    /// First byte of its record and of its surface states.
    record: u32,
    states: u32,
    /// Number of its dynamic offset.
    dynamic: u32,
}

fn find(sets: Sets<'_>, set: u32, binding: u32, element: u32) -> Option<Found> {
    let layouts = match sets {
        Sets::Layouts(layouts) => layouts,
        Sets::Meta => {
            let (record, states) = (META_RECORD_B * binding, META_STATES_B * binding);
            let (is_dynamic, uniform) = (false, false);
            return Some(Found { is_dynamic, uniform, set: 0, record, states, dynamic: 0 });
        }
    };
    let layout = layouts.get(set as usize)?.as_ref()?;
    let b = layout.binding(binding)?;
    let [record, states, _] =
        [0, 1, 2].map(|k| b.offset[k] + element * b.stride[k] / b.planes.max(1));
    Some(Found {
        is_dynamic: b.is_dynamic,
        uniform: b.ty != DescriptorType::StorageBufferDynamic,
        set: set as u8,
        record,
        states,
        dynamic: b.first_dynamic + element,
    })
}

impl Places {
    /// Finds what a program reads in the layouts of sets.
    ///
    /// # Errors
    /// When the program reads what the driver does not fill in.
    pub fn new(map: &BindMap, sets: Sets<'_>) -> Result<Places> {
        let buffer = |surface: u8| match map.surfaces.get(usize::from(surface)) {
            Some(&Surface::Buffer { set, binding, element }) => buffer(sets, set, binding, element),
            Some(Surface::Data) => Buffer::Data,
            _ => Buffer::Null,
        };
        let word = |c: &Constant| {
            Ok(match *c {
                Constant::System(
                    value @ (SystemValue::Push { .. }
                    | SystemValue::NumWorkgroups { .. }
                    | SystemValue::BaseWorkgroup { .. }
                    | SystemValue::ViewIndex
                    | SystemValue::PatchVertices),
                ) => Word::System(value),
                Constant::System(value) => {
                    return Err(Error::unsupported(format!("{value:?} in shaders")));
                }
                Constant::BufferSize(surface) => Word::Size(buffer(surface)),
                Constant::BufferAddress(surface, high) => Word::Address(buffer(surface), high),
                Constant::SetAddress(set, high) => Word::SetAddress(set as u8, high),
                Constant::DynamicOffset { set, binding, element } => {
                    match find(sets, set, binding, element) {
                        Some(d) => {
                            Word::DynamicOffset { set: d.set, offset: d.record, index: d.dynamic }
                        }
                        None => return Err(Error::unsupported("a dynamic offset of no binding")),
                    }
                }
            })
        };
        let sampler = |s: &bind::Sampler| match find(sets, s.set, s.binding, s.element) {
            Some(d) => SamplerPlace { set: d.set, offset: d.record },
            None => SamplerPlace { set: 0, offset: u32::MAX },
        };
        Ok(Places {
            entries: map.surfaces.iter().map(|s| entry(sets, s)).collect(),
            samplers: map.samplers.iter().map(sampler).collect(),
            words: map.constants.iter().map(word).collect::<Result<_>>()?,
        })
    }
}

fn buffer(sets: Sets<'_>, set: u32, binding: u32, element: u32) -> Buffer {
    match find(sets, set, binding, element) {
        Some(d) if d.is_dynamic => Buffer::Dynamic { set: d.set, index: d.dynamic },
        Some(d) => Buffer::Record { set: d.set, offset: d.record },
        None => Buffer::Null,
    }
}

fn entry(sets: Sets<'_>, surface: &Surface) -> Entry {
    let (found, state) = match *surface {
        Surface::Data => return Entry::Data,
        Surface::Target(k) => return Entry::Target(k),
        Surface::NoTarget => return Entry::NoTarget,
        Surface::Buffer { set, binding, element } => (find(sets, set, binding, element), STATE),
        Surface::Image { set, binding, element, view } => {
            (find(sets, set, binding, element), state_of(view))
        }
    };
    match found {
        Some(d) if d.is_dynamic => {
            Entry::Dynamic { set: d.set, index: d.dynamic, uniform: d.uniform }
        }
        Some(d) => Entry::Set { set: d.set, offset: d.states + state },
        None => Entry::Null,
    }
}
