//! Inputs of programs that the driver supplies: resource tables and fast-access uniforms.

use tepui_mali_compiler::FauWord;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::Resource;
use tepui_sysval::{Arguments, LaunchWords, SystemValue};
use tepui_vulkan::command::{BindPoint, BoundSet, MAX_PUSH, MAX_SETS};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Error, Result};
use tepui_vulkan_expand::VertexValues;

use super::Encoder;
use super::uploaded::{Copied, Kind, Stage};
use crate::descriptor::buffer;
use crate::graphics::{raster, vertex};
use crate::packed::{DESCRIPTOR_ALIGN, packet};
use crate::pushed::{BufferAt, WordCopy};
use crate::shader::Variant;
use crate::tables;

/// Bytes of an entry of the table of resource tables.
const RESOURCE_B: usize = Resource::SIZE_BYTES;
/// Alignment of the table of resource tables, whose address has the count in its lower bits.
const RESOURCES_ALIGN: u64 = 64;
/// Alignment of fast-access uniforms.
const FAU_ALIGN: u64 = 16;

/// Sets and push constants.
pub struct Inputs<'a> {
    /// Sets.
    pub sets: &'a BindPoint,
    /// Addresses of those that are pushed.
    pub pushed: [u64; MAX_SETS],
    /// Push constants.
    pub push: &'a [u8; MAX_PUSH],
}

impl Inputs<'_> {
    /// Address and bytes of a buffer.
    fn buffer(&self, at: BufferAt) -> Option<(u64, u32)> {
        let set = self.sets.sets.get(at.set)?;
        let memory = match &set.pushed[0] {
            // SAFETY: the set lives while commands are recorded with it, and what is not updated after it was bound is not written.
            own if own.is_empty() => unsafe { set.host[0].bytes() },
            own => own,
        };
        at.find(memory, &set.dynamic)
    }

    /// The address and the bytes of a set; none if there is none.
    fn set(&self, set: usize) -> Option<(u64, u64)> {
        let bound: &BoundSet = self.sets.sets.get(set)?;
        if !bound.pushed[0].is_empty() {
            return Some((self.pushed[set], bound.pushed[0].len() as u64));
        }
        (bound.addresses[0] != 0).then_some((bound.addresses[0], u64::from(bound.sizes[0])))
    }
}

/// Fast-access uniforms of a program.
#[derive(Clone, Debug, Default)]
pub struct Uniforms {
    /// Their address, with the number of pairs in the upper byte; 0 for none.
    pub pointer: u64,
    /// Words that only memory has. The GPU copies them before the program runs.
    pub copies: Vec<WordCopy>,
}

impl Uniforms {
    /// Their address.
    pub fn address(&self) -> u64 {
        self.pointer & ((1 << 56) - 1)
    }

    /// The number of pairs.
    pub fn pairs(&self) -> u32 {
        (self.pointer >> 56) as u32
    }
}

/// Values of a draw.
#[derive(Clone, Copy)]
pub struct DrawValues<'a> {
    /// State.
    pub state: &'a GraphicsState,
    /// Number that is added to vertex numbers, first instance, and number of the draw. Those of indirect draws are stored later.
    pub counts: [u32; 3],
    /// The view that is drawn.
    pub view: u32,
    /// The viewport of which primitives are drawn.
    pub viewport: usize,
    /// Conversions from the formats of the render targets, for reads of the tile buffer.
    pub tile_conversions: [u32; tepui_vulkan::state::MAX_COLOURS],
}

/// Values of a draw or dispatch.
#[derive(Clone, Copy, Default)]
pub struct Values<'a> {
    /// First workgroup.
    pub base_group: [u32; 3],
    /// Workgroups.
    pub groups: [u32; 3],
    /// The draw.
    pub draw: Option<DrawValues<'a>>,
    /// Words of the driver's own programs, and of stages that are expanded.
    pub words: LaunchWords<'a>,
    /// Values of a vertex shader that runs as a compute program.
    pub vertex: Option<VertexValues>,
    /// State of the draw that it is of.
    pub vertex_state: Option<&'a GraphicsState>,
    /// View of a stage that is expanded.
    pub view: u32,
    /// Parameters of an indirect command: their address and kind.
    pub parameters: Option<(u64, Arguments)>,
}

