//! Images: texels as raw component bits; loads, stores, atomics and queries. Sampling is in
//! [`super::sample`].

use super::image_data::ImageData;
use super::memory::combine;
use super::sample::{Level, SampleOp};
use super::{Fault, Machine, Mask, MemoryError, texel};
use crate::attrs::{Attrs, Dim, Image};
use crate::entity::{Inst, Value};
use crate::op::Op;
use crate::shader::{DerivativeGroup, Stage, TexArgs};

/// Integer coordinates: axes, layer.
fn split(i: &Image, at: &[i64]) -> ([i64; 3], i64) {
    let axes = match i.dim {
        Dim::D1 | Dim::Buffer => 1,
        Dim::D2 | Dim::Subpass => 2,
        // x, y, face
        Dim::Cube => return ([at[0], at[1], 0], at[2]),
        Dim::D3 => 3,
    };
    let place = [0, 1, 2].map(|c| if c < axes { at[c] } else { 0 });
    (place, if i.array { at[axes] } else { 0 })
}

impl Machine<'_> {
    fn bound(&self, inst: Inst, handle: Value, lane: usize) -> Result<&ImageData, Fault> {
        let slot = self.slot(inst, self.get(handle, 0, lane))?;
        match self.memory.images.get(&slot) {
            Some(i) => Ok(i),
            None => {
                Err(Fault::Memory { inst, error: MemoryError::NoImage(slot.0, slot.1, slot.2) })
            }
        }
    }

    fn opt(&self, v: Option<Value>, c: usize, lane: usize) -> Option<u64> {
        v.map(|v| self.get(v, c, lane))
    }

    fn float(&self, v: Value, c: usize, lane: usize) -> f32 {
        f32::from_bits(self.get(v, c, lane) as u32)
    }

    pub(super) fn image(&mut self, inst: Inst, live: &Mask) -> Result<(), Fault> {
        let s = self.s;
        let d = &s.insts[inst];
        let args = s.args(inst);
        let (i, t) = match d.attrs {
            Attrs::ImageAtomic(_, i) => (i, TexArgs::default()),
            Attrs::Image(i) => (i, s.tex_args(inst).map(|t| t.1).unwrap_or_default()),
            _ => unreachable!("image() is called for image attributes only"),
        };
        for lane in (0..self.n).filter(|&l| live[l]) {
            let mut texel: Vec<u64> = match d.op {
                Op::TexFetch | Op::ImageLoad => {
                    let (at, layer) = self.integer_place(args[1], &i, t.offset, lane);
                    let sample = self.opt(t.sample, 0, lane).unwrap_or(0) as u32;
                    let level = self.opt(t.lod, 0, lane).unwrap_or(0) as u32;
                    let img = self.bound(inst, args[0], lane)?;
                    img.texel(level as usize, at, layer, i64::from(sample)).to_vec()
                }
                Op::ImageSize => {
                    let img = self.bound(inst, args[0], lane)?;
                    let level = self.opt(t.lod, 0, lane).unwrap_or(0) as u32;
                    let sz = img.level_size(level as usize);
                    let n = usize::from(i.dim.size_comps());
                    let mut v: Vec<u64> = (0..n).map(|k| u64::from(sz[k])).collect();
                    if i.array {
                        let faces = if i.dim == Dim::Cube { 6 } else { 1 };
                        v.push(u64::from(img.layers / faces));
                    }
                    v
                }
                Op::TexLevels => vec![self.bound(inst, args[0], lane)?.levels.len() as u64],
                Op::ImageSamples => vec![u64::from(self.bound(inst, args[0], lane)?.samples)],
                Op::ImageStore | Op::ImageAtomic => {
                    self.write_texel(inst, &i, t, lane)?;
                    continue;
                }
                Op::TexSample | Op::TexSampleLod | Op::TexGather | Op::TexQueryLod => {
                    self.sampled(inst, &i, t, lane, live)?
                }
                _ => return self.unsupported(inst, format!("{} with these operands", d.op.name())),
            };
            let r = s.result(inst);
            if i.residency {
                // All of an image that is bound is there.
                texel.truncate(usize::from(s.ty(r).comps()) - 1);
                texel.push(0);
            }
            for (c, x) in texel.into_iter().take(s.ty(r).comps() as usize).enumerate() {
                self.set(r, c, lane, x);
            }
        }
        Ok(())
    }

    fn integer_place(
        &self,
        at: Value,
        i: &Image,
        offset: Option<Value>,
        lane: usize,
    ) -> ([i64; 3], i64) {
        let signed = |v: Value, c: usize| i64::from(self.get(v, c, lane) as u32 as i32);
        let coords: Vec<i64> = (0..self.ty(at).comps() as usize).map(|c| signed(at, c)).collect();
        let (mut place, layer) = split(i, &coords);
        if let Some(o) = offset {
            for (c, p) in place.iter_mut().enumerate().take(self.ty(o).comps() as usize) {
                *p += signed(o, c);
            }
        }
        (place, layer)
    }

    fn write_texel(&mut self, inst: Inst, i: &Image, t: TexArgs, lane: usize) -> Result<(), Fault> {
        let s = self.s;
        let d = &s.insts[inst];
        let args = s.args(inst);
        let (at, layer) = self.integer_place(args[1], i, None, lane);
        let sample = match d.op {
            Op::ImageAtomic if i.ms => Some(args[2]),
            _ => t.sample,
        };
        let sample = i64::from(self.opt(sample, 0, lane).unwrap_or(0) as u32);
        let slot = self.slot(inst, self.get(args[0], 0, lane))?;
        if self.helpers[lane] {
            return Ok(());
        }
        let comps: Vec<Vec<u64>> = args
            .iter()
            .map(|&v| (0..self.ty(v).comps() as usize).map(|c| self.get(v, c, lane)).collect())
            .collect();
        let Some(img) = self.memory.images.get_mut(&slot) else {
            return Err(Fault::Memory {
                inst,
                error: MemoryError::NoImage(slot.0, slot.1, slot.2),
            });
        };
        let Some(index) = img.index(0, at, layer, sample) else {
            self.memory.out_of_bounds += 1;
            if d.op == Op::ImageAtomic {
                self.set(s.result(inst), 0, lane, 0);
            }
            return Ok(());
        };
        let old = img.levels[0][index];
        let mut new = old;
        if let Attrs::ImageAtomic(op, _) = d.attrs {
            let ty = s.ty(s.result(inst));
            let data: Vec<u64> = comps[3..].iter().map(|c| c[0]).collect();
            new[0] = combine(op, ty, old[0], &data) & ty.mask();
            img.levels[0][index] = new;
            self.set(s.result(inst), 0, lane, old[0]);
        } else {
            new.copy_from_slice(&comps[2][..4]);
            img.levels[0][index] = texel::store(img.format, new);
        }
        Ok(())
    }

    /// The result of a texture sample for one lane.
    fn sampled(
        &self,
        inst: Inst,
        i: &Image,
        t: TexArgs,
        lane: usize,
        live: &Mask,
    ) -> Result<Vec<u64>, Fault> {
        let s = self.s;
        let args = s.args(inst);
        let op = s.insts[inst].op;
        let image = self.bound(inst, args[0], lane)?;
        let slot = self.slot(inst, self.get(args[1], 0, lane))?;
        let sampler = self.memory.samplers.get(&slot).copied().unwrap_or_default();
        let coords = i.dim.coords() as usize;
        let at = |lane: usize| {
            [0, 1, 2].map(|c| if c < coords { self.float(args[2], c, lane) } else { 0.0 })
        };
        let cube = i.dim == Dim::Cube;
        let layers = i64::from(image.layers) / if cube { 6 } else { 1 };
        let layer = if i.array && op != Op::TexQueryLod {
            let l = self.float(args[2], coords, lane).round_ties_even();
            (l as i64).clamp(0, (layers - 1).max(0))
        } else {
            0
        };
        let offset = [0, 1, 2].map(|c| match t.offset {
            Some(o) if c < coords => i64::from(self.get(o, c, lane) as u32 as i32),
            _ => 0,
        });
        let axes = if cube { 2 } else { coords };
        let lookup = SampleOp {
            image,
            sampler,
            at: at(lane),
            axes,
            cube,
            layer,
            offset,
            dref: t.dref.map(|d| self.float(d, 0, lane)),
            kind: i.kind,
            min_lod: t.min_lod.map(|m| self.float(m, 0, lane)),
        };
        // Differences within the quad.
        let quads = s.info.stage == Stage::Fragment || s.info.derivatives != DerivativeGroup::None;
        let implicit = || {
            // Derivatives of the quad's first lane: one level of detail for all four. The specification
            // also allows separate ones for each row and column.
            let quad = lane & !3;
            // Undefined results must not depend on earlier register contents.
            let at = |lane: usize| if self.there(lane, live) { at(lane) } else { [0.0; 3] };
            let side = |k: usize| {
                let (x, y) = (at(quad), at(quad + k));
                [0, 1, 2].map(|c| y[c] - x[c])
            };
            [side(1), side(2)]
        };
        let bias = t.bias.map_or(0.0, |b| self.float(b, 0, lane));
        let level = match (op, t.lod, t.ddx, t.ddy) {
            (Op::TexSampleLod, Some(l), ..) => Level::Given(self.float(l, 0, lane)),
            (Op::TexSampleLod, _, Some(x), Some(y)) => {
                let g = |v: Value| {
                    [0, 1, 2].map(|c| if c < coords { self.float(v, c, lane) } else { 0.0 })
                };
                Level::Gradient([g(x), g(y)], 0.0)
            }
            (Op::TexGather, ..) => Level::Given(0.0),
            _ if quads => Level::Gradient(implicit(), bias),
            // Without quads, the base level.
            _ => Level::Given(bias),
        };
        Ok(match op {
            Op::TexGather => match t.offsets {
                None => lookup.gather(i.component.into()).to_vec(),
                Some(o) => (0..4)
                    .map(|k| {
                        let o =
                            [0, 1].map(|c| i64::from(self.get(o, 2 * k + c, lane) as u32 as i32));
                        let moved = SampleOp { offset: [o[0], o[1], 0], ..lookup };
                        moved.gather(i.component.into())[3]
                    })
                    .collect(),
            },
            Op::TexQueryLod => {
                let raw = lookup.lambda(level);
                let (_, level) = lookup.clamped(raw);
                [level, raw].map(|x| u64::from(x.to_bits())).to_vec()
            }
            _ => lookup.run(level).to_vec(),
        })
    }
}
