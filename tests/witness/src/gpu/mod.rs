//! A small Vulkan layer over `ash`: one device, one queue, host-visible buffers, kernels.
//!
//! [`Gpu::open`] picks a device by name; [`Gpu::buffer`] makes and fills a buffer; [`Gpu::kernel`] makes a
//! pipeline together with its descriptor set; [`Gpu::submit`] records, submits and waits. All objects live
//! until the [`Gpu`] is dropped, and are destroyed then.

mod commands;
mod descriptor_buffers;
mod descriptors;
mod graphics;
mod image;
mod kernel;
mod later;
mod memory;
mod passes;
mod pipelines;
mod state;
mod ycbcr;

use std::cell::{Cell, RefCell};
use std::ffi::CStr;

use ash::{Device, Entry, Instance, ext, khr, vk};

pub use commands::Commands;
pub use descriptor_buffers::LayoutBinding;
pub use descriptors::Bind;
pub use graphics::{Attachment, Graphics, Layouts, Pass, Rendered};
pub use image::{Image, ImageSpec, SamplerSpec, Shape, Transfer, ViewSpec};
pub use kernel::{Kernel, KernelBuilder};
pub use memory::Buffer;
pub use passes::RenderPass;
pub use pipelines::Pipelines;
pub use state::State;
pub use ycbcr::ConvertedSpec;

/// An error of a case or its driver.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A Vulkan call returned an error.
    #[error("{call}: {result:?}")]
    Vulkan {
        /// The command that failed.
        call: &'static str,
        /// The result.
        result: vk::Result,
    },
    /// The Vulkan loader cannot be loaded.
    #[error(
        "no Vulkan loader ({0}); run this through `tools/mesa run`, whose sysroot has libvulkan.so.1"
    )]
    Loader(#[from] ash::LoadingError),
    /// No device has the wanted name.
    #[error("no Vulkan device has `{wanted}` in its name; the loader offers: {found}")]
    NoDevice {
        /// A part of the wanted name.
        wanted: String,
        /// The devices there are.
        found: String,
    },
    /// The driver does not have something that a case needs.
    #[error("the driver lacks {0}")]
    Missing(String),
    /// A case found its own precondition broken.
    #[error("{0}")]
    Case(String),
}

