//! Render passes with subpasses.

use ash::vk;

use super::{Commands, Destroyable, During, Gpu, Result};

/// A render pass with its framebuffer.
pub struct RenderPass {
    /// For pipelines.
    pub handle: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    size_px: [u32; 2],
}

impl Gpu {
    /// A render pass over these views, one for each attachment.
    pub fn render_pass(
        &self,
        create: &vk::RenderPassCreateInfo,
        views: &[vk::ImageView],
        size_px: [u32; 2],
    ) -> Result<RenderPass> {
        // SAFETY: the device is live and `create` is well formed.
        let handle =
            unsafe { self.device.create_render_pass(create, None) }.during("vkCreateRenderPass")?;
        self.framed(handle, views, size_px)
    }

    /// A render pass, created with the functions of Vulkan 1.2.
    pub fn render_pass2(
        &self,
        create: &vk::RenderPassCreateInfo2,
        views: &[vk::ImageView],
        size_px: [u32; 2],
    ) -> Result<RenderPass> {
        // SAFETY: as above.
        let handle = unsafe { self.device.create_render_pass2(create, None) }
            .during("vkCreateRenderPass2")?;
        self.framed(handle, views, size_px)
    }

    fn framed(
        &self,
        handle: vk::RenderPass,
        views: &[vk::ImageView],
        size_px: [u32; 2],
    ) -> Result<RenderPass> {
        self.keep(Destroyable::RenderPass(handle));
        let create = vk::FramebufferCreateInfo::default()
            .render_pass(handle)
            .attachments(views)
            .width(size_px[0])
            .height(size_px[1])
            .layers(1);
        // SAFETY: pass and views are live and fit each other.
        let framebuffer = unsafe { self.device.create_framebuffer(&create, None) }
            .during("vkCreateFramebuffer")?;
        self.keep(Destroyable::Framebuffer(framebuffer));
        Ok(RenderPass { handle, framebuffer, size_px })
    }
}

/// Stages and accesses that write colour attachments.
const COLOURS: (vk::PipelineStageFlags2, vk::AccessFlags2) =
    (vk::PipelineStageFlags2::COLOR_ATTACHMENT_OUTPUT, vk::AccessFlags2::COLOR_ATTACHMENT_WRITE);

impl Commands<'_> {
    /// Goes through the subpasses: `draw` records each, given its number. Barriers before and after
    /// order the pass with everything else.
    pub fn subpasses(
        &self,
        pass: &RenderPass,
        clears: &[vk::ClearValue],
        count: u32,
        draw: impl Fn(&Commands, u32),
    ) {
        let [width, height] = pass.size_px;
        let begin = vk::RenderPassBeginInfo::default()
            .render_pass(pass.handle)
            .framebuffer(pass.framebuffer)
            .render_area(vk::Rect2D {
                offset: vk::Offset2D::default(),
                extent: vk::Extent2D { width, height },
            })
            .clear_values(clears);
        let device = &self.gpu.device;
        let inline = vk::SubpassContents::INLINE;
        self.barrier();
        // SAFETY: the pass is live, and this buffer is being recorded outside of any pass.
        unsafe { device.cmd_begin_render_pass(self.handle, &begin, inline) };
        for number in 0..count {
            if number > 0 {
                // SAFETY: the pass has `count` subpasses.
                unsafe { device.cmd_next_subpass(self.handle, inline) };
            }
            draw(self, number);
        }
        // SAFETY: the pass was begun above and is in its last subpass.
        unsafe { device.cmd_end_render_pass(self.handle) };
        self.barrier();
    }

    /// Inside a rendering: makes writes to attachments visible to reads at the same pixel.
    pub fn barrier_by_region(&self) {
        let read = vk::AccessFlags2::INPUT_ATTACHMENT_READ;
        self.barrier_inside(vk::DependencyFlags::BY_REGION, COLOURS, read);
    }

    /// Inside of a rendering: what was written to attachments can be sampled at the same pixel.
    pub fn barrier_of_feedback(&self) {
        let flags = vk::DependencyFlags::BY_REGION | vk::DependencyFlags::FEEDBACK_LOOP_EXT;
        self.barrier_inside(flags, COLOURS, vk::AccessFlags2::SHADER_SAMPLED_READ);
    }

    /// Inside of a rendering: depths that were written can be sampled at the same pixel.
    pub fn barrier_of_depth_feedback(&self) {
        let flags = vk::DependencyFlags::BY_REGION | vk::DependencyFlags::FEEDBACK_LOOP_EXT;
        let tests = vk::PipelineStageFlags2::EARLY_FRAGMENT_TESTS
            | vk::PipelineStageFlags2::LATE_FRAGMENT_TESTS;
        let depths = (tests, vk::AccessFlags2::DEPTH_STENCIL_ATTACHMENT_WRITE);
        self.barrier_inside(flags, depths, vk::AccessFlags2::SHADER_SAMPLED_READ);
    }

    /// Makes what stages `written` wrote visible to reads of fragment shaders and to later writes of the same kind.
    fn barrier_inside(
        &self,
        flags: vk::DependencyFlags,
        written: (vk::PipelineStageFlags2, vk::AccessFlags2),
        read: vk::AccessFlags2,
    ) {
        let (stages, write) = written;
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(stages)
            .src_access_mask(write)
            .dst_stage_mask(vk::PipelineStageFlags2::FRAGMENT_SHADER | stages)
            .dst_access_mask(read | write)];
        let dependency =
            vk::DependencyInfo::default().dependency_flags(flags).memory_barriers(&barriers);
        // SAFETY: this buffer is being recorded.
        unsafe { self.gpu.device.cmd_pipeline_barrier2(self.handle, &dependency) }
    }
}
