//! SPIR-V from generated shaders: what an independent driver can be given.
//!
//! Takes the shaders of `tepui-ir-gen` of 32-bit integers, floats, atomics and workgroup memory: one storage buffer of words, variables, control flow
//! without results. Where SPIR-V leaves open what the IR defines (division of the smallest number by -1, conversions of
//! floats that no integer holds), instructions around it give the IR's answer. Operations that SPIR-V has no word for are lowered
//! by `tepui-passes` first ([`LOWERED`]).

use std::collections::HashMap;

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel,
    FunctionControl, LoopControl, MemoryModel, SelectionControl, StorageClass, Word,
};
use tepui_ir::{AtomicOp, Attrs, Builtin, Op, Region, Shader, Type, Value, Var};
use tepui_passes::lower_alu::Alu;

/// What the passes lower before.
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

/// What a shader has that this writer does not know.
type Unknown = String;

struct Emit<'a> {
    s: &'a Shader,
    b: Builder,
    glsl: Word,
    values: HashMap<Value, Word>,
    vars: HashMap<Var, Word>,
    buffer: Word,
    shared: Option<Word>,
    lane: Word,
    /// Blocks behind the loop, and of its next iteration.
    loops: Vec<(Word, Word)>,
}

/// The module of a shader whose entry point is `main`.
///
/// # Errors
/// The first operation that is not written.
pub fn module(s: &Shader) -> Result<Vec<u32>, Unknown> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    b.capability(Capability::Shader);
    b.capability(Capability::Int16);
    let glsl = b.ext_inst_import("GLSL.std.450");
    b.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
    let (void, word) = (b.type_void(), b.type_int(32, 0));
    let array = b.type_runtime_array(word);
    b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(4)]);
    let block = b.type_struct([array]);
    b.decorate(block, Decoration::Block, []);
    b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
    let pointer = b.type_pointer(None, StorageClass::StorageBuffer, block);
    let buffer = b.variable(pointer, None, StorageClass::StorageBuffer, None);
    b.decorate(buffer, Decoration::DescriptorSet, [Operand::LiteralBit32(0)]);
    b.decorate(buffer, Decoration::Binding, [Operand::LiteralBit32(0)]);
    let pointer = b.type_pointer(None, StorageClass::Input, word);
    let lane = b.variable(pointer, None, StorageClass::Input, None);
    b.decorate(lane, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::LocalInvocationIndex)]);
    let shared = (s.info.shared_bytes > 0).then(|| {
        let n = b.constant_bit32(word, s.info.shared_bytes / 4);
        let array = b.type_array(word, n);
        let pointer = b.type_pointer(None, StorageClass::Workgroup, array);
        b.variable(pointer, None, StorageClass::Workgroup, None)
    });
    let f = b.type_function(void, []);
    let main =
        b.begin_function(void, None, FunctionControl::NONE, f).map_err(|e| format!("{e:?}"))?;
    let mut e = Emit {
        s,
        b,
        glsl,
        values: HashMap::new(),
        vars: HashMap::new(),
        buffer,
        shared,
        lane,
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
        // What is read before it is written is zero.
        let zero = e.b.constant_null(ty);
        let var = e.b.variable(pointer, None, StorageClass::Function, Some(zero));
        e.vars.insert(v, var);
    }
    if e.region(s.root)? == End::Here {
        e.did(|b| b.ret())?;
    }
    e.did(|b| b.end_function())?;
    e.b.entry_point(ExecutionModel::GLCompute, main, "main", [lane]);
    e.b.execution_mode(main, ExecutionMode::LocalSize, s.info.workgroup_size);
    Ok(e.b.module().assemble())
}

/// Where a region ends.
#[derive(PartialEq, Clone, Copy)]
enum End {
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

    fn float(&mut self) -> Word {
        self.b.type_float(32, None)
    }

    fn word(&mut self, x: u32) -> Word {
        let ty = self.b.type_int(32, 0);
        self.b.constant_bit32(ty, x)
    }

    fn value(&self, v: Value) -> Result<Word, Unknown> {
        self.values.get(&v).copied().ok_or_else(|| format!("{v} has no value yet"))
    }

