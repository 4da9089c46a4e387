//! Clip distances, cull distances and viewports, which the hardware does not have: varyings by which fragments are discarded.
//!
//! Numbers of primitives take the same way. The last stage before the rasteriser stores them in locations after those of the application. The fragment program looks at them
//! before it does anything else:
//!
//! - it keeps the samples at which no clip distance is negative;
//! - a cull distance is stored as 0 where it is negative and as 1 elsewhere, so that what is interpolated is 0 in primitives all of whose
//!   vertices have a negative one; these are discarded;
//! - a draw is repeated for each viewport, and keeps primitives whose provoking vertex chose it.
//!
//! source: Mesa, nir_lower_clip.c (clip distances), agx_nir_lower_cull_distance.c (cull distances)

use crate::Options;
use serde::{Deserialize, Serialize};
use tepui_ir::{
    Attrs, Builder, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Sampling, Shader, Stage,
    Type, Value,
};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// Components of a location.
const COMPONENTS: u8 = 4;

/// Outputs of the last stage before the rasteriser that fragments get in locations after those of the application: first clip distances,
/// then cull distances, then what these keep, then numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Clips {
    /// The first location.
    pub first: u16,
    /// Clip distances.
    pub clip: u8,
    /// Cull distances.
    pub cull: u8,
    /// Whether it chooses the viewport.
    pub viewport: bool,
    /// Whether it passes the number of the primitive ([`Options::primitive_location`](crate::Options::primitive_location)).
    pub primitive: bool,
}

/// Numbers in the last location.
#[derive(Clone, Copy)]
enum Number {
    Viewport,
    Primitive,
}

impl Clips {
    /// Outputs of a vertex shader.
    fn of(s: &Shader, primitive: Option<u16>) -> Clips {
        let mut clips = Clips::default();
        s.walk(|s, _, i| {
            let (Op::StoreOutput, Attrs::Io(slot)) = (s.insts[i].op, s.insts[i].attrs) else {
                return;
            };
            let end = slot.component + s.ty(s.arg(i, 0)).comps();
            match slot.loc {
                IoLoc::Location(n) if Some(n) == primitive => clips.primitive = true,
                IoLoc::Location(n) => clips.first = clips.first.max(n + 1),
                IoLoc::Builtin(Builtin::ClipDistance) => clips.clip = clips.clip.max(end),
                IoLoc::Builtin(Builtin::CullDistance) => clips.cull = clips.cull.max(end),
                IoLoc::Builtin(Builtin::ViewportIndex) => clips.viewport = true,
                IoLoc::Builtin(_) => {}
            }
        });
        match clips.are_there() || clips.primitive {
            true => clips,
            false => Clips::default(),
        }
    }

    /// Whether fragments are discarded.
    #[must_use]
    pub fn are_there(self) -> bool {
        self.clip > 0 || self.cull > 0 || self.viewport
    }

    fn clip(self, k: u8) -> Attrs {
        distance(self.first, k)
    }

    fn cull_location(self) -> u16 {
        self.first + u16::from(self.clip.div_ceil(COMPONENTS))
    }

    fn cull(self, k: u8) -> Attrs {
        distance(self.cull_location(), k)
    }

    fn kept_location(self) -> u16 {
        self.cull_location() + u16::from(self.cull.div_ceil(COMPONENTS))
    }

    fn kept(self, k: u8) -> Attrs {
        distance(self.kept_location(), k)
    }

    fn number(self, number: Number) -> Attrs {
        let location = self.kept_location() + u16::from(self.cull.div_ceil(COMPONENTS));
        Attrs::Io(slot(location, number as u8, NumKind::Uint, Interp::Flat))
    }
}

/// The slot of a component from the first of a location on.
fn slot(first: u16, component: u8, kind: NumKind, interp: Interp) -> IoSlot {
    IoSlot {
        loc: IoLoc::Location(first + u16::from(component / COMPONENTS)),
        component: component % COMPONENTS,
        index: 0,
        kind,
        interp,
        sampling: Sampling::Center,
    }
}

