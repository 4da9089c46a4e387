//! Binding tables, samplers and constants of the threads of each stage of a draw.

use tepui_intel_packets::bindings::{
    State3dBindingTablePointersDs, State3dBindingTablePointersGs, State3dBindingTablePointersHs,
    State3dBindingTablePointersPs, State3dBindingTablePointersVs, State3dConstantBody,
    State3dConstantDs, State3dConstantGs, State3dConstantHs, State3dConstantPs, State3dConstantVs,
    State3dSamplerStatePointersDs, State3dSamplerStatePointersGs, State3dSamplerStatePointersHs,
    State3dSamplerStatePointersPs, State3dSamplerStatePointersVs,
};
use tepui_ir::Stage;
use tepui_vulkan::Result;
use tepui_vulkan::state::{GraphicsState, Groups, MAX_COLOURS};

use super::Encoder;
use super::bindings::Inputs;
use super::draw::Parts;
use super::linked::Linked;
use crate::graphics::{Causes, Out};
use crate::programs::STAGES;
use crate::shader::Variant;

/// Tables of a stage.
#[derive(Default)]
pub struct Tables {
    /// Addresses of the surface states of the binding table.
    pub states: Vec<u64>,
    /// Address of the block that it is in.
    pub block: u64,
    /// Its offset from the surface state base.
    pub table: u32,
    /// States of samplers.
    pub samplers: Vec<u8>,
    /// Their offset from the dynamic state base.
    pub sampler_table: u32,
}

/// Constants that were emitted for a stage.
#[derive(Default)]
pub struct Constants {
    /// The words.
    words: Vec<u32>,
    /// Their place.
    body: State3dConstantBody,
}

/// Pointers that were emitted for a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pointers {
    constants: State3dConstantBody,
    table: u32,
    samplers: u32,
    /// The block of binding tables: pointers take effect again after base addresses have changed.
    block: u64,
}

impl Encoder {
    /// Makes binding tables and constants in memory, where what they are made of has changed; emits nothing.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn make_bindings(
        &mut self,
        linked: &mut Linked,
        p: &Parts<'_>,
        view: u32,
        pushes: bool,
    ) -> Result<()> {
        let changes = Causes::SHADERS | Causes::RENDERING;
        let moved = self.tables.last().map_or(0, |c| c.address) != self.graphics.block;
        // The tables of another view are the same.
        let is_first = view == 0 || view == p.views.trailing_zeros();
        let rebinds = is_first && p.rebinds || moved || self.graphics.causes.intersects(changes);
        if !rebinds && !pushes {
            return Ok(());
        }
        let (targets, nothing) = self.targets_by_location(p.state);
        let inputs = Inputs {
            sets: p.sets,
            pushed: p.pushed,
            push: p.push,
            groups: [[0; 3]; 2],
            targets: &targets,
            nothing,
            view,
            patch_vertices: p.state.patch_points,
        };
        if rebinds {
            self.make_tables(linked, &inputs)?;
        }
        for k in 0..STAGES.len() {
            self.make_constants(k, linked.programs.stages[k].as_deref(), &inputs)?;
        }
        self.graphics.rebound = true;
        Ok(())
    }

    /// Addresses of the surface states of the fragment outputs of a rendering, and that of none.
    fn targets_by_location(&mut self, state: &GraphicsState) -> ([u64; MAX_COLOURS], u64) {
        let moved = self.graphics.changed.0.contains(Groups::LOCATIONS);
        let Some(t) = &mut self.targets else { return ([0; MAX_COLOURS], 0) };
        if let Some(all) = t.by_location.filter(|_| !moved) {
            return (all, t.nothing);
        }
        let all = std::array::from_fn(|location| {
            let at = state.locations.iter().position(|&l| l == Some(location as u8));
            at.filter(|k| t.colours >> k & 1 != 0).map_or(t.nothing, |k| t.states[k])
        });
        t.by_location = Some(all);
        (all, t.nothing)
    }

    /// Binding tables and sampler tables of all stages.
    fn make_tables(&mut self, linked: &mut Linked, inputs: &Inputs<'_>) -> Result<()> {
        // Tables of one draw are in one block: a second try finds room in the block that the first one began.
        for _ in 0..2 {
            let block = self.tables.last().map(|c| c.address);
            for (v, to) in linked.programs.stages.iter().zip(&mut linked.tables) {
                if let Some(v) = v {
                    self.binding_table(v, inputs, to)?;
                    self.sampler_table(v, inputs, to)?;
                }
            }
            if self.tables.last().map(|c| c.address) == block {
                break;
            }
        }
        self.graphics.block = self.tables.last().map_or(0, |c| c.address);
        Ok(())
    }

    /// Constants of a stage in memory, unless they are those that it has.
    fn make_constants(&mut self, k: usize, v: Option<&Variant>, inputs: &Inputs<'_>) -> Result<()> {
        let registers = v.map_or(0, Variant::shared_registers);
        let (Some(v), true) = (v, registers > 0) else {
            self.graphics.constants[k].words.clear();
            self.graphics.constants[k].body = State3dConstantBody::default();
            return Ok(());
        };
        let count = 8 * registers as usize;
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        words.extend(v.places.words.iter().take(count).map(|&w| inputs.word(v, w)));
        words.resize(count, 0);
        if self.graphics.constants[k].words == words {
            self.words = words;
            return Ok(());
        }
        let at = self.reserve_state(4 * count as u64, 64)?;
        for (n, w) in words.iter().enumerate() {
            // SAFETY: the place is new and has as many words.
            unsafe { at.host.cast::<u32>().add(n).write_unaligned(w.to_le()) };
        }
        let body = State3dConstantBody {
            read_length_3: registers,
            buffer_3: at.address,
            ..State3dConstantBody::default()
        };
        let old = std::mem::replace(&mut self.graphics.constants[k], Constants { words, body });
        self.words = old.words;
        Ok(())
    }

    /// Emits pointers to constants, binding tables and samplers of the stages where they have changed.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn bind_stages(&mut self, linked: &Linked) -> Result<()> {
        if !std::mem::take(&mut self.graphics.rebound) {
            return Ok(());
        }
        let spare = std::mem::take(&mut self.spare);
        let mut out = Out::reuse(self.device.generation(), spare);
        for (k, stage) in STAGES.into_iter().enumerate() {
            let runs = linked.programs.stages[k].is_some();
            let t = &linked.tables[k];
            let now = Pointers {
                constants: self.graphics.constants[k].body,
                table: if runs { t.table } else { 0 },
                samplers: if runs { t.sampler_table } else { 0 },
                block: if runs { self.graphics.block } else { 0 },
            };
            if self.graphics.pointers[k].as_ref() != Some(&now) {
                // Constants take effect with the pointer to the binding table. source: SKL PRM volume 2a, 3DSTATE_CONSTANT_VS
                constants(stage, now.constants, &mut out)?;
                pointers(stage, [now.table, now.samplers].map(u64::from), &mut out)?;
                self.graphics.pointers[k] = Some(now);
            }
        }
        if !out.bytes.is_empty() {
            self.emit_bytes(&out.bytes)?;
        }
        self.spare = out.bytes;
        Ok(())
    }
}

