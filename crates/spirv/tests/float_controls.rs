//! Float-control execution modes and decorations reach the instructions that they govern.

use tepui_ir::interp::{Memory, dispatch};
use tepui_ir::{InstFlags, Op, Shader};
use tepui_spirv::{Kind, Options, translate};

const SOURCE: &str = "
    @group(0) @binding(0) var<storage, read_write> d: array<f32>;
    @compute @workgroup_size(1) fn main() {
      d[1] = d[0] * 0.0;
      d[2] = d[0] + 0.0;
      d[3] = f32(u32(d[0]) + 1u);
    }";

/// The module with instructions put before its first `OpExecutionMode`; `%main` stands for the
/// entry point's id.
fn words(modes: &[&dyn Fn(u32) -> Vec<u32>]) -> Vec<u32> {
    let m = naga::front::wgsl::parse_str(SOURCE).unwrap();
    let all = naga::valid::ValidationFlags::all();
    let info =
        naga::valid::Validator::new(all, naga::valid::Capabilities::all()).validate(&m).unwrap();
    let mut words = naga::back::spv::write_vec(&m, &info, &Default::default(), None).unwrap();
    let mut at = 5;
    while words[at] & 0xffff != 16 {
        at += (words[at] >> 16) as usize;
    }
    let main = words[at + 1];
    for mode in modes {
        words.splice(at..at, mode(main));
    }
    words
}

fn mode(mode: u32, bits: u32) -> impl Fn(u32) -> Vec<u32> {
    move |main| vec![4 << 16 | 16, main, mode, bits]
}

fn run(s: &Shader, x: u32) -> Vec<u32> {
    let mut m = Memory::default();
    m.set_words(0, 0, &[x, 7, 7, 7]);
    dispatch(s, [1; 3], &mut m, 10_000).unwrap();
    m.words(0, 0)
}

fn optimised(words: &[u32]) -> Shader {
    let mut s = translate(words, &Options::default()).unwrap();
    tepui_passes::pipeline::optimise(&mut s);
    s
}

#[test]
fn special_values_are_preserved_when_asked_for() {
    let strict = words(&[&mode(4461, 32)]);
    let s = translate(&strict, &Options::default()).unwrap();
    let flags = |op| {
        let mut all = Vec::new();
        s.walk(|s, _, i| {
            if s.insts[i].op == op {
                all.push(s.insts[i].flags);
            }
        });
        all
    };
    assert_eq!(flags(Op::FMul), [InstFlags::STRICT]);
    assert_eq!(flags(Op::U2F), [InstFlags::STRICT]);
    assert_eq!(flags(Op::IAdd), [InstFlags::empty()]);
    // infinity * 0 is NaN, -0 + 0 is +0.
    let inf = run(&optimised(&strict), f32::INFINITY.to_bits());
    assert!(f32::from_bits(inf[1]).is_nan());
    assert_eq!(run(&optimised(&strict), (-0.0f32).to_bits())[2], 0);
    // Without the mode the optimiser may take both away, and does: this is what the mode is for.
    assert_eq!(run(&optimised(&words(&[])), f32::INFINITY.to_bits())[1], 0);
    // A mode for another size does not affect 32 bits.
    assert_eq!(run(&optimised(&words(&[&mode(4461, 16)])), f32::INFINITY.to_bits())[1], 0);
}

#[test]
fn denormals_are_flushed_when_asked_for() {
    let denormal = 1;
    let flush = words(&[&mode(4460, 32)]);
    assert_eq!(run(&optimised(&flush), denormal)[2], 0);
    let both = words(&[&mode(4459, 32), &mode(4461, 32)]);
    assert_eq!(run(&optimised(&both), denormal)[2], denormal);
}

#[test]
fn rounding_to_zero_is_refused_by_name() {
    let e = translate(&words(&[&mode(4463, 32)]), &Options::default()).unwrap_err();
    assert_eq!(e.kind, Kind::ExecutionMode("RoundingModeRTZ"));
    translate(&words(&[&mode(4462, 32)]), &Options::default()).unwrap();
}
