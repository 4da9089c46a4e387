//! The validator: operand and result types by the op table, dominance, terminators, attributes.

use crate::attrs::{Attrs, Dim, TexOperands};
use crate::entity::{Inst, Region, Value};
use crate::op::{Op, Pat};
use crate::print::inst_to_string;
use crate::shader::{Shader, ValueDef};
use crate::types::Type;
use cranelift_entity::SecondaryMap;

/// A violation of the IR's rules, and its instruction.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{inst}: {text}: {what}", inst = .inst.map_or_else(|| "shader".to_owned(), |i| i.to_string()))]
pub struct Invalid {
    /// The instruction, unless the fault is a region's.
    pub inst: Option<Inst>,
    /// The instruction as text.
    pub text: String,
    /// The rule that is broken.
    pub what: Rule,
}

/// A rule of the IR.
#[derive(Debug, thiserror::Error, PartialEq, Eq, Clone)]
pub enum Rule {
    /// Regions nest too deeply for the passes.
    #[error("regions nest deeper than {0}")]
    TooDeep(u32),
    /// A region has no terminator, or one in the middle.
    #[error("{0} must end in exactly one terminator")]
    Terminator(Region),
    /// An instruction or region has two parents.
    #[error("stands at two places of the tree")]
    Twice,
    /// Attributes of another kind than the op's.
    #[error("needs attributes of kind {0}")]
    Attrs(crate::attrs::AttrKind),
    /// Wrong number of operands.
    #[error("has {got} operands, needs {want}")]
    OperandCount {
        /// Number that is there.
        got: usize,
        /// Number that the op takes.
        want: String,
    },
    /// Wrong number of results.
    #[error("has {got} results, needs {want}")]
    ResultCount {
        /// Number that is there.
        got: usize,
        /// Number that the op gives.
        want: usize,
    },
    /// An operand's type does not fit the op table.
    #[error("operand {index} is {ty}, which does not fit {pat:?}")]
    OperandType {
        /// Index of the operand.
        index: usize,
        /// Its type.
        ty: Type,
        /// The pattern of the op table.
        pat: Pat,
    },
    /// A result's type does not fit the op table.
    #[error("result {index} is {ty}, which does not fit {pat:?}")]
    ResultType {
        /// Index of the result.
        index: usize,
        /// Its type.
        ty: Type,
        /// The pattern of the op table.
        pat: Pat,
    },
    /// A value is used where it is not defined.
    #[error("operand {0} is not defined here")]
    Dominance(Value),
    /// A value's record does not name its definition.
    #[error("result {0} has another definition on record")]
    Record(Value),
    /// Values that leave or enter a region do not match.
    #[error("carries {got:?}, the target takes {want:?}")]
    Carried {
        /// Types that are carried.
        got: Vec<Type>,
        /// Types that the target takes.
        want: Vec<Type>,
    },
    /// `break` or `continue` without loop, `yield` at the end of a loop's body.
    #[error("may not end this region")]
    Misplaced,
    /// Something particular to the op.
    #[error("{0}")]
    Op(&'static str),
}

/// Deepest nesting of regions that a valid shader has: several for each of SPIR-V's 1,023 nested
/// constructs.
pub const MAX_DEPTH: u32 = 8192;

/// Checks every rule.
///
/// # Errors
/// The first broken rule in program order.
pub fn validate(s: &Shader) -> Result<(), Invalid> {
    let mut v = Validator {
        s,
        visible: SecondaryMap::with_capacity(s.values.len()),
        seen: SecondaryMap::with_capacity(s.insts.len()),
        seen_regions: SecondaryMap::new(),
        depth: 0,
    };
    crate::stack::for_shader(s)
        .run(|| v.region(s.root, &Context { yields: Some(vec![]), loop_: None }))
}

/// The terminators that may end a region.
#[derive(Clone)]
struct Context {
    /// Types that a `yield` carries; `None` where there may be none.
    yields: Option<Vec<Type>>,
    /// Types that `break` and `continue` carry.
    loop_: Option<(Vec<Type>, Vec<Type>)>,
}

struct Validator<'a> {
    s: &'a Shader,
    visible: SecondaryMap<Value, bool>,
    seen: SecondaryMap<Inst, bool>,
    seen_regions: SecondaryMap<Region, bool>,
    depth: u32,
}

