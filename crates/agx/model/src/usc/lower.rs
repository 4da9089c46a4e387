//! Turns instructions into operations: picks the handler and says where operands lie.

use std::sync::LazyLock;

use tepui_agx_isa::Inst;
use tepui_agx_isa::operand as isa;

use tepui_agx_packets::texture::TextureDimension;
use tepui_agx_texture::{BlockStore, Kind, LodSource, Request, Store, TileFormat};

use super::exec::texture::{
    Access2d, DescriptorSource, ImageStore, SamplerSource, TextureRead, TilePixel, TileStore,
};
use super::exec::{self, Entries, Handlers};
use super::lanes::{Dst, Form, Op, Src};
use super::memory::{Format, Transfer};
use super::program::Builder;

static HANDLERS: LazyLock<&'static Handlers> = LazyLock::new(Handlers::of_host);

/// The half-register at which a 64-bit operand or a vector starts, as row and form.
fn register(b: &mut Builder<'_>, half: u16, size: isa::Size) -> (u16, Form) {
    let row = half / 2;
    let form = match size {
        isa::Size::B16 if half & 1 == 1 => Form::High,
        isa::Size::B16 => Form::Low,
        isa::Size::B32 => Form::Word,
        isa::Size::B64 => Form::Pair,
    };
    b.register(row, if form == Form::Pair { 2 } else { 1 });
    (row, form)
}

/// A destination.
fn dst(b: &mut Builder<'_>, d: isa::Dst, saturate: bool) -> Dst {
    let (row, form) = register(b, d.reg, d.size);
    Dst { row, form, saturate }
}

fn uniform(b: &mut Builder<'_>, half: u16, size: isa::Size) -> Src {
    let row = half / 2;
    let form = match size {
        isa::Size::B16 if half & 1 == 1 => Form::High,
        isa::Size::B16 => Form::Low,
        isa::Size::B32 => Form::Word,
        isa::Size::B64 => Form::Pair,
    };
    b.uniform(row, if form == Form::Pair { 2 } else { 1 });
    Src { form, constant: false, ..Src::shared(row) }
}

fn general(b: &mut Builder<'_>, half: u16, size: isa::Size) -> Src {
    let (row, form) = register(b, half, size);
    Src { form, ..Src::register(row) }
}

/// An integer source.
fn int(b: &mut Builder<'_>, s: isa::Src) -> Src {
    let base = match s.kind {
        isa::SrcKind::Reg(half) => general(b, half, s.size),
        isa::SrcKind::Uniform(half) => uniform(b, half, s.size),
        isa::SrcKind::Imm(value) => return Src::shared(b.constant(u32::from(value))),
    };
    Src { sign_extend: s.sign_extend, ..base }
}

/// A float source; immediates are minifloats.
fn float(b: &mut Builder<'_>, s: isa::Src) -> Src {
    let base = match s.kind {
        isa::SrcKind::Reg(half) => general(b, half, s.size),
        isa::SrcKind::Uniform(half) => uniform(b, half, s.size),
        isa::SrcKind::Imm(value) => Src::shared(b.constant(isa::minifloat_decode(value).to_bits())),
    };
    Src { abs: s.abs, neg: s.neg, ..base }
}

/// A source that no handler reads.
fn none() -> Src {
    Src::shared(super::program::UNIFORM_ROWS as u16)
}

/// An operation that is run by the fast entry if all its operands are whole rows.
fn op((name, entries): Entries, d: Dst, sources: &[Src], aux: [u16; 4]) -> Op {
    let fast = d.form == Form::Word && !d.saturate && sources.iter().all(|s| s.is_word());
    let mut s = [none(); 4];
    s[..sources.len()].copy_from_slice(sources);
    Op { run: entries[usize::from(fast)], name, d, s, imm: 0, aux }
}

/// An operation whose handler has only one entry.
fn plain((name, entries): Entries, d: Dst, sources: &[Src], imm: u64, aux: [u16; 4]) -> Op {
    let mut s = [none(); 4];
    s[..sources.len()].copy_from_slice(sources);
    Op { run: entries[0], name, d, s, imm, aux }
}

/// An instruction that cannot be executed.
pub fn refuse(b: &mut Builder<'_>, why: String) -> Op {
    b.notes.push(why);
    plain(HANDLERS.refuse, Dst::NONE, &[], (b.notes.len() - 1) as u64, [0; 4])
}

fn format(f: isa::Format) -> Option<Format> {
    Some(match f {
        isa::Format::I8 => Format::I8,
        isa::Format::I16 => Format::I16,
        isa::Format::I32 => Format::I32,
        isa::Format::F16 => Format::F16,
        isa::Format::U8Norm => Format::U8Norm,
        isa::Format::S8Norm => Format::S8Norm,
        isa::Format::U16Norm => Format::U16Norm,
        isa::Format::S16Norm => Format::S16Norm,
        isa::Format::Rgb10A2 => Format::Rgb10A2,
        isa::Format::Srgba8 => Format::Srgba8,
        isa::Format::Rg11B10F => Format::Rg11B10F,
        isa::Format::Rgb9E5 => Format::Rgb9E5,
        _ => return None,
    })
}

/// Where a branch leads, in bytes from the instruction.
pub fn branch_offset(inst: &Inst) -> Option<i32> {
    match inst {
        Inst::JmpExecAny(i) => Some(i.off),
        Inst::JmpExecNone(i) => Some(i.off),
        Inst::Call(i) => Some(i.off),
        Inst::JmpIncomplete(i) => Some(i.off),
        Inst::JmpIfSkippingDoorbell(i) => Some(i.off),
        _ => None,
    }
}

