//! Joins branches on a condition that is the same for all threads.
//!
//! Several samples of one texture each jump over what the hardware's samplers lack, and each jump takes three instructions
//! even where there is nothing to do. Here one branch takes over the others, with what is between them: each of its arms
//! has a copy in which the condition is known.

use crate::clone;
use crate::edit::Renames;
use rustc_hash::{FxHashMap, FxHashSet};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Inst, Op, Props, Region, Shader, Type, Value};

use crate::preamble::{self, Costs};

/// Minimum number of branches that are joined: one costs as much as the branch that takes their place.
const MIN_BRANCHES: usize = 3;
/// Maximum number of copied instructions.
const MAX_COPIED: usize = 2000;

/// Runs the pass; true when it joined any.
pub fn run(s: &mut Shader, costs: &Costs) -> bool {
    let Some((condition, first, last)) = branches(s) else { return false };
    let uniform = preamble::uniform(s, costs);
    if !uniform.contains(&condition) {
        return false;
    }
    let insts = s.regions[s.root].insts.clone();
    // Values that are uniform over all threads stay in front, where the preamble can take them.
    let stays = |i: Inst| {
        let results = s.results(i);
        s.inst_regions(i).next().is_none()
            && !results.is_empty()
            && results.iter().all(|v| uniform.contains(v))
    };
    let (ahead, mut inside): (Vec<Inst>, Vec<Inst>) =
        insts[first..=last].iter().partition(|&&i| stays(i));
    let before = take_along(s, &insts[..first], &mut inside, &stays);
    let behind = &insts[last + 1..];
    if !may_be_copied(s, &inside, condition) {
        return false;
    }
    let Some(leaving) = leaving(s, &inside, behind) else { return false };

    let other = other_arm(s, &inside, condition, &leaving);
    let then = then_arm(s, &inside, condition, &leaving);
    let types: Vec<Type> = leaving.iter().map(|&v| s.ty(v)).collect();
    let branch = s.make_inst(Op::If, Attrs::If(then, other), &[condition], &types);
    s.insts[branch].loc = s.insts[insts[first]].loc;
    let mut renames = Renames::default();
    for (k, &old) in leaving.iter().enumerate() {
        let new = s.results(branch)[k];
        s.inherit_name(new, old);
        renames.set(old, new);
    }
    for i in all_of(s, behind) {
        renames.apply(s, i);
    }
    let mut out = before;
    out.extend(ahead);
    out.push(branch);
    out.extend_from_slice(behind);
    let root = s.root;
    s.regions[root].insts = out;
    true
}

/// The condition that most branches of the shader's own region have, and the positions of the first and the last of them.
fn branches(s: &Shader) -> Option<(Value, usize, usize)> {
    // Each has two arms.
    if s.regions.len() <= 2 * MIN_BRANCHES {
        return None;
    }
    let mut found: FxHashMap<Value, (usize, usize, usize)> = FxHashMap::default();
    for (at, &i) in s.regions[s.root].insts.iter().enumerate() {
        if s.insts[i].op == Op::If {
            let of = found.entry(s.arg(i, 0)).or_insert((0, at, at));
            (of.0, of.2) = (of.0 + 1, at);
        }
    }
    let most = found.into_iter().max_by_key(|&(_, (n, first, _))| (n, usize::MAX - first))?;
    let (condition, (n, first, last)) = most;
    (n >= MIN_BRANCHES).then_some((condition, first, last))
}

/// The arms of a branch on the condition.
fn arms(s: &Shader, i: Inst, condition: Value) -> Option<[Region; 2]> {
    match s.insts[i].attrs {
        Attrs::If(then, other) if s.arg(i, 0) == condition => Some([then, other]),
        _ => None,
    }
}

/// Instructions, and those inside of them.
fn all_of(s: &Shader, insts: &[Inst]) -> Vec<Inst> {
    let mut all = insts.to_vec();
    let mut next = 0;
    while let Some(&i) = all.get(next) {
        next += 1;
        for region in s.inst_regions(i) {
            all.extend_from_slice(&s.regions[region].insts);
        }
    }
    all
}

