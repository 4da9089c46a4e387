//! Chooses ports and constants for the tuples of a clause.
//!
//! Reads of a tuple and writes of the previous one share four ports. Constants are collected first: each tuple chooses
//! one of 64 bits, whose words several tuples may share. The target of a branch is an offset in an upper word, with the
//! modifier that adds the clause's address to it.
//!
// source: Mesa, bi_pack.c (bi_assign_slots), bi_schedule.c (bi_apply_constant_modifiers).

use std::collections::HashMap;

use arrayvec::ArrayVec;

use super::AsmErrorKind as Kind;
use super::parse::{DraftClause, DraftInst, SourceName};
use crate::bifrost::clause::{
    Clause, MAX_CONSTANTS, MAX_TUPLES, Tuple, WORD_BYTES, has_inner_constant,
};
use crate::bifrost::disasm::Fau;
use crate::bifrost::error::{ClauseError, InstError};
use crate::bifrost::inst::{Inst, Port};
use crate::bifrost::registers::{Access, Ports};

/// A clause before the addresses of labels are known.
pub(super) struct UnlinkedClause {
    clause: Clause,
    /// Its words.
    pub words: usize,
    /// The constant that holds the offset of a label.
    target: Option<(usize, String)>,
}

/// The number of a modifier that adds the clause's address to the upper word.
const PC_HIGH: u8 = 4;

/// Constraints on the lower and the upper word of a tuple's constant.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct WordConstraints {
    low: Option<u32>,
    high: Option<u32>,
    /// The upper word is the offset of a label.
    target: bool,
}

impl WordConstraints {
    /// The conjunction of both constraints, if one constant can satisfy them.
    fn merge(self, other: WordConstraints) -> Option<WordConstraints> {
        let same = |a: Option<u32>, b: Option<u32>, mask: u32| match (a, b) {
            (Some(a), Some(b)) if (a ^ b) & mask != 0 => None,
            _ => Some(a.or(b)),
        };
        if self.target != other.target && self.high.is_some() && other.high.is_some() {
            return None;
        }
        // The lowest four bits are separate for each tuple.
        let low = same(self.low, other.low, !15)?;
        let high = same(self.high, other.high, !0)?;
        Some(WordConstraints { low, high, target: self.target || other.target })
    }
}

pub(super) fn pack(draft: &DraftClause) -> Result<UnlinkedClause, Kind> {
    let count = draft.insts.len() / 2;
    if count == 0 || count > MAX_TUPLES || !draft.insts.len().is_multiple_of(2) {
        return Err(ClauseError::Count { what: "tuples", count }.into());
    }
    let mut header = draft.header;
    header.staging = draft.staging.unwrap_or(0);
    let (choices, constants, target) = constants(draft)?;
    let first_modifiers = match &target {
        Some((0, _)) if has_inner_constant(count) => PC_HIGH,
        _ => 0,
    };
    let mut clause = Clause { header, tuples: ArrayVec::new(), constants, first_modifiers };
    for (index, choice) in choices.iter().enumerate() {
        let previous = if index == 0 { count - 1 } else { index - 1 };
        clause.tuples.push(tuple(draft, index, previous, choice)?);
    }
    let words = clause.encode()?.len() / WORD_BYTES;
    Ok(UnlinkedClause { clause, words, target })
}

impl UnlinkedClause {
    /// The bytes, given the clause's position in the program.
    pub fn finish(mut self, place: usize, labels: &HashMap<&str, usize>) -> Result<Vec<u8>, Kind> {
        if let Some((index, label)) = &self.target {
            let to = labels.get(label.as_str());
            let to = *to.ok_or_else(|| Kind::UnknownLabel(label.clone()))?;
            let offset = (to as i64 - place as i64) * WORD_BYTES as i64;
            let high = offset as u32 & 0x0fff_ffff;
            self.clause.constants[*index] |= u64::from(high) << 32;
        }
        Ok(self.clause.encode()?)
    }
}

/// The uniforms, constant or special value that a tuple's byte selects, and whether the tuple's words are
/// exchanged.
struct FauChoice {
    fau: Fau,
    words: WordConstraints,
}

type ChosenConstants = (Vec<FauChoice>, ArrayVec<u64, MAX_CONSTANTS>, Option<(usize, String)>);

