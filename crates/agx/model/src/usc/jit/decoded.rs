//! Checks the code that the translator emits with an independent decoder, for AVX2 and for AVX-512
//! on any host.
//!
//! Every byte is part of a valid instruction that the target has; jumps and entries meet
//! instructions; constants are read where constants are; and what is reached at a fixed offset lies
//! in the register file, the shared rows or the group. A second test asks the assembler for each
//! instruction on its own and compares what the decoder reads with what was asked.

use iced_x86::{
    Code, CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory,
    MemorySize, Mnemonic, OpKind, Register,
};
use tepui_agx_isa::random::Source;
use tepui_hostvec::Target;
use tepui_hostvec::asm::{ALL, Assembler, Gpr, Mask, Rm, V, Vop, float, integer};

use super::golden::programs;
use super::translate::assemble;
use super::translator::{GROUP, LANES, REGISTERS, SHARED};
use crate::usc::lanes::Lanes;
use crate::usc::row::Row;

/// Whether a target's hosts have what an instruction asks for.
fn has(target: Target, feature: CpuidFeature) -> bool {
    use CpuidFeature as F;
    match feature {
        F::INTEL8086 | F::INTEL386 | F::INTEL486 | F::X64 | F::SSE | F::SSE2 | F::CMOV => true,
        F::AVX | F::AVX2 | F::FMA | F::F16C | F::BMI1 => true,
        F::AVX512F | F::AVX512BW | F::AVX512DQ => target == Target::Avx512,
        _ => false,
    }
}

/// The register that a general register of the assembler is.
fn general(r: Gpr) -> Register {
    const ALL: [Register; 16] = [
        Register::RAX,
        Register::RCX,
        Register::RDX,
        Register::RBX,
        Register::RSP,
        Register::RBP,
        Register::RSI,
        Register::RDI,
        Register::R8,
        Register::R9,
        Register::R10,
        Register::R11,
        Register::R12,
        Register::R13,
        Register::R14,
        Register::R15,
    ];
    ALL[usize::from(r.0)]
}

/// The rules that a program's translation must obey.
struct Limits<'p> {
    name: &'p str,
    target: Target,
    /// Bytes of code; constants follow it after some padding, up to the end.
    code: usize,
    end: usize,
    /// Bytes of the register file and of the shared rows.
    files: [u64; 2],
}

impl Limits<'_> {
    /// Number of bytes from a base register on that fixed offsets may reach, for registers that never
    /// change.
    fn behind(&self, base: Register) -> Option<u64> {
        let [registers, shared] = self.files;
        [(REGISTERS, registers), (SHARED, shared), (LANES, size_of::<Lanes<'_, '_>>() as u64)]
            .into_iter()
            .find(|(r, _)| general(*r) == base)
            .map(|(_, bytes)| bytes)
    }

    fn check(&self, i: &Instruction, info: &mut InstructionInfoFactory) -> Result<(), String> {
        if i.is_invalid() || i.code() == Code::INVALID {
            return Err("no instruction".to_owned());
        }
        if let Some(feature) = i.cpuid_features().iter().find(|f| !has(self.target, **f)) {
            return Err(format!("{feature:?} is not the target's"));
        }
        let to_label = matches!(
            i.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        if to_label && i.near_branch_target() >= self.code as u64 {
            return Err(format!("jumps to {:#x}, beyond the code", i.near_branch_target()));
        }
        for memory in info.info(i).used_memory() {
            let size = memory.memory_size().size() as u64;
            let at = memory.displacement();
            match memory.base() {
                Register::RIP => {}
                base if memory.index() == Register::None => {
                    let Some(limit) = self.behind(base) else { continue };
                    if at.checked_add(size).is_none_or(|end| end > limit) {
                        return Err(format!("{base:?} + {at:#x}, {size} bytes, of {limit}"));
                    }
                }
                _ => {}
            }
        }
        if i.is_ip_rel_memory_operand() {
            let (at, size) = (i.ip_rel_memory_address() as usize, i.memory_size().size());
            let size = if i.is_broadcast() { i.memory_size().element_size() } else { size };
            if at < self.code || at + size > self.end || !at.is_multiple_of(size.min(32)) {
                return Err(format!("reads {size} bytes of constants at {at:#x}"));
            }
        }
        Ok(())
    }
}