fn distance(first: u16, component: u8) -> Attrs {
    Attrs::Io(slot(first, component, NumKind::Float, Interp::Smooth))
}

/// Inputs of fragments and outputs of vertices that become varyings.
#[derive(Clone, Copy)]
enum Kind {
    Clip,
    Cull,
    Number(Number),
}

/// Replaces them.
struct Varyings {
    clips: Clips,
    primitive: Option<u16>,
}

impl Varyings {
    fn of(&self, s: &Shader, i: Inst) -> Option<(Kind, IoSlot)> {
        let Attrs::Io(slot) = s.insts[i].attrs else { return None };
        let kind = match slot.loc {
            IoLoc::Builtin(Builtin::ClipDistance) => Kind::Clip,
            IoLoc::Builtin(Builtin::CullDistance) => Kind::Cull,
            IoLoc::Builtin(Builtin::ViewportIndex) => Kind::Number(Number::Viewport),
            IoLoc::Location(n) if Some(n) == self.primitive => Kind::Number(Number::Primitive),
            _ => return None,
        };
        Some((kind, slot))
    }

    /// An input; 0 if the last stage has none.
    fn input(&self, e: &mut Emit, i: Inst, (kind, slot): (Kind, IoSlot)) -> Value {
        let (args, ty) = (e.s.args(i).to_vec(), e.s.ty(e.s.result(i)));
        let (op, c) = (e.s.insts[i].op, self.clips);
        let mut words = Vec::with_capacity(ty.comps().into());
        for k in slot.component..slot.component + ty.comps() {
            let (is_there, own) = match kind {
                Kind::Clip => (k < c.clip, c.clip(k)),
                Kind::Cull => (k < c.cull, c.cull(k)),
                Kind::Number(n @ Number::Viewport) => (c.viewport, c.number(n)),
                Kind::Number(n @ Number::Primitive) => (c.primitive, c.number(n)),
            };
            let own = match own {
                Attrs::Io(own) => Attrs::Io(IoSlot { sampling: slot.sampling, ..own }),
                other => other,
            };
            words.push(match is_there {
                true => e.value(op, own, &args, Type::B32),
                false => e.u32(0),
            });
        }
        if words.len() == 1 { words[0] } else { e.vec(&words) }
    }

    /// An output.
    fn output(&self, e: &mut Emit, i: Inst, (kind, slot): (Kind, IoSlot)) {
        let (value, at) = (e.s.arg(i, 0), e.s.arg(i, 1));
        for (k, part) in (slot.component..).zip(e.split(value)) {
            let to = match kind {
                Kind::Clip => self.clips.clip(k),
                Kind::Cull => self.clips.cull(k),
                Kind::Number(number) => self.clips.number(number),
            };
            e.inst(Op::StoreOutput, to, &[part, at], &[]);
            if let Kind::Cull = kind {
                let (none, one) = (e.f32(0.0), e.f32(1.0));
                let is_negative = e.value(Op::FLt, Attrs::None, &[part, none], Type::B1);
                let kept = e.select(is_negative, none, one);
                e.inst(Op::StoreOutput, self.clips.kept(k), &[kept, at], &[]);
            }
        }
    }
}

impl Lowering for Varyings {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        self.of(s, i).is_some()
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Some(found) = self.of(e.s, i) else { return Step::Keep };
        if e.s.insts[i].op == Op::StoreOutput {
            self.output(e, i, found);
            return Step::Remove;
        }
        Step::Replace(vec![self.input(e, i, found)])
    }
}

