//! `else if` and `switch`: a condition of a chain is one instruction, in loops that arms leave too, and threads take the arms that the
//! interpreter takes.

use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, Program, compile};
use tepui_agx_isa::disasm::Disassembler;
use tepui_ir::Shader;
use tepui_ir::interp::{Memory, dispatch};

/// Threads of the workgroup.
const THREADS: u32 = 64;

/// Each thread counts on in a loop; what it adds is found by a chain, of which one arm leaves the loop, one the iteration, and
/// one has a chain of its own.
const SOURCE: &str = "shader compute \"main\" {
  workgroup_size 64 1 1
  resource storage_buffer set 0 binding 0 count 1 2d uint \"x\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x1]
    %2:b32 = const[0x2]
    %3:b32 = const[0x3]
    %4:b32 = const[0x7]
    %5:b32 = const[0x40]
    %6:b32 = load_builtin[local_invocation_index]
    %7:b64 = descriptor[@r0] %0
    %8:b32 = ishl %6, %2
    %9:b32 = load_buffer[align 4] %7, %8
    %10:b32 = loop (%11:b32 = %0, %12:b32 = %9) {
      %13:b1 = ult %11, %5
      if %13 {
        yield
      } else {
        break %12
      }
      %14:b32 = iand %12, %4
      %15:b32 = iadd %11, %1
      %16:b1 = ieq %14, %0
      %17:b1 = ieq %14, %1
      %18:b1 = ieq %14, %2
      %19:b1 = ieq %14, %3
      %20:b1 = ult %12, %5
      %21:b32 = if %16 {
        %22:b32 = ishl %12, %1
        %23:b32 = load_buffer[align 4] %7, %0
        %24:b32 = iadd %22, %23
        yield %24
      } else {
        %25:b32 = if %17 {
          %26:b32 = imul %12, %12
          store_buffer[align 4 offset 256] %7, %8, %26
          if %20 {
            break %26
          }
          yield %26
        } else {
          %27:b32 = if %18 {
            store_buffer[align 4 offset 512] %7, %8, %15
            %28:b32 = iadd %12, %4
            continue %15, %28
          } else {
            %29:b32 = if %19 {
              %30:b32 = load_buffer[align 4] %7, %8
              %31:b1 = ult %30, %12
              %32:b32 = if %31 {
                store_buffer[align 4 offset 768] %7, %8, %12
                yield %30
              } else {
                %33:b1 = ult %30, %5
                %34:b32 = if %33 {
                  store_buffer[align 4 offset 768] %7, %8, %5
                  yield %4
                } else {
                  store_buffer[align 4 offset 1024] %7, %8, %12
                  yield %11
                }
                yield %34
              }
              %35:b32 = ixor %32, %12
              yield %35
            } else {
              store_buffer[align 4 offset 1280] %7, %8, %12
              %36:b32 = iadd %12, %3
              yield %36
            }
            yield %29
          }
          yield %27
        }
        yield %25
      }
      continue %15, %21
    }
    store_buffer[align 4] %7, %8, %10
    yield
  }
}
";

fn words() -> Vec<u32> {
    let input = |k: u32| k.wrapping_mul(0x9e37_79b9) >> (k % 31);
    (0..6 * THREADS).map(|k| if k < THREADS { input(k) } else { 0 }).collect()
}

fn compiled(s: &Shader) -> Program {
    compile(&mut s.clone(), &Options { check: true, ..Options::default() })
        .unwrap_or_else(|e| panic!("{e}"))
}

fn count(p: &Program, mnemonic: &str) -> usize {
    let lines = Disassembler::new(&p.code).map(|line| line.to_string());
    lines.filter(|line| line.contains(mnemonic)).count()
}

#[test]
fn threads_take_their_arms() {
    let s = tepui_ir::parse(SOURCE).unwrap_or_else(|e| panic!("{e}"));
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}"));
    let p = compiled(&s);
    let listing: String = Disassembler::new(&p.code).map(|l| format!("{l}\n")).collect();
    assert!(count(&p, "else_icmp") >= 2, "{listing}");
    let mut m = Memory::default();
    m.set_words(0, 0, &words());
    dispatch(&s, [1; 3], &mut m, 1 << 24).unwrap_or_else(|e| panic!("{e}"));
    let options = tepui_agx_model::Options {
        uninitialised: tepui_agx_model::POISON,
        check: true,
        ..Default::default()
    };
    let mut machine = Machine::new(options).expect("a machine");
    let buffer = machine.buffer(4 * words().len()).expect("a buffer");
    buffer.write_words(&words()).expect("it can be written");
    let mut bindings = shader::Bindings::default();
    bindings.buffers.insert((0, 0, 0), buffer.clone());
    let stats = shader::run(&mut machine, &p, &bindings, [1; 3]).expect("the program runs");
    assert!(stats.reports.is_empty(), "{:?}", stats.reports);
    assert_eq!(buffer.read_words().expect("it can be read"), m.words(0, 0));
    // Every arm was taken.
    let stored = m.words(0, 0);
    for part in stored.chunks(THREADS as usize) {
        assert!(part.iter().any(|&w| w != 0));
    }
}
