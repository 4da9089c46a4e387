//! Dependencies of render passes: stages and accesses that subpasses declare, and transitions of attachments between layouts.

use vulkanalia_sys as vk;

use super::{Layouts, RenderPass, SubpassDependency, has_depth, has_stencil};
use crate::backend::Backend;
use crate::dependency::{Dependency, Scope};
use crate::image::ImageView;
use crate::object::get;

/// Stages and accesses of a dependency of a render pass, and attachments whose layouts change.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    source: Scope,
    destination: Scope,
    flags: vk::DependencyFlags,
    transitions: Vec<(u32, [Layouts; 2])>,
}

impl RenderPass {
    /// Layouts of an attachment before a subpass: those of the subpass that uses it last before, or the initial ones.
    fn layouts_before(&self, subpass: usize, n: u32) -> (Layouts, bool) {
        let last = self.subpasses[..subpass].iter().rev().find_map(|s| s.layouts_of(n));
        (last.unwrap_or(self.attachments[n as usize].before), last.is_none())
    }

    /// Whether a dependency affects any view: one that is local to views needs a view in the source for one in the destination.
    fn has_views(&self, d: &SubpassDependency) -> bool {
        if !d.flags.contains(vk::DependencyFlags::VIEW_LOCAL) {
            return true;
        }
        let (from, to) = (u64::from(self.view_mask(d.from)), u64::from(self.view_mask(d.to)));
        // View v of the destination depends on view v + offset of the source.
        let offset = d.view_offset.unsigned_abs().min(32);
        let wanted = if d.view_offset >= 0 { to << offset } else { to >> offset };
        to == 0 || from & wanted != 0
    }

    /// Stages and accesses of the dependencies that are declared, and whether one of them is on commands outside.
    fn declared(&self, wanted: impl Fn(&SubpassDependency) -> bool) -> (Changes, bool) {
        let mut all = Changes::default();
        let mut is_external = false;
        for d in self.dependencies.iter().filter(|d| wanted(d) && self.has_views(d)) {
            all.source.add(d.source);
            all.destination.add(d.destination);
            all.flags |= d.flags;
            is_external |= vk::SUBPASS_EXTERNAL == d.from || vk::SUBPASS_EXTERNAL == d.to;
        }
        (all, is_external)
    }

    /// Dependency of a subpass on earlier subpasses and on commands before the render pass, with the transitions of its attachments.
    fn changes_before(&self, subpass: u32) -> Changes {
        let Some(sub) = self.subpasses.get(subpass as usize) else { return Changes::default() };
        let (mut all, has_external) = self.declared(|d| d.to == subpass && d.from != subpass);
        for &(n, layouts) in &sub.layouts {
            let (before, is_first) = self.layouts_before(subpass as usize, n);
            let is_listed = all.transitions.iter().any(|t| t.0 == n);
            if before == layouts || is_listed {
                continue;
            }
            if is_first && !has_external {
                all.destination.add(Scope::implicit_destination());
            }
            all.transitions.push((n, [before, layouts]));
        }
        all
    }

    /// Dependency of commands after the render pass, with the transitions of attachments to their final layouts.
    fn changes_after(&self) -> Changes {
        let (mut all, _) = self.declared(|d| d.to == vk::SUBPASS_EXTERNAL);
        for (n, a) in (0u32..).zip(&self.attachments) {
            let last = self.subpasses.iter().rposition(|s| s.layouts_of(n).is_some());
            let Some(last) = last else { continue };
            let Some(layouts) = self.subpasses[last].layouts_of(n).filter(|&l| l != a.after) else {
                continue;
            };
            let is_declared =
                |d: &SubpassDependency| d.from == last as u32 && d.to == vk::SUBPASS_EXTERNAL;
            if !self.dependencies.iter().any(is_declared) {
                all.source.add(Scope::implicit_source());
            }
            all.transitions.push((n, [layouts, a.after]));
        }
        all
    }

    /// The dependency of changes.
    ///
    /// # Safety
    /// Views are live and fit the render pass.
    unsafe fn dependency<B: Backend>(
        &self,
        changes: Changes,
        views: &[vk::ImageView],
    ) -> Dependency<B> {
        let mut to = Dependency::memory(changes.source, changes.destination);
        to.flags = changes.flags;
        for (n, [old, new]) in changes.transitions {
            // SAFETY: as the caller says.
            let view: &ImageView<B> = unsafe { get(views[n as usize]) };
            let format = self.attachments[n as usize].format;
            let mut add = |aspects, layouts| to.add_transition(&view.image, aspects, layouts);
            let stencil = [old.stencil, new.stencil];
            match (has_depth(format), has_stencil(format)) {
                (true, true) => {
                    add(vk::ImageAspectFlags::DEPTH, [old.main, new.main]);
                    add(vk::ImageAspectFlags::STENCIL, stencil);
                }
                (false, true) => add(vk::ImageAspectFlags::STENCIL, stencil),
                _ => add(view.aspects, [old.main, new.main]),
            }
        }
        to
    }

    /// Dependency of a subpass.
    ///
    /// # Safety
    /// Views are live and fit the render pass.
    pub unsafe fn dependency_before<B: Backend>(
        &self,
        subpass: u32,
        views: &[vk::ImageView],
    ) -> Dependency<B> {
        // SAFETY: as the caller says.
        unsafe { self.dependency(self.changes_before(subpass), views) }
    }

