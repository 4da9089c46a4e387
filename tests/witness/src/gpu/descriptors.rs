//! Descriptors of set 0: their values, the set's layout and the set.

use ash::vk;

use super::{Buffer, Destroyable, During, Gpu, Result};

/// The descriptor at a binding, or at one element of an array binding.
#[derive(Clone, Copy)]
pub enum Bind<'a> {
    /// Storage buffer, whole.
    Storage(&'a Buffer),
    /// Storage buffer, a range in bytes (offset, length).
    StorageRange(&'a Buffer, u64, u64),
    /// Uniform buffer, whole.
    Uniform(&'a Buffer),
    /// Uniform buffer, a range in bytes (offset, length).
    UniformRange(&'a Buffer, u64, u64),
    /// Uniform buffer whose start moves with a dynamic offset, with its length in bytes.
    UniformDynamic(&'a Buffer, u64),
    /// Storage buffer whose start moves with a dynamic offset, with its length in bytes.
    StorageDynamic(&'a Buffer, u64),
    /// Uniform texel buffer.
    UniformTexel(vk::BufferView),
    /// Storage texel buffer.
    StorageTexel(vk::BufferView),
    /// Storage image in the general layout.
    StorageImage(vk::ImageView),
    /// Sampled image with its sampler, in the general layout.
    Texture(vk::ImageView, vk::Sampler),
    /// Sampled image with a sampler that converts Y′CbCr and is fixed in the layout.
    Converted(vk::ImageView, vk::Sampler),
    /// Sampled image alone, in the general layout.
    Sampled(vk::ImageView),
    /// Sampler alone.
    Sampler(vk::Sampler),
    /// An attachment of the pass that draws, in the general layout.
    Input(vk::ImageView),
}

impl Bind<'_> {
    fn kind(&self) -> vk::DescriptorType {
        match self {
            Bind::Storage(_) | Bind::StorageRange(..) => vk::DescriptorType::STORAGE_BUFFER,
            Bind::Uniform(_) | Bind::UniformRange(..) => vk::DescriptorType::UNIFORM_BUFFER,
            Bind::UniformDynamic(..) => vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC,
            Bind::StorageDynamic(..) => vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
            Bind::UniformTexel(_) => vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
            Bind::StorageTexel(_) => vk::DescriptorType::STORAGE_TEXEL_BUFFER,
            Bind::StorageImage(_) => vk::DescriptorType::STORAGE_IMAGE,
            Bind::Texture(..) | Bind::Converted(..) => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
            Bind::Sampled(_) => vk::DescriptorType::SAMPLED_IMAGE,
            Bind::Sampler(_) => vk::DescriptorType::SAMPLER,
            Bind::Input(_) => vk::DescriptorType::INPUT_ATTACHMENT,
        }
    }
}

/// The bindings of set 0, in order.
#[derive(Default)]
pub struct Descriptors<'a> {
    binds: Vec<Vec<Bind<'a>>>,
    /// Bindings are of a mutable type.
    pub mutable: bool,
}

/// Descriptor types that mutable bindings may hold.
const KINDS: [vk::DescriptorType; 6] = [
    vk::DescriptorType::SAMPLED_IMAGE,
    vk::DescriptorType::STORAGE_IMAGE,
    vk::DescriptorType::UNIFORM_TEXEL_BUFFER,
    vk::DescriptorType::STORAGE_TEXEL_BUFFER,
    vk::DescriptorType::UNIFORM_BUFFER,
    vk::DescriptorType::STORAGE_BUFFER,
];

impl<'a> Descriptors<'a> {
    /// The next binding, an array of descriptors of one type.
    pub fn push(&mut self, what: Vec<Bind<'a>>) {
        self.binds.push(what);
    }

    /// The type of a binding in layouts and pools.
    fn kind(&self, what: &[Bind]) -> vk::DescriptorType {
        if self.mutable { vk::DescriptorType::MUTABLE_EXT } else { what[0].kind() }
    }

    fn numbered(&self) -> impl Iterator<Item = (u32, &Vec<Bind<'a>>)> {
        self.binds.iter().enumerate().map(|(binding, what)| (binding as u32, what))
    }

    /// The layout of the set for the stages that see it.
    pub fn layout(
        &self,
        gpu: &Gpu,
        stages: vk::ShaderStageFlags,
    ) -> Result<vk::DescriptorSetLayout> {
        let fixed: Vec<Vec<vk::Sampler>> = self
            .binds
            .iter()
            .map(|what| {
                what.iter()
                    .filter_map(|b| match *b {
                        Bind::Converted(_, sampler) => Some(sampler),
                        _ => None,
                    })
                    .collect()
            })
            .collect();
        let bindings: Vec<_> = self
            .numbered()
            .zip(&fixed)
            .map(|((binding, what), fixed)| {
                let b = vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(self.kind(what))
                    .descriptor_count(what.len() as u32)
                    .stage_flags(match what[0] {
                        // Other stages have none.
                        Bind::Input(_) => vk::ShaderStageFlags::FRAGMENT,
                        _ => stages,
                    });
                if fixed.is_empty() { b } else { b.immutable_samplers(fixed) }
            })
            .collect();
        let lists = vec![
            vk::MutableDescriptorTypeListEXT::default().descriptor_types(&KINDS);
            bindings.len()
        ];
        let mut types =
            vk::MutableDescriptorTypeCreateInfoEXT::default().mutable_descriptor_type_lists(&lists);
        let mut create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        if self.mutable {
            create = create.push_next(&mut types);
        }
        // SAFETY: the device is live.
        let layout = unsafe { gpu.device.create_descriptor_set_layout(&create, None) }
            .during("vkCreateDescriptorSetLayout")?;
        gpu.keep(Destroyable::SetLayout(layout));
        Ok(layout)
    }

    /// The filled set; null without bindings.
    pub fn set(&self, gpu: &Gpu, layout: vk::DescriptorSetLayout) -> Result<vk::DescriptorSet> {
        if self.binds.is_empty() {
            return Ok(vk::DescriptorSet::null());
        }
        let sizes: Vec<_> = self
            .binds
            .iter()
            .map(|what| {
                // One descriptor for each plane; there are at most three.
                let planes = if matches!(what[0], Bind::Converted(..)) { 3 } else { 1 };
                vk::DescriptorPoolSize::default()
                    .ty(self.kind(what))
                    .descriptor_count(planes * what.len() as u32)
            })
            .collect();
        let create = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: the device is live.
        let pool = unsafe { gpu.device.create_descriptor_pool(&create, None) }
            .during("vkCreateDescriptorPool")?;
        gpu.keep(Destroyable::DescriptorPool(pool));
        let layouts = [layout];
        let allocate =
            vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
        // SAFETY: pool and layout are live.
        let set = unsafe { gpu.device.allocate_descriptor_sets(&allocate) }
            .during("vkAllocateDescriptorSets")?[0];
        for (binding, what) in self.numbered() {
            for (element, bind) in what.iter().enumerate() {
                write(gpu, set, binding, element as u32, bind);
            }
        }
        Ok(set)
    }
}

pub(super) fn write(gpu: &Gpu, set: vk::DescriptorSet, binding: u32, element: u32, bind: &Bind) {
    let (mut buffers, mut images, mut views) = (Vec::new(), Vec::new(), Vec::new());
    let buffer =
        |b: &Buffer, offset, range| vk::DescriptorBufferInfo { buffer: b.handle, offset, range };
    let image = |image_view, sampler| vk::DescriptorImageInfo {
        sampler,
        image_view,
        image_layout: vk::ImageLayout::GENERAL,
    };
    match *bind {
        Bind::Storage(b) | Bind::Uniform(b) => buffers.push(buffer(b, 0, vk::WHOLE_SIZE)),
        Bind::StorageRange(b, offset, length) | Bind::UniformRange(b, offset, length) => {
            buffers.push(buffer(b, offset, length));
        }
        Bind::UniformDynamic(b, length) | Bind::StorageDynamic(b, length) => {
            buffers.push(buffer(b, 0, length));
        }
        Bind::UniformTexel(view) | Bind::StorageTexel(view) => views.push(view),
        Bind::StorageImage(view) | Bind::Sampled(view) | Bind::Input(view) => {
            images.push(image(view, vk::Sampler::null()));
        }
        Bind::Texture(view, sampler) | Bind::Converted(view, sampler) => {
            images.push(image(view, sampler));
        }
        Bind::Sampler(sampler) => images.push(image(vk::ImageView::null(), sampler)),
    }
    let write = vk::WriteDescriptorSet {
        descriptor_count: 1,
        ..vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(binding)
            .dst_array_element(element)
            .descriptor_type(bind.kind())
            .buffer_info(&buffers)
            .image_info(&images)
            .texel_buffer_view(&views)
    };
    // SAFETY: the set and everything that is written into it are live, and no submission uses
    // the set yet.
    unsafe { gpu.device.update_descriptor_sets(&[write], &[]) };
}
