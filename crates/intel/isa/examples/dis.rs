fn main() {
    let mut args = std::env::args().skip(1);
    let generation = if args.next().as_deref() == Some("tgl") {
        tepui_intel_isa::Generation::Gen12
    } else {
        tepui_intel_isa::Generation::Gen9
    };
    let code = std::fs::read(args.next().unwrap()).unwrap();
    let end = if args.next().is_some() {
        tepui_intel_isa::disasm::end(generation, &code)
    } else {
        code.len()
    };
    print!("{}", tepui_intel_isa::disasm::program(generation, &code[..end]));
}
