//! Outputs of fragment shaders, and render target writes.

use super::{Comp, Ending, Select, Source};
use crate::emit::RESERVED;
use crate::error::Result;
use crate::mir::{GRF_UNITS, Inst, MOp, Op, Operand, plane_units};
use crate::payload::TargetPayload;
use crate::stage::{FragmentInfo, FragmentState};
use tepui_intel_isa::{Generation, Type as Ty};
use tepui_ir::{self as ir, Builtin, IoLoc, IoSlot};
use tepui_regalloc::Val;

/// Colour targets of a fragment.
const TARGETS: usize = 8;

/// Outputs of a fragment shader.
#[derive(Clone)]
pub(super) struct Outputs {
    colours: [[Comp; 4]; TARGETS],
    /// The second source of the first target.
    second: [Comp; 4],
    depth: Comp,
    stencil: Comp,
    mask: Comp,
}

impl Default for Outputs {
    fn default() -> Outputs {
        Outputs {
            colours: [[Comp::Undef; 4]; TARGETS],
            second: [Comp::Undef; 4],
            depth: Comp::Undef,
            stencil: Comp::Undef,
            mask: Comp::Undef,
        }
    }
}

impl Select<'_> {
    pub(super) fn fragment_output(&mut self, i: ir::Inst, slot: &IoSlot) -> Result<()> {
        self.at_root(i)?;
        let words = self.words_of(self.s.arg(i, 0), slot.kind);
        let outputs = &mut self.io.fragment;
        let colour = match (slot.loc, slot.index) {
            (IoLoc::Location(_), 1) => &mut outputs.second,
            (IoLoc::Location(n), _) => &mut outputs.colours[usize::from(n) % TARGETS],
            (IoLoc::Builtin(b), _) => {
                let to = match b {
                    Builtin::FragDepth => &mut outputs.depth,
                    Builtin::FragStencilRef => &mut outputs.stencil,
                    Builtin::SampleMask if slot.component == 0 => &mut outputs.mask,
                    _ => return Ok(()),
                };
                *to = words.first().copied().unwrap_or(Comp::Undef);
                return Ok(());
            }
        };
        for (to, &word) in colour.iter_mut().skip(slot.component.into()).zip(&words) {
            *to = word;
        }
        Ok(())
    }

    /// Writes the targets; the last write ends the thread.
    pub(super) fn end_fragment(&mut self, info: &FragmentInfo, state: &FragmentState) -> Ending {
        let written: Vec<u8> = (0..TARGETS as u8).filter(|n| info.targets >> n & 1 != 0).collect();
        if info.kills {
            self.effect(Op::Resume);
        }
        // Gen9 wants headers where there are several targets or sources. source: Mesa,
        // brw_lower_logical_sends.cpp (`lower_fb_write_logical_send`)
        let several = written.len() > 1 || info.dual_source || written.iter().any(|&n| n > 0);
        let header = several && self.generation == Generation::Gen9;
        let payload = |n: u8| TargetPayload {
            index: n,
            surface: n,
            header,
            null: written.is_empty(),
            alpha: state.replicate_alpha && !info.sample_mask && n > 0,
            mask: info.sample_mask,
            coarse: info.coarse,
            dual: info.dual_source && n == 0,
            depth: info.depth.is_some(),
            stencil: info.stencil,
        };
        let (last, others) = match written.split_last() {
            Some((&last, others)) => (last, others),
            None => (0, &[][..]),
        };
        for &n in others {
            self.target_write(payload(n));
        }
        self.last_target(payload(last))
    }

    /// The planes of a write from the colour on.
    fn target_planes(&self, p: &TargetPayload) -> Vec<Comp> {
        let outputs = &self.io.fragment;
        let mut all = outputs.colours[usize::from(p.index)].to_vec();
        all.extend(outputs.second.iter().filter(|_| p.dual));
        all.extend(Some(outputs.depth).filter(|_| p.depth));
        all.extend(Some(outputs.stencil).filter(|_| p.stencil));
        all
    }

    /// The planes before the colour: alpha and mask.
    fn target_prefix(&self, p: &TargetPayload) -> [Option<Comp>; 2] {
        let outputs = &self.io.fragment;
        [(p.alpha, outputs.colours[0][3]), (p.mask, outputs.mask)]
            .map(|(there, c)| there.then_some(c))
    }

    /// A write that does not end the thread: its colour is a payload of its own.
    fn target_write(&mut self, p: TargetPayload) {
        let colour = self.target_planes(&p);
        let v = self.collect(&colour);
        let value = |v| Source { operand: Operand::value(Ty::UD), val: Some(v) };
        let mut sources = vec![value(v)];
        for c in self.target_prefix(&p).into_iter().flatten() {
            let v = self.value(c);
            sources.push(value(v));
        }
        self.push(Inst::new(Op::TargetWrite(p), Operand::NONE, &[]), None, &sources);
    }

    fn last_target(&mut self, p: TargetPayload) -> Ending {
        let units = u16::from(plane_units(self.width));
        let plane = units / GRF_UNITS;
        let colour = p.last_colour(plane, RESERVED);
        let mut exports: Vec<(u16, Val)> = Vec::with_capacity(14);
        for (k, c) in (0..).zip(self.target_planes(&p)) {
            // Components that nothing writes are anything.
            if c != Comp::Undef {
                let v = self.value(c);
                exports.push((GRF_UNITS * colour + units * k, v));
            }
        }
        let first = colour - p.prefix(plane);
        let [alpha, mask] = self.target_prefix(&p);
        if let Some(c) = alpha {
            let v = self.value(c);
            exports.push((GRF_UNITS * (first + 2 * u16::from(p.header)), v));
        }
        let mut mask_at = 0;
        if let Some(c) = mask {
            // Words of the mask are packed from a plane before the message.
            mask_at = (first - plane) / plane * plane;
            let v = self.value(c);
            exports.push((GRF_UNITS * mask_at, v));
        }
        self.f.exports = exports.iter().map(|e| e.0).collect();
        let vals: Vec<Val> = exports.iter().map(|e| e.1).collect();
        if !vals.is_empty() {
            self.emit(MOp::Exports, &[], &vals);
        }
        Ending::Target { payload: p, first, colour, mask: mask_at }
    }
}
