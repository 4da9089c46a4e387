//! Emits SPIR-V for generated shaders, so that an independent driver can run them.
//!
//! Takes all shaders of `tepui-ir-gen`: integers of 8 to 64 bits, floats of 16 and 32, one storage
//! buffer, a storage image and a sampled one, variables, atomics, workgroup memory, sub-groups,
//! control flow without results. Where SPIR-V leaves open what the IR defines (division of the
//! smallest number by -1, conversions of floats that no integer holds), instructions around it give
//! the IR's answer. Operations that SPIR-V has no word for are lowered by `tepui-passes` first
//! ([`LOWERED`]).
//!
//! Accesses by address begin at the buffer's first byte here: `buffer_address` is zero.

mod alu;
mod float;
mod group;
mod image;
mod memory;

use std::collections::HashMap;

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel,
    FunctionControl, LoopControl, MemoryModel, SelectionControl, StorageClass, Word,
};
use tepui_ir::{Attrs, Builtin, Inst, Op, Region, Shader, Type, Value, Var};
use tepui_passes::lower_alu::Alu;

/// Operations that the passes lower first, on integers of every size.
pub const LOWERED: Alu = Alu::ISIGN
    .union(Alu::CARRY)
    .union(Alu::SATURATE)
    .union(Alu::FIND_LSB)
    .union(Alu::UFIND_MSB)
    .union(Alu::SFIND_MSB)
    .union(Alu::BIT_INSERT)
    .union(Alu::BIT_EXTRACT);

/// GLSL.std.450's numbers.
mod glsl {
    pub const ROUND_EVEN: u32 = 2;
    pub const TRUNC: u32 = 3;
    pub const F_ABS: u32 = 4;
    pub const FLOOR: u32 = 8;
    pub const CEIL: u32 = 9;
    pub const U_MIN: u32 = 38;
    pub const S_MIN: u32 = 39;
    pub const U_MAX: u32 = 41;
    pub const S_MAX: u32 = 42;
    pub const N_MIN: u32 = 79;
    pub const N_MAX: u32 = 80;
}

/// A description of a feature that this emitter does not support.
type Unknown = String;

struct Emit<'a> {
    s: &'a Shader,
    b: Builder,
    glsl: Word,
    values: HashMap<Value, Word>,
    vars: HashMap<Var, Word>,
    /// The buffer as an array of integers of 8, 16 and 32 bits.
    buffers: [Word; 3],
    shared: Option<Word>,
    images: image::Images,
    /// Built-ins that are loaded, each with its variable.
    inputs: Vec<(Builtin, Word)>,
    /// Labels of the block after each loop, and of its next iteration.
    loops: Vec<(Word, Word)>,
}

/// The buffer's variable that sees integers of `bits` bits.
fn buffer(b: &mut Builder, bits: u32) -> Word {
    let element = b.type_int(bits, 0);
    let array = b.type_runtime_array(element);
    b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(bits / 8)]);
    let block = b.type_struct([array]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
    let variable = b.variable(pointer, None, StorageClass::StorageBuffer, None);
    b.decorate(variable, Decoration::Aliased, []);
    at_binding(b, variable, 0);
    variable
}

