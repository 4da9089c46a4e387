//! Fragment shaders: interpolation, built-ins, discards, derivatives.

use super::alu::{mov, op};
use super::cond::Comparison;
use super::io::Stage;
use super::memory::Payload;
use super::{Comp, Select, Source};
use crate::error::Result;
use crate::interface::{self, barycentric, is_own_sample, words};
use crate::mir::{self, Inst, Message, MessageEffect, Operand, Place};
use crate::payload::{
    COMPONENT_DWORDS, FIRST_VALUE, FragmentPayload, SETUP_DWORDS, depth_plane, primitive,
};
use crate::slots::place;
use crate::stage::{FragmentInfo, FragmentState};
use crate::vue::Varying;
use tepui_intel_isa::message::InterpolatorOp;
use tepui_intel_isa::{Condition, Generation, Opcode, Sfid, Type as Ty, descriptor};
use tepui_ir::{self as ir, Attrs, Builtin, Interp, IoSlot, Op, Sampling, Value};
use tepui_regalloc::Val;

/// Bits of the primitive's double word: 11 of the layer from bit 16 on, 4 of the viewport from bit 27 on. source: as
/// [`primitive`], brw_fs_nir.cpp (`fetch_viewport_index`)
const LAYER_SHIFT: u32 = 16;
const LAYER_MASK: u32 = 0x7ff;
const VIEWPORT_SHIFT: u32 = 27;
const VIEWPORT_MASK: u32 = 0xf;

/// Double word of the register file with the width and the height of coarse pixels in its lower bytes. source: as above
/// (`emit_shading_rate_setup`)
const COARSE_SIZES: u16 = mir::GRF_DWORDS;

/// Maximum number of samples of a pixel.
const MAX_SAMPLES: u32 = 16;

/// Whether an operation takes so long that channels which do not need it are worth a jump.
fn is_costly(o: Op) -> bool {
    matches!(
        o,
        Op::Loop
            | Op::TexSample
            | Op::TexSampleLod
            | Op::TexGather
            | Op::TexFetch
            | Op::ImageLoad
            | Op::LoadBuffer
            | Op::LoadGlobal
            | Op::AtomicBuffer
            | Op::AtomicGlobal
            | Op::ImageAtomic
    )
}

fn immediate(ty: Ty, bits: u64) -> Source {
    Source { operand: Operand::immediate(ty, bits), val: None }
}

fn float(value: f32) -> Source {
    immediate(Ty::F, value.to_bits().into())
}

