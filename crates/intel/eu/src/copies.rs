//! Detection of pixel shaders that copy texels: each pixel loads a texel and writes it to a render target
//! unchanged.
//!
//! Drivers copy images, and present finished ones to window systems, with such programs. All pixels do the same at
//! different coordinates, so that areas can be copied instead of executing threads. [`find`] executes a program on
//! symbolic values; it gives up at a value that it cannot represent.

use tepui_intel_isa::{Condition, Opcode, Sfid, Type};

use crate::memory::{GENERAL, REGISTER_BYTES};
use crate::message::Message;
use crate::op::{Flow, Op};
use crate::operand::{CHANNELS, Layout, Source};

/// Channels of the programs that are examined.
const LANES: usize = 16;
/// The first payload byte of pixel positions: X and Y of each subspan (2×2 pixels), in words.
const PLACES: usize = REGISTER_BYTES + 8;
/// Limit on the instructions of a program that is examined.
const MAX_INSTRUCTIONS: usize = 32;

/// A coordinate of the texel that a pixel loads: `offset + scale * (pixel + before)` of floats, converted to an
/// integer, `+ after`. The parameters are the same for all pixels of a primitive, at bytes of the general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// The integer that is added to the pixel.
    pub before: Option<Term>,
    /// The factor, a float.
    pub scale: u16,
    /// The float that is added.
    pub offset: u16,
    /// The integer that is added last.
    pub after: Option<Term>,
}

/// An integer that is added or subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Its byte in the general registers.
    pub at: u16,
    /// Whether it is subtracted.
    pub negative: bool,
}

/// The effect of a 16-pixel program that copies texels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TexelCopy {
    /// The message that loads texels: its parameters are X, Y and the layer.
    pub load: Message,
    /// X and Y of the texel.
    pub coordinates: [Coordinate; 2],
    /// The byte of the layer, a float that all pixels share; none if the message has no such parameter.
    pub layer: Option<u16>,
    /// The message that writes the texels, and ends the thread.
    pub write: Message,
    /// Instructions of a thread.
    pub instructions: u64,
}

/// The symbolic value of a register element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Unknown,
    /// An immediate.
    Immediate(i32),
    /// 32 bits of the payload.
    Payload(Term),
    /// X or Y of a pixel as an integer.
    Pixel(PixelCoordinate),
    /// X or Y of a pixel plus an integer.
    Moved(PixelCoordinate, Term),
    /// One of these converted to a float.
    Float(PixelCoordinate, Option<Term>),
    /// A texel coordinate of a pixel, as a float.
    Scaled(PixelCoordinate, Coordinate),
    /// A texel coordinate of a pixel, as an integer.
    Texel(PixelCoordinate, Coordinate),
    /// A float of the payload, converted to an integer.
    Layer(u16),
    /// A component of a channel's texel.
    Loaded {
        component: u8,
        lane: u8,
    },
}

/// X (0) or Y (1) of a pixel, relative to the thread's first pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PixelCoordinate {
    axis: u8,
    pixels: u8,
}

impl PixelCoordinate {
    /// The pixel coordinate of a channel.
    fn of_lane(axis: usize, lane: usize) -> PixelCoordinate {
        let pixels = if axis == 0 { lane / 4 * 2 + lane % 2 } else { lane / 2 % 2 };
        PixelCoordinate { axis: axis as u8, pixels: pixels as u8 }
    }
}

/// A byte of the registers: the element that it belongs to, and the index of the byte in it.
#[derive(Clone, Copy)]
struct Byte {
    value: Value,
    number: u8,
    of: u8,
}

/// The general registers.
struct RegisterElements(Vec<Option<Byte>>);

impl RegisterElements {
    /// The element at a byte.
    fn read(&self, at: usize, bytes: usize) -> Value {
        let Some(element) = self.0.get(at..at + bytes) else { return Value::Unknown };
        let whole = |value: Value| {
            let same = |(number, byte): (usize, &Option<Byte>)| {
                let place = |b: &Byte| (b.value, usize::from(b.number), usize::from(b.of));
                byte.as_ref().map(place) == Some((value, number, bytes))
            };
            element.iter().enumerate().all(same)
        };
        match element[0] {
            Some(first) if whole(first.value) => first.value,
            None if element.iter().all(Option::is_none) => payload(at, bytes),
            _ => Value::Unknown,
        }
    }

    fn write(&mut self, at: usize, bytes: usize, value: Value) {
        let Some(element) = self.0.get_mut(at..at + bytes) else { return };
        for (number, byte) in element.iter_mut().enumerate() {
            *byte = Some(Byte { value, number: number as u8, of: bytes as u8 });
        }
    }

