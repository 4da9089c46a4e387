//! Moves computations that are uniform over all threads to a preamble, which runs once and stores
//! its results in uniform registers.
//!
//! A value is uniform if it depends only on constants, push constants, descriptors, the size of the
//! dispatch and read-only memory at uniform addresses. Of the uniform values, the preamble computes
//! those that the main shader uses and that would cost it an instruction. Operations that are free
//! at their use (negation, comparisons in branches and selects, narrowing) stay there.

use crate::uniformity::{is_always_there, is_uniform_builtin};
use rustc_hash::FxHashSet;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Access, Attrs, Inst, Op, Props, Region, Shader, Type, Value};

/// The instructions that move to the preamble.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Instructions of the preamble, in order.
    pub insts: Vec<Inst>,
    /// Values that the main shader finds in uniforms.
    pub results: Vec<Value>,
}

/// Costs and limits of a target's preambles.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Maximum number of 16-bit uniform registers for results.
    pub max_halves: u32,
    /// Cost of a load in moves to registers; its wait is shared.
    pub load: u32,
    /// Cost of a texture sample, which needs its coordinates in registers and takes longer.
    pub sample: u32,
    /// Whether the driver presets the result of a load in uniform registers.
    pub is_preset: fn(&Shader, Inst) -> bool,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { max_halves: 192, load: 1, sample: 4, is_preset: |_, _| false }
    }
}

#[derive(Clone, Copy, PartialEq, Default)]
enum Kind {
    /// Differs between threads, or is not known not to.
    #[default]
    Varying,
    /// Uniform, and free where it is used.
    Free,
    /// Uniform, and costs an instruction.
    Work,
}

/// Half-uniforms of a value.
fn halves(ty: Type) -> u32 {
    u32::from(ty.bits()).div_ceil(16) * u32::from(ty.comps())
}

/// A load from a descriptor, which is always there: it may run where the shader would not come to
/// it.
fn from_descriptor(s: &Shader, i: Inst) -> bool {
    s.def_op(s.arg(i, 0)) == Some(Op::DescriptorAddress)
}