impl Select<'_> {
    pub(super) fn begin_fragment(&mut self, info: &FragmentInfo, payload: &FragmentPayload) {
        for (k, (there, at)) in
            [(info.source_depth, payload.depth), (info.source_w, payload.w)].into_iter().enumerate()
        {
            if there {
                self.io.position[k] = Comp::Val(self.preload(at));
            }
        }
        let reads = self.s.any(|s, _, i| s.insts[i].op == Op::IsHelper);
        if info.kills || info.side_effects || reads {
            self.effect(mir::Op::BeginLive);
        }
        // Subgroups that reconverge keep their helper invocations.
        if info.kills && !self.s.info.maximal_reconvergence {
            self.s.walk(|s, _, i| {
                if is_costly(s.insts[i].op) {
                    self.io.last_costly.0 = Some(i);
                }
            });
        }
    }

    /// Suspends squares that have no live channel, if much follows.
    fn suspend(&mut self) {
        let (costly, passed) = self.io.last_costly;
        if costly.is_some() && (!passed || !self.frames.is_empty()) {
            self.effect(mir::Op::Suspend);
        }
    }

    pub(super) fn fragment_io(
        &mut self,
        i: ir::Inst,
        payload: &FragmentPayload,
        state: &FragmentState,
    ) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInput | Op::LoadInputAtSample | Op::LoadInputAtOffset, Attrs::Io(slot)) => {
                self.input(i, &slot, payload, state)
            }
            (Op::StoreOutput, Attrs::Io(slot)) => self.fragment_output(i, &slot)?,
            (Op::Demote, _) => {
                // Nothing differs from itself.
                let same = Source { operand: Operand::new(Place::Fixed(0), Ty::UD), val: None };
                self.keep(Comparison { condition: Condition::NotZero, sources: [same, same] });
            }
            (Op::DemoteIf, _) => self.demote_if(s.arg(i, 0)),
            (Op::InterlockBegin, _) => self.effect(mir::Op::Interlock { end: false }),
            (Op::InterlockEnd, _) => self.effect(mir::Op::Interlock { end: true }),
            (Op::IsHelper, _) => {
                let v = self.def_plane(mir::Op::Helper { from_start: false }, Ty::D, &[]);
                self.set(s.result(i), &[Comp::Val(v)]);
            }
            (Op::DdxCoarse | Op::DdxFine | Op::DdyCoarse | Op::DdyFine, _) => self.derivative(i),
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let Some(comps) = self.fragment_builtin(b, payload) else { return Ok(false) };
                let n = self.dwords(s.result(i));
                self.set(s.result(i), &comps[..n]);
            }
            // The render cache orders accesses of a pixel only for its own messages.
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Channels where a comparison does not hold are helpers from here on.
    fn keep(&mut self, c: Comparison) {
        self.push(Inst::new(mir::Op::Keep(c.condition), Operand::NONE, &[]), None, &c.sources);
        self.suspend();
    }

    fn demote_if(&mut self, condition: Value) {
        let mut c = self.truth(condition);
        let float = c.sources[0].operand.ty.is_float();
        match c.condition {
            Condition::Zero => c.condition = Condition::NotZero,
            Condition::NotZero => c.condition = Condition::Zero,
            // A comparison that a NaN fails has no inverse.
            _ if float => {
                let v = self.def(mir::Op::Compare(c.condition), Ty::D, &c.sources);
                c = Comparison {
                    condition: Condition::Zero,
                    sources: [self.read(v, Ty::D), immediate(Ty::D, 0)],
                };
            }
            other => c.condition = super::cond::inverse(other),
        }
        self.keep(c);
    }

    /// The first double word of a component's setup data.
    fn setup(&self, varying: Varying, component: u8) -> Option<u16> {
        let Stage::Fragment(info, ..) = self.io.stage else { return None };
        let at = info.inputs.iter().position(|i| i.is_some_and(|i| i.varying == varying))?;
        let first = mir::GRF_DWORDS * self.io.inputs;
        Some(first + SETUP_DWORDS * at as u16 + COMPONENT_DWORDS * u16::from(component))
    }

    fn input(
        &mut self,
        i: ir::Inst,
        slot: &IoSlot,
        payload: &FragmentPayload,
        state: &FragmentState,
    ) {
        let s = self.s;
        let r = s.result(i);
        let ty = self.ty(r);
        let places: Vec<Option<u16>> = (0..words(ty))
            .map(|k| place(slot, k).and_then(|(varying, c)| self.setup(varying, c)))
            .collect();
        if slot.interp == Interp::Flat {
            let all: Vec<Comp> = places
                .iter()
                .map(|at| at.map_or(Comp::Undef, |at| Comp::Fixed(at + FIRST_VALUE)))
                .collect();
            let comps = self.of_words(ty, slot.kind, &all);
            self.set(r, &comps);
            return;
        }
        let at = |sampling| {
            let mode = barycentric(&IoSlot { sampling, ..*slot }, state);
            let register = payload.barycentrics[usize::from(mode)];
            Source { operand: Operand::new(Place::Payload(register), Ty::F), val: None }
        };
        let all = match s.insts[i].op {
            Op::LoadInputAtSample if is_own_sample(s, i) => {
                let at = at(Sampling::Sample);
                self.planes(&places, at)
            }
            Op::LoadInputAtSample => self.at_sample(i, slot, &places),
            Op::LoadInputAtOffset => {
                let at = self.at_offset(i, slot);
                self.planes(&places, at)
            }
            _ => self.planes(&places, at(slot.sampling)),
        };
        let comps = self.of_words(ty, slot.kind, &all);
        self.set(r, &comps);
    }

    /// Interpolates components at barycentric coordinates.
    fn planes(&mut self, places: &[Option<u16>], at: Source) -> Vec<Comp> {
        let fixed = |dword| Source { operand: Operand::new(Place::Fixed(dword), Ty::F), val: None };
        if self.generation == Generation::Gen9 {
            let component = |place: &Option<u16>| {
                let Some(dword) = *place else { return Comp::Undef };
                Comp::Val(self.def_plane(op(Opcode::Pln), Ty::F, &[fixed(dword), at]))
            };
            return places.iter().map(component).collect();
        }
        let [x, y] = [false, true].map(|second| self.barycentric(at, second));
        let component = |place: &Option<u16>| {
            let Some(dword) = *place else { return Comp::Undef };
            let sources = [fixed(dword + FIRST_VALUE), x, fixed(dword)];
            let v = self.def_plane(op(Opcode::Mad), Ty::F, &sources);
            let sources = [self.read(v, Ty::F), y, fixed(dword + 1)];
            Comp::Val(self.def_plane(op(Opcode::Mad), Ty::F, &sources))
        };
        places.iter().map(component).collect()
    }

    /// One of a pair of barycentric coordinates, for instructions that do not take the pair.
    fn barycentric(&mut self, at: Source, second: bool) -> Source {
        if let (8, Place::Payload(register)) = (self.width, at.operand.place) {
            let place = Place::Payload(register + u16::from(second));
            return Source { operand: Operand::new(place, Ty::F), val: None };
        }
        let v = self.def_plane(mir::Op::Barycentric { second }, Ty::F, &[at]);
        self.read(v, Ty::F)
    }

    /// Coordinates that the pixel interpolator gives.
    fn interpolator(
        &mut self,
        kind: InterpolatorOp,
        data: u8,
        slot: &IoSlot,
        payload: &[Comp],
    ) -> Source {
        let linear = slot.interp == Interp::Linear;
        let coarse = match self.io.stage {
            Stage::Fragment(info, ..) if info.coarse => descriptor::COARSE_INTERPOLATION,
            _ => 0,
        };
        let control = descriptor::interpolator(kind, data, linear, self.width) | coarse;
        let planes = [payload.len() as u8, 0, 2];
        let message = Message {
            effect: MessageEffect::Pure,
            ..Message::new(Sfid::PixelInterpolator, control, self.width, planes)
        };
        let d = self.f.val(mir::interleaved(self.width, 2));
        self.send(message, Some(d), &[Payload::Planes(payload)]);
        Source { operand: Operand::value(Ty::F), val: Some(d) }
    }

    /// Interpolates at a sample. The message has its number, so that one that is not known takes a message for each.
    fn at_sample(&mut self, i: ir::Inst, slot: &IoSlot, places: &[Option<u16>]) -> Vec<Comp> {
        let s = self.s;
        let number = s.arg(i, 1);
        let one = |c: &mut Self, sample: u32| {
            // The payload is not read.
            let at = c.interpolator(
                InterpolatorOp::Sample,
                (sample << 4) as u8,
                slot,
                &[Comp::Const(0)],
            );
            c.planes(places, at)
        };
        if let Some(sample) = s.as_const(number) {
            return one(self, (sample as u32).min(MAX_SAMPLES - 1));
        }
        let mut all = one(self, 0);
        for sample in 1..MAX_SAMPLES {
            let here = one(self, sample);
            let number = self.comp(number, 0);
            let number = self.register(number, Ty::D);
            let sources = [number, immediate(Ty::D, sample.into())];
            let test = Comparison { condition: Condition::Zero, sources };
            all = here.iter().zip(&all).map(|(&a, &b)| self.pick(&test, [a, b])).collect();
        }
        all
    }

    /// Coordinates at an offset from the pixel's centre, in sixteenths of a pixel from -8 to 7. source: Mesa,
    /// brw_nir.c (`lower_barycentric_at_offset`)
    fn at_offset(&mut self, i: ir::Inst, slot: &IoSlot) -> Source {
        let offset = self.s.arg(i, 1);
        let parts = [0, 1].map(|k| {
            let c = self.comp(offset, k);
            let x = self.register(c, Ty::F);
            let scaled = self.def(op(Opcode::Mul), Ty::F, &[x, float(16.0)]);
            let read = self.read(scaled, Ty::F);
            let whole = self.def(mov(Ty::D), Ty::D, &[read]);
            let [low, high] = [(Condition::GreaterEqual, -8i32), (Condition::Less, 7)].map(
                |(condition, bound)| {
                    let o = mir::Op::Alu {
                        opcode: Opcode::Sel,
                        function: 0,
                        condition,
                        saturate: false,
                    };
                    (o, immediate(Ty::D, u64::from(bound as u32)))
                },
            );
            let x = self.read(whole, Ty::D);
            let x = self.def(low.0, Ty::D, &[x, low.1]);
            let x = self.read(x, Ty::D);
            Comp::Val(self.def(high.0, Ty::D, &[x, high.1]))
        });
        self.interpolator(InterpolatorOp::SlotOffset, 0, slot, &parts)
    }

    /// A derivative within squares of four channels; compute shaders whose invocations form squares have them, too.
    /// source: Mesa, brw_nir_lower_cs_intrinsics.c (`compute_local_index_id`)
    pub(super) fn derivative(&mut self, i: ir::Inst) {
        let s = self.s;
        let o = s.insts[i].op;
        let y = matches!(o, Op::DdyCoarse | Op::DdyFine);
        let fine = matches!(o, Op::DdxFine | Op::DdyFine);
        let r = s.result(i);
        let half = self.ty(r).bits() == 16;
        let mut all = Vec::with_capacity(self.dwords(r));
        for k in 0..self.dwords(r) {
            let mut c = self.comp(s.arg(i, 0), k);
            if matches!(c, Comp::Const(_) | Comp::Fixed(_) | Comp::Undef) {
                all.push(Comp::Const(0));
                continue;
            }
            if half {
                let x = self.source(c, Ty::HF);
                c = Comp::Val(self.def(mov(Ty::F), Ty::F, &[x]));
            }
            let v = self.value(c);
            let source = Source { operand: Operand::value(Ty::F), val: Some(v) };
            let mut d = self.def_plane(mir::Op::Derivative { y, fine }, Ty::F, &[source]);
            if half {
                let x = self.read(d, Ty::F);
                d = self.def(mov(Ty::HF), Ty::HF, &[x]);
            }
            all.push(Comp::Val(d));
        }
        self.set(r, &all);
    }

    /// A plane of the payload as a value.
    fn payload_plane(&mut self, register: u16, ty: Ty) -> Val {
        let inst = Inst::mov(Operand::new(Place::Payload(register), ty));
        self.def_payload(&inst, ty)
    }

    fn fragment_builtin(&mut self, b: Builtin, payload: &FragmentPayload) -> Option<Vec<Comp>> {
        let Stage::Fragment(info, _, state) = self.io.stage else { return None };
        let dword = Place::Fixed(primitive(self.generation));
        let primitive = |ty| Source { operand: Operand::new(dword, ty), val: None };
        Some(match b {
            Builtin::FragCoord => self.coordinates(info, payload),
            Builtin::FrontFacing => {
                // The sign of the low word.
                let sources = [primitive(Ty::W), immediate(Ty::W, 0)];
                let compare = mir::Op::Compare(Condition::GreaterEqual);
                vec![Comp::Val(self.def(compare, Ty::D, &sources))]
            }
            Builtin::Layer => vec![self.bits_of(primitive(Ty::UD), LAYER_SHIFT, LAYER_MASK)],
            Builtin::ViewportIndex => {
                vec![self.bits_of(primitive(Ty::UD), VIEWPORT_SHIFT, VIEWPORT_MASK)]
            }
            Builtin::PointCoord => {
                let at = Place::Payload(payload.barycentrics[usize::from(interface::PIXEL)]);
                let at = Source { operand: Operand::new(at, Ty::F), val: None };
                let places = [0, 1].map(|k| self.setup(Varying::PointCoord, k));
                self.planes(&places, at)
            }
            Builtin::PrimitiveId => {
                let at = self.setup(Varying::PrimitiveId, 0);
                vec![at.map_or(Comp::Undef, |at| Comp::Fixed(at + FIRST_VALUE))]
            }
            Builtin::SampleId if state.single_sample => vec![Comp::Const(0)],
            Builtin::SampleId => vec![self.sample_id()],
            Builtin::SamplePosition => self.sample_position(info).to_vec(),
            Builtin::SampleMask => {
                let v = self.payload_plane(payload.coverage, Ty::UD);
                if !info.per_sample {
                    return Some(vec![Comp::Val(v)]);
                }
                // The coverage is that of the pixel.
                let id = self.sample_id();
                let [one, id] = [Comp::Const(1), id].map(|c| self.register(c, Ty::UD));
                let bit = self.def(op(Opcode::Shl), Ty::UD, &[one, id]);
                let sources = [self.read(v, Ty::UD), self.read(bit, Ty::UD)];
                vec![Comp::Val(self.def(op(Opcode::And), Ty::UD, &sources))]
            }
            Builtin::HelperInvocation => {
                let helper = mir::Op::Helper { from_start: true };
                vec![Comp::Val(self.def_plane(helper, Ty::D, &[]))]
            }
            Builtin::ShadingRate => vec![self.shading_rate(info)],
            // Each pixel is shaded.
            Builtin::FragSize => vec![Comp::Const(1); 2],
            Builtin::FragInvocationCount if !info.per_sample => vec![Comp::Const(1)],
            Builtin::DeviceIndex => vec![Comp::Const(0)],
            _ => return None,
        })
    }

    fn sample_id(&mut self) -> Comp {
        Comp::Val(self.def_plane(mir::Op::SampleId, Ty::UD, &[]))
    }

    /// The sample's position in the pixel.
    fn sample_position(&mut self, info: &FragmentInfo) -> [Comp; 2] {
        if !info.sample_position {
            return [Comp::Const(0.5f32.to_bits()); 2];
        }
        [false, true].map(|y| {
            let sixteenths = self.def_plane(mir::Op::SampleOffset { y }, Ty::F, &[]);
            let x = self.read(sixteenths, Ty::F);
            Comp::Val(self.def(op(Opcode::Mul), Ty::F, &[x, float(1.0 / 16.0)]))
        })
    }

    /// The width or the height of coarse pixels, in pixels.
    fn coarse_size(&mut self, y: bool) -> Comp {
        let sizes = Operand::new(Place::Fixed(COARSE_SIZES), Ty::UD);
        let sizes = Source { operand: sizes, val: None };
        self.bits_of(sizes, if y { 8 } else { 0 }, 0xff)
    }

    /// Half of it.
    fn half_size(&mut self, y: bool) -> Comp {
        let size = self.coarse_size(y);
        let size = self.source(size, Ty::UD);
        let whole = self.def(mov(Ty::F), Ty::F, &[size]);
        let sources = [self.read(whole, Ty::F), float(0.5)];
        Comp::Val(self.def(op(Opcode::Mul), Ty::F, &sources))
    }

    /// The shading rate: the logarithms of height and width, in two bits each. Sizes are 1, 2 and 4, whose halves these are.
    fn shading_rate(&mut self, info: &FragmentInfo) -> Comp {
        if !info.coarse {
            return Comp::Const(0);
        }
        let [x, y] = [(false, 2u64), (true, 0)].map(|(y, shift)| {
            let size = self.coarse_size(y);
            let size = self.source(size, Ty::UD);
            let v = self.def(op(Opcode::Shr), Ty::UD, &[size, immediate(Ty::UD, 1)]);
            let sources = [self.read(v, Ty::UD), immediate(Ty::UD, shift)];
            self.def(op(Opcode::Shl), Ty::UD, &sources)
        });
        let sources = [self.read(x, Ty::UD), self.read(y, Ty::UD)];
        Comp::Val(self.def(op(Opcode::Or), Ty::UD, &sources))
    }

    /// Depth at a place, by its plane: the hardware does not interpolate it at the centres of coarse pixels. source: Mesa,
    /// brw_compile_fs.cpp (`brw_emit_interpolation_setup`)
    fn depth_of_plane(&mut self, payload: &FragmentPayload, place: &[Comp]) -> Comp {
        let plane = |dword| {
            let dword = mir::GRF_DWORDS * payload.depth_plane + dword;
            Source { operand: Operand::new(Place::Fixed(dword), Ty::F), val: None }
        };
        let mut add = |depth: Source, axis: usize| {
            let at = self.source(place[axis], Ty::F);
            let start = plane(depth_plane::START[axis]);
            let start = Source { operand: start.operand.negated(), ..start };
            let distance = self.def(op(Opcode::Add), Ty::F, &[at, start]);
            let sources = [depth, self.read(distance, Ty::F), plane(depth_plane::SLOPES[axis])];
            let depth = self.def(op(Opcode::Mad), Ty::F, &sources);
            self.read(depth, Ty::F)
        };
        let depth = add(plane(depth_plane::VALUE), 0);
        let depth = add(depth, 1);
        depth.val.map_or(Comp::Undef, Comp::Val)
    }

    /// Window coordinates, depth, and 1/w.
    fn coordinates(&mut self, info: &FragmentInfo, payload: &FragmentPayload) -> Vec<Comp> {
        let offsets = match (info.coarse, info.per_sample) {
            (true, _) => [false, true].map(|y| self.half_size(y)),
            (_, true) => self.sample_position(info),
            (_, false) => [Comp::Const(0.5f32.to_bits()); 2],
        };
        let mut all = Vec::with_capacity(4);
        for (y, offset) in [false, true].into_iter().zip(offsets) {
            let pixel = mir::Op::Pixel { y, coarse: info.coarse };
            let whole = self.def_plane(pixel, Ty::F, &[]);
            let sources = [self.read(whole, Ty::F), self.source(offset, Ty::F)];
            all.push(Comp::Val(self.def(op(Opcode::Add), Ty::F, &sources)));
        }
        let [depth, w] = self.io.position;
        all.push(match info.depth_plane {
            true => self.depth_of_plane(payload, &all),
            false => depth,
        });
        all.push(match w {
            Comp::Undef => w,
            w => {
                let x = self.source(w, Ty::F);
                let inverse = super::alu::math(tepui_intel_isa::MathFunction::Inv);
                Comp::Val(self.def(inverse, Ty::F, &[x]))
            }
        });
        all
    }

    /// Bits of a double word.
    fn bits_of(&mut self, source: Source, shift: u32, mask: u32) -> Comp {
        let v = self.def(op(Opcode::Shr), Ty::UD, &[source, immediate(Ty::UD, shift.into())]);
        let sources = [self.read(v, Ty::UD), immediate(Ty::UD, mask.into())];
        Comp::Val(self.def(op(Opcode::And), Ty::UD, &sources))
    }
}