    /// The element of a source for a channel.
    fn source(&self, source: &Source, channel: usize) -> Value {
        let at = match &source.layout {
            Layout::Even { base, stride } => usize::from(*base) + channel * usize::from(*stride),
            Layout::Table(table) => usize::from(table[channel]),
            Layout::Integers(values) => return Value::Immediate(values[channel % 8].into()),
            _ => return Value::Unknown,
        };
        match (self.read(at, source.ty.bytes()), source.abs, source.negate) {
            (value, false, false) => value,
            (Value::Payload(term), false, true) => {
                Value::Payload(Term { negative: !term.negative, ..term })
            }
            _ => Value::Unknown,
        }
    }
}

/// The value of the payload at a byte.
fn payload(at: usize, bytes: usize) -> Value {
    let squares = LANES / 4;
    match bytes {
        2 if (PLACES..PLACES + 4 * squares).contains(&at) && at.is_multiple_of(2) => {
            let word = (at - PLACES) / 2;
            let axis = word % 2;
            Value::Pixel(PixelCoordinate::of_lane(axis, word / 2 * 4))
        }
        4 => Value::Payload(Term { at: at as u16, negative: false }),
        _ => Value::Unknown,
    }
}

/// The effect of a program, if it only copies texels.
pub fn find(ops: &[Op]) -> Option<TexelCopy> {
    let [before @ .., last] = ops else { return None };
    if ops.len() > MAX_INSTRUCTIONS || !ops.iter().all(always) {
        return None;
    }
    let mut registers = RegisterElements(vec![None; GENERAL]);
    let mut load = None;
    for op in before {
        match op.flow {
            Flow::None => compute(op, &mut registers)?,
            Flow::Send if load.is_none() => load = Some(loaded(op, &mut registers)?),
            _ => return None,
        }
    }
    let (load, coordinates, layer) = load?;
    let write = message(last, Sfid::RenderCache)?;
    let registers_of_colour = 2 * 4;
    let written = (0..LANES).all(|lane| {
        (0..4).all(|component| {
            let value = parameter(&registers, &write, component, lane);
            value == Some(Value::Loaded { component: component as u8, lane: lane as u8 })
        })
    });
    let length = write.src0_registers + write.src1_registers;
    if !write.end_of_thread || length != registers_of_colour || !written {
        return None;
    }
    Some(TexelCopy { load, coordinates, layer, write, instructions: ops.len() as u64 })
}

/// Whether an instruction is executed exactly once, for all channels, without derived flags or accumulator.
fn always(op: &Op) -> bool {
    let channels = usize::from(op.first) + usize::from(op.n) <= LANES || op.no_mask;
    channels
        && !op.joins
        && op.predicate == 0
        && op.condition == Condition::None
        && !op.saturate
        && !op.acc_write
        && !op.reads_state
}

/// Executes an arithmetic instruction.
fn compute(op: &Op, registers: &mut RegisterElements) -> Option<()> {
    let n = usize::from(op.n);
    let bytes = op.dst.ty.bytes();
    let Some(Layout::Even { base, stride }) = op.dst.layout else { return None };
    let ends = usize::from(base) + (n - 1) * usize::from(stride) + bytes;
    if op.dst.mask != u32::MAX || ends > GENERAL {
        return None;
    }
    let mut results = [Value::Unknown; CHANNELS];
    for (channel, result) in results.iter_mut().enumerate().take(n) {
        *result = value(op, |k| registers.source(&op.src[k], channel));
    }
    for (channel, result) in results.into_iter().enumerate().take(n) {
        registers.write(usize::from(base) + channel * usize::from(stride), bytes, result);
    }
    Some(())
}