fn at_binding(b: &mut Builder, variable: Word, binding: u32) {
    b.decorate(variable, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
    b.decorate(variable, Decoration::Binding, [Operand::LiteralBit32(binding)]);
}

/// The module of a shader whose entry point is `main`.
///
/// # Errors
/// The first operation that is not written.
pub fn module(s: &Shader) -> Result<Vec<u32>, Unknown> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    for c in [
        Capability::Shader,
        Capability::Int8,
        Capability::Int16,
        Capability::Int64,
        Capability::Float16,
        Capability::StorageBuffer8BitAccess,
        Capability::StorageBuffer16BitAccess,
        Capability::GroupNonUniform,
        Capability::GroupNonUniformVote,
        Capability::GroupNonUniformArithmetic,
        Capability::GroupNonUniformBallot,
        Capability::GroupNonUniformShuffle,
        Capability::GroupNonUniformShuffleRelative,
        Capability::GroupNonUniformClustered,
        Capability::GroupNonUniformQuad,
    ] {
        b.capability(c);
    }
    b.extension("SPV_KHR_8bit_storage");
    let glsl = b.ext_inst_import("GLSL.std.450");
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, word) = (b.type_void(), b.type_int(32, 0));
    let buffers = [8, 16, 32].map(|bits| buffer(&mut b, bits));
    let inputs = [
        (Builtin::LocalInvocationIndex, BuiltIn::LocalInvocationIndex),
        (Builtin::SubgroupInvocationId, BuiltIn::SubgroupLocalInvocationId),
    ]
    .map(|(ours, theirs)| {
        let pointer = b.type_pointer(None, StorageClass::Input, word);
        let variable = b.variable(pointer, None, StorageClass::Input, None);
        b.decorate(variable, Decoration::BuiltIn, [Operand::BuiltIn(theirs)]);
        (ours, variable)
    });
    let shared = (s.info.shared_bytes > 0).then(|| {
        let n = b.constant_bit32(word, s.info.shared_bytes / 4);
        let array = b.type_array(word, n);
        let pointer = b.type_pointer(None, StorageClass::Workgroup, array);
        b.variable(pointer, None, StorageClass::Workgroup, None)
    });
    let images = image::Images::new(s, &mut b);
    let f = b.type_function(void, []);
    let main =
        b.begin_function(void, None, FunctionControl::NONE, f).map_err(|e| format!("{e:?}"))?;
    let mut e = Emit {
        s,
        b,
        glsl,
        values: HashMap::new(),
        vars: HashMap::new(),
        buffers,
        shared,
        images,
        inputs: inputs.to_vec(),
        loops: Vec::new(),
    };
    e.begin(None)?;
    for (v, d) in s.vars.iter() {
        let mut ty = e.ty(d.ty);
        if let Some(n) = d.len {
            let n = e.word(n);
            ty = e.b.type_array(ty, n);
        }
        let pointer = e.b.type_pointer(None, StorageClass::Function, ty);
        // Variables are zero before they are written.
        let zero = e.b.constant_null(ty);
        let var = e.b.variable(pointer, None, StorageClass::Function, Some(zero));
        e.vars.insert(v, var);
    }
    if e.region(s.root)? == RegionEnd::Here {
        e.did(|b| b.ret())?;
    }
    e.did(|b| b.end_function())?;
    let seen: Vec<Word> = e.inputs.iter().map(|i| i.1).collect();
    e.b.entry_point(ExecutionModel::GLCompute, main, "main", seen);
    e.b.execution_mode(main, ExecutionMode::LocalSize, s.info.workgroup_size);
    Ok(e.b.module().assemble())
}

/// The result of emitting an instruction.
enum EmitResult {
    /// It has a result value.
    Value(Word),
    /// It has no result.
    Effect,
    /// It belongs to another family.
    Other,
}

/// The end of a region.
#[derive(PartialEq, Clone, Copy)]
enum RegionEnd {
    /// At its `yield`: the block is open.
    Here,
    /// Elsewhere: the block has its last instruction.
    Elsewhere,
}

