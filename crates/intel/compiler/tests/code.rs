//! Machine code of small shaders, by the number of instructions of each opcode: what selection and the passes after it join.

use tepui_intel_compiler::{Options, Program, compile};
use tepui_intel_isa::{Condition, Generation, Inst, Opcode};

/// A compute shader with one resource.
fn shader(invocations: u32, shared_bytes: u32, resource: &str, body: &str) -> String {
    format!(
        "shader compute \"main\" {{
  workgroup_size {invocations} 1 1
  shared_bytes {shared_bytes}
  resource {resource} \"\"
  body {{
{body}
    yield
  }}
}}
"
    )
}

/// The program of a shader, whose registers and code are checked.
#[track_caller]
fn compiled(generation: Generation, text: &str) -> Program {
    let mut s = tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let options = Options { check: true, ..Options::default() };
    compile(&mut s, generation, &options).unwrap_or_else(|e| panic!("{generation}: {e}\n{text}"))
}

/// The instructions of a compute shader of 16 invocations whose body has the given text after `%index`, the number of the
/// invocation, `%at`, the offset of its double word, and `%x`, the double word there; `%out` is stored in its place.
fn code(generation: Generation, body: &str) -> Vec<Inst> {
    let body = format!(
        "    %0:b32 = const[0x0]
    %1:b32 = const[0x1]
    %2:b32 = const[0x2]
    %3:b32 = const[0x7]
    %4:b32 = load_builtin[local_invocation_index]
    %5:b64 = descriptor[@r0] %0
    %6:b32 = ishl %4, %2
    %7:b32 = load_buffer[align 4] %5, %6
{body}
    store_buffer[align 4] %5, %6, %90"
    );
    let buffer = "storage_buffer set 0 binding 0 count 1 2d float";
    let p = compiled(generation, &shader(16, 4096, buffer, &body));
    let mut insts = Vec::new();
    let mut at = 0;
    while at < p.code.len() {
        let inst = Inst::decode(generation, &p.code, at).unwrap();
        at += inst.bytes();
        insts.push(inst);
    }
    insts
}

/// Number of instructions with an opcode, and the code for messages.
fn count(insts: &[Inst], opcode: Opcode) -> (usize, String) {
    let text = insts.iter().map(|inst| format!("{inst}\n")).collect();
    (insts.iter().filter(|inst| inst.opcode == opcode).count(), text)
}

#[track_caller]
fn expect(generation: Generation, body: &str, expected: &[(Opcode, usize)]) {
    let insts = code(generation, body);
    for &(opcode, n) in expected {
        let (found, text) = count(&insts, opcode);
        assert_eq!(found, n, "{generation} {opcode}\n{text}");
    }
}

const BOTH: [Generation; 2] = [Generation::Gen9, Generation::Gen12];

#[test]
fn a_loop_that_ends_with_its_condition_has_no_break() {
    let body = "    %10:b32 = loop (%11:b32 = %1) {
      %12:b32 = load_buffer[align 4] %5, %11
      %13:b32 = iadd %12, %11
      %14:b1 = slt %13, %7
      if %14 {
        yield
      } else {
        break %13
      }
      continue %13
    }
    %90:b32 = iadd %10, %1";
    for generation in BOTH {
        expect(generation, body, &[(Opcode::Break, 0), (Opcode::While, 1)]);
    }
}

#[test]
fn a_conjunction_is_two_comparisons() {
    let body = "    %10:b1 = slt %7, %3
    %11:b1 = slt %1, %7
    %12:b1 = iand %10, %11
    if %12 {
      %13:b32 = bit_reverse %7
      %14:b32 = udiv %13, %7
      %15:b32 = udiv %4, %7
      store_buffer[align 4 offset 256] %5, %6, %14
      store_buffer[align 4 offset 512] %5, %6, %15
      yield
    } else {
      yield
    }
    %90:b32 = iadd %7, %1";
    for generation in BOTH {
        expect(generation, body, &[(Opcode::Cmp, 2), (Opcode::And, 0), (Opcode::Sel, 0)]);
    }
}

#[test]
fn a_disjunction_that_selects_is_two_comparisons() {
    let body = "    %10:b1 = slt %7, %3
    %11:b1 = slt %1, %7
    %12:b1 = ior %10, %11
    %90:b32 = select %12, %4, %7";
    for generation in BOTH {
        expect(generation, body, &[(Opcode::Cmp, 2), (Opcode::Or, 0), (Opcode::Sel, 1)]);
    }
}

