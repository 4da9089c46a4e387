//! Third-party compute shaders: machine code leaves the same memory as the interpreter.

mod rig;

use rig::{Agx, Model};
use tepui_agx_compiler::Options;
use tepui_compiler_test::corpus;

#[test]
fn compute_shaders_of_the_corpus_leave_what_the_interpreter_leaves() {
    let agx = Agx(Options { robust: true, check: true, ..Options::default() });
    corpus::run(&agx, || Model::new(false)).has(103, 66, 72);
}
