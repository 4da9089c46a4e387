//! Parses the text form that [`mod@crate::print`] writes.

use crate::attrs::{
    Access, AtomicOp, AttrKind, Attrs, Barrier, Builtin, Dim, Image, ImageFormat, InstFlags,
    Interp, IoLoc, IoSlot, Mem, MemSet, NumKind, QuadDir, Reduce, ReduceOp, Sampling, Scope,
    TexOperands,
};
use crate::entity::{Inst, Loc, Region, Res, Value, Var};
use crate::op::Op;
use crate::print::{FLOAT_WORDS, float_modes};
use crate::shader::{
    Capture, DepthMode, DerivativeGroup, IoDecl, PrimitiveKind, ResKind, Resource, Shader, Spacing,
    SrcLoc, Stage, VarData,
};
use crate::stack;
use crate::types::Type;
use crate::validate::MAX_DEPTH;
use cranelift_entity::EntityRef;
use std::collections::HashMap;

/// Text that is not a shader.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{line}:{col}: {kind}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub col: u32,
    /// The problem.
    pub kind: ParseErrorKind,
}

/// Reason why text is not a shader.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// Something else was expected.
    #[error("{0}")]
    Syntax(String),
    /// Regions nest deeper than passes take.
    #[error("regions nest deeper than {limit}")]
    Nesting {
        /// The deepest nesting.
        limit: u32,
    },
}

type Result<T> = std::result::Result<T, ParseError>;

/// Reads one shader. The result is well-formed text, not yet a valid shader: see
/// [`crate::validate()`].
///
/// # Errors
/// The first place where the text is not in the printed form.
pub fn parse(text: &str) -> Result<Shader> {
    let mut p = Parser {
        text,
        at: 0,
        values: HashMap::new(),
        s: Shader::new(Stage::Compute),
        loc: Loc::default(),
        depth: 0,
    };
    p.shader()?;
    p.space();
    if p.at < text.len() {
        return p.err("text after the shader");
    }
    Ok(p.s)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: HashMap<u32, Value>,
    s: Shader,
    loc: Loc,
    depth: u32,
}

fn word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$@-".contains(c)
}

impl<'a> Parser<'a> {
    fn err<T>(&self, what: impl Into<String>) -> Result<T> {
        self.fail(ParseErrorKind::Syntax(what.into()))
    }

    fn fail<T>(&self, kind: ParseErrorKind) -> Result<T> {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() as u32 + 1;
        let col = before.chars().rev().take_while(|&c| c != '\n').count() as u32 + 1;
        Err(ParseError { line, col, kind })
    }

