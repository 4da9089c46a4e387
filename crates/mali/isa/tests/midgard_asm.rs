//! Midgard's assembler: bundles of Mesa's compiler with their bytes, defaults of omitted fields, labels, and invalid
//! lines with the error and its position.

use tepui_mali_isa::asm::hex_bytes;
use tepui_mali_isa::midgard::{Bundle, Content, Tag, asm, disasm};

/// Bundles of programs that Mesa 25.0's `panfrost` compiled for the scenes of `tests/gles` on a Mali-T860, with their
/// exact text.
const BUNDLES: &[(&str, &str)] = &[
    (
        "15d4e10138390008400d9e9c93030000",
        "ST_VARY.f32 AL1.xxxx, 0.x + 0x1, 0.x\n\
         ST_VARY.f32 AL0, 0.x, 0.x\n",
    ),
    (
        "5b00aa0258071804d86a0068416f300200a022f0308401507b030040ae0f402405981402720024ff00000000000000000000803f9a99993f0000000000000000",
        "FMOV.f32 R1.zw, TMP0.xx, <0, 1>\n\
         sadd.FMOV.f32 R1.y, TMP0.x, R0.x.neg\n\
         vadd.MOV.i64 AL0.x, TMP0.[xx], U1\n\
         ADD.i32 AL0.z, R0.z, R0.y\n\
         lut.FMUL.f32 AL1, R1, <1, 1, 1, 1.2>\n\
         uconstants 0x3F800000, 0x3F99999A, 0x0, 0x0\n",
    ),
    (
        "a35109216104e4010000000000000000",
        "TEX.shadow.2d.skip.ooo1 TA0.x.f32, texture0, fsampler0, AT0.xyzx.32, \n",
    ),
    (
        "930d0aa1620ce4010000000000000000",
        "DERIVATIVE.x.2d.kill.ooo1 TA0.xy.f32, texture0, fsampler0, AT0.xyyy.32, \n",
    ),
    (
        "d2144b21673ce4000000030000000000",
        "TEX_FETCH.vtx.2d TA0.f32, texture0, fsampler0, AT0.32, lod = AT1.x.32, \n",
    ),
    ("840b0300000000000000000000000000", "BARRIER\n"),
    (
        "55400002f80400003000000000000000",
        "AADD.32 R0.~~~~, AL0.u64.z, AL0.y {arg_comp:0x0, arg_reg:0x7, index_format:0x1, index_comp:0x2, index_reg:0x0}\n",
    ),
    (
        "8a00a20840631884187fa2020040aeff73027200a0fc7b3401d842060000aaaa02000000040000000800000010000000",
        "CMP.lt.u32 TMP0, R0.xxxx, <2, 4, 8, 16>\n\
         vadd.NOR.i32 R1.yzw, TMP0, #0\n\
         MOV.i32 R31.w, TMP0.w, TMP0.x\n\
         brx.reserved.cond.true +3 -> alu/4\n\
         uconstants 0x2, 0x4, 0x8, 0x10\n",
    ),
    (
        "fa008200406358033c0252906f03140401100000000000000000000000000000cdcc4c3f77d6883e77d6083fb2414d3f",
        "FDOT3.f32 TMP0.x.clamp_0_inf, R0.xyz, <0.267261, 0.534522, 0.801784>\n\
         FMUL.f32 R0.x, TMP0.x, #0.8\n\
         uconstants 0x3F4CCCCD, 0x3E88D677, 0x3F08D677, 0x3F4D41B2\n",
    ),
    (
        "99000802380018007b04066830010042ee0f0000000000000000000000000000",
        "sadd.MOV.i32 R0.w.keeplo, TMP0.x, R1.w.sext\n\
         lut.FMOV.f16 R0.xyzw.clamp_0_1, TMP0.xxxx, R0.xyzw {src1.expand:0x0}\n",
    ),
    (
        "2a00a202000018f018f01870600272e0af0f7b020000a0307b3400d87b020040a00f0000000000000000000000000000",
        "MIN.s32 R0.xy, R0, R0.zw\n\
         vadd.MOV.i32 AT0.z, TMP0.x, #0\n\
         MOV.i32 AT0.w, TMP0.w, #0\n\
         lut.MOV.i32 AT0.xy, TMP0.xx, R0.xy {src2.swizzle:0x4}\n",
    ),
    (
        "4510808030000000800c1ec03d080000",
        "LDST_MOV R0.~~z~, GLOBAL_THREAD_ID.xxxy\n\
         ST.32 AL0.xxxx, LOCAL_STORAGE_PTR.u64.z + AL0.s32.y << 2\n",
    ),
    (
        "1d002208f8021f847b020040aeff40020000a0c06f000000ffff000000000000",
        "MOV.i32 R0, TMP0.xxxx, U0\n\
         vadd.ADD.i32 R1.w, PC_SP.x, #0\n\
         brx.reserved.write.always +0 -> aluw/8\n\
         writeout\n\
         .next break\n",
    ),
    ("95b96108000000003000000000000000", "LD_TILEBUFFER.f16 R1.xy~~ {swizzle:0x4}\n"),
    (
        "fa0088080060587f10840510820401d804040000aaaa00000000000000000000cdcccc3e000000000000000000000000",
        "FADD.f32 TMP0.x, R0.x, R0.y.neg\n\
         FCMP.lt.i32 R31.w, TMP0.x, #0.4\n\
         brx.reserved.discard.true +2 -> invalid\n\
         uconstants 0x3ECCCCCD, 0x0, 0x0, 0x0\n",
    ),
    (
        "5a008002586bf86a7b0401587b030040a4f0000000000000000000000000000001000000000000000000000000000000",
        "MOV.i32 AL0.y, TMP0.x, #1 {immediate:0x0}\n\
         lut.MOV.i64 AL0.y, TMP0.[xx], U0.X {src2.swizzle:0x44}\n\
         uconstants 0x1, 0x0, 0x0, 0x0\n",
    ),
    (
        "959460c8393800007009088883038008",
        "LD_ATTR.f32 R0.xy~~, 0.x, 0.x\n\
         LD_ATTR.s32 R0.~~x~, 0.x + 0x11, 0.x\n",
    ),
    (
        "d3120b21603ce4000000000000000000",
        "TEX_GRAD.2d TA0.f32, texture0, fsampler0, AT0.xyxx.32, \n",
    ),
];

