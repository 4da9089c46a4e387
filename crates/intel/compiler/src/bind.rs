//! Inputs of a program that its driver places: constants in registers, surfaces in the binding table, samplers.
//!
//! The compiler chooses the places and reports them; the driver fills them. Registers of a compute thread:
//!
//! ```text
//! g0              header from the thread dispatcher
//! g1 …            constants that all threads share ([`BindMap::constants`]), eight to a register
//! the next one    constants of the thread: its number within the workgroup, if the program reads that
//! ```
//!
//! Constants of graphics threads begin after the payload ([`crate::payload`]). Descriptors whose index is not known when
//! compiling are read from [`crate::set_memory`].

use crate::error::{Error, Result};
use crate::mir::GRF_DWORDS;
use crate::set_memory::{SetBinding, placement};
use serde::{Deserialize, Serialize};
use tepui_ir::{Attrs, Builtin, Op, Res, Shader, Value};
use tepui_sysval::SystemValue;

pub use tepui_passes::handles::descriptor_of;

/// Maximum number of binding table entries: higher indices have a meaning of their own. source: Mesa,
/// `brw_compiler.h` (`BRW_MAX_BINDING_TABLE_SIZE`)
pub const MAX_SURFACES: usize = 240;

/// Maximum number of samplers of a stage. source: Mesa, `anv_private.h` (`MAX_SAMPLER_TABLE_SIZE`)
pub const MAX_SAMPLERS: usize = 128;

/// Maximum number of registers with constants.
const MAX_CONSTANT_REGISTERS: usize = 64;

/// A double word that the driver places in the shared constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Constant {
    /// A value of the draw or dispatch: push constants, numbers of workgroups and their base, the view, vertices of an input patch where
    /// the program is compiled without their number.
    System(SystemValue),
    /// The size in bytes of the buffer of a surface, by its index.
    BufferSize(u8),
    /// The low or the high half of the address of the buffer of a surface, by its index.
    BufferAddress(u8, bool),
    /// The low or the high half of the address of a descriptor set's memory ([`crate::set_memory`]).
    SetAddress(u32, bool),
    /// The dynamic offset of a buffer that is found in set memory.
    DynamicOffset {
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
        /// Element of the binding.
        element: u32,
    },
}

/// The interpretation of an image's memory by a surface state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum View {
    /// For the sampler: the image view as it is, with its swizzle. Sampled images, input attachments, uniform texel buffers.
    Sampled,
    /// For typed messages of the data port, and for queries of the size: the view's own format without a swizzle. Cubes
    /// are arrays of faces. Storage images and storage texel buffers.
    Storage,
    /// As [`View::Storage`], in the format R8, R16, R32 or R32G32 of unsigned integers that has the size of a texel: for
    /// reads of formats that the data port does not convert ([`crate::set_memory::reads_raw`]).
    Raw,
}

/// An entry of the binding table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Surface {
    /// A buffer of a descriptor set, as a raw surface.
    Buffer {
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
        /// Element of the binding.
        element: u32,
    },
    /// An image or texel buffer of a descriptor set.
    Image {
        /// Descriptor set.
        set: u32,
        /// Binding in the set.
        binding: u32,
        /// Element of the binding: planes of an image of several formats are elements of their own.
        element: u32,
        /// Its interpretation.
        view: View,
    },
    /// The constant data of the program, as a raw surface.
    Data,
    /// A colour target, by its location; a null surface where the rendering has none. Those of a fragment program are its
    /// first surfaces.
    Target(u8),
    /// A null surface, which a fragment program without colours writes.
    NoTarget,
}

/// An entry of the sampler table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Sampler {
    /// Descriptor set.
    pub set: u32,
    /// Binding in the set.
    pub binding: u32,
    /// Element of the binding.
    pub element: u32,
}

/// The places of constants and surfaces.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BindMap {
    /// Shared constants, from the first double word of g1 on.
    pub constants: Vec<Constant>,
    /// Whether a register with constants of the thread follows; its first double word is the number of the thread within
    /// its workgroup.
    pub thread_constants: bool,
    /// The binding table.
    pub surfaces: Vec<Surface>,
    /// The sampler table: SAMPLER_STATEs of 16 bytes each in a row.
    pub samplers: Vec<Sampler>,
    /// The register at which constants begin.
    #[serde(skip)]
    pub(crate) start: u16,
    /// The placement of bindings in set memory.
    #[serde(skip)]
    sets: Vec<SetBinding>,
}

impl BindMap {
    /// A map of surfaces alone.
    pub(crate) fn of_surfaces(surfaces: Vec<Surface>) -> BindMap {
        BindMap { surfaces, start: 1, ..BindMap::default() }
    }