/// The result of an instruction for a channel.
fn value(op: &Op, source: impl Fn(usize) -> Value) -> Value {
    let types = [op.dst.ty, op.src[0].ty, op.src[1].ty];
    let words = |types: &[Type]| types.iter().all(|ty| matches!(ty, Type::UW | Type::W | Type::V));
    match op.opcode {
        Opcode::Mov if op.copies => source(0),
        Opcode::Mov => match (types[1], types[0], source(0)) {
            (Type::UW, Type::UD | Type::D, pixel @ Value::Pixel(_)) => pixel,
            (Type::UW | Type::UD | Type::D, Type::F, Value::Pixel(along)) => {
                Value::Float(along, None)
            }
            (Type::D, Type::F, Value::Moved(along, term)) => Value::Float(along, Some(term)),
            (Type::F, Type::D, Value::Scaled(along, coordinate)) => Value::Texel(along, coordinate),
            (Type::F, Type::D, Value::Payload(Term { at, negative: false })) => Value::Layer(at),
            _ => Value::Unknown,
        },
        Opcode::Add if types == [Type::D; 3] => match [source(0), source(1)] {
            [Value::Pixel(along), Value::Payload(term)]
            | [Value::Payload(term), Value::Pixel(along)] => Value::Moved(along, term),
            [Value::Texel(along, to), Value::Payload(term)]
            | [Value::Payload(term), Value::Texel(along, to)]
                if to.after.is_none() =>
            {
                Value::Texel(along, Coordinate { after: Some(term), ..to })
            }
            _ => Value::Unknown,
        },
        Opcode::Add if words(&types) => match (source(0), source(1)) {
            (Value::Pixel(along), Value::Immediate(pixels @ 0..16)) => {
                Value::Pixel(PixelCoordinate { pixels: along.pixels + pixels as u8, ..along })
            }
            _ => Value::Unknown,
        },
        Opcode::Mad if types == [Type::F; 3] && op.src[2].ty == Type::F => {
            match [source(0), source(1), source(2)] {
                [Value::Payload(offset), Value::Payload(scale), Value::Float(along, before)]
                | [Value::Payload(offset), Value::Float(along, before), Value::Payload(scale)]
                    if !(offset.negative || scale.negative) =>
                {
                    let (scale, offset) = (scale.at, offset.at);
                    Value::Scaled(along, Coordinate { before, scale, offset, after: None })
                }
                _ => Value::Unknown,
            }
        }
        _ => Value::Unknown,
    }
}

/// The message of an instruction to a unit, if it has sixteen channels, no header, and immediate descriptors.
fn message(op: &Op, to: Sfid) -> Option<Message> {
    let known = op.message.as_ref().filter(|message| message.registers.is_none())?;
    let message = Message { channels: (1 << LANES) - 1, ..known.message };
    let whole = usize::from(op.n) == LANES && op.first == 0 && !message.header;
    (op.flow == Flow::Send && whole && message.sfid == to).then_some(message)
}

/// A channel of a message's parameter, if the message has it: each parameter takes two registers.
fn parameter(
    registers: &RegisterElements,
    message: &Message,
    number: usize,
    lane: usize,
) -> Option<Value> {
    let register = 2 * number + lane / 8;
    let first = usize::from(message.src0_registers);
    let register = match register.checked_sub(first) {
        None => usize::from(message.src0?) + register,
        Some(second) if second < usize::from(message.src1_registers) => {
            usize::from(message.src1?) + second
        }
        Some(_) => return None,
    };
    Some(registers.read(register * REGISTER_BYTES + lane % 8 * 4, 4))
}

type Load = (Message, [Coordinate; 2], Option<u16>);

/// Executes a message that loads texels.
fn loaded(op: &Op, registers: &mut RegisterElements) -> Option<Load> {
    let message = message(op, Sfid::Sampler)?;
    let mut coordinates = [None; 2];
    let mut layer = None;
    for lane in 0..LANES {
        for (axis, coordinate) in coordinates.iter_mut().enumerate() {
            let Some(Value::Texel(along, found)) = parameter(registers, &message, axis, lane)
            else {
                return None;
            };
            if lane == 0 {
                *coordinate = Some(found);
            }
            if along != PixelCoordinate::of_lane(axis, lane) || Some(found) != *coordinate {
                return None;
            }
        }
        let found = match parameter(registers, &message, 2, lane) {
            Some(Value::Layer(at)) => Some(at),
            Some(_) => return None,
            None => None,
        };
        if lane == 0 {
            layer = found;
        }
        if found != layer {
            return None;
        }
    }
    let to = usize::from(message.dst?) * REGISTER_BYTES;
    if usize::from(message.dst_registers) != 2 * 4 || message.end_of_thread {
        return None;
    }
    for component in 0..4 {
        for lane in 0..LANES {
            let value = Value::Loaded { component: component as u8, lane: lane as u8 };
            registers.write(to + component * LANES * 4 + lane * 4, 4, value);
        }
    }
    let [Some(x), Some(y)] = coordinates else { return None };
    Some((message, [x, y], layer))
}

#[cfg(test)]
mod tests {
    use tepui_intel_isa::Generation;

    use super::*;
    use crate::Program;

