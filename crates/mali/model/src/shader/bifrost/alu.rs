//! Arithmetic: Valhall's handlers, and operations that only Bifrost has.
//!
// source: Mesa, bi_opcodes: instructions of both are one in the compiler, so that equal names do the
// same; valhall/ISA.xml (order of sources of shifts), bi_schedule.c (bi_lower_cubeface).

use tepui_mali_isa::bifrost::{Inst, Port};
use tepui_mali_isa::modifier::{
    Clamp, InactiveResult, LaneOperation, Mux, RoundMode, SubgroupSize,
};
use tepui_mali_isa::{Flow, ModifierValue, Op as Isa};

use super::{Context, copy, flow};
use crate::shader::alu::{bitwise, convert, float, integer, select, special};
use crate::shader::lane;
use crate::shader::op::{Handler, Op};
use crate::shader::operand::{Select, Src};
use crate::shader::template::TemplateOp;
use crate::warp::row::Row;

/// The enumerator of a modifier's name.
pub fn named<T: ModifierValue>(name: &str) -> Option<T> {
    let values = T::KIND.values.iter();
    let raw = values.enumerate().find(|(_, value)| **value == Some(name))?.0;
    T::from_raw(raw as u8)
}

/// The handler of an instruction that Valhall also has.
fn shared(name: &str) -> Option<Handler> {
    let isa = Isa::from_name(name)?;
    let modules = [
        bitwise::handler,
        integer::handler,
        float::handler,
        select::handler,
        convert::handler,
        special::handler,
        lane::handler,
    ];
    modules.iter().find_map(|of| of(isa))
}

/// Valhall's name of an instruction whose name differs.
fn renamed(inst: &Inst) -> Option<String> {
    let name = inst.op.row().name;
    let (base, kind) = name.split_once('.').unwrap_or((name, ""));
    let unsigned = kind.replace('i', "u");
    Some(match base {
        "CSEL" => format!("CSEL.{unsigned}"),
        "ICMP" => format!("ICMP_OR.{unsigned}"),
        "FCMP" => format!("FCMP_OR.{kind}"),
        "ARSHIFT" => format!("RSHIFT_OR.{kind}"),
        // Only without a carry, as Mesa emits it to add in the FMA unit.
        "IADDC" if inst.sources.get(2) == Some(&Port::Stage) => "IADD.u32".to_owned(),
        "FMA_RSCALE" => match inst.modifier("special")? {
            "none" => name.to_owned(),
            other => format!("FMA_RSCALE_{}.{kind}", other.to_uppercase()),
        },
        // The plain variant only: Mesa emits no other.
        "FADD_RSCALE" if inst.modifier("special")? == "none" => "FMA_RSCALE.f32".to_owned(),
        "FADD_RSCALE" => return None,
        "IDP" => match [inst.modifier("sign0")?, inst.modifier("sign1")?] {
            ["sext", "sext"] => "IDP.v4s8".to_owned(),
            ["zext", "zext"] => "IDP.v4u8".to_owned(),
            _ => return None,
        },
        _ => name.to_owned(),
    })
}

/// The representation of true in all elements of a word.
fn truth(kind: &str, result: &str) -> Option<u32> {
    let bits = match kind {
        _ if kind.starts_with("v4") => 8,
        _ if kind.starts_with("v2") => 16,
        _ => 32,
    };
    Some(match (result, bits) {
        ("m1", _) => u32::MAX,
        ("i1", 32) => 1,
        ("i1", 16) => 0x0001_0001,
        ("i1", _) => 0x0101_0101,
        ("f1", 32) => 1f32.to_bits(),
        ("f1", 16) => 0x3c00_3c00,
        _ => return None,
    })
}

/// The rounding mode of a conversion; `None` for ties away from zero, which the model does not have.
fn rounding(inst: &Inst) -> Option<RoundMode> {
    Some(match inst.modifier("round") {
        None | Some("none") => RoundMode::Rte,
        Some("rtp") => RoundMode::Rtp,
        Some("rtn") => RoundMode::Rtn,
        Some("rtz") => RoundMode::Rtz,
        _ => return None,
    })
}

