//! Pipeline binaries: taken of a pipeline, kept as bytes, and made into a pipeline without its module.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use tepui_vulkan::vk::{self, Handle};

use crate::{DeviceOnly, call, ok};

/// A compute shader that does nothing, in workgroups of `width` invocations.
fn words(width: u32) -> Vec<u32> {
    let op = |code: u32, words: &[u32]| {
        let mut all = vec![(words.len() as u32 + 1) << 16 | code];
        all.extend(words);
        all
    };
    // source: the SPIR-V specification, version 1.0
    [
        vec![0x0723_0203, 0x1_0000, 0, 5, 0],
        op(17, &[1]),                                     // OpCapability Shader
        op(14, &[0, 1]),                                  // OpMemoryModel
        op(15, &[5, 1, u32::from_le_bytes(*b"main"), 0]), // OpEntryPoint
        op(16, &[1, 17, width, 1, 1]),                    // OpExecutionMode
        op(19, &[2]),                                     // OpTypeVoid
        op(33, &[3, 2]),                                  // OpTypeFunction
        op(54, &[2, 1, 0, 3]),                            // OpFunction
        op(248, &[4]),                                    // OpLabel
        op(253, &[]),                                     // OpReturn
        op(56, &[]),                                      // OpFunctionEnd
    ]
    .concat()
}

/// Source of a pipeline.
#[derive(Clone, Copy)]
enum PipelineSource {
    /// A module, with the flag to capture binaries.
    Module(vk::ShaderModule),
    /// A binary; no compilation may happen.
    Binary(vk::PipelineBinaryKHR),
}

struct Pipelines {
    device: DeviceOnly,
    layout: vk::PipelineLayout,
}

impl Pipelines {
    fn new() -> Pipelines {
        let device = DeviceOnly::new(&[c"VK_KHR_pipeline_binary"]);
        let info = vk::PipelineLayoutCreateInfo::default();
        let mut layout = vk::PipelineLayout::null();
        ok(call!(
            device.instance,
            PFN_vkCreatePipelineLayout,
            vkCreatePipelineLayout(device.device, &info, null(), &mut layout)
        ));
        Pipelines { device, layout }
    }

    fn module(&self, width: u32) -> vk::ShaderModule {
        let (words, mut module) = (words(width), vk::ShaderModule::null());
        let info = vk::ShaderModuleCreateInfo {
            code_size: 4 * words.len(),
            code: words.as_ptr(),
            ..Default::default()
        };
        ok(call!(
            self.device.instance,
            PFN_vkCreateShaderModule,
            vkCreateShaderModule(self.device.device, &info, null(), &mut module)
        ));
        module
    }

    /// Calls something with the structure that a pipeline is made from.
    fn with<T>(
        &self,
        from: PipelineSource,
        body: impl FnOnce(&vk::ComputePipelineCreateInfo) -> T,
    ) -> T {
        use vk::PipelineCreateFlags2 as F;
        let (module, binary, flags) = match from {
            PipelineSource::Module(module) => (module, None, F::CAPTURE_DATA_KHR),
            PipelineSource::Binary(b) => {
                (vk::ShaderModule::null(), Some(b), F::FAIL_ON_PIPELINE_COMPILE_REQUIRED)
            }
        };
        let binaries = vk::PipelineBinaryInfoKHR {
            binary_count: u32::from(binary.is_some()),
            pipeline_binaries: binary.as_slice().as_ptr(),
            ..Default::default()
        };
        let flags = vk::PipelineCreateFlags2CreateInfo {
            next: (&raw const binaries).cast(),
            flags,
            ..Default::default()
        };
        body(&vk::ComputePipelineCreateInfo {
            next: (&raw const flags).cast(),
            stage: vk::PipelineShaderStageCreateInfo {
                stage: vk::ShaderStageFlags::COMPUTE,
                module,
                name: c"main".as_ptr().cast::<c_char>(),
                ..Default::default()
            },
            layout: self.layout,
            ..Default::default()
        })
    }

    fn pipeline(&self, from: PipelineSource) -> vk::Pipeline {
        self.with(from, |info| {
            let (mut pipeline, cache) = (vk::Pipeline::null(), vk::PipelineCache::null());
            ok(call!(
                self.device.instance,
                PFN_vkCreateComputePipelines,
                vkCreateComputePipelines(self.device.device, cache, 1, info, null(), &mut pipeline)
            ));
            pipeline
        })
    }

    fn key(&self, from: PipelineSource) -> Vec<u8> {
        self.with(from, |info| {
            let of = vk::PipelineCreateInfoKHR {
                next: std::ptr::from_ref(info).cast_mut().cast(),
                ..Default::default()
            };
            let mut key = vk::PipelineBinaryKeyKHR::default();
            ok(call!(
                self.device.instance,
                PFN_vkGetPipelineKeyKHR,
                vkGetPipelineKeyKHR(self.device.device, &of, &mut key)
            ));
            key.key.0[..key.key_size as usize].to_vec()
        })
    }