fn code(source: &str) -> Vec<u8> {
    asm::assemble(source).unwrap_or_else(|errors| panic!("{source}: {errors:?}"))
}

fn bundle(source: &str) -> Bundle {
    Bundle::decode(&code(source)).unwrap()
}

#[test]
fn bundles_of_mesas_compiler() {
    for (bytes, text) in BUNDLES {
        let bytes = hex_bytes(bytes).unwrap();
        let part = disasm::parts(&bytes, 0).next().unwrap();
        // The tag of the next bundle is that of the program that follows.
        let exact = part.exact(&bytes, Default::default());
        let exact: Vec<&str> = exact.lines().filter(|line| !line.starts_with(".next")).collect();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(".next")).collect();
        assert_eq!(exact, lines);
        let next = part.content.unwrap().next.name();
        assert_eq!(code(&format!("{}\n.next {next}", lines.join("\n"))), bytes, "{text}");
    }
}

#[test]
fn text_that_says_everything_is_mesas() {
    for (bytes, _) in BUNDLES {
        let bytes = hex_bytes(bytes).unwrap();
        let part = disasm::parts(&bytes, 0).next().unwrap();
        let (exact, mesa) = (part.exact(&bytes, Default::default()), part.text(&bytes));
        for (exact, mesa) in exact.lines().zip(mesa.lines()) {
            let unit = ["vmul.", "sadd.", "vadd.", "smul.", "lut."];
            let plain = unit.iter().find_map(|unit| exact.strip_prefix(unit)).unwrap_or(exact);
            let plain = plain.split(" {").next().unwrap();
            let plain = plain.replace(".u32 TMP0", ".i32 TMP0").replace("MIN.s32", "MIN.i32");
            assert_eq!(plain.trim_end(), mesa.trim_end());
        }
    }
}

