//! Lowers colours that do not fit into the tile ([`super::tile::Layout::spilled`]): fragments load and
//! store them in memory, through descriptors in a separate set of the driver.
//!
//! Stores go to the end of the shader, after the tests, so that fragments that fail write nothing.
//! Fragments of the same pixel wait for each other, because the tile no longer orders them. source:
//! Mesa, agx_nir_lower_tilebuffer.c, store_memory and load_memory

use super::tile::TARGETS;
use tepui_ir::{
    Access, Attrs, Builder, Builtin, Dim, Image, ImageFormat, Inst, IoLoc, NumKind, Op, Res,
    ResKind, Resource, Shader, TexOperands, Type, Value,
};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// The descriptor set of the render targets: one row of a storage image for each colour location.
pub const SET: u32 = 8;
/// The first binding of [`SET`] that a driver has for images of its own.
pub const OWN: u32 = TARGETS as u32;

/// Runs the pass for the colour locations in `spilled`, a bit each; true when it changed the shader.
pub fn run(s: &mut Shader, spilled: u8, samples: u8) -> bool {
    if spilled == 0 {
        return false;
    }
    let mut pass = Spilled { spilled, ms: samples > 1, images: [None; TARGETS] };
    rewrite::run(s, &mut pass);
    pass.stores(s);
    true
}

struct Spilled {
    spilled: u8,
    ms: bool,
    images: [Option<Res>; TARGETS],
}

impl Spilled {
    /// The colour location of a slot, if it is spilled.
    fn location(&self, attrs: Attrs) -> Option<(usize, NumKind)> {
        let Attrs::Io(slot) = attrs else { return None };
        let IoLoc::Location(n @ 0..8) = slot.loc else { return None };
        (self.spilled >> n & 1 != 0).then_some((usize::from(n), slot.kind))
    }

    fn resource(&mut self, s: &mut Shader, n: usize, kind: NumKind) -> Res {
        let ms = self.ms;
        *self.images[n].get_or_insert_with(|| {
            s.resources.push(Resource {
                dim: Dim::D2,
                array: true,
                ms,
                texels: kind,
                ..Resource::new(ResKind::StorageImage, SET, n as u32)
            })
        })
    }

    fn attrs(&self, kind: NumKind) -> Attrs {
        Attrs::Image(Image {
            dim: Dim::D2,
            array: true,
            ms: self.ms,
            kind,
            operands: if self.ms { TexOperands::SAMPLE } else { TexOperands::empty() },
            component: 0,
            residency: false,
            format: ImageFormat::Unknown,
            access: Access::empty(),
        })
    }

    /// Moves the stores to the end of the shader.
    fn stores(&mut self, s: &mut Shader) {
        let root = s.root;
        let insts = std::mem::take(&mut s.regions[root].insts);
        let (mut stored, mut mask, mut end) = (Vec::new(), None, None);
        for i in insts {
            let d = &s.insts[i];
            match (d.op, d.attrs) {
                (Op::StoreOutput, attrs) => {
                    if let Some((n, kind)) = self.location(attrs) {
                        stored.push((n, kind, s.arg(i, 0)));
                        continue;
                    }
                    if let Attrs::Io(slot) = attrs
                        && slot.loc == IoLoc::Builtin(Builtin::SampleMask)
                        && slot.component == 0
                    {
                        mask = Some(s.arg(i, 0));
                    }
                    s.regions[root].insts.push(i);
                }
                (Op::Yield, _) => end = Some(i),
                _ => s.regions[root].insts.push(i),
            }
        }
        if !stored.is_empty() {
            self.store(s, &stored, mask);
        }
        s.regions[root].insts.extend(end);
    }

