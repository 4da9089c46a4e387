//! Rules for instructions that the encoding does not imply: regions, types, operands of single operations,
//! messages.
//!
//! An instruction that violates a rule is encodable, and undefined on hardware. source: Mesa,
//! `src/intel/compiler/brw_eu_validate.c`, which cites Intel's manuals for each rule. Rules about
//! workarounds, mixed half floats and indirect destinations of single generations are not here.

use tepui_intel_chips::Generation;

use crate::inst::{Condition, Desc, Inst};
use crate::message;
use crate::operand::{Arf, Location, Region, Register, Src};
use crate::table::opcode::{Form, MathFunction, Opcode};
use crate::types::{Type, TypeKind};

macro_rules! rules {
    ($($name:ident $text:literal;)*) => {
        /// A rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        pub enum Rule {
            $(
                #[doc = $text]
                #[error($text)]
                $name,
            )*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];
        }
    };
}

rules! {
    NullSource "a source must not be the null register";
    WidthOverSize "a row must not be wider than the execution size";
    WidthOneStride "a row of one element has no horizontal stride";
    OneRow "a region of one row with a horizontal stride has the vertical stride width times horizontal";
    OneElement "a single element has no strides";
    NoStrides "a region without strides has rows of one element";
    RowCrossesRegister "a row must not cross into the next register";
    SourceSpan "a source must not span over two registers";
    DestinationSpan "a destination must not span over two registers";
    DestinationStride "a destination must have a stride";
    Align16Vertical "in Align16 the vertical stride is 0, 2 or 4";
    DestinationRatio "a destination narrower than the execution type has a stride that makes up for it";
    DestinationAlignment "a destination narrower than the execution type begins at a multiple of it";
    VectorImmediate "the result of an immediate vector begins at a multiple of 16 bytes; its elements are words apart, of floats double words";
    PackedBytes "only a move without conversion writes packed bytes";
    ByteToQuad "bytes and 64-bit types do not convert to each other";
    HalfToQuad "half floats and 64-bit types do not convert to each other";
    NoDouble "the generation has no 64-bit floats";
    NoQuad "the generation has no 64-bit integers";
    ByteSource1 "source 1 must not be of bytes";
    CompareCondition "a comparison needs a condition";
    SelectChoice "a selection has a predicate or a condition, not both";
    MulOperands "in a product of a double word and a narrower integer the double word is source 0";
    MulAccumulator "integer products do not read the accumulator";
    MulModifiers "products of double words have neither saturation nor condition";
    DivModifiers "integer division has no source modifiers";
    LogicAbs "bitwise operations have no absolute value";
    LogicAccumulator "bitwise operations do not modify the accumulator as a source";
    LogicCondition "bitwise operations have no conditions .o, .r, .u";
    Bfi2Plain "bfi2 has neither condition nor saturation";
    Bfi2Types "bfi2 has operands of one type, D or UD";
    CselPredicate "csel has no predicate";
    CselCondition "csel needs a condition";
    CselTypes "csel has operands of type F";
    SendSource "a message comes from general registers, directly addressed";
    SendEnd "a message that ends the thread comes from g112 to g127";
    SendOverlap "the payloads of a split send must not overlap";
    SendLastRegister "a response that reaches g127 must not overlap the payload";
}

