//! Commands by their first double word.
//!
//! Bits 31:29 are the command's type: 0 for the memory interface (MI), 3 for the render engine. The
//! opcode fields below them differ by type; the length, where there is one, stands in the lowest
//! bits as the number of double words less two.

use std::collections::HashMap;
use std::sync::OnceLock;

use tepui_intel_chips::Generation;
use tepui_packets::PacketInfo;

use crate::ALL;

/// Name of the field that holds a command's length.
const LENGTH: &str = "DWord Length";

/// The least number of double words that the length field is about: it counts without these.
const LENGTH_BIAS: u32 = 2;

/// The command with this first double word, if a declaration of the generation has it.
pub fn find(generation: Generation, header: u32) -> Option<&'static PacketInfo> {
    // The declarations are those of Gen9; no other generation has been compared with them.
    if generation != Generation::Gen9 {
        return None;
    }
    static TABLE: OnceLock<HashMap<u32, &'static PacketInfo>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let commands = ALL.iter().flat_map(|list| list.iter()).filter(|info| is_command(info));
        commands.map(|&info| (opcode(first_dword(info)), info)).collect()
    });
    table.get(&opcode(header)).copied()
}

fn is_command(info: &PacketInfo) -> bool {
    info.fixed.iter().any(|fixed| fixed.name == "Command Type")
}

/// The fixed bits of a command's first double word.
fn first_dword(info: &PacketInfo) -> u32 {
    let here = info.fixed.iter().filter(|f| f.piece.end() <= 32 && f.name != LENGTH);
    here.fold(0, |word, f| word | (f.value << f.piece.start) as u32)
}

/// The bits of a first double word that tell commands apart.
fn opcode(header: u32) -> u32 {
    match header >> 29 {
        0 => header >> 23,
        _ => header >> 16 | 1 << 31,
    }
}

/// Double words of the command with this first double word.
///
/// Commands that are not declared have a length too, so that a reader can go on behind them. `None`
/// for a type whose commands have no known form.
pub fn length_dwords(generation: Generation, header: u32) -> Option<u32> {
    if let Some(info) = find(generation, header) {
        let fixed = info.fixed.iter().find(|f| f.name == LENGTH);
        let field = info.fields.iter().find(|f| f.name == LENGTH);
        let piece = fixed.map(|f| f.piece).or(field.map(|f| f.pieces[0]));
        return Some(match piece {
            Some(piece) => (header & ((1 << piece.width) - 1)) + LENGTH_BIAS,
            None => 1,
        });
    }
    match header >> 29 {
        // MI commands below 0x10 are one double word long.
        0 if header >> 23 & 0x3f < 0x10 => Some(1),
        0 => Some((header & 0xff) + LENGTH_BIAS),
        // The 2D blitter.
        2 => Some((header & 0xff) + LENGTH_BIAS),
        // Subtype 1 is single double words, 2 media with 16 bits of length.
        3 => Some(match header >> 27 & 3 {
            1 => 1,
            2 => (header & 0xffff) + LENGTH_BIAS,
            _ => (header & 0xff) + LENGTH_BIAS,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{media::GpgpuWalker, mi::MiBatchBufferEnd, state::PipelineSelect};

    fn header(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(bytes[..4].try_into().unwrap())
    }

    #[test]
    fn every_command_is_found_by_its_own_header() {
        let mut count = 0;
        for info in ALL.iter().flat_map(|list| list.iter()).filter(|info| is_command(info)) {
            let bytes = (info.default_bytes)().unwrap();
            let found = find(Generation::Gen9, header(&bytes)).expect(info.name);
            assert_eq!(found.name, info.name);
            count += 1;
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn lengths_are_those_of_the_declarations() {
        let length = |bytes: &[u8]| length_dwords(Generation::Gen9, header(bytes));
        assert_eq!(length(&GpgpuWalker::default().pack().unwrap()), Some(15));
        assert_eq!(length(&MiBatchBufferEnd::default().pack().unwrap()), Some(1));
        assert_eq!(length(&PipelineSelect::default().pack().unwrap()), Some(1));
        assert_eq!(length_dwords(Generation::Gen9, 0xffff_ffff), None);
    }
}
