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

    /// Sets the predicate for draw `k` of those that a word in memory counts: draws before it have set it, too.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn count_predicate(&mut self, count_address: u64, k: u32) -> Result<()> {
        if k == 0 {
            self.compared(count_address, 0)?;
            // There is a first draw if the count is not 0.
            return self.compare(PredicateLoad::Loadinv, PredicateCombine::Set);
        }
        self.set_register(SOURCE_1, k)?;
        // The predicate was true up to the count, and turns false there.
        self.compare(PredicateLoad::Load, PredicateCombine::Xor)
    }
}
