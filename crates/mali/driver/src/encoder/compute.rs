//! Dispatches.
//!
//! RUN_COMPUTE reads its state from registers: resource tables, fast-access uniforms, the program, memory of threads, sizes and
//! counts. source: Mesa, panvk_vX_cmd_dispatch.c

use std::sync::Arc;

use tepui_mali_compiler::FauWord;
use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::{CsCondition, TaskAxis};
use tepui_mali_packets::shader::{AddressMode, ComputeSizeWorkgroup, LocalStorage, Resource};
use tepui_sysval::SystemValue;
use tepui_vulkan::backend::{Condition, Dispatch};
use tepui_vulkan::command::{BindPoint, BoundSet, MAX_PUSH, MAX_SETS};
use tepui_vulkan::{Error, Result};

use super::Encoder;
use crate::descriptor::buffer;
use crate::device::{DESCRIPTOR_ALIGN, packet};
use crate::kernel::Queue;
use crate::shader::{Dynamic, Variant};
use crate::stream::{JOBS_MASK, SCRATCH};

/// Registers of RUN_COMPUTE. source: Mesa, panvk_vX_cmd_dispatch.c (`cmd_dispatch`)
mod registers {
    pub const RESOURCES: u8 = 0;
    pub const FAU: u8 = 8;
    pub const PROGRAM: u8 = 16;
    pub const THREADS: u8 = 24;
    pub const ATTRIBUTE_OFFSET: u8 = 32;
    pub const WORKGROUP: u8 = 33;
    pub const OFFSET: u8 = 34;
    pub const COUNTS: u8 = 37;
}

/// Bytes of an entry of the table of resource tables.
const RESOURCE_B: usize = Resource::SIZE_BYTES;
/// Alignment of the table of resource tables, whose address has the count in its lower bits.
const RESOURCES_ALIGN: u64 = 64;

/// State of dispatches that is uploaded already.
#[derive(Default)]
pub struct Compute {
    /// Addresses of sets that are pushed.
    pub pushed: [u64; MAX_SETS],
    /// The table of resource tables, with their count, and the buffers with dynamic offsets that programs expect in it.
    resources: Option<(Dynamic, u64)>,
    /// Words of uniforms, and their address.
    fau: Option<(Vec<u32>, u64)>,
}

/// State of the command buffer that a dispatch takes.
pub struct Inputs<'a> {
    /// Sets.
    pub sets: &'a BindPoint,
    /// Addresses of those that are pushed.
    pub pushed: [u64; MAX_SETS],
    /// Push constants.
    pub push: &'a [u8; MAX_PUSH],
}

