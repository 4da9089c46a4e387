//! Work that is the same for all threads runs once, in a preamble, and leaves its results in uniform registers.
//!
//! A value is the same for all threads when it depends on constants, push constants, descriptors, the size of the dispatch and read-only
//! memory at such addresses only. Of those, the ones that the main shader uses and that would cost it an instruction are
//! computed by the preamble. What costs nothing where it is used (signs, comparisons in branches and selects, narrowing) stays
//! with its user.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Builtin, Inst, Op, Region, Shader, Type, Value};

/// What moves to the preamble.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Instructions of the preamble, in order.
    pub insts: Vec<Inst>,
    /// Values that the main shader finds in uniforms.
    pub results: Vec<Value>,
}

/// Most half-uniforms for results.
const MAX_HALVES: u32 = 192;

#[derive(Clone, Copy, PartialEq, Default)]
enum Kind {
    /// Differs between threads, or is not known not to.
    #[default]
    Varying,
    /// The same for all, and free where it is used.
    Free,
    /// The same for all, and costs an instruction.
    Work,
}

/// Half-uniforms of a value.
fn halves(ty: Type) -> u32 {
    u32::from(ty.bits()).div_ceil(16)
}

fn kind(s: &Shader, i: Inst, kinds: &SecondaryMap<Value, Kind>, top: bool) -> Kind {
    let d = &s.insts[i];
    let [r] = s.results(i) else { return Kind::Varying };
    if s.args(i).iter().any(|&a| kinds[a] == Kind::Varying) {
        return Kind::Varying;
    }
    let ty = s.ty(*r);
    match (d.op, d.attrs) {
        (Op::Const | Op::Undef | Op::Descriptor | Op::LoadPush | Op::LoadUniform, _) => Kind::Free,
        (Op::BufferAddress | Op::BufferSize, _) => {
            // A descriptor that is chosen by a number needs a load.
            let known = s.def_inst(s.arg(i, 0)).is_some_and(|d| {
                s.insts[d].op == Op::Descriptor && s.as_const(s.arg(d, 0)).is_some()
            });
            if known { Kind::Free } else { Kind::Varying }
        }
        (Op::LoadBuiltin, Attrs::Builtin(b)) => match b {
            Builtin::NumWorkgroups
            | Builtin::WorkgroupSize
            | Builtin::NumSubgroups
            | Builtin::SubgroupSize => Kind::Free,
            _ => Kind::Varying,
        },
        (Op::LoadGlobal | Op::LoadBuffer, Attrs::Mem(m))
            if top && m.access.contains(Access::CONST) && !m.access.contains(Access::VOLATILE) =>
        {
            Kind::Work
        }
        (op, _) if !op.is_pure() || op.props().contains(tepui_ir::Props::CONVERGENT) => {
            Kind::Varying
        }
        (Op::Vec | Op::Extract | Op::Copy | Op::FNeg | Op::FAbs | Op::INot, _) => Kind::Free,
        (
            Op::IEq
            | Op::INe
            | Op::SLt
            | Op::SGe
            | Op::ULt
            | Op::UGe
            | Op::FEq
            | Op::FNeu
            | Op::FLt
            | Op::FGe,
            _,
        ) => Kind::Free,
        (Op::U2U | Op::S2S, _) if s.ty(s.arg(i, 0)).bits() >= ty.bits() => Kind::Free,
        // Small constants in 8 bits have garbage above; whole vectors are taken apart.
        (op, _) if op.is_elementwise() && ty.is_scalar() && ty.bits() != 8 => Kind::Work,
        _ => Kind::Varying,
    }
}

/// Plans a preamble.
#[must_use]
pub fn plan(s: &Shader) -> Plan {
    let mut kinds: SecondaryMap<Value, Kind> = SecondaryMap::with_capacity(s.values.len());
    let mut order: Vec<(Inst, bool)> = Vec::new();
    walk(s, s.root, true, &mut |i, top| {
        let k = kind(s, i, &kinds, top);
        for &r in s.results(i) {
            kinds[r] = k;
        }
        order.push((i, top));
    });
    // From uses to definitions: what the main shader needs.
    let mut needed: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(s.values.len());
    let mut results = Vec::new();
    let mut room = MAX_HALVES;
    for &(i, _) in order.iter().rev() {
        let k = match s.results(i) {
            [r] => kinds[*r],
            _ => Kind::Varying,
        };
        let own = s.results(i).first().is_some_and(|&r| needed[r]);
        let takes = match k {
            Kind::Varying => true,
            Kind::Free => own,
            Kind::Work => {
                let r = s.result(i);
                let h = halves(s.ty(r));
                let scalar = s.ty(r).is_scalar();
                if own && scalar && h <= room {
                    room -= h;
                    results.push(r);
                    false
                } else {
                    own
                }
            }
        };
        if takes {
            for &a in s.args(i) {
                needed[a] = true;
            }
        }
    }
    if results.is_empty() {
        return Plan::default();
    }
    results.reverse();
    // What the results need, in program order.
    let mut inside: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(s.values.len());
    for &r in &results {
        inside[r] = true;
    }
    let mut insts = Vec::new();
    for &(i, _) in order.iter().rev() {
        if s.results(i).iter().any(|&r| inside[r]) {
            for &a in s.args(i) {
                inside[a] = true;
            }
            insts.push(i);
        }
    }
    insts.reverse();
    Plan { insts, results }
}

fn walk(s: &Shader, r: Region, top: bool, f: &mut impl FnMut(Inst, bool)) {
    for &i in &s.regions[r].insts {
        // Regions first: their uses come before those behind them only in text, but results of `if` and `loop` are defined here.
        f(i, top);
        for q in s.inst_regions(i) {
            walk(s, q, false, f);
        }
    }
}