    /// Dependency of commands after the render pass.
    ///
    /// # Safety
    /// Views are live and fit the render pass.
    pub unsafe fn dependency_after<B: Backend>(&self, views: &[vk::ImageView]) -> Dependency<B> {
        // SAFETY: as the caller says.
        unsafe { self.dependency(self.changes_after(), views) }
    }
}

#[cfg(test)]
mod tests {
    use vk::{AccessFlags as Access1, ImageLayout as Layout, PipelineStageFlags as Stages1};
    use vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stages};

    use super::*;

    /// A pass with a colour that the first subpass draws to and the second reads, and with dependencies.
    fn pass(dependencies: &[vk::SubpassDependency]) -> RenderPass {
        let attachment = vk::AttachmentDescription {
            format: vk::Format::R8G8B8A8_UNORM,
            samples: vk::SampleCountFlags::_1,
            initial_layout: Layout::UNDEFINED,
            final_layout: Layout::PRESENT_SRC_KHR,
            ..Default::default()
        };
        let drawn =
            vk::AttachmentReference { attachment: 0, layout: Layout::COLOR_ATTACHMENT_OPTIMAL };
        let read =
            vk::AttachmentReference { attachment: 0, layout: Layout::SHADER_READ_ONLY_OPTIMAL };
        let subpasses = [
            vk::SubpassDescription {
                color_attachment_count: 1,
                color_attachments: &raw const drawn,
                ..Default::default()
            },
            vk::SubpassDescription {
                input_attachment_count: 1,
                input_attachments: &raw const read,
                ..Default::default()
            },
        ];
        let info = vk::RenderPassCreateInfo {
            attachment_count: 1,
            attachments: &raw const attachment,
            subpass_count: 2,
            subpasses: subpasses.as_ptr(),
            dependency_count: dependencies.len() as u32,
            dependencies: dependencies.as_ptr(),
            ..Default::default()
        };
        // SAFETY: the structure and what it points to are valid.
        unsafe { RenderPass::from_1(&info) }
    }

    fn between(from: u32, to: u32) -> vk::SubpassDependency {
        vk::SubpassDependency {
            src_subpass: from,
            dst_subpass: to,
            src_stage_mask: Stages1::COLOR_ATTACHMENT_OUTPUT,
            dst_stage_mask: Stages1::FRAGMENT_SHADER,
            src_access_mask: Access1::COLOR_ATTACHMENT_WRITE,
            dst_access_mask: Access1::INPUT_ATTACHMENT_READ,
            dependency_flags: vk::DependencyFlags::BY_REGION,
        }
    }

    fn transition(old: Layout, new: Layout) -> (u32, [Layouts; 2]) {
        (0, [old, new].map(|layout| Layouts::new(layout, None)))
    }

    #[test]
    fn subpasses_depend_on_what_the_pass_says() {
        let pass = pass(&[between(0, 1), between(1, 1)]);
        let changes = pass.changes_before(1);
        assert_eq!(changes.source.stages, Stages::COLOR_ATTACHMENT_OUTPUT);
        assert_eq!(changes.source.accesses, Access::COLOR_ATTACHMENT_WRITE);
        assert_eq!(changes.destination.accesses, Access::INPUT_ATTACHMENT_READ);
        assert_eq!(changes.flags, vk::DependencyFlags::BY_REGION);
        let read = Layout::SHADER_READ_ONLY_OPTIMAL;
        assert_eq!(changes.transitions, [transition(Layout::COLOR_ATTACHMENT_OPTIMAL, read)]);
    }

    /// source: Vulkan specification, "Render Pass Creation", on implicit subpass dependencies
    #[test]
    fn the_first_and_the_last_use_depend_on_commands_outside() {
        let implicit = pass(&[]);
        let before = implicit.changes_before(0);
        assert!(before.source.stages.is_empty());
        assert!(before.destination.accesses.contains(Access::COLOR_ATTACHMENT_WRITE));
        assert!(before.destination.stages.contains(Stages::ALL_COMMANDS));
        let after = implicit.changes_after();
        assert!(after.source.stages.contains(Stages::ALL_COMMANDS));
        assert!(after.source.accesses.contains(Access::DEPTH_STENCIL_ATTACHMENT_WRITE));
        assert!(after.destination.stages.is_empty());
        // The second subpass is not the first to use the attachment.
        assert_eq!(implicit.changes_before(1).destination, Scope::default());

        let external = vk::SUBPASS_EXTERNAL;
        let declared = pass(&[between(external, 0), between(1, external)]);
        assert_eq!(declared.changes_before(0).destination.stages, Stages::FRAGMENT_SHADER);
        assert_eq!(declared.changes_after().source.stages, Stages::COLOR_ATTACHMENT_OUTPUT);
    }

    #[test]
    fn dependencies_local_to_views_need_a_view_in_both_subpasses() {
        let mut pass = pass(&[between(0, 1)]);
        pass.dependencies[0].flags = vk::DependencyFlags::VIEW_LOCAL;
        (pass.subpasses[0].view_mask, pass.subpasses[1].view_mask) = (0b0011, 0b1100);
        assert!(pass.changes_before(1).source.stages.is_empty());
        // View v depends on view v + offset.
        pass.dependencies[0].view_offset = -2;
        assert!(!pass.changes_before(1).source.stages.is_empty());
    }
}
