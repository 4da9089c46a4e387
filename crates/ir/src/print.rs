//! Prints a shader as text, with values numbered in order of appearance. [`crate::parse()`] reads
//! it back.

use crate::attrs::{
    Access, Attrs, Image, ImageFormat, InstFlags, IoLoc, IoSlot, Mem, MemSet, TexOperands,
};
use crate::entity::{Inst, Loc, Region, Value};
use crate::shader::{DerivativeGroup, FloatControls, IoDecl, Primitives, Shader, Stage};
use std::collections::HashMap;
use std::fmt::{self, Display, Write};

/// Bytes of constant data on a line.
const DATA_ROW_B: usize = 32;

impl Display for Shader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut p = Printer { s: self, numbers: HashMap::new(), loc: Loc::default() };
        crate::stack::for_shader(self).run(|| p.shader(f))
    }
}

/// The numbers by which a printed shader names its values.
#[must_use]
pub fn numbers(s: &Shader) -> HashMap<Value, u32> {
    struct Nowhere;
    impl Write for Nowhere {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            Ok(())
        }
    }
    let mut p = Printer { s, numbers: HashMap::new(), loc: Loc::default() };
    // Writing to nowhere cannot fail.
    let _ = crate::stack::for_shader(s).run(|| p.shader(&mut Nowhere));
    p.numbers
}

/// One instruction as text, with the arena's own value numbers: for error messages and listings.
#[must_use]
pub fn inst_to_string(s: &Shader, inst: Inst) -> String {
    let mut p = Printer {
        s,
        numbers: s.values.keys().map(|v| (v, v.as_u32())).collect(),
        loc: s.insts[inst].loc,
    };
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = p.head(&mut out, inst);
    out
}

struct Printer<'a> {
    s: &'a Shader,
    numbers: HashMap<Value, u32>,
    loc: Loc,
}

/// A quoted string with `\"`, `\\` and `\n` escaped.
fn quote(s: &str) -> String {
    let mut o = String::from("\"");
    for c in s.chars() {
        match c {
            '"' => o.push_str("\\\""),
            '\\' => o.push_str("\\\\"),
            '\n' => o.push_str("\\n"),
            c => o.push(c),
        }
    }
    o.push('"');
    o
}

/// The words of the execution modes of one float size.
pub(crate) const FLOAT_WORDS: [&str; 5] =
    ["denorm_preserve", "denorm_flush", "preserve_special", "rte", "rtz"];

/// The modes in the order of [`FLOAT_WORDS`].
pub(crate) fn float_modes(f: &mut FloatControls) -> [&mut bool; 5] {
    [&mut f.denorm_preserve, &mut f.denorm_flush, &mut f.preserve_special, &mut f.rte, &mut f.rtz]
}

