//! Text of bundles, in Mesa's syntax.
//!
//! Mesa writes bit patterns that no compiler makes in ways that differ from version to version; those are not followed.
//!
// source: Mesa, disassemble.c, midgard_print_constant.c.

use std::fmt::Write;

use super::bundle::{Alu, Bundle, BundleError, Content, Tag, WORD_BYTES};
use super::fields::signed;
use super::table::{Access, Alu as Isa, AluRow, Memory, TextureRow, texture};
use super::word::{
    LoadStore, Registers, Scalar, ScalarSource, Texture, TextureRegister, Vector, VectorSource,
    argument, branch, expand, register, shrink,
};

/// Components by number.
const COMPONENTS: &[u8; 16] = b"xyzwefghijklmnop";

fn component(number: u32) -> char {
    char::from(COMPONENTS[number as usize & 15])
}

/// A bundle of a program, or bytes that are none.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its first byte.
    pub offset: usize,
    /// Its bytes.
    pub length: usize,
    /// What it is.
    pub content: Result<Bundle, BundleError>,
    /// Registers from 8 to 15 that have been written before, a bit for each: the others are uniforms.
    written: u32,
}

/// The bundles of a program from a byte on, up to its end.
pub fn parts(code: &[u8], start: usize) -> impl Iterator<Item = Part> + '_ {
    let (mut at, mut written) = (start, 0);
    std::iter::from_fn(move || {
        let rest = code.get(at..).filter(|rest| !rest.is_empty())?;
        let content = Bundle::decode(rest);
        let words = content.map_or(1, |bundle| bundle.tag.words());
        let length = (words * WORD_BYTES).min(rest.len());
        let part = Part { offset: at, length, content, written };
        at += length;
        written |= part.content.map_or(0, |bundle| writes(&bundle));
        Some(part)
    })
}

/// Registers that a bundle writes, a bit for each.
fn writes(bundle: &Bundle) -> u32 {
    match &bundle.content {
        Content::Alu(alu) => {
            let vectors = [alu.vmul, alu.vadd, alu.lut].into_iter().flatten().map(|(r, _)| r.dest);
            let scalars = [alu.sadd, alu.smul].into_iter().flatten().map(|(r, _)| r.dest);
            vectors.chain(scalars).fold(0, |bits, dest| bits | 1 << dest)
        }
        Content::LoadStore(words) => words
            .iter()
            .filter(|word| **word != LoadStore::NOP && !is_store(word))
            .fold(0, |bits, word| bits | 1 << word.reg),
        Content::Texture(_) => 0,
    }
}

fn is_store(word: &LoadStore) -> bool {
    matches!(access(word), Access::Store | Access::StoreAttribute)
}

fn access(word: &LoadStore) -> Access {
    word.row().map_or(Access::Other, |row| row.access)
}

/// The text of a program.
pub fn program(code: &[u8]) -> String {
    let mut text = String::new();
    for part in parts(code, 0) {
        text.push_str(&part.text(code));
        text.push('\n');
        let ends = part.content.is_ok_and(|bundle| bundle.next == Tag::BREAK);
        if ends && code[part.offset + part.length..].iter().all(|byte| *byte == 0) {
            break;
        }
    }
    text
}

impl Part {
    /// The text: a line for each instruction.
    pub fn text(&self, code: &[u8]) -> String {
        let mut out = String::new();
        match &self.content {
            Ok(bundle) => Printer { out: &mut out, written: self.written }.bundle(bundle),
            Err(error) => {
                let bytes = &code[self.offset..self.offset + self.length];
                let words = bytes.chunks(4).map(|word| {
                    let word = word.iter().rev();
                    word.fold(String::from("0x"), |text, byte| text + &format!("{byte:02X}"))
                });
                let words: Vec<String> = words.collect();
                let _ = writeln!(out, "{} /* {error} */", words.join(", "));
            }
        }
        out
    }
}

struct Printer<'a> {
    out: &'a mut String,
    written: u32,
}