/// Chooses constants for all tuples.
fn constants(draft: &DraftClause) -> Result<ChosenConstants, Kind> {
    let mut wanted = Vec::new();
    let mut label = None;
    for pair in draft.insts.chunks(2) {
        let mut fau = None;
        let mut values: ArrayVec<u32, 2> = ArrayVec::new();
        let mut target = false;
        for source in pair.iter().flat_map(|inst| &inst.sources) {
            match source {
                SourceName::Fau(chosen, _) if fau.is_none_or(|f| f == *chosen) => {
                    fau = Some(*chosen)
                }
                SourceName::Fau(..) => return Err(Kind::Fau),
                SourceName::Constant(value) if !values.contains(value) => {
                    values.try_push(*value).map_err(|_| Kind::Fau)?;
                }
                SourceName::Label(name) => {
                    label = Some(name.clone());
                    target = true;
                }
                _ => {}
            }
        }
        if fau.is_some() && (target || !values.is_empty()) || values.len() + usize::from(target) > 2
        {
            return Err(Kind::Fau);
        }
        let words = match (values[..].first().copied(), values.get(1).copied()) {
            (low, _) if target => WordConstraints { low, high: Some(0), target },
            (low, high) => WordConstraints { low, high, target },
        };
        wanted.push((fau, words));
    }
    let mut merged: Vec<WordConstraints> = Vec::new();
    let mut place = |words: WordConstraints| {
        let single = words.high.is_none();
        for (index, constant) in merged.iter_mut().enumerate() {
            if let Some(both) = constant.merge(words)
                && (constant.low.is_some() || !single)
            {
                *constant = both;
                return (index, words);
            }
            let turned = WordConstraints { low: None, high: words.low, target: false };
            if single && let Some(both) = constant.merge(turned) {
                *constant = both;
                return (index, turned);
            }
        }
        merged.push(words);
        (merged.len() - 1, words)
    };
    // Pairs first; single words may then share their constants.
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|i| (!wanted[*i].1.target, wanted[*i].1.high.is_none()));
    let mut places = vec![None; wanted.len()];
    for index in order {
        let (_, words) = wanted[index];
        if words != WordConstraints::default() {
            places[index] = Some(place(words));
        }
    }
    let (order, constants, target) = lay_out(&merged, wanted.len())?;
    let choices = wanted.iter().zip(places).map(|((fau, _), place)| match place {
        Some((index, words)) => {
            let low = words.low.unwrap_or(0) as u8 & 15;
            FauChoice { fau: Fau::Constant(order[index], low), words }
        }
        None => {
            FauChoice { fau: fau.unwrap_or(Fau::Special(0)), words: WordConstraints::default() }
        }
    });
    Ok((choices.collect(), constants, target.zip(label)))
}

/// The index of each constant, the constants, and the index of the one that holds the label's offset.
type ConstantLayout = (Vec<usize>, ArrayVec<u64, MAX_CONSTANTS>, Option<usize>);

/// Orders constants so that their modifiers are right.
fn lay_out(merged: &[WordConstraints], tuples: usize) -> Result<ConstantLayout, Kind> {
    let inner = usize::from(has_inner_constant(tuples));
    // The first constant has no modifiers, except in clauses of three and six tuples.
    let alone = inner == 1 && !matches!(tuples, 3 | 6);
    let mut slots: Vec<Option<usize>> = (0..merged.len()).map(Some).collect();
    if alone && merged.first().is_some_and(|m| m.target) {
        slots.insert(0, None);
        if merged.len() > 1 {
            slots.remove(2);
            slots[0] = Some(1);
        }
    }
    while slots.len() < inner || !(slots.len() - inner).is_multiple_of(2) {
        slots.push(None);
    }
    let value = |slot: &Option<usize>| {
        let words = slot.map_or(WordConstraints::default(), |index| merged[index]);
        u64::from(words.low.unwrap_or(0) & !15) | u64::from(words.high.unwrap_or(0)) << 32
    };
    let is_target = |slot: &Option<usize>| slot.is_some_and(|index| merged[index].target);
    for pair in slots[inner..].chunks_mut(2) {
        let numbers = [value(&pair[0]) >> 60, value(&pair[1]) >> 60];
        let difference = numbers[0].wrapping_sub(numbers[1]) & 15;
        let turned = is_target(&pair[1]) || !is_target(&pair[0]) && matches!(difference, 1..8);
        if turned {
            pair.swap(0, 1);
        }
    }
    let mut constants: ArrayVec<u64, MAX_CONSTANTS> = ArrayVec::new();
    for slot in &slots {
        constants.try_push(value(slot)).map_err(|_| Kind::Constants)?;
    }
    let target = slots.iter().position(is_target);
    if let Some(index) = target.filter(|index| *index >= inner) {
        let other = constants[index + 1] >> 60;
        constants[index] |= (other + u64::from(PC_HIGH)) << 60;
    }
    let mut order = vec![0; merged.len()];
    for (place, slot) in slots.iter().enumerate() {
        if let Some(index) = slot {
            order[*index] = place;
        }
    }
    Ok((order, constants, target))
}

