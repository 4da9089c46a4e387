//! Vectors made by applegpu's executable semantics.
//!
//! `SEMANTICS_VECTORS=FILE cargo test … -- --ignored further_vectors` checks those of another file.

use tepui_agx_bare::address_halves;
use tepui_agx_isa::Inst;
use tepui_agx_isa::operand::{Extend, Format, Index, Size};

use crate::rig::{Case, LANES, Registers, Rig};
use crate::values;

/// A line of the file.
struct Vector {
    line: usize,
    seed: u64,
    inst: Inst,
    code: Vec<u8>,
    /// For each lane, eight bits of a hash of its registers.
    hashes: Vec<u8>,
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(hex.get(i..i + 2)?, 16).ok()).collect()
}

fn parse(text: &str) -> Vec<Vector> {
    let vector = |(i, line): (usize, &str)| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, code, seed, hashes] = fields[..] else { panic!("line {}: four fields", i + 1) };
        let code = bytes(code).expect("hexadecimal");
        let (inst, length) =
            Inst::decode(&code).unwrap_or_else(|e| panic!("line {}: {line}: {e}", i + 1));
        assert_eq!(length, code.len(), "line {}: length", i + 1);
        let hashes = bytes(hashes).expect("hexadecimal");
        assert_eq!(hashes.len(), LANES);
        Vector { line: i + 1, seed: seed.parse().expect("a seed"), inst, code, hashes }
    };
    let is_vector = |(_, line): &(usize, &str)| !line.starts_with('#') && !line.trim().is_empty();
    text.lines().enumerate().filter(is_vector).map(vector).collect()
}

/// Float results that may be NaN: first half-register, size, number of registers. Which NaN an
/// operation gives is not compared.
fn floats(inst: &Inst) -> Option<(u16, Size, u16)> {
    let d = match inst {
        Inst::Fadd16(i) => i.d,
        Inst::Fadd32(i) => i.d,
        Inst::Fmul16(i) => i.d,
        Inst::Fmul32(i) => i.d,
        Inst::Fmadd16(i) => i.d,
        Inst::Fmadd32(i) => i.d,
        Inst::DeviceLoad(i) => {
            let count = match i.format {
                Format::I8 | Format::I16 | Format::I32 | Format::F16 => return None,
                Format::Rgb10A2 => 4,
                Format::Rg11B10F | Format::Rgb9E5 => 3,
                _ => i.mask.count_ones() as u16,
            };
            return Some((i.r.reg, i.r.size, count));
        }
        _ => return None,
    };
    Some((d.reg, d.size, 1))
}

fn canonical(inst: &Inst, registers: &mut Registers) {
    let Some((first, size, count)) = floats(inst) else { return };
    for k in 0..count {
        let half = first + k * if size == Size::B16 { 1 } else { 2 };
        for word in &mut registers[usize::from(half / 2)] {
            if size == Size::B32 {
                if *word & 0x7fff_ffff > 0x7f80_0000 {
                    *word = 0x7fc0_0000;
                }
            } else {
                let shift = 16 * (half & 1);
                if *word >> shift & 0x7fff > 0x7c00 {
                    *word = (*word & !(0xffff << shift)) | 0x7e00 << shift;
                }
            }
        }
    }
}

/// Eight bits of a hash of a lane's registers; r12 and r13 hold an address in loads.
fn hash(registers: &Registers, lane: usize, loads: bool) -> u8 {
    let mut acc = 0;
    for (r, row) in registers.iter().enumerate() {
        if !(loads && (r == 12 || r == 13)) {
            acc = values::mix(acc ^ u64::from(row[lane]));
        }
    }
    acc as u8
}

/// Whether applegpu's semantics are known to differ: it extends an immediate index with its sign
/// whatever the instruction says. Mesa's driver indexes descriptors up to 65,535 with unsigned
/// immediates, and Khronos' tests of that pass on silicon (docs/unknowns.md).
fn disputed(inst: &Inst) -> bool {
    match inst {
        Inst::DeviceLoad(l) => {
            matches!(l.index, Index::Imm(n) if n < 0) && l.extend == Extend::Unsigned
        }
        _ => false,
    }
}

/// Runs the vectors of a file, but for disputed ones; returns how many ran.
fn check(text: &str) -> usize {
    let vectors: Vec<Vector> =
        parse(text).into_iter().filter(|vector| !disputed(&vector.inst)).collect();
    let mut rig = Rig::new();
    rig.uniforms = values::uniforms();
    let memory = rig.buffers(4096);
    for memory in &memory {
        memory.write_words(&values::memory()).expect("the buffer is as large");
    }
    let middle = memory[0].address() + 2048;
    for k in 0..4 {
        let at = 240 + 4 * k;
        rig.uniforms[at..at + 4].copy_from_slice(&address_halves(middle + k as u64));
    }
    let loads = |v: &Vector| matches!(v.inst, Inst::DeviceLoad(_));
    let case = |v: &Vector| {
        let mut before = values::registers(v.seed);
        if loads(v) {
            for lane in 0..LANES {
                let address = middle + values::misalignment(v.seed, lane);
                before[12][lane] = address as u32;
                before[13][lane] = (address >> 32) as u32;
            }
        }
        Case { code: v.code.clone(), before }
    };
    let cases: Vec<Case> = vectors.iter().map(case).collect();
    let mut results = rig.run(&cases);
    let mut wrong = Vec::new();
    for ((vector, case), after) in vectors.iter().zip(&cases).zip(&mut results) {
        canonical(&vector.inst, after);
        let bad: Vec<usize> = (0..LANES)
            .filter(|&lane| hash(after, lane, loads(vector)) != vector.hashes[lane])
            .collect();
        if let Some(&lane) = bad.first() {
            let lanes = |registers: &Registers| {
                registers
                    .iter()
                    .map(|row| format!("{:08x}", row[lane]))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            wrong.push(format!(
                "line {}: {}\n  lanes {bad:?}; in lane {lane}\n  before {}\n  after  {}",
                vector.line,
                vector.inst,
                lanes(&case.before),
                lanes(after)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} vectors differ:\n{}",
        wrong.len(),
        vectors.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
    vectors.len()
}

/// Vectors of the committed file that are [`disputed`].
const DISPUTED: usize = 22;

#[test]
fn the_model_agrees_with_applegpu() {
    let compared = check(include_str!("applegpu.txt"));
    assert_eq!(compared, 2700 - DISPUTED, "vectors of the committed file");
}

#[test]
#[ignore = "reads the file that SEMANTICS_VECTORS names"]
fn the_model_agrees_with_further_vectors() {
    let file = std::env::var_os("SEMANTICS_VECTORS").expect("SEMANTICS_VECTORS names a file");
    let compared = check(&std::fs::read_to_string(file).expect("the file of vectors"));
    assert!(compared > 0, "the file has no vectors");
}