macro_rules! put {
    ($printer:expr, $($argument:tt)*) => {{ let _ = write!($printer.out, $($argument)*); }};
}

impl Printer<'_> {
    fn bundle(&mut self, bundle: &Bundle) {
        match &bundle.content {
            Content::Alu(alu) => self.alu(alu),
            Content::LoadStore(words) => {
                for word in words.iter().filter(|word| **word != LoadStore::NOP) {
                    self.load_store(word);
                }
            }
            Content::Texture(t) => self.texture(t, bundle.tag),
        }
        if bundle.tag.0 >= Tag::WRITEOUT.0 {
            self.out.push_str("writeout\n");
        }
    }

    fn alu(&mut self, alu: &Alu) {
        let constants = alu.constants.unwrap_or_default();
        if let Some((r, v)) = &alu.vmul {
            self.vector(r, v, &constants);
        }
        if let Some((r, s)) = &alu.sadd {
            self.scalar(r, s, &constants);
        }
        if let Some((r, v)) = &alu.vadd {
            self.vector(r, v, &constants);
        }
        if let Some((r, s)) = &alu.smul {
            self.scalar(r, s, &constants);
        }
        if let Some((r, v)) = &alu.lut {
            self.vector(r, v, &constants);
        }
        if let Some(b) = &alu.branch {
            if b.op == branch::UNCONDITIONAL {
                // Call mode and offset are where others have the offset and the condition.
                let call = b.offset & 3;
                let offset = signed(b.offset >> 2 | b.condition << 5, 7);
                put!(self, "br.uncond{} ", call_mode(call));
                self.target(offset, b.tag);
            } else {
                put!(self, "br.{}{} ", branch_name(b.op), condition(b.condition));
                self.target(signed(b.offset, 7), b.tag);
            }
        }
        if let Some(b) = &alu.extended {
            put!(self, "brx{}.{}", call_mode(b.call), branch_name(b.op));
            let first = b.condition & 3;
            if b.condition == first * 0x5555 {
                put!(self, "{} ", condition(first));
            } else {
                put!(self, "lut{:X} ", b.condition);
            }
            self.target(signed(b.offset, 23), b.tag);
        }
        if let Some([a, b, c, d]) = alu.constants {
            put!(self, "uconstants 0x{a:X}, 0x{b:X}, 0x{c:X}, 0x{d:X}\n");
        }
    }

    fn target(&mut self, offset: i32, tag: u32) {
        put!(self, "{offset:+} -> {}\n", Tag(tag as u8).name());
    }

    fn alu_register(&mut self, number: u32, is_write: bool) {
        let is_uniform = (8..16).contains(&number) && self.written >> number & 1 == 0
            || (16..24).contains(&number);
        match number {
            24 | 25 => put!(self, "TMP{}", number - register::TEMPORARY),
            26 | 27 => put!(self, "AL{}", number - register::LOAD_STORE),
            28 | 29 => {
                let name = if is_write { "AT" } else { "TA" };
                put!(self, "{name}{}", number - register::TEXTURE);
            }
            31 if !is_write => put!(self, "PC_SP"),
            _ if is_uniform => put!(self, "U{}", register::UNIFORM_END - 1 - number),
            _ => put!(self, "R{number}"),
        }
    }

    fn vector(&mut self, r: &Registers, v: &Vector, constants: &[u32; 4]) {
        let row = v.row();
        let (integer, makes_integer) = kinds(row);
        self.opcode(row, v.op);
        put!(self, ".{}{} ", if makes_integer { 'i' } else { 'f' }, v.bits());
        self.written |= 1 << r.dest;
        self.alu_register(r.dest, true);
        let channels = row.map_or(0, |row| u32::from(row.channels));
        let shrinks = v.shrink != shrink::NONE;
        self.alu_mask(v);
        self.outmod(v.outmod, makes_integer, shrinks);
        let components = 128 / v.bits();
        let mask = match channels {
            0 => v.mask,
            count => expanded_mask((1 << count) - 1, components),
        };
        put!(self, ", ");
        let source = |n: usize| VectorSource::decode(u128::from([v.src1, v.src2][n]));
        match r.src1 {
            register::CONSTANT => self.vector_constants(v, &source(0), channels, constants),
            number => {
                let doubled = row.is_some_and(|r| matches!(r.op, Isa::Ishladd | Isa::Ishlsub));
                self.vector_source(number, &source(0), v, mask, integer, doubled);
            }
        }
        put!(self, ", ");
        match r.src2 {
            _ if r.immediate != 0 => self.immediate(v.immediate(r), integer),
            register::CONSTANT => self.vector_constants(v, &source(1), channels, constants),
            number => self.vector_source(number, &source(1), v, mask, integer, false),
        }
        self.out.push('\n');
    }

    fn vector_source(
        &mut self,
        number: u32,
        source: &VectorSource,
        v: &Vector,
        mask: u32,
        integer: bool,
        doubled: bool,
    ) {
        self.alu_register(number, false);
        self.swizzle(source.swizzle, source.expand, v.mode, mask);
        if doubled {
            self.out.push_str(".x2");
        }
        self.modifier(source.modifier, integer, source.expands());
    }

    fn modifier(&mut self, modifier: u32, integer: bool, expands: bool) {
        if integer {
            if expands {
                let names = [".sext", ".zext", ".replicate", ".lshift"];
                self.out.push_str(names[modifier as usize & 3]);
            }
            return;
        }
        for (has, name) in
            [(modifier & 1 != 0, ".abs"), (modifier & 2 != 0, ".neg"), (expands, ".widen")]
        {
            self.out.push_str(if has { name } else { "" });
        }
    }

    fn scalar(&mut self, r: &Registers, s: &Scalar, constants: &[u32; 4]) {
        let row = s.row();
        let (integer, makes_integer) = kinds(row);
        self.opcode(row, s.op);
        put!(self, ".{}32 ", if makes_integer { 'i' } else { 'f' });
        self.written |= 1 << r.dest;
        self.alu_register(r.dest, true);
        let place = if s.full != 0 { s.component >> 1 } else { s.component };
        put!(self, ".{}", component(place));
        self.outmod(s.outmod, makes_integer, s.full == 0);
        for (n, (number, bits)) in [(r.src1, s.src1), (r.src2, s.src2)].into_iter().enumerate() {
            put!(self, ", ");
            if n == 1 && r.immediate != 0 {
                self.immediate(s.immediate(r), integer);
                continue;
            }
            let source = ScalarSource::decode(u128::from(bits));
            let full = source.full != 0;
            if number == register::CONSTANT {
                put!(self, "#");
                let mode = if full { 2 } else { 1 };
                self.constant(constants, source.component, mode, false, source.modifier, row);
                continue;
            }
            self.alu_register(number, false);
            let place = if full { source.component >> 1 } else { source.component };
            put!(self, ".{}", component(place));
            self.modifier(source.modifier, integer, !full);
        }
        self.out.push('\n');
    }

    fn opcode(&mut self, row: Option<&AluRow>, code: u32) {
        match row {
            Some(row) => self.out.push_str(row.name),
            None => {
                put!(self, "alu_op_{code:02X}");
            }
        }
    }

    fn immediate(&mut self, value: u16, integer: bool) {
        match integer {
            true => {
                put!(self, "#{value}");
            }
            false => {
                put!(self, "#{}", general(f64::from(half(value))));
            }
        }
    }

    fn outmod(&mut self, outmod: u32, integer: bool, shrinks: bool) {
        match integer {
            true if !shrinks => return,
            false if shrinks => self.out.push_str(".shrink"),
            _ => {}
        }
        self.out.push_str(outmod_name(outmod, integer));
    }

    fn alu_mask(&mut self, v: &Vector) {
        let (bits, mask) = (v.bits(), v.mask);
        if v.shrink == shrink::NONE && mask == 0xff {
            return;
        }
        self.out.push('.');
        let skip = (bits / 16).max(1);
        let first = if v.shrink == shrink::HIGH { 128 / bits } else { 0 };
        let mut odd = false;
        for i in (0..8).step_by(skip as usize) {
            let has = mask >> i & 1 != 0;
            odd |= (1..skip).any(|j| (mask >> (i + j) & 1 != 0) != has);
            if !has {
                continue;
            }
            if bits == 8 {
                put!(self, "{}{}", component(2 * i + first), component(2 * i + 1 + first));
            } else {
                put!(self, "{}", component(i / skip + first));
            }
        }
        if odd {
            put!(self, " /* {mask:X} */");
        }
    }

    fn swizzle(&mut self, swizzle: u32, how: u32, mode: u32, mask: u32) {
        let expands = how >= expand::LOW;
        let bits = (8 << mode) >> u32::from(expands);
        let mut first = 0;
        let mut second = 64 / bits.max(4);
        match how {
            expand::NONE if swizzle == 0xe4 => return,
            expand::LOW => second /= 2,
            expand::HIGH => {
                first = second;
                second += second / 2;
            }
            expand::LOW_TWICE => second = 0,
            expand::HIGH_TWICE => first = second,
            expand::SWAP => (first, second) = (second, 0),
            expand::LOW_SWAP => (first, second) = (second / 2, 0),
            expand::HIGH_SWAP => first = second + second / 2,
            _ => {}
        }
        self.out.push('.');
        if mode == 3 {
            self.selectors_64(swizzle, how, first, mask);
            return;
        }
        let skip = (8 << mode >> 4).max(1);
        let halves = if mode < 2 { 2 } else { 1 };
        for (half, start) in [first, second].into_iter().take(halves).enumerate() {
            for i in 0..4 {
                if mask >> ((half as u32 * 4 + i) * skip) & 1 == 0 {
                    continue;
                }
                let c = swizzle >> (2 * i) & 3;
                if mode == 0 {
                    let c = 2 * c + start;
                    put!(self, "{}{}", component(c), component(c + 1));
                } else {
                    put!(self, "{}", component(c + start));
                }
            }
        }
    }

    fn selectors_64(&mut self, swizzle: u32, how: u32, first: u32, mask: u32) {
        let expands = how >= expand::LOW;
        let step = if expands { 1 } else { 2 };
        for (n, i) in (first..4).step_by(step).enumerate() {
            if mask >> (4 * n) & 1 == 0 {
                continue;
            }
            let mut a = swizzle >> (2 * i) & 3;
            if expands {
                a += if how == expand::HIGH { 2 } else { 0 };
                put!(self, "{}", component(a / 2));
                continue;
            }
            let b = swizzle >> (2 * (i + 1)) & 3;
            if b == a + 1 {
                self.out.push(if a >> 1 != 0 { 'Y' } else { 'X' });
            } else {
                put!(self, "[{}{}]", component(a), component(b));
            }
        }
    }

    fn vector_constants(
        &mut self,
        v: &Vector,
        source: &VectorSource,
        channels: u32,
        constants: &[u32; 4],
    ) {
        let expands = source.expands();
        let bits = v.bits() >> u32::from(expands);
        let count = 128 / bits.max(8);
        let mask = match channels {
            0 => condensed_mask(v.mask, bits),
            n => (1 << n) - 1,
        };
        let several = mask.count_ones() > 1;
        self.out.push(if several { '<' } else { '#' });
        let wanted = (0..count).filter(|i| mask >> i & 1 != 0);
        for (n, i) in wanted.enumerate() {
            let mut c = source.swizzle.checked_shr(2 * i).unwrap_or(0) & 3;
            if matches!(bits, 8 | 16) && !expands {
                let (upper, half) = (i >= count / 2, count / 2);
                if bits == 8 {
                    c = 2 * (source.swizzle >> (2 * (i >> 1 & 3)) & 3);
                } else {
                    c = source.swizzle >> (2 * (i & 3)) & 3;
                }
                c += match source.expand {
                    expand::HIGH_TWICE => half,
                    expand::SWAP if !upper => half,
                    expand::NONE if upper => half,
                    _ => 0,
                };
                c += if bits == 8 { i & 1 } else { 0 };
            }
            self.out.push_str(if n > 0 { ", " } else { "" });
            self.constant(constants, c, v.mode, expands, source.modifier, v.row());
        }
        self.out.push_str(if several { ">" } else { "" });
    }

    /// A component of the constants.
    fn constant(
        &mut self,
        constants: &[u32; 4],
        c: u32,
        mode: u32,
        half: bool,
        modifier: u32,
        row: Option<&AluRow>,
    ) {
        use super::table::Kind;
        let all = constants.iter().rev().fold(0u128, |all, word| all << 32 | u128::from(*word));
        let mode = mode.saturating_sub(u32::from(half));
        let bits = 8u32 << mode;
        let raw = (all.checked_shr(c * bits).unwrap_or(0) & ((1 << bits) - 1)) as u64;
        let kind = row.map_or(Kind::Float, |row| row.kind);
        let code = row.map_or(0, |row| row.op as u32);
        if mode == 0 {
            put!(self, "0x{raw:X}");
            if modifier != 0 {
                put!(self, " /* {modifier} */");
            }
            return;
        }
        let shifted = if half && modifier == 3 { raw << bits } else { raw };
        match kind {
            Kind::Unsigned => {
                put!(self, "{shifted}");
            }
            Kind::Signed if (Isa::Iand as u32..=Isa::Ipopcnt as u32).contains(&code) => {
                put!(self, "0x{shifted:X}");
            }
            Kind::Signed if half && modifier == 1 => {
                put!(self, "{raw}");
            }
            Kind::Signed if half && modifier == 3 => {
                put!(self, "{shifted}");
            }
            Kind::Signed => {
                put!(self, "{}", (raw << (64 - bits)) as i64 >> (64 - bits));
            }
            Kind::Float => {
                let value = match bits {
                    16 => f64::from(self::half(raw as u16)),
                    32 => f64::from(f32::from_bits(raw as u32)),
                    _ => f64::from_bits(raw),
                };
                let value = if modifier & 1 != 0 { value.abs() } else { value };
                let value = if modifier & 2 != 0 { -value } else { value };
                put!(self, "{}", general(value));
            }
        }
    }

    fn load_store(&mut self, word: &LoadStore) {
        let row = word.row();
        match row {
            Some(row) => self.out.push_str(row.name),
            None => {
                put!(self, "ldst_op_{:02X}", word.op);
            }
        }
        let (op, access) = (row.map(|row| row.op), access(word));
        if op == Some(Memory::Trap) {
            put!(self, " 0x{:X}\n", word.displacement());
            return;
        }
        let attribute = matches!(access, Access::Attribute | Access::StoreAttribute);
        let image = is_image(word.op);
        let projects = matches!(word.op, 0x11..=0x13);
        if attribute {
            let secondary = word.index_format & 2 != 0;
            let varying = matches!(word.op, 0x98..=0x9b | 0xd4..=0xd7);
            let has_default = varying || matches!(word.op, 0x94..=0x97);
            self.out.push_str(if word.index_format & 1 != 0 { ".a32" } else { "" });
            if has_default && secondary != varying {
                self.out.push_str(if secondary { ".secondary" } else { ".primary" });
            }
        } else if op == Some(Memory::LdCubemapCoords) || projects {
            self.out.push_str(if word.wide != 0 { ".f32" } else { ".f16" });
        }
        self.out.push(' ');
        let moves = matches!(word.op, 0x04..=0x13);
        let atomic = access == Access::Atomic;
        if is_store(word) {
            let mask = (0..4).fold(0, |m, i| m | ((word.mask >> i & 1) * 3) << (2 * i));
            self.argument(word.reg);
            self.swizzle(word.swizzle, expand::NONE, 2, mask);
        } else {
            match word.reg {
                26 | 27 => put!(self, "AL{}", word.reg - register::LOAD_STORE),
                28 | 29 => put!(self, "AT{}", word.reg - register::TEXTURE),
                31 => put!(self, "PC_SP"),
                number => put!(self, "R{number}"),
            }
            let addresses = matches!(op, Some(Memory::Lea | Memory::LeaImage));
            let swizzle = if moves && !addresses || atomic { 0xe4 } else { word.swizzle };
            self.out.push('.');
            for i in 0..4 {
                let c = component(swizzle >> (2 * i) & 3);
                self.out.push(if word.mask >> i & 1 != 0 { c } else { '~' });
            }
        }
        if access == Access::Uniform {
            // Mesa's text has it so, though its compiler has the number in the instruction where the bit is 0.
            match word.offset & 1 {
                0 => self.separated(word.arg_reg, word.arg_comp),
                _ => {
                    put!(self, ", {}", word.uniform_buffer());
                }
            }
            self.separated(word.index_reg, word.index_comp);
            self.shift(word.index_shift);
            self.displacement(word.displacement() >> 2);
        }
        let compares = matches!(word.op, 0x64..=0x67);
        if matches!(access, Access::Load | Access::Store | Access::Atomic) {
            self.address(word, compares);
        }
        if moves {
            put!(self, ", ");
            self.argument(word.arg_reg);
            self.swizzle(word.swizzle, expand::NONE, 2, 0xff);
        }
        if atomic {
            self.separated(word.swizzle >> 2 & 7, word.swizzle & 3);
        }
        if compares {
            self.separated(word.index_reg, word.index_comp);
        }
        let special = matches!(word.op, 0x9c..=0x9f | 0xdc..=0xdf);
        if special || attribute {
            self.separated(word.index_reg, word.index_comp);
            self.shift(word.index_shift);
            self.displacement(word.displacement() >> 9);
        }
        if attribute {
            put!(self, ", ");
            self.argument(word.arg_reg);
            if image {
                put!(self, ".u{}", if word.wide != 0 { 64 } else { 32 });
            }
            put!(self, ".{}", component(word.arg_comp));
            if word.wide != 0 && !image {
                self.displacement(signed(word.offset & 0x1ff, 9));
            }
        }
        if matches!(word.op, 0x04..=0x0b) {
            put!(self, ", 0x{:X}", (word.displacement() << 4) as u32 | word.index_shift);
        }
        self.out.push('\n');
    }

    fn address(&mut self, word: &LoadStore, compares: bool) {
        put!(self, ", ");
        let base = word.arg_reg != argument::ZERO;
        if base {
            self.argument(word.arg_reg);
            let bits = if word.wide != 0 { 64 } else { 32 };
            put!(self, ".u{bits}.{}", component(word.arg_comp));
        }
        if !compares && word.index_reg != argument::ZERO {
            put!(self, "{}", if base { " + " } else { "" });
            self.argument(word.index_reg);
            let format = ["", ".u64", ".u32", ".s32"][word.index_format as usize & 3];
            put!(self, "{format}.{}", component(word.index_comp));
            self.shift(word.index_shift);
        }
        self.displacement(word.displacement());
    }

    fn argument(&mut self, number: u32) {
        let names = [
            "AL0",
            "AL1",
            "PC_SP",
            "LOCAL_STORAGE_PTR",
            "LOCAL_THREAD_ID",
            "GROUP_ID",
            "GLOBAL_THREAD_ID",
            "0",
        ];
        match names.get(number as usize) {
            Some(name) => self.out.push_str(name),
            None => {
                put!(self, "R{number}");
            }
        }
    }

    fn separated(&mut self, number: u32, which: u32) {
        put!(self, ", ");
        self.argument(number);
        put!(self, ".{}", component(which));
    }

    fn shift(&mut self, by: u32) {
        if by != 0 {
            put!(self, " << {by}");
        }
    }

    fn displacement(&mut self, by: i32) {
        match by {
            0 => {}
            1.. => {
                put!(self, " + 0x{by:X}");
            }
            _ => {
                put!(self, " - 0x{:X}", by.unsigned_abs());
            }
        }
    }

    fn texture(&mut self, t: &Texture, tag: Tag) {
        match TextureRow::of(t.op) {
            Some(row) => self.out.push_str(row.name),
            None => {
                put!(self, "tex_op_{:02X}", t.op);
            }
        }
        if t.op == texture::BARRIER {
            // Of a barrier the bundles behind it stand in the same bits.
            if t.out_of_order != 0 {
                put!(self, ".ooo{}", t.out_of_order);
            }
            self.out.push('\n');
            return;
        }
        self.out.push_str(if tag == Tag::TEXTURE_VERTEX { ".vtx" } else { "" });
        let mode = match (t.op, t.mode) {
            (texture::DERIVATIVE, 0) => ".x",
            (texture::DERIVATIVE, 1) => ".y",
            (_, 1) => "",
            (_, 5) => ".shadow",
            (_, 6) => ".gather.shadow",
            (_, 8) => ".gatherX",
            (_, 9) => ".gatherY",
            (_, 10) => ".gatherZ",
            (_, 11) => ".gatherW",
            _ => "unk",
        };
        self.out.push_str(mode);
        self.out.push_str([".cube", ".1d", ".2d", ".3d"][t.format as usize & 3]);
        self.out.push_str([".reserved", ".skip", ".kill", ""][t.exec as usize & 3]);
        if t.out_of_order != 0 {
            put!(self, ".ooo{}", t.out_of_order);
        }
        put!(self, " TA{}", t.out_select);
        if t.mask != 0xf {
            self.out.push('.');
            let first = 4 * t.out_upper;
            for i in (0..4).filter(|i| t.mask >> i & 1 != 0) {
                self.out.push(component(first + i));
            }
        } else if t.out_upper != 0 {
            self.out.push('\'');
        }
        let float = t.sampler_type == 1;
        put!(self, ".{}{}", if float { 'f' } else { 'i' }, if t.out_full != 0 { 32 } else { 16 });
        if float {
            self.out.push_str(outmod_name(t.outmod, false));
        }
        put!(self, ", ");
        if t.texture_register != 0 {
            put!(self, "texture[");
            self.texture_register(t.texture);
            put!(self, "], ");
        } else {
            put!(self, "texture{}, ", t.texture);
        }
        put!(self, "{}sampler", ['?', 'f', 'u', 'i'][t.sampler_type as usize & 3]);
        if t.sampler_register != 0 {
            put!(self, "[");
            self.texture_register(t.sampler);
            put!(self, "]");
        } else {
            put!(self, "{}", t.sampler);
        }
        self.swizzle(t.swizzle, expand::NONE, 2, 0xff);
        put!(self, ", AT{}", t.in_select);
        let how = |upper: u32| if upper != 0 { expand::HIGH } else { expand::NONE };
        self.swizzle(t.in_swizzle, how(t.in_upper), 2, 0xff);
        put!(self, ".{}", if t.in_full != 0 { 32 } else { 16 });
        if t.offset_register != 0 {
            put!(self, " + AT{}", u32::from(t.offset & 2 != 0));
            self.swizzle(t.offset >> 3 & 0xff, how(t.offset & 4), 2, 0xff);
            put!(self, ".{}, ", if t.offset & 1 != 0 { 32 } else { 16 });
        } else if t.offset != 0 {
            let [x, y, z] = [0, 4, 8].map(|at| t.offset >> at & 0xf);
            put!(self, " + <{x}, {y}, {z}>, ");
        } else {
            put!(self, ", ");
        }
        let bias = t.op == texture::TEX;
        let whole = signed(t.bias_int, 8);
        if t.lod_register != 0 {
            put!(self, "lod {} ", if bias { '+' } else { '=' });
            self.texture_register(t.bias);
            put!(self, ", ");
        } else if t.op == texture::TEX_FETCH {
            put!(self, "lod = {}, ", t.bias);
        } else if t.bias != 0 || whole != 0 {
            let value = whole as f32 + t.bias as f32 / 256.0;
            let sign = match (bias, value >= 0.0) {
                (false, _) => '=',
                (true, true) => '+',
                (true, false) => '-',
            };
            put!(self, "lod {sign} {:.6}, ", value.abs());
        }
        self.out.push('\n');
        if t.unknown_4 != 0 || t.unknown_8 != 0 {
            put!(self, "// unknown4 = 0x{:x}\n// unknown8 = 0x{:x}\n", t.unknown_4, t.unknown_8);
        }
    }

    fn texture_register(&mut self, bits: u32) {
        let r = TextureRegister::decode(u128::from(bits));
        let place = r.component + if r.upper != 0 { 4 } else { 0 };
        let bits = if r.full != 0 { 32 } else { 16 };
        put!(self, "AT{}.{}.{bits}", r.select, component(place));
    }
}