/// Checks an instruction.
///
/// # Errors
/// The rules that it violates, in the order of [`Rule::ALL`].
pub fn check(inst: &Inst) -> Result<(), Vec<Rule>> {
    let mut found = Vec::new();
    let mut broken = |rule: Rule, is: bool| {
        if is && !found.contains(&rule) {
            found.push(rule);
        }
    };
    match inst.form() {
        Form::Send | Form::SplitSend => messages(inst, &mut broken),
        Form::Regular { dst, sources } => {
            let sources = &inst.src[..usize::from(sources)];
            for src in sources {
                let null = matches!(
                    src.location,
                    Location::Direct { register: Register::Architecture(Arf::Null, _), .. }
                );
                // `math` with one operand has null as the other.
                let allowed = matches!(inst.opcode, Opcode::Sync | Opcode::Math);
                broken(Rule::NullSource, null && !allowed);
                region(inst, src, &mut broken);
            }
            if dst {
                destination(inst, &mut broken);
                vector_immediate(inst, sources, &mut broken);
                types(inst, sources, &mut broken);
            }
        }
        Form::Ternary => types(inst, &inst.src, &mut broken),
        _ => {}
    }
    operation(inst, &mut broken);
    found.sort_by_key(|rule| Rule::ALL.iter().position(|r| r == rule));
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// First byte of a directly addressed general register operand, within its register.
fn general_byte(location: Location) -> Option<usize> {
    match location {
        Location::Direct { register: Register::General(_), byte } => Some(usize::from(byte)),
        _ => None,
    }
}

fn region(inst: &Inst, src: &Src, broken: &mut impl FnMut(Rule, bool)) {
    let size = usize::from(inst.exec_size);
    if src.immediate_bits().is_some() {
        return;
    }
    let (vertical, width, horizontal) = match src.region {
        Region::Swizzle { vertical, .. } => {
            return broken(Rule::Align16Vertical, !matches!(vertical, 0 | 2 | 4));
        }
        Region::PerRow { width, horizontal } => (None, width, horizontal),
        Region::Rows { vertical, width, horizontal } => (Some(vertical), width, horizontal),
    };
    let (width, horizontal) = (usize::from(width), usize::from(horizontal));
    broken(Rule::WidthOverSize, size < width);
    broken(Rule::WidthOneStride, width == 1 && horizontal != 0);
    let Some(vertical) = vertical.map(usize::from) else { return };
    broken(Rule::OneRow, size == width && horizontal != 0 && vertical != width * horizontal);
    broken(Rule::OneElement, size == 1 && width == 1 && (vertical != 0 || horizontal != 0));
    broken(Rule::NoStrides, vertical == 0 && horizontal == 0 && width != 1);
    let Some(byte) = general_byte(src.location) else { return };
    let bytes = src.ty.bytes();
    let register = inst.generation.register_bytes();
    for row in 0..size / width {
        let first = byte + row * vertical * bytes;
        let last = first + (width - 1) * horizontal * bytes + bytes - 1;
        broken(Rule::RowCrossesRegister, first / register != last / register);
    }
    let rows = (size / width).max(1);
    let last = byte + ((rows - 1) * vertical + (width - 1) * horizontal) * bytes;
    broken(Rule::SourceSpan, last >= 2 * register);
}

fn destination(inst: &Inst, broken: &mut impl FnMut(Rule, bool)) {
    if inst.dst.location == Location::NULL {
        return;
    }
    broken(Rule::DestinationStride, inst.dst.stride == 0);
    if let Some(byte) = general_byte(inst.dst.location)
        && !inst.align16
    {
        let steps = (usize::from(inst.exec_size) - 1) * usize::from(inst.dst.stride);
        let last = byte + steps * inst.dst.ty.bytes();
        broken(Rule::DestinationSpan, last >= 2 * inst.generation.register_bytes());
    }
}

/// source: Mesa, brw_eu_validate.c (`vector_immediate_restrictions`)
fn vector_immediate(inst: &Inst, sources: &[Src], broken: &mut impl FnMut(Rule, bool)) {
    let Some(last) = sources.last().filter(|src| src.immediate_bits().is_some()) else { return };
    if !last.ty.is_vector() {
        return;
    }
    let step = if last.ty == Type::VF { 4 } else { 2 };
    let aligned = match inst.dst.location {
        Location::Direct { byte, .. } => byte.is_multiple_of(16),
        _ => true,
    };
    let stride = usize::from(inst.dst.stride) * inst.dst.ty.bytes();
    broken(Rule::VectorImmediate, !aligned || stride != step);
}

/// The type that an instruction computes in: the widest source, at least a word.
fn execution_bytes(sources: &[Src]) -> usize {
    let real = sources.iter().filter(|src| src.location != Location::NULL);
    real.map(|src| src.ty.bytes().max(2)).max().unwrap_or(4)
}

fn types(inst: &Inst, sources: &[Src], broken: &mut impl FnMut(Rule, bool)) {
    let dst = inst.dst.ty;
    if inst.generation == Generation::Gen12 {
        let all = || sources.iter().map(|src| src.ty).chain([dst]);
        broken(Rule::NoDouble, all().any(|ty| ty == Type::DF));
        broken(Rule::NoQuad, matches!(dst, Type::Q | Type::UQ));
        broken(Rule::ByteSource1, sources.len() > 1 && sources[1].ty.bytes() == 1);
    }
    if inst.form() == Form::Ternary || inst.align16 {
        return;
    }
    let any = |f: fn(Type) -> bool| sources.iter().any(|src| f(src.ty));
    let quad = |ty: Type| ty.bytes() == 8;
    let byte = |ty: Type| ty.bytes() == 1;
    let half = |ty: Type| ty == Type::HF;
    broken(Rule::ByteToQuad, byte(dst) && any(quad) || quad(dst) && any(byte));
    broken(Rule::HalfToQuad, half(dst) && any(quad) || quad(dst) && any(half));
    if inst.dst.location == Location::NULL {
        return;
    }
    let raw = inst.opcode == Opcode::Mov
        && sources[0].ty == dst
        && !sources[0].negate
        && !sources[0].abs
        && !inst.saturate;
    if byte(dst) && inst.dst.stride == 1 && inst.exec_size > 1 {
        broken(Rule::PackedBytes, !raw);
        return;
    }
    let execution = execution_bytes(sources);
    let mixed = sources.iter().map(|src| src.ty).chain([dst]).any(half)
        && sources.iter().map(|src| src.ty).chain([dst]).any(|ty| ty == Type::F);
    if mixed || execution <= dst.bytes() || raw && byte(dst) {
        return;
    }
    let stride = usize::from(inst.dst.stride) * dst.bytes();
    broken(Rule::DestinationRatio, stride != execution);
    if let Location::Direct { byte: at, .. } = inst.dst.location {
        let at = usize::from(at) % execution;
        broken(Rule::DestinationAlignment, at != 0 && !(byte(dst) && at == 1));
    }
}

fn operation(inst: &Inst, broken: &mut impl FnMut(Rule, bool)) {
    let [a, b, _] = &inst.src;
    let accumulator = |src: &Src| {
        matches!(
            src.location,
            Location::Direct { register: Register::Architecture(Arf::Accumulator, _), .. }
        )
    };
    let conditional = inst.condition != Condition::None;
    let predicated = inst.predicate.control != 0;
    let is_float = |ty: Type| ty.kind() == TypeKind::Float;
    let dword = |ty: Type| matches!(ty, Type::UD | Type::D);
    match inst.opcode {
        Opcode::Cmp | Opcode::Cmpn => broken(Rule::CompareCondition, !conditional),
        Opcode::Sel => broken(Rule::SelectChoice, conditional == predicated),
        Opcode::Mul => {
            let narrow = a.ty.bytes() < 4 && b.ty.bytes() == 4;
            broken(Rule::MulOperands, !is_float(b.ty) && narrow);
            let reads = |src: &Src| accumulator(src) && !is_float(src.ty);
            broken(Rule::MulAccumulator, reads(a) || reads(b));
            let narrow_result = matches!(inst.dst.ty, Type::UD | Type::D | Type::UW | Type::W);
            broken(
                Rule::MulModifiers,
                (dword(a.ty) || dword(b.ty)) && narrow_result && (inst.saturate || conditional),
            );
        }
        Opcode::Math => {
            let function = MathFunction::from_code(inst.function);
            let divides = matches!(
                function,
                Some(MathFunction::IntDiv | MathFunction::IntMod | MathFunction::IntDivMod)
            );
            broken(Rule::DivModifiers, divides && (a.negate || a.abs || b.negate || b.abs));
        }
        opcode if opcode.is_logic() => {
            let sources = &inst.src[..inst.sources()];
            broken(Rule::LogicAbs, sources.iter().any(|src| src.abs));
            let modified = |src: &Src| accumulator(src) && (src.abs || src.negate);
            broken(Rule::LogicAccumulator, sources.iter().any(modified));
            let odd = matches!(
                inst.condition,
                Condition::Overflow | Condition::Round | Condition::Unordered
            );
            broken(Rule::LogicCondition, odd);
        }
        Opcode::Bfi2 => {
            broken(Rule::Bfi2Plain, conditional || inst.saturate);
            let same = inst.src.iter().all(|src| src.ty == inst.dst.ty);
            broken(Rule::Bfi2Types, !dword(inst.dst.ty) || !same);
        }
        Opcode::Csel => {
            broken(Rule::CselPredicate, predicated);
            broken(Rule::CselCondition, !conditional);
            let floats = inst.src.iter().all(|src| src.ty == Type::F) && inst.dst.ty == Type::F;
            broken(Rule::CselTypes, inst.generation == Generation::Gen9 && !floats);
        }
        _ => {}
    }
}

fn messages(inst: &Inst, broken: &mut impl FnMut(Rule, bool)) {
    let register = |location: Location| match location {
        Location::Direct { register: Register::General(n), .. } => Some(u32::from(n)),
        _ => None,
    };
    let [src0, src1, _] = &inst.src;
    let ends = inst.send.end_of_thread;
    let low = |location: Location| register(location).is_some_and(|n| n < 112);
    let (payload, response) = match inst.send.desc {
        Desc::Immediate(desc) => {
            (message::payload_registers(desc), message::response_registers(desc))
        }
        Desc::Address(_) => (1, 0),
    };
    let payload = u32::from(payload);
    broken(Rule::SendEnd, ends && low(src0.location));
    if inst.form() == Form::Send {
        let first = register(src0.location);
        broken(Rule::SendSource, first.is_none());
        if let (Some(from), Some(to)) = (first, register(inst.dst.location)) {
            let reaches = to + u32::from(response) > 127;
            broken(Rule::SendLastRegister, reaches && from + payload > to);
        }
        return;
    }
    broken(Rule::SendEnd, ends && low(src1.location));
    let second = match inst.send.ex_desc {
        Desc::Immediate(desc) => u32::from(message::payload1_registers(desc)),
        Desc::Address(_) => 1,
    };
    if let (Some(a), Some(b)) = (register(src0.location), register(src1.location)) {
        let overlap = a <= b && b < a + payload || b <= a && a < b + second;
        broken(Rule::SendOverlap, overlap);
    }
}
