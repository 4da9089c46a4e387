//! Loads, stores, and other operations of the load/store unit.
//!
// source: Mesa, midgard_compile.c (emit_global, emit_ubo_read, emit_attr_read, emit_varying_read, emit_image_op,
// emit_compute_builtin), midgard_address.c, midgard_emit.c (midgard_pack_common_store_mask).

use tepui_mali_isa::midgard::table::{Access, Memory as Isa};
use tepui_mali_isa::midgard::word::{LoadStore, argument};
use tepui_mali_isa::modifier::AtomicOperation;
use tepui_mali_isa::{Flow, Op as Valhall, Special};
use tepui_texel::cube::{Faces, faces};

use super::{Context, rows, tile};
use crate::shader::bifrost::format_flags;
use crate::shader::message::{self, element};
use crate::shader::op::{Handler, Lanes, Op, WriteMode};
use crate::shader::operand::Src;
use crate::warp::row::Row;
use crate::warp::trap::{Trap, failed};
use crate::warp::{addresses, uniforms};

type Done = Result<(), Box<Trap>>;

/// Position in [`Op::flags`] of the second argument's conversion to an offset, followed by its shift.
const FORMAT: u32 = 8;
const SHIFT: u32 = 10;

const U64: u32 = 1;
const S32: u32 = 3;

/// The address of a lane.
#[inline(always)]
fn address(l: &Lanes<'_, '_>, op: &Op, lane: usize) -> u64 {
    let word = |row: u16| u64::from(l.raw(row).0[lane]);
    let base = word(op.src[0].row) | word(op.src[0].high) << 32;
    let low = l.raw(op.src[1].row).0[lane];
    let index = match op.flags >> FORMAT & 3 {
        U64 => u64::from(low) | word(op.src[1].high) << 32,
        S32 => low as i32 as i64 as u64,
        _ => low.into(),
    };
    let offset = op.immediate as i32;
    base.wrapping_add(index << (op.flags >> SHIFT & 0xf)).wrapping_add_signed(offset.into())
}

/// Loads `BYTES` bytes into the result rows.
fn load<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let mut words = [Row::splat(0); 4];
    for lane in l.active() {
        let mut bytes = [0; 16];
        l.port.read_lane(address(l, op, lane), lane, &mut bytes[..BYTES])?;
        for (row, word) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            row.0[lane] = u32::from_le_bytes(*word);
        }
    }
    deliver(l, &words);
    Ok(())
}

fn deliver(l: &mut Lanes<'_, '_>, words: &[Row; 4]) {
    for (n, row) in (0u8..).zip(words) {
        l.put_register(rows::RESULT + n, row);
    }
}

/// Sign-extends a loaded value; the immediate is its number of bits.
fn extend(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let unused = 32 - op.immediate;
    let value = l.get(&op.src[0]).map(|v| ((v << unused) as i32 >> unused) as u32);
    l.put(op, &value);
    Ok(())
}

/// Stores the bytes of the result rows that are enabled in the flags.
fn store<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let unit = (BYTES / 4).max(1);
    for lane in l.writing() {
        let mut bytes = [0; 16];
        for (n, chunk) in (0u16..).zip(bytes.as_chunks_mut::<4>().0) {
            *chunk = l.raw(u16::from(rows::RESULT) + n).0[lane].to_le_bytes();
        }
        let at = address(l, op, lane);
        if op.flags & 0xf == 0xf {
            l.port.write_lane(at, lane, &bytes[..BYTES])?;
            continue;
        }
        for n in (0..BYTES / unit).filter(|n| op.flags >> n & 1 != 0) {
            let at = at.wrapping_add((n * unit) as u64);
            l.port.write_lane(at, lane, &bytes[n * unit..(n + 1) * unit])?;
        }
    }
    Ok(())
}

/// Loads from a uniform buffer; bytes past its end are 0.
fn uniform<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let buffers = l.get(&op.src[0]);
    let mut words = [Row::splat(0); 4];
    for lane in l.active() {
        let handle = addresses::UNIFORM_BUFFERS << 24 | buffers.0[lane] & 0xff_ffff;
        let (start, size) = l.port.extent(handle)?;
        let offset = u64::from(l.raw(op.src[1].row).0[lane]) << (op.flags >> SHIFT & 0xf);
        let offset = offset.wrapping_add_signed((op.immediate as i32).into());
        let left = size.saturating_sub(offset).min(BYTES as u64) as usize;
        let mut bytes = [0; 16];
        if left > 0 {
            let at = start.wrapping_add(offset);
            l.port.memory.read(at, &mut bytes[..left]).map_err(failed)?;
        }
        for (row, word) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            row.0[lane] = u32::from_le_bytes(*word);
        }
    }
    deliver(l, &words);
    Ok(())
}

