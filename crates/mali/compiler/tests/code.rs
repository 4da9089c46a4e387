//! Machine code of small shaders.

mod rig;

use rig::{Model, Valhall, options};
use tepui_compiler_test::{Compiler, Executor};
use tepui_ir::interp::Memory;
use tepui_mali_isa::disasm;

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
    let compiler = Valhall(options());
    compiler.prepare(&mut s);
    let program = compiler.compile(&s).expect("a program");
    let mut memory = Memory::default();
    let floats =
        |f: &dyn Fn(u32) -> f32| (0..64).flat_map(|k| f(k).to_le_bytes()).collect::<Vec<u8>>();
    memory.buffers.insert((0, 0, 0), floats(&|k| k as f32));
    memory.buffers.insert((0, 1, 0), floats(&|k| 0.5 - 3.0 * k as f32));
    memory.buffers.insert((0, 2, 0), vec![0; 256]);
    Model::new().execute(&program, &first, &mut memory, [2, 1, 1]).expect("it runs");
    assert_eq!(memory.buffers[&(0, 2, 0)], floats(&|k| 0.5 - 2.0 * k as f32));
    let text = disasm::program(&program.program.code);
    assert_eq!(program.program.stats.instructions, 7, "{text}");
    assert_eq!(program.program.preload, 1 << (60 - 48));
}