#[test]
fn results_are_compared_with_zero_by_what_computes_them() {
    let body = "    %10:b32 = iand %7, %3
    %11:b1 = ieq %10, %0
    %90:b32 = select %11, %4, %10";
    for generation in BOTH {
        expect(generation, body, &[(Opcode::Cmp, 0), (Opcode::And, 1)]);
        let insts = code(generation, body);
        assert!(insts.iter().any(|i| i.opcode == Opcode::And && i.condition == Condition::Zero));
    }
}

#[test]
fn orders_of_sums_of_integers_are_compared_by_themselves() {
    // 0x7fffffff + 1 is less than zero, which a condition of the sum would not see.
    let body = "    %10:b32 = iadd %7, %3
    %11:b1 = slt %10, %0
    %90:b32 = select %11, %4, %10";
    for generation in BOTH {
        expect(generation, body, &[(Opcode::Cmp, 1)]);
    }
}

#[test]
fn saturation_is_part_of_arithmetic() {
    let body = "    %10:b32 = fmul %7, %7
    %90:b32 = fsat %10";
    for generation in BOTH {
        let insts = code(generation, body);
        let (muls, text) = count(&insts, Opcode::Mul);
        assert_eq!(muls, 1, "{text}");
        assert!(insts.iter().any(|i| i.opcode == Opcode::Mul && i.saturate), "{text}");
        assert_eq!(insts.iter().filter(|i| i.saturate).count(), 1, "{text}");
    }
}

#[test]
fn rotations_are_one_instruction_on_tiger_lake() {
    let body = "    %10:b32 = const[0x19]
    %11:b32 = ishl %7, %3
    %12:b32 = ushr %7, %10
    %90:b32 = ior %11, %12";
    expect(Generation::Gen12, body, &[(Opcode::Rol, 1), (Opcode::Or, 0)]);
    expect(Generation::Gen9, body, &[(Opcode::Rol, 0), (Opcode::Or, 1)]);
}

#[test]
fn products_with_words_take_one_multiplication() {
    let body = "    %10:b32 = const[0xffff]
    %11:b32 = iand %7, %10
    %12:b32 = ineg %7
    %13:b32 = imul %12, %11
    %90:b32 = iadd %13, %4";
    expect(Generation::Gen9, body, &[(Opcode::Mul, 1), (Opcode::Mad, 0)]);
    expect(Generation::Gen12, body, &[(Opcode::Mul, 0), (Opcode::Mad, 1)]);
}

#[test]
fn an_if_without_a_then_block_has_no_else() {
    let body = "    %10:b1 = flt %7, %3
    if %10 {
      yield
    } else {
      %13:b32 = bit_reverse %7
      %14:b32 = udiv %13, %7
      store_buffer[align 4 offset 256] %5, %6, %14
      yield
    }
    %90:b32 = iadd %7, %1";
    for generation in BOTH {
        expect(generation, body, &[(Opcode::If, 1), (Opcode::Else, 0), (Opcode::Endif, 1)]);
    }
}

/// Number of messages: the store of `%out`, the end of the thread, and those of the body. Nothing uses `%x` here.
fn messages(insts: &[Inst]) -> usize {
    insts.iter().filter(|inst| inst.opcode.is_send()).count()
}

#[test]
fn neighbours_in_memory_are_one_message() {
    // Elements 2 i + 1 and 2 i + 2 of workgroup memory.
    let body = "    %10:b32 = ishl %4, %1
    %11:b32 = iadd %10, %1
    %12:b32 = iadd %10, %2
    %13:b32 = ishl %11, %2
    %14:b32 = ishl %12, %2
    %15:b32 = load_shared[align 4] %13
    %16:b32 = load_shared[align 4] %14
    %90:b32 = iadd %15, %16";
    for generation in BOTH {
        let insts = code(generation, body);
        assert_eq!(messages(&insts), 2 + 1, "{generation} {}", count(&insts, Opcode::Send).1);
    }
}

#[test]
fn neighbours_are_two_messages_across_a_store_to_their_memory() {
    let body = "    %13:b32 = ishl %4, %3
    %15:b32 = load_shared[align 4 offset 4] %13
    store_shared[align 4] %6, %15
    %16:b32 = load_shared[align 4 offset 8] %13
    %90:b32 = iadd %15, %16";
    for generation in BOTH {
        let insts = code(generation, body);
        assert_eq!(messages(&insts), 2 + 3, "{generation} {}", count(&insts, Opcode::Send).1);
    }
}

