//! Communication between lanes (quads, subgroups, workgroups), and the ends of a run.

use tepui_ir::interp::{Fault, Group, Memory, run};
use tepui_ir::{Attrs, IoLoc, Op, Type, parse, validate};

fn shader(stage: &str, head: &str, body: &str) -> tepui_ir::Shader {
    let text = format!("shader {stage} \"main\" {{ {head} body {{ {body} }} }}");
    let s = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    s
}

#[test]
fn derivatives_and_demotion_in_a_quad() {
    let io = "location 0 component 0 float smooth center";
    let s = shader(
        "fragment",
        "",
        &format!(
            "%0:b32 = const[0x0]
             %1:b32 = load_input[{io}] %0
             %2:b32 = const[0x41200000]
             %3:b1 = feq %1, %2
             demote_if %3
             %4:b32 = ddx_fine %1
             %5:b32 = ddy_fine %1
             %6:b1 = is_helper
             %7:b32 = b2i %6
             %8:b32x3 = vec %4, %5, %7
             store_output[{io}] %8, %0
             yield"
        ),
    );
    let mut g = Group::plain(4);
    let x = [1.0f32, 4.0, 10.0, 30.0];
    g.inputs.insert((IoLoc::Location(0), 0), x.iter().map(|v| v.to_bits()).collect());
    let o = run(&s, &g, &mut Memory::default(), 1000).unwrap();
    let out = |c: u8| o.outputs[&(IoLoc::Location(0), c, 0)].clone();
    let f = |v: f32| Some(v.to_bits());
    // Lane 2 is a helper after its demotion: it still gives derivatives, and writes nothing.
    assert_eq!(out(0), [f(3.0), f(3.0), None, f(20.0)]);
    assert_eq!(out(1), [f(9.0), f(26.0), None, f(26.0)]);
    assert_eq!(out(2), [Some(0), Some(0), None, Some(0)]);
    assert_eq!(o.helpers, [false, false, true, false]);
}

const BUFFER: &str =
    "workgroup_size 64 1 1 resource storage_buffer set 0 binding 0 count 1 2d float \"out\"";

/// Runs a workgroup of 64 whose value `%9` goes to word `index` of the buffer.
fn words(body: &str) -> Vec<u32> {
    let s = shader(
        "compute",
        BUFFER,
        &format!(
            "%0:b32 = const[0x0] %1:b32 = const[0x1] %2:b32 = const[0x2]
             %3:b32 = load_builtin[local_invocation_index]
             %4:b32 = iand %3, %1
             %5:b1 = ine %4, %0
             {body}
             %10:b64 = descriptor[@r0] %0
             %11:b32 = ishl %3, %2
             store_buffer[align 4] %10, %11, %9
             yield"
        ),
    );
    let mut m = Memory::default();
    m.set_words(0, 0, &[0; 64]);
    run(&s, &Group::workgroup(&s, [0; 3], [1; 3]), &mut m, 100_000).unwrap();
    m.words(0, 0)
}

#[test]
fn reductions_see_active_lanes_of_their_sub_group() {
    let w = words(
        "%9:b32 = if %5 { %6:b32 = reduce[iadd 0] %3 yield %6 } else { %7:b32 = exclusive_scan[umax 0] %3 yield %7 }",
    );
    for (i, &x) in w.iter().enumerate() {
        let start = i / 32 * 32;
        let want = if i % 2 == 1 {
            (start..start + 32).filter(|l| l % 2 == 1).sum::<usize>()
        } else if i == start {
            0
        } else {
            i - 2
        };
        assert_eq!(x as usize, want, "lane {i}");
    }
}

#[test]
fn shuffles_and_ballots() {
    let w = words(
        "%6:b32x4 = ballot %5 %7:b32 = extract[0] %6 %8:b32 = shuffle_xor %3, %1 %9:b32 = iadd %7, %8",
    );
    for (i, &x) in w.iter().enumerate() {
        assert_eq!(x, 0xaaaa_aaaau32.wrapping_add(i as u32 ^ 1));
    }
}

#[test]
fn lanes_leave_a_loop_one_by_one() {
    // Lane n leaves after n & 1 iterations with the number of lanes that were still there.
    let w = words(
        "%9:b32 = loop (%6:b32 = %0) {
           %7:b1 = uge %6, %4
           if %7 { %8:b32 = reduce[iadd 0] %1 break %8 }
           %12:b32 = iadd %6, %1
           continue %12
         }",
    );
    assert!(w.iter().all(|&x| x == 16));
}

#[test]
fn endless_loops_stop_at_the_limit() {
    let s = shader("compute", "workgroup_size 1 1 1", "loop () { continue } yield");
    let e =
        run(&s, &Group::workgroup(&s, [0; 3], [1; 3]), &mut Memory::default(), 500).unwrap_err();
    assert_eq!(e, Fault::Steps { limit: 500 });
}

#[test]
fn out_of_bounds_reads_zero_and_writes_nothing() {
    let w = words(
        "%6:b64 = descriptor[@r0] %0 %7:b32 = const[0x1000] store_buffer[align 4] %6, %7, %3 %9:b32 = load_buffer[align 4 offset -4] %6, %0",
    );
    assert_eq!(w, [0; 64]);
}

/// 545 * 481 is 2^18 + 1: the sum lies just above the middle of two 16-bit floats, which only the
/// last bits of its 64 tell.
#[test]
fn sixteen_bits_are_rounded_once() {
    let h = |x: f32| u64::from(half::f16::from_f32(x).to_bits());
    let (a, b, c) = (h(545.0), h(481.0 / 16384.0), h(32768.0));
    let args: Vec<(Type, &[u64])> =
        [&a, &b, &c].map(|x| (Type::B16, std::slice::from_ref(x))).to_vec();
    let mut out = Vec::new();
    assert!(tepui_ir::op::fold(Op::FFma, &args, &Attrs::None, &[Type::B16], &mut out));
    assert_eq!(out, [h(32800.0)]);
}
