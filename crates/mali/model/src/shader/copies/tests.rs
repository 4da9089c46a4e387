use tepui_mali_isa::asm::assemble;
use tepui_softgpu::AddressSpace;

use super::*;
use crate::warp::row::Row;

/// Loads the texel of the fragment's pixel and writes it, as Mesa's driver does.
const FRAME: &str = "
    MOV.i32 r0, 0x0
    MOV.i32 r1, 0x0
    U16_TO_U32 r4, r59.h00
    U16_TO_U32 r5, r59.h10
    TEX_FETCH.slot0.reserved.32.2d.wait0 @r0:r1:r2:r3, @r4:r5, r0
    BLEND.slot0.v4.f32.end @r0:r1:r2:r3, blend_descriptor_0.w0, r60, target:0x0
    NOP.end";

fn of(text: &str, inputs: Inputs) -> Option<Copies> {
    let code = assemble(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let program = Program::decode(0x4000, code);
    let uniforms = Uniforms::new(&[0, 0, 7], &program.rows);
    let vm: AddressSpace = crate::address_space();
    find(&program, &uniforms, &mut Port::new(&vm, 0), inputs, 0xffff)
}

#[test]
fn a_frame_shader_that_loads_is_found() {
    let found = of(FRAME, Inputs::Fragments).expect("copies");
    let at = [Affine::axis(0), Affine::axis(1), Affine::default()];
    let fetch = Fetch { index: 4, texture: 0, at, layer: Affine::default() };
    assert_eq!(found.fetches.as_slice(), [fetch]);
    let channels = [0, 1, 2, 3].map(|channel| Word::channel(0, channel));
    let [Effect::Blend { descriptor: 0, channels: written, .. }] = found.effects.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(*written, channels);
    assert_eq!((found.region, found.instructions(true, false)), (Region::ALL, 6));
}

/// Programs with one changed instruction, none of which is a plain copy.
#[test]
fn what_is_no_copy_is_not_found() {
    for (from, to) in [
        // A coordinate that is not the pixel's.
        ("r4, r59.h00", "r4, r58.h00"),
        // A level, and a texture, that are not uniform.
        ("MOV.i32 r0, 0x0", "MOV.i32 r0, r57"),
        // Channels that are modified or swapped.
        ("BLEND", "FADD.f32 r2, r2, r3\nBLEND"),
        ("BLEND", "MOV.i32 r3, r0\nMOV.i32 r3, 0x0\nBLEND"),
        // Other coverage, and pixels that end earlier.
        ("_0.w0, r60", "_0.w0, r61"),
        ("BLEND", "DISCARD.f32.lt r0, r1\nBLEND"),
        // 16 bits, and three channels.
        ("reserved.32.2d.wait0 @r0:r1:r2:r3", "reserved.16.2d.wait0 @r0:r1"),
    ] {
        let text = FRAME.replacen(from, to, 1);
        assert_ne!(text, FRAME, "{from} is there");
        assert_eq!(of(&text, Inputs::Fragments), None, "{to}");
    }
    // Compute threads do not start with a pixel.
    assert_eq!(of(FRAME, Inputs::Threads), None);
}

/// The shader of Mesa's driver for attachments that are cleared in part: the pixels from u0 to u1 are left
/// unchanged.
const BORDER: &str = "
    MKVEC.v2i16.discard r0, 0x0.h00, u2.h00
    U16_TO_U32 r1, u1.h10
    LSHIFT_OR.i32 r0, ^r1, 0x0.b00, ^r0
    MKVEC.v2i16 r0, u1.h00, ^r0.h00
    ICMP_OR.v2u16.ge.m1 r0, ^r0, r59, 0x0
    ICMP_AND.v2u16.ge.m1 r0, r59, u0, ^r0
    LSHIFT_AND.v2i16 r0, ^r0.h11, 0x0.b00, ^r0
    LSHIFT_OR.v2i16 r0, 0x0, 0x0.b00, ^r0.not
    U16_TO_U32 r1, r59.h10
    U16_TO_U32 r2, ^r59.h00
    BRANCHZ.eq.reconverge ^r0.h0, offset:6
    MOV.i32 r0, ^r2
    IADD_IMM.i32 r2, 0x0, #0x10000
    MOV.i32 r3, 0x0
    TEX_FETCH.slot0.reserved.32.2d @r0:r1:r2:r3, @r0:r1, ^r2
    MOV.i32 r4, ^r60
    BRANCHZ.eq.reconverge 0x0, offset:5
    IADD_IMM.i32 r0, 0x0, #0x0
    IADD_IMM.i32 r1, 0x0, #0x0
    IADD_IMM.i32 r2, 0x0, #0x0
    IADD_IMM.i32 r3, 0x0, #0x0
    IADD_IMM.i32.reconverge r4, 0x0, #0x0
    NOP.wait
    BLEND.slot1.v4.f32.end @r0:r1:r2:r3, blend_descriptor_0.w0, r4, target:0x0
    NOP.end";

#[test]
fn what_lies_around_an_area_is_found() {
    let code = assemble(BORDER).expect("a program");
    let program = Program::decode(0x4000, code);
    let uniforms = Uniforms::new(&[3 | 5 << 16, 10 | 20 << 16, 0], &program.rows);
    let vm: AddressSpace = crate::address_space();
    let found = find(&program, &uniforms, &mut Port::new(&vm, 0), Inputs::Fragments, 0xffff);
    let found = found.expect("copies");
    let region = Region { first: [3, 5, 0], last: [10, 20, u32::MAX], outside: true };
    assert_eq!(found.region, region);
    assert!(!region.has([3, 5, 0]) && !region.has([10, 20, 0]) && region.has([11, 20, 0]));
    assert_eq!(region.has_all([4, 6, 0], [10, 20, 0]), Some(false));
    assert_eq!(region.has_all([11, 0, 0], [12, 40, 0]), Some(true));
    assert_eq!(region.has_all([2, 6, 0], [10, 20, 0]), None);
    assert_eq!(found.fetches[0].texture, 1);
    let counts =
        [(true, false), (false, true), (true, true)].map(|(a, b)| found.instructions(a, b));
    assert_eq!(counts, [19, 18, 24]);
}

#[test]
fn numbers_of_places_are_added_and_multiplied_without_a_carry() {
    let number = Affine::axis(0).times(5).plus(Affine::axis(2)).minus(Affine::bits(9));
    assert_eq!(number.at([3, 100, 1]), 7);
    assert_eq!(number.at([0, 0, 0]), 0u32.wrapping_sub(9));
    assert_eq!(number.minus(number).same(), Some(0));
}

#[test]
fn words_are_made_of_bits_that_no_other_channel_fills() {
    let byte = |channel: u8| Word::channel(0, channel).at_most(0xff).expect("a channel");
    let two = byte(0).or(&byte(1).shifted(8).expect("room")).expect("other bits");
    assert!(two.is_half());
    assert_eq!(two.clone().or(&byte(2)), None);
    assert_eq!(byte(3).shifted(25), None);
    let whole = two.or(&byte(2).shifted(24).expect("room")).expect("other bits");
    let fetched = [[Row::splat(0x1ff), Row::splat(2), Row::splat(3), Row::splat(4)]];
    assert_eq!(whole.row(&fetched).0[5], 0x0300_02ff);
}
