//! The assembler: a listing to code, in the syntax of Mesa's disassembler.
//!
//! A label (`clause_4:` or another name) precedes a clause; the clause is its header's words, then the tuples'
//! instructions in braces, alternately `*` and `+`. Sources name registers, `t`, `t0` and `t1`, uniforms, special
//! values, numbers, and labels for branches. The assembler chooses the ports and constants of an instruction: see
//! `pack`. Directives: `.zero N` and `.hex BYTES`. Comments: `/* … */` and `//`.

mod pack;
mod parse;

use std::collections::HashMap;

use crate::asm::{MAX_ZEROS, hex_bytes};
use pack::UnlinkedClause;
use parse::Statement;

/// An error at a line of a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}: {kind}")]
pub struct AsmError {
    /// Line, from 1.
    pub line: usize,
    /// The problem.
    pub kind: AsmErrorKind,
}

/// A problem in a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AsmErrorKind {
    /// No instruction of the unit has the name.
    #[error("no instruction is called `{0}`")]
    Mnemonic(String),
    /// A modifier that the instruction does not have, or has in another position.
    #[error("`{op}` has no modifier `{modifier}` here")]
    Modifier {
        /// The instruction.
        op: String,
        /// The modifier.
        modifier: String,
    },
    /// A missing modifier that must be written.
    #[error("`{op}` needs its modifier `{modifier}`")]
    Needed {
        /// The instruction.
        op: String,
        /// The modifier's name.
        modifier: &'static str,
    },
    /// A number of operands that the instruction does not have.
    #[error("expected {0}")]
    Expected(&'static str),
    /// An unknown word in a header.
    #[error("a header has no `{0}`")]
    Header(String),
    /// No ports read and write what a tuple names.
    #[error(
        "the registers of this tuple and the results of the one before need more ports than there are"
    )]
    Ports,
    /// A tuple reads more than one pair of uniforms, constant or special value.
    #[error("a tuple reads one pair of uniforms, one constant of 64 bits or one special value")]
    Fau,
    /// The clause needs too many constants.
    #[error("the clause needs too many constants")]
    Constants,
    /// The clause cannot be packed.
    #[error(transparent)]
    Clause(#[from] super::ClauseError),
    /// Two messages of a clause have different staging registers.
    #[error("the staging registers of a clause begin at one register")]
    Staging,
    /// A label is defined twice.
    #[error("label `{0}` is defined twice")]
    DuplicateLabel(String),
    /// A label is not defined.
    #[error("label `{0}` is not defined")]
    UnknownLabel(String),
    /// A directive is unknown or its operand is wrong.
    #[error("`{0}` is not a directive; write `.zero N` (N up to 1048576) or `.hex BYTES`")]
    Directive(String),
}

/// Assembles a listing.
///
/// # Errors
/// All problems.
pub fn assemble(source: &str) -> Result<Vec<u8>, Vec<AsmError>> {
    let (statements, mut errors) = parse::statements(source);
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut parts: Vec<(usize, AssembledStatement)> = Vec::new();
    let mut place = 0;
    for (line, statement) in &statements {
        let mut fail = |kind| errors.push(AsmError { line: *line, kind });
        match statement {
            Statement::Label(name) => {
                if labels.insert(name, place).is_some() {
                    fail(AsmErrorKind::DuplicateLabel(name.clone()));
                }
            }
            Statement::Directive(text) => match directive(text) {
                Some(bytes) => {
                    place += bytes.len().div_ceil(super::clause::WORD_BYTES);
                    parts.push((*line, AssembledStatement::Bytes(bytes)));
                }
                None => fail(AsmErrorKind::Directive(text.clone())),
            },
            Statement::Clause(draft) => match pack::pack(draft) {
                Ok(packed) => {
                    let at = place;
                    place += packed.words;
                    parts.push((*line, AssembledStatement::Clause(at, Box::new(packed))));
                }
                Err(kind) => fail(kind),
            },
        }
    }
    let mut code = Vec::new();
    for (line, part) in parts {
        match part {
            AssembledStatement::Bytes(bytes) => code.extend(bytes),
            AssembledStatement::Clause(at, packed) => match packed.finish(at, &labels) {
                Ok(bytes) => code.extend(bytes),
                Err(kind) => errors.push(AsmError { line, kind }),
            },
        }
    }
    if errors.is_empty() { Ok(code) } else { Err(errors) }
}

/// The assembled form of a statement.
enum AssembledStatement {
    Bytes(Vec<u8>),
    Clause(usize, Box<UnlinkedClause>),
}

fn directive(text: &str) -> Option<Vec<u8>> {
    let (name, operand) = text.split_once(char::is_whitespace)?;
    match name {
        ".zero" => {
            let count = operand.trim().parse::<usize>().ok().filter(|n| *n <= MAX_ZEROS)?;
            Some(vec![0; count])
        }
        ".hex" => hex_bytes(operand.trim()),
        _ => None,
    }
}
