//! Symbolic execution of a program.

use arrayvec::ArrayVec;
use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::modifier::Condition;

use super::value::{Affine, Region, Value, Word};
use super::{Effect, Fetch, MAX_EFFECTS};
use crate::shader::alu::bitwise::NOT_RESULT;
use crate::shader::alu::integer::SATURATE;
use crate::shader::alu::select::{Chain, holds};
use crate::shader::decode::IF_ZERO;
use crate::shader::message;
use crate::shader::op::{Lanes, Next, Op, WriteMode};
use crate::shader::operand::{Select, Src};
use crate::shader::program::Program;
use crate::shader::template::{Logic, Number, TemplateOp};
use crate::units::Port;
use crate::warp::row::{ALL, Row};
use crate::warp::uniforms::{self, Uniforms};
use crate::warp::{COMMON, REGISTERS, Warp};

/// A path: threads with the same control flow.
#[derive(Clone)]
pub struct Path {
    registers: Vec<Value>,
    /// The coordinates of its threads.
    pub region: Region,
    /// The instructions that they have executed, one bit each.
    pub executed: u128,
    pub fetches: ArrayVec<Fetch, MAX_EFFECTS>,
    pub effects: ArrayVec<Effect, MAX_EFFECTS>,
}

/// The paths of a program with these initial registers: one or two; `None` if there are more, or a value cannot be
/// represented.
pub fn paths(
    program: &Program,
    uniforms: &Uniforms,
    port: &mut Port<'_>,
    registers: Vec<Value>,
) -> Option<ArrayVec<Path, 2>> {
    let mut warp = Box::<Warp>::default();
    warp.start(ALL);
    let path = Path {
        registers,
        region: Region::ALL,
        executed: 0,
        fetches: ArrayVec::new(),
        effects: ArrayVec::new(),
    };
    let mut search = Search { program, uniforms, port, warp, path, ended: ArrayVec::new() };
    search.run(0, true)?;
    Some(search.ended)
}

/// State of the symbolic execution.
struct Search<'a, 'vm> {
    program: &'a Program,
    uniforms: &'a Uniforms,
    port: &'a mut Port<'vm>,
    /// A warp that executes instructions on values that are uniform.
    warp: Box<Warp>,
    path: Path,
    /// Paths that have ended.
    ended: ArrayVec<Path, 2>,
}

/// The continuation of a path.
enum Continuation {
    At(usize),
    End,
}

impl Search<'_, '_> {
    /// Executes a path from an operation to its end. It may split into two, unless it has already.
    fn run(&mut self, mut index: usize, whole: bool) -> Option<()> {
        loop {
            let op = self.program.ops.get(index)?;
            self.path.executed |= 1 << index;
            let then = match op.isa? {
                Isa::BRANCHZ => {
                    let (target, next) = (op.immediate as usize, index + 1);
                    let [stay, go] = match op.flags & IF_ZERO != 0 {
                        true => [next, target],
                        false => [target, next],
                    };
                    let condition = self.source(&op.src[0]);
                    match condition.same() {
                        Some(0) => Continuation::At(go),
                        Some(_) => Continuation::At(stay),
                        None => {
                            let region = condition.truth().filter(|_| whole)?;
                            // Forward only, so that each path ends.
                            if target <= index || !self.path.effects.is_empty() {
                                return None;
                            }
                            let other = Path { region: region.not(), ..self.path.clone() };
                            self.path.region = region;
                            self.run(stay, false)?;
                            self.path = other;
                            return self.run(go, false);
                        }
                    }
                }
                Isa::DISCARD_F32 => {
                    let [a, b] = [0, 1].map(|n| self.source(&op.src[n]).same().map(f32::from_bits));
                    match holds(op.condition, a?, b?) {
                        true => Continuation::End,
                        false => Continuation::At(index + 1),
                    }
                }
                Isa::BLEND => {
                    self.blend(op)?;
                    match op.flags & message::ENDS != 0 {
                        true => Continuation::End,
                        false => Continuation::At(op.immediate as usize),
                    }
                }
                isa => {
                    self.execute(isa, op, index as u32)?;
                    match op.next {
                        // Lanes that end here are helpers and write nothing.
                        Next::Following | Next::Discard => Continuation::At(index + 1),
                        Next::End => Continuation::End,
                        _ => return None,
                    }
                }
            };
            match then {
                Continuation::At(next) if next > index => index = next,
                Continuation::At(_) => return None,
                Continuation::End => return self.ended.try_push(self.path.clone()).ok(),
            }
        }
    }

