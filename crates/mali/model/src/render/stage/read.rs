//! Reading the descriptors of stages.

use std::sync::Arc;

use tepui_mali_isa::Special;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{LocalStorage, ShaderProgram, ShaderStage};
use tepui_softgpu::{AddressSpace, UnitMemory};

use super::Stage;
use crate::environment;
use crate::gpu::Gpu;
use crate::job::{JobFault, Unit};
use crate::render::{midgard, renderer_state};
use crate::warp::addresses::StageAddresses;
use crate::warp::uniforms::Uniforms;

impl Stage {
    /// Reads the descriptors of a shader of one of some stages; `None` if there is no program.
    pub fn read(
        gpu: &Gpu,
        vm: &AddressSpace,
        addresses: &StageAddresses,
        stages: &[ShaderStage],
    ) -> Result<Option<Stage>, JobFault> {
        let read = match &addresses.bifrost {
            Some(own) if gpu.chip().arch.0 < 6 => midgard::stage(gpu, vm, addresses, own)?,
            Some(own) => renderer_state::stage(gpu, vm, addresses, own, stages[0])?,
            None => Stage::read_valhall(gpu, vm, addresses, stages)?,
        };
        if let (Some(order), Some(stage)) = (&gpu.order, &read) {
            environment::hide_threads(order, &stage.storage);
        }
        Ok(read)
    }

    fn read_valhall(
        gpu: &Gpu,
        vm: &AddressSpace,
        addresses: &StageAddresses,
        stages: &[ShaderStage],
    ) -> Result<Option<Stage>, JobFault> {
        if addresses.program == 0 {
            return Ok(None);
        }
        let unit = Unit::Dispatch;
        let mut memory = UnitMemory::new(vm);
        let memory_fault = |fault| JobFault::memory(unit, fault);
        let bytes = memory.read_array::<{ ShaderProgram::SIZE_BYTES }>(addresses.program);
        let program = ShaderProgram::unpack(&bytes.map_err(memory_fault)?)
            .map_err(|problem| JobFault::new(unit, format!("shader program: {problem}")))?;
        if !stages.contains(&program.stage) {
            let what =
                format!("a {} shader where a {} shader is expected", program.stage, stages[0]);
            return Err(JobFault::new(unit, what));
        }
        let storage = match addresses.storage {
            0 => LocalStorage::default(),
            at => {
                let bytes = memory.read_array::<{ LocalStorage::SIZE_BYTES }>(at);
                LocalStorage::unpack(&bytes.map_err(memory_fault)?)
                    .map_err(|problem| JobFault::new(unit, format!("local storage: {problem}")))?
            }
        };
        let words = environment::uniform_words(&mut memory, addresses.uniforms)?;
        let code = gpu.program(&mut memory, program.binary);
        let mut uniforms = Uniforms::new(&words, &code.rows);
        uniforms.set(Special::ResourceTablePointer, addresses.resources);
        Ok(Some(Stage {
            rows: Arc::new(code.rows.clone()),
            program: code,
            uniforms,
            storage,
            resources: addresses.resources,
            attribute_offset: addresses.attribute_offset,
            tables: None,
            prologue: Vec::new(),
            preload: program.preload as u16,
            registers: None,
        }))
    }
}