/// Constructs that the instruction enters, less those that it leaves.
pub fn nesting(inst: &Inst) -> i64 {
    match inst {
        Inst::IfIcmp(i) => i64::from(i.n),
        Inst::IfFcmp(i) => i64::from(i.n),
        Inst::PopExec(i) => -i64::from(i.n),
        _ => 0,
    }
}

/// Does nothing run behind the instruction, unless something jumps there?
pub fn ends(inst: &Inst) -> bool {
    matches!(inst, Inst::Stop(_) | Inst::Trap(_) | Inst::Ret(_))
}

/// Does the instruction compute the same in all lanes if its registers hold the same in all lanes?
/// Only those that background programs which clear are made of are known to.
pub fn ignores_lane(inst: &Inst) -> bool {
    match inst {
        Inst::StTile(i) => !i.explicit,
        _ => matches!(
            inst,
            Inst::MovImm16(_)
                | Inst::MovImm32(_)
                | Inst::Fadd32(_)
                | Inst::Fmul32(_)
                | Inst::Fmadd32(_)
                | Inst::Fadd16(_)
                | Inst::Fmul16(_)
                | Inst::Fmadd16(_)
                | Inst::Iadd(_)
                | Inst::Imadd(_)
                | Inst::Bitop(_)
                | Inst::Bfi(_)
                | Inst::Bfeil(_)
                | Inst::Extr(_)
                | Inst::Convert(_)
                | Inst::Icmpsel(_)
                | Inst::Fcmpsel(_)
                | Inst::Wait(_)
                | Inst::WaitPix(_)
                | Inst::SignalPix(_)
                | Inst::Stop(_)
        ),
    }
}

/// The scoreboard slot that an instruction waits for.
pub fn waits_for(inst: &Inst) -> Option<u8> {
    match inst {
        Inst::Wait(i) => Some(i.slot),
        _ => None,
    }
}

/// Rows that a vector may span, one more for one that starts in a high half.
const LONGEST_VECTOR: u16 = 6;

/// The first register of a vector and how the others follow.
fn vector(b: &mut Builder<'_>, v: isa::RegVec) -> Dst {
    let (row, form) = register(b, v.reg, v.size);
    // Not the operand's own length: packed formats give four registers whatever their mask, and
    // texels may have a residency word.
    b.register(row, LONGEST_VECTOR);
    Dst { row, form, saturate: false }
}

fn base64(b: &mut Builder<'_>, base: isa::Base64) -> Src {
    match base {
        isa::Base64::Reg(half) => general(b, half, isa::Size::B64),
        isa::Base64::Uniform(half) => uniform(b, half, isa::Size::B64),
    }
}

/// An index: a register, or an immediate.
fn index(b: &mut Builder<'_>, index: isa::Index) -> (Src, Option<i32>) {
    match index {
        isa::Index::Reg(half) => (general(b, half, isa::Size::B32), None),
        isa::Index::Imm(value) => (none(), Some(i32::from(value))),
    }
}

/// Base and index of local memory: sources, immediate index, and whether there is no base.
fn local(
    b: &mut Builder<'_>,
    base: isa::LocalBase,
    index: isa::LocalIndex,
) -> ([Src; 2], Option<i32>, bool) {
    let (base, no_base) = match base {
        isa::LocalBase::Reg(half) => (general(b, half, isa::Size::B16), false),
        isa::LocalBase::Uniform(half) => (uniform(b, half, isa::Size::B16), false),
        isa::LocalBase::Zero(_) => (none(), true),
    };
    let (index, immediate) = match index {
        isa::LocalIndex::Reg(half) => (general(b, half, isa::Size::B16), None),
        isa::LocalIndex::Imm(value) => (none(), Some(i32::from(value))),
    };
    ([base, index], immediate, no_base)
}

/// A memory operation with its transfer.
fn memory(
    b: &mut Builder<'_>,
    entries: Entries,
    sources: &[Src],
    transfer: Transfer,
    d: Dst,
    aux: [u16; 4],
) -> Op {
    b.transfers.push(transfer);
    plain(entries, d, sources, (b.transfers.len() - 1) as u64, aux)
}

/// A condition as the handlers number it, and whether it is inverted.
fn condition(bits: u8) -> (u16, u16) {
    (u16::from(bits & 7), u16::from(bits >> 3 & 1))
}

