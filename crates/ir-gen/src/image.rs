//! Image operations of random programs, on two images: a storage image, in which each lane accesses
//! its own column, and a sampled image, which all lanes read.

use tepui_ir::interp::{ImageData, Memory};
use tepui_ir::{
    AtomicOp, Attrs, Builder, Dim, Image, ImageFormat, NumKind, Op, Res, ResKind, Resource, Shader,
    TexOperands, Type, Value,
};

use crate::{Gen, LANES, Rng};

/// Texels in a lane's column, a power of two.
const HEIGHT: u32 = 8;

/// Handles of the images.
pub(crate) struct Images {
    storage: Value,
    texture: Value,
}

const fn image(format: ImageFormat, operands: TexOperands) -> Image {
    Image {
        dim: Dim::D2,
        array: false,
        ms: false,
        kind: NumKind::Uint,
        operands,
        component: 0,
        residency: false,
        format,
        access: tepui_ir::Access::empty(),
    }
}

/// Adds the two images to the shader. The storage image is R32ui, as atomics require.
pub(crate) fn resources(s: &mut Shader) -> [Res; 2] {
    let mut resource = |kind, binding, format| {
        let r = Resource { format, texels: NumKind::Uint, ..Resource::new(kind, 0, binding) };
        s.resources.push(r)
    };
    [
        resource(ResKind::StorageImage, 1, ImageFormat::R32ui),
        resource(ResKind::Texture, 2, ImageFormat::Unknown),
    ]
}

/// Random texels.
pub(crate) fn fill(seed: u64, m: &mut Memory) {
    let mut rng = Rng::new(seed.wrapping_mul(5).wrapping_add(2));
    for (binding, format, bits) in [(1, ImageFormat::R32ui, 32), (2, ImageFormat::Rgba8ui, 8)] {
        let mut data = ImageData { format, ..ImageData::new([LANES, HEIGHT, 1], 1, 1) };
        for t in data.levels.iter_mut().flatten() {
            *t = match bits {
                32 => [rng.int(32), 0, 0, 1],
                _ => [0; 4].map(|_: u64| rng.int(8)),
            };
        }
        m.images.insert((0, binding, 0), data);
    }
}

impl Images {
    pub(crate) fn new(b: &mut Builder<'_>, [storage, texture]: [Res; 2]) -> Images {
        let zero = b.u32(0);
        let mut handle = |r| b.descriptor(r, zero, Default::default());
        Images { storage: handle(storage), texture: handle(texture) }
    }
}

impl Gen<'_> {
    fn int_below(&mut self, n: u32) -> Value {
        let (x, m) = (self.int(32, 2), self.b.u32(n - 1));
        self.b.binary(Op::IAnd, x, m)
    }

    /// A load, store or atomic on the lane's own texels, or a fetch of any texel of the sampled
    /// image.
    pub(crate) fn image(&mut self) {
        let Some(Images { storage, texture }) = self.images else { return };
        let y = self.int_below(HEIGHT);
        let at = self.b.vec(&[self.lane, y]);
        let own = image(ImageFormat::R32ui, TexOperands::empty());
        let result = match self.rng.below(4) {
            0 => {
                let v = self.b.value(
                    Op::ImageLoad,
                    Attrs::Image(own),
                    &[storage, at],
                    Type::vec(32, 4),
                );
                let k = self.rng.below(4) as u32;
                self.b.extract(v, k)
            }
            1 => {
                let x = self.int(32, 1);
                let texel = self.b.vec(&[x; 4]);
                self.b.effect(Op::ImageStore, Attrs::Image(own), &[storage, at, texel]);
                return;
            }
            2 => {
                let op = self.rng.pick(&[AtomicOp::Add, AtomicOp::UMax, AtomicOp::Xchg]);
                let (zero, x) = (self.b.u32(0), self.int(32, 2));
                let args = [storage, at, zero, x];
                self.b.value(Op::ImageAtomic, Attrs::ImageAtomic(op, own), &args, Type::B32)
            }
            _ => {
                let (x, zero) = (self.int_below(LANES), self.b.u32(0));
                let at = self.b.vec(&[x, y]);
                let any = image(ImageFormat::Unknown, TexOperands::LOD);
                let args = [texture, at, zero];
                let v = self.b.value(Op::TexFetch, Attrs::Image(any), &args, Type::vec(32, 4));
                let k = self.rng.below(4) as u32;
                self.b.extract(v, k)
            }
        };
        let v = self.pools[0].scalars[2];
        self.b.store_var(v, result, None);
    }
}
