//! Colours: loads from and stores to the tilebuffer, and colours in registers between main and
//! epilog.

use super::fragment::{ALL, already_tested, fence};
use super::stage::interface::name;
use super::{Comp, Opnd, Select};
use crate::abi::tile;
use crate::error::Result;
use crate::mir::{HALF, Op as MOp, UNASSIGNED, Val, WORD, class_of};
use tepui_agx_isa::operand::{Format, RegVec, Size};
use tepui_agx_isa::table::tile::{LdTile, StTile};
use tepui_format::Numeric;
use tepui_ir::{Inst, IoLoc, IoSlot, NumKind};

impl Select<'_> {
    pub(super) fn colour_input(&mut self, i: Inst, slot: IoSlot) -> Result<()> {
        let s = self.s;
        let IoLoc::Location(n) = slot.loc else {
            return self.refuse(i, format!("of {}", name(slot.loc)));
        };
        let ty = self.ty(s.result(i));
        let all = self.fragment().inputs.get(&n).copied().unwrap_or([Comp::Undef; 4]);
        let first = usize::from(slot.component);
        let end = (first + usize::from(ty.comps())).min(4);
        let comps = self.of_words(ty, slot.kind, &all[first..end]);
        self.set(s.result(i), &comps);
        Ok(())
    }

    pub(super) fn store_colours(&mut self) -> Result<()> {
        let f = self.fragment();
        let (colours, layout) = (f.colours.clone(), f.layout.clone());
        let Some(layout) = layout else { return Ok(()) };
        let limited = f.tests.is_early() || already_tested(&f.interface);
        let mask = f.mask.filter(|_| limited);
        let samples = self.shaded(mask.unwrap_or(Comp::Const(ALL)));
        for (n, comps) in colours {
            let Some(slot) = layout.slots[usize::from(n)] else { continue };
            // Channels that the program never writes are undefined: those at the end are not stored.
            let comps = &comps[..usize::from(slot.channels)];
            let channels =
                comps.iter().rposition(|&c| c != Comp::Undef).map_or(0, |last| last + 1) as u8;
            if channels == 0 {
                continue;
            }
            self.wait(fence::STORE);
            let (_, numeric) = tile::channels(slot.format);
            let narrow = numeric.is_integer() && slot.isa != Format::I32;
            let (class, size) = if narrow { (HALF, Size::B16) } else { (WORD, Size::B32) };
            let parts: Vec<Val> = comps[..usize::from(channels)]
                .iter()
                .map(|&c| match c {
                    Comp::Undef => self.reg(c, class),
                    c if narrow => {
                        let o = self.comp_src(c, 32);
                        self.mov(Opnd { size: Size::B16, ..o }, HALF)
                    }
                    c => self.reg(c, class),
                })
                .collect();
            let v = match parts[..] {
                [one] => one,
                _ => {
                    let bits = if narrow { 16 } else { 32 };
                    let d = self.f.val(class_of(bits, parts.len() as u8));
                    self.emit(MOp::Collect, &[d], &parts);
                    d
                }
            };
            let (samples, reg) = self.reg_or_imm(samples);
            let inst = StTile {
                r: RegVec::new(UNASSIGNED, size, channels),
                format: slot.isa,
                mask: (1 << channels) - 1,
                offset: slot.offset,
                samples,
                ..StTile::default()
            };
            let srcs: Vec<Val> = std::iter::once(v).chain(reg).collect();
            self.emit(MOp::Isa(inst.into()), &[], &srcs);
            self.fragment().table.writes_tile = true;
        }
        if mask.is_some() {
            self.fragment().table.reads_tile = true;
        }
        Ok(())
    }

    /// The colour that the tile has for these samples.
    pub(super) fn load_output(&mut self, i: Inst, slot: IoSlot, samples: Comp) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        let ty = self.ty(r);
        let IoLoc::Location(n) = slot.loc else {
            return self.refuse(i, format!("of {}", name(slot.loc)));
        };
        let f = self.fragment();
        let Some(layout) = f.layout.clone() else {
            return self.refuse(i, "in a program that is linked to its render targets later");
        };
        f.table.reads_tile = true;
        let Some(t) = layout.slots.get(usize::from(n)).copied().flatten() else {
            self.set(r, &vec![Comp::Const(0); usize::from(ty.comps())]);
            return Ok(());
        };
        let bits = self.tile_pixel(t, samples);
        let comps: Vec<Comp> = (0..ty.comps())
            .map(|k| {
                let k = usize::from(slot.component + k);
                let missing = match (k, slot.kind) {
                    (3, NumKind::Float) => u64::from(1f32.to_bits()),
                    (3, _) => 1,
                    _ => 0,
                };
                bits.get(k).copied().unwrap_or(Comp::Const(missing))
            })
            .collect();
        let comps = self.of_words(ty, slot.kind, &comps);
        self.set(r, &comps);
        Ok(())
    }

    /// The channels of a pixel in the tile, as words.
    fn tile_pixel(&mut self, t: tile::Slot, samples: Comp) -> Vec<Comp> {
        self.wait(fence::LOAD);
        let (_, numeric) = tile::channels(t.format);
        // Half floats are loaded as bits. source: Mesa, agx_nir_lower_tilebuffer.c, load_tilebuffer
        let isa = if t.isa == Format::F16 { Format::I16 } else { t.isa };
        let narrow = matches!(isa, Format::I8 | Format::I16);
        let (bits, size) = if narrow { (16, Size::B16) } else { (32, Size::B32) };
        let (samples, reg) = self.reg_or_imm(samples);
        let n = t.channels;
        let inst = LdTile {
            r: RegVec::new(UNASSIGNED, size, n),
            format: isa,
            mask: (1 << n) - 1,
            offset: t.offset,
            samples,
            ..LdTile::default()
        };
        let v = self.f.val(class_of(bits, n));
        let srcs: Vec<Val> = reg.into_iter().collect();
        self.emit(MOp::Isa(inst.into()), &[v], &srcs);
        let mut parts = vec![v];
        if n > 1 {
            parts = (0..n).map(|_| self.f.val(class_of(bits, 1))).collect();
            self.emit(MOp::Split, &parts, &[v]);
        }
        let channel_bits = tile::channel_bits(t.format);
        parts
            .into_iter()
            .enumerate()
            .map(|(k, v)| {
                let o = Opnd::of(v, size);
                Comp::Val(match (t.isa, numeric) {
                    (Format::F16, _) => self.fadd(false, 32, false, o, Opnd::NEG_ZERO),
                    (Format::I8, Numeric::Sint) => {
                        let n = 16 - channel_bits[k];
                        let up = self.bfi(16, [Opnd::imm(0), o, Opnd::imm(n)], 0);
                        let down = self.asr(16, Opnd::of(up, Size::B16), Opnd::imm(n));
                        let o = Opnd { sx: true, ..Opnd::of(down, Size::B16) };
                        self.iadd(32, false, o, Opnd::imm(0), 0)
                    }
                    (Format::I16, n) if n.is_integer() => {
                        let o = Opnd { sx: n == Numeric::Sint, ..o };
                        self.iadd(32, false, o, Opnd::imm(0), 0)
                    }
                    (Format::I8, _) => self.iadd(32, false, o, Opnd::imm(0), 0),
                    _ => v,
                })
            })
            .collect()
    }
}
