//! The state of a translation: values by id, emission into regions, constants, and the walk over
//! the module.

mod emit;

use crate::error::{Error, Kind, Result};
use crate::ids::{Id, IdMap, IdSet, SmallMap};
use crate::module::{Inst, Module};
use crate::options::Options;
use crate::scope::{Scope, ScopeExit};
use crate::ty::{MAX_DEPTH, MAX_LEAVES, Ty, Types};
use crate::value::{Extent, Ptr, Val};
use rspirv::spirv::{self, Decoration, Op as S};
use std::rc::Rc;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, InstFlags, Loc, Op, Region, Shader, SrcLoc, Stage, Type, Value, Var, stack};

/// Maximum number of instructions of a translated shader: inlining may multiply the module's.
const MAX_INSTS: usize = 2_000_000;
/// Maximum number of instructions of the module that are translated, each as often as inlining repeats it, and
/// blocks: functions that call each other twice double this at each level without leaving an
/// instruction.
const MAX_STEPS: usize = 16_000_000;

/// An output variable: written through a shadow, stored when the shader ends.
pub(crate) struct Output {
    pub ptr: Ptr,
    pub id: Id,
}

/// One activation of a (function-)inlined body.
pub(crate) struct Frame {
    pub func: Id,
    pub vals: IdMap<Val>,
    /// Variables of the return value's leaves.
    pub ret: Vec<Var>,
    /// Shape of the return value, known at the first return.
    pub ret_val: Option<Val>,
    /// Variables of each phi's leaves.
    pub phis: IdMap<(Val, Vec<Var>)>,
    /// Blocks that have been translated: each may be once.
    pub done: IdSet,
    /// Number of reachable predecessors of each block.
    pub preds: IdMap<u32>,
}

/// State of a translation.
pub(crate) struct Cx<'a> {
    pub m: &'a Module<'a>,
    pub options: &'a Options,
    pub s: Shader,
    pub types: Types,
    pub forward: IdSet,
    pub globals: IdMap<Val>,
    pub frames: Vec<Frame>,
    pub scopes: Vec<Scope>,
    /// The branches of the call inlined last that its caller must handle.
    pub call_left: Option<ScopeExit>,
    /// Nesting of regions.
    pub depth: usize,
    /// Instructions and blocks translated so far.
    steps: usize,
    /// The instruction that is being translated, for errors.
    pub at: Inst,
    pub region: Region,
    loc: Loc,
    locs: SmallMap<(u32, u32, u32), Loc>,
    files: IdMap<u32>,
    /// Constants and undefined values, at the head of the root region.
    prelude: Vec<tepui_ir::Inst>,
    consts: SmallMap<(u8, u64), Value>,
    const_vecs: SmallMap<Vec<Value>, Value>,
    undefs: SmallMap<(u8, u8), Value>,
    /// Region in which a value was defined.
    home: SecondaryMap<Value, Region>,
    open: SecondaryMap<Region, bool>,
    /// Values used outside their region, through a variable that is stored right after the
    /// definition.
    demoted: SmallMap<Value32, Var>,
    pub flags: InstFlags,
    /// The float controls of execution modes, for 16, 32 and 64 bits.
    pub default_flags: [InstFlags; 3],
    /// The current instruction has an `FPFastMathMode` of its own.
    fast_math: bool,
    /// Input and output variables of the interface, see `io`.
    pub outputs: Vec<Output>,
    /// `emit_vertex` instructions and their regions: outputs are stored before each.
    pub emits: Vec<(Region, tepui_ir::Inst)>,
    pub shared: Vec<(Id, u32)>,
    pub push_bytes: u32,
}

/// A value as a key of a [`SmallMap`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Value32(Value);

