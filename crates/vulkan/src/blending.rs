//! Blend state as the pass that lowers it takes it, for families whose programs blend.

use tepui_passes::lower_blend::{
    Advanced, Blend, Combine, Equation, Factor, Location, Mode, Operation, Overlap, Weight,
};
use vulkanalia_sys as vk;

use crate::error::{Error, Result};
use crate::state::{self, GraphicsState};

fn weight(factor: i32) -> Result<Weight> {
    use vk::BlendFactor as F;
    let (factor, inverted) = match F::from_raw(factor) {
        F::ZERO => (Factor::Zero, false),
        F::ONE => (Factor::One, false),
        F::SRC_COLOR => (Factor::Source, false),
        F::ONE_MINUS_SRC_COLOR => (Factor::Source, true),
        F::DST_COLOR => (Factor::Destination, false),
        F::ONE_MINUS_DST_COLOR => (Factor::Destination, true),
        F::SRC_ALPHA => (Factor::SourceAlpha, false),
        F::ONE_MINUS_SRC_ALPHA => (Factor::SourceAlpha, true),
        F::DST_ALPHA => (Factor::DestinationAlpha, false),
        F::ONE_MINUS_DST_ALPHA => (Factor::DestinationAlpha, true),
        F::CONSTANT_COLOR => (Factor::Constant, false),
        F::ONE_MINUS_CONSTANT_COLOR => (Factor::Constant, true),
        F::CONSTANT_ALPHA => (Factor::ConstantAlpha, false),
        F::ONE_MINUS_CONSTANT_ALPHA => (Factor::ConstantAlpha, true),
        F::SRC_ALPHA_SATURATE => (Factor::SourceAlphaSaturate, false),
        F::SRC1_COLOR => (Factor::Source1, false),
        F::ONE_MINUS_SRC1_COLOR => (Factor::Source1, true),
        F::SRC1_ALPHA => (Factor::Source1Alpha, false),
        F::ONE_MINUS_SRC1_ALPHA => (Factor::Source1Alpha, true),
        other => return Err(Error::unsupported(format!("blend factor {}", other.as_raw()))),
    };
    Ok(Weight { factor, inverted })
}

fn equation([source, destination, op]: [i32; 3]) -> Result<Equation> {
    use vk::BlendOp as O;
    let combine = match O::from_raw(op) {
        O::ADD => Combine::Add,
        O::SUBTRACT => Combine::Subtract,
        O::REVERSE_SUBTRACT => Combine::ReverseSubtract,
        O::MIN => Combine::Min,
        O::MAX => Combine::Max,
        other => return Err(Error::unsupported(format!("blend operation {}", other.as_raw()))),
    };
    Ok(Equation { source: weight(source)?, destination: weight(destination)?, combine })
}

/// An advanced operation; nothing if the operation is not one of these.
fn advanced(b: &state::Blend) -> Option<Advanced> {
    let number = b.colour[2].checked_sub(vk::BlendOp::ZERO_EXT.as_raw())?;
    Some(Advanced {
        operation: *Operation::ALL.get(usize::try_from(number).ok()?)?,
        source_premultiplied: !b.advanced.source_straight,
        destination_premultiplied: !b.advanced.destination_straight,
        overlap: match b.advanced.overlap {
            vk::BlendOverlapEXT::DISJOINT => Overlap::Disjoint,
            vk::BlendOverlapEXT::CONJOINT => Overlap::Conjoint,
            _ => Overlap::Uncorrelated,
        },
        clamp: b.advanced.clamp,
    })
}

/// Blending of an attachment.
fn mode(b: &state::Blend) -> Result<Mode> {
    match advanced(b) {
        Some(a) => Ok(Mode::Advanced(a)),
        None => Ok(Mode::Equations([equation(b.colour)?, equation(b.alpha)?])),
    }
}

/// Blending of all attachments.
///
/// # Errors
/// When the state has a factor or an operation that the specification does not.
pub fn of_state(s: &GraphicsState) -> Result<Blend> {
    let mut out = Blend {
        logic: s.logic_op_enable.then(|| logic(s.logic_op)),
        alpha_to_coverage: s.alpha_to_coverage,
        alpha_to_one: s.alpha_to_one,
        ..Blend::default()
    };
    for (k, l) in out.locations.iter_mut().enumerate() {
        let blends = s.blend_enable >> k & 1 != 0;
        let writes = s.write_enable >> k & 1 != 0;
        *l = Location {
            mode: if blends { mode(&s.blend[k])? } else { Mode::Replace },
            write_mask: if writes { s.write_mask[k] & 0xf } else { 0 },
        };
    }
    Ok(out)
}

/// The truth table of a logic operation: bit `s + 2 d` for source bit s and destination bit d.
fn logic(op: vk::LogicOp) -> u8 {
    use vk::LogicOp as L;
    let f: fn(u8, u8) -> u8 = match op {
        L::CLEAR => |_, _| 0,
        L::AND => |s, d| s & d,
        L::AND_REVERSE => |s, d| s & !d,
        L::COPY => |s, _| s,
        L::AND_INVERTED => |s, d| !s & d,
        L::NO_OP => |_, d| d,
        L::XOR => |s, d| s ^ d,
        L::OR => |s, d| s | d,
        L::NOR => |s, d| !(s | d),
        L::EQUIVALENT => |s, d| !(s ^ d),
        L::INVERT => |_, d| !d,
        L::OR_REVERSE => |s, d| s | !d,
        L::COPY_INVERTED => |s, _| !s,
        L::OR_INVERTED => |s, d| !s | d,
        L::NAND => |s, d| !(s & d),
        _ => |_, _| 0xff,
    };
    // Bit n of the table: source in bit 0 of n, destination in bit 1.
    f(0b1010, 0b1100) & 0xf
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logic_operations_are_truth_tables() {
        // Bit 0 is for both bits clear, bit 1 for the source's set, bit 2 for the destination's.
        assert_eq!(logic(vk::LogicOp::COPY), 0b1010);
        assert_eq!(logic(vk::LogicOp::NO_OP), 0b1100);
        assert_eq!(logic(vk::LogicOp::AND_REVERSE), 0b0010);
        assert_eq!(logic(vk::LogicOp::SET), 0b1111);
    }

    #[test]
    fn attachments_that_are_not_written_have_no_mask() {
        let s = GraphicsState { write_enable: 0b10, ..GraphicsState::default() };
        let blend = of_state(&s).unwrap();
        assert_eq!([0, 1].map(|k| blend.locations[k].write_mask), [0, 0xf]);
    }
}
