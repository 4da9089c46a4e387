//! Commands by their first double word.
//!
//! Bits 31:29 are the command's type: 0 for the memory interface (MI), 3 for the render engine. The opcode
//! fields below them depend on the type; the length, if there is one, is in the lowest bits as the number of
//! double words minus two.

use std::collections::HashMap;
use std::sync::OnceLock;

use tepui_intel_chips::Generation;
use tepui_packets::{Packet, PacketInfo};

use crate::gen12::Primitive3dExtended;
use crate::vertex::Primitive3d;
use crate::{of_generation, revision};

/// Whether a field of this name holds a command's length.
fn is_length(name: &str) -> bool {
    matches!(name, "DWord Length" | "Length")
}

/// The bit of 3DPRIMITIVE's first double word that makes it 3DPRIMITIVE_EXTENDED.
const EXTENDED_PARAMETERS: u32 = 1 << 11;

/// The least number of double words that the length field is about: it counts without these.
const LENGTH_BIAS: u32 = 2;

/// The command with this first double word, if a declaration of the generation has it.
pub fn find(generation: Generation, header: u32) -> Option<&'static PacketInfo> {
    type Table = HashMap<u32, &'static PacketInfo>;
    static TABLES: [OnceLock<Table>; Generation::ALL.len()] = [const { OnceLock::new() }; _];
    let table = TABLES[generation as usize].get_or_init(|| {
        let commands = of_generation(generation).filter(|info| is_command(info));
        let plain = commands.filter(|info| info.name != Primitive3dExtended::INFO.name);
        plain.map(|info| (opcode(first_dword(info)), info)).collect()
    });
    let info = table.get(&opcode(header)).copied()?;
    let extended = Primitive3dExtended::INFO;
    let is_extended = info.name == Primitive3d::INFO.name
        && extended.revisions.has(revision(generation))
        && header & EXTENDED_PARAMETERS != 0;
    Some(if is_extended { extended } else { info })
}

fn is_command(info: &PacketInfo) -> bool {
    info.fixed.iter().any(|fixed| fixed.name == "Command Type")
}

/// The fixed bits of a command's first double word.
fn first_dword(info: &PacketInfo) -> u32 {
    let here = info.fixed.iter().filter(|f| f.piece.end() <= 32 && !is_length(f.name));
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
/// Undeclared commands have a length too, so that a reader can skip them. `None` for a type whose commands
/// have no known form.
pub fn length_dwords(generation: Generation, header: u32) -> Option<u32> {
    if let Some(info) = find(generation, header) {
        let fixed = info.fixed.iter().find(|f| is_length(f.name));
        let field = info.fields.iter().find(|f| is_length(f.name));
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
        for generation in Generation::ALL {
            let mut count = 0;
            for info in of_generation(generation).filter(|info| is_command(info)) {
                let bytes = info.default_bytes().unwrap();
                let found = find(generation, header(&bytes)).expect(info.name);
                assert_eq!(found.ident, info.ident);
                if !info.fields.iter().any(|field| is_length(field.name)) {
                    let length = length_dwords(generation, header(&bytes));
                    assert_eq!(length, Some(info.size_bytes as u32 / 4), "{}", info.name);
                }
                count += 1;
            }
            assert!(count > 100, "{count}");
        }
    }

    #[test]
    fn generations_have_commands_of_their_own() {
        let of = |generation| find(generation, 0x6101_0000).map(|info| info.size_bytes);
        assert_eq!((of(Generation::Gen9), of(Generation::Gen12)), (Some(76), Some(88)));
        let constants = 0x786d_0000;
        assert!(find(Generation::Gen9, constants).is_none());
        let found = find(Generation::Gen12, constants).map(|info| info.name);
        assert_eq!(found, Some("3DSTATE_CONSTANT_ALL"));
        let draw = |bits| find(Generation::Gen12, 0x7b00_0005 | bits).map(|info| info.name);
        assert_eq!(draw(0), Some("3DPRIMITIVE"));
        assert_eq!(draw(EXTENDED_PARAMETERS), Some("3DPRIMITIVE_EXTENDED"));
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
