//! Raises the alignment of accesses of workgroup memory to that of double words where their offsets show it.
//!
//! A front end knows the alignment of a type. That of an element of an array, at a row's start for example, follows from the
//! arithmetic of its offset; back ends then access two words of 16 bits at once.

use crate::multiples::Multiples;
use tepui_ir::{Attrs, Inst, Op, Shader};

/// The alignment of double words.
const DWORD_LOG2: u8 = 2;

/// Whether a larger alignment is of use: elements smaller than a double word, which together are one or more.
fn gains(s: &Shader, i: Inst) -> bool {
    let Attrs::Mem(m) = s.insts[i].attrs else { return false };
    let ty = match s.insts[i].op {
        Op::LoadShared => s.ty(s.result(i)),
        Op::StoreShared => s.ty(s.arg(i, 1)),
        _ => return false,
    };
    m.align_log2 < DWORD_LOG2 && ty.bits() < 32 && ty.size_bytes() >= 4
}

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    if !s.any(|s, _, i| gains(s, i)) {
        return false;
    }
    let multiples = Multiples::new(s);
    let mut aligned = Vec::new();
    s.walk(|s, _, i| {
        let Attrs::Mem(m) = s.insts[i].attrs else { return };
        let log2 = multiples.log2(s.arg(i, 0)).min(m.offset.trailing_zeros() as u8);
        if gains(s, i) && log2 >= DWORD_LOG2 {
            aligned.push(i);
        }
    });
    for &i in &aligned {
        if let Attrs::Mem(m) = &mut s.insts[i].attrs {
            m.align_log2 = DWORD_LOG2;
        }
    }
    !aligned.is_empty()
}

#[cfg(test)]
mod tests {
    use tepui_ir::{Attrs, Op};

    #[test]
    fn words_at_multiples_of_four_bytes_are_aligned_to_double_words() {
        let mut s = tepui_ir::parse(
            "shader compute \"main\" {
  workgroup_size 8 1 1
  shared_bytes 256
  body {
    %0:b32 = const[0x1]
    %1:b32 = const[0x2]
    %2:b32 = load_builtin[local_invocation_index]
    %3:b32 = ishl %2, %1
    %4:b32 = ishl %2, %0
    %5:b16x2 = load_shared[align 2 offset 8] %3
    %6:b16x2 = load_shared[align 2 offset 6] %3
    %7:b16x2 = load_shared[align 2] %4
    %8:b16 = load_shared[align 2] %3
    yield
  }
}
",
        )
        .unwrap_or_else(|e| panic!("{e}"));
        assert!(super::run(&mut s));
        let mut found = Vec::new();
        s.walk(|s, _, i| {
            if let (Op::LoadShared, Attrs::Mem(m)) = (s.insts[i].op, s.insts[i].attrs) {
                found.push(m.align_log2);
            }
        });
        assert_eq!(found, [2, 1, 1, 1]);
    }
}