/// Whether sources and results of a row are integers.
fn kinds(row: Option<&AluRow>) -> (bool, bool) {
    row.map_or((false, false), |row| (row.is_integer(), row.makes_integer()))
}

fn is_image(op: u32) -> bool {
    matches!(op, 0x0d | 0xb4..=0xb7 | 0xd8..=0xdb)
}

fn outmod_name(outmod: u32, integer: bool) -> &'static str {
    let names = match integer {
        true => [".ssat", ".usat", ".keeplo", ".keephi"],
        false => ["", ".clamp_0_inf", ".clamp_m1_1", ".clamp_0_1"],
    };
    names[outmod as usize & 3]
}

fn branch_name(op: u32) -> String {
    match op {
        branch::UNCONDITIONAL => "uncond.".into(),
        branch::CONDITIONAL => "cond.".into(),
        branch::WRITEOUT => "write.".into(),
        branch::TILE_BUFFER => "tilebuffer.".into(),
        branch::DISCARD => "discard.".into(),
        op => format!("unk{op}."),
    }
}

fn condition(condition: u32) -> &'static str {
    ["write0", "false", "true", "always"][condition as usize & 3]
}

fn call_mode(mode: u32) -> &'static str {
    [".reserved", "", ".call", ".return"][mode as usize & 3]
}

