//! 64-bit float operations that do not depend on each other become loops, where writing out each would make a program too long.
//!
//! [`crate::lower_float64`] makes 150 to 400 instructions of an operation. In a shader with many of them — products and
//! inverses of matrices — the same routine would stand there a hundred times, longer than an instruction cache. This pass sorts the
//! operations between two effects by how many others each has to wait for. Those of one op that wait for as many are
//! independent: their operands are stored to arrays, a loop does one of them in each iteration, and results are loaded from an
//! array where they are used. [`crate::lower_vars`] puts the arrays into scratch memory.
//!
//! Values that are identical in all invocations are left alone: a back end computes them once in a preamble, which has no
//! scratch memory.

use crate::edit::Consts;
use crate::rewrite::Emit;
use crate::uniformity::Uniformity;
use rustc_hash::FxHashMap as HashMap;
use tepui_ir::{Attrs, Inst, InstFlags, Op, Props, Region, Shader, Type, Value, Var, VarData};

/// Instructions of all operations of a shader, from which on it is rolled.
const LONG: u32 = 1500;
/// Minimum and maximum number of operations of a loop.
const GROUP: (usize, usize) = (3, 64);
/// Maximum number of elements of all arrays of results: they stay in scratch memory to the end.
const MAX_ELEMENTS: usize = 512;
/// Maximum size of other arrays for which these may be added: GPUs have limits of some ten thousand
/// bytes.
const ROOM_B: u32 = 16 << 10;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let uniform = Uniformity::new(s);
    let mut all = 0;
    s.walk(|s, _, i| all += cost(s, &uniform, i).unwrap_or(0));
    let arrays = s.vars.values().map(|v| v.ty.size_bytes() * v.len.unwrap_or(1)).sum::<u32>();
    if all < LONG || s.info.scratch_bytes + arrays > ROOM_B {
        return false;
    }
    let mut roll = Roll {
        uniform,
        consts: Consts::new(s),
        operands: Vec::new(),
        elements: 0,
        stored: HashMap::default(),
        changed: false,
    };
    let root = s.root;
    roll.region(s, root);
    let Roll { consts, changed, .. } = roll;
    consts.finish(s);
    changed
}

/// About how many instructions an operation becomes, if it is one that loops are made of.
fn cost(s: &Shader, uniform: &Uniformity, i: Inst) -> Option<u32> {
    let [r] = s.results(i) else { return None };
    if s.ty(*r) != Type::B64 || uniform.is_uniform(*r) {
        return None;
    }
    // Measured: the table in docs/compiler.md.
    Some(match s.insts[i].op {
        Op::FAdd | Op::FSub => 150,
        Op::FMul => 155,
        Op::FSqrt => 190,
        Op::FDiv | Op::FRcp => 235,
        Op::FFma => 380,
        Op::FRsq => 420,
        _ => return None,
    })
}

/// Whether an instruction may stand elsewhere between two effects.
fn moves(s: &Shader, i: Inst) -> bool {
    let fixed = Props::WRITES | Props::TERM | Props::REGIONS | Props::CONVERGENT;
    !s.insts[i].op.props().intersects(fixed) && !matches!(s.insts[i].attrs, Attrs::Var(_))
}

struct Roll {
    uniform: Uniformity,
    consts: Consts,
    /// Arrays of operands, which all loops use.
    operands: Vec<Var>,
    /// Elements of all arrays of results.
    elements: usize,
    /// Array and element of each result.
    stored: HashMap<Value, (Var, u32)>,
    changed: bool,
}

impl Roll {
    fn region(&mut self, s: &mut Shader, r: Region) {
        let insts = std::mem::take(&mut s.regions[r].insts);
        let mut out = Vec::with_capacity(insts.len());
        let parts: Vec<&[Inst]> = insts.chunk_by(|&a, &b| moves(s, a) && moves(s, b)).collect();
        for part in parts {
            if moves(s, part[0]) {
                self.part(s, part, &mut out);
                continue;
            }
            for &i in part {
                self.load_operands(s, i, &mut HashMap::default(), &mut out);
                out.push(i);
                for q in s.inst_regions(i) {
                    self.region(s, q);
                }
            }
        }
        s.regions[r].insts = out;
    }

