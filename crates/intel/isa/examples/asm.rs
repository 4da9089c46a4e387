fn main() {
    let mut args = std::env::args().skip(1);
    let generation = if args.next().as_deref() == Some("tgl") {
        tepui_intel_isa::Generation::Gen12
    } else {
        tepui_intel_isa::Generation::Gen9
    };
    let text = std::fs::read_to_string(args.next().unwrap()).unwrap();
    let f = if args.next().is_some() {
        tepui_intel_isa::asm::assemble_compacting
    } else {
        tepui_intel_isa::asm::assemble
    };
    match f(generation, &text) {
        Ok(code) => {
            let n = if code.len() % 16 == 0 { 16 } else { 8 };
            for c in code.chunks(n) {
                println!("{}", c.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" "));
            }
        }
        Err(e) => {
            for e in e {
                println!("{e}");
            }
            std::process::exit(1)
        }
    }
}