/// The operation of an instruction.
pub fn lower(b: &mut Builder<'_>, place: usize, inst: &Inst) -> Op {
    let h: &Handlers = &HANDLERS;
    macro_rules! float_op {
        ($i:expr, $handler:ident, $($s:ident),*) => {{
            let sources = [$(float(b, $i.$s)),*];
            op(h.$handler, dst(b, $i.d, $i.sat), &sources, [0; 4])
        }};
    }
    macro_rules! bits_op {
        ($i:expr, $handler:ident, $aux:expr, $($s:ident),*) => {{
            let sources = [$(int(b, $i.$s)),*];
            op(h.$handler, dst(b, $i.d, false), &sources, [$aux, 0, 0, 0])
        }};
    }
    macro_rules! mask_op {
        ($i:expr, $handler:ident, $load:ident) => {{
            if $i.cc.text().is_none() {
                return unknown_condition(b);
            }
            let (condition, inverted) = condition($i.cc.bits());
            let sources = [$load(b, $i.a), $load(b, $i.b)];
            let aux = [condition, inverted, u16::from($i.n), 0];
            plain(h.$handler, Dst::NONE, &sources, 0, aux)
        }};
    }
    macro_rules! ballot_op {
        ($i:expr, $handler:ident, $load:ident, $quad:literal) => {{
            if $i.cc.text().is_none() {
                return unknown_condition(b);
            }
            let (condition, inverted) = condition($i.cc.bits());
            let sources = [$load(b, $i.a), $load(b, $i.b)];
            plain(h.$handler, dst(b, $i.d, false), &sources, 0, [condition, inverted, $quad, 0])
        }};
    }
    macro_rules! jump {
        ($handler:ident, $offset:expr) => {{
            let from = b.placed[place].offset;
            match b.index_at(i64::from(from) + i64::from($offset)) {
                Some(target) => plain(h.$handler, Dst::NONE, &[], target as u64, [0; 4]),
                None => refuse(
                    b,
                    format!(
                        "a branch to offset {:#x}, which is outside of the program or \
                    inside of an instruction",
                        i64::from(from) + i64::from($offset)
                    ),
                ),
            }
        }};
    }
    macro_rules! texture {
        ($i:expr, $load:literal) => {{
            let i = $i;
            let Some(texture) = descriptor(b, i.base, i.texture) else { return unknown_texture(b) };
            let Some(kind) = texture_kind(i.mode, i.gather, $load) else {
                return unknown_texture(b);
            };
            let (coordinates, sample, layer) = coordinates(b, i.coords, i.dim);
            let (lod, min_lod, gradient, source) = level_of_detail(b, i.lod, i.lod_mode);
            let half = i.compare_offset.reg;
            let compare = i.compare_offset.compare;
            let reference = compare.then(|| general(b, half, isa::Size::B32));
            let offset = i
                .compare_offset
                .offset
                .then(|| general(b, half + if compare { 2 } else { 0 }, isa::Size::B16));
            let sampler = match i.sampler {
                isa::Sampler::State(number) => SamplerSource::State(number),
                isa::Sampler::StateReg(half) => {
                    SamplerSource::Register(general(b, half, isa::Size::B16))
                }
            };
            let fields = TextureRead {
                request: Request {
                    kind,
                    dimension: dimension(i.dim),
                    compare,
                    offset: offset.is_some(),
                    lod: source,
                    narrow: i.r.size == isa::Size::B16,
                    mask: i.mask,
                    residency: i.kill & 2 != 0,
                },
                register: vector(b, i.r),
                texture,
                sampler,
                coordinates,
                layer,
                sample,
                lod,
                min_lod,
                gradient,
                reference,
                offset,
                integer: $load,
            };
            access(b, h.texture, Access2d::Read(fields), [0; 4])
        }};
    }
    macro_rules! tile_pixel {
        ($i:expr, $load:literal) => {{
            let i = $i;
            let Some(format) = tile_format(i.format) else { return unknown_format(b) };
            let half = u16::from(i.coords);
            let fields = TilePixel {
                format,
                mask: i.mask,
                register: vector(b, i.r),
                offset: i.offset,
                samples: register_or_immediate(b, i.samples),
                coordinates: [
                    general(b, half, isa::Size::B16),
                    general(b, half + 1, isa::Size::B16),
                ],
            };
            let entries = if i.explicit { h.tile_pixel } else { h.tile_access };
            access(b, entries, Access2d::Pixel(fields), [$load, 0, 0, 0])
        }};
    }
    match inst {
        Inst::Fadd32(i) => float_op!(i, fadd, a, b),
        Inst::Fmul32(i) => float_op!(i, fmul, a, b),
        Inst::Fmadd32(i) => float_op!(i, ffma, a, b, c),
        Inst::Fadd16(i) => float_op!(i, hadd, a, b),
        Inst::Fmul16(i) => float_op!(i, hmul, a, b),
        Inst::Fmadd16(i) => float_op!(i, hfma, a, b, c),
        Inst::Floor(i) => float_op!(i, floor, a),
        Inst::Ceil(i) => float_op!(i, ceil, a),
        Inst::Trunc(i) => float_op!(i, trunc, a),
        Inst::Rint(i) => float_op!(i, rint, a),
        Inst::Rcp(i) => float_op!(i, rcp, a),
        Inst::Rsqrt(i) => float_op!(i, rsqrt, a),
        Inst::RsqrtSpecial(i) => float_op!(i, srsqrt, a),
        Inst::SinPt1(i) => float_op!(i, sin_pt_1, a),
        Inst::SinPt2(i) => float_op!(i, sin_pt_2, a),
        Inst::Log2(i) => float_op!(i, log2, a),
        Inst::Exp2(i) => float_op!(i, exp2, a),
        Inst::Dfdx(i) => float_op!(i, dfdx, a),
        Inst::Dfdy(i) => float_op!(i, dfdy, a),
        Inst::Fcmpsel(i) => {
            if i.cc.text().is_none() {
                return unknown_condition(b);
            }
            let sources = [float(b, i.a), float(b, i.b), int(b, i.x), int(b, i.y)];
            op(h.fcmpsel, dst(b, i.d, false), &sources, [u16::from(i.cc.bits()), 0, 0, 0])
        }
        Inst::Icmpsel(i) => {
            if i.cc.text().is_none() {
                return unknown_condition(b);
            }
            let sources = [int(b, i.a), int(b, i.b), int(b, i.x), int(b, i.y)];
            op(h.icmpsel, dst(b, i.d, false), &sources, [u16::from(i.cc.bits()), 0, 0, 0])
        }
        Inst::Convert(i) => {
            let mode = u16::from(i.mode.bits());
            let from_float = matches!(mode, 4 | 5 | 8 | 9);
            if !matches!(mode, 0 | 1 | 4..=11) || i.round.bits() > 1 {
                return refuse(b, "a conversion of a kind or rounding that is unknown".to_owned());
            }
            // A float source has no modifiers here, but an immediate would be a minifloat or an
            // integer: which, is unknown. Integers it is.
            let source = if from_float && matches!(i.src.kind, isa::SrcKind::Imm(_)) {
                float(b, i.src)
            } else {
                int(b, i.src)
            };
            let aux = [mode, u16::from(i.round.bits()), 0, 0];
            plain(h.convert, dst(b, i.d, false), &[source], 0, aux)
        }
        Inst::MovImm16(i) => {
            let d = dst(b, i.d, false);
            Op { imm: u64::from(i.imm), ..op(h.mov_imm, d, &[], [0; 4]) }
        }
        Inst::MovImm32(i) => {
            let d = dst(b, i.d, false);
            Op { imm: u64::from(i.imm), ..op(h.mov_imm, d, &[], [0; 4]) }
        }
        Inst::GetSr(i) => {
            let d = dst(b, i.d, false);
            plain(h.get_sr, d, &[], 0, [u16::from(i.sr.0), 0, 0, 0])
        }
        Inst::Iadd(i) => {
            let sources = [int(b, i.a), int(b, i.b)];
            let signed = i.a.sign_extend || i.b.sign_extend;
            let aux = [u16::from(i.shift), u16::from(i.negate), u16::from(signed), 0];
            let d = dst(b, i.d, i.sat);
            // A shift of 5 and more gives zero, which only the general entry knows.
            if i.shift > 4 {
                plain(h.iadd, d, &sources, 0, aux)
            } else {
                op(h.iadd, d, &sources, aux)
            }
        }
        Inst::Imadd(i) => {
            let sources = [int(b, i.a), int(b, i.b), int(b, i.c)];
            let signed = i.a.sign_extend || i.b.sign_extend || i.c.sign_extend;
            let aux = [u16::from(i.shift), u16::from(i.negate), u16::from(signed), 0];
            let d = dst(b, i.d, i.sat);
            if i.shift > 4 {
                plain(h.imad, d, &sources, 0, aux)
            } else {
                op(h.imad, d, &sources, aux)
            }
        }
        Inst::Bitop(i) => bits_op!(i, bitop, u16::from(i.table), a, b),
        Inst::Bitrev(i) => bits_op!(i, bitrev, 0, a),
        Inst::Popcount(i) => bits_op!(i, popcount, 0, a),
        Inst::Ffs(i) => bits_op!(i, ffs, 0, a),
        Inst::Intl(i) => bits_op!(i, intl, 0, a, b),
        Inst::Bfi(i) => bits_op!(i, bfi, u16::from(i.mask), a, b, c),
        Inst::Bfeil(i) => bits_op!(i, bfeil, u16::from(i.mask), a, b, c),
        Inst::Extr(i) => bits_op!(i, extr, u16::from(i.mask), a, b, c),
        Inst::Shlhi(i) => bits_op!(i, shlhi, u16::from(i.mask), a, b, c),
        Inst::Shrhi(i) => bits_op!(i, shrhi, u16::from(i.mask), a, b, c),
        Inst::Asr(i) => {
            let a = Src { sign_extend: true, ..int(b, i.a) };
            let sources = [a, int(b, i.b)];
            op(h.asr, dst(b, i.d, false), &sources, [0; 4])
        }
        Inst::Asrh(i) => {
            let a = Src { sign_extend: true, ..int(b, i.a) };
            let sources = [a, int(b, i.b)];
            op(h.asrhi, dst(b, i.d, false), &sources, [0; 4])
        }
        Inst::IfIcmp(i) => mask_op!(i, if_icmp, int),
        Inst::IfFcmp(i) => mask_op!(i, if_fcmp, float),
        Inst::ElseIcmp(i) => mask_op!(i, else_icmp, int),
        Inst::ElseFcmp(i) => mask_op!(i, else_fcmp, float),
        Inst::WhileIcmp(i) => mask_op!(i, while_icmp, int),
        Inst::WhileFcmp(i) => mask_op!(i, while_fcmp, float),
        Inst::PopExec(i) => plain(h.pop_exec, Dst::NONE, &[], 0, [0, 0, u16::from(i.n), 0]),
        Inst::JmpExecAny(i) => jump!(jmp_exec_any, i.off),
        Inst::JmpExecNone(i) => jump!(jmp_exec_none, i.off),
        Inst::Call(i) => {
            let link = (b.address + u64::from(b.placed[place].offset) + 6) as u32;
            let op = jump!(call, i.off);
            // A branch that is refused has another meaning for this field.
            let target = b.index_at(i64::from(b.placed[place].offset) + i64::from(i.off));
            target.map_or(op, |index| Op { imm: index as u64 | u64::from(link) << 32, ..op })
        }
        Inst::Ret(i) => {
            let source = general(b, i.target.reg, isa::Size::B32);
            plain(h.jump_register, Dst::NONE, &[source], 0, [0; 4])
        }
        Inst::Stop(_) => plain(h.stop, Dst::NONE, &[], 0, [0; 4]),
        // A doorbell has no execution mask of its own: the jump skips it when no lane runs.
        Inst::JmpIfSkippingDoorbell(i) => jump!(jmp_exec_none, i.off),
        Inst::Doorbell(i) => plain(h.doorbell, Dst::NONE, &[], u64::from(i.imm), [0; 4]),
        Inst::Wait(_) => plain(h.nop, Dst::NONE, &[], 0, [0; 4]),
        // Order between fragment shaders of a pixel; compute has none.
        Inst::WaitPix(_) | Inst::SignalPix(_) => plain(h.nop, Dst::NONE, &[], 0, [0; 4]),
        Inst::ThreadgroupBarrier(_) => plain(h.barrier, Dst::NONE, &[], 0, [0; 4]),
        Inst::MemoryBarrier(_) => plain(h.fence, Dst::NONE, &[], 0, [0; 4]),
        Inst::SimdReduce(i) => {
            if i.a.size == isa::Size::B64 {
                return refuse(b, "a reduction of 64 bits: its effect is unknown".to_owned());
            }
            let scope = u16::from(i.scope == isa::Scope::Quad);
            let aux = [u16::from(i.op.bits()), scope, u16::from(i.prefix), 0];
            let source = if exec::subgroup::is_float(aux[0]) { float(b, i.a) } else { int(b, i.a) };
            plain(h.reduce, dst(b, i.d, false), &[source], 0, aux)
        }
        Inst::IcmpBallot(i) => ballot_op!(i, icmp_ballot, int, 0),
        Inst::FcmpBallot(i) => ballot_op!(i, fcmp_ballot, float, 0),
        Inst::IcmpQuadBallot(i) => ballot_op!(i, icmp_ballot, int, 1),
        Inst::FcmpQuadBallot(i) => ballot_op!(i, fcmp_ballot, float, 1),
        Inst::SimdShuffle(i) => {
            let sources = [int(b, i.a), int(b, i.b)];
            plain(h.shuffle, dst(b, i.d, false), &sources, 0, [shuffle(i.kind), 0, 0, 0])
        }
        Inst::QuadShuffle(i) => {
            let sources = [int(b, i.a), int(b, i.b)];
            plain(h.shuffle, dst(b, i.d, false), &sources, 0, [shuffle(i.kind), 1, 0, 0])
        }
        Inst::DeviceLoad(i) => {
            let Some(format) = format(i.format) else { return unknown_format(b) };
            let register = vector(b, i.r);
            let (index, immediate) = index(b, i.index);
            let signed = i.extend == isa::Extend::Signed;
            let t = Transfer {
                format,
                mask: i.mask,
                shift: i.shift,
                register,
                signed,
                immediate,
                no_base: false,
            };
            let sources = [base64(b, i.base), index];
            memory(b, h.device_load, &sources, t, Dst::NONE, [0; 4])
        }
        Inst::DeviceStore(i) => {
            let Some(format) = format(i.format) else { return unknown_format(b) };
            let register = vector(b, i.r);
            let (index, immediate) = index(b, i.index);
            let signed = i.extend == isa::Extend::Signed;
            let t = Transfer {
                format,
                mask: i.mask,
                shift: i.shift,
                register,
                signed,
                immediate,
                no_base: false,
            };
            let sources = [base64(b, i.base), index];
            memory(b, h.device_store, &sources, t, Dst::NONE, [0; 4])
        }
        Inst::Atomic(i) => {
            let operation = u16::from(i.op.bits());
            if operation >= exec::memory::ATOMIC_OPERATIONS {
                return refuse(b, format!("atomic operation {operation} is unknown"));
            }
            let (index, immediate) = index(b, i.index);
            let signed = i.extend == isa::Extend::Signed;
            let t = Transfer {
                format: Format::I32,
                mask: 1,
                shift: 0,
                register: Dst::NONE,
                signed,
                immediate,
                no_base: false,
            };
            let [first, second] = atomic_operands(b, operation, i.s);
            let sources = [base64(b, i.base), index, first, second];
            let d = if i.r.count > 0 { vector(b, i.r) } else { Dst::NONE };
            memory(b, h.device_atomic, &sources, t, d, [operation, u16::from(i.r.count > 0), 0, 0])
        }
        Inst::ThreadgroupLoad(i) => {
            let Some(format) = format(i.format) else { return unknown_format(b) };
            let register = vector(b, i.r);
            let (sources, immediate, no_base) = local(b, i.base, i.index);
            let t = Transfer {
                format,
                mask: i.mask,
                shift: 0,
                register,
                signed: true,
                immediate,
                no_base,
            };
            memory(b, h.local_load, &sources, t, Dst::NONE, [0; 4])
        }
        Inst::ThreadgroupStore(i) => {
            let Some(format) = format(i.format) else { return unknown_format(b) };
            let register = vector(b, i.r);
            let (sources, immediate, no_base) = local(b, i.base, i.index);
            let t = Transfer {
                format,
                mask: i.mask,
                shift: 0,
                register,
                signed: true,
                immediate,
                no_base,
            };
            memory(b, h.local_store, &sources, t, Dst::NONE, [0; 4])
        }
        Inst::ThreadgroupAtomic(i) => {
            let operation = u16::from(i.op.bits());
            if operation >= exec::memory::ATOMIC_OPERATIONS {
                return refuse(b, format!("atomic operation {operation} is unknown"));
            }
            let ([base, index], immediate, no_base) = local(b, i.base, i.index);
            let t = Transfer {
                format: Format::I32,
                mask: 1,
                shift: 0,
                register: Dst::NONE,
                signed: true,
                immediate,
                no_base,
            };
            let [first, second] = atomic_operands(b, operation, i.s);
            let sources = [base, index, first, second];
            let d = if i.r.count > 0 { vector(b, i.r) } else { Dst::NONE };
            memory(b, h.local_atomic, &sources, t, d, [operation, u16::from(i.r.count > 0), 0, 0])
        }
        Inst::StackLoad(i) => {
            let Some(format) = format(i.format) else { return unknown_format(b) };
            let register = vector(b, i.r);
            let (index, immediate) = index(b, i.index);
            let t = Transfer {
                format,
                mask: i.mask,
                shift: 0,
                register,
                signed: true,
                immediate,
                no_base: true,
            };
            memory(b, h.stack_load, &[none(), index], t, Dst::NONE, [0; 4])
        }
        Inst::StackStore(i) => {
            let Some(format) = format(i.format) else { return unknown_format(b) };
            let register = vector(b, i.r);
            let (index, immediate) = index(b, i.index);
            let t = Transfer {
                format,
                mask: i.mask,
                shift: 0,
                register,
                signed: true,
                immediate,
                no_base: true,
            };
            memory(b, h.stack_store, &[none(), index], t, Dst::NONE, [0; 4])
        }
        // The unit is a word of four bytes. source: Mesa's agx_compile.c, at `agx_stack_adjust`.
        Inst::StackAdjust(i) => {
            plain(h.stack_adjust, Dst::NONE, &[], (i64::from(i.v) * 4) as u64, [0; 4])
        }
        Inst::StackMap(i) => {
            let source = general(b, i.r.reg, isa::Size::B32);
            plain(h.stack_map, Dst::NONE, &[source], 0, [i.v as u16, 0, 0, 0])
        }
        Inst::StackUnmap(i) => {
            let (row, form) = register(b, i.r.reg, isa::Size::B32);
            let d = Dst { row, form, saturate: false };
            plain(h.stack_unmap, d, &[], 0, [i.v as u16, 0, 0, 0])
        }
        Inst::UniformStore(i) => {
            let register = vector(b, i.r);
            let (source, immediate) = index(b, i.index);
            let t = Transfer {
                format: Format::I16,
                mask: i.mask,
                shift: 0,
                register,
                signed: true,
                immediate,
                no_base: true,
            };
            let aux = [immediate.unwrap_or(0) as u16, u16::from(immediate.is_none()), 0, 0];
            memory(b, h.uniform_store, &[none(), source], t, Dst::NONE, aux)
        }
        Inst::TextureSample(i) => texture!(i, false),
        Inst::TextureLoad(i) => texture!(i, true),
        Inst::ImageWrite(i) if i.round != isa::StoreRound::default() => {
            refuse(b, "an image store that rounds toward zero".to_owned())
        }
        Inst::ImageWrite(i) => {
            let Some(image) = descriptor(b, i.base, i.image) else { return unknown_texture(b) };
            let (coordinates, sample, layer) = coordinates(b, i.coords, i.dim);
            let store = Store { dimension: dimension(i.dim), narrow: i.r.size == isa::Size::B16 };
            let register = vector(b, isa::RegVec { count: 4, ..i.r });
            let level = register_or_immediate(b, i.lod);
            let fields = ImageStore { store, image, register, coordinates, layer, sample, level };
            access(b, h.image_write, Access2d::Store(fields), [0; 4])
        }
        Inst::ImageWriteBlock(i) => {
            let Some(image) = descriptor(b, i.base, i.image) else { return unknown_texture(b) };
            let Some(format) = tile_format(i.format) else { return unknown_format(b) };
            let implicit = isa::Coords { axes: 0, ..i.coords };
            let place = if i.explicit == 0 { implicit } else { i.coords };
            let (coordinates, _, layer) = coordinates(b, place, i.dim);
            let store = BlockStore { dimension: dimension(i.dim), format };
            let offset = general(b, i.offset.reg, isa::Size::B16);
            let level = register_or_immediate(b, i.lod);
            let fields = TileStore { store, image, offset, coordinates, layer, level };
            access(b, h.image_write_block, Access2d::Block(fields), [0; 4])
        }
        Inst::StTile(i) => tile_pixel!(i, 0),
        Inst::LdTile(i) => tile_pixel!(i, 1),
        // A vertex program without outputs says so; there is nothing to do.
        Inst::NoVar(_) => plain(h.nop, Dst::NONE, &[], 0, [0; 4]),
        Inst::Iter(i) => {
            if i.forward || i.kill {
                return unknown_interpolation(b);
            }
            let fields = (i.d, i.coef, None, i.sample, i.interpolation);
            interpolate(b, fields)
        }
        Inst::Iterproj(i) => {
            if i.forward || i.kill {
                return unknown_interpolation(b);
            }
            let fields = (i.d, i.coef, Some(i.w), i.sample, i.interpolation);
            interpolate(b, fields)
        }
        Inst::Ldcf(i) => {
            let d = dst(b, isa::Dst { reg: i.d.reg, size: i.d.size, cache: false }, false);
            // Three numbers a register, one row more for those that start in a high half.
            b.register(d.row, u16::from(i.d.count) + 1);
            let (register, uniform) = coefficient(b, i.coef);
            let count = u16::from(i.d.count) / 3;
            plain(h.ldcf, d, &[register], 0, [count, 0, 0, uniform])
        }
        Inst::SampleMask(i) => {
            let sources = [register_or_immediate(b, i.target), register_or_immediate(b, i.live)];
            plain(h.sample_mask, Dst::NONE, &sources, 0, [0; 4])
        }
        Inst::ZsEmit(i) => {
            let samples = register_or_immediate(b, i.samples);
            let half = i.values.reg;
            let depth = if i.depth() { general(b, half, isa::Size::B32) } else { none() };
            let at = if i.depth() { half + 2 } else { half };
            let stencil = if i.stencil() { general(b, at, isa::Size::B16) } else { none() };
            let aux = [u16::from(i.depth()), u16::from(i.stencil()), 0, 0];
            plain(h.zs_emit, Dst::NONE, &[samples, depth, stencil], 0, aux)
        }
        Inst::StVar(i) => vertex_output(b, i.r, i.index),
        Inst::StVarFinal(i) => vertex_output(b, i.r, i.index),
        Inst::TexStateStore(i) => {
            let base = uniform(b, i.base.0, isa::Size::B64);
            let offset = Src::shared(b.constant(u32::from(i.offset)));
            let aux = [u16::from(i.ts.0), 0, 0, 0];
            plain(h.texture_state_store, Dst::NONE, &[base, offset], 0, aux)
        }
        Inst::SamplerStateStore(i) => {
            let base = uniform(b, i.base.0, isa::Size::B64);
            let offset = Src::shared(b.constant(u32::from(i.offset)));
            let aux = [u16::from(i.ss.0), 0, 0, 0];
            plain(h.sampler_state_store, Dst::NONE, &[base, offset], 0, aux)
        }
        // Registers that no operation names in its operands are covered here.
        other => refuse(b, format!("`{other}` is not executed by this model yet")),
    }
}

