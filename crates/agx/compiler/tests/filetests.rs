//! Text tests of selection, allocation and packing: a shader in IR, and after `; expect` the
//! machine IR after the pass that `; until:` names, or with `; until: asm` the listing. `; for:
//! tile FORMAT` compiles a fragment shader for a render target, instead of the main part of its
//! stage. `BLESS=1` rewrites the expectations.

use std::path::Path;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{self, Colours, Interface};
use tepui_agx_compiler::{Options, Snapshot, compile_part, lower};
use tepui_agx_isa::disasm::Disassembler;
use tepui_compiler_test::filetests::{self, Input};

fn listing(code: &[u8]) -> String {
    Disassembler::new(code)
        .map(|l| l.text())
        .enumerate()
        .take_while(|(_, t)| t != "trap")
        .map(|(_, t)| format!("{t}\n"))
        .collect()
}

/// The interface that a file is compiled for.
fn interface(input: &Input) -> Interface {
    let Some(target) = input.option("for") else {
        return Interface::main(input.shader.info.stage);
    };
    let format = target.strip_prefix("tile ").and_then(|f| f.parse().ok());
    let format = format.unwrap_or_else(|| panic!("{target} is no target"));
    let colours = Colours::Tile(Box::new(Tile::single(format)));
    Interface::Fragment(abi::Fragment { colours, ..abi::Fragment::default() })
}

fn output(input: &Input) -> Result<String, String> {
    let until = input.option("until").ok_or("a line `; until:` is missing")?;
    let mut s = input.shader.clone();
    let interface = interface(input);
    abi::colour::run(&mut s, &interface).map_err(|e| e.to_string())?;
    lower(&mut s, &Options::default(), &mut |_, _| {});
    let mut got = None;
    let mut after = |name: &'static str, made: Snapshot<'_>| {
        if let (true, Snapshot::Mir(m)) = (name == until, made) {
            got = Some(m.to_string());
        }
    };
    let options = Options { check: true, ..Options::default() };
    let p = compile_part(&s, &options, &interface, &mut after).map_err(|e| e.to_string())?;
    if until == "asm" {
        let preamble = p.preamble.as_deref().map(|c| format!("# preamble\n{}# main\n", listing(c)));
        let table = p.table.to_string();
        got = Some(preamble.unwrap_or_default() + &listing(&p.code) + &table);
    }
    got.ok_or_else(|| format!("there is no pass {until}"))
}

#[test]
fn files() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    assert!(filetests::run(&directory, output) > 0);
}
