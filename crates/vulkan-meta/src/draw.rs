//! Rectangles that are drawn to a view of an image.

use tepui_vulkan::backend::{Attachment, Backend, Rendering};
use tepui_vulkan::state::{GraphicsState, Stencil};
use tepui_vulkan::{Result, vk};

use crate::encoder::{MetaEncoder, Rectangle};
use crate::program::{Output, Program};
use crate::view::{Binding, View};

/// A fragment program with its words and bindings.
pub(crate) struct Draw<'a, B: Backend> {
    pub(crate) program: Program,
    pub(crate) words: &'a [u32],
    pub(crate) bindings: &'a [Binding<'a, B>],
}

/// The state of rectangles that write depth, stencil or both in any case.
pub(crate) fn state(samples: u32, depth: bool, stencil: Option<u32>) -> GraphicsState {
    GraphicsState {
        samples: samples.max(1),
        depth_test: depth,
        depth_write: depth,
        depth_compare: vk::CompareOp::ALWAYS,
        stencil_test: stencil.is_some(),
        stencil_reference: [stencil.unwrap_or(0); 2],
        stencil: [Stencil {
            fail: vk::StencilOp::REPLACE,
            pass: vk::StencilOp::REPLACE,
            depth_fail: vk::StencilOp::REPLACE,
            compare: vk::CompareOp::ALWAYS,
        }; 2],
        ..GraphicsState::default()
    }
}

/// Draws to columns, rows and layers of a view, in a rendering of its own. Texels outside stay as they are.
pub(crate) fn to_view<E: MetaEncoder>(
    e: &mut E,
    view: &View<'_, E::Backend>,
    output: Output,
    draw: &Draw<'_, E::Backend>,
    first: [u32; 3],
    size: [u32; 3],
) -> Result<()> {
    let image = view.attachment(first[2], size[2]);
    let covers = first[..2] == [0, 0] && size[..2] == image.extent();
    let samples = image.info.samples;
    let attachment = Attachment {
        image: image.into(),
        // That of the application's command is one that copies and blits write in, and so does it here.
        layout: vk::ImageLayout::TRANSFER_DST_OPTIMAL,
        load: match covers {
            true => vk::AttachmentLoadOp::DONT_CARE,
            false => vk::AttachmentLoadOp::LOAD,
        },
        store: vk::AttachmentStoreOp::STORE,
        clear: [0; 4],
        resolve: None,
    };
    let rect = vk::Rect2D {
        offset: vk::Offset2D { x: first[0] as i32, y: first[1] as i32 },
        extent: vk::Extent2D { width: size[0], height: size[1] },
    };
    let mut rendering = Rendering {
        area: rect,
        layers: size[2],
        view_mask: 0,
        colours: Vec::new(),
        depth: None,
        stencil: None,
        samples,
    };
    match output {
        Output::Colour | Output::Store => rendering.colours.push(Some(attachment)),
        Output::Depth => rendering.depth = Some(attachment),
        Output::Stencil => rendering.stencil = Some(attachment),
    }
    let stencil = (output == Output::Stencil).then_some(0);
    e.render(
        &rendering,
        &Rectangle {
            fragment: draw.program,
            words: draw.words,
            bindings: draw.bindings,
            state: state(samples, output == Output::Depth, stencil),
            rect,
            depth: 0.0,
            layer: 0,
            layers: size[2],
            view_mask: 0,
            condition: None,
        },
    )
}