/// Decodes a program's translation; how many instructions there are.
fn decode(name: &str, program: &crate::usc::code::Code, target: Target) -> usize {
    let (mut asm, places) = assemble(program, target, false);
    // Copies that wait for their use are written.
    let end = asm.label();
    asm.place(end);
    let code = asm.length();
    let (bytes, labels) = asm.finish();
    let limits = Limits {
        name,
        target,
        code,
        end: bytes.len(),
        files: [program.register_rows(), program.shared_row_count()]
            .map(|rows| (rows * size_of::<Row>()) as u64),
    };
    let mut starts = vec![false; code + 1];
    let mut decoder = Decoder::new(64, &bytes[..code], DecoderOptions::NONE);
    let mut info = InstructionInfoFactory::new();
    let mut instructions = Vec::new();
    while decoder.can_decode() {
        starts[decoder.position()] = true;
        let i = decoder.decode();
        if let Err(why) = limits.check(&i, &mut info) {
            panic!("{}, {target:?}, at {:#x}: {i}: {why}", limits.name, i.ip());
        }
        instructions.push(i);
    }
    for i in &instructions {
        if matches!(i.op0_kind(), OpKind::NearBranch64) {
            let to = i.near_branch_target() as usize;
            assert!(starts[to], "{name}, {target:?}: {i} meets no instruction");
        }
    }
    for label in places.iter().flatten() {
        let at = labels[label.0 as usize] as usize;
        assert!(starts[at], "{name}, {target:?}: no instruction at the entry {at:#x}");
    }
    // The last instruction returns.
    assert_eq!(instructions.last().map(Instruction::mnemonic), Some(Mnemonic::Ret), "{name}");
    instructions.len()
}

#[test]
fn translations_are_valid_code_of_their_target() {
    let mut counts = [0; 2];
    programs(|name, program| {
        for (count, target) in counts.iter_mut().zip(Target::ALL) {
            *count += decode(name, program, target);
        }
    });
    println!("{counts:?} instructions of {:?}", Target::ALL);
    assert!(counts.iter().all(|&n| n > 100_000), "{counts:?} instructions are too few");
}

/// Instructions of the assembler that correspond to one host instruction, with their names: for
/// AVX-512, for AVX2 (`INVALID` where it is several), whether there is one operand besides the
/// destination, whether there is an immediate, and whether a memory operand may be one broadcast word.
const INSTRUCTIONS: &[(Vop, Mnemonic, Mnemonic, bool, bool, bool)] = {
    use Mnemonic as M;
    const NONE: Mnemonic = Mnemonic::INVALID;
    &[
        (Vop::ADDPS, M::Vaddps, M::Vaddps, false, false, true),
        (Vop::SUBPS, M::Vsubps, M::Vsubps, false, false, true),
        (Vop::MULPS, M::Vmulps, M::Vmulps, false, false, true),
        (Vop::DIVPS, M::Vdivps, M::Vdivps, false, false, true),
        (Vop::SQRTPS, M::Vsqrtps, M::Vsqrtps, true, false, true),
        (Vop::FMADD213PS, M::Vfmadd213ps, M::Vfmadd213ps, false, false, true),
        (Vop::FMADD231PS, M::Vfmadd231ps, M::Vfmadd231ps, false, false, true),
        (Vop::RNDSCALEPS, M::Vrndscaleps, M::Vroundps, true, true, true),
        (Vop::PADDD, M::Vpaddd, M::Vpaddd, false, false, true),
        (Vop::PSUBD, M::Vpsubd, M::Vpsubd, false, false, true),
        (Vop::PSUBUSW, M::Vpsubusw, M::Vpsubusw, false, false, false),
        (Vop::PMULLD, M::Vpmulld, M::Vpmulld, false, false, true),
        (Vop::MAXPS, M::Vmaxps, M::Vmaxps, false, false, true),
        (Vop::MINPS, M::Vminps, M::Vminps, false, false, true),
        (Vop::PANDD, M::Vpandd, M::Vpand, false, false, true),
        (Vop::PORD, M::Vpord, M::Vpor, false, false, true),
        (Vop::PXORD, M::Vpxord, M::Vpxor, false, false, true),
        (Vop::PSLLVD, M::Vpsllvd, M::Vpsllvd, false, false, true),
        (Vop::PSRLVD, M::Vpsrlvd, M::Vpsrlvd, false, false, true),
        (Vop::PSRAVD, M::Vpsravd, M::Vpsravd, false, false, true),
        (Vop::PBLENDMD, M::Vpblendmd, NONE, false, false, true),
        (Vop::CVTDQ2PS, M::Vcvtdq2ps, M::Vcvtdq2ps, true, false, true),
        (Vop::CVTUDQ2PS, M::Vcvtudq2ps, NONE, true, false, true),
        (Vop::CVTTPS2DQ, M::Vcvttps2dq, M::Vcvttps2dq, true, false, true),
        (Vop::CVTTPS2UDQ, M::Vcvttps2udq, NONE, true, false, true),
        (Vop::PSHUFD, M::Vpshufd, M::Vpshufd, true, true, true),
    ]
};