/// A bit for each element, of a mask of eight bits; of elements of eight bits two for each.
fn condensed_mask(mask: u32, bits: u32) -> u32 {
    if bits == 8 {
        return (0..8).fold(0, |m, i| m | ((mask >> i & 1) * 3) << (2 * i));
    }
    let step = bits / 16;
    (0..128 / bits).fold(0, |m, i| m | (mask >> (i * step) & 1) << i)
}

/// The mask of eight bits of elements, so many in a register.
fn expanded_mask(mask: u32, elements: u32) -> u32 {
    let factor = 8 / elements.min(8);
    let all = (1 << factor) - 1;
    (0..elements.min(8)).filter(|i| mask >> i & 1 != 0).fold(0, |m, i| m | all << (factor * i))
}

/// The value of a half-float.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}

/// A number as C's `%g` writes it.
fn general(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        let name = if value == 0.0 {
            "0"
        } else if value.is_nan() {
            "nan"
        } else {
            "inf"
        };
        return format!("{sign}{name}");
    }
    let text = format!("{value:.5e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let cut = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    if (-4..6).contains(&exponent) {
        return cut(format!("{value:.*}", (5 - exponent).max(0) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", cut(digits.to_owned()), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_c_does() {
        let of = [0.0, -0.0, 1.0, 0.5, 255.0, 1e6, 1.5e-5, 123_456.7, 0.333_333_34, -1e30];
        let text = of.map(general);
        assert_eq!(
            text,
            ["0", "-0", "1", "0.5", "255", "1e+06", "1.5e-05", "123457", "0.333333", "-1e+30"]
        );
    }
}