impl Values<'_> {
    /// State of the draw.
    fn state(&self) -> Option<&GraphicsState> {
        self.vertex_state.or(self.draw.as_ref().map(|d| d.state))
    }

    /// Address of a word that only memory has when the command is recorded.
    fn address(&self, w: &FauWord) -> Option<u64> {
        let FauWord::System(value, half) = *w else { return None };
        if let SystemValue::Driver { offset } = value {
            return self.words.address(offset);
        }
        if let Some(v) = &self.vertex {
            return Values::in_memory(v, value, half);
        }
        let (at, kind) = self.parameters?;
        value.in_arguments(kind).map(|offset| at + u64::from(offset))
    }

    /// Copies of the words that only memory has to a program's uniforms; whether all are words of uniform buffers.
    fn copies(&self, v: &Variant, inputs: &Inputs<'_>) -> (Vec<WordCopy>, bool) {
        let word = |(to, w)| Some(WordCopy { to, from: self.address(w)?, count: 1 });
        let mut all: Vec<WordCopy> = v.fau.iter().enumerate().filter_map(word).collect();
        let only_buffers = all.is_empty();
        all.extend(v.pushed.iter().filter_map(|w| w.copy(inputs.buffer(w.buffer)?)));
        (all, only_buffers)
    }
}

fn half(address: u64, half: u8) -> u32 {
    (address >> (32 * u32::from(half))) as u32
}

/// A word of a program's uniforms; `push_at` is the address of the push constants in memory.
fn word(
    values: &Values<'_>,
    push: &[u8; MAX_PUSH],
    push_at: u64,
    v: &Variant,
    w: &FauWord,
) -> Result<u32> {
    use SystemValue as S;
    let FauWord::System(system, part) = *w else {
        return Ok(match *w {
            FauWord::Constant(value) => value,
            FauWord::PushAddress(part) => half(push_at, part),
            FauWord::DataAddress(part) => half(v.data_address(), part),
            // Words of buffers are copied later, addresses are written when all words are there.
            FauWord::Unused | FauWord::Buffer { .. } | FauWord::Address { .. } => 0,
            FauWord::Viewport { axis, offset } if let Some(draw) = &values.draw => {
                raster::viewport(draw.state, draw.viewport, axis)[usize::from(offset)].to_bits()
            }
            FauWord::ViewportIndex if let Some(draw) = &values.draw => draw.viewport as u32,
            FauWord::Instances { location, factor } if let Some(state) = values.state() => {
                vertex::instance_word(state, location, factor)
            }
            FauWord::OpaqueAttributes if let Some(state) = values.state() => {
                vertex::opaque_attributes(state)
            }
            FauWord::TileConversion(target) if let Some(draw) = &values.draw => {
                draw.tile_conversions.get(usize::from(target)).copied().unwrap_or(0)
            }
            _ => return Err(Error::unsupported(format!("{w:?} in programs on Mali"))),
        });
    };
    if values.address(w).is_some() {
        // It is copied later ([`Uniforms::copies`]).
        return Ok(0);
    }
    if let Some(value) = values.vertex.and_then(|v| Values::of_vertex(&v, system, part)) {
        return Ok(value);
    }
    Ok(match (system, &values.draw) {
        (S::Driver { offset }, _) => values.words.value(offset),
        (S::ViewIndex, None) => values.view,
        (S::Push { offset }, _) => {
            let bytes = push.get(offset as usize..).and_then(|b| b.first_chunk());
            bytes.map_or(0, |b| u32::from_le_bytes(*b))
        }
        (S::NumWorkgroups { axis }, None) => values.groups[usize::from(axis) % 3],
        (S::BaseWorkgroup { axis }, None) => values.base_group[usize::from(axis) % 3],
        (S::BaseVertex, Some(draw)) => draw.counts[0],
        (S::BaseInstance, Some(draw)) => draw.counts[1],
        (S::DrawIndex, Some(draw)) => draw.counts[2],
        (S::ViewIndex, Some(draw)) => draw.view,
        (S::BlendConstant { component }, Some(draw)) => {
            draw.state.blend_constants[usize::from(component) % 4].to_bits()
        }
        (system, _) => return Err(Error::unsupported(format!("{system:?} in programs on Mali"))),
    })
}