fn vertex_output(b: &mut Builder<'_>, value: isa::RegVec, word: isa::RegOrImm) -> Op {
    let value = general(b, value.reg, isa::Size::B32);
    let word = register_or_immediate(b, word);
    plain(HANDLERS.st_var, Dst::NONE, &[value, word], 0, [0; 4])
}

type Interpolated =
    (isa::RegVec, isa::Coef, Option<isa::Coef>, isa::SampleIndex, isa::Interpolation);

fn interpolate(b: &mut Builder<'_>, (d, coef, w, sample, place): Interpolated) -> Op {
    let (register, uniform) = coefficient(b, coef);
    let over_w = w.map_or(none(), |w| coefficient(b, w).0);
    let sample = match sample {
        isa::SampleIndex::None => none(),
        isa::SampleIndex::Imm(value) => Src::shared(b.constant(u32::from(value))),
        isa::SampleIndex::Reg(half) => general(b, half, isa::Size::B16),
    };
    let aux = [u16::from(d.count), u16::from(place.bits()), u16::from(w.is_some()), uniform];
    let d = vector(b, d);
    plain(HANDLERS.iter, d, &[register, over_w, sample], 0, aux)
}

/// The number of a coefficient register as a source, and whether it is the same in all lanes.
fn coefficient(b: &mut Builder<'_>, coef: isa::Coef) -> (Src, u16) {
    match coef {
        isa::Coef::Cf(number) => (Src::shared(b.constant(u32::from(number))), 1),
        isa::Coef::Reg(half) => (general(b, half, isa::Size::B16), 0),
    }
}