/// Result of this crate's Vulkan layer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Names the Vulkan call that a result came from.
pub trait During<T> {
    /// Turns an error code into an [`Error`] that names `call`.
    fn during(self, call: &'static str) -> Result<T>;
}

impl<T> During<T> for std::result::Result<T, vk::Result> {
    fn during(self, call: &'static str) -> Result<T> {
        self.map_err(|result| Error::Vulkan { call, result })
    }
}

/// Objects to destroy with the device, in reverse order.
enum Destroyable {
    Buffer(vk::Buffer),
    Image(vk::Image),
    ImageView(vk::ImageView),
    BufferView(vk::BufferView),
    Sampler(vk::Sampler),
    Conversion(vk::SamplerYcbcrConversion),
    Memory(vk::DeviceMemory),
    Pipeline(vk::Pipeline),
    PipelineLayout(vk::PipelineLayout),
    SetLayout(vk::DescriptorSetLayout),
    DescriptorPool(vk::DescriptorPool),
    Fence(vk::Fence),
    Event(vk::Event),
    QueryPool(vk::QueryPool),
    Semaphore(vk::Semaphore),
    RenderPass(vk::RenderPass),
    Framebuffer(vk::Framebuffer),
    Shader(vk::ShaderEXT),
}

/// Extensions that cases use, enabled where the driver has them.
const EXTENSIONS: &[&CStr] = &[
    ext::blend_operation_advanced::NAME,
    ext::depth_clip_control::NAME,
    ext::extended_dynamic_state2::NAME,
    ext::extended_dynamic_state3::NAME,
    ext::graphics_pipeline_library::NAME,
    ash::khr::pipeline_library::NAME,
    ext::vertex_input_dynamic_state::NAME,
    ext::depth_clip_enable::NAME,
    ext::provoking_vertex::NAME,
    ext::sample_locations::NAME,
    ext::depth_bias_control::NAME,
    ext::transform_feedback::NAME,
    ext::vertex_attribute_divisor::NAME,
    ext::index_type_uint8::NAME,
    ext::primitive_topology_list_restart::NAME,
    ext::line_rasterization::NAME,
    ext::shader_atomic_float::NAME,
    ext::shader_atomic_float2::NAME,
    ext::conditional_rendering::NAME,
    ext::custom_border_color::NAME,
    ext::sampler_filter_minmax::NAME,
    ext::robustness2::NAME,
    ext::pipeline_robustness::NAME,
    ext::host_image_copy::NAME,
    ext::image_drm_format_modifier::NAME,
    ext::image_2d_view_of_3d::NAME,
    ext::image_view_min_lod::NAME,
    ext::non_seamless_cube_map::NAME,
    khr::shader_subgroup_rotate::NAME,
    khr::shader_maximal_reconvergence::NAME,
    khr::workgroup_memory_explicit_layout::NAME,
    khr::push_descriptor::NAME,
    khr::sampler_mirror_clamp_to_edge::NAME,
    khr::pipeline_executable_properties::NAME,
    khr::dynamic_rendering_local_read::NAME,
    ext::dynamic_rendering_unused_attachments::NAME,
    ext::mutable_descriptor_type::NAME,
    ext::shader_module_identifier::NAME,
    ext::shader_object::NAME,
    ext::external_memory_host::NAME,
    ext::attachment_feedback_loop_layout::NAME,
    ext::attachment_feedback_loop_dynamic_state::NAME,
    khr::maintenance6::NAME,
    khr::shader_clock::NAME,
    COMPUTE_DERIVATIVES,
    later::DEPTH_CLAMP_CONTROL,
];

/// Later than `ash`, which has the vendor's extension that it comes from, with the same structure.
pub(crate) const COMPUTE_DERIVATIVES: &CStr = c"VK_KHR_compute_shader_derivatives";

/// One Vulkan device with one queue that computes.
pub struct Gpu {
    _entry: Entry,
    pub(crate) instance: Instance,
    /// The physical device.
    pub physical: vk::PhysicalDevice,
    /// The device, for calls that this layer has no word for.
    pub device: Device,
    pub(crate) queue: vk::Queue,
    queue_family: u32,
    pub(crate) command_pool: vk::CommandPool,
    memory: vk::PhysicalDeviceMemoryProperties,
    garbage: RefCell<Vec<Destroyable>>,
    /// The way in which graphics pipelines are made.
    pub pipelines: Cell<Pipelines>,
    /// The layouts of images while they are rendered to.
    pub layouts: Cell<Layouts>,
    /// The libraries of the pipelines that were linked.
    pub libraries: Cell<Vec<[vk::Pipeline; 4]>>,
    /// The cache that whole graphics pipelines are looked for in.
    pub cache: Cell<vk::PipelineCache>,
    /// The device's name.
    pub name: String,
    /// Invocations in a sub-group.
    pub subgroup_size: u32,
    /// Whether kernels have to ask for this size: the driver chooses others otherwise.
    pub requires_subgroup_size: bool,
    /// Nanoseconds in a timestamp's tick.
    pub timestamp_period_ns: f32,
    /// Maximum number of draws of an indirect command.
    pub max_indirect_draws: u32,
    /// Extensions that are enabled.
    pub extensions: Vec<&'static CStr>,
    /// Whether shaders may have 64-bit floats.
    pub float64: bool,
    /// Whether shaders may load from images whose format they do not name.
    pub reads_without_format: bool,
    /// Whether inputs and outputs of shaders may have 16 bits.
    pub io16: bool,
    /// Features that cases ask for by name.
    pub offers: Offers,
}

/// Whether out-of-bounds accesses are defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Robustness {
    /// The driver may leave bounds checks out.
    Off,
    /// `robustBufferAccess2` and `robustImageAccess2` where the driver has them.
    On,
}