/// A vector register of a target.
fn vector(target: Target, v: V) -> Register {
    match target {
        Target::Avx512 => Register::ZMM0 + u32::from(v.0),
        Target::Avx2 => Register::YMM0 + u32::from(v.0),
    }
}

/// The only instruction that the assembler writes.
fn one(asm: Assembler) -> Instruction {
    let length = asm.length();
    let (bytes, _) = asm.finish();
    let i = Decoder::new(64, &bytes[..length], DecoderOptions::NONE).decode();
    assert_eq!(i.len(), length, "{i}");
    i
}

#[test]
fn instructions_are_what_was_asked_for() {
    let mut source = Source::new(7);
    let mut below = |n: u64| source.bits() % n;
    let mut count = 0;
    for &(op, wide, narrow, unary, immediate, broadcasts) in INSTRUCTIONS {
        for _ in 0..400 {
            let target = if below(2) == 0 { Target::Avx512 } else { Target::Avx2 };
            let (registers, mnemonic) = match target {
                Target::Avx512 => (32, wide),
                // The last is the assembler's own.
                Target::Avx2 => (15, narrow),
            };
            if mnemonic == Mnemonic::INVALID {
                continue;
            }
            let mut v = || V(below(registers) as u8);
            let [d, a, b] = [v(), v(), v()];
            let a = if unary { V(0) } else { a };
            let base = [LANES, REGISTERS, SHARED, Gpr::RAX, Gpr::RSI][below(5) as usize];
            let offset = (below(1 << 20) as i32 - (1 << 19)) * 4;
            let rm = match below(3) {
                0 => Rm::Reg(b),
                1 => Rm::Mem(base, offset),
                _ if target == Target::Avx512 && broadcasts => Rm::Broadcast(base, offset),
                _ => Rm::Reg(b),
            };
            let mask = match target {
                Target::Avx512 => [ALL, Mask::Exec(0), Mask::Exec(1), Mask::In(below(5) as u8 + 3)]
                    [below(4) as usize],
                Target::Avx2 => ALL,
            };
            let bits = immediate.then(|| below(16) as u8);
            let mut asm = Assembler::new(target, GROUP);
            asm.vector(op, d, mask, a, rm, bits);
            let i = one(asm);
            let asked = format!("{op:?} {d:?} {mask:?} {a:?} {rm:?} {bits:?} for {target:?}: {i}");
            assert_eq!(i.mnemonic(), mnemonic, "{asked}");
            assert_eq!(i.op0_register(), vector(target, d), "{asked}");
            let last = if unary { 1 } else { 2 };
            if !unary {
                assert_eq!(i.op1_register(), vector(target, a), "{asked}");
            }
            match rm {
                Rm::Reg(b) => assert_eq!(i.op_register(last), vector(target, b), "{asked}"),
                _ => {
                    assert_eq!(i.op_kind(last), OpKind::Memory, "{asked}");
                    assert_eq!(i.memory_base(), general(base), "{asked}");
                    assert_eq!(i.memory_index(), Register::None, "{asked}");
                    assert_eq!(i.memory_displacement64() as i64, i64::from(offset), "{asked}");
                    let broadcast = matches!(rm, Rm::Broadcast(..));
                    assert_eq!(i.is_broadcast(), broadcast, "{asked}");
                }
            }
            let wanted = match mask {
                Mask::All => Register::None,
                Mask::Exec(part) => Register::K1 + u32::from(part),
                Mask::In(k) => Register::K0 + u32::from(k),
            };
            assert_eq!(i.op_mask(), wanted, "{asked}");
            assert!(!i.zeroing_masking(), "{asked}");
            if let Some(bits) = bits {
                assert_eq!(i.immediate8(), bits, "{asked}");
            }
            count += 1;
        }
    }
    assert!(count > 5_000, "{count} instructions");
}

