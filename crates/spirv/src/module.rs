//! Parses a module into instructions, decorations, names, functions and their blocks.

use crate::decor::{Decor, Decors, Target};
use crate::error::{Error, Kind, Result};
use crate::ids::{Id, IdMap};
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use rspirv::spirv::{self, Op};
use std::collections::HashMap;
use std::sync::LazyLock;

/// An instruction over the module's words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inst {
    pub op: Op,
    /// Word offset in the module.
    pub at: u32,
    /// First operand after result type and result.
    ops: u32,
    end: u32,
    /// Result type, or 0.
    pub ty: Id,
    /// Result, or 0.
    pub id: Id,
}

impl Inst {
    /// Name of the instruction as the specification writes it.
    pub fn name(&self) -> String {
        format!("Op{:?}", self.op)
    }

    pub fn err<T>(&self, kind: Kind) -> Result<T> {
        Err(Error { word: self.at as usize, inst: self.name(), kind })
    }

    pub fn invalid<T>(&self, what: impl Into<String>) -> Result<T> {
        self.err(Kind::Invalid(what.into()))
    }

    pub fn unsupported<T>(&self, what: impl Into<String>) -> Result<T> {
        self.err(Kind::Unsupported(what.into()))
    }
}

/// A merge instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Merge {
    Selection(Id),
    Loop { merge: Id, cont: Id },
}

/// A basic block.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Instructions between label and terminator (merge included), as indices into
    /// [`Module::insts`].
    pub first: u32,
    pub term: u32,
    pub merge: Option<Merge>,
}

/// A function with a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub params: Vec<Id>,
    pub entry: Id,
    pub blocks: IdMap<Block>,
}

/// The extended instruction set of source lines, variables and types.
pub(crate) const DEBUG_INFO: &str = "NonSemantic.Shader.DebugInfo.100";

/// A module cut into its sections.
pub(crate) struct Module<'a> {
    pub words: &'a [u32],
    pub insts: Vec<Inst>,
    pub ext_sets: IdMap<String>,
    pub decor: Decors,
    /// `OpName` and `OpMemberName` of what has one that is not empty, as indices into
    /// [`Module::insts`], in the order of what they name.
    names: Vec<(Target, u32)>,
    pub strings: IdMap<String>,
    pub entry_points: Vec<Inst>,
    pub modes: Vec<Inst>,
    /// Types, constants and global variables in order.
    pub globals: Vec<Inst>,
    pub functions: IdMap<Function>,
    /// Result type of each result id: operand types are looked up by id.
    pub result_ty: IdMap<Id>,
    pub version: (u32, u32),
}

/// Bit of [`SHAPES`]: declares a type.
const TYPE: u32 = 4;

/// Bit 0: has a result type; bit 1: has a result; [`TYPE`]. Indexed by opcode.
static SHAPES: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let mut shapes = Vec::new();
    for i in INSTRUCTION_TABLE.iter() {
        let at = i.opcode as usize;
        if shapes.len() <= at {
            shapes.resize(at + 1, 0);
        }
        if i.opname.starts_with("Type") {
            shapes[at] |= TYPE;
        }
        for o in i.operands {
            match o.kind {
                OperandKind::IdResultType => shapes[at] |= 1,
                OperandKind::IdResult => shapes[at] |= 2,
                _ => {}
            }
        }
    }
    shapes
});

/// The string that starts at the head of `words`, and how many words it takes.
pub(crate) fn string(words: &[u32]) -> (String, usize) {
    let mut bytes = Vec::with_capacity(16);
    for (i, w) in words.iter().enumerate() {
        for b in w.to_le_bytes() {
            if b == 0 {
                return (String::from_utf8_lossy(&bytes).into_owned(), i + 1);
            }
            bytes.push(b);
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), words.len())
}

fn header_error(word: usize, kind: Kind) -> Error {
    Error { word, inst: "header".to_owned(), kind }
}

