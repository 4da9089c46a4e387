//! Vertex shaders: elements in registers, and built-ins.

use super::alu::op;
use super::io::Stage;
use super::{Comp, Select};
use crate::error::Result;
use crate::interface::words;
use crate::stage::{VertexElement, VertexInfo};
use tepui_intel_isa::{Opcode, Type as Ty};
use tepui_ir::{self as ir, Attrs, Builtin, IoLoc, Op};

/// Components of [`VertexElement::Ids`].
const FIRST_VERTEX: u8 = 0;
const FIRST_INSTANCE: u8 = 1;
const VERTEX: u8 = 2;
const INSTANCE: u8 = 3;

impl Select<'_> {
    /// Declares the components of elements that the shader reads.
    pub(super) fn begin_vertex(&mut self, info: &VertexInfo) {
        for (k, &mask) in info.components.iter().enumerate() {
            for c in (0..4u8).filter(|c| mask >> c & 1 != 0) {
                if let Some(register) = info.register(k, c) {
                    let v = self.preload(self.io.inputs + register);
                    self.io.preloaded.insert((k as u16, c), Comp::Val(v));
                }
            }
        }
    }

    /// A component of an element.
    fn element(&self, wanted: impl Fn(&VertexElement) -> bool, component: u8) -> Comp {
        let Stage::Vertex(info) = self.io.stage else { return Comp::Undef };
        let at = info.elements.iter().position(wanted);
        let key = at.map(|k| (k as u16, component));
        key.and_then(|key| self.io.preloaded.get(&key)).copied().unwrap_or(Comp::Undef)
    }

    fn id(&self, component: u8) -> Comp {
        self.element(|e| matches!(e, VertexElement::Ids { .. }), component)
    }

    /// A number of the draw that begins at another one.
    fn counted(&mut self, number: u8, first: u8) -> Comp {
        let sources = [self.id(number), self.id(first)].map(|c| self.source(c, Ty::UD));
        Comp::Val(self.def(op(Opcode::Add), Ty::UD, &sources))
    }

    pub(super) fn vertex_io(&mut self, i: ir::Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInput, Attrs::Io(slot)) => {
                let ty = self.ty(s.result(i));
                let all: Vec<Comp> = (slot.component..slot.component + words(ty))
                    .map(|c| {
                        let wanted = |e: &VertexElement| match e {
                            VertexElement::Attribute(n) => slot.loc == IoLoc::Location(*n),
                            _ => false,
                        };
                        self.element(wanted, c)
                    })
                    .collect();
                let comps = self.of_words(ty, slot.kind, &all);
                self.set(s.result(i), &comps);
            }
            (Op::StoreOutput, Attrs::Io(slot)) => self.vertex_output(i, &slot)?,
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let comp = match b {
                    Builtin::VertexIndex => self.counted(VERTEX, FIRST_VERTEX),
                    Builtin::InstanceIndex => self.counted(INSTANCE, FIRST_INSTANCE),
                    Builtin::BaseVertex => self.id(FIRST_VERTEX),
                    Builtin::BaseInstance => self.id(FIRST_INSTANCE),
                    Builtin::DrawIndex => self.element(|e| *e == VertexElement::DrawIndex, 0),
                    Builtin::DeviceIndex => Comp::Const(0),
                    _ => return Ok(false),
                };
                self.set(s.result(i), &[comp]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
