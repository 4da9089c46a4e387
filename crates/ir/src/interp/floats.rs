//! Tracks which words of memory hold floats, from the op that computed a value to the bytes that it
//! is stored to.
//!
//! A GPU's special functions may differ from the host's in the last bits, so results of float ops
//! are compared as numbers, and everything else bit for bit. The IR and memory have no float types.
//! A run therefore records for each component of a value in each lane whether a float op computed
//! it, and for each byte of memory whether it belongs to such a component. Ops that move bits
//! propagate the record, all others drop it.
//!
//! A record is the size of the float in bytes, or 0 for other values.

use super::memory::{Memory, Space, at_address};
use super::{Machine, Mask};
use crate::attrs::{AtomicOp, Attrs, Mem, NumKind, ReduceOp};
use crate::entity::{Inst, Value};
use crate::op::{Op, Pat, Props};
use crate::shader::Shader;
use cranelift_entity::EntityRef;

/// The notes of a run.
pub(super) struct Floats {
    /// Laid out as [`Machine::vals`].
    values: Vec<u8>,
    /// Laid out as [`Machine::vars`].
    vars: Vec<Vec<u8>>,
    shared: Vec<u8>,
    scratch: Vec<Vec<u8>>,
}

impl Floats {
    /// The record of a run, if the memory keeps one.
    pub fn new(
        s: &Shader,
        memory: &Memory,
        n: usize,
        values: usize,
        vars: &[Vec<u64>],
    ) -> Option<Box<Floats>> {
        memory.floats.as_ref()?;
        Some(Box::new(Floats {
            values: vec![0; values],
            vars: vars.iter().map(|v| vec![0; v.len()]).collect(),
            shared: vec![0; s.info.shared_bytes as usize],
            scratch: vec![vec![0; s.info.scratch_bytes as usize]; n],
        }))
    }
}

/// Whether an op computes floats, and does not only move their bits.
fn makes_floats(op: Op, attrs: &Attrs) -> bool {
    let info = op.info();
    match (op, attrs) {
        (Op::TexQueryLod, _) => true,
        (Op::ImageSize | Op::TexLevels | Op::ImageSamples, _) => false,
        (_, Attrs::Image(i)) => i.kind == NumKind::Float,
        (_, Attrs::Reduce(r)) => {
            matches!(r.op, ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax)
        }
        (Op::FFrexpExp, _) => false,
        _ => {
            info.results.iter().any(|p| matches!(p, Pat::F | Pat::UF | Pat::SF))
                || info.props.contains(Props::FLOAT)
        }
    }
}

