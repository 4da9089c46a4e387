//! The program of operations on the control surfaces of colours: fast clears and resolves.
//!
//! The hardware wants them to write one colour for 16 pixels (the replicated message of render targets), of ones.
//! source: Mesa, blorp_clear.c (`blorp_fast_clear`), brw_compile_fs.cpp (`brw_emit_repclear_shader`)

use tepui_intel_isa::message::RenderWrite;
use tepui_intel_isa::swsb::Swsb;
use tepui_intel_isa::{
    Desc, Dst, Generation, Inst, Location, Opcode, Register, Sfid, Src, Type, descriptor,
};

use crate::bind::{BindMap, Surface};
use crate::emit::PAYLOAD;
use crate::error::{Error, Result};
use crate::stage::{FragmentInfo, StageInfo, Variant};
use crate::{Names, Program, Stats};

/// Channels of a thread.
const WIDTH: u8 = 16;
/// First register of constants, of which there are none: all before are the payload's.
const START: u8 = 8;

/// A fragment program that writes ones to all channels of its first target, without inputs.
///
/// # Errors
/// When an instruction has no encoding.
pub fn fill_with_ones(generation: Generation) -> Result<Program> {
    let payload = Location::register(Register::General(PAYLOAD));
    let mut ones = Inst::new(generation, Opcode::Mov);
    ones.exec_size = 8;
    ones.no_mask = true;
    ones.dst = Dst { location: payload, ..Dst::NULL };
    ones.src[0] = Src::immediate(Type::UD, u32::MAX.into());
    let mut write = Inst::new(generation, Opcode::Sendc);
    write.exec_size = WIDTH;
    write.src[0] = Src { location: payload, ..Src::NULL };
    write.send.sfid = Sfid::RenderCache;
    write.send.end_of_thread = true;
    let message = descriptor::render_target_write(0, RenderWrite::Simd16Replicated, true);
    write.send.desc = Desc::Immediate(message | descriptor::lengths(1, 0, false));
    write.send.ex_desc = Desc::Immediate(0);
    if generation == Generation::Gen12 {
        write.swsb = Swsb { distance: 1, token: None };
    }
    let mut code = Vec::new();
    for inst in [ones, write] {
        inst.encode(&mut code).map_err(|e| Error::Internal(e.to_string()))?;
    }
    let stats = Stats { bytes: code.len() as u32, instructions: 2, ..Stats::default() };
    Ok(Program {
        code,
        width: WIDTH,
        variants: vec![Variant { width: WIDTH, offset: 0, start: START, stats }],
        stage: StageInfo::Fragment(FragmentInfo {
            inputs: vec![None],
            targets: 1,
            ..FragmentInfo::default()
        }),
        map: BindMap::of_surfaces(vec![Surface::Target(0)]),
        data: Vec::new(),
        workgroup_size: [1; 3],
        shared_bytes: 0,
        has_barrier: false,
        stats,
        locs: Vec::new(),
        names: Names::default(),
    })
}

#[cfg(test)]
mod tests {
    use tepui_intel_isa::disasm;

    use super::*;

    #[test]
    fn one_register_is_the_colour_of_all_pixels() {
        for generation in [Generation::Gen9, Generation::Gen12] {
            let program = fill_with_ones(generation).unwrap();
            let text = disasm::program(generation, &program.code);
            // A move, a message, and what the message says.
            let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
            assert_eq!(lines.len(), 3, "{text}");
            assert!(lines[0].contains("mov(8)") && lines[0].contains("g127<1>UD"), "{text}");
            assert!(lines[1].contains("sendc(16)") && lines[1].contains("g127"), "{text}");
            assert!(lines[2].contains("SIMD16/RepData") && lines[2].contains("EOT"), "{text}");
            assert!(lines[2].contains("mlen 1"), "{text}");
        }
    }
}