    /// The only binary that a call makes.
    fn binary(
        &self,
        info: &vk::PipelineBinaryCreateInfoKHR,
    ) -> Result<vk::PipelineBinaryKHR, vk::Result> {
        let mut binary = vk::PipelineBinaryKHR::null();
        let mut out = vk::PipelineBinaryHandlesInfoKHR::default();
        let create = |out: &mut vk::PipelineBinaryHandlesInfoKHR| {
            call!(
                self.device.instance,
                PFN_vkCreatePipelineBinariesKHR,
                vkCreatePipelineBinariesKHR(self.device.device, info, null(), out)
            )
        };
        match create(&mut out) {
            vk::Result::SUCCESS => assert_eq!(out.pipeline_binary_count, 1),
            other => return Err(other),
        }
        out.pipeline_binaries = &raw mut binary;
        ok(create(&mut out));
        Ok(binary)
    }

    fn binary_of(&self, pipeline: vk::Pipeline) -> Result<vk::PipelineBinaryKHR, vk::Result> {
        self.binary(&vk::PipelineBinaryCreateInfoKHR { pipeline, ..Default::default() })
    }

    fn data(&self, pipeline_binary: vk::PipelineBinaryKHR) -> (vk::PipelineBinaryKeyKHR, Vec<u8>) {
        let info = vk::PipelineBinaryDataInfoKHR { pipeline_binary, ..Default::default() };
        let mut key = vk::PipelineBinaryKeyKHR::default();
        let mut get = |size: &mut usize, out: *mut c_void| {
            call!(
                self.device.instance,
                PFN_vkGetPipelineBinaryDataKHR,
                vkGetPipelineBinaryDataKHR(self.device.device, &info, &mut key, size, out)
            )
        };
        let mut size = 0;
        ok(get(&mut size, null_mut()));
        let mut bytes = vec![0u8; size];
        let mut room = size - 1;
        let result = get(&mut room, bytes.as_mut_ptr().cast());
        assert_eq!((result, room), (vk::Result::ERROR_NOT_ENOUGH_SPACE_KHR, size));
        ok(get(&mut size, bytes.as_mut_ptr().cast()));
        (key, bytes)
    }

    fn binary_from(
        &self,
        key: &vk::PipelineBinaryKeyKHR,
        bytes: &[u8],
    ) -> Result<vk::PipelineBinaryKHR, vk::Result> {
        let data = vk::PipelineBinaryDataKHR {
            data_size: bytes.len(),
            data: bytes.as_ptr().cast_mut().cast(),
        };
        let all = vk::PipelineBinaryKeysAndDataKHR {
            binary_count: 1,
            pipeline_binary_keys: key,
            pipeline_binary_data: &raw const data,
        };
        self.binary(&vk::PipelineBinaryCreateInfoKHR {
            keys_and_data_info: &raw const all,
            ..Default::default()
        })
    }

    fn destroy(&self, pipelines: &[vk::Pipeline], binaries: &[vk::PipelineBinaryKHR]) {
        let (i, d) = (self.device.instance, self.device.device);
        for &p in pipelines {
            call!(i, PFN_vkDestroyPipeline, vkDestroyPipeline(d, p, null()));
        }
        for &b in binaries {
            call!(i, PFN_vkDestroyPipelineBinaryKHR, vkDestroyPipelineBinaryKHR(d, b, null()));
        }
    }
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        let (i, d) = (self.device.instance, self.device.device);
        call!(i, PFN_vkDestroyPipelineLayout, vkDestroyPipelineLayout(d, self.layout, null()));
    }
}

#[test]
fn a_pipeline_is_made_from_its_binary_without_compiling() {
    let p = Pipelines::new();
    let modules = [p.module(32), p.module(64)];
    let made = modules.map(|m| p.pipeline(PipelineSource::Module(m)));
    let binaries = made.map(|m| p.binary_of(m).unwrap());
    let [(key, bytes), (other_key, other)] = binaries.map(|b| p.data(b));
    assert_ne!(key.key.0, other_key.key.0);
    assert_ne!(bytes, other);
    let read = p.binary_from(&key, &bytes).unwrap();
    let (read_key, read_bytes) = p.data(read);
    assert_eq!((read_key.key.0, read_bytes), (key.key.0, bytes.clone()));
    let again = p.pipeline(PipelineSource::Binary(read));
    // Damaged bytes are refused, or are a binary without its programs.
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x55;
        match p.binary_from(&key, &bad) {
            Ok(b) => p.destroy(&[], &[b]),
            Err(e) => assert_eq!(e, vk::Result::ERROR_INITIALIZATION_FAILED),
        }
    }
    let info = vk::ReleaseCapturedPipelineDataInfoKHR { pipeline: made[0], ..Default::default() };
    ok(call!(
        p.device.instance,
        PFN_vkReleaseCapturedPipelineDataKHR,
        vkReleaseCapturedPipelineDataKHR(p.device.device, &info, null())
    ));
    assert_eq!(p.binary_of(made[0]), Err(vk::Result::PIPELINE_BINARY_MISSING_KHR));
    let keys = modules.map(|m| p.key(PipelineSource::Module(m)));
    assert_eq!(keys[0], p.key(PipelineSource::Module(modules[0])));
    assert_ne!(keys[0], keys[1]);
    p.destroy(&[made[0], made[1], again], &[binaries[0], binaries[1], read]);
    for m in modules {
        let (i, d) = (p.device.instance, p.device.device);
        call!(i, PFN_vkDestroyShaderModule, vkDestroyShaderModule(d, m, null()));
    }
}
