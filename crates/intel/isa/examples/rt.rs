use tepui_intel_isa::{Generation, asm, disasm};
fn main() {
    let mut args = std::env::args().skip(1);
    let g =
        if args.next().as_deref() == Some("tgl") { Generation::Gen12 } else { Generation::Gen9 };
    let (mut ok, mut bad) = (0, 0);
    for f in args {
        let code = std::fs::read(&f).unwrap();
        let text = disasm::program(g, &code);
        match asm::assemble(g, &text) {
            Ok(c) if c == code => ok += 1,
            Ok(_) => {
                bad += 1;
                println!("{f} differs");
            }
            Err(e) => {
                bad += 1;
                println!("{f} {}", e[0]);
            }
        }
    }
    println!("ok {ok} bad {bad}");
}
