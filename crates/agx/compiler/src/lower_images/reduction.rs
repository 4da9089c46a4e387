//! State of images and samplers in rows of descriptors, for samples that reduce ([`tepui_passes::reductions`]).

use super::{Descriptors, ImageOp, border};
use crate::Borders;
use crate::descriptor::{self, Bits, sampler, texture};
use tepui_ir::{Op, Type, Value};
use tepui_passes::reductions::SamplerState;
use tepui_passes::rewrite::Emit;

/// Rows of the image and the sampler of a sample.
pub(super) struct Rows<'a> {
    /// Sample of the sampler that reduces.
    pub sample: &'a ImageOp,
    /// Type of its result.
    pub ty: Type,
    /// Border colours that the sampler may have.
    pub borders: Borders,
}

impl Rows<'_> {
    fn image(&self, e: &mut Emit, field: &str) -> Value {
        e.bits(self.sample.args[0], texture(field))
    }

    fn sampler(&self, e: &mut Emit, bits: Bits) -> Value {
        e.bits(self.sample.args[1], bits)
    }

    fn is(&self, e: &mut Emit, field: &str, number: u32) -> Value {
        let v = self.sampler(e, sampler(field));
        let number = e.u32(number);
        e.op(Op::IEq, &[v, number])
    }
}

impl SamplerState for Rows<'_> {
    fn first_level(&self, e: &mut Emit) -> Value {
        self.image(e, "first_level")
    }

    fn last_level(&self, e: &mut Emit) -> Value {
        self.image(e, "last_level")
    }

    fn texels(&self, e: &mut Emit, axis: usize) -> Value {
        e.size(self.sample.args[0], ["width", "height", "depth"][axis])
    }

    fn level_limits(&self, e: &mut Emit) -> [Value; 2] {
        let step = e.f32(1.0 / 64.0);
        ["minimum_lod", "maximum_lod"].map(|field| {
            let bits = self.sampler(e, sampler(field));
            let bits = e.convert(Op::U2F, bits, Type::B32);
            e.op(Op::FMul, &[bits, step])
        })
    }

    fn filters(&self, e: &mut Emit) -> [Value; 2] {
        ["magnify", "minify"].map(|field| self.sampler(e, sampler(field)))
    }

    fn interpolates_levels(&self, e: &mut Emit) -> Value {
        self.is(e, "mip_filter", descriptor::LINEAR_LEVELS)
    }

    fn is_normalised(&self, e: &mut Emit) -> Value {
        self.is(e, "pixel_coordinates", 0)
    }

    fn is_seamless(&self, e: &mut Emit) -> Value {
        self.is(e, "seamful_cube_maps", 0)
    }

    fn wraps_to_border(&self, e: &mut Emit, axis: usize) -> Value {
        self.is(e, ["wrap_s", "wrap_t", "wrap_r"][axis], descriptor::TO_BORDER)
    }

    fn border(&self, e: &mut Emit) -> Option<(Vec<Value>, Value)> {
        let colour = match self.borders {
            Borders::Hardware => return None,
            Borders::Custom => border(e, self.sample, self.ty),
            Borders::OpaqueBlack => {
                let [zero, one] = [0.0, 1.0].map(|x| e.f32(x));
                let colour = [zero, zero, zero, one];
                colour.map(|word| e.convert(Op::F2F, word, self.ty.elem())).to_vec()
            }
        };
        let own = self.sampler(e, descriptor::BORDER);
        let zero = e.u32(0);
        Some((colour, e.op(Op::INe, &[own, zero])))
    }
}