impl Encoder {
    /// The address of a copy of data: that of the last of its kind, if it is the same.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn upload_once(&mut self, kind: Kind, data: &[u8], align: u64) -> Result<u64> {
        let (known, at) = &self.uploaded.data[kind.index()];
        if *at != 0 && known == data {
            return Ok(*at);
        }
        let address = self.upload(data, align)?.address;
        let (known, at) = &mut self.uploaded.data[kind.index()];
        known.clear();
        known.extend_from_slice(data);
        *at = address;
        Ok(address)
    }

    /// The table of resource tables, with their number in the low bits: the driver's, with the buffers of dynamic offsets, the sets,
    /// and attributes at an address with their bytes.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn resources(
        &mut self,
        stage: Stage,
        inputs: &Inputs<'_>,
        v: &Variant,
        attributes: Option<(u64, u64)>,
    ) -> Result<u64> {
        let mut driver = self.device.texel_sampler()?.to_vec();
        for (set, &count) in inputs.sets.sets.iter().zip(&v.dynamic) {
            for k in 0..count as usize {
                let (address, size) = set.dynamic.get(k).copied().unwrap_or((0, 0));
                driver.extend_from_slice(&buffer(address, size.into()));
            }
        }
        let driver_at = self.upload_once(Kind::Driver(stage), &driver, DESCRIPTOR_ALIGN)?;
        let mut all = vec![(driver_at, driver.len() as u64)];
        let last = (0..MAX_SETS).rev().find(|&k| inputs.set(k).is_some());
        all.extend((0..last.map_or(0, |k| k + 1)).map(|k| inputs.set(k).unwrap_or((0, 0))));
        if let Some(attributes) = attributes {
            all.resize(tables::ATTRIBUTES.into(), (0, 0));
            all.push(attributes);
        }
        let mut table = vec![0; RESOURCE_B * all.len()];
        for (to, (address, size)) in table.chunks_exact_mut(RESOURCE_B).zip(&all) {
            let entry = Resource { address: *address, contains_descriptors: true, size: *size };
            entry.pack_into(to).map_err(packet)?;
        }
        let at = self.upload_once(Kind::Resources(stage), &table, RESOURCES_ALIGN)?;
        Ok(at | all.len() as u64)
    }

    /// A program's fast-access uniforms. With parameters of indirect commands they are those of one draw or dispatch. With words of
    /// uniform buffers alone, the next ones share them up to a barrier, without which nothing may write to the buffers.
    ///
    /// # Errors
    /// When there is no memory, or the program reads what the driver does not supply.
    pub(super) fn uniforms(
        &mut self,
        stage: Stage,
        v: &Variant,
        inputs: &Inputs<'_>,
        values: &Values<'_>,
    ) -> Result<Uniforms> {
        if v.fau.is_empty() {
            return Ok(Uniforms::default());
        }
        let push = inputs.push;
        let push_at = match v.fau.iter().any(|w| matches!(w, FauWord::PushAddress(_))) {
            true => self.upload(push, FAU_ALIGN)?.address,
            false => 0,
        };
        let mut words = Vec::with_capacity(v.fau.len() + 1);
        for w in &v.fau {
            words.push(word(values, push, push_at, v, w)?);
        }
        words.resize(words.len().next_multiple_of(2), 0);
        for a in &v.addresses {
            words[a.to] = half(inputs.buffer(a.buffer).map_or(0, |b| b.0), a.half);
        }
        let pairs = (words.len() as u64 / 2) << 56;
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let (copies, only_buffers) = values.copies(v, inputs);
        if copies.is_empty() {
            let address = self.upload_once(Kind::Fau(stage), bytes, FAU_ALIGN)?;
            return Ok(Uniforms { pointer: address | pairs, copies });
        }
        let copied = &self.uploaded.copied[stage as usize];
        if let Some(last) = copied.as_ref().filter(|c| c.copies == copies && c.bytes == bytes) {
            return Ok(Uniforms { pointer: last.address | pairs, copies: Vec::new() });
        }
        let address = self.upload(bytes, FAU_ALIGN)?.address;
        // Of jobs, only draws come after each other, and so after the job that copies for the first.
        let is_shared = only_buffers && (self.jobs.is_none() || stage != Stage::Compute);
        self.uploaded.copied[stage as usize] =
            is_shared.then(|| Copied { bytes: bytes.to_vec(), copies: copies.clone(), address });
        Ok(Uniforms { pointer: address | pairs, copies })
    }
}
