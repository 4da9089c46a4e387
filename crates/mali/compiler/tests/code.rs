//! Machine code of small shaders.

mod rig;

use rig::{CHIPS, Model, Valhall, options};
use tepui_compiler_test::{Compiler, Executor};
use tepui_ir::interp::Memory;
use tepui_mali_compiler::interface::PUSHED_WORDS;
use tepui_mali_compiler::{FauWord, Options};
use tepui_mali_isa::disasm;
use tepui_sysval::SystemValue;

/// Adds two arrays.
const SUM: &str = "shader compute \"main\" {
  workgroup_size 32 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  resource storage_buffer set 0 binding 1 count 1 2d float \"\"
  resource storage_buffer set 0 binding 2 count 1 2d float \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x2]
    %2:b32x3 = load_builtin[global_invocation_id]
    %3:b32 = extract[0] %2
    %4:b64 = descriptor[@r0] %0
    %5:b64 = descriptor[@r1] %0
    %6:b64 = descriptor[@r2] %0
    %7:b32 = ishl %3, %1
    %8:b32 = load_buffer[align 4] %4, %7
    %9:b32 = load_buffer[align 4] %5, %7
    %10:b32 = fadd %8, %9
    store_buffer[align 4] %6, %7, %10
    yield
  }
}
";

#[test]
fn arrays_are_added() {
    let mut s = tepui_ir::parse(SUM).expect("valid text");
    let first = s.clone();
    let compiler = Valhall::new(options());
    compiler.prepare(&mut s);
    let program = compiler.compile(&s).expect("a program");
    let mut memory = Memory::default();
    let floats =
        |f: &dyn Fn(u32) -> f32| (0..64).flat_map(|k| f(k).to_le_bytes()).collect::<Vec<u8>>();
    memory.buffers.insert((0, 0, 0), floats(&|k| k as f32));
    memory.buffers.insert((0, 1, 0), floats(&|k| 0.5 - 3.0 * k as f32));
    memory.buffers.insert((0, 2, 0), vec![0; 256]);
    for chip in CHIPS {
        Model::new(chip).execute(&program, &first, &mut memory, [2, 1, 1]).expect("it runs");
    }
    assert_eq!(memory.buffers[&(0, 2, 0)], floats(&|k| 0.5 - 2.0 * k as f32));
    let text = disasm::program(&program.program.code);
    assert_eq!(program.program.stats.instructions, 6, "{text}");
    assert_eq!(program.program.preload, 1 << (60 - 48));
}

/// Clients may dispatch it, and the hardware executes a program until an instruction ends it.
#[test]
fn a_program_without_instructions_ends() {
    let text = "shader compute \"main\" {\n  workgroup_size 1 1 1\n  body {\n    yield\n  }\n}\n";
    let mut s = tepui_ir::parse(text).expect("valid text");
    let first = s.clone();
    let compiler = Valhall::new(options());
    compiler.prepare(&mut s);
    let program = compiler.compile(&s).expect("a program");
    for chip in CHIPS {
        let mut memory = Memory::default();
        Model::new(chip).execute(&program, &first, &mut memory, [2, 1, 1]).expect("it runs");
    }
    assert_eq!(disasm::program(&program.program.code).lines().count(), 1);
}

/// Runs a compute shader of 16 invocations whose body has the given text after `%index`, the number of the invocation, `%at`, the offset of its
/// word, and `%in` and `%out`, buffers 0 and 1.
fn run(
    body: &str,
    push: &[u32],
    input: &[u32],
    output: usize,
    options: Options<'static>,
) -> Vec<u32> {
    let text = format!(
        "shader compute \"main\" {{
  workgroup_size 16 1 1
  push_bytes 64
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  resource storage_buffer set 0 binding 1 count 1 2d float \"\"
  body {{
    %0:b32 = const[0x0]
    %1:b32 = const[0x2]
    %2:b32 = load_builtin[local_invocation_index]
    %3:b32 = ishl %2, %1
    %4:b64 = descriptor[@r0] %0
    %5:b64 = descriptor[@r1] %0
{body}
    yield
  }}
}}
"
    );
    let mut s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let first = s.clone();
    let compiler = Valhall::new(options);
    compiler.prepare(&mut s);
    let program = compiler.compile(&s).expect("a program");
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let mut memory = Memory { push: bytes(push), ..Memory::default() };
    memory.buffers.insert((0, 0, 0), bytes(input));
    memory.buffers.insert((0, 1, 0), vec![0; 4 * output]);
    for chip in CHIPS {
        Model::new(chip).execute(&program, &first, &mut memory, [1; 3]).expect("it runs");
    }
    let out = &memory.buffers[&(0, 1, 0)];
    out.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect()
}

#[test]
fn push_constants_are_read_at_any_offset() {
    let push: Vec<u32> = (0..16).map(|k| 100 + k).collect();
    let input: Vec<u32> = (0..16).map(|k| 15 - k).collect();
    let body = "    %6:b32 = load_buffer[align 4] %4, %3
    %7:b32 = ishl %6, %1
    %8:b32 = load_push[align 4] %7
    store_buffer[align 4] %5, %3, %8";
    let out = run(body, &push, &input, 16, options());
    assert_eq!(out, (0..16).map(|k| 115 - k).collect::<Vec<u32>>());
}

/// Words of the driver's data that a shader reads itself stay where they are; those of uniform buffers that are moved there follow.
#[test]
fn words_of_uniform_buffers_follow_those_of_the_driver() {
    let text = "shader compute \"main\" {
  workgroup_size 16 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  resource uniform_buffer set 0 binding 1 count 1 2d float \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x4]
    %2:b64 = descriptor[@r0] %0
    %3:b64 = descriptor[@r1] %0
    %4:b32 = load_uniform[align 4] %1
    %5:b32 = load_buffer[align 4 const nonwritable] %3, %1
    %6:b32 = iadd %4, %5
    store_buffer[align 4] %2, %0, %6
    yield
  }
}
";
    let mut s = tepui_ir::parse(text).expect("valid text");
    let options = Options { pushed_words: PUSHED_WORDS, ..options() };
    let program = tepui_mali_compiler::compile(&mut s, &options).expect("a program");
    let driver = FauWord::System(SystemValue::Driver { offset: 4 }, 0);
    let buffer = FauWord::Buffer { set: 0, binding: 1, element: 0, word: 1 };
    let mut words = program.fau;
    words.retain(|w| !matches!(w, FauWord::Address { .. } | FauWord::Unused));
    assert_eq!(words, [driver, buffer]);
}

/// The number of a lane is a word that instructions read as they read uniforms, but each lane has its own.
#[test]
fn lanes_differ_in_their_numbers() {
    let neighbour = "    %6:b32 = const[0x1]
    %7:b32 = load_builtin[subgroup_invocation_id]
    %8:b32 = shuffle_xor %7, %6
    store_buffer[align 4] %5, %3, %8";
    let lanes: Vec<u32> = (0..16).map(|n| n ^ 1).collect();
    assert_eq!(run(neighbour, &[], &[], 16, options()), lanes);
}

/// Each invocation stores four words from its own on; the last ones are past the end.
#[test]
fn stores_past_the_end_leave_what_is_inside() {
    let body = "    %6:b32x4 = vec %2, %2, %2, %2
    %7:b32 = ishl %3, %1
    store_buffer[align 4] %5, %7, %6";
    let out = run(body, &[], &[0; 16], 30, Options { robust: true, ..options() });
    assert_eq!(out[..28], (0..28).map(|k| k / 4).collect::<Vec<u32>>());
}