fn unknown_interpolation(b: &mut Builder<'_>) -> Op {
    refuse(b, "interpolation that forwards to a texture or ends helper lanes: unknown".to_owned())
}

/// Operand and, for compare and exchange, comparand first: the registers hold the new value, then
/// the expected one.
fn atomic_operands(b: &mut Builder<'_>, operation: u16, s: isa::RegVec) -> [Src; 2] {
    let first = general(b, s.reg, isa::Size::B32);
    if operation == 3 {
        let expected = general(b, s.reg + 2, isa::Size::B32);
        [expected, first]
    } else {
        [first, first]
    }
}

fn shuffle(kind: isa::Shuffle) -> u16 {
    use exec::subgroup as s;
    match kind {
        isa::Shuffle::Index => s::SHUFFLE_INDEX,
        isa::Shuffle::Xor => s::SHUFFLE_XOR,
        isa::Shuffle::Up => s::SHUFFLE_UP,
        isa::Shuffle::Down => s::SHUFFLE_DOWN,
        isa::Shuffle::RotateUp => s::SHUFFLE_ROTATE_UP,
    }
}

fn unknown_condition(b: &mut Builder<'_>) -> Op {
    refuse(b, "a condition that is unknown".to_owned())
}

fn unknown_format(b: &mut Builder<'_>) -> Op {
    refuse(b, "a memory format that is unknown".to_owned())
}