/// The stage of an execution model, `None` for one that is not supported.
pub(crate) fn stage(model: u32) -> Option<Stage> {
    use spirv::ExecutionModel as M;
    Some(match M::from_u32(model)? {
        M::GLCompute => Stage::Compute,
        M::Vertex => Stage::Vertex,
        M::TessellationControl => Stage::TessControl,
        M::TessellationEvaluation => Stage::TessEvaluation,
        M::Geometry => Stage::Geometry,
        M::Fragment => Stage::Fragment,
        _ => return None,
    })
}

/// Translates the module's entry point.
pub(crate) fn translate(m: &Module, options: &Options) -> Result<Shader> {
    let header = |kind| Error { word: 0, inst: "OpEntryPoint".to_owned(), kind };
    let model = |e: &Inst| m.ops(e).first().copied().unwrap_or(u32::MAX);
    let stage = |e: &Inst| stage(model(e));
    let wanted = |e: &&Inst| {
        options.entry.as_ref().is_none_or(|n| m.string(e, 2).0 == *n)
            && (options.stage.is_none() || options.stage == stage(e))
    };
    let Some(&entry) = m.entry_points.iter().find(wanted) else {
        return Err(header(Kind::Invalid("there is no such entry point".to_owned())));
    };
    let Some(st) = stage(&entry) else {
        let name = spirv::ExecutionModel::from_u32(model(&entry))
            .map_or_else(|| "unknown".to_owned(), |x| format!("{x:?}"));
        return Err(Error {
            word: entry.at as usize,
            ..header(Kind::Unsupported(format!("execution model {name}")))
        });
    };
    // Passes add about as many as the front end makes.
    let s = Shader::with_capacity(st, m.insts.len() * 2);
    let region = s.root;
    let mut cx = Cx {
        m,
        options,
        s,
        types: Types::default(),
        forward: IdSet::default(),
        globals: IdMap::default(),
        frames: Vec::new(),
        scopes: Vec::new(),
        call_left: None,
        depth: 0,
        steps: 0,
        at: entry,
        region,
        loc: Loc::default(),
        locs: SmallMap::default(),
        files: IdMap::default(),
        prelude: Vec::new(),
        consts: SmallMap::default(),
        const_vecs: Default::default(),
        undefs: SmallMap::default(),
        home: SecondaryMap::with_default(region),
        open: SecondaryMap::new(),
        demoted: SmallMap::default(),
        flags: InstFlags::empty(),
        default_flags: [InstFlags::empty(); 3],
        fast_math: false,
        outputs: Vec::new(),
        emits: Vec::new(),
        shared: Vec::new(),
        push_bytes: 0,
    };
    cx.open[region] = true;
    cx.s.info.entry = m.string(&entry, 2).0;
    stack::grow(|| cx.module(entry))?;
    Ok(cx.finish())
}

