//! Vertex shaders: attributes, ids, and the words of the vertex store.

use super::special::sr;
use super::stage::Io;
use super::stage::interface::{name, words};
use super::stage::vertex::{State, Word};
use super::{Comp, Opnd, Select, cond::Cond};
use crate::abi::{self, Attributes, VertexResults};
use crate::error::Result;
use crate::mir::{Op as MOp, UNASSIGNED, Val, WORD};
use crate::uniforms::Source;
use crate::varyings::Varying;
use std::collections::{BTreeMap, BTreeSet};
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::operand::{Base64, Extend, FCond, Format, Index, RegVec, Size};
use tepui_agx_isa::table::device::DeviceLoad;
use tepui_agx_isa::table::varying::{NoVar, StVar, StVarFinal};
use tepui_ir::{Attrs, Builtin, Inst, IoLoc, IoSlot, Op};
use tepui_sysval::SystemValue;

impl Select<'_> {
    fn vertex(&mut self) -> &mut State {
        match &mut self.io {
            Io::Vertex(v) => v,
            _ => unreachable!("only called in vertex shaders"),
        }
    }

    pub(super) fn begin_vertex(&mut self) -> Result<()> {
        let s = self.s;
        let prolog = self.vertex().interface.results == VertexResults::Registers;
        let memory = self.vertex().interface.results.is_memory();
        let mut ids: BTreeSet<bool> = BTreeSet::new();
        s.walk(|s, _, i| match s.insts[i].attrs {
            Attrs::Builtin(Builtin::VertexIndex) => _ = ids.insert(false),
            Attrs::Builtin(Builtin::InstanceIndex) => _ = ids.insert(true),
            _ => {}
        });
        let (fetches, all) = match &self.vertex().interface.attributes {
            Attributes::Registers => (false, Vec::new()),
            Attributes::Fetch(all) => (true, all.clone()),
        };
        for (k, half) in [abi::VERTEX_ID, abi::INSTANCE_ID].into_iter().enumerate() {
            // After a prolog, both stay where they are.
            let wanted = ids.contains(&(k == 1))
                || prolog
                || all.iter().flatten().any(|a| a.per_instance.is_some() == (k == 1));
            if wanted {
                let v = match (memory && fetches, k) {
                    (false, _) => self.preload(half, WORD),
                    (true, 0) => self.captured_vertex()?,
                    (true, _) => self.captured_instance()?,
                };
                self.vertex().ids[k] = Some(v);
            }
        }
        let (used, n) = (self.vertex().table.components, self.vertex().table.attributes);
        for loc in 0..u16::from(n) {
            let mask = (used >> (4 * loc) & 0xf) as u8;
            if mask == 0 {
                continue;
            }
            let comps = if fetches {
                let attribute = all.get(usize::from(loc)).copied().flatten();
                self.fetch(loc as u8, attribute, mask)?
            } else {
                let mut comps = [Comp::Undef; 4];
                for c in (0..4).filter(|c| mask >> c & 1 != 0) {
                    let v = self.preload(abi::attribute(loc, c), WORD);
                    comps[usize::from(c)] = Comp::Val(v);
                }
                comps
            };
            self.vertex().attributes.insert(loc, comps);
        }
        Ok(())
    }

    /// The instance that a thread of a compute program makes: the driver may begin with another than the first.
    fn captured_instance(&mut self) -> Result<Val> {
        let base = self.uniform(Source::System(SystemValue::BaseWorkgroup { axis: 1 }))?;
        let y = self.special(sr::GLOBAL + 1, WORD);
        let (a, b) = (Opnd::of(y, Size::B32), Opnd::uniform(base, Size::B32));
        Ok(self.iadd(32, false, a, b, 0))
    }

    /// The number of the vertex that a thread captures, from the driver's list.
    fn captured_vertex(&mut self) -> Result<Val> {
        let base = self.uniform(Source::System(SystemValue::VertexList))?;
        let number = self.special(sr::GLOBAL, WORD);
        let inst = DeviceLoad {
            format: Format::I32,
            mask: 1,
            r: RegVec::new(UNASSIGNED, Size::B32, 1),
            base: Base64::Uniform(base),
            index: Index::Reg(UNASSIGNED),
            extend: Extend::Unsigned,
            ..DeviceLoad::default()
        };
        let v = self.f.val(WORD);
        self.emit(MOp::Isa(inst.into()), &[v], &[number]);
        Ok(v)
    }

    pub(super) fn vertex_io(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::LoadInput, Attrs::Io(slot)) => {
                let IoLoc::Location(n) = slot.loc else {
                    return self.refuse(i, format!("of {}", name(slot.loc)));
                };
                let ty = self.ty(s.result(i));
                let all = self.vertex().attributes.get(&n).copied().unwrap_or([Comp::Undef; 4]);
                let first = usize::from(slot.component);
                let end = first + usize::from(words(ty));
                if end > 4 {
                    return self.refuse(i, "past the end of its location");
                }
                let comps = self.of_words(ty, slot.kind, &all[first..end]);
                self.set(s.result(i), &comps);
            }
            (Op::StoreOutput, Attrs::Io(slot)) => {
                self.at_root(i)?;
                let words = self.words_of(s.arg(i, 0), slot.kind);
                self.vertex_output(i, slot, &words)?;
            }
            (Op::LoadBuiltin, Attrs::Builtin(b)) => {
                let comp = match b {
                    Builtin::VertexIndex => self.vertex().ids[0].map_or(Comp::Undef, Comp::Val),
                    Builtin::InstanceIndex => {
                        let base = self.uniform(Source::System(SystemValue::BaseInstance))?;
                        match self.vertex().ids[1] {
                            Some(v) => {
                                let (a, b) =
                                    (Opnd::of(v, Size::B32), Opnd::uniform(base, Size::B32));
                                Comp::Val(self.iadd(32, false, a, b, 0))
                            }
                            None => Comp::Undef,
                        }
                    }
                    Builtin::BaseVertex => {
                        Comp::Uniform(self.uniform(Source::System(SystemValue::BaseVertex))?)
                    }
                    Builtin::BaseInstance => {
                        Comp::Uniform(self.uniform(Source::System(SystemValue::BaseInstance))?)
                    }
                    Builtin::DrawIndex => {
                        self.uniform_half(Source::System(SystemValue::DrawIndex))?
                    }
                    _ => return Ok(false),
                };
                self.set(s.result(i), &[comp]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn vertex_output(&mut self, i: Inst, slot: IoSlot, words: &[Comp]) -> Result<()> {
        let t = &self.vertex().table;
        let (point_size, clip) = (t.point_size_at(), t.clip_at());
        for (&c, k) in words.iter().zip(slot.component..) {
            let put = |x: &mut Self, w: Word| {
                let keep = match w {
                    Word::Varying(v, _) => x.vertex().has(v),
                    Word::At(_) => true,
                };
                if keep {
                    x.vertex().stores.push((w, c));
                }
            };
            match slot.loc {
                IoLoc::Location(n) => put(self, Word::Varying(Varying::Location(n), k)),
                IoLoc::Builtin(Builtin::Position) => put(self, Word::At(u16::from(k))),
                IoLoc::Builtin(Builtin::PointSize) => put(self, Word::At(point_size)),
                IoLoc::Builtin(Builtin::Layer) => self.vertex().target[0] = Some(c),
                IoLoc::Builtin(Builtin::ViewportIndex) => {
                    put(self, Word::Varying(Varying::Viewport, 0));
                    self.vertex().target[1] = Some(c);
                }
                IoLoc::Builtin(Builtin::ClipDistance) => {
                    put(self, Word::At(clip + u16::from(k)));
                    put(self, Word::Varying(Varying::ClipDistances, k));
                }
                IoLoc::Builtin(Builtin::CullDistance) => {
                    put(self, Word::Varying(Varying::CullDistances, k));
                    if self.vertex().has(Varying::Kept) {
                        let a = self.comp_src(c, 32);
                        let test = Cond::Float { cc: FCond::Gte, a, b: Opnd::imm(0), inv: false };
                        let one = self.konst(u64::from(1f32.to_bits()), Size::B32);
                        let kept = self.cond_select(test, one, Opnd::imm(0), WORD);
                        let word = Word::Varying(Varying::Kept, k);
                        self.vertex().stores.push((word, Comp::Val(kept)));
                    }
                }
                // A device with one shading rate ignores it.
                IoLoc::Builtin(Builtin::PrimitiveShadingRate) => {}
                loc => return self.refuse(i, format!("to {}", name(loc))),
            }
        }
        Ok(())
    }

    pub(super) fn end_vertex(&mut self) -> Result<()> {
        match self.vertex().interface.results {
            VertexResults::Registers => return self.end_prolog(),
            VertexResults::Memory | VertexResults::Record => return Ok(()),
            _ => {}
        }
        let [layer, viewport] = self.vertex().target;
        if layer.is_some() || viewport.is_some() {
            let low = self.comp_src(layer.unwrap_or(Comp::Const(0)), 32);
            let high = self.comp_src(viewport.unwrap_or(Comp::Const(0)), 32);
            let low = Opnd { size: Size::B16, ..low };
            let high = Opnd { size: Size::B16, ..high };
            // Sixteen bits each: shifted in two steps, as an addend is by no more than 4.
            let word = self.bfi(32, [low, high, Opnd::imm(16)], 16);
            let at = Word::At(self.vertex().table.target_at());
            self.vertex().stores.push((at, Comp::Val(word)));
        }
        let mut stores = std::mem::take(&mut self.vertex().stores);
        if self.vertex().interface.negative_one_to_one {
            self.halve_depth(&mut stores);
        }
        // Words that are not written are undefined.
        stores.retain(|s| s.1 != Comp::Undef);
        let last = stores.len().wrapping_sub(1);
        // One register for neighbours that store the same number or uniform.
        let mut before: Option<(Comp, Val)> = None;
        for (n, (word, c)) in stores.into_iter().enumerate() {
            let index = match word {
                Word::At(at) => Comp::Const(u64::from(at)),
                Word::Varying(v, k) => match self.vertex().place(v) {
                    Some(at) => Comp::Const(u64::from(at) + u64::from(k)),
                    None => {
                        let half = self.uniform(Source::VaryingWord { varying: v })?;
                        let (base, k) = (Opnd::uniform(half, Size::B16), Opnd::imm(k));
                        Comp::Val(self.iadd(16, false, base, k, 0))
                    }
                },
            };
            let data = match before {
                Some((same, v)) if same == c => v,
                _ => self.reg(c, WORD),
            };
            before = Some((c, data));
            let (index, reg) = self.reg_or_imm(index);
            let srcs: Vec<Val> = std::iter::once(data).chain(reg).collect();
            let r = RegVec::new(UNASSIGNED, Size::B32, 1);
            let inst: Isa = if n == last {
                StVarFinal { r, index, ..StVarFinal::default() }.into()
            } else {
                StVar { r, index, ..StVar::default() }.into()
            };
            self.emit(MOp::Isa(inst), &[], &srcs);
        }
        if last == usize::MAX {
            self.emit(MOp::Isa(no_var()), &[], &[]);
        }
        Ok(())
    }

    /// Brings depth from -w to w to 0 to w: (z + w) / 2.
    fn halve_depth(&mut self, stores: &mut [(Word, Comp)]) {
        let [Some(z), Some(w)] = [2, 3].map(|k| stores.iter().rposition(|s| s.0 == Word::At(k)))
        else {
            return;
        };
        let (a, b) = (self.comp_src(stores[z].1, 32), self.comp_src(stores[w].1, 32));
        let sum = self.fadd(false, 32, false, a, b);
        let half = self.konst(u64::from(0.5f32.to_bits()), Size::B32);
        let depth = self.fmul(false, 32, false, Opnd::of(sum, Size::B32), half);
        stores[z].1 = Comp::Val(depth);
    }

    /// Attributes to where the main part looks for them.
    fn end_prolog(&mut self) -> Result<()> {
        let mut all: BTreeMap<u16, [Comp; 4]> = BTreeMap::new();
        for (word, c) in std::mem::take(&mut self.vertex().stores) {
            if let Word::Varying(Varying::Location(n), k) = word {
                all.entry(n).or_insert([Comp::Undef; 4])[usize::from(k)] = c;
            }
        }
        let mut exports = Vec::new();
        for (n, words) in all {
            if let Some(v) = self.words_together(&words) {
                exports.push((abi::attribute(n, 0), v));
            }
        }
        for (k, half) in [abi::VERTEX_ID, abi::INSTANCE_ID].into_iter().enumerate() {
            exports.extend(self.vertex().ids[k].map(|v| (half, v)));
        }
        self.export(&exports);
        Ok(())
    }
}

/// The vertex writes nothing. source: Mesa, agx_pack.c, AGX_OPCODE_NO_VARYINGS
fn no_var() -> Isa {
    let r = RegVec::new(0, Size::B32, 1);
    NoVar { r, index: tepui_agx_isa::operand::RegOrImm::Reg(0), ..NoVar::default() }.into()
}