/// Moves arithmetic whose results only some instructions use to them, so that each arm computes it where it needs it; returns what
/// is left.
fn take_along(
    s: &Shader,
    before: &[Inst],
    insts: &mut Vec<Inst>,
    stays: &impl Fn(Inst) -> bool,
) -> Vec<Inst> {
    let mut users: SecondaryMap<Value, u32> = SecondaryMap::new();
    s.walk(|s, _, i| s.args(i).iter().for_each(|&v| users[v] += 1));
    let mut inside: FxHashMap<Value, u32> = FxHashMap::default();
    for i in all_of(s, insts) {
        s.args(i).iter().for_each(|&v| *inside.entry(v).or_default() += 1);
    }
    let (mut moved, mut left) = (Vec::new(), Vec::new());
    for &i in before.iter().rev() {
        let d = &s.insts[i];
        let computes = d.op.is_pure()
            && d.attrs == Attrs::None
            && d.op != Op::Const
            && !d.op.props().contains(Props::CONVERGENT);
        let alone = |&v: &Value| inside.get(&v) == Some(&users[v]);
        if !computes || stays(i) || !s.results(i).iter().all(alone) {
            left.push(i);
            continue;
        }
        s.args(i).iter().for_each(|&v| *inside.entry(v).or_default() += 1);
        moved.push(i);
    }
    left.reverse();
    moved.reverse();
    moved.append(insts);
    *insts = moved;
    left
}

/// Whether instructions do nothing but compute and read, and the branches' arms come to their ends.
fn may_be_copied(s: &Shader, insts: &[Inst], condition: Value) -> bool {
    let all = all_of(s, insts);
    let ends = |region: Region| s.terminator(region).is_some_and(|i| s.insts[i].op == Op::Yield);
    let arms_end = |&i: &Inst| arms(s, i, condition).is_none_or(|arms| arms.into_iter().all(ends));
    all.len() <= MAX_COPIED
        && all.iter().all(|&i| !s.insts[i].op.props().contains(Props::WRITES))
        && insts.iter().all(arms_end)
}

/// The results of instructions that others use; none if there are some that are no scalars in registers.
fn leaving(s: &Shader, insts: &[Inst], behind: &[Inst]) -> Option<Vec<Value>> {
    let made: FxHashSet<Value> = insts.iter().flat_map(|&i| s.results(i)).copied().collect();
    let (mut seen, mut leaving) = (FxHashSet::default(), Vec::new());
    for i in all_of(s, behind) {
        for &v in s.args(i) {
            if made.contains(&v) && seen.insert(v) {
                let ty = s.ty(v);
                (ty.is_scalar() && matches!(ty.bits(), 16 | 32)).then_some(())?;
                leaving.push(v);
            }
        }
    }
    Some(leaving)
}

/// A copy of instructions for threads for which the condition does not hold.
fn other_arm(s: &mut Shader, insts: &[Inst], condition: Value, leaving: &[Value]) -> Region {
    let mut map = FxHashMap::default();
    let mut body = Vec::new();
    for &i in insts {
        let Some([_, other]) = arms(s, i, condition) else {
            body.push(clone::inst(s, i, &mut map));
            continue;
        };
        let mut inner = s.regions[other].insts.clone();
        let end = inner.pop();
        for inner in inner {
            body.push(clone::inst(s, inner, &mut map));
        }
        let values: Vec<Value> = end.map_or_else(Vec::new, |end| s.args(end).to_vec());
        for (&result, v) in s.results(i).iter().zip(values) {
            map.insert(result, *map.get(&v).unwrap_or(&v));
        }
    }
    let leaving: Vec<Value> = leaving.iter().map(|v| *map.get(v).unwrap_or(v)).collect();
    region(s, body, &leaving)
}

