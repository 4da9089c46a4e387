//! Fragment shaders: built-ins, sample masks, depth and stencil. Interpolation and colours have
//! files of their own.
//!
//! `sample_mask` and `zs_emit` must follow rules: on every path each sample is discarded or tested
//! exactly once, tests come after the last discard, and colour writes after the tests. [`Tests`]
//! says where the tests run. A program that does neither is tested before it runs. source: Mesa,
//! agx_nir_lower_sample_mask.c, agx_nir_lower_discard_zs_emit.c, agx_nir_lower_frag_sidefx.c

use super::alu::table;
use super::interpolate::At;
use super::special::sr;
use super::stage::Io;
use super::stage::fragment::{State, Tests};
use super::stage::interface::name;
use super::{Comp, Opnd, Select, cond::Cond};
use crate::abi::{self, Colours, tile};
use crate::error::Result;
use crate::mir::{HALF, Op as MOp, RegClass, UNASSIGNED, Val, WORD};
use crate::uniforms::Source;
use crate::varyings::{FragmentTable, Origin, Shading, Varying};
use tepui_agx_isa::operand::{Dst, ICond, RegVec, Size};
use tepui_agx_isa::table::barrier::WaitPix;
use tepui_agx_isa::table::integer::Ffs;
use tepui_agx_isa::table::tile::{SampleMask, ZsEmit};
use tepui_ir::{Attrs, Builtin, Inst, IoLoc, IoSlot, NumKind, Op, Sampling, Value};
use tepui_sysval::SystemValue;

