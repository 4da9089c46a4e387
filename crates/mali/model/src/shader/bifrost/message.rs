//! Messages: memory, attributes, varyings, the end of the pipeline.
//!
// source: Mesa, bifrost_compile.c (which staging registers hold what), bi_schedule.c (bi_lower_atom_c,
// bi_lower_seg_add), bifrost.h (register formats of conversion descriptors).

use tepui_mali_isa::bifrost::Inst;
use tepui_mali_isa::bifrost::header::Message;
use tepui_mali_isa::bifrost::table::Unit;
use tepui_mali_isa::modifier::{AtomicOperation, AtomicOperation1, RegisterFormat, SampleMode};
use tepui_mali_isa::{Flow, ModifierValue, Op as Isa, Special};

use super::alu::named;
use super::{Context, Lowered, copy, flow, moved, nothing, temporary};
use crate::shader::message::{self, element};
use crate::shader::op::{Handler, Lanes, Next, Op};
use crate::shader::operand::Src;
use crate::warp::local::LOCAL_WINDOW;
use crate::warp::row::Row;
use crate::warp::trap::Trap;
use crate::warp::uniforms;
use tepui_mali_isa::bifrost::registers::Access;

/// The upper word of an address of thread-local storage.
const LOCAL_HIGH: u32 = (LOCAL_WINDOW >> 32) as u32;

/// The flags of a register format by its name.
pub fn format_flags(name: &str) -> Option<u32> {
    Some(u32::from(named::<RegisterFormat>(name)?.raw()))
}

/// The staging registers of a format and a number of channels.
fn format_registers(format: Option<u32>, channels: u8) -> u8 {
    match format.is_some_and(message::is_short) {
        true => channels.div_ceil(2),
        false => channels,
    }
}

/// The channels that an instruction has.
fn channels(inst: &Inst) -> u8 {
    match inst.modifier("vecsize") {
        Some("v2") => 2,
        Some("v3") => 3,
        Some("v4") => 4,
        _ => 1,
    }
}

/// Flags for the position at which a varying is interpolated, with its format.
fn varying(inst: &Inst) -> Option<u32> {
    let sample = match inst.modifier("sample") {
        None | Some("none") => 0,
        Some(name) => named::<SampleMode>(name)? as u32,
    };
    if matches!(inst.modifier("update"), Some("retrieve" | "conditional")) {
        return None;
    }
    let format = format_flags(inst.modifier("register_format")?)?;
    Some(format | message::sample_flags(sample))
}

/// The operation that loads a varying by its index into registers.
pub fn load_varying(index: u32, flags: u32, register: u8, channels: u8) -> Op {
    let mut op = Op::new(element::load_varying, Flow::None);
    op.immediate = index;
    op.flags = flags | message::IN_INSTRUCTION;
    op.staging[0] = (register, format_registers(Some(flags), channels));
    op
}

/// The handler of the Valhall instruction with a name.
fn handler(name: &str) -> Option<Handler> {
    message::handler(Isa::from_name(name)?)
}

/// Adds an offset to the address of workgroup storage: the lower word.
fn segment_low(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (a, base) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let sum = |lane: usize| a.0[lane].wrapping_add(base.0[lane]);
    l.put(op, &Row(std::array::from_fn(sum)));
    Ok(())
}

/// The upper word, given the sum's lower word in the second source.
fn segment_high(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let [a, low, base, high] = [0, 1, 2, 3].map(|i| l.get(&op.src[i]));
    let sum = |lane: usize| {
        let carry = u32::from(low.0[lane] < base.0[lane]);
        a.0[lane].wrapping_add(high.0[lane]).wrapping_add(carry)
    };
    l.put(op, &Row(std::array::from_fn(sum)));
    Ok(())
}

fn src(row: u16) -> Src {
    Src { row, ..Src::NONE }
}

impl Context<'_> {
    /// The base address of workgroup storage.
    fn workgroup_base(&self) -> Option<[u16; 2]> {
        let word = |n| uniforms::special(Special::WorkgroupLocalPointer, n);
        Some([word(0)?, word(1)?])
    }

    /// The address of a load or store, and operations that compute it.
    fn address(&mut self, inst: &Inst) -> Option<(Src, Vec<Op>)> {
        let mut wide = self.wide(inst, 0, 1)?;
        let mut ops = Vec::new();
        match inst.modifier("seg") {
            None | Some("none") => {}
            Some("tl") => wide.high = self.constant(LOCAL_HIGH)?,
            Some("wls") => {
                let [base, high] = self.workgroup_base()?;
                let mut low = Op::new(segment_low, Flow::None);
                (low.src[0], low.src[1]) = (src(wide.row), src(base));
                low.dest = temporary::ADDRESS;
                let mut upper = Op::new(segment_high, Flow::None);
                upper.src =
                    [src(uniforms::ZERO), src(temporary::ADDRESS.into()), src(base), src(high)];
                upper.dest = temporary::ADDRESS + 1;
                ops = vec![low, upper];
                let row = u16::from(temporary::ADDRESS);
                wide = Src { row, high: row + 1, ..Src::NONE };
            }
            _ => return None,
        }
        Some((wide, ops))
    }
}