/// The instructions themselves, for threads for which it does.
fn then_arm(s: &mut Shader, insts: &[Inst], condition: Value, leaving: &[Value]) -> Region {
    let mut renames = Renames::default();
    let mut body = Vec::new();
    for &i in insts {
        for inner in all_of(s, &[i]) {
            renames.apply(s, inner);
        }
        let Some([then, _]) = arms(s, i, condition) else {
            body.push(i);
            continue;
        };
        let mut inner = std::mem::take(&mut s.regions[then].insts);
        let end = inner.pop();
        body.extend(inner);
        let values: Vec<Value> = end.map_or_else(Vec::new, |end| s.args(end).to_vec());
        for (&result, v) in s.results(i).iter().zip(values) {
            renames.set(result, v);
        }
    }
    let leaving: Vec<Value> = leaving.iter().map(|&v| renames.get(v)).collect();
    region(s, body, &leaving)
}

/// A region of instructions that yields values.
fn region(s: &mut Shader, mut insts: Vec<Inst>, values: &[Value]) -> Region {
    insts.push(s.make_inst(Op::Yield, Attrs::None, values, &[]));
    let region = s.make_region();
    s.regions[region].insts = insts;
    region
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_ir::interp::{self, Memory};

    /// A shader with `branches` branches on a push constant, each of which adds to a sum in its own
    /// way.
    fn shader(branches: usize) -> Shader {
        let mut text = String::from(
            "shader compute \"main\" {
  workgroup_size 4 1 1
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x5]
    %2:b64 = const[0x100000000]
    %3:b32x3 = load_builtin[global_invocation_id]
    %4:b32 = extract[0] %3
    %5:b32 = load_uniform[align 4] %0
    %6:b1 = ine %5, %0
    %100:b32 = iadd %4, %1
",
        );
        for k in 0..branches {
            let v = 100 + 10 * k;
            let [product, both, sum, uniform, next] = [v + 1, v + 2, v + 3, v + 4, v + 10];
            text += &format!(
                "    %{product}:b32 = imul %{v}, %1
    %{both}:b32 = if %6 {{
      %{sum}:b32 = iadd %{product}, %4
      yield %{sum}
    }} else {{
      yield %{v}
    }}
    %{uniform}:b32 = imul %5, %1
    %{next}:b32 = iadd %{both}, %{uniform}
"
            );
        }
        let last = 100 + 10 * branches;
        text += &format!(
            "    %7:b32 = const[0x2]
    %8:b32 = ishl %4, %7
    %9:b64 = u2u %8
    %10:b64 = iadd %2, %9
    store_global[align 4] %10, %{last}
    yield
  }}
}}
"
        );
        let s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
        s
    }

    fn executed(s: &Shader, condition: u32) -> Vec<u8> {
        let mut m = Memory { uniforms: condition.to_le_bytes().to_vec(), ..Memory::default() };
        m.physical.insert(1 << 32, vec![0; 16]);
        interp::dispatch(s, [1, 1, 1], &mut m, 10_000).expect("it runs");
        assert_eq!(m.out_of_bounds, 0);
        m.physical[&(1 << 32)].clone()
    }

    #[test]
    fn joined_branches_compute_the_same() {
        for (branches, joined) in [(2, false), (3, true), (5, true)] {
            let before = shader(branches);
            let mut after = before.clone();
            assert_eq!(run(&mut after, &Costs::default()), joined);
            tepui_ir::validate(&after).unwrap_or_else(|e| panic!("{e}\n{after}"));
            let ifs = after.to_string().matches("= if ").count();
            assert_eq!(ifs, if joined { 1 } else { branches }, "{after}");
            for condition in [0, 1, 7] {
                assert_eq!(executed(&before, condition), executed(&after, condition), "{after}");
            }
            assert_ne!(executed(&before, 0), executed(&before, 1));
        }
    }

    #[test]
    fn conditions_that_threads_disagree_about_are_not_joined() {
        let text = shader(3).to_string().replace("ine %5, %0", "ine %4, %0");
        let mut s = tepui_ir::parse(&text).expect("the text is IR");
        assert!(!run(&mut s, &Costs::default()));
    }
}
