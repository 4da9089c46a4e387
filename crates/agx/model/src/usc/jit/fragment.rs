//! Templates of what fragment programs do most: interpolation at the centres of pixels, and the
//! tilebuffer with one sample a pixel and four channels of eight bits. The handlers do the rest.

use std::mem::offset_of;
use std::sync::LazyLock;

use tepui_agx_texture::TileFormat;
use tepui_format::texel::srgb;

use super::asm::{ALL, Condition, Gpr, Kop, Label, Mask, Rm, Shift, Vop, Zmm};
use super::translate::{ByHandler, Done, EXEC, LANES, Translator, field};
use crate::isp::depth::Plane;
use crate::usc::exec::fragment::place;
use crate::usc::exec::memory::register_at;
use crate::usc::exec::texture::{Access2d, TilePixel};
use crate::usc::lanes::{Dst, Form, Op, Src};
use crate::usc::stage::{Fragments, QUADS, Ready};

/// The stage's fragments.
const FRAGMENTS: Gpr = Gpr::RDX;
/// Coefficient registers of the quads of a half.
const PLANES: [Gpr; QUADS / 2] = [Gpr::RAX, Gpr::RCX, Gpr::RSI, Gpr::RDI];
/// The lanes of these quads.
const QUAD_LANES: [Mask; QUADS / 2] = [Mask(4), Mask(5), Mask(6), Mask(7)];
/// Places of the lanes, and 1/w's reciprocal.
const X: Zmm = Zmm(28);
const Y: Zmm = Zmm(29);
const W: Zmm = Zmm(27);

/// [`QUAD_LANES`], in memory.
static QUAD_BITS: [u16; QUADS / 2] = [0xf, 0xf0, 0xf00, 0xf000];

/// For each part of 0 to 1, the stored value of its start; and for each stored value, where the next begins.
struct ToSrgb {
    starts: [u8; srgb::PARTS + 4],
    next: [f32; 256],
}

static TO_SRGB: LazyLock<ToSrgb> = LazyLock::new(|| ToSrgb {
    starts: std::array::from_fn(|i| srgb::encode(i as f32 / srgb::PARTS as f32)),
    next: std::array::from_fn(|i| srgb::thresholds().get(i).copied().unwrap_or(f32::INFINITY)),
});

const fn ready(field: usize) -> i32 {
    (offset_of!(Fragments, ready) + field) as i32
}

