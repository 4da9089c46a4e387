//! Translates a program's operations to machine code of the host: x86-64 with AVX-512 or AVX2.
//!
//! The interpreter ([`super::run`]) spends most of an instruction's time on finding out what to do.
//! The translator writes that down once: for each operation a few vector instructions over the rows
//! of the register file, a part of the lanes at a time (sixteen of them with AVX-512, eight with
//! AVX2), with the execution mask as a mask of vector instructions; control flow becomes jumps.
//! Operations that it does not know are calls of the interpreter's handlers, so both ways run the
//! same program to the same result and either can take over from the other at most places.
//!
//! Between two changes of the execution mask, operations of lanes run first for one part of the
//! group, if any of its lanes executes, then for the next. So divergent code costs less, and the
//! rows of a run fit in vector registers: they are loaded once, and written back at its end in the
//! active lanes. Over branches and loops without accesses of memory, the rows that are used most stay
//! in vector registers (`region`, for AVX-512). (Cranelift would allocate registers over the whole program, but its vectors have
//! 128 bits: a row would be eight of them.)
//!
//! Templates that touch memory other than the group's own fields and rows say at the head of their
//! files why no address outside of a checked range can be formed: `device`, `local`, and `fragment`
//! (the tilebuffer, coefficient registers, tables). Scratch memory, stores to uniform registers,
//! atomics, textures and images have no templates: their handlers run. Rows of registers and
//! uniform registers are named by the program, whose highest rows `Lanes::new` compares with the
//! files.
//!
//! The instructions that templates are written in are `tepui_hostvec`'s, with their encodings for
//! each
//! [`Target`]; `translator` has what all templates share and keeps rows in vector registers; `template` says which operations have templates; `translate` walks the
//! program; `region` finds the parts of it over which rows stay in vector registers; `lanes`, `approx`, `local`, `device`, `fragment` and `control` have the templates;
//! `code` holds what can be executed. Two tests need no host that can execute the code: `decoded`
//! has another decoder read it, `golden` holds the code for AVX-512 to what it was.

mod approx;
mod code;
mod control;
#[cfg(test)]
mod decoded;
mod device;
mod fragment;
#[cfg(test)]
mod golden;
mod lanes;
mod local;
mod region;
mod template;
mod translate;
mod translator;

pub use code::{Translated, exit};

use tepui_hostvec::{LazyTranslation, Target};

use super::code::Code;

/// A program's translation, made when the program has run for a while.
pub struct Lazy {
    target: Option<Target>,
    translated: LazyTranslation<Translated>,
}

impl Lazy {
    /// A translation that is compiled after `runs` runs of a SIMD-group; never after `u32::MAX`, or
    /// without a target.
    pub fn after(runs: u32, target: Option<Target>) -> Lazy {
        let runs = if target.is_none() { u32::MAX } else { runs };
        Lazy { target, translated: LazyTranslation::after(runs) }
    }

    /// The translation, once there is one; with `checks`, memory is accessed by handlers.
    #[inline]
    pub fn get(&self, code: &Code, checks: bool) -> Option<&Translated> {
        self.translated.get(0, || translate::translate(code, self.target?, checks))
    }
}
