//! Runs of random instructions without a change of the execution mask, which name more registers
//! than a host may have vector registers: all ways to run them must agree.

use crate::rig::{Case, Rig};
use crate::values;

/// Instructions of a run.
const LENGTH: u64 = 48;

/// `i` is a register of integers, `f` one of floats, `h` half of one. They do not mix, except where
/// any NaN gives the same: which NaN comes of several may differ.
const FORMS: [&str; 26] = [
    "iadd i, i, i",
    "isub i, i, 77",
    "imadd i, i, i, i",
    "bitop 0110, i, i, i",
    "bitop 1011, i, i, i",
    "bitop 0100, i, i, i",
    "asr i, i, i",
    "icmpsel ult, i, i, i, i, i",
    "icmpsel sgt, i, i, i, i, i",
    "fcmpsel gt, i, f, f, i, i",
    "fcmpsel eq, i, f, h, i, i",
    "mov i, i",
    "convert f_to_u32, i, f, rtz",
    "convert u32_to_f, f, i, rte",
    "fmadd32 f, f, f, f",
    "fmadd32 f, f.neg, f, 20.0",
    "fmadd32 f, f, f.neg, f",
    "fmadd32 f, f, h, 0.5",
    "fadd32 f, f, f",
    "fadd32 f, f.abs, f",
    "fadd32 h, f, h.neg",
    "fmul32 h, h, f",
    "fmul32 f, f, f",
    "rcp f, f",
    "rsqrt f, f",
    "exp2 f, f",
];

fn text(seed: u64) -> String {
    let mut state = seed;
    let mut random = move |n: u64| {
        state = values::mix(state);
        state % n
    };
    let mut text = String::new();
    for _ in 0..LENGTH {
        let form = FORMS[random(FORMS.len() as u64) as usize];
        let (name, operands) = form.split_once(' ').expect("operands");
        let operands: Vec<String> = operands
            .split(", ")
            .map(|operand| {
                let register = match operand.as_bytes()[0] {
                    b'i' => format!("r{}", 1 + random(8)),
                    b'f' if !operand.starts_with("f_to") => format!("r{}", 9 + random(5)),
                    b'h' => format!("r{}{}", 14 + random(2), ["l", "h"][random(2) as usize]),
                    _ => return operand.to_owned(),
                };
                register + &operand[1..]
            })
            .collect();
        text += &format!("{name} {}\n", operands.join(", "));
    }
    text
}

#[test]
fn runs_of_many_registers_agree() {
    let cases: Vec<Case> =
        (0..64).map(|seed| Case::new(&text(seed), values::registers(seed))).collect();
    // The rig compares.
    Rig::new().run(&cases);
}