fn kind(s: &Shader, i: Inst, kinds: &SecondaryMap<Value, Kind>, top: bool, costs: &Costs) -> Kind {
    let d = &s.insts[i];
    let [r] = s.results(i) else { return Kind::Varying };
    if s.args(i).iter().any(|&a| kinds[a] == Kind::Varying) {
        return Kind::Varying;
    }
    let ty = s.ty(*r);
    match (d.op, d.attrs) {
        (Op::Const | Op::Undef | Op::Descriptor | Op::LoadPush | Op::LoadUniform, _) => Kind::Free,
        (Op::BufferAddress | Op::BufferSize | Op::DescriptorAddress, _) => {
            // A descriptor that is chosen by a number needs a load.
            let known = s.def_inst(s.arg(i, 0)).is_some_and(|d| {
                s.insts[d].op == Op::Descriptor && s.as_const(s.arg(d, 0)).is_some()
            });
            if known { Kind::Free } else { Kind::Varying }
        }
        (Op::LoadBuiltin, Attrs::Builtin(b)) if is_uniform_builtin(b) => Kind::Free,
        (Op::LoadConstant, _) => Kind::Work,
        (Op::LoadGlobal, _) if (costs.is_preset)(s, i) => Kind::Free,
        (Op::LoadGlobal | Op::LoadBuffer, Attrs::Mem(m))
            if (top || from_descriptor(s, i) || is_always_there(s, i))
                && m.access.contains(Access::CONST)
                && !m.access.contains(Access::VOLATILE) =>
        {
            Kind::Work
        }
        // Without derivatives one lane gets what all get. Only where every thread would look:
        // elsewhere nothing may be bound.
        (Op::TexSampleLod | Op::TexGather | Op::TexFetch, _) if top => Kind::Work,
        (op, _) if !op.is_pure() || op.props().contains(Props::CONVERGENT) => Kind::Varying,
        // A pair of words has to be made one of registers, and an address wants a pair of uniforms.
        (Op::Bitcast, _) if ty == Type::B64 && !s.ty(s.arg(i, 0)).is_scalar() => Kind::Work,
        (Op::Vec | Op::Extract | Op::Copy | Op::Bitcast | Op::FNeg | Op::FAbs | Op::INot, _) => {
            Kind::Free
        }
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

/// For each value, the number of its components that some user needs in registers: not arithmetic,
/// which takes uniforms directly.
fn moves(s: &Shader, order: &[Place]) -> SecondaryMap<Value, u32> {
    let mut moves: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(s.values.len());
    // Users come after definitions, so the uses of a vector are known before its components are
    // visited.
    for i in order.iter().rev().map(|place| place.inst) {
        let op = s.insts[i].op;
        match op {
            Op::Extract => {
                let (r, v) = (s.result(i), s.arg(i, 0));
                moves[v] += moves[r].min(1);
            }
            Op::Vec | Op::Copy => {
                let wanted = moves[s.result(i)] > 0;
                for &a in s.args(i) {
                    moves[a] += u32::from(wanted);
                }
            }
            op if op.is_elementwise() => {}
            _ => {
                for &a in s.args(i) {
                    moves[a] += u32::from(s.ty(a).comps());
                }
            }
        }
    }
    moves
}

/// An instruction of the shader.
#[derive(Clone, Copy)]
struct Place {
    inst: Inst,
    /// Every thread comes to it, once.
    top: bool,
    /// Whether it is inside of an `if`.
    conditional: bool,
}

/// The kind of each value, and the instructions in program order.
fn kinds(s: &Shader, costs: &Costs) -> (SecondaryMap<Value, Kind>, Vec<Place>) {
    let mut kinds: SecondaryMap<Value, Kind> = SecondaryMap::with_capacity(s.values.len());
    let mut order: Vec<Place> = Vec::new();
    walk(s, s.root, (true, false), &mut |place| {
        let k = kind(s, place.inst, &kinds, place.top, costs);
        for &r in s.results(place.inst) {
            kinds[r] = k;
        }
        order.push(place);
    });
    (kinds, order)
}

/// The values that are the same for all threads.
#[must_use]
pub fn uniform(s: &Shader, costs: &Costs) -> FxHashSet<Value> {
    let (kinds, order) = kinds(s, costs);
    let results = order.iter().flat_map(|place| s.results(place.inst)).copied();
    results.filter(|&r| kinds[r] != Kind::Varying).collect()
}

/// Plans a preamble.
#[must_use]
pub fn plan(s: &Shader, costs: &Costs) -> Plan {
    let (kinds, order) = kinds(s, costs);
    let moves = moves(s, &order);
    let mut chosen: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(s.values.len());
    let mut room = costs.max_halves;
    // Values inside of an `if` get the remaining uniforms: threads may never execute it.
    choose(s, &order, (&kinds, &moves, costs), true, &mut room, &mut chosen);
    let needed = choose(s, &order, (&kinds, &moves, costs), false, &mut room, &mut chosen);
    let results = order.iter().flat_map(|place| s.results(place.inst)).copied();
    let results: Vec<Value> = results.filter(|&r| chosen[r] && needed[r]).collect();
    if results.is_empty() {
        return Plan::default();
    }
    // The instructions that the results depend on, in program order.
    let mut inside: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(s.values.len());
    for &r in &results {
        inside[r] = true;
    }
    let mut insts = Vec::new();
    for i in order.iter().rev().map(|place| place.inst) {
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

/// Chooses values of the preamble from uses to definitions, as far as there is room, and returns what the main shader needs. With
/// `first`, only those outside of any `if` are chosen, as if there were room for the others.
fn choose(
    s: &Shader,
    order: &[Place],
    (kinds, moves, costs): (&SecondaryMap<Value, Kind>, &SecondaryMap<Value, u32>, &Costs),
    first: bool,
    room: &mut u32,
    chosen: &mut SecondaryMap<Value, bool>,
) -> SecondaryMap<Value, bool> {
    let mut needed: SecondaryMap<Value, bool> = SecondaryMap::with_capacity(s.values.len());
    for &Place { inst: i, conditional, .. } in order.iter().rev() {
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
                // A vector that is wanted in registers is loaded for less than it is moved there.
                let spared = if matches!(s.insts[i].attrs, Attrs::Image(_)) {
                    costs.sample
                } else {
                    costs.load
                };
                let dear = !s.ty(r).is_scalar() && moves[r] > spared;
                let waits = first && conditional;
                if own && !dear && !waits && !chosen[r] && h <= *room {
                    *room -= h;
                    chosen[r] = true;
                }
                own && !chosen[r] && (dear || !waits)
            }
        };
        if takes {
            for &a in s.args(i) {
                needed[a] = true;
            }
        }
    }
    needed
}

fn walk(s: &Shader, r: Region, (top, conditional): (bool, bool), f: &mut impl FnMut(Place)) {
    for &inst in &s.regions[r].insts {
        // The instruction before its regions: the regions' uses precede those after them only in text,
        // but results of `if` and `loop` are defined here.
        f(Place { inst, top, conditional });
        let conditional = conditional || s.insts[inst].op == Op::If;
        for q in s.inst_regions(inst) {
            walk(s, q, (false, conditional), f);
        }
    }
}
