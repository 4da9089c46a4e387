//! Variables, the buffer, workgroup memory, built-ins.

use rspirv::spirv::{StorageClass, Word};
use tepui_ir::{AtomicOp, Attrs, Inst, Op, Type, Value};

use super::{Emit, EmitResult, Unknown};

impl Emit<'_> {
    /// A pointer to an integer of `bits` bits at a byte of the buffer.
    fn place(&mut self, byte: Word, bits: u8) -> Result<Word, Unknown> {
        let (word, element) = (self.b.type_int(32, 0), self.b.type_int(u32::from(bits), 0));
        let n = u32::from(bits / 8).trailing_zeros();
        let shift = self.word(n);
        let index = self.did(|b| b.shift_right_logical(word, None, byte, shift))?;
        let pointer = self.b.type_pointer(None, StorageClass::StorageBuffer, element);
        let (zero, base) = (self.word(0), self.buffers[n as usize]);
        self.did(|b| b.access_chain(pointer, None, base, [zero, index]))
    }

    /// A pointer to a word of workgroup memory.
    fn shared_place(&mut self, byte: Word) -> Result<Word, Unknown> {
        let Some(base) = self.shared else {
            return Err("workgroup memory that is not declared".to_owned());
        };
        let (word, two) = (self.b.type_int(32, 0), self.word(2));
        let index = self.did(|b| b.shift_right_logical(word, None, byte, two))?;
        let pointer = self.b.type_pointer(None, StorageClass::Workgroup, word);
        self.did(|b| b.access_chain(pointer, None, base, [index]))
    }

    /// A byte's offset in the buffer or workgroup memory; an address is relative to the buffer's start.
    fn byte(&mut self, offset: Value, plus: u32) -> Result<Word, Unknown> {
        let (word, mut x, plus) = (self.b.type_int(32, 0), self.value(offset)?, self.word(plus));
        if self.s.ty(offset) == Type::B64 {
            x = self.did(|b| b.u_convert(word, None, x))?;
        }
        self.did(|b| b.i_add(word, None, x, plus))
    }

    /// The pointers to the parts of a scalar: 64 bits are two words.
    fn parts(&mut self, offset: Value, at: u32, bits: u8, own: bool) -> Result<Vec<Word>, Unknown> {
        (0..u32::from(bits.div_ceil(32)))
            .map(|k| {
                let byte = self.byte(offset, at + 4 * k)?;
                if own { self.shared_place(byte) } else { self.place(byte, bits.min(32)) }
            })
            .collect()
    }

    fn load_scalar(&mut self, pointers: &[Word], bits: u8) -> Result<Word, Unknown> {
        let part = self.b.type_int(u32::from(bits.min(32)), 0);
        let loaded: Vec<Word> = pointers
            .iter()
            .map(|&p| self.did(|b| b.load(part, None, p, None, [])))
            .collect::<Result<_, _>>()?;
        if let [one] = loaded[..] {
            return Ok(one);
        }
        let (pair, long) = (self.b.type_vector(part, 2), self.b.type_int(64, 0));
        let both = self.did(|b| b.composite_construct(pair, None, loaded))?;
        self.did(|b| b.bitcast(long, None, both))
    }

    fn store_scalar(&mut self, pointers: &[Word], x: Word) -> Result<(), Unknown> {
        if let [one] = *pointers {
            return self.did(|b| b.store(one, x, None, []));
        }
        let word = self.b.type_int(32, 0);
        let pair = self.b.type_vector(word, 2);
        let both = self.did(|b| b.bitcast(pair, None, x))?;
        for (k, &p) in pointers.iter().enumerate() {
            let half = self.did(|b| b.composite_extract(word, None, both, [k as u32]))?;
            self.did(|b| b.store(p, half, None, []))?;
        }
        Ok(())
    }

    pub(super) fn memory(&mut self, i: Inst) -> Result<EmitResult, Unknown> {
        let s = self.s;
        let d = &s.insts[i];
        let args = s.args(i);
        let word = self.b.type_int(32, 0);
        Ok(EmitResult::Value(match (d.op, d.attrs) {
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
                    self.did(|b| b.store(at, x, None, []))?;
                    return Ok(EmitResult::Effect);
                }
                self.did(|b| b.load(ty, None, at, None, []))?
            }
            (Op::LoadBuiltin, Attrs::Builtin(which)) => {
                let Some(&(_, variable)) = self.inputs.iter().find(|b| b.0 == which) else {
                    return Err(format!("built-in {which}"));
                };
                self.did(|b| b.load(word, None, variable, None, []))?
            }
            // The address of the buffer's first byte.
            (Op::BufferAddress, _) => self.konst(64, 0),
            (Op::LoadBuffer | Op::LoadShared | Op::LoadGlobal, Attrs::Mem(m)) => {
                let ty = s.ty(s.result(i));
                let offset = args[usize::from(d.op == Op::LoadBuffer)];
                let mut comps = Vec::new();
                for k in 0..u32::from(ty.comps()) {
                    let at = m.offset as u32 + u32::from(ty.bits() / 8) * k;
                    let p = self.parts(offset, at, ty.bits(), d.op == Op::LoadShared)?;
                    comps.push(self.load_scalar(&p, ty.bits())?);
                }
                self.collect(ty, &comps)?
            }
            (Op::StoreBuffer | Op::StoreShared | Op::StoreGlobal, Attrs::Mem(m)) => {
                let first = usize::from(d.op == Op::StoreBuffer);
                let (offset, v) = (args[first], args[1 + first]);
                let ty = s.ty(v);
                let (x, elem) = (self.value(v)?, self.ty(ty.elem()));
                for k in 0..u32::from(ty.comps()) {
                    let at = m.offset as u32 + u32::from(ty.bits() / 8) * k;
                    let p = self.parts(offset, at, ty.bits(), d.op == Op::StoreShared)?;
                    let part = match ty.is_scalar() {
                        true => x,
                        false => self.did(|b| b.composite_extract(elem, None, x, [k]))?,
                    };
                    self.store_scalar(&p, part)?;
                }
                return Ok(EmitResult::Effect);
            }
            (Op::AtomicBuffer, Attrs::Atomic(op, m)) => {
                let byte = self.byte(args[1], m.offset as u32)?;
                let at = self.place(byte, 32)?;
                self.atomic(op, at, &args[2..])?
            }
            (Op::Barrier, _) => {
                // Workgroup; acquire and release of workgroup memory.
                let (scope, sem) = (self.word(2), self.word(0x108));
                self.did(|b| b.control_barrier(scope, scope, sem))?;
                return Ok(EmitResult::Effect);
            }
            _ => return Ok(EmitResult::Other),
        }))
    }

    /// Emits a read-modify-write of a word; returns the old value.
    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        at: Word,
        data: &[Value],
    ) -> Result<Word, Unknown> {
        let word = self.b.type_int(32, 0);
        let x = self.value(data[0])?;
        // Device; relaxed.
        let (scope, sem) = (self.word(1), self.word(0));
        match op {
            AtomicOp::Add => self.did(|b| b.atomic_i_add(word, None, at, scope, sem, x)),
            AtomicOp::SMin => self.did(|b| b.atomic_s_min(word, None, at, scope, sem, x)),
            AtomicOp::UMax => self.did(|b| b.atomic_u_max(word, None, at, scope, sem, x)),
            AtomicOp::And => self.did(|b| b.atomic_and(word, None, at, scope, sem, x)),
            AtomicOp::Xor => self.did(|b| b.atomic_xor(word, None, at, scope, sem, x)),
            AtomicOp::Xchg => self.did(|b| b.atomic_exchange(word, None, at, scope, sem, x)),
            AtomicOp::CmpXchg => {
                let new = self.value(data[1])?;
                self.did(|b| b.atomic_compare_exchange(word, None, at, scope, sem, sem, new, x))
            }
            _ => Err(format!("atomic {}", op.name())),
        }
    }
}
