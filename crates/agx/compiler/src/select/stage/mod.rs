//! Inputs, outputs and built-ins of vertex and fragment shaders.
//!
//! Outputs are collected and written at the end of the program ([`Select::end`]). Inputs in
//! registers are declared at its start ([`Select::begin`]).

pub(super) mod coefficients;
pub(super) mod fragment;
pub(super) mod interface;
pub(super) mod vertex;

use interface::words;
use tepui_sysval::SystemValue;

use super::{Comp, Opnd, Select};
use crate::abi::Interface;
use crate::error::Result;
use crate::mir::{HALF, Op as MOp, RegClass, Val, WORD, class_of};
use crate::uniforms::Source;
use crate::varyings::Table;
use tepui_agx_isa::operand::{RegOrImm, Size};
use tepui_ir::{Attrs, Builtin, Inst, NumKind, Shader, Type, Value};

/// The stage's own part of a selection.
#[derive(Clone, Default)]
pub(crate) enum Io {
    /// Compute shaders have no inputs and outputs.
    #[default]
    Compute,
    /// A vertex shader's.
    Vertex(Box<vertex::State>),
    /// A fragment shader's.
    Fragment(Box<fragment::State>),
}

impl Io {
    /// Looks through a shader for what the stage needs to know before.
    pub fn new(s: &Shader, interface: &Interface) -> Result<Io> {
        Ok(match interface {
            // Expanded stages are compute shaders.
            Interface::Compute | Interface::Expanded(_) => Io::Compute,
            Interface::Vertex(v) => Io::Vertex(Box::new(vertex::State::new(s, v)?)),
            Interface::Fragment(f) => Io::Fragment(Box::new(fragment::State::new(s, f)?)),
        })
    }

    /// The information that linking needs about the stage.
    pub fn table(self) -> Table {
        match self {
            Io::Compute => Table::None,
            Io::Vertex(v) => Table::Vertex(v.table),
            Io::Fragment(f) => Table::Fragment(f.table),
        }
    }
}

impl<'a> Select<'a> {
    /// Runs before the first instruction.
    pub(in crate::select) fn begin(&mut self) -> Result<()> {
        match &self.io {
            Io::Compute => Ok(()),
            Io::Vertex(_) => self.begin_vertex(),
            Io::Fragment(_) => self.begin_fragment(),
        }
    }

    /// Runs after the last instruction.
    pub(in crate::select) fn end(&mut self) -> Result<()> {
        match &self.io {
            Io::Compute => Ok(()),
            Io::Vertex(_) => self.end_vertex(),
            Io::Fragment(_) => self.end_fragment(),
        }
    }

    /// Selects an instruction that belongs to the stage; false when it is none.
    pub(in crate::select) fn stage_io(&mut self, i: Inst) -> Result<bool> {
        match (&self.io, self.s.insts[i].attrs) {
            (_, Attrs::Builtin(Builtin::ViewIndex)) => {
                let c = self.uniform_half(Source::System(SystemValue::ViewIndex))?;
                let r = self.s.result(i);
                self.set(r, &[c]);
                Ok(true)
            }
            (Io::Compute, _) => Ok(false),
            (Io::Vertex(_), _) => self.vertex_io(i),
            (Io::Fragment(_), _) => self.fragment_io(i),
        }
    }

    /// A 16-bit uniform as a 32-bit component.
    pub(in crate::select) fn uniform_half(&mut self, source: Source) -> Result<Comp> {
        let half = self.uniform(source)?;
        let o = Opnd::uniform(half, Size::B16);
        Ok(Comp::Val(self.iadd(32, false, o, Opnd::imm(0), 0)))
    }

    /// A value that is in a register when the program starts.
    pub(in crate::select) fn preload(&mut self, half: u16, class: RegClass) -> Val {
        let v = self.f.val(class);
        self.emit(MOp::Preload(half), &[v], &[]);
        v
    }

