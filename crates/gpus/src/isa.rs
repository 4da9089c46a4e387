//! Instruction sets of all families with one interface: assembler, disassembler and manual.

use std::fmt;

use tepui_agx_isa as agx;
use tepui_intel_isa as intel;
use tepui_intel_isa::Generation;
use tepui_mali_isa as valhall;
use tepui_mali_isa::midgard::TextureRegisters;
use tepui_mali_isa::{bifrost, midgard};

use crate::{Feature, Gpu, Unsupported};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Apple AGX, generation G13 (M1).
    Agx,
    /// Execution units of a generation of Intel's GPUs.
    Intel(Generation),
    /// Arm Mali, Midgard (v4 and v5), with the texture unit's registers of a chip.
    Midgard(TextureRegisters),
    /// Arm Mali, Bifrost (v6 and v7).
    Bifrost,
    /// Arm Mali, Valhall (v9 and v10).
    Valhall,
}

/// Syntax of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// Text that the assembler reads.
    #[default]
    Exact,
    /// Text of Midgard letter by letter as Mesa's disassembler has it, which leaves out some of an instruction. It is the
    /// exact text of the other instruction sets.
    Mesa,
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Offset of the line's bytes in the code.
    pub offset: usize,
    /// The bytes in hexadecimal.
    pub bytes: String,
    /// Assembly, or the reason why the bytes are no instruction.
    pub text: Result<String, String>,
    /// The whole line as listings show it.
    pub listing: String,
    /// The instruction ends the program.
    pub ends: bool,
}

impl Isa {
    /// All instruction sets.
    pub const ALL: [Isa; 6] = [
        Isa::Agx,
        Isa::Intel(Generation::Gen9),
        Isa::Intel(Generation::Gen12),
        Isa::Midgard(TextureRegisters::Own),
        Isa::Bifrost,
        Isa::Valhall,
    ];

