//! Text tests of selection, allocation and packing: a shader in IR, and after `; expect` the
//! machine IR after the pass that `; until:` names, or with `; until: asm` the listing. `; for:
//! tile FORMAT` compiles a fragment shader for a render target, instead of the main part of its
//! stage. `BLESS=1` rewrites the expectations.

use std::path::Path;
use tepui_agx_compiler::abi::tile::Tile;
use tepui_agx_compiler::abi::{self, Colours, Interface};
use tepui_agx_compiler::{Options, Snapshot, compile_part, lower};
use tepui_agx_isa::disasm::Disassembler;

fn listing(code: &[u8]) -> String {
    Disassembler::new(code)
        .map(|l| l.text())
        .enumerate()
        .take_while(|(_, t)| t != "trap")
        .map(|(_, t)| format!("{t}\n"))
        .collect()
}

/// The interface that a file is compiled for.
fn interface(input: &str, stage: tepui_ir::Stage) -> Interface {
    let Some(line) = input.lines().find_map(|l| l.strip_prefix("; for: tile ")) else {
        return Interface::main(stage);
    };
    let format = line.trim().parse().unwrap_or_else(|_| panic!("{line} is no format"));
    let colours = Colours::Tile(Box::new(Tile::single(format)));
    Interface::Fragment(abi::Fragment { colours, ..abi::Fragment::default() })
}

#[test]
fn files() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (input, want) = text.split_once("; expect\n").unwrap_or((&text, ""));
        let until = input
            .lines()
            .find_map(|l| l.strip_prefix("; until:"))
            .expect("a line `; until:`")
            .trim();
        let mut s = tepui_ir::parse(input).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let interface = interface(input, s.info.stage);
        tepui_agx_compiler::abi::colour::run(&mut s, &interface)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        lower(&mut s, &Options::default(), &mut |_, _| {});
        let mut got = None;
        let mut after = |name: &'static str, made: Snapshot<'_>| {
            if let (true, Snapshot::Mir(m)) = (name == until, made) {
                got = Some(m.to_string());
            }
        };
        let options = Options { check: true, ..Options::default() };
        let p = compile_part(&s, &options, &interface, &mut after)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        if until == "asm" {
            let preamble =
                p.preamble.as_deref().map(|c| format!("# preamble\n{}# main\n", listing(c)));
            let table = p.table.to_string();
            got = Some(preamble.unwrap_or_default() + &listing(&p.code) + &table);
        }
        let got = got.unwrap_or_else(|| panic!("{}: there is no pass {until}", path.display()));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, format!("{input}; expect\n{got}")).unwrap();
        } else {
            assert_eq!(got, want, "{}: run with BLESS=1 to accept", path.display());
        }
    }
}
