//! Packets that draws fill in: they are packed once for a device, with zeros where each draw has its own words.

use bytemuck::Zeroable;
use tepui_intel_chips::Generation;
use tepui_intel_packets::bindings::{
    State3dBindingTablePointersDs, State3dBindingTablePointersGs, State3dBindingTablePointersHs,
    State3dBindingTablePointersPs, State3dBindingTablePointersVs, State3dConstantDs,
    State3dConstantGs, State3dConstantHs, State3dConstantPs, State3dConstantVs,
    State3dSamplerStatePointersDs, State3dSamplerStatePointersGs, State3dSamplerStatePointersHs,
    State3dSamplerStatePointersPs, State3dSamplerStatePointersVs,
};
use tepui_intel_packets::vertex::Primitive3d;
use tepui_ir::Stage;
use tepui_vulkan::Result;
use tepui_vulkan::backend::Counts;

use crate::packets::Out;
use crate::packets::STAGES;

/// Double words of the packets of a stage: constants, the pointer to the binding table, the pointer to samplers.
const STAGE_DW: usize = 15;
/// First double word of the pointer to the binding table.
const TABLE: usize = 11;
/// First double word of the pointer to samplers.
const SAMPLERS: usize = 13;
/// Double words of a 3DPRIMITIVE.
const PRIMITIVE_DW: usize = 7;

/// Words of a stage's packets that draws fill in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pointers {
    /// Registers of constants.
    pub registers: u32,
    /// Address of the constants.
    pub constants: u64,
    /// Offset of the binding table from the surface state base.
    pub table: u32,
    /// Offset of the samplers from the dynamic state base.
    pub samplers: u32,
    /// Address of the block of binding tables: pointers take effect again after base addresses have changed.
    pub block: u64,
}

impl Pointers {
    /// Whether constants are those that were emitted, if any were.
    pub fn has_constants_of(&self, before: Option<&Pointers>) -> bool {
        let of = |p: &Pointers| (p.registers, p.constants, p.block);
        before.is_some_and(|b| of(b) == of(self))
    }
}

/// The packets.
pub struct Templates {
    stages: [[u32; STAGE_DW]; STAGES.len()],
    /// 3DPRIMITIVE without and with indices.
    primitives: [[u32; PRIMITIVE_DW]; 2],
}

impl Templates {
    /// The packets of a generation.
    ///
    /// # Errors
    /// When a packet cannot be packed.
    pub fn new(generation: Generation) -> Result<Templates> {
        let mut all = Templates { stages: Zeroable::zeroed(), primitives: Zeroable::zeroed() };
        for (to, stage) in all.stages.iter_mut().zip(STAGES) {
            let mut out = Out::new(generation);
            put_stage(stage, &mut out)?;
            fill(to, &out.bytes);
        }
        for (to, indexed) in all.primitives.iter_mut().zip([false, true]) {
            let mut out = Out::new(generation);
            // Indices are fetched one by one. source: genxml, Vertex Access Type: RANDOM
            out.put(&Primitive3d { vertex_access_type: indexed, ..Primitive3d::default() })?;
            fill(to, &out.bytes);
        }
        Ok(all)
    }

    /// A 3DPRIMITIVE whose parameters are known.
    #[inline]
    pub fn primitive(&self, c: &Counts) -> [u32; PRIMITIVE_DW] {
        let [header, kind, ..] = self.primitives[usize::from(c.indexed)];
        let base = if c.indexed { c.vertex_offset as u32 } else { 0 };
        let [count, first] = [c.count.to_le(), c.first.to_le()];
        let [instances, first_instance] = [c.instances.to_le(), c.first_instance.to_le()];
        [header, kind, count, first, instances, first_instance, base.to_le()]
    }

    /// The packets of a stage whose words differ from those that were emitted, and constants if asked for; none were emitted if
    /// `before` is `None`.
    ///
    /// Constants take effect with the pointer to the binding table. source: SKL PRM volume 2a, 3DSTATE_CONSTANT_VS
    pub fn stage(
        &self,
        k: usize,
        before: Option<Pointers>,
        now: Pointers,
        with_constants: bool,
        emit: impl FnOnce(&[u32]) -> Result<()>,
    ) -> Result<()> {
        let before = before.filter(|b| b.block == now.block);
        let is_same = |same: &dyn Fn(Pointers) -> bool| before.is_some_and(same);
        let same_constants = !with_constants && now.has_constants_of(before.as_ref());
        let same_samplers = is_same(&|b| b.samplers == now.samplers);
        let start = match same_constants {
            false => 0,
            true if is_same(&|b| b.table == now.table) => SAMPLERS,
            true => TABLE,
        };
        let end = if same_samplers { SAMPLERS } else { STAGE_DW };
        if start >= end {
            return Ok(());
        }
        let mut words = self.stages[k];
        // The last of the four buffers.
        words[2] = (now.registers << 16).to_le();
        words[9] = (now.constants as u32).to_le();
        words[10] = ((now.constants >> 32) as u32).to_le();
        words[TABLE + 1] = now.table.to_le();
        words[SAMPLERS + 1] = now.samplers.to_le();
        emit(&words[start..end])
    }
}