impl Cx<'_> {
    /// The value of a constant id as an unsigned 32-bit number.
    pub fn const_u32(&self, id: Id) -> Option<u32> {
        match self.globals.get(&id)? {
            Val::Ssa(v) => self.s.as_const(*v).and_then(|c| u32::try_from(c).ok()),
            _ => None,
        }
    }

    pub fn invalid<T>(&self, what: impl Into<String>) -> Result<T> {
        self.at.invalid(what)
    }

    pub fn unsupported<T>(&self, what: impl Into<String>) -> Result<T> {
        self.at.unsupported(what)
    }

    pub fn too_large<T>(&self, what: impl Into<String>) -> Result<T> {
        self.at.err(Kind::TooLarge(what.into()))
    }

    fn module(&mut self, entry: Inst) -> Result<()> {
        let m = self.m;
        let func = m.op(&entry, 1)?;
        let interface: IdSet = m.ops(&entry)[m.string(&entry, 2).1.min(m.ops(&entry).len())..]
            .iter()
            .copied()
            .collect();
        for g in &m.globals {
            self.at = *g;
            match g.op {
                S::Variable | S::UntypedVariableKHR => self.declare_variable(g, &interface)?,
                S::Line | S::NoLine | S::ExtInst | S::ExtInstWithForwardRefsKHR => {}
                op if (S::ConstantTrue as u32..=S::SpecConstantOp as u32)
                    .contains(&(op as u32))
                    || matches!(
                        op,
                        S::Undef
                            | S::ConstantCompositeReplicateEXT
                            | S::SpecConstantCompositeReplicateEXT
                    ) =>
                {
                    self.declare_constant(g)?;
                }
                _ => self.declare_type(g)?,
            }
        }
        self.execution_modes(func)?;
        self.initialise_globals()?;
        self.at = entry;
        let Some(f) = m.functions.get(&func) else {
            return self.invalid(format!("%{func} is not a function"));
        };
        if !f.params.is_empty() {
            return self.invalid("an entry point takes no parameters");
        }
        self.call(func, Vec::new())?;
        self.store_outputs()
    }

    /// Puts constants at the head and stores of demoted values in place, and ends the root region.
    fn finish(mut self) -> Shader {
        self.emit(Op::Yield, Attrs::None, &[], &[]);
        let mut after: SmallMap<u32, Vec<tepui_ir::Inst>> = SmallMap::default();
        let mut at_head: SmallMap<u32, Vec<tepui_ir::Inst>> = SmallMap::default();
        let demoted: Vec<_> = self.demoted.iter().map(|(v, var)| (v.0, *var)).collect();
        for (v, var) in demoted {
            let st = self.s.make_inst(Op::StoreVar, Attrs::Var(var), &[v], &[]);
            match self.s.def_inst(v) {
                Some(i) => after.entry(i.as_u32()).or_default().push(st),
                None => at_head.entry(self.home[v].as_u32()).or_default().push(st),
            }
        }
        let regions: Vec<_> = self.s.regions.keys().collect();
        for r in regions {
            let old = std::mem::take(&mut self.s.regions[r].insts);
            let mut new = Vec::with_capacity(old.len());
            if r == self.s.root {
                new.append(&mut self.prelude);
            }
            new.extend(at_head.remove(&r.as_u32()).unwrap_or_default());
            for i in old {
                new.push(i);
                if let Some(st) = after.remove(&i.as_u32()) {
                    new.extend(st);
                }
            }
            self.s.regions[r].insts = new;
        }
        self.s.info.push_bytes = self.push_bytes;
        self.s
    }

    // ---- values by id ----

    /// The value of an id.
    pub fn val(&self, id: Id) -> Result<Val> {
        if let Some(v) =
            self.frames.last().and_then(|f| f.vals.get(&id)).or_else(|| self.globals.get(&id))
        {
            return Ok(v.clone());
        }
        self.invalid(format!("%{id} has no value here"))
    }

    /// The scalar or vector of an id.
    pub fn ssa(&self, id: Id) -> Result<Value> {
        match self.val(id)? {
            Val::Ssa(v) => Ok(v),
            _ => self.invalid(format!("%{id} is not a scalar or vector")),
        }
    }

    /// The value of operand `n`.
    pub fn arg(&self, n: usize) -> Result<Val> {
        self.val(self.m.op(&self.at, n)?)
    }

    /// The scalar or vector of operand `n`.
    pub fn arg_ssa(&self, n: usize) -> Result<Value> {
        self.ssa(self.m.op(&self.at, n)?)
    }

    /// The scalar b32 of operand `n`; other sizes are converted (zero-extended, or truncated).
    pub fn arg_u32(&mut self, n: usize) -> Result<Value> {
        let id = self.m.op(&self.at, n)?;
        let v = self.ssa(id)?;
        let signed = self
            .m
            .result_ty
            .get(&id)
            .is_some_and(|t| matches!(self.types.get(*t), Some(Ty::Int { signed: true, .. })));
        self.as_u32(v, signed)
    }

    pub fn as_u32(&mut self, v: Value, signed: bool) -> Result<Value> {
        let ty = self.s.ty(v);
        if !ty.is_scalar() || ty.bits() == 1 {
            return self.invalid("needs an integer scalar");
        }
        Ok(if ty.bits() == 32 {
            v
        } else {
            self.op1(if signed { Op::S2S } else { Op::U2U }, v, Type::B32)
        })
    }

    /// Type id of operand `n`.
    pub fn arg_ty(&self, n: usize) -> Result<Id> {
        let id = self.m.op(&self.at, n)?;
        match self.m.result_ty.get(&id) {
            Some(t) => Ok(*t),
            None => self.invalid(format!("%{id} has no type")),
        }
    }

    /// Constant operand `n` (an id).
    pub fn arg_const(&self, n: usize) -> Result<u32> {
        let v = self.arg_ssa(n)?;
        match self.s.as_const(v) {
            Some(c) => Ok(c as u32),
            None => self.unsupported(format!("operand {n} must be a constant")),
        }
    }

    /// Binds the result of the current instruction, checking that an SSA result has the declared
    /// type.
    pub fn bind(&mut self, val: Val) -> Result<()> {
        let i = self.at;
        if let Val::Ssa(v) = &val {
            let want = self.ir_ty(i.ty)?;
            if self.s.ty(*v) != want {
                return self.invalid(format!(
                    "the result would be {}, its type says {want}",
                    self.s.ty(*v)
                ));
            }
            if self.s.names[*v].is_none() && self.m.is_named(i.id) {
                self.s.names[*v] = Some(self.m.name(i.id).into());
            }
        }
        match self.frames.last_mut() {
            Some(f) => f.vals.insert(i.id, val),
            None => self.globals.insert(i.id, val),
        };
        Ok(())
    }

    // ---- regions ----

    /// Runs `f` with a new region as the current one.
    pub fn in_region(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Region> {
        let region = self.s.make_region();
        let outer = std::mem::replace(&mut self.region, region);
        self.open[region] = true;
        let r = f(self);
        self.open[region] = false;
        self.region = outer;
        r?;
        if self.s.terminator(region).is_none() {
            let y = self.s.make_inst(Op::Yield, Attrs::None, &[], &[]);
            self.s.regions[region].insts.push(y);
        }
        Ok(region)
    }

    /// Whether the current region has ended.
    pub fn ended(&self) -> bool {
        self.s.terminator(self.region).is_some()
    }

    // ---- aggregates ----

    /// Builds an aggregate element by element.
    pub fn each_element(
        &mut self,
        ty: Id,
        mut f: impl FnMut(&mut Self, Id, u32) -> Result<Val>,
    ) -> Result<Val> {
        if self.types.leaves(ty) > MAX_LEAVES {
            return self.too_large(format!("a value of more than {MAX_LEAVES} parts"));
        }
        let Some(n) = self.types.len(ty) else {
            return self.invalid(format!("%{ty} is not a composite type"));
        };
        let mut parts = Vec::with_capacity(n as usize);
        for k in 0..n {
            let Some(e) = self.types.element(ty, k) else { return self.invalid("no such member") };
            parts.push(stack::grow(|| f(self, e, k))?);
        }
        self.aggregate(parts)
    }

    /// `OpCompositeConstruct`: vectors may be built from smaller vectors.
    pub fn construct(&mut self, ty: Id, parts: Vec<Val>) -> Result<Val> {
        if let Some(t) = self.types.ir(ty) {
            let mut comps = Vec::new();
            for p in &parts {
                let Val::Ssa(v) = p else {
                    return self.invalid("the part of a vector is not a scalar or vector");
                };
                let c = self.split(*v);
                comps.extend(c);
            }
            if comps.len() != t.comps() as usize {
                return self.invalid("the parts do not fill the vector");
            }
            return Ok(Val::Ssa(self.vec(&comps)?));
        }
        if self.types.len(ty) != Some(parts.len() as u32) {
            return self.invalid("the parts do not fill the composite");
        }
        for (k, p) in parts.iter().enumerate() {
            let e = self.types.element(ty, k as u32).unwrap_or(0);
            let fits = match (p, self.types.ir(e)) {
                (Val::Ssa(v), Some(t)) => self.s.ty(*v) == t,
                (Val::Ssa(_), None) | (_, Some(_)) => false,
                _ => true,
            };
            if !fits {
                return self
                    .invalid(format!("part {k} has another type than the composite's element"));
            }
        }
        self.aggregate(parts)
    }

    /// An aggregate of these parts, if it is not too large.
    pub fn aggregate(&self, parts: Vec<Val>) -> Result<Val> {
        let mut extent = Extent { depth: 0, leaves: 0 };
        for part in &parts {
            let of = part.extent();
            extent.depth = extent.depth.max(of.depth);
            extent.leaves = extent.leaves.saturating_add(of.leaves);
        }
        extent = Extent { depth: extent.depth + 1, leaves: extent.leaves.max(1) };
        if extent.depth > MAX_DEPTH {
            return self.too_large(format!("a value that nests deeper than {MAX_DEPTH}"));
        }
        if extent.leaves > MAX_LEAVES {
            return self.too_large(format!("a value of more than {MAX_LEAVES} parts"));
        }
        Ok(Val::Agg(parts.into(), extent))
    }

    /// The scalar and vector leaves of a value, in order; also those of pointers and images.
    pub fn leaves(&self, v: &Val, out: &mut Vec<Value>) -> Result<()> {
        match v {
            Val::Void => {}
            Val::Ssa(v) => out.push(*v),
            Val::Agg(parts, _) => {
                for p in parts.iter() {
                    self.leaves(p, out)?;
                }
            }
            Val::Ptr(p) => {
                if !p.leaves(out) {
                    return self.unsupported(
                        "a pointer to this memory as a run-time value (phi, select, return)",
                    );
                }
            }
            Val::Image { image, sampler, .. } => {
                out.push(*image);
                out.extend(sampler);
            }
            Val::Sampler(v) => out.push(*v),
            Val::Tile(_) => return self.unsupported("a tile image as a run-time value"),
        }
        Ok(())
    }

    /// A value of the same shape with other leaves.
    pub fn with_leaves(shape: &Val, from: &mut impl Iterator<Item = Value>) -> Val {
        let mut next = |old: Value| from.next().unwrap_or(old);
        match shape {
            Val::Void => Val::Void,
            Val::Ssa(v) => Val::Ssa(next(*v)),
            Val::Agg(parts, extent) => {
                Val::Agg(parts.iter().map(|p| Self::with_leaves(p, from)).collect(), *extent)
            }
            Val::Ptr(p) => Val::Ptr(Rc::new(p.with_leaves(&mut next))),
            Val::Image { image, sampler, ty, access } => Val::Image {
                image: next(*image),
                sampler: sampler.map(&mut next),
                ty: *ty,
                access: *access,
            },
            Val::Sampler(v) => Val::Sampler(next(*v)),
            Val::Tile(slot) => Val::Tile(*slot),
        }
    }

    // ---- positions and precision ----

    /// Follows `OpLine`-like information.
    pub fn set_line(&mut self, file: Id, line: u32, col: u32) {
        if let Some(&l) = self.locs.get(&(file, line, col)) {
            self.loc = l;
            return;
        }
        let names = &mut self.s.files;
        let strings = &self.m.strings;
        let f = *self.files.entry(file).or_insert_with(|| {
            names.push(strings.get(&file).cloned().unwrap_or_default());
            names.len() as u32 - 1
        });
        self.loc = self.s.locs.push(SrcLoc { file: f, line, col });
        self.locs.insert((file, line, col), self.loc);
    }

    pub fn no_line(&mut self) {
        self.loc = Loc::default();
    }

    /// Reads the decorations that change how the current instruction may be optimised.
    fn inst_flags(&self, id: Id) -> InstFlags {
        let mut f = InstFlags::empty();
        for d in self.m.decor.of((id, None)) {
            match d.kind {
                Decoration::NoContraction => f |= InstFlags::EXACT,
                Decoration::RelaxedPrecision => f |= InstFlags::RELAXED,
                Decoration::FPFastMathMode => f |= fast_math_flags(d.arg),
                _ => {}
            }
        }
        f
    }

    /// Counts a step of the translation, of which there is a limit.
    pub fn step_once(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return self
                .too_large(format!("more than {MAX_STEPS} instructions with inlined calls"));
        }
        Ok(())
    }

    /// Translates one instruction that is not control flow.
    pub fn instruction(&mut self, i: Inst) -> Result<()> {
        self.step_once()?;
        if self.s.insts.len() > MAX_INSTS {
            return self.too_large(format!("more than {MAX_INSTS} instructions after inlining"));
        }
        self.at = i;
        self.flags = if i.id != 0 { self.inst_flags(i.id) } else { InstFlags::empty() };
        self.fast_math = i.id != 0 && self.m.decoration(i.id, Decoration::FPFastMathMode).is_some();
        self.dispatch(i)
    }

    fn dispatch(&mut self, i: Inst) -> Result<()> {
        let m = self.m;
        match i.op {
            S::Line => {
                let (f, l, c) = (m.op(&i, 0)?, m.op(&i, 1)?, m.op(&i, 2)?);
                self.set_line(f, l, c);
                Ok(())
            }
            S::NoLine => {
                self.no_line();
                Ok(())
            }
            S::Nop
            | S::LoopMerge
            | S::SelectionMerge
            | S::Name
            | S::MemberName
            | S::ModuleProcessed
            | S::AssumeTrueKHR => Ok(()),
            S::Undef => {
                let v = self.undef_val(i.ty)?;
                self.bind(v)
            }
            S::Phi => self.phi(i),
            S::EmitVertex | S::EmitStreamVertex | S::EndPrimitive | S::EndStreamPrimitive => {
                self.emission(i)
            }
            S::FunctionCall => {
                let args = m
                    .ops(&i)
                    .get(1..)
                    .unwrap_or(&[])
                    .iter()
                    .map(|&a| self.val(a))
                    .collect::<Result<Vec<_>>>()?;
                let callee = m.op(&i, 0)?;
                let v = self.call(callee, args)?;
                self.at = i;
                match v {
                    Val::Void => Ok(()),
                    v => self.bind(v),
                }
            }
            S::ExtInst | S::ExtInstWithForwardRefsKHR => self.ext_inst(i),
            _ => {
                if self.memory_inst(i)? || self.image_inst(i)? || self.subgroup_inst(i)? {
                    return Ok(());
                }
                let v = self.alu_inst(i, i.op, 0)?;
                self.bind(v)
            }
        }
    }
}

/// Index of a float size in [`tepui_ir::Info::float`].
pub(crate) fn float_size(bits: u8) -> Option<usize> {
    [16, 32, 64].iter().position(|&b| b == bits)
}

/// Flags that an `FPFastMathMode` mask leaves in force: NaNs, infinities and the sign of zero are
/// preserved unless the mask allows to ignore them; the instruction is exact unless the mask allows
/// contraction and reassociation.
pub(crate) fn fast_math_flags(mask: u32) -> InstFlags {
    const NOT_NAN_INF_NSZ: u32 = 0b111;
    const FAST: u32 = 1 << 4; // the old bit that means everything
    const CONTRACT_REASSOC: u32 = 0b11 << 16;
    let has = |m: u32| mask & (m | FAST) == m || mask & FAST != 0;
    let mut f = InstFlags::empty();
    f.set(InstFlags::STRICT, !has(NOT_NAN_INF_NSZ));
    f.set(InstFlags::EXACT, !has(CONTRACT_REASSOC));
    f
}