impl Machine<'_> {
    fn index(&self, v: Value, comp: usize, lane: usize) -> usize {
        (self.at[v] as usize + comp) * self.n + lane
    }

    /// [`Machine::copy`] for the notes.
    pub(super) fn copy_notes(&mut self, from: &[Value], to: &[Value], m: &Mask) {
        let Some(mut notes) = self.floats.take() else { return };
        let mut old = Vec::new();
        for &f in from {
            for c in 0..self.ty(f).comps() as usize {
                old.extend((0..self.n).map(|l| notes.values[self.index(f, c, l)]));
            }
        }
        let mut words = old.chunks_exact(self.n.max(1));
        for &t in to {
            for (c, w) in (0..self.ty(t).comps() as usize).zip(&mut words) {
                for lane in (0..self.n).filter(|&l| m[l]) {
                    notes.values[self.index(t, c, lane)] = w[lane];
                }
            }
        }
        self.floats = Some(notes);
    }

    /// Notes what an instruction that has just run made.
    pub(super) fn note_floats(&mut self, inst: Inst, live: &Mask) {
        let Some(mut notes) = self.floats.take() else { return };
        for lane in (0..self.n).filter(|&l| live[l]) {
            self.note_lane(&mut notes, inst, lane, live);
        }
        self.floats = Some(notes);
    }

    fn note_lane(&mut self, notes: &mut Floats, inst: Inst, lane: usize, live: &Mask) {
        let s = self.s;
        let d = &s.insts[inst];
        let (args, results) = (s.args(inst), s.results(inst));
        if let (Some(space), Attrs::Mem(m) | Attrs::Atomic(_, m)) = (Space::of(d.op), d.attrs) {
            return self.note_access(notes, inst, space, m, lane);
        }
        let of = |notes: &Floats, v: Value, c: usize| notes.values[self.index(v, c, lane)];
        if let Attrs::Var(var) = d.attrs {
            let v = &s.vars[var];
            let (comps, len) = (v.ty.comps() as usize, u64::from(v.len.unwrap_or(1)));
            let store = d.op == Op::StoreVar;
            let at = args.get(usize::from(store)).map_or(0, |&i| self.get(i, 0, lane));
            let first = at.min(len.saturating_sub(1)) as usize * comps;
            for c in 0..comps {
                let place = (first + c) * self.n + lane;
                if store {
                    notes.vars[var.index()][place] = of(notes, args[0], c);
                } else {
                    let to = self.index(results[0], c, lane);
                    notes.values[to] = notes.vars[var.index()][place];
                }
            }
            return;
        }
        for &r in results {
            let ty = s.ty(r);
            for c in 0..ty.comps() as usize {
                let note = match (d.op, &d.attrs) {
                    (Op::Copy, _) => of(notes, args[0], c),
                    (Op::Select, _) => {
                        let which = self.get(args[0], c.min(self.comps(args[0]) - 1), lane);
                        of(notes, args[if which != 0 { 1 } else { 2 }], c)
                    }
                    (Op::Vec, _) => of(notes, args[c], 0),
                    (Op::Extract, Attrs::Index(i)) => of(notes, args[0], *i as usize),
                    (Op::ExtractDyn, _) => {
                        let at = self.get(args[1], 0, lane) as usize;
                        if at < self.comps(args[0]) { of(notes, args[0], at) } else { 0 }
                    }
                    (Op::InsertDyn, _) if self.get(args[2], 0, lane) == c as u64 => {
                        of(notes, args[1], 0)
                    }
                    (Op::InsertDyn, _) => of(notes, args[0], c),
                    (Op::Bitcast, _) => {
                        let from = s.ty(args[0]).bits().max(1);
                        of(notes, args[0], c * usize::from(ty.bits()) / usize::from(from))
                    }
                    // Two halves in a word.
                    (Op::PackHalf2x16, _) => 2,
                    (
                        Op::PackSnorm2x16 | Op::PackUnorm2x16 | Op::PackSnorm4x8 | Op::PackUnorm4x8,
                        _,
                    ) => 0,
                    // The last component is the residency code.
                    (_, Attrs::Image(i)) if i.residency && c + 1 == ty.comps() as usize => 0,
                    (op, attrs) if makes_floats(op, attrs) => ty.bits() / 8,
                    // Values that pass between lanes.
                    (op, _)
                        if op.info().results == [Pat::T]
                            && op.props().contains(Props::CONVERGENT) =>
                    {
                        let all = (0..self.n).filter(|&l| live[l]);
                        all.map(|l| notes.values[self.index(args[0], c, l)]).max().unwrap_or(0)
                    }
                    _ => 0,
                };
                let to = self.index(r, c, lane);
                notes.values[to] = note;
            }
        }
    }

    fn comps(&self, v: Value) -> usize {
        self.ty(v).comps() as usize
    }

    /// The notes of `len` bytes of memory.
    fn bytes<'n>(
        &'n mut self,
        notes: &'n mut Floats,
        inst: Inst,
        space: Space,
        lane: usize,
        off: i64,
        len: usize,
    ) -> Option<&'n mut [u8]> {
        let (list, at) = match space {
            Space::Shared => (&mut notes.shared, u64::try_from(off).ok()?),
            Space::Scratch => (&mut notes.scratch[lane], u64::try_from(off).ok()?),
            Space::Push | Space::Uniform | Space::Constant => return None,
            Space::Buffer | Space::Global | Space::Based => {
                let (slot, at) = match space {
                    Space::Buffer => {
                        let handle = self.get(self.s.arg(inst, 0), 0, lane);
                        (self.slot(inst, handle).ok()?, u64::try_from(off).ok()?)
                    }
                    _ => at_address(off as u64)?,
                };
                let size = self.memory.buffers.get(&slot)?.len();
                let all = &mut self.memory.floats.as_mut()?.buffers;
                (all.entry(slot).or_insert_with(|| vec![0; size]), at)
            }
        };
        let at = usize::try_from(at).ok()?;
        list.get_mut(at..at.checked_add(len)?)
    }

    fn note_access(&mut self, notes: &mut Floats, inst: Inst, space: Space, m: Mem, lane: usize) {
        let s = self.s;
        let d = &s.insts[inst];
        let result = s.results(inst).first().copied();
        let leading = Machine::leading(space);
        let off = self.offset(inst, space, m, lane);
        if let Attrs::Atomic(op, _) = d.attrs {
            let (Some(r), Some(&data)) = (result, s.args(inst).get(leading)) else { return };
            if self.helpers[lane] {
                return;
            }
            let size = s.ty(r).elem_bytes() as usize;
            let moved = |v: Value| notes.values[self.index(v, 0, lane)];
            let new = match op {
                AtomicOp::FAdd | AtomicOp::FMin | AtomicOp::FMax => Some(size as u8),
                AtomicOp::Xchg => Some(moved(data)),
                // Only some lanes' values are stored: they count as floats if the new value may be one.
                AtomicOp::CmpXchg => {
                    s.args(inst).get(leading + 1).map(|&v| moved(v)).filter(|&n| n != 0)
                }
                _ => Some(0),
            };
            let Some(bytes) = self.bytes(notes, inst, space, lane, off, size) else { return };
            let old = bytes.first().copied().unwrap_or(0);
            if let Some(new) = new {
                bytes.fill(new);
            }
            let to = self.index(r, 0, lane);
            notes.values[to] = old;
            return;
        }
        let store = result.is_none();
        let v = result.unwrap_or_else(|| s.arg(inst, leading));
        if store && self.helpers[lane] && space != Space::Scratch {
            return;
        }
        let size = s.ty(v).elem_bytes() as usize;
        for c in 0..self.comps(v) {
            let at = self.index(v, c, lane);
            let note = notes.values[at];
            let old = match self.bytes(notes, inst, space, lane, off + (c * size) as i64, size) {
                Some(bytes) if store => {
                    bytes.fill(note);
                    continue;
                }
                Some(bytes) => bytes.first().copied().unwrap_or(0),
                None => 0,
            };
            if !store {
                notes.values[at] = old;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interp::{Group, Memory, run};

    /// Words that a float op made stay floats through selects, loops, variables, vectors, shared
    /// memory and lanes.
    #[test]
    fn floats_are_followed_to_memory() {
        let text = "shader compute \"main\" {
          workgroup_size 4 1 1
          shared_bytes 64
          resource storage_buffer set 0 binding 0 count 1 2d float \"\"
          var b32 \"x\"
          body {
            %0:b32 = const[0x0]
            %1:b32 = const[0x3f800000]
            %2:b64 = descriptor[@r0] %0
            %3:b32 = load_builtin[local_invocation_index]
            %4:b32 = u2f %3
            %5:b32 = fadd %4, %1
            store_buffer[align 4 offset 0] %2, %0, %5
            store_buffer[align 4 offset 4] %2, %0, %3
            store_var[$v0] %5
            %6:b32 = load_var[$v0]
            store_shared[align 4] %0, %6
            %7:b32 = load_shared[align 4] %0
            %8:b32x2 = vec %3, %7
            store_buffer[align 4 offset 8] %2, %0, %8
            %9:b32 = iadd %5, %3
            store_buffer[align 4 offset 16] %2, %0, %9
            %10:b32 = shuffle_xor %5, %1
            store_buffer[align 4 offset 20] %2, %0, %10
            %11:b32 = loop (%12:b32 = %5, %13:b32 = %0) {
              %14:b1 = ult %13, %3
              if %14 {
                yield
              } else {
                break %12
              }
              %15:b32 = iadd %13, %1
              continue %12, %15
            }
            store_buffer[align 4 offset 24] %2, %0, %11
            %16:b16 = f2f %5
            store_buffer[align 2 offset 30] %2, %0, %16
            store_buffer[align 4 offset 32] %2, %0, %5
            store_buffer[align 4 offset 32] %2, %0, %3
            %17:b32 = load_buffer[align 4 offset 24] %2, %0
            store_buffer[align 4 offset 36] %2, %0, %17
            yield
          }
        }";
        let s = crate::parse(text).unwrap_or_else(|e| panic!("{e}"));
        crate::validate(&s).unwrap_or_else(|e| panic!("{e}"));
        let mut m = Memory { floats: Some(Default::default()), ..Memory::default() };
        m.set_words(0, 0, &[0; 10]);
        run(&s, &Group::workgroup(&s, [0; 3], [1; 3]), &mut m, 1000)
            .unwrap_or_else(|e| panic!("{e}"));
        let floats = m.floats.expect("asked for");
        let sizes: Vec<u8> = (0..20).map(|k| floats.size_at((0, 0, 0), 2 * k)).collect();
        assert_eq!(sizes, [4, 4, 0, 0, 0, 0, 4, 4, 0, 0, 4, 4, 4, 4, 0, 2, 0, 0, 4, 4]);
    }
}