#[test]
fn words_of_16_bits_come_by_double_words() {
    // Two words at a multiple of 128, and two that their offset leaves at an odd word.
    let body = |offset: u32| {
        format!(
            "    %10:b32 = ishl %4, %3
    %11:b16x2 = load_shared[align 2 offset {offset}] %10
    %12:b16 = extract[0] %11
    %13:b16 = extract[1] %11
    %14:b16 = fadd %12, %13
    %90:b32 = u2u %14"
        )
    };
    for generation in BOTH {
        for (offset, loads) in [(4, 1), (6, 2)] {
            let insts = code(generation, &body(offset));
            assert_eq!(messages(&insts), 2 + loads, "{generation} {offset}");
        }
    }
}

#[test]
fn a_fence_of_gen9_is_not_waited_for() {
    let body = "    store_shared[align 4] %6, %7
    barrier[workgroup workgroup shared]
    %90:b32 = load_shared[align 4 offset 4] %6";
    for (generation, waits) in [(Generation::Gen9, 0), (Generation::Gen12, 1)] {
        let insts = code(generation, body);
        let waited = |pair: &[Inst]| {
            pair[0].opcode.is_send() && pair[0].exec_size == 1 && pair[1].opcode == Opcode::Mov
        };
        let found = insts.windows(2).filter(|pair| waited(pair)).count();
        assert_eq!(found, waits, "{generation} {}", count(&insts, Opcode::Send).1);
    }
}

#[test]
fn a_scalar_that_becomes_an_address_is_computed_by_all_channels() {
    // The address of the buffer's end, which all channels load from.
    let body = "    %10:b32x3 = load_builtin[workgroup_id]
    %11:b32 = extract[0] %10
    %12:b32 = ishl %11, %2
    %90:b32 = load_shared[align 4] %12";
    for generation in BOTH {
        let insts = code(generation, body);
        let scalar = |i: &&Inst| i.opcode == Opcode::Shl && i.exec_size == 1;
        assert_eq!(insts.iter().filter(scalar).count(), 0, "{generation}");
    }
}

/// The two payloads of a message must not overlap: here the operand of an atomic operation is one of its coordinates.
#[test]
fn a_payload_may_be_a_part_of_the_other() {
    for coordinates in ["%5, %4", "%4, %5", "%4, %4"] {
        let body = format!(
            "    %0:b32 = const[0x0]
    %1:b32 = const[0x3]
    %2:b32 = load_builtin[local_invocation_index]
    %3:b64 = descriptor[@r0] %0
    %4:b32 = imul %2, %1
    %5:b32 = iadd %4, %1
    %6:b32x2 = vec {coordinates}
    %7:b32 = image_atomic[add 2d uint] %3, %6, %0, %4"
        );
        let image = "storage_image set 0 binding 0 count 1 2d uint";
        for generation in BOTH {
            compiled(generation, &shader(8, 0, image, &body));
        }
    }
}

/// Addresses of 64 bits are not spilled: where more are used again than there are registers, they are made again.
#[test]
fn addresses_that_do_not_fit_are_made_again() {
    const COUNT: u32 = 64;
    let mut body = String::from(
        "    %0:b32 = const[0x0]
    %1:b64 = descriptor[@r0] %0
    %2:b32 = load_builtin[local_invocation_index]
    %3:b32x2 = load_buffer[align 8] %1, %0
    %4:b64 = bitcast %3
    %5:b64 = s2s %2
    %6:b64 = iadd %4, %5
",
    );
    let value = |kind: u32, k: u32| 10 + 4 * k + kind;
    for k in 0..COUNT {
        let [offset, address, loaded] = [0, 1, 2].map(|kind| value(kind, k));
        body += &format!("    %{offset}:b64 = const[{:#x}]\n", 0x1000 * k + 4);
        body += &format!("    %{address}:b64 = iadd %6, %{offset}\n");
        body += &format!("    %{loaded}:b32 = load_global[align 1] %{address}\n");
    }
    for k in 0..COUNT {
        let (address, loaded) = (value(1, k), value(2, COUNT - 1 - k));
        body += &format!("    store_global[align 1] %{address}, %{loaded}\n");
    }
    let buffer = "storage_buffer set 0 binding 0 count 1 2d float";
    for generation in BOTH {
        compiled(generation, &shader(8, 0, buffer, &body));
    }
}