    /// Executes an instruction that falls through to the next one.
    fn execute(&mut self, isa: Isa, op: &Op, index: u32) -> Option<()> {
        match isa {
            Isa::NOP => Some(()),
            Isa::TEX_FETCH => self.fetch(op, index),
            Isa::ATEST => {
                self.put(op.staging[0].0, self.source(&op.src[0]));
                Some(())
            }
            Isa::ZS_EMIT => self.emit(op),
            Isa::SHADDX_S64 | Isa::SHADDX_U64 => self.address(op),
            Isa::STORE_I8 => self.store(op, 1),
            Isa::STORE_I16 => self.store(op, 2),
            Isa::STORE_I32 => self.store(op, 4),
            Isa::STORE_I64 => self.store(op, 8),
            Isa::STORE_I96 => self.store(op, 12),
            Isa::STORE_I128 => self.store(op, 16),
            _ => self.compute(isa, op),
        }
    }

    fn value(&self, row: u16) -> Value {
        match usize::from(row) {
            register if register < COMMON => self.path.registers[register].clone(),
            ..REGISTERS => Value::Unknown,
            _ if uniforms::differs(row) => Value::Unknown,
            _ => {
                let row = self.uniforms.row(row);
                let same = row.0.iter().all(|bits| *bits == row.0[0]);
                if same { Value::bits(row.0[0]) } else { Value::Unknown }
            }
        }
    }

    /// The value of a source of 32 bits.
    fn source(&self, src: &Src) -> Value {
        let value = self.value(src.row);
        if let Some(bits) = value.same() {
            return Value::bits(src.apply(&Row::splat(bits)).0[0]);
        }
        if src.is_plain() {
            return value;
        }
        match (value, src.select) {
            (Value::HalfMasks(regions), Select::Whole)
                if src.clear == 0 && src.flip == u32::MAX =>
            {
                Value::HalfMasks(regions.map(Region::not))
            }
            _ if src.clear != 0 || src.flip != 0 => Value::Unknown,
            (Value::HalfMasks(regions), Select::Halves(which)) => {
                Value::HalfMasks(which.map(|index| regions[usize::from(index) % 2]))
            }
            (Value::HalfMasks(regions), Select::Half { index, .. }) => {
                Value::Truth(regions[usize::from(index) % 2])
            }
            (Value::Pixel, Select::Half { index, signed: false }) => {
                Value::Number(Affine::axis(index.into()))
            }
            (Value::Mask(region), Select::Half { .. } | Select::Halves(_)) => Value::Truth(region),
            (Value::Word(word), Select::Half { index: 0, signed: false }) if word.is_half() => {
                Value::Word(word)
            }
            _ => Value::Unknown,
        }
    }

    /// A value whose lower half is the source's.
    fn half(&self, src: &Src) -> Value {
        match (self.value(src.row), src.select) {
            (Value::Pixel, Select::Halves([index, _])) if src.clear == 0 && src.flip == 0 => {
                Value::Number(Affine::axis(index.into()))
            }
            (Value::Word(word), Select::Halves([0, _]))
                if src.clear == 0 && src.flip == 0 && word.is_half() =>
            {
                Value::Word(word)
            }
            _ => match self.source(src) {
                Value::Pixel => Value::Number(Affine::axis(0)),
                Value::Word(word) if !word.is_half() => Value::Unknown,
                value @ Value::Word(_) => value,
                value => value.same().map_or(Value::Unknown, |bits| Value::bits(bits & 0xffff)),
            },
        }
    }