/// Features of a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offers {
    /// `geometryShader`.
    pub geometry: bool,
    /// `tessellationShader`.
    pub tessellation: bool,
    /// `geometryStreams`.
    pub geometry_streams: bool,
    /// `multiviewGeometryShader`.
    pub views_of_geometry: bool,
    /// `multiviewTessellationShader`.
    pub views_of_patches: bool,
    /// Sparse buffers and 2D images.
    pub sparse: bool,
    /// `sparseResidencyImage3D`.
    pub sparse_volumes: bool,
    /// `sparseResidency2Samples` to `sparseResidency16Samples`.
    pub sparse_samples: bool,
    /// `shaderResourceResidency`.
    pub residency: bool,
    /// `bufferDeviceAddressCaptureReplay`.
    pub capture_replay: bool,
    /// Atomic operations of 64 bits in buffers.
    pub atomic64: bool,
    /// `robustImageAccess2`, of devices with robust access.
    pub robust_images: bool,
}

impl Gpu {
    /// Opens the first device whose name contains `wanted`.
    pub fn open(wanted: &str, robustness: Robustness) -> Result<Gpu> {
        Self::open_with_only(wanted, robustness, EXTENSIONS)
    }

    /// Opens such a device without any extension: what programs get that know Vulkan 1.3 alone.
    pub fn open_without_extensions(wanted: &str) -> Result<Gpu> {
        Self::open_with_only(wanted, Robustness::Off, &[])
    }

    /// Opens such a device with one more extension, for which drivers do everything else differently.
    pub fn open_with(wanted: &str, extension: &'static CStr) -> Result<Gpu> {
        let all = [EXTENSIONS, &[extension]].concat();
        Self::open_with_only(wanted, Robustness::Off, &all)
    }