/// Computes an address.
fn effective(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let all: [u64; 16] = std::array::from_fn(|lane| address(l, op, lane));
    let words = [Row(all.map(|v| v as u32)), Row(all.map(|v| (v >> 32) as u32))];
    for (n, row) in (0u8..).zip(&words) {
        l.put_register(op.dest + n, row);
    }
    Ok(())
}

/// A descriptor index: a shifted register plus an offset.
fn index(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let shift = op.flags;
    let value = l.get(&op.src[0]).map(|v| (v << shift).wrapping_add(op.immediate));
    l.put(op, &value);
    Ok(())
}

/// Divides the components of a result by one of them.
fn divide(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let by = *l.raw(op.src[0].row);
    for n in 0..4 {
        let row = *l.raw(u16::from(rows::RESULT + n));
        let divided =
            |lane: usize| (f32::from_bits(row.0[lane]) / f32::from_bits(by.0[lane])).to_bits();
        l.put_register(rows::RESULT + n, &Row(std::array::from_fn(divided)));
    }
    Ok(())
}

/// The coordinates on a cube's face, with the face in the upper bits of the first one.
fn cube(l: &mut Lanes<'_, '_>, _: &Op) -> Done {
    let direction: [[f32; 16]; 3] =
        [0, 1, 2].map(|n| l.raw(u16::from(rows::RESULT + n)).0.map(f32::from_bits));
    let mut found = Faces::ZERO;
    faces(&direction, &mut found);
    let face = |lane: usize| found.place[0][lane].to_bits() & 0x1fff_ffff | found.face[lane] << 29;
    let first = Row(std::array::from_fn(face));
    let second = Row(found.place[1].map(f32::to_bits));
    l.put_register(rows::RESULT, &first);
    l.put_register(rows::RESULT + 1, &second);
    Ok(())
}

impl Context {
    /// A component of a register that the load/store unit reads.
    fn argument(&mut self, register: u32, component: u32) -> Option<Src> {
        let row = match register {
            0 | 1 => rows::word(26 + register, component).into(),
            argument::PC_SP | argument::LOCAL_STORAGE => {
                let special = match (register, component) {
                    (argument::LOCAL_STORAGE, 2 | 3) => Special::WorkgroupLocalPointer,
                    (argument::LOCAL_STORAGE, _) | (_, 2 | 3) => Special::ThreadLocalPointer,
                    _ => return None,
                };
                uniforms::special(special, component as u8 & 1)?
            }
            argument::LOCAL_ID | argument::GROUP_ID | argument::GLOBAL_ID => {
                let first = [rows::LOCAL_ID, rows::GROUP_ID, rows::GLOBAL_ID];
                let first = first[(register - argument::LOCAL_ID) as usize];
                match component {
                    0..3 => u16::from(first) + component as u16,
                    _ => uniforms::ZERO,
                }
            }
            _ => uniforms::ZERO,
        };
        Some(Src { row, ..Src::NONE })
    }

    /// A pair of components, the lower one first.
    fn pair(&mut self, register: u32, component: u32) -> Option<Src> {
        let low = self.argument(register, component)?;
        let high = self.argument(register, (component + 1) & 3)?;
        Some(Src { high: high.row, ..low })
    }

    /// Copies results into a register's components, with mask and swizzle.
    fn results(&mut self, word: &LoadStore, swizzle: u32) {
        for i in (0..4).filter(|i| word.mask >> i & 1 != 0) {
            let from = rows::RESULT + (swizzle >> (2 * i) & 3) as u8;
            let src = Src { row: from.into(), ..Src::NONE };
            self.copy(src, rows::word(word.reg, i), WriteMode::Word);
        }
    }

    /// Copies components of an argument into the result rows, with a swizzle.
    fn operands(&mut self, register: u32, swizzle: u32, to: u8) -> Option<()> {
        for i in 0..4 {
            let src = self.argument(register, swizzle >> (2 * i) & 3)?;
            self.copy(src, to + i as u8, WriteMode::Word);
        }
        Some(())
    }

