//! Texture instructions.

use std::fmt::Write;

use super::super::TextureRegisters;
use super::super::bundle::Tag;
use super::super::fields::signed;
use super::super::names::{
    DIMENSIONS, DIRECTIONS, EXECUTIONS, MODES, SAMPLERS, UNKNOWN_MODE, VERTEX, component,
};
use super::super::table::{TextureRow, texture};
use super::super::word::{Texture, TextureRegister, expand};
use super::Printer;
use super::alu::outmod_name;

impl Printer<'_> {
    pub(super) fn texture(&mut self, t: &Texture, tag: Tag) {
        match TextureRow::of(t.op) {
            Some(row) => self.out.push_str(row.name),
            None => {
                put!(self, "tex_op_{:02X}", t.op);
            }
        }
        if t.op == texture::BARRIER {
            // In a barrier, these bits are the number of later bundles that need not wait.
            if t.out_of_order != 0 {
                put!(self, ".ooo{}", t.out_of_order);
            }
            self.out.push('\n');
            return;
        }
        self.out.push_str(if tag == Tag::TEXTURE_VERTEX { VERTEX } else { "" });
        let mode = match (t.op, t.mode) {
            (texture::DERIVATIVE, 0 | 1) => DIRECTIONS[t.mode as usize],
            (_, mode) => MODES.iter().find(|m| m.0 == mode).map_or(UNKNOWN_MODE, |m| m.1),
        };
        self.out.push_str(mode);
        self.out.push_str(DIMENSIONS[t.format as usize & 3]);
        self.out.push_str(EXECUTIONS[t.exec as usize & 3]);
        if t.out_of_order != 0 {
            put!(self, ".ooo{}", t.out_of_order);
        }
        let result = if self.registers == TextureRegisters::Own { "TA" } else { "R" };
        put!(self, " {result}{}", t.out_select);
        if t.mask != 0xf {
            self.out.push('.');
            let first = 4 * t.out_upper;
            for i in (0..4).filter(|i| t.mask >> i & 1 != 0) {
                self.out.push(component(first + i));
            }
        } else if t.out_upper != 0 {
            self.out.push('\'');
        }
        let float = t.sampler_type == 1;
        put!(self, ".{}{}", if float { 'f' } else { 'i' }, if t.out_full != 0 { 32 } else { 16 });
        if float {
            self.out.push_str(outmod_name(t.outmod, false));
        }
        put!(self, ", ");
        if t.texture_register != 0 {
            put!(self, "texture[");
            self.texture_register(t.texture);
            put!(self, "], ");
        } else {
            put!(self, "texture{}, ", t.texture);
        }
        put!(self, "{}sampler", SAMPLERS[t.sampler_type as usize & 3]);
        if t.sampler_register != 0 {
            put!(self, "[");
            self.texture_register(t.sampler);
            put!(self, "]");
        } else {
            put!(self, "{}", t.sampler);
        }
        self.swizzle(t.swizzle, expand::NONE, 2, 0xff);
        put!(self, ", ");
        self.texture_operand(t.in_select);
        let how = |upper: u32| if upper != 0 { expand::HIGH } else { expand::NONE };
        self.swizzle(t.in_swizzle, how(t.in_upper), 2, 0xff);
        put!(self, ".{}", if t.in_full != 0 { 32 } else { 16 });
        if t.offset_register != 0 {
            put!(self, " + ");
            self.texture_operand(u32::from(t.offset & 2 != 0));
            self.swizzle(t.offset >> 3 & 0xff, how(t.offset & 4), 2, 0xff);
            put!(self, ".{}, ", if t.offset & 1 != 0 { 32 } else { 16 });
        } else if t.offset != 0 {
            let [x, y, z] = [0, 4, 8].map(|at| t.offset >> at & 0xf);
            put!(self, " + <{x}, {y}, {z}>, ");
        } else {
            put!(self, ", ");
        }
        let bias = t.op == texture::TEX;
        let whole = signed(t.bias_int, 8);
        if t.lod_register != 0 {
            put!(self, "lod {} ", if bias { '+' } else { '=' });
            self.texture_register(t.bias);
            put!(self, ", ");
        } else if t.op == texture::TEX_FETCH {
            put!(self, "lod = {}, ", t.bias);
        } else if t.bias != 0 || whole != 0 {
            let value = whole as f32 + t.bias as f32 / 256.0;
            let sign = match (bias, value >= 0.0) {
                (false, _) => '=',
                (true, true) => '+',
                (true, false) => '-',
            };
            put!(self, "lod {sign} {:.6}, ", value.abs());
        }
        self.out.push('\n');
        if t.unknown_4 != 0 || t.unknown_8 != 0 {
            put!(self, "// unknown4 = 0x{:x}\n// unknown8 = 0x{:x}\n", t.unknown_4, t.unknown_8);
        }
    }

    fn texture_register(&mut self, bits: u32) {
        let r = TextureRegister::decode(u128::from(bits));
        let place = r.component + if r.upper != 0 { 4 } else { 0 };
        let bits = if r.full != 0 { 32 } else { 16 };
        self.texture_operand(r.select);
        put!(self, ".{}.{bits}", component(place));
    }

    fn texture_operand(&mut self, select: u32) {
        let name = if self.registers == TextureRegisters::Own { "AT" } else { "AL" };
        put!(self, "{name}{select}");
    }
}
