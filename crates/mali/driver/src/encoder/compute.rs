//! Dispatches: the inputs of a launch, which a command stream or a job executes.
//!
//! source: Mesa, panvk_vX_cmd_dispatch.c

use std::sync::Arc;

use tepui_mali_packets::cs::TaskAxis;
use tepui_sysval::Arguments;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch};
use tepui_vulkan::command::{BindPoint, MAX_PUSH, MAX_SETS};

use super::Encoder;
use super::inputs::{Inputs, Uniforms, Values};
use crate::encoder::uploaded::Stage;
use crate::packed::{DESCRIPTOR_ALIGN, packet};
use crate::shader::{Entry, Variant};

/// A dispatch of a program, without its numbers of workgroups.
pub struct Launch {
    /// Table of resource tables, and its count.
    pub resources: u64,
    /// Fast-access uniforms.
    pub uniforms: Uniforms,
    /// The program descriptor.
    pub program: u64,
    /// The descriptor of local memory.
    pub storage: u64,
    /// Invocations of a workgroup.
    pub workgroup: [u32; 3],
    /// Axis along which tasks grow.
    pub axis: TaskAxis,
    /// Workgroups of a task.
    pub increment: u32,
}

/// The axis along which tasks grow, and the workgroups of a task, so that a task has as many threads as a core holds.
/// source: Mesa, panvk_vX_cmd_dispatch.c (`calculate_task_axis_and_increment`)
fn task(workgroup: [u32; 3], threads_of_core: u32) -> (TaskAxis, u32) {
    let mut threads: u32 = workgroup.iter().product();
    for (k, axis) in [TaskAxis::X, TaskAxis::Y, TaskAxis::Z].into_iter().enumerate() {
        if threads.saturating_mul(workgroup[k]) >= threads_of_core {
            return (axis, (threads_of_core / threads.max(1)).max(1));
        }
        threads *= workgroup[k];
    }
    (TaskAxis::Z, workgroup[2])
}

impl Encoder {
    /// The descriptor of the memory of threads and workgroups.
    fn local_storage(&mut self, v: &Variant, groups: Option<[u32; 3]>) -> Result<u64> {
        let mut storage = self.thread_storage(v.stats.scratch)?;
        if v.shared_bytes > 0 {
            // As many workgroups as a core holds, or as there are. source: Mesa, pan_desc.c, pan_encoder.h (`pan_wls_instances`)
            let bytes = v.shared_bytes.next_power_of_two().max(128);
            let threads: u32 = v.workgroup.iter().product();
            let on_core = self.device.threads_of_core().div_ceil(threads.max(1));
            let all = groups.and_then(|[x, y, z]| x.checked_mul(y)?.checked_mul(z));
            let instances = all.map_or(on_core, |n| n.min(on_core)).max(1).next_power_of_two();
            let size =
                u64::from(bytes) * u64::from(instances) * u64::from(self.device.core_range());
            storage.wls_instances = instances;
            storage.wls_size_scale = bytes.trailing_zeros() + 1;
            storage.wls_base_pointer = self.reserve(size, 4096)?.address;
        }
        let bytes = storage.pack().map_err(packet)?;
        Ok(self.upload(&bytes, DESCRIPTOR_ALIGN)?.address)
    }

    /// Dispatches a program without descriptor sets.
    ///
    /// # Errors
    /// As [`Encoder::dispatch_program`].
    pub fn dispatch_code(
        &mut self,
        v: &Arc<Variant>,
        push: &[u8; MAX_PUSH],
        dispatch: &Dispatch,
        condition: Option<Condition>,
    ) -> Result<()> {
        let sets = BindPoint::default();
        let inputs = Inputs { sets: &sets, pushed: [0; MAX_SETS], push };
        self.dispatch_program(v, &inputs, dispatch, condition)
    }

    /// Dispatches a program.
    ///
    /// # Errors
    /// When there is no memory, or the program reads what the driver does not supply.
    pub(super) fn dispatch_program(
        &mut self,
        v: &Arc<Variant>,
        inputs: &Inputs<'_>,
        dispatch: &Dispatch,
        condition: Option<Condition>,
    ) -> Result<()> {
        self.dispatch_with(v, inputs, Values::default(), None, dispatch, condition)
    }

    /// Dispatches a program with values, and with attributes of vertices at an address with their bytes.
    ///
    /// # Errors
    /// As [`Encoder::dispatch_program`].
    pub(super) fn dispatch_with(
        &mut self,
        v: &Arc<Variant>,
        inputs: &Inputs<'_>,
        values: Values<'_>,
        attributes: Option<(u64, u64)>,
        dispatch: &Dispatch,
        condition: Option<Condition>,
    ) -> Result<()> {
        let (base, counts) = match *dispatch {
            Dispatch::Direct(_, counts) if counts.contains(&0) => return Ok(()),
            Dispatch::Direct(base, counts) => (base, Some(counts)),
            Dispatch::Indirect(base, _) => (base, None),
        };
        let resources = self.resources(Stage::Compute, inputs, v, attributes)?;
        let parameters = match *dispatch {
            Dispatch::Indirect(_, at) => Some((at, Arguments::Dispatch)),
            Dispatch::Direct(..) => None,
        };
        let groups = counts.unwrap_or([0; 3]);
        let values = Values { base_group: base, groups, parameters, ..values };
        let uniforms = self.uniforms(Stage::Compute, v, inputs, &values)?;
        let storage = self.local_storage(v, counts)?;
        self.keep(v);
        let threads = self.device.threads_of_core() >> u32::from(v.stats.is_half());
        let (axis, increment) = match counts {
            Some(_) => task(v.workgroup, threads),
            None => (TaskAxis::X, (threads / v.workgroup.iter().product::<u32>().max(1)).max(1)),
        };
        let (workgroup, program) = (v.workgroup, v.descriptor(Entry::Only));
        let launch = Launch { resources, uniforms, program, storage, workgroup, axis, increment };
        match self.jobs {
            Some(_) => self.dispatch_job(&launch, dispatch, condition),
            None => self.dispatch_in_stream(&launch, dispatch, condition),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// source: worked out by hand from Mesa's `calculate_task_axis_and_increment`
    #[test]
    fn tasks_fill_a_core() {
        assert_eq!(task([64, 1, 1], 2048), (TaskAxis::X, 32));
        assert_eq!(task([1024, 1, 1], 1024), (TaskAxis::X, 1));
        // 64 threads, times 8 is 512, times 8 again is more than a core holds.
        assert_eq!(task([8, 8, 1], 2048), (TaskAxis::Y, 4));
        assert_eq!(task([1, 1, 1], 2048), (TaskAxis::Z, 1));
    }
}