    /// An operation on an address.
    fn at(&mut self, run: Handler, word: &LoadStore) -> Option<Op> {
        let mut op = Op::new(run, Flow::None);
        op.src[0] = match word.wide != 0 {
            true => self.pair(word.arg_reg, word.arg_comp)?,
            false => self.argument(word.arg_reg, word.arg_comp)?,
        };
        op.src[1] = self.pair(word.index_reg, word.index_comp)?;
        op.immediate = word.displacement() as u32;
        op.flags = word.mask | word.index_format << FORMAT | word.index_shift << SHIFT;
        Some(op)
    }

    /// Sets the source that holds a descriptor index: an immediate or a register.
    fn descriptor(&mut self, word: &LoadStore, op: &mut Op, source: usize) -> Option<()> {
        let offset = (word.displacement() >> 9) as u32;
        if word.index_reg == argument::ZERO {
            op.immediate = offset;
            op.flags |= message::IN_INSTRUCTION;
            return Some(());
        }
        let mut number = Op::new(index, Flow::None);
        number.src[0] = self.argument(word.index_reg, word.index_comp)?;
        (number.dest, number.immediate, number.flags) = (rows::SCRATCH, offset, word.index_shift);
        self.ops.push(number);
        op.src[source] = Src { row: rows::SCRATCH.into(), ..Src::NONE };
        Some(())
    }
}

fn row(number: u8) -> Src {
    Src { row: number.into(), ..Src::NONE }
}

/// The register format flags of an instruction in a family of four: 32-bit floats, 16-bit floats, unsigned, signed.
fn format(op: u32, first: Isa) -> Option<u32> {
    format_flags(["f32", "f16", "u32", "s32"].get((op - first as u32) as usize)?)
}

/// Translates an instruction.
pub fn lower(context: &mut Context, word: &LoadStore) -> Option<()> {
    let instruction = word.row()?;
    let isa = instruction.op;
    match instruction.access {
        Access::Other if isa == Isa::Nop => return Some(()),
        Access::Load if isa == Isa::Lea => {
            let mut op = context.at(effective, word)?;
            op.dest = rows::RESULT;
            context.ops.push(op);
            context.results(word, word.swizzle);
        }
        Access::Load => {
            let run: Handler = match isa {
                Isa::LdU8 | Isa::LdI8 => load::<1>,
                Isa::LdU16 | Isa::LdI16 => load::<2>,
                Isa::Ld32 => load::<4>,
                Isa::Ld64 => load::<8>,
                Isa::Ld128 => load::<16>,
                _ => return None,
            };
            let op = context.at(run, word)?;
            context.ops.push(op);
            if let Isa::LdI8 | Isa::LdI16 = isa {
                let mut op = Op::new(extend, Flow::None);
                (op.src[0], op.dest) = (row(rows::RESULT), rows::RESULT);
                op.immediate = if isa == Isa::LdI8 { 8 } else { 16 };
                context.ops.push(op);
            }
            context.results(word, word.swizzle);
        }
        Access::Store => {
            let run: Handler = match isa {
                Isa::StU8 | Isa::StI8 => store::<1>,
                Isa::StU16 | Isa::StI16 => store::<2>,
                Isa::St32 => store::<4>,
                Isa::St64 => store::<8>,
                Isa::St128 => store::<16>,
                _ => return None,
            };
            context.operands(word.reg, word.swizzle, rows::RESULT)?;
            let op = context.at(run, word)?;
            context.ops.push(op);
        }
        Access::Uniform => {
            let run: Handler = match isa {
                Isa::LdUboU8 | Isa::LdUboI8 => uniform::<1>,
                Isa::LdUboU16 | Isa::LdUboI16 => uniform::<2>,
                Isa::LdUbo32 => uniform::<4>,
                Isa::LdUbo64 => uniform::<8>,
                Isa::LdUbo128 => uniform::<16>,
                _ => return None,
            };
            let mut op = Op::new(run, Flow::None);
            // The other value of the bit is not known to be used.
            if word.offset & 1 != 0 {
                return None;
            }
            op.src[0] = context.literal(word.uniform_buffer())?;
            op.src[1] = context.argument(word.index_reg, word.index_comp)?;
            op.immediate = (word.displacement() >> 2) as u32;
            op.flags = word.index_shift << SHIFT;
            context.ops.push(op);
            context.results(word, word.swizzle);
        }
        Access::Atomic => atomic(context, word, isa)?,
        Access::Attribute => attribute(context, word, isa)?,
        Access::StoreAttribute => store_attribute(context, word)?,
        Access::Special => special(context, word, isa)?,
        Access::Move => {
            context.operands(word.arg_reg, word.swizzle, rows::RESULT)?;
            let by = |n: u8| {
                let mut op = Op::new(divide, Flow::None);
                op.src[0] = row(rows::SCRATCH);
                (op, n)
            };
            let (op, n) = match isa {
                Isa::LdstMov => {
                    context.results(word, 0xe4);
                    return Some(());
                }
                Isa::LdCubemapCoords => (Op::new(cube, Flow::None), 0),
                Isa::LdstPerspectiveDivY => by(1),
                Isa::LdstPerspectiveDivZ => by(2),
                Isa::LdstPerspectiveDivW => by(3),
                _ => return None,
            };
            context.copy(row(rows::RESULT + n), rows::SCRATCH, WriteMode::Word);
            context.ops.push(op);
            context.results(word, 0xe4);
        }
        Access::Other => return None,
    }
    Some(())
}

