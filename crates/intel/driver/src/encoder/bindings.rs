//! Descriptor sets, binding tables and constants of a draw or dispatch.

use tepui_sysval::SystemValue;
use tepui_vulkan::Result;
use tepui_vulkan::command::{BindPoint, BoundSet, MAX_PUSH, MAX_SETS};
use tepui_vulkan_kit::arena::Mapped;

use super::Encoder;
use super::state::PushedSets;
use super::tables::Tables;
use crate::bind::{Buffer, Entry, SamplerPlace, Word};
use crate::packets::packet;
use crate::space;
use crate::states::{RECORDS, STATES, buffer_state};
use crate::variant::Variant;

/// Sources of a program's table and constants.
pub struct Inputs<'a> {
    /// Sets.
    pub sets: &'a BindPoint,
    /// Addresses of those that are pushed.
    pub pushed: &'a PushedSets,
    /// Push constants.
    pub push: &'a [u8; MAX_PUSH],
    /// First workgroup, and the number of workgroups.
    pub groups: [[u32; 3]; 2],
    /// Addresses of the surface states of colour attachments.
    pub targets: &'a [u64],
    /// Address of the surface state of no attachment.
    pub nothing: u64,
    /// Number of the view.
    pub view: u32,
    /// Vertices of an input patch.
    pub patch_vertices: u32,
}

/// The bytes of a set's memory of a kind.
fn bytes(set: &BoundSet, kind: usize) -> &[u8] {
    match set.pushed[kind].is_empty() {
        // SAFETY: the application does not write to the set while it records commands with it, unless its bindings are updated
        // after binding, which programs read by themselves.
        true => unsafe { set.host[kind].bytes() },
        false => &set.pushed[kind],
    }
}

fn word_at(bytes: &[u8], at: u32) -> u32 {
    let word = bytes.get(at as usize..).and_then(|b| b.first_chunk::<4>());
    word.map_or(0, |w| u32::from_le_bytes(*w))
}

/// The half of a number of 64 bits.
fn half(value: u64, high: bool) -> u32 {
    (value >> if high { 32 } else { 0 }) as u32
}

impl Inputs<'_> {
    fn set(&self, set: u8) -> &BoundSet {
        &self.sets.sets[usize::from(set) % MAX_SETS]
    }

    /// Address of the memory of a set; 0 for none.
    fn address(&self, set: u8, kind: usize) -> u64 {
        match self.set(set).pushed[kind].is_empty() {
            true => self.set(set).addresses[kind],
            false => self.pushed.0[usize::from(set) % MAX_SETS][kind],
        }
    }

    fn dynamic(&self, set: u8, index: u32) -> (u64, u32) {
        self.set(set).dynamic.get(index as usize).copied().unwrap_or((0, 0))
    }

    /// Address and bytes of a buffer.
    fn buffer(&self, v: &Variant, b: Buffer) -> (u64, u32) {
        match b {
            Buffer::Record { set, offset } => {
                let record = bytes(self.set(set), RECORDS);
                let address = u64::from(word_at(record, offset))
                    | u64::from(word_at(record, offset + 4)) << 32;
                (address, word_at(record, offset + 8))
            }
            Buffer::Dynamic { set, index } => self.dynamic(set, index),
            Buffer::Data => (v.data_address(), v.data_bytes),
            Buffer::Null => (0, 0),
        }
    }

    /// A word of a program's constants.
    pub fn word(&self, v: &Variant, w: Word) -> u32 {
        let [base, count] = &self.groups;
        match w {
            Word::System(SystemValue::Push { offset }) => word_at(self.push, offset),
            Word::System(SystemValue::NumWorkgroups { axis }) => count[usize::from(axis) % 3],
            Word::System(SystemValue::BaseWorkgroup { axis }) => base[usize::from(axis) % 3],
            Word::System(SystemValue::ViewIndex) => self.view,
            Word::System(SystemValue::PatchVertices) => self.patch_vertices,
            // The others are refused when places are found.
            Word::System(_) => 0,
            Word::Size(b) => self.buffer(v, b).1,
            Word::Address(b, high) => half(self.buffer(v, b).0, high),
            Word::SetAddress(set, high) => half(self.address(set, RECORDS), high),
            Word::DynamicOffset { set, offset, index } => {
                let record = bytes(self.set(set), RECORDS);
                (self.dynamic(set, index).0 as u32).wrapping_sub(word_at(record, offset))
            }
        }
    }
}