    /// Finds what a shader reads. The binding table begins with `surfaces`.
    ///
    /// # Errors
    /// When there is more than registers hold.
    pub fn new(s: &Shader, sets: &[SetBinding], surfaces: Vec<Surface>) -> Result<BindMap> {
        let sets = if sets.is_empty() { placement(s) } else { sets.to_vec() };
        let mut map = BindMap { start: 1, sets, surfaces, ..BindMap::default() };
        let mut push_dwords = 0;
        s.walk(|s, _, i| match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadPush, Attrs::Mem(m)) => {
                let ty = s.ty(s.result(i));
                let end = match s.as_const(s.arg(i, 0)) {
                    Some(at) => (at as u32).wrapping_add(m.offset as u32) + ty.size_bytes(),
                    None => s.info.push_bytes,
                };
                push_dwords = push_dwords.max(end.div_ceil(4));
            }
            (Op::LoadBuiltin, Attrs::Builtin(b)) => match b {
                Builtin::NumWorkgroups => {
                    (0..3).for_each(|axis| map.add_system(SystemValue::NumWorkgroups { axis }));
                }
                Builtin::BaseWorkgroupId => {
                    (0..3).for_each(|axis| map.add_system(SystemValue::BaseWorkgroup { axis }));
                }
                Builtin::SubgroupId | Builtin::LocalInvocationIndex => map.thread_constants = true,
                Builtin::ViewIndex => map.add_system(SystemValue::ViewIndex),
                Builtin::PatchVertices => map.add_system(SystemValue::PatchVertices),
                _ => {}
            },
            (Op::BufferSize | Op::BufferAddress, _) => {
                let index = map.surface_of(s, s.arg(i, 0));
                match (index, s.insts[i].op) {
                    (Some(index), Op::BufferSize) => map.add(Constant::BufferSize(index)),
                    (Some(index), _) => [false, true]
                        .into_iter()
                        .for_each(|high| map.add(Constant::BufferAddress(index, high))),
                    (None, _) => {}
                }
            }
            (Op::Descriptor, Attrs::Res(res, _)) => map.add_record(s, res, s.arg(i, 0)),
            _ => {}
        });
        let words = (0..push_dwords).map(|k| Constant::System(SystemValue::Push { offset: 4 * k }));
        map.constants = words.chain(std::mem::take(&mut map.constants)).collect();
        let registers = u64::from(map.registers());
        if registers > MAX_CONSTANT_REGISTERS as u64 {
            let (needed, limit) = (registers, MAX_CONSTANT_REGISTERS as u64);
            return Err(Error::Limit { what: "registers of constants", needed, limit });
        }
        Ok(map)
    }

    /// Adds what reading the record of a descriptor needs, if it is one of those that are read.
    fn add_record(&mut self, s: &Shader, res: Res, index: Value) {
        let r = &s.resources[res];
        let Some(placed) = self.placed(r.set, r.binding) else { return };
        if s.as_const(index).is_some() && !placed.bindless {
            return;
        }
        [false, true].into_iter().for_each(|high| self.add(Constant::SetAddress(r.set, high)));
        let (set, binding) = (r.set, r.binding);
        (0..placed.dynamic).for_each(|element| {
            self.add(Constant::DynamicOffset { set, binding, element });
        });
    }

    /// The placement of a binding in the memory of its set.
    #[must_use]
    pub fn placed(&self, set: u32, binding: u32) -> Option<SetBinding> {
        self.sets.iter().find(|p| (p.set, p.binding) == (set, binding)).copied()
    }

    fn add_system(&mut self, value: SystemValue) {
        self.add(Constant::System(value));
    }

    fn add(&mut self, c: Constant) {
        if !self.constants.contains(&c) {
            self.constants.push(c);
        }
    }

    /// Double words of push constants, which are the first constants.
    #[must_use]
    pub fn push_words(&self) -> u32 {
        self.constants
            .iter()
            .take_while(|c| matches!(c, Constant::System(SystemValue::Push { .. })))
            .count() as u32
    }

    /// Registers with shared constants.
    #[must_use]
    pub fn shared_registers(&self) -> u16 {
        (self.constants.len() as u16).div_ceil(GRF_DWORDS)
    }

    /// Registers with constants.
    #[must_use]
    pub fn registers(&self) -> u16 {
        self.shared_registers() + u16::from(self.thread_constants)
    }

    /// The register file's double word that has a constant.
    #[must_use]
    pub fn dword(&self, c: Constant) -> Option<u16> {
        let at = self.constants.iter().position(|&k| k == c)?;
        Some(GRF_DWORDS * self.start + at as u16)
    }

    /// The register file's double word with the number of the thread within its workgroup.
    #[must_use]
    pub fn thread_number(&self) -> u16 {
        GRF_DWORDS * (self.start + self.shared_registers())
    }

    /// The index of a surface in the binding table, where it gets a place if it has none; nothing if the table is full.
    pub fn surface(&mut self, surface: Surface) -> Option<u8> {
        let at = self.surfaces.iter().position(|&s| s == surface);
        let at = at.unwrap_or_else(|| {
            self.surfaces.push(surface);
            self.surfaces.len() - 1
        });
        (at < MAX_SURFACES).then_some(at as u8)
    }

    /// The index of a sampler in the sampler table, where it gets a place if it has none; nothing if the table is full.
    pub fn sampler(&mut self, sampler: Sampler) -> Option<u8> {
        let at = self.samplers.iter().position(|&s| s == sampler);
        let at = at.unwrap_or_else(|| {
            self.samplers.push(sampler);
            self.samplers.len() - 1
        });
        (at < MAX_SAMPLERS).then_some(at as u8)
    }

    /// The index of the buffer that a handle names, if the binding table has it.
    pub fn surface_of(&mut self, s: &Shader, handle: Value) -> Option<u8> {
        let (res, index) = descriptor_of(s, handle)?;
        let r = &s.resources[res];
        let element = s.as_const(index)? as u32;
        if self.placed(r.set, r.binding).is_some_and(|p| p.bindless) {
            return None;
        }
        self.surface(Surface::Buffer { set: r.set, binding: r.binding, element })
    }
}