fn atomic(context: &mut Context, word: &LoadStore, isa: Isa) -> Option<()> {
    let flags = match isa {
        Isa::AtomicAdd => AtomicOperation::Aadd as u32,
        Isa::AtomicAnd => AtomicOperation::Aand as u32,
        Isa::AtomicOr => AtomicOperation::Aor as u32,
        Isa::AtomicXor => AtomicOperation::Axor as u32,
        Isa::AtomicImin => AtomicOperation::Asmin as u32,
        Isa::AtomicUmin => AtomicOperation::Aumin as u32,
        Isa::AtomicImax => AtomicOperation::Asmax as u32,
        Isa::AtomicUmax => AtomicOperation::Aumax as u32,
        Isa::AtomicXchg => AtomicOperation::Axchg as u32,
        Isa::AtomicCmpxchg => AtomicOperation::Axchg as u32 | message::COMPARE,
        _ => return None,
    };
    let compares = isa == Isa::AtomicCmpxchg;
    // The compared value replaces the index.
    let mut place = *word;
    if compares {
        (place.index_reg, place.index_shift, place.index_format) = (argument::ZERO, 0, 0);
    }
    let mut at = context.at(effective, &place)?;
    at.dest = rows::SCRATCH;
    context.ops.push(at);
    let operand = context.argument(word.swizzle >> 2 & 7, word.swizzle & 3)?;
    context.copy(operand, rows::STAGING, WriteMode::Word);
    if compares {
        let compared = context.argument(word.index_reg, word.index_comp)?;
        context.copy(compared, rows::STAGING + 1, WriteMode::Word);
    }
    let mut op = Op::new(message::handler(Valhall::ATOM_RETURN_I32)?, Flow::None);
    op.src[0] = Src { row: rows::SCRATCH.into(), high: u16::from(rows::SCRATCH) + 1, ..Src::NONE };
    op.flags = flags;
    op.staging = [(rows::RESULT, 1), (rows::STAGING, if compares { 2 } else { 1 })];
    context.ops.push(op);
    // The result is the same in all components.
    context.results(word, 0);
    Some(())
}

/// The coordinates of an image: one word of two halves, or two words.
fn coordinates(context: &mut Context, word: &LoadStore, op: &mut Op) -> Option<()> {
    op.src[0] = context.argument(word.arg_reg, word.arg_comp)?;
    if word.wide != 0 {
        op.src[1] = context.argument(word.arg_reg, (word.arg_comp + 1) & 3)?;
    }
    Some(())
}