    /// The name that commands take.
    pub fn id(self) -> &'static str {
        match self {
            Isa::Agx => "agx",
            Isa::Intel(Generation::Gen9) => "gen9",
            Isa::Intel(Generation::Gen12) => "gen12",
            Isa::Midgard(_) => "midgard",
            Isa::Bifrost => "bifrost",
            Isa::Valhall => "valhall",
        }
    }

    /// The instruction set of a GPU.
    ///
    /// # Errors
    /// Its instruction set is not known.
    pub fn of(gpu: Gpu) -> Result<Isa, Unsupported> {
        match gpu.require(Feature::Isa)? {
            Gpu::Agx(_) => Ok(Isa::Agx),
            Gpu::Intel(chip) => Ok(Isa::Intel(chip.generation)),
            Gpu::Mali(chip) if chip.arch.family() == "Midgard" => {
                Ok(Isa::Midgard(TextureRegisters::shared(chip.shares_texture_registers())))
            }
            Gpu::Mali(chip) if chip.arch.family() == "Bifrost" => Ok(Isa::Bifrost),
            Gpu::Mali(_) => Ok(Isa::Valhall),
        }
    }

    /// Assembles text to machine code.
    ///
    /// # Errors
    /// One line for each mistake: line and column in the text, and what was expected.
    pub fn assemble(self, source: &str) -> Result<Vec<u8>, Vec<String>> {
        match self {
            Isa::Agx => agx::asm::assemble(source)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect()),
            Isa::Intel(generation) => intel::asm::assemble(generation, source)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect()),
            Isa::Midgard(_) => midgard::asm::assemble(source)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect()),
            Isa::Bifrost => bifrost::asm::assemble(source)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect()),
            Isa::Valhall => valhall::asm::assemble(source)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect()),
        }
    }

    /// The lines of machine code from an offset on.
    pub fn disassemble(self, code: &[u8], start: usize) -> Box<dyn Iterator<Item = Line> + '_> {
        self.disassemble_as(code, start, Syntax::Exact)
    }

    /// The lines of machine code from an offset on, in a syntax.
    pub fn disassemble_as(
        self,
        code: &[u8],
        start: usize,
        syntax: Syntax,
    ) -> Box<dyn Iterator<Item = Line> + '_> {
        match self {
            Isa::Intel(generation) => {
                let lines = intel::disasm::disassemble(generation, code, start);
                Box::new(lines.into_iter().map(intel_line))
            }
            Isa::Midgard(registers) => {
                let parts = midgard::disasm::parts(code, start);
                Box::new(parts.map(move |part| midgard_bundle(code, &part, registers, syntax)))
            }
            Isa::Bifrost => {
                let parts = bifrost::disasm::parts(code, start);
                Box::new(parts.map(|part| bifrost_clause(code, &part)))
            }
            Isa::Valhall => Box::new(valhall::disasm::disassemble(code, start).map(valhall_line)),
            Isa::Agx => Box::new(agx::disasm::Disassembler::at(code, start).map(|line| Line {
                offset: line.offset,
                bytes: line.hex(),
                text: match line.content {
                    agx::disasm::Content::Error(error) => Err(error.to_string()),
                    _ => Ok(line.text()),
                },
                ends: matches!(line.content, agx::disasm::Content::Inst(agx::Inst::Stop(_))),
                listing: line.to_string(),
            })),
        }
    }

    /// The manual in Markdown.
    pub fn manual(self) -> String {
        match self {
            Isa::Agx => agx::manual::manual(),
            Isa::Intel(generation) => intel::manual::manual(generation),
            Isa::Midgard(_) => midgard::manual::manual(),
            Isa::Bifrost => bifrost::manual::manual(),
            Isa::Valhall => valhall::manual::manual(),
        }
    }

    /// The manual's entries for a mnemonic, in Markdown; `None` if there is no such instruction.
    pub fn entry(self, mnemonic: &str) -> Option<String> {
        match self {
            Isa::Agx => {
                let rows = agx::manual::find(mnemonic);
                let entries: Vec<String> = rows.into_iter().map(agx::manual::entry).collect();
                (!entries.is_empty()).then(|| entries.join("\n"))
            }
            Isa::Intel(generation) => intel::manual::entry(generation, mnemonic),
            Isa::Midgard(_) => midgard::manual::entry(mnemonic),
            Isa::Bifrost => bifrost::manual::entry(mnemonic),
            Isa::Valhall => valhall::manual::entry(mnemonic),
        }
    }

    /// Each instruction's mnemonics with a line about it.
    pub fn summary(self) -> Vec<(String, &'static str)> {
        match self {
            Isa::Agx => agx::ROWS
                .iter()
                .map(|row| {
                    let found = agx::manual::find(row.name);
                    let title = found.first().map(|row| agx::manual::title(*row));
                    (title.unwrap_or_default(), row.summary())
                })
                .collect(),
            Isa::Intel(generation) => intel::manual::opcodes(generation)
                .into_iter()
                .map(|opcode| (opcode.mnemonic().to_owned(), opcode.summary()))
                .collect(),
            Isa::Midgard(_) => {
                use midgard::table::{ALU, MEMORY, TEXTURE};
                let alu = ALU.iter().map(|row| (row.name.to_owned(), row.about()));
                let memory = MEMORY.iter().map(|row| (row.name.to_owned(), row.about()));
                let texture = TEXTURE.iter().map(|row| (row.name.to_owned(), "texture unit"));
                alu.chain(memory).chain(texture).collect()
            }
            Isa::Bifrost => bifrost::Op::all().map(|op| (op.to_string(), op.row().theme)).collect(),
            Isa::Valhall => {
                valhall::ROWS.iter().map(|row| (row.name.to_owned(), row.summary)).collect()
            }
        }
    }
}

/// A bundle of Midgard's disassembler, whose lines are one here. The text ends its last line, so that an empty line ends the
/// bundle in a listing.
fn midgard_bundle(
    code: &[u8],
    part: &midgard::disasm::Part,
    registers: TextureRegisters,
    syntax: Syntax,
) -> Line {
    let text = match syntax {
        Syntax::Exact => part.exact(code, registers),
        Syntax::Mesa => part.text_with(code, registers),
    };
    let bytes = code.get(part.offset..part.offset + part.length).unwrap_or_default();
    Line {
        offset: part.offset,
        bytes: bytes.iter().map(|b| format!("{b:02x}")).collect(),
        text: match part.content {
            Err(error) if !part.is_padding(code) => Err(error.to_string()),
            _ => Ok(text.clone()),
        },
        listing: text,
        ends: part.content.is_ok_and(|bundle| bundle.next == midgard::Tag::BREAK),
    }
}

