//! Commands whose form on Gen12 differs from Gen9: each is converted to the form that the pipeline reads.

use tepui_intel_packets::bindings::{
    State3dConstantBody, State3dConstantDs, State3dConstantGs, State3dConstantHs,
    State3dConstantPs, State3dConstantVs,
};
use tepui_intel_packets::gen12::{
    Primitive3dExtended, State3dBindingTablePoolAlloc, State3dConstantAll, State3dConstantAllData,
    State3dDepthBounds, State3dSoBufferIndex0,
};
use tepui_intel_packets::output::State3dWmDepthStencil;
use tepui_intel_packets::stages::State3dSoBuffer;
use tepui_intel_packets::{Packet, Problem};

use super::{Command, Continuation, Stream, UNIT};
use crate::job::JobFault;
use crate::memory::address;
use crate::registers::DRAW_EXTENDED;

fn invalid(problem: Problem) -> JobFault {
    JobFault::new(UNIT, problem.to_string())
}

impl Stream<'_> {
    /// A draw with three additional parameters; those of an indirect draw are in registers.
    pub(super) fn extended_draw(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let draw: Primitive3dExtended = command.unpack()?;
        if !draw.indirect_parameter_enable {
            let numbers =
                [draw.extended_parameter_0, draw.extended_parameter_1, draw.extended_parameter_2];
            for (register, number) in (DRAW_EXTENDED..).step_by(4).zip(numbers) {
                self.set_register(register, number)?;
            }
        }
        self.draw(&draw.into())
    }

    /// The base of binding tables, instead of that of surface states.
    pub(super) fn table_pool(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let pool: State3dBindingTablePoolAlloc = command.unpack()?;
        let base = address(pool.binding_table_pool_base_address);
        self.context.bases.table_pool = pool.binding_table_pool_enable.then_some(base);
        self.latch(command)
    }

    /// Push constants of several stages: sets the same state as each stage's own command.
    pub(super) fn constants_of_stages(
        &mut self,
        command: &Command,
    ) -> Result<Continuation, JobFault> {
        let set: State3dConstantAll = command.unpack()?;
        let mut ranges = command.bytes[State3dConstantAll::SIZE_BYTES..].as_chunks::<8>().0.iter();
        let mut body = State3dConstantBody::default();
        for slot in (0..4).filter(|slot| set.pointer_buffer_mask >> slot & 1 != 0) {
            let Some(bytes) = ranges.next() else {
                let what = "3DSTATE_CONSTANT_ALL ends before its last range";
                return Err(JobFault::new(UNIT, what));
            };
            let range = State3dConstantAllData::unpack(bytes).map_err(invalid)?;
            let (address, length) =
                (range.pointer_to_constant_buffer, range.constant_buffer_read_length);
            match slot {
                0 => (body.buffer_0, body.read_length_0) = (address, length),
                1 => (body.buffer_1, body.read_length_1) = (address, length),
                2 => (body.buffer_2, body.read_length_2) = (address, length),
                _ => (body.buffer_3, body.read_length_3) = (address, length),
            }
        }
        macro_rules! keep {
            ($enabled:expr, $command:ident) => {
                if $enabled {
                    let command = $command { constant_body: body, ..$command::default() };
                    let bytes = command.pack().map_err(invalid)?;
                    self.context.latched.insert($command::INFO.name, bytes.to_vec());
                }
            };
        }
        keep!(set.vertex_shader_update_enable, State3dConstantVs);
        keep!(set.hull_shader_update_enable, State3dConstantHs);
        keep!(set.domain_shader_update_enable, State3dConstantDs);
        keep!(set.geometry_shader_update_enable, State3dConstantGs);
        keep!(set.pixel_shader_update_enable, State3dConstantPs);
        Ok(Continuation::Continue)
    }

    /// The test of depth bounds: whether it is enabled and its range are set only if their disable bits are clear.
    pub(super) fn depth_bounds(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let mut set: State3dDepthBounds = command.unpack()?;
        if let Some(before) = self.context.latched.get(State3dDepthBounds::INFO.name) {
            let before = State3dDepthBounds::unpack(before).map_err(invalid)?;
            if set.depth_bounds_test_enable_modify_disable {
                set.depth_bounds_test_enable = before.depth_bounds_test_enable;
            }
            if set.depth_bounds_test_value_modify_disable {
                set.depth_bounds_test_min_value = before.depth_bounds_test_min_value;
                set.depth_bounds_test_max_value = before.depth_bounds_test_max_value;
            }
        }
        let bytes = set.pack().map_err(invalid)?.to_vec();
        self.context.latched.insert(State3dDepthBounds::INFO.name, bytes);
        Ok(Continuation::Continue)
    }

    /// The tests of depth and stencil: each group of fields is set only if its disable bit is clear.
    pub(super) fn depth_stencil(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let revision = self.context.revision();
        let mut set: State3dWmDepthStencil = command.unpack()?;
        if let Some(before) = self.context.latched.get(State3dWmDepthStencil::INFO.name) {
            let before = State3dWmDepthStencil::unpack_as(before, revision).map_err(invalid)?;
            macro_rules! keep {
                ($disabled:ident: $($field:ident)+) => {
                    if set.$disabled {
                        $(set.$field = before.$field;)+
                    }
                };
            }
            keep!(depth_state_modify_disable:
                depth_test_enable depth_buffer_write_enable depth_test_function);
            keep!(stencil_state_modify_disable:
                stencil_test_enable stencil_buffer_write_enable double_sided_stencil_enable
                stencil_test_function stencil_fail_op
                stencil_pass_depth_fail_op stencil_pass_depth_pass_op
                backface_stencil_test_function backface_stencil_fail_op
                backface_stencil_pass_depth_fail_op backface_stencil_pass_depth_pass_op);
            keep!(stencil_test_mask_modify_disable: stencil_test_mask backface_stencil_test_mask);
            keep!(stencil_write_mask_modify_disable: stencil_write_mask backface_stencil_write_mask);
            keep!(stencil_reference_value_modify_disable:
                stencil_reference_value backface_stencil_reference_value);
        }
        let mut bytes = vec![0; State3dWmDepthStencil::SIZE_BYTES];
        set.pack_into_as(&mut bytes, revision).map_err(invalid)?;
        self.context.latched.insert(State3dWmDepthStencil::INFO.name, bytes);
        Ok(Continuation::Continue)
    }

    /// A stream output buffer, which has a separate command for each index.
    pub(super) fn stream_buffer_index(
        &mut self,
        command: &Command,
        index: u32,
    ) -> Result<Continuation, JobFault> {
        // The commands differ only by their opcode.
        let mut bytes = command.bytes.to_vec();
        bytes[2] = State3dSoBufferIndex0::INFO
            .fixed
            .iter()
            .fold(0, |byte, fixed| if fixed.piece.start == 16 { fixed.value as u8 } else { byte });
        let set = State3dSoBufferIndex0::unpack(&bytes).map_err(invalid)?;
        let buffer = State3dSoBuffer {
            stream_output_buffer_offset_address_enable: set
                .stream_output_buffer_offset_address_enable,
            stream_offset_write_enable: set.stream_offset_write_enable,
            mocs: set.mocs,
            so_buffer_index: index,
            so_buffer_enable: set.so_buffer_enable,
            surface_base_address: set.surface_base_address,
            surface_size: set.surface_size,
            stream_output_buffer_offset_address: set.stream_output_buffer_offset_address,
            stream_offset: set.stream_offset,
        };
        let bytes = buffer.pack().map_err(invalid)?.to_vec();
        self.set_stream_buffer(&buffer, bytes)
    }
}
