//! Registers read and written, implied ones included.

use tepui_agx_isa::{Access, File, Inst, ROWS, Role, random};

fn show(access: &Access) -> String {
    let role = match access.role {
        Role::Read => "R",
        Role::Write => "W",
        Role::ReadWrite => "RW",
        Role::Clobber => "X",
    };
    let file = match access.file {
        File::Reg => "r",
        File::Uniform => "u",
        File::TextureState => "ts",
        File::SamplerState => "ss",
        File::Coefficient => "cf",
    };
    let exact = if access.exact { "" } else { "?" };
    format!("{role} {file}{}+{}{exact}", access.start, access.count)
}

/// Half-registers: `r1` is 2+2, `r1h` is 3+1.
const CASES: &[(&str, &str)] = &[
    ("mov_imm r3, 7, 0b0", "W r6+2"),
    ("mov_imm r3h, 7", "W r7+1"),
    ("get_sr r3, sr80", "W r6+2"),
    ("fadd32 r0, r1h, u3", "W r0+2, R r3+1, R u6+2"),
    ("fmadd16 r0l, r1l, 0.5, u255h", "W r0+1, R r2+1, R u511+1"),
    ("iadd r4_r5, r6_r7, r1l.sx", "W r8+4, R r12+4, R r2+1"),
    ("mov r1, r2", "W r2+2, R r4+2"),
    ("icmpsel ueq, r0, r1l, 0, r2, r3", "W r0+2, R r2+1, R r4+2, R r6+2"),
    ("if_icmp r0l, ueq, r1, 0, 1", "R r2+2, RW r0+1"),
    ("push_exec r0l, 2", "RW r0+1"),
    ("pop_exec r0l, 1", "RW r0+1"),
    ("call pc+6", "W r2+2"),
    ("call r5", "R r10+2, W r2+2"),
    ("ret r1", "R r2+2"),
    ("stop", ""),
    ("simd_shuffle_xor r0, r1, r2l", "W r0+2, R r2+2, R r4+1"),
    ("simd_shuffle r0, r1, r2", "W r0+2, R r2+2, R r4+2"),
    ("simd_matrix_fmadd32 r0_r1, r2_r3, r4l_r4h, r6_r7", "W r0+4, R r4+4, R r8+2, R r12+4"),
    ("device_load 0, i32, xyz, r4_r5_r6, u0_u1, r2, unsigned", "W r8+6, R u0+4, R r4+2"),
    ("device_load 0, i16, xy, r4l_r4h, r2_r3, -1, signed", "W r8+2, R r4+4"),
    // Packed formats take all their channels whatever the mask says.
    ("device_load 0, rgb10a2, x, r4, u0_u1, 0, signed", "W r8+8, R u0+4"),
    ("device_load 0, rg11b10f, xyzw, r4_r5_r6_r7, u0_u1, 0, signed", "W r8+6, R u0+4"),
    ("device_store 1, i8, x, r4l, u0_u1, r2, signed, 0", "R r8+1, R u0+4, R r4+2"),
    ("atomic add, 0, None, u0_u1, r2, unsigned, r4, 1, 0, 1, 4, 2", "R u0+4, R r4+2, R r8+2"),
    ("atomic cmpxchg, 0, r3, r8_r9, 0, signed, r4_r5, 1, 0, 1, 4, 2", "W r6+2, R r16+4, R r8+4"),
    ("threadgroup_load i32, xy, r4_r5, u2l, r1h", "W r8+4, R u4+1, R r3+1"),
    ("threadgroup_atomic xchg, r2, r0h, 0, r4, 0, 2, 128, 0", "W r4+2, R r1+1, R r8+2"),
    ("stack_store i32, 1, 0, x, 4, r4, 16, 0", "R r8+2"),
    ("stack_load r4, i32, 1, 0, x, 4, r5, 0", "W r8+2, R r10+2"),
    ("map target0, r3, 0, 0b00, 0b0, 0b000, 0b10000, 0b00010000", "R r6+2"),
    ("unmap target0, r3, 0, 0b00, 0b0, 0b000, 0b10000, 0b00010000", "W r6+2"),
    ("uniform_store 2, i16, xy, 0, r4l_r4h, 12", "R r8+2, W u12+2"),
    ("uniform_store 2, i16, x, 0, r4l, r3", "R r8+1, R r6+2, W u0+512?"),
    ("tex_state_store ts3, u4_u5, 8, 0", "W ts3+1, R u8+4"),
    ("tex_state_store ts3, u4_u5, r5, 0", "W ts3+1, R u8+4, R r10+2"),
    (
        // Texture instructions clobber four registers.
        "texture_sample 0, 0b1100, 0b0, none, xy, 0b00, r0_r1, None, ts2, ss1, tex_2d, r8_r9, \
         auto_lod, 0",
        "W r0+4, R ts2+1, R ss1+1, R r16+4, X r4+4",
    ),
    (
        "texture_sample 1, 0b1100, 0b0, none, xyzw, 0b00, r0l_r0h_r1l_r1h, u4_u5, r6, r7l, \
         tex_2d_array, r8l_r8h_r9l_r9h_r10l, lod_grad_min, r16_r17_r18_r19_r20, r24_r25l",
        "W r0+4, R u8+4, R r12+2, R r14+1, R ss0+256?, R r16+5, R r32+10, R r48+3",
    ),
    (
        "texture_sample 0, 0b1100, 0b0, none, x, 0b00, r0, None, ts2, ss1, tex_1d, r8, \
         auto_lod_bias, u5h",
        "W r0+2, R ts2+1, R ss1+1, R r16+2, R u11+1, X r2+6",
    ),
    (
        // A query takes no layer.
        "texture_sample 0, query_lod, 0b1100, 0b0, none, xy, 0b00, r0_r1, None, ts2, ss1, \
         tex_2d_array, r8l_r8h_r9l_r9h_r10l, auto_lod, 0",
        "W r0+4, R ts2+1, R ss1+1, R r16+4, X r4+4",
    ),
    (
        "texture_load 0, 0b1100, 0b0, none, x, 0b00, r0, None, r3l, ss0, tex_2d_ms_array, \
         r8l_r8h_r9l_r9h_r10l_r10h, lod_min, r12l",
        "W r0+2, R r6+1, R ts0+256?, R ss0+1, R r16+6, R r24+1, X r2+6",
    ),
    (
        "image_write r0_r1_r2_r3, r4_r5, 0, u2_u3, r6, tex_2d, rte, 1, 0, 9, 0",
        "R r0+8, R r8+4, R u4+4, R r12+2",
    ),
    ("image_write_block r4l, r8_r9, 0, ts0, tex_2d, rte, i8, 1, 9, 1", "R r8+1, R r16+4, R ts0+1"),
    ("image_write_block r4l, r8_r9, 0, ts0, tex_2d, rte, i8, 0, 9, 1", "R r8+1, R ts0+1"),
    (
        "image_write_block r4l, r8l_r8h_r9l_r9h_r10l, 0, ts0, tex_2d_array, rte, i8, 0, 9, 1",
        "R r8+1, R r16+1, R ts0+1",
    ),
    ("ld_tile r4_r5, i32, 1, xy, 0, 255, 0", "W r8+4"),
    ("ld_tile r4_r5, i32, 1, xy, 0, r1l, 0", "W r8+4, R r2+1"),
    ("st_tile r4, i32, 1, x, 0, 255, 20 {explicit=1}", "R r8+2, R r20+2"),
    ("iter r4_r5, cf6, center, 0b0, 0, 0, 0, 0, 0", "W r8+4, R cf6+2"),
    (
        "iterproj r4l_r4h_r5l, r1l, cf0, r2h, sample, 0b0, 0, 0, 0, 0, 0",
        "W r8+3, R r2+1, R cf0+256?, R cf0+1, R r5+1",
    ),
    ("ldcf r4_r5_r6, cf6", "W r8+6, R cf6+1"),
    ("st_var 1, r4, 3", "R r8+2"),
    ("sample_mask r1l, 255", "R r2+1"),
    ("zs_emit 255, r4l_r4h_r5l, 0", "R r8+3"),
    ("async_load copy_2d, r2_r3, u4_u5_u6_u7_u8", "R r4+4, R u8+10"),
    ("wait 0", ""),
];

