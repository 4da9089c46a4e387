//! The selection state of a vertex shader, and the analysis that initialises it: attributes and
//! outputs.

use super::coefficients::shading;
use super::interface::{name, used_inputs, words};
use crate::abi::{self, VertexResults};
use crate::error::{Error, Result};
use crate::mir::{Comp, Val};
use crate::varyings::{Shading, Varying, VertexTable};
use std::collections::BTreeMap;
use tepui_ir::{Attrs, Builtin, IoLoc, Op, Shader};

/// Maximum number of words of a vertex: counts and indices have 8 bits. source: cmdbuf.xml, "VDM State
/// Vertex Outputs"
const MAX_WORDS: u16 = 255;

/// The state of the selection of a vertex shader.
#[derive(Clone)]
pub(crate) struct State {
    pub interface: abi::Vertex,
    pub table: VertexTable,
    /// Vertex and instance number.
    pub ids: [Option<Val>; 2],
    /// Words of attributes by location.
    pub attributes: BTreeMap<u16, [Comp; 4]>,
    /// Words of outputs, in the order of the stores.
    pub stores: Vec<(Word, Comp)>,
    /// Layer and viewport.
    pub target: [Option<Comp>; 2],
}

/// Destination of an output word.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Word {
    At(u16),
    Varying(Varying, u8),
}

impl State {
    pub fn new(s: &Shader, interface: &abi::Vertex) -> Result<State> {
        let mut t = VertexTable::default();
        for (i, slot, used) in used_inputs(s) {
            let IoLoc::Location(n) = slot.loc else {
                let (op, why) = (s.insts[i].op, format!("of {}", name(slot.loc)));
                return Err(Error::Op { inst: i, op, why });
            };
            if n >= u16::from(abi::MAX_ATTRIBUTES) {
                return Err(Error::Limit {
                    what: "attribute locations",
                    needed: u64::from(n) + 1,
                    limit: u64::from(abi::MAX_ATTRIBUTES),
                });
            }
            t.components |= u128::from(used) << (4 * n + u16::from(slot.component));
        }
        t.attributes = abi::attributes(s);
        outputs(s, interface, &mut t);
        if t.words() > MAX_WORDS {
            let (needed, limit) = (u64::from(t.words()), u64::from(MAX_WORDS));
            return Err(Error::Limit { what: "words of a vertex", needed, limit });
        }
        Ok(State {
            interface: interface.clone(),
            table: t,
            ids: [None; 2],
            attributes: BTreeMap::new(),
            stores: Vec::new(),
            target: [None; 2],
        })
    }

    pub fn place(&self, v: Varying) -> Option<u16> {
        let fixed = self.table.fixed.as_ref()?;
        fixed.iter().find(|f| f.0 == v).map(|f| f.1)
    }

    pub fn has(&self, v: Varying) -> bool {
        self.table.varyings.iter().any(|x| x.0 == v)
    }
}

/// Finds what a shader writes.
fn outputs(s: &Shader, interface: &abi::Vertex, t: &mut VertexTable) {
    let mut sizes: BTreeMap<Varying, u16> = BTreeMap::new();
    let mut shadings =
        BTreeMap::from([(Varying::Kept, Shading::Linear), (Varying::Viewport, Shading::Flat)]);
    let mut grow = |v: Varying, n: u8| {
        let w = sizes.entry(v).or_default();
        *w = (*w).max(u16::from(n));
    };
    s.walk(|s, _, i| {
        let (Op::StoreOutput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs) else { return };
        let n = slot.component + words(s.ty(s.arg(i, 0)));
        match slot.loc {
            IoLoc::Location(l) => {
                shadings.insert(Varying::Location(l), shading(&slot));
                grow(Varying::Location(l), n);
            }
            IoLoc::Builtin(Builtin::PointSize) => t.point_size = true,
            IoLoc::Builtin(Builtin::Layer) => t.layer = true,
            IoLoc::Builtin(Builtin::ViewportIndex) => {
                t.viewport = true;
                grow(Varying::Viewport, 1);
            }
            IoLoc::Builtin(Builtin::ClipDistance) => {
                t.clip_distances = t.clip_distances.max(n);
                grow(Varying::ClipDistances, n);
            }
            IoLoc::Builtin(Builtin::CullDistance) => {
                grow(Varying::CullDistances, n);
                grow(Varying::Kept, n);
            }
            IoLoc::Builtin(_) => {}
        }
    });
    t.varyings = sizes.into_iter().collect();
    match &interface.results {
        VertexResults::StoreFor(f) => {
            // Varyings that the fragment shader does not read are not written.
            t.varyings.retain(|v| f.shading(v.0).is_some());
            t.fix(|v| f.shading(v).unwrap_or(Shading::Smooth));
        }
        _ if s.info.linked => t.fix(|v| shadings.get(&v).copied().unwrap_or(Shading::Smooth)),
        _ if t.varyings.len() == 1 => t.fixed = Some(t.places(|_| Shading::Smooth)),
        _ => {}
    }
}