fn unknown_texture(b: &mut Builder<'_>) -> Op {
    refuse(b, "a texture reference or mode whose meaning is unknown".to_owned())
}

/// An operation with its further fields.
fn access(b: &mut Builder<'_>, entries: Entries, fields: Access2d, aux: [u16; 4]) -> Op {
    b.accesses.push(fields);
    plain(entries, Dst::NONE, &[], (b.accesses.len() - 1) as u64, aux)
}

fn descriptor(
    b: &mut Builder<'_>,
    base: isa::TexBase,
    texture: isa::Texture,
) -> Option<DescriptorSource> {
    Some(match (texture, base) {
        (isa::Texture::State(number), _) => DescriptorSource::State(number),
        (isa::Texture::StateReg(half), _) => {
            DescriptorSource::StateRegister(general(b, half, isa::Size::B16))
        }
        (isa::Texture::Bindless(half), isa::TexBase::Uniform(base)) => DescriptorSource::Memory {
            base: uniform(b, base, isa::Size::B64),
            offset: general(b, half, isa::Size::B32),
        },
        _ => return None,
    })
}

fn register_or_immediate(b: &mut Builder<'_>, operand: isa::RegOrImm) -> Src {
    match operand {
        isa::RegOrImm::Reg(half) => general(b, half, isa::Size::B16),
        isa::RegOrImm::Imm(value) => Src::shared(b.constant(u32::from(value))),
    }
}