/// A clause of Bifrost's disassembler, whose lines are one here. Its listing is assembly too.
fn bifrost_clause(code: &[u8], part: &bifrost::disasm::Part) -> Line {
    let text = part.text(code).trim_end().to_owned();
    let bytes = code.get(part.offset..part.offset + part.length).unwrap_or_default();
    Line {
        offset: part.offset,
        bytes: bytes.iter().map(|b| format!("{b:02x}")).collect(),
        text: match &part.content {
            bifrost::disasm::Content::Error(error) => Err(error.to_string()),
            _ => Ok(text.clone()),
        },
        listing: text,
        ends: part.ends(),
    }
}

/// A line of Valhall's disassembler. Its listing is assembly too.
fn valhall_line(line: valhall::disasm::Line) -> Line {
    let text = match &line.content {
        valhall::disasm::Content::Error(error) => Err(error.kind.to_string()),
        _ => Ok(line.text()),
    };
    Line {
        offset: line.offset,
        bytes: line.hex(""),
        text,
        listing: line.to_string(),
        ends: line.ends(),
    }
}

/// A line of Intel's disassembler. Its listing has offset and bytes in a comment after the text, so
/// that the assembler accepts it.
fn intel_line(line: intel::disasm::ListingEntry) -> Line {
    use intel::disasm::Content;
    let hex = |separator| {
        let bytes: Vec<String> = line.bytes.iter().map(|b| format!("{b:02x}")).collect();
        bytes.join(separator)
    };
    let (text, ends) = match &line.content {
        Content::Inst(inst) => {
            (Ok(line.labelled()), inst.opcode.is_send() && inst.send.end_of_thread)
        }
        Content::Error(error) => (Err(error.kind.to_string()), false),
        Content::End => (Ok(line.labelled()), false),
    };
    let listing = match &text {
        Ok(text) if line.bytes.is_empty() => text.clone(),
        Ok(text) => format!("{text} /* {:04x}: {} */", line.offset, hex(" ")),
        Err(error) => format!("/* {:04x}: {}: {error} */", line.offset, hex(" ")),
    };
    Line { offset: line.offset, bytes: hex(""), text, listing, ends }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_code_lead_back_to_each_other() {
        let code = Isa::Agx.assemble("fadd32 r0, r1, 0.5\nstop").unwrap();
        let lines: Vec<Line> = Isa::Agx.disassemble(&code, 0).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends && !lines[0].ends);
        let text: Vec<String> = lines.into_iter().map(|line| line.text.unwrap()).collect();
        assert_eq!(Isa::Agx.assemble(&text.join("\n")).unwrap(), code);
        assert!(Isa::Agx.entry("fadd32").is_some() && Isa::Agx.entry("frobnicate").is_none());
    }

    #[test]
    fn listings_of_valhall_are_assembly() {
        let source = "again:\nBRANCHZ.reconverge ^r0, offset:again\nNOP.end\n.zero 16\n.hex 7f";
        let code = Isa::Valhall.assemble(source).unwrap();
        let lines: Vec<Line> = Isa::Valhall.disassemble(&code, 0).collect();
        assert_eq!(lines.iter().map(|l| l.ends).collect::<Vec<_>>(), [false, true, false, false]);
        assert!(lines[3].text.is_err());
        let listing: Vec<&str> = lines.iter().map(|line| line.listing.as_str()).collect();
        assert_eq!(Isa::Valhall.assemble(&listing.join("\n")).unwrap(), code);
        let g610: Gpu = "mali-g610".parse().unwrap();
        assert_eq!(Isa::of(g610), Ok(Isa::Valhall));
    }

    #[test]
    fn bundles_of_midgard_are_listed() {
        // A load of a varying, whose next bundle is a texture instruction.
        let code = [0x35, 0x98, 0, 0x3f, 0x1c, 0, 0, 0xc0, 3, 0, 0, 0, 0, 0, 0, 0];
        let lines: Vec<Line> = Isa::Midgard(TextureRegisters::Own).disassemble(&code, 0).collect();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].text.as_ref().is_ok_and(|text| text.starts_with("LD_VARY.f32")));
        let t860: Gpu = "mali-t860".parse().unwrap();
        assert_eq!(Isa::of(t860), Ok(Isa::Midgard(TextureRegisters::Own)));
    }

    #[test]
    fn listings_of_midgard_are_assembly() {
        let isa = Isa::Midgard(TextureRegisters::Own);
        let source = "again:\nlut.FMUL.f32 R0, R0, U0\nbr.cond.true again\n\nMIN.u32 R0, R0, R1\n\n.zero 16\n.hex 7f";
        let code = isa.assemble(source).unwrap();
        let lines: Vec<Line> = isa.disassemble(&code, 0).collect();
        assert_eq!(lines.iter().map(|l| l.ends).collect::<Vec<_>>(), [false, true, false, false]);
        assert!(lines[2].text.is_ok() && lines[3].text.is_err());
        let listing: Vec<&str> = lines.iter().map(|line| line.listing.as_str()).collect();
        assert_eq!(isa.assemble(&listing.join("\n")).unwrap(), code);
        let mut mesa = isa.disassemble_as(&code, 0, Syntax::Mesa).map(|line| line.listing);
        assert_eq!(mesa.next().unwrap(), "FMUL.f32 R0, R0, U0\nbr.cond.true -1 -> alu/4\n");
        let errors = isa.assemble(&mesa.next().unwrap()).unwrap_err();
        assert!(errors[0].starts_with("1:1: `MIN.i32` does not say"), "{errors:?}");
    }

    #[test]
    fn listings_of_bifrost_are_assembly() {
        let source = "ds(0) nbb ncph\n{\n    *FADD.f32 r0:t0, r1, r3\n    +BRANCHZ.i16.eq t1, r2.h0, end\n}\n\
                      end:\nds(0) eos store\n{\n    *NOP t0\n    +STORE.i32 t1, r4, r5, @r0\n}\n.zero 16";
        let code = Isa::Bifrost.assemble(source).unwrap();
        let lines: Vec<Line> = Isa::Bifrost.disassemble(&code, 0).collect();
        assert_eq!(lines.iter().map(|l| l.ends).collect::<Vec<_>>(), [false, true, false]);
        let listing: Vec<&str> = lines.iter().map(|line| line.listing.as_str()).collect();
        assert_eq!(Isa::Bifrost.assemble(&listing.join("\n")).unwrap(), code);
        let g52: Gpu = "mali-g52".parse().unwrap();
        assert_eq!(Isa::of(g52), Ok(Isa::Bifrost));
    }

    #[test]
    fn listings_of_execution_units_are_assembly() {
        let gen9 = Isa::Intel(Generation::Gen9);
        let source = "LOOP: add(8) g1<1>D g1<8,8,1>D 1D { align1 1Q };
            (+f0.0) while(8) JIP: LOOP { align1 1Q };
            send(8) null<1>UD g127<8,8,1>UD 0x82000010 thread_spawner MsgDesc: { align1 1Q EOT };";
        let code = gen9.assemble(source).unwrap();
        let lines: Vec<Line> = gen9.disassemble(&code, 0).collect();
        assert_eq!(lines.iter().map(|line| line.ends).collect::<Vec<_>>(), [false, false, true]);
        let listing: Vec<&str> = lines.iter().map(|line| line.listing.as_str()).collect();
        assert_eq!(gen9.assemble(&listing.join("\n")).unwrap(), code);
        assert!(
            lines[1]
                .listing
                .ends_with("/* 0010: 27 00 61 00 20 0e 00 20 00 00 00 08 f0 ff ff ff */"),
            "{}",
            lines[1].listing
        );
        assert!(gen9.disassemble(&[0x7f; 16], 0).next().unwrap().text.is_err());
        assert!(gen9.entry("pln").is_some());
        assert!(Isa::Intel(Generation::Gen12).entry("pln").is_none());
    }
}