    /// The bits of a 64-bit source, if they are uniform.
    fn same64(&self, src: &Src) -> Option<u64> {
        let low = self.source(src).same()?;
        let high = self.value(src.high).same()?;
        Some(u64::from(low) | u64::from(high) << 32)
    }

    fn put(&mut self, register: u8, value: Value) {
        self.path.registers[usize::from(register)] = value;
    }

    /// Executes an arithmetic instruction.
    fn compute(&mut self, isa: Isa, op: &Op) -> Option<()> {
        let value = match op.kind {
            None => self.computed_halves(isa, op)?,
            Some(kind) if kind.branches() => return None,
            Some(TemplateOp::LoadLocal { .. } | TemplateOp::StoreLocal { .. }) => return None,
            Some(kind) => match self.computed_by_warp(op, kind) {
                Some(value) => value,
                None if op.written == WriteMode::Word => {
                    self.computed(op, kind).unwrap_or(Value::Unknown)
                }
                None => Value::Unknown,
            },
        };
        self.put(op.dest, value);
        Some(())
    }

    /// The result of an instruction on uniform values.
    fn computed_by_warp(&mut self, op: &Op, kind: TemplateOp) -> Option<Value> {
        let dest = usize::from(op.dest);
        let rows = op.src[..kind.sources()].iter().map(|src| usize::from(src.row));
        let partly = (op.written != WriteMode::Word).then_some(dest);
        for row in rows.chain(partly) {
            let bits = self.value(row as u16).same()?;
            if let Some(register) = self.warp.registers.get_mut(row) {
                *register = Row::splat(bits);
            }
        }
        let (warp, uniforms, port) = (&mut *self.warp, self.uniforms, &mut *self.port);
        (op.run)(&mut Lanes { warp, uniforms, port }, op).ok()?;
        Some(Value::bits(self.warp.registers[dest].0[0]))
    }

    /// The result of an instruction on halves; `None` if it is not one of these.
    fn computed_halves(&self, isa: Isa, op: &Op) -> Option<Value> {
        let [a, b, c] = [0, 1, 2].map(|n| self.source(&op.src[n]));
        let regions = match isa {
            Isa::ICMP_OR_V2U16 | Isa::ICMP_AND_V2U16 if op.immediate == u32::MAX => {
                let (condition, bits) = match (a, b) {
                    (Value::Pixel, bits) => (op.condition, bits.same()?),
                    (bits, Value::Pixel) => (mirrored(op.condition)?, bits.same()?),
                    _ => return None,
                };
                let compared = |axis: usize| {
                    let other = bits >> (16 * axis) & 0xffff;
                    Region::compared(condition, Affine::axis(axis), other)
                };
                let found = [compared(0)?, compared(1)?];
                match (isa, c) {
                    (Isa::ICMP_OR_V2U16, c) if c.same() == Some(0) => found,
                    (Isa::ICMP_AND_V2U16, Value::HalfMasks(c)) => {
                        [found[0].and(c[0])?, found[1].and(c[1])?]
                    }
                    _ => return None,
                }
            }
            Isa::LSHIFT_AND_V2I16 | Isa::LSHIFT_OR_V2I16 if op.flags & NOT_RESULT == 0 => {
                match (isa, a, b.same()?, c) {
                    (Isa::LSHIFT_AND_V2I16, Value::HalfMasks(a), 0, Value::HalfMasks(c)) => {
                        [a[0].and(c[0])?, a[1].and(c[1])?]
                    }
                    (Isa::LSHIFT_OR_V2I16, a, _, Value::HalfMasks(c)) if a.same() == Some(0) => c,
                    _ => return None,
                }
            }
            _ => return None,
        };
        (op.written == WriteMode::Word).then_some(Value::HalfMasks(regions))
    }