impl Encoder {
    /// Uploads sets that are pushed and changed.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn push_sets(
        &mut self,
        point: &mut BindPoint,
        addresses: &mut PushedSets,
    ) -> Result<()> {
        let changed = std::mem::take(&mut point.changed);
        for (k, set) in point.sets.iter().enumerate().filter(|s| changed >> s.0 & 1 != 0) {
            if !set.pushed[RECORDS].is_empty() {
                addresses.0[k][RECORDS] = self.upload_state(&set.pushed[RECORDS], 64)?.address;
            }
            if !set.pushed[STATES].is_empty() {
                addresses.0[k][STATES] = self.upload_surfaces(&set.pushed[STATES])?;
            }
        }
        Ok(())
    }

    /// Addresses of the surface states of a program's binding table.
    fn surface_states(
        &mut self,
        v: &Variant,
        inputs: &Inputs<'_>,
        states: &mut Vec<u64>,
    ) -> Result<()> {
        let null = self.device.null_surface.address;
        states.clear();
        for &entry in &v.places.entries {
            states.push(match entry {
                Entry::Set { set, offset } => match inputs.address(set, STATES) {
                    0 => null,
                    at => at + u64::from(offset),
                },
                Entry::Dynamic { set, index, uniform } => {
                    let (address, size) = inputs.dynamic(set, index);
                    let state = buffer_state(self.device.generation(), address, size, uniform);
                    self.upload_surfaces(&state)?
                }
                Entry::Target(k) => {
                    inputs.targets.get(usize::from(k)).copied().unwrap_or(inputs.nothing)
                }
                Entry::Data => v.data_state(),
                Entry::NoTarget => inputs.nothing,
                Entry::Null => null,
            });
        }
        Ok(())
    }

    /// Makes the binding table of a program, unless it is the one that there is.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn binding_table(
        &mut self,
        v: &Variant,
        inputs: &Inputs<'_>,
        to: &mut Tables,
    ) -> Result<()> {
        let mut states = std::mem::take(&mut self.states);
        let found = self.surface_states(v, inputs, &mut states);
        let block = self.tables.last().map_or(0, Mapped::address);
        if found.is_ok() && (to.states != states || to.block != block) {
            to.table = self.table(&states)?;
            to.block = self.tables.last().map_or(0, Mapped::address);
            std::mem::swap(&mut to.states, &mut states);
        }
        self.states = states;
        found
    }

    /// Makes the sampler table of a program, unless it is the one that there is.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn sampler_table(
        &mut self,
        v: &Variant,
        inputs: &Inputs<'_>,
        to: &mut Tables,
    ) -> Result<()> {
        use tepui_intel_compiler::set_memory::sampled;
        use tepui_intel_packets::sampler::SamplerState;
        if v.places.samplers.is_empty() {
            to.sampler_table = 0;
            return Ok(());
        }
        let mut handles = std::mem::take(&mut self.samplers);
        handles.clear();
        handles.extend(v.places.samplers.iter().map(|&SamplerPlace { set, offset }| {
            let record = bytes(inputs.set(set), RECORDS);
            word_at(record, offset.saturating_add(sampled::SAMPLER))
        }));
        if to.samplers != handles {
            let mut table = Vec::with_capacity(SamplerState::SIZE_BYTES * handles.len());
            for &handle in &handles {
                match self.device.sampler_bytes(space::DYNAMIC + u64::from(handle)) {
                    Some(state) => table.extend_from_slice(&state),
                    // A sampler that was not written is not used.
                    None => table.extend(SamplerState::default().pack().map_err(packet)?),
                }
            }
            to.sampler_table = (self.upload_state(&table, 32)?.address - space::DYNAMIC) as u32;
            std::mem::swap(&mut to.samplers, &mut handles);
        }
        self.samplers = handles;
        Ok(())
    }
}
