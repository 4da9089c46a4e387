//! Dispatches: compute jobs.

use tepui_mali_packets::job::{ComputePayload, JobHeader, JobType};
use tepui_mali_packets::shader::ShaderEnvironment;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch};

use super::bytes;
use super::patch::Parameters;
use crate::encoder::Encoder;
use crate::encoder::compute::Launch;
use crate::meta::Patched;
use crate::packed::packet;

fn payload(l: &Launch, counts: [u32; 3]) -> ComputePayload {
    ComputePayload {
        workgroup_size_x: l.workgroup[0],
        workgroup_size_y: l.workgroup[1],
        workgroup_size_z: l.workgroup[2],
        allow_merging_workgroups: false,
        task_increment: l.increment,
        task_axis: l.axis,
        workgroup_count_x: counts[0],
        workgroup_count_y: counts[1],
        workgroup_count_z: counts[2],
        // Programs add the base of a dispatch themselves.
        offset_x: 0,
        offset_y: 0,
        offset_z: 0,
        compute: ShaderEnvironment {
            attribute_offset: 0,
            fau_count: l.uniforms.pairs(),
            resources: l.resources,
            shader: l.program,
            thread_storage: l.storage,
            fau: l.uniforms.address(),
        },
    }
}

impl Encoder {
    /// Adds the jobs of a dispatch.
    ///
    /// # Errors
    /// When there is no memory.
    pub(in crate::encoder) fn dispatch_job(
        &mut self,
        launch: &Launch,
        dispatch: &Dispatch,
        condition: Option<Condition>,
    ) -> Result<()> {
        let header = JobHeader { job_type: JobType::Compute, ..JobHeader::default() };
        let (counts, arguments) = match (*dispatch, condition) {
            (Dispatch::Direct(_, counts), None) => (counts, None),
            (Dispatch::Direct(_, counts), Some(_)) => {
                (counts, Some(self.upload(bytemuck::cast_slice(&counts), 4)?.address))
            }
            (Dispatch::Indirect(_, address), _) => ([1; 3], Some(address)),
        };
        let bytes = bytes(&header, &payload(launch, counts)).map_err(packet)?;
        let parameters = arguments.map(|arguments| Parameters {
            arguments,
            condition,
            ..Parameters::new(Patched::Dispatch)
        });
        self.add_patched(header, bytes, &[&launch.uniforms], parameters.as_ref())?;
        Ok(())
    }
}