    /// The program that Mesa's blorp emits.
    const COPY: &str = "
        add(32)  g2<1>UW   g1.4<1,4,0>UW  0x11001010V  { align1 WE_all };
        mov(16)  g18<1>D   g9.3<0,1,0>F   { align1 1H };
        mov(16)  g0<1>UW   g2<8,4,1>UW    { align1 1H };
        mov(16)  g1<1>UW   g2.4<8,4,1>UW  { align1 1H };
        mov(16)  g3<1>F    g0<8,8,1>UW    { align1 1H };
        mov(16)  g10<1>F   g1<8,8,1>UW    { align1 1H };
        mad(16)  g8<1>F    g6.7<0,1,0>F   g6.3<0,1,0>F  g3<4,4,1>F  { align16 1H };
        mad(16)  g12<1>F   g7.7<0,1,0>F   g7.3<0,1,0>F  g10<4,4,1>F { align16 1H };
        mov(16)  g14<1>D   g8<8,8,1>F     { align1 1H };
        mov(16)  g16<1>D   g12<8,8,1>F    { align1 1H };
        sends(16) g119UD g14UD g16UD 0x0485a001 0x00000100 sampler MsgDesc: ld_lz SIMD16 Surface = 1 Sampler = 0 mlen 2 ex_mlen 4 rlen 8 { align1 1H };
        sendsc(16) nullUD g119UD nullUD 0x10031000 0x00000000 render MsgDesc: RT write SIMD16 LastRT Surface = 0 mlen 8 ex_mlen 0 rlen 0 { align1 1H EOT };
    ";

    fn of(text: &str) -> Option<TexelCopy> {
        let code = tepui_intel_isa::asm::assemble(Generation::Gen9, text).expect("a program");
        Program::from_bytes(Generation::Gen9, 0, &code).expect("a program").copies().cloned()
    }

    #[test]
    fn a_copy_is_found() {
        let found = of(COPY).expect("a copy");
        let at = |register: u16, dword: u16| register * REGISTER_BYTES as u16 + 4 * dword;
        let [x, y] = [6, 7].map(|register| Coordinate {
            before: None,
            scale: at(register, 3),
            offset: at(register, 7),
            after: None,
        });
        assert_eq!(found.coordinates, [x, y]);
        assert_eq!(found.layer, Some(at(9, 3)));
        assert_eq!(found.instructions, 12);
        assert_eq!(found.load.desc, 0x0485_a001);
        assert!(found.write.end_of_thread);
    }

    /// Copies between areas with different origins, which blorp emits too.
    #[test]
    fn areas_that_are_moved_are_found() {
        let moved = COPY
            .replace(
                "mov(16)  g3<1>F    g0<8,8,1>UW",
                "
                mov(16)  g40<1>UD  g0<8,8,1>UW                  { align1 1H };
                add(16)  g42<1>D   g40<8,8,1>D   -g21.3<0,1,0>D  { align1 1H };
                mov(16)  g3<1>F    g42<8,8,1>D",
            )
            .replace(
                "mov(16)  g16<1>D   g12<8,8,1>F",
                "
                mov(16)  g44<1>D   g12<8,8,1>F                  { align1 1H };
                add(16)  g16<1>D   g44<8,8,1>D   g20.7<0,1,0>D",
            );
        let found = of(&moved).expect("a copy");
        let at = |register: u16, dword: u16| register * REGISTER_BYTES as u16 + 4 * dword;
        let [x, y] = found.coordinates;
        assert_eq!(x.before, Some(Term { at: at(21, 3), negative: true }));
        assert_eq!(x.after, None);
        assert_eq!(y.before, None);
        assert_eq!(y.after, Some(Term { at: at(20, 7), negative: false }));
    }

    /// Programs with one changed instruction, none of which is a plain copy.
    #[test]
    fn what_is_no_copy_is_not_found() {
        for (from, to) in [
            // Other pixels.
            ("0x11001010V", "0x11001000V"),
            ("g1.4<1,4,0>UW", "g1.6<1,4,0>UW"),
            // X and Y swapped.
            ("g3<1>F    g0<8,8,1>UW", "g3<1>F    g1<8,8,1>UW"),
            // A coordinate that is computed from another value, or negated.
            ("g6.3<0,1,0>F", "g10<4,4,1>F"),
            ("g14<1>D   g8<8,8,1>F", "g14<1>D   -g8<8,8,1>F"),
            ("g14<1>D   g8<8,8,1>F", "g14<1>D   g3<8,8,1>F"),
            // Half of the channels.
            ("mov(16)  g16<1>D   g12", "mov(8)  g16<1>D   g12"),
            // Other colours.
            ("nullUD g119UD nullUD", "nullUD g118UD nullUD"),
            ("mov(16)  g16<1>D", "mov.sat(16)  g16<1>D"),
        ] {
            let text = COPY.replacen(from, to, 1);
            assert_ne!(text, COPY, "{from} is there");
            assert_eq!(of(&text), None, "{to}");
        }
    }
}