fn fill<const N: usize>(to: &mut [u32; N], packed: &[u8]) {
    bytemuck::bytes_of_mut(to).copy_from_slice(packed);
}

/// 3DSTATE_CONSTANT, 3DSTATE_BINDING_TABLE_POINTERS and 3DSTATE_SAMPLER_STATE_POINTERS of a stage.
fn put_stage(stage: Stage, out: &mut Out) -> Result<()> {
    match stage {
        Stage::Vertex => {
            out.put(&State3dConstantVs::default())?;
            out.put(&State3dBindingTablePointersVs::default())?;
            out.put(&State3dSamplerStatePointersVs::default())
        }
        Stage::TessControl => {
            out.put(&State3dConstantHs::default())?;
            out.put(&State3dBindingTablePointersHs::default())?;
            out.put(&State3dSamplerStatePointersHs::default())
        }
        Stage::TessEvaluation => {
            out.put(&State3dConstantDs::default())?;
            out.put(&State3dBindingTablePointersDs::default())?;
            out.put(&State3dSamplerStatePointersDs::default())
        }
        Stage::Geometry => {
            out.put(&State3dConstantGs::default())?;
            out.put(&State3dBindingTablePointersGs::default())?;
            out.put(&State3dSamplerStatePointersGs::default())
        }
        _ => {
            out.put(&State3dConstantPs::default())?;
            out.put(&State3dBindingTablePointersPs::default())?;
            out.put(&State3dSamplerStatePointersPs::default())
        }
    }
}

#[cfg(test)]
mod tests {
    use tepui_intel_packets::bindings::State3dConstantBody;

    use super::*;

    const GENERATIONS: [Generation; 2] = [Generation::Gen9, Generation::Gen12];

    #[test]
    fn primitives_are_those_that_the_declaration_packs() {
        for generation in GENERATIONS {
            let templates = Templates::new(generation).unwrap();
            for indexed in [false, true] {
                let counts = Counts {
                    count: 0x8000_0003,
                    instances: 0x1234_5678,
                    first: 0x89ab_cdef,
                    first_instance: 0xfedc_ba98,
                    vertex_offset: -5,
                    indexed,
                    ..Counts::default()
                };
                let mut out = Out::new(generation);
                out.put(&Primitive3d {
                    vertex_access_type: indexed,
                    vertex_count_per_instance: counts.count,
                    start_vertex_location: counts.first,
                    instance_count: counts.instances,
                    start_instance_location: counts.first_instance,
                    base_vertex_location: if indexed { -5 } else { 0 },
                    ..Primitive3d::default()
                })
                .unwrap();
                assert_eq!(bytemuck::bytes_of(&templates.primitive(&counts)), out.bytes);
            }
        }
    }

    #[test]
    fn stages_have_the_words_that_declarations_pack_where_they_differ() {
        let now = Pointers {
            registers: 3,
            constants: 0x2_1234_5640,
            table: 0xffe0,
            samplers: 0x8765_4320,
            block: 1,
        };
        let body = State3dConstantBody {
            read_length_3: now.registers,
            buffer_3: now.constants,
            ..State3dConstantBody::default()
        };
        for generation in GENERATIONS {
            let templates = Templates::new(generation).unwrap();
            let find = |before, with_constants| {
                let mut found = Vec::<u8>::new();
                let emit = |words: &[u32]| {
                    found.extend_from_slice(bytemuck::cast_slice(words));
                    Ok(())
                };
                templates.stage(4, before, now, with_constants, emit).unwrap();
                found
            };
            let found = |before| find(before, false);
            let mut all = Out::new(generation);
            all.put(&State3dConstantPs { constant_body: body, ..Default::default() }).unwrap();
            let constants = all.bytes.len();
            all.put(&State3dBindingTablePointersPs { pointer_to_ps_binding_table: 0xffe0 })
                .unwrap();
            let table = all.bytes.len();
            let samplers =
                State3dSamplerStatePointersPs { pointer_to_ps_sampler_state: 0x8765_4320 };
            all.put(&samplers).unwrap();
            let all = all.bytes;
            assert_eq!(found(None), all);
            assert_eq!(found(Some(Pointers { block: 2, ..now })), all);
            assert!(found(Some(now)).is_empty());
            assert_eq!(find(Some(now), true), all[..table]);
            assert_eq!(found(Some(Pointers { constants: 64, ..now })), all[..table]);
            assert_eq!(found(Some(Pointers { registers: 0, ..now })), all[..table]);
            assert_eq!(found(Some(Pointers { table: 32, ..now })), all[constants..table]);
            assert_eq!(found(Some(Pointers { samplers: 32, ..now })), all[table..]);
            let both = Pointers { table: 32, samplers: 32, ..now };
            assert_eq!(found(Some(both)), all[constants..]);
        }
    }
}
