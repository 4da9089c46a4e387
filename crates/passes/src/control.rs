//! Simplifies control flow: `if`s with a constant condition, loops that run once, unreachable code
//! after an `if`, and results that are the same on all paths.

use crate::edit::Renames;
use tepui_ir::{Attrs, Inst, Op, Props, Region, Shader, Type};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let mut names = Renames::default();
    let mut changed = false;
    let root = s.root;
    region(s, root, &mut names, &mut changed);
    names.apply_all(s);
    changed
}

fn ends_with(s: &Shader, r: Region, op: Op) -> bool {
    s.terminator(r).is_some_and(|t| s.insts[t].op == op)
}

/// Whether the body has a `break` or `continue` of its loop (`top` skips the body's own
/// terminator).
fn exits(s: &Shader, r: Region, top: bool) -> bool {
    let insts = &s.regions[r].insts;
    insts.iter().enumerate().any(|(n, &i)| match s.insts[i].op {
        Op::Break | Op::Continue => !(top && n + 1 == insts.len()),
        Op::If => s.inst_regions(i).any(|r| exits(s, r, false)),
        _ => false,
    })
}

fn region(s: &mut Shader, r: Region, names: &mut Renames, changed: &mut bool) {
    let mut queue: std::collections::VecDeque<Inst> =
        std::mem::take(&mut s.regions[r].insts).into();
    let mut out = Vec::with_capacity(queue.len());
    while let Some(i) = queue.pop_front() {
        names.apply(s, i);
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::If, Attrs::If(a, b)) => {
                if let Some(c) = s.as_const(s.arg(i, 0)) {
                    *changed = true;
                    let taken = if c != 0 { a } else { b };
                    splice(s, i, taken, Op::Yield, names, &mut queue);
                    continue;
                }
                region(s, a, names, changed);
                region(s, b, names, changed);
                let (ya, yb) = (ends_with(s, a, Op::Yield), ends_with(s, b, Op::Yield));
                if !ya && !yb {
                    // Neither side returns, and nothing that follows runs: one side can be moved after
                    // the `if`. The one that leaves the loop stays, so that loops end in `continue`.
                    *changed = true;
                    let keep_b = ends_with(s, b, Op::Break) && !ends_with(s, a, Op::Break);
                    let out_arm = if keep_b { a } else { b };
                    let rest = std::mem::take(&mut s.regions[out_arm].insts);
                    let end = s.make_inst(Op::Yield, Attrs::None, &[], &[]);
                    s.regions[out_arm].insts.push(end);
                    s.set_results(i, &[]);
                    // These have been visited already.
                    out.push(i);
                    out.extend(rest);
                    break;
                } else if ya != yb {
                    // One way back: what it does can as well stand after the `if`, where its values
                    // are visible.
                    let arm = if ya { a } else { b };
                    let insts = &s.regions[arm].insts;
                    if insts.len() > 1 || !s.results(i).is_empty() {
                        *changed = true;
                        let mut moved = std::mem::take(&mut s.regions[arm].insts);
                        if let Some(t) = moved.pop() {
                            let (results, vals) = (s.results(i).to_vec(), s.args(t).to_vec());
                            for (r, v) in results.into_iter().zip(vals) {
                                names.set(r, names.get(v));
                            }
                            s.set_results(i, &[]);
                            s.set_args(t, &[]);
                            s.regions[arm].insts.push(t);
                        }
                        // These have been visited already.
                        out.push(i);
                        out.append(&mut moved);
                        continue;
                    }
                } else if let Some(both) = nested(s, i, a, b, &mut out) {
                    *changed = true;
                    out.push(both);
                    continue;
                } else if let (Some(ta), Some(tb)) = (s.terminator(a), s.terminator(b)) {
                    for k in 0..s.results(i).len() {
                        let (x, y) = (names.get(s.arg(ta, k)), names.get(s.arg(tb, k)));
                        if x == y {
                            names.set(s.results(i)[k], x);
                        }
                    }
                }
            }
            (Op::Loop, Attrs::Loop(body)) => {
                if ends_with(s, body, Op::Break) && !exits(s, body, true) {
                    *changed = true;
                    let params = s.regions[body].params.clone();
                    for (k, p) in params.into_iter().enumerate() {
                        names.set(p, names.get(s.arg(i, k)));
                    }
                    splice(s, i, body, Op::Break, names, &mut queue);
                    continue;
                }
                region(s, body, names, changed);
            }
            _ => {}
        }
        out.push(i);
        if s.insts[i].op.is_terminator() {
            break;
        }
    }
    s.regions[r].insts = out;
}

/// Maximum number of speculated instructions for merging two `if`s.
const MAX_SPECULATED: usize = 4;

/// Converts `if a { if b { X } }` to `if a & b { X }`, if the only other code in the outer `if` is
/// cheap and pure. Returns the new outer `if`; instructions that it needs are appended to `out`.
fn nested(s: &mut Shader, i: Inst, a: Region, b: Region, out: &mut Vec<Inst>) -> Option<Inst> {
    let empty = |s: &Shader, r: Region| s.regions[r].insts.len() == 1;
    if !s.results(i).is_empty() || !empty(s, b) {
        return None;
    }
    let insts = s.regions[a].insts.clone();
    let [before @ .., inner, _] = &insts[..] else { return None };
    let Attrs::If(_, else_) = s.insts[*inner].attrs else { return None };
    let cheap = |&x: &Inst| {
        let op = s.insts[x].op;
        op.is_pure()
            && !op.props().intersects(Props::CONVERGENT)
            && matches!(s.insts[x].attrs, Attrs::None | Attrs::Const(_) | Attrs::Index(_))
            && !matches!(op, Op::SDiv | Op::UDiv | Op::SRem | Op::SMod | Op::UMod)
    };
    let fits = before.len() <= MAX_SPECULATED
        && before.iter().all(cheap)
        && s.results(*inner).is_empty()
        && empty(s, else_)
        && ends_with(s, else_, Op::Yield);
    if !fits {
        return None;
    }
    out.extend(before);
    let (x, y) = (s.arg(i, 0), s.arg(*inner, 0));
    let both = crate::edit::push(s, out, i, Op::IAnd, Attrs::None, &[x, y], Type::B1);
    s.set_args(*inner, &[both]);
    Some(*inner)
}

/// Puts the instructions of `inner` in place of their owner. Where `inner` ends in `end`, its
/// operands are the owner's results; else (a `break` out of an `if`) nothing follows.
fn splice(
    s: &mut Shader,
    owner: Inst,
    inner: Region,
    end: Op,
    names: &mut Renames,
    queue: &mut std::collections::VecDeque<Inst>,
) {
    let mut insts = std::mem::take(&mut s.regions[inner].insts);
    if let Some(t) = insts.last().copied().filter(|&t| s.insts[t].op == end) {
        insts.pop();
        let results = s.results(owner).to_vec();
        for (k, r) in results.into_iter().enumerate() {
            names.set(r, s.arg(t, k));
        }
    } else {
        queue.clear();
    }
    for i in insts.into_iter().rev() {
        queue.push_front(i);
    }
}