fn attribute(context: &mut Context, word: &LoadStore, isa: Isa) -> Option<()> {
    let mut op = Op::new(element::load_attribute, Flow::None);
    op.staging[0] = (rows::RESULT, 4);
    match word.op {
        0x94..=0x97 => {
            if word.wide != 0 || word.arg_reg != argument::ZERO || word.index_format & 2 != 0 {
                return None;
            }
            op.flags = format(word.op, Isa::LdAttr32)?;
            (op.src[0], op.src[1]) = (row(rows::VERTEX), row(rows::INSTANCE));
            context.descriptor(word, &mut op, 2)?;
        }
        0x98..=0x9b => {
            op.run = element::load_varying;
            op.flags = format(word.op, Isa::LdVary32)?;
            context.descriptor(word, &mut op, 1)?;
            let parameters = word.offset & 0x1ff;
            if parameters >> 3 & 1 != 0 {
                op.flags |= element::FLAT;
            }
            if parameters >> 5 & 1 != 0 {
                op.flags |= element::CENTROID;
            }
            context.ops.push(op);
            // The modifier selects the component by which all are divided.
            let by = (parameters & 7) as u8;
            match by {
                0 => {}
                1..4 => {
                    context.copy(row(rows::RESULT + by), rows::SCRATCH, WriteMode::Word);
                    let mut op = Op::new(divide, Flow::None);
                    op.src[0] = row(rows::SCRATCH);
                    context.ops.push(op);
                }
                4 => context.ops.push(Op::new(cube, Flow::None)),
                _ => return None,
            }
            context.results(word, word.swizzle);
            return Some(());
        }
        _ => {
            op.run = element::load_image;
            op.flags = match isa {
                Isa::LeaImage => {
                    op.run = element::image_address;
                    op.staging[0].1 = 3;
                    0
                }
                _ => format(word.op, Isa::LdImage32f)?,
            };
            coordinates(context, word, &mut op)?;
            image_number(context, word, &mut op)?;
        }
    }
    context.ops.push(op);
    context.results(word, word.swizzle);
    Some(())
}

/// The index of an image's descriptor, as a source.
fn image_number(context: &mut Context, word: &LoadStore, op: &mut Op) -> Option<()> {
    let mut plain = Op::new(op.run, Flow::None);
    context.descriptor(word, &mut plain, 2)?;
    op.src[2] = match plain.flags & message::IN_INSTRUCTION {
        0 => plain.src[2],
        _ => context.literal(plain.immediate)?,
    };
    Some(())
}

fn store_attribute(context: &mut Context, word: &LoadStore) -> Option<()> {
    context.operands(word.reg, word.swizzle, rows::STAGING)?;
    let mut op = Op::new(element::varying_address, Flow::None);
    // Address and conversion descriptor.
    op.staging[0] = (rows::RESULT, 3);
    let flags = match word.op {
        0xd4..=0xd7 => {
            if word.wide != 0 || word.arg_reg != argument::ZERO || word.index_format & 2 == 0 {
                return None;
            }
            (op.src[0], op.src[1]) = (row(rows::VERTEX), row(rows::INSTANCE));
            context.descriptor(word, &mut op, 2)?;
            match word.index_format & 1 {
                0 => format(word.op, Isa::StVary32)?,
                _ => format_flags("auto")?,
            }
        }
        _ => {
            op.run = element::image_address;
            coordinates(context, word, &mut op)?;
            image_number(context, word, &mut op)?;
            format(word.op, Isa::StImage32f)?
        }
    };
    context.ops.push(op);
    let mut last = Op::new(message::store_by_conversion, Flow::None);
    last.src[0] = Src { row: rows::RESULT.into(), high: u16::from(rows::RESULT) + 1, ..Src::NONE };
    last.src[1] = row(rows::RESULT + 2);
    last.flags = flags;
    last.staging[1] = (rows::STAGING, 4);
    context.ops.push(last);
    Some(())
}

fn special(context: &mut Context, word: &LoadStore, isa: Isa) -> Option<()> {
    let mut op = Op::new(tile::load, Flow::None);
    match isa {
        Isa::LdTilebuffer32f | Isa::LdTilebuffer16f | Isa::LdTilebufferRaw => {
            op.immediate = match isa {
                Isa::LdTilebuffer32f => 1,
                Isa::LdTilebuffer16f => 2,
                _ => 0,
            };
            op.flags = word.index_comp | word.index_reg << 2;
            match word.offset & 1 {
                0 => op.flags |= (word.arg_comp | word.arg_reg << 2) << 8,
                _ => op.src[0] = context.argument(word.arg_reg, word.arg_comp)?,
            }
        }
        // Special loads: a pixel, its bits, the coverage mask or the sample. Where the sample of a pixel load is
        // encoded is not known.
        Isa::LdSpecial32u | Isa::LdSpecial32f | Isa::LdSpecial16f => {
            match (word.displacement() >> 9, isa) {
                (1, Isa::LdSpecial32f) => op.immediate = 1,
                (1, Isa::LdSpecial16f) => op.immediate = 2,
                (16, Isa::LdSpecial32u) => op.immediate = 0,
                (selector @ (96 | 97), Isa::LdSpecial32u) => {
                    op.run = tile::special;
                    op.immediate = selector as u32;
                }
                _ => return None,
            }
        }
        _ => return None,
    }
    context.ops.push(op);
    context.results(word, word.swizzle);
    Some(())
}