impl Translator<'_> {
    /// Loads the stage's fragments; jumps if it has none.
    fn fragments(&mut self, otherwise: Label) {
        self.asm.compare_memory_word(LANES, field!(fragments), 0);
        self.asm.jump_if(Condition::Zero, otherwise);
        self.asm.load_word(FRAGMENTS, LANES, field!(fragments));
    }

    /// Interpolates at the centres of pixels.
    pub fn iter(&mut self, op: &Op) -> Done {
        let count = u32::from(op.aux[0]);
        let number = self.program.constant(op.s[0]).filter(|n| n + count <= 1 << 16);
        let (Some(number), 1..=4) = (number, count) else { return Err(ByHandler) };
        let over_w = match op.aux[2] {
            0 => None,
            _ => Some(self.program.constant(op.s[1]).filter(|n| *n < 1 << 16).ok_or(ByHandler)?),
        };
        if op.aux[1] != place::CENTRE || op.aux[3] == 0 {
            return Err(ByHandler);
        }
        self.count();
        let (slow, apart, done) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.fragments(slow);
        let needed = (number + count).max(over_w.map_or(0, |w| w + 1));
        let bound = offset_of!(Fragments, registers) as i32;
        self.asm.compare_memory_word(FRAGMENTS, bound, needed as i32);
        self.asm.jump_if(Condition::Carry, slow);
        self.asm.compare_memory(FRAGMENTS, ready(offset_of!(Ready, alike)), 0);
        self.asm.jump_if(Condition::Zero, apart);
        let planes = ready(offset_of!(Ready, planes));
        self.asm.load_word(PLANES[0], FRAGMENTS, planes);
        for h in 0..2 {
            self.interpolate(op, [number, over_w.unwrap_or(0)], h, |t, plane, part, _| {
                let _ = t;
                Rm::Broadcast(PLANES[0], at(plane, part))
            });
        }
        self.asm.jump(done);
        self.asm.place(apart);
        for h in 0..2 {
            self.asm.mov_constant(PLANES[0], (&raw const QUAD_BITS) as u64);
            for (q, mask) in QUAD_LANES.into_iter().enumerate() {
                self.asm.mask_load(mask, PLANES[0], 2 * q as i32);
            }
            for (q, register) in PLANES.into_iter().enumerate() {
                let number = (h * PLANES.len() + q) * size_of::<*const Plane>();
                self.asm.load_word(register, FRAGMENTS, planes + number as i32);
            }
            self.interpolate(op, [number, over_w.unwrap_or(0)], h, |t, plane, part, scratch| {
                for (register, mask) in PLANES.into_iter().zip(QUAD_LANES) {
                    t.asm.load_part(scratch, mask, Rm::Broadcast(register, at(plane, part)));
                }
                Rm::Reg(scratch)
            });
        }
        self.asm.jump(done);
        self.asm.place(slow);
        self.by_handler();
        self.asm.place(done);
        Ok(())
    }

    /// One half of `iter`. `part` gives one of the three numbers of a plane, with a register to use.
    fn interpolate(
        &mut self,
        op: &Op,
        [number, over_w]: [u32; 2],
        h: usize,
        part: impl Fn(&mut Self, u32, usize, Zmm) -> Rm,
    ) {
        let centre = |axis: usize| {
            let rows = ready(offset_of!(Ready, centre));
            Rm::Mem(FRAGMENTS, rows + (128 * axis + 64 * h) as i32)
        };
        self.asm.load(X, centre(0));
        self.asm.load(Y, centre(1));
        let one = Rm::Constant(1f32.to_bits());
        self.asm.load(W, one);
        if op.aux[2] != 0 {
            self.value(Zmm(0), over_w, &part);
            self.asm.vector(Vop::DIVPS, W, ALL, W, Rm::Reg(Zmm(0)), None);
        }
        for k in 0..usize::from(op.aux[0]) {
            self.value(Zmm(0), number + k as u32, &part);
            self.asm.vector(Vop::MULPS, Zmm(0), ALL, Zmm(0), Rm::Reg(W), None);
            self.store_float(register_at(op.d, k), Zmm(0), h);
        }
        self.write_back(h);
    }

    /// `a x + (b y + c)`, each operation rounded: see `isp::depth::at`.
    fn value(&mut self, d: Zmm, plane: u32, part: &impl Fn(&mut Self, u32, usize, Zmm) -> Rm) {
        let b = part(self, plane, 1, Zmm(1));
        self.asm.vector(Vop::MULPS, Zmm(1), ALL, Y, b, None);
        let c = part(self, plane, 2, Zmm(2));
        self.asm.vector(Vop::ADDPS, Zmm(1), ALL, Zmm(1), c, None);
        let a = part(self, plane, 0, Zmm(2));
        self.asm.vector(Vop::MULPS, d, ALL, X, a, None);
        self.asm.vector(Vop::ADDPS, d, ALL, d, Rm::Reg(Zmm(1)), None);
    }

    /// The lanes' own pixels, to (`aux[0]` is 0) or from the tilebuffer.
    pub fn tile_access(&mut self, op: &Op) -> Done {
        let program = self.program;
        let Access2d::Pixel(t) = program.access(op.imm as usize) else { return Err(ByHandler) };
        if !matches!(t.format, TileFormat::U8Norm | TileFormat::Srgba8) || t.mask != 15 {
            return Err(ByHandler);
        }
        self.count();
        let (slow, done) = (self.asm.label(), self.asm.label());
        self.fragments(slow);
        let room = ready(offset_of!(Ready, sample_bytes));
        self.asm.compare_memory(FRAGMENTS, room, i32::from(t.offset) + 4);
        self.asm.jump_if(Condition::Carry, slow);
        for h in 0..2 {
            if op.aux[0] == 0 { self.store_bytes(t, h) } else { self.load_bytes(t, h) }
        }
        self.asm.jump(done);
        self.asm.place(slow);
        self.by_handler();
        self.asm.place(done);
        Ok(())
    }

    /// Places of a half's pixels to a register, local memory to `rax`.
    fn pixels(&mut self, d: Zmm, h: usize) {
        let places = ready(offset_of!(Ready, places)) + 64 * h as i32;
        self.asm.load(d, Rm::Mem(FRAGMENTS, places));
        self.asm.load_word(Gpr::RAX, LANES, field!(local));
    }

    fn store_bytes(&mut self, t: &TilePixel, h: usize) {
        let (written, word) = (Mask(3), Zmm(4));
        for c in 0..4 {
            let d = register_at(t.register, c);
            let v = Zmm(1);
            self.float(v, Src { form: d.form, ..Src::register(d.row) }, h);
            self.saturate(v);
            if t.format == TileFormat::Srgba8 && c < 3 {
                self.encode_srgb(v);
            } else {
                // Adding 2^23 rounds to an integer, ties to even, in the low bits.
                self.asm.load(Zmm(2), Rm::Constant(255f32.to_bits()));
                let shift = Rm::Constant(8_388_608f32.to_bits());
                self.asm.vector(Vop::FMADD213PS, v, ALL, Zmm(2), shift, None);
                self.and(v, 0xff);
            }
            if c == 0 {
                self.asm.load(word, Rm::Reg(v));
            } else {
                self.asm.shift(Shift::Left, v, v, 8 * c as u8);
                self.asm.vector(Vop::PORD, word, ALL, word, Rm::Reg(v), None);
            }
        }
        self.int(Zmm(1), t.samples, h);
        self.rows.held.clear();
        let live = Rm::Mem(FRAGMENTS, (offset_of!(Fragments, live) + 64 * h) as i32);
        self.asm.test_bits(written, EXEC[h], Zmm(1), live);
        self.pixels(Zmm(5), h);
        self.asm.scatter(word, written, Gpr::RAX, Zmm(5), i32::from(t.offset));
    }

    /// Linear light between 0 and 1 to stored values, as `srgb::encode`.
    fn encode_srgb(&mut self, v: Zmm) {
        let (part, start, all) = (Zmm(3), Zmm(2), Mask(4));
        // The last part holds what 1 becomes.
        self.asm.vector(Vop::MINPS, v, ALL, v, Rm::Constant(1f32.to_bits() - 1), None);
        let parts = Rm::Constant((srgb::PARTS as f32).to_bits());
        self.asm.vector(Vop::MULPS, part, ALL, v, parts, None);
        self.asm.vector(Vop::CVTTPS2DQ, part, ALL, Zmm(0), Rm::Reg(part), None);
        self.asm.mov_constant(Gpr::RCX, (&raw const TO_SRGB.starts) as u64);
        self.asm.mask_op(Kop::Xnor, all, all, all);
        self.asm.gather(start, all, Gpr::RCX, part, 0);
        self.and(start, 0xff);
        self.asm.shift(Shift::Left, part, start, 2);
        self.asm.mov_constant(Gpr::RCX, (&raw const TO_SRGB.next) as u64);
        self.asm.mask_op(Kop::Xnor, all, all, all);
        self.asm.gather(Zmm(5), all, Gpr::RCX, part, 0);
        self.asm.compare(Vop::CMPPS, all, ALL, v, Rm::Reg(Zmm(5)), GREATER_EQUAL);
        self.asm.vector(Vop::PADDD, start, all, start, Rm::Constant(1), None);
        self.asm.load(v, Rm::Reg(start));
    }

    fn load_bytes(&mut self, t: &TilePixel, h: usize) {
        let (left, all, word, v) = (Mask(3), Mask(4), Zmm(4), Zmm(0));
        self.pixels(Zmm(5), h);
        self.asm.mask_move(left, EXEC[h]);
        self.asm.gather(word, left, Gpr::RAX, Zmm(5), i32::from(t.offset));
        for c in 0..4 {
            self.asm.shift(Shift::Right, v, word, 8 * c as u8);
            self.and(v, 0xff);
            if t.format == TileFormat::Srgba8 && c < 3 {
                self.asm.shift(Shift::Left, Zmm(1), v, 2);
                self.asm.mov_constant(Gpr::RCX, srgb::decode_table().as_ptr() as u64);
                self.asm.mask_op(Kop::Xnor, all, all, all);
                self.asm.gather(v, all, Gpr::RCX, Zmm(1), 0);
            } else {
                self.asm.vector(Vop::CVTDQ2PS, v, ALL, Zmm(0), Rm::Reg(v), None);
                let most = Rm::Constant(255f32.to_bits());
                self.asm.vector(Vop::DIVPS, v, ALL, v, most, None);
            }
            let d = register_at(t.register, c);
            let form = if d.form == Form::Pair { Form::Word } else { d.form };
            self.store_float(Dst { form, saturate: false, ..d }, v, h);
        }
        self.write_back(h);
    }
}

/// Quiet. source: SDM, CMPPS
const GREATER_EQUAL: u8 = 0x1d;

/// Offset of a number of a coefficient register.
fn at(plane: u32, part: usize) -> i32 {
    (plane as usize * size_of::<Plane>() + part * size_of::<f32>()) as i32
}