/// Translates an instruction; `None` if it is not a message or the model does not execute it.
pub fn lower(context: &mut Context<'_>, inst: &Inst, fma: Option<&Inst>) -> Lowered {
    let row = inst.op.row();
    let name = row.name;
    let (base, kind) = name.split_once('.').unwrap_or((name, ""));
    match base {
        "SEG_ADD" => return segment(context, inst),
        "DISCARD" => return discard(context, inst),
        // The ADD unit's instruction in the same tuple does all of the work.
        _ if base.starts_with("ATOM_C") && row.unit == Unit::Fma => return Some(Vec::new()),
        _ if row.message == Message::None => return None,
        _ => {}
    }
    let staging = row.staging?;
    let format = match inst.modifier("register_format") {
        Some(name) => Some(format_flags(name)?),
        None => None,
    };
    let count = match staging.count {
        "format" => format_registers(format, channels(inst)),
        "sr_count" => 4,
        number => number.parse().ok()?,
    };
    let register = context.clause.header.staging;
    let mut op = Op::new(nothing, Flow::None);
    for (index, used) in [staging.write, staging.read].into_iter().enumerate() {
        op.staging[index] = (register, if used { count } else { 0 });
    }
    if u16::from(register) + u16::from(count) > 64 {
        return None;
    }
    op.flags = format.unwrap_or(0);
    let mut plain = |op: &mut Op, count: usize| {
        for index in 0..count {
            op.src[index] = context.source(inst, index)?;
        }
        Some(())
    };
    match base {
        "LOAD" if inst.modifier("seg") == Some("ubo") => {
            plain(&mut op, 2)?;
            op.run = handler(&format!("LD_BUFFER.{kind}"))?;
            op.flags = place(inst, kind)?;
        }
        "LOAD" | "STORE" => {
            let (address, mut ops) = context.address(inst)?;
            op.src[0] = address;
            op.run = handler(name)?;
            op.flags = if base == "LOAD" { place(inst, kind)? } else { 0 };
            ops.push(op);
            return Some(ops);
        }
        "LD_ATTR" | "LD_ATTR_IMM" | "LEA_ATTR" | "LEA_ATTR_IMM" => {
            plain(&mut op, inst.sources.len())?;
            op.run = if base.starts_with("LD") {
                element::load_attribute
            } else {
                element::varying_address
            };
            if let Some(index) = inst.immediate("attribute_index") {
                op.immediate = index;
                op.flags |= message::IN_INSTRUCTION;
            }
        }
        "LD_ATTR_TEX" | "LEA_ATTR_TEX" => {
            plain(&mut op, 3)?;
            op.run =
                if base.starts_with("LD") { element::load_image } else { element::image_address };
        }
        "ST_CVT" => {
            op.src[0] = context.wide(inst, 0, 1)?;
            op.src[1] = context.source(inst, 2)?;
            op.run = message::store_by_conversion;
        }
        "LD_VAR" | "LD_VAR_IMM" => {
            plain(&mut op, inst.sources.len())?;
            op.flags = varying(inst)?;
            op.run = element::load_varying;
            if let Some(index) = inst.immediate("index") {
                op.immediate = index;
                op.flags |= message::IN_INSTRUCTION;
            }
        }
        "LD_VAR_FLAT" | "LD_VAR_FLAT_IMM" => {
            if inst.modifier("function") != Some("none") {
                return None;
            }
            if !inst.sources.is_empty() {
                op.src[1] = context.source(inst, 0)?;
            }
            op.flags |= element::FLAT;
            op.run = element::load_varying;
            if let Some(index) = inst.immediate("index") {
                op.immediate = index;
                op.flags |= message::IN_INSTRUCTION;
            }
        }
        "LD_VAR_SPECIAL" => {
            plain(&mut op, 1)?;
            op.flags = varying(inst)?;
            op.immediate = match inst.modifier("varying_name")? {
                "point" => 0,
                "frag_w" => 2,
                _ => 3,
            };
            op.run = handler("LD_VAR_SPECIAL")?;
        }
        "ATEST" => {
            plain(&mut op, 2)?;
            op.run = handler("ATEST")?;
            // The result is written like other results too.
            return Some(vec![op, moved(register.into(), 0, Access::Write)]);
        }
        "ZS_EMIT" => {
            plain(&mut op, 3)?;
            op.run = handler("ZS_EMIT")?;
            let has = |modifier: &str| inst.modifier(modifier) == Some(modifier);
            op.flags = if has("z") { message::DEPTH } else { 0 };
            op.flags |= if has("stencil") { message::STENCIL } else { 0 };
        }
        "LD_TILE" | "ST_TILE" => {
            plain(&mut op, 3)?;
            op.run = if base == "LD_TILE" { message::load_tile } else { message::store_tile };
        }
        "BLEND" => {
            plain(&mut op, 3)?;
            op.run = message::blend_or_call;
            op.next = Next::Jump;
            if context.clause.header.flow == tepui_mali_isa::bifrost::Flow::End {
                op.flags = message::ENDS;
            }
        }
        "AXCHG" | "ACMPXCHG" | "ACMPSTORE" => {
            let (address, mut ops) = context.address(inst)?;
            op.src[0] = address;
            op.run = handler(&format!("ATOM_RETURN.{kind}"))?;
            op.flags = AtomicOperation::Axchg as u32;
            if base != "AXCHG" {
                op.flags |= message::COMPARE;
            }
            ops.push(op);
            return Some(ops);
        }
        "ATOM_CX" => return atomic(context, inst, fma?, op),
        _ => return None,
    }
    Some(vec![op])
}

