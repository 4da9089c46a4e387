//! Writes and discards of fragment shaders where invocations go on after a discard.
//!
//! Helper invocations must not write memory, nor must those that were discarded. Where the hardware does not see to it, a write is
//! put into a branch. A variable records the discard, and the sample mask of a discarded invocation is empty in the end.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{
    Attrs, Builder, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Props, Region, Sampling,
    Shader, Stage, Type, Value, Var, VarData,
};

/// The parts of the pass that a GPU needs for a shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Discards are recorded; else they stay as they are.
    pub records_discards: bool,
    /// Writes of helper invocations are left out; else the hardware does that.
    pub guards_helpers: bool,
    /// The sample mask of an invocation that writes none.
    pub all_samples: u32,
}

impl Options {
    /// All parts.
    #[must_use]
    pub const fn all() -> Options {
        Options { records_discards: true, guards_helpers: true, all_samples: 0xffff }
    }
}

/// Whether an operation writes memory that others see.
#[must_use]
pub const fn is_write(op: Op) -> bool {
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

/// Whether a shader writes memory that others see.
#[must_use]
pub fn writes_memory(s: &Shader) -> bool {
    s.any(|s, _, i| is_write(s.insts[i].op))
}

/// Whether a shader shows which invocations run: it writes memory that others see, or asks other lanes. Vertex shaders that do may not run
/// for vertices that no draw has.
#[must_use]
pub fn shows_invocations(s: &Shader) -> bool {
    let asks_lanes = |s: &Shader, i: Inst| {
        let d = &s.insts[i];
        d.op.info().props.contains(Props::CONVERGENT) && !matches!(d.attrs, Attrs::Image(_))
    };
    writes_memory(s) || s.any(|s, _, i| asks_lanes(s, i))
}

/// Whether a shader discards.
#[must_use]
pub fn discards(s: &Shader) -> bool {
    s.any(|s, _, i| matches!(s.insts[i].op, Op::Demote | Op::DemoteIf))
}

/// Runs the pass; variables are left to be promoted.
pub fn run(s: &mut Shader, options: Options) -> bool {
    if s.info.stage != Stage::Fragment {
        return false;
    }
    let demoted = (options.records_discards && discards(s))
        .then(|| s.vars.push(VarData { ty: Type::B1, len: None, name: String::new() }));
    if demoted.is_none() && !(options.guards_helpers && writes_memory(s)) {
        return false;
    }
    let mut pass = SideEffects { options, demoted, names: SecondaryMap::new() };
    let root = s.root;
    pass.region(s, root);
    if let Some(v) = demoted {
        mask_samples(s, v, options.all_samples);
    }
    true
}

struct SideEffects {
    options: Options,
    demoted: Option<Var>,
    names: SecondaryMap<Value, PackedOption<Value>>,
}

impl SideEffects {
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
                self.names[results[0]] = b.binary(Op::IOr, first, demoted).into();
            }
            (op, demoted) if is_write(op) => {
                let helper = self
                    .options
                    .guards_helpers
                    .then(|| b.value(Op::IsHelper, Attrs::None, &[], Type::B1));
                let demoted = demoted.map(|v| b.load_var(v, None));
                let is_off = match (helper, demoted) {
                    (Some(helper), Some(demoted)) => b.binary(Op::IOr, helper, demoted),
                    (Some(one), None) | (None, Some(one)) => one,
                    (None, None) => return false,
                };
                let tys: Vec<Type> = results.iter().map(|&v| b.shader.ty(v)).collect();
                let (skip, write) = (b.shader.make_region(), b.shader.make_region());
                let branch = b.if_(is_off, skip, write, &tys);
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
fn mask_samples(s: &mut Shader, demoted: Var, all_samples: u32) {
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
                let all = mask.unwrap_or_else(|| b.u32(all_samples));
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