impl Validator<'_> {
    fn fail<T>(&self, inst: impl Into<Option<Inst>>, what: Rule) -> Result<T, Invalid> {
        let inst = inst.into();
        Err(Invalid {
            inst,
            text: inst.map_or_else(String::new, |i| inst_to_string(self.s, i)),
            what,
        })
    }

    fn types(&self, vals: &[Value]) -> Vec<Type> {
        vals.iter().map(|&v| self.s.ty(v)).collect()
    }

    fn region(&mut self, region: Region, cx: &Context) -> Result<(), Invalid> {
        let s = self.s;
        if std::mem::replace(&mut self.seen_regions[region], true) {
            return self.fail(None, Rule::Twice);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(None, Rule::TooDeep(MAX_DEPTH));
        }
        let data = &s.regions[region];
        for (i, &p) in data.params.iter().enumerate() {
            if s.values[p].def != ValueDef::Param(region, i as u32) {
                return self.fail(None, Rule::Record(p));
            }
            self.visible[p] = true;
        }
        for (i, &inst) in data.insts.iter().enumerate() {
            let last = i + 1 == data.insts.len();
            if s.insts[inst].op.is_terminator() != last {
                return self.fail(inst, Rule::Terminator(region));
            }
            self.inst(inst, cx)?;
        }
        if data.insts.is_empty() {
            return self.fail(None, Rule::Terminator(region));
        }
        for &inst in &data.insts {
            for &r in s.results(inst) {
                self.visible[r] = false;
            }
        }
        for &p in &data.params {
            self.visible[p] = false;
        }
        self.depth -= 1;
        Ok(())
    }

    fn inst(&mut self, inst: Inst, cx: &Context) -> Result<(), Invalid> {
        let s = self.s;
        let data = &s.insts[inst];
        let info = data.op.info();
        if std::mem::replace(&mut self.seen[inst], true) {
            return self.fail(inst, Rule::Twice);
        }
        if data.attrs.kind() != info.attrs {
            return self.fail(inst, Rule::Attrs(info.attrs));
        }
        let args = s.args(inst);
        for &a in args {
            if !self.visible[a] {
                return self.fail(inst, Rule::Dominance(a));
            }
        }
        self.signature(inst)?;
        match (data.op, &data.attrs) {
            (Op::If, &Attrs::If(a, b)) => {
                let yields = Some(self.types(s.results(inst)));
                let cx = Context { yields, loop_: cx.loop_.clone() };
                self.region(a, &cx)?;
                self.region(b, &cx)?;
            }
            (Op::Loop, &Attrs::Loop(body)) => {
                let params = self.types(&s.regions[body].params);
                let got = self.types(args);
                if got != params {
                    return self.fail(inst, Rule::Carried { got, want: params });
                }
                let results = self.types(s.results(inst));
                self.region(body, &Context { yields: None, loop_: Some((results, params)) })?;
            }
            (Op::Yield | Op::Break | Op::Continue, _) => {
                let want = match data.op {
                    Op::Yield => cx.yields.as_ref(),
                    Op::Break => cx.loop_.as_ref().map(|l| &l.0),
                    _ => cx.loop_.as_ref().map(|l| &l.1),
                };
                let Some(want) = want else { return self.fail(inst, Rule::Misplaced) };
                let got = self.types(args);
                if got != *want {
                    return self.fail(inst, Rule::Carried { got, want: want.clone() });
                }
            }
            _ => self.particular(inst)?,
        }
        for (i, &r) in s.results(inst).iter().enumerate() {
            if s.values[r].def != ValueDef::Result(inst, i as u32) {
                return self.fail(inst, Rule::Record(r));
            }
            self.visible[r] = true;
        }
        Ok(())
    }

    /// Operand and result types against the op table's patterns.
    fn signature(&self, inst: Inst) -> Result<(), Invalid> {
        let s = self.s;
        let info = s.insts[inst].op.info();
        let (args, results) = (s.args(inst), s.results(inst));
        let fixed = |pats: &[Pat]| {
            if pats.last() == Some(&Pat::Rest) {
                (pats.len() - 1, true)
            } else {
                (pats.len(), false)
            }
        };
        let (n, open) = fixed(info.operands);
        if args.len() < n || (args.len() > n && !open) {
            let want = format!("{}{n}", if open { "at least " } else { "" });
            return self.fail(inst, Rule::OperandCount { got: args.len(), want });
        }
        let (n, open) = fixed(info.results);
        if results.len() < n || (results.len() > n && !open) {
            return self.fail(inst, Rule::ResultCount { got: results.len(), want: n });
        }
        // T from the first operand or result that names it; else only the number of components is
        // known.
        let all = || info.operands.iter().zip(args).chain(info.results.iter().zip(results));
        let t = all()
            .find(|(p, _)| matches!(p, Pat::T | Pat::F | Pat::I))
            .or_else(|| all().find(|(p, _)| matches!(p, Pat::B | Pat::W | Pat::UF | Pat::UI)))
            .map(|(_, &v)| s.ty(v));
        let fits = |p: Pat, ty: Type| {
            let t = t.unwrap_or(ty);
            let shape = ty.comps() == t.comps();
            let float = matches!(ty.bits(), 16 | 32 | 64);
            match p {
                Pat::T => ty == t,
                Pat::F => ty == t && float,
                Pat::I => ty == t && ty.bits() >= 8,
                Pat::B => shape && ty.bits() == 1,
                Pat::W => shape && ty.bits() == 32,
                Pat::UF => shape && float,
                Pat::UI => shape && ty.bits() >= 8,
                Pat::B1 => ty == Type::B1,
                Pat::S32 => ty == Type::B32,
                Pat::S64 | Pat::H => ty == Type::B64,
                Pat::V2 => ty == Type::vec(32, 2),
                Pat::V4 => ty == Type::vec(32, 4),
                Pat::SF => ty.is_scalar() && float,
                Pat::E => ty == t.elem(),
                Pat::Any | Pat::Rest => true,
            }
        };
        for (index, (&pat, &v)) in info.operands.iter().zip(args).enumerate() {
            let ty = s.ty(v);
            if !fits(pat, ty) {
                return self.fail(inst, Rule::OperandType { index, ty, pat });
            }
        }
        for (index, (&pat, &v)) in info.results.iter().zip(results).enumerate() {
            let ty = s.ty(v);
            if !fits(pat, ty) {
                return self.fail(inst, Rule::ResultType { index, ty, pat });
            }
        }
        Ok(())
    }

    /// Rules that the patterns do not express.
    fn particular(&self, inst: Inst) -> Result<(), Invalid> {
        let s = self.s;
        let data = &s.insts[inst];
        let args = s.args(inst);
        let bad = |what| self.fail(inst, Rule::Op(what));
        let ty = |i: usize| s.ty(args[i]);
        let res = |i: usize| s.ty(s.results(inst)[i]);
        match (data.op, &data.attrs) {
            (Op::Const, &Attrs::Const(c)) if !res(0).is_scalar() || c & !res(0).mask() != 0 => {
                return bad("a constant is scalar and fits its type");
            }
            (Op::Vec, _) => {
                let r = res(0);
                if args.len() != r.comps() as usize || args.iter().any(|&a| s.ty(a) != r.elem()) {
                    return bad("needs one scalar of the result's size for each component");
                }
            }
            (Op::Extract, &Attrs::Index(i))
                if i >= u32::from(ty(0).comps()) || res(0) != ty(0).elem() =>
            {
                return bad("the index must be in the vector, and the result one component");
            }
            (Op::Bitcast, _) => {
                let bits = |t: Type| u32::from(t.bits()) * u32::from(t.comps());
                if bits(ty(0)) != bits(res(0)) {
                    return bad("both sides need as many bits");
                }
            }
            (Op::LoadVar | Op::StoreVar, &Attrs::Var(v)) => {
                let Some(var) = s.vars.get(v) else { return bad("there is no such variable") };
                let load = data.op == Op::LoadVar;
                let value = if load { res(0) } else { ty(0) };
                let index = &args[usize::from(!load)..];
                if value != var.ty {
                    return bad("the value must have the variable's type");
                }
                if index.len() != usize::from(var.len.is_some())
                    || index.iter().any(|&i| s.ty(i) != Type::B32)
                {
                    return bad("an array takes one b32 index, any other variable none");
                }
            }
            (Op::Descriptor, &Attrs::Res(r, _)) if s.resources.get(r).is_none() => {
                return bad("there is no such resource");
            }
            (_, Attrs::Atomic(op, _) | Attrs::ImageAtomic(op, _)) => {
                let n = if *op == crate::AtomicOp::CmpXchg { 2 } else { 1 };
                let fixed = data.op.info().operands.len() - 1;
                if args.len() != fixed + n
                    || args[fixed..].iter().any(|&a| s.ty(a) != res(0))
                    || !res(0).is_scalar()
                {
                    return bad(
                        "needs scalar data of the result's type: two for cmpxchg, else one",
                    );
                }
            }
            (op, Attrs::Image(i)) => {
                let fixed = Shader::tex_fixed_args(op);
                let optional = i.operands.bits().count_ones() as usize
                    + usize::from(i.operands.contains(TexOperands::GRAD));
                if fixed != usize::MAX && args.len() != fixed + optional {
                    return bad("the optional operands are not those that the attributes name");
                }
                let coord = match op {
                    Op::TexSample | Op::TexSampleLod | Op::TexGather => Some((2, i.coord_comps())),
                    Op::TexQueryLod => Some((2, i.dim.coords())),
                    // A cube is written by face: x, y, and the face (with the layer folded in).
                    Op::TexFetch | Op::ImageLoad | Op::ImageStore if i.dim == Dim::Cube => {
                        Some((1, 3))
                    }
                    Op::TexFetch | Op::ImageLoad | Op::ImageStore => Some((1, i.coord_comps())),
                    _ => None,
                };
                let reads = matches!(
                    op,
                    Op::TexSample | Op::TexSampleLod | Op::TexGather | Op::TexFetch | Op::ImageLoad
                );
                if i.residency
                    && !(reads && self.s.results(inst).iter().all(|&r| self.s.ty(r).comps() > 1))
                {
                    return bad("a residency code stands behind a texel that was read");
                }
                if let Some((at, want)) = coord
                    && ty(at).comps() != want
                {
                    return bad("the coordinate has another number of components than the image");
                }
            }
            _ => {}
        }
        Ok(())
    }
}