    fn space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with(';') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let hit = self.peek() == Some(c);
        if hit {
            self.at += c.len_utf8();
        }
        hit
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.eat(c) { Ok(()) } else { self.err(format!("expected `{c}`")) }
    }

    fn peek_word(&mut self) -> &'a str {
        self.space();
        let rest = &self.text[self.at..];
        &rest[..rest.find(|c| !word_char(c)).unwrap_or(rest.len())]
    }

    fn word(&mut self) -> Result<&'a str> {
        let w = self.peek_word();
        if w.is_empty() {
            return self.err("expected a word");
        }
        self.at += w.len();
        Ok(w)
    }

    fn eat_word(&mut self, w: &str) -> bool {
        let hit = self.peek_word() == w;
        if hit {
            self.at += w.len();
        }
        hit
    }

    fn number<T: TryFrom<i128>>(&mut self) -> Result<T> {
        let start = self.at;
        let w = self.word()?;
        let n = match w.strip_prefix("0x") {
            Some(h) => i128::from_str_radix(h, 16).ok(),
            None => w.parse().ok(),
        };
        match n.and_then(|n| T::try_from(n).ok()) {
            Some(n) => Ok(n),
            None => {
                self.at = start;
                self.err(format!("`{w}` is not a number of this range"))
            }
        }
    }

    /// A word of an enumeration.
    fn named<T>(&mut self, f: fn(&str) -> Option<T>, what: &str) -> Result<T> {
        self.space();
        let start = self.at;
        let w = self.word()?;
        match f(w) {
            Some(v) => Ok(v),
            None => {
                self.at = start;
                self.err(format!("`{w}` is not {what}"))
            }
        }
    }

    fn string(&mut self) -> Result<String> {
        self.expect('"')?;
        let mut out = String::new();
        let mut chars = self.text[self.at..].char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += i + 1;
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, c)) => out.push(c),
                    None => break,
                },
                c => out.push(c),
            }
        }
        self.err("the string does not end")
    }

    fn ty(&mut self) -> Result<Type> {
        self.named(|w| w.parse().ok(), "a type (b32, b16x4 …)")
    }

    /// `$vN` or `@rN`.
    fn entity<E: EntityRef>(&mut self, prefix: &str, len: usize) -> Result<E> {
        self.space();
        let start = self.at;
        let w = self.word()?;
        match w.strip_prefix(prefix).and_then(|n| n.parse::<usize>().ok()) {
            Some(n) if n < len => Ok(E::new(n)),
            _ => {
                self.at = start;
                self.err(format!("`{w}` is not declared; expected {prefix}N with N < {len}"))
            }
        }
    }

    fn shader(&mut self) -> Result<()> {
        if !self.eat_word("shader") {
            return self.err("expected `shader`");
        }
        let stage = self.named(Stage::from_name, "a stage")?;
        self.s.info = crate::shader::Info::new(stage);
        self.s.info.entry = self.string()?;
        self.expect('{')?;
        while !self.eat_word("body") {
            self.declaration()?;
        }
        self.expect('{')?;
        self.region(self.s.root)?;
        self.expect('}')
    }

    fn declaration(&mut self) -> Result<()> {
        let start = self.at;
        match self.word()? {
            "workgroup_size" => {
                for i in 0..3 {
                    self.s.info.workgroup_size[i] = self.number()?;
                }
            }
            "shared_bytes" => self.s.info.shared_bytes = self.number()?,
            "push_bytes" => self.s.info.push_bytes = self.number()?,
            "scratch_bytes" => self.s.info.scratch_bytes = self.number()?,
            "linked" => self.s.info.linked = true,
            "early_tests" => self.s.info.early_tests = true,
            "post_depth_coverage" => self.s.info.post_depth_coverage = true,
            "early_and_late_tests" => self.s.info.early_and_late_tests = true,
            "per_sample" => self.s.info.per_sample = true,
            "maximal_reconvergence" => self.s.info.maximal_reconvergence = true,
            "primitives" => {
                let input = self.named(PrimitiveKind::from_name, "a kind of primitive")?;
                self.s.info.primitives.input = Some(input);
            }
            "emits" => {
                self.s.info.primitives.output =
                    self.named(PrimitiveKind::from_name, "a kind of primitive")?;
            }
            "vertices" => self.s.info.primitives.vertices = self.number()?,
            "invocations" => self.s.info.primitives.invocations = self.number()?,
            "spacing" => {
                let spacing = self.named(Spacing::from_name, "a spacing of edges")?;
                self.s.info.primitives.spacing = Some(spacing);
            }
            "clockwise" => self.s.info.primitives.clockwise = Some(self.number::<u8>()? != 0),
            "point_mode" => self.s.info.primitives.point_mode = true,
            "derivatives" => {
                self.s.info.derivatives =
                    self.named(DerivativeGroup::from_name, "none, quads or linear")?;
            }
            "depth" => self.s.info.depth = self.named(DepthMode::from_name, "a depth mode")?,
            "float" => {
                let i = match self.number::<u32>()? {
                    16 => 0,
                    32 => 1,
                    64 => 2,
                    _ => return self.err("expected 16, 32 or 64"),
                };
                self.expect('[')?;
                while !self.eat(']') {
                    let w = self.word()?;
                    let Some(k) = FLOAT_WORDS.iter().position(|f| *f == w) else {
                        return self.err(format!("`{w}` is not a float mode"));
                    };
                    *float_modes(&mut self.s.info.float[i])[k] = true;
                }
            }
            "data" => {
                self.expect('[')?;
                while !self.eat(']') {
                    let word: u32 = self.number()?;
                    self.s.data.extend(word.to_le_bytes());
                }
            }
            "file" => {
                let f = self.string()?;
                self.s.files.push(f);
            }
            "resource" => {
                let mut r = Resource::new(self.named(ResKind::from_name, "a resource kind")?, 0, 0);
                while self.peek() != Some('"') {
                    match self.word()? {
                        "set" => r.set = self.number()?,
                        "binding" => r.binding = self.number()?,
                        "count" => r.count = self.number()?,
                        "array" => r.array = true,
                        "ms" => r.ms = true,
                        "format" => {
                            r.format = self.named(ImageFormat::from_name, "an image format")?
                        }
                        "attachment" => r.input_attachment = self.number()?,
                        w => {
                            if let Some(d) = Dim::from_name(w) {
                                r.dim = d;
                            } else if let Some(k) = NumKind::from_name(w) {
                                r.texels = k;
                            } else {
                                return self.err(format!("`{w}` is not part of a resource"));
                            }
                        }
                    }
                }
                r.name = self.string()?;
                self.s.resources.push(r);
            }
            "var" => {
                let ty = self.ty()?;
                let mut len = None;
                if self.eat('[') {
                    len = Some(self.number()?);
                    self.expect(']')?;
                }
                let name = self.string()?;
                self.s.vars.push(VarData { ty, len, name });
            }
            w @ ("input" | "output") => {
                self.expect('[')?;
                let slot = self.io()?;
                self.expect(']')?;
                let ty = self.ty()?;
                if !self.eat_word("count") {
                    return self.err("expected `count`");
                }
                let locations = self.number()?;
                let decl = IoDecl { slot, ty, locations, name: self.string()? };
                if w == "input" { self.s.inputs.push(decl) } else { self.s.outputs.push(decl) }
            }
            "capture" => {
                self.expect('[')?;
                let slot = self.io()?;
                self.expect(']')?;
                let ty = self.ty()?;
                let mut numbers = [0; 5];
                let words = ["count", "stream", "buffer", "stride", "offset"];
                for (word, n) in words.iter().zip(&mut numbers) {
                    if self.eat_word(word) {
                        *n = self.number()?;
                    } else if *word != "stream" {
                        return self.err(format!("expected `{word}`"));
                    }
                }
                let [locations, stream, buffer, stride, offset] = numbers;
                let c = Capture { slot, ty, locations, stream, buffer, stride, offset };
                self.s.captures.push(c);
            }
            w => {
                self.at = start;
                return self.err(format!("`{w}` is not a declaration"));
            }
        }
        Ok(())
    }

    /// Up to and including the closing brace.
    fn region(&mut self, region: Region) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(ParseErrorKind::Nesting { limit: MAX_DEPTH });
        }
        while !self.eat('}') {
            if self.eat_word("loc") {
                let file = self.number()?;
                self.expect(':')?;
                let line = self.number()?;
                self.expect(':')?;
                let loc = SrcLoc { file, line, col: self.number()? };
                self.loc =
                    if loc == SrcLoc::default() { Loc::default() } else { self.s.locs.push(loc) };
                continue;
            }
            let inst = stack::grow(|| self.inst())?;
            self.s.regions[region].insts.push(inst);
        }
        self.depth -= 1;
        Ok(())
    }

    /// `%N:type`, defining.
    fn definition(&mut self) -> Result<(u32, Type)> {
        self.expect('%')?;
        let n = self.number()?;
        self.expect(':')?;
        Ok((n, self.ty()?))
    }

    fn bind(&mut self, n: u32, v: Value) -> Result<()> {
        if self.values.insert(n, v).is_some() {
            return self.err(format!("%{n} is defined twice"));
        }
        Ok(())
    }

    fn use_(&mut self) -> Result<Value> {
        self.space();
        let start = self.at;
        self.expect('%')?;
        let n = self.number()?;
        match self.values.get(&n) {
            Some(&v) => Ok(v),
            None => {
                self.at = start;
                self.err(format!("%{n} is not defined before this use"))
            }
        }
    }

    fn inst(&mut self) -> Result<Inst> {
        let mut results = Vec::new();
        if self.peek() == Some('%') {
            results.push(self.definition()?);
            while self.eat(',') {
                results.push(self.definition()?);
            }
            self.expect('=')?;
        }
        self.space();
        let op_at = self.at;
        let op = self.named(Op::from_name, "an op")?;
        let mut flags = InstFlags::empty();
        while self.text[self.at..].starts_with('.') {
            self.at += 1;
            flags |= self.named(InstFlags::flag_from_name, "an instruction flag")?;
        }
        let loc = self.loc;
        let kind = op.info().attrs;
        let mut attrs = Attrs::None;
        if self.eat('[') {
            attrs = self.attrs(kind)?;
            self.expect(']')?;
        }
        let mut args = Vec::new();
        let mut params = Vec::new();
        if kind == AttrKind::Loop {
            self.expect('(')?;
            while !self.eat(')') {
                params.push(self.definition()?);
                self.expect('=')?;
                args.push(self.use_()?);
                if !self.eat(',') && self.peek() != Some(')') {
                    return self.err("expected `,` or `)`");
                }
            }
        } else if self.peek() == Some('%') && !self.at_definition() {
            args.push(self.use_()?);
            while self.eat(',') {
                args.push(self.use_()?);
            }
        }
        match kind {
            AttrKind::Loop => {
                let body = self.s.make_region();
                for (n, ty) in params {
                    let v = self.s.add_param(body, ty);
                    self.bind(n, v)?;
                }
                self.expect('{')?;
                self.region(body)?;
                attrs = Attrs::Loop(body);
            }
            AttrKind::If => {
                let (a, b) = (self.s.make_region(), self.s.make_region());
                self.expect('{')?;
                self.region(a)?;
                if self.eat_word("else") {
                    self.expect('{')?;
                    self.region(b)?;
                } else {
                    let y = self.s.make_inst(Op::Yield, Attrs::None, &[], &[]);
                    self.s.insts[y].loc = self.loc;
                    self.s.regions[b].insts.push(y);
                }
                attrs = Attrs::If(a, b);
            }
            _ => {}
        }
        if attrs.kind() != kind {
            self.at = op_at;
            return self.err(format!("{} needs [{kind}] attributes", op.name()));
        }
        let tys: Vec<_> = results.iter().map(|r| r.1).collect();
        let inst = self.s.make_inst(op, attrs, &args, &tys);
        self.s.insts[inst].flags = flags;
        self.s.insts[inst].loc = loc;
        for (i, (n, _)) in results.into_iter().enumerate() {
            let v = self.s.results(inst)[i];
            self.bind(n, v)?;
        }
        Ok(inst)
    }

    /// Whether a `%N:` follows: the next instruction's result, not an operand.
    fn at_definition(&mut self) -> bool {
        self.space();
        let rest = self.text[self.at + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest.trim_start().starts_with(':')
    }

    fn attrs(&mut self, kind: AttrKind) -> Result<Attrs> {
        Ok(match kind {
            AttrKind::None | AttrKind::If | AttrKind::Loop => {
                return self.err("the op takes no attributes");
            }
            AttrKind::Const => Attrs::Const(self.number()?),
            AttrKind::Index => Attrs::Index(self.number()?),
            AttrKind::Var => Attrs::Var(self.entity::<Var>("$v", self.s.vars.len())?),
            AttrKind::Res => {
                let r = self.entity::<Res>("@r", self.s.resources.len())?;
                let mut access = Access::empty();
                while self.peek() != Some(']') {
                    access |= self.named(Access::flag_from_name, "an access flag")?;
                }
                Attrs::Res(r, access)
            }
            AttrKind::Mem => Attrs::Mem(self.mem()?),
            AttrKind::Atomic => {
                Attrs::Atomic(self.named(AtomicOp::from_name, "an atomic operation")?, self.mem()?)
            }
            AttrKind::Image => Attrs::Image(self.image()?),
            AttrKind::ImageAtomic => Attrs::ImageAtomic(
                self.named(AtomicOp::from_name, "an atomic operation")?,
                self.image()?,
            ),
            AttrKind::Reduce => Attrs::Reduce(Reduce {
                op: self.named(ReduceOp::from_name, "a reduction operator")?,
                cluster: self.number()?,
            }),
            AttrKind::Quad => Attrs::Quad(self.named(QuadDir::from_name, "a quad direction")?),
            AttrKind::Barrier => {
                let exec = self.named(Scope::from_name, "a scope")?;
                let mem = self.named(Scope::from_name, "a scope")?;
                let mut spaces = MemSet::empty();
                while self.peek() != Some(']') {
                    spaces |= self.named(MemSet::flag_from_name, "a memory")?;
                }
                Attrs::Barrier(Barrier { exec, mem, spaces })
            }
            AttrKind::Io => Attrs::Io(self.io()?),
            AttrKind::Builtin => Attrs::Builtin(self.named(Builtin::from_name, "a built-in")?),
        })
    }

    fn mem(&mut self) -> Result<Mem> {
        let mut m = Mem::default();
        while self.peek() != Some(']') {
            match self.peek_word() {
                "align" => {
                    self.word()?;
                    let n: u64 = self.number()?;
                    if !n.is_power_of_two() {
                        return self.err("an alignment is a power of two");
                    }
                    m.align_log2 = n.trailing_zeros() as u8;
                }
                "offset" => {
                    self.word()?;
                    m.offset = self.number()?;
                }
                "signed" => {
                    self.word()?;
                    m.index.signed = true;
                }
                "shift" => {
                    self.word()?;
                    m.index.shift = self.number()?;
                    if m.index.shift > 31 {
                        return self.err("an index is shifted by 0 to 31 bits");
                    }
                }
                _ => {
                    m.access |= self
                        .named(Access::flag_from_name, "`align N`, `offset N` or an access flag")?
                }
            }
        }
        Ok(m)
    }

    fn image(&mut self) -> Result<Image> {
        let mut i = Image {
            dim: self.named(Dim::from_name, "an image dimension")?,
            kind: self.named(NumKind::from_name, "float, sint or uint")?,
            array: false,
            ms: false,
            operands: TexOperands::empty(),
            component: 0,
            residency: false,
            format: ImageFormat::Unknown,
            access: Access::empty(),
        };
        while self.peek() != Some(']') {
            match self.word()? {
                "array" => i.array = true,
                "ms" => i.ms = true,
                "residency" => i.residency = true,
                "format" => i.format = self.named(ImageFormat::from_name, "an image format")?,
                "component" => i.component = self.number()?,
                w => {
                    if let Some(t) = TexOperands::flag_from_name(w) {
                        i.operands |= t;
                    } else if let Some(a) = Access::flag_from_name(w) {
                        i.access |= a;
                    } else {
                        return self.err(format!("`{w}` is not an image attribute"));
                    }
                }
            }
        }
        Ok(i)
    }

    fn io(&mut self) -> Result<IoSlot> {
        let loc = match self.word()? {
            "location" => IoLoc::Location(self.number()?),
            "builtin" => IoLoc::Builtin(self.named(Builtin::from_name, "a built-in")?),
            w => return self.err(format!("`{w}`: expected `location N` or `builtin NAME`")),
        };
        let mut slot = IoSlot {
            loc,
            component: 0,
            index: 0,
            kind: NumKind::Float,
            interp: Interp::Smooth,
            sampling: Sampling::Center,
        };
        while self.peek() != Some(']') {
            match self.word()? {
                "component" => slot.component = self.number()?,
                "index" => slot.index = self.number()?,
                w => {
                    if let Some(k) = NumKind::from_name(w) {
                        slot.kind = k;
                    } else if let Some(k) = Interp::from_name(w) {
                        slot.interp = k;
                    } else if let Some(k) = Sampling::from_name(w) {
                        slot.sampling = k;
                    } else {
                        return self.err(format!("`{w}` is not part of a slot"));
                    }
                }
            }
        }
        Ok(slot)
    }
}