impl Printer<'_> {
    fn primitives(&self, f: &mut dyn Write) -> fmt::Result {
        let (p, d) = (&self.s.info.primitives, Primitives::default());
        if let Some(input) = p.input {
            writeln!(f, "  primitives {input}")?;
        }
        if p.output != d.output {
            writeln!(f, "  emits {}", p.output)?;
        }
        if p.vertices != d.vertices {
            writeln!(f, "  vertices {}", p.vertices)?;
        }
        if p.invocations != d.invocations {
            writeln!(f, "  invocations {}", p.invocations)?;
        }
        if let Some(spacing) = p.spacing {
            writeln!(f, "  spacing {spacing}")?;
        }
        if let Some(clockwise) = p.clockwise {
            writeln!(f, "  clockwise {}", u8::from(clockwise))?;
        }
        if p.point_mode {
            writeln!(f, "  point_mode")?;
        }
        Ok(())
    }

    fn shader(&mut self, f: &mut dyn Write) -> fmt::Result {
        let s = self.s;
        let i = &s.info;
        writeln!(f, "shader {} {} {{", i.stage, quote(&i.entry))?;
        if i.stage == Stage::Compute {
            let [x, y, z] = i.workgroup_size;
            writeln!(f, "  workgroup_size {x} {y} {z}")?;
        }
        for (name, v) in [
            ("shared_bytes", i.shared_bytes),
            ("push_bytes", i.push_bytes),
            ("scratch_bytes", i.scratch_bytes),
        ] {
            if v != 0 {
                writeln!(f, "  {name} {v}")?;
            }
        }
        for (name, v) in [
            ("linked", i.linked),
            ("early_tests", i.early_tests),
            ("post_depth_coverage", i.post_depth_coverage),
            ("early_and_late_tests", i.early_and_late_tests),
            ("per_sample", i.per_sample),
            ("maximal_reconvergence", i.maximal_reconvergence),
        ] {
            if v {
                writeln!(f, "  {name}")?;
            }
        }
        self.primitives(f)?;
        if i.derivatives != DerivativeGroup::None {
            writeln!(f, "  derivatives {}", i.derivatives)?;
        }
        if i.depth != crate::shader::DepthMode::Any {
            writeln!(f, "  depth {}", i.depth)?;
        }
        for (bits, mut fc) in [16, 32, 64].into_iter().zip(i.float) {
            let words: Vec<_> = float_modes(&mut fc)
                .into_iter()
                .zip(FLOAT_WORDS)
                .filter(|(on, _)| **on)
                .map(|(_, w)| w)
                .collect();
            if !words.is_empty() {
                writeln!(f, "  float {bits} [{}]", words.join(" "))?;
            }
        }
        for row in s.data.chunks(DATA_ROW_B) {
            let words = row.chunks(4).map(|w| {
                let word = w.iter().rev().fold(0, |a, &b| a << 8 | u32::from(b));
                format!("{word:#x}")
            });
            writeln!(f, "  data [{}]", words.collect::<Vec<_>>().join(" "))?;
        }
        for name in &s.files {
            writeln!(f, "  file {}", quote(name))?;
        }
        for r in s.resources.values() {
            write!(
                f,
                "  resource {} set {} binding {} count {}",
                r.kind, r.set, r.binding, r.count
            )?;
            write!(f, " {} {}", r.dim, r.texels)?;
            if r.array {
                write!(f, " array")?;
            }
            if r.ms {
                write!(f, " ms")?;
            }
            if r.format != ImageFormat::Unknown {
                write!(f, " format {}", r.format)?;
            }
            if r.input_attachment != 0 {
                write!(f, " attachment {}", r.input_attachment)?;
            }
            writeln!(f, " {}", quote(&r.name))?;
        }
        for v in s.vars.values() {
            write!(f, "  var {}", v.ty)?;
            if let Some(n) = v.len {
                write!(f, " [{n}]")?;
            }
            writeln!(f, " {}", quote(&v.name))?;
        }
        for (word, list) in [("input", &s.inputs), ("output", &s.outputs)] {
            for IoDecl { slot, ty, locations, name } in list {
                writeln!(f, "  {word} [{}] {ty} count {locations} {}", IoText(slot), quote(name))?;
            }
        }
        for c in &s.captures {
            write!(f, "  capture [{}] {} count {}", IoText(&c.slot), c.ty, c.locations)?;
            if c.stream != 0 {
                write!(f, " stream {}", c.stream)?;
            }
            writeln!(f, " buffer {} stride {} offset {}", c.buffer, c.stride, c.offset)?;
        }
        writeln!(f, "  body {{")?;
        self.region(f, s.root, 2)?;
        writeln!(f, "  }}\n}}")
    }

    fn define(&mut self, v: Value) -> u32 {
        let n = self.numbers.len() as u32;
        *self.numbers.entry(v).or_insert(n)
    }

    fn use_(&self, v: Value) -> String {
        self.numbers
            .get(&v)
            .map_or_else(|| format!("%undefined{}", v.as_u32()), |n| format!("%{n}"))
    }

    fn region(&mut self, f: &mut dyn Write, region: Region, depth: usize) -> fmt::Result {
        for &inst in &self.s.regions[region].insts {
            let pad = "  ".repeat(depth);
            let s = self.s;
            let data = &s.insts[inst];
            if data.loc != self.loc {
                self.loc = data.loc;
                let l = s.locs[data.loc];
                writeln!(f, "{pad}loc {}:{}:{}", l.file, l.line, l.col)?;
            }
            write!(f, "{pad}")?;
            self.head(f, inst)?;
            match data.attrs {
                Attrs::If(a, b) => {
                    writeln!(f, " {{")?;
                    self.region(f, a, depth + 1)?;
                    if s.regions[b].insts.len() == 1
                        && s.results(inst).is_empty()
                        && s.terminator(b).is_some_and(|t| {
                            s.insts[t].op == crate::Op::Yield && s.insts[t].loc == self.loc
                        })
                    {
                        writeln!(f, "{pad}}}")?;
                    } else {
                        writeln!(f, "{pad}}} else {{")?;
                        self.region(f, b, depth + 1)?;
                        writeln!(f, "{pad}}}")?;
                    }
                }
                Attrs::Loop(a) => {
                    writeln!(f, " {{")?;
                    self.region(f, a, depth + 1)?;
                    writeln!(f, "{pad}}}")?;
                }
                _ => writeln!(f)?,
            }
        }
        Ok(())
    }

    /// Everything of an instruction but its regions.
    fn head(&mut self, f: &mut dyn Write, inst: Inst) -> fmt::Result {
        let s = self.s;
        let data = &s.insts[inst];
        for (i, &r) in s.results(inst).iter().enumerate() {
            let n = self.define(r);
            write!(f, "{}%{n}:{}", if i == 0 { "" } else { ", " }, s.ty(r))?;
        }
        if !s.results(inst).is_empty() {
            write!(f, " = ")?;
        }
        write!(f, "{}", data.op.name())?;
        for (flag, name) in InstFlags::NAMES {
            if data.flags.contains(*flag) {
                write!(f, ".{name}")?;
            }
        }
        self.attrs(f, &data.attrs)?;
        let args = s.args(inst);
        if let Attrs::Loop(body) = data.attrs {
            write!(f, " (")?;
            for (i, &p) in s.regions[body].params.iter().enumerate() {
                let n = self.define(p);
                let init = args.get(i).map_or_else(String::new, |&a| self.use_(a));
                write!(f, "{}%{n}:{} = {init}", if i == 0 { "" } else { ", " }, s.ty(p))?;
            }
            return write!(f, ")");
        }
        for (i, &a) in args.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { " " } else { ", " }, self.use_(a))?;
        }
        let names: Vec<_> = s.results(inst).iter().filter_map(|&r| s.names[r].as_ref()).collect();
        if let [name] = names[..]
            && !name.contains('\n')
            && s.inst_regions(inst).next().is_none()
        {
            write!(f, " ; {name}")?;
        }
        Ok(())
    }

    fn attrs(&self, f: &mut dyn Write, a: &Attrs) -> fmt::Result {
        match a {
            Attrs::None | Attrs::If(..) | Attrs::Loop(_) => Ok(()),
            Attrs::Const(c) => write!(f, "[{c:#x}]"),
            Attrs::Index(i) => write!(f, "[{i}]"),
            Attrs::Var(v) => write!(f, "[{v}]"),
            Attrs::Res(r, acc) => write!(f, "[{r}{}]", Words(*acc)),
            Attrs::Mem(m) => write!(f, "[{}]", MemText(m)),
            Attrs::Atomic(op, m) => write!(f, "[{op} {}]", MemText(m)),
            Attrs::Image(i) => write!(f, "[{}]", ImageText(i)),
            Attrs::ImageAtomic(op, i) => write!(f, "[{op} {}]", ImageText(i)),
            Attrs::Reduce(r) => write!(f, "[{} {}]", r.op, r.cluster),
            Attrs::Quad(d) => write!(f, "[{d}]"),
            Attrs::Barrier(b) => {
                write!(f, "[{} {}", b.exec, b.mem)?;
                for (flag, name) in MemSet::NAMES {
                    if b.spaces.contains(*flag) {
                        write!(f, " {name}")?;
                    }
                }
                write!(f, "]")
            }
            Attrs::Io(slot) => write!(f, "[{}]", IoText(slot)),
            Attrs::Builtin(b) => write!(f, "[{b}]"),
        }
    }
}