    /// The result of an instruction; `None` if it cannot be represented.
    fn computed(&self, op: &Op, kind: TemplateOp) -> Option<Value> {
        let number = |n: usize| match self.source(&op.src[n]) {
            Value::Number(number) => Some(number),
            _ => None,
        };
        let wraps = op.flags & SATURATE == 0;
        Some(match kind {
            TemplateOp::Copy => self.source(&op.src[0]),
            TemplateOp::AddInt if wraps => Value::Number(number(0)?.plus(number(1)?)),
            TemplateOp::SubtractInt if wraps => Value::Number(number(0)?.minus(number(1)?)),
            TemplateOp::AddIntImmediate => {
                Value::Number(number(0)?.plus(Affine::bits(op.immediate)))
            }
            TemplateOp::MultiplyInt if wraps => match (number(0)?, number(1)?) {
                (a, b) if b.same().is_some() => Value::Number(a.times(b.add)),
                (a, b) => Value::Number(b.times(a.same()?)),
            },
            TemplateOp::Shift { left: true, logic } if op.flags & NOT_RESULT == 0 => {
                let by = self.source(&op.src[1]).same()? & 31;
                let (value, other) = (self.source(&op.src[0]), self.source(&op.src[2]));
                if logic == Logic::And {
                    let (Value::Mask(a), Value::Mask(b), 0) = (value, other, by) else {
                        return None;
                    };
                    return a.and(b).map(Value::Mask);
                }
                let shifted = match value {
                    value if by == 0 => value,
                    Value::Number(number) => Value::Number(number.times(1 << by)),
                    Value::Word(word) => Value::Word(word.shifted(by)?),
                    _ => return None,
                };
                match logic {
                    Logic::Or => shifted.or(other)?,
                    _ => return None,
                }
            }
            TemplateOp::Compare(Number::Unsigned) if op.immediate == u32::MAX => {
                let region = Region::compared(op.condition, number(0)?, number(1)?.same()?)?;
                let other = self.source(&op.src[2]);
                match (op.flags, other.same()) {
                    (f, Some(0)) if f == Chain::Or as u32 => Value::Mask(region),
                    (f, Some(1..)) if f == Chain::And as u32 => Value::Mask(region),
                    (f, None) if f == Chain::And as u32 => Value::Mask(region.and(other.truth()?)?),
                    _ => return None,
                }
            }
            // A minimum: the same sources are compared and selected.
            TemplateOp::Select(Number::Unsigned)
                if op.condition == Condition::Lt
                    && op.src[0] == op.src[2]
                    && op.src[1] == op.src[3] =>
            {
                match (self.source(&op.src[0]), self.source(&op.src[1])) {
                    (Value::Word(word), most) | (most, Value::Word(word)) => {
                        Value::Word(word.at_most(most.same()?)?)
                    }
                    _ => return None,
                }
            }
            TemplateOp::Extend { signed: false } => self.half(&op.src[0]),
            TemplateOp::JoinHalves => {
                let upper = match self.half(&op.src[1]) {
                    Value::Word(word) => Value::Word(word.shifted(16)?),
                    value => Value::bits(value.same()? << 16),
                };
                self.half(&op.src[0]).or(upper)?
            }
            _ => return None,
        })
    }

    fn fetch(&mut self, op: &Op, index: u32) -> Option<()> {
        let plan = message::FetchOperands::new(op)?;
        let texture = plan.texture(self.same64(&op.src[0])?);
        let word =
            |n: Option<u8>| match n.map(|register| &self.path.registers[usize::from(register)]) {
                None => Some(Affine::default()),
                Some(Value::Number(number)) => Some(*number),
                Some(_) => None,
            };
        let mut at = [Affine::default(); 3];
        for (at, register) in at.iter_mut().zip(plan.coordinates) {
            *at = word(register)?;
        }
        let layer = word(plan.layer)?;
        if word(plan.offsets)? != Affine::default() {
            return None;
        }
        let number = self.path.fetches.len() as u8;
        self.path.fetches.try_push(Fetch { index, texture, at, layer }).ok()?;
        for (register, channel) in plan.results {
            let zero = Value::bits(0);
            let value = channel.map_or(zero, |channel| Value::Word(Word::channel(number, channel)));
            self.put(register, value);
        }
        Some(())
    }

