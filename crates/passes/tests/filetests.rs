//! Text tests: `; passes: a b c`, a shader, `; expect`, the shader that must come out. `BLESS=1`
//! rewrites the expectations.

use std::path::Path;
use tepui_ir::{Image, Op, Value};
use tepui_passes::null_images::{self, NullDescriptors};
use tepui_passes::pipeline::{self, Pass};
use tepui_passes::rewrite::Emit;

/// Passes over traits of a GPU, for one whose null descriptors are at address 0.
const OF_A_GPU: &[Pass] =
    &[Pass { name: "null_images", run: |s| null_images::run(s, &mut AtAddressZero) }];

struct AtAddressZero;

impl NullDescriptors for AtAddressZero {
    const OUTSIDE: u32 = 0xffff;

    fn is_present(&mut self, e: &mut Emit, handle: Value, _: Image) -> Option<Value> {
        let address = e.op(Op::DescriptorAddress, &[handle]);
        let zero = e.konst(e.ty(address), 0);
        Some(e.op(Op::INe, &[address, zero]))
    }
}

#[test]
fn files() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let mut untested: Vec<&str> = pipeline::PASSES.iter().chain(OF_A_GPU).map(|p| p.name).collect();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (input, want) = text.split_once("; expect\n").unwrap_or((&text, ""));
        let passes =
            input.lines().find_map(|l| l.strip_prefix("; passes:")).expect("a line `; passes:`");
        let mut s = tepui_ir::parse(input).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for p in passes.split_whitespace() {
            untested.retain(|name| *name != p);
            let pass = pipeline::find(p)
                .or_else(|| OF_A_GPU.iter().find(|of| of.name == p).copied())
                .unwrap_or_else(|| panic!("{}: no pass {p}", path.display()));
            (pass.run)(&mut s);
            tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{}, after {p}: {e}", path.display()));
        }
        let got = s.to_string();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, format!("{input}; expect\n{got}")).unwrap();
        } else {
            assert_eq!(got, want, "{}: run with BLESS=1 to accept", path.display());
        }
    }
    assert!(untested.is_empty(), "no file tests {untested:?}");
}