    /// Instructions between two effects.
    fn part(&mut self, s: &mut Shader, part: &[Inst], out: &mut Vec<Inst>) {
        // Length of the chain of operations that each instruction depends on, including itself.
        let mut levels: HashMap<Value, usize> = HashMap::default();
        let mut by_level: Vec<Vec<Inst>> = Vec::new();
        for &i in part {
            let waits = s.args(i).iter().filter_map(|a| levels.get(a)).max().copied();
            let level = waits.unwrap_or(0) + usize::from(cost(s, &self.uniform, i).is_some());
            levels.extend(s.results(i).iter().map(|&r| (r, level)));
            by_level.resize(by_level.len().max(level + 1), Vec::new());
            by_level[level].push(i);
        }
        let alike = |s: &Shader, i: Inst| (s.insts[i].op, s.insts[i].flags);
        for insts in by_level {
            // Operations of a level first, in groups; the level's other instructions may use their results.
            let (heavy, light): (Vec<Inst>, Vec<Inst>) =
                insts.into_iter().partition(|&i| cost(s, &self.uniform, i).is_some());
            let mut groups: Vec<((Op, InstFlags), Vec<Inst>)> = Vec::new();
            for i in heavy {
                let kind = alike(s, i);
                match groups.iter_mut().find(|g| g.0 == kind) {
                    Some(group) => group.1.push(i),
                    None => groups.push((kind, vec![i])),
                }
            }
            let mut loaded = HashMap::default();
            for group in groups.iter().flat_map(|g| g.1.chunks(GROUP.1)) {
                if group.len() >= GROUP.0 && self.elements + group.len() <= MAX_ELEMENTS {
                    self.roll(s, group, &mut loaded, out);
                    self.changed = true;
                    continue;
                }
                for &i in group {
                    self.load_operands(s, i, &mut loaded, out);
                    out.push(i);
                }
            }
            for i in light {
                self.load_operands(s, i, &mut loaded, out);
                out.push(i);
            }
        }
    }

    /// Loads those operands of an instruction that are in arrays; `loaded` are those that have been before.
    fn load_operands(
        &mut self,
        s: &mut Shader,
        i: Inst,
        loaded: &mut HashMap<Value, Value>,
        out: &mut Vec<Inst>,
    ) {
        if s.args(i).iter().any(|a| self.stored.contains_key(a)) {
            let args = s.args(i).to_vec();
            let args: Vec<Value> =
                args.into_iter().map(|a| self.load(s, i, a, loaded, out)).collect();
            s.set_args(i, &args);
        }
    }

    fn load(
        &mut self,
        s: &mut Shader,
        like: Inst,
        v: Value,
        loaded: &mut HashMap<Value, Value>,
        out: &mut Vec<Inst>,
    ) -> Value {
        let Some(&(array, element)) = self.stored.get(&v) else { return v };
        *loaded.entry(v).or_insert_with(|| {
            let mut e = Emit::new(s, &mut self.consts, out, like);
            let index = e.u32(element);
            e.value(Op::LoadVar, Attrs::Var(array), &[index], Type::B64)
        })
    }

    /// Puts a loop in the place of a group.
    fn roll(
        &mut self,
        s: &mut Shader,
        group: &[Inst],
        loaded: &mut HashMap<Value, Value>,
        out: &mut Vec<Inst>,
    ) {
        let like = group[0];
        let (op, count) = (s.insts[like].op, group.len() as u32);
        let operands = s.args(like).len();
        let array = |s: &mut Shader, len| {
            s.vars.push(VarData { ty: Type::B64, len: Some(len), name: String::new() })
        };
        while self.operands.len() < operands {
            let new = array(s, count);
            self.operands.push(new);
        }
        for k in 0..operands {
            let len = &mut s.vars[self.operands[k]].len;
            *len = (*len).max(Some(count));
        }
        let results = array(s, count);
        self.elements += group.len();
        // An operand that all have in common needs no array.
        let common: Vec<Option<Value>> = (0..operands)
            .map(|k| {
                let first = s.arg(like, k);
                group.iter().all(|&i| s.arg(i, k) == first).then_some(first)
            })
            .collect();
        let mut whole = Vec::new();
        for (k, &common) in common.iter().enumerate() {
            whole.push(common.map(|v| self.load(s, like, v, loaded, out)));
            if common.is_some() {
                continue;
            }
            for (n, &i) in (0..).zip(group) {
                let v = s.arg(i, k);
                let v = self.load(s, i, v, loaded, out);
                let mut e = Emit::new(s, &mut self.consts, out, i);
                let index = e.u32(n);
                e.inst(Op::StoreVar, Attrs::Var(self.operands[k]), &[v, index], &[]);
            }
        }
        let mut e = Emit::new(s, &mut self.consts, out, like);
        let (first, last) = (e.u32(0), e.u32(count));
        e.while_(
            &[first],
            |e, p| e.op(Op::ULt, &[p[0], last]),
            |e, p| {
                let args: Vec<Value> = (0..operands)
                    .map(|k| {
                        whole[k].unwrap_or_else(|| {
                            let from = Attrs::Var(self.operands[k]);
                            e.value(Op::LoadVar, from, &[p[0]], Type::B64)
                        })
                    })
                    .collect();
                let v = e.value(op, Attrs::None, &args, Type::B64);
                e.inst(Op::StoreVar, Attrs::Var(results), &[v, p[0]], &[]);
                let one = e.u32(1);
                vec![e.op(Op::IAdd, &[p[0], one])]
            },
        );
        for (n, &i) in (0..).zip(group) {
            let r = s.result(i);
            self.stored.insert(r, (results, n));
        }
    }
}