struct Words(Access);

impl Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, name) in Access::NAMES {
            if self.0.contains(*flag) {
                write!(f, " {name}")?;
            }
        }
        Ok(())
    }
}

struct MemText<'a>(&'a Mem);

impl Display for MemText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "align {}", 1u64 << self.0.align_log2)?;
        if self.0.index.signed {
            write!(f, " signed")?;
        }
        if self.0.index.shift != 0 {
            write!(f, " shift {}", self.0.index.shift)?;
        }
        if self.0.offset != 0 {
            write!(f, " offset {}", self.0.offset)?;
        }
        write!(f, "{}", Words(self.0.access))
    }
}

struct ImageText<'a>(&'a Image);

impl Display for ImageText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let i = self.0;
        write!(f, "{} {}", i.dim, i.kind)?;
        if i.array {
            write!(f, " array")?;
        }
        if i.ms {
            write!(f, " ms")?;
        }
        if i.format != ImageFormat::Unknown {
            write!(f, " format {}", i.format)?;
        }
        if i.component != 0 {
            write!(f, " component {}", i.component)?;
        }
        if i.residency {
            write!(f, " residency")?;
        }
        for (flag, name) in TexOperands::NAMES {
            if i.operands.contains(*flag) {
                write!(f, " {name}")?;
            }
        }
        write!(f, "{}", Words(i.access))
    }
}

struct IoText<'a>(&'a IoSlot);

impl Display for IoText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0;
        match s.loc {
            IoLoc::Location(l) => write!(f, "location {l}")?,
            IoLoc::Builtin(b) => write!(f, "builtin {b}")?,
        }
        write!(f, " component {}", s.component)?;
        if s.index != 0 {
            write!(f, " index {}", s.index)?;
        }
        write!(f, " {} {} {}", s.kind, s.interp, s.sampling)
    }
}