impl Inputs<'_> {
    /// The address and the bytes of a set; none if there is none.
    fn set(&self, set: usize) -> Option<(u64, &[u8])> {
        let bound: &BoundSet = self.sets.sets.get(set)?;
        if !bound.pushed[0].is_empty() {
            return Some((self.pushed[set], &bound.pushed[0]));
        }
        // SAFETY: the set lives while commands are recorded with it; its descriptors are not read here.
        let bytes = unsafe { bound.host[0].bytes() };
        (bound.addresses[0] != 0).then_some((bound.addresses[0], bytes))
    }
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
    /// Uploads sets that are pushed and changed.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn push_sets(&mut self, point: &mut BindPoint) -> Result<()> {
        let changed = std::mem::take(&mut point.changed);
        if changed != 0 {
            self.compute.resources = None;
        }
        for (k, set) in point.sets.iter().enumerate().filter(|s| changed >> s.0 & 1 != 0) {
            if !set.pushed[0].is_empty() {
                self.compute.pushed[k] = self.upload(&set.pushed[0], DESCRIPTOR_ALIGN)?.address;
            }
        }
        Ok(())
    }

    /// The table of resource tables: the driver's, with the buffers of dynamic offsets, and the sets.
    fn resources(&mut self, inputs: &Inputs<'_>, dynamic: &Dynamic) -> Result<u64> {
        if let Some((_, found)) = self.compute.resources.filter(|r| r.0 == *dynamic) {
            return Ok(found);
        }
        let mut driver = self.device.texel_sampler()?.to_vec();
        for (set, &count) in inputs.sets.sets.iter().zip(dynamic) {
            for k in 0..count as usize {
                let (address, size) = set.dynamic.get(k).copied().unwrap_or((0, 0));
                driver.extend_from_slice(&buffer(address, size.into()));
            }
        }
        let driver_at = self.upload(&driver, DESCRIPTOR_ALIGN)?.address;
        let mut all = vec![(driver_at, driver.len() as u64)];
        let last = (0..MAX_SETS).rev().find(|&k| inputs.set(k).is_some());
        for set in 0..last.map_or(0, |k| k + 1) {
            all.push(inputs.set(set).map_or((0, 0), |(at, bytes)| (at, bytes.len() as u64)));
        }
        let mut table = vec![0; RESOURCE_B * all.len()];
        for (to, (address, size)) in table.chunks_exact_mut(RESOURCE_B).zip(&all) {
            let entry = Resource { address: *address, contains_descriptors: true, size: *size };
            entry.pack_into(to).map_err(packet)?;
        }
        let at = self.upload(&table, RESOURCES_ALIGN)?.address | all.len() as u64;
        self.compute.resources = Some((*dynamic, at));
        Ok(at)
    }

    /// The words of a program's uniforms.
    fn uniform_words(
        &mut self,
        v: &Variant,
        inputs: &Inputs<'_>,
        dispatch: &Dispatch,
    ) -> Result<Vec<u32>> {
        let push_at = match v.fau.iter().any(|w| matches!(w, FauWord::PushAddress(_))) {
            true => self.upload(inputs.push, 16)?.address,
            false => 0,
        };
        let (base, counts) = match *dispatch {
            Dispatch::Direct(base, counts) => (base, counts),
            Dispatch::Indirect(base, _) => (base, [0; 3]),
        };
        let word = |w: &FauWord| {
            Ok(match *w {
                FauWord::System(SystemValue::Push { offset }, _) => {
                    let bytes = inputs.push.get(offset as usize..).and_then(|b| b.first_chunk());
                    bytes.map_or(0, |b| u32::from_le_bytes(*b))
                }
                FauWord::System(SystemValue::NumWorkgroups { axis }, _) => {
                    counts[usize::from(axis) % 3]
                }
                FauWord::System(SystemValue::BaseWorkgroup { axis }, _) => {
                    base[usize::from(axis) % 3]
                }
                FauWord::Constant(value) => value,
                FauWord::PushAddress(half) => (push_at >> (32 * u32::from(half))) as u32,
                FauWord::DataAddress(half) => (v.data_address() >> (32 * u32::from(half))) as u32,
                FauWord::Unused => 0,
                FauWord::System(value, _) => {
                    return Err(Error::unsupported(format!("{value:?} in dispatches on Mali")));
                }
                FauWord::Buffer { .. } | FauWord::Viewport { .. } | FauWord::TileConversion(_) => {
                    return Err(Error::unsupported(format!("{w:?} in dispatches on Mali")));
                }
            })
        };
        let mut words = v.fau.iter().map(word).collect::<Result<Vec<u32>>>()?;
        words.resize(words.len().next_multiple_of(2), 0);
        Ok(words)
    }

    /// The address of uniforms, with the number of pairs.
    fn fau(&mut self, words: Vec<u32>, is_written: bool) -> Result<u64> {
        if words.is_empty() {
            return Ok(0);
        }
        let pairs = (words.len() as u64 / 2) << 56;
        if let Some((_, at)) = self.compute.fau.as_ref().filter(|f| !is_written && f.0 == words) {
            return Ok(at | pairs);
        }
        let at = self.upload(bytemuck::cast_slice(&words), 16)?.address;
        // Words that the queue writes are those of one dispatch.
        self.compute.fau = (!is_written).then_some((words, at));
        Ok(at | pairs)
    }

    /// The descriptor of the memory of threads and workgroups.
    fn local_storage(&mut self, v: &Variant, groups: Option<[u32; 3]>) -> Result<u64> {
        let mut storage = LocalStorage::default();
        if let Some(threads) = self.device.thread_memory(v.stats.scratch)? {
            storage.tls_size = threads.log2_bytes - 4;
            storage.tls_address_mode = AddressMode::Packed;
            storage.tls_base_pointer = threads.memory.address >> 8;
            self.threads.push(threads);
        }
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
        let mut bytes = [0; LocalStorage::SIZE_BYTES];
        storage.pack_into(&mut bytes).map_err(packet)?;
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
        // The application's tables come back with its next dispatch.
        self.compute.resources = None;
        let sets = BindPoint::default();
        let inputs = Inputs { sets: &sets, pushed: [0; MAX_SETS], push };
        self.dispatch_program(v, &inputs, dispatch, condition)?;
        self.compute.resources = None;
        Ok(())
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
        let (base, counts) = match *dispatch {
            Dispatch::Direct(_, counts) if counts.contains(&0) => return Ok(()),
            Dispatch::Direct(base, counts) => (base, Some(counts)),
            Dispatch::Indirect(base, _) => (base, None),
        };
        let written: Vec<(usize, u8)> = v
            .fau
            .iter()
            .enumerate()
            .filter_map(|(k, w)| match w {
                FauWord::System(SystemValue::NumWorkgroups { axis }, _) => Some((k, *axis)),
                _ => None,
            })
            .filter(|_| counts.is_none())
            .collect();
        let resources = self.resources(inputs, &v.dynamic)?;
        let words = self.uniform_words(v, inputs, dispatch)?;
        let fau = self.fau(words, !written.is_empty())?;
        let storage = self.local_storage(v, counts)?;
        self.keep(v);
        let workgroup = ComputeSizeWorkgroup {
            workgroup_size_x: v.workgroup[0],
            workgroup_size_y: v.workgroup[1],
            workgroup_size_z: v.workgroup[2],
            allow_merging_workgroups: false,
        };
        let mut size = [0; ComputeSizeWorkgroup::SIZE_BYTES];
        workgroup.pack_into(&mut size).map_err(packet)?;
        let size = size.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let threads = self.device.threads_of_core() >> u32::from(v.stats.is_half());
        let (axis, increment) = match counts {
            Some(_) => task(v.workgroup, threads),
            None => (TaskAxis::X, (threads / v.workgroup.iter().product::<u32>().max(1)).max(1)),
        };
        let stream = self.queues.stream(Queue::Compute);
        stream.move64(registers::RESOURCES, resources);
        stream.move64(registers::FAU, fau);
        stream.move64(registers::PROGRAM, v.descriptor());
        stream.move64(registers::THREADS, storage);
        stream.move32(registers::ATTRIBUTE_OFFSET, 0);
        stream.move32(registers::WORKGROUP, size);
        for (k, first) in (0u8..).zip(base) {
            stream.move32(registers::OFFSET + k, first * v.workgroup[usize::from(k)]);
        }
        match (counts, dispatch) {
            (Some(counts), _) => {
                for (k, count) in (0u8..).zip(counts) {
                    stream.move32(registers::COUNTS + k, count);
                }
            }
            (None, Dispatch::Indirect(_, address)) => {
                stream.move64(SCRATCH, *address);
                stream.load(registers::COUNTS, 3, SCRATCH, 0);
            }
            (None, Dispatch::Direct(..)) => {}
        }
        if !written.is_empty() {
            // A dispatch of an earlier submission may still read them.
            stream.wait(JOBS_MASK);
            stream.move64(SCRATCH + 2, fau & ((1 << 48) - 1));
            for (k, axis) in written {
                stream.store(registers::COUNTS + axis % 3, 1, SCRATCH + 2, 4 * k as i16);
            }
        }
        stream.settle();
        let stream = self.queues.next_job(Queue::Compute);
        let skip = condition.map(|c| {
            stream.move64(SCRATCH, c.address);
            stream.load(SCRATCH + 2, 1, SCRATCH, 0);
            let skips = if c.inverted { CsCondition::Nequal } else { CsCondition::Equal };
            stream.skip_if(skips, SCRATCH + 2)
        });
        stream.run_compute(axis, increment);
        if let Some(skip) = skip {
            stream.land(skip);
        }
        Ok(())
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