/// Translates an instruction; `None` for one that the model does not execute.
pub fn lower(context: &mut Context<'_>, inst: &Inst, fma: Option<&Inst>) -> Option<Op> {
    let name = inst.op.row().name;
    let (base, kind) = name.split_once('.').unwrap_or((name, ""));
    let mut op = Op::new(copy, Flow::None);
    for index in 0..inst.sources.len() {
        op.src[index] = context.source(inst, index)?;
    }
    match base {
        "MOV" | "SWZ" | "QUIET" | "DTSEL_IMM" => {
            op.kind = Some(TemplateOp::Copy);
            return Some(op);
        }
        "MKVEC" if kind == "v4i8" => {
            op.run = bytes;
            return Some(op);
        }
        "CUBEFACE2" => {
            // The face comes from the coordinates of CUBEFACE1 in the same tuple.
            let first = fma.filter(|inst| inst.op.row().name == "CUBEFACE1")?;
            for index in 0..3 {
                op.src[index] = context.source(first, index)?;
            }
            op.run = shared("CUBEFACE2_V9")?;
            return Some(op);
        }
        "ATOM_POST" => {
            // Memory's old value is the first of two results: nothing was coalesced.
            op.src[0].select = Select::Whole;
            return Some(op);
        }
        _ => {}
    }
    match base {
        "CLPER_OLD" => {
            // The lane within a quad.
            op.run = shared("CLPER.i32")?;
            op.flags = lane::lanes(SubgroupSize::Subgroup4);
            return Some(op);
        }
        "FEXP_TABLE" if inst.modifier("adj") == Some("none") => {
            op.run = special::exponential_table;
            return Some(op);
        }
        "FLOG_TABLE" if inst.modifier("precision") == Some("none") => {
            op.run = match inst.modifier("mode")? {
                "red" => special::logarithm_reduction,
                "base2" => special::logarithm_table,
                _ => return None,
            };
            return Some(op);
        }
        _ => {}
    }
    let valhall = renamed(inst)?;
    op.run = shared(&valhall)?;
    op.kind = Isa::from_name(&valhall).and_then(TemplateOp::of);
    op.clamp = inst.modifier("clamp").map_or(Some(Clamp::None), named)?;
    op.round = match base {
        "HADD" => RoundMode::Rte,
        _ => rounding(inst)?,
    };
    if let Some(name) = inst.modifier("cmpf") {
        op.condition = flow::condition(name)?;
    }
    if let Some(result) = inst.modifier("result_type") {
        op.immediate = truth(kind, result)?;
        op.flags = select::Chain::Or as u32;
    }
    if let Some(mux) = inst.modifier("mux") {
        op.flags = named::<Mux>(mux)? as u32;
    }
    if base == "IADDC" {
        op.src[2] = Src::NONE;
    }
    if base == "FADD_RSCALE" {
        // A sum is the product with 1 plus the sum.
        let [a, b, scale, _] = op.src;
        let one = Src { row: context.constant(1f32.to_bits())?, ..Src::NONE };
        op.src = [a, one, b, scale];
    }
    if base.contains("SHIFT_") || base == "ARSHIFT" {
        // Valhall has the shift amount second; ARSHIFT combines with nothing.
        let [a, b, amount, _] = op.src;
        op.src = [a, amount, if base == "ARSHIFT" { Src::NONE } else { b }, Src::NONE];
    }
    let is = |modifier: &str, value: &str| inst.modifier(modifier) == Some(value);
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    op.flags |= flag(is("saturate", "sat"), integer::SATURATE)
        | flag(base == "HADD" && is("round", "rtp"), integer::ROUND_UP)
        | flag(is("not_result", "not"), bitwise::NOT_RESULT)
        | flag(base == "ARSHIFT", bitwise::ARITHMETIC)
        | flag(is("sqrt", "sqrt"), special::SQRT)
        | flag(is("log", "log"), special::LOG);
    if let Some(subgroup) = inst.modifier("subgroup") {
        let size: SubgroupSize = named(subgroup)?;
        op.flags = lane::lanes(size);
        if let Some(operation) = inst.modifier("lane_op") {
            let operation: LaneOperation = named(operation)?;
            if operation == LaneOperation::Accumulate {
                return None;
            }
            op.flags |= u32::from(operation.raw()) << 8;
            let inactive: InactiveResult = named(inst.modifier("inactive_result")?)?;
            op.immediate = lane::inactive(inactive);
        }
    }
    Some(op)
}

type Done = Result<(), Box<crate::warp::trap::Trap>>;
type Lanes<'a, 'vm> = crate::shader::op::Lanes<'a, 'vm>;

/// A word of four bytes.
fn bytes(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let rows = [0, 1, 2, 3].map(|i| l.get(&op.src[i]));
    let word = |lane: usize| u32::from_le_bytes(rows.map(|row| row.0[lane] as u8));
    l.put(op, &Row(std::array::from_fn(word)));
    Ok(())
}
