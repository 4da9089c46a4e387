//! Discards in fragment shaders.
//!
//! The hardware's discard ends the thread. Where other lanes may still look at it — for derivatives and levels of detail, and in
//! subgroup operations — the thread goes on: a variable records the discard, memory is no longer written, and the sample mask is
//! empty in the end.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{
    Attrs, Builder, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Props, Region, Sampling,
    Shader, Stage, Type, Value, Var, VarData,
};

/// Whether an operation writes memory that others see.
fn writes(op: Op) -> bool {
    use Op::{AtomicBuffer, AtomicGlobal, ImageAtomic, ImageStore, StoreBuffer, StoreGlobal};
    matches!(op, AtomicBuffer | AtomicGlobal | ImageAtomic | ImageStore | StoreBuffer | StoreGlobal)
}

/// Whether a shader writes memory that others see.
pub(crate) fn has_side_effects(s: &Shader) -> bool {
    s.any(|s, _, i| writes(s.insts[i].op))
}

/// Whether lanes look at each other, so that those without a fragment must be there.
pub(crate) fn needs_helpers(s: &Shader) -> bool {
    s.any(|s, _, i| {
        let op = s.insts[i].op;
        op.props().contains(Props::CONVERGENT) && op != Op::Barrier
    })
}

/// Whether a shader discards.
pub(crate) fn discards(s: &Shader) -> bool {
    s.any(|s, _, i| matches!(s.insts[i].op, Op::Demote | Op::DemoteIf))
}

/// Runs the pass; variables are left to be promoted.
pub(crate) fn run(s: &mut Shader) -> bool {
    let asks = s.any(|s, _, i| s.insts[i].op == Op::IsHelper);
    if s.info.stage != Stage::Fragment || !discards(s) || !(asks || needs_helpers(s)) {
        return false;
    }
    let demoted = s.vars.push(VarData { ty: Type::B1, len: None, name: String::new() });
    let mut pass = Effects { demoted, names: SecondaryMap::new() };
    let root = s.root;
    pass.region(s, root);
    mask_samples(s, demoted);
    true
}

struct Effects {
    demoted: Var,
    names: SecondaryMap<Value, PackedOption<Value>>,
}

impl Effects {
    fn region(&mut self, s: &mut Shader, r: Region) {
        for i in std::mem::take(&mut s.regions[r].insts) {
            for k in 0..s.args(i).len() {
                if let Some(new) = self.names[s.arg(i, k)].expand() {
                    s.args_mut(i)[k] = new;
                }
            }
            if self.inst(s, r, i) {
                continue;
            }
            s.regions[r].insts.push(i);
            for inner in s.inst_regions(i) {
                self.region(s, inner);
            }
        }
    }

    /// Appends the replacement of an instruction; false if it stays.
    fn inst(&mut self, s: &mut Shader, r: Region, i: Inst) -> bool {
        let (op, loc) = (s.insts[i].op, s.insts[i].loc);
        let (args, results) = (s.args(i).to_vec(), s.results(i).to_vec());
        let mut b = Builder::at(s, r);
        b.loc = loc;
        match op {
            Op::Demote => {
                let yes = b.bool(true);
                b.store_var(self.demoted, yes, None);
            }
            Op::DemoteIf => {
                let before = b.load_var(self.demoted, None);
                let now = b.binary(Op::IOr, before, args[0]);
                b.store_var(self.demoted, now, None);
            }
            Op::IsHelper => {
                let first = Attrs::Builtin(Builtin::HelperInvocation);
                let first = b.value(Op::LoadBuiltin, first, &[], Type::B1);
                let demoted = b.load_var(self.demoted, None);
                self.names[results[0]] = b.binary(Op::IOr, first, demoted).into();
            }
            op if writes(op) => {
                let demoted = b.load_var(self.demoted, None);
                let tys: Vec<Type> = results.iter().map(|&v| b.shader.ty(v)).collect();
                let (skip, write) = (b.shader.make_region(), b.shader.make_region());
                let branch = b.if_(demoted, skip, write, &tys);
                let outer = b.shader.results(branch).to_vec();
                let mut b = Builder::at(s, skip);
                let zeros: Vec<Value> = tys.iter().map(|&ty| b.splat_bits(ty, 0)).collect();
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

/// Begins with no discard, and ends with an empty sample mask where there was one.
fn mask_samples(s: &mut Shader, demoted: Var) {
    let slot = IoSlot {
        loc: IoLoc::Builtin(Builtin::SampleMask),
        component: 0,
        index: 0,
        kind: NumKind::Uint,
        interp: Interp::Flat,
        sampling: Sampling::Center,
    };
    let root = s.root;
    let insts = std::mem::take(&mut s.regions[root].insts);
    let mut b = Builder::at(s, root);
    let no = b.bool(false);
    b.store_var(demoted, no, None);
    let mut mask = None;
    for i in insts {
        let (op, attrs) = (s.insts[i].op, s.insts[i].attrs);
        match (op, attrs) {
            (Op::StoreOutput, Attrs::Io(own)) if own.loc == slot.loc && own.component == 0 => {
                mask = Some(s.arg(i, 0));
                continue;
            }
            (Op::Yield, _) => {
                let mut b = Builder::at(s, root);
                let all = mask.unwrap_or_else(|| b.u32(0xffff));
                let (none, gone) = (b.u32(0), b.load_var(demoted, None));
                let left = b.select(gone, none, all);
                let zero = b.u32(0);
                b.effect(Op::StoreOutput, Attrs::Io(slot), &[left, zero]);
            }
            _ => {}
        }
        s.regions[root].insts.push(i);
    }
}