    fn open_with_only(
        wanted: &str,
        robustness: Robustness,
        wanted_extensions: &[&'static CStr],
    ) -> Result<Gpu> {
        // SAFETY: the library that is loaded is the Vulkan loader, whose entry points these are.
        let entry = unsafe { Entry::load()? };
        let application = vk::ApplicationInfo::default()
            .application_name(c"tepui-witness")
            .api_version(vk::API_VERSION_1_3);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `create` and what it points to outlive the call.
        let instance =
            unsafe { entry.create_instance(&create, None) }.during("vkCreateInstance")?;
        // The loader must stay for as long as the instance does.
        let (entry, of) = (entry.clone(), instance.clone());
        match Self::open_device(entry, of, wanted, robustness, wanted_extensions) {
            Ok(gpu) => Ok(gpu),
            Err(error) => {
                // SAFETY: nothing made from the instance is left.
                unsafe { instance.destroy_instance(None) };
                Err(error)
            }
        }
    }

    fn open_device(
        entry: Entry,
        instance: Instance,
        wanted: &str,
        robustness: Robustness,
        wanted_extensions: &[&'static CStr],
    ) -> Result<Gpu> {
        let (physical, name) = Self::find(&instance, wanted)?;

        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut sizes = vk::PhysicalDeviceSubgroupSizeControlProperties::default();
        let mut properties =
            vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup).push_next(&mut sizes);
        // SAFETY: the chain is well formed and outlives the call.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        let limits = properties.properties.limits;
        let timestamp_period_ns = limits.timestamp_period;
        let max_indirect_draws = limits.max_draw_indirect_count;
        let subgroup_size = subgroup.subgroup_size;
        let requires_subgroup_size = sizes.min_subgroup_size != sizes.max_subgroup_size
            && sizes.required_subgroup_size_stages.contains(vk::ShaderStageFlags::COMPUTE);

        // SAFETY: `physical` is this instance's.
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        let queue_family = families
            .iter()
            .position(|f| f.queue_flags.contains(vk::QueueFlags::COMPUTE))
            .ok_or_else(|| Error::Missing("a queue that computes".into()))?
            as u32;

        let extensions = Self::extensions(&instance, physical, wanted_extensions)?;
        let extension_names: Vec<_> = extensions.iter().map(|e| e.as_ptr()).collect();
        let has = |name: &CStr| extensions.contains(&name);

        // Structures of core versions first, then each extension's if it is enabled.
        let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut v13 = vk::PhysicalDeviceVulkan13Features::default();
        let mut atomic_float = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default();
        let mut atomic_float2 = vk::PhysicalDeviceShaderAtomicFloat2FeaturesEXT::default();
        let mut border = vk::PhysicalDeviceCustomBorderColorFeaturesEXT::default();
        let mut condition = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default();
        let mut robust2 = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
        let mut pipeline_robust = vk::PhysicalDevicePipelineRobustnessFeaturesEXT::default();
        let mut host_copy = vk::PhysicalDeviceHostImageCopyFeaturesEXT::default();
        let mut view_of_3d = vk::PhysicalDeviceImage2DViewOf3DFeaturesEXT::default();
        let mut min_lod = vk::PhysicalDeviceImageViewMinLodFeaturesEXT::default();
        let mut seams = vk::PhysicalDeviceNonSeamlessCubeMapFeaturesEXT::default();
        let mut depth_clip = vk::PhysicalDeviceDepthClipEnableFeaturesEXT::default();
        let mut bias = vk::PhysicalDeviceDepthBiasControlFeaturesEXT::default();
        let mut dynamic3 = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default();
        let mut libraries = vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT::default();
        let mut vertex_input = vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default();
        let mut dynamic2 = vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT::default();
        let mut clip_control = vk::PhysicalDeviceDepthClipControlFeaturesEXT::default();
        let mut advanced = vk::PhysicalDeviceBlendOperationAdvancedFeaturesEXT::default();
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
        let mut feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut divisor = vk::PhysicalDeviceVertexAttributeDivisorFeaturesKHR::default();
        let mut index_u8 = vk::PhysicalDeviceIndexTypeUint8FeaturesKHR::default();
        let mut maintenance6 = vk::PhysicalDeviceMaintenance6FeaturesKHR::default();
        let mut list_restart = vk::PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT::default();
        let mut lines = vk::PhysicalDeviceLineRasterizationFeaturesKHR::default();
        let mut rotate = vk::PhysicalDeviceShaderSubgroupRotateFeaturesKHR::default();
        let mut reconverge = vk::PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR::default();
        let mut shared_layout =
            vk::PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR::default();
        let mut derivatives = vk::PhysicalDeviceComputeShaderDerivativesFeaturesNV::default();
        let mut local_read = vk::PhysicalDeviceDynamicRenderingLocalReadFeaturesKHR::default();
        let mut executables = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
        let mut unused = vk::PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT::default();
        let mut mutable = vk::PhysicalDeviceMutableDescriptorTypeFeaturesEXT::default();
        let mut identifier = vk::PhysicalDeviceShaderModuleIdentifierFeaturesEXT::default();
        let mut objects = vk::PhysicalDeviceShaderObjectFeaturesEXT::default();
        let mut feedback_loop =
            vk::PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT::default();
        let mut dynamic_loops =
            vk::PhysicalDeviceAttachmentFeedbackLoopDynamicStateFeaturesEXT::default();
        let mut descriptor_buffer = vk::PhysicalDeviceDescriptorBufferFeaturesEXT::default();
        let mut clock = vk::PhysicalDeviceShaderClockFeaturesKHR::default();
        let mut rate = vk::PhysicalDeviceFragmentShadingRateFeaturesKHR::default();
        let mut clamp_control = later::DepthClampControlFeatures::default();
        // Used twice: to query the features, and to enable them.
        macro_rules! chain {
            ($features:ident) => {
                chain! { $features,
                    true => v11,
                    true => v12,
                    true => v13,
                    has(ext::shader_atomic_float::NAME) => atomic_float,
                    has(ext::shader_atomic_float2::NAME) => atomic_float2,
                    has(ext::custom_border_color::NAME) => border,
                    has(ext::conditional_rendering::NAME) => condition,
                    has(ext::robustness2::NAME) => robust2,
                    has(ext::pipeline_robustness::NAME) => pipeline_robust,
                    has(ext::host_image_copy::NAME) => host_copy,
                    has(ext::image_2d_view_of_3d::NAME) => view_of_3d,
                    has(ext::image_view_min_lod::NAME) => min_lod,
                    has(ext::non_seamless_cube_map::NAME) => seams,
                    has(ext::depth_clip_enable::NAME) => depth_clip,
                    has(ext::blend_operation_advanced::NAME) => advanced,
                    has(ext::depth_clip_control::NAME) => clip_control,
                    has(ext::depth_bias_control::NAME) => bias,
                    has(ext::extended_dynamic_state2::NAME) => dynamic2,
                    has(ext::extended_dynamic_state3::NAME) => dynamic3,
                    has(ext::graphics_pipeline_library::NAME) => libraries,
                    has(ext::vertex_input_dynamic_state::NAME) => vertex_input,
                    has(ext::provoking_vertex::NAME) => provoking,
                    has(ext::transform_feedback::NAME) => feedback,
                    has(ext::vertex_attribute_divisor::NAME) => divisor,
                    has(ext::index_type_uint8::NAME) => index_u8,
                    has(khr::maintenance6::NAME) => maintenance6,
                    has(ext::primitive_topology_list_restart::NAME) => list_restart,
                    has(ext::line_rasterization::NAME) => lines,
                    has(khr::shader_subgroup_rotate::NAME) => rotate,
                    has(khr::shader_maximal_reconvergence::NAME) => reconverge,
                    has(khr::workgroup_memory_explicit_layout::NAME) => shared_layout,
                    has(khr::pipeline_executable_properties::NAME) => executables,
                    has(khr::dynamic_rendering_local_read::NAME) => local_read,
                    has(ext::dynamic_rendering_unused_attachments::NAME) => unused,
                    has(ext::mutable_descriptor_type::NAME) => mutable,
                    has(ext::descriptor_buffer::NAME) => descriptor_buffer,
                    has(ext::shader_module_identifier::NAME) => identifier,
                    has(ext::shader_object::NAME) => objects,
                    has(ext::attachment_feedback_loop_layout::NAME) => feedback_loop,
                    has(ext::attachment_feedback_loop_dynamic_state::NAME) => dynamic_loops,
                    has(COMPUTE_DERIVATIVES) => derivatives,
                    has(later::DEPTH_CLAMP_CONTROL) => clamp_control,
                    has(khr::shader_clock::NAME) => clock,
                    has(khr::fragment_shading_rate::NAME) => rate,
                }
            };
            ($features:ident, $($enabled:expr => $structure:ident,)*) => {
                $(
                    $structure.p_next = std::ptr::null_mut();
                    if $enabled {
                        $features = $features.push_next(&mut $structure);
                    }
                )*
            };
        }
        let mut offered = vk::PhysicalDeviceFeatures2::default();
        chain!(offered);
        // SAFETY: the chain is well formed and outlives the call.
        unsafe { instance.get_physical_device_features2(physical, &mut offered) };
        let mut core = offered.features;
        if robustness == Robustness::Off {
            core.robust_buffer_access = vk::FALSE;
            v13.robust_image_access = vk::FALSE;
            robust2.robust_buffer_access2 = vk::FALSE;
            robust2.robust_image_access2 = vk::FALSE;
        }
        let mut features = vk::PhysicalDeviceFeatures2::default().features(core);
        chain!(features);
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(queue_family)
            .queue_priorities(&[1.0])];
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extension_names)
            .push_next(&mut features);
        // SAFETY: `create` and its chain outlive the call; every feature was reported as supported.
        let device =
            unsafe { instance.create_device(physical, &create, None) }.during("vkCreateDevice")?;
        // SAFETY: the family has the one queue that was asked for.
        let queue = unsafe { device.get_device_queue(queue_family, 0) };
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(queue_family);
        // SAFETY: the device is live.
        let command_pool = match unsafe { device.create_command_pool(&pool, None) } {
            Ok(pool) => pool,
            Err(result) => {
                // SAFETY: nothing made from the device is left.
                unsafe { device.destroy_device(None) };
                return Err(Error::Vulkan { call: "vkCreateCommandPool", result });
            }
        };
        // SAFETY: `physical` is this instance's.
        let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
        Ok(Gpu {
            _entry: entry,
            instance,
            physical,
            device,
            queue,
            queue_family,
            command_pool,
            memory,
            garbage: RefCell::default(),
            pipelines: Cell::default(),
            layouts: Cell::default(),
            libraries: Cell::default(),
            cache: Cell::default(),
            name,
            subgroup_size,
            requires_subgroup_size,
            timestamp_period_ns,
            max_indirect_draws,
            extensions,
            float64: core.shader_float64 != 0,
            reads_without_format: core.shader_storage_image_read_without_format != 0,
            io16: v11.storage_input_output16 != 0,
            offers: Offers {
                geometry: core.geometry_shader != 0,
                tessellation: core.tessellation_shader != 0,
                geometry_streams: feedback.geometry_streams != 0,
                views_of_geometry: v11.multiview_geometry_shader != 0,
                views_of_patches: v11.multiview_tessellation_shader != 0,
                sparse: core.sparse_binding != 0
                    && core.sparse_residency_buffer != 0
                    && core.sparse_residency_image2_d != 0,
                sparse_volumes: core.sparse_residency_image3_d != 0,
                sparse_samples: core.sparse_residency2_samples != 0
                    && core.sparse_residency4_samples != 0
                    && core.sparse_residency8_samples != 0
                    && core.sparse_residency16_samples != 0,
                residency: core.shader_resource_residency != 0,
                capture_replay: v12.buffer_device_address_capture_replay != 0,
                atomic64: v12.shader_buffer_int64_atomics != 0,
                robust_images: robust2.robust_image_access2 != 0,
            },
        })
    }

    /// The first device whose name contains `wanted`, and its name.
    pub(crate) fn find(instance: &Instance, wanted: &str) -> Result<(vk::PhysicalDevice, String)> {
        // SAFETY: the instance is live.
        let devices = unsafe { instance.enumerate_physical_devices() }
            .during("vkEnumeratePhysicalDevices")?;
        let name_of = |device: vk::PhysicalDevice| {
            // SAFETY: `device` is one of this instance's.
            let properties = unsafe { instance.get_physical_device_properties(device) };
            properties.device_name_as_c_str().unwrap_or(c"?").to_string_lossy().into_owned()
        };
        let names: Vec<_> = devices.iter().map(|&d| name_of(d)).collect();
        let found = devices.iter().zip(&names).find(|(_, name)| name.contains(wanted));
        found
            .map(|(&d, name)| (d, name.clone()))
            .ok_or_else(|| Error::NoDevice { wanted: wanted.to_owned(), found: names.join(", ") })
    }

    /// The extensions of a list that a device offers.
    fn extensions(
        instance: &Instance,
        physical: vk::PhysicalDevice,
        wanted: &[&'static CStr],
    ) -> Result<Vec<&'static CStr>> {
        // SAFETY: `physical` is this instance's.
        let offered = unsafe { instance.enumerate_device_extension_properties(physical) }
            .during("vkEnumerateDeviceExtensionProperties")?;
        Ok(wanted
            .iter()
            .copied()
            .filter(|name| offered.iter().any(|o| o.extension_name_as_c_str() == Ok(name)))
            .collect())
    }

    /// An error that names a feature unless the device offers it.
    pub fn feature(&self, offered: bool, name: &str) -> Result<()> {
        if offered { Ok(()) } else { Err(Error::Missing(name.to_owned())) }
    }

    /// An error unless the device offers shaders of a stage.
    pub(crate) fn stage(&self, stage: vk::ShaderStageFlags) -> Result<()> {
        use vk::ShaderStageFlags as S;
        let offers = &self.offers;
        match stage {
            S::GEOMETRY => self.feature(offers.geometry, "geometryShader"),
            S::TESSELLATION_CONTROL | S::TESSELLATION_EVALUATION => {
                self.feature(offers.tessellation, "tessellationShader")
            }
            _ => Ok(()),
        }
    }

    /// An error that names `extension` unless it is enabled.
    pub fn require(&self, extension: &CStr) -> Result<()> {
        if self.extensions.contains(&extension) {
            Ok(())
        } else {
            Err(Error::Missing(extension.to_string_lossy().into_owned()))
        }
    }

    /// The number of objects to destroy.
    pub fn mark(&self) -> usize {
        self.garbage.borrow().len()
    }

    /// Destroys the objects that were made since a mark; nothing may use them any more.
    pub fn forget(&self, mark: usize) {
        let device = &self.device;
        for garbage in self.garbage.borrow_mut().drain(mark..).rev() {
            // SAFETY: each object was made from this device, nothing uses it any more since the
            // device is idle or lost, and it is destroyed once.
            unsafe {
                match garbage {
                    Destroyable::Buffer(x) => device.destroy_buffer(x, None),
                    Destroyable::Image(x) => device.destroy_image(x, None),
                    Destroyable::ImageView(x) => device.destroy_image_view(x, None),
                    Destroyable::BufferView(x) => device.destroy_buffer_view(x, None),
                    Destroyable::Sampler(x) => device.destroy_sampler(x, None),
                    Destroyable::Conversion(x) => {
                        device.destroy_sampler_ycbcr_conversion(x, None);
                    }
                    Destroyable::Memory(x) => device.free_memory(x, None),
                    Destroyable::Pipeline(x) => device.destroy_pipeline(x, None),
                    Destroyable::PipelineLayout(x) => device.destroy_pipeline_layout(x, None),
                    Destroyable::SetLayout(x) => device.destroy_descriptor_set_layout(x, None),
                    Destroyable::DescriptorPool(x) => device.destroy_descriptor_pool(x, None),
                    Destroyable::Fence(x) => device.destroy_fence(x, None),
                    Destroyable::Event(x) => device.destroy_event(x, None),
                    Destroyable::QueryPool(x) => device.destroy_query_pool(x, None),
                    Destroyable::Semaphore(x) => device.destroy_semaphore(x, None),
                    Destroyable::RenderPass(x) => device.destroy_render_pass(x, None),
                    Destroyable::Framebuffer(x) => device.destroy_framebuffer(x, None),
                    Destroyable::Shader(x) => {
                        ext::shader_object::Device::new(&self.instance, device)
                            .destroy_shader(x, None);
                    }
                }
            }
        }
    }

    fn keep(&self, garbage: Destroyable) {
        self.garbage.borrow_mut().push(garbage);
    }

    /// First memory type of `allowed` that has `flags`.
    pub fn memory_type(&self, allowed: u32, flags: vk::MemoryPropertyFlags) -> Result<u32> {
        (0..self.memory.memory_type_count)
            .find(|&i| {
                allowed & (1 << i) != 0
                    && self.memory.memory_types[i as usize].property_flags.contains(flags)
            })
            .ok_or_else(|| {
                Error::Missing(format!("a memory type with flags {:#x}", flags.as_raw()))
            })
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: waiting is always allowed.
        let _ = unsafe { self.device.device_wait_idle() };
        self.forget(0);
        // SAFETY: everything made from the device is gone.
        unsafe {
            self.device.destroy_command_pool(self.command_pool, None);
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
