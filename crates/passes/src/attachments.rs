//! Attachments of a rendering in the tile buffer, for GPUs whose fragment shaders can read it.
//!
//! - [`run`] lowers loads of input attachments that are there to loads of the pixel's colour.
//! - [`move_outputs`] stores colours to the render targets that they are assigned to.
//!
//! A load stays an image load where attachments and render targets are unknown, where the
//! attachment is not a colour attachment of this render pass, or where it reads another sample than
//! the one being shaded of a colour that is not in the tile.

use crate::lower_blend::TARGETS;
use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{
    Attrs, Builtin, Dim, Inst, Interp, IoLoc, IoSlot, Op, ResKind, Sampling, Shader, Value,
};

/// Runs the pass; true when it changed the shader. `attachments` has the colour of each input attachment; the tile has no room for
/// the targets in `spilled`, a bit each.
pub fn run(s: &mut Shader, attachments: &[Option<u8>], spilled: u8) -> bool {
    let any = attachments.iter().any(Option::is_some);
    any && rewrite::run(s, &mut Attachments { attachments, spilled })
}

/// Stores colours to the render targets that they are assigned to, those of none to the location `dropped`.
pub fn move_outputs(s: &mut Shader, moved: &[Option<u8>; TARGETS], dropped: u8) {
    let root = s.root;
    for i in s.regions[root].insts.clone() {
        if s.insts[i].op == Op::StoreOutput
            && let Attrs::Io(slot) = &mut s.insts[i].attrs
            && let IoLoc::Location(n) = &mut slot.loc
            && let Some(to) = moved.get(usize::from(*n))
        {
            *n = u16::from(to.unwrap_or(dropped));
        }
    }
}

struct Attachments<'a> {
    attachments: &'a [Option<u8>],
    spilled: u8,
}

impl Attachments<'_> {
    /// The colour that a load reads, and the sample if it is not the shaded one.
    fn slot(&self, s: &Shader, load: Inst) -> Option<(IoSlot, Option<Value>)> {
        let (Op::ImageLoad, Attrs::Image(image)) = (s.insts[load].op, s.insts[load].attrs) else {
            return None;
        };
        let d = s.def_inst(s.arg(load, 0))?;
        let (Op::Descriptor, Attrs::Res(r, _)) = (s.insts[d].op, s.insts[d].attrs) else {
            return None;
        };
        let resource = &s.resources[r];
        if image.dim != Dim::Subpass || resource.kind != ResKind::InputAttachment {
            return None;
        }
        let sample = s.tex_args(load).and_then(|t| t.1.sample).filter(|_| image.ms);
        let other = sample.filter(|&v| !is_own_sample(s, v));
        let element = u32::try_from(s.as_const(s.arg(d, 0))?).ok()?;
        let index = resource.input_attachment.checked_add(element)? as usize;
        let location = self.attachments.get(index).copied().flatten()?;
        if usize::from(location) >= TARGETS || other.is_some() && self.spilled >> location & 1 != 0
        {
            return None;
        }
        let slot = IoSlot {
            loc: IoLoc::Location(u16::from(location)),
            component: 0,
            index: 0,
            kind: resource.texels,
            interp: Interp::Flat,
            sampling: Sampling::Center,
        };
        Some((slot, other))
    }
}

/// The sample that a program is run for when it reads this.
fn is_own_sample(s: &Shader, v: Value) -> bool {
    s.def_inst(v).is_some_and(|d| s.insts[d].attrs == Attrs::Builtin(Builtin::SampleId))
}

impl Lowering for Attachments<'_> {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Some((slot, sample)) = self.slot(e.s, i) else { return Step::Keep };
        let ty = e.ty(e.s.result(i));
        if ty.bits() != 32 {
            return Step::Keep;
        }
        let load = match sample {
            None => e.inst(Op::LoadOutput, Attrs::Io(slot), &[], &[ty]),
            Some(sample) => e.inst(Op::LoadOutputSample, Attrs::Io(slot), &[sample], &[ty]),
        };
        Step::Replace(vec![e.s.result(load)])
    }
}
