//! Predicates: draws and dispatches that the command streamer drops by a word in memory.
//!
//! source: Mesa, genX_cmd_draw.c (`prepare_for_draw_count_predicate`, `emit_draw_count_predicate`), genX_cmd_buffer.c
//! (`cmd_emit_conditional_render_predicate`)

use tepui_intel_packets::mi::{
    MiLoadRegisterMem, MiPredicate, PredicateCombine, PredicateCompare, PredicateLoad,
};
use tepui_vulkan::Result;
use tepui_vulkan::backend::Condition;

use super::Encoder;

/// Registers that MI_PREDICATE compares. source: genxml, MI_PREDICATE_SRC0, MI_PREDICATE_SRC1
const SOURCE_0: u64 = 0x2400;
const SOURCE_1: u64 = 0x2408;

impl Encoder {
    /// Loads a word in memory and a number into what predicates compare.
    fn compared(&mut self, address: u64, number: u32) -> Result<()> {
        self.emit(&MiLoadRegisterMem {
            register_address: SOURCE_0,
            memory_address: address,
            ..MiLoadRegisterMem::default()
        })?;
        self.set_register(SOURCE_0 + 4, 0)?;
        self.set_register(SOURCE_1, number)?;
        self.set_register(SOURCE_1 + 4, 0)
    }

    /// Sets the predicate by whether the compared numbers are equal.
    fn compare(
        &mut self,
        load_operation: PredicateLoad,
        combine_operation: PredicateCombine,
    ) -> Result<()> {
        let compare_operation = PredicateCompare::SrcsEqual;
        self.emit(&MiPredicate { compare_operation, combine_operation, load_operation })
    }

    /// Sets the predicate by a condition; returns whether there is one.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn predicate(&mut self, condition: Option<Condition>) -> Result<bool> {
        let Some(Condition { address, inverted }) = condition else { return Ok(false) };
        self.compared(address, 0)?;
        let load = if inverted { PredicateLoad::Load } else { PredicateLoad::Loadinv };
        self.compare(load, PredicateCombine::Set)?;
        Ok(true)
    }

    /// Sets the predicate for draw `k` of those that a word in memory counts, under a condition: draws before it have set it, too.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn count_predicate(
        &mut self,
        count_address: u64,
        k: u32,
        condition: Option<Condition>,
    ) -> Result<()> {
        match k {
            0 => {
                self.compared(count_address, 0)?;
                // There is a first draw if the count is not 0.
                self.compare(PredicateLoad::Loadinv, PredicateCombine::Set)?;
            }
            _ => {
                match condition {
                    Some(_) => self.compared(count_address, k)?,
                    None => self.set_register(SOURCE_1, k)?,
                }
                // The predicate was true up to the count, and turns false there.
                self.compare(PredicateLoad::Load, PredicateCombine::Xor)?;
            }
        }
        match condition {
            Some(condition) => self.and_condition(condition),
            None => Ok(()),
        }
    }

    /// Drops what the predicate lets through, unless a condition does, too. Where it does not, the predicate is false for all draws, but
    /// turns true at the count.
    fn and_condition(&mut self, Condition { address, inverted }: Condition) -> Result<()> {
        if inverted {
            self.compared(address, 0)?;
            return self.compare(PredicateLoad::Load, PredicateCombine::And);
        }
        // not (not predicate or word = 0): whether a load inverts the comparison or the combination does not count then.
        self.invert_predicate()?;
        self.compared(address, 0)?;
        self.compare(PredicateLoad::Load, PredicateCombine::Or)?;
        self.invert_predicate()
    }

    fn invert_predicate(&mut self) -> Result<()> {
        self.emit(&MiPredicate {
            compare_operation: PredicateCompare::True,
            combine_operation: PredicateCombine::Xor,
            load_operation: PredicateLoad::Load,
        })
    }
}
