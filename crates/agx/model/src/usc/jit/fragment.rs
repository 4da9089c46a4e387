//! Templates of the most frequent operations of fragment programs: interpolation at the centres of
//! pixels and at samples, and the tilebuffer with one sample a pixel and four channels of eight bits.
//! The handlers do the rest.
//!
//! # Why no access leaves its memory
//!
//! - **Coefficient registers** are read for all quads, whether they execute or not.
//!   `Fragments::prepare` gives each of the eight a pointer to `registers` planes: the rasteriser
//!   fills unused quads with a used one. The highest plane that an instruction names is known when
//!   it is translated and compared with `registers`.
//! - **Samples**: the index to a table of `sample_px` is the low bits of a number, as many as tell
//!   `MAX_SAMPLES` apart, in every lane.
//! - **Tilebuffer**: `Fragments::prepare` computes the places of all lanes, each inside of the tile
//!   whatever the lane's pixel (coordinates are masked to the tile's size), and `sample_bytes` is 0
//!   unless the whole tile lies in local memory. The instruction's offset and four bytes are
//!   compared with `sample_bytes`.
//! - **sRGB tables**: the index to `starts` is a float that `saturate` clamps between 0 and 1 (a NaN
//!   becomes 0), times `PARTS`, in every lane; `starts` is followed by 4 bytes, as gathers read words.
//!   The index to `next` and to the table of `srgb::decode_table` has 8 bits.

use std::mem::offset_of;
use std::sync::LazyLock;

use tepui_agx_texture::TileFormat;
use tepui_format::texel::srgb;

use super::translator::{ByHandler, Done, LANES, Translator, field};
use crate::isp::setup::MAX_SAMPLES;
use crate::usc::access::{TextureAccess, TilePixel};
use crate::usc::exec::memory::register_at;
use crate::usc::op::{Dst, Form, Op, Src};
use crate::usc::row::Row;
use crate::usc::samples::place;
use crate::usc::stage::{Fragments, Ready};
use tepui_hostvec::asm::{ALL, Condition, Gpr, Label, Rm, Shift, V, Vop, float};
use tepui_raster::Plane;

/// The stage's fragments.
const FRAGMENTS: Gpr = Gpr::RDX;
/// Pointers to the coefficient registers of the quads of a part, at most four.
const PLANES: [Gpr; 4] = [Gpr::RAX, Gpr::RCX, Gpr::RSI, Gpr::RDI];

/// Whether the quads of the group are of one primitive.
#[derive(Clone, Copy)]
enum Quads {
    /// One primitive: its plane's numbers are memory operands of the multiplications.
    Alike,
    /// Several: those of each quad are copied to its lanes.
    Apart,
}

/// The registers of interpolation: positions of the lanes, and the reciprocal of 1/w.
struct Held {
    x: V,
    y: V,
    w: V,
}