#[test]
fn accesses() {
    for (text, expected) in CASES {
        let inst: Inst = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        let accesses: Vec<_> = inst.operands().iter().map(show).collect();
        assert_eq!(accesses.join(", "), *expected, "{text}");
    }
}

#[test]
fn accesses_stay_in_their_files() {
    let mut source = random::Source::new(5);
    for row in 0..ROWS.len() {
        for _ in 0..100 {
            let inst = source.inst_of(row);
            let accesses = inst.operands();
            assert!(accesses.len() < accesses.capacity(), "{inst}: accesses may be cut off");
            for access in accesses {
                let size = match access.file {
                    File::Reg | File::TextureState | File::SamplerState | File::Coefficient => 256,
                    File::Uniform => 512,
                };
                assert!(access.count > 0, "{inst}: {access:?}");
                assert!(access.start + access.count <= size, "{inst}: {access:?}");
            }
        }
    }
}

#[test]
fn scoreboard_and_branches() {
    let inst = |text: &str| text.parse::<Inst>().unwrap();
    let load = inst("device_load 1, i32, x, r0, u0_u1, 0, signed");
    assert_eq!((load.scoreboard(), load.branch_offset()), (Some(1), None));
    assert_eq!(inst("stack_load r4, i32, 1, 0, x, 4, 0, 1").scoreboard(), Some(1));
    assert_eq!(inst("threadgroup_load i32, x, r0, 0, 0").scoreboard(), None);
    assert_eq!(inst("jmp_exec_any pc-20").branch_offset(), Some(-20));
    assert!(inst("stop").is_end() && inst("pop_exec r0l, 1").is_mask_change());
    assert!(inst("TODO.unkE800").is_unknown());
}

#[test]
fn placeholders_of_applegpu_are_accepted() {
    for (placeholder, name) in [
        ("TODO.ldcf r4_r5_r6, cf6", "ldcf             r4_r5_r6, cf6"),
        ("TODO.stack_adjust 0, 1, 2, 0, 0, -16", "stack_adjust     0, 1, 2, 0, 0, -16"),
    ] {
        let inst: Inst = placeholder.parse().unwrap();
        assert_eq!(inst.to_string(), name);
        assert_eq!(inst, name.parse().unwrap());
    }
}
