fn main() {
    let mut counts = std::collections::BTreeMap::new();
    for f in std::env::args().skip(1) {
        let code = std::fs::read(&f).unwrap();
        let r = tepui_intel_eu::Program::from_bytes(tepui_intel_isa::Generation::Gen9, 0, &code);
        let k = match r { Ok(_) => "ok".to_owned(), Err(e) => e.kind.to_string() };
        *counts.entry(k).or_insert(0) += 1;
    }
    println!("{counts:#?}");
}