/// Chooses the ports of a tuple.
fn tuple(
    draft: &DraftClause,
    index: usize,
    previous: usize,
    choice: &FauChoice,
) -> Result<Tuple, Kind> {
    let insts = &draft.insts[2 * index..2 * index + 2];
    let mut reads: ArrayVec<u8, 8> = ArrayVec::new();
    for source in insts.iter().flat_map(|inst| &inst.sources) {
        if let SourceName::Register(register) = source
            && !reads.contains(register)
        {
            reads.push(*register);
        }
    }
    reads.sort_unstable();
    let (fma, add) = (draft.insts[2 * previous].dest, draft.insts[2 * previous + 1].dest);
    let idle = (Access::Idle, 0);
    let of =
        |write: Option<(u8, Access)>| write.map_or(idle, |(register, access)| (access, register));
    let (port2, port3, port3_fma) = match (fma, add) {
        (Some(_), Some(_)) => (of(fma), of(add), false),
        (Some(_), None) => (idle, of(fma), true),
        (None, add) => (idle, of(add), false),
    };
    let byte = choice.fau.byte().ok_or(Kind::Constants)?;
    let mut tried = Err(Kind::Ports);
    // Tries each register, or none, as the one that port 2 reads.
    for second in [None, Some(0), Some(1), Some(2)] {
        let mut rest: ArrayVec<u8, 8> = reads.clone();
        let mut port2 = port2;
        if let Some(at) = second {
            if at >= rest.len() || port2.0 != Access::Idle {
                continue;
            }
            port2 = (Access::Read, rest.remove(at));
        }
        let read = match rest[..] {
            [] => [None, None],
            [a] => [Some(a), None],
            [a, b] => [Some(a), Some(b)],
            _ => continue,
        };
        let port3_fma = match (port2.0, port3.0) {
            (Access::Idle, Access::Idle) => true,
            (_, Access::Idle) => false,
            _ => port3_fma,
        };
        let ports = Ports { read, port2, port3, port3_fma, fau: byte };
        let Some(registers) = ports.encode(index == 0) else { continue };
        let made = |unit: usize| inst(&insts[unit], &ports, choice);
        match (made(0), made(1)) {
            (Ok(fma), Ok(add)) => return Ok(Tuple { registers, fma, add }),
            (Err(kind), _) | (_, Err(kind)) => {
                tried = Err(ClauseError::Inst { tuple: index, error: kind }.into());
            }
        }
    }
    tried
}

/// The instruction of a draft, with ports assigned to its sources.
fn inst(draft: &DraftInst, ports: &Ports, choice: &FauChoice) -> Result<Inst, InstError> {
    let port = |named: &SourceName| match named {
        SourceName::Register(register) => match ports.read {
            [Some(a), _] if a == *register => Port::Zero,
            [_, Some(b)] if b == *register => Port::One,
            _ => Port::Two,
        },
        SourceName::Stage => Port::Stage,
        SourceName::PassFma => Port::PassFma,
        SourceName::PassAdd => Port::PassAdd,
        SourceName::Fau(_, false) => Port::FauLow,
        SourceName::Fau(_, true) | SourceName::Label(_) => Port::FauHigh,
        SourceName::Constant(value) if choice.words.low == Some(*value) => Port::FauLow,
        SourceName::Constant(_) => Port::FauHigh,
    };
    let inst = Inst {
        op: draft.op,
        sources: draft.sources.iter().map(port).collect(),
        modifiers: draft.modifiers.clone(),
        immediates: draft.immediates.clone(),
    };
    inst.encode().map(|_| inst)
}