/// 3DSTATE_CONSTANT of a stage.
fn constants(stage: Stage, constant_body: State3dConstantBody, out: &mut Out) -> Result<()> {
    match stage {
        Stage::Vertex => out.put(&State3dConstantVs { constant_body, ..Default::default() }),
        Stage::TessControl => out.put(&State3dConstantHs { constant_body, ..Default::default() }),
        Stage::TessEvaluation => {
            out.put(&State3dConstantDs { constant_body, ..Default::default() })
        }
        Stage::Geometry => out.put(&State3dConstantGs { constant_body, ..Default::default() }),
        _ => out.put(&State3dConstantPs { constant_body, ..Default::default() }),
    }
}

/// 3DSTATE_BINDING_TABLE_POINTERS and 3DSTATE_SAMPLER_STATE_POINTERS of a stage.
fn pointers(stage: Stage, [table, samplers]: [u64; 2], out: &mut Out) -> Result<()> {
    match stage {
        Stage::Vertex => {
            out.put(&State3dBindingTablePointersVs { pointer_to_vs_binding_table: table })?;
            out.put(&State3dSamplerStatePointersVs { pointer_to_vs_sampler_state: samplers })
        }
        Stage::TessControl => {
            out.put(&State3dBindingTablePointersHs { pointer_to_hs_binding_table: table })?;
            out.put(&State3dSamplerStatePointersHs { pointer_to_hs_sampler_state: samplers })
        }
        Stage::TessEvaluation => {
            out.put(&State3dBindingTablePointersDs { pointer_to_ds_binding_table: table })?;
            out.put(&State3dSamplerStatePointersDs { pointer_to_ds_sampler_state: samplers })
        }
        Stage::Geometry => {
            out.put(&State3dBindingTablePointersGs { pointer_to_gs_binding_table: table })?;
            out.put(&State3dSamplerStatePointersGs { pointer_to_gs_sampler_state: samplers })
        }
        _ => {
            out.put(&State3dBindingTablePointersPs { pointer_to_ps_binding_table: table })?;
            out.put(&State3dSamplerStatePointersPs { pointer_to_ps_sampler_state: samplers })
        }
    }
}