#[test]
fn units_follow_from_operands() {
    let with = |text: &str| {
        let Content::Alu(alu) = bundle(text).content else { panic!("{text}") };
        let all = [
            alu.vmul.is_some(),
            alu.sadd.is_some(),
            alu.vadd.is_some(),
            alu.smul.is_some(),
            alu.lut.is_some(),
        ];
        all.map(u8::from)
    };
    assert_eq!(with("FMUL.f32 R0.xy, R0.xy, R1.xy"), [1, 0, 0, 0, 0]);
    assert_eq!(with("FMUL.f32 R0.x, R0.y, R1.z"), [0, 0, 0, 1, 0]);
    assert_eq!(with("FADD.f32 R0.x, R0.y, #1"), [0, 1, 0, 0, 0]);
    assert_eq!(with("FADD.f16 R0.x, R0.y, R1.z"), [0, 0, 1, 0, 0]);
    assert_eq!(with("FRCP.f32 R0.x, R0.y, #0"), [0, 0, 0, 0, 1]);
    assert_eq!(with("lut.FMUL.f32 R0.x, R0.y, R1.z"), [0, 0, 0, 0, 1]);
    let both = "FMUL.f32 TMP0, R0, R1\n// a comment does not end the bundle\nFADD.f32 R0, TMP0, R2";
    assert_eq!(with(both), [1, 0, 1, 0, 0]);
}

#[test]
fn numbers_are_immediates_or_constants() {
    let text = |source: &str| disasm::exact(&code(source));
    // 0.1 does not fit in a half-float, 0.5 does.
    let constants = "FMUL.f32 R0, R0, #0.1\nuconstants 0x3DCCCCCD, 0x0, 0x0, 0x0\n\n";
    assert!(asm::assemble(constants).is_err(), "four components, one number");
    let constants =
        "FMUL.f32 R0.xy, R0.xy, <0.1, 0.25>\nuconstants 0x3DCCCCCD, 0x3E800000, 0x0, 0x0\n\n";
    assert_eq!(text(constants), constants);
    let scalar = "FADD.f32 R0.x, R0.x, #0.1\nuconstants 0x0, 0x3DCCCCCD, 0x0, 0x0\n\n";
    assert_eq!(text(scalar), scalar);
    let Content::Alu(alu) = bundle(scalar).content else { panic!() };
    let (registers, inst) = alu.sadd.unwrap();
    // The index of the second word in units of 16 bits.
    assert_eq!((registers.src2, registers.immediate, inst.src2 >> 3), (26, 0, 2));
    let immediate = "FMUL.f32 R0, R0, #0.5\n\n";
    assert_eq!(text(immediate), immediate);
    assert_eq!(code("AND.i32 R0, R0, #0xff"), code("AND.i32 R0, R0, #255"));
}

#[test]
fn branches_lead_to_labels() {
    let source = "
        again:
        LD_VARY.f32 R0.xyzw, 0.x, 0.x

        FADD.f32 R1, R1, R0
        br.cond.true again

        brx.reserved.cond.always done -> tex

        .zero 32
        done:
        TEX.2d TA0.f32, texture0, fsampler0, AT0.xyxx.32,

        NOP
        LD.32 R0.x~~~, AL0.u64.x + 0x10
    ";
    let code = code(source);
    let bundles: Vec<Bundle> = disasm::parts(&code, 0).filter_map(|p| p.content.ok()).collect();
    let next: Vec<&str> = bundles.iter().map(|bundle| bundle.next.name()).collect();
    // Zeros after a bundle are not a bundle.
    assert_eq!(next, ["alu/4", "alu/4", "break", "ldst", "break"]);
    assert_eq!(bundles.iter().map(Bundle::target).collect::<Vec<_>>()[1..3], [Some(-2), Some(2)]);
    let Content::Alu(back) = bundles[1].content else { panic!() };
    assert_eq!(Tag(back.branch.unwrap().tag as u8), Tag::LOAD_STORE);
    assert_eq!(asm::assemble(&disasm::exact(&code)), Ok(code));
}

#[test]
fn mesas_text_is_read_where_it_is_clear() {
    let words = "8594e0c9393800003000000000000000";
    assert_eq!(code("LD_ATTR.f32 R0.xyzw, 0.x, 0.x\n.next alu/4"), hex_bytes(words).unwrap());
    let mesa = "FMUL.f32 R0, R1, R2 /* what stands here is left out */\nFRCP.f32 R0.w, R0.w, #0\n";
    assert_eq!(disasm::program(&code(mesa)).lines().nth(1), Some("FRCP.f32 R0.w, R0.w, #0"));
}

