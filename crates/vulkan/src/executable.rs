//! `VK_KHR_pipeline_executable_properties`: statistics and machine code of a pipeline's programs.

use vulkanalia_sys as vk;

use crate::backend::{Backend, Executable};
use crate::entry;
use crate::object::{enumerate, get};
use crate::pipeline::{Kind, Pipeline};

fn text(s: &str) -> vk::StringArray<{ vk::MAX_DESCRIPTION_SIZE }> {
    // A string's end must fit, too.
    let end = s.floor_char_boundary(vk::MAX_DESCRIPTION_SIZE - 1);
    vk::StringArray::from_bytes(&s.as_bytes()[..end])
}

fn executables<B: Backend>(pipeline: &Pipeline<B>) -> Vec<Executable> {
    match &pipeline.kind {
        Kind::Compute(s) => B::executables(s),
        Kind::Graphics(g) => g
            .vertex
            .iter()
            .chain(g.between.iter())
            .chain(&g.fragment)
            .flat_map(|s| B::executables(s))
            .collect(),
    }
}

entry! {
    /// `vkGetPipelineExecutablePropertiesKHR`.
    fn vkGetPipelineExecutablePropertiesKHR<B: Backend>(_device: vk::Device, info: *const vk::PipelineInfoKHR, count: *mut u32, out: *mut vk::PipelineExecutablePropertiesKHR) -> vk::Result {
        unsafe {
            let all = executables::<B>(get((*info).pipeline));
            Ok(enumerate(count, out, &all, |to: &mut vk::PipelineExecutablePropertiesKHR, e| {
                (to.stages, to.subgroup_size) = (e.stage, e.subgroup_size);
                (to.name, to.description) = (text(&e.name), text(&e.description));
            }))
        }
    }

    /// `vkGetPipelineExecutableStatisticsKHR`.
    fn vkGetPipelineExecutableStatisticsKHR<B: Backend>(_device: vk::Device, info: *const vk::PipelineExecutableInfoKHR, count: *mut u32, out: *mut vk::PipelineExecutableStatisticKHR) -> vk::Result {
        unsafe {
            let all = executables::<B>(get((*info).pipeline));
            let own = all.get((*info).executable_index as usize).map_or(&[][..], |e| &e.statistics);
            Ok(enumerate(count, out, own, |to: &mut vk::PipelineExecutableStatisticKHR, s| {
                (to.name, to.description) = (text(s.0), text(s.1));
                to.format = vk::PipelineExecutableStatisticFormatKHR::UINT64;
                to.value = vk::PipelineExecutableStatisticValueKHR { u64: s.2 };
            }))
        }
    }

    /// `vkGetPipelineExecutableInternalRepresentationsKHR`.
    fn vkGetPipelineExecutableInternalRepresentationsKHR<B: Backend>(_device: vk::Device, info: *const vk::PipelineExecutableInfoKHR, count: *mut u32, out: *mut vk::PipelineExecutableInternalRepresentationKHR) -> vk::Result {
        unsafe {
            let mut all = executables::<B>(get((*info).pipeline));
            let n = (*info).executable_index as usize;
            let own = all.get_mut(n).and_then(|e| e.assembly.take());
            let own = own.as_slice();
            let mut cut = false;
            let result = enumerate(count, out, own, |to: &mut vk::PipelineExecutableInternalRepresentationKHR, code: &String| {
                (to.name, to.description) = (text("Assembly"), text("Machine code, disassembled"));
                to.is_text = vk::TRUE;
                let size = code.len() + 1;
                if !to.data.is_null() && to.data_size > 0 {
                    let n = code.len().min(to.data_size - 1);
                    cut |= n < code.len();
                    let data = to.data.cast::<u8>();
                    data.copy_from_nonoverlapping(code.as_ptr(), n);
                    *data.add(n) = 0;
                    to.data_size = n + 1;
                } else {
                    to.data_size = size;
                }
            });
            Ok(if cut { vk::Result::INCOMPLETE } else { result })
        }
    }
}
