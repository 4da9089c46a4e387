//! Lowers the side effects of fragment shaders that write memory, or that discard samples after
//! early tests.
//!
//! Helper invocations must not write, so writes are predicated on not being one. (The hardware
//! drops plain stores of helpers by itself, but not in programs that run for each sample, and never
//! atomics. source: Mesa, agx_nir_lower_frag_sidefx.c)
//!
//! With early fragment tests, a demoted invocation keeps its depth and loses only its colours. A
//! variable records the demotion, and the sample mask that selects whose colours are written is
//! empty for such an invocation.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{
    Attrs, Builder, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Props, Region, Sampling,
    Shader, Stage, Type, Value, Var, VarData,
};

/// Runs the pass; variables are left to be promoted.
pub fn run(s: &mut Shader) -> bool {
    if s.info.stage != Stage::Fragment {
        return false;
    }
    let (mut writes, mut demotes) = (false, false);
    s.walk(|s, _, i| {
        writes |= is_write(s.insts[i].op);
        demotes |= matches!(s.insts[i].op, Op::Demote | Op::DemoteIf);
    });
    let demoted = (demotes && s.info.early_tests)
        .then(|| s.vars.push(VarData { ty: Type::B1, len: None, name: String::new() }));
    if !writes && demoted.is_none() {
        return false;
    }
    let mut pass = Effects { demoted, names: SecondaryMap::new() };
    let root = s.root;
    pass.region(s, root);
    if let Some(v) = demoted {
        mask_colours(s, v);
    }
    true
}

/// Whether a shader writes memory that others see.
pub fn writes_memory(s: &Shader) -> bool {
    s.any(|s, _, i| is_write(s.insts[i].op))
}

/// Whether a shader looks at other lanes.
pub(crate) fn reads_lanes(s: &Shader) -> bool {
    s.any(|s, _, i| s.insts[i].op.props().contains(Props::CONVERGENT))
}

fn is_write(op: Op) -> bool {
    matches!(
        op,
        Op::StoreBuffer
            | Op::StoreGlobal
            | Op::StoreOffset
            | Op::AtomicBuffer
            | Op::AtomicGlobal
            | Op::AtomicOffset
            | Op::ImageStore
            | Op::ImageAtomic
    )
}

struct Effects {
    demoted: Option<Var>,
    names: SecondaryMap<Value, PackedOption<Value>>,
}

impl Effects {
    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        for i in insts {
            for k in 0..s.args(i).len() {
                if let Some(new) = self.names[s.arg(i, k)].expand() {
                    s.args_mut(i)[k] = new;
                }
            }
            if !self.inst(s, r, i) {
                s.regions[r].insts.push(i);
                for q in s.inst_regions(i) {
                    self.region(s, q);
                }
            }
        }
    }

    /// Appends the replacement of an instruction; false if it stays.
    fn inst(&mut self, s: &mut Shader, r: Region, i: Inst) -> bool {
        let op = s.insts[i].op;
        let args = s.args(i).to_vec();
        let results = s.results(i).to_vec();
        let loc = s.insts[i].loc;
        let mut b = Builder::at(s, r);
        b.loc = loc;
        match (op, self.demoted) {
            (Op::Demote, Some(v)) => {
                let yes = b.bool(true);
                b.store_var(v, yes, None);
            }
            (Op::DemoteIf, Some(v)) => {
                let before = b.load_var(v, None);
                let now = b.binary(Op::IOr, before, args[0]);
                b.store_var(v, now, None);
            }
            (Op::IsHelper, Some(v)) => {
                let first = b.value(Op::IsHelper, Attrs::None, &[], Type::B1);
                let demoted = b.load_var(v, None);
                let both = b.binary(Op::IOr, first, demoted);
                self.names[results[0]] = both.into();
            }
            (op, demoted) if is_write(op) => {
                let mut helper = b.value(Op::IsHelper, Attrs::None, &[], Type::B1);
                if let Some(v) = demoted {
                    let d = b.load_var(v, None);
                    helper = b.binary(Op::IOr, helper, d);
                }
                let tys: Vec<Type> = results.iter().map(|&v| b.shader.ty(v)).collect();
                let (skip, write) = (b.shader.make_region(), b.shader.make_region());
                let new = b.if_(helper, skip, write, &tys);
                let outer = b.shader.results(new).to_vec();
                let mut b = Builder::at(s, skip);
                let zeros: Vec<Value> = tys.iter().map(|&t| b.splat_bits(t, 0)).collect();
                b.yield_(&zeros);
                s.regions[write].insts.push(i);
                Builder::at(s, write).yield_(&results);
                for (old, new) in results.into_iter().zip(outer) {
                    self.names[old] = new.into();
                }
            }
            _ => return false,
        }
        true
    }
}

/// The variable's start, and its part in the sample mask.
fn mask_colours(s: &mut Shader, demoted: Var) {
    let root = s.root;
    let insts = std::mem::take(&mut s.regions[root].insts);
    let mut b = Builder::at(s, root);
    let no = b.bool(false);
    b.store_var(demoted, no, None);
    let mut mask = None;
    for i in insts {
        let d = &s.insts[i];
        if d.op == Op::Yield {
            let mut b = Builder::at(s, root);
            let all = mask.unwrap_or_else(|| b.u32(0xff));
            let (none, gone) = (b.u32(0), b.load_var(demoted, None));
            let left = b.select(gone, none, all);
            let slot = IoSlot {
                loc: IoLoc::Builtin(Builtin::SampleMask),
                component: 0,
                index: 0,
                kind: NumKind::Uint,
                interp: Interp::Flat,
                sampling: Sampling::Center,
            };
            let zero = b.u32(0);
            b.effect(Op::StoreOutput, Attrs::Io(slot), &[left, zero]);
        } else if let (Op::StoreOutput, Attrs::Io(slot)) = (d.op, d.attrs)
            && slot.loc == IoLoc::Builtin(Builtin::SampleMask)
            && slot.component == 0
        {
            mask = Some(s.arg(i, 0));
            continue;
        }
        s.regions[root].insts.push(i);
    }
}