/// Coordinates as sources: x, y, z; sample index; layer.
fn coordinates(
    b: &mut Builder<'_>,
    c: isa::Coords,
    dim: isa::Dim,
) -> ([Option<Src>; 3], Option<Src>, Option<Src>) {
    let mut half = c.reg;
    let mut xyz = [None; 3];
    for slot in xyz.iter_mut().take(usize::from(c.axes)) {
        *slot = Some(general(b, half, c.size));
        half += c.size.halves();
    }
    let mut extra = |wanted: bool| {
        wanted.then(|| {
            let source = general(b, half, isa::Size::B16);
            half += 1;
            source
        })
    };
    let sample = extra(dim.is_multisampled());
    let layer = extra(dim.is_array());
    (xyz, sample, layer)
}

type LevelOfDetail = (Option<Src>, Option<Src>, [[Option<Src>; 2]; 3], LodSource);

/// Where the level of detail comes from: level or bias, minimum, gradients, and the mode.
fn level_of_detail(b: &mut Builder<'_>, lod: isa::Lod, mode: isa::LodMode) -> LevelOfDetail {
    let mut gradient = [[None; 2]; 3];
    let (first, second) = match lod {
        isa::Lod::None(_) => (None, None),
        isa::Lod::Uniform { reg, count } => (
            Some(uniform(b, reg, isa::Size::B16)),
            (count > 1).then(|| uniform(b, reg + 1, isa::Size::B16)),
        ),
        isa::Lod::Reg { reg, count } => (
            Some(general(b, reg, isa::Size::B16)),
            (count > 1).then(|| general(b, reg + 1, isa::Size::B16)),
        ),
        isa::Lod::Gradient { reg, count } => {
            for (k, slot) in gradient.as_flattened_mut().iter_mut().enumerate() {
                if k < usize::from(count / 2 * 2) {
                    *slot = Some(general(b, reg + 2 * k as u16, isa::Size::B32));
                }
            }
            let minimum = count & 1 != 0;
            (None, minimum.then(|| general(b, reg + 2 * u16::from(count - 1), isa::Size::B16)))
        }
    };
    let source = match mode {
        isa::LodMode::Auto => LodSource::Auto,
        isa::LodMode::Bias | isa::LodMode::BiasUniform => LodSource::Bias,
        isa::LodMode::BiasMin | isa::LodMode::BiasMinUniform => LodSource::BiasMin,
        isa::LodMode::Lod | isa::LodMode::LodUniform => LodSource::Level,
        isa::LodMode::Gradient => LodSource::Gradient,
        isa::LodMode::GradientMin => LodSource::GradientMin,
    };
    (first, second, gradient, source)
}

