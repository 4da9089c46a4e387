//! Binding tables, samplers and constants of the threads of each stage of a draw.

use tepui_intel_chips::Generation;
use tepui_vulkan::Result;
use tepui_vulkan::state::{GraphicsState, Groups, MAX_COLOURS};
use tepui_vulkan_kit::arena::Mapped;

use super::Encoder;
use super::bindings::Inputs;
use super::draw::Parts;
use super::linked::Linked;
use super::tables::Constants;
use crate::graphics::Causes;
use crate::packets::STAGES;
use crate::templates::Pointers;
use crate::variant::Variant;

/// Alignment of constants: a register. source: genxml, 3DSTATE_CONSTANT_BODY
const CONSTANTS_ALIGN: u64 = 32;

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
        let moved = self.tables.last().map_or(0, Mapped::address) != self.graphics.block;
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
            let block = self.tables.last().map(Mapped::address);
            for (v, to) in linked.programs.stages.iter().zip(&mut linked.tables) {
                if let Some(v) = v {
                    self.binding_table(v, inputs, to)?;
                    self.sampler_table(v, inputs, to)?;
                }
            }
            if self.tables.last().map(Mapped::address) == block {
                break;
            }
        }
        self.graphics.block = self.tables.last().map_or(0, Mapped::address);
        Ok(())
    }

    /// Constants of a stage in memory, unless they are those that it has.
    fn make_constants(&mut self, k: usize, v: Option<&Variant>, inputs: &Inputs<'_>) -> Result<()> {
        let registers = v.map_or(0, Variant::shared_registers);
        let (Some(v), true) = (v, registers > 0) else {
            let none = &mut self.graphics.constants[k];
            none.words.clear();
            (none.registers, none.address) = (0, 0);
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
        let at = self.reserve_state(4 * count as u64, CONSTANTS_ALIGN)?;
        for (n, w) in words.iter().enumerate() {
            // SAFETY: the place is new and has as many words.
            unsafe { at.host.cast::<u32>().add(n).write_unaligned(w.to_le()) };
        }
        let now = Constants { words, registers, address: at.address };
        self.words = std::mem::replace(&mut self.graphics.constants[k], now).words;
        Ok(())
    }

    /// Emits constants, and pointers to binding tables and samplers, of the stages where they have changed.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn bind_stages(&mut self, linked: &Linked) -> Result<()> {
        if !std::mem::take(&mut self.graphics.rebound) {
            return Ok(());
        }
        let Encoder { device, batch, graphics, .. } = self;
        let mut all = [Pointers::default(); STAGES.len()];
        for (k, now) in all.iter_mut().enumerate() {
            let (runs, c) = (linked.programs.stages[k].is_some(), &graphics.constants[k]);
            let t = &linked.tables[k];
            let before = graphics.pointers[k].as_ref();
            *now = Pointers {
                registers: c.registers,
                constants: c.address,
                table: if runs { t.table } else { 0 },
                samplers: if runs { t.sampler_table } else { 0 },
                block: if runs { graphics.block } else { before.map_or(0, |b| b.block) },
            };
        }
        // Wa_1604061319: the constants of one stage are emitted with those of all stages that run.
        let all_constants = device.generation() == Generation::Gen12
            && graphics.pointers.iter().zip(&all).any(|(b, now)| !now.has_constants_of(b.as_ref()));
        for (k, now) in all.into_iter().enumerate() {
            let runs = linked.programs.stages[k].is_some();
            let before = graphics.pointers[k].replace(now);
            let emit = |words: &[u32]| batch.append(device, bytemuck::cast_slice(words));
            device.templates.stage(k, before, now, all_constants && runs, emit)?;
        }
        Ok(())
    }
}