/// Invalid lines, with their errors.
const WRONG: &[(&str, &str)] = &[
    ("FADDD.f32 R0, R1, R2", "1:1: no instruction is called `FADDD.f32`"),
    ("vmul.FADDD.f32 R0, R1, R2", "1:6: no instruction is called `FADDD`"),
    ("FADD R0, R1, R2", "1:1: no instruction is called `FADD`"),
    ("FADD.i32 R0, R1, R2", "1:1: `FADD` has the type `.f32`, not `.i32`"),
    (
        "MIN.i16 R0, R1, R2",
        "1:1: `MIN.i16` does not say whether integers have a sign: write `MIN.s16` or `MIN.u16`",
    ),
    (
        "  lut.CMP.lt.i32 R0, R1, R2",
        "1:7: `CMP.lt.i32` does not say whether integers have a sign: write `CMP.lt.s32` or `CMP.lt.u32`",
    ),
    ("FADD.f32 R0, R1", "1:16: expected three operands, found nothing"),
    ("FADD.f32 R0, R1, R2, R3", "1:22: expected three operands, found `R3`"),
    ("FADD.f32 R32, R1, R2", "1:10: expected a register, found `R32`"),
    (
        "FADD.f32 R0.yx, R1, R2",
        "1:13: expected components of the destination in their order, found `yx`",
    ),
    (
        "FADD.f32 R0.xe, R1, R2",
        "1:13: expected components of the destination in their order, found `xe`",
    ),
    (
        "FADD.f32 R0.xy, R1.xyz, R2",
        "1:20: expected a component for each that is written, found `xyz`",
    ),
    ("FADD.f32 R0, R1.neg.abs, R2", "1:20: expected the end of the line, found `.abs`"),
    ("FADD.f32 R0, R1, R2.sext", "1:20: expected the end of the line, found `.sext`"),
    ("sadd.FADD.f32 R0, R1.x, R2.x", "1:17: expected one component, found nothing"),
    (
        "sadd.FADD.f16 R0.x, R1.x, R2.x",
        "1:1: expected a type of 32 bits, which scalar units have, found `sadd.FADD.f16`",
    ),
    (
        "FADD.f32 R0, R1, #0.1",
        "1:18: `#0.1` is not in the bundle's constants: give them in a line `uconstants`",
    ),
    (
        "ADD.i32 R0, R1, #65536",
        "1:17: `#65536` is not in the bundle's constants: give them in a line `uconstants`",
    ),
    ("ADD.i32 R0, R1, #five", "1:18: expected a number, found `five`"),
    ("FADD.f32 R0, R1, R2 {fruit:1}", "1:22: the instruction has no field `fruit`"),
    ("FADD.f32 R0, R1, R2 {mask:0x100}", "1:27: the field is from 0 to 255, not 256"),
    (
        "FADD.f32 R0, R1, R2 {mask}",
        "1:22: expected a field and its value, as in `{mask:0x3}`, found `mask`",
    ),
    ("FADD.f32 R0, R1, R2 {mask:1", "1:28: expected a comma or a closing brace, found nothing"),
    (
        "vadd.MOV.i32 R0, R1, R2\nFADD.f32 R0, R1, R2",
        "2:1: vadd has an instruction already: name another unit, as in `vmul.`",
    ),
    (
        "FADD.f32 R0, R1, R2\nFMUL.f32 R0, R1, R2",
        "2:1: vmul stands before vadd in a bundle: name units, as in `vmul.`, or change the order",
    ),
    (
        "br.cond.true +64 -> alu/4",
        "1:14: the distance of a branch in words is from -64 to 63, not 64",
    ),
    (
        "br.cond.maybe +1 -> alu/4",
        "1:9: expected a condition: `write0`, `false`, `true` or `always`, found `maybe`",
    ),
    ("br.cond.true nowhere", "1:14: label `nowhere` is not defined"),
    (
        "br.cond.true +1 -> alu/5",
        "1:20: expected a tag, such as `alu/4`, `ldst`, `tex` or `break`, found `alu/5`",
    ),
    (
        "brx.reserved.cond.lut12345 +1",
        "1:19: expected a table of truth of 16 bits, as in `lut5F5F`, found `lut12345`",
    ),
    ("br.cond.true +1\nbr.cond.true +1", "2:1: the bundle has a branch already"),
    (
        "uconstants 0x1, 0x2, 0x3",
        "1:1: expected four words, as in `uconstants 0x3F800000, 0x0, 0x0, 0x0`, found `uconstants`",
    ),
    (
        "uconstants 0x1, 0x2, 0x3, 0x100000000",
        "1:27: a word of constants is from 0 to 4294967295, not 4294967296",
    ),
    ("LD.33 R0.xyzw, 0", "1:1: no instruction is called `LD.33`"),
    ("LD.32 R0.xy, AL0.u64.x", "1:10: expected four of `x`, `y`, `z`, `w` and `~`, found `xy`"),
    (
        "LD.32 R0.x~~~, AL0.u64.x + 0x20000",
        "1:28: the displacement is from -131072 to 131071, not 131072",
    ),
    ("LD.32 R0.x~~~", "1:14: expected an address, found nothing"),
    ("LD_ATTR.f32 R0.xyzw, 0.x, 0.x, 0.x", "1:32: expected no more operands, found `0.x`"),
    (
        "LD_ATTR.f32 R0.xyzw, AL2.x, 0.x",
        "1:22: expected a register such as `AL0`, `LOCAL_THREAD_ID` or `0`, found `AL2.x`",
    ),
    ("TEX TA0.f32", "1:4: expected dimensions: `.cube`, `.1d`, `.2d` or `.3d`, found a space"),
    (
        "TEX.2d TA2.f32",
        "1:8: expected a register: `TA0` or `TA1`, or `R0` or `R1`, found `TA2.f32`",
    ),
    (
        "TEX.2d TA0.f32, texture65536, fsampler0, AT0.32",
        "1:24: the texture's number is from 0 to 65535, not 65536",
    ),
    (
        "TEX.2d TA0.f32, texture0, fsampler0, AT0.32, lod = 1.0",
        "1:50: expected `=` of a level, `+` or `-` of what `TEX` adds to it, found `=`",
    ),
    (
        "TEX_GRAD.2d TA0.f32, texture0, fsampler0, AT0.32, lod = 200.0",
        "1:57: 256 times the level is from -32768 to 32767, not 51200",
    ),
    (
        "FADD.f32 R0, R1, R2\nLD.32 R0.x~~~, AL0.u64.x",
        "2:1: a bundle of arithmetic cannot have loads and stores; an empty line ends a bundle",
    ),
    ("NOP\nNOP\nNOP", "3:1: the bundle has two loads or stores already"),
    (".next alu/4", "1:1: the bundle has no instruction, and no tag says what it is"),
    ("NOP\n.tag tex", "2:1: `tex` is no tag of a bundle of loads and stores of 16 bytes"),
    (
        ".next sometime\nNOP",
        "1:7: expected a tag, such as `alu/4`, `ldst`, `tex` or `break`, found `sometime`",
    ),
    (
        ".align 16",
        "1:1: `.align 16` is not a directive; write `.zero N` (N up to 1048576), `.hex BYTES`, `.tag TAG` or `.next TAG`",
    ),
    (
        ".zero 1048577",
        "1:1: `.zero 1048577` is not a directive; write `.zero N` (N up to 1048576), `.hex BYTES`, `.tag TAG` or `.next TAG`",
    ),
    ("here:\nhere:", "2:1: label `here` is defined twice"),
    (
        "br.cond.true odd\n\n.hex 00\nodd:\nNOP",
        "1:14: 1 is not a whole number of words of 16 bytes",
    ),
];

#[test]
fn wrong_lines_are_refused_where_they_are_wrong() {
    let mut failed = Vec::new();
    for (source, expected) in WRONG {
        let found = match asm::assemble(source) {
            Ok(_) => "no error".to_owned(),
            Err(errors) => errors[0].to_string(),
        };
        if found != *expected {
            failed.push(format!("{source:?}\n   {found}\n   {expected}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    // All problems, at most one per bundle, in the order of lines.
    let errors = asm::assemble("FADD.f32 R0\n\nNOP\n\nSUB.i32 R99, R0, R0\n").unwrap_err();
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [1, 5]);
}
