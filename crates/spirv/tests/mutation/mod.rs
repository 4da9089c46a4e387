//! Edits of a module's words, and what must hold for whatever they make of it.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tepui_passes::pipeline::Pipeline;
use tepui_spirv::{Options, translate};

/// An edit: a word, a number, and what becomes of them.
pub type Edit = (Index, u32, u8);

/// Some edits.
pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    vec((any::<Index>(), any::<u32>(), 0u8..6), 1..6)
}

/// An edited module is refused, or becomes a valid shader that stays one.
pub fn check(module: &[u32], edits: Vec<Edit>) -> Result<(), TestCaseError> {
    let mut words = module.to_vec();
    for (at, x, how) in edits {
        let i = at.index(words.len());
        match how {
            0 => words[i] = x,
            1 => words[i] ^= 1 << (x % 32),
            2 => words[i] = x % 64,
            3 => words[i] = words[x as usize % words.len()],
            4 => _ = words.remove(i),
            _ => words.swap(i, x as usize % module.len().min(module.len() - 8)),
        }
        if words.len() < 8 {
            break;
        }
    }
    let Ok(mut s) = translate(&words, &Options::default()) else { return Ok(()) };
    prop_assert!(tepui_ir::validate(&s).is_ok(), "{:?}\n{}", tepui_ir::validate(&s), s);
    tepui_passes::pipeline::optimise(&mut s);
    let after = &mut |_: &'static str, _: &tepui_ir::Shader| {};
    let mut pipeline = Pipeline::new(None, after);
    if tepui_passes::target::lower(&mut s, &Default::default(), &mut pipeline).is_ok() {
        prop_assert!(tepui_ir::validate(&s).is_ok(), "{:?}\n{}", tepui_ir::validate(&s), s);
    }
    Ok(())
}