/// The destination of a loaded value, in the encoding of Valhall's loads.
fn place(inst: &Inst, kind: &str) -> Option<u32> {
    let bits: u32 = kind.strip_prefix('i')?.parse().ok()?;
    let (first, size) = match inst.modifier("lane_dest") {
        None | Some("none") => (0, bits.min(32)),
        Some("b0") => (0, 8),
        Some("b1") => (8, 8),
        Some("b2") => (16, 8),
        Some("b3") => (24, 8),
        Some("h0") => (0, 16),
        Some("h1") => (16, 16),
        Some("w0") => (0, 32),
        _ => (0, 64),
    };
    let signed = if inst.modifier("extend") == Some("sext") { message::SIGNED } else { 0 };
    Some(message::placed(first, if bits == 24 { 32 } else { size }) | signed)
}

/// An atomic: the operation of the FMA unit's instruction, the address and operand of the ADD unit's.
fn atomic(context: &mut Context<'_>, inst: &Inst, fma: &Inst, mut op: Op) -> Lowered {
    let name = fma.op.row().name;
    let (base, kind) = name.split_once('.')?;
    let operation = fma.modifier("atom_opc")?;
    op.src[0] = context.wide(inst, 0, 1)?;
    let one = base.starts_with("ATOM_C1");
    op.run = handler(&format!("{}_RETURN.{kind}", if one { "ATOM1" } else { "ATOM" }))?;
    op.flags = match one {
        true => named::<AtomicOperation1>(operation)? as u32,
        false => named::<AtomicOperation>(operation)? as u32,
    };
    let words = if kind == "i64" { 2 } else { 1 };
    let register = context.clause.header.staging;
    let returns = base.ends_with("RETURN");
    op.staging =
        [(register, if returns { words } else { 0 }), (register, if one { 0 } else { words })];
    Some(vec![op])
}

/// Converts an address in a segment to a flat one: the lower word in the FMA unit, the upper in the ADD unit.
fn segment(context: &mut Context<'_>, inst: &Inst) -> Lowered {
    if inst.modifier("preserve_null") != Some("none") {
        return None;
    }
    let a = context.source(inst, 0)?;
    let upper = inst.op.row().unit == Unit::Add;
    let local = inst.modifier("seg") == Some("tl");
    let mut op = Op::new(copy, Flow::None);
    op.src[0] = a;
    if local && upper {
        op.src[0] = src(context.constant(LOCAL_HIGH)?);
    } else if !local {
        let [base, high] = context.workgroup_base()?;
        if upper {
            op.run = segment_high;
            op.src = [a, src(context.result(Unit::Fma, false).into()), src(base), src(high)];
        } else {
            op.run = segment_low;
            op.src[1] = src(base);
        }
    }
    Some(vec![op])
}

fn discard(context: &mut Context<'_>, inst: &Inst) -> Lowered {
    let mut op = Op::new(message::discard_or_help, Flow::None);
    op.src[0] = context.source(inst, 0)?;
    op.src[1] = context.source(inst, 1)?;
    op.condition = flow::condition(inst.modifier("cmpf")?)?;
    op.flags = u32::from(context.clause.header.terminate_discarded);
    op.next = Next::Chosen;
    Some(vec![op])
}