#[test]
fn comparisons_and_gathers_are_what_was_asked_for() {
    let signed = [integer::EQUAL, integer::LESS, integer::NOT_EQUAL, integer::GREATER];
    let floats = [float::EQUAL, float::LESS, float::LESS_EQUAL, float::UNORDERED];
    let lists = [
        (Vop::CMPPS, Mnemonic::Vcmpps, &floats),
        (Vop::PCMPD, Mnemonic::Vpcmpd, &signed),
        (Vop::PCMPUD, Mnemonic::Vpcmpud, &signed),
    ];
    for (op, mnemonic, predicates) in lists {
        for &predicate in predicates {
            let mut asm = Assembler::new(Target::Avx512, GROUP);
            asm.compare(op, Mask::In(5), Mask::Exec(1), V(19), Rm::Reg(V(30)), predicate);
            let i = one(asm);
            assert_eq!((i.mnemonic(), i.immediate8()), (mnemonic, predicate), "{i}");
            let operands = [i.op0_register(), i.op_mask(), i.op1_register(), i.op2_register()];
            let wanted = [Register::K5, Register::K2, Register::ZMM19, Register::ZMM30];
            assert_eq!(operands, wanted, "{i}");
        }
    }
    let mut asm = Assembler::new(Target::Avx512, GROUP);
    asm.gather(V(17), Mask::In(6), Gpr::RSI, V(25), 0x1234);
    let i = one(asm);
    assert_eq!((i.mnemonic(), i.op_mask()), (Mnemonic::Vpgatherdd, Register::K6), "{i}");
    assert_eq!((i.op0_register(), i.memory_base()), (Register::ZMM17, Register::RSI), "{i}");
    assert_eq!((i.memory_index(), i.memory_index_scale()), (Register::ZMM25, 1), "{i}");
    assert_eq!((i.memory_displacement64(), i.memory_size()), (0x1234, MemorySize::Int32), "{i}");
    let mut asm = Assembler::new(Target::Avx512, GROUP);
    asm.scatter(V(9), Mask::In(7), Gpr::RDX, V(31), -8);
    let i = one(asm);
    assert_eq!((i.mnemonic(), i.op_mask()), (Mnemonic::Vpscatterdd, Register::K7), "{i}");
    assert_eq!((i.op1_register(), i.memory_index()), (Register::ZMM9, Register::ZMM31), "{i}");
    let mut asm = Assembler::new(Target::Avx2, GROUP);
    asm.gather(V(3), Mask::In(12), Gpr::RSI, V(9), 0x40);
    let i = one(asm);
    assert_eq!((i.mnemonic(), i.op0_register()), (Mnemonic::Vpgatherdd, Register::YMM3), "{i}");
    assert_eq!((i.memory_index(), i.op2_register()), (Register::YMM9, Register::YMM12), "{i}");
}
