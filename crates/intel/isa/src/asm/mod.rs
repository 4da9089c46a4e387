//! The assembler: Mesa's `brw_asm` syntax, as [`crate::disasm`] writes it.
//!
//! Beyond Mesa's: offsets in place of labels (`JIP: 48`), the option `compacted` (which Mesa reads
//! and mishandles), the options `bare` (a branch whose unused fields are zero, as Mesa 26.1's driver
//! leaves them) and `bits 0x…` ([`Inst::unusual`]), operands for instructions that
//! Mesa's grammar lacks.

mod parse;

use std::collections::HashMap;

use tepui_intel_chips::Generation;

use crate::inst::Inst;
use crate::layout::{self, Targets};
use crate::scan::{ParseError, Result, Scanner};
use crate::table::opcode::Opcode;

use parse::Parser;

pub use crate::scan::AsmError;

/// The target of a jump.
enum Target<'s> {
    Label(&'s str, usize),
    Offset,
}

/// An instruction of the text, with unresolved jumps.
struct ParsedInstruction<'s> {
    at: usize,
    inst: Inst,
    jip: Target<'s>,
    uip: Target<'s>,
}

/// Assembles a program without changes: instructions with the option `compacted` take 8 bytes.
///
/// # Errors
/// All mistakes, in the order of the text.
///
/// ```
/// use tepui_intel_isa::{Generation, asm};
/// let code = asm::assemble(Generation::Gen9, "mov(8) g1<1>F g2<8,8,1>F { align1 1Q };").unwrap();
/// assert_eq!(code[..4], [0x01, 0x00, 0x60, 0x00]);
/// ```
pub fn assemble(generation: Generation, source: &str) -> Result<Vec<u8>, Vec<AsmError>> {
    Program::parse(generation, source)?.encode()
}

/// Assembles a program and compacts every instruction that has a compacted form, as Mesa's compiler does.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_compacting(generation: Generation, source: &str) -> Result<Vec<u8>, Vec<AsmError>> {
    let mut program = Program::parse(generation, source)?;
    program.compact()?;
    let mut code = program.encode()?;
    if code.len() % 16 != 0 {
        let mut nop = Inst::new(generation, Opcode::Nop);
        nop.compacted = true;
        // A nop has a compacted form on every generation.
        let _ = nop.encode(&mut code);
    }
    Ok(code)
}

/// Parses one instruction; its jumps must be offsets.
///
/// # Errors
/// The mistake.
pub fn parse(generation: Generation, source: &str) -> Result<Inst, AsmError> {
    let mut program = Program::parse(generation, source).map_err(|mut errors| errors.remove(0))?;
    let error = |message: &str| AsmError { line: 1, column: 1, message: message.to_owned() };
    program.resolve().map_err(|mut errors| errors.remove(0))?;
    match program.items.as_slice() {
        [item] => Ok(item.inst),
        _ => Err(error("expected one instruction")),
    }
}

struct Program<'s> {
    scanner: Scanner<'s>,
    items: Vec<ParsedInstruction<'s>>,
    /// Labels, with the index of the instruction that follows.
    labels: HashMap<&'s str, usize>,
}

impl<'s> Program<'s> {
    fn parse(generation: Generation, source: &'s str) -> Result<Program<'s>, Vec<AsmError>> {
        let mut scanner = Scanner::new(source);
        let mut items = Vec::new();
        let mut labels = HashMap::new();
        let mut errors = Vec::new();
        while !scanner.is_end() {
            if let Some(label) = label(&mut scanner) {
                labels.insert(label, items.len());
                continue;
            }
            let at = scanner.position();
            match Parser::new(&mut scanner, generation).instruction() {
                Ok(item) => items.push(item),
                Err(mistake) => {
                    errors.push(scanner.error(mistake));
                    scanner.recover(at);
                }
            }
            if errors.len() >= 100 {
                break;
            }
        }
        match errors.is_empty() {
            true => Ok(Program { scanner, items, labels }),
            false => Err(errors),
        }
    }

    /// The targets of the jumps.
    fn targets(&self) -> Result<Vec<Targets>, Vec<AsmError>> {
        let mut errors = Vec::new();
        let mut target = |target: &Target<'s>| {
            let Target::Label(label, at) = *target else { return None };
            let to = self.labels.get(label).copied();
            if to.is_none() {
                let mistake = ParseError { at, message: format!("no label '{label}'") };
                errors.push(self.scanner.error(mistake));
            }
            to
        };
        let mut all = Vec::with_capacity(self.items.len());
        for item in &self.items {
            all.push(Targets { jip: target(&item.jip), uip: target(&item.uip) });
        }
        if errors.is_empty() { Ok(all) } else { Err(errors) }
    }

    /// Changes all instructions.
    fn change(&mut self, f: fn(&mut [Inst], &[Targets])) -> Result<(), Vec<AsmError>> {
        let targets = self.targets()?;
        let mut insts: Vec<Inst> = self.items.iter().map(|item| item.inst).collect();
        f(&mut insts, &targets);
        for (item, inst) in self.items.iter_mut().zip(insts) {
            item.inst = inst;
        }
        Ok(())
    }

    fn resolve(&mut self) -> Result<(), Vec<AsmError>> {
        self.change(layout::resolve)
    }

    fn encode(&mut self) -> Result<Vec<u8>, Vec<AsmError>> {
        self.resolve()?;
        let mut code = Vec::new();
        let mut errors = Vec::new();
        for item in &self.items {
            if let Err(error) = item.inst.encode(&mut code) {
                let at = ParseError { at: item.at, message: error.to_string() };
                errors.push(self.scanner.error(at));
            }
        }
        if errors.is_empty() { Ok(code) } else { Err(errors) }
    }

    /// Compacts the instructions that have a compacted form.
    fn compact(&mut self) -> Result<(), Vec<AsmError>> {
        self.change(layout::compact)
    }
}

/// A name with a colon.
fn label<'s>(s: &mut Scanner<'s>) -> Option<&'s str> {
    s.blank();
    let rest = s.rest();
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
    let name = &rest[..end];
    let is_label = rest[end..].starts_with(':') && name.starts_with(|c: char| !c.is_ascii_digit());
    (is_label && !name.is_empty()).then(|| {
        s.take(name);
        s.take(":");
        name
    })
}
