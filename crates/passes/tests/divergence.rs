//! The divergence analysis on values whose answer is known.

use tepui_ir::parse;
use tepui_passes::divergence::Divergence;

#[test]
fn sources_operands_and_control() {
    let s = parse(
        "shader compute \"main\" { workgroup_size 64 1 1
           resource uniform_buffer set 0 binding 0 count 1 2d float \"u\"
           body {
             %0:b32 = const[0x0]
             %1:b32 = const[0x1]
             %2:b32x3 = load_builtin[workgroup_id]
             %3:b32 = load_builtin[local_invocation_index]
             %4:b64 = descriptor[@r0] %0
             %5:b32 = load_buffer[align 4 const] %4, %0
             %6:b32 = load_buffer[align 4 const] %4, %3
             %7:b1 = ieq %3, %0
             %8:b1 = ieq %5, %0
             %9:b32 = if %7 { yield %0 } else { yield %1 }
             %10:b32 = if %8 { yield %0 } else { yield %5 }
             %11:b32 = loop (%12:b32 = %0) {
               %13:b1 = uge %12, %3
               if %13 { break %12 }
               %14:b32 = iadd %12, %1
               continue %14
             }
             %15:b32 = loop (%16:b32 = %0) {
               %17:b1 = uge %16, %5
               if %17 { break %16 }
               %18:b32 = iadd %16, %1
               continue %18
             }
             %19:b32 = read_first %6
             yield
           } }",
    )
    .unwrap();
    tepui_ir::validate(&s).unwrap();
    let d = Divergence::new(&s);
    // In order of definition: result by the number of its instruction in the root region.
    let of = |n: usize| d.is_divergent(s.result(s.regions[s.root].insts[n]));
    let divergent: Vec<usize> = (0..14).filter(|&n| of(n)).collect();
    // The lane's index, the load at it, the comparison, the divergent `if` and the divergent loop.
    assert_eq!(divergent, [3, 6, 7, 9, 11]);
}
