//! Fragment shaders: varyings, built-ins, discards, derivatives, and the end: coverage, depth and stencil, colours.
//!
//! source: Mesa, bifrost_compile.c (`bi_emit_load_vary`, `bi_emit_fragment_out`, `bi_emit_derivative`)

use super::{Opnd, Select};
use crate::error::Result;
use crate::interface::FauWord;
use crate::mir::{Comp, Inst as Isa, Memory, Val, WORD, words};
use crate::preload;
use crate::stage::{LOCATION_BYTES, TARGETS};
use tepui_ir::{Attrs, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Sampling, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::{STENCIL, Z};
use tepui_mali_isa::modifier::{
    Condition, LaneOperation, RegisterFormat, SampleMode, SourceFormat, SubgroupSize, UpdateMode,
    VectorSize,
};
use tepui_mali_isa::operand::{Special, Swizzle};

/// Special varyings.
const POINT: i64 = 0;
const FRAGMENT_W: i64 = 2;
const FRAGMENT_Z: i64 = 3;
/// Offsets that an instruction can name.
const IMMEDIATE_BYTES: u32 = 256;
/// The thread's own pixel, in an index of pixels. source: Mesa, bifrost.h (`bifrost_pixel_indices`)
const CURRENT_PIXEL: u32 = 255 << 24;
/// First bit of the target there.
const TARGET_SHIFT: u32 = 8;

fn vector(count: usize) -> VectorSize {
    [VectorSize::None, VectorSize::V2, VectorSize::V3, VectorSize::V4][(count - 1).min(3)]
}

fn blend_descriptor(target: u16) -> Special {
    const ALL: [Special; TARGETS] = [
        Special::BlendDescriptor0,
        Special::BlendDescriptor1,
        Special::BlendDescriptor2,
        Special::BlendDescriptor3,
        Special::BlendDescriptor4,
        Special::BlendDescriptor5,
        Special::BlendDescriptor6,
        Special::BlendDescriptor7,
    ];
    ALL[usize::from(target) % TARGETS]
}

fn format(kind: NumKind) -> RegisterFormat {
    match kind {
        NumKind::Float => RegisterFormat::F32,
        NumKind::Sint => RegisterFormat::S32,
        NumKind::Uint => RegisterFormat::U32,
    }
}

impl Select<'_> {
    pub(super) fn fragment_io(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInput | Op::LoadInputAtSample | Op::LoadInputAtOffset, Attrs::Io(slot)) => {
                self.input(i, &slot)?;
            }
            (Op::StoreOutput, Attrs::Io(slot)) => self.fragment_output(i, &slot)?,
            (Op::LoadOutput | Op::LoadOutputSample, Attrs::Io(slot)) => self.tile(i, &slot)?,
            (Op::Demote, _) => self.discard(Opnd::imm(0), Condition::Eq),
            (Op::DemoteIf, _) => {
                // A truth value as a float is not zero where it holds; the smallest numbers are not flushed here.
                let (truth, set) = self.truth(s.arg(i, 0), 0);
                let o = self.as_float(truth);
                self.discard(o, if set { Condition::Ne } else { Condition::Eq });
            }
            (Op::IsHelper, _) => {
                let c = self.helper(i)?;
                self.set(s.result(i), &[c]);
            }
            (Op::InterlockBegin | Op::InterlockEnd | Op::RunTests, _) => {
                return self.refuse(i, "is not compiled for Mali yet");
            }
            (Op::LoadBuiltin, Attrs::Builtin(b)) => match self.fragment_builtin(i, b)? {
                Some(comps) => self.set(s.result(i), &comps),
                None => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A number that is not zero as a float that is not zero: a truth value.
    fn as_float(&mut self, truth: Opnd) -> Opnd {
        let inst = Isa::new(IsaOp::CSEL_U32).with(Condition::Ne);
        let one = Opnd::imm(0x3f80_0000);
        Opnd::val(self.def(inst, WORD, &[truth, Opnd::imm(0), one, Opnd::imm(0)]))
    }

    fn discard(&mut self, value: Opnd, condition: Condition) {
        let inst = Isa::new(IsaOp::DISCARD_F32).with(condition);
        self.isa(inst, &[], &[], &[value, Opnd::imm(0)]);
    }

    /// The position at which a varying is interpolated, and the mode of the instruction.
    fn point(&mut self, i: Inst, slot: &IoSlot) -> Result<(Opnd, SampleMode)> {
        let s = self.s;
        let own = Opnd::val(self.preloaded(i, preload::SAMPLE)?);
        Ok(match s.insts[i].op {
            Op::LoadInputAtSample => {
                let sample = self.comp(s.arg(i, 1), 0);
                let packed = self.join_halves(Comp::Const(0), sample);
                (Opnd::val(packed), SampleMode::Sample)
            }
            Op::LoadInputAtOffset => {
                // From the pixel's corner, with eight fractional bits.
                let parts = [0, 1].map(|k| {
                    let o = self.plain_word(s.arg(i, 1), k);
                    let (scale, half) = (Opnd::imm(256f32.to_bits()), Opnd::imm(128f32.to_bits()));
                    let v = self.word(IsaOp::FMA_F32, &[o, scale, half]);
                    Comp::Val(self.def(Isa::new(IsaOp::F32_TO_S32), WORD, &[Opnd::val(v)]))
                });
                (Opnd::val(self.join_halves(parts[0], parts[1])), SampleMode::Explicit)
            }
            _ if s.info.per_sample || slot.sampling == Sampling::Sample => {
                (own, SampleMode::Sample)
            }
            _ if slot.sampling == Sampling::Centroid => (own, SampleMode::Centroid),
            _ => (own, SampleMode::Center),
        })
    }

    fn plain_word(&mut self, v: Value, k: usize) -> Opnd {
        let c = self.comp(v, k);
        self.opnd(c)
    }

    fn input(&mut self, i: Inst, slot: &IoSlot) -> Result<()> {
        let s = self.s;
        let IoLoc::Location(location) = slot.loc else {
            return self.refuse(i, "of this built-in is not compiled for Mali yet");
        };
        let r = s.result(i);
        let ty = self.ty(r);
        let count = self.count(r);
        let (point, mode) = self.point(i, slot)?;
        let source = match slot.interp {
            Interp::Flat => SourceFormat::SrcFlat32,
            Interp::PerVertex => {
                return self.refuse(i, "of each vertex is not compiled for Mali");
            }
            _ => SourceFormat::SrcF32,
        };
        let offset = LOCATION_BYTES * u32::from(location) + 4 * u32::from(slot.component);
        let d = self.f.val(words(count as u8));
        let modify = |inst: Isa| {
            let inst = inst.with(vector(count)).with(source).with(mode);
            inst.with(UpdateMode::Store).staged(0, count as u8)
        };
        if offset < IMMEDIATE_BYTES {
            let inst = modify(Isa::new(IsaOp::LD_VAR_BUF_IMM_F32)).immediate(0, offset.into());
            self.isa(inst, &[d], &[], &[point]);
        } else {
            let inst = modify(Isa::new(IsaOp::LD_VAR_BUF_F32));
            self.isa(inst, &[d], &[], &[point, Opnd::imm(offset)]);
        }
        let mut all: Vec<Comp> = self.split(d).into_iter().map(Comp::Val).collect();
        if slot.interp == Interp::Linear {
            let w = self.special_varying(i, FRAGMENT_W, 1)?[0];
            for c in &mut all {
                let ops = [self.opnd(*c), self.opnd(w), Opnd::imm(0x8000_0000)];
                *c = Comp::Val(self.word(IsaOp::FMA_F32, &ops));
            }
        }
        let comps = self.of_words(ty, slot.kind, &all);
        self.set(r, &comps);
        Ok(())
    }

    /// A varying that the hardware makes.
    fn special_varying(&mut self, i: Inst, index: i64, count: u8) -> Result<Vec<Comp>> {
        let own = Opnd::val(self.preloaded(i, preload::SAMPLE)?);
        let mode = match self.s.info.per_sample {
            true => SampleMode::Sample,
            false => SampleMode::Center,
        };
        let inst = Isa::new(IsaOp::LD_VAR_SPECIAL).with(vector(count.into()));
        let inst = inst.with(RegisterFormat::F32).with(mode).with(UpdateMode::Clobber);
        let d = self.f.val(words(count));
        self.isa(inst.staged(0, count).immediate(0, index), &[d], &[], &[own]);
        Ok(self.split(d).into_iter().map(Comp::Val).collect())
    }

    fn fragment_builtin(&mut self, i: Inst, b: Builtin) -> Result<Option<Vec<Comp>>> {
        Ok(Some(match b {
            Builtin::FragCoord => {
                let mut all = Vec::with_capacity(4);
                let within = self.sample_position(i)?;
                for (half, within) in [Swizzle::H00, Swizzle::H11].into_iter().zip(within) {
                    let v = Opnd::val(self.preloaded(i, preload::PIXEL)?).part(half);
                    let whole = self.word(IsaOp::U16_TO_F32, &[v]);
                    all.push(Comp::Val(self.word(IsaOp::FADD_F32, &[Opnd::val(whole), within])));
                }
                all.extend(self.special_varying(i, FRAGMENT_Z, 1)?);
                all.extend(self.special_varying(i, FRAGMENT_W, 1)?);
                all
            }
            Builtin::FrontFacing => {
                let v = Opnd::val(self.preloaded(i, preload::FACE)?);
                let inst = Isa::new(IsaOp::ICMP_OR_U32).with(Condition::Eq);
                let inst = inst.with(tepui_mali_isa::modifier::ResultType::I1);
                let zero = Opnd::imm(0);
                vec![Comp::Val(self.def(inst, WORD, &[v, zero, zero]))]
            }
            Builtin::PointCoord => self.special_varying(i, POINT, 2)?,
            Builtin::SampleId => vec![Comp::Val(self.sample_id(i)?)],
            Builtin::SamplePosition => {
                self.sample_position(i)?.map(|o| Comp::Val(self.in_register(o))).to_vec()
            }
            Builtin::SampleMask => vec![Comp::Val(self.sample_mask(i)?)],
            Builtin::HelperInvocation => vec![self.helper(i)?],
            Builtin::Layer => {
                let v = Opnd::val(self.preloaded(i, preload::LAYER)?).part(Swizzle::B0);
                vec![Comp::Val(self.word(IsaOp::U8_TO_U32, &[v]))]
            }
            Builtin::ViewIndex => {
                vec![self.system(tepui_sysval::SystemValue::ViewIndex)?]
            }
            Builtin::ViewportIndex => vec![self.fau_word(FauWord::ViewportIndex)?],
            Builtin::BlendConstant => {
                let mut all = Vec::with_capacity(4);
                for component in 0..4 {
                    let value = tepui_sysval::SystemValue::BlendConstant { component };
                    all.push(self.system(value)?);
                }
                all
            }
            _ => return Ok(None),
        }))
    }

    fn sample_id(&mut self, i: Inst) -> Result<Val> {
        // The bits above are not defined.
        let v = Opnd::val(self.preloaded(i, preload::SAMPLE)?);
        Ok(self.word(IsaOp::RSHIFT_AND_I32, &[v, Opnd::imm(16), Opnd::imm(0x1f)]))
    }

    /// The samples that the fragment covers; of a program that runs for each sample, its own.
    fn sample_mask(&mut self, i: Inst) -> Result<Val> {
        let v = Opnd::val(self.preloaded(i, preload::SAMPLE)?).part(Swizzle::H00);
        let mask = self.word(IsaOp::U16_TO_U32, &[v]);
        if !self.s.info.per_sample {
            return Ok(mask);
        }
        let id = self.sample_id(i)?;
        let one = Opnd::val(self.in_register(Opnd::imm(1)));
        let count = Opnd::val(id).part(Swizzle::B00);
        Ok(self.word(IsaOp::LSHIFT_AND_I32, &[one, count, Opnd::val(mask)]))
    }

    /// Whether the lane has no fragment.
    fn helper(&mut self, i: Inst) -> Result<Comp> {
        let mask = Opnd::val(self.sample_mask(i)?);
        let inst = Isa::new(IsaOp::ICMP_OR_U32).with(Condition::Eq);
        let inst = inst.with(tepui_mali_isa::modifier::ResultType::I1);
        let zero = Opnd::imm(0);
        Ok(Comp::Val(self.def(inst, WORD, &[mask, zero, zero])))
    }

    /// Position in the pixel at which the shader runs: its centre, or at the sample, whose position is in a table of pairs of 16-bit numbers
    /// with eight fractional bits. source: Mesa, pan_nir_lower_sample_position.c
    fn sample_position(&mut self, i: Inst) -> Result<[Opnd; 2]> {
        if !self.s.info.per_sample {
            return Ok([Opnd::imm(0x3f00_0000); 2]);
        }
        use tepui_mali_isa::modifier::fields::UNSIGNED;
        let id = Opnd::val(self.sample_id(i)?);
        let table = Opnd::special(Special::Sample, 0);
        let inst = Isa::new(IsaOp::SHADDX_U64).immediate(0, 2);
        let address = self.def(inst, crate::mir::PAIR, &[table, id.part(Swizzle::W0)]);
        let d = self.f.val(WORD);
        let inst = Isa::new(IsaOp::LOAD_I32).staged(0, 1).flag(&UNSIGNED, true);
        self.isa(inst, &[d], &[], &[Opnd::val(address)]);
        Ok([Swizzle::H00, Swizzle::H11].map(|half| {
            let number = self.word(IsaOp::U16_TO_F32, &[Opnd::val(d).part(half)]);
            let step = Opnd::imm((1.0f32 / 256.0).to_bits());
            Opnd::val(self.word(IsaOp::FMA_F32, &[Opnd::val(number), step, Opnd::imm(0x8000_0000)]))
        }))
    }

    /// Differences between lanes of the quad: of the own row or column, or of the first one.
    pub(super) fn derivative(&mut self, i: Inst) {
        let s = self.s;
        let op = s.insts[i].op;
        let (step, fine) = match op {
            Op::DdxFine => (1, true),
            Op::DdxCoarse => (1, false),
            Op::DdyFine => (2, true),
            _ => (2, false),
        };
        let a = s.arg(i, 0);
        let half = self.ty(a).bits() == 16;
        self.each(i, |x, k| {
            let c = x.comp(a, k);
            let v = x.register(c);
            let lanes = match fine {
                false => [Opnd::imm(0), Opnd::imm(step)],
                true => {
                    let own = Opnd::special(Special::LaneId, 0);
                    let zero = Opnd::imm(0);
                    // The other bit of the number stays.
                    let first = x.word(IsaOp::LSHIFT_AND_I32, &[own, zero, Opnd::imm(3 ^ step)]);
                    let step = Opnd::imm(step);
                    let second = x.word(IsaOp::LSHIFT_OR_I32, &[Opnd::val(first), zero, step]);
                    [first, second].map(|v| Opnd::val(v).part(Swizzle::B00))
                }
            };
            let [first, second] = lanes.map(|lane| {
                let inst = Isa::new(IsaOp::CLPER_I32).with(SubgroupSize::Subgroup4);
                Opnd::val(x.def(inst.with(LaneOperation::None), WORD, &[Opnd::val(v), lane]))
            });
            let part = |o: Opnd| if half { o.part(Swizzle::H00) } else { o };
            let op = if half { IsaOp::FADD_V2F16 } else { IsaOp::FADD_F32 };
            let first = Opnd { neg: true, ..part(first) };
            x.word(op, &[part(second), first])
        });
    }

    fn fragment_output(&mut self, i: Inst, slot: &IoSlot) -> Result<()> {
        self.at_root(i)?;
        let words = self.words_of(self.s.arg(i, 0), slot.kind);
        let first = usize::from(slot.component);
        let outputs = &mut self.outputs;
        let colour = match (slot.loc, slot.index) {
            // No target takes it.
            (IoLoc::Location(n), _) if usize::from(n) >= TARGETS => return Ok(()),
            (IoLoc::Location(_), 1) => outputs.second.get_or_insert([Comp::Undef; 4]),
            (IoLoc::Location(n), _) => {
                let entry = outputs.colours.entry(n).or_insert(([Comp::Undef; 4], slot.kind));
                &mut entry.0
            }
            (IoLoc::Builtin(b), _) => {
                let to = match b {
                    Builtin::FragDepth => &mut outputs.depth,
                    Builtin::FragStencilRef => &mut outputs.stencil,
                    Builtin::SampleMask => &mut outputs.sample_mask,
                    _ => return Ok(()),
                };
                if first == 0 {
                    *to = words.first().copied();
                }
                return Ok(());
            }
        };
        for (to, &word) in colour.iter_mut().skip(first).zip(&words) {
            *to = word;
        }
        Ok(())
    }

    /// The colour that a target has so far.
    fn tile(&mut self, i: Inst, slot: &IoSlot) -> Result<()> {
        let s = self.s;
        let IoLoc::Location(target) = slot.loc else {
            return self.refuse(i, "of this built-in is not compiled for Mali");
        };
        let r = s.result(i);
        let count = self.count(r);
        let place = CURRENT_PIXEL | u32::from(target) << TARGET_SHIFT;
        let mut pixel = Opnd::imm(place);
        if s.insts[i].op == Op::LoadOutputSample {
            let sample = self.plain_word(s.arg(i, 0), 0);
            pixel = Opnd::val(self.word(IsaOp::IADD_U32, &[pixel, sample]));
        } else if s.info.per_sample || self.each_sample {
            let sample = Opnd::val(self.sample_id(i)?);
            pixel = Opnd::val(self.word(IsaOp::IADD_U32, &[pixel, sample]));
        }
        let coverage = Opnd::val(self.preloaded(i, preload::COVERAGE)?);
        let conversion = self.fau_word(FauWord::TileConversion(target as u8))?;
        let conversion = self.opnd(conversion);
        let end = count + usize::from(slot.component);
        if end > 4 {
            return self.refuse(i, "past the end of its location is not compiled");
        }
        let d = self.f.val(words(end as u8));
        let inst = Isa::new(IsaOp::LD_TILE).with(vector(end)).with(format(slot.kind));
        let inst = inst.staged(0, end as u8).of(Memory::Tile);
        self.isa(inst, &[d], &[], &[pixel, coverage, conversion]);
        let all: Vec<Comp> = self.split(d).into_iter().map(Comp::Val).collect();
        let ty = self.ty(r);
        let comps = self.of_words(ty, slot.kind, &all[usize::from(slot.component)..]);
        self.set(r, &comps);
        Ok(())
    }

    /// Tests, then colours. The coverage is in one register all the time.
    pub(super) fn end_fragment(&mut self, last: Inst) -> Result<()> {
        let outputs = self.outputs.clone();
        let own = self.preloaded(last, preload::COVERAGE)?;
        let mut coverage = match outputs.sample_mask {
            None => own,
            Some(mask) => {
                let mask = self.opnd(mask);
                self.word(IsaOp::LSHIFT_AND_I32, &[mask, Opnd::imm(0), Opnd::val(own)])
            }
        };
        let alpha = match outputs.colours.get(&0) {
            Some((colour, NumKind::Float)) if colour[3] != Comp::Undef => self.opnd(colour[3]),
            _ => Opnd::imm(0x3f80_0000),
        };
        let ops = [Opnd::val(coverage), alpha, Opnd::special(Special::AtestDatum, 0)];
        coverage = self.coverage(Isa::new(IsaOp::ATEST), ops);
        if outputs.depth.is_some() || outputs.stencil.is_some() {
            let inst = Isa::new(IsaOp::ZS_EMIT).flag(&Z, outputs.depth.is_some());
            let inst = inst.flag(&STENCIL, outputs.stencil.is_some());
            let [depth, stencil] =
                [outputs.depth, outputs.stencil].map(|c| self.opnd(c.unwrap_or(Comp::Const(0))));
            coverage = self.coverage(inst, [depth, stencil, Opnd::val(coverage)]);
        }
        for (&target, (colour, kind)) in &outputs.colours {
            let second = outputs.second.filter(|_| target == 0);
            let mut staged = [*colour].into_iter().chain(second).flatten().map(|c| match c {
                Comp::Undef => Comp::Const(0),
                c => c,
            });
            let first: Vec<Comp> = staged.by_ref().take(4).collect();
            let second: Vec<Comp> = staged.collect();
            let vals: Vec<Val> = first.into_iter().map(|c| self.register(c)).collect();
            let colour = self.collect(&vals);
            let inst = Isa::new(IsaOp::BLEND).with(VectorSize::V4).with(format(*kind));
            let inst = inst.staged(0, 4).of(Memory::Tile);
            let ops = [Opnd::special(blend_descriptor(target), 0), Opnd::val(coverage)];
            if second.is_empty() {
                self.isa(inst, &[], &[colour], &ops);
            } else {
                return self.refuse(last, "of a second colour is not compiled for Mali yet");
            }
        }
        Ok(())
    }

    /// A test that takes the coverage and returns what is left of it.
    fn coverage(&mut self, inst: Isa, ops: [Opnd; 3]) -> Val {
        let d = self.f.val(WORD);
        self.isa(inst.staged(0, 1), &[d], &[], &ops);
        d
    }
}
