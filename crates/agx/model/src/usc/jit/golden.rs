//! The code for AVX-512, which not every host that runs the tests can execute, stays what it was: a
//! hash of the translation of each of some programs stands in `golden.txt`. After a change that is
//! meant (and was tested on a host with AVX-512), `BLESS=1 cargo test -p tepui-agx-model golden`
//! writes the file.

use std::sync::Arc;

use tepui_agx_isa::random::Source;
use tepui_agx_isa::{ROWS, asm};
use tepui_hostvec::Target;
use tepui_softgpu::{AddressSpace, Memory, Protection};

use super::translate::assemble;
use crate::usc::code::Code;
use crate::usc::load::load;

const PAGE: u64 = tepui_agx_chips::PAGE_BYTES;
/// Bytes of the longest program.
const MAX_CODE_BYTES: u64 = 4 * PAGE;

/// Programs whose instructions work together.
const WRITTEN: [(&str, &str); 6] = [
    (
        "fragment",
        "iterproj r4_r5_r6_r7, cf1, cf0, center, 0b0, 0, 0, 0, 0, 0
         iter r8_r9, cf2, center, 0b0, 0, 0, 0, 0, 0
         iterproj r2l_r2h_r3l_r3h, cf1, cf0, center, 0b0, 0, 0, 0, 0, 0
         wait_pix 12, 0
         ld_tile r10_r11_r12_r13, srgba8, 1, xyzw, 0, 255, 0
         ld_tile r14l_r14h_r15l_r15h, u8norm, 0, xyzw, 0, 255, 0
         fadd32 r4, r4, r2l
         st_tile r4_r5_r6_r7, u8norm, 0, xyzw, 0, 255, 0
         st_tile r2l_r2h_r3l_r3h, srgba8, 1, xyzw, 0, 255, 0
         stop",
    ),
    (
        "device",
        "get_sr r1, sr80 (thread_position_in_grid.x)
         device_load 0, i32, xyzw, r4_r5_r6_r7, u0_u1, r1, unsigned, lsl 2
         device_load 0, i32, x, r8, u0_u1, r1, unsigned, lsl 0
         device_load 0, i32, xz, r8_r9, u0_u1, 3, signed, lsl 1
         device_load 0, i16, xy, r10l_r10h, u2_u3, r1, unsigned, lsl 1
         device_load 0, i8, xyz, r11_r12_r13, u2_u3, r1, unsigned, lsl 0
         device_load 0, f16, xy, r14l_r14h, u2_u3, r1, unsigned, lsl 0
         wait 0
         device_store 0, i32, x, r4, u2_u3, r1, unsigned, lsl 0, 0
         device_store 0, i32, xyz, r4_r5_r6, u2_u3, r1, unsigned, lsl 2, 0
         device_store 0, i16, xy, r4l_r4h, u2_u3, r1, unsigned, lsl 1, 0
         stop",
    ),
    (
        "device, a base for each lane",
        "device_load 0, i32, xyzw, r4_r5_r6_r7, r8_r9, r1, unsigned, lsl 2
         device_load 0, i32, x, r8, r8_r9, 0, unsigned, lsl 0
         device_load 0, i16, xy, r10l_r10h, r12_r13, 3, unsigned, lsl 1
         wait 0
         device_store 0, i32, x, r4, r12_r13, 0, unsigned, lsl 0, 0
         device_store 0, i32, xyz, r4_r5_r6, r12_r13, r1, unsigned, lsl 2, 0
         stop",
    ),
    (
        "local",
        "get_sr r0, sr48 (thread_position_in_threadgroup.x)
         threadgroup_load i32, xyzw, r4_r5_r6_r7, 0, r0l
         threadgroup_store i32, x, r4, 0, r0l
         threadgroup_store i32, xy, r4_r5, 0, 3
         stop",
    ),
    (
        "branches",
        "mov_imm r0l, 0
         if_icmp r0l, ult, r2, 5, 1
         fmadd32 r3, r4, r5.neg, r6
         fadd32 r7, r3, 1.0
         fmul32 r8l, r7, r3h
         else_fcmp r0l, gt, r3, r4, 1
         stop
         pop_exec r0l, 1
         again:
         iadd r3, r3, 1
         while_icmp r0l, ult, r3, r4, 2
         jmp_exec_any again
         jmp_exec_none last
         if_fcmp r0l, ngtn, r3, 0.0, 1
         while_fcmp r0l, eq, r3, r2h, 1
         pop_exec r0l, 2
         last: stop",
    ),
    (
        "many registers",
        "iadd r1, r2, r3
         iadd r4, r5, r6
         iadd r7, r8, r9
         iadd r10, r11, r12
         iadd r13, r14, r15
         iadd r16, r17, r18
         iadd r19, r20, r21
         iadd r22, r23, r24
         iadd r25, r26, r27
         iadd r28, r29, r30
         iadd r1l, r31h, r32l
         iadd r33h, r2, r4
         stop",
    ),
];

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

const START: u64 = 0xcbf2_9ce4_8422_2325;

/// Goes on with the hash of a program's translation.
fn hash(hash: u64, program: &Code) -> u64 {
    let (asm, places) = assemble(program, Target::Avx512, false);
    let of_build = asm.of_build.clone();
    let (mut code, labels) = asm.finish();
    of_build.into_iter().for_each(|bytes| code[bytes].fill(0));
    let hash = fnv(hash, &code);
    places.iter().flatten().fold(hash, |hash, p| fnv(hash, &labels[p.0 as usize].to_le_bytes()))
}

/// Calls `f` with the name and program of each test: some programs of each instruction, by itself
/// and several of its kind in a row, and those whose instructions work together.
pub fn programs(mut f: impl FnMut(&str, &Code)) {
    let vm = AddressSpace::new(tepui_agx_chips::PAGE_SHIFT, tepui_agx_chips::VA_BITS);
    let memory = Arc::new(Memory::new(MAX_CODE_BYTES as usize).unwrap());
    vm.bind(PAGE, memory, 0, MAX_CODE_BYTES, Protection::READ | Protection::WRITE).unwrap();
    let stop = asm::assemble("stop").unwrap();
    let mut visit = |name: &str, code: &[u8]| {
        assert!(code.len() as u64 <= MAX_CODE_BYTES);
        vm.write(PAGE, code).unwrap();
        f(name, &load(&vm, PAGE, 0).unwrap());
    };
    for (number, row) in ROWS.iter().enumerate() {
        let mut source = Source::new(fnv(START, row.name.as_bytes()));
        for count in [1, 1, 1, 1, 1, 1, 1, 1, 24, 24, 24, 24, 24, 24] {
            let mut code = Vec::new();
            for _ in 0..count {
                code.extend_from_slice(&source.inst_of(number).encode().unwrap());
            }
            code.extend(&stop);
            visit(row.name, &code);
        }
    }
    for (name, text) in WRITTEN {
        let code = asm::assemble(text).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
        visit(name, &code);
    }
}

#[test]
fn code_for_avx512_is_golden() {
    let mut sums: Vec<(String, u64)> = Vec::new();
    programs(|name, program| {
        if sums.last().is_none_or(|last| last.0 != name) {
            sums.push((name.to_owned(), START));
        }
        if let Some(last) = sums.last_mut() {
            last.1 = hash(last.1, program);
        }
    });
    let lines: String = sums.iter().map(|(name, sum)| format!("{sum:016x} {name}\n")).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/usc/jit/golden.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &lines).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    for (now, was) in lines.lines().zip(golden.lines()) {
        assert_eq!(now, was);
    }
    assert_eq!(lines.lines().count(), golden.lines().count());
}
