//! Prepares modules for both sides of a comparison: bindings in one set without gaps, and other
//! specialisation constants.

use std::collections::{BTreeSet, HashMap};

const HEADER: usize = 5;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_SPEC_CONSTANT_TRUE: u32 = 48;
const OP_SPEC_CONSTANT_FALSE: u32 = 49;
const OP_SPEC_CONSTANT: u32 = 50;
const OP_DECORATE: u32 = 71;
const SPEC_ID: u32 = 1;
const BINDING: u32 = 33;
const DESCRIPTOR_SET: u32 = 34;

/// The place, opcode and operands of each instruction.
fn instructions(words: &[u32]) -> impl Iterator<Item = (usize, u32, &[u32])> {
    let mut at = HEADER;
    std::iter::from_fn(move || {
        let first = *words.get(at)?;
        let start = at;
        at += ((first >> 16) as usize).max(1);
        Some((start, first & 0xffff, words.get(start + 1..at)?))
    })
}

/// The module with all variables in set 0, at bindings 0, 1, 2, … in the order of their sets and
/// bindings.
pub fn flatten(words: &[u32]) -> Vec<u32> {
    let mut places: HashMap<u32, (u32, u32)> = HashMap::new();
    for (_, op, args) in instructions(words) {
        match (op, args) {
            (OP_DECORATE, &[id, DESCRIPTOR_SET, set]) => places.entry(id).or_default().0 = set,
            (OP_DECORATE, &[id, BINDING, n]) => places.entry(id).or_default().1 = n,
            _ => {}
        }
    }
    let all: BTreeSet<(u32, u32)> = places.values().copied().collect();
    let mut out = words.to_vec();
    for (at, op, args) in instructions(words) {
        if let (OP_DECORATE, &[id, what @ (DESCRIPTOR_SET | BINDING), _]) = (op, args) {
            let n = all.range(..places[&id]).count() as u32;
            out[at + 3] = if what == BINDING { n } else { 0 };
        }
    }
    out
}

/// Another value for each specialisation constant of 32 bits, by id: other truth values, integers
/// one larger, floats half as large again.
pub fn other_constants(words: &[u32]) -> Vec<(u32, u32)> {
    let mut ids = HashMap::new();
    let (mut floats, mut integers) = (BTreeSet::new(), BTreeSet::new());
    let mut out = Vec::new();
    for (_, op, args) in instructions(words) {
        match (op, args) {
            (OP_DECORATE, &[id, SPEC_ID, n]) => {
                ids.insert(id, n);
            }
            (OP_TYPE_INT, &[id, 32, _]) => {
                integers.insert(id);
            }
            (OP_TYPE_FLOAT, &[id, 32, ..]) => {
                floats.insert(id);
            }
            (OP_SPEC_CONSTANT_TRUE | OP_SPEC_CONSTANT_FALSE, &[_, id]) => {
                let n = ids.get(&id).map(|&n| (n, u32::from(op == OP_SPEC_CONSTANT_FALSE)));
                out.extend(n);
            }
            (OP_SPEC_CONSTANT, &[ty, id, x]) => {
                let new = match (integers.contains(&ty), floats.contains(&ty)) {
                    (true, _) => x + 1,
                    (_, true) => (f32::from_bits(x) * 1.5).to_bits(),
                    _ => continue,
                };
                out.extend(ids.get(&id).map(|&n| (n, new)));
            }
            _ => {}
        }
    }
    out
}