impl<'a> Module<'a> {
    /// Cuts the words into instructions and sections.
    pub fn parse(words: &'a [u32]) -> Result<Module<'a>> {
        let invalid = |w, s: &str| header_error(w, Kind::Invalid(s.to_owned()));
        if words.len() < 5 {
            return Err(invalid(0, "a module has at least five words"));
        }
        if words[0] != spirv::MAGIC_NUMBER {
            return Err(invalid(
                0,
                "the magic number is not 0x07230203 in this machine's byte order",
            ));
        }
        let version = ((words[1] >> 16) & 0xff, (words[1] >> 8) & 0xff);
        if version.0 != 1 || version.1 > 6 {
            let (major, minor) = (version.0 as u8, version.1 as u8);
            return Err(header_error(1, Kind::Version { major, minor }));
        }
        let mut m = Module {
            words,
            insts: Vec::with_capacity(words.len() / 4),
            ext_sets: IdMap::default(),
            decor: Decors::default(),
            names: Vec::new(),
            strings: IdMap::default(),
            entry_points: Vec::new(),
            modes: Vec::new(),
            globals: Vec::new(),
            functions: IdMap::default(),
            // About a result for every six words: the map need not grow.
            result_ty: IdMap::with_capacity_and_hasher(words.len() / 6, Default::default()),
            version,
        };
        m.split()?;
        m.sections()?;
        Ok(m)
    }

    fn split(&mut self) -> Result<()> {
        let mut at = 5;
        while at < self.words.len() {
            let w = self.words[at];
            let (len, code) = ((w >> 16) as usize, w & 0xffff);
            let Some(op) = Op::from_u32(code) else {
                let kind = Kind::Unsupported(format!("opcode {code}"));
                return Err(Error { word: at, inst: format!("opcode {code}"), kind });
            };
            let mut inst = Inst { op, at: at as u32, ops: 0, end: 0, ty: 0, id: 0 };
            if len == 0 || at + len > self.words.len() {
                return inst.invalid(format!(
                    "the word count {len} passes the end of the module, or is 0"
                ));
            }
            let shape = SHAPES.get(code as usize).copied().unwrap_or(0);
            let mut o = at + 1;
            let need = (shape & 1) + (shape >> 1 & 1);
            if len <= need as usize {
                return inst.invalid("the instruction has too few words for its result");
            }
            if shape & 1 != 0 {
                inst.ty = self.words[o];
                o += 1;
            }
            if shape & 2 != 0 {
                inst.id = self.words[o];
                o += 1;
                if inst.ty != 0 && self.result_ty.insert(inst.id, inst.ty).is_some() {
                    return inst.invalid(format!("%{} is defined twice", inst.id));
                }
            }
            inst.ops = o as u32;
            inst.end = (at + len) as u32;
            self.insts.push(inst);
            at += len;
        }
        Ok(())
    }

    /// Operand words after result type and result.
    pub fn ops(&self, i: &Inst) -> &'a [u32] {
        &self.words[i.ops as usize..i.end as usize]
    }

    /// Operand word `n`.
    pub fn op(&self, i: &Inst, n: usize) -> Result<u32> {
        match self.ops(i).get(n) {
            Some(&w) => Ok(w),
            None => i.invalid(format!("operand {n} is missing")),
        }
    }

    /// Source text by file name: see [`crate::sources`].
    pub fn sources(&self) -> HashMap<String, String> {
        let mut texts: HashMap<String, String> = HashMap::new();
        // The text of a long source continues in instructions of its own.
        let mut last = None;
        for i in &self.insts {
            let (file, text) = match i.op {
                Op::Source => match *self.ops(i) {
                    [_, _, file, ref text @ ..] if !text.is_empty() => (file, string(text).0),
                    _ => continue,
                },
                Op::SourceContinued => {
                    if let Some(t) = last.as_ref().and_then(|f| texts.get_mut(f)) {
                        t.push_str(&self.string(i, 0).0);
                    }
                    continue;
                }
                Op::ExtInst => match *self.ops(i) {
                    // DebugSource: set, 35, file, text.
                    [set, 35, file, text, ..]
                        if self.ext_sets.get(&set).is_some_and(|s| s == DEBUG_INFO) =>
                    {
                        (file, self.strings.get(&text).cloned().unwrap_or_default())
                    }
                    _ => continue,
                },
                _ => continue,
            };
            if let Some(name) = self.strings.get(&file) {
                texts.insert(name.clone(), text);
                last = Some(name.clone());
            }
        }
        texts
    }