impl Emit<'_> {
    fn did<T>(
        &mut self,
        f: impl FnOnce(&mut Builder) -> Result<T, rspirv::dr::Error>,
    ) -> Result<T, Unknown> {
        f(&mut self.b).map_err(|e| format!("{e:?}"))
    }

    fn begin(&mut self, label: Option<Word>) -> Result<(), Unknown> {
        self.did(|b| b.begin_block(label)).map(|_| ())
    }

    fn ty(&mut self, t: Type) -> Word {
        let scalar = match t.bits() {
            1 => self.b.type_bool(),
            n => self.b.type_int(u32::from(n), 0),
        };
        if t.is_scalar() { scalar } else { self.b.type_vector(scalar, u32::from(t.comps())) }
    }

    fn word(&mut self, x: u32) -> Word {
        self.konst(32, u64::from(x))
    }

    /// An integer of a size.
    fn konst(&mut self, bits: u8, x: u64) -> Word {
        let ty = self.b.type_int(u32::from(bits), 0);
        let x = x & tepui_ir::mask(bits);
        match bits {
            64 => self.b.constant_bit64(ty, x),
            _ => self.b.constant_bit32(ty, x as u32),
        }
    }

    fn value(&self, v: Value) -> Result<Word, Unknown> {
        self.values.get(&v).copied().ok_or_else(|| format!("{v} has no value yet"))
    }

    /// A region's instructions, without those after an instruction that ends it.
    fn region(&mut self, r: Region) -> Result<RegionEnd, Unknown> {
        let s = self.s;
        for &i in &s.regions[r].insts {
            let d = &s.insts[i];
            match (d.op, d.attrs) {
                (Op::If, Attrs::If(..)) if self.cases(i).0.len() > 1 => {
                    if self.switch(i)? == RegionEnd::Elsewhere {
                        return Ok(RegionEnd::Elsewhere);
                    }
                }
                (Op::If, Attrs::If(a, b)) => {
                    let c = self.value(s.arg(i, 0))?;
                    let (yes, no, join) = (self.b.id(), self.b.id(), self.b.id());
                    self.did(|b| b.selection_merge(join, SelectionControl::NONE))?;
                    self.did(|b| b.branch_conditional(c, yes, no, []))?;
                    let mut reached = false;
                    for (label, region) in [(yes, a), (no, b)] {
                        self.begin(Some(label))?;
                        if self.region(region)? == RegionEnd::Here {
                            reached = true;
                            self.did(|b| b.branch(join))?;
                        }
                    }
                    self.begin(Some(join))?;
                    if !reached {
                        self.did(|b| b.unreachable())?;
                        return Ok(RegionEnd::Elsewhere);
                    }
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    let ids = [(); 4].map(|()| self.b.id());
                    let [header, inside, next, out] = ids;
                    self.did(|b| b.branch(header))?;
                    self.begin(Some(header))?;
                    self.did(|b| b.loop_merge(out, next, LoopControl::NONE, []))?;
                    self.did(|b| b.branch(inside))?;
                    self.begin(Some(inside))?;
                    self.loops.push((out, next));
                    if self.region(body)? == RegionEnd::Here {
                        self.did(|b| b.branch(next))?;
                    }
                    self.loops.pop();
                    self.begin(Some(next))?;
                    self.did(|b| b.branch(header))?;
                    self.begin(Some(out))?;
                }
                (Op::Yield, _) => return Ok(RegionEnd::Here),
                (Op::Break | Op::Continue, _) => {
                    let Some(&(out, next)) = self.loops.last() else {
                        return Err("a break outside of loops".to_owned());
                    };
                    let to = if d.op == Op::Break { out } else { next };
                    self.did(|b| b.branch(to))?;
                    return Ok(RegionEnd::Elsewhere);
                }
                _ => self.inst(i)?,
            }
        }
        Ok(RegionEnd::Here)
    }

    /// The arms of a chain of tests of one value for constants, which is a `switch`, and what
    /// follows when none holds.
    fn cases(&self, mut i: Inst) -> (Vec<(u32, Region)>, Option<Region>, Option<Value>) {
        let s = self.s;
        let (mut arms, mut last, mut selector) = (Vec::new(), None, None);
        while let Attrs::If(yes, no) = s.insts[i].attrs {
            let test = s.def_inst(s.arg(i, 0)).filter(|&t| s.insts[t].op == Op::IEq);
            let Some((x, k)) =
                test.and_then(|t| Some((s.arg(t, 0), s.as_const(s.arg(t, 1))? as u32)))
            else {
                break;
            };
            if s.ty(x) != Type::B32 || selector.is_some_and(|seen| seen != x) {
                break;
            }
            if arms.iter().any(|a: &(u32, Region)| a.0 == k) {
                break;
            }
            selector = Some(x);
            arms.push((k, yes));
            last = Some(no);
            match s.regions[no].insts[..] {
                [inner, end] if s.insts[end].op == Op::Yield => i = inner,
                _ => break,
            }
        }
        (arms, last, selector)
    }

    fn switch(&mut self, i: Inst) -> Result<RegionEnd, Unknown> {
        let (arms, Some(last), Some(selector)) = self.cases(i) else {
            return Err("a switch without arms".to_owned());
        };
        let x = self.value(selector)?;
        let labels: Vec<Word> = arms.iter().map(|_| self.b.id()).collect();
        let (default, join) = (self.b.id(), self.b.id());
        self.did(|b| b.selection_merge(join, SelectionControl::NONE))?;
        let targets: Vec<_> =
            arms.iter().zip(&labels).map(|(a, &l)| (Operand::LiteralBit32(a.0), l)).collect();
        self.did(|b| b.switch(x, default, targets))?;
        let regions = arms.iter().map(|a| a.1).zip(labels).chain([(last, default)]);
        let mut reached = false;
        for (region, label) in regions {
            self.begin(Some(label))?;
            if self.region(region)? == RegionEnd::Here {
                reached = true;
                self.did(|b| b.branch(join))?;
            }
        }
        self.begin(Some(join))?;
        if reached {
            return Ok(RegionEnd::Here);
        }
        self.did(|b| b.unreachable())?;
        Ok(RegionEnd::Elsewhere)
    }

    /// A vector of its components, or the one component.
    fn collect(&mut self, ty: Type, parts: &[Word]) -> Result<Word, Unknown> {
        if let [one] = parts {
            return Ok(*one);
        }
        let t = self.ty(ty);
        let parts = parts.to_vec();
        self.did(|b| b.composite_construct(t, None, parts))
    }

    /// An instruction of GLSL.std.450.
    fn glsl(&mut self, ty: Word, n: u32, args: &[Word]) -> Result<Word, Unknown> {
        let set = self.glsl;
        let args: Vec<Operand> = args.iter().map(|&a| Operand::IdRef(a)).collect();
        self.did(|b| b.ext_inst(ty, None, set, n, args))
    }

    fn inst(&mut self, i: Inst) -> Result<(), Unknown> {
        let s = self.s;
        if s.insts[i].op == Op::Descriptor {
            return Ok(());
        }
        for family in [Emit::memory, Emit::image, Emit::group, Emit::alu] {
            match family(self, i)? {
                EmitResult::Value(w) => {
                    self.values.insert(s.result(i), w);
                    return Ok(());
                }
                EmitResult::Effect => return Ok(()),
                EmitResult::Other => {}
            }
        }
        Err(format!("`{}`", s.insts[i].op.name()))
    }
}
