//! Pipeline statistics: counts of draws, and the registers that accumulate them.

use super::state::{self, State};
use crate::context::HardwareContext;
use crate::registers::{self, NoRegister};

/// The counts of a draw.
#[derive(Clone, Copy, Default)]
pub(super) struct DrawStatistics {
    pub vertices: u64,
    pub shaded_vertices: u64,
    pub primitives: u64,
    pub patches: u64,
    pub points: u64,
    pub geometry: u64,
    pub geometry_primitives: u64,
    pub passed: u64,
    pub pixels: u64,
}

impl DrawStatistics {
    /// Adds the counts to the pipeline statistics registers.
    pub fn count(
        &self,
        context: &mut HardwareContext,
        state: &State,
        [clipper, clipped]: [u64; 2],
    ) -> Result<(), NoRegister> {
        let fetched = {
            let s: tepui_intel_packets::vertex::State3dVfStatistics =
                state::latched(context).unwrap_or_default();
            s.statistics_enable
        };
        let on = |enable: bool, value: u64| if enable { value } else { 0 };
        let registers = &mut context.registers;
        for (register, value) in [
            (registers::IA_VERTICES, on(fetched, self.vertices)),
            (registers::IA_PRIMITIVES, on(fetched, self.primitives)),
            (
                registers::VS_INVOCATIONS,
                on(state.vs.enable && state.vs.statistics_enable, self.shaded_vertices),
            ),
            (registers::HS_INVOCATIONS, on(state.hs.statistics_enable, self.patches)),
            (registers::DS_INVOCATIONS, on(state.ds.statistics_enable, self.points)),
            (registers::GS_INVOCATIONS, on(state.gs.statistics_enable, self.geometry)),
            (registers::GS_PRIMITIVES, on(state.gs.statistics_enable, self.geometry_primitives)),
            (registers::CL_INVOCATIONS, on(state.clip.statistics_enable, clipper)),
            (registers::CL_PRIMITIVES, on(state.clip.statistics_enable, clipped)),
            (registers::PS_INVOCATIONS, on(state.wm.statistics_enable, self.pixels)),
            (registers::PS_DEPTH, on(state.wm.statistics_enable, self.passed)),
        ] {
            if value != 0 {
                registers.set64(register, registers.get64(register).wrapping_add(value))?;
            }
        }
        Ok(())
    }
}