    /// Leaves values in registers, by first half-register.
    pub(in crate::select) fn export(&mut self, values: &[(u16, Val)]) {
        let vals: Vec<Val> = values.iter().map(|v| v.1).collect();
        self.f.exports = values.iter().map(|v| v.0).collect();
        if !vals.is_empty() {
            self.emit(MOp::Exports, &[], &vals);
        }
    }

    /// Consecutive registers with these words; trailing undefined ones are left out.
    pub(in crate::select) fn words_together(&mut self, words: &[Comp]) -> Option<Val> {
        let n = words.len() - words.iter().rev().take_while(|c| **c == Comp::Undef).count();
        let parts: Vec<Val> = words[..n].iter().map(|&c| self.reg(c, WORD)).collect();
        match parts[..] {
            [] => None,
            [one] => Some(one),
            _ => {
                let d = self.f.val(class_of(32, n as u8));
                self.emit(MOp::Collect, &[d], &parts);
                Some(d)
            }
        }
    }

    /// A value as words of the interface: 16-bit floats become 32-bit ones, small integers are
    /// extended.
    pub(in crate::select) fn words_of(&mut self, v: Value, kind: NumKind) -> Vec<Comp> {
        let ty = self.ty(v);
        let mut out = Vec::with_capacity(usize::from(words(ty)));
        for k in 0..usize::from(ty.comps()) {
            let c = self.comp(v, k);
            match (ty.bits(), c) {
                (64, c) => out.extend(self.words(c)),
                (32, c) | (_, c @ Comp::Undef) => out.push(c),
                (16, _) if kind == NumKind::Float => {
                    let o = self.fsrc(v, k);
                    out.push(Comp::Val(self.fadd(false, 32, false, o, Opnd::NEG_ZERO)));
                }
                (bits, Comp::Const(x)) => out.push(Comp::Const(match kind {
                    NumKind::Sint => tepui_ir::sext(x, bits) as u32 as u64,
                    _ => x,
                })),
                (bits, _) => {
                    let signed = kind == NumKind::Sint;
                    let mut o = match (bits, signed) {
                        (8, true) => self.sign_byte(v, k),
                        (8, false) => self.low_byte(v, k),
                        _ => self.isrc(v, k),
                    };
                    o.sx = signed;
                    out.push(Comp::Val(self.iadd(32, false, o, Opnd::imm(0), 0)));
                }
            }
        }
        out
    }

    /// The components of a type from words of the interface.
    pub(in crate::select) fn of_words(
        &mut self,
        ty: Type,
        kind: NumKind,
        words: &[Comp],
    ) -> Vec<Comp> {
        match ty.bits() {
            64 => words.chunks(2).map(|w| self.long([w[0], w[1]])).collect(),
            32 => words.to_vec(),
            _ => words
                .iter()
                .map(|&w| match w {
                    Comp::Undef => Comp::Undef,
                    w => {
                        let o = self.comp_src(w, 32);
                        Comp::Val(if kind == NumKind::Float {
                            self.fadd(false, 16, false, o, Opnd::NEG_ZERO)
                        } else {
                            self.mov(Opnd { size: Size::B16, ..o }, HALF)
                        })
                    }
                })
                .collect(),
        }
    }

    /// An operand that is a 16-bit register or a small number, and the value that fills it.
    pub(in crate::select) fn reg_or_imm(&mut self, c: Comp) -> (RegOrImm, Option<Val>) {
        match c {
            Comp::Const(x) if x < 256 => (RegOrImm::Imm(x as u8), None),
            c => (RegOrImm::Reg(crate::mir::UNASSIGNED), Some(self.reg(c, HALF))),
        }
    }

    /// An output outside of the program's straight line cannot be collected.
    pub(in crate::select) fn at_root(&self, i: Inst) -> Result<()> {
        if self.region_depth > 1 { self.refuse(i, "inside of control flow") } else { Ok(()) }
    }
}
