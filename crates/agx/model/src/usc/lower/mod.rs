//! Lowers instructions to operations: chooses the opcode and the rows of operands.

mod build;
mod memory;
mod operands;
mod texture;

use tepui_agx_isa::Inst;
use tepui_agx_isa::operand as isa;

use self::build::{not_executed, op, plain};
pub use self::build::{refuse, refuse_as};
use self::operands::{
    coefficient, dst, float, general, int, none, register, register_or_immediate, uniform, vector,
};
use super::code::Builder;
use super::exec;
use super::op::{Dst, Op, Src};
use super::opcode::Opcode;

/// A condition as the handlers number it, and whether it is inverted.
fn condition(bits: u8) -> (u16, u16) {
    (u16::from(bits & 7), u16::from(bits >> 3 & 1))
}

/// The operation of an instruction.
pub fn lower(b: &mut Builder<'_>, place: usize, inst: &Inst) -> Op {
    macro_rules! float_op {
        ($i:expr, $handler:ident, $($s:ident),*) => {{
            let sources = [$(float(b, $i.$s)),*];
            op(Opcode::$handler, dst(b, $i.d, $i.sat), &sources, [0; 4])
        }};
    }
    macro_rules! bits_op {
        ($i:expr, $handler:ident, $aux:expr, $($s:ident),*) => {{
            let sources = [$(int(b, $i.$s)),*];
            op(Opcode::$handler, dst(b, $i.d, false), &sources, [$aux, 0, 0, 0])
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
            plain(Opcode::$handler, Dst::NONE, &sources, 0, aux)
        }};
    }
    macro_rules! ballot_op {
        ($i:expr, $handler:ident, $load:ident, $quad:literal) => {{
            if $i.cc.text().is_none() {
                return unknown_condition(b);
            }
            let (condition, inverted) = condition($i.cc.bits());
            let sources = [$load(b, $i.a), $load(b, $i.b)];
            plain(
                Opcode::$handler,
                dst(b, $i.d, false),
                &sources,
                0,
                [condition, inverted, $quad, 0],
            )
        }};
    }
    macro_rules! jump {
        ($handler:ident, $offset:expr) => {{
            let from = b.placed[place].offset;
            match b.index_at(i64::from(from) + i64::from($offset)) {
                Some(target) => plain(Opcode::$handler, Dst::NONE, &[], target as u64, [0; 4]),
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
            op(Opcode::fcmpsel, dst(b, i.d, false), &sources, [u16::from(i.cc.bits()), 0, 0, 0])
        }
        Inst::Icmpsel(i) => {
            if i.cc.text().is_none() {
                return unknown_condition(b);
            }
            let sources = [int(b, i.a), int(b, i.b), int(b, i.x), int(b, i.y)];
            op(Opcode::icmpsel, dst(b, i.d, false), &sources, [u16::from(i.cc.bits()), 0, 0, 0])
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
            plain(Opcode::convert, dst(b, i.d, false), &[source], 0, aux)
        }
        Inst::MovImm16(i) => {
            let d = dst(b, i.d, false);
            Op { imm: u64::from(i.imm), ..op(Opcode::mov_imm, d, &[], [0; 4]) }
        }
        Inst::MovImm32(i) => {
            let d = dst(b, i.d, false);
            Op { imm: u64::from(i.imm), ..op(Opcode::mov_imm, d, &[], [0; 4]) }
        }
        Inst::GetSr(i) => {
            let d = dst(b, i.d, false);
            plain(Opcode::get_sr, d, &[], 0, [u16::from(i.sr.0), 0, 0, 0])
        }
        Inst::Iadd(i) => {
            let sources = [int(b, i.a), int(b, i.b)];
            let signed = i.a.sign_extend || i.b.sign_extend;
            let aux = [u16::from(i.shift), u16::from(i.negate), u16::from(signed), 0];
            let d = dst(b, i.d, i.sat);
            // A shift of 5 and more gives zero, which only the general entry knows.
            if i.shift > 4 {
                plain(Opcode::iadd, d, &sources, 0, aux)
            } else {
                op(Opcode::iadd, d, &sources, aux)
            }
        }
        Inst::Imadd(i) => {
            let sources = [int(b, i.a), int(b, i.b), int(b, i.c)];
            let signed = i.a.sign_extend || i.b.sign_extend || i.c.sign_extend;
            let aux = [u16::from(i.shift), u16::from(i.negate), u16::from(signed), 0];
            let d = dst(b, i.d, i.sat);
            if i.shift > 4 {
                plain(Opcode::imad, d, &sources, 0, aux)
            } else {
                op(Opcode::imad, d, &sources, aux)
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
            op(Opcode::asr, dst(b, i.d, false), &sources, [0; 4])
        }
        Inst::Asrh(i) => {
            let a = Src { sign_extend: true, ..int(b, i.a) };
            let sources = [a, int(b, i.b)];
            op(Opcode::asrhi, dst(b, i.d, false), &sources, [0; 4])
        }
        Inst::IfIcmp(i) => mask_op!(i, if_icmp, int),
        Inst::IfFcmp(i) => mask_op!(i, if_fcmp, float),
        Inst::ElseIcmp(i) => mask_op!(i, else_icmp, int),
        Inst::ElseFcmp(i) => mask_op!(i, else_fcmp, float),
        Inst::WhileIcmp(i) => mask_op!(i, while_icmp, int),
        Inst::WhileFcmp(i) => mask_op!(i, while_fcmp, float),
        Inst::PopExec(i) => plain(Opcode::pop_exec, Dst::NONE, &[], 0, [0, 0, u16::from(i.n), 0]),
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
            plain(Opcode::jump_register, Dst::NONE, &[source], 0, [0; 4])
        }
        Inst::Stop(_) => plain(Opcode::stop, Dst::NONE, &[], 0, [0; 4]),
        // A doorbell has no execution mask of its own: the jump skips it when no lane runs.
        Inst::JmpIfSkippingDoorbell(i) => jump!(jmp_exec_none, i.off),
        Inst::Doorbell(i) => plain(Opcode::doorbell, Dst::NONE, &[], u64::from(i.imm), [0; 4]),
        Inst::Wait(_) => plain(Opcode::nop, Dst::NONE, &[], 0, [0; 4]),
        // Order between fragment shaders of a pixel; compute has none.
        Inst::WaitPix(_) | Inst::SignalPix(_) => plain(Opcode::nop, Dst::NONE, &[], 0, [0; 4]),
        Inst::ThreadgroupBarrier(_) => plain(Opcode::barrier, Dst::NONE, &[], 0, [0; 4]),
        Inst::MemoryBarrier(_) => plain(Opcode::fence, Dst::NONE, &[], 0, [0; 4]),
        Inst::SimdReduce(i) => {
            if i.a.size == isa::Size::B64 {
                return refuse(b, "a reduction of 64 bits: its effect is unknown".to_owned());
            }
            let scope = u16::from(i.scope == isa::Scope::Quad);
            let aux = [u16::from(i.op.bits()), scope, u16::from(i.prefix), 0];
            let source = if exec::subgroup::is_float(aux[0]) { float(b, i.a) } else { int(b, i.a) };
            plain(Opcode::reduce, dst(b, i.d, false), &[source], 0, aux)
        }
        Inst::IcmpBallot(i) => ballot_op!(i, icmp_ballot, int, 0),
        Inst::FcmpBallot(i) => ballot_op!(i, fcmp_ballot, float, 0),
        Inst::IcmpQuadBallot(i) => ballot_op!(i, icmp_ballot, int, 1),
        Inst::FcmpQuadBallot(i) => ballot_op!(i, fcmp_ballot, float, 1),
        Inst::SimdShuffle(i) => {
            let sources = [int(b, i.a), int(b, i.b)];
            plain(Opcode::shuffle, dst(b, i.d, false), &sources, 0, [shuffle(i.kind), 0, 0, 0])
        }
        Inst::QuadShuffle(i) => {
            let sources = [int(b, i.a), int(b, i.b)];
            plain(Opcode::shuffle, dst(b, i.d, false), &sources, 0, [shuffle(i.kind), 1, 0, 0])
        }
        Inst::DeviceLoad(_)
        | Inst::DeviceStore(_)
        | Inst::Atomic(_)
        | Inst::ThreadgroupLoad(_)
        | Inst::ThreadgroupStore(_)
        | Inst::ThreadgroupAtomic(_)
        | Inst::StackLoad(_)
        | Inst::StackStore(_)
        | Inst::UniformStore(_) => memory::lower(b, inst),
        // The unit is a word of four bytes. source: Mesa's agx_compile.c, at `agx_stack_adjust`.
        Inst::StackAdjust(i) => {
            plain(Opcode::stack_adjust, Dst::NONE, &[], (i64::from(i.v) * 4) as u64, [0; 4])
        }
        Inst::StackMap(i) => {
            let source = general(b, i.r.reg, isa::Size::B32);
            plain(Opcode::stack_map, Dst::NONE, &[source], 0, [i.v as u16, 0, 0, 0])
        }
        Inst::StackUnmap(i) => {
            let (row, form) = register(b, i.r.reg, isa::Size::B32);
            let d = Dst { row, form, saturate: false };
            plain(Opcode::stack_unmap, d, &[], 0, [i.v as u16, 0, 0, 0])
        }
        Inst::TextureSample(_)
        | Inst::TextureLoad(_)
        | Inst::ImageWrite(_)
        | Inst::ImageWriteBlock(_)
        | Inst::StTile(_)
        | Inst::LdTile(_) => texture::lower(b, inst),
        // A vertex program without outputs says so; there is nothing to do.
        Inst::NoVar(_) => plain(Opcode::nop, Dst::NONE, &[], 0, [0; 4]),
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
            plain(Opcode::ldcf, d, &[register], 0, [count, 0, 0, uniform])
        }
        Inst::SampleMask(i) => {
            let sources = [register_or_immediate(b, i.target), register_or_immediate(b, i.live)];
            plain(Opcode::sample_mask, Dst::NONE, &sources, 0, [0; 4])
        }
        Inst::ZsEmit(i) => {
            let samples = register_or_immediate(b, i.samples);
            let half = i.values.reg;
            let depth = if i.depth() { general(b, half, isa::Size::B32) } else { none() };
            let at = if i.depth() { half + 2 } else { half };
            let stencil = if i.stencil() { general(b, at, isa::Size::B16) } else { none() };
            let aux = [u16::from(i.depth()), u16::from(i.stencil()), 0, 0];
            plain(Opcode::zs_emit, Dst::NONE, &[samples, depth, stencil], 0, aux)
        }
        Inst::StVar(i) => vertex_output(b, i.r, i.index),
        Inst::StVarFinal(i) => vertex_output(b, i.r, i.index),
        Inst::TexStateStore(i) => {
            let base = uniform(b, i.base.0, isa::Size::B64);
            let offset = state_offset(b, i.offset);
            let aux = [u16::from(i.ts.0), 0, 0, 0];
            plain(Opcode::texture_state_store, Dst::NONE, &[base, offset], 0, aux)
        }
        Inst::SamplerStateStore(i) => {
            let base = uniform(b, i.base.0, isa::Size::B64);
            let offset = state_offset(b, i.offset);
            let aux = [u16::from(i.ss.0), 0, 0, 0];
            plain(Opcode::sampler_state_store, Dst::NONE, &[base, offset], 0, aux)
        }
        // Registers that no operation names in its operands are covered here.
        other => not_executed(b, other),
    }
}

/// The offset of a descriptor.
fn state_offset(b: &mut Builder<'_>, offset: isa::StateOffset) -> Src {
    match offset {
        isa::StateOffset::Reg(reg) => general(b, reg, isa::Size::B32),
        isa::StateOffset::Imm(value) => Src::shared(b.constant(u32::from(value))),
    }
}

fn vertex_output(b: &mut Builder<'_>, value: isa::RegVec, word: isa::RegOrImm) -> Op {
    let value = general(b, value.reg, isa::Size::B32);
    let word = register_or_immediate(b, word);
    plain(Opcode::st_var, Dst::NONE, &[value, word], 0, [0; 4])
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
    plain(Opcode::iter, d, &[register, over_w, sample], 0, aux)
}

fn unknown_interpolation(b: &mut Builder<'_>) -> Op {
    refuse(b, "interpolation that forwards to a texture or ends helper lanes: unknown".to_owned())
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