    fn store(&mut self, s: &mut Shader, stored: &[(usize, NumKind, Value)], mask: Option<Value>) {
        let root = s.root;
        let mut b = Builder::at(s, root);
        let at = place(&mut b);
        let sample = self.ms.then(|| b.builtin(Builtin::SampleId, Type::B32));
        b.effect(Op::InterlockBegin, Attrs::None, &[]);
        b.effect(Op::RunTests, Attrs::None, &[]);
        let zero = b.u32(0);
        // With early tests the mask only selects the colours that are written.
        let written = mask.map(|m| {
            let one = b.u32(1);
            let bit = sample.map_or(one, |n| b.binary(Op::IShl, one, n));
            let hit = b.binary(Op::IAnd, m, bit);
            b.binary(Op::INe, hit, zero)
        });
        let region = match written {
            None => root,
            Some(_) => b.shader.make_region(),
        };
        for &(n, kind, v) in stored {
            let r = self.resource(s, n, kind);
            let mut b = Builder::at(s, region);
            let image = b.descriptor(r, zero, Access::empty());
            let v = texel(&mut b, v, kind);
            let args: Vec<Value> = [image, at, v].into_iter().chain(sample).collect();
            b.effect(Op::ImageStore, self.attrs(kind), &args);
        }
        if let Some(written) = written {
            Builder::at(s, region).yield_(&[]);
            let b = Builder::at(s, root);
            let other = b.shader.make_region();
            Builder::at(b.shader, other).yield_(&[]);
            Builder::at(s, root).if_(written, region, other, &[]);
        }
    }
}

/// Four components: those that a target lacks are not stored.
fn texel(b: &mut Builder<'_>, v: Value, kind: NumKind) -> Value {
    let comps = b.shader.ty(v).comps();
    let mut parts: Vec<Value> = match comps {
        1 => vec![v],
        n => (0..u32::from(n)).map(|k| b.extract(v, k)).collect(),
    };
    let one = if kind == NumKind::Float { 1f32.to_bits() } else { 1 };
    while parts.len() < 4 {
        parts.push(b.u32(if parts.len() == 3 { one } else { 0 }));
    }
    b.vec(&parts)
}

/// The pixel and its layer.
fn place(b: &mut Builder<'_>) -> Value {
    let p = b.builtin(Builtin::FragCoord, Type::vec(32, 4));
    let [x, y] = [0, 1].map(|c| {
        let v = b.extract(p, c);
        b.convert(Op::F2U, v, 32)
    });
    let layer = b.builtin(Builtin::Layer, Type::B32);
    b.vec(&[x, y, layer])
}

impl Lowering for Spilled {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        s.insts[i].op == Op::LoadOutput && self.location(s.insts[i].attrs).is_some()
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Some((n, kind)) = self.location(e.s.insts[i].attrs) else { return Step::Keep };
        let ty = e.ty(e.s.result(i));
        let r = self.resource(e.s, n, kind);
        e.inst(Op::InterlockBegin, Attrs::None, &[], &[]);
        let p = e.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::FragCoord), &[], Type::vec(32, 4));
        let mut at = [0, 1]
            .map(|c| {
                let v = e.extract(p, c);
                e.convert(Op::F2U, v, Type::B32)
            })
            .to_vec();
        at.push(e.value(Op::LoadBuiltin, Attrs::Builtin(Builtin::Layer), &[], Type::B32));
        let at = e.vec(&at);
        let zero = e.u32(0);
        let image = e.value(Op::Descriptor, Attrs::Res(r, Access::empty()), &[zero], Type::B64);
        let mut args = vec![image, at];
        if self.ms {
            let sample = Attrs::Builtin(Builtin::SampleId);
            args.push(e.value(Op::LoadBuiltin, sample, &[], Type::B32));
        }
        let v = e.value(Op::ImageLoad, self.attrs(kind), &args, Type::vec(32, 4));
        let parts = e.split(v);
        let v = match ty.comps() {
            1 => parts[0],
            n => e.vec(&parts[..usize::from(n)]),
        };
        Step::Replace(vec![v])
    }
}
