//! Executes instructions other than control flow.

use super::memory::{Slot, Space, buffer_address, combine, read, write};
use super::{Fault, Machine, Mask, MemoryError};
use crate::attrs::{AtomicOp, Attrs, Builtin, IoSlot, Mem};
use crate::entity::{Inst, Value};
use crate::op::{Fold, Op, fold, is_denormal};
use crate::shader::Stage;
use crate::types::Type;
use cranelift_entity::EntityRef;

impl Machine<'_> {
    pub(super) fn unsupported<T>(&self, inst: Inst, what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Unsupported { inst, what: what.into() })
    }

    /// The slot of a handle.
    pub(super) fn slot(&self, inst: Inst, handle: u64) -> Result<Slot, Fault> {
        let res = (handle >> 32) as usize;
        match self.s.resources.values().nth(res) {
            Some(r) => Ok((r.set, r.binding, handle as u32)),
            None => Err(Fault::Memory { inst, error: MemoryError::Handle(handle) }),
        }
    }

    pub(super) fn inst(&mut self, inst: Inst, live: &Mask) -> Result<(), Fault> {
        let s = self.s;
        let d = &s.insts[inst];
        let args = s.args(inst);
        let results = s.results(inst);
        if !matches!(d.op.info().fold, Fold::None) {
            self.fold(inst, live);
            return Ok(());
        }
        match (d.op, d.attrs) {
            (Op::Undef, _) => self.each(live, results[0], |_, _| 0),
            (Op::LoadVar | Op::StoreVar, Attrs::Var(var)) => {
                let store = d.op == Op::StoreVar;
                let v = &s.vars[var];
                let (comps, len) = (v.ty.comps() as usize, u64::from(v.len.unwrap_or(1)));
                let index = args.get(usize::from(store)).copied();
                for lane in (0..self.n).filter(|&l| live[l]) {
                    let i = index.map_or(0, |i| self.get(i, 0, lane)).min(len.saturating_sub(1));
                    for c in 0..comps {
                        let at = (i as usize * comps + c) * self.n + lane;
                        if store {
                            self.vars[var.index()][at] = self.get(args[0], c, lane);
                        } else {
                            let x = self.vars[var.index()][at];
                            self.set(results[0], c, lane, x);
                        }
                    }
                }
            }
            (Op::Descriptor, Attrs::Res(res, _)) => {
                let i = args[0];
                for l in (0..self.n).filter(|&l| live[l]) {
                    let h = ((res.index() as u64) << 32) | self.get(i, 0, l);
                    self.set(results[0], 0, l, h);
                }
            }
            (Op::BufferAddress, _) => {
                for l in (0..self.n).filter(|&l| live[l]) {
                    let slot = self.slot(inst, self.get(args[0], 0, l))?;
                    match buffer_address(slot) {
                        Some(a) => self.set(results[0], 0, l, a),
                        None => {
                            let (set, binding, element) = slot;
                            return Err(Fault::NoAddress { inst, set, binding, element });
                        }
                    }
                }
            }
            (Op::BufferSize, _) => {
                for l in (0..self.n).filter(|&l| live[l]) {
                    let (a, b, c) = self.slot(inst, self.get(args[0], 0, l))?;
                    let Some(buf) = self.memory.buffers.get(&(a, b, c)) else {
                        return Err(Fault::Memory { inst, error: MemoryError::NoBuffer(a, b, c) });
                    };
                    let n = buf.len() as u64;
                    self.set(results[0], 0, l, n);
                }
            }
            (op, Attrs::Mem(m)) if let Some(space) = Space::of(op) => {
                let store = results.is_empty();
                if store {
                    self.store(inst, space, m, live)?
                } else {
                    self.load(inst, space, m, live)?
                }
            }
            (op, Attrs::Atomic(how, m)) if let Some(space) = Space::of(op) => {
                self.atomic(inst, space, how, m, live)?
            }
            (Op::Barrier | Op::InterlockBegin | Op::InterlockEnd | Op::RunTests, _) => {}
            (Op::LoadBuiltin, Attrs::Builtin(b)) => self.builtin(inst, b, live)?,
            (op @ Op::LoadInputVertex, Attrs::Io(slot))
                if self.s.info.stage.has_vertex_inputs() =>
            {
                self.load_primitive(inst, op, slot, live)
            }
            (
                Op::LoadInput | Op::LoadInputAtSample | Op::LoadInputAtOffset | Op::LoadInputVertex,
                Attrs::Io(slot),
            ) => self.input(inst, slot, live),
            // Pixels have one sample here.
            (Op::LoadOutput | Op::LoadOutputSample, Attrs::Io(slot)) => {
                let group = self.group;
                self.each(live, results[0], |c, l| {
                    let word = group.framebuffer.get(&(slot.loc, slot.component + c as u8));
                    u64::from(word.and_then(|v| v.get(l)).copied().unwrap_or(0))
                });
            }
            (Op::StoreOutput, Attrs::Io(slot)) if self.s.info.stage != Stage::TessControl => {
                self.output(inst, slot, live)
            }
            (Op::StoreOutput | Op::StoreOutputVertex, Attrs::Io(slot)) => {
                self.store_patch(inst, slot, live)
            }
            (op @ (Op::LoadOutputVertex | Op::LoadOutputPatch), Attrs::Io(slot)) => {
                self.load_primitive(inst, op, slot, live)
            }
            (op @ (Op::EmitVertex | Op::EndPrimitive), Attrs::Index(stream)) => {
                self.emit_primitive(op, stream, live)
            }
            (Op::Demote, _) => {
                (0..self.n).filter(|&l| live[l]).for_each(|l| self.helpers[l] = true)
            }
            (Op::DemoteIf, _) => {
                for l in (0..self.n).filter(|&l| live[l]) {
                    self.helpers[l] |= self.get(args[0], 0, l) != 0;
                }
            }
            (Op::IsHelper, _) => {
                for l in (0..self.n).filter(|&l| live[l]) {
                    let h = u64::from(self.helpers[l]);
                    self.set(results[0], 0, l, h);
                }
            }
            (Op::Clock, _) => {
                let t = self.steps;
                self.each(live, results[0], |c, _| if c == 0 { t } else { t >> 32 });
            }
            (_, Attrs::Image(_) | Attrs::ImageAtomic(..)) => self.image(inst, live)?,
            _ => self.cross_lane(inst, live)?,
        }
        Ok(())
    }

    /// Sets every component of `v` in the live lanes.
    pub(super) fn each(&mut self, live: &Mask, v: Value, f: impl Fn(usize, usize) -> u64) {
        for c in 0..self.ty(v).comps() as usize {
            for lane in (0..self.n).filter(|&l| live[l]) {
                self.set(v, c, lane, f(c, lane));
            }
        }
    }

    /// Executes ops by their meaning in the op table.
    fn fold(&mut self, inst: Inst, live: &Mask) {
        let s = self.s;
        let d = &s.insts[inst];
        let (args, results) = (s.args(inst), s.results(inst));
        let tys: Vec<Type> = results.iter().map(|&r| self.ty(r)).collect();
        let arg_tys: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
        let (mut words, mut out) = (Vec::new(), Vec::new());
        let flush = s.info.float.iter().any(|c| c.denorm_flush) && d.op.may_flush();
        let flushed = |ty: Type, v: u64| {
            let on = flush && s.info.float_controls(ty.bits()).is_some_and(|c| c.denorm_flush);
            if on && is_denormal(ty.bits(), v) { v & (1 << (ty.bits() - 1)) } else { v }
        };
        for lane in (0..self.n).filter(|&l| live[l]) {
            words.clear();
            for &a in args {
                for c in 0..self.ty(a).comps() as usize {
                    words.push(flushed(self.ty(a), self.get(a, c, lane)));
                }
            }
            let mut at = 0;
            let parts: Vec<(Type, &[u64])> = arg_tys
                .iter()
                .map(|&t| {
                    let n = t.comps() as usize;
                    at += n;
                    (t, &words[at - n..at])
                })
                .collect();
            out.clear();
            fold(d.op, &parts, &d.attrs, &tys, &mut out);
            let mut from = out.iter();
            for &r in results {
                for c in 0..self.ty(r).comps() as usize {
                    let x = from.next().copied().unwrap_or(0);
                    self.set(r, c, lane, flushed(self.ty(r), x));
                }
            }
        }
    }

    // ---- memory ----

    /// Number of operands before the data.
    pub(super) fn leading(space: Space) -> usize {
        if matches!(space, Space::Buffer | Space::Based) { 2 } else { 1 }
    }

    /// Byte offset (or address) of an access in a lane.
    pub(super) fn offset(&self, inst: Inst, space: Space, mem: Mem, lane: usize) -> i64 {
        let v = self.s.arg(inst, Self::leading(space) - 1);
        let x = self.get(v, 0, lane);
        match space {
            Space::Global => (x as i64).wrapping_add(i64::from(mem.offset)),
            Space::Based => {
                let base = self.get(self.s.arg(inst, 0), 0, lane) as i64;
                let x = if mem.index.signed { i64::from(x as u32 as i32) } else { x as i64 };
                let x = x.wrapping_shl(u32::from(mem.index.shift));
                base.wrapping_add(x).wrapping_add(i64::from(mem.offset))
            }
            // 32-bit offsets wrap, as the hardware's additions do.
            _ => i64::from((x as u32).wrapping_add(mem.offset as u32)),
        }
    }

    /// Calls `f` with the bytes of the space and the offset in them; `None` when there is no such
    /// range.
    fn with_bytes<T>(
        &mut self,
        inst: Inst,
        space: Space,
        lane: usize,
        off: i64,
        len: usize,
        f: impl FnOnce(&mut [u8], i64) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let r = match space {
            Space::Buffer => {
                let slot = self.slot(inst, self.get(self.s.arg(inst, 0), 0, lane))?;
                match self.memory.buffers.get_mut(&slot) {
                    Some(b) => f(b, off),
                    None => {
                        let error = MemoryError::NoBuffer(slot.0, slot.1, slot.2);
                        return Err(Fault::Memory { inst, error });
                    }
                }
            }
            Space::Global | Space::Based => {
                self.memory.range(off as u64, len).and_then(|(b, o)| f(b, o as i64))
            }
            Space::Shared => f(&mut self.shared, off),
            Space::Scratch => f(&mut self.scratch[lane], off),
            Space::Push => f(&mut self.memory.push, off),
            Space::Uniform => f(&mut self.memory.uniforms, off),
            Space::Constant => f(&mut self.data, off),
        };
        if r.is_none() {
            self.memory.out_of_bounds += 1;
        }
        Ok(r)
    }

    fn load(&mut self, inst: Inst, space: Space, mem: Mem, live: &Mask) -> Result<(), Fault> {
        let r = self.s.result(inst);
        let (n, comps) = (self.ty(r).elem_bytes() as usize, self.ty(r).comps() as usize);
        for lane in (0..self.n).filter(|&l| live[l]) {
            let off = self.offset(inst, space, mem, lane);
            for c in 0..comps {
                let x = self
                    .with_bytes(inst, space, lane, off + (c * n) as i64, n, |b, o| read(b, o, n))?;
                self.set(r, c, lane, x.unwrap_or(0));
            }
        }
        Ok(())
    }

    fn store(&mut self, inst: Inst, space: Space, mem: Mem, live: &Mask) -> Result<(), Fault> {
        let v = self.s.arg(inst, Self::leading(space));
        let (n, comps) = (self.ty(v).elem_bytes() as usize, self.ty(v).comps() as usize);
        let private = matches!(space, Space::Scratch);
        // Positions of bytes in the host's memory, and the values stored there.
        let mut places: Vec<(usize, u64)> = Vec::new();
        for lane in (0..self.n).filter(|&l| live[l]) {
            if self.helpers[lane] && !private {
                continue;
            }
            let off = self.offset(inst, space, mem, lane);
            for c in 0..comps {
                let x = self.get(v, c, lane);
                self.with_bytes(inst, space, lane, off + (c * n) as i64, n, |b, o| {
                    let place = (b.as_ptr() as usize).wrapping_add(o as usize);
                    write(b, o, n, x).then(|| places.push((place, x)))
                })?;
            }
        }
        if !private {
            places.sort_unstable();
            let differ = |w: &&[(usize, u64)]| w[0].0 == w[1].0 && w[0].1 != w[1].1;
            self.memory.conflicts += places.windows(2).filter(differ).count() as u64;
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        inst: Inst,
        space: Space,
        op: AtomicOp,
        mem: Mem,
        live: &Mask,
    ) -> Result<(), Fault> {
        let data: Vec<Value> = self.s.args(inst)[Self::leading(space)..].to_vec();
        let r = self.s.result(inst);
        let ty = self.ty(r);
        let n = ty.elem_bytes() as usize;
        for lane in (0..self.n).filter(|&l| live[l]) {
            if self.helpers[lane] {
                self.set(r, 0, lane, 0);
                continue;
            }
            let off = self.offset(inst, space, mem, lane);
            let d: Vec<u64> = data.iter().map(|&v| self.get(v, 0, lane)).collect();
            let old = self.with_bytes(inst, space, lane, off, n, |b, o| {
                let old = read(b, o, n)?;
                write(b, o, n, combine(op, ty, old, &d)).then_some(old)
            })?;
            self.set(r, 0, lane, old.unwrap_or(0));
        }
        Ok(())
    }

    // ---- interface ----

    fn builtin(&mut self, inst: Inst, b: Builtin, live: &Mask) -> Result<(), Fault> {
        let r = self.s.result(inst);
        let group = self.group;
        match (group.builtins.get(&b), b) {
            (Some(v), _) => {
                self.each(live, r, |c, l| v.get(l).and_then(|x| x.get(c)).copied().unwrap_or(0));
            }
            (None, Builtin::SubgroupInvocationId) => {
                self.each(live, r, |_, l| (l % group.subgroup) as u64)
            }
            (None, Builtin::SubgroupSize) => self.each(live, r, |_, _| group.subgroup as u64),
            (None, Builtin::HelperInvocation) => {
                self.each(live, r, |_, l| {
                    u64::from(group.helpers.get(l).copied().unwrap_or(false))
                });
            }
            (None, Builtin::DeviceIndex | Builtin::ViewIndex) => self.each(live, r, |_, _| 0),
            _ => {
                return self
                    .unsupported(inst, format!("built-in {b} without a value from the host"));
            }
        }
        Ok(())
    }

    fn input(&mut self, inst: Inst, slot: IoSlot, live: &Mask) {
        let (r, off) = (self.s.result(inst), self.s.arg(inst, 0));
        for lane in (0..self.n).filter(|&l| live[l]) {
            let o = self.io_offset(off, slot, false, lane);
            self.set_words(r, lane, slot, o, |m, at| {
                m.group.inputs.get(&at).and_then(|v| v.get(lane)).copied()
            });
        }
    }

    fn output(&mut self, inst: Inst, slot: IoSlot, live: &Mask) {
        let (v, off) = (self.s.arg(inst, 0), self.s.arg(inst, 1));
        for lane in (0..self.n).filter(|&l| live[l]) {
            let o = self.io_offset(off, slot, true, lane);
            for ((loc, comp), w) in self.words(v, lane, slot, o) {
                let n = self.n;
                let e =
                    self.outputs.entry((loc, comp, slot.index)).or_insert_with(|| vec![None; n]);
                if !self.helpers[lane] {
                    e[lane] = Some(w);
                }
            }
        }
    }
}