    /// The channels in consecutive registers.
    fn words<const N: usize>(&self, first: u8) -> Option<[Word; N]> {
        let mut words = [const { Word(ArrayVec::new_const()) }; N];
        for (word, register) in words.iter_mut().zip(usize::from(first)..) {
            let Value::Word(found) = self.path.registers.get(register)? else { return None };
            *word = found.clone();
        }
        Some(words)
    }

    fn blend(&mut self, op: &Op) -> Option<()> {
        let descriptor = self.same64(&op.src[0])?;
        let (first, count) = op.staging[1];
        match self.source(&op.src[1]) {
            Value::Coverage if count == 4 => {}
            // No sample is written.
            none if none.same() == Some(0) => return Some(()),
            _ => return None,
        }
        let channels = self.words(first)?;
        let effect = Effect::Blend { descriptor, channels, flags: op.flags };
        self.path.effects.try_push(effect).ok()
    }

    fn emit(&mut self, op: &Op) -> Option<()> {
        if self.source(&op.src[2]) != Value::Coverage {
            return None;
        }
        let given = |flag: u32, src: &Src| match self.source(src) {
            _ if op.flags & flag == 0 => Some(None),
            Value::Word(word) => Some(Some(word)),
            _ => None,
        };
        let depth = given(message::DEPTH, &op.src[0])?;
        let stencil = given(message::STENCIL, &op.src[1])?;
        self.path.effects.try_push(Effect::Emit { depth, stencil }).ok()?;
        if op.staging[0].1 != 0 {
            self.put(op.staging[0].0, Value::Coverage);
        }
        Some(())
    }

    /// Adds an unsigned number to an address.
    fn address(&mut self, op: &Op) -> Option<()> {
        let base = self.same64(&op.src[0])?;
        let Value::Number(offset) = self.source(&op.src[1]) else { return None };
        let whole = op.immediate == 0 && op.src[1].select == Select::Whole;
        if !whole || self.value(op.src[1].high).same() != Some(0) {
            return None;
        }
        for (register, upper) in [(op.dest, false), (op.dest + 1, true)] {
            self.put(register, Value::Address { base, offset, upper });
        }
        Some(())
    }

    fn store(&mut self, op: &Op, bytes: u8) -> Option<()> {
        let [low, high] = [self.source(&op.src[0]), self.value(op.src[0].high)];
        let Value::Address { base, offset, upper: false } = low else { return None };
        if high != (Value::Address { base, offset, upper: true }) {
            return None;
        }
        let base = base.wrapping_add_signed(i64::from(op.immediate as i32));
        let (first, count) = op.staging[1];
        let mut words = ArrayVec::new();
        for register in first..first + bytes.div_ceil(4).min(count) {
            let Value::Word(word) = self.path.registers.get(usize::from(register))? else {
                return None;
            };
            words.push(word.clone());
        }
        if words.len() < usize::from(bytes.div_ceil(4)) {
            return None;
        }
        self.path.effects.try_push(Effect::Store { base, offset, words, bytes }).ok()
    }
}

/// The condition with its sources exchanged.
fn mirrored(condition: Condition) -> Option<Condition> {
    Some(match condition {
        Condition::Ge => Condition::Le,
        Condition::Gt => Condition::Lt,
        Condition::Le => Condition::Ge,
        Condition::Lt => Condition::Gt,
        Condition::Eq => Condition::Eq,
        Condition::Ne | Condition::Gtlt | Condition::Total => return None,
    })
}