    /// The string at operand `n`, and the operand after it.
    pub fn string(&self, i: &Inst, n: usize) -> (String, usize) {
        let (s, len) = string(self.ops(i).get(n..).unwrap_or(&[]));
        (s, n + len)
    }

    fn sections(&mut self) -> Result<()> {
        let insts = std::mem::take(&mut self.insts);
        let mut function: Option<(Id, Function)> = None;
        let mut label: Option<(Id, u32, Option<Merge>)> = None;
        let mut groups: Vec<(Id, Target)> = Vec::new();
        for (n, inst) in insts.iter().enumerate() {
            let n = n as u32;
            let ops = self.ops(inst);
            if let Some((id, f)) = &mut function {
                match inst.op {
                    Op::FunctionParameter => f.params.push(inst.id),
                    Op::Label => {
                        if label.is_some() {
                            return inst.invalid("the block before it has no terminator");
                        }
                        if f.entry == 0 {
                            f.entry = inst.id;
                        }
                        label = Some((inst.id, n + 1, None));
                    }
                    Op::SelectionMerge | Op::LoopMerge => {
                        let merge = self.op(inst, 0)?;
                        let Some(l) = &mut label else { return inst.invalid("outside any block") };
                        l.2 = Some(if inst.op == Op::LoopMerge {
                            Merge::Loop { merge, cont: self.op(inst, 1)? }
                        } else {
                            Merge::Selection(merge)
                        });
                    }
                    Op::FunctionEnd => {
                        if label.is_some() {
                            return inst.invalid("the last block has no terminator");
                        }
                        let (id, f) = (*id, std::mem::take(f));
                        self.functions.insert(id, f);
                        function = None;
                    }
                    Op::Line | Op::NoLine => {}
                    op if is_terminator(op) => {
                        let Some((l, first, merge)) = label.take() else {
                            return inst.invalid("outside any block");
                        };
                        if f.blocks.insert(l, Block { first, term: n, merge }).is_some() {
                            return inst.invalid(format!("block %{l} is defined twice"));
                        }
                    }
                    // Instructions without meaning may follow a terminator.
                    Op::ExtInst | Op::ExtInstWithForwardRefsKHR
                        if ops
                            .first()
                            .and_then(|set| self.ext_sets.get(set))
                            .is_some_and(|s| s.starts_with("NonSemantic.")) => {}
                    _ if label.is_none() => return inst.invalid("outside any block"),
                    _ => {}
                }
                continue;
            }
            match inst.op {
                Op::Function => function = Some((inst.id, Function::default())),
                Op::ExtInstImport => {
                    self.ext_sets.insert(inst.id, self.string(inst, 0).0);
                }
                Op::EntryPoint => self.entry_points.push(*inst),
                Op::ExecutionMode | Op::ExecutionModeId => self.modes.push(*inst),
                Op::String => {
                    self.strings.insert(inst.id, self.string(inst, 0).0);
                }
                Op::Name if self.op(inst, 1)? & 0xff != 0 => {
                    self.names.push(((ops[0], None), n));
                }
                Op::MemberName => {
                    self.names.push(((self.op(inst, 0)?, Some(self.op(inst, 1)?)), n));
                }
                Op::Decorate | Op::DecorateId => {
                    if let Some(kind) = spirv::Decoration::from_u32(self.op(inst, 1)?) {
                        let arg = ops.get(2).copied().unwrap_or(0);
                        self.decor.push((ops[0], None), Decor { kind, arg });
                    }
                }
                Op::MemberDecorate => {
                    if let Some(kind) = spirv::Decoration::from_u32(self.op(inst, 2)?) {
                        let arg = ops.get(3).copied().unwrap_or(0);
                        self.decor.push((ops[0], Some(ops[1])), Decor { kind, arg });
                    }
                }
                Op::GroupDecorate => {
                    let group = self.op(inst, 0)?;
                    groups.extend(ops[1..].iter().map(|&id| (group, (id, None))));
                }
                Op::GroupMemberDecorate => {
                    let group = self.op(inst, 0)?;
                    let pairs = ops[1..].chunks_exact(2);
                    groups.extend(pairs.map(|p| (group, (p[0], Some(p[1])))));
                }
                Op::MemoryModel
                    if self.op(inst, 0)? == spirv::AddressingModel::Physical32 as u32 =>
                {
                    return inst.unsupported("Physical32 addressing");
                }
                op if is_global(op) => self.globals.push(*inst),
                _ => {}
            }
        }
        if function.is_some() {
            return Err(Error {
                word: self.words.len(),
                inst: "OpFunction".to_owned(),
                kind: Kind::Invalid("the last function has no OpFunctionEnd".to_owned()),
            });
        }
        self.decor.spread(&groups);
        self.decor.sort();
        self.names.sort_by_key(|n| n.0);
        self.insts = insts;
        Ok(())
    }