/// For each part of 0 to 1, the stored value of its start; and for each stored value, where the
/// next begins.
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

    /// Interpolates at the centres of pixels, or at samples.
    pub fn iter(&mut self, op: &Op) -> Done {
        let count = u32::from(op.aux[0]);
        let number = self.code.constant(op.s[0]).filter(|n| n + count <= 1 << 16);
        let (Some(number), 1..=4) = (number, count) else { return Err(ByHandler) };
        let over_w = match op.aux[2] {
            0 => None,
            _ => Some(self.code.constant(op.s[1]).filter(|n| *n < 1 << 16).ok_or(ByHandler)?),
        };
        if op.aux[1] == place::CENTROID || op.aux[3] == 0 {
            return Err(ByHandler);
        }
        let needed = (number + count).max(over_w.map_or(0, |w| w + 1));
        let numbers = [number, over_w.unwrap_or(0)];
        self.with_planes(needed, |t, quads| t.interpolate(op, numbers, quads));
        Ok(())
    }

    /// Loads the numbers of coefficient registers.
    pub fn ldcf(&mut self, op: &Op) -> Done {
        let count = u32::from(op.aux[0]);
        let number = self.code.constant(op.s[0]).filter(|n| n + count <= 1 << 16);
        let Some(first) = number.filter(|_| op.aux[3] != 0) else { return Err(ByHandler) };
        self.with_planes(first + count, |t, quads| {
            for k in 0..3 * count {
                let from = t.number(quads, first + k / 3, k as usize % 3, V(1));
                t.asm.load(V(0), from);
                let d = register_at(op.d, k as usize);
                match d.form {
                    Form::Low | Form::High => t.store_float(d, V(0)),
                    // Flat integers are no floats.
                    Form::Word | Form::Pair => t.store(d, V(0)),
                }
            }
            t.write_back();
        });
        Ok(())
    }

    /// A template for each part that reads coefficient registers below `needed`; the handler does
    /// it if there are fewer.
    fn with_planes(&mut self, needed: u32, template: impl Fn(&mut Self, Quads)) {
        self.count();
        let (slow, apart, done) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.fragments(slow);
        let bound = offset_of!(Fragments, registers) as i32;
        self.asm.compare_memory_word(FRAGMENTS, bound, needed as i32);
        self.asm.jump_if(Condition::Carry, slow);
        self.asm.compare_memory(FRAGMENTS, ready(offset_of!(Ready, alike)), 0);
        self.asm.jump_if(Condition::Zero, apart);
        let planes = ready(offset_of!(Ready, planes));
        self.asm.load_word(PLANES[0], FRAGMENTS, planes);
        for part in 0..self.asm.parts() {
            self.part = part;
            template(self, Quads::Alike);
        }
        self.asm.jump(done);
        self.asm.place(apart);
        let quads = self.asm.lanes() / 4;
        for part in 0..self.asm.parts() {
            self.part = part;
            self.asm.quad_masks();
            for (q, &register) in PLANES[..quads].iter().enumerate() {
                let number = (part * quads + q) * size_of::<*const Plane>();
                self.asm.load_word(register, FRAGMENTS, planes + number as i32);
            }
            template(self, Quads::Apart);
        }
        self.asm.jump(done);
        self.asm.place(slow);
        self.by_handler();
        self.asm.place(done);
    }

    /// One of the three numbers of a plane, with a register to use.
    fn number(&mut self, quads: Quads, plane: u32, part: usize, scratch: V) -> Rm {
        let at = at(plane, part);
        match quads {
            Quads::Alike => Rm::Broadcast(PLANES[0], at),
            Quads::Apart => {
                let count = self.asm.lanes() / 4;
                for (quad, &register) in (0..).zip(&PLANES[..count]) {
                    self.asm.load_quad(scratch, quad, Rm::Broadcast(register, at));
                }
                Rm::Reg(scratch)
            }
        }
    }

    /// `iter` for the part at hand.
    fn interpolate(&mut self, op: &Op, [first, over_w]: [u32; 2], quads: Quads) {
        let t = Held { x: self.keep(28), y: self.keep(29), w: self.keep(27) };
        let centre = ready(offset_of!(Ready, centre));
        self.asm.load(t.x, self.piece(FRAGMENTS, centre));
        self.asm.load(t.y, self.piece(FRAGMENTS, centre + size_of::<Row>() as i32));
        if op.aux[1] != place::CENTRE {
            self.move_to_samples(op.s[2], [t.x, t.y]);
        }
        let one = Rm::Constant(1f32.to_bits());
        self.asm.load(t.w, one);
        if op.aux[2] != 0 {
            self.value(V(0), over_w, &t, quads);
            self.asm.vector(Vop::DIVPS, t.w, ALL, t.w, Rm::Reg(V(0)), None);
        }
        for k in 0..usize::from(op.aux[0]) {
            self.value(V(0), first + k as u32, &t, quads);
            self.asm.vector(Vop::MULPS, V(0), ALL, V(0), Rm::Reg(t.w), None);
            self.store_float(register_at(op.d, k), V(0));
        }
        self.write_back();
        [t.x, t.y, t.w].into_iter().for_each(|at| self.free(at));
    }

    /// Moves positions from the centres of pixels to a sample.
    fn move_to_samples(&mut self, number: Src, at: [V; 2]) {
        let (index, offset, all) = (V(1), V(2), self.mask(3));
        self.int(index, number);
        self.and(index, MAX_SAMPLES as u32 - 1);
        self.asm.shift(Shift::Left, index, index, 2);
        let table = ready(offset_of!(Ready, sample_px));
        for (k, at) in (0..).zip(at) {
            self.asm.mask_all(all);
            self.asm.gather(offset, all, FRAGMENTS, index, table + k * 4 * MAX_SAMPLES as i32);
            let half = Rm::Constant(0.5f32.to_bits());
            self.asm.vector(Vop::SUBPS, at, ALL, at, half, None);
            self.asm.vector(Vop::ADDPS, at, ALL, at, Rm::Reg(offset), None);
        }
        self.free_mask(all);
    }

    /// `a x + (b y + c)`, each operation rounded: see `tepui_raster::depth::at`.
    fn value(&mut self, d: V, plane: u32, t: &Held, quads: Quads) {
        let b = self.number(quads, plane, 1, V(1));
        self.asm.vector(Vop::MULPS, V(1), ALL, t.y, b, None);
        let c = self.number(quads, plane, 2, V(2));
        self.asm.vector(Vop::ADDPS, V(1), ALL, V(1), c, None);
        let a = self.number(quads, plane, 0, V(2));
        self.asm.vector(Vop::MULPS, d, ALL, t.x, a, None);
        self.asm.vector(Vop::ADDPS, d, ALL, d, Rm::Reg(V(1)), None);
    }

    /// The lanes' own pixels, to (`aux[0]` is 0) or from the tilebuffer.
    pub fn tile_access(&mut self, op: &Op) -> Done {
        let code = self.code;
        let TextureAccess::Pixel(t) = code.access(op.imm as usize) else { return Err(ByHandler) };
        if !matches!(t.format, TileFormat::U8Norm | TileFormat::Srgba8) || t.mask != 15 {
            return Err(ByHandler);
        }
        self.count();
        let (slow, done) = (self.asm.label(), self.asm.label());
        self.fragments(slow);
        let room = ready(offset_of!(Ready, sample_bytes));
        self.asm.compare_memory(FRAGMENTS, room, i32::from(t.offset) + 4);
        self.asm.jump_if(Condition::Carry, slow);
        for part in 0..self.asm.parts() {
            self.part = part;
            if op.aux[0] == 0 { self.store_bytes(t) } else { self.load_bytes(t) }
        }
        self.asm.jump(done);
        self.asm.place(slow);
        self.by_handler();
        self.asm.place(done);
        Ok(())
    }

    /// Places of the part's pixels to a register, local memory to `rax`.
    fn pixels(&mut self, d: V) {
        self.asm.load(d, self.piece(FRAGMENTS, ready(offset_of!(Ready, places))));
        self.asm.load_word(Gpr::RAX, LANES, field!(local));
    }

    fn store_bytes(&mut self, t: &TilePixel) {
        let word = V(4);
        for c in 0..4 {
            let d = register_at(t.register, c);
            let v = V(1);
            self.float(v, Src { form: d.form, ..Src::register(d.row) });
            self.saturate(v);
            if t.format == TileFormat::Srgba8 && c < 3 {
                self.encode_srgb(v);
            } else {
                // Adding 2^23 rounds to an integer, ties to even, in the low bits.
                self.asm.load(V(2), Rm::Constant(255f32.to_bits()));
                let shift = Rm::Constant(8_388_608f32.to_bits());
                self.asm.vector(Vop::FMADD213PS, v, ALL, V(2), shift, None);
                self.and(v, 0xff);
            }
            if c == 0 {
                self.asm.load(word, Rm::Reg(v));
            } else {
                self.asm.shift(Shift::Left, v, v, 8 * c as u8);
                self.asm.vector(Vop::PORD, word, ALL, word, Rm::Reg(v), None);
            }
        }
        self.int(V(1), t.samples);
        self.rows.held.clear();
        let written = self.mask(3);
        let live = self.piece(FRAGMENTS, offset_of!(Fragments, live) as i32);
        self.asm.test_bits(written, self.exec(), V(1), live);
        self.pixels(V(5));
        self.asm.scatter(word, written, Gpr::RAX, V(5), i32::from(t.offset));
        self.free_mask(written);
    }

    /// Linear light between 0 and 1 to stored values, as `srgb::encode`.
    fn encode_srgb(&mut self, v: V) {
        let (part, start, all) = (V(3), V(2), self.mask(4));
        // The last part holds what 1 becomes.
        self.asm.vector(Vop::MINPS, v, ALL, v, Rm::Constant(1f32.to_bits() - 1), None);
        let parts = Rm::Constant((srgb::PARTS as f32).to_bits());
        self.asm.vector(Vop::MULPS, part, ALL, v, parts, None);
        self.asm.vector(Vop::CVTTPS2DQ, part, ALL, V(0), Rm::Reg(part), None);
        self.asm.mov_constant(Gpr::RCX, (&raw const TO_SRGB.starts) as u64);
        self.asm.mask_all(all);
        self.asm.gather(start, all, Gpr::RCX, part, 0);
        self.and(start, 0xff);
        self.asm.shift(Shift::Left, part, start, 2);
        self.asm.mov_constant(Gpr::RCX, (&raw const TO_SRGB.next) as u64);
        self.asm.mask_all(all);
        self.asm.gather(V(5), all, Gpr::RCX, part, 0);
        self.asm.compare(Vop::CMPPS, all, ALL, v, Rm::Reg(V(5)), float::GREATER_EQUAL);
        self.asm.vector(Vop::PADDD, start, all, start, Rm::Constant(1), None);
        self.free_mask(all);
        self.asm.load(v, Rm::Reg(start));
    }

    fn load_bytes(&mut self, t: &TilePixel) {
        let (left, word, v) = (self.mask(3), V(4), V(0));
        self.pixels(V(5));
        self.asm.mask_move(left, self.exec());
        self.asm.gather(word, left, Gpr::RAX, V(5), i32::from(t.offset));
        self.free_mask(left);
        for c in 0..4 {
            self.asm.shift(Shift::Right, v, word, 8 * c as u8);
            self.and(v, 0xff);
            if t.format == TileFormat::Srgba8 && c < 3 {
                self.asm.shift(Shift::Left, V(1), v, 2);
                self.asm.mov_constant(Gpr::RCX, srgb::decode_table().as_ptr() as u64);
                let all = self.mask(4);
                self.asm.mask_all(all);
                self.asm.gather(v, all, Gpr::RCX, V(1), 0);
                self.free_mask(all);
            } else {
                self.asm.vector(Vop::CVTDQ2PS, v, ALL, V(0), Rm::Reg(v), None);
                let most = Rm::Constant(255f32.to_bits());
                self.asm.vector(Vop::DIVPS, v, ALL, v, most, None);
            }
            let d = register_at(t.register, c);
            let form = if d.form == Form::Pair { Form::Word } else { d.form };
            self.store_float(Dst { form, saturate: false, ..d }, v);
        }
        self.write_back();
    }
}

/// Offset of a number of a coefficient register.
fn at(plane: u32, part: usize) -> i32 {
    (plane as usize * size_of::<Plane>() + part * size_of::<f32>()) as i32
}
