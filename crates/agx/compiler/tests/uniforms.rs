//! Programs that need more uniform registers than there are, unless they do without a preamble.

mod rig;

use rig::{Agx, Model};
use std::fmt::Write as _;
use tepui_agx_compiler::Options;
use tepui_compiler_test::{Compiler as _, Executor as _};
use tepui_ir::Shader;
use tepui_ir::interp::{Group, Memory, run};

/// Buffers that are read; their addresses take 440 half-registers, and a preamble's results 192 more.
const BUFFERS: u32 = 109;
const LANES: u32 = 32;

/// Adds up a word of each buffer times a word that all lanes read.
fn shader() -> Shader {
    let mut text = format!(
        "shader compute \"main\" {{
  workgroup_size {LANES} 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"\n"
    );
    for k in 1..=BUFFERS {
        writeln!(text, "  resource uniform_buffer set 0 binding {k} count 1 2d float \"\"")
            .expect("memory");
    }
    text += "  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x2]
    %2:b32 = load_builtin[local_invocation_index]
    %3:b32 = ishl %2, %1
    %4:b64 = descriptor[@r0] %0
    %9:b32 = iadd %0, %0\n";
    for k in 1..=BUFFERS {
        let [sum, handle, all, own, product, next] = [9, 5, 6, 7, 8, 19].map(|n| n + 10 * (k - 1));
        writeln!(
            text,
            "    %{handle}:b64 = descriptor[@r{k}] %0
    %{all}:b32 = load_buffer[align 4 const] %{handle}, %0
    %{own}:b32 = load_buffer[align 4] %{handle}, %3
    %{product}:b32 = imul %{all}, %{own}
    %{next}:b32 = iadd %{sum}, %{product}"
        )
        .expect("memory");
    }
    writeln!(text, "    store_buffer[align 4] %4, %3, %{}\n    yield\n  }}\n}}", 9 + 10 * BUFFERS)
        .expect("memory");
    let s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{text}"));
    s
}

#[test]
fn addresses_of_many_buffers_displace_the_preamble() {
    let s = shader();
    let mut start = Memory::default();
    for k in 0..=BUFFERS {
        let words: Vec<u32> = (0..LANES).map(|n| 3 * k + 7 * n).collect();
        start.set_words(0, k, &words);
    }
    let mut want = start.clone();
    run(&s, &Group::workgroup(&s, [0; 3], [1; 3]), &mut want, 1 << 20).expect("runs");
    let agx = Agx(Options { check: true, ..Options::default() });
    let mut own = s.clone();
    agx.prepare(&mut own);
    let program = agx.compile(&own).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(program.program.preamble.is_none());
    let mut got = start;
    let ran = Model::new(true).execute(&program, &s, &mut got, [1; 3]);
    ran.unwrap_or_else(|e| panic!("{e:?}"));
    assert_eq!(got.words(0, 0), want.words(0, 0));
}
