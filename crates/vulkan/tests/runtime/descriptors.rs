//! Descriptor sets with three kinds of memory: writes, copies, pools and pushes.

use std::ptr::null;

use tepui_vulkan::vk::{self, DescriptorType as T, Handle};

use crate::{Gpu, call, ok};

impl Gpu {
    pub fn set_layout(&self, bindings: &[(u32, T, u32)]) -> vk::DescriptorSetLayout {
        let bindings: Vec<_> = bindings
            .iter()
            .map(|&(binding, descriptor_type, descriptor_count)| vk::DescriptorSetLayoutBinding {
                binding,
                descriptor_type,
                descriptor_count,
                stage_flags: vk::ShaderStageFlags::ALL,
                ..Default::default()
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo {
            binding_count: bindings.len() as u32,
            bindings: bindings.as_ptr(),
            ..Default::default()
        };
        let mut layout = vk::DescriptorSetLayout::null();
        ok(call!(
            self.i,
            PFN_vkCreateDescriptorSetLayout,
            vkCreateDescriptorSetLayout(self.d, &info, null(), &mut layout)
        ));
        layout
    }

    fn set_pool(&self, max_sets: u32, sizes: &[(T, u32)]) -> vk::DescriptorPool {
        let sizes: Vec<_> = sizes
            .iter()
            .map(|&(type_, descriptor_count)| vk::DescriptorPoolSize { type_, descriptor_count })
            .collect();
        let info = vk::DescriptorPoolCreateInfo {
            max_sets,
            pool_size_count: sizes.len() as u32,
            pool_sizes: sizes.as_ptr(),
            ..Default::default()
        };
        let mut pool = vk::DescriptorPool::null();
        ok(call!(
            self.i,
            PFN_vkCreateDescriptorPool,
            vkCreateDescriptorPool(self.d, &info, null(), &mut pool)
        ));
        pool
    }

    fn set(
        &self,
        descriptor_pool: vk::DescriptorPool,
        layout: vk::DescriptorSetLayout,
    ) -> Result<vk::DescriptorSet, vk::Result> {
        let info = vk::DescriptorSetAllocateInfo {
            descriptor_pool,
            descriptor_set_count: 1,
            set_layouts: &raw const layout,
            ..Default::default()
        };
        let mut set = vk::DescriptorSet::null();
        match call!(
            self.i,
            PFN_vkAllocateDescriptorSets,
            vkAllocateDescriptorSets(self.d, &info, &mut set)
        ) {
            vk::Result::SUCCESS => Ok(set),
            e => Err(e),
        }
    }

    fn sampler(&self) -> vk::Sampler {
        let info = vk::SamplerCreateInfo::default();
        let mut sampler = vk::Sampler::null();
        let (i, d) = (self.i, self.d);
        ok(call!(i, PFN_vkCreateSampler, vkCreateSampler(d, &info, null(), &mut sampler)));
        sampler
    }

    fn update(&self, writes: &[vk::WriteDescriptorSet], copies: &[vk::CopyDescriptorSet]) {
        call!(
            self.i,
            PFN_vkUpdateDescriptorSets,
            vkUpdateDescriptorSets(
                self.d,
                writes.len() as u32,
                writes.as_ptr(),
                copies.len() as u32,
                copies.as_ptr()
            )
        );
    }

    fn destroy_sets(&self, pool: vk::DescriptorPool, layouts: &[vk::DescriptorSetLayout]) {
        call!(self.i, PFN_vkDestroyDescriptorPool, vkDestroyDescriptorPool(self.d, pool, null()));
        for &layout in layouts {
            call!(
                self.i,
                PFN_vkDestroyDescriptorSetLayout,
                vkDestroyDescriptorSetLayout(self.d, layout, null())
            );
        }
    }

    /// The encoder's view of a set that a dispatch has.
    fn seen(
        &self,
        layout: vk::DescriptorSetLayout,
        set: vk::DescriptorSet,
        offsets: &[u32],
    ) -> String {
        let layout = self.layout(&[layout]);
        let pipeline = self.compute(layout);
        let log = self.run((1, 0), |c| {
            let point = vk::PipelineBindPoint::COMPUTE;
            call!(self.i, PFN_vkCmdBindPipeline, vkCmdBindPipeline(c, point, pipeline));
            call!(
                self.i,
                PFN_vkCmdBindDescriptorSets,
                vkCmdBindDescriptorSets(
                    c,
                    point,
                    layout,
                    0,
                    1,
                    &set,
                    offsets.len() as u32,
                    offsets.as_ptr()
                )
            );
            call!(self.i, PFN_vkCmdDispatch, vkCmdDispatch(c, 2, 3, 4));
        });
        self.destroy_pipeline(pipeline);
        self.destroy_layout(layout);
        assert_eq!((log.len(), &*log[0]), (2, "queue 1.0"));
        let seen = log[1].strip_prefix("dispatch 2x3x4 compute").unwrap();
        seen.trim_start_matches("; set 0: ").to_owned()
    }
}

/// Numbers of kinds of descriptors as the null family writes them for its encoder.
const SAMPLER: u32 = 1;
const STORAGE_BUFFER: u32 = 8;
const UNIFORM_DYNAMIC: u32 = 9;

fn buffers(infos: &[vk::DescriptorBufferInfo], set: vk::DescriptorSet) -> vk::WriteDescriptorSet {
    vk::WriteDescriptorSet {
        dst_set: set,
        dst_binding: 0,
        descriptor_count: infos.len() as u32,
        descriptor_type: T::STORAGE_BUFFER,
        buffer_info: infos.as_ptr(),
        ..Default::default()
    }
}

#[test]
fn pools_have_memory_of_each_kind() {
    let gpu = Gpu::new();
    let pool = gpu.set_pool(1, &[(T::SAMPLER, 1)]);
    assert_eq!(gpu.shared.log(), ["m1: sets, kind 0, type 0", "m2: sets, kind 1, type 1"]);
    assert_eq!(gpu.shared.allocations(), 2, "the third kind is the host's");
    gpu.destroy_sets(pool, &[]);
}

#[test]
fn writes_and_copies_go_to_each_kind_and_on_to_the_next_binding() {
    let gpu = Gpu::new();
    let (buffer, memory) = gpu.buffer(256, 0);
    let layout = gpu.set_layout(&[
        (0, T::STORAGE_BUFFER, 1),
        (2, T::SAMPLER, 2),
        (3, T::STORAGE_BUFFER, 2),
        (7, T::STORAGE_BUFFER, 1),
    ]);
    let pool = gpu.set_pool(2, &[(T::STORAGE_BUFFER, 8), (T::SAMPLER, 4)]);
    let sets = [gpu.set(pool, layout).unwrap(), gpu.set(pool, layout).unwrap()];
    let samplers = [gpu.sampler(), gpu.sampler()];
    let range = |offset| vk::DescriptorBufferInfo { buffer, offset, range: 16 };
    let infos = [range(16), range(32), range(48)];
    // The third goes to binding 7.
    let write = vk::WriteDescriptorSet { dst_binding: 3, ..buffers(&infos, sets[0]) };
    let images = samplers.map(|sampler| vk::DescriptorImageInfo { sampler, ..Default::default() });
    let sampled = vk::WriteDescriptorSet {
        dst_set: sets[0],
        dst_binding: 2,
        descriptor_count: 2,
        descriptor_type: T::SAMPLER,
        image_info: images.as_ptr(),
        ..Default::default()
    };
    gpu.update(&[write, sampled], &[]);
    let all = format!(
        "[m1+0x10:16 m1+0x20:16 m1+0x30:16] samplers [1 2] \
         types [{SAMPLER} {SAMPLER} {STORAGE_BUFFER} {STORAGE_BUFFER} {STORAGE_BUFFER}]"
    );
    assert_eq!(gpu.seen(layout, sets[0], &[]), all);
    assert_eq!(gpu.seen(layout, sets[1], &[]), "", "sets begin empty");
    let copy =
        |src_binding, dst_binding, dst_array_element, descriptor_count| vk::CopyDescriptorSet {
            src_set: sets[0],
            src_binding,
            dst_set: sets[1],
            dst_binding,
            dst_array_element,
            descriptor_count,
            ..Default::default()
        };
    // From the end of binding 3 on into 7, to the same elements; and one sampler.
    let copies = [copy(3, 3, 0, 3), copy(2, 2, 1, 1)];
    gpu.update(&[], &copies);
    let some = format!(
        "[m1+0x10:16 m1+0x20:16 m1+0x30:16] samplers [1] \
         types [{SAMPLER} {STORAGE_BUFFER} {STORAGE_BUFFER} {STORAGE_BUFFER}]"
    );
    assert_eq!(gpu.seen(layout, sets[1], &[]), some);
    for s in samplers {
        call!(gpu.i, PFN_vkDestroySampler, vkDestroySampler(gpu.d, s, null()));
    }
    gpu.destroy_sets(pool, &[layout]);
    gpu.destroy_buffer((buffer, memory));
}

#[test]
fn dynamic_offsets_are_added_when_sets_are_bound_and_are_copied() {
    let gpu = Gpu::new();
    let (buffer, memory) = gpu.buffer(1024, 0);
    let layout = gpu.set_layout(&[(0, T::UNIFORM_BUFFER_DYNAMIC, 2)]);
    let pool = gpu.set_pool(2, &[(T::UNIFORM_BUFFER_DYNAMIC, 4)]);
    let sets = [gpu.set(pool, layout).unwrap(), gpu.set(pool, layout).unwrap()];
    let infos = [0, 256].map(|offset| vk::DescriptorBufferInfo { buffer, offset, range: 64 });
    let write = vk::WriteDescriptorSet {
        descriptor_type: T::UNIFORM_BUFFER_DYNAMIC,
        ..buffers(&infos, sets[0])
    };
    let copy = vk::CopyDescriptorSet {
        src_set: sets[0],
        dst_set: sets[1],
        descriptor_count: 2,
        ..Default::default()
    };
    gpu.update(&[write], &[copy]);
    for set in sets {
        assert_eq!(
            gpu.seen(layout, set, &[64, 128]),
            format!(
                "[m1+0x0:64 m1+0x100:64] types [{UNIFORM_DYNAMIC} {UNIFORM_DYNAMIC}] \
                 dynamic [m1+0x40:64 m1+0x180:64]"
            )
        );
    }
    gpu.destroy_sets(pool, &[layout]);
    gpu.destroy_buffer((buffer, memory));
}

#[test]
fn a_full_pool_refuses_sets_until_one_is_freed() {
    let gpu = Gpu::new();
    let layout = gpu.set_layout(&[(0, T::SAMPLER, 64)]);
    // Room for one of the large sets, although three sets may be allocated.
    let pool = gpu.set_pool(3, &[(T::SAMPLER, 64)]);
    let set = gpu.set(pool, layout).unwrap();
    assert_eq!(gpu.set(pool, layout), Err(vk::Result::ERROR_OUT_OF_POOL_MEMORY));
    ok(call!(gpu.i, PFN_vkFreeDescriptorSets, vkFreeDescriptorSets(gpu.d, pool, 1, &set)));
    gpu.set(pool, layout).unwrap();
    let none = vk::DescriptorPoolResetFlags::empty();
    ok(call!(gpu.i, PFN_vkResetDescriptorPool, vkResetDescriptorPool(gpu.d, pool, none)));
    gpu.set(pool, layout).unwrap();
    gpu.destroy_sets(pool, &[layout]);
}

/// A push changes the descriptors that it names; the others, and immutable samplers, stay.
#[test]
fn pushes_add_up_to_a_set() {
    let gpu = Gpu::new();
    let (buffer, memory) = gpu.buffer(256, 0);
    let sampler = gpu.sampler();
    let bindings = [(0, T::SAMPLER, 1, &raw const sampler), (1, T::STORAGE_BUFFER, 3, null())].map(
        |(binding, descriptor_type, descriptor_count, immutable_samplers)| {
            vk::DescriptorSetLayoutBinding {
                binding,
                descriptor_type,
                descriptor_count,
                stage_flags: vk::ShaderStageFlags::ALL,
                immutable_samplers,
            }
        },
    );
    let info = vk::DescriptorSetLayoutCreateInfo {
        flags: vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR,
        binding_count: bindings.len() as u32,
        bindings: bindings.as_ptr(),
        ..Default::default()
    };
    let mut sets = vk::DescriptorSetLayout::null();
    ok(call!(
        gpu.i,
        PFN_vkCreateDescriptorSetLayout,
        vkCreateDescriptorSetLayout(gpu.d, &info, null(), &mut sets)
    ));
    let layout = gpu.layout(&[sets]);
    let pipeline = gpu.compute(layout);
    let point = vk::PipelineBindPoint::COMPUTE;
    let log = gpu.run((1, 0), |c| {
        call!(gpu.i, PFN_vkCmdBindPipeline, vkCmdBindPipeline(c, point, pipeline));
        for (element, offset) in [(2, 32), (0, 16), (2, 48)] {
            let ranges = [vk::DescriptorBufferInfo { buffer, offset, range: 16 }];
            let write = vk::WriteDescriptorSet {
                dst_binding: 1,
                dst_array_element: element,
                ..buffers(&ranges, vk::DescriptorSet::null())
            };
            call!(
                gpu.i,
                PFN_vkCmdPushDescriptorSet,
                vkCmdPushDescriptorSet(c, point, layout, 0, 1, &write)
            );
            call!(gpu.i, PFN_vkCmdDispatch, vkCmdDispatch(c, 1, 1, 1));
        }
    });
    let seen = |surfaces: &str, types: &str| {
        format!(
            "dispatch 1x1x1 compute; set 0: [{surfaces}] samplers [1] types [{SAMPLER} {types}]"
        )
    };
    let [one, two] = ["8", "8 8"];
    assert_eq!(
        log[1..],
        [
            seen("m1+0x20:16", one),
            seen("m1+0x10:16 m1+0x20:16", two),
            seen("m1+0x10:16 m1+0x30:16", two),
        ]
    );
    gpu.destroy_pipeline(pipeline);
    gpu.destroy_layout(layout);
    call!(
        gpu.i,
        PFN_vkDestroyDescriptorSetLayout,
        vkDestroyDescriptorSetLayout(gpu.d, sets, null())
    );
    call!(gpu.i, PFN_vkDestroySampler, vkDestroySampler(gpu.d, sampler, null()));
    gpu.destroy_buffer((buffer, memory));
}