/// Discards fragments of what the last stage left; `samples` of a pixel are looked at one by one.
fn discard(s: &mut Shader, clips: Clips, samples: u32) {
    let root = s.root;
    let per_sample = s.info.per_sample;
    let old = std::mem::take(&mut s.regions[root].insts);
    let mut b = Builder::at(s, root);
    let zero = b.u32(0);
    if clips.viewport {
        let own = clips.number(Number::Viewport);
        let chosen = b.value(Op::LoadInput, own, &[zero], Type::B32);
        let own = b.builtin(Builtin::ViewportIndex, Type::B32);
        let is_other = b.binary(Op::INe, chosen, own);
        b.effect(Op::DemoteIf, Attrs::None, &[is_other]);
    }
    for k in 0..clips.cull {
        let kept = b.value(Op::LoadInput, clips.kept(k), &[zero], Type::B32);
        let is_culled = b.binary(Op::FEq, kept, zero);
        b.effect(Op::DemoteIf, Attrs::None, &[is_culled]);
    }
    let mut mask = None;
    if clips.clip > 0 && samples > 1 && !per_sample {
        let mut all = zero;
        for sample in 0..samples {
            let number = b.u32(sample);
            let mut own = b.u32(1 << sample);
            for k in 0..clips.clip {
                let args = [zero, number];
                let d = b.value(Op::LoadInputAtSample, clips.clip(k), &args, Type::B32);
                let is_outside = b.binary(Op::FLt, d, zero);
                own = b.select(is_outside, zero, own);
            }
            all = b.binary(Op::IOr, all, own);
        }
        let is_none = b.binary(Op::IEq, all, zero);
        b.effect(Op::DemoteIf, Attrs::None, &[is_none]);
        mask = Some(all);
    } else {
        for k in 0..clips.clip {
            let d = b.value(Op::LoadInput, clips.clip(k), &[zero], Type::B32);
            let is_outside = b.binary(Op::FLt, d, zero);
            b.effect(Op::DemoteIf, Attrs::None, &[is_outside]);
        }
    }
    s.regions[root].insts.extend(old);
    if let Some(mask) = mask {
        keep_samples(s, mask);
    }
}

/// Takes samples out of the mask that the program stores, or stores one.
fn keep_samples(s: &mut Shader, kept: Value) {
    let root = s.root;
    let is_mask = |s: &Shader, i: Inst| match (s.insts[i].op, s.insts[i].attrs) {
        (Op::StoreOutput, Attrs::Io(slot)) => slot.loc == IoLoc::Builtin(Builtin::SampleMask),
        _ => false,
    };
    let old = std::mem::take(&mut s.regions[root].insts);
    let stored = old.iter().copied().find(|&i| is_mask(s, i));
    let last = old.len().saturating_sub(1);
    for (k, i) in old.into_iter().enumerate() {
        if stored == Some(i) || stored.is_none() && k == last {
            let own = stored.map(|i| s.args(i)[0]);
            let mut b = Builder::at(s, root);
            let mask = own.map_or(kept, |own| b.binary(Op::IAnd, own, kept));
            let zero = b.u32(0);
            let to = IoSlot {
                loc: IoLoc::Builtin(Builtin::SampleMask),
                ..slot(0, 0, NumKind::Uint, Interp::Flat)
            };
            b.effect(Op::StoreOutput, Attrs::Io(to), &[mask, zero]);
        }
        if stored != Some(i) {
            s.regions[root].insts.push(i);
        }
    }
}

/// Replaces the built-ins, and lets a fragment shader discard what the last stage left to clip. Returns the outputs of a vertex shader.
pub(crate) fn run(s: &mut Shader, options: &Options<'_>) -> Clips {
    let primitive = options.primitive_location;
    let clips = match s.info.stage {
        Stage::Vertex => Clips::of(s, primitive),
        Stage::Fragment => options.clips,
        _ => return Clips::default(),
    };
    rewrite::run(s, &mut Varyings { clips, primitive });
    if s.info.stage == Stage::Fragment && clips.are_there() {
        discard(s, clips, options.samples);
    }
    clips
}
