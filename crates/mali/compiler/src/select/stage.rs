//! Inputs and outputs of graphics stages, as far as stages share them.

use super::{Opnd, Select};
use crate::error::Result;
use crate::mir::Comp;
use std::collections::BTreeMap;
use tepui_ir::{Attrs, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Stage, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::operand::Swizzle;

/// The part of a shader that a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// Positions, with what goes with them.
    Position,
    /// Positions, without the point size.
    PositionWithoutSize,
    /// Varyings.
    Varying,
}

/// Words of a location, and how they are interpolated.
pub(super) type Varying = ([Comp; 4], Interp);

/// Outputs, which are stored at the end.
#[derive(Clone)]
pub(super) struct Outputs {
    pub position: [Comp; 4],
    pub point_size: Option<Comp>,
    pub layer: Option<Comp>,
    pub varyings: BTreeMap<u16, Varying>,
    /// Colours by target, with their type.
    pub colours: BTreeMap<u16, ([Comp; 4], NumKind)>,
    /// The second colour of target 0.
    pub second: Option<[Comp; 4]>,
    pub depth: Option<Comp>,
    pub stencil: Option<Comp>,
    pub sample_mask: Option<Comp>,
}

impl Default for Outputs {
    fn default() -> Outputs {
        Outputs {
            position: [Comp::Undef; 4],
            point_size: None,
            layer: None,
            varyings: BTreeMap::new(),
            colours: BTreeMap::new(),
            second: None,
            depth: None,
            stencil: None,
            sample_mask: None,
        }
    }
}

impl Select<'_> {
    /// Selects inputs and outputs of graphics stages; whether the instruction is one.
    pub(super) fn stage_io(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs, s.info.stage) {
            (Op::LoadInput, Attrs::Io(slot), Stage::Vertex | Stage::Compute) => {
                self.attribute(i, &slot)?;
            }
            (Op::StoreOutput, Attrs::Io(slot), Stage::Vertex) => self.vertex_output(i, &slot)?,
            (_, _, Stage::Fragment) => return self.fragment_io(i),
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn at_root(&self, i: Inst) -> Result<()> {
        match self.region_depth {
            1 => Ok(()),
            _ => self.refuse(i, "inside of control flow is not compiled for Mali yet"),
        }
    }

    fn vertex_output(&mut self, i: Inst, slot: &IoSlot) -> Result<()> {
        self.at_root(i)?;
        let words = self.words_of(self.s.arg(i, 0), slot.kind);
        let first = usize::from(slot.component);
        match slot.loc {
            IoLoc::Location(location) => {
                if first + words.len() > 4 {
                    return self.refuse(i, "past the end of its location is not compiled");
                }
                let entry = self.outputs.varyings.entry(location);
                let entry = entry.or_insert(([Comp::Undef; 4], slot.interp));
                entry.1 = slot.interp;
                entry.0[first..first + words.len()].copy_from_slice(&words);
            }
            IoLoc::Builtin(Builtin::Position) => {
                for (to, &word) in self.outputs.position.iter_mut().skip(first).zip(&words) {
                    *to = word;
                }
            }
            IoLoc::Builtin(Builtin::PointSize) => self.outputs.point_size = words.first().copied(),
            IoLoc::Builtin(Builtin::Layer) => self.outputs.layer = words.first().copied(),
            IoLoc::Builtin(b) => {
                return self.refuse(i, format!("of {} is not compiled for Mali yet", b.name()));
            }
        }
        Ok(())
    }

    /// A value as words of the interface: 16-bit floats become 32-bit ones, small integers are extended.
    pub(super) fn words_of(&mut self, v: Value, kind: NumKind) -> Vec<Comp> {
        let comps = self.all_comps(&[v]);
        let bits = self.ty(v).bits();
        if bits >= 32 {
            return comps;
        }
        let (op, part) = match (kind, bits) {
            (NumKind::Float, 16) => (IsaOp::F16_TO_F32, Swizzle::H0),
            (NumKind::Sint, 16) => (IsaOp::S16_TO_S32, Swizzle::H00),
            (_, 16) => (IsaOp::U16_TO_U32, Swizzle::H00),
            (NumKind::Sint, _) => (IsaOp::S8_TO_S32, Swizzle::B0),
            _ => (IsaOp::U8_TO_U32, Swizzle::B0),
        };
        let mut out = Vec::with_capacity(comps.len());
        for c in comps {
            out.push(match c {
                Comp::Undef => c,
                c => {
                    let v = self.register(c);
                    Comp::Val(self.word(op, &[Opnd::val(v).part(part)]))
                }
            });
        }
        out
    }
}