    /// The operand of a decoration on `id`, 0 when it has none.
    pub fn decoration(&self, id: Id, kind: spirv::Decoration) -> Option<u32> {
        self.decor.arg((id, None), kind)
    }

    /// The operand of a decoration on member `n` of structure `ty`.
    pub fn member_decoration(&self, ty: Id, n: u32, kind: spirv::Decoration) -> Option<u32> {
        self.decor.arg((ty, Some(n)), kind)
    }

    /// The instruction that names a target; the last one when there are more.
    fn named(&self, target: Target) -> Option<&Inst> {
        let end = self.names.partition_point(|n| n.0 <= target);
        let &(found, inst) = self.names[..end].last()?;
        (found == target).then(|| &self.insts[inst as usize])
    }

    /// Whether `id` has a name.
    pub fn is_named(&self, id: Id) -> bool {
        self.named((id, None)).is_some()
    }

    /// The name of `id`, or empty.
    pub fn name(&self, id: Id) -> String {
        self.named((id, None)).map_or_else(String::new, |i| short(self.string(i, 1).0))
    }

    /// The name of member `k` of structure `id`, if it has one.
    pub fn member_name(&self, id: Id, k: u32) -> Option<String> {
        self.named((id, Some(k))).map(|i| short(self.string(i, 2).0))
    }
}

/// Maximum number of bytes of a name in the IR: each leaf of a variable repeats the names of what it is part of.
const MAX_NAME: usize = 200;

/// The start of a name that is longer than [`MAX_NAME`].
pub(crate) fn short(mut name: String) -> String {
    if name.len() > MAX_NAME {
        name.truncate(name.floor_char_boundary(MAX_NAME));
    }
    name
}

/// Whether the instruction ends a block.
pub(crate) fn is_terminator(op: Op) -> bool {
    matches!(
        op,
        Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::Return
            | Op::ReturnValue
            | Op::Kill
            | Op::Unreachable
            | Op::TerminateInvocation
            | Op::IgnoreIntersectionKHR
            | Op::TerminateRayKHR
            | Op::EmitMeshTasksEXT
    )
}

fn is_global(op: Op) -> bool {
    let c = op as u32;
    (Op::TypeVoid as u32..=Op::TypeForwardPointer as u32).contains(&c)
        || (Op::ConstantTrue as u32..=Op::SpecConstantOp as u32).contains(&c)
        || matches!(op, Op::ConstantCompositeReplicateEXT | Op::SpecConstantCompositeReplicateEXT)
        || matches!(
            op,
            Op::Variable
                | Op::UntypedVariableKHR
                | Op::Undef
                | Op::ExtInst
                | Op::ExtInstWithForwardRefsKHR
                | Op::Line
                | Op::NoLine
        )
        || SHAPES.get(c as usize).is_some_and(|s| s & TYPE != 0)
}