    /// A region's instructions; what stands behind an end is left out.
    fn region(&mut self, r: Region) -> Result<End, Unknown> {
        let s = self.s;
        for &i in &s.regions[r].insts {
            let d = &s.insts[i];
            match (d.op, d.attrs) {
                (Op::If, Attrs::If(a, b)) => {
                    let c = self.value(s.arg(i, 0))?;
                    let (yes, no, join) = (self.b.id(), self.b.id(), self.b.id());
                    self.did(|b| b.selection_merge(join, SelectionControl::NONE))?;
                    self.did(|b| b.branch_conditional(c, yes, no, []))?;
                    let mut reached = false;
                    for (label, region) in [(yes, a), (no, b)] {
                        self.begin(Some(label))?;
                        if self.region(region)? == End::Here {
                            reached = true;
                            self.did(|b| b.branch(join))?;
                        }
                    }
                    self.begin(Some(join))?;
                    if !reached {
                        self.did(|b| b.unreachable())?;
                        return Ok(End::Elsewhere);
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
                    if self.region(body)? == End::Here {
                        self.did(|b| b.branch(next))?;
                    }
                    self.loops.pop();
                    self.begin(Some(next))?;
                    self.did(|b| b.branch(header))?;
                    self.begin(Some(out))?;
                }
                (Op::Yield, _) => return Ok(End::Here),
                (Op::Break | Op::Continue, _) => {
                    let Some(&(out, next)) = self.loops.last() else {
                        return Err("a break outside of loops".to_owned());
                    };
                    let to = if d.op == Op::Break { out } else { next };
                    self.did(|b| b.branch(to))?;
                    return Ok(End::Elsewhere);
                }
                _ => self.inst(i)?,
            }
        }
        Ok(End::Here)
    }

    /// A pointer to a word of the buffer or of workgroup memory.
    fn place(&mut self, offset: Value, plus: u32, buffer: bool) -> Result<Word, Unknown> {
        let (word, offset, plus) = (self.b.type_int(32, 0), self.value(offset)?, self.word(plus));
        let sum = self.did(|b| b.i_add(word, None, offset, plus))?;
        let two = self.word(2);
        let index = self.did(|b| b.shift_right_logical(word, None, sum, two))?;
        let (class, base) = match (buffer, self.shared) {
            (true, _) => (StorageClass::StorageBuffer, self.buffer),
            (false, Some(s)) => (StorageClass::Workgroup, s),
            _ => return Err("workgroup memory that is not declared".to_owned()),
        };
        let pointer = self.b.type_pointer(None, class, word);
        let zero = self.word(0);
        let path = if buffer { vec![zero, index] } else { vec![index] };
        self.did(|b| b.access_chain(pointer, None, base, path))
    }

    fn inst(&mut self, i: tepui_ir::Inst) -> Result<(), Unknown> {
        let s = self.s;
        let d = &s.insts[i];
        let args = s.args(i);
        let word = self.b.type_int(32, 0);
        let result = match (d.op, d.attrs) {
            (Op::Descriptor, _) => return Ok(()),
            (Op::LoadVar | Op::StoreVar, Attrs::Var(v)) => {
                let store = d.op == Op::StoreVar;
                let (mut at, ty) = (self.vars[&v], self.ty(s.vars[v].ty));
                if s.vars[v].len.is_some() {
                    let pointer = self.b.type_pointer(None, StorageClass::Function, ty);
                    let index = self.value(args[usize::from(store)])?;
                    at = self.did(|b| b.access_chain(pointer, None, at, [index]))?;
                }
                if store {
                    let x = self.value(args[0])?;
                    return self.did(|b| b.store(at, x, None, []));
                }
                self.did(|b| b.load(ty, None, at, None, []))?
            }
            (Op::LoadBuiltin, Attrs::Builtin(Builtin::LocalInvocationIndex)) => {
                let lane = self.lane;
                self.did(|b| b.load(word, None, lane, None, []))?
            }
            (Op::LoadBuffer | Op::LoadShared, Attrs::Mem(m)) => {
                let buffer = d.op == Op::LoadBuffer;
                let ty = s.ty(s.result(i));
                let offset = args[usize::from(buffer)];
                let mut parts = Vec::new();
                for k in 0..u32::from(ty.comps()) {
                    let at = self.place(offset, m.offset as u32 + 4 * k, buffer)?;
                    parts.push(self.did(|b| b.load(word, None, at, None, []))?);
                }
                self.collect(ty, &parts)?
            }
            (Op::StoreBuffer | Op::StoreShared, Attrs::Mem(m)) => {
                let buffer = d.op == Op::StoreBuffer;
                let (offset, v) = (args[usize::from(buffer)], args[1 + usize::from(buffer)]);
                let n = u32::from(s.ty(v).comps());
                let x = self.value(v)?;
                for k in 0..n {
                    let at = self.place(offset, m.offset as u32 + 4 * k, buffer)?;
                    let part = match n {
                        1 => x,
                        _ => self.did(|b| b.composite_extract(word, None, x, [k]))?,
                    };
                    self.did(|b| b.store(at, part, None, []))?;
                }
                return Ok(());
            }
            (Op::AtomicBuffer, Attrs::Atomic(op, m)) => {
                let at = self.place(args[1], m.offset as u32, true)?;
                let x = self.value(args[2])?;
                let (scope, sem) = (self.word(1), self.word(0));
                match op {
                    AtomicOp::Add => self.did(|b| b.atomic_i_add(word, None, at, scope, sem, x))?,
                    AtomicOp::SMin => {
                        self.did(|b| b.atomic_s_min(word, None, at, scope, sem, x))?
                    }
                    AtomicOp::UMax => {
                        self.did(|b| b.atomic_u_max(word, None, at, scope, sem, x))?
                    }
                    AtomicOp::And => self.did(|b| b.atomic_and(word, None, at, scope, sem, x))?,
                    AtomicOp::Xor => self.did(|b| b.atomic_xor(word, None, at, scope, sem, x))?,
                    AtomicOp::Xchg => {
                        self.did(|b| b.atomic_exchange(word, None, at, scope, sem, x))?
                    }
                    AtomicOp::CmpXchg => {
                        let new = self.value(args[3])?;
                        self.did(|b| {
                            b.atomic_compare_exchange(word, None, at, scope, sem, sem, new, x)
                        })?
                    }
                    _ => return Err(format!("atomic {}", op.name())),
                }
            }
            (Op::Barrier, _) => {
                // Workgroup; acquire and release of workgroup memory.
                let (scope, sem) = (self.word(2), self.word(0x108));
                return self.did(|b| b.control_barrier(scope, scope, sem));
            }
            _ => self.alu(i)?,
        };
        self.values.insert(s.result(i), result);
        Ok(())
    }

    fn collect(&mut self, ty: Type, parts: &[Word]) -> Result<Word, Unknown> {
        if let [one] = parts {
            return Ok(*one);
        }
        let t = self.ty(ty);
        let parts = parts.to_vec();
        self.did(|b| b.composite_construct(t, None, parts))
    }

    fn glsl(&mut self, ty: Word, n: u32, args: &[Word]) -> Result<Word, Unknown> {
        let set = self.glsl;
        let args: Vec<Operand> = args.iter().map(|&a| Operand::IdRef(a)).collect();
        self.did(|b| b.ext_inst(ty, None, set, n, args))
    }

    fn alu(&mut self, i: tepui_ir::Inst) -> Result<Word, Unknown> {
        let s = self.s;
        let d = &s.insts[i];
        let (op, args) = (d.op, s.args(i));
        let rt = s.ty(s.result(i));
        let ty = self.ty(rt);
        let boolean = rt.bits() == 1;
        if let Op::Const = op {
            let bits = s.as_const(s.result(i)).unwrap_or(0);
            return Ok(match (rt.bits(), bits) {
                (1, 0) => self.b.constant_false(ty),
                (1, _) => self.b.constant_true(ty),
                _ => self.b.constant_bit32(ty, bits as u32),
            });
        }
        if op == Op::Undef {
            return Ok(self.b.constant_null(ty));
        }
        let v: Vec<Word> = args.iter().map(|&a| self.value(a)).collect::<Result<_, _>>()?;
        let from_bool = args.first().is_some_and(|&a| s.ty(a).bits() == 1);
        macro_rules! op {
            ($name:ident) => {
                self.did(|b| b.$name(ty, None, v[0], v[1]))
            };
        }
        if op.touches_floats() {
            return self.float_op(op, rt, &v);
        }
        match op {
            Op::Copy => Ok(v[0]),
            Op::Vec => self.collect(rt, &v),
            Op::Extract => {
                let Attrs::Index(k) = d.attrs else { return Err("extract".to_owned()) };
                self.did(|b| b.composite_extract(ty, None, v[0], [k]))
            }
            Op::InsertDyn => {
                let n = u32::from(rt.comps());
                let (elem, bool_ty) = (self.ty(rt.elem()), self.b.type_bool());
                let mut parts = Vec::new();
                for k in 0..n {
                    let old = self.did(|b| b.composite_extract(elem, None, v[0], [k]))?;
                    let k = self.word(k);
                    let c = self.did(|b| b.i_equal(bool_ty, None, v[2], k))?;
                    parts.push(self.did(|b| b.select(elem, None, c, v[1], old))?);
                }
                self.collect(rt, &parts)
            }
            Op::IAdd => op!(i_add),
            Op::ISub => op!(i_sub),
            Op::IMul => op!(i_mul),
            Op::IAnd if boolean => op!(logical_and),
            Op::IOr if boolean => op!(logical_or),
            Op::IXor if boolean => op!(logical_not_equal),
            Op::IAnd => op!(bitwise_and),
            Op::IOr => op!(bitwise_or),
            Op::IXor => op!(bitwise_xor),
            Op::INot if boolean => self.did(|b| b.logical_not(ty, None, v[0])),
            Op::INot => self.did(|b| b.not(ty, None, v[0])),
            Op::INeg => self.did(|b| b.s_negate(ty, None, v[0])),
            Op::IShl | Op::UShr | Op::SShr => {
                let (w, mask) = (self.b.type_int(32, 0), self.word(u32::from(rt.bits()) - 1));
                let n = self.did(|b| b.bitwise_and(w, None, v[1], mask))?;
                self.did(|b| match op {
                    Op::IShl => b.shift_left_logical(ty, None, v[0], n),
                    Op::UShr => b.shift_right_logical(ty, None, v[0], n),
                    _ => b.shift_right_arithmetic(ty, None, v[0], n),
                })
            }
            Op::UDiv => op!(u_div),
            Op::UMod => op!(u_mod),
            Op::SDiv | Op::SRem | Op::SMod => {
                // The smallest number by -1 is undefined.
                let (bool_ty, minus, one, zero) =
                    (self.b.type_bool(), self.word(u32::MAX), self.word(1), self.word(0));
                let c = self.did(|b| b.i_equal(bool_ty, None, v[1], minus))?;
                let by = self.did(|b| b.select(ty, None, c, one, v[1]))?;
                let special = match op {
                    Op::SDiv => self.did(|b| b.s_negate(ty, None, v[0]))?,
                    _ => zero,
                };
                let plain = self.did(|b| match op {
                    Op::SDiv => b.s_div(ty, None, v[0], by),
                    Op::SRem => b.s_rem(ty, None, v[0], by),
                    _ => b.s_mod(ty, None, v[0], by),
                })?;
                self.did(|b| b.select(ty, None, c, special, plain))
            }
            Op::SMulHi | Op::UMulHi => {
                let pair = self.b.type_struct([ty, ty]);
                let both = self.did(|b| match op {
                    Op::SMulHi => b.s_mul_extended(pair, None, v[0], v[1]),
                    _ => b.u_mul_extended(pair, None, v[0], v[1]),
                })?;
                self.did(|b| b.composite_extract(ty, None, both, [1]))
            }
            Op::SMin => self.glsl(ty, glsl::S_MIN, &v),
            Op::SMax => self.glsl(ty, glsl::S_MAX, &v),
            Op::UMin => self.glsl(ty, glsl::U_MIN, &v),
            Op::UMax => self.glsl(ty, glsl::U_MAX, &v),
            Op::BitReverse => self.did(|b| b.bit_reverse(ty, None, v[0])),
            Op::BitCount => self.did(|b| b.bit_count(ty, None, v[0])),
            Op::IEq if from_bool => op!(logical_equal),
            Op::INe if from_bool => op!(logical_not_equal),
            Op::IEq => op!(i_equal),
            Op::INe => op!(i_not_equal),
            Op::SLt => op!(s_less_than),
            Op::SGe => op!(s_greater_than_equal),
            Op::ULt => op!(u_less_than),
            Op::UGe => op!(u_greater_than_equal),
            Op::Select => self.did(|b| b.select(ty, None, v[0], v[1], v[2])),
            Op::U2U | Op::S2S if s.ty(args[0]) == rt => Ok(v[0]),
            Op::U2U => self.did(|b| b.u_convert(ty, None, v[0])),
            Op::S2S => self.did(|b| b.s_convert(ty, None, v[0])),
            Op::Bitcast => self.did(|b| b.bitcast(ty, None, v[0])),
            Op::B2I => {
                let (one, zero) = (self.word(1), self.word(0));
                self.did(|b| b.select(ty, None, v[0], one, zero))
            }
            _ => Err(format!("`{}`", op.name())),
        }
    }

    /// Floats are words whose bits are looked at in another way.
    fn float_op(&mut self, op: Op, rt: Type, v: &[Word]) -> Result<Word, Unknown> {
        let (f, word, bool_ty) = (self.float(), self.b.type_int(32, 0), self.b.type_bool());
        if matches!(op, Op::S2F | Op::U2F) {
            let x = self.did(|b| match op {
                Op::S2F => b.convert_s_to_f(f, None, v[0]),
                _ => b.convert_u_to_f(f, None, v[0]),
            })?;
            return self.did(|b| b.bitcast(word, None, x));
        }
        let x: Vec<Word> =
            v.iter().map(|&a| self.did(|b| b.bitcast(f, None, a))).collect::<Result<_, _>>()?;
        let konst = |e: &mut Self, c: f32| e.b.constant_bit32(f, c.to_bits());
        match op {
            Op::FLt => return self.did(|b| b.f_ord_less_than(bool_ty, None, x[0], x[1])),
            Op::FGe => return self.did(|b| b.f_ord_greater_than_equal(bool_ty, None, x[0], x[1])),
            Op::FEq => return self.did(|b| b.f_ord_equal(bool_ty, None, x[0], x[1])),
            Op::FNeu => return self.did(|b| b.f_unord_not_equal(bool_ty, None, x[0], x[1])),
            Op::F2S | Op::F2U if rt == Type::B32 => {
                let signed = op == Op::F2S;
                let (low, high) = if signed {
                    (-2_147_483_648.0, 2_147_483_648.0)
                } else {
                    (0.0, 4_294_967_296.0)
                };
                let (low_bits, high_bits) =
                    if signed { (0x8000_0000, 0x7fff_ffff) } else { (0, u32::MAX) };
                let (lo, hi, zero) = (konst(self, low), konst(self, high), konst(self, 0.0));
                let big = self.did(|b| b.f_ord_greater_than_equal(bool_ty, None, x[0], hi))?;
                let small = self.did(|b| b.f_ord_less_than_equal(bool_ty, None, x[0], lo))?;
                let nan = self.did(|b| b.f_unord_not_equal(bool_ty, None, x[0], x[0]))?;
                // What is converted is always a number that fits.
                let out = self.did(|b| b.logical_or(bool_ty, None, big, small))?;
                let out = self.did(|b| b.logical_or(bool_ty, None, out, nan))?;
                let safe = self.did(|b| b.select(f, None, out, zero, x[0]))?;
                let mut r = self.did(|b| match signed {
                    true => b.convert_f_to_s(word, None, safe),
                    false => b.convert_f_to_u(word, None, safe),
                })?;
                for (c, bits) in [(big, high_bits), (small, low_bits)] {
                    let bits = self.word(bits);
                    r = self.did(|b| b.select(word, None, c, bits, r))?;
                }
                return Ok(r);
            }
            _ => {}
        }
        let y = match op {
            Op::FAdd => self.did(|b| b.f_add(f, None, x[0], x[1]))?,
            Op::FSub => self.did(|b| b.f_sub(f, None, x[0], x[1]))?,
            Op::FMul => self.did(|b| b.f_mul(f, None, x[0], x[1]))?,
            Op::FNeg => self.did(|b| b.f_negate(f, None, x[0]))?,
            Op::FMin => self.glsl(f, glsl::N_MIN, &x)?,
            Op::FMax => self.glsl(f, glsl::N_MAX, &x)?,
            Op::FAbs => self.glsl(f, glsl::F_ABS, &x)?,
            Op::FFloor => self.glsl(f, glsl::FLOOR, &x)?,
            Op::FCeil => self.glsl(f, glsl::CEIL, &x)?,
            Op::FTrunc => self.glsl(f, glsl::TRUNC, &x)?,
            Op::FRoundEven => self.glsl(f, glsl::ROUND_EVEN, &x)?,
            _ => return Err(format!("`{}`", op.name())),
        };
        self.b.decorate(y, Decoration::NoContraction, []);
        self.did(|b| b.bitcast(word, None, y))
    }
}
