//! Each rule has an instruction that violates only this rule, and a similar one that violates none.

use tepui_intel_isa::validate::{Rule, check};
use tepui_intel_isa::{Generation, asm};

fn broken(generation: Generation, text: &str) -> Vec<Rule> {
    let inst = asm::parse(generation, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    check(&inst).err().unwrap_or_default()
}

/// A rule, an instruction that violates it, and one that satisfies it.
const GEN9: &[(Rule, &str, &str)] = &[
    (
        Rule::NullSource,
        "add(8) g1<1>D g2<8,8,1>D null<8,8,1>D { align1 1Q };",
        "add(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::WidthOverSize,
        "mov(4) g1<1>D g2<8,8,1>D { align1 1N };",
        "mov(4) g1<1>D g2<4,4,1>D { align1 1N };",
    ),
    (
        Rule::WidthOneStride,
        "mov(8) g1<1>D g2<2,1,1>D { align1 1Q };",
        "mov(8) g1<1>D g2<1,1,0>D { align1 1Q };",
    ),
    (
        Rule::OneRow,
        "mov(8) g1<1>D g2<4,8,1>D { align1 1Q };",
        "mov(8) g1<1>D g2<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::OneElement,
        "mov(1) g1<1>D g2<1,1,0>D { align1 1N };",
        "mov(1) g1<1>D g2<0,1,0>D { align1 1N };",
    ),
    (
        Rule::NoStrides,
        "mov(8) g1<1>D g2<0,4,0>D { align1 1Q };",
        "mov(8) g1<1>D g2<0,1,0>D { align1 1Q };",
    ),
    (
        Rule::RowCrossesRegister,
        "mov(8) g1<1>D g2.1<8,8,1>D { align1 1Q };",
        "mov(8) g1<1>D g2.4<4,4,1>D { align1 1Q };",
    ),
    (
        Rule::SourceSpan,
        "mov(16) g1<1>D g2<8,4,2>D { align1 1H };",
        "mov(8) g1<1>D g2<8,4,2>D { align1 1Q };",
    ),
    (
        Rule::DestinationSpan,
        "mov(16) g1<2>D g2<8,8,1>D { align1 1H };",
        "mov(8) g1<2>D g2<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::DestinationStride,
        "mov(8) g1<0>D g2<8,8,1>D { align1 1Q };",
        "mov(8) g1<1>D g2<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::Align16Vertical,
        "mov(8) g1<1>D g2<8>D { align16 1Q };",
        "mov(8) g1<1>D g2<4>D { align16 1Q };",
    ),
    (
        Rule::DestinationRatio,
        "add(8) g1<1>W g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "add(8) g1<2>W g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::DestinationAlignment,
        "add(8) g1.1<2>W g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "add(8) g1.2<2>W g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::VectorImmediate,
        "mov(8) g1<2>UW 0x76543210UV { align1 1Q };",
        "mov(8) g1<1>UW 0x76543210UV { align1 1Q };",
    ),
    (
        Rule::VectorImmediate,
        "mov(8) g1.4<1>UW 0x76543210UV { align1 1Q };",
        "mov(8) g1.8<1>UW 0x76543210UV { align1 1Q };",
    ),
    (
        Rule::PackedBytes,
        "mov(8) g1<1>B g2<8,8,1>W { align1 1Q };",
        "mov(8) g1<1>B g2<8,8,1>B { align1 1Q };",
    ),
    (
        Rule::ByteToQuad,
        "mov(4) g1<1>Q g2<4,4,1>B { align1 1N };",
        "mov(4) g1<1>Q g2<4,4,1>W { align1 1N };",
    ),
    (
        Rule::HalfToQuad,
        "mov(4) g1<1>DF g2<4,4,1>HF { align1 1N };",
        "mov(4) g1<1>DF g2<4,4,1>F { align1 1N };",
    ),
    (
        Rule::CompareCondition,
        "cmp(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "cmp.l.f0.0(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::SelectChoice,
        "sel(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "(+f0.0) sel(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::MulOperands,
        "mul(8) g1<1>D g2<8,8,1>W g3<8,8,1>D { align1 1Q };",
        "mul(8) g1<1>D g2<8,8,1>D g3<8,8,1>W { align1 1Q };",
    ),
    (
        Rule::MulAccumulator,
        "mul(8) g1<1>D acc0<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "mul(8) g1<1>F acc0<8,8,1>F g3<8,8,1>F { align1 1Q };",
    ),
    (
        Rule::MulModifiers,
        "mul.sat(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "mul.sat(8) g1<1>F g2<8,8,1>F g3<8,8,1>F { align1 1Q };",
    ),
    (
        Rule::DivModifiers,
        "math intdiv(8) g1<1>D -g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "math intdiv(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::LogicAbs,
        "and(8) g1<1>D (abs)g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "and(8) g1<1>D ~g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::LogicAccumulator,
        "and(8) g1<1>D ~acc0<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "and(8) g1<1>D acc0<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::LogicCondition,
        "and.u.f0.0(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
        "and.nz.f0.0(8) g1<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };",
    ),
    (
        Rule::Bfi2Plain,
        "bfi2.sat(8) g1<1>D g2<4,4,1>D g3<4,4,1>D g4<4,4,1>D { align16 1Q };",
        "bfi2(8) g1<1>D g2<4,4,1>D g3<4,4,1>D g4<4,4,1>D { align16 1Q };",
    ),
    (
        Rule::Bfi2Types,
        "bfi2(8) g1<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };",
        "bfi2(8) g1<1>UD g2<4,4,1>UD g3<4,4,1>UD g4<4,4,1>UD { align16 1Q };",
    ),
    (
        Rule::CselPredicate,
        "(+f0.0) csel.l(8) g1<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };",
        "csel.l(8) g1<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };",
    ),
    (
        Rule::CselCondition,
        "csel(8) g1<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };",
        "csel.l(8) g1<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };",
    ),
    (
        Rule::CselTypes,
        "csel.l(8) g1<1>D g2<4,4,1>D g3<4,4,1>D g4<4,4,1>D { align16 1Q };",
        "csel.l(8) g1<1>F g2<4,4,1>F g3<4,4,1>F g4<4,4,1>F { align16 1Q };",
    ),
    (
        Rule::SendSource,
        "send(8) null<1>UD null<8,8,1>UD 0x02000000 urb MsgDesc: { align1 1Q };",
        "send(8) null<1>UD g1<8,8,1>UD 0x02000000 urb MsgDesc: { align1 1Q };",
    ),
    (
        Rule::SendEnd,
        "send(8) null<1>UD g111<8,8,1>UD 0x82000000 urb MsgDesc: { align1 1Q EOT };",
        "send(8) null<1>UD g112<8,8,1>UD 0x82000000 urb MsgDesc: { align1 1Q EOT };",
    ),
    (
        Rule::SendOverlap,
        "sends(8) nullUD g2UD g3UD 0x04000000 0x00000040 urb MsgDesc: { align1 1Q };",
        "sends(8) nullUD g2UD g4UD 0x04000000 0x00000040 urb MsgDesc: { align1 1Q };",
    ),
    (
        Rule::SendLastRegister,
        "send(8) g126<1>UD g125<8,8,1>UD 0x04200000 sampler MsgDesc: { align1 1Q };",
        "send(8) g126<1>UD g124<8,8,1>UD 0x04200000 sampler MsgDesc: { align1 1Q };",
    ),
];

const GEN12: &[(Rule, &str, &str)] = &[
    (
        Rule::NoDouble,
        "mov(4) g1<1>DF g2<4,4,1>DF { align1 1N };",
        "mov(4) g1<1>F g2<4,4,1>F { align1 1N };",
    ),
    (
        Rule::NoQuad,
        "mov(4) g1<1>Q g2<4,4,1>Q { align1 1N };",
        "mov(4) g1<1>D g2<4,4,1>D { align1 1N };",
    ),
    (
        Rule::ByteSource1,
        "add(8) g1<1>D g2<8,8,1>D g3<8,8,1>B { align1 1Q };",
        "add(8) g1<1>D g2<8,8,1>B g3<8,8,1>D { align1 1Q };",
    ),
];

#[test]
fn each_rule_has_its_instruction() {
    let mut open: Vec<Rule> = Rule::ALL.to_vec();
    for (generation, cases) in [(Generation::Gen9, GEN9), (Generation::Gen12, GEN12)] {
        for (rule, breaks, keeps) in cases {
            assert_eq!(broken(generation, breaks), [*rule], "{breaks}");
            assert_eq!(broken(generation, keeps), [], "{keeps}");
            open.retain(|r| r != rule);
        }
    }
    assert_eq!(open, []);
}