/// All samples of a pixel. source: applegpu.py, "sample_mask"
pub(super) const ALL: u64 = 255;
/// Pixel fences. source: Mesa, agx_compile.c, agx_wait_pixel_mask
pub(super) mod fence {
    /// Before tests.
    pub const TESTS: u16 = 1;
    /// Before loads from the tile.
    pub const LOAD: u16 = 8;
    /// Before stores to the tile.
    pub const STORE: u16 = 12;
}
impl Select<'_> {
    pub(super) fn fragment(&mut self) -> &mut State {
        match &mut self.io {
            Io::Fragment(f) => f,
            _ => unreachable!("only called in fragment shaders"),
        }
    }

    pub(super) fn begin_fragment(&mut self) -> Result<()> {
        let s = self.s;
        let f = self.fragment();
        let (per_sample, first) = (f.table.per_sample, f.tests == Tests::First);
        let live = Comp::Const(f.live());
        let behind = f.interface.behind.clone();
        let in_tile = match &f.interface.colours {
            Colours::Tile(tile) => Some(tile.samples),
            _ => None,
        };
        // Whoever links the parts makes the loop over samples, unless the epilog alone runs for each.
        let in_loop = match &behind {
            Some(main) => main.per_sample,
            None => per_sample && in_tile.is_none() && f.interface.colours != Colours::None,
        };
        if in_loop {
            let v = self.preload(abi::SAMPLE_BIT, HALF);
            self.fragment().sample = Some(v);
        }
        if let Some(main) = behind {
            let mut first = None;
            for n in (0..8u16).filter(|n| main.colours >> n & 1 != 0) {
                let comps = match first {
                    Some(comps) if main.copies >> n & 1 != 0 => comps,
                    _ => [0, 1, 2, 3].map(|c| Comp::Val(self.preload(abi::colour(n, c), WORD))),
                };
                first = first.or(Some(comps));
                self.fragment().inputs.insert(n, comps);
            }
            if main.depth {
                let v = self.preload(abi::DEPTH, WORD);
                self.fragment().depth = Some(Comp::Val(v));
            }
            if main.stencil {
                let v = self.preload(abi::STENCIL, HALF);
                self.fragment().stencil = Some(Comp::Val(v));
            }
            if main.write_mask {
                let v = self.preload(abi::WRITE_MASK, HALF);
                self.fragment().mask = Some(Comp::Val(v));
            }
        }
        if let Some(samples) = in_tile.filter(|&n| per_sample && !in_loop && n > 1) {
            self.begin_samples(samples);
        }
        if s.reads_builtin(Builtin::HelperInvocation) {
            let v = self.helper();
            self.fragment().helper = Some(v);
        }
        if first {
            self.wait(fence::TESTS);
            self.decide(Comp::Const(ALL), live);
        }
        Ok(())
    }

    /// Opens the loop over the samples of a pixel.
    fn begin_samples(&mut self, _samples: u8) {
        let one = self.mov_imm(1, HALF);
        let opened = self.open_loop(one);
        let f = self.fragment();
        f.sample = Some(opened.value);
        f.around = Some(opened);
    }

    /// Whether the lane is a helper: no sample is covered by the primitive, or all were discarded.
    fn helper(&mut self) -> Val {
        let c = self.helper_cond();
        let t = self.truth(c);
        self.reg(t, HALF)
    }

    fn helper_cond(&mut self) -> Cond {
        let (a, b) = match self.fragment().sample {
            // A sample may be without cover in a pixel that is covered.
            Some(bit) => {
                let mask = self.sr(sr::COVERAGE, Size::B16);
                let (m, bit) = (Opnd::of(mask, Size::B16), Opnd::of(bit, Size::B16));
                (Opnd::of(self.bitop(16, table::AND, m, bit), Size::B16), Opnd::imm(0))
            }
            None => (Opnd::of(self.sr(sr::ACTIVE, Size::B32), Size::B32), Opnd::imm(0)),
        };
        Cond::Int { cc: ICond::Ueq, a, b, inv: false }
    }

    /// Waits for older fragments of the pixel, once on every way.
    pub(super) fn wait(&mut self, mask: u16) {
        let root = self.region_depth <= 1;
        let f = self.fragment();
        let mask = mask & !f.waited;
        if root {
            f.waited |= mask;
        }
        if mask != 0 {
            self.isa(WaitPix { i: mask, ..WaitPix::default() }, &[], &[]);
        }
    }

    /// `mask` without samples that are not shaded now.
    pub(super) fn shaded(&mut self, mask: Comp) -> Comp {
        let Some(bit) = self.fragment().sample else { return mask };
        match mask {
            Comp::Const(ALL) => Comp::Val(bit),
            Comp::Const(0) => mask,
            mask => {
                let a = self.comp_src(mask, 16);
                Comp::Val(self.bitop(16, table::AND, a, Opnd::of(bit, Size::B16)))
            }
        }
    }

    /// Tests the samples of `target` that are in `live` and discards the others.
    fn decide(&mut self, target: Comp, live: Comp) {
        let target = self.shaded(target);
        let (target, a) = self.reg_or_imm(target);
        let (live, b) = self.reg_or_imm(live);
        let srcs: Vec<Val> = a.into_iter().chain(b).collect();
        let inst = SampleMask { target, live, ..SampleMask::default() };
        self.emit(MOp::Isa(inst.into()), &[], &srcs);
    }

    /// Runs after each instruction of the outermost region.
    pub(super) fn behind(&mut self, i: Inst) {
        let Io::Fragment(f) = &self.io else { return };
        // An unconditional discard has run the tests itself.
        let fused = matches!(self.s.insts[i].op, Op::Demote | Op::DemoteIf);
        if f.tests == Tests::Behind(i) && !fused {
            self.wait(fence::TESTS);
            self.decide(Comp::Const(ALL), Comp::Const(ALL));
        }
    }

    fn kill(&mut self, i: Inst) {
        let s = self.s;
        // The last discard also tests the remaining samples; earlier ones only discard.
        let f = self.fragment();
        let (last, alive) = match f.tests {
            Tests::Behind(at) => (at == i, ALL),
            Tests::Culled(at) => (at == i, f.live()),
            _ => (false, ALL),
        };
        let (dead, alive) = if last { (0, alive) } else { (ALL, 0) };
        let mask = match s.insts[i].op {
            Op::Demote => Comp::Const(dead),
            _ => match self.comp(s.arg(i, 0), 0) {
                Comp::Const(c) => Comp::Const(if c & 1 != 0 { dead } else { alive }),
                _ => {
                    let c = self.cond(s.arg(i, 0));
                    let [yes, no] = [dead, alive].map(|m| Opnd::imm(m as u8));
                    Comp::Val(self.cond_select(c, yes, no, HALF))
                }
            },
        };
        if !last {
            return self.decide(mask, Comp::Const(0));
        }
        self.wait(fence::TESTS);
        self.decide(Comp::Const(ALL), mask);
    }

    pub(super) fn fragment_io(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInput, Attrs::Io(slot)) => {
                if self.fragment().interface.behind.is_some() {
                    return self.colour_input(i, slot).map(|()| true);
                }
                let at = match slot.sampling {
                    Sampling::Center => At::Centre,
                    Sampling::Centroid => At::Centroid,
                    Sampling::Sample => self.own_sample(),
                };
                self.interpolated(i, slot, at)?;
            }
            (Op::LoadInputAtSample, Attrs::Io(slot)) => {
                let n = self.isrc(s.arg(i, 1), 0);
                self.interpolated(i, slot, At::Sample(Opnd { size: Size::B16, ..n }))?;
            }
            (Op::LoadInputAtOffset, Attrs::Io(slot)) => self.at_offset(i, slot)?,
            (Op::LoadInputVertex, _) => {
                return self.refuse(i, "of single vertices is not compiled");
            }
            (Op::StoreOutput, Attrs::Io(slot)) => {
                self.at_root(i)?;
                self.fragment_output(i, slot)?;
            }
            (Op::LoadOutput, Attrs::Io(slot)) => {
                let samples = self.shaded(Comp::Const(ALL));
                self.load_output(i, slot, samples)?;
            }
            (Op::LoadOutputSample, Attrs::Io(slot)) => {
                let mask = match s.as_const(s.arg(i, 0)) {
                    Some(sample @ 0..8) => Comp::Const(1 << sample),
                    Some(_) => Comp::Const(1),
                    None => {
                        let sample = self.isrc(s.arg(i, 0), 0);
                        let ops = [Opnd::imm(0), Opnd::imm(1), sample];
                        Comp::Val(self.bfi(16, ops, 0))
                    }
                };
                self.load_output(i, slot, mask)?;
            }
            (Op::Demote | Op::DemoteIf, _) => self.kill(i),
            (Op::IsHelper, _) => {
                let c = self.helper_cond();
                let t = self.known_truth(c);
                self.set(s.result(i), &[t]);
            }
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let Some(comps) = self.fragment_builtin(i, b)? else { return Ok(false) };
                self.set(s.result(i), &comps);
            }
            // Later code must not run the tests again.
            (Op::RunTests, _) => {
                self.at_root(i)?;
                self.run_tests();
                let f = self.fragment();
                if matches!(f.tests, Tests::Emit | Tests::Last) {
                    f.tests = Tests::Elsewhere;
                }
            }
            // Fragments of a pixel run in order from here on. source: Mesa, agx_compile.c,
            // begin_invocation_interlock
            (Op::InterlockBegin, _) => self.wait(fence::STORE),
            (Op::InterlockEnd, _) => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The sample that is shaded, or the centre in programs that run once a pixel.
    fn own_sample(&mut self) -> At {
        match self.sample_id() {
            Comp::Val(v) => At::Sample(Opnd::of(v, Size::B16)),
            _ => At::Centre,
        }
    }

    fn sample_id(&mut self) -> Comp {
        match self.fragment().sample {
            // The highest bit of one.
            Some(bit) => {
                let a = Opnd::of(bit, Size::B16);
                let d = Dst::new(UNASSIGNED, Size::B32);
                Comp::Val(self.def(Ffs { d, a: a.src(), ..Ffs::default() }, WORD, &[a]))
            }
            None => Comp::Const(0),
        }
    }

    /// The axis of the pixel's place, if a value is that of the fragment in it.
    pub(super) fn pixel_axis(&self, v: Value, k: usize) -> Option<u8> {
        let s = self.s;
        let mut i = s.def_inst(v)?;
        let mut k = u8::try_from(k).ok()?;
        if let Attrs::Index(n) = s.insts[i].attrs {
            k = u8::try_from(n).ok()?;
            i = s.def_inst(s.arg(i, 0))?;
        }
        let place = s.insts[i].attrs == Attrs::Builtin(Builtin::FragCoord);
        (place && k < 2).then_some(k)
    }

    fn fragment_builtin(&mut self, i: Inst, b: Builtin) -> Result<Option<Vec<Comp>>> {
        let s = self.s;
        Ok(Some(match b {
            Builtin::FragCoord => {
                let own = self.fragment().sample.map(|_| self.own_sample());
                let place = match own {
                    Some(At::Sample(n)) => self.sample_place(n)?,
                    _ => [Opnd::imm(tepui_agx_isa::operand::minifloat_encode(0.5).unwrap_or(0)); 2],
                };
                let mut comps = Vec::with_capacity(4);
                for axis in 0..2u8 {
                    let p = self.sr(sr::GLOBAL + axis, Size::B32);
                    let p = self.int_to_float(Opnd::of(p, Size::B32));
                    let p = self.fadd(false, 32, false, p, place[usize::from(axis)]);
                    comps.push(Comp::Val(p));
                }
                let at = own.unwrap_or(At::Centre);
                for origin in [Origin::Z, Origin::W] {
                    let cf = self.fragment().coefficient(origin, Shading::Linear);
                    comps.push(match cf {
                        Some(cf) => Comp::Val(self.iter(cf, 1, Shading::Linear, at, 32)),
                        None => Comp::Undef,
                    });
                }
                comps
            }
            Builtin::FrontFacing => {
                let v = self.sr(sr::BACK, Size::B32);
                let (a, b) = (Opnd::of(v, Size::B32), Opnd::imm(0));
                vec![self.known_truth(Cond::Int { cc: ICond::Ueq, a, b, inv: false })]
            }
            Builtin::PointCoord => {
                let cf = self.fragment().coefficient(Origin::PointCoord, Shading::Smooth);
                let regs = [cf, cf.map(|c| c + 1)];
                self.iterate(&regs, Shading::Smooth, At::Centre, 32)
            }
            Builtin::PrimitiveId => {
                match self.fragment().coefficient(Origin::PrimitiveId, Shading::Flat) {
                    Some(cf) => vec![self.flat(cf)?],
                    None => vec![Comp::Undef],
                }
            }
            Builtin::ViewportIndex => {
                let origin = Origin::Varying { varying: Varying::Viewport, component: 0 };
                match self.fragment().coefficient(origin, Shading::Flat) {
                    Some(cf) => vec![self.flat(cf)?],
                    None => vec![Comp::Undef],
                }
            }
            Builtin::Layer => vec![Comp::Val(self.sr(sr::LAYER, Size::B32))],
            Builtin::SampleId => vec![self.sample_id()],
            Builtin::SamplePosition => {
                let half = u64::from(0.5f32.to_bits());
                match self.sample_id() {
                    Comp::Val(n) => {
                        let at = self.sample_place(Opnd::of(n, Size::B32))?;
                        at.map(|o| o.val().map_or(Comp::Undef, Comp::Val)).to_vec()
                    }
                    _ => vec![Comp::Const(half); 2],
                }
            }
            Builtin::SampleMask => {
                let v = self.sr(sr::INPUT_MASK, Size::B32);
                let api = self.uniform(Source::System(SystemValue::SampleMask))?;
                let (a, b) = (Opnd::of(v, Size::B32), Opnd::uniform(api, Size::B16));
                let mut v = self.bitop(32, table::AND, a, b);
                let f = self.fragment();
                if let Some(bit) = f.sample.filter(|_| f.coverage_of_sample) {
                    let (a, b) = (Opnd::of(v, Size::B32), Opnd::of(bit, Size::B16));
                    v = self.bitop(32, table::AND, a, b);
                }
                vec![Comp::Val(v)]
            }
            Builtin::BlendConstant => {
                let mut comps = Vec::with_capacity(4);
                for component in 0..4 {
                    comps.push(Comp::Uniform(
                        self.uniform(Source::System(SystemValue::BlendConstant { component }))?,
                    ));
                }
                comps
            }
            Builtin::HelperInvocation => {
                vec![self.fragment().helper.map_or(Comp::Undef, Comp::Val)]
            }
            // Each pixel is shaded: the rate is 0, one by one, and so is the size of what is
            // shaded.
            Builtin::ShadingRate => vec![Comp::Const(0)],
            Builtin::FragSize => vec![Comp::Const(1); 2],
            Builtin::FragInvocationCount if self.fragment().sample.is_none() => {
                vec![Comp::Const(1)]
            }
            Builtin::SubgroupSize | Builtin::SubgroupInvocationId | Builtin::DeviceIndex => {
                return Ok(None);
            }
            _ => {
                debug_assert_eq!(s.insts[i].op, Op::LoadBuiltin);
                return self.refuse(i, format!("`{b}` is not compiled"));
            }
        }))
    }

    /// Position of a sample in its pixel. source: Mesa, agx_nir_lower_sample_intrinsics.c
    fn sample_place(&mut self, n: Opnd) -> Result<[Opnd; 2]> {
        let packed =
            Opnd::uniform(self.uniform(Source::System(SystemValue::SamplePositions))?, Size::B32);
        let n = Opnd { size: Size::B32, ..n };
        let by = Opnd::of(self.iadd(32, false, Opnd::imm(0), n, 3), Size::B32);
        let byte = Opnd::of(self.bfeil(32, packed, by, 0), Size::B32);
        let sixteenth = tepui_agx_isa::operand::minifloat_encode(1.0 / 16.0).unwrap_or(0);
        Ok([0u8, 4].map(|shift| {
            let k = Opnd::of(self.bfeil(32, byte, Opnd::imm(shift), 4), Size::B32);
            let k = self.int_to_float(k);
            Opnd::of(self.fmul(false, 32, false, k, Opnd::imm(sixteenth)), Size::B32)
        }))
    }

    fn fragment_output(&mut self, i: Inst, slot: IoSlot) -> Result<()> {
        let s = self.s;
        let v = s.arg(i, 0);
        let early = self.s.info.early_tests;
        match slot.loc {
            // The result of an early test stays.
            IoLoc::Builtin(Builtin::FragDepth | Builtin::FragStencilRef) if early => {}
            IoLoc::Builtin(Builtin::FragDepth) => {
                let words = self.words_of(v, NumKind::Float);
                self.fragment().depth = words.first().copied();
            }
            IoLoc::Builtin(Builtin::FragStencilRef) => {
                let o = self.isrc(v, 0);
                let c = Comp::Val(self.mov(Opnd { size: Size::B16, ..o }, HALF));
                self.fragment().stencil = Some(c);
            }
            IoLoc::Builtin(Builtin::SampleMask) => {
                // The first element of an array of masks covers all samples.
                if slot.component == 0 {
                    let o = self.isrc(v, 0);
                    let mut mask = self.mov(Opnd { size: Size::B16, ..o }, HALF);
                    // A main part may have left one.
                    if let Some(Comp::Val(first)) = self.fragment().mask {
                        let (a, b) = (Opnd::of(first, Size::B16), Opnd::of(mask, Size::B16));
                        mask = self.bitop(16, table::AND, a, b);
                    }
                    self.fragment().mask = Some(Comp::Val(mask));
                }
            }
            IoLoc::Location(n) => {
                let n = if slot.index == 1 { n + 1 } else { n };
                if usize::from(n) >= tile::TARGETS {
                    return self.refuse(i, format!("to {}", name(slot.loc)));
                }
                let dual = slot.index == 1;
                let words = self.words_of(v, slot.kind);
                let f = self.fragment();
                f.table.dual_source |= dual;
                f.table.colours |= 1 << n;
                let to = f.colours.entry(n as u8).or_insert([Comp::Undef; 4]);
                for (slot, c) in to.iter_mut().skip(usize::from(slot.component)).zip(words) {
                    *slot = c;
                }
            }
            loc => return self.refuse(i, format!("to {}", name(loc))),
        }
        Ok(())
    }

    pub(super) fn end_fragment(&mut self) -> Result<()> {
        match self.fragment().interface.colours.clone() {
            Colours::Registers => self.end_main(),
            Colours::None => {
                if let Some(mask) = self.fragment().mask {
                    self.kill_outside(mask);
                }
            }
            Colours::Tile(tile) => {
                self.run_tests();
                self.store_colours()?;
                if self.fragment().around.is_some() {
                    self.end_samples(tile.samples);
                }
            }
        }
        // An epilog leaves the sample's bit for the next turn.
        let f = self.fragment();
        let main = f.interface.behind.as_ref();
        if let (Some(FragmentTable { per_sample: true, .. }), Some(bit)) = (main, f.sample) {
            self.export(&[(abi::SAMPLE_BIT, bit)]);
        }
        Ok(())
    }

    /// The end of a main part: results to registers.
    fn end_main(&mut self) {
        let f = self.fragment();
        let (depth, stencil, mask) = (f.depth, f.stencil, f.mask);
        let tested = f.table.tested;
        let colours = f.colours.clone();
        let sample = f.sample;
        let mut out = Vec::new();
        if let Some(c) = depth {
            out.push((abi::DEPTH, self.reg(c, WORD)));
        }
        if let Some(c) = stencil {
            out.push((abi::STENCIL, self.reg(c, HALF)));
        }
        match mask {
            Some(c) if tested => {
                self.fragment().table.write_mask = true;
                out.push((abi::WRITE_MASK, self.reg(c, HALF)));
            }
            Some(c) => self.kill_outside(c),
            None => {}
        }
        // OpenGL's one colour for all targets is written to each location, of which most draws have one.
        let first = colours.first_key_value().map(|(_, &comps)| comps);
        for (k, (n, comps)) in colours.into_iter().enumerate() {
            if k > 0 && first == Some(comps) {
                self.fragment().table.copies |= 1 << n;
            } else if let Some(v) = self.words_together(&comps) {
                out.push((abi::colour(u16::from(n), 0), v));
            }
        }
        if let Some(bit) = sample {
            out.push((abi::SAMPLE_BIT, bit));
        }
        self.export(&out);
    }

    /// Discards samples outside of a mask.
    fn kill_outside(&mut self, mask: Comp) {
        let a = self.comp_src(mask, 16);
        let outside = self.bitop(16, table::NOT_A, a, Opnd::imm(0));
        let outside = self.bitop(16, table::AND, Opnd::of(outside, Size::B16), Opnd::imm(255));
        self.decide(Comp::Val(outside), Comp::Const(0));
    }

    /// The tests that are left to the end.
    fn run_tests(&mut self) {
        let f = self.fragment();
        let (tests, depth, stencil) = (f.tests, f.depth, f.stencil);
        // With tests at the start, the mask selects the samples that are written.
        let mask = f.mask.filter(|_| !tests.is_early() && !already_tested(&f.interface));
        match tests {
            Tests::Emit => {
                if let Some(m) = mask {
                    self.kill_outside(m);
                }
                self.wait(fence::TESTS);
                self.emit_zs(depth, stencil);
            }
            Tests::Last => {
                self.wait(fence::TESTS);
                let live = match mask {
                    Some(m) => {
                        let a = self.comp_src(m, 16);
                        let low = self.bitop(16, table::AND, a, Opnd::imm(255));
                        Comp::Val(low)
                    }
                    None => Comp::Const(ALL),
                };
                self.decide(Comp::Const(ALL), live);
            }
            _ => {}
        }
    }

    fn emit_zs(&mut self, depth: Option<Comp>, stencil: Option<Comp>) {
        let mut parts = Vec::new();
        if let Some(c) = depth {
            parts.push(self.reg(c, WORD));
        }
        if let Some(c) = stencil {
            parts.push(self.reg(c, HALF));
        }
        let halves: u8 = parts.iter().map(|&v| self.f.vals[v].units).sum();
        let v = match parts[..] {
            [one] => one,
            _ => {
                let d = self.f.val(RegClass::new(halves).aligned(2));
                self.emit(MOp::Collect, &[d], &parts);
                d
            }
        };
        let samples = self.shaded(Comp::Const(ALL));
        let (samples, reg) = self.reg_or_imm(samples);
        let values = RegVec::new(UNASSIGNED, Size::B16, halves);
        let srcs: Vec<Val> = reg.into_iter().chain([v]).collect();
        let inst = ZsEmit { samples, values, ..ZsEmit::default() };
        self.emit(MOp::Isa(inst.into()), &[], &srcs);
    }

    /// Closes the loop over samples.
    fn end_samples(&mut self, samples: u8) {
        let Some(opened) = self.fragment().around else { return };
        let bit = opened.value;
        let next = self.iadd(16, false, Opnd::imm(0), Opnd::of(bit, Size::B16), 1);
        let more = Cond::Int {
            cc: ICond::Ult,
            a: Opnd::of(next, Size::B16),
            b: Opnd::imm(1 << samples),
            inv: false,
        };
        self.emit_branch(more);
        self.close_loop(opened, next);
    }
}

/// The part in front of an epilog has run the tests.
pub(super) fn already_tested(f: &abi::Fragment) -> bool {
    f.behind.as_ref().is_some_and(|m| m.tested)
}