fn texture_kind(mode: isa::TexMode, gather: isa::Gather, load: bool) -> Option<Kind> {
    let component = match gather {
        isa::Gather::None | isa::Gather::Compare => None,
        isa::Gather::R | isa::Gather::Depth => Some(0),
        isa::Gather::G => Some(1),
        isa::Gather::B => Some(2),
        isa::Gather::A => Some(3),
        isa::Gather::Unknown(_) => return None,
    };
    Some(match (mode, component) {
        (isa::TexMode::QueryLod, _) => Kind::QueryLod,
        (isa::TexMode::Sample, Some(component)) => Kind::Gather { component },
        (isa::TexMode::Sample, None) if load => Kind::Load,
        (isa::TexMode::Sample, None) => Kind::Sample,
        _ => return None,
    })
}

fn dimension(dim: isa::Dim) -> TextureDimension {
    match dim {
        isa::Dim::D1 => TextureDimension::D1,
        isa::Dim::D1Array => TextureDimension::D1Array,
        isa::Dim::D2 => TextureDimension::D2,
        isa::Dim::D2Array => TextureDimension::D2Array,
        isa::Dim::D2Ms => TextureDimension::D2Multisampled,
        isa::Dim::D3 => TextureDimension::D3,
        isa::Dim::Cube => TextureDimension::Cube,
        isa::Dim::CubeArray => TextureDimension::CubeArray,
        isa::Dim::D2MsArray => TextureDimension::D2ArrayMultisampled,
    }
}

fn tile_format(f: isa::Format) -> Option<TileFormat> {
    Some(match f {
        isa::Format::I8 => TileFormat::I8,
        isa::Format::I16 => TileFormat::I16,
        isa::Format::I32 => TileFormat::I32,
        isa::Format::F16 => TileFormat::F16,
        isa::Format::U8Norm => TileFormat::U8Norm,
        isa::Format::S8Norm => TileFormat::S8Norm,
        isa::Format::U16Norm => TileFormat::U16Norm,
        isa::Format::S16Norm => TileFormat::S16Norm,
        isa::Format::Rgb10A2 => TileFormat::Rgb10A2,
        isa::Format::Srgba8 => TileFormat::Srgba8,
        isa::Format::Rg11B10F | isa::Format::Rg11B10FRtz => TileFormat::Rg11B10F,
        isa::Format::Rgb9E5 | isa::Format::Rgb9E5Rtz => TileFormat::Rgb9E5,
        isa::Format::Unknown(_) => return None,
    })
}
